"""The practice month under limits: exact figures, the same in every output and at any time."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
from datetime import UTC, date, datetime
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any

import msgspec
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from signed import ANNA, BERT, close_month

from treasury.cli import treasury
from treasury.close import closing as closing_room
from treasury.close.closing import Closing
from treasury.close.evidence import Evidence, encode
from treasury.close.valuation.exposure import provider_exposure as exposure_room
from treasury.close.valuation.exposure.provider_exposure import (
    READ,
    STEPS,
    ProviderExposure,
    provider_exposure,
)
from treasury.core.errors import InputError, StorageError
from treasury.core.money import format_amount
from treasury.month.items.carry_proposals import Acceptance
from treasury.month.kept_run import forget_runs
from treasury.month.reconciliation import run_on_matched
from treasury.report.confirmation_letter import confirmation_letter
from treasury.report.pack.pack_contents import EVIDENCE
from treasury.report.pack.pack_verification import verify_pack
from treasury.statements import STATEMENT_ENTRIES
from treasury.workspace import Workspace

LIMITS = """
[exposure]
total = "383507.64"

[exposure.currencies]
EUR = "58067.08"
EURC = 199343
ETH = 0
USDC = "1291319.390504"
"""


def limited(workspace: Workspace, folder: Path) -> Workspace:
    """Return a copy of a desk, with limits that anna proposed and bert accepted."""
    shutil.copytree(workspace.folder, folder)
    with (folder / "policy.toml").open("a", encoding="utf-8") as policy:
        policy.write(LIMITS)
    desk = Workspace(folder)
    desk.exposure_limits.propose("the board said so", actor=ANNA)
    desk.exposure_limits.accept(actor=BERT)
    return desk


@pytest.fixture(scope="module")
def desk(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk under limits, with October open; tests only read it."""
    return limited(month_end, tmp_path_factory.mktemp("limits") / "desk")


@pytest.fixture(scope="module")
def closing(desk: Workspace) -> Closing:
    return desk.periods.month("2026-10")


@pytest.fixture(scope="module")
def exposure(desk: Workspace) -> ProviderExposure:
    return desk.exposure("2026-10")


@pytest.fixture(scope="module")
def closed(desk: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a copy of that desk with October closed and its pack written."""
    folder = shutil.copytree(desk.folder, tmp_path_factory.mktemp("closed") / "desk")
    copy = Workspace(folder)
    close_month(copy, "2026-10")
    copy.close("2026-10")
    return copy


def shown(folder: Path, *arguments: str) -> str:
    done = CliRunner().invoke(treasury, ["--workspace", str(folder), "exposure", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_exposure_at_month_end_is_exact(exposure: ProviderExposure) -> None:
    assert [
        (row["kind"], row["reference"], row["amount"], row["currency"], row["age"])
        for row in exposure.proved.arrow.to_pylist()
    ] == [
        ("crypto sent", "PAY-2026-005379", 6100, "USDC", 3),
        ("crypto sent", "PAY-2026-005398", 10000, "USDC", 1),
        ("custodial balance", "Marketplace", Decimal("199343.86"), "EURC", None),
        ("custodial balance", "Retail", Decimal("124775.24"), "USDT", None),
        ("fiat in transit", "PAY-2026-005351", 11988, "EUR", 3),
        ("fiat in transit", "PAY-2026-005375", 13200, "EUR", 2),
        ("fiat in transit", "PAY-2026-005364", 25000, "EUR", 1),
        ("payout outstanding", "PAY-2026-005349", Decimal("7829.08"), "EUR", 4),
        ("stuck", "PAY-2026-005184", 50, "EUR", 18),
    ]
    doubts = [
        (row["kind"], row["reference"], row["in_doubt"])
        for row in exposure.not_provable.arrow.to_pylist()
        if row["kind"] == "stuck"
    ]
    assert doubts == [("stuck", "PAY-2026-005191", 9200), ("stuck", "PAY-2026-005236", 14000)]
    assert len(exposure.not_provable) == 21


def test_the_limits_are_above_within_and_not_provable(exposure: ProviderExposure) -> None:
    rows = {row["scope"]: row for row in exposure.totals.arrow.to_pylist()}
    assert {scope: row["standing"] for scope, row in rows.items()} == {
        "ETH": "within", "EUR": "not provable", "EURC": "above", "USDC": "within",
        "USDT": "no limit", "all": "above",
    }  # fmt: skip
    assert rows["EUR"]["amount"] == rows["EUR"]["limit"] == Decimal("58067.08")
    assert rows["EURC"]["above_limit"] == Decimal("0.86")
    assert rows["USDC"]["amount"] + rows["USDC"]["in_doubt"] == rows["USDC"]["limit"]
    assert (rows["all"]["amount"], rows["all"]["above_limit"]) == (
        Decimal("383507.65"), Decimal("0.01"),
    )  # fmt: skip
    assert (rows["all"]["peak"], rows["all"]["days_above"]) == (Decimal("383507.65"), 2)
    assert (rows["EUR"]["peak"], rows["EUR"]["days_above"]) == (99850, 1)
    values = [rows[code]["value"] for code in ("EUR", "EURC", "USDC", "USDT")]
    assert values == [
        Decimal("58067.08"), Decimal("199343.86"), Decimal("14411.03"), Decimal("111685.68"),
    ]  # fmt: skip


def test_each_table_of_the_month_has_the_same_sums(exposure: ProviderExposure) -> None:
    totals = {row["scope"]: row["amount"] for row in exposure.totals.arrow.to_pylist()}
    for table, kinds in ((exposure.ages, ()), (exposure.days, ("all",))):
        sums = dict.fromkeys(totals, Decimal(0))
        for row in table.arrow.to_pylist():
            if row.get("kind") not in kinds and row.get("day", None) in (None, exposure.month.last):
                sums[row["currency"]] += row["amount"]
        del sums["all"]
        assert sums == {scope: amount for scope, amount in totals.items() if scope != "all"}


@pytest.mark.acceptance
def test_an_exceeded_limit_is_an_open_item_in_every_view(desk: Workspace, closing: Closing) -> None:
    items = {item.item_id: item for item in closing.items if item.subject == "exposure"}
    assert {name: (item.kind, item.state, item.turn) for name, item in items.items()} == {
        "exposure:EUR/2026-10": ("exposure_not_provable", "NOT PROVABLE", "us"),
        "exposure:EURC/2026-10": (
            "exposure_above_limit", "ABOVE LIMIT BY EURC 0.860000", "us",
        ),
        "exposure:all/2026-10": ("exposure_above_limit", "ABOVE LIMIT BY EUR 0.01", "us"),
    }  # fmt: skip
    blocking = {item.item_id for item in closing.items.blocking}
    assert blocking & items.keys() == {"exposure:EURC/2026-10", "exposure:all/2026-10"}
    rows = desk.status("2026-10").rows
    assert blocking <= {item.item_id for row in rows for item in row.items}
    now = {item.item_id for item in desk.status().listed("other")}
    assert {"exposure:EURC/2026-11", "exposure:all/2026-11"} <= now
    listed = CliRunner().invoke(
        treasury, ["--workspace", str(desk.folder), "exceptions", "2026-10", "--format", "json"]
    )
    assert items.keys() <= {row["item_id"] for row in json.loads(listed.stdout)}
    assert all(item.amount is None for item in items.values()), "no money is counted twice"


def test_an_acceptance_lapses_when_the_excess_amount_changes(closing: Closing) -> None:
    (item,) = (one for one in closing.items if one.item_id == "exposure:all/2026-10")
    accepted = Acceptance(
        item_id=item.item_id, amount=item.amount, currency=item.currency, state=item.state,
        owner="carla", expected_by=date(2026, 11, 30), reason="paid back by then",
        proposed_by="anna", proposal=1, accepted_by="bert",
    )  # fmt: skip
    today = date(2026, 11, 2)
    assert accepted.lapse(item, today) == ""
    moved = msgspec.structs.replace(item, state="ABOVE LIMIT BY EUR 90,000.00")
    assert "the state was ABOVE LIMIT BY EUR 0.01" in accepted.lapse(moved, today)


@pytest.mark.acceptance
def test_the_command_shows_every_table_in_every_format(
    desk: Workspace, exposure: ProviderExposure
) -> None:
    tables = {
        "": exposure.positions, "--totals": exposure.totals, "--days": exposure.days,
        "--ages": exposure.ages,
    }  # fmt: skip
    for option, table in tables.items():
        arguments = ("2026-10", *filter(None, (option,)), "--format")
        rows = json.loads(shown(desk.folder, *arguments, "json"))
        assert len(rows) == len(table)
        amounts = [None if row["amount"] is None else Decimal(row["amount"]) for row in rows]
        assert amounts == table.arrow["amount"].to_pylist()
        lines = list(csv.DictReader(io.StringIO(shown(desk.folder, *arguments, "csv"))))
        assert [line["amount"] for line in lines] == [row["amount"] or "" for row in rows]
    done = CliRunner().invoke(treasury, ["--workspace", str(desk.folder), "exposure", "2026-10"])
    words = "With the provider at the end of 31 Oct: EUR 383,507.65; 21 positions"
    assert done.exit_code == 0
    assert done.stdout.startswith(words)
    assert "Bank dates have no hour" in done.stderr


def text_of(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", html))


@pytest.mark.acceptance
def test_page_workbook_letter_and_pack_show_the_same_figures(
    closed: Workspace, tmp_path: Path
) -> None:
    exposure = closed.exposure("2026-10")
    pack = closed.folder / "close" / "2026-10"
    page = text_of((pack / "report.html").read_text("utf-8"))
    section = page[page.index("By currency, and against the limits") :]
    letter = text_of(closed.confirmation_letter(tmp_path / "a.html", "2026-10").read_text("utf-8"))
    for row in exposure.currencies.arrow.to_pylist():
        if row["amount"]:
            words = format_amount(row["amount"], row["currency"])
            assert words in section
            assert words in letter
    assert "EUR 383,507.65" in section
    for row in exposure.proved.arrow.to_pylist():
        assert format_amount(row["amount"], row["currency"]) in letter
        assert row["reference"] in letter
    for row in exposure.not_provable.arrow.to_pylist():
        assert format_amount(row["in_doubt"], row["currency"]) in letter
    for words in ("383,507.64", "above", "limit"):
        assert words not in letter, "our limits are not shown to the provider"
    for name, table in (
        ("exposure", exposure.positions), ("exposure_totals", exposure.totals),
        ("exposure_days", exposure.days), ("exposure_ages", exposure.ages),
    ):  # fmt: skip
        assert pq.read_table(pack / "tables" / f"{name}.parquet").equals(table.arrow), name
    (book,) = pack.glob("*.xlsx")
    sheets = openpyxl.load_workbook(book, read_only=True)
    for title, table in exposure.sheets().items():
        heads, *rows = [list(row) for row in sheets[title].iter_rows(values_only=True)]
        place = [str(head).lower() for head in heads].index("amount")
        assert [_exact(row[place]) for row in rows if any(row)] == table.arrow["amount"].to_pylist()


def _exact(cell: Any) -> Decimal | None:
    """Return the amount in a sheet's cell, which is text if it has more than fifteen digits."""
    return None if cell is None else Decimal(str(cell).replace(",", ""))


@pytest.mark.acceptance
def test_a_closed_month_is_the_same_after_later_facts_and_another_limit(
    closed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, letter = closed.exposure("2026-10"), confirmation_letter(closed.exposure("2026-10"))
    later = Workspace(shutil.copytree(closed.folder, tmp_path / "later"))
    debits = later.lake.snapshot().sql(
        "SELECT * EXCLUDE (vanished_at, content_hash, valid_from) FROM statement_entries"
        " WHERE booking_date = DATE '2026-10-28' AND direction = 'DBIT' LIMIT 1"
    )
    place = debits.schema.get_field_index("entry_id")
    debits = debits.set_column(place, "entry_id", pa.array(["e-later"]))
    with later.lake.writer("statements", datetime(2026, 11, 21, 9, tzinfo=UTC)) as writer:
        writer.upsert(STATEMENT_ENTRIES, debits.cast(STATEMENT_ENTRIES.row_schema))
    policy = later.folder / "policy.toml"
    policy.write_text(policy.read_text("utf-8").replace("383507.64", "1.00"), "utf-8")
    later = Workspace(later.folder)
    later.exposure_limits.propose("less", actor=ANNA)
    later.exposure_limits.accept(actor=BERT)
    after = later.exposure("2026-10")
    for name in ("positions", "totals", "days", "ages"):
        assert getattr(after, name).arrow.equals(getattr(before, name).arrow), name
    assert confirmation_letter(after) == letter
    assert later.verify_pack(later.folder / "close" / "2026-10").holds


@pytest.mark.acceptance
def test_a_month_closed_by_other_models_is_shown_as_stored(
    closed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = closed.exposure("2026-10")

    def otherwise(*question: Any) -> ProviderExposure:
        made = provider_exposure(*question)
        return msgspec.structs.replace(made, days=made.days.arrow.slice(0, 1))

    monkeypatch.setattr(closing_room, "provider_exposure", otherwise)
    monkeypatch.setattr(closing_room, "_models", lambda: "another version")
    month = Workspace(closed.folder).periods.month("2026-10")
    assert "(table exposure_days: this version gives a different result)" in month.stored_by
    for name in ("positions", "totals", "days", "ages"):
        assert getattr(month.exposure, name).arrow.equals(getattr(before, name).arrow), name


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["exposure", "exposure_limits"])
def test_a_changed_exposure_in_a_pack_cannot_be_recomputed(
    closed: Workspace, tmp_path: Path, name: str
) -> None:
    copy = shutil.copytree(closed.folder / "close" / "2026-10", tmp_path / "copy")
    path = copy / "tables" / f"{name}.parquet"
    table = pq.read_table(path)
    column = "limit" if name == "exposure_limits" else "amount"
    place = table.schema.get_field_index(column)
    amounts = [None if each is None else each / 2 for each in table[column].to_pylist()]
    changed = table.set_column(
        place, table.schema.field(column), pa.array(amounts, table[column].type)
    )
    pq.write_table(changed, path)
    evidence = msgspec.json.decode((copy / EVIDENCE).read_bytes(), type=Evidence)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    files = evidence.files | {f"tables/{name}.parquet": digest}
    (copy / EVIDENCE).write_bytes(encode(msgspec.structs.replace(evidence, files=files).sealed()))
    named = {finding.what for finding in verify_pack(copy).findings}
    # Limits are an input of the recomputation, so other figures change too.
    if name == "exposure_limits":
        assert {"tables/exposure_totals.parquet", "report.html"} <= named
    else:
        assert named == {f"tables/{name}.parquet"}


@pytest.mark.acceptance
def test_a_letter_is_written_once_and_completely(
    desk: Workspace, exposure: ProviderExposure, tmp_path: Path
) -> None:
    path = tmp_path / "letter.html"
    assert shown(desk.folder, "2026-10", "--ages", "--letter", str(path))
    assert path.read_text("utf-8") == confirmation_letter(exposure)
    with pytest.raises(InputError, match="already exists"):
        desk.confirmation_letter(path, "2026-10")
    with pytest.raises(StorageError, match="cannot be written"):
        desk.confirmation_letter(tmp_path / "none" / "letter.html", "2026-10")
    assert [each.name for each in tmp_path.iterdir()] == ["letter.html"]


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("month", "left_out"), [("2026-11", "ended_requests"), ("2026-10", "plain_requests")]
)
def test_summarised_requests_change_no_figure(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch, month: str, left_out: str
) -> None:
    r = month_end.reconcile(month)
    assert r.basis is not None
    with run_on_matched(r.basis, STEPS, *READ) as steps_run:
        count = steps_run.connection.table(left_out).shape[0]
        told = steps_run.connection.table("provider_requests").shape[0]
    assert count > 5
    part = provider_exposure(r, month_end.settings.zone)
    everything = tuple(
        msgspec.structs.replace(step, sql=f"SELECT * FROM ({step.sql}) WHERE request_id IS NULL")
        if step.name == left_out
        else step
        for step in STEPS
    )
    monkeypatch.setattr(exposure_room, "STEPS", everything)
    forget_runs()
    with run_on_matched(r.basis, everything, *READ) as steps_run:
        assert steps_run.connection.table("provider_requests").shape[0] > told
    full = provider_exposure(r, month_end.settings.zone)
    for name in ("positions", "totals", "days", "ages"):
        assert getattr(part, name).arrow.equals(getattr(full, name).arrow)
    forget_runs()
