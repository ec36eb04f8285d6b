"""A posting is paired with a bank line only if nothing else could be its line."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treasury.close.ledger.posting_pairs import (
    LedgerMovement,
    PairedMovements,
    pair_movements,
    references_in,
)
from treasury.close.ledger.posting_sums import with_collectives

FIRST, LAST = date(2026, 10, 1), date(2026, 10, 31)


def movements(*rows: tuple[int, str, str]) -> list[LedgerMovement]:
    """Return movements from their day of October, their amount and their text."""
    return [
        LedgerMovement(number, FIRST + timedelta(days=day - 1), amount, references_in(text, amount))
        for number, (day, written, text) in enumerate(rows)
        for amount in [Decimal(written)]
    ]


def paired(
    postings: list[tuple[int, str, str]], lines: list[tuple[int, str, str]]
) -> PairedMovements:
    return pair_movements(movements(*postings), movements(*lines), FIRST, LAST)


def pairs_of(result: PairedMovements) -> list[tuple[int, int, str]]:
    """Return posting, line and reference of each pair."""
    return [(pair.posting.number, pair.line.number, pair.reference) for pair in result.pairs]


def test_the_same_amount_on_near_days_is_a_pair_if_it_is_the_only_one() -> None:
    assert pairs_of(paired([(5, "-100.00", "rent")], [(7, "-100", "")])) == [(0, 0, "")]


@pytest.mark.parametrize(
    ("posting", "line"),
    [
        ((5, "100.00", ""), (5, "100.01", "")),
        ((5, "100.00", ""), (5, "-100.00", "")),
        ((5, "100.00", ""), (13, "100.00", "")),
        ((5, "100.00", "PAY-2026-004417"), (5, "100.00", "PAY-2026-004500")),
    ],
    ids=["a cent", "the other direction", "eight days", "another number of the kind"],
)
def test_a_posting_and_a_line_that_differ_are_not_a_pair(
    posting: tuple[int, str, str], line: tuple[int, str, str]
) -> None:
    result = paired([posting], [line])
    assert not result.pairs
    assert not result.groups
    assert (len(result.postings), len(result.lines)) == (1, 1)


def test_equal_amounts_that_could_be_exchanged_are_a_group() -> None:
    result = paired([(5, "100", "a"), (6, "100", "b")], [(5, "100", "c"), (6, "100", "d")])
    assert not result.pairs
    (group,) = result.groups
    assert (len(group.postings), len(group.lines), group.excess) == (2, 2, 0)
    (group,) = paired([(5, "100", "")], [(5, "100", ""), (9, "100", "")]).groups
    assert group.excess == -1


def test_a_reference_decides_among_equal_amounts_and_over_any_number_of_days() -> None:
    postings = [(5, "100", "Invoice RE-10023"), (6, "100", "")]
    lines = [(6, "100", "no text"), (20, "100", "RE 10023/RE-10023")]
    assert pairs_of(paired(postings, lines)) == [(0, 1, "RE10023"), (1, 0, "")]


def test_a_reference_in_two_lines_decides_nothing() -> None:
    lines = [(5, "100", "RE-10023"), (6, "100", "RE-10023")]
    result = paired([(5, "100", "RE-10023")], lines)
    assert not result.pairs
    assert len(result.groups) == 1


def test_a_posting_that_names_another_line_is_not_paired_by_its_day() -> None:
    # The invoice was paid with a different amount, so the line of this amount is another payment.
    lines = [(5, "100", ""), (6, "250", "RE-10023")]
    assert not paired([(5, "100", "RE-10023")], lines).pairs


def test_outside_of_the_month_only_references_decide() -> None:
    assert not paired([(1, "100", "")], [(0, "100", "")]).pairs
    assert not paired([(31, "100", "")], [(32, "100", "")]).pairs
    assert pairs_of(paired([(31, "100", "RE-10023")], [(32, "100", "RE-10023")])) == [
        (0, 0, "RE10023")
    ]
    assert not paired([(1, "100", "RE-10023")], [(-20, "100", "RE-10023")]).pairs


@pytest.mark.parametrize("text", ["31.10.2026", "2026-10", "BE45539951876689", "100.00", "no 12"])
def test_dates_accounts_and_amounts_are_not_references(text: str) -> None:
    assert references_in(text, Decimal("100.00")) == frozenset()


ROWS = st.lists(
    st.tuples(
        st.integers(-10, 45),
        st.sampled_from(["100", "-100", "250.50"]),
        st.sampled_from(["", "RE-10023", "RE-10024", "DOC 55667 RE-10023"]),
    ),
    max_size=12,
)


@given(postings=ROWS, lines=ROWS)
def test_every_movement_is_once_in_a_pair_a_group_or_neither(
    postings: list[tuple[int, str, str]], lines: list[tuple[int, str, str]]
) -> None:
    result = paired(postings, lines)
    for side, given_rows in (("posting", postings), ("line", lines)):
        numbers = [getattr(pair, side).number for pair in result.pairs]
        numbers += [each.number for group in result.groups for each in getattr(group, f"{side}s")]
        numbers += [each.number for each in getattr(result, f"{side}s")]
        assert sorted(numbers) == list(range(len(given_rows)))
    for pair in result.pairs:
        assert pair.posting.amount == pair.line.amount
        near = abs(pair.posting.day - pair.line.day) <= timedelta(days=7)
        assert pair.reference or near
    for group in result.groups:
        assert len(group.postings) + len(group.lines) > 2
        amounts = {each.amount for each in (*group.postings, *group.lines)}
        assert amounts == {group.amount}


def summed(
    postings: list[tuple[int, str, str]], lines: list[tuple[int, str, str]]
) -> PairedMovements:
    sides = movements(*postings), movements(*lines)
    return with_collectives(pair_movements(*sides, FIRST, LAST), *sides, FIRST, LAST)


def sums_of(result: PairedMovements) -> list[tuple[int, list[int], str]]:
    """Return the number of the one, those of its parts, and the reference of each sum."""
    return [
        (each.whole.number, [part.number for part in each.parts], each.reference)
        for each in result.collectives
    ]


SALARIES = [(6, "-1200.10", "anna"), (6, "-900.05", "bert"), (6, "-1000.00", "carla")]


def test_a_posting_that_is_the_sum_of_all_remaining_lines_of_a_day_is_collective() -> None:
    others = [(6, "-77.00", "gas RE-10023"), (6, "50.00", "customer")]
    result = summed([(5, "-3100.15", "payroll"), (6, "-77", "RE-10023")], [*SALARIES, *others])
    assert sums_of(result) == [(0, [0, 1, 2], "")]
    assert (len(result.pairs), result.postings, result.reasons) == (1, (), {})
    assert [line.number for line in result.lines] == [4]
    (reverse,) = summed(SALARIES, [(7, "-3100.15", "batch")]).collectives
    assert (reverse.is_posting, reverse.whole.number, len(reverse.parts)) == (False, 0, 3)


def test_a_shared_reference_separates_the_parts_from_the_rest_of_the_day() -> None:
    lines = [(6, "-40", "FILE-20417"), (6, "-60", "FILE-20417"), (6, "-75", "other")]
    assert sums_of(summed([(6, "-100", "FILE-20417")], lines)) == [(0, [0, 1], "FILE20417")]


@pytest.mark.parametrize(
    ("postings", "lines", "reason"),
    [
        ([(5, "-3100.14", "a cent less")], SALARIES, ""),
        ([(15, "-3100.15", "nine days later")], SALARIES, ""),
        ([(5, "3100.15", "the other direction")], SALARIES, ""),
        ([(5, "-3100.15", "")], [SALARIES[0], (7, "-900.05", ""), (7, "-1000.00", "")], ""),
        ([(5, "-100", "")], [(6, "-40", ""), (6, "-60", ""), (6, "-75", "")], "only some of the 3"),
        ([(5, "-100", "")], [(6, "-40", ""), (6, "-60", ""), (8, "-40", ""), (8, "-60", "")],
         "2 bank lines of 6 Oct add up to it, and may belong elsewhere"),
        ([(5, "-100", "a"), (7, "-100", "b")], [(6, "-40", ""), (6, "-60", "")], "may belong"),
        ([(5, "-100", ""), (15, "-40", "")], [(6, "-40", ""), (6, "-60", "")], "may belong"),
        ([(5, "-100", ""), (6, "-150", "")], [(6, "-40", ""), (6, "-60", ""), (6, "-90", "")],
         "only some of the 3"),
        ([(5, "-100", "PAY-2026-004417")], [(6, "-40", "PAY-2026-004500"), (6, "-60", "")], ""),
    ],
    ids=["a cent", "far", "direction", "over two days", "some of a day", "either of two days",
         "two postings", "the pair of a part", "overlapping parts", "another reference"],
)  # fmt: skip
def test_a_sum_that_is_not_exact_and_unambiguous_stays_open(
    postings: list[tuple[int, str, str]], lines: list[tuple[int, str, str]], reason: str
) -> None:
    result = summed(postings, lines)
    assert not result.collectives
    assert len(result.postings) == len(postings)
    assert len(result.lines) == len(lines)
    assert bool(reason) == bool(result.reasons)
    assert reason in result.reasons.get((True, 0), "")


def test_a_sum_stays_open_if_an_exchangeable_group_of_its_day_is_left_over() -> None:
    lines = [(6, "-40", ""), (6, "-60", ""), (6, "-5", ""), (6, "-5", "")]
    result = summed([(5, "-100", ""), (6, "-5", "")], lines)
    assert not result.collectives
    assert "may belong elsewhere" in result.reasons[True, 0]


@given(postings=ROWS, lines=ROWS)
def test_a_sum_is_exact_and_no_movement_is_used_twice(
    postings: list[tuple[int, str, str]], lines: list[tuple[int, str, str]]
) -> None:
    result = summed(postings, lines)
    for is_posting, given_rows in ((True, postings), (False, lines)):
        side = "posting" if is_posting else "line"
        numbers = [getattr(pair, side).number for pair in result.pairs]
        numbers += [each.number for group in result.groups for each in getattr(group, f"{side}s")]
        numbers += [each.number for each in getattr(result, f"{side}s")]
        for found in result.collectives:
            members = (found.whole,) if found.is_posting == is_posting else found.parts
            numbers += [member.number for member in members]
        assert sorted(numbers) == list(range(len(given_rows)))
    for found in result.collectives:
        assert sum(part.amount for part in found.parts) == found.whole.amount
        assert len({part.day for part in found.parts}) == 1
