"""Transfers between our own accounts, and whether both legs (debit and credit) are shown.

Between bank accounts, the statements show both legs. Between accounts of the service, one record
covers both legs, and only the balances before and after can contradict it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.core.calendar import Month
from treasury.core.tables.column_types import schema_of
from treasury.matching.rules import Rules
from treasury.month.clocks import CALENDAR, rail_of, reacts_by, stage_of
from treasury.month.funding import short_account

_Row = Mapping[str, Any]


class InternalTransfer(msgspec.Struct, frozen=True, kw_only=True):
    """An internal transfer; `stage` is that of its missing leg, `amount` is in `currency`.

    States: both_legs, under_way, leg_in_missing, leg_out_missing, check_bank, not_observed,
    not_ours (the other account is not one of ours).
    """

    state: str
    stage: str
    kind: str
    amount: Decimal | None
    currency: str
    sent_from: str
    received_by: str
    out_on: date | None
    in_on: date | None
    due: date | None
    evidence: str
    next_step: str
    out_id: str | None = None
    in_id: str | None = None
    transfer_id: str | None = None


INTERNAL_TRANSFERS: Final = schema_of(InternalTransfer)


def internal_transfer_rows(
    between_banks: Iterable[_Row],
    between_accounts: Iterable[_Row],
    *,
    month: Month,
    today: date,
    rules: Rules,
) -> list[InternalTransfer]:
    """Return the transfers of the month, and earlier ones in a state other than `both_legs`.

    `between_banks` are rows of the step `own_transfers`, `between_accounts` of `account_transfers`.
    """
    rows = [_between_banks(row, today, rules) for row in between_banks]
    rows += [_between_accounts(row, today, rules) for row in between_accounts]
    return sorted(
        (
            row
            for row in rows
            if (began := _began(row)) <= month.last
            and (row.state != "both_legs" or began >= month.first)
        ),
        key=lambda row: (_began(row), row.kind, row.out_id or row.in_id or row.transfer_id or ""),
    )


def _began(row: InternalTransfer) -> date:
    began = row.out_on or row.in_on
    # Each row has a leg, or the day on which the transfer was made.
    assert began is not None
    return began


def _between_banks(row: _Row, today: date, rules: Rules) -> InternalTransfer:
    out_on, in_on = row["out_on"], row["in_on"]
    sent_from, received_by = short_account(row["from_account"]), short_account(row["to_account"])
    rail = rail_of(row["currency"])
    due, stage, state, step = None, "expected", "both_legs", ""
    evidence = "both statements show it"
    if out_on is None or in_on is None:
        seen_on: date = out_on or in_on
        due = seen_on
        if in_on is None:
            due = reacts_by(seen_on, rules, rail=rail, instant=bool(row["is_instant"]))
        stage = stage_of(due, today, rules, rail)
        other_account = received_by if in_on is None else sent_from
        state, evidence, step = _one_leg(row, other_account, due, stage)
    return InternalTransfer(
        state=state,
        stage=stage,
        kind="between own bank accounts",
        amount=row["amount"],
        currency=row["currency"],
        sent_from=sent_from,
        received_by=received_by,
        out_on=out_on,
        in_on=in_on,
        due=due,
        evidence=evidence,
        next_step=step,
        out_id=row["out_id"],
        in_id=row["in_id"],
    )


def _one_leg(row: _Row, other_account: str, due: date, stage: str) -> tuple[str, str, str]:
    """Return state, evidence and next step of a transfer with one leg."""
    reaches: date | None = row["covered_to"]
    seen_on: date = row["out_on"] or row["in_on"]
    if reaches is None or reaches < due or row["covered_from"] > seen_on:
        evidence_so_far = (
            f"statements of {other_account} reach to {reaches}"
            if reaches
            else f"no statement of {other_account}"
        )
        after = f" after {reaches:%-d %b}" if reaches and reaches < due else ""
        return "check_bank", evidence_so_far, f"Add the statement of {other_account}{after}"
    evidence = f"the statement of {other_account} does not show it by {due}"
    if row["in_on"] is None:
        if stage == "expected":
            return "under_way", evidence, f"Wait: due by {due:%-d %b}"
        return "leg_in_missing", evidence, "Ask the bank where it is; do not send it again"
    return "leg_out_missing", evidence, "Ask the bank who sent it"


def _between_accounts(row: _Row, today: date, rules: Rules) -> InternalTransfer:
    due = reacts_by(row["since"], rules, rail=CALENDAR)
    stage = stage_of(due, today, rules, CALENDAR)
    settled: date | None = row["settled_on"]
    step = ""
    if settled is None:
        state, evidence = "under_way", f"service: {row['status']}"
        if stage != "expected":
            step = "Ask the provider: it settles within seconds as a rule"
    elif not (row["sender_is_ours"] and row["receiver_is_ours"]):
        state, evidence = "not_ours", "the other account is not one of ours"
    elif row["receiver_lacks_it"]:
        state, evidence = "leg_in_missing", "the receiver's balance lacks exactly this amount"
        step = "Ask the provider: it says COMPLETED, the balance does not"
    elif row["sender_kept_it"]:
        state, evidence = "leg_out_missing", "the sender's balance holds exactly this amount more"
        step = "Ask the provider: it says COMPLETED, the balance does not"
    elif row["sender_seen_on"] is None or row["receiver_seen_on"] is None:
        state, evidence = "not_observed", "no balance was observed since"
        step = "Sync"
    else:
        state = "both_legs"
        evidence = f"service: COMPLETED; no balance up to {row['receiver_seen_on']} contradicts it"
    return InternalTransfer(
        state=state,
        stage="expected" if settled is not None else stage,
        kind="between accounts of the service",
        amount=row["amount"],
        currency=row["asset"] or "",
        sent_from=row["sender"] or "",
        received_by=row["receiver"] or "",
        out_on=row["since"],
        in_on=settled,
        due=due,
        evidence=evidence,
        next_step=step,
        transfer_id=row["transfer_id"],
    )
