"""Helpers that fill in and read a decision sheet with openpyxl."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.worksheet.worksheet import Worksheet

from treasury.month.items.sheet.sheet_book import TITLES
from treasury.workspace import Workspace

Filled = Mapping[str, Mapping[str, Any]]
"""The values to type by column title, for each item's id."""


def desk_in(folder: Path, workspace: Workspace) -> Workspace:
    """Copy a workspace without its bank files and packs, and return the copy."""
    shutil.copytree(workspace.folder, folder, ignore=shutil.ignore_patterns("bank", "close"))
    return Workspace(folder)


def columns(page: Worksheet) -> dict[str, int]:
    """Return the number of each column by its title; the first is 1."""
    return {str(cell.value): cell.column for cell in page[1] if cell.value is not None}


def rows_by_item(page: Worksheet) -> dict[str, int]:
    """Return the number of each row by its item's id; the row of titles is 1."""
    at = columns(page)[TITLES["item_id"]]
    return {str(page.cell(row, at).value): row for row in range(2, page.max_row + 1)}


def fill_in(path: Path, filled: Filled) -> Path:
    """Type values into the rows of their items, save the sheet, and return its path."""
    book = openpyxl.load_workbook(path)
    page = book["Open items"]
    places, rows = columns(page), rows_by_item(page)
    for item_id, typed in filled.items():
        for title, value in typed.items():
            page.cell(rows[item_id], places[title]).value = value
    book.save(path)
    return path


def choices_of(path: Path) -> dict[str, list[str]]:
    """Return the choices that a sheet offers for each item's id."""
    choices: dict[str, list[str]] = {}
    page = openpyxl.load_workbook(path)["Choices"]
    for item_id, choice in page.iter_rows(min_row=2, values_only=True):
        choices.setdefault(str(item_id), []).append(str(choice))
    return choices
