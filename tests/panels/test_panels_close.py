"""The exceptions panel without a browser."""

from __future__ import annotations

import base64
import re
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from panel_month import asks, confirms, rows_of, words
from panel_practice import Practice
from panel_rules import propose_transfers

from treasury.core.settings import FILE_NAME
from treasury.core.wording import state_words
from treasury.month.items.sheet.sheet_rows import ACTS, SHOWN_ACTS
from treasury.panels import ClosePanel
from treasury.panels.frames.blocks import Message
from treasury.workspace import Workspace


def test_the_rows_are_the_months_open_items_in_their_order(month_end: Workspace) -> None:
    panel = month_end.panels.close("2026-10", size=100)
    items = month_end.open_items("2026-10")
    assert [row.key for row in rows_of(panel)] == [item.item_id for item in items]
    for row, item in zip(rows_of(panel), items, strict=True):
        assert item.next_step in words(row)
        assert state_words(item.state) in words(row)
        assert item.words.label in words(row)
    blocking = len(items.blocking)
    assert f"Open in October 2026; {blocking} of them block its close" in [
        line.text for line in panel.frame().notes
    ]


def test_amounts_are_ranked_within_their_currency_only(month_end: Workspace) -> None:
    panel = month_end.panels.close()
    panel.press("amount")
    rows = panel.rows.arrow.to_pylist()
    pairs = [(row["currency"], -(row["amount"] or 0)) for row in rows if row["amount"] is not None]
    assert pairs == sorted(pairs)
    assert len({currency for currency, _ in pairs}) > 1


def test_each_side_has_its_rows_and_the_counts_add_up(month_end: Workspace) -> None:
    panel = month_end.panels.close()
    items = month_end.open_items("2026-10")
    labels = [one.label for one in panel.frame().views]
    assert labels[0] == f"All ({len(items)})"
    assert labels[1] == f"Yours ({items.turns['us']})"
    for turn, number in items.turns.items():
        panel.press(turn)
        shown = panel.rows.arrow["item_id"].to_pylist()
        assert shown == [item.item_id for item in items.select(turn=turn)]
        assert len(shown) == number
        (view,) = [one for one in panel.frame().views if one.pressed and one.name == turn]
        assert view.label.endswith(f"({number})")
    panel.press("all")
    assert len(panel.rows.arrow) == len(items) == sum(items.turns.values())


@pytest.mark.acceptance
def test_an_action_that_waits_for_a_colleague_is_in_the_list_of_its_month(month: Practice) -> None:
    settings = month.workspace.folder / FILE_NAME
    text = settings.read_text("utf-8")
    settings.write_text(re.sub(r"(?m)^now = .*$", "now = 2026-10-31T09:00:00+01:00", text), "utf-8")
    month.workspace = Workspace(month.workspace.folder)
    (name,) = propose_transfers(month, "1.00")
    month.workspace.close_clients()
    settings.write_text(text, "utf-8")
    desk = Workspace(month.workspace.folder)
    item = desk.open_items("2026-10").by_id[f"action:{name}"]
    assert (item.kind, item.turn, item.blocks) == ("approval_waits", "colleague", "never")
    assert (item.amount, item.currency, item.month) == (Decimal("1.00"), "USDC", "2026-10")
    assert f"action:{name}" in [row.key for row in rows_of(desk.panels.close(size=100))]
    assert "Action waits for approval" in desk.status("2026-10")


@pytest.mark.acceptance
def test_a_trace_gives_the_text_for_the_provider_and_closes(month_end: Workspace) -> None:
    panel = month_end.panels.close()
    row = panel.rows.arrow.to_pylist()[0]
    step = asks(panel, "trace", row["item_id"])
    trace = month_end.trace(row["request_id"])
    assert step.letter is not None
    assert "\n".join(step.letter.lines) + "\n" == trace.provider_text()
    assert len(step.facts) == len(trace.hops)
    assert len({fact.name for fact in step.facts}) == len(step.facts)
    assert panel.press("back").step is None


def test_clicking_without_a_selection_asks_for_one(month_end: Workspace) -> None:
    frame = month_end.panels.close().press("trace")
    assert frame.message is not None
    assert frame.message.role == "alert"
    assert "No row is chosen" in frame.message.lines[0].text


def test_a_search_covers_all_rows_and_the_file_has_all(month_end: Workspace) -> None:
    panel = month_end.panels.close(size=3)
    last = panel.rows.arrow.to_pylist()[-1]
    panel.press("search", search=last["next_step"])
    assert last["item_id"] in [row.key for row in rows_of(panel)]
    assert panel.csv().count("\n") == len(panel.rows.arrow) + 1


def test_an_empty_workspace_is_reported(tmp_path: Path, month_end: Workspace) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    text = (month_end.folder / "treasury.toml").read_text("utf-8")
    (folder / "treasury.toml").write_text(text, "utf-8")
    frame = Workspace(folder).panels.close().frame()
    assert frame.empty == "No data yet. Sync first."


@pytest.mark.acceptance
def test_open_items_are_decided_in_a_sheet_downloaded_and_uploaded_in_the_panel(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    folder = tmp_path / "desk"
    shutil.copytree(month_end.folder, folder, ignore=shutil.ignore_patterns("bank", "close"))
    desk = Workspace(folder)
    panel = desk.panels.close("2026-10", size=100)
    sheet = tmp_path / "sheet.xlsx"
    sheet.write_bytes(downloaded(panel, "sheet"))
    item = desk.open_items("2026-10").select(kind="no_reference").items[0]
    for title, text in (("Decision", ACTS["ignore"]), ("Reason", "ours"), ("Proposed by", "cy")):
        type_in(sheet, item.item_id, title, text)

    step = asks(panel, "decide", file="sheet.xlsx", content=coded(sheet))
    assert step.title == "Decide 1 item from sheet.xlsx?"
    assert [line.text for line in step.facts[0].lines] == [
        f"{SHOWN_ACTS['ignore']}: EUR 3,475.50 (1)"
    ]
    assert "Proposed by cy" in step.items[0]
    assert desk.journal.head().seq == 0
    frame = confirms(panel, step)
    assert frame.message is not None
    assert frame.message.title == "Decided 1 item"
    assert item.item_id not in [row.key for row in rows_of(panel)]
    (entry,) = desk.journal.entries("match.")
    assert (entry.actor.name, entry.body["sheet"]["proposed_by"]) == ("anna", "cy")

    panel.press("decide", file="sheet.xlsx", content=coded(sheet))
    assert panel.wait()
    message = panel.frame().message
    assert message is not None
    assert message.title == "Nothing to decide"
    assert "1 item already in force" in [line.text for line in message.lines]


@pytest.mark.acceptance
def test_a_remark_and_its_answer_are_made_in_the_panel(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "desk"
    shutil.copytree(month_end.folder, folder, ignore=shutil.ignore_patterns("bank", "close"))
    desk = Workspace(folder)
    panel = desk.panels.close("2026-10", size=100)
    item, other, *_ = desk.open_items("2026-10").select(kind="no_reference").items

    def said(name: str, text: str, *chosen: str) -> Message:
        panel.press(name, chosen=chosen, remark=text)
        assert panel.wait()
        message = panel.frame().message
        assert message is not None
        return message

    monkeypatch.setenv("TREASURY_USER", "ines")
    assert "There is no remark" in said("answer", "hello", item.item_id).lines[0].text
    assert panel.frame().fields[0].error == ""
    said("remark", " ", item.item_id)
    assert panel.frame().fields[0].error == "is missing; write one line"
    said("remark", "x" * 501, item.item_id)
    assert "Several rows" in said("remark", "a", item.item_id, other.item_id).lines[0].text
    assert desk.journal.head().seq == 0
    hostile = '<img src=x onerror="alert(1)">'
    assert said("remark", hostile, item.item_id).title == "Remarked, by ines"
    monkeypatch.setenv("TREASURY_USER", "jonas")
    assert said("answer", "I asked them", item.item_id).title == "Answered ines, by jonas"
    (row,) = (row for row in rows_of(panel) if row.key == item.item_id)
    assert f"ines, 2 Nov: {hostile} · jonas to ines, 2 Nov: I asked them" in words(row)
    answer, question = desk.items.remarks().arrow.to_pylist()
    assert (answer["answers"], question["answered_by"]) == (question["seq"], "jonas")
    desk.journal.verify()


def test_a_sheet_that_changed_after_its_preview_is_not_journaled(
    month_end: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "desk"
    shutil.copytree(month_end.folder, folder, ignore=shutil.ignore_patterns("bank", "close"))
    desk = Workspace(folder)
    panel = desk.panels.close("2026-10", size=100)
    item = desk.open_items("2026-10").select(kind="no_reference").items[0]
    sheet = desk.exceptions_sheet(tmp_path / "sheet.xlsx", "2026-10")
    type_in(sheet, item.item_id, "Decision", ACTS["ignore"])
    type_in(sheet, item.item_id, "Reason", "ours")
    step = asks(panel, "decide", file="sheet.xlsx", content=coded(sheet))
    assert item.entry_id is not None
    desk.matches.assign(item.entry_id, "bert")
    message = confirms(panel, step).message
    assert message is not None
    assert (message.title, message.role) == ("Not decided", "alert")
    assert desk.journal.head().seq == 1
    assert panel.frame().step is None


def test_a_file_that_is_not_a_sheet_and_a_too_large_one_are_refused(
    month_end: Workspace,
) -> None:
    panel = month_end.panels.close("2026-10")
    for typed, why in (
        (
            {"file": "a.xlsx", "content": base64.b64encode(b"x").decode()},
            "a.xlsx is not a workbook",
        ),
        ({"file": "a.xlsx", "content": "&"}, "a.xlsx arrived incomplete"),
        ({"file": "a.xlsx"}, "a.xlsx is empty, or too large for a panel"),
    ):
        panel.press("decide", **typed)
        assert panel.wait()
        message = panel.frame().message
        assert message is not None
        assert why in message.lines[-2].text
        assert message.role == "alert"


def coded(sheet: Path) -> str:
    return base64.b64encode(sheet.read_bytes()).decode()


def type_in(sheet: Path, item_id: str, title: str, text: str) -> None:
    book = openpyxl.load_workbook(sheet)
    page = book["Open items"]
    at = {cell.value: cell.column for cell in page[1]}
    (row,) = (
        row for row in range(2, page.max_row + 1) if page.cell(row, at["Item"]).value == item_id
    )
    page.cell(row, at[title]).value = text
    book.save(sheet)


def downloaded(panel: ClosePanel, name: str) -> bytes:
    """Return the file that a button downloads, assembled as the page does it."""
    parts: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panel, "send", lambda content, **_: take(content, parts))
        panel.press(name)
        while parts[-1]:
            panel.press("part", part=str(len(parts)))
    return base64.b64decode("".join(parts))


def take(content: dict[str, Any], parts: list[str]) -> None:
    if "file" in content:
        assert content["file"]["base64"]
        parts.append(content["file"]["text"])
        if content["file"]["last"]:
            parts.append("")


@pytest.mark.acceptance
def test_a_remark_and_the_owner_are_shown_in_the_row_of_the_item(month: Practice) -> None:
    month.workspace.items.remark("PAY-2026-005001", "asked the provider, ticket 77")
    (row,) = [
        row
        for row in rows_of(month.workspace.panels.close(size=100))
        if "PAY-2026-005001" in row.label
    ]
    assert "asked the provider, ticket 77" in str(words(row))
    assert "Provider" in words(row)
