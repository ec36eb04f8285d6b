"""The cash position: what each account holds today, and how it is proved.

Bank accounts, coins in company wallets, money held by the provider and money in transit have rows
of their own. A proved and an unproved amount are never in one sum, and an account that no evidence
shows has no amount instead of zero.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from treasury.close.month_proof import in_transit
from treasury.close.result_words import amount_words, count, day
from treasury.close.valuation.exposure.custody_spans import CUSTODY
from treasury.close.valuation.exposure.evidence_gaps import NOT_READ
from treasury.close.valuation.exposure.provider_exposure import exposure_positions
from treasury.close.wallet_balances import latest_balances
from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.money import difference, total
from treasury.core.settings import BankAccount
from treasury.core.tables.column_types import BOOL, DATE, INTEGER, TEXT
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.wording import FUNDS as FUNDS_WORDS
from treasury.lake import Snapshot
from treasury.month.reconciliation import Reconciliation, synced_at
from treasury.statements.store.coverage import last_balances

POSITION: Final = grouped_schema(
    (TEXT, "funds", "name", "account", "currency"),
    (amount_in("currency"), "booked"),
    (DATE, "booked_on"),
    (BOOL, "proved"),
    (TEXT, "proved_by"),
    (amount_in("currency"), "intraday", "pending", "available"),
    (TEXT, "problem", "next_step"),
)
"""One row per account and currency, and one per amount in transit.

`funds` is `own_banks`, `own_wallets`, `held_by_provider` or `in_transit`. `booked` is the last
proved balance and `booked_on` its day; if none is proved, the last stated one, and `problem` is the
reason. `intraday` is the net of the movements that were booked later or, for a wallet, of the coins
that the service delivered later: it is reported and not proved, and not part of `booked`. `pending`
is the net of what the bank has not booked yet. `available` is `booked` without the amounts whose
value date is after today. An amount is null if nothing shows it.
"""
FUNDS: Final = grouped_schema(
    (TEXT, "funds", "currency"),
    (amount_in("currency"), "amount"),
    (DATE, "proved_to"),
    (INTEGER, "positions", "not_counted"),
    (amount_in("value_currency"), "value"),
    (TEXT, "value_currency"),
    (DATE, "rate_day"),
    (TEXT, "valued_by"),
)
"""One row per kind of funds and currency.

`funds` is `own_banks`, `own_wallets`, `held_by_provider`, `in_transit`, `intraday` or `not_proved`.
`proved_to` is the oldest day that a part of the amount rests on. `positions` counts the rows of
POSITION in the amount; `not_counted` counts rows with an unknown amount, and amounts in transit
that may have arrived. `value` is the amount in `value_currency` at the reference rate of
`rate_day`. It is null if no currency was requested, or if there is no rate; `valued_by` is the rate
or the reason.
"""
OWN_BANKS, OWN_WALLETS, PROVIDER, IN_TRANSIT = tuple(FUNDS_WORDS)[:4]
_CREDIT: Final = "virtual-account credit, not converted"
_BETWEEN_BANKS: Final = "between own bank accounts"
_MOVEMENTS: Final = step_sql("treasury.close.cash.steps", "movements_since")
_ADD: Final = "treasury statements add FILE"
_ZERO: Final = Decimal(0)

_Row = dict[str, Any]


def position(
    snapshot: Snapshot,
    accounts: Sequence[BankAccount],
    r: Reconciliation | None,
    *,
    now: datetime,
    zone: ZoneInfo,
    uses_services: bool,
) -> pa.Table:
    """Return what every account holds at `now`; columns as in POSITION.

    `r` is the reconciliation of the month of `now`, or None if nothing is stored that it could be
    computed from. Then only the bank accounts and wallets are known.
    """
    today = now.astimezone(zone).date()
    is_used = uses_services or synced_at(snapshot) is not None
    rows = [
        *_bank_rows(snapshot, accounts, today),
        *_wallet_rows(snapshot, now, zone),
        *(_provider_rows(r, zone, uses_services=is_used) if r is not None else ()),
        *(_transit_rows(r) if r is not None else ()),
    ]
    if r is None and is_used:
        rows.append(_not_read("the services were never read"))
    return pa.Table.from_pylist(rows, schema=POSITION)


def month_position(r: Reconciliation, balances: pa.Table) -> pa.Table:
    """Return what every account held at the end of a month; columns as in POSITION.

    `balances` are the month's balances, so that both show the same amounts and proofs.
    """
    reports = {
        plain_account(row["account"])
        for row in r.statements.arrow.to_pylist()
        if row["source"] == "provider_report"
    }
    kinds = {"bank": OWN_BANKS, "custodial": PROVIDER, "company": OWN_WALLETS}
    rows = [
        {
            "funds": kinds[row["kind"]],
            "name": row["name"],
            "account": plain_account(row["of"]) if row["kind"] == "bank" else row["of"],
            "currency": row["currency"],
            "booked": row["closing"],
            "booked_on": r.month.last,
            "proved": row["proved"],
            "proved_by": row["proved_by"],
            "problem": row["problem"],
            "next_step": row["next_step"],
        }
        for row in balances.to_pylist()
        if row["kind"] != "bank" or plain_account(row["of"]) not in reports
    ]
    rows += [*_credit_rows(r), *_transit_rows(r)]
    return pa.Table.from_pylist(rows, schema=POSITION)


def funds(positions: pa.Table) -> pa.Table:
    """Return the totals of a position per kind of funds and currency; columns as in FUNDS.

    Parameters
    ----------
    positions
        A position, as `position` returns it.

    Returns
    -------
    pyarrow.Table
        `own_banks` and `own_wallets`: balances that statements or evidence prove, up to
        `proved_to`. `held_by_provider`: custodial balances that the service shows, and credits of
        virtual accounts that are not converted. `in_transit`: amounts that have left one side
        and not reached the other. `intraday`: movements reported after the proved balances.
        `not_proved`: balances without proof. No amount is in two rows; do not add up the rows. An
        account without evidence only adds to `not_counted`, in the currency of its settings.

    Examples
    --------
    >>> funds(position(snapshot, accounts, r, now=now, zone=zone, uses_services=True))
    """
    groups: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    for row in positions.to_pylist():
        kind = row["funds"]
        counts = row["proved"] or kind != IN_TRANSIT
        if not row["proved"] and kind != IN_TRANSIT:
            kind = "not_proved"
        part = {"amount": row["booked"], "on": row["booked_on"], "counts": counts}
        groups[kind, row["currency"] or ""].append(part)
        if row["intraday"]:
            reported = {"amount": row["intraday"], "on": None, "counts": True}
            groups["intraday", row["currency"] or ""].append(reported)
    order = list(FUNDS_WORDS)
    rows: list[_Row] = []
    for (kind, currency), parts in groups.items():
        counted = [part for part in parts if part["counts"] and part["amount"] is not None]
        days = [part["on"] for part in counted if part["on"] and kind != IN_TRANSIT]
        rows.append(
            {
                "funds": kind,
                "currency": currency,
                "amount": total(part["amount"] for part in counted) if counted else None,
                "proved_to": min(days, default=None),
                "positions": len(counted),
                "not_counted": len(parts) - len(counted),
            }
        )
    rows.sort(key=lambda row: (order.index(str(row["funds"])), row["currency"]))
    return pa.Table.from_pylist(rows, schema=FUNDS)


# Bank accounts.


def _bank_rows(snapshot: Snapshot, accounts: Sequence[BankAccount], today: date) -> Iterator[_Row]:
    balances = last_balances(snapshot, accounts)
    names = {(plain_account(each.account), each.currency): each for each in accounts}
    with snapshot.connection() as connection:
        connection.register("last_balances", balances)
        moved = {
            (row["account"], row["currency"]): row
            for row in connection.execute(_MOVEMENTS, {"today": today}).to_arrow_table().to_pylist()
        }
    for row in balances.to_pylist():
        # The provider's account holds other customers' money too. Our credits on it count below.
        if row["source"] == "provider_report":
            continue
        declared = names.get((row["account"], row["currency"]))
        since = moved.get((row["account"], row["currency"]), {})
        balance, problem, is_proved = row["balance"], row["problem"], row["proved"]
        step = "" if is_proved else _ADD
        if declared is None:
            problem, is_proved = "the account is not declared", False
            step = "add it to [[accounts]] in treasury.toml"
        if since.get("unclear"):
            unclear = f"{count(since['unclear'], 'movement')} without amount or day not counted"
            problem = "; ".join(filter(None, (problem, unclear)))
        yield {
            "funds": OWN_BANKS,
            "name": (declared.name if declared else "") or row["account"],
            "account": row["account"],
            "currency": row["currency"],
            "booked": balance,
            "booked_on": row["balance_on"],
            "proved": is_proved,
            "proved_by": row["proved_by"] if is_proved else "",
            "intraday": since.get("intraday"),
            "pending": since.get("pending"),
            "available": None
            if balance is None
            else difference(balance, since.get("later") or _ZERO),
            "problem": problem,
            "next_step": step,
        }


# Company wallets.


def _wallet_rows(snapshot: Snapshot, now: datetime, zone: ZoneInfo) -> Iterator[_Row]:
    for wallet in latest_balances(snapshot, now, zone):
        is_proved = wallet.balance is not None and not wallet.problem
        problem = wallet.problem
        if not is_proved and wallet.delivered:
            # Without a balance, nothing shows how much of the deliveries is still there.
            delivered = amount_words(wallet.delivered, wallet.asset)
            problem = f"{problem}; the service delivered {delivered}"
        yield {
            "funds": OWN_WALLETS,
            "name": f"company wallet on {wallet.chain}",
            "account": wallet.address,
            "currency": wallet.asset,
            "booked": wallet.balance,
            "booked_on": wallet.day,
            "proved": is_proved,
            "proved_by": "explorer export or stated balance" if is_proved else "",
            "intraday": (wallet.delivered or None) if is_proved else None,
            "available": wallet.balance,
            "problem": problem,
            "next_step": wallet.next_step,
        }


# The provider.


def _provider_rows(r: Reconciliation, zone: ZoneInfo, *, uses_services: bool) -> Iterator[_Row]:
    """Yield the custodial balances that the service shows, and credits that wait for conversion."""
    for row in exposure_positions(r, zone).to_pylist():
        if row["kind"] == NOT_READ and uses_services:
            yield _not_read(row["problem"])
        if row["kind"] != CUSTODY:
            continue
        amount = row["in_doubt"] if row["problem"] else row["amount"]
        since = row["since"]
        yield {
            "funds": PROVIDER,
            "name": row["reference"],
            "account": row["subject_id"].rpartition("/")[0],
            "currency": row["currency"],
            "booked": amount,
            "booked_on": None if since is None else since.astimezone(zone).date(),
            "proved": not row["problem"],
            "proved_by": row["evidence"],
            "available": None if row["problem"] else amount,
            "problem": row["problem"],
            "next_step": row["next_step"],
        }
    yield from _credit_rows(r)


def _credit_rows(r: Reconciliation) -> Iterator[_Row]:
    """Yield the credits of virtual accounts that the provider has not converted to coins."""
    waiting: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    sure, _ = in_transit(r)
    for row in sure:
        if row["what"] == _CREDIT:
            waiting[row["where_now"], row["currency"]].append(row)
    reports = [
        row["covered_to"]
        for row in r.statements.arrow.to_pylist()
        if row["source"] == "provider_report" and row["covered_to"] is not None
    ]
    for (where, currency), credits_ in sorted(waiting.items()):
        yield {
            "funds": PROVIDER,
            "name": "credits of virtual accounts, not converted",
            "account": where,
            "currency": currency,
            "booked": total(row["amount"] for row in credits_),
            "booked_on": min(reports, default=None),
            "proved": True,
            "proved_by": "the provider's report",
        }


def _not_read(problem: str) -> _Row:
    return {
        "funds": PROVIDER,
        "name": "services",
        "proved": False,
        "problem": problem,
        "next_step": "treasury sync",
    }


# Money in transit.


def _transit_rows(r: Reconciliation) -> Iterator[_Row]:
    sure, maybe = in_transit(r)
    for row in (*sure, *maybe):
        if row["what"] == _CREDIT:
            continue
        arrived = row["may_have_arrived_on"]
        is_sure = arrived is None or arrived > r.month.last
        yield {
            "funds": IN_TRANSIT,
            "name": row["what"],
            "account": row["reference"],
            "currency": row["currency"],
            "booked": row["amount"],
            "booked_on": row["left_on"],
            "proved": is_sure,
            "proved_by": row["where_now"],
            "problem": "" if is_sure else f"a line of {day(arrived)} may be its arrival",
            "next_step": "" if is_sure else "treasury matches",
        }
    for row in r.internal_transfers.arrow.to_pylist():
        if row["kind"] == _BETWEEN_BANKS and row["in_on"] is None:
            yield {
                "funds": IN_TRANSIT,
                "name": "own transfer, debited and not credited",
                "account": f"{row['sent_from']} to {row['received_by']}",
                "currency": row["currency"],
                "booked": row["amount"],
                "booked_on": row["out_on"],
                "proved": True,
                "proved_by": row["evidence"],
                "next_step": row["next_step"],
            }
