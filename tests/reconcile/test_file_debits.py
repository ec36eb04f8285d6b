"""The one debit of a payment file matches by the file's id and sum, and by nothing less."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from decide_desk import ANNA, BERT, clock_at, copy_of, double, edit, first_line, october
from pain_samples import payment, report

from treasury.errors import ActionRefused
from treasury.statements.pain.file_ids import named_files
from treasury.workspace import Workspace

FILE, OTHER = "payments-1.xml", "payments-2.xml"
MESSAGE = "PAY-0123456789ABCDEF0123456789ABCD"
CENT = Decimal("0.01")


class Filed:
    """A desk where two requests left in a file that says what it orders."""

    def __init__(self, desk: Workspace, **changed: Any) -> None:
        self.desk = desk
        waiting = [r for r in desk.awaiting_funds().to_pylist() if r["state"] == "PAY"]
        self.first, self.second = waiting[:2]
        self.model = first_line(october(desk), "matched", "on_ramp", "DBIT")
        body = {
            "requests": [self.first["request"], self.second["request"]],
            "references": [self.first["reference"], self.second["reference"]],
            "amounts": [self.first["send"], self.second["send"]],
            "payer": self.model["statement_account"],
            "message_id": MESSAGE,
            "execution": "2026-10-29",
        }
        desk.journal.append("payment_file.made", FILE, body | changed, actor=ANNA)
        self.sum: Decimal = self.first["send"] + self.second["send"]

    def debited(self, **changed: Any) -> str:
        """The debit of the file as its bank books it, with what a test changes of it."""
        given = {
            "amount": self.sum, "message_id": MESSAGE, "end_to_end_id": None, "remittance": [],
            "structured_references": [], "counterparty_name": None, "additional_information": None,
            "payment_information_id": None, "bank_transaction_code": None,
            "booking_date": date(2026, 11, 2), "value_date": date(2026, 11, 2),
        }  # fmt: skip
        return double(self.desk, self.model["entry_id"], **{**given, **changed})

    def answered(self, folder: Path, reference: str, *status: str) -> None:
        """What the bank says of a payment of the file."""
        answer = folder / f"answer-{len(list(folder.glob('answer-*')))}.xml"
        told = payment(reference, *status)
        answer.write_text(report(told, original=MESSAGE, at="2026-10-30T09:00:00Z"))
        self.desk.statements.add(answer)

    def outcome(self, line: str) -> dict[str, Any]:
        lines = self.desk.reconcile("2026-11").lines.to_pylist()
        return next(row for row in lines if row["entry_id"] == line)

    @property
    def states(self) -> set[str]:
        rows = self.desk.awaiting_funds().to_pylist()
        own = {self.first["request"], self.second["request"]}
        return {row["state"] for row in rows if row["request"] in own}


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(month_end, tmp_path / "desk")


@pytest.fixture
def filed(desk: Workspace) -> Filed:
    return Filed(desk)


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"message_id": None, "payment_information_id": MESSAGE},
        {"message_id": None, "end_to_end_id": MESSAGE},
        {"message_id": None, "remittance": [f"SEPA BATCH {MESSAGE}, 2 ITEMS"]},
        {"message_id": None, "remittance": [f"BATCH {MESSAGE[:20]}", MESSAGE[20:]]},
        {"message_id": None, "additional_information": f"{MESSAGE[:9]} {MESSAGE[9:]} 2"},
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


def test_what_the_bank_rejected_is_left_out_of_the_sum(filed: Filed, tmp_path: Path) -> None:
    filed.answered(tmp_path, filed.second["reference"], "RJCT", "AC04")
    line = filed.debited(amount=filed.first["send"])
    assert filed.outcome(line)["expectation_id"] == filed.first["request"]
    assert filed.outcome(line)["outcome"] == "matched"
    assert filed.states == {"SENT", "REJECTED"}


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
def test_anything_less_is_asked_of_a_person(filed: Filed, changed: dict[str, Any]) -> None:
    if "amount" in changed:
        changed = {"amount": filed.sum + changed["amount"]}
    line = filed.debited(**changed)
    lines = filed.desk.reconcile("2026-11")
    matched = {row["entry_id"] for row in lines.lines.to_pylist() if row["outcome"] == "matched"}
    assert line not in matched
    assert "SENT" not in filed.states


@pytest.mark.parametrize(
    "body", [{"amounts": None}, {"amounts": [1, 2]}, {"payer": "BE71096123456769"}, {"payer": ""}]
)
def test_a_file_that_says_otherwise_is_asked_about(desk: Workspace, body: dict[str, Any]) -> None:
    filed = Filed(desk, **body)
    assert filed.outcome(filed.debited())["outcome"] != "matched"
    assert "SENT" not in filed.states


def test_a_debit_of_another_account_is_not_the_files(desk: Workspace) -> None:
    filed = Filed(desk, payer="BE71096123456769")
    line = filed.debited()
    with pytest.raises(ActionRefused, match=r"no debit of the account that payments-1\.xml pays"):
        desk.matches.accept_file(line, FILE, reason="it is", actor=BERT)


def test_two_debits_that_name_a_file_are_both_asked_about(filed: Filed) -> None:
    line = filed.debited()
    other = double(filed.desk, line)
    assert {filed.outcome(name)["outcome"] for name in (line, other)}.isdisjoint({"matched"})


def test_a_payment_that_was_booked_by_itself_as_well_is_asked_about(filed: Filed) -> None:
    line = filed.debited()
    alone = double(
        filed.desk, line, amount=filed.first["send"], message_id=None,
        end_to_end_id=filed.first["reference"],
    )  # fmt: skip
    assert filed.outcome(alone)["outcome"] == "matched"
    assert filed.outcome(line)["outcome"] != "matched"


@pytest.mark.parametrize("status", [("RJCT", "AM05"), ("ACSC",)])
def test_a_payment_that_the_bank_leaves_in_doubt_is_asked_about(
    filed: Filed, tmp_path: Path, status: tuple[str, ...]
) -> None:
    filed.answered(tmp_path, filed.second["reference"], *status)
    if status == ("ACSC",):
        filed.answered(tmp_path, filed.second["reference"], "RJCT", "AC04")
    whole, part = filed.debited(), filed.first["send"]
    assert filed.outcome(whole)["outcome"] != "matched"
    edit(filed.desk, "statement_entries", "entry_id", whole, amount=part)
    assert filed.outcome(whole)["outcome"] != "matched"


def test_what_the_bank_has_already_is_no_part_of_the_debit(filed: Filed, tmp_path: Path) -> None:
    filed.answered(tmp_path, filed.second["reference"], "RJCT", "AM05")
    line = filed.debited(amount=filed.first["send"])
    decision = filed.desk.matches.accept_file(line, FILE, actor=BERT)
    assert decision.expectations == (filed.first["request"],)


def test_a_debit_of_a_file_that_was_uploaded_twice_takes_a_reason(
    filed: Filed, tmp_path: Path
) -> None:
    answer = tmp_path / "answer.xml"
    said = {"original": MESSAGE, "at": "2026-10-30T09:00:00Z"}
    answer.write_text(report(file_status="RJCT", reasons=("DU01",), **said))
    filed.desk.statements.add(answer)
    line = filed.debited()
    assert filed.outcome(line)["outcome"] != "matched"
    with pytest.raises(ActionRefused, match=r"rejected of payments-1\.xml as a duplicate, too"):
        filed.desk.matches.accept_file(line, FILE, actor=BERT)
    assert filed.states == {"CHECK BANK"}
    filed.desk.matches.accept_file(line, FILE, reason="it was uploaded twice", actor=BERT)
    assert filed.states == {"SENT"}


def test_a_file_that_was_taken_back_is_asked_about(filed: Filed) -> None:
    filed.desk.journal.append("payment_file.voided", FILE, {"reason": "not sent"}, actor=BERT)
    assert filed.outcome(filed.debited())["outcome"] != "matched"


def test_two_files_of_one_id_are_asked_about(filed: Filed) -> None:
    made = next(iter(filed.desk.journal.entries("payment_file.made")))
    filed.desk.journal.append("payment_file.made", OTHER, made.body, actor=ANNA)
    assert filed.outcome(filed.debited())["outcome"] != "matched"


def test_a_person_has_the_last_word(filed: Filed) -> None:
    line = filed.debited()
    filed.desk.matches.reject(line, filed.first["request"], reason="not ours", actor=BERT)
    assert filed.outcome(line)["outcome"] != "matched"
    filed.desk.matches.undo(line, filed.first["request"], reason="it is", actor=BERT)
    assert filed.outcome(line)["outcome"] == "matched"
    with pytest.raises(ActionRefused, match="what it pays would read as unpaid"):
        filed.desk.matches.ignore(line, reason="booked back", actor=BERT)


def test_every_surface_has_the_same_answer_and_the_close_keeps_it(filed: Filed) -> None:
    line = filed.debited()
    desk = clock_at(filed.desk, "2026-12-02T09:00:00Z")
    assert desk.periods.month("2026-11").r.lines.equals(desk.reconcile("2026-11").lines)
    pack = desk.close("2026-11", desk.folder / "pack").folder
    assert desk.verify_pack(pack).findings == ()
    assert line in {row["entry_id"] for row in desk.reconcile("2026-11").lines.to_pylist()}


def test_an_id_is_named_whole_or_not_at_all() -> None:
    def named(text: str) -> frozenset[str]:
        line = dict.fromkeys(
            ("message_id", "payment_information_id", "end_to_end_id", "creditor_reference")
        )
        return named_files({**line, "remittance": text}, {"PAY-AB1", "PAY-AB12"})

    assert named("PAY-AB1") == named("(PAY-AB1)") == named("PAY-A\nB1, 2") == {"PAY-AB1"}
    assert named("PAY-AB12, PAY-A B1") == {"PAY-AB1", "PAY-AB12"}
    assert named("PAY-AB12") == {"PAY-AB12"}
    assert named("PAY-AB123") == named("XPAY-AB1") == named("PAY-AB1-2") == frozenset()
