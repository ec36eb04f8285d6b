"""The commands of `docs/closing.md`, run as written, print what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from treasury.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(bash|text)\n(.*?)```", re.DOTALL)


@pytest.mark.acceptance
@pytest.mark.timeout(900)
def test_the_page_can_be_followed_from_top_to_bottom(practised: Workspace, tmp_path: Path) -> None:
    if not shutil.which("bash"):
        pytest.skip("needs bash")
    page = (ROOT / "docs" / "closing.md").read_text("utf-8")
    folder = tmp_path / "practice"
    shutil.copytree(practised.folder, folder, ignore=shutil.ignore_patterns("close"))
    blocks = BLOCK.findall(page)
    script = "\n".join(text for kind, text in blocks if kind == "bash")
    variables = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TREASURY_WORKSPACE": str(folder),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env=os.environ | variables, capture_output=True, text=True, timeout=800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = done.stdout
    for kind, text in blocks:
        if kind == "text":
            place = told.find(text.strip())
            assert place >= 0, f"{text.strip()!r} was not printed after what came before"
            told = told[place + 1 :]
    assert "docs/closing.md" in (ROOT / "README.md").read_text("utf-8")
