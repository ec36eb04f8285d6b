"""The practice company's October: every open item is listed once, and every output agrees."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pyarrow.compute as pc
import pytest
from click.testing import CliRunner
from filled import fill
from openpyxl import load_workbook
from signed import close_month

from treasury.cli import treasury
from treasury.cli.commands.practice import prepare
from treasury.close.checklist import checklist
from treasury.close.closing import Closing
from treasury.core.errors import InputError
from treasury.core.money import format_amount, total
from treasury.month.decisions.standing_verdicts import NEEDS_A_PERSON
from treasury.month.items import KINDS, TURNS, OpenItems
from treasury.report import month_screen
from treasury.report.excel import workbook_beside
from treasury.report.exceptions import open_lines
from treasury.report.report_page import render_html
from treasury.report.sections import sections
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

MONTH = "2026-10"


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month(MONTH)


def ids(items: OpenItems) -> list[str]:
    return [item.item_id for item in items]


# The list is complete


def test_every_unexplained_line_has_one_item(october: Closing) -> None:
    lines = [
        row["entry_id"]
        for table in (october.r.lines, october.r.earlier_lines)
        for row in table.arrow.select(["entry_id", "outcome", "line_class"]).to_pylist()
        if row["outcome"] in NEEDS_A_PERSON and row["line_class"] is None
    ]
    listed = [i for i in october.items.select(subject="line") if i.kind != "more_than_expected"]
    assert sorted(lines) == sorted(i.subject_id for i in listed)
    assert len(lines) == len(open_lines(october.r))


def test_every_request_that_is_open_at_the_service_has_one_item(
    month_end: Workspace, october: Closing
) -> None:
    stored = month_end.sql(
        "SELECT id FROM ramp_requests WHERE is_open AND created_at < '2026-10-31T23:00:00Z'"
    ).arrow.to_pylist()
    listed = Counter(item.subject_id for item in october.items.select(subject="request"))
    assert {row["id"] for row in stored} <= set(listed)
    assert max(listed.values()) == 1
    missing = october.r.differences.arrow.filter(
        pc.equal(october.r.differences.arrow["state"], "NOT AT BANK")
    ).to_pylist()
    assert missing
    assert {row["request_id"] for row in missing} <= set(listed)


def test_every_transfer_that_is_open_has_one_item(month_end: Workspace, october: Closing) -> None:
    stored = month_end.sql(
        "SELECT id FROM transfers WHERE is_open AND created_at < '2026-10-31T23:00:00Z'"
    ).arrow.to_pylist()
    listed = Counter(item.transfer_id for item in october.items if item.transfer_id)
    assert {row["id"] for row in stored} <= set(listed)
    assert max(listed.values()) == 1
    legless = {
        row["transfer_id"] or row["out_id"] or row["in_id"]
        for row in october.r.internal_transfers.arrow.to_pylist()
        if row["state"] in ("under_way", "leg_in_missing", "leg_out_missing", "check_bank")
    }
    assert legless <= {i.subject_id for i in october.items.select(subject="transfer")}


@pytest.mark.acceptance
def test_every_balance_and_statement_that_is_not_proved_has_one_item(
    october: Closing, month_end_unreported: Workspace
) -> None:
    unproved = [row for row in october.balances.arrow.to_pylist() if not row["proved"]]
    listed = october.items.select(subject="balance")
    assert len(unproved) == len(listed)
    other = month_end_unreported.periods.month(MONTH)
    lacking = [row for row in other.r.statements.arrow.to_pylist() if not row["complete"]]
    assert len(lacking) == len(other.items.select(subject="statement"))
    proofs = other.r.virtual_accounts.arrow["proof"].to_pylist()
    assert len(other.items.select(kind="credits_not_provable")) == sum(
        proof.startswith("NOT PROVABLE") for proof in proofs
    )


# Money is counted once


def test_no_item_is_listed_twice_and_shared_money_is_counted_once(october: Closing) -> None:
    items = october.items
    assert len(items.by_id) == len(items)
    for item in items:
        if item.counted_in is not None:
            assert items.by_id[item.counted_in].counted_in is None
            assert item.counted_amount is None


def test_the_sums_of_the_groups_are_those_of_the_items_that_count_themselves(
    october: Closing,
) -> None:
    by_currency: dict[str, Decimal] = {}
    for group in october.items.groups:
        sums = (group.coming, group.going, group.standing)
        for amount in (one for one in sums if one is not None):
            before = by_currency.get(group.currency, Decimal(0))
            by_currency[group.currency] = before + amount
    for currency, amount in by_currency.items():
        assert amount == total(
            item.amount
            for item in october.items
            if item.currency == currency and item.amount is not None and item.counted_in is None
        )


def test_an_item_began_in_its_named_month_and_by_the_end_of_the_listed_month(
    october: Closing,
) -> None:
    for item in october.items:
        assert item.since is None or item.since <= october.r.month.last
        assert item.since is None or item.month == f"{item.since:%Y-%m}"
        assert item.kind in KINDS
        assert item.turn in TURNS


# Every output has the same count


def test_the_rows_of_the_months_screen_add_up_to_its_head(october: Closing) -> None:
    items, screen = october.items, month_screen(october)
    assert sum(items.turns.values()) == len(items)
    assert sum(group.items for group in items.groups) == len(items)
    assert sum(group.blocking for group in items.groups) == len(items.blocking)
    listed = [item.item_id for row in screen.rows for item in row.items]
    assert sorted(listed) == sorted(items.blocking.by_id)
    for row in screen.rows:
        (shown,) = (text for text in screen.splitlines() if text.startswith(f"  {row.label}  "))
        assert f" {len(row.items)}  " in shown
        for group in row.items.groups:
            for one in (group.coming, group.going, group.standing):
                assert (
                    row.name == "other"
                    or one is None
                    or (format_amount(one, group.currency).split()[1] in screen)
                )
    assert f"{len(items.blocking)} of {len(items)} open items block it" in screen


def test_money_in_and_money_out_are_never_one_amount(october: Closing) -> None:
    groups = {(one.kind, one.currency): one for one in october.items.groups}
    undecided = groups["needs_decision", "EUR"]
    assert undecided.coming is not None
    assert undecided.going is not None
    assert undecided.amount is None
    assert undecided.money == (
        f"{format_amount(undecided.coming, 'EUR')} in,"
        f" {format_amount(undecided.going, 'EUR').removeprefix('EUR ')} out"
    )
    coins = groups["coins_overdue", "USDC"]
    # Coins that we send for an off-ramp are money out.
    assert (coins.going, coins.coming) == (coins.amount, None)


@pytest.mark.acceptance
def test_every_surface_has_the_same_items(
    month_end: Workspace, october: Closing, tmp_path: Path
) -> None:
    listed = ids(october.items)
    assert ids(month_end.open_items(MONTH)) == listed
    panel = month_end.panels.close(MONTH)
    assert panel.rows.arrow["item_id"].to_pylist() == listed
    done = CliRunner().invoke(
        treasury, ["-w", str(month_end.folder), "exceptions", "--month", MONTH, "--format", "json"]
    )
    assert [row["item_id"] for row in json.loads(done.stdout)] == listed
    with workbook_beside(october, tmp_path / "close.xlsx"):
        pass
    sheet = load_workbook(tmp_path / "close.xlsx", read_only=True)["Open items"]
    rows = [row for row in sheet.iter_rows(values_only=True) if row[0]]
    heads = next(row for row in rows if "item_id" in row or "Item id" in row)
    at = next(n for n, head in enumerate(heads) if head in ("item_id", "Item id"))
    assert [row[at] for row in rows[rows.index(heads) + 1 :]] == listed


@pytest.mark.acceptance
def test_the_checklist_and_the_report_show_blocking_and_other_items(
    october: Closing,
) -> None:
    items = october.items
    steps = checklist(october)
    assert sum(one.items for one in steps.blockers) == len(items.blocking)
    for step in {kind.step for kind in KINDS.values()}:
        under = items.blocking.where(lambda item, step=step: item.words.step == step)  # type: ignore[misc]
        assert sum(group.items for group in under.groups) == len(under)
    (section,) = [one for one in sections(october) if one.anchor == "blocking"]
    blocking, rest = section.grids
    (appendix,) = [one for one in sections(october) if one.anchor == "waiting"]
    (waiting,) = appendix.grids
    shown = [
        sorted(row[0].text for row in grid.rows if len(row) > 1)
        for grid in (blocking, rest, waiting)
    ]
    mirrors = {item.item_id for item in items if item.counted_in in items.by_id}
    others = [item for item in items if not item.is_blocking and item.item_id not in mirrors]
    assert shown[0] == sorted(item.name for item in items.blocking)
    assert shown[1] == sorted(item.name for item in others)
    assert shown[2] == sorted(items.by_id[one].name for one in mirrors)
    headings = [row[0] for grid in (blocking, rest) for row in grid.rows if len(row) == 1]
    said = [(cell.text, cell.note) for cell in headings]
    assert len(set(said)) == len(said), "a next step is repeated"
    assert set(said) == {(item.words.label, item.next_step) for item in (*items.blocking, *others)}
    assert "12 requests wait for one of these lines" in section.lead
    page = render_html(october)
    assert f"{len(items)} items = " in page
    assert f"Not ready to close: {len(items.blocking)} of {len(items)} open items" in page
    for row in month_screen(october).rows:
        assert f">{row.label}</span>" in page


@pytest.mark.acceptance
def test_the_shell_shows_a_subset_by_turn_kind_and_whether_it_blocks(
    month_end: Workspace, october: Closing
) -> None:
    def shown(*options: str) -> list[str]:
        wanted = ["exceptions", "--month", MONTH, "--format", "json", *options]
        done = CliRunner().invoke(treasury, ["-w", str(month_end.folder), *wanted])
        assert done.exit_code == 0, done.output
        return [row["item_id"] for row in json.loads(done.stdout)]

    items = october.items
    assert shown("--turn", "provider") == ids(items.select(turn="provider"))
    assert ids(items.select(turn="provider's")) == ids(items.select(turn="provider"))
    assert shown("--kind", "overdue") == ids(items.select(kind="overdue"))
    assert shown("--blocking") == ids(items.blocking)
    assert shown("--kind", "journal_broken") == []
    done = CliRunner().invoke(
        treasury, ["-w", str(month_end.folder), "exceptions", "--kind", "nope"]
    )
    assert isinstance(done.exception, InputError)
    assert "give one of journal_broken" in str(done.exception)


# Items keep their ids


@pytest.mark.acceptance
def test_a_second_sync_and_the_same_files_again_change_no_item(
    month_end: Workspace, october: Closing, tmp_path: Path
) -> None:
    folder = tmp_path / "desk"
    shutil.copytree(month_end.folder, folder)
    before, company = dict(os.environ), Sandbox(7)
    try:
        with company.serve() as served:
            desk = prepare(folder, company, served)
            desk.sync(full=True)
            desk.statements.add(sorted((folder / "bank").glob("*.xml")))
            assert ids(desk.open_items(MONTH)) == ids(october.items)
            desk.close_clients()
    finally:
        os.environ.clear()
        os.environ.update(before)


@pytest.mark.acceptance
def test_another_import_of_the_same_records_gives_the_same_items(
    october: Closing, tmp_path: Path
) -> None:
    again = fill(tmp_path / "again", Sandbox(7))
    assert ids(again.open_items(MONTH)) == ids(october.items)


@pytest.mark.acceptance
def test_a_close_keeps_its_items_and_its_pack_has_them(
    month_end: Workspace, october: Closing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    close_month(desk, MONTH)
    pack = desk.close(MONTH)
    assert ids(desk.open_items(MONTH)) == ids(october.items)
    assert desk.verify_pack(pack.folder).findings == ()
