"""The explorer's wallet exports follow from the seed and the records."""

from __future__ import annotations

import csv
import io
import zipfile
from datetime import date
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.sandbox import Sandbox
from treasury.sandbox.serve.explorer import ExplorerFile

LAST = date(2026, 10, 31)


def rows_of(export: ExplorerFile) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(export.content)))


def test_exports_depend_only_on_the_seed_and_do_not_change_the_story() -> None:
    first, second, other = Sandbox(7), Sandbox(7), Sandbox(8)
    truth = first.truth()
    assert first.explorer_files() == second.explorer_files()
    assert first.explorer_files() != other.explorer_files()
    assert first.truth() == truth
    names = [(export.chain, export.name.rpartition("_")[2]) for export in first.explorer_files()]
    assert names == [
        ("BASE", "transactions.csv"),
        ("BASE", "tokens.csv"),
        ("ETHEREUM", "transactions.csv"),
        ("ETHEREUM", "tokens.csv"),
    ]


def test_each_list_explains_the_balances_by_incoming_outgoing_and_failed_transactions() -> None:
    company = Sandbox(7, scenario="gas")
    opened = {(b.address, b.asset): b.balance for b in company.wallet_balances(date(2026, 4, 30))}
    now = {(b.address, b.asset): b.balance for b in company.wallet_balances(company.now.date())}
    lists = [export for export in company.explorer_files() if not export.tokens]
    assert [export.chain for export in lists] == ["BASE", "ETHEREUM", "POLYGON"]
    for export in lists:
        coin = "POL" if export.chain == "POLYGON" else "ETH"
        balance = opened[export.address, coin]
        rows = rows_of(export)
        for row in rows:
            if row["From"] == export.address:
                assert row[f"TxnFee({coin})"] == ("0.25" if coin == "POL" else "0.002")
                balance -= Decimal(row[f"TxnFee({coin})"])
            if row["Status"] != "Error(0)":
                balance += Decimal(row[f"Value_IN({coin})"]) - Decimal(row[f"Value_OUT({coin})"])
        assert balance == now[export.address, coin]
        assert {row["Status"] for row in rows} == {"", "Error(0)"}
        itself = [row for row in rows if row["From"] == row["To"]]
        assert itself
        assert all(row[f"Value_IN({coin})"] == row[f"Value_OUT({coin})"] for row in itself)


@pytest.mark.acceptance
def test_every_off_ramp_with_a_hash_has_a_gas_fee_with_that_hash() -> None:
    company = Sandbox(7)
    with company.serve() as served:
        client_id, secret = company.credentials["maker"]
        body = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        token = httpx.post(served.token_url, data=body).json()["access_token"]
        headers = {"Authorization": f"Bearer {token}"}
        place, asked = f"{served.ramp_url}/ramp-requests", {"rampType": "OFF_RAMP", "size": 20}
        listed = httpx.get(place, params=asked, headers=headers).json()["result"]
        records = [
            httpx.get(f"{place}/{item['id']}", headers=headers).json()["result"] for item in listed
        ]
        archive = httpx.get(f"{served.base_url}/sandbox/explorer-files").content
    with zipfile.ZipFile(io.BytesIO(archive)) as zipped:
        contents = {name: zipped.read(name).decode() for name in zipped.namelist()}
    assert contents == {export.name: export.content for export in company.explorer_files()}
    paid = {
        row["Transaction Hash"]
        for export in company.explorer_files()
        if not export.tokens
        for row in rows_of(export)
        if row["From"] == export.address
    }
    hashes = {record.get("blockchainTransactionHash") for record in records} - {None, ""}
    assert len(hashes) > 5
    assert hashes <= paid


def test_the_command_writes_the_explorer_files(tmp_path: Path) -> None:
    shown = CliRunner().invoke(treasury, ["sandbox", "--help"]).stdout
    assert "--explorer-files" in shown
    company = Sandbox(7)
    written = company.write_explorer_files(tmp_path / "explorer")
    assert [path.name for path in written] == [each.name for each in company.explorer_files()]
    assert written[0].read_text("utf-8") == company.explorer_files()[0].content
