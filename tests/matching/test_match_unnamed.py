"""Lines without a reference get candidates ranked by earlier payments, and are never matched."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from habits_world import draw_habits
from match_tables import OWN, arrow, expectation, line, match, outcome

from treasury import match_references
from treasury.matching.engine.pipeline import load, needed, run
from treasury.matching.input_tables import EXPECTATIONS, LINES, read_table
from treasury.matching.ranked_facts import FACTS
from treasury.matching.reference_matching import STEPS, Matches, read_decisions, rule_tables
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED

pytestmark = pytest.mark.long_file

GARAGE, RENT = "VFY-8M3T-407", "VFY-9K2P-118"
JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
PAYER = {"counterparty_account": "DE1", "counterparty_name": "Müller & Söhne GmbH"}
STRANGER = {"counterparty_account": "DE9", "counterparty_name": "Nobody"}


def code(name: str, text: str) -> dict[str, Any]:
    return expectation(name, text, account=OWN, opened_at=JANUARY, counterparty_name=None)


CODES = [code("garage", GARAGE), code("rent", RENT)]
BEFORE = [
    line(f"{name}{month}", amount, f"{text} {word}", booking_date=date(2026, month, day), **PAYER)
    for month in (7, 8, 9)
    for name, text, word, amount, day in (
        ("g", GARAGE, "storage", "85", 20), ("r", RENT, "huur", "500", 5),
    )
]  # fmt: skip


def candidates(matches: Matches, entry_id: str = "a") -> list[tuple[str, str]]:
    """Return the candidates of a line, best first, with their reasons."""
    return [
        (row["expectation_id"], row["reason"])
        for row in matches.candidates.arrow.to_pylist()
        if row["entry_id"] == entry_id
    ]


def ranked(paid: dict[str, Any], *more: dict[str, Any]) -> list[tuple[str, str]]:
    """Match the line "a" after those of `BEFORE`; check that it is suggested; return candidates."""
    matches = match([*BEFORE, paid], [*CODES, *more])
    assert outcome(matches)["outcome"] == "suggested"
    assert "a" not in matches.allocations.arrow["entry_id"].to_pylist()
    return candidates(matches)


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("amount", "text", "day", "first", "fact_words"),
    [
        ("500", "thanks", 12, "rent", "as much as before"),
        ("520", "thanks", 12, "rent", "near what it always was"),
        ("300", "thanks", 6, "rent", "always around the 5th"),
        ("300", "thanks", 21, "garage", "always around the 20th"),
        ("300", "Huur oktober", 12, "rent", "payments for this said HUUR"),
        ("300", "STORAGE", 12, "garage", "only payments for this said STORAGE"),
    ],
)
def test_the_code_of_a_payer_that_agrees_ranks_first_with_its_reason(
    amount: str, text: str, day: int, first: str, fact_words: str
) -> None:
    ranking = ranked(line("a", amount, text, day, **PAYER))
    assert [name for name, _ in ranking] == [first, {"rent": "garage", "garage": "rent"}[first]]
    parts = ranking[0][1].split("; ")
    assert parts[:2] == ["no reference", "the payer's account paid this before"]
    assert fact_words in parts
    assert fact_words not in ranking[1][1]


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "name",
    ["MÜLLER & SÖHNE", "Söhne Müller G.m.b.H.", "Mueller und Soehne AG", "Muller, Sohne Ltd.",
     "mu\u0308ller so\u0308hne s.r.o."],
)  # fmt: skip
def test_case_accents_legal_form_and_word_order_do_not_change_a_name(name: str) -> None:
    moved = {"counterparty_account": "LT2", "counterparty_name": name}
    ranking = ranked(line("a", "500", "thanks", 12, **moved))
    assert ranking[0][0] == "rent"
    assert "the payer's name paid this before" in ranking[0][1]


@pytest.mark.first_case
@pytest.mark.parametrize("name", ["Müller GmbH", "Müller & Töchter GmbH", "GmbH & Co. KG", None])
def test_a_different_name_is_another_payer(name: str | None) -> None:
    moved = {"counterparty_account": "LT2", "counterparty_name": name}
    matches = match([*BEFORE, line("a", "501", "thanks", 12, **moved)], CODES)
    assert outcome(matches)["outcome"] == "unreferenced"


@pytest.mark.acceptance
def test_an_accepted_decision_counts_as_a_lesson_like_a_reference() -> None:
    silent = [row | {"remittance": "thanks"} for row in BEFORE]
    expectations = {"g": "garage", "r": "rent"}
    accepted = [
        {"entry_id": row["entry_id"], "expectation_id": expectations[row["entry_id"][0]],
         "verdict": "accept", "reason": "by telephone"}
        for row in silent
    ]  # fmt: skip
    paid = line("a", "500", "thanks", 6, **PAYER)
    assert candidates(match([*silent, paid], CODES)) == []
    ranking = candidates(match([*silent, paid], CODES, accepted))
    assert ranking[0][0] == "rent"
    assert "the payer's account paid this before" in ranking[0][1]


def test_nothing_is_learned_from_lines_booked_later() -> None:
    early = line("a", "500", "huur", booking_date=date(2026, 6, 5), **PAYER)
    assert outcome(match([*BEFORE, early], CODES))["outcome"] == "unreferenced"


@pytest.mark.acceptance
def test_a_request_names_its_payer_by_account_or_by_name() -> None:
    more = {"counterparty_account": None, "counterparty_name": "Müller & Söhne GmbH"}
    by_name = expectation("n", "PAY-2026-000001", "77", **more)
    paid = line(
        "a", "77", "thanks", 9, counterparty_account="LT2", counterparty_name="MULLER SOHNE"
    )
    ranking = candidates(match([paid], [by_name]))
    assert ranking == [
        ("n", "no reference; the name that it gives; requested 14 days before; amount agrees")
    ]
    by_account = by_name | {"counterparty_account": "LT2", "counterparty_name": None}
    assert "the account that it names" in candidates(match([paid], [by_account]))[0][1]
    second_payer = by_name | {"counterparty_account": "LT3"}
    assert candidates(match([paid], [second_payer])) == []


@pytest.mark.acceptance
def test_a_payer_for_a_customer_has_the_customers_next_request_as_best_candidate() -> None:
    customer = {"counterparty_name": "Jansen Bouw BV"}
    expectations = [
        expectation("old", "PAY-2026-000001", "77", **customer),
        expectation("new", "PAY-2026-000002", "91", **customer),
        expectation("other", "PAY-2026-000003", "91", counterparty_name="Peeters NV"),
    ]
    lines = [line("b", "77", "PAY-2026-000001", 2, **PAYER), line("a", "91", "thanks", 9, **PAYER)]
    ranking = candidates(match(lines, expectations))
    assert ranking[0][0] == "new"
    assert "the payer's account paid for its counterparty before" in ranking[0][1]


def test_a_short_payment_suggests_the_customers_request_of_nearly_that_amount() -> None:
    customer = {"counterparty_name": "Jansen Bouw BV"}
    expectations = [
        expectation(f"r{amount}", f"PAY-2026-{amount:06}", str(amount), **customer)
        for amount in (250, 900)
    ]
    paid = line("a", "245", "thanks", 9, counterparty_name="JANSEN BOUW B.V.")
    assert [name for name, _ in candidates(match([paid], expectations))] == ["r250"]


def test_the_remaining_amount_of_a_request_is_compared() -> None:
    expectations = [expectation("r", "PAY-2026-000001", "100")]
    lines = [line("b", "60", "PAY-2026-000001", 2, **PAYER), line("a", "40", "thanks", 9, **PAYER)]
    ((name, reason),) = candidates(match(lines, expectations))
    assert name == "r"
    assert "the amount is what remains" in reason
    assert "amount differs" not in reason


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("amount", "others", "becomes"),
    [
        ("123.45", 0, "suggested"),
        ("123.45", 1, "unreferenced"),
        # A round amount is not rare.
        ("100", 0, "unreferenced"),
        ("2050.00", 0, "unreferenced"),
    ],
)
def test_only_a_rare_amount_alone_suggests_a_request(
    amount: str, others: int, becomes: str
) -> None:
    expectations = [expectation(f"r{n}", f"PAY-2026-00000{n}", amount) for n in range(1 + others)]
    matches = match([line("a", amount, "thanks", 9, **STRANGER)], expectations)
    assert outcome(matches)["outcome"] == becomes


def test_an_amount_that_many_lines_share_suggests_nothing() -> None:
    lines = [line(f"a{n}", "123.45", "thanks", 9, **STRANGER) for n in range(6)]
    matches = match(lines, [expectation("r", "PAY-2026-000001", "123.45")])
    assert set(matches.lines.arrow["outcome"].to_pylist()) == {"unreferenced"}


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        ("rent Jansen, Bouw", True), ("BOUW JANSEN B.V.", True), ("rent Jansen", False),
        ("Jansen Transport, Peeters Bouw", True), ("Janssen Bouw", False),
    ],
)  # fmt: skip
def test_a_counterpartys_whole_name_in_a_text_suggests_its_request(
    text: str, is_said: bool
) -> None:
    names = ("Jansen Bouw BV", "Peeters NV")
    expectations = [
        expectation(f"r{n}", f"PAY-2026-00000{n}", "100", counterparty_name=name)
        for n, name in enumerate(names)
    ]
    ranking = candidates(match([line("a", "100", text, 9, **STRANGER)], expectations))
    assert [name for name, _ in ranking] == (["r0"] if is_said else [])
    assert all("its text names the counterparty" in reason for _, reason in ranking)


def test_an_earlier_payers_name_in_a_text_suggests_what_that_payer_paid() -> None:
    jansen = {"counterparty_account": "DE2", "counterparty_name": "Jansen Bouw BV"}
    before = [
        line(f"b{month}", "70", f"{GARAGE} x", booking_date=date(2026, month, 5), **jansen)
        for month in (8, 9)
    ]
    paid = line("a", "33", "for Jansen Bouw", 19, **STRANGER)
    ((name, reason),) = candidates(match([*before, paid], CODES))
    assert name == "garage"
    assert "its text names one who paid this, and only this, before" in reason


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("amounts", "fact_words"),
    [
        (("100", "100", "100"), "near what it always was"),
        (("98", "100", "106"), "between the amounts before"),
        (("106", "107", "108"), "about as much as before"),
        (("98", "107", "20", "21", "900"), "about as much as some before"),
        (("98", "105", "7"), "as much as before"),
    ],
)
def test_the_words_for_an_amount_depend_on_how_earlier_amounts_vary(
    amounts: tuple[str, ...], fact_words: str
) -> None:
    before = [
        line(f"b{n}", amount, f"{GARAGE} x", booking_date=date(2026, 9 - n, 5), **PAYER)
        for n, amount in enumerate(amounts)
    ]
    ranking = candidates(match([*before, line("a", "105", "thanks", 19, **PAYER)], CODES))
    assert fact_words in ranking[0][1].split("; ")


@pytest.mark.acceptance
def test_each_of_two_amounts_for_one_code_has_its_usual_day() -> None:
    before = [
        line(f"{day}{month}", amount, f"{GARAGE} x", booking_date=date(2026, month, day), **PAYER)
        for month in (7, 8, 9)
        for day, amount in ((5, "100"), (20, "900"))
    ]
    ranking = candidates(match([*before, line("a", "900", "thanks", 19, **PAYER)], CODES))
    assert "always around the 20th at about this amount" in ranking[0][1].split("; ")


@pytest.mark.acceptance
def test_equal_facts_are_a_tie() -> None:
    expectations = [code("x", "VFY-1111-222"), code("y", "VFY-3333-444")]
    lines = [
        line(f"{name}{month}", "50", text, booking_date=date(2026, month, 5), **PAYER)
        for month in (8, 9)
        for name, text in (("x", "VFY-1111-222"), ("y", "VFY-3333-444"))
    ]
    line_outcome = outcome(match([*lines, line("a", "50", "thanks", 5, **PAYER)], expectations))
    assert (line_outcome["expectation_id"], line_outcome["margin"]) == ("x", Decimal(0))


@pytest.mark.acceptance
def test_a_rejected_candidate_is_omitted_and_a_damaged_reference_ranks_first() -> None:
    paid = line("a", "500", "huur", 5, **PAYER)
    no = [{"entry_id": "a", "expectation_id": "rent", "verdict": "reject", "reason": "no"}]
    assert [name for name, _ in candidates(match([*BEFORE, paid], CODES, no))] == ["garage"]
    torn = line("a", "500", "huur VFY-8M3T-40", 5, **PAYER)
    rows = [
        row
        for row in match([*BEFORE, torn], CODES).candidates.arrow.to_pylist()
        if row["entry_id"] == "a"
    ]
    assert [(row["expectation_id"], row["tier"]) for row in rows] == [("garage", 4), ("rent", 5)]


@pytest.mark.acceptance
def test_a_payer_of_very_many_codes_has_few_candidates() -> None:
    expectations = [code(f"c{n:03}", f"VFY-{n:04}-118") for n in range(120)]
    lines = [
        line(f"b{n:03}", f"{n + 10}", f"VFY-{n:04}-118", 2, **PAYER)
        for n in range(len(expectations))
    ]
    matches = match([*lines, line("a", "17", "thanks", 9, **PAYER)], expectations)
    ranking = candidates(matches)
    assert len(ranking) == Rules().max_candidates
    assert ranking[0][0] == "c007"


def test_the_weights_of_all_parts_add_up_to_less_than_one() -> None:
    heaviest: dict[str, Decimal] = {}
    for fact in FACTS:
        heaviest[fact.part] = max(fact.weight, heaviest.get(fact.part, Decimal(0)))
    # An agreeing amount adds 0.2 to the score, and a known counterparty 0.1.
    for_all = Decimal("0.3")
    assert sum(heaviest.values()) < 1
    assert sum(heaviest.values()) - heaviest["amount"] + Decimal("0.12") + for_all <= 1
    assert min(fact.weight for fact in FACTS) > 0


def test_letters_are_folded_one_by_one() -> None:
    (row,) = rule_tables(Rules())["name_folding"].to_pylist()
    assert len(row["accented"]) == len(row["plain"]) == len(set(row["accented"]))
    folded = dict(zip(row["accented"], row["plain"], strict=True))
    assert "".join(folded[letter] for letter in "ÀÇÉŁØŽ") == "ACELOZ"


@pytest.mark.acceptance
def test_in_drawn_months_the_right_candidate_is_first_and_none_is_matched() -> None:
    """The worlds differ from those of `benchmarks.peers_habits`, which compares with Splink."""
    counts: Counter[str] = Counter()
    for seed in (1, 2):
        habits = draw_habits(seed, payers=30, months=5)
        lines, expectations = habits.world.tables()
        matches = match_references(lines, expectations, decisions=habits.decisions)
        for row in matches.lines.arrow.to_pylist():
            if row["entry_id"] in habits.last_month:
                own = habits.world.truths[row["entry_id"]].expectation_id
                counts["belonging"] += own is not None
                counts["first"] += own is not None and row["expectation_id"] == own
                counts[row["outcome"]] += 1
    assert counts["matched"] == counts["conflict"] == counts["duplicate"] == 0
    assert counts["belonging"] > 100
    assert counts["first"] >= Decimal("0.97") * counts["belonging"], counts


@pytest.mark.acceptance
def test_shuffled_rows_rank_alike() -> None:
    habits = draw_habits(3, payers=20, months=4)
    lines, expectations = habits.world.tables()
    first = match_references(lines, expectations, decisions=habits.decisions)
    again = match_references(
        lines.take(list(reversed(range(lines.num_rows)))),
        expectations.take(list(reversed(range(expectations.num_rows)))),
        decisions=arrow(list(reversed(habits.decisions.to_pylist()))),
    )
    assert again.candidates.arrow.equals(first.candidates.arrow)
    assert again.lines.arrow.equals(first.lines.arrow)


@pytest.mark.acceptance
def test_a_payers_name_in_another_payment_does_not_change_the_payers_candidates() -> None:
    """An earlier payment counts once, even if several keys find it."""
    own = line(
        "a", "520", "thanks", 12, counterparty_account=None, counterparty_name="Muller Sohne"
    )
    says = line("b", "77", "for muller sohne gmbh", 13, **STRANGER)
    alone = candidates(match([*BEFORE, own], CODES))
    assert alone
    assert candidates(match([*BEFORE, own, says], CODES)) == alone
    answers = [run_of([*BEFORE, own, *more]) for more in ((), (says,))]
    assert answers[0] == answers[1] != []


def run_of(lines: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the number of earlier payments for each subject of the line "a"."""
    connection = duckdb.connect()
    tables = {
        "lines": read_table(arrow(lines), LINES, name="lines"),
        "expectations": read_table(arrow(CODES), EXPECTATIONS, name="expectations"),
        "decisions": read_decisions(None),
        **NOTHING_SETTLED,
        **rule_tables(Rules()),
    }
    load(connection, tables)
    run(connection, needed(STEPS, "payer_habits"))
    return connection.execute(
        "SELECT subject, shown, payments FROM payer_habits WHERE entry_id = 'a' ORDER BY ALL"
    ).fetchall()
