"""CSV files for people, opened in LibreOffice with Belgian and American settings."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

import pytest
from csv_hostile import hostile_texts

from treasury.core.tables.csv_output import csv_text

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(
        shutil.which("soffice") is None,
        reason="needs LibreOffice (Debian package libreoffice-calc): make acceptance",
    ),
]
BELGIAN, AMERICAN = 2067, 1033
COMMA, SEMICOLON, TAB = "44", "59", "9"
FORMULA = re.compile(r'table:formula="([^"]*)"')
NUMBER = re.compile(r'office:value-type="float"[^>]*office:value="([^"]*)"')


def opened(paths: Iterable[Path], folder: Path, separators: str, locale: int) -> dict[str, str]:
    """Return the sheets as LibreOffice opened them, with evaluated formulas, by file name."""
    options = f"{separators},34,76,1,,{locale},false,true,false,false,false,-1,true"
    out = folder / f"{separators.replace('/', '-')}-{locale}"
    subprocess.run(
        [
            "soffice", "--headless", f"-env:UserInstallation=file://{folder / 'profile'}",
            f"--infilter=Text - txt - csv (StarCalc):{options}",
            "--convert-to", "fods", "--outdir", str(out), *map(str, paths),
        ],
        check=True, capture_output=True, timeout=200,
    )  # fmt: skip
    return {path.stem: path.read_text("utf-8") for path in out.iterdir()}


@pytest.mark.parametrize("locale", [BELGIAN, AMERICAN], ids=["nl-BE", "en-US"])
@pytest.mark.parametrize("separators", [SEMICOLON, COMMA, TAB, f"{COMMA}/{SEMICOLON}/{TAB}"])
def test_no_cell_is_a_formula_where_a_spreadsheet_opens_it(
    tmp_path: Path, separators: str, locale: int
) -> None:
    texts = hostile_texts()
    rows = [[text, Decimal("-5.10"), f"a{text}", text] for text in texts]
    (tmp_path / "ours.csv").write_text(csv_text(["=1+1", "amount", "b", "c"], rows), "utf-8")
    sign = separators.partition("/")[0]
    (tmp_path / "control.csv").write_text(f"x{chr(int(sign))}=1+1\n", "utf-8")
    sheets = opened(sorted(tmp_path.glob("*.csv")), tmp_path, separators, locale)
    assert FORMULA.findall(sheets["control"]) == ["of:=1+1"]
    assert FORMULA.findall(sheets["ours"]) == []
    if locale == AMERICAN and COMMA in separators.split("/"):
        assert NUMBER.findall(sheets["ours"]).count("-5.1") == len(texts)
