"""Matching on worlds with known right answers makes no false match and finds enough."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mangled import KINDS, draw
from mangled_figures import falls, figures, misnamed, run, totals
from mangled_texts import plain
from mangled_world import World
from match_tables import OWN, expectation, line, match
from thorough import examples

from treasury import match_references
from treasury.matching.reference_matching import OUTCOMES, Matches

SEEDS = [pytest.param(seed, marks=[pytest.mark.acceptance] * (seed > 2)) for seed in range(1, 6)]


WORLDS = st.builds(
    draw,
    st.integers(0, 2**32),
    st.integers(1, 2),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=25),
)
slow = settings(max_examples=examples(6, 30))


@pytest.fixture(scope="module", params=SEEDS)
def proof(request: pytest.FixtureRequest) -> tuple[World, Matches]:
    world = draw(request.param)
    return world, run(world)


def test_every_ceiling_has_many_kinds_of_lines() -> None:
    world = draw(0, each=1)
    kinds = {(truth.ceiling, truth.kind) for truth in world.truths.values()}
    count = {name: sum(ceiling == name for ceiling, _ in kinds) for name in ("auto", "suggest")}
    assert len(KINDS) >= 25
    assert count["auto"] >= 25
    assert count["suggest"] >= 10


@pytest.mark.acceptance
def test_no_line_is_matched_above_its_ceiling_or_to_the_wrong_expectation(
    proof: tuple[World, Matches],
) -> None:
    assert list(falls(*proof)) == []


@pytest.mark.acceptance
def test_a_line_has_the_outcome_that_the_contract_names(proof: tuple[World, Matches]) -> None:
    assert list(misnamed(*proof)) == []


@pytest.mark.first_case
def test_enough_lines_are_matched_and_the_right_candidate_is_first(
    proof: tuple[World, Matches],
) -> None:
    figures_now = figures(*proof)
    total = totals(figures_now, 0)
    missed = [row for row in figures_now if row.ceiling != "never" and row.first < row.lines]
    assert total.auto_matched >= 0.95 * total.auto, missed
    assert total.first >= 0.99 * total.findable, missed


@pytest.mark.first_case
def test_whole_references_always_match(proof: tuple[World, Matches]) -> None:
    spellings = ("plain", "lower case", "without hyphens", "words before", "end-to-end id")
    for row in figures(*proof):
        if row.kind in spellings:
            assert row.matched == row.lines, row


@pytest.mark.acceptance
@slow
@given(WORLDS)
def test_every_line_is_in_one_outcome_and_the_sums_tie_per_currency(world: World) -> None:
    assume(world.lines)
    matches = run(world)
    amounts = {row["entry_id"]: (row["currency"], row["amount"]) for row in world.lines}
    rows = matches.lines.arrow.to_pylist()
    assert [row["entry_id"] for row in rows] == sorted(amounts)
    by_outcome: Counter[tuple[str, str]] = Counter()
    for row in rows:
        currency, amount = amounts[row["entry_id"]]
        by_outcome[currency, row["outcome"]] += amount
    assert {outcome for _, outcome in by_outcome} <= set(OUTCOMES)
    for name in {currency for currency, _ in amounts.values()}:
        booked = sum(amount for currency, amount in amounts.values() if currency == name)
        assert sum(by_outcome[name, outcome] for outcome in OUTCOMES) == booked


@pytest.mark.acceptance
@slow
@given(WORLDS)
def test_no_amount_is_allocated_twice(world: World) -> None:
    assume(world.lines)
    matches = run(world)
    of_line: Counter[str] = Counter()
    of_expectation: Counter[str] = Counter()
    for share in matches.allocations.arrow.to_pylist():
        assert share["amount"] > 0
        of_line[share["entry_id"]] += share["amount"]
        of_expectation[share["expectation_id"]] += share["amount"]
    lines = {row["entry_id"]: row for row in world.lines}
    assert all(total <= lines[name]["amount"] for name, total in of_line.items())
    outcomes = {row["entry_id"]: row["outcome"] for row in matches.lines.arrow.to_pylist()}
    assert {outcomes[name] for name in of_line} <= {"matched"}
    states = {row["expectation_id"]: row for row in matches.expectations.arrow.to_pylist()}
    for request in world.expectations:
        if request["amount"] is not None:
            shared = of_expectation[request["expectation_id"]]
            assert shared <= request["amount"]
            assert shared + states[request["expectation_id"]]["remaining"] == request["amount"]


@pytest.mark.acceptance
@slow
@given(WORLDS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(world: World, random: Random) -> None:
    assume(world.lines)
    lines, expectations = world.tables()
    first, again = run(world), match_references(_dealt(lines, random), _dealt(expectations, random))
    for name in ("lines", "expectations", "allocations", "candidates"):
        assert getattr(again, name).arrow.equals(getattr(first, name).arrow), name


CODES = ("PAY-2026-004417", "PAY-2026-004471", "PAY-2026-00441", "PAY-2026-044170", "VFY-8M3T-407")
STANDING = CODES[-1]
HEADS = {code[:at] for code in CODES for at in (3, 8, 9, 11)}
TAILS = {code[at:] for code in CODES for at in (3, 4, 8, 9, 11)}
PIECES = [*CODES, *sorted(HEADS | TAILS), "0", "O", "7", "X", "é", "26"]
GAPS = ["", " ", " ", "-", "\n", "/", ".", ", ", "?"]
TEXTS = st.lists(
    st.tuples(
        st.sampled_from(PIECES), st.sampled_from(["", " ", " ", "-", "\n", "/", ".", ", ", "?"])
    ),
    max_size=6,
).map(lambda parts: "".join(piece + gap for piece, gap in parts))


@pytest.mark.acceptance
@slow
@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from(["10", "20"])), min_size=1, max_size=40))
def test_no_line_matches_without_its_exact_code(
    drawn: list[tuple[str, str, str]],
) -> None:
    """The texts are random pieces of codes; the check ignores case and punctuation."""
    lines = [
        line(f"e{n:02}", amount, text, 2, end_to_end_id=stated_code, counterparty_account=f"DE{n}")
        for n, (text, stated_code, amount) in enumerate(drawn)
    ]
    expectations = [
        expectation(code, code, None if code.startswith("VFY") else "10", account=OWN)
        for code in CODES
    ]
    matches = match(lines, expectations)
    shares: defaultdict[str, set[str]] = defaultdict(set)
    for share in matches.allocations.arrow.to_pylist():
        shares[share["entry_id"]].add(share["expectation_id"])
    for row, (text, stated_code, amount) in zip(
        matches.lines.arrow.to_pylist(), drawn, strict=True
    ):
        if row["outcome"] in {"matched", "duplicate"}:
            fields = [re.sub(r"[\W_]", "", field.upper()) for field in (text, stated_code)]
            allocated = shares[row["entry_id"]] or {row["expectation_id"]}
            assert all(any(plain(code) in field for field in fields) for code in allocated), row
            whole = {
                code
                for code in CODES
                for field in (text, stated_code)
                if plain(code) in map(plain, re.split(r"[^\w./-]+", field))
            }
            # A request paid in full takes precedence over the account's only standing code.
            beside = {STANDING} if int(amount) == 10 and len(allocated) == 1 else set()
            assert whole - beside <= allocated, row
            assert len(allocated) == 1 or int(amount) == 10 * len(allocated), row
        assert row["margin"] is None or 0 <= row["margin"] <= 1
        assert row["runner_up_id"] is None or row["runner_up_id"] != row["expectation_id"]


def _dealt(table: pa.Table, random: Random) -> pa.Table:
    """Return the rows of a table in random order."""
    order = random.sample(range(table.num_rows), table.num_rows)
    return pc.take(table, pa.array(order, pa.int64()))
