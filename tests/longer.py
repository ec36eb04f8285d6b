"""Which tests take long: `make acceptance` runs them before a release, `make test` does not.

`longer.txt` names them, a line each: a file, a test, or a test with `[]` behind it, of which the
first case alone is run by `make test`. `make longer` measures all of them and writes it anew. What
guards money at its core is never in it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from typing import Final

import pytest
from lxml import etree

__all__ = ["long_ones"]

LISTED: Final = Path(__file__).with_name("longer.txt")
FIRST, OTHER = 1.5, 0.8
"""Seconds that a test or its first case may take, and the median of several cases."""
ALWAYS: Final = (
    "tests/api/test_api_canary.py",
    "tests/reconcile/test_match_attacked.py",
    "tests/reconcile/test_match_attacked_further.py",
    "tests/reconcile/test_match_attacked_payers.py",
    "tests/reconcile/test_match_attacked_sums.py",
    "tests/reconcile/test_match_second_codes.py",
    "tests/reconcile/test_settled_closes.py::test_an_open_month",
    "tests/reconcile/test_settled_months.py::test_a_reopened_month_is_matched",
    "tests/reconcile/test_settled_closes.py::test_under_other_rules",
    "tests/reconcile/test_case_",
    "tests/actions/test_actions_hashes.py",
    "tests/items/test_items_replay.py",
    "tests/panels/test_panels_browser.py",
)
"""The beginnings of what is run however long it takes."""
ONCE: Final = (
    "tests/items/test_decision_sheet_killed.py",
    "tests/items/test_file_not_uploaded.py",
    "tests/reconcile/test_bank_answers.py",
    "tests/reconcile/test_decide_batches.py",
    "tests/reconcile/test_file_debits.py",
)
"""The beginnings of what is run in its first case at least, however long that takes."""
NEVER: Final = (
    *(f"tests/panels/test_panels_{name}_browser.py" for name in
      ("choice", "decisions", "desk", "funding", "showing")),
    "tests/sandbox/test_sandbox_openapi_fuzz.py",
)  # fmt: skip
"""The beginnings of what is left however short it is: what it begins with takes long."""


def long_ones(nodes: Iterable[str]) -> set[str]:
    """Those of the tests, by node ids in their order, that are left to `make acceptance`.

    Raises pytest.UsageError for a name of the list that no test has any more.
    """
    names = frozenset(LISTED.read_text("utf-8").splitlines())
    begun: set[str] = set()
    found, met = set(), set()
    for node in nodes:
        test = node.partition("[")[0]
        is_first = test not in begun
        begun.add(test)
        above = {test, test.partition("::")[0]} | (set() if is_first else {f"{test}[]"})
        if above & names:
            found.add(node)
            met |= above & names
    if names > met:
        raise pytest.UsageError(f"tests/longer.txt: there is no {', '.join(sorted(names - met))}")
    return found


def listed(seconds: Iterable[tuple[str, float]]) -> list[str]:
    """What the list names, of tests with the seconds they took, in the order of collection."""
    cases = defaultdict[str, list[float]](list)
    for node, took in seconds:
        cases[node.partition("[")[0]].append(took)
    files = defaultdict[str, list[str]](list)
    for test, took in cases.items():
        files[test.partition("::")[0]].append(_name(test, took))
    names: list[str] = []
    for file, tests in files.items():
        names += [file] if all("::" in name and "[" not in name for name in tests) else tests
    return sorted(filter(None, names))


def _name(test: str, took: list[float]) -> str:
    """How the list names a test; empty for one that it does not."""
    if test.startswith(ALWAYS):
        return ""
    if test.startswith(NEVER) or (took[0] >= FIRST and not test.startswith(ONCE)):
        return test
    return f"{test}[]" if len(took) > 1 and median(took) >= OTHER else ""


def _measured(report: Path) -> Iterator[tuple[str, float]]:
    """Each test of a report in JUnit's form, by node id, with its seconds."""
    for case in etree.parse(report).iter("testcase"):
        file = case.get("classname").replace(".", "/")
        yield f"{file}.py::{case.get('name')}", float(case.get("time"))


if __name__ == "__main__":
    LISTED.write_text("\n".join(listed(_measured(Path(sys.argv[1])))) + "\n", "utf-8")
