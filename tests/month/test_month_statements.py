"""A month's balances and days from monthly files, a longer file, or both."""

from __future__ import annotations

import itertools
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from case_desk import camt, desk, entry
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.workspace import Workspace

DAYS = {
    "2026-07": ("2026-07-01", "2026-07-31"),
    "2026-08": ("2026-08-01", "2026-08-31"),
    "2026-09": ("2026-09-01", "2026-09-30"),
    "2026-10": ("2026-10-01", "2026-10-31"),
}
MONTHS = tuple(DAYS)
Line = tuple[str, int]
"""The day of a movement, and its amount."""
LINES: tuple[Line, ...] = (
    ("2026-07-15", 100),
    ("2026-08-01", 30),
    ("2026-08-31", -5),
    ("2026-09-15", 300),
    ("2026-10-31", 400),
)


def balance(lines: tuple[Line, ...], before: str) -> int:
    return 1000 + sum(amount for day, amount in lines if day < before)


def statement(folder: Path, first: str, last: str, lines: tuple[Line, ...] = LINES) -> Path:
    """Write a statement from `first` to `last`, with the movements of these days."""
    within = [
        entry(str(abs(amount)), "CRDT" if amount > 0 else "DBIT", f"movement {place}", day=day)
        for place, (day, amount) in enumerate(lines)
        if first <= day <= last
    ]
    return camt(
        folder,
        *within,
        opening=f"{balance(lines, first)}.00",
        closing=f"{balance(lines, last + '~')}.00",
        days=(first, last),
        name=f"{first}-{last}.xml",
    )


def balances_of(workspace: Workspace, month: str) -> dict[str, Any]:
    (row,) = workspace.reconcile(month).statements.arrow.to_pylist()
    return row


def right(month: str, lines: tuple[Line, ...] = LINES) -> tuple[Decimal, Decimal]:
    """Return a month's true opening and closing balance."""
    first, last = DAYS[month]
    return Decimal(balance(lines, first)), Decimal(balance(lines, last + "~"))


def balances(row: dict[str, Any]) -> tuple[Decimal, Decimal]:
    return row["opening_balance"], row["closing_balance"]


@pytest.mark.acceptance
def test_a_longer_statement_in_addition_to_monthly_ones_has_no_effect(tmp_path: Path) -> None:
    files = [statement(tmp_path / "bank", *days) for days in DAYS.values()]
    longer = statement(tmp_path / "bank", "2026-08-01", "2026-10-31")
    for name, order in {"after": [*files, longer], "before": [longer, *files]}.items():
        workspace = desk(tmp_path / name)
        for file in order:
            workspace.statements.add([file])
        for month in MONTHS:
            row = balances_of(workspace, month)
            assert row["complete"], (name, month)
            assert balances(row) == right(month), (name, month)
            assert (str(row["covered_from"]), str(row["covered_to"])) == (
                "2026-07-01",
                "2026-10-31",
            )


@pytest.mark.acceptance
def test_a_statement_that_overlaps_in_part_is_doubted_and_no_balance_is_wrong(
    tmp_path: Path,
) -> None:
    workspace = desk(tmp_path / "desk")
    files = [statement(tmp_path / "bank", *days) for days in DAYS.values()]
    workspace.statements.add(files)
    workspace.statements.add([statement(tmp_path / "bank", "2026-08-20", "2026-10-20")])
    assert [balances(balances_of(workspace, month)) for month in MONTHS] == [*map(right, MONTHS)]
    # The last file begins and ends within a month, so no common balance proves that it agrees
    # with the monthly files.
    complete = [balances_of(workspace, month)["complete"] for month in MONTHS]
    assert complete == [True, False, False, False]


@pytest.mark.acceptance
def test_lines_before_a_statement_that_opens_on_their_day_count_once(
    tmp_path: Path,
) -> None:
    workspace = desk(tmp_path / "desk")
    early = entry("100", text="before noon", day="2026-09-15")
    late = (entry("7", text="after noon", day="2026-09-15"), entry("1", text="x", day="2026-10-15"))
    files = (
        camt(
            tmp_path, early, closing="200.00", days=("2026-09-01", "2026-09-15"), name="early.xml"
        ),
        camt(
            tmp_path,
            *late,
            opening="200.00",
            closing="208.00",
            days=("2026-09-15", "2026-10-31"),
            name="late.xml",
        ),
    )
    workspace.statements.add(list(files))
    for month, expected in {"2026-09": (100, 207), "2026-10": (207, 208)}.items():
        row = balances_of(workspace, month)
        assert row["complete"]
        assert balances(row) == expected


@pytest.mark.acceptance
def test_a_month_without_a_statement_is_not_covered_though_the_balance_is_the_same(
    tmp_path: Path,
) -> None:
    lines = (("2026-07-15", 100), ("2026-08-10", 50), ("2026-08-11", -50), ("2026-09-15", 300))
    workspace = desk(tmp_path / "desk")
    for month in ("2026-07", "2026-09", "2026-10"):
        workspace.statements.add([statement(tmp_path / "bank", *DAYS[month], lines)])
    row = balances_of(workspace, "2026-09")
    assert str(row["covered_from"]) == "2026-09-01"
    assert row["complete"]
    assert not balances_of(workspace, "2026-07")["complete"]


def test_a_statement_that_ends_at_midnight_does_not_cover_the_next_day(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    files = [statement(tmp_path / "bank", *DAYS[month]) for month in ("2026-09", "2026-10")]
    for file in files:
        text = file.read_text("utf-8")
        for last, after in (("2026-09-30", "2026-10-01"), ("2026-10-31", "2026-11-01")):
            text = text.replace(f"{last}T23:59:59", f"{after}T00:00:00")
        file.write_text(text, "utf-8")
    workspace.statements.add(files)
    row = balances_of(workspace, "2026-10")
    assert str(row["covered_from"]) == "2026-09-01"
    assert str(row["covered_to"]) == "2026-10-31"
    assert row["complete"]


@pytest.mark.acceptance
@settings(max_examples=3)
@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from([f"{m}-{d:02}" for m in MONTHS for d in (1, 2, 15, 29, 30)]),
            st.integers(-90, 90).filter(bool),
        ),
        min_size=4,
        max_size=12,
    ).map(tuple),
    spans=st.lists(
        st.sampled_from([*itertools.combinations(range(4), 2)]), min_size=1, max_size=3, unique=True
    ),
    order=st.randoms(use_true_random=False),
)
def test_every_months_balances_equal_the_banks_for_any_files_and_order(
    lines: tuple[Line, ...], spans: list[tuple[int, int]], order: Any
) -> None:
    lines = (*lines, *((days[0], 1) for days in DAYS.values()))
    spans_read = [*DAYS.values()] + [(DAYS[MONTHS[a]][0], DAYS[MONTHS[b]][1]) for a, b in spans]
    order.shuffle(spans_read)
    with TemporaryDirectory() as folder:
        workspace = desk(Path(folder) / "desk")
        files = [statement(Path(folder) / "bank", *days, lines) for days in spans_read]
        workspace.statements.add(files)
        for month in MONTHS:
            row = balances_of(workspace, month)
            assert row["complete"] == (row["proved"] == row["statements"])
            assert row["complete"] or len(spans) > 1
            assert balances(row) == right(month, lines)
