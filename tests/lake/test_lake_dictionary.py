"""Every column is explained, the generated page is up to date, and no name or type ever changes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from treasury.core.errors import InputError
from treasury.core.tables.column_types import AMOUNT, TYPE_WORDS
from treasury.workspace import Workspace
from treasury.workspace.month_verbs import ANSWERS
from treasury.workspace.upkeep import dictionary

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).with_name("columns.txt")
SPECIFICATIONS = {
    "Finance Service Specification": "finance-service.md",
    "Ramp Service Specification": "ramp-service.md",
}
TABLES = [table for group in dictionary.GROUPS for table in group.tables]
WORDS = {"per cent", "not stated", "as the service states it", "as the bank states it"}


def named() -> set[str]:
    """Return `table.column type` for each declared column."""
    return {f"{t.name}.{c.name} {TYPE_WORDS[c.type]}" for t in TABLES for c in t.columns}


def test_no_name_or_type_of_an_earlier_version_is_removed() -> None:
    known = set(GOLDEN.read_text("utf-8").splitlines())
    assert known - named() == set()
    assert named() - known == set(), "run `make docs`"


def test_every_column_has_a_meaning() -> None:
    for table in TABLES:
        assert table.title, table.name
        for column in table.columns:
            assert column.meaning, (table.name, column.name)


def test_every_column_has_a_source() -> None:
    rows = dictionary.column_rows().to_pylist()
    assert len(rows) > 600
    for row in rows:
        place = (row["table"], row["column"])
        assert row["source"], place
        assert row["section"], place
        assert (row["source"] == dictionary.OWN) == (row["section"] == dictionary.OWN), place


def test_every_amount_and_no_other_column_has_a_unit() -> None:
    for table in TABLES:
        names = {column.name for column in table.columns}
        for column in table.columns:
            place = (table.name, column.name)
            assert bool(column.unit) == (column.type == AMOUNT), place
            units = re.findall(r"`(\w+)`", column.unit)
            assert set(units) <= names, place
            assert units or column.unit in WORDS | {""}, place


@pytest.mark.parametrize("group", dictionary.GROUPS[:2], ids=lambda group: group.name)
def test_every_section_is_a_heading_of_its_specification(group: dictionary.Group) -> None:
    path = ROOT.parent / "shared" / "spec" / SPECIFICATIONS[group.document]
    if not path.is_file():
        pytest.skip(f"no file {path}: sections are not compared with the specification's headings")
    found = re.findall(r"^#+ ([^(\n]*)", path.read_text("utf-8"), re.MULTILINE)
    headings = {heading.strip() for heading in found}
    for table in group.tables:
        for column in table.columns:
            heading = column.source.partition(".")[0].partition(" (")[0]
            assert not heading or heading in headings, (table.name, column.name, heading)


ELSEWHERE = {
    "Party.address": "country",
    "Party role.party": "parties",
    "Account.partyRoles": "party_roles",
    "Wallet (custodial).balances": "wallet_balances",
    "Ramp request.depositBankAccount": "deposit_iban",
    "Ramp request.depositWallet": "deposit_wallet_address",
}
"""Fields of a specification that correspond to a whole table or several columns."""

HEADINGS = {
    "Party role (party-account relationship)": "Party role",
    "Address": "Party.address",
}
"""Headings with fields that are documented under another record."""


@pytest.mark.parametrize("group", dictionary.GROUPS[:2], ids=lambda group: group.name)
def test_every_field_named_by_a_specification_is_a_column(group: dictionary.Group) -> None:
    path = ROOT.parent / "shared" / "spec" / SPECIFICATIONS[group.document]
    if not path.is_file():
        pytest.skip(f"no file {path}: columns are not compared with the specification's fields")
    held = {column.source for table in group.tables for column in table.columns}
    held |= {t.name for t in group.tables} | {c.name for t in group.tables for c in t.columns}
    named = set()
    for section in re.split(r"^#+ ", path.read_text("utf-8"), flags=re.MULTILINE):
        heading, _, text = section.partition("\n")
        _, _, fields = text.partition("| Field | Type | Notes |\n|---|---|---|\n")
        record = HEADINGS.get(heading, heading)
        listed = fields.partition("\n\n")[0]
        named |= {f"{record}.{name}" for name in re.findall(r"^\| (\w+)", listed, re.MULTILINE)}
    assert len(named) > 30
    assert {name for name in named if ELSEWHERE.get(name, name) not in held} == set()


def test_the_written_page_is_up_to_date() -> None:
    assert (ROOT / "docs" / "tables.md").read_text("utf-8") == dictionary.page()


def test_a_table_or_its_history_is_found_by_name() -> None:
    rows = dictionary.column_rows("ramp_requests_history").to_pylist()
    fee = next(row for row in rows if row["column"] == "fiat_fee_amount")
    assert fee == {
        "table": "ramp_requests",
        "column": "fiat_fee_amount",
        "type": "decimal(38,18)",
        "unit": "`fiat_currency`",
        "meaning": "the fee, in `fiat_currency`",
        "source": "fiatFeeAmount",
        "section": "Ramp Service Specification, Ramp request",
    }
    assert [row["column"] for row in rows[-5:]] == [
        "raw",
        "vanished_at",
        "content_hash",
        "valid_from",
        "valid_to",
    ]
    origins = dictionary.table_rows()["origin"].to_pylist()
    assert len(origins) - origins.count(dictionary.ANSWER) == len(TABLES)
    with pytest.raises(InputError, match="is not a table"):
        dictionary.column_rows("nothing")


@pytest.mark.acceptance
def test_every_column_of_an_answer_has_a_meaning_and_its_unit(month_end: Workspace) -> None:
    closing = month_end.periods.month("2026-10")
    answers = {name: answer_of(closing) for name, answer_of in ANSWERS.items()}
    cash = month_end.cash()
    answers |= {
        "awaiting_funds": month_end.awaiting_funds(),
        "cash_position": cash.position,
        "cash_flows": cash.flows,
        "cash_forecast": cash.forecast,
    }
    described = {name: month_end.tables(name).where(section=dictionary.OWN) for name in answers}
    listed = month_end.tables().where(origin=dictionary.ANSWER)
    assert set(listed["table"]) == set(answers)
    assert not set(answers) & {table.name for table in TABLES}
    for name, answer in answers.items():
        rows = {row["column"]: row for row in described[name]}
        assert list(rows) == answer.columns, name
        units = {column: f"`{unit}`" for column, unit in answer.units.items()}
        for row in rows.values():
            assert row["meaning"], (name, row["column"])
            if row["column"] in units:
                assert row["unit"] == units[row["column"]], (name, row["column"])
            assert set(re.findall(r"`(\w+)`", row["unit"])) <= set(rows), (name, row["column"])
