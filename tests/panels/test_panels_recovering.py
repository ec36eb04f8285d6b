"""Typed text is used for one decision; a panel shows its failure and can be tried again."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from panel_month import asks, confirms, rows_of
from panel_practice import Practice, said

from treasury.core.errors import StorageError
from treasury.panels.close_panel import ClosePanel
from treasury.panels.funding_panel import FundingPanel
from treasury.panels.matches_panel import MatchesPanel
from treasury.workspace import Workspace


def broken(what: str) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> Any:
        raise duckdb.CatalogException(what)

    return fail


@pytest.mark.acceptance
def test_the_fields_are_empty_after_each_decision(month: Practice) -> None:
    panel = month.workspace.panels.matches()
    before = panel.frame().form
    step = asks(panel, "accept", rows_of(panel)[0].key, reason="seen on the portal")
    # The form stays the same until the decision is confirmed.
    assert panel.frame().form == before
    assert confirms(panel, step).form == before + 1
    assert panel.press("decisions").form == before + 2
    step = asks(panel, "undo", rows_of(panel)[0].key)
    assert "seen on the portal" not in step.text
    confirms(panel, step)
    assert month.journaled("match.undo")[0].body["reason"] == ""


@pytest.mark.acceptance
def test_a_remark_leaves_no_reason_behind(month: Practice) -> None:
    panel = month.workspace.panels.funding(size=50)
    (row, *_) = [row for row in panel.rows.arrow.to_pylist() if row["state"] == "PAY"]
    before = panel.frame().form
    frame = panel.press("sent", chosen=row["request"], reason="by phone")
    assert frame.form == before + 1, said(frame)


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", ["close", "matches", "funding"])
def test_a_frame_that_fails_is_a_message_with_retry(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    panel: ClosePanel | MatchesPanel | FundingPanel = getattr(month_end.panels, kind)()
    sent: list[Any] = []
    monkeypatch.setattr(panel, "send", sent.append)
    with monkeypatch.context() as failing:
        failing.setattr(panel, "listing", broken("Table with name legs does not exist"))
        panel.tell(None)
        panel._show()
        frame = sent[-1]["frame"]
        assert frame["message"]["title"] == "This panel failed"
        assert [one["name"] for one in frame["tools"]] == ["retry"]
        with pytest.raises(duckdb.CatalogException):
            panel.press("retry")
        assert [one["name"] for one in sent[-1]["frame"]["tools"]] == ["retry"]
    shown = panel.press("retry")
    assert shown.table is not None
    assert shown.message is None
    assert "retry" not in [one.name for one in shown.tools]


def test_failed_work_leaves_a_panel_that_can_be_tried_again(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = month_end.panels.close()
    # A decision elsewhere makes the panel read its state again.
    panel._read_state = None
    with monkeypatch.context() as failing:
        failing.setattr(panel, "tables", broken("Table with name items does not exist"))
        failing.setattr("threading.excepthook", lambda _: None)
        panel.press("hello")
        assert panel.wait()
        frame = panel.frame()
        assert frame.progress is None
        assert "This panel failed" in said(frame)
        assert "retry" in [one.name for one in frame.tools]
    assert panel.press("retry").table is not None


@pytest.mark.acceptance
def test_a_failed_read_can_be_retried(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = month_end.panels.funding()
    panel._commit = None

    def unread(_: object) -> Any:
        raise StorageError("the lake cannot be read", do="look at the disk")

    with monkeypatch.context() as failing:
        failing.setattr(panel, "read", unread)
        assert "the lake cannot be read" in said(panel.press("hello"))
    looks: list[Any] = []
    read = panel.read
    monkeypatch.setattr(panel, "read", lambda looked_at: looks.append(1) or read(looked_at))
    assert panel.press("hello").table is not None
    assert looks


@pytest.mark.acceptance
def test_an_amount_is_found_as_it_is_shown(month_end: Workspace) -> None:
    panel = month_end.panels.close(size=100)
    for typed in ("14,000.00", "14000", "EUR 14,000.00", "14000.00"):
        frame = panel.press("search", search=typed)
        assert frame.table is not None, typed
        assert "EUR 14,000.00" in str(frame.table.rows)
    funding = month_end.panels.funding(size=3)
    frame = funding.press("search", search="25,000.00")
    assert frame.table is not None
    assert "EUR 25,000.00" in frame.table.rows[0].label


@pytest.mark.acceptance
def test_a_credit_without_a_reference_is_placed_in_the_panel(month: Practice) -> None:
    panel = month.workspace.panels.matches(size=100)
    lines = month.workspace.matches.open().arrow.to_pylist()
    loose = next(
        row for row in lines if row["outcome"] == "unreferenced" and row["direction"] == "CRDT"
    )
    frame = panel.press("accept", chosen=loose["entry_id"])
    (field,) = [field for field in frame.fields if field.name == "belongs_to"]
    assert "give the reference of the expectation" in field.error
    (code,) = month.workspace.sql(
        "SELECT v.reference_code AS code FROM virtual_bank_accounts AS v"
        " JOIN statement_entries AS e ON e.entry_id = ? AND e.currency = v.currency LIMIT 1",
        [loose["entry_id"]],
    ).arrow.to_pylist()
    step = asks(panel, "accept", loose["entry_id"], belongs_to=code["code"], reason="rent")
    assert code["code"] in step.text
    confirms(panel, step)
    assert loose["entry_id"] not in [row.key for row in rows_of(panel)]


@pytest.mark.acceptance
def test_a_line_is_divided_in_the_panel_by_reference_and_amount(month: Practice) -> None:
    panel = month.workspace.panels.matches(size=100)
    lines = month.workspace.matches.open().arrow.to_pylist()
    loose = next(
        row for row in lines if row["outcome"] == "unreferenced" and row["direction"] == "CRDT"
    )
    first, second = month.workspace.sql(
        "SELECT v.reference_code AS code FROM virtual_bank_accounts AS v"
        " JOIN statement_entries AS e ON e.entry_id = ? AND e.currency = v.currency LIMIT 2",
        [loose["entry_id"]],
    ).arrow.to_pylist()
    amounts = (loose["amount"] - 1, 1)
    typed = ", ".join(
        f"{one['code']}={amount}" for one, amount in zip((first, second), amounts, strict=True)
    )
    panel.press("accept", chosen=loose["entry_id"], belongs_to=f"{typed} {first['code']}")
    panel.wait()
    assert panel.frame().step is None
    step = asks(panel, "accept", loose["entry_id"], belongs_to=typed, reason="by telephone")
    assert f"{second['code']} with {loose['currency']} 1.00" in step.text
    confirms(panel, step)
    (entry,) = month.journaled("match.accept")
    assert sorted(map(Decimal, entry.body["shares"].values())) == sorted(map(Decimal, amounts))
