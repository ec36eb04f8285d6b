"""The flows that records or people name today, without any model.

They come from the requests that wait for funds, the differences between bank and services, the
transfers between own accounts, the bank's own reports and the company's own list. `placed` puts
each on its day.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

from treasury.close.cash.own_flows import OwnFlow
from treasury.close.cash.position import OWN_BANKS
from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.tables.column_types import schema_of
from treasury.core.text import clean
from treasury.core.wording import FLOW_STATES
from treasury.lake import Snapshot
from treasury.month.clocks import TARGET, rail_of
from treasury.month.reconciliation import Reconciliation
from treasury.month.states import states_of

EXPECTED, OVERDUE, NOT_SEEN, UNDATED, LATER = FLOW_STATES


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """A known flow; `amount` is in `currency`, and never negative.

    `day` is the day of the forecast that contains it, or None. `due` is its recorded day. `account`
    is empty if no record names one. `evidence` is the state of its record, or the reason why no day
    contains it.
    """

    state: str
    flow: str
    day: date | None
    due: date | None
    item: str
    direction: str
    amount: Decimal | None
    currency: str
    account: str
    evidence: str
    next_step: str = ""

    @property
    def counts(self) -> bool:
        """Whether a day of the forecast contains the flow."""
        return self.state in {EXPECTED, OVERDUE} and self.amount is not None


FLOWS: Final = schema_of(Flow)
_OUR_MOVE: Final = ("PAY", "SEND CRYPTO", "RETURNED", "REJECTED", "ACCOUNT CHANGED")
_AT_BANK: Final = ("IN FILE", "WITH THE BANK")
_PAID: Final = ("SENT", "HASH GIVEN", "SENT WRONG", "PAID BEFORE APPROVAL", "HASH USED TWICE")
"""States in which our payment has left: what follows is a payout or a delivery."""
_NEVER: Final = ("WILL NOT FUND",)
_HELD: Final = ("IN PROCESSING", "STUCK IN PROCESSING", "SENT", "SERVICE SILENT")
"""Differences in which the service has our money and should complete the request."""
_COMPLETED: Final = ("PAYOUT DUE", "CHECK BANK", "NOT AT BANK")
"""Differences in which the service has completed the request, and a bank line should follow."""
_BANK_LINE: Final = (*_COMPLETED, "NEEDS DECISION", "CONTRADICTED", "NOT PROVABLE", "RETURNED")
"""Differences about the bank line of a completed request."""
_OPEN: Final = ("BLOCKED", "UNKNOWN STATUS", "SENT WRONG", "PAID BEFORE APPROVAL")
"""Differences in which the service has our money, without a due date."""
_ARRIVED: Final = ("PAID, NOT COMPLETED",)
_DOUBTS: Final = states_of("doubt")
_BETWEEN_BANKS: Final = "between own bank accounts"
_REQUESTS: Final = step_sql("treasury.close.cash.steps", "open_requests")
_BOOKED: Final = step_sql("treasury.close.cash.steps", "booked_movements")
_NEAR: Final = timedelta(days=5)
"""The maximum time between the date of an own flow and the booked line that shows it."""
_DAY: Final = timedelta(days=1)

_Row = Mapping[str, Any]


class FlowClock(msgspec.Struct, frozen=True):
    """Today, the last day of the forecast, and the last days that evidence covers.

    `service_to` is the last day that the services' records cover completely. `proved_to` has the
    day of each account's proved balance by account and currency.
    """

    today: date
    last: date
    service_to: date | None
    proved_to: Mapping[tuple[str, str], date | None]

    def evidence_to(self, account: str, currency: str) -> date | None:
        """Return the day up to which the account, or every account of a currency, is proved."""
        if account:
            return self.proved_to.get((account, currency))
        days = [day for (_, of), day in self.proved_to.items() if of == currency]
        return None if None in days else min(filter(None, days), default=None)

    def placed(self, flow: Flow, *, evidence_to: date | None, is_our_move: bool = False) -> Flow:
        """Return the flow on its day.

        A flow before today is overdue and falls on today, or on the next day of its calendar. If
        the evidence passes its day without it, it is not seen and in no sum, unless it is our move.
        """
        if flow.due is None or flow.amount is None:
            return msgspec.structs.replace(flow, state=UNDATED, day=None)
        has_passed = evidence_to is not None and flow.due <= evidence_to
        if flow.due < self.today and has_passed and not is_our_move:
            return msgspec.structs.replace(flow, state=NOT_SEEN, day=None)
        state = OVERDUE if flow.due < self.today else EXPECTED
        day = max(flow.due, self.today)
        if rail_of(flow.currency) == TARGET:
            day = TARGET.add(day - _DAY, 1)
        if day > self.last:
            return msgspec.structs.replace(flow, state=LATER, day=None)
        return msgspec.structs.replace(flow, state=state, day=day)


def clock_of(
    positions: Iterable[_Row], today: date, days: int, synced: datetime | None, zone: ZoneInfo
) -> FlowClock:
    """Return the clock of a forecast of `days` calendar days, today included."""
    return FlowClock(
        today=today,
        service_to=None if synced is None else synced.astimezone(zone).date() - _DAY,
        last=today + (days - 1) * _DAY,
        proved_to={
            (row["account"], row["currency"]): row["booked_on"] if row["proved"] else None
            for row in positions
            if row["funds"] == OWN_BANKS
        },
    )


def reported_flows(positions: Iterable[_Row], clock: FlowClock) -> Iterator[Flow]:
    """Yield what banks and services reported after each balance: booked or pending, not proved.

    Reports about an account without a proved balance are left out, as its balance is.
    """
    for row in positions:
        if not row["proved"]:
            continue
        for kind, amount in (("reported", row["intraday"]), ("pending", row["pending"])):
            if amount:
                yield Flow(
                    state=EXPECTED,
                    flow=kind,
                    day=clock.today,
                    due=clock.today,
                    item=clean(row["name"] or ""),
                    direction="in" if amount > 0 else "out",
                    amount=abs(amount),
                    currency=row["currency"],
                    account=row["account"] if row["funds"] == OWN_BANKS else "",
                    evidence=f"reported since {row['booked_on']:%-d %b}, not proved",
                )


def known_flows(r: Reconciliation, snapshot: Snapshot, clock: FlowClock) -> Iterator[Flow]:
    """Yield the flows of requests, payouts, deliveries and own transfers."""
    differences = [row for row in r.differences.arrow.to_pylist() if row["request_id"] is not None]
    waiting = r.shown_funding.to_pylist()
    ids = [row["request_id"] for row in differences] + [row["request"] for row in waiting]
    with snapshot.connection() as connection:
        rows = connection.execute(_REQUESTS, {"ids": ids}).to_arrow_table().to_pylist()
    requests = {row["id"]: row for row in rows}
    following: set[str] = set()
    for row in differences:
        request = requests.get(row["request_id"])
        if request is not None and row["state"] not in _DOUBTS:
            yield from _of_difference(row, request, r, clock, following)
    for row in waiting:
        if row["state"] not in (*_PAID, *_NEVER):
            yield _to_fund(row, clock)
        elif row["state"] in _PAID and row["request"] not in following:
            yield _following(row, requests[row["request"]])
    for request in rows:
        if request["status"] == "AWAITING_APPROVAL" and request["id"] not in following:
            way = "fiat" if request["ramp_type"] == "ON_RAMP" else "crypto"
            yield _undated(
                request,
                "approval",
                "out",
                item=clean(request["reference"] or request["id"]),
                amount=request[f"{way}_amount"],
                currency=request[f"{way}_currency"] or "",
                evidence="not payable before its approval",
                next_step="",
            )
    for row in r.internal_transfers.arrow.to_pylist():
        if row["kind"] == _BETWEEN_BANKS and row["state"] != "both_legs":
            yield _own_transfer(row, clock)


def _to_fund(row: _Row, clock: FlowClock) -> Flow:
    flow = Flow(
        state=UNDATED,
        flow="with_bank" if row["state"] in _AT_BANK else "to_fund",
        day=None,
        due=row["due"],
        item=clean(row["reference"]),
        direction="out",
        amount=row["send"],
        currency=row["currency"],
        account="",
        evidence=f"{row['state']}: {row['seen']}",
        next_step=row["next_step"],
    )
    if row["state"] in _OUR_MOVE:
        return clock.placed(flow, evidence_to=None, is_our_move=True)
    if row["state"] in _AT_BANK:
        return clock.placed(flow, evidence_to=row["evidence_to"])
    is_unseen = row["state"] == "CHECK BANK" and row["seen"] == "no debit"
    if is_unseen:
        # No statement reaches to its day: it is paid after the proved balance, or still to be paid.
        return clock.placed(flow, evidence_to=None, is_our_move=True)
    return flow


def _following(row: _Row, request: _Row) -> Flow:
    """Return the payout or delivery that follows a paid request, without a day."""
    is_on_ramp = request["ramp_type"] == "ON_RAMP"
    return _undated(
        row,
        "delivery" if is_on_ramp else "payout",
        "in",
        item=clean(request["reference"] or request["id"]),
        amount=request["crypto_amount" if is_on_ramp else "fiat_net_amount"],
        currency=request["crypto_currency" if is_on_ramp else "fiat_currency"] or "",
        account="" if is_on_ramp else plain_account(request["payout_account"] or ""),
        evidence=row["state"],
    )


def _of_difference(
    row: _Row, request: _Row, r: Reconciliation, clock: FlowClock, following: set[str]
) -> Iterator[Flow]:
    """Yield what should follow a request at the service, or a completed one at the bank.

    `following` are the requests that have a flow already; the request is added.
    """
    state, is_on_ramp = row["state"], request["ramp_type"] == "ON_RAMP"
    if state not in (*_HELD, *_BANK_LINE, *_OPEN, *_ARRIVED):
        # It was paid to the wrong place, or twice.
        yield _undated(row, "refund", "in", item=clean(row["item"]), evidence=state)
        return
    if request["id"] in following:
        return
    following.add(request["id"])
    flow = _following(row, request)
    if state in _BANK_LINE and is_on_ramp:
        money = {"amount": row["amount"], "currency": row["currency"]}
        flow = msgspec.structs.replace(flow, flow="debit", direction="out", **money)
    due: date | None = row["due"]
    if state in _COMPLETED:
        passed = due if state == "NOT AT BANK" else None
        yield clock.placed(msgspec.structs.replace(flow, due=due), evidence_to=passed)
    elif state in _HELD:
        passed = clock.service_to
        is_late = passed is not None and due is not None and due <= passed and due < clock.today
        # If the service has not completed it in time, no payout is on its way.
        if due is not None and not is_on_ramp and not is_late:
            due = rail_of(flow.currency).add(due, r.rules.theirs_target_days)
        yield clock.placed(msgspec.structs.replace(flow, due=due), evidence_to=passed)
    elif state not in _ARRIVED:
        # It needs a decision or an answer: its money may be in a balance already.
        yield flow


def _undated(row: _Row, flow: str, direction: str, **columns: Any) -> Flow:
    """Return a flow that no record dates; `columns` has what the row names otherwise."""
    values = {
        name: row.get(name) for name in ("item", "amount", "currency", "evidence", "next_step")
    }
    return Flow(
        state=UNDATED,
        flow=flow,
        day=None,
        due=None,
        direction=direction,
        **{"account": "", **values, **columns},
    )


def _own_transfer(row: _Row, clock: FlowClock) -> Flow:
    is_leg_in = row["in_on"] is None
    flow = Flow(
        state=UNDATED,
        flow="own_transfer",
        day=None,
        due=row["due"],
        item=clean(f"{row['sent_from']} to {row['received_by']}"),
        direction="in" if is_leg_in else "out",
        amount=row["amount"],
        currency=row["currency"],
        account="",
        evidence=row["evidence"],
        next_step=row["next_step"],
    )
    # These states mean that the statements of the other account have passed its day.
    has_passed = row["state"] in {"leg_in_missing", "leg_out_missing"}
    return clock.placed(flow, evidence_to=row["due"] if has_passed else None)


def own_flows(flows: Sequence[OwnFlow], snapshot: Snapshot, clock: FlowClock) -> Iterator[Flow]:
    """Yield the company's own flows that no booked line shows yet.

    A line shows a flow if it has exactly the amount, the currency and the account, if one is named,
    and is at most five days from its day. Each line shows one flow.
    """
    planned = [
        (due, moved, flow) for flow in flows for due, moved in flow.days(clock.today, clock.last)
    ]
    planned.sort(key=lambda each: each[0])
    booked: dict[tuple[str, Decimal], list[_Row]] = defaultdict(list)
    if planned:
        with snapshot.connection() as connection:
            since = {"since": planned[0][0] - _NEAR}
            rows = connection.execute(_BOOKED, since).to_arrow_table().to_pylist()
        for row in rows:
            booked[row["currency"], row["amount"]].append(row)
    for due, moved, flow in planned:
        lines = [
            line
            for line in booked.get((flow.currency, flow.amount), ())
            if flow.account in ("", line["account"]) and abs(line["booking_date"] - due) <= _NEAR
        ]
        if lines:
            seen = min(lines, key=lambda line: abs(line["booking_date"] - due))
            booked[flow.currency, flow.amount].remove(seen)
            continue
        repeats = f"every {flow.every}" if flow.every else "planned"
        moves = f", moved from {due:%-d %b}" if moved != due else ""
        placed = Flow(
            state=EXPECTED,
            flow="own_flow",
            day=None,
            due=moved,
            item=clean(flow.text),
            direction="in" if flow.amount > 0 else "out",
            amount=abs(flow.amount),
            currency=flow.currency,
            account=flow.account,
            evidence=f"{repeats}{moves}",
        )
        yield clock.placed(placed, evidence_to=clock.evidence_to(flow.account, flow.currency))
