"""A file that is reported as stored is on the disk, even outside the lake and the journal.

The programs run under `strace`; the tests then examine the disk as a power cut would leave it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from benchmarks.power_cut import Disk, File, Folder, Operation, record, recorded
from benchmarks.power_cut_child import MONTH, SAID

FILES = f"""
import os, sys
from pathlib import Path

desk = Path(sys.argv[1]) / "desk"
os.environ["TREASURY_STATE"] = str(desk.with_name("state"))

from treasury.cli.settings_file import NewSettings
from treasury.journal.signing import make_key
from treasury.journal.workspace_copies import adopt_copy, register
from treasury.core.settings import pin_environment

def do(*steps):
    for name, step in steps:
        step()
        os.write(1, f"{SAID}{{name}}\\n".encode())

settings = NewSettings(company="Harbour Lane Trading NV", environment="sandbox")
do(
    ("settings", lambda: settings.write(desk)),
    ("environment", lambda: pin_environment(desk, settings.check())),
    ("identity", lambda: register(desk)),
    ("adopted", lambda: adopt_copy(desk)),
    ("key", lambda: make_key(f"file:{{desk.with_name('keys') / 'signing.key'}}")),
)
"""


def files_of(folder: Folder, at: str = "") -> dict[str, bytes]:
    """Return the content of a simulated folder's files by path, as programs see it."""
    seen: dict[str, bytes] = {}
    for name, one in folder.names.items():
        path = f"{at}{name}"
        seen |= {path: bytes(one.content)} if isinstance(one, File) else files_of(one, f"{path}/")
    return seen


def stored(
    before: Path, root: Path, operations: Sequence[Operation], tmp_path: Path
) -> list[tuple[dict[str, bytes], dict[str, bytes]]]:
    """Return the files at each report, as programs see them and as they are stored on the disk."""
    disk, looks = Disk(before), []
    disk._root = str(root)
    for one in operations:
        if one.call != "say":
            disk.apply(one)
            continue
        left = tmp_path / f"disk-{len(looks)}"
        disk.leave(left, "nothing more", Random(1))
        on_disk = {
            path.relative_to(left).as_posix(): path.read_bytes()
            for path in left.rglob("*")
            if path.is_file()
        }
        looks.append((files_of(disk.top), on_disk))
    return looks


def test_the_identity_and_place_of_a_workspace_are_synced_to_disk(tmp_path: Path) -> None:
    before, root = tmp_path / "before", tmp_path.resolve() / "root"
    before.mkdir()
    root.mkdir()
    looks = stored(before, root, record(root, ["-c", FILES, str(root)]), tmp_path)
    written = [{path for path in seen if not path.endswith(".lock")} for seen, _ in looks]
    new = [sorted(now - earlier) for earlier, now in pairwise([set[str](), *written])]
    identities = [sorted(path for path in paths if path.startswith("state/")) for paths in new]
    assert [[path for path in paths if not path.startswith("state/")] for paths in new] == [
        ["desk/treasury.toml"], ["desk/environment"], ["desk/workspace.id"], [],
        ["keys/signing.key"],
    ]  # fmt: skip
    assert [len(paths) for paths in identities] == [0, 0, 1, 1, 0]
    for paths, (seen, on_disk) in zip(written, looks, strict=True):
        assert {path: seen[path] for path in paths} == {path: on_disk.get(path) for path in paths}


@pytest.mark.acceptance
@pytest.mark.timeout(300)
def test_rules_and_the_pack_of_a_close_are_synced_to_disk(tmp_path: Path) -> None:
    before, desk, operations = recorded(tmp_path.resolve(), ("sync", "statements", "rules", "pack"))
    looks = stored(before, desk, operations, tmp_path)
    for path in ("environment", "rules.toml"):
        assert looks[2][1][path] == looks[2][0][path]
    pack = {path: text for path, text in looks[3][0].items() if path.startswith(f"close/{MONTH}/")}
    assert len(pack) > 10
    assert pack == {path: looks[3][1].get(path) for path in pack}
