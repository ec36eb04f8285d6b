"""The bank's answers to a payment in a file, and when they make it payable again."""

from __future__ import annotations

from copy import copy
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from decide_desk import ANNA, BERT, FILED, copy_of, file_made, payable
from pain_samples import payment, report

from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Journal
from treasury.month.items import OpenItem
from treasury.month.states import PAYABLE
from treasury.statements import AddReport
from treasury.workspace import Workspace

pytestmark = pytest.mark.long_file

FILE = "payments-1.xml"
IBAN = "NL05TEST0417164300"


class Filed:
    """A desk with its first payable request in a payment file, and its bank's answers."""

    def __init__(self, desk: Workspace, folder: Path, model: Workspace) -> None:
        """Find the request in `model`, which has the same records and is not changed."""
        self.desk, self._folder, self._count = desk, folder, 0
        desk.journal = Journal(desk.folder, now=lambda: FILED)
        self.answers = "all"
        self.request = payable(model)[0]
        self.reference = self.request["reference"]
        self.leave(FILE, "PAY-ABC")

    def leave(
        self,
        name: str,
        message_id: str,
        payee: tuple[str, str] = ("Ramp Operator BV", IBAN),
        at: datetime = FILED,
        **facts: Any,
    ) -> None:
        """Journal a payment file with the request's payment."""
        body = {
            "requests": [self.request["request"]],
            "references": [self.reference],
            "message_id": message_id,
            "payees": [payee],
            "answers": self.answers,
            "execution": "2026-11-02",
            **facts,
        }
        file_made(self.desk, name, body, at)

    def copied(self, folder: Path) -> Filed:
        """Copy the desk into another folder."""
        twin = copy(self)
        twin.desk, twin._folder = copy_of(self.desk, folder / "desk"), folder
        twin.desk.journal = Journal(twin.desk.folder, now=lambda: FILED)
        return twin

    def answer(self, status: str, *reasons: str, **changed: Any) -> AddReport:
        """Add a report with this status of the payment."""
        self._count += 1
        said = {"message_id": f"BANK-{self._count}", "at": "2026-10-31T09:00:00Z"} | changed
        of_payment = {name: said.pop(name) for name in ("text", "amount", "iban") if name in said}
        path = self._folder / f"answer-{self._count}.xml"
        path.write_text(report(payment(self.reference, status, *reasons, **of_payment), **said))
        return self.desk.statements.add(path)

    @property
    def row(self) -> dict[str, Any]:
        rows = self.desk.awaiting_funds().arrow.to_pylist()
        return next(row for row in rows if row["request"] == self.request["request"])

    @property
    def state(self) -> str:
        state: str = self.row["state"]
        assert self.item.state == state
        return state

    @property
    def item(self) -> OpenItem:
        return self.desk.open_items("2026-10").by_id[f"request:{self.request['request']}"]


@pytest.fixture(scope="module")
def filed_month(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Filed:
    """Return a desk with one payment file; tests copy it."""
    folder = tmp_path_factory.mktemp("filed")
    return Filed(copy_of(month_end, folder / "desk"), folder, month_end)


@pytest.fixture
def filed(filed_month: Filed, tmp_path: Path) -> Filed:
    return filed_month.copied(tmp_path)


@pytest.mark.acceptance
def test_a_payment_goes_from_its_file_to_the_bank_and_is_never_payable_meanwhile(
    filed: Filed,
) -> None:
    assert (filed.state, filed.row["file"], filed.row["answer"]) == ("IN FILE", FILE, "")
    filed.answer("ACTC", at="2026-10-30T09:00:00Z")
    assert filed.state == "WITH THE BANK"
    assert filed.row["next_step"] == (
        "Wait for the debit, the bank has decided nothing; do not pay twice"
    )
    filed.answer("PATC", at="2026-10-30T10:00:00Z")
    assert filed.row["next_step"] == "Have it signed at the bank; do not pay twice"
    item = filed.item
    assert (item.kind, item.turn) == ("bank_signature", "colleague")
    filed.answer("ACSP", at="2026-10-30T11:00:00Z")
    assert filed.state == "WITH THE BANK"
    assert "ACSP: accepted, being carried out, 30 Oct" in filed.row["seen"]
    filed.answer("ACSC", at="2026-10-30T12:00:00Z")
    assert filed.row["next_step"] == (
        "Carried out, the bank says: add its statement; do not pay twice"
    )


@pytest.mark.acceptance
def test_a_final_rejection_that_statements_do_not_contradict_is_payable_again(
    filed: Filed,
) -> None:
    filed.answer("RJCT", "AC04", at="2026-10-30T09:00:00Z")
    assert filed.state == "REJECTED"
    words = "Rejected by the bank: AC04 account closed; fix it, then pay again"
    assert filed.row["next_step"] == filed.item.next_step == words
    assert filed.row["answer"] == "RJCT: rejected, AC04 account closed, 30 Oct"
    item = filed.item
    assert (item.kind, item.turn) == ("rejected", "us")


@pytest.mark.acceptance
def test_a_rejection_as_a_duplicate_reads_check_bank(filed: Filed) -> None:
    filed.answer("RJCT", "AM05", at="2026-10-30T09:00:00Z")
    assert filed.state == "CHECK BANK"
    assert "do not pay twice" in filed.row["next_step"]


@pytest.mark.first_case
@pytest.mark.parametrize("at", ["2026-12-24T09:00:00Z", "soon"])
def test_a_rejection_on_a_day_without_a_statement_is_shown_and_not_payable(
    filed: Filed, at: str
) -> None:
    filed.answer("RJCT", "AC04", at=at)
    assert filed.state == "REJECTED, NOT PROVED"
    assert filed.state not in PAYABLE
    item = filed.item
    assert (item.kind, item.words.label) == (
        "rejected_unproved", "Rejected by the bank, not proved",
    )  # fmt: skip
    assert item.next_step == filed.row["next_step"]
    assert item.next_step.startswith("Rejected by the bank: AC04 account closed; add the statement")
    assert item.next_step.endswith("do not pay twice")
    trace = filed.desk.trace(filed.reference)
    assert trace.next_step == f"REJECTED, NOT PROVED: {item.next_step}"
    assert "Please tell us where the money is" not in trace.provider_text()


@pytest.mark.acceptance
@pytest.mark.parametrize(("hour", "state"), [(22, "REJECTED"), (23, "REJECTED, NOT PROVED")])
def test_statements_must_cover_the_day_of_every_rejection_in_the_reporting_zone(
    filed: Filed, hour: int, state: str
) -> None:
    filed.answer("RJCT", "AC04", at=f"{filed.row['evidence_to']}T{hour}:30:00Z")
    assert filed.state == state
    filed.leave("payments-2.xml", "PAY-2")
    filed.answer("RJCT", "AC04", at="2026-10-30T09:00:00Z", original="PAY-2")
    assert filed.state == state


@pytest.mark.acceptance
@pytest.mark.parametrize(("hour", "state"), [(22, "PAY"), (23, "REJECTED, NOT PROVED")])
def test_withdrawing_a_file_does_not_prove_a_rejection_that_no_statement_covers(
    filed: Filed, hour: int, state: str
) -> None:
    filed.answer("RJCT", "AC04", at=f"{filed.row['evidence_to']}T{hour}:30:00Z")
    filed.desk.funding.void_file(FILE, "rejected", actor=BERT)
    assert filed.state == state


@pytest.mark.acceptance
def test_a_rejection_withdrawn_by_the_bank_reads_check_bank(filed: Filed) -> None:
    filed.answer("RJCT", "AC04", at="2026-10-30T09:00:00Z")
    filed.answer("ACSP", at="2026-10-30T10:00:00Z")
    assert filed.state == "CHECK BANK"
    assert (
        filed.row["next_step"] == "The bank's answers do not agree: ask the bank, do not pay twice"
    )


@pytest.mark.acceptance
def test_every_payment_of_a_request_counts_regardless_of_its_file(filed: Filed) -> None:
    filed.desk.funding.not_uploaded(filed.reference, "it was lost", actor=BERT)
    assert filed.state == "PAY"
    # The file was uploaded after all.
    filed.answer("ACCP", at="2026-10-30T09:00:00Z")
    assert filed.state == "WITH THE BANK"
    filed.leave("payments-2.xml", "PAY-DEF")
    filed.answer("RJCT", "AC04", original="PAY-DEF", at="2026-10-30T10:00:00Z")
    assert filed.state == "WITH THE BANK"
    filed.answer("RJCT", "AC04", at="2026-10-30T11:00:00Z")
    assert filed.state == "REJECTED"


@pytest.mark.acceptance
def test_a_response_to_another_file_does_not_count(filed: Filed) -> None:
    assert filed.answer("ACTC").problems == ()
    assert filed.state == "WITH THE BANK"
    strange = filed.answer("RJCT", "AC04", original="PAY-XYZ")
    assert [problem.what for problem in strange.problems] == [
        "answers to payment file PAY-XYZ, not made here"
    ]
    assert filed.state == "WITH THE BANK"


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("code", "step"),
    [
        ("RVNM", "The bank knows another name for this IBAN: do not release it"),
        ("RVMC", "The bank knows the payee as Ramp Operator B.V.: have a colleague compare"),
        ("RVNA", "The bank could not verify the payee: verify the details before the release"),
    ],
)
def test_a_payee_not_confirmed_by_the_bank_is_reported_before_the_release(
    filed: Filed, code: str, step: str
) -> None:
    filed.answer(code, text="Ramp Operator B.V.")
    assert filed.state == "WITH THE BANK"
    assert filed.row["next_step"].startswith(step)
    item = filed.item
    assert item.kind == "payee_in_doubt"


@pytest.mark.acceptance
def test_a_matching_payee_needs_no_step(filed: Filed) -> None:
    filed.answer("RCVC")
    assert filed.row["next_step"].startswith("Wait for the debit")


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"amount": "24999.99"}, "but for EUR 24,999.99"),
        ({"iban": "NL79TEST0000000002"}, "but for another account"),
        ({"at": "2026-10-28T09:00:00Z"}, "but dated before the file was made"),
    ],
)
def test_a_rejection_of_another_payment_makes_no_payment_payable(
    filed: Filed, said: dict[str, str], why: str
) -> None:
    filed.leave("payments-2.xml", "PAY-2", amounts=[Decimal(25_000)])
    filed.answer("RJCT", "AC04", **({"original": "PAY-2", "at": "2026-10-30T09:00:00Z"} | said))
    assert filed.state == "CHECK BANK"
    assert why in filed.row["answer"]
    assert "do not pay twice" in filed.row["next_step"]
    with pytest.raises(ActionRefused, match=r"the bank has payments-2\.xml"):
        filed.desk.funding.void_file("payments-2.xml", "lost", actor=BERT)


@pytest.mark.acceptance
def test_an_answer_may_name_its_file_in_lower_case(filed: Filed) -> None:
    added = filed.answer("ACSP", original="pay-abc ")
    assert added.problems == ()
    assert filed.state == "WITH THE BANK"


# Withdrawing a file


@pytest.mark.acceptance
def test_a_file_is_withdrawn_by_a_person_other_than_its_maker(filed: Filed) -> None:
    void = filed.desk.funding.void_file
    with pytest.raises(InputError, match="needs a reason"):
        void(FILE, " ", actor=BERT)
    with pytest.raises(ActionRefused, match=r"made payments-1\.xml and cannot withdraw it"):
        void(FILE, "lost", actor=ANNA)
    with pytest.raises(ActionRefused, match=r"no payment file in force is named 'payments-9\.xml'"):
        void("payments-9.xml", "lost", actor=BERT)
    assert void(FILE, "lost", actor=BERT, dry_run=True) == [filed.request["request"]]
    assert filed.state == "IN FILE"
    void(FILE, "lost", actor=BERT)
    assert filed.state == "PAY"
    (entry,) = filed.desk.journal.entries("payment_file.voided")
    assert entry.body == {
        "reason": "lost", "requests": [filed.request["request"]], "alone": False,
    }  # fmt: skip
    with pytest.raises(ActionRefused, match="no payment file in force is named"):
        void(FILE, "again", actor=BERT)


@pytest.mark.acceptance
def test_a_file_received_by_the_bank_cannot_be_withdrawn(filed: Filed) -> None:
    filed.answer("RCVD")
    with pytest.raises(ActionRefused, match=r"payments-1\.xml, and reports about .* RCVD"):
        filed.desk.funding.void_file(FILE, "lost", actor=BERT)
    with pytest.raises(ActionRefused, match=r"the bank has payments-1\.xml"):
        filed.desk.funding.not_uploaded(filed.reference, "lost", actor=BERT)
    assert filed.state == "WITH THE BANK"


def test_a_close_match_is_accepted_by_a_second_person_and_holds_for_iban_and_name(
    filed: Filed,
) -> None:
    name, funding = filed.request["request"], filed.desk.funding
    filed.answer("RVMC", text="Ramp Operator B.V.")
    assert filed.row["at_bank"] == "payee"
    assert "accept-payee" in filed.row["next_step"]
    with pytest.raises(ActionRefused, match=r"anna made payments-1\.xml and cannot accept"):
        funding.accept_payee(name, "compared", actor=ANNA)
    with pytest.raises(InputError, match="needs a reason"):
        funding.accept_payee(name, " ", actor=BERT)
    planned = funding.accept_payee(name, "called them", actor=BERT, dry_run=True)
    assert filed.row["at_bank"] == "payee"
    accepted = funding.accept_payee(name, "called them", actor=BERT)
    assert (accepted.name, accepted.known_as) == ("Ramp Operator BV", "Ramp Operator B.V.")
    assert planned.known_as == accepted.known_as
    assert filed.row["at_bank"] == "received"
    assert "matches closely and was accepted" in filed.row["answer"]
    head = filed.desk.journal.head()
    funding.accept_payee(name, "again", actor=BERT)
    assert filed.desk.journal.head() == head

    # The acceptance holds for a later file to the same IBAN and name. It does not hold if the
    # IBAN, the ordered name or the name at the bank differs.
    filed.leave("payments-2.xml", "PAY-2")
    filed.answer("RVMC", text="Ramp Operator B.V.", original="PAY-2")
    assert filed.row["at_bank"] == "received"
    filed.leave("payments-3.xml", "PAY-3", ("Ramp Operator BV", "NL79TEST0000000002"))
    filed.answer("RVMC", text="Ramp Operator B.V.", original="PAY-3")
    assert filed.row["at_bank"] == "payee"
    filed.leave("payments-4.xml", "PAY-4", ("Ramp Operators BV", IBAN))
    filed.answer("RVMC", text="Ramp Operator B.V.", original="PAY-4")
    assert filed.row["at_bank"] == "payee"
    filed.leave("payments-5.xml", "PAY-5")
    filed.answer("RVMC", text="R. Operator", original="PAY-5")
    assert filed.row["at_bank"] == "payee"


@pytest.mark.acceptance
def test_a_close_match_without_a_name_is_accepted_for_its_file_only(filed: Filed) -> None:
    name, funding = filed.request["request"], filed.desk.funding
    filed.answer("RVMC")
    funding.accept_payee(name, "called them", actor=BERT)
    assert filed.row["at_bank"] == "received"
    filed.leave("payments-2.xml", "PAY-2")
    # Without a name in the answer, the bank may mean a different name this time.
    filed.answer("RVMC", original="PAY-2")
    assert filed.row["at_bank"] == "payee"
    funding.accept_payee(name, "called them again", actor=BERT)
    assert filed.row["at_bank"] == "received"


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("RVNM", "the bank knows the payee's IBAN by another name - do not release it"),
        ("RVNA", "the bank could not verify its payee"),
        ("RCVC", "confirmed the payee's name"),
        ("ACSP", "the bank has not verified its payee"),
    ],
)
def test_only_a_close_match_is_accepted(filed: Filed, status: str, why: str) -> None:
    filed.answer(status)
    with pytest.raises(ActionRefused) as refused:
        filed.desk.funding.accept_payee(filed.request["request"], "compared", actor=BERT)
    assert why in str(refused.value)


def test_a_one_person_desk_accepts_a_close_match_alone_and_the_entry_is_marked(
    month_end: Workspace, tmp_path: Path
) -> None:
    desk = copy_of(month_end, tmp_path / "one")
    (desk.folder / "policy.toml").write_text("one_person = true\n")
    alone = Filed(desk, tmp_path, month_end)
    alone.answer("RVMC", text="Ramp Operator B.V.")
    accepted = desk.funding.accept_payee(alone.request["request"], "called them", actor=ANNA)
    assert accepted.alone
    (entry,) = desk.journal.entries("payment_file.payee_accepted")
    assert (entry.body["alone"], entry.body["reason"]) == (True, "called them")


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("answers", "state", "answer"),
    [
        ("all", "IN FILE", ""),
        ("rejections", "WITH THE BANK", "not among the payments rejected, 31 Oct"),
    ],
)
def test_a_bank_that_reports_only_rejections_has_accepted_every_other_payment(
    filed: Filed, tmp_path: Path, answers: str, state: str, answer: str
) -> None:
    filed.desk.funding.not_uploaded(filed.request["request"], "made again", actor=BERT)
    filed.answers = answers
    filed.leave("payments-2.xml", "PAY-2")
    assert filed.state == "IN FILE"
    other = tmp_path / "other.xml"
    other.write_text(
        report(payment("PAY-OTHER", "RJCT", "AC04"), original="PAY-2", at="2026-10-31T09:00:00Z")
    )
    filed.desk.statements.add(other)
    assert (filed.state, filed.row["answer"]) == (state, answer)
