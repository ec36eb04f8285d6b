"""Closing a month: what blocks, is locked, is pinned, and comes late; cases 24 to 34."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from decide_desk import ANNA, BERT, clock_at, copy_of, double, edit, first_line, october

from treasury.errors import ActionRefused, InputError, JournalError
from treasury.journal import Journal
from treasury.lake import Lake
from treasury.reconcile.matching import Matches
from treasury.reconcile.periods import basis_of, reconcile
from treasury.workspace import Workspace

WHY = "carried forward, see the list"


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(month_end, tmp_path / "desk")


@pytest.fixture(scope="module")
def lines(month_end: Workspace) -> list[dict[str, Any]]:
    return october(month_end)


@pytest.fixture(scope="module")
def closed(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A desk whose September and October are closed, to be read or copied."""
    desk = copy_of(month_end, tmp_path_factory.mktemp("closed") / "desk")
    for month in ("2026-09", "2026-10"):
        desk.periods.close(month, WHY, reviewed_by="bert", actor=ANNA)
    return desk


def test_with_something_open_a_month_closes_with_a_reason_only(desk: Workspace) -> None:
    with pytest.raises(ActionRefused, match=r"Need your decision: \d+, EUR .*close with a reason"):
        desk.periods.close("2026-10", reviewed_by="bert", actor=ANNA)
    assert (desk.journal.entries(), desk.lake.pins()) == ([], [])
    period = desk.periods.close("2026-10", WHY, reviewed_by="bert", actor=ANNA)
    close = period.close
    assert (close.prepared_by, close.reviewed_by, close.reason) == ("anna", "bert", WHY)
    assert {item["label"] for item in close.open_items} >= {"Need your decision", "Paid twice"}
    (pin,) = desk.lake.pins()
    assert (pin.commit.number, pin.why) == (close.commit, "close of 2026-10")
    assert close.head == Journal(desk.folder).head() or close.head.seq == 0
    assert close.rules_hash == desk.rules.current().hash
    assert desk.periods.get("2026-10") == period


def test_case_32_who_prepares_does_not_review(desk: Workspace) -> None:
    for name in ("anna", " Anna ", "ANNA", "\uff41nna"):  # the last in full width
        with pytest.raises(ActionRefused, match="cannot review it"):
            desk.periods.close("2026-10", WHY, reviewed_by=name, actor=ANNA)
    with pytest.raises(InputError, match="nobody reviewed"):
        desk.periods.close("2026-10", WHY, reviewed_by=" ", actor=ANNA)
    assert desk.journal.entries() == []


def test_months_are_closed_one_after_another_once_they_have_ended(closed: Workspace) -> None:
    with pytest.raises(ActionRefused, match="2026-11 has not ended yet"):
        closed.periods.close("2026-11", WHY, reviewed_by="bert", actor=ANNA)
    with pytest.raises(ActionRefused, match="2026-10 was closed by anna on 2026-11-02"):
        closed.periods.close("2026-10", "again", reviewed_by="bert", actor=ANNA)
    with pytest.raises(ActionRefused, match="the next one is 2026-11"):
        closed.periods.close("2026-08", WHY, reviewed_by="bert", actor=ANNA)
    with pytest.raises(InputError, match="not a month"):
        closed.periods.close("October", WHY, reviewed_by="bert", actor=ANNA)


def test_case_27_in_a_closed_month_nothing_is_decided_or_undone(
    desk: Workspace, lines: list[dict[str, Any]]
) -> None:
    line = first_line(lines, "suggested", "on_ramp", "DBIT")
    other = first_line(lines, "unreferenced")["entry_id"]
    desk.matches.accept(line["entry_id"], line["reference"], actor=ANNA)
    desk.periods.close("2026-10", WHY, reviewed_by="bert", actor=ANNA)
    head = desk.journal.head()
    refused = r"belongs to 2026-10, which anna closed on 2026-11-02: nothing was decided"
    with pytest.raises(ActionRefused, match=refused):
        desk.matches.undo(line["entry_id"], actor=BERT)
    with pytest.raises(ActionRefused, match=refused):
        desk.matches.ignore(other, reason="not ours", actor=BERT)
    with pytest.raises(ActionRefused, match=refused):
        desk.matches.assign(other, "bert", actor=ANNA)
    assert desk.journal.head() == head
    desk.periods.reopen("2026-10", "a line was decided wrongly", actor=BERT)
    desk.matches.undo(line["entry_id"], actor=BERT)
    assert desk.journal.entries("match.undo")


def test_a_reopened_month_says_who_and_why_and_is_closed_anew(
    closed: Workspace, tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    with pytest.raises(ActionRefused, match="2026-10 is closed after 2026-09"):
        desk.periods.reopen("2026-09", "a mistake", actor=BERT)
    with pytest.raises(InputError, match="with a reason"):
        desk.periods.reopen("2026-10", "", actor=BERT)
    desk.periods.reopen("2026-10", "a late invoice", actor=BERT)
    with pytest.raises(ActionRefused, match="2026-10 is not closed"):
        desk.periods.reopen("2026-10", "again", actor=BERT)
    desk.periods.close("2026-10", WHY, reviewed_by="anna", actor=BERT)
    states = [(row["month"], row["state"]) for row in desk.periods.list().to_pylist()]
    assert states == [("2026-09", "closed"), ("2026-10", "reopened"), ("2026-10", "closed")]
    reopened = desk.periods.list().to_pylist()[1]
    assert (reopened["reopened_by"], reopened["reopen_reason"]) == ("bert", "a late invoice")


def test_case_34_open_items_roll_forward_from_one_close_to_the_next(closed: Workspace) -> None:
    september, october_ = (closed.periods.get(m).close for m in ("2026-09", "2026-10"))
    ends = {(row["kind"], row["currency"]): row["closing"] for row in september.roll_forward}
    begins = {(row["kind"], row["currency"]): row["opening"] for row in october_.roll_forward}
    assert ends == begins
    kinds = {row["kind"] for row in october_.roll_forward}
    assert kinds == {"on_ramp", "off_ramp"}, "virtual accounts stand outside"
    found = closed.periods.roll_forward("2026-10")
    for table in (found.totals, found.items):
        for row in table.to_pylist():
            assert row["closing"] == (
                row["opening"] + row["new"] - row["matched"] + row["reopened"]
                - row["cancelled"] + row["adjusted"]
            )  # fmt: skip
    closing = closed.periods.closing(closed.periods.get("2026-10"))
    assert closing.equals(found.totals)
    assert sum(row["matched"] for row in found.totals.to_pylist()) > 0


def test_a_request_recorded_with_no_money_or_less_waits_for_none(
    closed: Workspace, tmp_path: Path
) -> None:
    items = closed.periods.roll_forward("2026-10").items.to_pylist()
    names = [row["expectation_id"] for row in items if row["closing"] and row["kind"] == "on_ramp"]
    later = clock_at(copy_of(closed, tmp_path / "desk"), "2026-11-20T08:00:00+00:00")
    for name, amount in zip(names, (Decimal(0), Decimal(-5)), strict=False):
        edit(later, "ramp_requests", "id", name, fiat_amount=amount)
    found = {
        row["expectation_id"]: row
        for row in later.periods.roll_forward("2026-11").items.to_pylist()
    }
    for name in names[:2]:
        row = found[name]
        assert (row["adjusted"], row["closing"]) == (-row["opening"], 0)
    with pytest.raises(InputError, match="2027-03 has not begun"):
        later.periods.roll_forward("2027-03")


def test_case_34_a_month_whose_items_do_not_tie_is_not_closed(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shares that say something else than what remains are an error no reason gets past."""
    from treasury.errors import TreasuryError
    from treasury.reconcile import rollforward

    real = rollforward.match_references

    def off_by_a_cent(*tables: Any, **more: Any) -> Matches:
        matches: Matches = real(*tables, **more)
        rows = matches.expectations.to_pylist()
        row = next(row for row in rows if row["remaining"])
        row["remaining"] -= Decimal("0.01")
        import msgspec
        import pyarrow as pa

        changed = pa.Table.from_pylist(rows, schema=matches.expectations.schema)
        return msgspec.structs.replace(matches, expectations=changed)

    monkeypatch.setattr(rollforward, "match_references", off_by_a_cent)
    with pytest.raises(TreasuryError, match=r"do not roll forward: .* is off by EUR 0\.01"):
        desk.periods.close("2026-10", WHY, reviewed_by="bert", actor=ANNA)
    assert (desk.journal.entries(), desk.lake.pins()) == ([], [])


def test_a_closed_month_comes_out_again_whatever_becomes_known(
    closed: Workspace, lines: list[dict[str, Any]], tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    before = desk.periods.answer("2026-10")
    later = clock_at(desk, "2026-11-20T08:00:00+00:00")
    edit(later, "statement_entries", "entry_id", lines[0]["entry_id"], amount=Decimal("1.00"))
    path = later.folder / "new.toml"
    path.write_text('[[classes]]\nname = "all"\nline_class = "other_business"\nremittance = "."\n')
    later.rules.save(path, "everything is other business", actor=ANNA)
    again = later.periods.verify("2026-10")
    for name in ("lines", "awaiting_funds", "in_transit", "statements", "fee_requests"):
        assert getattr(again, name).equals(getattr(before, name)), name
    assert (again.as_of, again.known_at, again.matches.rules_hash) == (
        before.as_of, before.known_at, before.matches.rules_hash,
    )  # fmt: skip
    now = later.reconcile("2026-10")
    assert not now.lines.equals(before.lines)
    assert now.matches.rules_hash == before.matches.rules_hash, "a closed month keeps its rules"
    assert later.reconcile("2026-08").matches.rules_hash != before.matches.rules_hash


def test_a_close_that_does_not_come_out_again_is_said(
    closed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.reconcile import periods

    monkeypatch.setattr(periods, "outcomes_hash", lambda _: "0" * 64)
    with pytest.raises(JournalError, match="does not come out again: the outcomes of its lines"):
        closed.periods.verify("2026-10")


def test_case_29_a_close_cut_off_after_any_write_ends_the_same_when_run_again(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes are the pin and the entry: cut off before, between and after them."""

    class CutOff(Exception):
        pass

    def dies(*_: object, **__: object) -> None:
        raise CutOff

    def close(workspace: Workspace) -> Any:
        return workspace.periods.close("2026-10", WHY, reviewed_by="bert", actor=ANNA)

    with monkeypatch.context() as patch:
        patch.setattr(Lake, "pin", dies)
        with pytest.raises(CutOff):
            close(Workspace(desk.folder))
    assert (desk.journal.entries(), desk.lake.pins()) == ([], [])
    with monkeypatch.context() as patch:
        patch.setattr(Journal, "extend", dies)
        with pytest.raises(CutOff):
            close(Workspace(desk.folder))
    assert desk.journal.entries() == []
    first = close(Workspace(desk.folder))
    assert close(Workspace(desk.folder)) == first, "its answer was lost; it is closed"
    assert [entry.kind for entry in desk.journal.entries()] == ["period.close"]
    assert len(desk.lake.pins()) == 1


def test_a_decision_during_the_close_is_looked_at_before_the_month_is_closed(
    desk: Workspace, lines: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = first_line(lines, "unreferenced")["entry_id"]
    real, seen = Lake.pin, []

    def pin(self: Lake, *given: Any, **more: Any) -> Any:
        if not seen:
            seen.append(1)
            Workspace(desk.folder).matches.ignore(line, reason="meanwhile", actor=BERT)
        return real(self, *given, **more)

    monkeypatch.setattr(Lake, "pin", pin)
    period = desk.periods.close("2026-10", WHY, reviewed_by="bert", actor=ANNA)
    assert [entry.kind for entry in desk.journal.entries()] == ["match.ignore", "period.close"]
    assert period.close.head.seq == 1
    basis = basis_of(desk.journal, desk.lake, period)
    answer = {row["entry_id"]: row["outcome"] for row in reconcile(basis).lines.to_pylist()}
    assert answer[line] == "ignored"


def test_case_25_what_arrives_late_posts_to_the_open_month_with_a_link(
    closed: Workspace, lines: list[dict[str, Any]], tmp_path: Path
) -> None:
    desk = copy_of(closed, tmp_path / "desk")
    assert len(desk.periods.late()) == 0
    later = clock_at(desk, "2026-11-20T08:00:00+00:00")
    open_one = first_line(lines, "suggested", "on_ramp", "DBIT")
    late = double(later, open_one["entry_id"], booking_date=date(2026, 10, 29))
    gone, changed = (first_line(lines, o)["entry_id"] for o in ("unreferenced", "conflict"))
    edit(later, "statement_entries", "entry_id", gone, entry_status="SUPERSEDED")
    edit(later, "statement_entries", "entry_id", changed, amount=Decimal("12.34"))
    rows = {row["entry_id"]: row for row in later.periods.late().to_pylist()}
    assert {key: rows[key]["change"] for key in rows} == {
        late: "new", gone: "gone", changed: "changed",
    }  # fmt: skip
    entry = closed.periods.get("2026-10").entry.seq
    for row in rows.values():
        assert (row["month"], row["posts_to"], row["close_entry"]) == ("2026-10", "2026-11", entry)
    assert "is 12.34" in rows[changed]["what"]
    made = later.matches.accept(late, open_one["reference"], reason="came late", actor=ANNA)
    assert made.seq is not None, "a late line belongs to an open month, and is decided there"
    with pytest.raises(ActionRefused, match="belongs to 2026-10"):
        later.matches.ignore(gone_free(lines), reason="x", actor=ANNA)


def gone_free(lines: list[dict[str, Any]]) -> str:
    """A line of October that was known when it was closed."""
    return first_line(lines, "suggested", "virtual_bank_account")["entry_id"]


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
    (row,) = later.periods.late().to_pylist()
    assert (row["change"], row["entry_id"], row["original_id"]) == (
        "returned", back, paid["entry_id"],
    )  # fmt: skip
    assert (row["month"], row["posts_to"]) == ("2026-10", "2026-11")
    items = {row["expectation_id"]: row for row in moved_in_november(later)}
    item = items[paid["expectation_id"]]
    assert item["reopened"] == paid["amount"]
    assert item["closing"] == item["opening"] + paid["amount"]
    again = later.periods.verify("2026-10")
    outcomes = {row["entry_id"]: row["outcome"] for row in again.lines.to_pylist()}
    assert outcomes[paid["entry_id"]] == "matched", "October stays as it was closed"


def original_with_reference(desk: Workspace, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """A matched on-ramp wire of October that has an end-to-end id of its own."""
    ids = {
        row["entry_id"]: row["end_to_end_id"]
        for row in desk.sql("SELECT entry_id, end_to_end_id FROM statement_entries").to_pylist()
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
    return desk.periods.roll_forward("2026-11").items.to_pylist()


def test_a_close_is_known_only_after_it_was_made(closed: Workspace) -> None:
    before = closed.at(datetime(2026, 11, 2, 7, 59, tzinfo=UTC))
    assert len(before.periods.list()) == 0
    with pytest.raises(InputError, match="2026-10 is not closed"):
        before.periods.get("2026-10")
