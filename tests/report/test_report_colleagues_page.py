"""The commands of `docs/colleagues.md`, run as written in a sandbox, print what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "colleagues.md"
STEP = re.compile(r"```(bash|text)\n(.*?)```|<!-- by (hand): (\w+) -->", re.DOTALL)

BY_HAND = """\
import os, sys
from pathlib import Path
import openpyxl
from treasury.month.items.sheet.sheet_rows import ACTS
from treasury.workspace import Workspace


def sheet():
    book = openpyxl.load_workbook("sheet.xlsx")
    page = book["Open items"]
    at = {cell.value: cell.column for cell in page[1]}
    typed = {"Decision": ACTS["ignore"], "Reason": "not ours", "Proposed by": "ines"}
    for row in range(2, page.max_row + 1):
        if page.cell(row, at["Item"]).value:
            for title, text in typed.items():
                page.cell(row, at[title]).value = text
    book.save("sheet.xlsx")


def payments():
    panel = Workspace(Path(os.environ["TREASURY_WORKSPACE"])).panels.funding()
    rows = panel.rows.arrow.to_pylist()
    (name,) = (row["request"] for row in rows if row["reference"] == "PAY-2026-005402")
    parts = []
    panel.send = lambda content, **_: parts.append(content["file"]) if "file" in content else None
    panel.press("export", chosen=(name,), pay_from="6689")
    assert panel.wait()
    panel.press("confirm", step=panel.frame().step.key)
    assert panel.wait()
    while not parts[-1]["last"]:
        panel.press("part", part=str(len(parts)))
    Path("payments.xml").write_text("".join(part["text"] for part in parts), "utf-8")


{"sheet": sheet, "payments": payments}[sys.argv[1]]()
"""


@pytest.mark.acceptance
@pytest.mark.timeout(600)
def test_the_page_can_be_followed_from_top_to_bottom(tmp_path: Path) -> None:
    if not shutil.which("bash"):
        pytest.skip("needs bash")
    (tmp_path / "by_hand.py").write_text(BY_HAND)
    steps = list(STEP.finditer(PAGE.read_text("utf-8")))
    script = "\n".join(
        f"python by_hand.py {step[4]}" if step[3] else step[2]
        for step in steps
        if step[1] != "text"
    )
    assert script.count("by_hand") == 2
    (tmp_path / "page.sh").write_text(script)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    treasury = [sys.executable, "-m", "treasury.cli", "--workspace", str(tmp_path / "practice")]
    done = subprocess.run(
        [*treasury, "practice", "--", "bash", "-euo", "pipefail", "page.sh"], cwd=tmp_path,
        env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout
    for step in steps:
        if step[1] == "text":
            place = told.find(step[2].strip())
            assert place >= 0, f"{step[2].strip()!r} was not printed after what came before: {told}"
            told = told[place + 1 :]
    assert "docs/colleagues.md" in (ROOT / "README.md").read_text("utf-8")
