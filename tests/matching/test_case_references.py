"""Cases 9 to 14: a reference that is whole, split, similar to another, or contradicted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from mangled import KINDS, draw
from mangled_figures import falls, figures, misnamed, run
from match_tables import expectation, line, match, outcome, state

CODE = "PAY-2026-004417"
ACCOUNT_CODE = "VFY-8M3T-407"


def hold(*names: str, each: int = 12) -> None:
    """Check that lines of these kinds get each permitted match and suggestion, and no other."""
    kinds = [kind for kind in KINDS if kind.name in names]
    assert len(kinds) == len(names)
    world = draw(9, each, kinds)
    matches = run(world)
    assert list(falls(world, matches)) == []
    assert list(misnamed(world, matches)) == []
    for row in figures(world, matches):
        assert row.ceiling != "auto" or row.matched == row.lines, row
        assert row.ceiling == "never" or row.first == row.lines, row


@pytest.mark.first_case
@pytest.mark.parametrize(
    "text",
    [
        "PAY-2026 004417",
        "PAY-2026-\n004417",
        "pay-2026-004417",
        "PAY2026004417",
        "Inv 7: {}",
        "{}.",
    ],
)
@pytest.mark.parametrize("field", ["remittance", "end_to_end_id", "creditor_reference"])
def test_case_09_a_whole_code_matches_in_any_case_spacing_or_surrounding_text(
    text: str, field: str
) -> None:
    row = line("a", "100", None) | {field: text.format(CODE)}
    line_outcome = outcome(match([row], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("matched", "r")


@pytest.mark.acceptance
def test_case_10_a_code_cut_off_at_140_is_suggested_only() -> None:
    text = f"{'payment of several invoices':x<{140 - 14}} {CODE[:-2]}"
    assert len(text) == 140
    line_outcome = outcome(match([line("a", "100", text)], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")
    hold("cut off at 140", "cut off at 35", "cut off at 140 to another's code")


@pytest.mark.first_case
@pytest.mark.parametrize(
    "text",
    [
        f"{CODE}1",
        f"X{CODE}",
        "PAY-2O26-004417",
        "PAY-2026-0044I7",
        "NL91PAY20260044170099",
        f"phone +31 6{CODE}",
        "to pay 2026 004417 pieces",
    ],
)
def test_case_11_a_text_that_only_contains_or_resembles_a_code_never_matches(text: str) -> None:
    line_outcome = outcome(match([line("a", "99", text)], [expectation("r", CODE, "100")]))
    assert line_outcome["outcome"] in {"suggested", "unreferenced"}


def test_case_11_codes_inside_other_codes_or_numbers_are_handled_as_the_contract_says() -> None:
    hold(
        "a code that begins another",
        "a code that another begins",
        "a split code whose first part is another's",
        "joined neighbours make a code",
        "joined numbers make a code",
        "inside an IBAN",
        "inside a printed IBAN",
        "inside a phone number",
        "O for 0",
        "I for 1",
    )


@pytest.mark.parametrize("amount", ["100", "30", "99"])
def test_case_12_two_valid_codes_never_match(amount: str) -> None:
    expectations = [expectation("r", CODE, "100"), expectation("s", ACCOUNT_CODE)]
    matches = match([line("a", amount, f"{CODE} {ACCOUNT_CODE}")], expectations)
    line_outcome = outcome(matches)
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("conflict", None)
    assert line_outcome["reason"].startswith(
        f"different codes in one text: {CODE}, {ACCOUNT_CODE}; "
    )
    assert len(matches.allocations) == 0


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"currency": "USD"}, "currency"),
        ({"account": "LT100000000000000001"}, "account"),
        ({"direction": "DBIT"}, "direction"),
    ],
)
def test_case_13_a_contradicted_code_is_a_conflict_that_names_the_difference(
    changed: dict[str, str], word: str
) -> None:
    request = expectation("r", CODE, "100", account="NL05TEST0417164300")
    matches = match([line("a", "100", CODE, **changed)], [request])
    line_outcome = outcome(matches)
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("conflict", "r")
    assert line_outcome["reason"].startswith(word)
    assert state(matches)["received"] == Decimal(0)


@pytest.mark.first_case
@pytest.mark.parametrize("text", ["PAY-2026-4417", "PAY-2026-00004417"])
@pytest.mark.parametrize(("amount", "expected"), [("100", "matched"), ("99", "suggested")])
def test_case_14_leading_zeros_dropped_or_added_match_with_the_exact_amount_only(
    text: str, amount: str, expected: str
) -> None:
    line_outcome = outcome(match([line("a", amount, text)], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == (expected, "r")
