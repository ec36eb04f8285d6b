"""Each of the 38 cases of the contract has a test that is named after it."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
CASES = range(1, 39)


def test_every_case_has_a_test_of_its_name() -> None:
    case_numbers = {
        int(number)
        for room in ("matching", "month", "close")
        for path in (TESTS / room).rglob("test_*.py")
        for number in re.findall(r"(?m)^def test_case_(\d\d)_\w+\(", path.read_text("utf-8"))
    }
    assert case_numbers == set(CASES)
