"""Packs that an attacker changed and sealed again: findings of one line each, never a traceback."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from thorough import examples

from treasury.cli import treasury
from treasury.report.pack import verification_process
from treasury.report.pack.pack_contents import EVIDENCE, is_apart
from treasury.workspace import Workspace

JSON = dict[str, Any]
SEED = 12


@pytest.fixture(scope="module")
def desk(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("hostile") / "desk"
    shutil.copytree(month_end.folder, folder)
    desk = Workspace(folder)
    desk.close("2026-10")
    return desk


@pytest.fixture(scope="module")
def pack(desk: Workspace) -> Path:
    return desk.folder / "close" / "2026-10"


@pytest.fixture
def copy(pack: Path, tmp_path: Path) -> Path:
    return shutil.copytree(pack, tmp_path / "copy")


def sealed_again(folder: Path, change: Callable[[JSON], object] = lambda _: None) -> None:
    """Hash the files of a pack again, apply `change` to its evidence, and seal it."""
    told = json.loads((folder / EVIDENCE).read_bytes())
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != EVIDENCE]
    hashes = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }
    told["files"] = {name: mark for name, mark in hashes.items() if not is_apart(name)}
    told["apart"] = {name: mark for name, mark in hashes.items() if is_apart(name)}
    change(told)
    told["seal"] = ""
    told["seal"] = hashlib.sha256(canonical(told)).hexdigest()
    (folder / EVIDENCE).write_bytes(canonical(told))


def canonical(told: JSON) -> bytes:
    return (
        json.dumps(told, indent=2, sort_keys=True, ensure_ascii=False).encode(
            "utf-8", "surrogatepass"
        )
        + b"\n"
    )


def verified(folder: Path, *options: str) -> Result:
    """Run `treasury verify`; check that it prints one line per finding, or one for an error."""
    done = CliRunner().invoke(treasury, [*options, "verify", str(folder)])
    if done.exit_code == 0:
        return done
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert type(done.exception).__module__ == "treasury.core.errors", repr(done.exception)
        assert "\n" not in str(done.exception)
        return done
    assert done.exit_code == 1
    head, *lines = done.stdout.splitlines()
    assert "difference" in head
    assert lines
    assert all(": " in line for line in lines if line.startswith("  ")), lines
    assert "Traceback" not in done.output
    return done


def refused(folder: Path, *options: str) -> str:
    done = verified(folder, *options)
    assert done.exit_code != 0
    return done.output + str(done.exception)


@pytest.mark.acceptance
def test_the_seal_made_by_the_test_is_valid(copy: Path) -> None:
    sealed_again(copy)
    assert verified(copy).exit_code == 0


STRANGE: tuple[Any, ...] = (
    None, True, -1, 10**30, 1.5, "", "../../x", "/etc/passwd", "x" * 100_000, "\ud800",
    "a\nb\x1b[2J",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", [], {}, [[]], {"a": {"b": []}},
)  # fmt: skip


@pytest.mark.acceptance
def test_every_field_of_the_evidence_may_be_anything(copy: Path) -> None:
    before = (copy / EVIDENCE).read_bytes()
    draw = random.Random(SEED)
    computed = 0
    for field in (*json.loads(before), "unknown"):
        for value in STRANGE:
            (copy / EVIDENCE).write_bytes(before)
            sealed_again(copy, lambda told, field=field, value=value: told.update({field: value}))
            if not reads(copy):
                refused(copy)
            elif draw.random() < 0.05:
                computed += 1
                verified(copy)
    assert computed


def reads(folder: Path) -> bool:
    """Return whether a pack passes the checks that precede the expensive recomputation."""
    from treasury.core.errors import InputError
    from treasury.report.pack.sealed_pack import read_sealed

    try:
        return not read_sealed(folder)[1]
    except InputError:
        return False


SEALED_AGAIN: dict[str, Callable[[JSON], object]] = {
    "rules": lambda told: told["rules"].clear(),
    "rules with more": lambda told: told["rules"].update(more=[1]),
    "rules of another type": lambda told: told["rules"].update(dict.fromkeys(told["rules"], "x")),
    "accounts": lambda told: told["accounts"].clear(),
    "versions": lambda told: told["lake"]["versions"].clear(),
    "commit": lambda told: told["lake"].update(commit=2**53),
    "zone": lambda told: told.update(time_zone="../../../etc/passwd"),
    "month": lambda told: told.update(month="2026-99"),
    "ledger": lambda told: told.update(ledger={"no": "such"}),
    "inputs": lambda told: told["inputs"].update(commits=-1),
    "answer": lambda told: told["answer"].clear(),
    "code": lambda told: told["code"].update(libraries={}),
}
OFTEN = ("rules", "ledger", "answer")
"""Cases without a pytest mark of their own; the mark of their test applies to all cases."""


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in OFTEN else pytest.mark.acceptance)
        for name in SEALED_AGAIN
    ],
)
def test_facts_that_were_changed_and_sealed_are_findings(
    copy: Path, desk: Workspace, name: str
) -> None:
    sealed_again(copy, SEALED_AGAIN[name])
    said = verified(copy)
    # A pack of other code may hold: its tables are compared, but not the bytes of its files.
    if name != "code":
        assert said.exit_code != 0
    options = ("--workspace", str(desk.folder))
    done = CliRunner().invoke(treasury, [*options, "verify", "--with-workspace", str(copy)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[" * 500_000, b'{"rules":' * 200_000, b"\xff\xfe", b"null", b"1" * (17 << 20)],
    ids=["empty", "cut", "nested", "nested objects", "no text", "null", "large"],
)
def test_evidence_that_does_not_read_is_one_line(copy: Path, content: bytes) -> None:
    (copy / EVIDENCE).write_bytes(content)
    refused(copy)


@pytest.mark.acceptance
def test_nesting_inside_a_field_is_bounded(copy: Path) -> None:
    text = (copy / EVIDENCE).read_text("utf-8")
    deep = "[" * 100_000 + "]" * 100_000
    (copy / EVIDENCE).write_text(text.replace('"rules": {', f'"rules": {{"a": {deep},', 1))
    assert "nested too deep" in refused(copy)


def test_names_that_lead_out_of_the_pack_are_findings(copy: Path) -> None:
    names = (
        "../x",
        "/etc/passwd",
        "a/../../x",
        "a/b/c.txt",
        "",
        "x\x00y",
        "A.TXT",
        "tables//x.parquet",
    )
    sealed_again(copy, lambda told: told["files"].update(dict.fromkeys(names, "0" * 64)))
    said = refused(copy)
    assert said.count("which no pack holds") == len(names)


def special(path: Path, kind: str) -> None:
    """Put a special file in the place of a regular one."""
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "zero":
            path.symlink_to("/dev/zero")
        case "link":
            path.symlink_to("/etc/passwd")
        case "loop":
            path.symlink_to(path)
        case "folder":
            path.mkdir()
        case "socket":
            here = Path.cwd()
            # The path of a socket must be short.
            os.chdir(path.parent)
            try:
                with socket.socket(socket.AF_UNIX) as bound:
                    bound.bind(path.name)
            finally:
                os.chdir(here)
        case "sparse":
            with path.open("wb") as file:
                file.truncate(9 << 30)


@pytest.mark.parametrize("kind", ["pipe", "zero", "link", "loop", "folder", "socket"])
def test_a_file_that_is_not_regular_is_never_read(copy: Path, kind: str) -> None:
    special(copy / EVIDENCE, kind)
    assert "cannot be read" in refused(copy)


@pytest.mark.parametrize("kind", ["pipe", "zero", "link", "loop", "folder", "socket", "sparse"])
def test_only_regular_files_of_a_pack_are_read(copy: Path, kind: str) -> None:
    for name in ("journal.csv", "inputs/commits.parquet", "tables/lines.parquet"):
        special(copy / name, kind)
    said = refused(copy)
    for name in ("journal.csv", "commits.parquet", "lines.parquet"):
        assert name in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a device")
def test_a_device_is_not_read(copy: Path) -> None:
    (copy / "journal.csv").unlink()
    os.mknod(copy / "journal.csv", 0o20666, os.makedev(1, 5))
    assert "journal.csv: is a device" in refused(copy)


def test_folders_are_neither_followed_nor_walked_without_end(copy: Path, tmp_path: Path) -> None:
    shutil.move(copy / "inputs", tmp_path / "away")
    (copy / "inputs").symlink_to(tmp_path / "away")
    deep = copy / "tables" / "/".join("d" * 200 for _ in range(10))
    deep.mkdir(parents=True)
    said = refused(copy)
    assert "inputs: is a link" in said
    assert f"tables/{'d' * 200}: is a folder" in said
    many = copy / "many"
    many.mkdir()
    for number in range(5_100):
        (many / f"{number}.txt").touch()
    assert "more than 5,000 files" in refused(copy)


def parquet_changes() -> Iterator[tuple[str, Callable[[Path], object]]]:
    """Yield changes of a table's file, each with its name."""

    def rewritten(change: Callable[[pa.Table], pa.Table]) -> Callable[[Path], object]:
        return lambda path: pq.write_table(change(pq.read_table(path)), path)

    yield "gone", Path.unlink
    yield "empty", lambda path: path.write_bytes(b"")
    yield "text", lambda path: path.write_bytes(b"PAR1" * 1_000)
    yield "cut", lambda path: path.write_bytes(path.read_bytes()[:-20])
    yield "zip", lambda path: path.write_bytes(b"PK\x03\x04" + b"\0" * 100)
    yield "no rows", rewritten(lambda table: table.slice(0, 0))
    yield "no columns", rewritten(lambda table: table.select([]))
    yield "twice", rewritten(lambda table: pa.concat_tables([table, table]))
    yield (
        "all null",
        rewritten(
            lambda table: pa.table({f.name: pa.nulls(len(table), f.type) for f in table.schema})
        ),
    )
    yield (
        "all text",
        rewritten(
            lambda table: pa.table(
                {name: pa.array(["x"] * len(table)) for name in table.column_names}
            )
        ),
    )
    yield (
        "columns named alike",
        rewritten(lambda table: table.rename_columns(["a"] * table.num_columns)),
    )


CHANGES = dict(parquet_changes())


@pytest.mark.acceptance
@pytest.mark.thorough
def test_every_table_of_a_pack_may_be_anything(pack: Path, tmp_path: Path) -> None:
    """Make each kind of change to one random table; without THOROUGH, try only a third of them."""
    tables = sorted(
        path.relative_to(pack).as_posix()
        for folder in ("inputs", "tables")
        for path in (pack / folder).glob("*.parquet")
    )
    draw = random.Random(SEED)
    copy = tmp_path / "copy"
    for kind in list(CHANGES)[:: examples(3, 1)]:
        change = CHANGES[kind]
        for name in draw.sample(tables, 1):
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(pack, copy)
            try:
                change(copy / name)
            except pa.ArrowInvalid:  # this change cannot be written
                continue
            sealed_again(copy)
            verified(copy)
            assert kind


@pytest.mark.acceptance
def test_flipped_bytes_in_tables_are_findings(pack: Path, tmp_path: Path) -> None:
    draw = random.Random(SEED)
    copy = tmp_path / "copy"
    for path in draw.sample(sorted((pack / "inputs").glob("*.parquet")), 2):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(pack, copy)
        content = bytearray(path.read_bytes())
        for _ in range(20):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        (copy / "inputs" / path.name).write_bytes(content)
        sealed_again(copy)
        verified(copy)


@pytest.mark.acceptance
def test_a_table_larger_than_memory_is_a_finding(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification_process, "memory_bound", lambda: 2 << 30)
    name = "inputs/decisions.parquet"
    columns = pq.read_schema(copy / name).names
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), ["x" * 1_000_000])
    pq.write_table(pa.table(dict.fromkeys(columns, texts)), copy / name, compression="zstd")
    assert (copy / name).stat().st_size < 1 << 20
    sealed_again(copy)
    assert "cannot be recomputed" in refused(copy)


@pytest.mark.acceptance
def test_a_table_with_too_many_rows_is_not_read(copy: Path) -> None:
    name = "inputs/commits.parquet"
    rows = verification_process.MOST_ROWS + 1
    pq.write_table(pa.table({"number": pa.nulls(rows, pa.int8())}), copy / name)
    sealed_again(copy)
    assert f"commits.parquet: has {rows:,} rows" in refused(copy)
