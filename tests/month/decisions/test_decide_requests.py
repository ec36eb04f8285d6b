"""Remarks on ramp requests are shown separately, with a reason, and are not evidence."""

from __future__ import annotations

from pathlib import Path

import pytest
from decide_desk import ANNA, BERT, copy_of

from treasury.core.errors import ActionRefused, InputError
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(month_end, tmp_path / "desk")


def test_a_remark_changes_no_state_and_stays_until_it_is_undone(desk: Workspace) -> None:
    before = desk.awaiting_funds().arrow.to_pylist()
    request = next(row for row in before if row["state"] == "PAY")
    journaled = desk.funding.marked_sent(request["reference"], "paid by phone banking", actor=ANNA)
    assert journaled.request_id == request["request"]
    after = next(
        row
        for row in desk.awaiting_funds().arrow.to_pylist()
        if row["request"] == request["request"]
    )
    assert after["state"] == "PAY"
    (row,) = desk.funding.list().arrow.to_pylist()
    assert (row["mark"], row["marked_by"]) == ("marked_sent", "anna")
    (entry,) = desk.journal.entries("request.")
    assert entry.body["facts"]["payment_reference"] == request["reference"]
    assert desk.funding.marked_sent(request["request"], "again", actor=BERT) == journaled
    with pytest.raises(ActionRefused, match="marked sent by anna: paid by phone banking"):
        desk.funding.will_not_fund(request["reference"], "no longer wanted", actor=BERT)
    desk.funding.undo(request["reference"], "it was another one", actor=BERT)
    assert desk.funding.list().arrow.to_pylist() == []
    with pytest.raises(ActionRefused, match="there is no remark on"):
        desk.funding.undo(request["reference"], actor=BERT)


def test_a_request_in_a_file_is_not_paid_again_until_the_file_was_not_uploaded(
    desk: Workspace,
) -> None:
    request = next(row for row in desk.awaiting_funds().arrow.to_pylist() if row["state"] == "PAY")

    def state() -> tuple[str, str]:
        rows = desk.awaiting_funds().arrow.to_pylist()
        row = next(row for row in rows if row["request"] == request["request"])
        return row["state"], row["marked"]

    with pytest.raises(ActionRefused, match="is in no payment file"):
        desk.funding.not_uploaded(request["reference"], "it was lost", actor=ANNA)
    desk.journal.append(
        "payment_file.made", "payments-1.xml", {"requests": [request["request"]]}, actor=ANNA
    )
    assert state() == ("IN FILE", "left in payments-1.xml by anna, 2 Nov")
    with pytest.raises(ActionRefused, match="may be paid by it - if the file was not uploaded"):
        desk.funding.will_not_fund(request["reference"], "no longer wanted", actor=BERT)
    desk.funding.marked_sent(request["reference"], "released", actor=BERT)
    marked = "marked sent by bert, 2 Nov: released; left in payments-1.xml by anna, 2 Nov"
    assert state() == ("IN FILE", marked)
    trace = desk.trace(request["reference"])
    own_hops = {hop.place: hop.says for hop in trace.hops if not hop.is_for_provider}
    assert own_hops["Payment file"] == "left in payments-1.xml by anna"
    assert own_hops["Remark"] == "marked sent by bert: released"
    assert "payments-1.xml" not in trace.provider_text()
    (row,) = desk.funding.list().arrow.to_pylist()
    assert (row["mark"], row["file"], row["filed_by"]) == ("marked_sent", "payments-1.xml", "anna")
    desk.funding.undo(request["reference"], actor=BERT)
    with pytest.raises(InputError, match="needs a reason"):
        desk.funding.not_uploaded(request["reference"], " ", actor=BERT)
    with pytest.raises(ActionRefused, match=r"anna made payments-1\.xml and cannot withdraw it"):
        desk.funding.not_uploaded(request["reference"], "lost", actor=ANNA)
    planned = desk.funding.not_uploaded(request["reference"], "lost", actor=BERT, dry_run=True)
    assert planned.seq is None
    assert state()[0] == "IN FILE"
    desk.funding.not_uploaded(request["reference"], "the bank refused it", actor=BERT)
    assert state() == ("PAY", "")
    (entry,) = desk.journal.entries("request.not_uploaded")
    assert entry.body["undoes"] == 1
    assert entry.body["alone"] is False
    with pytest.raises(ActionRefused, match="is in no payment file"):
        desk.funding.not_uploaded(request["reference"], "again", actor=ANNA)


def test_only_the_named_remark_is_undone(desk: Workspace) -> None:
    request = next(row for row in desk.awaiting_funds().arrow.to_pylist() if row["state"] == "PAY")
    journaled = desk.funding.marked_sent(request["reference"], "paid by phone banking", actor=ANNA)
    desk.funding.undo(request["reference"], seq=journaled.seq, actor=BERT)
    desk.funding.will_not_fund(request["reference"], "no longer wanted", actor=BERT)
    with pytest.raises(ActionRefused, match="is now another one: will not fund, said by bert"):
        desk.funding.undo(request["reference"], seq=journaled.seq, actor=ANNA)
    (row,) = desk.funding.list().arrow.to_pylist()
    assert row["mark"] == "will_not_fund"
    desk.funding.undo(request["reference"], seq=row["seq"], actor=ANNA)
    assert desk.funding.list().arrow.to_pylist() == []


def test_a_remark_needs_a_reason_and_a_waiting_request(desk: Workspace) -> None:
    waiting = next(row for row in desk.awaiting_funds().arrow.to_pylist() if row["state"] == "PAY")
    with pytest.raises(InputError, match="needs a reason"):
        desk.funding.will_not_fund(waiting["reference"], " ", actor=ANNA)
    with pytest.raises(InputError, match="no ramp request has the reference or id 'PAY-0'"):
        desk.funding.will_not_fund("PAY-0", "no longer wanted", actor=ANNA)
    completed_requests = desk.sql(
        "SELECT payment_reference FROM ramp_requests WHERE status = 'SUCCEEDED' LIMIT 1"
    ).arrow.to_pylist()[0]["payment_reference"]
    with pytest.raises(ActionRefused, match="is SUCCEEDED: it does not wait for funds"):
        desk.funding.marked_sent(completed_requests, "paid", actor=ANNA)
    assert desk.journal.entries() == []
