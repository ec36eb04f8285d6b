"""Gas of a sandbox month with known sums: proofs, fees, report, workbook, pack and books."""

from __future__ import annotations

import hashlib
import shutil
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import openpyxl
import pyarrow.parquet as pq
import pytest
from beancount import loader
from click.testing import CliRunner, Result
from filled import fill

from treasury.cli import treasury
from treasury.cli.commands.practice import add_wallet_files, rate_files
from treasury.close.evidence import Evidence, encode
from treasury.close.fees.gas_costs import NEITHER, gas_costs, gas_payments, paid_gas
from treasury.core.calendar import Months
from treasury.journal import Actor
from treasury.rates import ReferenceRates
from treasury.report.fee_section import gas_section
from treasury.report.pack.pack_contents import EVIDENCE
from treasury.report.pack.pack_verification import verify_pack
from treasury.sandbox import Sandbox
from treasury.sandbox.story.rates import coin_rate
from treasury.workspace import Workspace

MONTH = "2026-10"
PAID = {"ETH": Decimal("0.002"), "POL": Decimal("0.25")}
LAST, BEFORE = date(2026, 10, 31), date(2026, 9, 30)
COLD = "0xb7f0d5703ffb52c69a537fd5b51f6b6a34818f75"
POLYGON = "0x5d0c7a319e484b168f27c3a5e1d90b64a7f2c815"


HOSTILE = "=HYPERLINK(0)<script>alert(7)</script>"
CARRIED = {"ETH": "5000.00", "POL": "200.00"}
TERMS = """\
[coins]
pool = "wallet"
[coins.measured.ETH]
measurement = "profit_and_loss"
cost_formula = "fifo"
reversal = "none"
[coins.measured.POL]
measurement = "cost"
cost_formula = "weighted_average"
reversal = "none"
"""
OPENING = """\
[[coins.openings]]
coin = "{}"
day = 2026-09-30
quantity = "{}"
carrying_amount = "{}"
wallet = "{}"
"""


@pytest.fixture(scope="module")
def practice() -> Sandbox:
    return Sandbox(7, scenario="gas")


@pytest.fixture(scope="module")
def desk(practice: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk with the wallets' exports, and with the rates added last."""
    folder = tmp_path_factory.mktemp("gas")
    workspace = fill(folder, practice)
    add_wallet_files(workspace, practice)
    (rates,) = rate_files(folder)
    workspace.rates.add(rates)
    return workspace


def before(desk: Workspace, kind: str) -> Workspace:
    """Return the workspace as it was just before the first commit of a kind."""
    commits = desk.sql('SELECT "at", kind FROM commits ORDER BY number').arrow.to_pylist()
    first = next(place for place, commit in enumerate(commits) if commit["kind"] == kind)
    return desk.at(commits[first - 1]["at"])


@pytest.fixture
def copy(desk: Workspace, tmp_path: Path) -> Workspace:
    shutil.copytree(desk.folder, tmp_path / "desk")
    return Workspace(tmp_path / "desk")


@pytest.fixture(scope="module")
def closed(
    desk: Workspace, practice: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Workspace, Path]:
    """Return a desk with measured coins and a hostile hash in an export, and its closed pack."""
    folder = tmp_path_factory.mktemp("closed")
    shutil.copytree(desk.folder, folder / "desk")
    workspace = Workspace(folder / "desk")
    export = next(each for each in practice.explorer_files() if each.chain == "POLYGON")
    lines = export.content.splitlines()
    at = next(place for place, text in enumerate(lines) if "2026-10-12" in text)
    lines[at] = ",".join((f'"{HOSTILE}"', *lines[at].split(",")[1:]))
    file = folder / "<b>list.csv"
    file.write_text("\n".join((*lines, "")), "utf-8")
    span = {"first": "2026-05-01", "last": "2026-11-01"}
    workspace.wallets.add_evidence(file, chain="POLYGON", address=POLYGON, **span, replace=True)
    openings = [
        OPENING.format(each.asset, each.balance, CARRIED[each.asset], each.address)
        for each in practice.wallet_balances(BEFORE)
        if each.asset in CARRIED
    ]
    (workspace.folder / "policy.toml").write_text(TERMS + "".join(openings), "utf-8")
    workspace.measurement.propose("as agreed", actor=Actor("anna", "environment"))
    workspace.measurement.accept(actor=Actor("bert", "environment"))
    return workspace, workspace.close(MONTH).folder


def native(desk: Workspace) -> list[dict[str, Any]]:
    """Return the balances of the company wallets' native coins in October."""
    rows = desk.periods.month(MONTH).balances.arrow.to_pylist()
    return [row for row in rows if row["kind"] == "company" and row["currency"] in PAID]


@pytest.mark.acceptance
def test_each_wallets_native_coin_is_proved_including_gas(
    desk: Workspace, practice: Sandbox
) -> None:
    def truth(day: date) -> dict[tuple[str, str], Decimal]:
        return {(b.address, b.asset): b.balance for b in practice.wallet_balances(day)}

    rows = native(desk)
    assert sorted(row["currency"] for row in rows) == ["ETH", "ETH", "POL"]
    for row in rows:
        key = (row["of"], row["currency"])
        assert (row["opening"], row["closing"]) == (truth(BEFORE)[key], truth(LAST)[key])
        assert row["gas"] > 0
        left = row["money_out"] + row["gas"]
        assert row["opening"] + row["money_in"] - left == row["closing"]
        assert (row["proved"], row["blocks"], row["unexplained"]) == (True, False, 0)
        assert row["proved_by"] == "explorer export and stated balance"
    others = desk.periods.month(MONTH).balances.arrow.to_pylist()
    assert {row["gas"] for row in others if row["currency"] not in PAID} == {None}


@pytest.mark.acceptance
def test_a_closing_balance_that_leaves_out_the_gas_blocks(copy: Workspace) -> None:
    (row,) = [row for row in native(copy) if row["of"] == POLYGON]
    copy.wallets.add_balance(
        row["closing"] + row["gas"],
        "POL",
        chain="POLYGON",
        address=POLYGON,
        at=str(LAST),
        source="read off",
    )
    (row,) = [row for row in native(copy) if row["of"] == POLYGON]
    assert (row["proved"], row["blocks"]) == (False, True)
    assert row["problem"] == "stated balances and the movements between do not fit"


@pytest.mark.acceptance
def test_an_export_without_gas_does_not_prove_native_coin(
    tmp_path: Path, month_end: Workspace
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    where = {"chain": "BASE", "address": COLD}
    plain = tmp_path / "plain.csv"
    head = "hash,time,from,to,asset,amount"
    plain.write_text(f"{head}\n0x1,2026-10-06T09:00Z,{COLD},{POLYGON},ETH,0.5\n", "utf-8")
    desk.wallets.add_evidence(plain, **where, first="2026-10-01", last="2026-10-31")
    desk.wallets.add_balance("2", "ETH", **where, at=str(BEFORE), source="read off")
    (row,) = native(desk)
    assert (row["proved"], row["gas"], row["closing"]) == (False, None, None)
    assert row["problem"] == "its export does not name the gas that was paid"
    assert "list of transactions" in row["next_step"]
    named = tmp_path / "named.csv"
    named.write_text(f"{head},gas\n0x1,2026-10-06T09:00Z,{COLD},{POLYGON},ETH,0.5,0.001\n", "utf-8")
    desk.wallets.add_evidence(named, **where, first="2026-10-01", last="2026-10-31")
    (row,) = native(desk)
    assert (row["proved"], row["gas"]) == (True, Decimal("0.001"))
    assert row["closing"] == Decimal("1.499")


@pytest.mark.acceptance
def test_every_transaction_counts_once_under_its_use(desk: Workspace) -> None:
    gas = desk.fees(MONTH).gas
    rows = gas.by_use.arrow.to_pylist()
    uses = {(row["used_for"], row["coin"]) for row in rows}
    assert uses == {("request", "ETH"), ("transfer", "ETH"), (NEITHER, "ETH"), (NEITHER, "POL")}
    for row in rows:
        own = [
            each
            for each in gas.each.arrow.to_pylist()
            if (each["used_for"], each["coin"]) == (row["used_for"], row["coin"])
        ]
        assert row["payments"] == len(own)
        assert row["gas"] == len(own) * PAID[row["coin"]]
        worth = sum(
            Fraction(each["gas"]) * Fraction(coin_rate(each["coin"], each["paid_on"]))
            for each in own
        )
        assert abs(Fraction(row["gas_value"]) - worth) <= Fraction(1, 200)
        assert row["not_valued"] == 0
    # Each of the three wallets has one failed transaction.
    assert sum(row["failed"] for row in rows) == 3
    hashes = gas.each.arrow["transaction_hash"].to_pylist()
    assert len(hashes) == len(set(hashes)) == sum(row["payments"] for row in rows)
    (source,) = gas.rests_on
    assert source == f"coins.csv, to {max(gas.each.arrow['paid_on'].to_pylist())}"


@pytest.mark.acceptance
def test_gas_names_its_request_or_transfer(desk: Workspace) -> None:
    requests = desk.sql(
        "SELECT id, payment_reference, blockchain_transaction_hash AS hash FROM ramp_requests"
        " WHERE ramp_type = 'OFF_RAMP'"
    ).arrow.to_pylist()
    transfers = desk.sql("SELECT id, transaction_hash AS hash FROM transfers").arrow.to_pylist()
    by_hash = {row["hash"]: row["id"] for row in (*requests, *transfers) if row["hash"]}
    for row in desk.fees(MONTH).gas.each.arrow.to_pylist():
        assert row["source_id"] == by_hash.get(row["transaction_hash"], "")
        assert (row["shared_by"] == 0) is (row["used_for"] == NEITHER)
    names = {row["payment_reference"] for row in requests}
    shown = [
        row["reference"]
        for row in desk.fees(MONTH).gas.each.arrow.to_pylist()
        if row["used_for"] == "request"
    ]
    assert len(shown) == 12
    assert set(shown) <= names


@pytest.mark.acceptance
def test_a_range_of_months_has_the_gas_of_each_month(desk: Workspace) -> None:
    several = desk.fees("2026-09..2026-10").gas
    one = [desk.fees(month).gas for month in ("2026-09", MONTH)]
    assert several.by_use.arrow.to_pylist() == [
        row for gas in one for row in gas.by_use.arrow.to_pylist()
    ]
    assert len(several.each) == sum(len(gas.each) for gas in one)


@pytest.mark.acceptance
def test_gas_without_a_rate_is_counted_separately_and_never_as_zero(desk: Workspace) -> None:
    unrated = before(desk, "rates")
    gas = unrated.fees(MONTH).gas
    assert gas.value is None
    assert gas.not_valued == len(gas.each) == sum(gas.by_use.arrow["not_valued"].to_pylist())
    for row in gas.each.arrow.to_pylist():
        assert row["gas_value"] is None
        assert row["not_valued"].startswith("no reference rate: no file has ")
    assert f"{gas.not_valued} without a reference rate, not included" in gas.title
    section = gas_section(gas)
    assert [row[5].text for row in section.grids[0].rows] == ["no reference rate"] * 4


@pytest.mark.acceptance
def test_gas_on_days_without_a_rate_is_not_valued(desk: Workspace) -> None:
    day = date(2026, 10, 5)
    stored = {
        "publisher": "company",
        "day": day,
        "observed_at": None,
        "base": "ETH",
        "quote": "EUR",
        "rate": Decimal(2000),
        "source": "own.csv",
    }
    rates = ReferenceRates(
        at_par={}, stored=lambda code: [stored] if code == "ETH" else [], brought=lambda: None
    )
    uses = paid_gas(desk.snapshot(), Months.parse(MONTH), desk.settings.zone)
    gas = gas_costs(gas_payments(uses, rates))
    valued = [row for row in gas.each.arrow.to_pylist() if not row["not_valued"]]
    assert {(row["coin"], row["paid_on"], row["gas_value"]) for row in valued} == {("ETH", day, 4)}
    assert gas.value == 4 * len(valued)
    assert gas.not_valued == len(gas.each) - len(valued)
    absent = {row["not_valued"] for row in gas.each.arrow.to_pylist() if row["coin"] == "ETH"}
    assert "no reference rate of ETH for 2026-10-12" in absent


def run(workspace: Workspace, *arguments: str) -> Result:
    command = ["-w", str(workspace.folder), *arguments]
    return CliRunner().invoke(treasury, command)


@pytest.mark.acceptance
def test_the_command_shows_gas_and_refuses_contradictory_options(
    desk: Workspace, month_end: Workspace
) -> None:
    gas = desk.fees(MONTH).gas
    shown = run(desk, "fees", "--month", MONTH, "--gas")
    assert f"Gas of October 2026: {gas.title}" in shown.stdout
    assert "PAY-2026-" in shown.stdout
    table = run(desk, "fees", "--month", MONTH, "--gas", "--format", "csv").stdout
    assert table.splitlines()[0] == ",".join(f'"{name}"' for name in gas.by_use.arrow.column_names)
    assert len(table.splitlines()) == len(gas.by_use) + 1
    both = run(desk, "fees", "--month", MONTH, "--gas", "--cost")
    assert both.exit_code != 0
    assert "give one" in str(both.exception)
    assert "no gas is known" in run(month_end, "fees", "--month", MONTH, "--gas").stdout


@pytest.mark.acceptance
def test_report_workbook_and_pack_show_gas_and_the_pack_is_verified(
    closed: tuple[Workspace, Path], tmp_path: Path
) -> None:
    workspace, pack = closed
    gas = workspace.fees(MONTH).gas
    page = (pack / "report.html").read_text("utf-8")
    assert 'id="gas"' in page
    assert f"{gas.title}." in page
    book = openpyxl.load_workbook(next(pack.glob("*.xlsx")), read_only=True)
    for sheet, table in (("Gas", gas.by_use), ("Gas payments", gas.each)):
        assert sum(any(cell.value for cell in row) for row in book[sheet].rows) > len(table)
    assert "Gas" in [cell.value for row in book["Balances"].rows for cell in row]
    for name, table in (("gas_costs", gas.by_use), ("gas_payments", gas.each)):
        assert pq.read_table(pack / "tables" / f"{name}.parquet").equals(table.arrow)
    again = verify_pack(pack)
    assert (again.findings, again.notes) == ((), ())
    # An attacker removes a payment from the table and seals the evidence again.
    tampered = shutil.copytree(pack, tmp_path / "pack")
    costs = tampered / "tables" / "gas_payments.parquet"
    pq.write_table(pq.read_table(costs).slice(1), costs, compression="zstd")
    evidence = msgspec.json.decode((tampered / EVIDENCE).read_bytes(), type=Evidence)
    digest = hashlib.sha256(costs.read_bytes()).hexdigest()
    files = evidence.files | {"tables/gas_payments.parquet": digest}
    sealed = msgspec.structs.replace(evidence, files=files).sealed()
    (tampered / EVIDENCE).write_bytes(encode(sealed))
    found = [finding.what for finding in verify_pack(tampered).findings]
    assert found == ["tables/gas_payments.parquet"]


@pytest.mark.acceptance
def test_hostile_text_is_escaped_in_every_output(
    closed: tuple[Workspace, Path],
) -> None:
    workspace, pack = closed
    assert "<script>alert(7)" not in (pack / "report.html").read_text("utf-8")
    book = openpyxl.load_workbook(next(pack.glob("*.xlsx")), read_only=True)
    cells = [cell for row in book["Gas payments"].rows for cell in row]
    (hostile,) = [cell for cell in cells if "HYPERLINK" in str(cell.value)]
    assert hostile.data_type == "s"
    query = "SELECT transaction_hash FROM wallet_gas"
    assert "'=HYPERLINK" in run(workspace, "sql", query, "--format", "csv").stdout


@pytest.mark.acceptance
def test_gas_of_measured_coins_is_a_disposal_and_an_expense(
    closed: tuple[Workspace, Path],
) -> None:
    workspace, _ = closed
    closing = workspace.periods.month(MONTH)
    proved = {(row["of"], row["currency"]): row["closing"] for row in native(workspace)}
    pools = closing.coins.measured.arrow.to_pylist()
    assert {(row["pool"], row["coin"]): row["closing_quantity"] for row in pools} == proved
    assert {row["problem"] for row in pools} == {""}
    burnt = [row for row in closing.coins.movements.arrow.to_pylist() if row["contra"] == "gas"]
    assert {row["kind"] for row in burnt} == {"disposed"}
    paid = closing.fees.gas.each.arrow.to_pylist()
    assert sorted(row["source_id"] for row in burnt) == sorted(
        row["transaction_hash"].lower() for row in paid
    )
    for coin, each in PAID.items():
        own = [row for row in burnt if row["coin"] == coin]
        assert {row["quantity"] for row in own} == {-each}
    books = workspace.accounting(MONTH)
    expense = [row for row in books.postings.arrow.to_pylist() if row["role"] == "gas"]
    worth = {row["transaction_hash"].lower(): row["gas_value"] for row in paid}
    posted = {row["source_ids"][0]: row["amount"] for row in expense}
    assert posted == {name: value for name, value in worth.items() if value}
    path = books.write_beancount(workspace.folder / "books.beancount")
    assert "Expenses:Gas" in path.read_text("utf-8")
    _, errors, _ = loader.load_file(str(path))
    assert errors == []
    assert '"gas" = ""' in books.mapping()


@pytest.mark.acceptance
def test_an_unmeasured_native_coin_is_disclosed_and_not_posted(desk: Workspace) -> None:
    closing = desk.periods.month(MONTH)
    assert len(closing.coins.measured) == len(closing.coins.movements) == 0
    disclosed = [row for row in closing.coins.disclosed.arrow.to_pylist() if row["coin"] in PAID]
    closed = {(row["of"], row["currency"]): row["closing"] for row in native(desk)}
    assert {(row["pool"], row["coin"]): row["closing_quantity"] for row in disclosed} == closed
    assert not [
        row for row in desk.accounting(MONTH).postings.arrow.to_pylist() if row["role"] == "gas"
    ]


@pytest.mark.acceptance
def test_before_the_exports_were_added_no_gas_is_known(desk: Workspace) -> None:
    gas = before(desk, "wallets").fees(MONTH).gas
    assert len(gas.each) == 0
    assert gas.title == "no gas"
    assert "treasury wallets add" in gas_section(gas).lead
