"""Money with the provider for ramp requests: fiat that was debited, coins that were sent.

A debit counts until the service delivered its coins or the bank shows the money back. Sent coins
count until the service completed the request; then its payout counts until the bank shows it. A
bank date has no hour: money leaves at the start of its day and arrives at the end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from operator import itemgetter
from typing import Any, Final
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from treasury.close.valuation.exposure.exposure_sums import (
    AT,
    HeldAmount,
    doubted,
    lasting,
    without,
)
from treasury.core.money import added
from treasury.core.statuses import REQUEST_UNDONE
from treasury.matching.rules import Rules
from treasury.month.clocks import end_of, rail_of, reacts_by

_Row = Mapping[str, Any]

IN_TRANSIT: Final = "fiat in transit"
SENT: Final = "crypto sent"
STUCK: Final = "stuck"
BLOCKED: Final = "blocked"
PAYOUT: Final = "payout outstanding"
_DELIVERED: Final = "coins delivered, by the service"
_DECIDE: Final = "decide the line: `treasury match open`"
_UNDECIDED: Final = ("the line may have paid for this request: nobody has decided", _DECIDE)
_ELSEWHERE: Final = (
    "it went to another account than the provider named",
    "ask the bank and the provider who has it",
)
_HASH_IN_DOUBT: Final = (
    "its transaction hash is also used for something else",
    "find which request each hash paid",
)
_WORDS: Final = {
    "sent": "",
    "above": "MORE THAN WAS ASKED",
    "twice": "PAID TWICE",
    "contradicted": "CONTRADICTED",
}
_FOR_IT: Final = ("sent", "closed", "contradicted")
"""The states of a line that was meant for the request."""


def request_spans(
    steps: Mapping[str, Sequence[_Row]], rules: Rules, zone: ZoneInfo
) -> Iterator[HeldAmount]:
    """Yield every amount ever held by the provider for a request, from the rows of the steps."""
    names = ("provider_status_changes", "provider_debits", "told_payouts")
    turns, debits, payouts = groups = [defaultdict[str, list[_Row]](list) for _ in names]
    for name, by_request in zip(names, groups, strict=True):
        for row in steps[name]:
            by_request[row["request_id"]].append(row)
    for request in steps["provider_requests"]:
        own = request["request_id"]
        teller = _Teller(request, turns.get(own, ()), rules, zone)
        if request["ramp_type"] == "ON_RAMP":
            yield from teller.debited(debits.get(own, ()))
        else:
            yield from teller.sent(payouts.get(own, ()))


_BY_TIME: Final = itemgetter("moment", "is_record", "seen_at", "status")


class _Teller:
    """The calculation of one request's spans."""

    def __init__(self, request: _Row, turns: Sequence[_Row], rules: Rules, zone: ZoneInfo) -> None:
        self._request = request
        self._stated_turns = turns
        self._rules = rules
        self._zone = zone
        self._completed: datetime | None = request["completed_at"]
        if self._completed is None and request["status"] == "SUCCEEDED":
            self._completed = self._first("SUCCEEDED")

    @cached_property
    def _turns(self) -> Sequence[_Row]:
        """The status changes by time; of changes at the same time, the last one applies."""
        return sorted(self._stated_turns, key=_BY_TIME)

    def _first(self, status: str) -> datetime | None:
        """Return when the request first had a status."""
        return next((turn["moment"] for turn in self._turns if turn["status"] == status), None)

    # Spans of an on-ramp: the fiat that was debited.

    def debited(self, lines: Sequence[_Row]) -> Iterator[HeldAmount]:
        """Yield the fiat sent for the request, line by line."""
        completed = self._completed
        received: datetime | None = self._request["received_at"] or self._first("PROCESSING")
        has_proved = any(line["standing"] == "sent" and not line["back_on"] for line in lines)
        is_stated = not any(line["standing"] in _FOR_IT for line in lines)
        if is_stated and received is not None:
            yield from self._stated(received)
            lines = [line for line in lines if line["standing"] != "undecided"]
        for line in lines:
            since = datetime.combine(line["booking_date"], time(), self._zone)
            file, place = line["file_name"] or "statement", line["position"] or line["entry_id"]
            whole = self._span(
                kind=IN_TRANSIT, state=_WORDS.get(line["standing"], ""), amount=line["amount"],
                currency=line["currency"], since=since, until=None, began=since,
                evidence=f"debited {line['booking_date']}: {file}, {place}",
            )  # fmt: skip
            if line["standing"] not in ("sent", "closed"):
                whole = replace(whole, subject="line", subject_id=line["entry_id"])
            if line["standing"] == "undecided":
                yield from lasting(doubted(_left(whole, completed, ""), *_UNDECIDED))
            elif line["standing"] == "elsewhere":
                yield doubted(whole, *_ELSEWHERE)
            elif line["back_on"] is not None:
                back = end_of(line["back_on"], self._zone)
                yield from self._by_status(
                    _left(whole, back, f"money back at the bank on {line['back_on']}")
                )
            elif line["standing"] == "sent" and (completed or line["perhaps_back_on"] is None):
                yield from self._by_status(_left(whole, completed, _DELIVERED))
            elif line["standing"] == "sent":
                for span in self._perhaps_back(whole, line["perhaps_back_on"]):
                    yield from self._by_status(span) if span.is_proved else (span,)
            else:
                yield from self._stranded(whole, line, has_proved=has_proved)

    def _perhaps_back(self, whole: HeldAmount, perhaps: date) -> Iterator[HeldAmount]:
        """Yield money that is in doubt from the end of a day on which it may have been returned."""
        told = f"a credit of {perhaps} may have brought it back"
        for span in _doubted_from(whole, end_of(perhaps, self._zone), told, _DECIDE):
            kind = whole.kind if span.is_proved else self._standing(span.since, whole)[0]
            yield replace(span, kind=kind)

    def _stated(self, since: datetime) -> Iterator[HeldAmount]:
        """Yield fiat that the service recorded as received, if no bank line is known."""
        completed = self._completed
        whole = self._span(
            kind=IN_TRANSIT, state="", amount=self._request["fiat_amount"],
            currency=self._request["fiat_currency"], since=since, until=None, began=since,
            evidence=f"service: payment received {AT}; no line shows it", seen_at=since,
        )  # fmt: skip
        yield from self._by_status(_left(whole, completed, _DELIVERED))

    def _stranded(self, whole: HeldAmount, line: _Row, *, has_proved: bool) -> Iterator[HeldAmount]:
        """Yield money that paid no valid request, until a line may have returned it.

        Money paid for a request that the service then blocked or denied is shown with that status.
        """
        perhaps, completed = line["perhaps_back_on"], self._completed
        if line["standing"] != "closed":
            whole = replace(whole, kind=STUCK)
        elif completed is not None:
            whole = replace(whole, kind=STUCK, state="PAID TO CLOSED REQUEST")
        if perhaps is not None:
            spans = self._perhaps_back(whole, perhaps)
        elif line["standing"] in _FOR_IT and completed is not None and not has_proved:
            problem = "the service delivered, and no other line paid for it"
            step = "find out what is wrong: the payment, or the record"
            spans = _doubted_from(whole, completed, problem, step)
        else:
            spans = iter((whole,))
        for span in spans:
            is_open = line["standing"] == "closed" and completed is None and span.is_proved
            yield from self._by_status(span) if is_open else (span,)

    # Spans of an off-ramp: the sent coins, then the payout.

    def sent(self, lines: Sequence[_Row]) -> Iterator[HeldAmount]:
        """Yield the sent coins until completion, then the net amount until it is paid out."""
        request = self._request
        received = [line for line in lines if line["standing"] == "received"]
        ends = [end_of(line["booking_date"], self._zone) for line in received]
        completed = min(filter(None, (self._completed, *ends)), default=None)
        since: datetime | None = request["sent_at"] or self._first("PROCESSING") or completed
        # Until the transfer settles, the custodial balance contains the coins.
        if request["is_from_custody"]:
            since = request["settled_at"] if request["is_settled"] else None
        if since is None:
            return
        settled = self._settled(received)
        if completed is None or completed > since:
            yield from self._coins(since, completed, settled)
        if completed is None:
            return
        for span in self._payout(completed, min(since, completed), settled, received, lines):
            yield doubted(span, *_HASH_IN_DOUBT) if request["is_hash_in_doubt"] else span

    def _coins(
        self, since: datetime, completed: datetime | None, settled: datetime | None
    ) -> Iterator[HeldAmount]:
        """Yield the coins from sending until the request completed."""
        request = self._request
        coins = self._span(
            kind=SENT, state="", amount=request["crypto_amount"],
            currency=request["crypto_currency"], since=since, until=completed, began=since,
            left_at=settled, left_by="" if settled is None else "payout received",
            evidence=f"service: coins sent or seen {AT}", seen_at=since,
            is_level=bool(request["is_from_custody"]),
        )  # fmt: skip
        ended = next((turn for turn in self._turns if turn["status"] in REQUEST_UNDONE), None)
        if request["is_hash_in_doubt"]:
            yield doubted(coins, *_HASH_IN_DOUBT)
        elif completed is None and ended is not None and request["status"] in REQUEST_UNDONE:
            told = f"the request is {ended['status']}; nothing shows whether its coins came back"
            for span in _doubted_from(coins, ended["moment"], told, "ask the provider for them"):
                yield from self._by_status(span) if span.is_proved else (span,)
        else:
            yield from self._by_status(coins)

    def _settled(self, received: Sequence[_Row]) -> datetime | None:
        """Return when the bank showed the whole net amount; None while a part is missing."""
        net, so_far = self._request["fiat_net_amount"], Decimal(0)
        for line in received:
            so_far = added(so_far, line["amount"])
            if net is not None and so_far >= net:
                return end_of(line["booking_date"], self._zone)
        return None

    def _payout(
        self,
        completed: datetime,
        began: datetime,
        settled: datetime | None,
        received: Sequence[_Row],
        lines: Sequence[_Row],
    ) -> Iterator[HeldAmount]:
        net: Decimal | None = self._request["fiat_net_amount"]
        terms = {
            "kind": PAYOUT, "state": "", "currency": self._request["fiat_currency"],
            "began": began, "left_at": settled,
            "left_by": "" if settled is None else "payout received", "seen_at": completed,
        }  # fmt: skip
        is_part = self._completed is None or completed < self._completed
        ended = f"a part was paid out by {AT}" if is_part else f"service: completed {AT}"
        shown = f"{ended}; no payout at the bank"
        if net is None:
            if not received:
                whole = self._span(
                    amount=None, since=completed, until=None, evidence=shown, **terms
                )
                yield doubted(whole, "its net amount is not recorded", "ask the provider")
            return
        bounds = [completed, *(end_of(line["booking_date"], self._zone) for line in received)]
        perhaps = [line for line in lines if line["standing"] == "undecided"]
        maybe_on = min((line["booking_date"] for line in perhaps), default=None)
        for at, since in enumerate(bounds):
            left = without(net, (line["amount"] for line in received[:at]))
            until = bounds[at + 1] if at + 1 < len(bounds) else None
            if not left or (until is not None and until <= since):
                continue
            words = f"{shown} of the rest" if at else shown
            span = self._span(amount=left, since=since, until=until, evidence=words, **terms)
            if maybe_on is None:
                yield span
            else:
                problem = f"a credit of {maybe_on} may be its payout"
                yield from _doubted_from(span, end_of(maybe_on, self._zone), problem, _DECIDE)

    # The state of an amount by the service's status at that time.

    def _by_status(self, whole: HeldAmount) -> Iterator[HeldAmount]:
        """Yield the span in parts, each with its kind and state by the status at that time."""
        if whole.until is not None and whole.until <= whole.since:
            return
        bounds = [whole.since]
        for at, turn in enumerate(self._turns):
            bounds.append(turn["moment"])
            following = self._turns[at + 1]["moment"] if at + 1 < len(self._turns) else None
            overdue = self._overdue(turn)
            if overdue is not None and (following is None or overdue < following):
                bounds.append(overdue)
        inside = sorted(
            {
                bound
                for bound in bounds
                if bound >= whole.since and (whole.until is None or bound < whole.until)
            }
        )
        for since, until in zip(inside, [*inside[1:], None], strict=True):
            kind, state = self._standing(since, whole)
            ends = whole.until if until is None else until
            yield replace(whole, kind=kind, state=whole.state or state, since=since, until=ends)

    def _standing(self, at: datetime, whole: HeldAmount) -> tuple[str, str]:
        """Return the kind and the state right after a time."""
        turn = next((turn for turn in reversed(self._turns) if turn["moment"] <= at), None)
        if turn is None:
            return whole.kind, ""
        if turn["status"] == "BLOCKED":
            return BLOCKED, turn["status"]
        overdue = self._overdue(turn)
        if turn["status"] in REQUEST_UNDONE or (overdue is not None and overdue <= at):
            return STUCK, turn["status"]
        return whole.kind, turn["status"]

    def _overdue(self, turn: _Row) -> datetime | None:
        """Return when a request in processing becomes overdue."""
        if turn["status"] != "PROCESSING":
            return None
        day = turn["moment"].astimezone(self._zone).date()
        rail = rail_of(self._request["fiat_currency"])
        return end_of(reacts_by(day, self._rules, rail=rail), self._zone)

    def _span(self, **columns: Any) -> HeldAmount:
        request = self._request
        return HeldAmount(
            subject="request",
            subject_id=request["request_id"],
            reference=request["reference"],
            **columns,
        )


def _left(span: HeldAmount, at: datetime | None, left_by: str) -> HeldAmount:
    return replace(span, until=at, left_at=at, left_by=left_by if at else "")


def _doubted_from(
    span: HeldAmount, at: datetime, problem: str, next_step: str
) -> Iterator[HeldAmount]:
    """Yield the span until a time, and from then on in doubt."""
    if at > span.since:
        until = at if span.until is None else min(at, span.until)
        yield replace(span, until=until)
    if span.until is None or span.until > at:
        yield doubted(replace(span, since=max(at, span.since)), problem, next_step)
