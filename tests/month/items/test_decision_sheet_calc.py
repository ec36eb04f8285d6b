"""A decision sheet of 500 rows edited in LibreOffice Calc as a person would, and read back."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import openpyxl
import pyarrow as pa
import pytest
from decision_sheets import choices_of, columns, desk_in, fill_in

from treasury.month.items.sheet.sheet_rows import ACTS
from treasury.workspace import Workspace

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.skipif(
        shutil.which("soffice") is None,
        reason="needs LibreOffice (Debian package libreoffice-calc): make acceptance",
    ),
]
MONTH = "2026-10"
ROWS = 500
HOSTILE = (
    "=1+1",
    "@SUM(A1)",
    '=HYPERLINK("http://h.test")',
    "-5",
    "<r>x</r>",
    "  a\tb ",
    "_x0041_",
)
SCRIPT = Path(__file__).with_name("calc_editing.bas")
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
LIBRARY = '<!DOCTYPE library:library PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "library.dtd"><library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false" library:passwordprotected="false">%s</library:library>'  # noqa: E501
MODULE = '<!DOCTYPE script:module PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "module.dtd"><script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1" script:language="StarBasic">%s</script:module>'  # noqa: E501


def crowd(desk: Workspace) -> None:
    """Add lines that need a person, with other amounts and names, until there are 500 items."""
    items = desk.open_items(MONTH)
    suggested = next(
        item for item in items.select(kind="needs_decision") if item.name.startswith("VFY-")
    )
    models = [suggested.entry_id, items.select(kind="no_reference").items[0].entry_id]
    table = desk.lake.catalogue["statement_entries"]
    stored = desk.snapshot().table("statement_entries").to_pylist()
    rows = []
    for place in range(ROWS - len(items)):
        model = next(row for row in stored if row["entry_id"] == models[place % 2])
        amount = model["amount"] + place
        changed: dict[str, Any] = {"entry_id": f"crowd{place:04}-{model['entry_id']}"}
        changed["amount"] = amount
        changed["counterparty_name"] = f"{HOSTILE[place % len(HOSTILE)]} {place}"
        rows.append(model | changed)
    with desk.lake.writer("test", desk.now()) as writer:
        writer.upsert(table, pa.Table.from_pylist(rows, schema=table.row_schema))


def edited_in_calc(sheet: Path, typed: dict[str, dict[str, str]]) -> Path:
    """Edit the sheet in LibreOffice Calc with the macro, and return the edited sheet."""
    folder = sheet.parent
    titles = ("Decision", "Reason", "Owner", "Clear by", "Proposed by")
    lines = [
        "\t".join([name, *(values.get(title, "") for title in titles)])
        for name, values in typed.items()
    ]
    sheet.with_name(f"{sheet.name}.typed").write_text("\n".join(lines) + "\n", "utf-8")
    target = folder / "edited.xlsx"
    office = [
        "soffice",
        "--headless",
        "--norestore",
        f"-env:UserInstallation=file://{folder}/profile",
    ]
    macro = f'macro:///Standard.Module1.EditSheet("{sheet}","{target}")'
    # The first start only creates the profile: a macro that is put there earlier would not run.
    for argument in ("--terminate_after_init", macro):
        subprocess.run(
            [*office, argument], check=True, capture_output=True, timeout=200,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if argument != macro:
            _put_macro(folder / "profile")
    failed = target.with_name(f"{target.name}.failed")
    assert not failed.exists(), failed.read_text()
    return target


def _put_macro(profile: Path) -> None:
    standard = profile / "user" / "basic" / "Standard"
    element = '<library:element library:name="Module1"/>'
    (standard / "script.xlb").write_text(HEAD + LIBRARY % element)
    (standard / "Module1.xba").write_text(HEAD + MODULE % escape(SCRIPT.read_text()))


def decided(desk: Workspace) -> dict[str, tuple[Any, ...]]:
    """Return the journal's decisions by subject, without their order and times."""
    return {
        entry.subject: (entry.kind, entry.actor.name, entry.body)
        for entry in desk.journal.entries(("match.", "request.", "item."))
    }


def test_500_rows_edited_in_calc_are_the_same_decisions(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    desk = desk_in(tmp_path / "desk", month_end)
    crowd(desk)
    plain_desk = desk_in(tmp_path / "plain", desk)
    sheet = desk.exceptions_sheet(tmp_path / "october.xlsx", MONTH)
    choices = choices_of(sheet)
    typed: dict[str, dict[str, str]] = {}
    for place, item in enumerate(desk.open_items(MONTH)):
        if not choices.get(item.item_id):
            continue
        choice = choices[item.item_id][0 if item.name.startswith("VFY-") else -1]
        typed[item.item_id] = {
            "Decision": ACTS["ignore"] if item.kind == "no_reference" else choice,
            "Reason": f"looked at, row {place}: =1+1",
            "Owner": "bert",
            "Clear by": "2026-11-20",
            "Proposed by": "carla",
        }
    assert len(typed) > 450

    edited = edited_in_calc(sheet, typed)
    page = openpyxl.load_workbook(edited)["Open items"]
    assert list(columns(page))[2] == "My notes"
    assert any(dimension.hidden for dimension in page.row_dimensions.values())
    assert page.cell(3, columns(page)["Amount"]).number_format != "#,##0.00"
    (validation,) = page.data_validations.dataValidation
    assert "MATCH(" in validation.formula1

    plan = desk.decide(edited, agreed=desk.decide(edited, dry_run=True))
    assert not plan.refused, plan.refused[0]
    assert len(plan.planned) == len(typed)
    fill_in(sheet, typed)
    assert not plain_desk.decide(sheet).refused
    assert decided(desk) == decided(plain_desk)
    assert len(decided(desk)) == len(typed)
    head = desk.journal.head()
    assert len(desk.decide(edited).standing) == len(typed)
    assert desk.journal.head() == head
