"""A record that its service no longer lists is an open item, in any state, and must not be paid."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_company import drawn_company

pytestmark = pytest.mark.acceptance

WAITING = "PAY-2026-005402"
PROCESSING = "PAY-2026-005375"


def test_a_request_and_a_transfer_that_are_no_longer_listed_are_open_once(tmp_path: Path) -> None:
    with drawn_company(7, tmp_path / "desk") as played:
        desk = played.desk
        desk.sync()
        desk.statements.add(sorted((played.folder / "bank").glob("*.xml")))
        before = desk.open_items("2026-10")
        assert not before.select(kind="vanished")
        requests = {one.payment_reference: one.id for one in played.requests}
        moving = next(item for item in before.select(kind="payment_late"))
        lost = [requests[WAITING], requests[PROCESSING], moving.subject_id]
        store = played.company._world.store
        store.db.executemany("DELETE FROM records WHERE id = ?", [(one,) for one in lost])
        desk.sync(full=True)
        items = desk.open_items("2026-10")
        assert sorted(item.subject_id for item in items.select(kind="vanished")) == sorted(lost)
        for one in lost:
            (item,) = [item for item in items if one in (item.request_id, item.transfer_id)]
            assert (item.state, item.turn, item.is_blocking) == ("NOT LISTED", "provider", True)
            assert "do not pay" in item.next_step
        (row,) = [r for r in desk.awaiting_funds().arrow.to_pylist() if r["request"] == lost[0]]
        assert row["state"] == "NOT LISTED"
        assert row["next_step"].startswith("The service no longer lists it: do not pay")
