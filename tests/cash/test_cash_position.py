"""The cash position: proved to a day, reported since, pending, in transit, not read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cash_desks import OPERATING, RESERVE, desk_of, entry, report, statement
from decide_desk import copy_of

from treasury.close.cash.cash_answer import Cash
from treasury.close.cash.position import POSITION, funds
from treasury.close.month_proof import in_transit
from treasury.close.wallet_balances import latest_balances
from treasury.core.errors import InputError
from treasury.workspace import Workspace


def position_of(cash: Cash, account: str) -> Mapping[str, Any]:
    (row,) = [row for row in cash.position.arrow.to_pylist() if row["account"] == account]
    return row


def totals(cash: Cash) -> dict[tuple[str, str], Decimal | None]:
    return {(row["funds"], row["currency"]): row["amount"] for row in cash.funds.arrow.to_pylist()}


@pytest.fixture(scope="module")
def cash(month_end: Workspace) -> Cash:
    return month_end.cash(in_currency="EUR")


def test_own_banks_hold_what_the_month_proves(month_end: Workspace, cash: Cash) -> None:
    closings = {
        row["account"]: row["closing_balance"]
        for row in month_end.reconcile("2026-10").statements.arrow.to_pylist()
        if row["source"] == "own_bank"
    }
    own = [row for row in cash.position.arrow.to_pylist() if row["funds"] == "own_banks"]
    assert {row["account"]: row["booked"] for row in own} == closings
    assert {row["booked_on"] for row in own} == {date(2026, 10, 31)}
    assert totals(cash)["own_banks", "EUR"] == sum(closings.values())


def test_the_provider_holds_what_the_service_shows(month_end: Workspace, cash: Cash) -> None:
    shown = month_end.sql(
        "SELECT asset, sum(total) AS held FROM wallet_balances AS w WHERE observed_at ="
        " (SELECT max(observed_at) FROM wallet_balances) GROUP BY asset"
    )
    held = {(row["asset"], row["held"]) for row in shown.arrow.to_pylist() if row["held"]}
    assert held == {
        (currency, amount)
        for (kind, currency), amount in totals(cash).items()
        if kind == "held_by_provider" and currency != "EUR"
    }


def test_money_in_transit_is_that_of_the_month_and_in_no_balance(
    month_end: Workspace, cash: Cash
) -> None:
    sure, maybe = in_transit(month_end.reconcile("2026-11"))
    rows = [row for row in cash.funds.arrow.to_pylist() if row["funds"] == "in_transit"]
    # A credit that is not converted counts as held by the provider instead.
    is_moving = lambda row: not row["what"].startswith("virtual-account credit")  # noqa: E731
    assert sum(row["positions"] for row in rows) == len(list(filter(is_moving, sure)))
    assert sum(row["not_counted"] for row in rows) == len(list(filter(is_moving, maybe))) > 0
    for row in rows:
        amounts = [line["amount"] for line in filter(is_moving, sure)
                   if line["currency"] == row["currency"]]  # fmt: skip
        assert (row["amount"] or 0) == sum(amounts)


def test_a_wallet_without_evidence_holds_no_known_amount(cash: Cash) -> None:
    wallets = [row for row in cash.position.arrow.to_pylist() if row["funds"] == "own_wallets"]
    assert wallets
    for row in wallets:
        assert (row["booked"], row["intraday"], row["proved"]) == (None, None, False)
        delivered = f"; the service delivered {row['currency']} "
        assert row["problem"].startswith(f"no evidence of this wallet was added{delivered}")
    assert not any(kind in ("own_wallets", "intraday") for kind, _ in totals(cash))


def test_totals_are_valued_by_named_rates_and_say_what_has_none(cash: Cash) -> None:
    rows = {(row["funds"], row["currency"]): row for row in cash.funds.arrow.to_pylist()}
    own = rows["own_banks", "EUR"]
    assert (own["value"], own["valued_by"]) == (own["amount"], "its own currency")
    assert rows["held_by_provider", "EURC"]["valued_by"] == "1 EURC = 1 EUR"
    dollars = rows["held_by_provider", "USDC"]
    assert dollars["value"] < dollars["amount"]
    assert dollars["rate_day"] == date(2026, 10, 30)
    assert "ECB" in dollars["valued_by"]
    # The values of different kinds of funds are not added up.
    assert [row["funds"] for row in cash.values.arrow.to_pylist()] == list(
        dict.fromkeys(row["funds"] for row in rows.values() if row["amount"] is not None)
    )


def test_a_currency_that_does_not_exist_is_refused(month_end: Workspace) -> None:
    with pytest.raises(InputError, match="'EUX' is not a currency"):
        month_end.cash(in_currency="EUX")
    with pytest.raises(InputError, match="between 1 and 400"):
        month_end.cash(0)


@pytest.mark.acceptance
def test_reported_and_pending_movements_are_apart_from_the_proved_balance(tmp_path: Path) -> None:
    desk = desk_of(
        tmp_path / "desk",
        statement(
            OPERATING, "1000.00", "1300.00",
            [entry("200.00", "2026-10-12"), entry("100.00", "2026-10-30", value="2026-11-03")],
        ),
        report(
            OPERATING, "2026-11-02",
            [entry("-40.00", "2026-11-02"), entry("7.00", "2026-11-02", "PDNG")],
        ),
    )  # fmt: skip
    cash = desk.cash()
    row = position_of(cash, OPERATING)
    assert (row["booked"], row["booked_on"]) == (1300, date(2026, 10, 30))
    assert row["proved"]
    assert (row["intraday"], row["pending"], row["available"]) == (-40, 7, 1200)
    unread = position_of(cash, RESERVE)
    assert (unread["booked"], unread["proved"]) == (None, False)
    assert unread["problem"] == "no statement is stored"
    # The account without a statement is counted, and never as zero.
    assert [
        (row["funds"], row["amount"], row["positions"], row["not_counted"])
        for row in cash.funds.arrow.to_pylist()
    ] == [("own_banks", 1300, 1, 0), ("intraday", -40, 1, 0), ("not_proved", None, 0, 1)]
    assert any("Reserve …4300, EUR: no statement is stored" in note for note in cash.notes)
    first = cash.forecast.arrow.to_pylist()[0]
    assert (first["opening"], first["money_in"], first["money_out"]) == (1300, 7, 40)


def test_a_statement_that_fails_its_proof_is_not_proved(tmp_path: Path) -> None:
    cash = desk_of(
        tmp_path / "desk",
        statement(OPERATING, "1000.00", "1300.00", [entry("200.00", "2026-10-12")]),
    ).cash()
    row = position_of(cash, OPERATING)
    assert (row["booked"], row["proved"], row["problem"]) == (
        1300, False, "bank0.xml is not proved",
    )  # fmt: skip
    assert totals(cash) == {("not_proved", "EUR"): 1300}
    assert {row["balance"] for row in cash.forecast.arrow.to_pylist()} == {None}


def test_a_company_without_any_file_has_accounts_that_are_not_read(tmp_path: Path) -> None:
    cash = desk_of(tmp_path / "desk").cash()
    assert [row["problem"] for row in cash.position.arrow.to_pylist()] == [
        "no statement is stored", "no statement is stored",
    ]  # fmt: skip
    assert totals(cash) == {("not_proved", "EUR"): None}
    assert any(
        note.startswith("requests, payouts and transfers are not known") for note in cash.notes
    )


def test_proved_and_unproved_amounts_are_never_in_one_total() -> None:
    import pyarrow as pa

    row = {"name": "a", "account": "A", "currency": "EUR", "booked_on": date(2026, 10, 30)}
    held = pa.Table.from_pylist(
        [
            row | {"funds": "own_banks", "booked": Decimal(5), "proved": True},
            row | {"funds": "own_banks", "booked": Decimal(70), "proved": False},
            row | {"funds": "held_by_provider", "booked": Decimal(900), "proved": False},
            row | {"funds": "in_transit", "booked": Decimal(11), "proved": True},
            row | {"funds": "in_transit", "booked": Decimal(13), "proved": False},
        ],
        schema=POSITION,
    )
    assert [
        (each["funds"], each["amount"], each["positions"], each["not_counted"])
        for each in funds(held).to_pylist()
    ] == [("own_banks", 5, 1, 0), ("in_transit", 11, 1, 1), ("not_proved", 970, 2, 0)]


@pytest.mark.acceptance
def test_a_wallet_holds_the_last_balance_that_no_evidence_contradicts(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    desk = copy_of(month_end, tmp_path / "desk")
    (delivered,) = desk.sql(
        "SELECT min(company_wallet_address) AS address, sum(crypto_amount) AS came"
        " FROM ramp_requests WHERE ramp_type = 'ON_RAMP' AND status = 'SUCCEEDED'"
        " AND company_wallet_chain = 'BASE' AND crypto_currency = 'USDC'"
        " AND completed_at >= '2026-09-30 22:00:00+00'"
        " AND completed_at < '2026-10-31 23:00:00+00'"
    ).arrow.to_pylist()
    wallet = {"chain": "BASE", "address": delivered["address"]}

    def last() -> tuple[Decimal | None, date | None, str]:
        (row,) = [
            each
            for each in latest_balances(desk.snapshot(), desk.now(), desk.settings.zone)
            if (each.address.lower(), each.asset) == (wallet["address"].lower(), "USDC")
        ]
        return row.balance, row.day, row.problem

    assert last() == (None, None, "no evidence of this wallet was added")
    desk.wallets.add_balance("5", "USDC", **wallet, at="2026-09-30", source="wallet app")
    assert last() == (5, date(2026, 9, 30), "")
    came = delivered["came"]
    desk.wallets.add_balance(came + 5, "USDC", **wallet, at="2026-10-31", source="wallet app")
    assert last() == (came + 5, date(2026, 10, 31), "")
    desk.wallets.add_balance(came - 2, "USDC", **wallet, at="2026-10-31", source="wallet app")
    contradicted = "coins came or went that no evidence shows"
    assert last() == (came - 2, date(2026, 10, 31), contradicted)
