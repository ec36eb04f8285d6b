"""Open items decided in a workbook: its content, the decisions read from it, and refusals."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest
from decision_sheets import choices_of, columns, desk_in, fill_in, rows_by_item
from openpyxl.worksheet.worksheet import Worksheet

from treasury.core.errors import ActionRefused, InputError, StorageError
from treasury.core.settings import FILE_NAME
from treasury.core.tables.workbook_input import read_workbook
from treasury.month.items import OpenItem, SheetPlan
from treasury.month.items.sheet.sheet_rows import ACTS
from treasury.workspace import Workspace

pytestmark = pytest.mark.long_file

MONTH = "2026-10"
CLOSE = ACTS["ignore"]
Typed = Mapping[str, Any]


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("TREASURY_USER", "anna")
    return desk_in(tmp_path / "desk", month_end)


@pytest.fixture(scope="module")
def written(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sheet of a desk without decisions."""
    folder = tmp_path_factory.mktemp("written")
    return desk_in(folder / "desk", month_end).exceptions_sheet(folder / "october.xlsx", MONTH)


@pytest.fixture
def sheet(written: Path, tmp_path: Path) -> Path:
    return shutil.copy(written, tmp_path / "october.xlsx")


def of_kind(desk: Workspace, kind: str, place: int = 0) -> OpenItem:
    return desk.open_items(MONTH).select(kind=kind).items[place]


def everything(desk: Workspace, sheet: Path) -> dict[str, dict[str, Any]]:
    """Return six different decisions, each for a separate item, proposed by carla."""
    choices = choices_of(sheet)
    suggested = of_kind(desk, "needs_decision")
    rejected = of_kind(desk, "needs_decision", 1)
    handed_on = of_kind(desk, "contradicted")
    filled: dict[str, dict[str, Any]] = {
        suggested.item_id: {"Decision": choices[suggested.item_id][0]},
        rejected.item_id: {
            "Decision": next(c for c in choices[rejected.item_id] if c.startswith("Reject: "))
        },
        of_kind(desk, "no_reference").item_id: {"Decision": CLOSE, "Reason": "the bank erred"},
        handed_on.item_id: {"Decision": ACTS["assign"], "Owner": "bert"},
        of_kind(desk, "overdue").item_id: {
            "Decision": ACTS["marked_sent"], "Reason": "sent by hand"
        },
        of_kind(desk, "silent").item_id: {
            "Decision": ACTS["carry"], "Reason": "asked", "Owner": "bert",
            "Clear by": "20/11/2026",
        },
    }  # fmt: skip
    return {name: {**typed, "Proposed by": "carla"} for name, typed in filled.items()}


def outcomes(plan: SheetPlan) -> dict[str, str]:
    return {verdict.item_id: verdict.outcome for verdict in plan.verdicts}


@pytest.mark.acceptance
def test_the_workbook_explains_itself_and_has_a_row_for_each_open_item(
    desk: Workspace, sheet: Path
) -> None:
    book = openpyxl.load_workbook(sheet)
    assert book.sheetnames == ["How this works", "Open items", "Choices"]
    guide = [row[0] for row in book["How this works"].iter_rows(values_only=True)]
    assert any("treasury decide" in str(text) for text in guide)
    page = book["Open items"]
    items = desk.open_items(MONTH)
    places = columns(page)
    assert list(rows_by_item(page)) == [item.item_id for item in items]
    for row, item in enumerate(items, start=2):
        shown = page.cell(row, places["Amount"]).value
        assert (None if shown is None else Decimal(str(shown))) == item.amount
        assert page.cell(row, places["Next step"]).value == item.next_step


@pytest.mark.acceptance
def test_facts_are_locked_without_a_password_and_five_columns_are_not(sheet: Path) -> None:
    page = openpyxl.load_workbook(sheet)["Open items"]
    assert page.protection.sheet
    assert not page.protection.password
    open_titles = {
        title for title, at in columns(page).items() if not page.cell(2, at).protection.locked
    }
    assert open_titles == {"Decision", "Reason", "Owner", "Clear by", "Proposed by"}


def test_the_drop_down_list_of_a_row_is_found_by_its_item(sheet: Path) -> None:
    page = openpyxl.load_workbook(sheet)["Open items"]
    (validation,) = page.data_validations.dataValidation
    letter = openpyxl.utils.get_column_letter(columns(page)["Item"])
    assert f"MATCH(${letter}2,Choices!$A:$A,0)" in validation.formula1
    assert validation.type == "list"
    first = openpyxl.utils.get_column_letter(columns(page)["Decision"])
    assert str(validation.sqref) == f"{first}2:{first}{page.max_row}"


@pytest.mark.acceptance
def test_a_preview_writes_nothing_and_its_decisions_are_then_journaled_once(
    desk: Workspace, sheet: Path
) -> None:
    fill_in(sheet, everything(desk, sheet))
    head = desk.journal.head()
    preview = desk.decide(sheet, dry_run=True)
    assert desk.journal.head() == head
    assert set(outcomes(preview).values()) == {"to be journaled"}, preview.verdicts
    totals = {(row["decision"], row["currency"]): row for row in preview.totals.arrow.to_pylist()}
    silent = of_kind(desk, "silent")
    assert totals[ACTS["carry"], silent.currency]["amount"] == silent.amount
    assert sum(row["items"] for row in totals.values()) == len(preview.planned) == 6
    assert preview.effects is not None
    assert not preview.effects.unknown

    done = desk.decide(sheet, agreed=preview)
    assert done.planned == preview.planned
    assert desk.journal.head().seq == head.seq + 6
    entries = list(desk.journal.entries(("match.", "request.", "item.")))
    assert {entry.actor.name for entry in entries} == {"anna"}
    assert {entry.body["sheet"]["proposed_by"] for entry in entries} == {"carla"}
    stand = {row["verb"]: row for row in desk.matches.list().arrow.to_pylist()}
    assert set(stand) == {"accept", "reject", "ignore", "assign"}
    assert {row["proposed_by"] for row in stand.values()} == {"carla"}
    assert stand["assign"]["to"] == "bert"
    (remark,) = desk.funding.list().arrow.to_pylist()
    assert (remark["mark"], remark["proposed_by"]) == ("marked_sent", "carla")
    (carried,) = desk.items.list(MONTH).arrow.to_pylist()
    assert (carried["owner"], carried["expected_by"]) == ("bert", date(2026, 11, 20))
    assert desk.journal.verify().seq == head.seq + 6

    head = desk.journal.head()
    again = desk.decide(sheet)
    assert set(outcomes(again).values()) == {"stands already"}
    assert desk.journal.head() == head


@pytest.mark.acceptance
def test_a_sheet_and_the_verbs_make_the_same_decisions(
    desk: Workspace, sheet: Path, month_end: Workspace, tmp_path: Path
) -> None:
    by_hand = desk_in(tmp_path / "by_hand", month_end)
    item = of_kind(desk, "needs_decision")
    accept = choices_of(sheet)[item.item_id][0]
    fill_in(sheet, {item.item_id: {"Decision": accept}})
    desk.decide(sheet)
    assert item.entry_id is not None
    by_hand.matches.accept(item.entry_id, accept.removeprefix("Accept: "))
    ours, theirs = (
        [(e.kind, e.subject, {**e.body, "sheet": None}) for e in one.journal.entries("match.")]
        for one in (desk, by_hand)
    )
    assert [(kind, name, {**body, "sheet": None}) for kind, name, body in theirs] == ours


@pytest.mark.acceptance
def test_order_filters_formats_and_additional_columns_have_no_effect(
    desk: Workspace, sheet: Path
) -> None:
    fill_in(sheet, everything(desk, sheet))
    before = {v.item_id: v.decision for v in desk.decide(sheet, dry_run=True).planned}
    book = openpyxl.load_workbook(sheet)
    page = book["Open items"]
    rows = [[cell.value for cell in row] for row in page.iter_rows()]
    book.remove(page)
    page = book.create_sheet("My work")
    page.append(["a note on top"])
    for row in [rows[0], *reversed(rows[1:])]:
        page.append(["=1+1" if row is not rows[0] else "Note", *row[::-1]])
    for row in range(3, page.max_row + 1):
        page.row_dimensions[row].hidden = row % 2 == 0
        for cell in page[row]:
            if isinstance(cell.value, int | float):
                cell.number_format = "0.0E+00"
    book.save(sheet)
    plan = desk.decide(sheet)
    assert {v.item_id: v.decision for v in plan.planned} == before
    assert not plan.refused


REFUSED: Sequence[tuple[Typed, str]] = (
    ({"Decision": "Accept: PAY-0000-000000"}, "there is no choice 'Accept: PAY-0000-000000'"),
    ({"Decision": CLOSE}, "ignoring a line needs a reason"),
    ({"Decision": CLOSE, "Reason": "=A1"}, "holds a formula"),
    ({"Decision": CLOSE, "Reason": "because " * 200}, "Reason is longer than 1,000 characters"),
    ({"Decision": ACTS["assign"]}, "no person is named"),
    ({"Decision": ACTS["carry"], "Reason": "x", "Owner": "bert"}, "Clear by is empty"),
    (
        {"Decision": ACTS["carry"], "Reason": "x", "Owner": "bert", "Clear by": "31/11/2026"},
        "Clear by: '31/11/2026' is not a day",
    ),
    (
        {"Decision": ACTS["carry"], "Reason": "x", "Owner": "b", "Clear by": "2026-10-01"},
        "2026-10-01 is in the past",
    ),
    ({"Decision": ACTS["accept_carry"]}, "there is no choice"),
    ({"Decision": CLOSE, "Reason": "x", "Amount": 1}, "are not those of its item"),
    ({"Decision": CLOSE, "Reason": "x", "Name": "Somebody"}, "are not those of its item"),
    ({"Decision": CLOSE, "Reason": "x", "Shown": "2026-10 " + "0" * 64}, "its facts have changed"),
    ({"Decision": CLOSE, "Reason": "x", "Shown": "2026-09 " + "0" * 64}, "it belongs to 2026-09"),
    ({"Decision": CLOSE, "Reason": "x", "Shown": "2026-10"}, "Shown is empty or was changed"),
    ({"Decision": CLOSE, "Reason": "x", "Item": "line:nothing"}, "this item is no longer open"),
    ({"Decision": CLOSE, "Reason": "x", "Item": None}, "Item or Shown is empty"),
)
"""The input of a row, and why it is refused."""


@pytest.mark.acceptance
def test_rows_that_cannot_be_taken_are_refused_with_their_reasons_and_the_others_are_taken(
    desk: Workspace, sheet: Path
) -> None:
    good = of_kind(desk, "no_reference")
    bad = desk.open_items(MONTH).select(kind="needs_decision").items[: len(REFUSED)]
    rows = rows_by_item(openpyxl.load_workbook(sheet)["Open items"])
    typed = {item.item_id: case for item, (case, _) in zip(bad, REFUSED, strict=True)}
    fill_in(sheet, typed | {good.item_id: {"Decision": CLOSE, "Reason": "ours"}})
    plan = desk.decide(sheet)
    assert [verdict.item_id for verdict in plan.planned] == [good.item_id]
    whys = {verdict.row: verdict.why for verdict in plan.refused}
    for item, (case, why) in zip(bad, REFUSED, strict=True):
        assert why in whys[rows[item.item_id]], case
    assert [row["entry_id"] for row in desk.matches.list().arrow.to_pylist()] == [good.entry_id]


@pytest.mark.acceptance
def test_rows_of_another_companys_desk_are_refused_though_its_items_have_the_same_ids(
    desk: Workspace, sheet: Path, tmp_path: Path
) -> None:
    item = of_kind(desk, "no_reference")
    other = desk_in(tmp_path / "other", desk)
    settings = other.folder / FILE_NAME
    settings.write_text(
        re.sub(r"(?m)^company = .*$", 'company = "Another NV"', settings.read_text())
    )
    theirs = Workspace(other.folder).exceptions_sheet(tmp_path / "theirs.xlsx", MONTH)
    page = openpyxl.load_workbook(theirs)["Open items"]
    copied = page.cell(rows_by_item(page)[item.item_id], columns(page)["Shown"]).value
    typed = {"Decision": CLOSE, "Reason": "ours"}
    (refused,) = desk.decide(fill_in(theirs, {item.item_id: typed})).refused
    assert "have changed" in refused.why
    fill_in(sheet, {item.item_id: {**typed, "Shown": copied}})
    (refused,) = desk.decide(sheet).refused
    assert "have changed" in refused.why
    assert desk.journal.head().seq == 0


@pytest.mark.acceptance
def test_an_item_that_is_decided_in_two_rows_is_decided_in_neither(
    desk: Workspace, sheet: Path
) -> None:
    item = of_kind(desk, "no_reference")
    fill_in(sheet, {item.item_id: {"Decision": CLOSE, "Reason": "ours"}})
    book = openpyxl.load_workbook(sheet)
    page = book["Open items"]
    page.append([cell.value for cell in page[rows_by_item(page)[item.item_id]]])
    book.save(sheet)
    plan = desk.decide(sheet)
    assert [verdict.outcome for verdict in plan.verdicts] == ["refused", "refused"]
    assert "decided in 2 rows" in plan.refused[0].why
    assert desk.journal.head().seq == 0


@pytest.mark.acceptance
def test_a_row_with_facts_changed_since_it_was_written_is_refused(
    desk: Workspace, sheet: Path
) -> None:
    item = of_kind(desk, "needs_decision")
    assert item.entry_id is not None
    choices = choices_of(sheet)[item.item_id]
    rejected = next(c for c in choices if c.startswith("Reject: ")).removeprefix("Reject: ")
    fill_in(sheet, {item.item_id: {"Decision": CLOSE, "Reason": "ours"}})
    assert desk.decide(sheet, dry_run=True).planned
    desk.matches.reject(item.entry_id, rejected)
    (refused,) = desk.decide(sheet).refused
    assert "have changed" in refused.why


@pytest.mark.acceptance
def test_an_undone_decision_is_not_repeated_by_an_old_sheet(desk: Workspace, sheet: Path) -> None:
    item = of_kind(desk, "no_reference")
    assert item.entry_id is not None
    fill_in(sheet, {item.item_id: {"Decision": CLOSE, "Reason": "ours"}})
    desk.decide(sheet)
    desk.matches.undo(item.entry_id, reason="not so")
    plan = desk.decide(sheet)
    (refused,) = plan.refused
    assert "newer decisions exist" in refused.why
    assert not desk.matches.list().arrow.num_rows


@pytest.mark.acceptance
def test_a_change_between_preview_and_confirmation_refuses_the_whole_sheet(
    desk: Workspace, sheet: Path
) -> None:
    first, second = of_kind(desk, "no_reference"), of_kind(desk, "no_reference", 1)
    filled = {"Decision": CLOSE, "Reason": "ours"}
    fill_in(sheet, {first.item_id: filled, second.item_id: filled})
    preview = desk.decide(sheet, dry_run=True)
    assert second.entry_id is not None
    desk.matches.assign(second.entry_id, "bert")
    head = desk.journal.head()
    with pytest.raises(ActionRefused, match="has changed since the preview"):
        desk.decide(sheet, agreed=preview)
    assert desk.journal.head() == head


@pytest.mark.acceptance
@pytest.mark.parametrize("changed", [{"Owner": "carla"}, {"Clear by": date(2026, 11, 21)}])
def test_a_preview_names_the_owner_and_the_day_and_no_other_is_journaled(
    desk: Workspace, sheet: Path, changed: Typed
) -> None:
    item = of_kind(desk, "silent")
    carry = {
        "Decision": ACTS["carry"], "Reason": "asked", "Owner": "bert",
        "Clear by": date(2026, 11, 20),
    }  # fmt: skip
    preview = desk.decide(fill_in(sheet, {item.item_id: carry}), dry_run=True)
    (planned,) = preview.planned
    assert ". Owner: bert, clear by 20 Nov 2026. Reason: asked" in planned.sentence
    assert preview.arrow["owner"].to_pylist() == ["bert"]
    fill_in(sheet, {item.item_id: changed})
    head = desk.journal.head()
    with pytest.raises(ActionRefused, match="has changed since the preview"):
        desk.decide(sheet, agreed=preview)
    assert desk.journal.head() == head


@pytest.mark.acceptance
def test_the_proposer_of_a_carried_item_cannot_accept_it_in_a_sheet(
    desk: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = of_kind(desk, "silent")
    desk.items.carry(item.item_id, owner="bert", by="2026-11-20", reason="asked", month=MONTH)
    sheet = desk.exceptions_sheet(tmp_path / "blocking.xlsx", desk.open_items(MONTH).blocking)
    fill_in(sheet, {item.item_id: {"Decision": ACTS["accept_carry"], "Proposed by": "bert"}})
    (refused,) = desk.decide(sheet).refused
    assert "anna proposed to carry" in refused.why
    monkeypatch.setenv("TREASURY_USER", "bert")
    (accepted,) = desk.decide(sheet).planned
    assert accepted.item_id == item.item_id
    assert desk.open_items(MONTH).by_id[item.item_id].accepted_by == "bert"


@pytest.mark.acceptance
def test_two_lines_for_one_request_are_taken_in_the_order_of_the_list(
    desk: Workspace, sheet: Path
) -> None:
    """Rows may be in any order: the line that the list shows first is accepted."""
    choices = choices_of(sheet)
    accepts: dict[str, list[str]] = {}
    for item in desk.open_items(MONTH).select(kind="needs_decision"):
        for choice in choices[item.item_id]:
            if choice.startswith("Accept: PAY-"):
                accepts.setdefault(choice, []).append(item.item_id)
    choice, names = next((c, names) for c, names in accepts.items() if len(names) > 1)
    fill_in(sheet, {name: {"Decision": choice} for name in names[:2]})
    plan = desk.decide(sheet, dry_run=True)
    assert outcomes(plan) == {names[0]: "to be journaled", names[1]: "refused"}
    book = openpyxl.load_workbook(sheet)
    page = book["Open items"]
    rows = [[cell.value for cell in row] for row in page.iter_rows(min_row=2)]
    page.delete_rows(2, page.max_row)
    for row in reversed(rows):
        page.append(row)
    book.save(sheet)
    assert outcomes(desk.decide(sheet, dry_run=True)) == outcomes(plan)


@pytest.mark.acceptance
def test_outside_text_is_text_in_the_sheet_and_never_a_formula(
    desk: Workspace, tmp_path: Path
) -> None:
    item = of_kind(desk, "no_reference")
    table = desk.lake.catalogue["statement_entries"]
    stored = desk.snapshot().table("statement_entries").to_pylist()
    (row,) = (row for row in stored if row["entry_id"] == item.entry_id)
    row |= {"counterparty_name": '=HYPERLINK("http://h.test")', "remittance": "@SUM(1,1)"}
    with desk.lake.writer("test", desk.now()) as writer:
        writer.upsert(table, pa.Table.from_pylist([row], schema=table.row_schema))
    sheet = desk.exceptions_sheet(tmp_path / "hostile.xlsx", MONTH)
    cells = [
        cell
        for page in read_workbook(sheet).sheets
        for cells in page.rows.values()
        for cell in cells.values()
    ]
    assert '=HYPERLINK("http://h.test")' in [cell.text for cell in cells]
    assert "formula" not in {cell.kind for cell in cells}
    fill_in(sheet, {item.item_id: {"Decision": CLOSE, "Reason": "a stranger's"}})
    assert [verdict.item_id for verdict in desk.decide(sheet).planned] == [item.item_id]


@pytest.mark.acceptance
def test_a_sheet_without_its_columns_with_them_twice_or_with_merged_cells_is_refused(
    desk: Workspace, sheet: Path, tmp_path: Path
) -> None:
    item = of_kind(desk, "no_reference")
    fill_in(sheet, {item.item_id: {"Decision": CLOSE, "Reason": "ours"}})

    def refusal(change: Callable[[Worksheet], object]) -> str:
        book = openpyxl.load_workbook(sheet)
        change(book["Open items"])
        book.save(tmp_path / "changed.xlsx")
        with pytest.raises(InputError, match=r"changed\.xlsx|'Open items'") as refused:
            desk.decide(tmp_path / "changed.xlsx")
        return str(refused.value)

    at = columns(openpyxl.load_workbook(sheet)["Open items"])
    assert "has no sheet with the columns" in refusal(lambda page: page.delete_cols(at["Shown"]))
    assert "occurs twice" in refusal(lambda page: page.cell(1, 30, "decision"))
    assert "are merged" in refusal(lambda page: page.merge_cells("A5:B6"))
    assert "several sheets" in refusal(lambda page: page.parent.copy_worksheet(page))
    assert desk.journal.head().seq == 0


@pytest.mark.acceptance
def test_an_empty_sheet_and_an_unwritable_one_are_reported(
    desk: Workspace, sheet: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"october\.xlsx contains no choice"):
        desk.decide(sheet)
    with pytest.raises(InputError, match="exists already, perhaps with decisions in it"):
        desk.exceptions_sheet(sheet, MONTH)
    with pytest.raises(StorageError, match="cannot be written"):
        desk.exceptions_sheet(tmp_path / "absent" / "october.xlsx", MONTH)
