"""The hops of a trace (the steps of a payment's path), made from stored records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

from treasury.core.money import convert, format_amount, net_crypto
from treasury.core.wording import instant_words
from treasury.month.conversion import Conversion
from treasury.month.trace.payment_trace import Hop, HopState

_Row = Mapping[str, Any]

LINE_STATES: Final[dict[str, HopState]] = {
    "matched": "seen",
    "ignored": "seen",
    "returned": "conflict",
    "duplicate": "conflict",
    "conflict": "conflict",
    "suggested": "undecided",
    "unreferenced": "undecided",
}
LINE_STEPS: Final = {
    "suggested": "Suggested: accept or reject it, `treasury match`",
    "unreferenced": "Unreferenced: ask the payer or the provider who it belongs to",
    "conflict": "Conflict: look at the contradiction, then decide it",
    "duplicate": "Duplicate: ask for the second payment back",
}


def exchange(request: _Row) -> Iterator[Hop]:
    """Yield the hop of the exchange, recalculated, if the service recorded its rate and amounts."""
    rate, fee, coins = (
        request[name] for name in ("exchange_rate", "fiat_fee_amount", "crypto_amount")
    )
    gross, net = request["fiat_amount"], request["fiat_net_amount"]
    fiat, asset = request["fiat_currency"] or "?", request["crypto_currency"] or "?"
    succeeded = request["status"] == "SUCCEEDED"
    if not rate or fee is None or coins is None or gross is None:
        return
    if not succeeded and not request["is_open"]:
        return
    if request["ramp_type"] == "ON_RAMP":
        net_words = f"({words(gross, fiat)} − {words(fee, fiat)})"
        says = f"{net_words} / {rate.normalize():f} = {words(coins, asset)}"
        agrees = net_crypto(gross, fee, rate, asset) == coins
    else:
        gross_words = f"{words(coins, asset)} × {rate.normalize():f} = {words(gross, fiat)}"
        says = f"{gross_words}, less {words(fee, fiat)} = {words(net, fiat)}"
        agrees = convert(coins, rate, fiat) == gross and net is not None and gross - fee == net
    if agrees:
        so_far = "" if succeeded else "not completed yet; "
        yield Hop("Conversion", "as recorded", f"{so_far}as recorded, {says}")
    else:
        yield Hop("Conversion", "conflict", f"{says}: recalculating it gives a different result")


def paid_out(request: _Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
    """Yield the hop of an off-ramp's payout, if the service reports one."""
    event = last_event(events, "PAYMENT_SENT") or last_event(events, "COMPLETED")
    if event is not None:
        net, fiat = request["fiat_net_amount"], request["fiat_currency"]
        says = f"service reports it as sent: {words(net, fiat)}"
        yield event_hop("Payout", says, event, amount=net, currency=fiat)


def bank_line(line: _Row) -> Hop:
    """Return the hop of a bank line, with the reason if it was returned or is a duplicate."""
    amount, currency = line["amount"], line["currency"]
    way = "credit from" if line["direction"] == "CRDT" else "debit to"
    says = f"{words(amount, currency)}, {way} {line['counterparty_name'] or 'no name'}"
    state: HopState = "seen"
    if line["outcome"] in {"returned", "duplicate"}:
        state = "seen" if line["line_class"] else LINE_STATES[line["outcome"]]
        says += f"; {line['reason']}"
    on, evidence = line["booking_date"], place_of(line)
    return Hop("Bank line", state, says, on=on, amount=amount, currency=currency, evidence=evidence)


def reference(line: _Row) -> Hop:
    """Return the hop with the words for how a line was assigned, or why it was not."""
    if line["line_class"]:
        says = f"other business by the rule {line['rule_name']!r}"
        return Hop("Reference", "seen", says, is_for_provider=False)
    code = f"{line['reference']}: " if line["reference"] else ""
    by = f", by {line['decided_by']}" if line["decided_by"] else ""
    says = f"{code}{line['reason'] or ''}{by}"
    is_for_provider = line["outcome"] in {"conflict", "unreferenced"}
    state = LINE_STATES[line["outcome"]]
    return Hop("Reference", state, says, is_for_provider=is_for_provider)


_CONVERSION_WORDS: Final[dict[str, tuple[HopState, str]]] = {
    "proved": ("seen", "proved by the balance"),
    "proved_as_group": (
        "seen",
        "proved as a group of {credits} credits, but no single one of them",
    ),
    "rate_outside_band": ("conflict", "the implied rate is outside the recorded rates"),
    "not_yet_credited": ("missing", "not in the balance yet"),
    "held_kyc": ("missing", "held until the holder is verified (inferred)"),
    "not_shown": ("conflict", "{reason}"),
    "not_provable": ("not provable", "{reason}"),
}
_MAYBE: Final = "may be in a proved group of {credits} credits; on its own it is not proved"


def conversion(proof: Conversion, line: _Row, due: date | None, zone: ZoneInfo) -> Hop:
    """Return the hop of a credit's conversion as the balances show it.

    A credit of a proved group is not proved if it was not matched, or may be outside the group.
    """
    state, saying = _CONVERSION_WORDS[proof.state]
    in_group = proof.state == "proved_as_group"
    if in_group and (line["entry_id"] in proof.edge_ids or line["outcome"] != "matched"):
        state, saying = "not provable", _MAYBE
    says = saying.format(credits=proof.credits, reason=proof.reason)
    if proof.implied_rate is not None and proof.implied_rate_to is not None:
        low, high = f"{proof.implied_rate:f}", f"{proof.implied_rate_to:f}"
        rate = low if low == high else f"{low} to {high}"
        says += f"; {proof.currency} {rate} a {proof.asset}, rate and fee together"
    between = ""
    if proof.opened_at is not None and proof.closed_at is not None:
        seen_at = (at.astimezone(zone) for at in (proof.opened_at, proof.closed_at))
        between = f"balances of {' and '.join(map(instant_words, seen_at))}"
    return Hop(
        "Conversion",
        state,
        says,
        at=proof.closed_at if state != "missing" else None,
        since=(due or line["booking_date"]) if state == "missing" else None,
        amount=proof.converted,
        currency=proof.asset,
        evidence=between,
    )


def last_event(events: list[dict[str, Any]], kind: str) -> dict[str, Any] | None:
    """Return the last event of a kind, or None."""
    of_kind = [event for event in events if event["event_type"] == kind]
    return of_kind[-1] if of_kind else None


def who(event: _Row) -> str:
    """Return the name of an event's author, as the service states it."""
    return event["email"] or event["username"] or "an unknown user"


def event_hop(place: str, says: str, event: _Row, state: HopState = "seen", **more: Any) -> Hop:
    """Return a hop with an event of the service as its evidence."""
    at = event["created_at"]
    return Hop(place, state, says, at=at, evidence=id_of(event), **more)


def id_of(event: _Row | None) -> str:
    """Return the words that name an event of the service as evidence."""
    return f"event {event['id']}" if event is not None else ""


def place_of(line: _Row) -> str:
    """Return the source of a line in words: its file, its position in the file, and its id."""
    return f"{line['file_name']}, {line['position']}, line {line['entry_id']}"


def words(amount: Decimal | None, currency: str | None) -> str:
    """Return an amount with its currency, or words for an amount that was not recorded."""
    return "an amount not recorded" if amount is None else format_amount(amount, currency or "?")
