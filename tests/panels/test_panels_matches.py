"""The matches panel without a browser: the effects of presses on the journal."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from conftest import USER
from panel_month import asks, confirms, rows_of, words
from panel_practice import Practice, said

from treasury.core.errors import InputError
from treasury.panels.frames.panel_text import literal
from treasury.panels.matches_panel import MatchesPanel

pytestmark = pytest.mark.acceptance


@pytest.fixture
def panel(month: Practice) -> MatchesPanel:
    return month.workspace.panels.matches()


def test_the_list_equals_the_open_lines_of_the_verbs_with_reasons(
    panel: MatchesPanel, month: Practice
) -> None:
    open_ones = month.workspace.matches.open().arrow.to_pylist()
    assert [row["entry_id"] for row in panel.rows.arrow.to_pylist()] == [
        row["entry_id"] for row in open_ones
    ]
    first = words(rows_of(panel)[0])
    for part in (open_ones[0]["suggestion"], open_ones[0]["reason"], "EUR 11,452.53"):
        assert part in first


def test_two_steps_accept_and_the_journal_holds_the_sentence(
    panel: MatchesPanel, month: Practice
) -> None:
    key = rows_of(panel)[0].key
    step = asks(panel, "accept", key, reason="seen on the portal")
    assert month.journaled("match.") == []
    frame = confirms(panel, step)
    (entry,) = month.journaled("match.accept")
    assert entry.subject == key
    assert entry.body["reason"] == "seen on the portal"
    assert "EUR 11,452.53" in step.text
    assert "PAY-2026-004556" in step.text
    assert "Accept EUR 11,452.53" in said(frame)
    assert f"By {USER} at " in said(frame)
    assert key not in [row.key for row in rows_of(panel)]


def test_several_are_accepted_at_once_with_totals(panel: MatchesPanel, month: Practice) -> None:
    keys = [row.key for row in rows_of(panel)[:3]]
    step = asks(panel, "accept", *keys)
    totals = next(fact for fact in step.facts if fact.name == "Total by currency")
    assert [line.text for line in totals.lines] == ["EUR 29,117.57  (3)"]
    assert len(step.items) == 3
    confirms(panel, step)
    assert [entry.subject for entry in month.journaled("match.accept")] == keys


def test_confirming_from_many_threads_writes_once(panel: MatchesPanel, month: Practice) -> None:
    step = asks(panel, "accept", rows_of(panel)[0].key)
    together = threading.Barrier(6)

    def press() -> None:
        together.wait()
        panel.press("confirm", step=step.key)

    threads = [threading.Thread(target=press) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert panel.wait()
    panel.press("confirm", step=step.key)
    assert panel.wait()
    assert len(month.journaled("match.")) == 1


def test_a_stale_panel_finds_it_already_decided(panel: MatchesPanel, month: Practice) -> None:
    other = month.workspace.panels.matches()
    key = rows_of(panel)[0].key
    mine, theirs = asks(panel, "accept", key), asks(other, "accept", key)
    confirms(panel, mine)
    frame = confirms(other, theirs)
    assert said(frame).startswith("Already decided\nNothing was written.")
    assert f"By {USER}" in said(frame)
    assert len(month.journaled("match.")) == 1


def test_a_contrary_decision_is_refused_and_names_who_decided(
    panel: MatchesPanel, month: Practice
) -> None:
    row = rows_of(panel)[0]
    step = asks(panel, "accept", row.key)
    month.workspace.matches.ignore(row.key, reason="not ours")
    frame = confirms(panel, step)
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert "already decided" in said(frame)
    assert "Nothing was written." in said(frame)
    assert [entry.kind for entry in month.journaled("match.")] == ["match.ignore"]


def group_of(panel: MatchesPanel) -> list[dict[str, Any]]:
    """Return the three credits of EUR 4,570.64 that pay three requests of the same amount."""
    rows = panel.rows.to_arrow().to_pylist()
    return [row for row in rows if row["group_id"] is not None]


def test_a_group_of_equal_payments_is_accepted_as_a_whole_from_one_of_its_lines(
    panel: MatchesPanel, month: Practice
) -> None:
    group = group_of(panel)
    suggested = {row["entry_id"]: row["suggestion"] for row in group}
    assert len(set(suggested.values())) == len(suggested) == 3
    why = "payments fit as many requests equally: assigned by date, nothing tells them apart"
    step = asks(panel, "group", group[1]["entry_id"], reason="as agreed")
    assert step.title == "Accept 3 lines?"
    assert [fact.lines[0].text for fact in step.facts if fact.name == "One group"] == [f"3 {why}"]
    for item, reference in zip(step.items, suggested.values(), strict=True):
        assert f"for {reference}. Reason: as agreed." in item
    frame = confirms(panel, step)
    journaled = month.journaled("match.accept")
    assert [entry.subject for entry in journaled] == list(suggested)
    assert {entry.body["reason"] for entry in journaled} == {"as agreed"}
    assert said(frame).startswith("Accepted 3 lines")
    assert group_of(panel) == []
    assert "group" not in [button.name for button in panel.frame().bar]


def test_a_group_is_accepted_only_where_one_is_chosen(panel: MatchesPanel, month: Practice) -> None:
    alone = rows_of(panel)[0].key
    for chosen in ((alone,), (alone, group_of(panel)[0]["entry_id"])):
        frame = panel.press("group", chosen=chosen)
        assert frame.step is None
        assert "not one group of equal payments" in said(frame)
    assert month.journaled("match.") == []


def test_a_group_with_one_line_decided_meanwhile_is_not_accepted(
    panel: MatchesPanel, month: Practice
) -> None:
    first, second, third = group_of(panel)
    step = asks(panel, "group", first["entry_id"])
    month.workspace.matches.accept(second["entry_id"], third["suggestion"])
    frame = confirms(panel, step)
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert "already decided" in said(frame)
    assert [entry.subject for entry in month.journaled("match.accept")] == [second["entry_id"]]


def test_closing_without_a_reason_is_an_error_at_its_field(
    panel: MatchesPanel, month: Practice
) -> None:
    key = rows_of(panel)[0].key
    frame = panel.press("ignore", chosen=key)
    reason = next(field for field in frame.fields if field.name == "reason")
    assert reason.error.startswith("is missing")
    confirms(panel, asks(panel, "ignore", key, reason="payroll"))
    assert month.journaled("match.ignore")[0].body["reason"] == "payroll"


def test_candidates_are_shown_side_by_side_and_one_is_rejected(
    panel: MatchesPanel, month: Practice
) -> None:
    records = panel.rows.arrow.to_pylist()
    several = max(records, key=lambda row: row["candidates"] or 0)
    frame = panel.press("compare", chosen=several["entry_id"])
    assert len(rows_of(panel)) == min(several["candidates"], 12)
    assert several["remittance"] in str(literal(frame))
    scores = [row["score"] for row in panel.rows.arrow.to_pylist()]
    assert scores == sorted(scores, reverse=True)
    chosen = rows_of(panel)[0].key
    confirms(panel, asks(panel, "reject", chosen))
    (entry,) = month.journaled("match.reject")
    assert (entry.subject, entry.body["expectation_ids"]) == (several["entry_id"], [chosen])


def test_undo_reverts_only_the_decision_shown(panel: MatchesPanel, month: Practice) -> None:
    key = rows_of(panel)[0].key
    verbs = month.workspace.matches
    first = verbs.assign(key, "bo.ok")
    confirms(panel, asks(panel, "ignore", key, reason="payroll"))
    panel.press("decisions")
    assert [row.key for row in rows_of(panel)][-1] == str(first.seq)
    panel.press("undo", chosen=str(first.seq))
    assert panel.wait()
    assert "a newer decision on it exists" in said(panel.frame())
    newest = rows_of(panel)[0].key
    other = month.workspace.panels.matches()
    other.press("decisions")
    mine, theirs = asks(panel, "undo", newest), asks(other, "undo", newest)
    confirms(panel, mine)
    frame = confirms(other, theirs)
    assert "already undone" in said(frame)
    assert [entry.body["undoes"] for entry in month.journaled("match.undo")] == [int(newest)]
    assert [one["verb"] for one in verbs.list().arrow.to_pylist()] == ["assign"]


def test_cancel_before_writing_writes_nothing(
    panel: MatchesPanel, month: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    checking, go_on = threading.Event(), threading.Event()
    verbs = type(month.workspace.matches)
    accept = verbs.accept_many

    def slow(self: Any, *args: Any, **named: Any) -> Any:
        checking.set()
        assert go_on.wait(30)
        return accept(self, *args, **named)

    step = asks(panel, "accept", rows_of(panel)[0].key)
    monkeypatch.setattr(verbs, "accept_many", slow)
    panel.press("confirm", step=step.key)
    assert checking.wait(30)
    panel.press("cancel")
    go_on.set()
    assert panel.wait()
    assert said(panel.frame()) == "Cancelled\nNothing was written."
    assert month.journaled("match.") == []
    assert panel.frame().step == step


def test_a_search_covers_all_pages(month: Practice) -> None:
    panel = month.workspace.panels.matches(size=5)
    last = panel.rows.arrow.to_pylist()[-1]
    panel.press("search", search=last["entry_id"])
    assert [row.key for row in rows_of(panel)] == [last["entry_id"]]
    assert panel.csv().count("\n") == len(panel.rows.arrow) + 1


def test_a_panel_of_an_earlier_instant_is_refused(month: Practice) -> None:
    with pytest.raises(InputError, match="cannot act"):
        month.workspace.at("2026-11-02T09:00Z").panels.matches()


def test_a_workspace_without_statements_says_so(practice: Practice) -> None:
    frame = practice.workspace.panels.matches().frame()
    assert frame.table is None
    assert frame.empty == "Unknown: no bank line is stored. Add statements first."


def test_nothing_is_expected_of_an_ended_request(panel: MatchesPanel, month: Practice) -> None:
    line = next(
        row
        for row in panel.rows.arrow.to_pylist()
        if row["suggestion"] == "PAY-2026-005191" and row["direction"] == "CRDT"
    )
    panel.press("compare", chosen=line["entry_id"])
    (ended,) = (words(row) for row in rows_of(panel) if "PAY-2026-005191" in words(row))
    assert "no longer expected: CANCELLED" in ended
    assert "still expected" not in ended


def test_the_comparison_shows_the_expected_amount_of_an_awaited_payout(
    panel: MatchesPanel,
) -> None:
    line = group_of(panel)[0]
    panel.press("compare", chosen=line["entry_id"])
    for row in rows_of(panel):
        assert "SUCCEEDED" in words(row)
        assert "still expected EUR 4,570.64" in words(row)
        assert "no longer expected" not in words(row)
