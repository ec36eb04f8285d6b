"""Real MT940 files, compared with an independent count and with another library."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows

from treasury.statements import read_file

SHARED = Path(__file__).parents[3] / "shared" / "statements"


def real_files() -> list[Path]:
    return sorted(SHARED.glob("*/mt/*"))


def independent(path: Path) -> tuple[int, Decimal]:
    """Return the number and signed sum of the movements, read from the start of each field 61."""
    text = path.read_bytes().decode("latin-1").replace("\r\n", "\n")
    count, total = 0, Decimal(0)
    for part in text.split("\n:61:")[1:] + ([text[4:]] if text.startswith(":61:") else []):
        line = part.replace("\n", "", 1) if part[:20].split("\n")[0].isalnum() else part
        at = next(i for i, char in enumerate(line) if char in "CDRE")
        mark = line[at : at + 2] if line[at] == "R" else line[at]
        rest = line[at + len(mark) :].lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        digits = ""
        for char in rest:
            if char not in "0123456789,":
                break
            digits += char
        amount = Decimal(digits.replace(",", "."))
        total += amount if mark in {"C", "RD"} else -amount
        count += 1
    return count, total


@pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no folder {SHARED}: MT940 is not tested on real files of banks"
)
@pytest.mark.parametrize("path", real_files(), ids=lambda path: path.name[-40:])
def test_every_real_file_agrees_with_an_independent_count(path: Path) -> None:
    file = read_file(path)
    signed = [
        amount if direction == "CRDT" else -amount
        for amount, direction in rows(file.entries, "amount", "direction")  # type: ignore[misc]
    ]
    assert (len(signed), sum(signed, Decimal(0))) == independent(path)


@pytest.mark.acceptance
@pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no folder {SHARED}: MT940 is not tested on real files of banks"
)
def test_the_library_mt_940_agrees_on_the_files_it_can_read() -> None:
    mt940 = pytest.importorskip("mt940")
    agreed = 0
    for path in real_files():
        try:
            theirs = [
                (one.data["amount"].amount, one.data["date"])
                for one in mt940.parse(path.read_bytes()).transactions
                if "amount" in one.data
            ]
        except Exception:  # noqa: BLE001 - such a file is not compared
            continue
        mine = [
            (amount if direction == "CRDT" else -amount, valued)  # type: ignore[operator]
            for amount, direction, valued in rows(
                read_file(path).entries, "amount", "direction", "value_date"
            )
        ]
        same = [(abs(amount), day) for amount, day in theirs] == [  # type: ignore[misc]
            (abs(amount), day)
            for amount, day in mine  # type: ignore[arg-type]
        ]
        agreed += same
    assert agreed >= 60, f"the library agrees on {agreed} files"
