"""Sentences about a close, the same on every screen: proof, transit, fees and signatures."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from treasury.close.closing import Closing
from treasury.close.fees.fee_table import Fees
from treasury.close.month_proof import Proof, in_transit
from treasury.close.result_words import amounts_words, count, day, moment
from treasury.close.wallet_balances import SERVICE_SAYS
from treasury.core.text import clean
from treasury.journal.period_history import Close, Period
from treasury.month.reconciliation import Reconciliation

ALONE: Final = "signed alone, not reviewed"
UNREAD: Final = "not known: the services were never read"
NOT_USED: Final = "not used here"
"""The result of a step that needs the services, for a company that has only bank files."""


def unread_words(closing: Closing) -> str:
    """Return why there is no record of the services; empty if they were read."""
    if not closing.is_unread:
        return ""
    return UNREAD if closing.are_services_used else NOT_USED


def fees_words(fees: Fees) -> str:
    """Return words such as `EUR 1,912.40 on 18 completed requests`, each currency separately."""
    parts = [
        sums.words + (f", {sums.without_fee} without a recorded fee" if sums.without_fee else "")
        for sums in fees.by_currency()
    ]
    return " · ".join(parts) or "no request completed"


def transit_words(r: Reconciliation) -> str:
    """Return the amounts in transit in words, and the number that may have arrived already."""
    sure, maybe = in_transit(r)
    words = amounts_words((row["amount"], row["currency"]) for row in sure) or "nothing"
    return f"{words}; {len(maybe)} more may have arrived: decide them" if maybe else words


def statements_words(proof: Proof) -> str:
    """Return words such as `3 of 3 proved, to 31 Oct`."""
    if not proof.accounts:
        return "no account is declared in treasury.toml"
    reach = f", to {day(proof.proved_to)}" if proof.proved_to else ""
    return f"{proof.proved} of {proof.accounts} proved{reach}"


def signature_words(closing: Closing, *, with_command: bool = True) -> str:
    """Return in words who signed the close and when, or which signature is missing.

    With `with_command`, a missing signature is followed by the shell command that gives it.
    """
    zone, month = closing.zone, closing.r.month
    if closing.period is not None:
        return closed_words(closing.period, zone, month.year)
    if closing.preparation is not None:
        at = moment(closing.preparation.prepared_at, zone, month.year)
        by = closing.preparation.close.prepared_by
        words, command = f"prepared by {by}, {at}; a second person signs", " --sign"
    else:
        words, command = "not prepared", ""
    return clean(f"{words}: treasury close {month}{command}" if with_command else words)


class SignOff(msgspec.Struct, frozen=True):
    """A signature on the cover of a close: its role, the person, and how the name is identified."""

    role: str
    name: str
    identified: str = ""
    when: str = ""


def sign_offs(closing: Closing) -> tuple[SignOff, SignOff]:
    """Return who prepared and who reviewed the close; a missing signature reads `not signed`."""
    period, preparation, year = closing.period, closing.preparation, closing.r.month.year
    reviewed = SignOff("Reviewed by, another person", "not signed")
    if period is not None:
        close, prepared_at = period.close, period.close.prepared_at or period.closed_at
        prepared_in = (close.preparation or period.entry).seq
        reviewed = SignOff(
            "Reviewed by",
            ALONE if close.alone else clean(close.reviewed_by),
            "" if close.alone else closing.controls.identity_of(period.entry.seq),
            moment(period.closed_at, closing.zone, year),
        )
    elif preparation is not None:
        close, prepared_at = preparation.close, preparation.prepared_at
        prepared_in = preparation.entry.seq
    else:
        return SignOff("Prepared by", "not signed"), reviewed
    at, identified = moment(prepared_at, closing.zone, year), closing.controls.identity_of
    return SignOff("Prepared by", clean(close.prepared_by), identified(prepared_in), at), reviewed


def names_words(closing: Closing) -> str:
    """Return how many acts behind the close have a verified name, and how many a claimed one."""
    counts = closing.controls.counts.arrow.to_pylist()
    verified, claimed = (sum(row[name] for row in counts) for name in ("verified", "claimed"))
    if not verified + claimed:
        return "the journal has no act for this month"
    return f"{count(verified, 'act')} by verified names, {claimed:,} by names only claimed"


def evidence_words(closing: Closing) -> str:
    """Return how many balances evidence verifies, and how many only the service claims."""
    rows = closing.balances.arrow.to_pylist()
    proved = sum(bool(row["proved"]) for row in rows)
    claimed = sum(not row["proved"] and row["proved_by"] == SERVICE_SAYS for row in rows)
    words = f"{proved:,} of {count(len(rows), 'balance')} verified"
    if claimed:
        words += f", {claimed:,} only claimed by the service"
    others = len(rows) - proved - claimed
    return f"{words}, {others:,} not proved" if others else words


def closed_words(period: Period, zone: ZoneInfo, year: int) -> str:
    """Return words such as `closed by anna, reviewed by bert, 5 Nov 10:00 CET`."""
    close, at = period.close, moment(period.closed_at, zone, year)
    return clean(f"closed by {close.prepared_by}, {review_words(close)}, {at}")


def review_words(close: Close) -> str:
    """Return words such as `reviewed by bert`; a close by one person is never called reviewed."""
    return ALONE if close.alone else f"reviewed by {clean(close.reviewed_by)}"
