"""Every test named in SECURITY.md exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text("utf-8")


def test_each_promise_names_an_existing_test() -> None:
    table = PAGE.partition("## How it is tested")[2].partition("\n\nA fault")[0]
    promises = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(promises) > 20
    assert [line for line in promises if "`tests/" not in line] == []
    named = re.findall(r"`(tests/[\w/]+)(\.py)?(?:::(\w+))?`", table)
    missing = [
        f"{path}::{test}"
        for path, ending, test in named
        if not (ROOT / (path + ending)).exists()
        or (test and f"def {test}(" not in (ROOT / (path + ending)).read_text("utf-8"))
    ]
    assert missing == []


def test_each_partial_promise_names_its_limit() -> None:
    places = PAGE.partition("## Who may write the home")[2].partition("\n## ")[0]
    rows = [line for line in places.splitlines() if line.startswith("| ")]
    assert len(rows) > 4
    assert all(cell.strip() for row in rows for cell in row.strip("|").split("|"))
