"""The close panel without a browser."""

from __future__ import annotations

import base64
import re
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from panel_month import asks, confirms, rows_of, words
from panel_practice import Practice
from panel_rules import propose_transfers

from treasury.core.errors import InputError
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
        assert item.words.label.casefold() in words(row).casefold()
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


def narrowed(panel: ClosePanel, **typed: str) -> list[dict[str, Any]]:
    """Return the rows that the panel shows for what is typed into its search and filters."""
    frame = panel.press("search", **typed)
    assert frame.message is None, frame.message
    found = panel.rows.arrow.to_pylist()
    keys = [] if frame.table is None else [row.key for row in frame.table.rows]
    return [row for row in found if row["item_id"] in keys]


@pytest.mark.acceptance
def test_each_filter_shows_the_rows_that_it_names(month_end: Workspace) -> None:
    panel = month_end.panels.close("2026-10", size=100)
    items = list(month_end.open_items("2026-10"))
    fields = {field.name: dict(field.choices) for field in panel.frame().filters}
    assert list(fields) == [
        f"filter_{name}"
        for name in (
            "kind", "state", "turn", "owner", "account", "currency", "blocking", "amount", "age",
            "day",
        )
    ]  # fmt: skip
    yours = sum(item.turn == "us" for item in items)
    assert fields["filter_turn"]["us"] == f"Yours ({yours})"
    assert fields["filter_kind"]["needs_decision"].startswith("Suggested (")
    for name, value, of in (
        ("kind", "no_reference", lambda item: item.kind == "no_reference"),
        ("state", "LATE", lambda item: item.state == "LATE"),
        ("turn", "provider", lambda item: item.turn == "provider"),
        ("currency", "USDC", lambda item: item.currency == "USDC"),
        ("amount", ">4000", lambda item: item.amount is not None and abs(item.amount) > 4000),
        ("amount", "1.000,50..4 000", lambda i: i.amount and 1000.5 <= abs(i.amount) <= 4000),
        ("age", ">10", lambda item: item.age > 10),
        ("day", "21 Oct", lambda item: date(2026, 10, 21) in (item.since, item.due)),
    ):
        wanted = [item.item_id for item in items if of(item)]
        assert wanted, (name, value)
        shown = narrowed(panel, **{f"filter_{name}": value})
        assert [row["item_id"] for row in shown] == wanted, (name, value)
    account = next(iter(fields["filter_account"]))
    assert {row["account"] for row in narrowed(panel, filter_account=account)} == {account}
    owner = next(iter(fields["filter_owner"]))
    assert {row["owner_words"] for row in narrowed(panel, filter_owner=owner)} == {owner}
    both = narrowed(panel, filter_turn="us", filter_currency="USDC")
    assert {(row["turn"], row["currency"]) for row in both} == {("us", "USDC")}
    assert len(panel.press("clear").table.rows) == len(items)  # type: ignore[union-attr]


def test_conditions_are_typed_between_the_words_of_a_search(month_end: Workspace) -> None:
    panel = month_end.panels.close("2026-10", size=100)
    loose = narrowed(panel, search="UNREFERENCED")
    assert {row["kind"] for row in loose} == {"no_reference"}
    large = narrowed(panel, search="unreferenced >2,000.00")
    assert large == [row for row in loose if row["amount"] > 2000]
    assert 0 < len(large) < len(loose)
    days = narrowed(panel, search="21 Oct")
    assert days
    assert all(date(2026, 10, 21) in (row["since"], row["due"]) for row in days)
    frame = panel.press("search", filter_amount=">1.234")
    assert frame.message is not None
    assert "has two meanings" in frame.message.lines[0].text
    assert next(f for f in frame.filters if f.name == "filter_amount").error
    assert narrowed(panel, search="no such words") == []


def test_the_arguments_in_the_cell_set_the_first_filter(month_end: Workspace) -> None:
    typed = month_end.panels.close("2026-10", search="unreferenced >2000", size=100).frame()
    assert typed.search is not None
    assert typed.search.value == "unreferenced >2000"
    named = month_end.panels.close(
        "2026-10", search={"kind": "Unreferenced", "amount": ">2000"}, size=100
    ).frame()
    assert typed.table is not None
    assert named.table is not None
    assert [row.key for row in typed.table.rows] == [row.key for row in named.table.rows]
    assert next(f for f in named.filters if f.name == "filter_kind").value == "no_reference"
    with pytest.raises(InputError, match="there is no filter 'kin'; is it kind"):
        month_end.panels.close("2026-10", search={"kin": "Unreferenced"})


@pytest.mark.acceptance
def test_the_checklist_is_that_of_the_close_and_opens_the_rows_it_counts(
    month_end: Workspace,
) -> None:
    panel = month_end.panels.close("2026-10", size=100)
    block, checks = panel.frame().checklist, month_end.checklist("2026-10")
    assert block is not None
    assert [(line.title, line.state, line.found) for line in block.lines] == [
        (step.title, step.state, step.found.partition(": treasury close")[0])
        for step in checks.steps
    ]
    opened = [button for line in block.lines for button in line.open]
    assert len(opened) == len(checks.blockers)
    for button, blocker in zip(opened, checks.blockers, strict=True):
        assert button.label.startswith(f"{blocker.label}: {blocker.items}")
    for button, blocker in zip(opened, checks.blockers, strict=True):
        panel.press(button.name)
        rows = list(panel.found_rows().values())
        assert len(rows) == blocker.items
        assert {row["kind_words"] for row in rows} == {blocker.label}
        assert {row["currency"] for row in rows} == {blocker.currency}
        assert all(row["blocking"] for row in rows)
    enabled = {button.name: button.enabled for button in block.buttons}
    steps = {"prepare": False, "sign": False, "withdraw": False, "reopen": False}
    assert enabled == steps | {"ledger": True, "books": True}


def test_looking_at_the_panel_writes_nothing(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "ines")
    head, pins = month_end.journal.head(), month_end.lake.pins()
    for _ in range(2):
        panel = month_end.panels.close("2026-10")
        panel.press("hello")
        assert panel.wait()
    assert (month_end.journal.head(), month_end.lake.pins()) == (head, pins)
    assert "You are ines, claimed" in [note.text for note in panel.frame().notes]


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
    assert f"action:{name}" in desk.status().listed("colleague").by_id


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
    assert panel.frame().fields[1].error == ""
    said("remark", " ", item.item_id)
    assert panel.frame().fields[1].error == "is missing; write one line"
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


@pytest.mark.acceptance
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


@pytest.mark.acceptance
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
    """Write a text into the cell of an item's row under a title of the sheet."""
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
