"""The debit of a payment file pays the payments that were not rejected, to the cent."""

from __future__ import annotations

from copy import copy
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from decide_desk import BERT, copy_of, double, edit, file_made, first_line, october, payable
from pain_samples import payment, report

from treasury.core.errors import ActionRefused, InputError
from treasury.workspace import Workspace

pytestmark = pytest.mark.long_file

FILE, MESSAGE = "payments-1.xml", "PAY-ABC"


class Batch:
    """A desk with two requests in one payment file; `debited` adds a debit for it."""

    def __init__(self, desk: Workspace, model: Workspace) -> None:
        """Find the requests in `model`, which has the same records and is not changed."""
        self.desk, self._model = desk, model
        self.first, self.second = payable(model)[:2]
        body = {
            "requests": [self.first["request"], self.second["request"]],
            "references": [self.first["reference"], self.second["reference"]],
            "message_id": MESSAGE,
            "execution": "2026-10-29",
        }
        file_made(desk, FILE, body)

    def debited(self, amount: Decimal, text: str = MESSAGE) -> str:
        """Add a debit as the bank books a batch, and return its entry id."""
        model = first_line(october(self._model), "matched", "on_ramp", "DBIT")
        return double(
            self.desk, model["entry_id"], amount=amount, end_to_end_id=text, remittance=[],
            structured_references=[], counterparty_name=None, additional_information=None,
            booking_date=date(2026, 10, 30), value_date=date(2026, 10, 30),
        )  # fmt: skip

    def state(self, request: dict[str, Any]) -> str:
        rows = self.desk.awaiting_funds().arrow.to_pylist()
        return next(row["state"] for row in rows if row["request"] == request["request"])


@pytest.fixture(scope="module")
def batch_month(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    """Return a desk with one payment file; tests copy it."""
    return Batch(copy_of(month_end, tmp_path_factory.mktemp("batch") / "desk"), month_end)


@pytest.fixture
def batch(batch_month: Batch, tmp_path: Path) -> Batch:
    twin = copy(batch_month)
    twin.desk = copy_of(batch_month.desk, tmp_path / "desk")
    return twin


def test_one_debit_pays_every_request_of_its_file(batch: Batch) -> None:
    line = batch.debited(batch.first["send"] + batch.second["send"])
    assert {batch.state(batch.first), batch.state(batch.second)} <= {"IN FILE", "CHECK BANK"}
    planned = batch.desk.matches.accept_file(line, FILE, actor=BERT, dry_run=True)
    assert planned.seq is None
    decision = batch.desk.matches.accept_file(line, FILE, actor=BERT)
    assert set(decision.expectations) == {batch.first["request"], batch.second["request"]}
    assert {batch.state(batch.first), batch.state(batch.second)} == {"SENT"}
    again = batch.desk.matches.accept_file(line, FILE, actor=BERT)
    assert again.seq == decision.seq


@pytest.mark.acceptance
def test_a_rejected_payment_is_not_paid_by_the_debit(batch: Batch, tmp_path: Path) -> None:
    line = batch.debited(batch.first["send"])
    with pytest.raises(ActionRefused, match="that are not rejected wait for"):
        batch.desk.matches.accept_file(line, FILE, actor=BERT)
    answer = tmp_path / "answer.xml"
    told = payment(batch.second["reference"], "RJCT", "AC04")
    answer.write_text(report(told, original=MESSAGE, at="2026-10-30T09:00:00Z"))
    batch.desk.statements.add(answer)
    decision = batch.desk.matches.accept_file(line, FILE, actor=BERT)
    assert decision.expectations == (batch.first["request"],)
    assert batch.state(batch.first) == "SENT"
    assert batch.state(batch.second) == "REJECTED"


def test_a_request_that_another_line_paid_is_not_paid_by_the_file_again(batch: Batch) -> None:
    line = batch.debited(batch.second["send"])
    alone = double(
        batch.desk, line, amount=batch.first["send"], end_to_end_id=batch.first["reference"]
    )
    batch.desk.matches.accept(alone, batch.first["request"], actor=BERT)
    with pytest.raises(
        ActionRefused, match=r"of payments-1\.xml has received .* through another line"
    ):
        batch.desk.matches.accept_file(line, FILE, actor=BERT)
    decision = batch.desk.matches.accept(line, batch.second["request"], actor=BERT)
    assert decision.expectations == (batch.second["request"],)
    with pytest.raises(ActionRefused, match="through another line"):
        batch.desk.matches.accept_file(alone, FILE, reason="its batch", actor=BERT)


@pytest.mark.acceptance
def test_no_payment_of_a_file_is_payable_while_its_debit_is_undecided(
    batch: Batch, tmp_path: Path
) -> None:
    line = batch.debited(batch.first["send"] + batch.second["send"])
    batch.desk.funding.not_uploaded(batch.first["request"], "I think so", actor=BERT)
    answer = tmp_path / "answer.xml"
    told = payment(batch.second["reference"], "RJCT", "AC04")
    answer.write_text(report(told, original=MESSAGE, at="2026-10-30T09:00:00Z"))
    batch.desk.statements.add(answer)
    for request in (batch.first, batch.second):
        assert batch.state(request) == "CHECK BANK"
    rows = batch.desk.awaiting_funds().arrow.to_pylist()
    (row,) = [row for row in rows if row["request"] == batch.second["request"]]
    assert row["next_step"] == "A debit of 30 Oct may be this one; decide it first"
    batch.desk.matches.ignore(line, reason="the bank booked it back", actor=BERT)
    assert batch.state(batch.first) == "PAY"
    assert batch.state(batch.second) == "REJECTED"


@pytest.mark.acceptance
def test_a_debit_that_does_not_name_the_file_needs_a_reason(batch: Batch) -> None:
    line = batch.debited(batch.first["send"] + batch.second["send"], text="BATCH 17")
    with pytest.raises(ActionRefused, match="does not name"):
        batch.desk.matches.accept_file(line, FILE, actor=BERT)
    decision = batch.desk.matches.accept_file(line, FILE, reason="the only batch", actor=BERT)
    assert decision.reason == "the only batch"


@pytest.mark.acceptance
def test_a_file_that_was_not_made_and_a_credit_are_refused(batch: Batch) -> None:
    line = batch.debited(batch.first["send"])
    with pytest.raises(InputError, match=r"no payment file 'other\.xml' was made here"):
        batch.desk.matches.accept_file(line, "other.xml")
    edit(batch.desk, "statement_entries", "entry_id", line, direction="CRDT")
    with pytest.raises(ActionRefused, match="is not a debit"):
        batch.desk.matches.accept_file(line, FILE)


@pytest.mark.acceptance
def test_a_decision_sheet_offers_the_file_that_a_debit_names(batch: Batch, tmp_path: Path) -> None:
    line = batch.debited(batch.first["send"] + batch.second["send"])
    sheet = batch.desk.exceptions_sheet(tmp_path / "sheet.xlsx", "2026-10")
    book = openpyxl.load_workbook(sheet)
    offered = {row[0]: row[1] for row in reversed(list(book["Choices"].values))}
    assert offered[f"line:{line}"] == f"Accept: payment file {FILE}"
    page = book["Open items"]
    at = {cell.value: cell.column for cell in page[1]}
    for row in range(2, page.max_row + 1):
        if page.cell(row, at["Item"]).value == f"line:{line}":
            page.cell(row, at["Decision"]).value = offered[f"line:{line}"]
    book.save(sheet)
    plan = batch.desk.decide(sheet)
    assert [verdict.outcome for verdict in plan.verdicts] == ["to be journaled"]
    assert {batch.state(batch.first), batch.state(batch.second)} == {"SENT"}
