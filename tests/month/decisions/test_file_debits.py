"""The debit of a payment file matches by the file's id and its exact sum only."""

from __future__ import annotations

from copy import copy
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from decide_desk import (
    BERT,
    clock_at,
    copy_of,
    double,
    edit,
    file_made,
    first_line,
    october,
    payable,
)
from pain_samples import payment, report

from treasury.core.errors import ActionRefused
from treasury.statements.pain.file_ids import FileIds, NamedFiles
from treasury.workspace import Workspace

pytestmark = pytest.mark.long_file

FILE, OTHER = "payments-1.xml", "payments-2.xml"
MESSAGE = "PAY-0123456789ABCDEF0123456789ABCD"
CENT = Decimal("0.01")
WHOLE_PLACES = ("message_id", "payment_information_id")
"""The fields in which ISO 20022 allows only an id."""


class Filed:
    """A desk with two requests in a payment file; the file's amounts and account are journaled."""

    def __init__(self, desk: Workspace, model: Workspace, **changed: Any) -> None:
        """Find requests and a debit in `model`, which has the same records and is not changed."""
        self.desk = desk
        self.first, self.second = payable(model)[:2]
        self.model = first_line(october(model), "matched", "on_ramp", "DBIT")
        body = {
            "requests": [self.first["request"], self.second["request"]],
            "references": [self.first["reference"], self.second["reference"]],
            "amounts": [self.first["send"], self.second["send"]],
            "payer": self.model["statement_account"],
            "message_id": MESSAGE,
            "execution": "2026-10-29",
        }
        file_made(desk, FILE, body | changed)
        self.sum: Decimal = self.first["send"] + self.second["send"]

    def copied(self, folder: Path) -> Filed:
        """Copy the desk into another folder."""
        twin = copy(self)
        twin.desk = copy_of(self.desk, folder)
        return twin

    def debited(self, **changed: Any) -> str:
        """Add a debit that names the file and has its sum, with a test's changes."""
        given = {
            "amount": self.sum, "message_id": MESSAGE, "end_to_end_id": None, "remittance": [],
            "structured_references": [], "counterparty_name": None, "additional_information": None,
            "payment_information_id": None, "bank_transaction_code": None,
            "booking_date": date(2026, 11, 2), "value_date": date(2026, 11, 2),
        }  # fmt: skip
        return double(self.desk, self.model["entry_id"], **{**given, **changed})

    def answered(self, folder: Path, reference: str, *status: str) -> None:
        """Add the bank's answer to a payment of the file; with an empty reference, to both."""
        answer = folder / f"answer-{len(list(folder.glob('answer-*')))}.xml"
        payments = [
            payment(ordered["reference"], *status, amount=f"{ordered['send']:.2f}")
            for ordered in (self.first, self.second)
            if reference in ("", ordered["reference"])
        ]
        answer.write_text(report(*payments, original=MESSAGE, at="2026-10-30T09:00:00Z"))
        self.desk.statements.add(answer)

    def came_back(self, line: str, **changed: Any) -> str:
        """Add a return of the debit's money, with a test's changes."""
        given = {"direction": "CRDT", "message_id": None, "return_reason": "AC04"}
        return double(self.desk, line, **{**given, **changed})

    def outcome(self, line: str) -> dict[str, Any]:
        lines = self.desk.reconcile("2026-11").lines.arrow.to_pylist()
        return next(row for row in lines if row["entry_id"] == line)

    @property
    def states(self) -> set[str]:
        return {self.state_of(self.first), self.state_of(self.second)} - {""}

    def state_of(self, request: dict[str, Any]) -> str:
        """Return the state in which a request waits, or "" if it does not wait."""
        rows = self.desk.awaiting_funds().arrow.to_pylist()
        states = (row["state"] for row in rows if row["request"] == request["request"])
        return next(states, "")


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(month_end, tmp_path / "desk")


@pytest.fixture(scope="module")
def filed_month(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Filed:
    """Return a desk with one payment file; tests copy it."""
    return Filed(copy_of(month_end, tmp_path_factory.mktemp("filed") / "desk"), month_end)


@pytest.fixture
def filed(filed_month: Filed, tmp_path: Path) -> Filed:
    return filed_month.copied(tmp_path / "desk")


@pytest.fixture(scope="module")
def rejected_month(filed_month: Filed, tmp_path_factory: pytest.TempPathFactory) -> Filed:
    """Return a desk with a file that its bank finally rejected as a whole."""
    folder = tmp_path_factory.mktemp("rejected")
    filed = filed_month.copied(folder / "desk")
    filed.answered(folder, "", "RJCT", "AC04")
    assert filed.states == {"REJECTED"}
    return filed


@pytest.fixture
def rejected(rejected_month: Filed, tmp_path: Path) -> Filed:
    return rejected_month.copied(tmp_path / "desk")


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "place",
    [
        {},
        {"message_id": None, "payment_information_id": MESSAGE},
        {"message_id": None, "end_to_end_id": MESSAGE},
        {"message_id": None, "remittance": [f"SEPA BATCH {MESSAGE}, 2 ITEMS"]},
        {"message_id": None, "remittance": [f"BATCH {MESSAGE[:20]}", MESSAGE[20:]]},
        {"message_id": None, "additional_information": f"{MESSAGE[:9]} {MESSAGE[9:]} 2"},
        {"message_id": None, "remittance": ["BATCH"], "additional_information": MESSAGE.lower()},
    ],
)
def test_a_debit_of_exactly_the_file_pays_all_of_it(filed: Filed, place: dict[str, Any]) -> None:
    line = filed.debited(**place)
    row = filed.outcome(line)
    assert row["outcome"] == "matched"
    assert row["matched_amount"] == filed.sum
    assert row["reason"] == f"payment file {FILE}: its id, and exactly what it orders"
    assert row["decided_by"] is None
    assert filed.states == {"SENT"}
    with pytest.raises(ActionRefused, match="is matched already"):
        filed.desk.matches.accept_file(line, FILE, actor=BERT)


@pytest.mark.acceptance
def test_rejected_payments_are_excluded_from_the_sum(filed: Filed, tmp_path: Path) -> None:
    filed.answered(tmp_path, filed.second["reference"], "RJCT", "AC04")
    line = filed.debited(amount=filed.first["send"])
    assert filed.outcome(line)["expectation_id"] == filed.first["request"]
    assert filed.outcome(line)["outcome"] == "matched"
    assert filed.states == {"SENT", "REJECTED"}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "changed",
    [
        {"amount": CENT},
        {"message_id": f"{MESSAGE}0"},
        {"message_id": None, "remittance": [f"{MESSAGE}-2"]},
        {"message_id": None, "remittance": [f"X{MESSAGE}"]},
        {"message_id": None, "remittance": [f"{MESSAGE[:-1]} 0"]},
        {"currency": "USD"},
        {"direction": "CRDT"},
        {"entry_status": "PDNG"},
        {"is_reversal": True},
        {"return_reason": "AC04"},
        {"is_twin": True},
        {"booking_date": date(2026, 10, 1)},
    ],
    ids=str,
)
def test_a_debit_unlike_its_file_is_left_to_a_person(filed: Filed, changed: dict[str, Any]) -> None:
    if "amount" in changed:
        changed = {"amount": filed.sum + changed["amount"]}
    line = filed.debited(**changed)
    lines = filed.desk.reconcile("2026-11")
    matched = {
        row["entry_id"] for row in lines.lines.arrow.to_pylist() if row["outcome"] == "matched"
    }
    assert line not in matched
    assert "SENT" not in filed.states


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "body", [{"amounts": None}, {"amounts": [1, 2]}, {"payer": "BE71096123456769"}, {"payer": ""}]
)
def test_a_debit_is_left_to_a_person_if_the_files_amounts_or_account_differ(
    desk: Workspace, month_end: Workspace, body: dict[str, Any]
) -> None:
    filed = Filed(desk, month_end, **body)
    assert filed.outcome(filed.debited())["outcome"] != "matched"
    assert "SENT" not in filed.states


@pytest.mark.acceptance
def test_a_debit_of_another_account_does_not_belong_to_the_file(
    desk: Workspace, month_end: Workspace
) -> None:
    filed = Filed(desk, month_end, payer="BE71096123456769")
    line = filed.debited()
    with pytest.raises(
        ActionRefused, match=r"not a debit of the account that payments-1\.xml pays"
    ):
        desk.matches.accept_file(line, FILE, reason="it is", actor=BERT)


@pytest.mark.acceptance
def test_two_debits_that_name_one_file_both_need_a_decision(filed: Filed) -> None:
    line = filed.debited()
    other = double(filed.desk, line)
    assert {filed.outcome(name)["outcome"] for name in (line, other)}.isdisjoint({"matched"})


@pytest.mark.acceptance
def test_a_payment_also_booked_separately_needs_a_decision(filed: Filed) -> None:
    line = filed.debited()
    alone = double(
        filed.desk, line, amount=filed.first["send"], message_id=None,
        end_to_end_id=filed.first["reference"],
    )  # fmt: skip
    assert filed.outcome(alone)["outcome"] == "matched"
    assert filed.outcome(line)["outcome"] != "matched"


@pytest.mark.acceptance
@pytest.mark.parametrize("status", [("RJCT", "AM05"), ("ACSC",)])
def test_a_payment_left_in_doubt_by_the_bank_needs_a_decision(
    filed: Filed, tmp_path: Path, status: tuple[str, ...]
) -> None:
    filed.answered(tmp_path, filed.second["reference"], *status)
    if status == ("ACSC",):
        filed.answered(tmp_path, filed.second["reference"], "RJCT", "AC04")
    whole, part = filed.debited(), filed.first["send"]
    assert filed.outcome(whole)["outcome"] != "matched"
    edit(filed.desk, "statement_entries", "entry_id", whole, amount=part)
    assert filed.outcome(whole)["outcome"] != "matched"


@pytest.mark.acceptance
def test_a_payment_rejected_as_a_duplicate_is_excluded_from_the_debit(
    filed: Filed, tmp_path: Path
) -> None:
    filed.answered(tmp_path, filed.second["reference"], "RJCT", "AM05")
    line = filed.debited(amount=filed.first["send"])
    decision = filed.desk.matches.accept_file(line, FILE, actor=BERT)
    assert decision.expectations == (filed.first["request"],)


def test_accepting_a_debit_of_a_file_uploaded_twice_requires_a_reason(
    filed: Filed, tmp_path: Path
) -> None:
    answer = tmp_path / "answer.xml"
    said = {"original": MESSAGE, "at": "2026-10-30T09:00:00Z"}
    answer.write_text(report(file_status="RJCT", reasons=("DU01",), **said))
    filed.desk.statements.add(answer)
    line = filed.debited()
    assert filed.outcome(line)["outcome"] != "matched"
    with pytest.raises(ActionRefused, match=r"rejected in payments-1\.xml as a duplicate"):
        filed.desk.matches.accept_file(line, FILE, actor=BERT)
    assert filed.states == {"CHECK BANK"}
    filed.desk.matches.accept_file(line, FILE, reason="it was uploaded twice", actor=BERT)
    assert filed.states == {"SENT"}


CUT: dict[str, Any] = {"message_id": None, "end_to_end_id": MESSAGE[:27]}
PAYROLL = {"bank_transaction_code": "PMNT/ICDT/SALA"}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "changed",
    [
        {},
        CUT,
        {"message_id": None, "remittance": [f"SEPA SAMMLER {MESSAGE[:10]}"]},
        {"message_id": MESSAGE.lower()},
        {"message_id": f"{MESSAGE}-0001"},
        {"message_id": None, "remittance": ["BATCH"], "additional_information": MESSAGE},
        {"entry_status": "PDNG"},
        {"message_id": None, "remittance": ["SAMMELUEBERWEISUNG"]},
        PAYROLL,
    ],
    ids=str,
)
def test_finally_rejected_payments_are_not_payable_if_a_debit_may_be_for_their_file(
    rejected: Filed, changed: dict[str, Any]
) -> None:
    rejected.debited(**changed)
    assert rejected.states == {"CHECK BANK"}


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "changed",
    [{"amount": CENT}, {"booking_date": date(2026, 10, 20), "value_date": date(2026, 10, 20)}],
    ids=str,
)
def test_a_debit_without_an_id_counts_only_with_the_files_sum_and_after_it_was_made(
    rejected: Filed, changed: dict[str, Any]
) -> None:
    rejected.debited(**{"message_id": None, "remittance": ["SAMMELUEBERWEISUNG"], **changed})
    assert rejected.states == {"REJECTED"}


@pytest.mark.acceptance
def test_a_banks_fee_for_a_file_is_not_the_files_debit(rejected: Filed) -> None:
    line = rejected.debited(amount=CENT, bank_transaction_code="PMNT/ICDT/CHRG")
    assert rejected.outcome(line)["line_class"] == "bank_charge"
    assert rejected.states == {"REJECTED"}


@pytest.mark.acceptance
def test_a_class_rule_hides_no_debit_of_a_file(filed: Filed) -> None:
    line = filed.debited(**PAYROLL)
    assert (filed.outcome(line)["outcome"], filed.outcome(line)["line_class"]) == ("matched", None)
    assert filed.states == {"SENT"}


@pytest.mark.acceptance
def test_a_second_debit_with_a_cut_off_id_leaves_both_to_a_person(filed: Filed) -> None:
    lines = [filed.debited(), filed.debited(**CUT)]
    assert {filed.outcome(line)["outcome"] for line in lines}.isdisjoint({"matched"})
    assert "SENT" not in filed.states


@pytest.mark.acceptance
def test_a_debit_after_a_final_rejection_reads_sent_and_its_return_reads_returned(
    filed: Filed, tmp_path: Path
) -> None:
    """A debit for the rejected payment alone outweighs the bank's rejection."""
    filed.answered(tmp_path, filed.first["reference"], "RJCT", "AC04")
    alone = filed.debited(
        amount=filed.first["send"], message_id=None, end_to_end_id=filed.first["reference"]
    )
    assert filed.states == {"SENT", "IN FILE"}
    returned = double(
        filed.desk, alone, direction="CRDT", return_reason="AC04", booking_date=date(2026, 11, 3),
        original_end_to_end_id=filed.first["reference"],
    )  # fmt: skip
    desk = clock_at(filed.desk, "2026-11-04T09:00:00Z")
    outcomes = {
        row["entry_id"]: row["outcome"] for row in desk.reconcile("2026-11").lines.arrow.to_pylist()
    }
    assert (outcomes[alone], outcomes[returned]) == ("returned", "returned")
    rows = {row["request"]: row["state"] for row in desk.awaiting_funds().arrow.to_pylist()}
    assert rows[filed.first["request"]] in {"RETURNED", "CHECK BANK"}


SOON = {"booking_date": date(2026, 10, 30), "value_date": date(2026, 10, 30)}
"""Dates on a day that the statements cover."""


@pytest.mark.acceptance
@pytest.mark.parametrize("back", ["first", "second"])
def test_only_the_returned_payment_of_a_debit_is_to_be_paid_again(
    filed: Filed, tmp_path: Path, back: str
) -> None:
    """A return belongs to the request that it names, be it the first or the second of the file."""
    filed.answered(tmp_path, "", "ACSC")
    mine, other = filed.first, filed.second
    if back == "second":
        mine, other = other, mine
    line = filed.debited(**SOON)
    filed.came_back(line, amount=mine["send"], end_to_end_id=mine["reference"])
    assert (filed.state_of(mine), filed.state_of(other)) == ("RETURNED", "SENT")


@pytest.mark.acceptance
def test_payments_of_a_debit_returned_one_by_one_are_all_to_be_paid_again(
    filed: Filed,
) -> None:
    line = filed.debited(**SOON)
    for request in (filed.first, filed.second):
        line = filed.came_back(line, amount=request["send"], end_to_end_id=request["reference"])
    assert filed.states == {"RETURNED"}


@pytest.mark.acceptance
def test_an_unnamed_return_is_unassigned_until_a_person_assigns_it(filed: Filed) -> None:
    line = filed.debited(**SOON)
    back = filed.came_back(line, amount=filed.second["send"])
    assert filed.states == {"SENT"}
    filed.desk.matches.accept(back, filed.second["request"], reason="its bank says", actor=BERT)
    assert (filed.state_of(filed.first), filed.state_of(filed.second)) == ("SENT", "RETURNED")


@pytest.mark.acceptance
def test_a_debit_returned_in_full_leaves_all_its_payments_to_be_paid_again(
    filed: Filed, tmp_path: Path
) -> None:
    filed.answered(tmp_path, "", "ACSC")
    line = filed.debited(**SOON)
    back = filed.came_back(line, is_reversal=True, return_reason=None, message_id=MESSAGE)
    assert filed.states == {"SENT"}
    both = [filed.first["request"], filed.second["request"]]
    filed.desk.matches.accept(back, both, reason="the bank took it back", actor=BERT)
    assert filed.states == {"RETURNED"}


@pytest.mark.acceptance
def test_a_withdrawn_file_needs_a_decision(filed: Filed) -> None:
    filed.desk.journal.append("payment_file.voided", FILE, {"reason": "not sent"}, actor=BERT)
    assert filed.outcome(filed.debited())["outcome"] != "matched"


@pytest.mark.acceptance
def test_two_files_with_one_id_need_a_decision(filed: Filed) -> None:
    made = next(iter(filed.desk.journal.entries("payment_file.made")))
    file_made(filed.desk, OTHER, made.body)
    assert filed.outcome(filed.debited())["outcome"] != "matched"


@pytest.mark.acceptance
def test_the_decision_of_a_person_takes_precedence(filed: Filed) -> None:
    line = filed.debited()
    filed.desk.matches.reject(line, filed.first["request"], reason="not ours", actor=BERT)
    assert filed.outcome(line)["outcome"] != "matched"
    filed.desk.matches.undo(line, filed.first["request"], reason="it is", actor=BERT)
    assert filed.outcome(line)["outcome"] == "matched"
    with pytest.raises(ActionRefused, match="its request looks unpaid"):
        filed.desk.matches.ignore(line, reason="booked back", actor=BERT)


@pytest.mark.acceptance
def test_the_open_month_and_its_close_have_the_same_answer(filed: Filed) -> None:
    line = filed.debited()
    desk = clock_at(filed.desk, "2026-12-02T09:00:00Z")
    assert desk.periods.month("2026-11").r.lines.arrow.equals(desk.reconcile("2026-11").lines.arrow)
    pack = desk.close("2026-11", desk.folder / "pack").folder
    assert desk.verify_pack(pack).findings == ()
    assert line in {row["entry_id"] for row in desk.reconcile("2026-11").lines.arrow.to_pylist()}


def named(text: str, *ids: str, place: str = "remittance") -> NamedFiles:
    """Return the ids, out of these, that a text in one field of a line names."""
    places = (
        "message_id", "payment_information_id", "end_to_end_id", "creditor_reference",
        "remittance", "additional_information",
    )  # fmt: skip
    return FileIds(ids).named({**dict.fromkeys(places), place: text})


def test_an_id_is_named_whole_or_not_at_all() -> None:
    def whole(text: str) -> frozenset[str]:
        return named(text, "PAY-AB1", "PAY-AB12").whole

    assert whole("PAY-AB1") == whole("(PAY-AB1)") == whole("PAY-A\nB1, 2") == {"PAY-AB1"}
    assert whole("pay-ab1") == {"PAY-AB1"}
    assert whole("PAY-AB12, PAY-A B1") == {"PAY-AB1", "PAY-AB12"}
    assert whole("PAY-AB12") == {"PAY-AB12"}
    assert whole("PAY-AB123") == whole("XPAY-AB1") == whole("PAY-AB1-2") == frozenset()


@pytest.mark.parametrize("size", [27, 33, 35, 65])
@pytest.mark.parametrize("place", ["message_id", "end_to_end_id", "additional_information"])
def test_an_id_altered_by_a_bank_is_recognized_or_needs_a_decision(size: int, place: str) -> None:
    """Check ids that are broken into lines, in lower case, cut off, damaged or lengthened."""
    for before in ("", "BATCH ", "SEPA CREDIT TRANSFER FILE "):
        text = f"{before}{MESSAGE} 2 PAYMENTS"
        for written in (text, text.lower()):
            for glue in ("\n", " ", ""):
                lines = [written[at : at + size] for at in range(0, len(written), size)]
                found = named(glue.join(lines), MESSAGE, place=place)
                assert found.perhaps == {MESSAGE}
                assert found.whole == ({MESSAGE} if place not in WHOLE_PLACES else set())
        cut = named(text[: max(size, len(before) + 16)].rstrip(), MESSAGE, place=place)
        assert cut.perhaps == {MESSAGE}
    for whole in (MESSAGE, MESSAGE.lower(), f" {MESSAGE} "):
        assert named(whole, MESSAGE, place=place).whole == {MESSAGE}
    for damaged in (MESSAGE.replace("-", ""), f"{MESSAGE}-1", f"{MESSAGE}0001", MESSAGE[:27]):
        found = named(damaged, MESSAGE, place=place)
        assert (found.whole, found.perhaps) == (frozenset(), {MESSAGE})
    for other in (MESSAGE[:9], f"PAY-1{MESSAGE[4:]}", MESSAGE[9:], "PAY-2026-004417"):
        assert named(other, MESSAGE, place=place).perhaps == frozenset()
