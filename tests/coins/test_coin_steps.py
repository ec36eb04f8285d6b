"""The coin steps on handmade records: each event once, on its side of the month's end."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest

from treasury.close.valuation.coins.coin_events import STEPS
from treasury.core.calendar import Month
from treasury.core.tables.column_types import AMOUNT, INSTANT, TEXT
from treasury.matching.engine.pipeline import load, run
from treasury.month.question_tables import month_days

BEFORE = datetime(2026, 10, 31, 22, 30, tzinfo=UTC)
AFTER = datetime(2026, 10, 31, 23, 30, tzinfo=UTC)
"""Half an hour before the end of October in Brussels, and half an hour after it."""
OURS, SAFE, OTHER, HASH = "0xaa", "0xbb", "0xcc", "0xfe"
TABLES: Final = {
    "ramp_requests": "id ramp_type status payment_reference crypto_currency fiat_currency"
    " company_wallet_address blockchain_transaction_hash crypto_amount fiat_amount fiat_fee_amount"
    " completed_at",
    "accounts": "id",
    "transfers": "id kind status sender_account_id receiver_account_id destination_address chain"
    " asset transaction_hash amount updated_at created_at first_seen_at",
    "wallet_movements": "movement_id asset from_address to_address transaction_hash amount moved_at"
    " vanished_at",
    "wallet_gas": "payment_id coin amount paid_at transaction_hash payer_address vanished_at",
    "wallets": "account_id address chain",
    "company_wallets": "address",
    "wallet_evidence": "address vanished_at",
}
TABLES["transfers_history"] = TABLES["transfers"]
Row = dict[str, Any]


def kind_of(name: str) -> pa.DataType:
    return AMOUNT if "amount" in name else INSTANT if name.endswith("_at") else TEXT


def told(**rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Run the steps on these records; return October's events and crossings of its end."""
    rows = {
        "company_wallets": [{"address": OURS}, {"address": SAFE}],
        "accounts": [{"id": "account"}],
        **rows,
    }
    schemas = {
        table: pa.schema([(name, kind_of(name)) for name in names.split()])
        for table, names in TABLES.items()
    }
    tables = {
        table: pa.Table.from_pylist(list(rows.get(table, ())), schema=schema)
        for table, schema in schemas.items()
    }
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        load(connection, {**tables, "asked": month_days(Month.parse("2026-10"), ZONE)})
        run(connection, STEPS)
        events, crossings = (
            connection.table(name).to_arrow_table().to_pylist()
            for name in ("coin_events", "coin_crossings")
        )
    return events, crossings


ZONE = ZoneInfo("Europe/Brussels")


def request(**changed: Any) -> Row:
    """Return an off-ramp of USDC 100 for EUR 90 gross, a fee of 1 and `HASH` as its hash."""
    return {
        "id": "r1",
        "ramp_type": "OFF_RAMP",
        "status": "SUCCEEDED",
        "payment_reference": "PAY-1",
        "crypto_currency": "USDC",
        "fiat_currency": "EUR",
        "company_wallet_address": None,
        "blockchain_transaction_hash": HASH.upper().replace("0X", "0x"),
        "crypto_amount": Decimal(100),
        "fiat_amount": Decimal(90),
        "fiat_fee_amount": Decimal(1),
        "completed_at": BEFORE,
        **changed,
    }


def transfer(**changed: Any) -> Row:
    """Return a completed transfer of USDC 100 from our account, with `HASH` as its hash."""
    return {
        "id": "t1",
        "kind": "crypto",
        "status": "COMPLETED",
        "sender_account_id": "account",
        "receiver_account_id": None,
        "asset": "USDC",
        "transaction_hash": HASH,
        "amount": Decimal(100),
        "updated_at": BEFORE,
        **changed,
    }


def seen(at: datetime = BEFORE, origin: str = OURS, target: str = OTHER, **changed: Any) -> Row:
    """Return a movement of USDC 100 in a wallet's export, with `HASH` as its hash."""
    return {
        "movement_id": "m1",
        "asset": "USDC",
        "from_address": origin,
        "to_address": target.upper().replace("0X", "0x"),
        "transaction_hash": HASH,
        "amount": Decimal(100),
        "moved_at": at,
        **changed,
    }


def kinds(events: Sequence[Row]) -> list[tuple[str, str, str | None, str | None]]:
    """Return each event's id and kind, and the holders that gave and got the coins."""
    names = ("event_id", "kind", "from_holder", "to_holder")
    return [tuple(row[name] for name in names) for row in events]  # type: ignore[misc]


@pytest.mark.acceptance
def test_an_off_ramp_and_its_movement_are_one_disposal_for_the_gross() -> None:
    (event,), crossings = told(ramp_requests=[request()], wallet_movements=[seen()])
    assert kinds([event]) == [("request:r1", "disposed", OURS, None)]
    assert (event["quantity"], event["consideration"], event["currency"]) == (100, 90, "EUR")
    assert (event["contra"], str(event["happened_on"])) == ("conversion", "2026-10-31")
    assert crossings == []


def test_an_on_ramp_costs_what_was_paid_less_its_fee() -> None:
    on_ramp = request(ramp_type="ON_RAMP", company_wallet_address=OURS.upper().replace("0X", "0x"))
    (event,), crossings = told(
        ramp_requests=[on_ramp], wallet_movements=[seen(BEFORE, OTHER, OURS)]
    )
    assert kinds([event]) == [("request:r1", "acquired", None, OURS)]
    assert event["consideration"] == 89
    assert crossings == []


def test_the_cost_of_coins_is_unknown_if_the_fee_is_not_recorded() -> None:
    (event,), _ = told(ramp_requests=[request(ramp_type="ON_RAMP", fiat_fee_amount=None)])
    assert (event["kind"], event["consideration"]) == ("acquired", None)
    (event,), _ = told(ramp_requests=[request(fiat_fee_amount=None)])
    assert (event["kind"], event["consideration"]) == ("disposed", 90), (
        "the fee does not reduce the proceeds"
    )


def test_days_are_days_of_the_reporting_zone() -> None:
    events, _ = told(ramp_requests=[request(completed_at=AFTER)])
    assert events == [], "half past midnight in Brussels is November"


@pytest.mark.parametrize("status", ["PROCESSING", "AWAITING_FUNDS", "BLOCKED", "SOMETHING_NEW"])
def test_coins_sent_for_an_open_request_are_in_transit_and_not_disposed_of(status: str) -> None:
    open_one = request(status=status, completed_at=None)
    events, (crossing,) = told(ramp_requests=[open_one], wallet_movements=[seen()])
    assert events == []
    assert (crossing["holder"], crossing["quantity"], crossing["reference"]) == (
        OURS, -100, "PAY-1",
    )  # fmt: skip


@pytest.mark.parametrize("status", ["CANCELLED", "REJECTED", "DENIED", "FAILED"])
def test_a_failed_request_claims_no_movement(status: str) -> None:
    failed = request(status=status, completed_at=None)
    events, crossings = told(ramp_requests=[failed], wallet_movements=[seen()])
    assert kinds(events) == [("movement:m1", "disposed", OURS, None)]
    assert (events[0]["contra"], events[0]["consideration"]) == ("transfers out", None)
    assert crossings == []


def test_requests_completed_and_coins_moved_after_month_end_cross_it() -> None:
    events, (sent,) = told(
        ramp_requests=[request(completed_at=AFTER)], wallet_movements=[seen(BEFORE)]
    )
    assert (events, sent["quantity"]) == ([], -100)
    events, (to_come,) = told(
        ramp_requests=[request(completed_at=BEFORE)], wallet_movements=[seen(AFTER)]
    )
    assert kinds(events) == [("request:r1", "disposed", OURS, None)]
    assert to_come["quantity"] == 100, "the wallet still has what the pool gave"


def test_a_transfer_to_our_wallet_is_not_a_disposal_even_across_month_end() -> None:
    inward = seen(AFTER, OTHER, OURS)
    (event,), (crossing,) = told(transfers=[transfer()], wallet_movements=[inward])
    assert kinds([event]) == [("transfer:t1", "transferred", "account", OURS)]
    assert (crossing["holder"], crossing["quantity"]) == (OURS, -100)
    (event,), crossings = told(transfers=[transfer()], wallet_movements=[seen(BEFORE, OTHER, OURS)])
    assert kinds([event]) == [("transfer:t1", "transferred", "account", OURS)]
    assert crossings == []


@pytest.mark.acceptance
def test_the_destination_of_a_transfer_comes_from_account_address_or_chain() -> None:
    def kind_of_transfer(*movements: Row, **changed: Any) -> tuple[str, str | None]:
        (event,), _ = told(transfers=[transfer(**changed)], wallet_movements=movements)
        return event["kind"], event["to_holder"]

    assert kind_of_transfer(destination_address="0xAA") == ("transferred", OURS)
    assert kind_of_transfer(destination_address=OTHER) == ("disposed", None)
    assert kind_of_transfer(receiver_account_id="account") == ("transferred", "account")
    assert kind_of_transfer(receiver_account_id="somebody's") == ("disposed", None)
    assert kind_of_transfer(seen(BEFORE, "0xdd", OTHER)) == ("disposed", None)
    assert kind_of_transfer() == ("untold", None), "it may be a wallet of ours"
    assert kind_of_transfer(sender_account_id=None, destination_address=OURS) == ("untold", OURS)


def test_an_open_transfer_is_in_transit_and_a_failed_one_claims_no_movement() -> None:
    inward = seen(BEFORE, OTHER, OURS)
    events, (crossing,) = told(transfers=[transfer(status="PROCESSING")], wallet_movements=[inward])
    assert (events, crossing["quantity"], crossing["reference"]) == ([], 100, "t1")
    events, crossings = told(transfers=[transfer(status="FAILED")], wallet_movements=[inward])
    assert kinds(events) == [("movement:m1", "acquired", None, OURS)]
    assert crossings == []


@pytest.mark.acceptance
def test_an_off_ramp_from_custody_is_one_disposal_and_crosses_month_end_by_the_account() -> None:
    (event,), crossings = told(ramp_requests=[request()], transfers=[transfer()])
    assert kinds([event]) == [("request:r1", "disposed", "account", None)]
    assert crossings == []
    events, (crossing,) = told(ramp_requests=[request(completed_at=AFTER)], transfers=[transfer()])
    assert (events, crossing["holder"], crossing["quantity"]) == ([], "account", -100)


def test_transfers_between_our_wallets_are_not_disposals() -> None:
    events, _ = told(wallet_movements=[seen(BEFORE, OURS, SAFE)])
    assert kinds(events) == [("movement:m1", "transferred", OURS, SAFE)]


@pytest.mark.acceptance
def test_foreign_or_withdrawn_movements_are_not_events() -> None:
    events, _ = told(wallet_movements=[seen(BEFORE, OTHER, "0xdd")])
    assert events == []
    events, _ = told(wallet_movements=[seen(vanished_at=AFTER)])
    assert events == []
    events, crossings = told(wallet_movements=[seen(AFTER)])
    assert (events, crossings) == ([], []), "it is November's"


def test_the_same_hash_in_another_coin_is_another_movement() -> None:
    events, _ = told(ramp_requests=[request()], wallet_movements=[seen(asset="EURC")])
    assert kinds(events) == [
        ("request:r1", "disposed", None, None),
        ("movement:m1", "disposed", OURS, None),
    ]
