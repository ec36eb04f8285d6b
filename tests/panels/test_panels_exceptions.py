"""The exceptions panel without a browser."""

from __future__ import annotations

from pathlib import Path

from panel_month import asks, rows_of, words

from treasury.report.verdict import verdict
from treasury.workspace import Workspace


def test_the_rows_are_those_of_the_reconciliation_most_overdue_first(month_end: Workspace) -> None:
    panel = month_end.panels.exceptions(size=100)
    told = month_end.reconcile("2026-10").differences.to_pylist()
    shown = panel.rows.to_arrow().to_pylist()
    assert [row["item"] for row in shown[:5]] == [row["item"] for row in told[:5]]
    assert len(rows_of(panel)) == len(told)
    for row, difference in zip(rows_of(panel), shown, strict=True):
        assert difference["next_step"] in words(row)
        assert difference["state"] in words(row)


def test_amounts_are_ranked_within_their_currency_only(month_end: Workspace) -> None:
    panel = month_end.panels.exceptions()
    panel.press("amount")
    rows = panel.rows.to_arrow().to_pylist()
    pairs = [(row["currency"], -(row["amount"] or 0)) for row in rows if row["amount"] is not None]
    assert pairs == sorted(pairs)
    assert len({currency for currency, _ in pairs}) > 1


def test_what_needs_somebody_is_what_the_verdict_says(month_end: Workspace) -> None:
    panel = month_end.panels.exceptions()
    assert [one.label for one in panel.frame().views][-1] == "Needs you"
    panel.press("needs")
    assert panel.wait()
    needs = verdict(month_end.reconcile("2026-10"), month_end.settings.zone).needs
    rows = rows_of(panel)
    assert len(rows) == len(needs)
    for row, need in zip(rows, needs, strict=True):
        assert need.words.label in words(row)
        assert need.words.next_step in words(row)
    assert panel.frame().bar == ()
    assert [one.label for one in panel.frame().views][-1] == f"Needs you ({len(needs)})"
    panel.press("age")
    assert rows_of(panel)[0].key in {row["number"] for row in panel.rows.to_arrow().to_pylist()}
    assert panel.press("needs").title == "Exceptions"  # known by now: shown at once
    assert [row.key for row in rows_of(panel)] == [str(n) for n in range(len(needs))]


def test_a_trace_gives_the_text_for_the_provider_and_closes(month_end: Workspace) -> None:
    panel = month_end.panels.exceptions()
    row = panel.rows.to_arrow().to_pylist()[0]
    step = asks(panel, "trace", row["number"])
    trace = month_end.trace(row["request_id"])
    assert step.letter is not None
    assert "\n".join(step.letter.lines) + "\n" == trace.provider_text()
    assert len(step.facts) == len(trace.hops)
    assert len({fact.name for fact in step.facts}) == len(step.facts)
    assert panel.press("back").step is None


def test_a_press_without_a_choice_asks_for_one(month_end: Workspace) -> None:
    frame = month_end.panels.exceptions().press("trace")
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert "Nothing is chosen" in frame.message.lines[0].text


def test_a_search_goes_over_all_and_the_file_holds_all(month_end: Workspace) -> None:
    panel = month_end.panels.exceptions(size=3)
    last = panel.rows.to_arrow().to_pylist()[-1]
    panel.press("search", search=last["next_step"])
    assert last["number"] in [row.key for row in rows_of(panel)]
    assert panel.csv().count("\r\n") == len(panel.rows.to_arrow()) + 1


def test_nothing_stored_is_said(tmp_path: Path, month_end: Workspace) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    text = (month_end.folder / "treasury.toml").read_text("utf-8")
    (folder / "treasury.toml").write_text(text, "utf-8")
    frame = Workspace(folder).panels.exceptions().frame()
    assert frame.empty == "Nothing is known yet. Sync first."
