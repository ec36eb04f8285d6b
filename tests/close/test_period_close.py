"""Closing a month: order, roll-forward, pinned data, late facts, damage; cases 25 and 34."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from decide_desk import ANNA, BERT, clock_at, copy_of, double, edit, first_line
from signed import carry_all, close_month

from treasury.actions.policies.policy import Policy
from treasury.close.roll_forward import POSITIONS, MonthEnd
from treasury.close.sign_off import prepare_refusal
from treasury.core.calendar import Month
from treasury.core.errors import (
    ActionRefused,
    InputError,
    JournalError,
    StorageError,
    WorkspaceDamaged,
)
from treasury.journal import Entry
from treasury.journal.decision_log import read_decided
from treasury.journal.period_history import require_turn
from treasury.month.items import OpenItems
from treasury.month.standing_knowledge import Knowledge
from treasury.workspace import Workspace


@pytest.fixture(scope="module")
def closed(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk with September and October closed; tests read or copy it."""
    desk = copy_of(month_end, tmp_path_factory.mktemp("closed") / "desk")
    for month in ("2026-09", "2026-10"):
        close_month(desk, month)
    return desk


@pytest.mark.acceptance
def test_months_are_closed_in_order_after_their_end(closed: Workspace) -> None:
    with pytest.raises(ActionRefused, match="2026-10 was closed by anna on 2026-11-02"):
        closed.periods.prepare("2026-10", actor=ANNA)
    with pytest.raises(ActionRefused, match="2026-10, after 2026-08, is already closed") as refused:
        closed.periods.prepare("2026-08", actor=ANNA)
    assert "treasury periods reopen 2026-10 --reason" in str(refused.value)
    with pytest.raises(InputError, match="not a month"):
        closed.periods.prepare("October", actor=ANNA)
    assert "has not ended yet" in (in_the_way(closed, "2026-11") or "")


def in_the_way(desk: Workspace, month: str) -> str | None:
    """Return why a month cannot be prepared, apart from its open items; None if it can be."""
    entries = read_decided(desk.journal).entries
    question = desk.question(month)
    closing = msgspec.structs.replace(
        desk.periods.month(month), items=OpenItems(question.month, ())
    )
    refusal = prepare_refusal(question, entries, closing, Policy(), ANNA)
    return None if refusal is None else str(refusal)


def journal_of(*steps: tuple[str, str]) -> list[Entry]:
    """Return journal entries that prepare, withdraw, close or reopen months, in this order."""
    head = {"seq": 1, "hash": "0" * 64}
    close = {
        "reason": None, "prepared_by": "anna", "commit": 1, "known_at": "2026-11-02T08:00:00Z",
        "as_of": "2026-11-02T08:00:00Z", "head": head, "rules_hash": "", "rules": {}, "desk": {},
        "roll_forward": [], "items_hash": "", "open_items": [], "outcomes_hash": "",
    }  # fmt: skip
    return [
        Entry(
            seq=seq, at=datetime(2026, 12, 1, tzinfo=UTC), kind=f"period.{verb}", subject=month,
            actor=ANNA, body={"month": month, **close}, prev_hash="", hash=str(seq), nonce=None,
        )
        for seq, (verb, month) in enumerate(steps, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "month", "refusal", "command"),
    [
        ((), "2026-10", "", ""),
        ((("close", "2026-10"),), "2026-11", "", ""),
        ((("close", "2026-10"),), "2026-12", "2026-11, before 2026-12, is still open",
         "treasury close 2026-11"),
        ((("close", "2026-10"), ("reopen", "2026-10")), "2026-11",
         "2026-10, before 2026-11, is still open", "treasury close 2026-10"),
        ((("close", "2026-10"), ("reopen", "2026-10")), "2026-10", "", ""),
        ((("close", "2026-10"), ("reopen", "2026-10")), "2026-09", "", ""),
        ((("prepare", "2026-10"),), "2026-11",
         "2026-10, before 2026-11, is prepared but not signed", "treasury close 2026-10 --sign"),
        ((("prepare", "2026-10"), ("withdraw", "2026-10")), "2026-11", "", ""),
        ((("prepare", "2026-11"),), "2026-10", "", ""),
        # Version 0.1.0 allowed this: October is reopened, then November closed.
        ((("close", "2026-10"), ("reopen", "2026-10"), ("close", "2026-11")), "2026-10",
         "2026-11, after 2026-10, is already closed", "treasury periods reopen 2026-11"),
        ((("close", "2026-10"), ("reopen", "2026-10"), ("close", "2026-11")), "2026-12",
         "2026-10, before 2026-12, is still open", "treasury close 2026-10"),
        ((("close", "2026-10"), ("reopen", "2026-10"), ("close", "2026-11"),
          ("reopen", "2026-11")), "2026-10", "", ""),
    ],
)  # fmt: skip
def test_a_month_closes_only_after_all_earlier_ones_and_the_error_names_the_next_step(
    steps: tuple[tuple[str, str], ...], month: str, refusal: str, command: str
) -> None:
    if not refusal:
        require_turn(Month.parse(month), journal_of(*steps))
        return
    with pytest.raises(ActionRefused, match=refusal) as refused:
        require_turn(Month.parse(month), journal_of(*steps))
    assert command in str(refused.value.do)


@pytest.mark.acceptance
def test_a_reopened_month_names_person_and_reason_and_can_be_closed_again(
    closed: Workspace, tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    with pytest.raises(ActionRefused, match="2026-10 is closed after 2026-09") as refused:
        desk.periods.reopen("2026-09", "a mistake", actor=BERT)
    assert "treasury periods reopen 2026-10 --reason" in str(refused.value)
    with pytest.raises(InputError, match="needs a reason"):
        desk.periods.reopen("2026-10", "", actor=BERT)
    desk.periods.reopen("2026-10", "a late invoice", actor=BERT)
    with pytest.raises(ActionRefused, match="2026-10 is not closed"):
        desk.periods.reopen("2026-10", "again", actor=BERT)
    close_month(desk, "2026-10", preparer=BERT, reviewer=ANNA)
    states = [(row["month"], row["state"]) for row in desk.periods.list().arrow.to_pylist()]
    assert states == [("2026-09", "closed"), ("2026-10", "reopened"), ("2026-10", "closed")]
    reopened = desk.periods.list().arrow.to_pylist()[1]
    assert (reopened["reopened_by"], reopened["reopen_reason"]) == ("bert", "a late invoice")


@pytest.mark.acceptance
def test_case_34_open_items_roll_forward_from_one_close_to_the_next(closed: Workspace) -> None:
    september, october_ = (closed.periods.get(m).close for m in ("2026-09", "2026-10"))
    ends = {(row["kind"], row["currency"]): row["closing"] for row in september.roll_forward}
    begins = {(row["kind"], row["currency"]): row["opening"] for row in october_.roll_forward}
    assert ends == begins
    kinds = {row["kind"] for row in october_.roll_forward}
    assert kinds == {"on_ramp", "off_ramp"}, "virtual accounts are left out"
    roll = closed.periods.roll_forward("2026-10")
    for table in (roll.totals, roll.items):
        for row in table.arrow.to_pylist():
            assert row["closing"] == (
                row["opening"] + row["new"] - row["matched"] + row["reopened"]
                - row["cancelled"] - row["blocked"] + row["adjusted"]
            )  # fmt: skip
    closing = closed.periods.closing(closed.periods.get("2026-10"))
    assert closing.equals(roll.totals.arrow)
    assert sum(row["matched"] for row in roll.totals.arrow.to_pylist()) > 0


@pytest.mark.acceptance
def test_a_request_with_an_amount_of_zero_or_less_awaits_no_money(
    closed: Workspace, tmp_path: Path
) -> None:
    items = closed.periods.roll_forward("2026-10").items.arrow.to_pylist()
    names = [row["expectation_id"] for row in items if row["closing"] and row["kind"] == "on_ramp"]
    later = clock_at(copy_of(closed, tmp_path / "desk"), "2026-11-20T08:00:00+00:00")
    for name, amount in zip(names, (Decimal(0), Decimal(-5)), strict=False):
        edit(later, "ramp_requests", "id", name, fiat_amount=amount)
    open_amounts = {
        row["expectation_id"]: row
        for row in later.periods.roll_forward("2026-11").items.arrow.to_pylist()
    }
    for name in names[:2]:
        row = open_amounts[name]
        assert (row["adjusted"], row["closing"]) == (-row["opening"], 0)
    with pytest.raises(InputError, match="2027-03 has not begun"):
        later.periods.roll_forward("2027-03")


@pytest.mark.acceptance
def test_case_34_a_month_whose_items_do_not_roll_forward_is_not_closed(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lower one open amount of October by a cent, so that the month does not roll forward."""
    from treasury.close import roll_forward
    from treasury.core.errors import TreasuryError

    real = roll_forward._month_end

    def off_by_a_cent(knowledge: Knowledge, month: Month) -> MonthEnd:
        end: MonthEnd = real(knowledge, month)
        if str(month) != "2026-10":
            return end
        rows = end.positions.to_pylist()
        row = next(row for row in rows if row["open"])
        row["open"] -= Decimal("0.01")
        return MonthEnd(month, pa.Table.from_pylist(rows, POSITIONS), end.shares)

    monkeypatch.setattr(roll_forward, "_month_end", off_by_a_cent)
    with pytest.raises(TreasuryError, match=r"do not roll forward: .* is off by EUR 0\.01"):
        desk.periods.prepare("2026-10", actor=ANNA)
    assert (desk.journal.entries(), desk.lake.pins()) == ([], [])


@pytest.mark.acceptance
def test_a_closed_month_is_recomputed_identically_despite_later_knowledge(
    closed: Workspace, lines: list[dict[str, Any]], tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    before = desk.periods.answer("2026-10")
    later = clock_at(desk, "2026-11-20T08:00:00+00:00")
    edit(later, "statement_entries", "entry_id", lines[0]["entry_id"], amount=Decimal("1.00"))
    path = later.folder / "new.toml"
    path.write_text('[[classes]]\nname = "all"\nline_class = "other_business"\nremittance = "."\n')
    later.rules.save(path, "everything is other business", actor=ANNA)
    again = later.periods.verify("2026-10").answer
    for name in ("lines", "awaiting_funds", "in_transit", "statements", "fee_requests"):
        assert getattr(again, name).arrow.equals(getattr(before, name).arrow), name
    assert (again.as_of, again.known_at, again.matches.rules_hash) == (
        before.as_of, before.known_at, before.matches.rules_hash,
    )  # fmt: skip
    now = later.reconcile("2026-10")
    assert now.lines.arrow.equals(before.lines.arrow)
    assert len(later.periods.late("2026-10")) == 1
    assert "LATE         1 item since the close" in later.status("2026-10")
    assert now.matches.rules_hash == before.matches.rules_hash, "a closed month keeps its rules"
    assert later.reconcile("2026-08").matches.rules_hash != before.matches.rules_hash


def test_a_close_that_cannot_be_recomputed_is_reported(
    closed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.close import period_pins

    monkeypatch.setattr(period_pins, "outcomes_hash", lambda _: "0" * 64)
    with pytest.raises(JournalError, match="cannot be reproduced: the outcomes of its lines"):
        closed.periods.verify("2026-10")


@pytest.mark.acceptance
def test_case_25_late_facts_post_to_the_open_month_with_a_link(
    closed: Workspace, lines: list[dict[str, Any]], tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    assert len(desk.periods.late()) == 0
    later = clock_at(desk, "2026-11-20T08:00:00+00:00")
    open_one = first_line(lines, "suggested", "on_ramp", "DBIT")
    late = double(later, open_one["entry_id"], booking_date=date(2026, 10, 29))
    withdrawn, changed = (first_line(lines, o)["entry_id"] for o in ("unreferenced", "conflict"))
    edit(later, "statement_entries", "entry_id", withdrawn, entry_status="SUPERSEDED")
    edit(later, "statement_entries", "entry_id", changed, amount=Decimal("12.34"))
    rows = {row["entry_id"]: row for row in later.periods.late().arrow.to_pylist()}
    assert {key: rows[key]["change"] for key in rows} == {
        late: "new", withdrawn: "gone", changed: "changed",
    }  # fmt: skip
    entry = closed.periods.get("2026-10").entry.seq
    for row in rows.values():
        assert (row["month"], row["posts_to"], row["close_entry"]) == ("2026-10", "2026-11", entry)
    assert "is 12.34" in rows[changed]["what"]
    journaled = later.matches.accept(late, open_one["reference"], reason="came late", actor=ANNA)
    assert journaled.seq is not None, "a late line belongs to an open month, and is decided there"
    again = clock_at(desk, "2026-11-21T08:00:00+00:00")
    edit(again, "statement_entries", "entry_id", withdrawn, entry_status="BOOK")
    edit(again, "statement_entries", "entry_id", late, entry_status="SUPERSEDED")
    changes_left = {row["change"] for row in again.periods.late().arrow.to_pylist()}
    assert changes_left == {"changed"}, "a line that left and came back is unchanged"
    once_more = clock_at(desk, "2026-11-22T08:00:00+00:00")
    edit(once_more, "statement_entries", "entry_id", late, entry_status="BOOK")
    late_rows = once_more.periods.late().arrow.to_pylist()
    (row,) = (late_row for late_row in late_rows if late_row["change"] == "new")
    assert (row["entry_id"], row["what"]) == (late, "a later statement contains it again")


@pytest.mark.acceptance
def test_case_25_a_return_into_a_closed_month_posts_to_the_open_one_linked(
    closed: Workspace, lines: list[dict[str, Any]], tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    later = clock_at(desk, "2026-12-02T08:00:00+00:00")
    paid = original_with_reference(later, lines)
    back = double(
        later,
        paid["entry_id"],
        booking_date=date(2026, 11, 12),
        direction="CRDT",
        return_reason="AC04",
        original_end_to_end_id=paid["end_to_end_id"],
    )
    (row,) = later.periods.late().arrow.to_pylist()
    assert (row["change"], row["entry_id"], row["original_id"]) == (
        "returned", back, paid["entry_id"],
    )  # fmt: skip
    assert (row["month"], row["posts_to"]) == ("2026-10", "2026-11")
    items = {row["expectation_id"]: row for row in moved_in_november(later)}
    item = items[paid["expectation_id"]]
    assert item["reopened"] == paid["amount"]
    assert item["closing"] == item["opening"] + paid["amount"]
    again = later.periods.verify("2026-10").answer
    outcomes = {row["entry_id"]: row["outcome"] for row in again.lines.arrow.to_pylist()}
    assert outcomes[paid["entry_id"]] == "matched", "October stays as it was closed"


def original_with_reference(desk: Workspace, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a fully matched on-ramp line of October that has an end-to-end id, with this id."""
    ids = {
        row["entry_id"]: row["end_to_end_id"]
        for row in desk.table("statement_entries").arrow.to_pylist()
    }
    return next(
        row | {"end_to_end_id": ids[row["entry_id"]]}
        for row in lines
        if row["outcome"] == "matched"
        and row["kind"] == "on_ramp"
        and row["matched_amount"] == row["amount"]
        and ids[row["entry_id"]]
    )


def moved_in_november(desk: Workspace) -> list[dict[str, Any]]:
    return desk.periods.roll_forward("2026-11").items.arrow.to_pylist()


def test_a_close_is_unknown_before_its_instant(closed: Workspace) -> None:
    before = closed.at(datetime(2026, 11, 2, 7, 59, tzinfo=UTC))
    assert len(before.periods.list()) == 0
    with pytest.raises(InputError, match="2026-10 is not closed"):
        before.periods.get("2026-10")


def _alter_unread(desk: Workspace, table: str) -> None:
    """Change bytes that readers ignore in each file of a table, keeping its size and rows."""
    for path in (desk.lake.folder / table).rglob("*.parquet"):
        content = path.read_bytes()
        path.write_bytes(content.replace(b"parquet-cpp", b"parquet-cqq"))
        assert path.read_bytes() != content


@pytest.mark.acceptance
def test_a_month_is_not_prepared_on_an_altered_file(desk: Workspace) -> None:
    carry_all(desk, "2026-10")
    entries = len(desk.journal.entries())
    _alter_unread(desk, "statement_entries")
    # The table can still be read.
    assert desk.reconcile("2026-10").lines.arrow.num_rows
    with pytest.raises(
        WorkspaceDamaged, match="was changed after it was written: the close was refused"
    ):
        desk.periods.prepare("2026-10", actor=ANNA)
    assert (len(desk.journal.entries()), desk.lake.pins()) == (entries, [])


@pytest.mark.acceptance
def test_a_month_is_not_signed_on_a_file_altered_after_it_was_prepared(desk: Workspace) -> None:
    carry_all(desk, "2026-10")
    desk.periods.prepare("2026-10", actor=ANNA)
    _alter_unread(desk, "statement_entries")
    with pytest.raises(
        WorkspaceDamaged, match="was changed after it was written: the close was refused"
    ):
        desk.periods.sign("2026-10", actor=BERT)
    assert [row["state"] for row in desk.periods.list().arrow.to_pylist()] == ["prepared"]


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["close", "closes"])
def test_a_close_writes_nothing_through_a_link(desk: Workspace, tmp_path: Path, name: str) -> None:
    (tmp_path / "precious").mkdir()
    carry_all(desk, "2026-10")
    (desk.folder / name / "x").mkdir(parents=True, exist_ok=True)
    place = desk.folder / name if name == "close" else desk.folder / name / "x"
    (desk.folder / name / "x").rmdir()
    if name == "close":
        place.rmdir()
    place.symlink_to(tmp_path / "precious")
    with pytest.raises(StorageError, match="is a link; links are never written through"):
        desk.close("2026-10")
    assert list((tmp_path / "precious").iterdir()) == []
