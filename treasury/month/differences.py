"""Differences between the bank and the services, each with its age and its next step.

The SQL steps find the records. This module adds due dates and writes the sentences. A payment is
reported as NOT AT BANK only after the statement that would show it was added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import InputError
from treasury.core.money import format_amount, parse_amount
from treasury.core.tables.column_types import schema_of
from treasury.core.wording import RAMP_TYPES
from treasury.matching.rules import Rules
from treasury.month.clocks import days_word, rail_of, reacts_by, stage_of
from treasury.month.conversion import Conversion
from treasury.month.funding import short_account, step_for_gap
from treasury.month.internal import InternalTransfer

_Row = Mapping[str, Any]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A difference; `amount` is in `currency`, `age` is the number of `age_unit` since `since`.

    `stage` is `expected` until `due`, then `late`, then `missing`; it is `open` without a due date.
    """

    state: str
    stage: str
    item: str
    direction: str
    amount: Decimal | None
    currency: str
    since: date
    due: date | None
    age: int
    age_unit: str
    next_step: str
    request_id: str | None = None
    entry_id: str | None = None
    transfer_id: str | None = None


DIFFERENCES: Final = schema_of(Difference)


class Today(msgspec.Struct, frozen=True):
    """The day of the question, the last day of its month, and the rules for due dates."""

    day: date
    month_last: date
    zone: ZoneInfo
    rules: Rules


def difference_rows(
    steps: Mapping[str, Iterable[_Row]],
    conversions: Iterable[Conversion],
    transfers: Iterable[InternalTransfer],
    today: Today,
) -> list[Difference]:
    """Return every difference that began by the month's end.

    The stages come in the order missing, late, open, expected.
    """
    differences = [
        _difference(row, today, **columns_of(row, today))
        for step, columns_of in TELLERS.items()
        for row in steps[step]
    ]
    differences += _of_conversions(conversions, today)
    differences += _of_transfers(transfers, today)
    ranks = {"missing": 0, "late": 1, "open": 2, "expected": 3}
    return sorted(
        (row for row in differences if row.since <= today.month_last),
        key=lambda row: (ranks[row.stage], -row.age, row.currency, row.item, row.state),
    )


_Teller = Callable[[_Row, Today], dict[str, Any]]


def _difference(row: _Row, today: Today, **columns: Any) -> Difference:
    currency: str = row["currency"] or ""
    rail, since = rail_of(row.get("rail_currency") or currency), row["since"]
    values: dict[str, Any] = {
        "state": row.get("state"),
        "item": row.get("reference") or row.get("request_id") or "",
        "direction": RAMP_TYPES.get(row.get("ramp_type") or "", ""),
        "amount": row["amount"],
        "currency": currency,
        "since": since,
        "due": reacts_by(since, today.rules, rail=rail, instant=bool(row.get("is_instant"))),
        "age": rail.between(since, today.day),
        "age_unit": rail.unit,
        "request_id": row.get("request_id"),
        "entry_id": row.get("entry_id"),
        "transfer_id": row.get("transfer_id"),
    }
    values |= columns
    due = values["due"]
    stage = "open" if due is None else stage_of(due, today.day, today.rules, rail)
    return Difference(**({"stage": stage} | values))


def _held_request(row: _Row, today: Today) -> dict[str, Any]:
    """Return the columns of a request that the service is processing, or should be processing."""
    rail = rail_of(row["rail_currency"])
    due = reacts_by(row["since"], today.rules, rail=rail, instant=bool(row["is_instant"]))
    past = rail.between(due, today.day)
    silent = f"ask the provider: {days_word(past, rail)} past its time" if past else ""
    match row["state"]:
        case "BLOCKED":
            return {"due": None, "next_step": "Contact the provider, never resend"}
        case "PAID, NOT COMPLETED":
            step = "The bank shows the payout; sync, then ask why the service does not say so"
            return {"next_step": step}
        case "STUCK IN PROCESSING" if not past:
            return {
                "state": "IN PROCESSING",
                "next_step": f"Wait: the service finishes by {_day(due)}",
            }
        case "SERVICE SILENT" if row["received"] is not None and row["received"] != row["amount"]:
            step = step_for_gap(row["amount"] - row["received"], row["currency"])
            return {"state": "SENT WRONG", "due": None, "next_step": step}
        case "SERVICE SILENT" if row["status"] == "AWAITING_APPROVAL":
            step = "Paid before it was approved; have it approved, or recall the payment"
            return {"state": "PAID BEFORE APPROVAL", "due": None, "next_step": step}
        case "SERVICE SILENT" if not past:
            return {"state": "SENT", "next_step": f"Wait: the service reacts by {_day(due)}"}
        case "SERVICE SILENT":
            return {"next_step": f"{silent[:1].upper()}{silent[1:]}; do not pay twice"}
        case "UNKNOWN STATUS":
            step = f"The service says {row['status']}, which is not known here; ask the provider"
            return {"due": None, "next_step": step}
        case _:
            return {"next_step": f"{silent[:1].upper()}{silent[1:]}"}


def _missing_line(row: _Row, today: Today) -> dict[str, Any]:
    """Return the columns of a completed request of which the bank shows no line, or only a part."""
    off_ramp = row["ramp_type"] == "OFF_RAMP"
    rail = rail_of(row["currency"])
    since: date = row["since"]
    due = rail.add(since, today.rules.theirs_target_days) if off_ramp else since
    account = short_account(row["account"])
    columns = {"due": due}
    if row["returned_on"] and not row["arrived"]:
        step = "ask for it again" if off_ramp else "ask the provider: it says it has delivered"
        return columns | {
            "state": "RETURNED",
            "next_step": f"The money went back on {_day(row['returned_on'])}; {step}",
        }
    if row["maybe_on"]:
        step = f"A line of {_day(row['maybe_on'])} may be this one; decide it first"
        return columns | {"state": "NEEDS DECISION", "next_step": step}
    if row["contradicted_on"]:
        step = f"A line of {_day(row['contradicted_on'])} names it and contradicts it; look there"
        return columns | {"state": "CONTRADICTED", "next_step": step}
    if not row["is_declared"]:
        account_words = account or "the account that it was paid to"
        step = f"Declare {account_words} in treasury.toml and add its statements"
        return columns | {"state": "NOT PROVABLE", "next_step": step}
    if today.day <= due:
        step = f"Due by {_day(due)}; if it is not there by then, ask the provider"
        return columns | {"state": "PAYOUT DUE" if off_ramp else "CHECK BANK", "next_step": step}
    reaches: date | None = row["covered_to"]
    if reaches is None or reaches < due or (row["covered_from"] or since) > since:
        gap = f" after {_day(reaches)}" if reaches is not None and reaches < due else ""
        step = f"Add the statement of {account or 'every own account'}{gap}"
        return columns | {"state": "CHECK BANK", "next_step": step}
    if row["arrived"]:
        arrived = format_amount(row["arrived"], row["currency"])
        step = f"Ask the provider: only {arrived} of it {'arrived' if off_ramp else 'was sent'}"
    elif off_ramp:
        step = "Ask the provider: no payout has reached the account; it may have bounced"
    else:
        step = "Ask the provider whose money it was: no wire of ours shows in any statement"
    return columns | {"state": "NOT AT BANK", "next_step": step}


def misdirected_step(row: _Row) -> str:
    """Return what to do about a row of `misdirected_lines`; its money may have been refunded."""
    if row["refunded_on"]:
        return f"A credit of {_day(row['refunded_on'])} may be the money back; decide it first"
    if row["changed_on"]:
        return (
            f"The deposit account was changed on {_day(row['changed_on'])};"
            " ask the provider whether the old one still counts, do not pay twice"
        )
    if row["state"] == "PAID TO WRONG ACCOUNT":
        return "Contact your bank and the provider today; do not pay twice"
    return "Ask the provider for the money back"


def _changed_request(row: _Row, _: Today) -> dict[str, Any]:
    """Return the columns of a request with an amount that changed after the payment."""
    currency = row["currency"]
    before = row["asked_before"] or _amount_before(row["changed_as"])
    was = f" from {format_amount(before, currency)}" if before is not None else ""
    step = (
        f"{format_amount(row['amount'], currency)} was sent on {_day(row['since'])}; on"
        f" {_day(row['changed_on'])} the request was changed{was}"
        f" to {format_amount(row['asked_now'], currency)}: ask the provider, do not pay twice"
    )
    return {"state": "AMOUNT CHANGED AFTER PAYMENT", "due": None, "next_step": step}


class _Note(msgspec.Struct, frozen=True, rename="camel"):
    previous_amount: msgspec.Raw = msgspec.Raw(b"null")


def _amount_before(metadata: str | None) -> Decimal | None:
    """Return the amount before a change, from the service's event; None if the event lacks it."""
    try:
        raw = bytes(decode_json(metadata or "{}", _Note).previous_amount)
        return parse_amount(raw.decode().strip('"'))
    except (msgspec.DecodeError, InputError):
        return None


def _hash_problem(row: _Row, _: Today) -> dict[str, Any]:
    """Return the columns of a transaction hash that does not fit its request."""
    other_item = row["other"] or ""
    match row["state"]:
        case "HASH USED TWICE":
            step = f"The same hash stands for {other_item}: find which one it paid"
        case "HASH ON WRONG CHAIN" if row["other_chain"]:
            step = f"The transfer with this hash is on {row['other_chain']}, not on {row['chain']}"
        case "HASH ON WRONG CHAIN":
            step = f"It has not the form of a transaction on {row['chain']}; look it up there"
        case "HASH OF WRONG ASSET":
            step = f"The transfer with this hash moved {row['other_asset']}, not {row['asset']}"
        case _:
            moved = format_amount(row["other_amount"], row["other_asset"] or "?")
            step = f"The transfer with this hash moved {moved}"
    return {"due": None, "next_step": step}


TELLERS: Final[dict[str, _Teller]] = {
    "held_requests": _held_request,
    "missing_lines": _missing_line,
    "misdirected_lines": lambda row, _: {"due": None, "next_step": misdirected_step(row)},
    "changed_requests": _changed_request,
    "hash_problems": _hash_problem,
}
"""For each step, the function that returns the columns of its differences."""


def _of_conversions(rows: Iterable[Conversion], today: Today) -> Iterator[Difference]:
    for row in rows:
        state = CONVERSION_STATES.get(row.state)
        moment = row.opened_at or row.due
        if state is None or moment is None or row.fiat is None:
            continue
        since = _date(moment, today.zone)
        due = _date(row.due, today.zone) if row.due is not None else None
        yield _difference(
            {"currency": row.currency, "since": since, "amount": row.fiat},
            today,
            state=state,
            item=f"{row.account} EUR to {row.asset}" if row.currency == "EUR" else row.account,
            direction="virtual account",
            due=due,
            entry_id=row.entry_ids[0] if len(row.entry_ids) == 1 else None,
            next_step=row.next_step,
        )


CONVERSION_STATES: Final = {
    "rate_outside_band": "RATE OUTSIDE BAND",
    "not_yet_credited": "NOT YET CREDITED",
    "held_kyc": "HELD BY KYC",
    "not_shown": "NOT SHOWN",
}


_UNREMARKABLE: Final = ("both_legs", "not_ours", "not_observed")


def _of_transfers(rows: Iterable[InternalTransfer], today: Today) -> Iterator[Difference]:
    for row in rows:
        since = row.out_on or row.in_on
        waits = row.state == "under_way" and row.stage == "expected"
        if since is None or waits or row.state in _UNREMARKABLE:
            continue
        yield _difference(
            {"currency": row.currency, "since": since, "amount": row.amount},
            today,
            state=row.state.upper().replace("_", " "),
            item=f"{row.sent_from} to {row.received_by}",
            direction="internal",
            due=row.due,
            stage=row.stage,
            entry_id=row.out_id or row.in_id,
            transfer_id=row.transfer_id,
            next_step=row.next_step,
        )


def _date(moment: datetime, zone: ZoneInfo) -> date:
    return moment.astimezone(zone).date()


def _day(day: date) -> str:
    return f"{day:%-d %b}"
