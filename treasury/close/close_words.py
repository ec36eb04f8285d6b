"""Sentences about a close, the same on every screen: proof, transit, fees and signatures."""

from __future__ import annotations

from typing import Final
from zoneinfo import ZoneInfo

from treasury.close.closing import Closing
from treasury.close.fees.fee_table import Fees
from treasury.close.month_proof import Proof, in_transit
from treasury.close.result_words import amounts_words, day, moment
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


def signature_words(closing: Closing) -> str:
    """Return in words who signed the close and when, or which signature is missing."""
    zone, month = closing.zone, closing.r.month
    if closing.period is not None:
        return closed_words(closing.period, zone, month.year)
    if closing.preparation is not None:
        at = moment(closing.preparation.prepared_at, zone, month.year)
        by = closing.preparation.close.prepared_by
        return clean(
            f"prepared by {by}, {at}; a second person signs: treasury close {month} --sign"
        )
    return f"not prepared: treasury close {month}"


def closed_words(period: Period, zone: ZoneInfo, year: int) -> str:
    """Return words such as `closed by anna, reviewed by bert, 5 Nov 10:00 CET`."""
    close, at = period.close, moment(period.closed_at, zone, year)
    return clean(f"closed by {close.prepared_by}, {review_words(close)}, {at}")


def review_words(close: Close) -> str:
    """Return words such as `reviewed by bert`; a close by one person is never called reviewed."""
    return ALONE if close.alone else f"reviewed by {clean(close.reviewed_by)}"
