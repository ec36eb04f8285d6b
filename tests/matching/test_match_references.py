"""The matching function against its contract: references, contradictions, duplicates, returns."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from match_tables import arrow, expectation, line, match, outcome, state

from treasury import match_references
from treasury.matching.rules import Rules

pytestmark = pytest.mark.long_file

CODE = "PAY-2026-004417"


@pytest.mark.first_case
@pytest.mark.parametrize(
    "text",
    [
        "PAY-2026-004417",
        "pay-2026-004417",
        "PAY2026004417",
        "Pay.2026.004417.",
        "PAY/2026/004417",
        "REF:PAY-2026-004417",
        "Invoice 12, PAY-2026-004417; thank you",
        "(PAY-2026-004417)",
        "PAY–2026–004417",
        "first line\nPAY-2026-004417\nlast line",
        "/RFB/PAY-2026-004417/INV/3391",
        "/INV 3391/PAY-2026-004417, thanks",
        "PAY-2026-004417 PAY-2026-004417",
    ],
)
def test_an_unbroken_code_matches_anywhere_in_a_text(text: str) -> None:
    line_outcome = outcome(match([line("a", "100", text)], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"], line_outcome["tier"]) == (
        "matched",
        "r",
        1,
    )
    assert line_outcome["matched_amount"] == Decimal(100)
    assert line_outcome["margin"] is None


@pytest.mark.first_case
@pytest.mark.parametrize("field", ["end_to_end_id", "creditor_reference", "remittance"])
def test_every_reference_field_is_read(field: str) -> None:
    row = line("a", "100", None) | {field: CODE}
    assert outcome(match([row], [expectation("r", CODE, "100")]))["outcome"] == "matched"


@pytest.mark.first_case
@pytest.mark.parametrize(
    "text",
    [
        "XPAY-2026-004417",
        "PAY-2026-0044170",
        "PAY-2026-00441",
        "PAY-2O26-004417",
        "PAY-2026-004471",
        "éPAY-2026-004417",
        "PAY-2026-0044/17X",
    ],
)
def test_a_broken_or_damaged_code_never_matches(text: str) -> None:
    line_outcome = outcome(match([line("a", "100", text)], [expectation("r", CODE, "100")]))
    assert line_outcome["outcome"] in {"suggested", "unreferenced"}
    assert line_outcome["matched_amount"] is None


@pytest.mark.parametrize(
    "text",
    ["XPAY-2026-004417", "PAY-2O26-OO4417", "PAY?2026?004417",
     "PAY-2026-00441", "PAY-2026-004471"],
)  # fmt: skip
def test_a_damaged_code_is_suggested_with_its_reason(text: str) -> None:
    line_outcome = outcome(match([line("a", "100", text)], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")
    assert "reference" in line_outcome["reason"]


BROKEN = ["PAY-2026 004417", "PAY-2026-\n004417", "PAY-2026,\nPAY 2026 004417", "PAY 20 26 0044 17",
          "pay-2026\u00a0004417", "PAY - 2026 - 004417"]  # fmt: skip


@pytest.mark.acceptance
@pytest.mark.parametrize("text", BROKEN)
def test_a_code_broken_by_spaces_matches_with_its_amount(text: str) -> None:
    line_outcome = outcome(match([line("a", "100", text)], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"], line_outcome["tier"]) == (
        "matched",
        "r",
        2,
    )
    assert line_outcome["matched_amount"] == Decimal(100)


@pytest.mark.first_case
@pytest.mark.parametrize("text", BROKEN)
def test_a_code_broken_by_spaces_is_only_suggested_with_another_amount(text: str) -> None:
    line_outcome = outcome(match([line("a", "99.99", text)], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"], line_outcome["tier"]) == (
        "suggested",
        "r",
        2,
    )


def test_a_code_broken_by_other_punctuation_is_not_found() -> None:
    line_outcome = outcome(
        match([line("a", "70", "PAY2026; 004417")], [expectation("r", CODE, "100")])
    )
    assert line_outcome["outcome"] == "unreferenced"


@pytest.mark.acceptance
def test_a_code_that_begins_another_is_not_found_in_it() -> None:
    expectations = [expectation("r", "PAY-2026-0044", "100"), expectation("s", CODE, "100")]
    assert outcome(match([line("a", "100", CODE)], expectations))["expectation_id"] == "s"
    halved = outcome(match([line("a", "100", "PAY-2026-0044/99")], expectations[:1]))
    assert halved["outcome"] == "suggested"


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"currency": "USD"}, "currency"),
        ({"direction": "DBIT"}, "direction"),
        ({"account": "BE68539007547034"}, "account"),
    ],
)
def test_a_code_on_a_line_that_contradicts_it_is_a_conflict_that_names_the_difference(
    change: dict[str, str], word: str
) -> None:
    request = expectation("r", CODE, "100", account="NL05 TEST 0417 1643 00")
    line_outcome = outcome(match([line("a", "100", CODE) | change], [request]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("conflict", "r")
    assert word in line_outcome["reason"]


def test_a_wire_to_another_beneficiary_is_a_conflict() -> None:
    request = expectation("r", CODE, "100", direction="DBIT", counterparty_account="LT00")
    line_outcome = outcome(match([line("a", "100", CODE, direction="DBIT")], [request]))
    assert (line_outcome["outcome"], "account" in line_outcome["reason"]) == ("conflict", True)


@pytest.mark.first_case
@pytest.mark.parametrize(
    "status",
    ["CANCELLED", "cancelled", "REJECTED", "DENIED", "FAILED", "BLOCKED", "CLOSED", "EXPIRED"],
)
def test_a_status_that_expects_no_money_contradicts(status: str) -> None:
    line_outcome = outcome(
        match([line("a", "100", CODE)], [expectation("r", CODE, "100", status=status)])
    )
    assert (line_outcome["outcome"], status in line_outcome["reason"]) == ("conflict", True)


@pytest.mark.first_case
@pytest.mark.parametrize("status", ["SUCCEEDED", "PROCESSING", "ON_SOMETHING_NEW", None])
def test_every_other_or_unknown_status_counts_as_open(status: str | None) -> None:
    line_outcome = outcome(
        match([line("a", "100", CODE)], [expectation("r", CODE, "100", status=status)])
    )
    assert line_outcome["outcome"] == "matched"


def test_a_line_after_the_closing_contradicts_and_one_before_does_not() -> None:
    from datetime import UTC, datetime

    request = expectation("r", CODE, closed_at=datetime(2026, 10, 5, 12, tzinfo=UTC))
    matches = match([line("a", "1", CODE, 5), line("b", "1", CODE, 6)], [request])
    assert [row["outcome"] for row in matches.lines.arrow.to_pylist()] == ["matched", "conflict"]


def test_two_different_codes_are_a_conflict_without_an_expectation() -> None:
    expectations = [expectation("r", CODE, "100"), expectation("s", "VFY-8M3T-407")]
    line_outcome = outcome(match([line("a", "100", f"{CODE} VFY-8M3T-407")], expectations))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("conflict", None)


@pytest.mark.acceptance
def test_a_code_of_two_expectations_matches_only_if_the_account_decides() -> None:
    here = expectation("r", CODE, account=line("a", "1", "")["account"])
    twin = expectation("s", CODE, account="BE68539007547034")
    assert outcome(match([line("a", "1", CODE)], [here, twin]))["expectation_id"] == "r"
    both = outcome(match([line("a", "1", CODE)], [here, here | {"expectation_id": "s"}]))
    assert (both["outcome"], both["runner_up_id"], both["margin"]) == ("suggested", "s", Decimal(0))


def test_of_equal_payments_all_but_the_first_by_date_and_id_are_duplicates() -> None:
    lines = [line("b", "100", CODE, 2), line("c", "100", CODE, 2), line("a", "100", CODE, 3)]
    matches = match(lines, [expectation("r", CODE, "100")])
    assert {row["entry_id"]: row["outcome"] for row in matches.lines.arrow.to_pylist()} == {
        "a": "duplicate", "b": "matched", "c": "duplicate",
    }  # fmt: skip
    assert (state(matches)["state"], state(matches)["last_entry_id"]) == ("received", "b")


def test_a_cent_short_leaves_a_cent_open() -> None:
    matches = match([line("a", "99.99", CODE)], [expectation("r", CODE, "100")])
    assert outcome(matches)["outcome"] == "matched"
    assert state(matches)["state"] == "partly_received"
    assert state(matches)["remaining"] == Decimal("0.01")


def test_instalments_fill_up_and_the_rest_is_shown_as_over_received() -> None:
    lines = [line("a", "60", CODE, 1), line("b", "60", CODE, 2)]
    matches = match(lines, [expectation("r", CODE, "100")])
    assert [row["matched_amount"] for row in matches.lines.arrow.to_pylist()] == [
        Decimal(60),
        Decimal(40),
    ]
    assert (state(matches)["state"], state(matches)["received"]) == ("over_received", Decimal(120))
    assert matches.allocations.arrow.column("amount").to_pylist() == [Decimal(60), Decimal(40)]


def test_a_virtual_account_takes_any_number_of_lines() -> None:
    lines = [line(name, "100", "VFY-8M3T-407") for name in "abc"]
    matches = match(lines, [expectation("r", "VFY-8M3T-407", kind="virtual_bank_account")])
    assert {row["outcome"] for row in matches.lines.arrow.to_pylist()} == {"matched"}
    assert (state(matches)["state"], state(matches)["remaining"]) == ("standing", None)
    assert state(matches)["received"] == Decimal(300)


def test_a_return_and_its_original_are_linked_and_reopen_the_expectation() -> None:
    sent = line("a", "100", CODE, 1, direction="DBIT", end_to_end_id="E2E-1")
    back = line("b", "100", None, 9, original_reference="E2E-1", return_reason="AC04")
    matches = match([sent, back], [expectation("r", CODE, "100", direction="DBIT")])
    assert [row["outcome"] for row in matches.lines.arrow.to_pylist()] == ["returned", "returned"]
    assert "AC04" in outcome(matches, "b")["reason"]
    assert (state(matches)["state"], state(matches)["received"]) == ("reopened", Decimal(0))


def test_paying_again_after_a_return_is_received_not_paid_twice() -> None:
    sent = line("a", "100", CODE, 1, direction="DBIT", end_to_end_id="E2E-1")
    back = line("b", "100", None, 9, original_reference="E2E-1", return_reason="AC04")
    again = line("c", "100", CODE, 12, direction="DBIT", end_to_end_id="E2E-2")
    matches = match([sent, back, again], [expectation("r", CODE, "100", direction="DBIT")])
    assert outcome(matches, "c")["outcome"] == "matched"
    assert state(matches)["state"] == "received"


def test_a_return_without_its_original_is_unreferenced() -> None:
    back = line("b", "100", None, 9, original_reference="E2E-1", return_reason="AC04")
    assert outcome(match([back], [expectation("r", CODE, "100")]), "b")["outcome"] == "unreferenced"


def test_a_return_that_fits_two_equal_lines_reopens_neither() -> None:
    sent = [line(n, "100", CODE, 1, direction="DBIT", end_to_end_id="E7") for n in ("a", "b")]
    back = line("c", "100", None, 9, original_reference="E7", return_reason="AC04")
    matches = match([*sent, back], [expectation("r", CODE, "100", direction="DBIT")])
    outcomes = [row["outcome"] for row in matches.lines.arrow.to_pylist()]
    assert outcomes == ["matched", "duplicate", "suggested"]


@pytest.mark.acceptance
def test_three_equal_amounts_without_a_reference_are_never_matched() -> None:
    earlier = line("k", "1", "PAY-2026-000001")
    lines = [line(name, "100", "no code here", 3) for name in "abc"]
    expectations = [expectation("known", "PAY-2026-000001", "1")] + [
        expectation(f"r{n}", f"PAY-2026-10000{n}", "100") for n in range(3)
    ]
    matches = match([earlier, *lines], expectations)
    for name in "abc":
        assert outcome(matches, name)["outcome"] == "suggested"
        assert outcome(matches, name)["margin"] == Decimal(0)


def test_an_amount_from_an_unknown_counterparty_suggests_nothing() -> None:
    line_outcome = outcome(match([line("a", "100", "no code")], [expectation("r", CODE, "100")]))
    assert line_outcome["outcome"] == "unreferenced"


def test_a_pending_line_is_not_matched() -> None:
    matches = match([line("a", "100", CODE, entry_status="PDNG")], [expectation("r", CODE, "100")])
    assert outcome(matches)["outcome"] == "suggested"
    assert "pending" in outcome(matches)["reason"]
    assert state(matches)["state"] == "open"


@pytest.mark.acceptance
def test_indistinguishable_twins_are_only_suggested() -> None:
    rows = [line(name, "100", CODE) | {"is_twin": True} for name in ("a", "b")]
    matches = match(rows, [expectation("r", CODE, "100")])
    assert {row["outcome"] for row in matches.lines.arrow.to_pylist()} == {"suggested"}
    assert "alike" in outcome(matches)["reason"]
    decision = {"entry_id": "a", "expectation_id": "r", "verdict": "accept", "reason": "this one"}
    assert outcome(match(rows, [expectation("r", CODE, "100")], [decision]))["outcome"] == "matched"


def test_a_classed_line_is_left_out_and_reported() -> None:
    row = line("a", "100", CODE, line_class="bank_charge")
    line_outcome = outcome(match([row], [expectation("r", CODE, "100")]))
    assert (line_outcome["outcome"], line_outcome["line_class"], line_outcome["tier"]) == (
        "ignored",
        "bank_charge",
        None,
    )


def test_placeholders_are_not_references() -> None:
    rows = [line(n, "1", None, end_to_end_id="NOTPROVIDED") for n in "ab"]
    matches = match(rows, [expectation("r", CODE, "1")])
    assert {row["outcome"] for row in matches.lines.arrow.to_pylist()} == {"unreferenced"}


RF = "RF18539007547034"
QRR = "210000000003139471430009017"
OGM = "090933755493"


@pytest.mark.first_case
@pytest.mark.parametrize(
    "text",
    ["RF18 5390 0754 7034", "Rechnung RF18 5390 0754 7034 danke", "rf18539007547034",
     "RF18 0000 5390 0754 7034", "RF18\n5390 0754 7034"],
)  # fmt: skip
def test_a_structured_reference_matches_in_any_groups_and_with_any_amount(text: str) -> None:
    line_outcome = outcome(match([line("a", "70", text)], [expectation("r", RF, "100")]))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("matched", "r")
    assert line_outcome["matched_amount"] == Decimal(70)


@pytest.mark.acceptance
def test_an_rf_reference_whose_check_digits_fail_does_not_match() -> None:
    wrong = "RF19539007547034"
    line_outcome = outcome(
        match([line("a", "70", "RF19 5390 0754 7034")], [expectation("r", wrong)])
    )
    assert line_outcome["outcome"] == "suggested"


@pytest.mark.first_case
@pytest.mark.parametrize(("text", "is_right"), [("RF50PAY2026004417", True),
                                                ("RF51PAY2026004417", False)])  # fmt: skip
def test_an_rf_reference_carries_a_code_only_with_its_check_digits(
    text: str, is_right: bool
) -> None:
    line_outcome = outcome(match([line("a", "70", text)], [expectation("r", CODE, "100")]))
    assert line_outcome["outcome"] == ("matched" if is_right else "suggested")
    assert line_outcome["tier"] == (3 if is_right else 4)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [(QRR, "QRR", "21 00000 00003 13947 14300 09017"), (OGM, "OGM", "090 9337 55493")],
)
def test_other_structured_references_match_by_rule_only(code: str, kind: Any, text: str) -> None:
    rows, expectations = arrow([line("a", "70", text)]), arrow([expectation("r", code, "100")])
    assert outcome(match_references(rows, expectations))["outcome"] != "matched"
    by_rule = Rules(structured=(kind,))
    assert outcome(match_references(rows, expectations, rules=by_rule))["tier"] == 3
    wrong = code[:-1] + str((int(code[-1]) + 1) % 10)
    rows = arrow([line("a", "70", text[:-1] + wrong[-1])])
    outcomes_read = match_references(rows, arrow([expectation("r", wrong, "100")]), rules=by_rule)
    assert outcome(outcomes_read)["outcome"] != "matched"


@pytest.mark.acceptance
def test_a_code_that_the_next_word_completes_to_another_is_only_suggested() -> None:
    expectations = [expectation("r", "PAY-2026-0044", "100"), expectation("s", CODE, "70")]
    line_outcome = outcome(match([line("a", "70", "PAY-2026-0044 17")], expectations))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")
    whole = outcome(match([line("a", "70", "PAY-2026-0044 as agreed")], expectations))
    assert (whole["outcome"], whole["expectation_id"]) == ("matched", "r")


@pytest.mark.first_case
@pytest.mark.parametrize("gap", ["_", ", ", "+", "\u200b", "\u00ad", "\u0301", "\ufffd", " / "])
def test_a_code_followed_by_the_rest_of_a_longer_one_never_matches(gap: str) -> None:
    expectations = [expectation("r", "PAY-2026-0044", "100"), expectation("s", CODE, "70")]
    line_outcome = outcome(match([line("a", "100", f"PAY-2026-0044{gap}17")], expectations))
    # An underscore is part of a code, so the text names both codes in full.
    assert line_outcome["outcome"] == ("conflict" if gap == "_" else "suggested")


def test_a_doubtful_code_names_the_other_code_that_it_may_be() -> None:
    expectations = [expectation("r", "PAY-2026-0044", "100"), expectation("s", CODE, "70")]
    line_outcome = outcome(match([line("a", "70", "PAY-2026-0044, 17")], expectations))
    assert line_outcome["reason"].startswith(
        "whole reference, but the text may also read PAY-2026-004417; amount differs"
    )


@pytest.mark.acceptance
@pytest.mark.parametrize("gap", ["\u200b", "\u00ad", "\u2060", "\ufeff", "\u0301"])
def test_an_invisible_character_does_not_end_a_code(gap: str) -> None:
    expectations = [expectation("r", CODE, "100")]
    line_outcome = outcome(match([line("a", "100", f"{CODE}{gap}8")], expectations))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")
    around = match([line("a", "100", f"to \u200e{CODE}\u200f, thanks")], expectations)
    assert outcome(around)["outcome"] == "matched"


@pytest.mark.parametrize("text", ["\u017fIR-4417171", "s\u0131r-4417171", "\u0405IR-4417171"])
def test_a_letter_of_another_alphabet_does_not_match_a_letter_of_a_code(text: str) -> None:
    line_outcome = outcome(
        match([line("a", "100", text)], [expectation("r", "SIR-4417171", "100")])
    )
    assert line_outcome["outcome"] != "matched"


@pytest.mark.acceptance
@pytest.mark.parametrize("amount", ["70", "170", "99.99", "100"])
def test_a_second_code_in_pieces_prevents_a_match(amount: str) -> None:
    expectations = [expectation("r", CODE, "100"), expectation("s", "PAY-2026-004471", "70")]
    line_outcome = outcome(match([line("a", amount, f"{CODE} PAY-2026-00\n4471")], expectations))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r")
    assert "may also read PAY-2026-004471" in line_outcome["reason"]


def test_a_status_is_recognised_in_any_case_and_spacing() -> None:
    stopped = [expectation("r", CODE, "100", status=" cancelled ")]
    assert outcome(match([line("a", "100", CODE)], stopped))["outcome"] == "conflict"


def test_a_code_at_the_end_of_a_full_field_is_only_suggested_if_a_longer_one_exists() -> None:
    expectations = [expectation("r", "PAY-2026-0044", "100"), expectation("s", CODE, "70")]
    cut = "PAY-2026-0044".rjust(140, "x").replace("xP", " P")
    assert outcome(match([line("a", "70", cut)], expectations))["outcome"] == "suggested"


@pytest.mark.acceptance
def test_a_split_code_matches_a_standing_expectation_only_from_a_payer_known_earlier() -> None:
    expectations = [expectation("r", "VFY-8M3T-407", account=line("a", "1", "")["account"])]
    split = line("b", "70", "VFY-8M3T 407", 5)
    assert outcome(match([split], expectations), "b")["outcome"] == "suggested"
    for day, expected in ((4, "matched"), (5, "suggested"), (6, "suggested")):
        earlier = line("a", "1", "VFY-8M3T-407", day)
        assert outcome(match([earlier, split], expectations), "b")["outcome"] == expected


def test_whole_references_take_precedence_over_an_earlier_split_code() -> None:
    rows = [line("a", "100", "PAY-2026 004417", 1), line("b", "100", CODE, 2)]
    matches = match(rows, [expectation("r", CODE, "100")])
    assert [row["outcome"] for row in matches.lines.arrow.to_pylist()] == ["suggested", "matched"]


def test_of_two_lines_with_a_split_code_the_earlier_one_matches() -> None:
    rows = [line(name, "100", "PAY-2026 004417", day) for name, day in (("b", 1), ("a", 2))]
    matches = match(rows, [expectation("r", CODE, "100")])
    assert [row["outcome"] for row in matches.lines.arrow.to_pylist()] == ["suggested", "matched"]
    assert state(matches)["received"] == Decimal(100)


@pytest.mark.acceptance
def test_a_damaged_code_that_fits_many_expectations_is_suggested_only_by_its_amount() -> None:
    expectations = [
        expectation(f"r{n:02}", f"PAY-2026-0044{n:02}", str(100 + n)) for n in range(60)
    ]
    line_outcome = outcome(match([line("a", "117", "PAY-2026-0044")], expectations))
    assert (line_outcome["outcome"], line_outcome["expectation_id"]) == ("suggested", "r17")
    silent = match([line("a", "9", "PAY-2026-0044")], expectations)
    assert outcome(silent)["outcome"] == "unreferenced"


def test_a_matched_line_shows_its_runner_up_and_the_reason() -> None:
    here = expectation("r", CODE, account=line("a", "1", "")["account"])
    matches = match([line("a", "1", CODE)], [here, here | {"expectation_id": "s", "account": "X"}])
    line_outcome = outcome(matches)
    assert (line_outcome["outcome"], line_outcome["runner_up_id"]) == ("matched", "s")
    assert line_outcome["margin"] > 0
    lost = matches.candidates.arrow.to_pylist()[1]
    assert (lost["expectation_id"], "account" in lost["lost"]) == ("s", True)


def test_accounts_are_compared_without_spaces_and_case() -> None:
    request = expectation("r", CODE, "100", account="nl05 test 0417 1643 00")
    assert outcome(match([line("a", "100", CODE)], [request]))["outcome"] == "matched"


@pytest.mark.acceptance
@pytest.mark.parametrize("amount", ["100", None])
def test_an_expectation_that_was_closed_unpaid_is_closed(amount: str | None) -> None:
    shut = datetime(2026, 10, 5, 9, tzinfo=UTC)
    expectations = [expectation("r", CODE, amount, closed_at=shut)]
    assert state(match([line("x", "1", "rent")], expectations))["state"] == "closed"
    late = match([line("a", "100", CODE, 6)], expectations)
    assert (outcome(late)["outcome"], outcome(late)["reason"]) == (
        "conflict", "closed on 2026-10-05, before this line",
    )  # fmt: skip
    assert state(late)["state"] == "closed"
    paid = match([line("a", "100", CODE, 5)], expectations)
    assert outcome(paid)["outcome"] == "matched"
    assert state(paid)["state"] == ("closed" if amount is None else "received")


def test_a_line_of_a_statement_whose_proof_fails_is_suggested_at_most() -> None:
    expectations = [expectation("r", CODE, "100")]
    matches = match([line("a", "100", CODE, proof="fails")], expectations)
    assert outcome(matches)["outcome"] == "suggested"
    assert outcome(matches)["reason"].endswith("its statement is not proved")
    assert state(matches)["state"] == "open"
    assert len(matches.allocations) == 0
    decision = {"entry_id": "a", "expectation_id": "r", "verdict": "accept", "reason": "seen"}
    accepted = match([line("a", "100", CODE, proof="fails")], expectations, [decision])
    assert outcome(accepted)["outcome"] == "matched"


@pytest.mark.first_case
@pytest.mark.parametrize("proof", ["holds", "none", None])
def test_a_line_of_a_proved_statement_or_of_one_without_balances_matches(proof: str | None) -> None:
    matches = match([line("a", "100", CODE, proof=proof)], [expectation("r", CODE, "100")])
    assert outcome(matches)["outcome"] == "matched"


def test_an_unproved_payment_does_not_make_a_later_one_a_duplicate() -> None:
    rows = [line("a", "100", CODE, day=1, proof="fails"), line("b", "100", CODE, day=2)]
    matches = match(rows, [expectation("r", CODE, "100")])
    assert outcome(matches, "b")["outcome"] == "matched"
