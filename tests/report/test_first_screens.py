"""The two first screens of the practice company: each item in one row, each row opens a list."""

from __future__ import annotations

import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.close.cash.position import FUNDS
from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.month.items import OpenItem, OpenItems, open_now
from treasury.month.items.item_kinds import KINDS, TASKS
from treasury.report.screens import Status
from treasury.report.screens.funds_rows import funds_lines
from treasury.report.screens.month_status import blocking_rows
from treasury.report.screens.morning_status import morning_rows
from treasury.report.screens.screen_rows import row_lines
from treasury.workspace import Workspace

TODAY = date(2026, 11, 2)
OCTOBER, NOVEMBER = Month(2026, 10), Month(2026, 11)


@pytest.fixture(scope="module")
def morning(month_end: Workspace) -> Status:
    return month_end.status()


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Status:
    return month_end.status("2026-10")


def listed_by(workspace: Workspace, command: str) -> list[str]:
    """Return the ids of the open items that a printed command lists."""
    program, *arguments = command.split()
    assert program == "treasury"
    done = CliRunner().invoke(
        treasury, ["-w", str(workspace.folder), *arguments, "--format", "json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    return [row["item_id"] for row in json.loads(done.stdout)]


def item(kind: str = "overdue", **changed: object) -> OpenItem:
    values: dict[str, object] = {
        "item_id": f"request:{kind}", "kind": kind, "subject": "request", "subject_id": kind,
        "name": kind, "month": "2026-10", "state": "PAY", "since": date(2026, 10, 30),
        "turn": KINDS[kind].turn, "blocks": KINDS[kind].blocks, "next_step": "", "command": "",
    }  # fmt: skip
    return OpenItem(**values | changed)  # type: ignore[arg-type]


def test_both_screens_fit_24_lines_of_100_columns(morning: Status, october: Status) -> None:
    for screen in (morning, october):
        lines = screen.splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 100


def test_every_open_item_is_in_exactly_one_row_of_the_morning(
    month_end: Workspace, morning: Status
) -> None:
    ids = [item.item_id for row in morning.rows for item in row.items]
    assert len(ids) == len(set(ids))
    ours = [row for row in morning.rows if row.command.split()[-1] in TASKS]
    waiting = sum(len(row.items) for row in morning.rows) - sum(len(row.items) for row in ours)
    head = re.search(r"^TODAY (\d+) of (\d+) open ", str(morning), re.MULTILINE)
    assert head is not None
    assert head.groups() == (str(len(ids) - waiting), str(len(ids)))
    assert len(morning.listed("waiting")) == waiting
    (sides,) = (line for line in morning.splitlines() if line.startswith("WAITING FOR"))
    assert sum(map(int, re.findall(r"[a-z] (\d+)", sides))) == waiting
    # Omitted items began today or later; added ones are about the evidence of October.
    running = month_end.open_items("2026-11").by_id
    left_out = [running[name] for name in running.keys() - set(ids)]
    assert all(each.since is not None and each.since >= TODAY for each in left_out)
    added = set(ids) - running.keys()
    assert {name.partition(":")[0] for name in added} <= {"balance", "statement", "ledger"}
    assert added <= month_end.open_items("2026-10").by_id.keys()


def test_bank_lines_to_decide_are_the_same_number_on_all_screens(
    month_end: Workspace, morning: Status
) -> None:
    lines = {item.entry_id for item in morning.listed("decide")}
    assert lines == set(month_end.matches.open()["entry_id"])
    assert len(lines) == len(morning.listed("decide"))
    assert {item.subject for item in morning.listed("awaits_line")} == {"request"}


@pytest.mark.acceptance
def test_each_row_of_the_morning_names_the_command_that_lists_its_items(
    month_end: Workspace, morning: Status
) -> None:
    for row in morning.rows[:1]:
        assert listed_by(month_end, row.command) == [each.item_id for each in row.items]
    shown = [line for line in morning.splitlines() if line.endswith(morning.rows[0].command)]
    assert len(shown) == 1
    assert f" {len(morning.rows[0].items)} " in shown[0]


def test_each_row_of_the_month_names_the_command_that_lists_its_items(
    month_end: Workspace, october: Status
) -> None:
    blocking = month_end.open_items("2026-10").blocking
    assert sum(len(row.items) for row in october.rows) == len(blocking)
    assert len(october.rows) == 9
    assert f"treasury status 2026-10 …\n  {october.rows[0].label} " in october
    last = october.rows[-1]
    assert last.name == "other"
    assert listed_by(month_end, last.command) == [each.item_id for each in last.items]


def test_a_month_and_a_row_may_be_given_in_any_way(month_end: Workspace, october: Status) -> None:
    row = october.rows[0]
    ids = [each.item_id for each in row.items]
    assert listed_by(month_end, f"treasury status {row.name} --month 2026-10") == ids
    two = CliRunner().invoke(
        treasury, ["-w", str(month_end.folder), "status", "2026-10", "--month", "2026-09"]
    )
    assert (two.exit_code, "at most one month and one row" in two.output) == (2, True)


def test_a_row_that_does_not_exist_suggests_the_nearest(morning: Status) -> None:
    assert len(morning.listed("other")) == 0
    with pytest.raises(InputError, match="'deside' is not a row of this screen; is it decide"):
        morning.listed("deside")


def test_the_morning_shows_funds_by_kind_and_the_month_that_ended(morning: Status) -> None:
    lines = morning.splitlines()
    assert lines[0] == (
        "Mon 2 Nov 2026 09:00 CET · Harbour Lane Trading NV · SANDBOX, no real money · synced 09:00"
    )
    assert lines[1].split()[:4] == ["FUNDS", "EUR", "EURC", "USDC"]
    assert re.search(r"^  own banks +[0-9,.]+ +to 31 Oct$", str(morning), re.MULTILINE)
    assert lines[-1].startswith("OCTOBER      not ready to close: ")
    assert lines[-1].endswith(" open items block it   treasury status 2026-10")


@pytest.mark.acceptance
def test_a_program_reads_the_same_figures(month_end: Workspace, morning: Status) -> None:
    facts = month_end.facts().arrow.to_pylist()
    for row in morning.rows:
        assert sum(fact["items"] for fact in facts if fact["name"] == row.name) == len(row.items)
    (month,) = (fact for fact in facts if fact["fact"] == "month")
    assert (month["name"], month["items"], month["blocking"]) == ("open", 67, 42)
    assert sum(fact["fact"] == "funds" for fact in facts) == len(month_end.cash().funds)


def test_amounts_that_differ_in_their_day_or_are_not_known_say_so() -> None:
    def fund(kind: str, currency: str, amount: int | None, day: int, missing: int = 0) -> object:
        known = {"amount": None if amount is None else Decimal(amount), "not_counted": missing}
        on = None if amount is None else date(2026, 10, day)
        return {"funds": kind, "currency": currency, "proved_to": on, "positions": 1, **known}

    rows = [
        fund("own_banks", "EUR", 1000, 31), fund("own_banks", "USD", 20, 28, missing=1),
        fund("not_proved", "USDC", None, 1, missing=2), fund("held_by_provider", "", None, 1),
    ]  # fmt: skip
    assert funds_lines(pa.Table.from_pylist(rows, schema=FUNDS), TODAY) == [
        "FUNDS                              EUR                         USD           USDC",
        "  own banks                   1,000.00                       20.00",
        "                             to 31 Oct  to 28 Oct, + 1 not counted",
        "  held by provider not read",
        "  not proved                                                        2 not counted",
    ]
    coins = [fund("own_wallets", f"COIN{n}", 10**15, 31) for n in range(6)]
    lines = funds_lines(pa.Table.from_pylist(coins, schema=FUNDS), TODAY)
    assert max(map(len, lines)) <= 100
    assert lines[-1].endswith("COIN3, COIN4, COIN5: treasury cash")


def test_many_differences_between_currencies_take_one_line() -> None:
    rows = [
        {"funds": kind, "currency": currency, "amount": Decimal(1), "proved_to": on,
         "positions": 1, "not_counted": 0}
        for kind in ("own_banks", "own_wallets", "held_by_provider")
        for currency, on in (("EUR", TODAY), ("USDC", date(2026, 10, 30)))
    ]  # fmt: skip
    lines = funds_lines(pa.Table.from_pylist(rows, schema=FUNDS), TODAY)
    assert len(lines) == 5
    assert lines[-1] == "  days differ, or amounts are not counted: treasury cash"


def test_a_label_gives_way_to_a_large_amount() -> None:
    large = item("leg_not_shown", amount=Decimal("98765432109.123456"), currency="USDC")
    (row,) = blocking_rows(OpenItems(OCTOBER, (large,)))
    lines = row_lines([row], "BLOCKS", "treasury status 2026-10 …", room=24)
    assert max(map(len, lines)) <= 100
    assert "  Own transfer, no statement of the " in lines[1]
    assert "USDC 98,765,432,109.123456  leg_not_shown" in lines[1]


def test_more_than_eight_kinds_leave_a_row_for_the_others() -> None:
    kinds = [name for name, kind in KINDS.items() if kind.blocks == "until accepted"][:12]
    never = item("unknown_outcome", item_id="action:1")
    items = OpenItems(OCTOBER, (*map(item, kinds), item(kinds[9], item_id="request:second"), never))
    rows = blocking_rows(items)
    assert [row.name for row in rows][-1] == "other"
    assert len(rows) == 9
    assert {"unknown_outcome", kinds[9]} <= {each.kind for row in rows[:-1] for each in row.items}
    assert rows[-1].label == "other: 5 kinds"
    assert sum(len(row.items) for row in rows) == len(items)


def test_amounts_of_many_currencies_stay_within_the_screen() -> None:
    members = [
        item(item_id=f"request:{way}{n}", currency=f"COIN{n}", amount=Decimal(10) ** 12,
             direction=way)
        for n in range(9) for way in ("in", "out")
    ]  # fmt: skip
    (row,), _ = morning_rows(OpenItems(NOVEMBER, tuple(members)))
    for room in (24, 4):
        lines = row_lines([row], "TODAY", "start with", today=TODAY, room=room)
        assert len(lines) <= room
        assert max(map(len, lines)) <= 100
    assert "  in 9 currencies  " in lines[1]


def test_items_of_a_month_that_ended_are_open_now_only_if_they_still_are() -> None:
    balance = item("balance_not_proved", item_id="balance:x/2026-10", subject="balance")
    ended = OpenItems(OCTOBER, (item("settled_since"), balance))
    later = item("balance_not_proved", item_id="balance:x/2026-11", subject="balance",
                 since=date(2026, 11, 30))  # fmt: skip
    running = OpenItems(NOVEMBER, (item(), item("not_synced", item_id="source:services"), later))
    now = open_now(running, ended, today=TODAY, is_silent=False)
    assert set(now.by_id) == {"request:overdue", "balance:x/2026-10"}
    silent = open_now(running, None, today=TODAY, is_silent=True)
    assert set(silent.by_id) == {"request:overdue", "source:services"}


def test_a_company_without_stored_records_is_told_what_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "treasury.toml").write_text('[workspace]\ncompany = "New"\n', "utf-8")
    screen = Workspace(tmp_path).status()
    assert "TODAY        not known: " in screen
    assert "services not used here" in screen
    assert "treasury sync" not in screen


def test_the_notebook_shows_a_tile_per_row_with_the_list_below(morning: Status) -> None:
    html = morning._repr_html_()
    assert html.count("<details>") == len(morning.rows)
    for row in morning.rows:
        assert f"t.status().lists[&#x27;{row.name}&#x27;]" in html
        assert f"{row.label} <strong>{len(row.items)}</strong>" in html
