"""Company wallets count as delivered by the service until an export and a balance prove it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.core.errors import InputError
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace

HEAD = "hash,time,from,to,asset,amount"
OTHER = "0x00000000000000000000000000000000000000aa"
OCTOBER = {"first": "2026-10-01", "last": "2026-10-31"}


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("TREASURY_USER", "anna")
    shutil.copytree(month_end.folder, tmp_path / "desk")
    return Workspace(tmp_path / "desk")


@pytest.fixture
def delivered(desk: Workspace) -> list[dict[str, Any]]:
    """Return the service's deliveries to the company's wallet on BASE in October."""
    return desk.sql(
        "SELECT * FROM ramp_requests WHERE ramp_type = 'ON_RAMP' AND status = 'SUCCEEDED'"
        " AND company_wallet_chain = 'BASE' AND completed_at >= '2026-09-30 22:00:00+00'"
        " AND completed_at < '2026-10-31 23:00:00+00' ORDER BY completed_at, id"
    ).arrow.to_pylist()


@pytest.fixture
def wallet(delivered: list[dict[str, Any]]) -> dict[str, str]:
    (address,) = {row["company_wallet_address"] for row in delivered}
    return {"chain": "BASE", "address": address}


def line(row: dict[str, Any], **changed: Any) -> str:
    """Return the line of an export for a delivery, with changes."""
    values = {
        "hash": row["blockchain_transaction_hash"],
        "time": (row["completed_at"] - timedelta(minutes=5)).isoformat(),
        "from": OTHER,
        "to": row["company_wallet_address"].upper().replace("0X", "0x"),
        "asset": row["crypto_currency"],
        "amount": f"{row['crypto_amount'].normalize():f}",
    }
    return ",".join((values | changed).values())


@pytest.fixture
def export(tmp_path: Path) -> Callable[..., Path]:
    def written(*lines: str, head: str = HEAD, name: str = "export.csv") -> Path:
        path = tmp_path / name
        path.write_text("\n".join((head, *lines, "")), "utf-8")
        return path

    return written


def account(desk: Workspace, address: str) -> dict[str, Any]:
    rows = desk.periods.month("2026-10").balances.arrow.to_pylist()
    (found,) = [row for row in rows if row["of"].lower() == address.lower()]
    return found


@pytest.mark.acceptance
def test_without_evidence_the_services_delivery_counts_and_nothing_blocks(
    desk: Workspace, wallet: dict[str, str]
) -> None:
    row = account(desk, wallet["address"])
    assert row["proved_by"] == "service says delivered"
    assert "treasury wallets add" in row["next_step"]
    assert (row["proved"], row["blocks"], row["opening"], row["closing"]) == (
        False,
        False,
        None,
        None,
    )


@pytest.mark.acceptance
def test_an_export_and_a_stated_balance_prove_the_wallet(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    spent = f"0xfe,2026-10-30T09:00Z,{wallet['address']},{OTHER},USDC,400.25"
    file = export(*map(line, delivered), spent)
    added = desk.wallets.add_evidence(file, **wallet, **OCTOBER)
    assert len(added.movements) == len(delivered) + 1
    seen = account(desk, wallet["address"])
    assert (
        seen["proved_by"] == f"explorer export, for {len(delivered)} of {len(delivered)} deliveries"
    )
    assert (seen["proved"], seen["blocks"]) == (False, False)
    assert "treasury wallets balance" in seen["next_step"]
    desk.wallets.add_balance("1000", "USDC", **wallet, at="2026-09-30", source="read on Basescan")
    row = account(desk, wallet["address"])
    came = sum(one["crypto_amount"] for one in delivered)
    assert row["proved_by"] == "explorer export and stated balance"
    assert (row["proved"], row["blocks"], row["unexplained"]) == (True, False, 0)
    assert (row["opening"], row["money_in"], row["money_out"]) == (1000, came, Decimal("400.25"))
    assert row["closing"] == 1000 + came - Decimal("400.25")
    pack = desk.close("2026-10")
    assert "explorer export and stated balance" in pack.report.read_text("utf-8")
    assert (pack.folder / "inputs" / "wallet_movements.parquet").is_file()
    assert verify_pack(pack.folder).holds


@pytest.mark.acceptance
def test_stated_balances_alone_prove_a_delivery_or_show_the_missing_amount(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str]
) -> None:
    came = sum(one["crypto_amount"] for one in delivered)
    desk.wallets.add_balance("5", "USDC", **wallet, at="2026-09-30", source="wallet app")
    desk.wallets.add_balance(came + 5, "USDC", **wallet, at="2026-10-31", source="wallet app")
    row = account(desk, wallet["address"])
    assert (row["proved_by"], row["unexplained"]) == ("stated balances", 0)
    desk.wallets.add_balance(came - 2, "USDC", **wallet, at="2026-10-31", source="wallet app")
    row = account(desk, wallet["address"])
    assert (row["proved"], row["blocks"], row["unexplained"]) == (False, True, -7)
    blocking = [str(item) for item in desk.open_items("2026-10").blocking]
    assert any("coins came or went that no evidence shows" in one for one in blocking)


@pytest.mark.acceptance
def test_a_delivery_that_the_export_lacks_blocks_the_close_by_name_and_amount(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    missing, *others = delivered[1:]
    desk.wallets.add_evidence(
        export(*map(line, [delivered[0], *others])), **wallet, first="2026-09-01", last="2026-11-01"
    )
    row = account(desk, wallet["address"])
    assert (row["proved"], row["blocks"]) == (False, True)
    assert missing["payment_reference"] in row["problem"]
    shown = desk.trace(missing["payment_reference"])
    assert any("the chain does not show" in hop.says for hop in shown.gaps)
    there = desk.trace(delivered[0]["payment_reference"])
    assert [hop.state for hop in there.hops if "the chain shows" in hop.says] == ["seen"]


@pytest.mark.acceptance
def test_a_delivery_of_another_amount_is_not_seen(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    one = delivered[0]
    short = line(one, amount="1.5")
    desk.wallets.add_evidence(export(short), **wallet, first="2026-09-01", last="2026-11-01")
    assert account(desk, wallet["address"])["blocks"]
    (hop,) = [hop for hop in desk.trace(one["payment_reference"]).hops if "chain shows" in hop.says]
    assert hop.state == "conflict"
    assert "is recorded for this hash" in hop.says


@pytest.mark.acceptance
def test_the_same_evidence_again_adds_nothing_and_another_balance_is_remembered(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    file = export(*map(line, delivered))
    assert "movements new" in str(desk.wallets.add_evidence(file, **wallet, **OCTOBER))
    again = desk.wallets.add_evidence(file, **wallet, **OCTOBER)
    assert "known before" in str(again)
    overlapping = desk.wallets.add_evidence(
        export(*map(line, delivered), name="other.csv"), **wallet, **OCTOBER
    )
    assert len(overlapping.movements) == 0
    assert desk.table("wallet_movements").arrow.num_rows == len(delivered)
    assert desk.table("wallet_movements_history").arrow.num_rows == 0
    for balance in ("5", "6"):
        desk.wallets.add_balance(balance, "USDC", **wallet, at="2026-10-31", source="wallet app")
    stated = [row for row in desk.wallets.list().arrow.to_pylist() if row["kind"] == "balance"]
    assert [(row["balance"], row["stated_by"]) for row in stated] == [(6, "anna")]
    assert desk.table("wallet_evidence_history").arrow.to_pylist()[0]["balance"] == 5


@pytest.mark.acceptance
def test_an_export_without_earlier_lines_is_refused_until_confirmed(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    lines = [*map(line, delivered)]
    desk.wallets.add_evidence(export(*lines), **wallet, **OCTOBER)
    fewer = export(*lines[1:], name="filtered.csv")
    with pytest.raises(InputError, match=delivered[0]["blockchain_transaction_hash"]):
        desk.wallets.add_evidence(fewer, **wallet, **OCTOBER)
    assert desk.wallets.list().arrow.num_rows == 1
    desk.wallets.add_evidence(fewer, **wallet, **OCTOBER, replace=True)
    kept = desk.sql("SELECT * FROM wallet_movements WHERE vanished_at IS NULL").arrow.num_rows
    assert kept == len(lines) - 1


WRONG: Final = (
    ({"to": OTHER}, "line 2: neither from nor to"),
    ({"amount": "1,5"}, "line 2: 7 cells"),
    ({"amount": "-1"}, "line 2, amount: -1 is negative"),
    ({"amount": "many"}, "line 2, amount: 'many' is not a number"),
    ({"time": "5 Oct"}, "line 2, time: '5 Oct' is not a date and time"),
    ({"time": "2026-09-15T10:00Z"}, "line 2: 2026-09-15 10:00 UTC is outside"),
    ({"hash": ""}, "line 2: hash is empty"),
)


@pytest.mark.acceptance
def test_an_invalid_line_is_named_and_nothing_is_stored(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    for changed, told in WRONG:
        with pytest.raises(InputError, match=told):
            desk.wallets.add_evidence(export(line(delivered[0], **changed)), **wallet, **OCTOBER)
    assert desk.wallets.list().arrow.num_rows == 0


def test_a_repeated_line_is_refused_unless_an_index_distinguishes_it(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    one = line(delivered[0])
    with pytest.raises(InputError, match="line 3: repeats line 2"):
        desk.wallets.add_evidence(export(one, one), **wallet, **OCTOBER)
    file = export(f"{one},7", f"{one},8", head=f"{HEAD},index")
    assert desk.wallets.add_evidence(file, **wallet, **OCTOBER).movements.arrow.num_rows == 2


@pytest.mark.acceptance
def test_a_wallet_that_is_not_the_companys_and_a_day_to_come_are_refused(
    desk: Workspace, wallet: dict[str, str], export: Any
) -> None:
    with pytest.raises(InputError, match="not a wallet of the company"):
        desk.wallets.add_evidence(export(), chain="BASE", address=OTHER, **OCTOBER)
    with pytest.raises(InputError, match="has no movement"):
        desk.wallets.add_evidence(export(), **wallet)
    with pytest.raises(InputError, match="an export cannot cover"):
        desk.wallets.add_evidence(
            export(), **wallet, first="2026-10-01", last="2026-12-31", assets=["USDC"]
        )
    with pytest.raises(InputError, match="is in the future"):
        desk.wallets.add_balance("1", "USDC", **wallet, at="2026-12-31", source="wallet app")
    with pytest.raises(InputError, match="needs a source"):
        desk.wallets.add_balance("1", "USDC", **wallet, at="2026-10-31", source=" ")
    with pytest.raises(InputError, match="cannot add evidence"):
        desk.at("2026-11-01T09:00Z").wallets.add_balance(
            "1", "USDC", **wallet, at="2026-10-31", source="wallet app"
        )


@pytest.mark.acceptance
def test_an_export_without_movements_is_evidence_that_none_happened(
    desk: Workspace, export: Any, delivered: list[dict[str, Any]], wallet: dict[str, str]
) -> None:
    desk.wallets.add_evidence(export(), **wallet, **OCTOBER, assets=["EURC"])
    desk.wallets.add_balance("0", "EURC", **wallet, at="2026-09-30", source="wallet app")
    rows = desk.periods.month("2026-10").balances.arrow.to_pylist()
    (row,) = [one for one in rows if (one["kind"], one["currency"]) == ("company", "EURC")
              and one["of"] == wallet["address"]]  # fmt: skip
    assert (row["proved"], row["opening"], row["money_in"], row["closing"]) == (True, 0, 0, 0)
    assert delivered


@pytest.mark.acceptance
def test_evidence_is_known_from_when_it_was_added(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    before = desk.snapshot().commit
    assert before is not None
    desk.wallets.add_evidence(export(*map(line, delivered)), **wallet, **OCTOBER)
    earlier = desk.at(before.at)
    assert earlier.wallets.list().arrow.num_rows == 0
    assert account(earlier, wallet["address"])["proved_by"] == "service says delivered"


@pytest.mark.acceptance
def test_the_commands_add_state_and_list_with_the_files_own_headings(
    desk: Workspace, delivered: list[dict[str, Any]], wallet: dict[str, str], export: Any
) -> None:
    def run(*arguments: str) -> str:
        place = ["--chain", wallet["chain"], "--address", wallet["address"]]
        options = place if arguments[0] != "list" else []
        command = ["--workspace", str(desk.folder), "wallets", *arguments, *options]
        return CliRunner().invoke(treasury, command, catch_exceptions=False).stdout

    file = export(line(delivered[0]), head="Txhash,time,from,to,TokenSymbol,amount")
    named = ("--column", "hash=Txhash", "--column", "asset=TokenSymbol")
    span = ("--from", "2026-10-01", "--to", "2026-10-31")
    assert "1 movements new" in run("add", str(file), *named, *span)
    assert "USDC 12.500000" in run(
        "balance", "12.5", "USDC", "--at", "2026-10-31", "--source", "=HYPERLINK(0)"
    )
    listed = run("list", "--format", "csv")
    assert "'=HYPERLINK(0)" in listed
    assert "anna" in listed
