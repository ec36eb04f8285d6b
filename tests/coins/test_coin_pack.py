"""Coins in the report, the workbook, the pack and the command; changes that `verify` finds."""

from __future__ import annotations

import hashlib
import json
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path

import msgspec
import openpyxl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from coin_desk import history_of, policy_text, under

from treasury.cli import treasury
from treasury.close.closing import Closing
from treasury.close.evidence import Evidence, encode
from treasury.close.valuation.coins.coin_accounts import coin_accounts
from treasury.rates import ReferenceRates
from treasury.report.coin_section import coins_section
from treasury.report.grids import Section
from treasury.report.pack.pack_contents import EVIDENCE
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace

TABLES = {"coins": "coins", "coin_movements": "movements", "coins_unproved": "unproved"}


@pytest.fixture(scope="module")
def pack(tied: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tied.close("2026-10", tmp_path_factory.mktemp("pack") / "pack").folder


def cells(section: Section) -> list[list[str]]:
    return [[cell.text for cell in row] for grid in section.grids for row in grid.rows]


@pytest.mark.acceptance
def test_the_section_has_a_table_for_each_status(october_tied: Closing) -> None:
    section = coins_section(october_tied.coins)
    assert [grid.caption.partition(":")[0] for grid in section.grids] == [
        "Measured", "Disclosed", "Not proved",
    ]  # fmt: skip
    assert "6 pools measured, 1 balance disclosed" in section.lead
    (eurc,) = [row for row in cells(section) if row[:2] == ["EURC", "EURC 49,157.600000"]]
    assert eurc[2:] == [
        "49,000.00", "0.00", "5,257.60", "0.00", "5,978.00", "804.26", "EUR 49,083.86", "122.00",
        "49,083.86", "ties",
    ]  # fmt: skip
    notes = [cell.note for grid in section.grids for row in grid.rows for cell in row]
    assert any("an assumption, not a fair value" in note for note in notes)
    assert any("moved over the month's end" in note for note in section.notes)


@pytest.mark.acceptance
def test_without_coins_the_section_says_so(october: Closing) -> None:
    coins = msgspec.structs.replace(
        october.coins,
        coins=october.coins.coins.arrow[:0],
        unproved=october.coins.unproved.arrow[:0],
    )
    section = coins_section(coins)
    assert (section.lead, section.grids, section.notes) == (
        "No coins at the month's end.", (), (),
    )  # fmt: skip


@pytest.mark.acceptance
def test_a_balance_without_a_rate_has_no_value_and_says_why(october: Closing) -> None:
    nothing = ReferenceRates(at_par={}, stored=lambda _: ())
    coins = coin_accounts(
        october.r, october.zone, october.balances.arrow, october.rolled.coins, rates=nothing
    )
    assert coins.coins.arrow["value"].null_count == len(coins.coins) == 4
    rows = [row for grid in coins_section(coins).grids[:1] for row in grid.rows]
    assert {(row[2].text, row[3].text) for row in rows} == {("–", "none")}
    assert all(row[3].note.startswith("not provable: no file has") for row in rows)
    past = ReferenceRates(at_par={"USDC": "USD"}, stored=lambda _: ())
    assert past.absence("USDC", date(2031, 1, 2)) == "no reference rate of USDC for 2031-01-02"


def test_a_problem_is_shown_in_its_row(
    october: Closing, unmeasured: Workspace, tmp_path: Path
) -> None:
    text = policy_text(unmeasured, {"USDT": ("cost", "fifo", "none")}, openings={})
    section = coins_section(under(october, history_of(text, tmp_path / "terms")).coins)
    assert "the pool has USDT 0.000000, the proved balances USDT 124,775.240000" in [
        text for row in cells(section) for text in row
    ]


@pytest.mark.acceptance
def test_page_workbook_and_pack_contain_the_figures_of_the_result(
    pack: Path, october_tied: Closing
) -> None:
    page = (pack / "report.html").read_text("utf-8")
    assert '<section id="coins"' in page
    assert "EUR 49,083.86" in page
    for name, field in TABLES.items():
        table = getattr(october_tied.coins, field)
        assert pq.read_table(pack / "tables" / f"{name}.parquet").equals(table.arrow), name
    book = openpyxl.load_workbook(pack / "close.xlsx", read_only=True)
    rows = {name: list(book[name].iter_rows(values_only=True)) for name in book.sheetnames}
    for sheet, field in zip(
        ("Coins", "Coin movements", "Coins not proved"), TABLES.values(), strict=True
    ):
        assert len(rows[sheet]) >= len(getattr(october_tied.coins, field)) + 1, sheet
    assert any("49083.86" in map(str, row) for row in rows["Coins"])
    assert "Assets:Coins:USDC" in (pack / "month.beancount").read_text("utf-8")
    assert verify_pack(pack).findings == ()


def resealed(folder: Path, *names: str) -> None:
    """Update the hashes of files and seal the evidence again, as an attacker would."""
    evidence = msgspec.json.decode((folder / EVIDENCE).read_bytes(), type=Evidence)
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    sealed = msgspec.structs.replace(evidence, files=evidence.files | hashes).sealed()
    (folder / EVIDENCE).write_bytes(encode(sealed))


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["coins", "coin_movements", "coins_unproved"])
def test_a_changed_coin_table_is_found_even_if_it_was_resealed(
    pack: Path, tmp_path: Path, name: str
) -> None:
    copy = shutil.copytree(pack, tmp_path / "copy")
    path = copy / "tables" / f"{name}.parquet"
    table = pq.read_table(path)
    column = "closing" if name == "coins" else "quantity"
    more = [None if one is None else one + Decimal("0.01") for one in table[column].to_pylist()]
    at = table.schema.get_field_index(column)
    changed = pa.array(more, table.schema.field(column).type)
    pq.write_table(table.set_column(at, column, changed), path)
    assert f"tables/{name}.parquet" in [one.what for one in verify_pack(copy).findings]
    # Verification recomputes every table, so one resealed table is enough.
    if name == "coins":
        resealed(copy, f"tables/{name}.parquet")
        told = {one.what: one.problem for one in verify_pack(copy).findings}
        assert told == {f"tables/{name}.parquet": "is not reproduced from its inputs"}


@pytest.mark.acceptance
def test_a_changed_table_is_found_even_if_the_evidence_names_other_code(
    pack: Path, tmp_path: Path
) -> None:
    """Other code may write other bytes, so the table itself is compared with its hash."""
    copy = shutil.copytree(pack, tmp_path / "copy")
    evidence = msgspec.json.decode((copy / EVIDENCE).read_bytes(), type=Evidence)
    other = msgspec.structs.replace(evidence.code, version="0.0.1")
    (copy / EVIDENCE).write_bytes(encode(msgspec.structs.replace(evidence, code=other).sealed()))
    verified = verify_pack(copy)
    assert verified.findings == ()
    assert "tables were compared, the bytes of files were not" in verified.notes[0]
    path = copy / "tables" / "coin_movements.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    resealed(copy, "tables/coin_movements.parquet")
    told = {one.what: one.problem for one in verify_pack(copy).findings}
    problem = "differs from the table hash in the evidence"
    assert told == {"tables/coin_movements.parquet": problem}


@pytest.mark.acceptance
def test_terms_changed_in_the_pack_do_not_give_its_figures(pack: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(pack, tmp_path / "copy")
    path = copy / "tables" / "coins_measured.parquet"
    table = pq.read_table(path)
    at = table.schema.get_field_index("cost_formula")
    pq.write_table(table.set_column(at, "cost_formula", [["fifo"] * table.num_rows]), path)
    resealed(copy, "tables/coins_measured.parquet")
    told = {one.what for one in verify_pack(copy).findings}
    assert {"tables/coins.parquet", "table postings"} <= told


@pytest.mark.first_case
@pytest.mark.parametrize("form", ["table", "csv", "json", "parquet"])
def test_the_command_prints_coins_in_every_format(
    tied: Workspace, october_tied: Closing, tmp_path: Path, form: str
) -> None:
    def run(*options: str) -> bytes:
        words = ["-w", str(tied.folder), "coins", "show", "2026-10", *options, "--format", form]
        done = CliRunner().invoke(treasury, words, catch_exceptions=False)
        assert done.exit_code == 0
        return done.stdout_bytes

    shown = run()
    if form == "parquet":
        assert pq.read_table(pa.BufferReader(shown)).num_rows == 7
    elif form == "json":
        rows = json.loads(shown)
        assert rows[0]["closing"] == "49083.86"
        assert len(json.loads(run("--unproved"))) == 4
        movements = json.loads(run("--movements"))
        assert len(movements) == len(october_tied.coins.movements)
    else:
        text = shown.decode()
        assert "company wallet on ETHEREUM" in text
        assert ("EUR 49,083.86" if form == "table" else '"49083.86"') in text


def test_the_command_shows_one_table_at_a_time(tied: Workspace) -> None:
    words = ["-w", str(tied.folder), "coins", "show", "2026-10", "--movements", "--unproved"]
    done = CliRunner().invoke(treasury, words)
    assert done.exit_code == 2
    assert "show different tables" in done.output


def test_a_result_displays_itself_and_exports_to_pandas_and_excel(
    october_tied: Closing, tmp_path: Path
) -> None:
    coins = october_tied.coins
    assert repr(coins) == "<Coins at 31 Oct 2026: 6 pools measured, 1 balance disclosed>"
    assert "moved over the month" in coins._repr_html_()
    assert set(coins.sheets()) == {"Coins", "Movements", "Unproved"}
    assert "coin_events" in coins.sql
    kinds = pc.unique(coins.movements.arrow["kind"]).to_pylist()
    assert set(kinds) == {"acquired", "disposed", "transferred", "remeasured"}
