"""The sentence that the journal keeps with each step of a close: prepare, sign, withdraw, reopen.

A person who takes a step on a screen confirms exactly this sentence. `by` is the person, as
`actor_words` names one. The sentence states no instant, so that it is the same when it is shown and
when it is journaled; the entry has the instant.
"""

from __future__ import annotations

import msgspec

from treasury.actions.policies.policy import Policy
from treasury.close.result_words import count
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, TreasuryError
from treasury.core.text import clean
from treasury.journal import Actor


class CloseStep(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a month's close: the sentence to journal, and why it cannot be taken now.

    `name` is prepare, sign, withdraw or reopen. `refusal` is None if this person may take it.
    `actor` is the person, and `identity` is the way in which the name is known.
    """

    name: str
    actor: Actor
    identity: str
    sentence: str
    refusal: TreasuryError | None = None


def actor_words(actor: Actor, policy: Policy) -> str:
    """Return the person and how the name is known, such as `By ines, claimed.`."""
    return f"By {clean(actor.name)}, {policy.assurance(actor)}."


def prepare_sentence(month: Month, items: int, proposed: int, by: str) -> str:
    """Return the sentence for preparing a month with `items` open items."""
    carried = f", {proposed:,} of them proposed to be carried" if proposed else ""
    return (
        f"Prepare the close of {month.title} for a second person to sign: "
        f"{count(items, 'open item')}{carried}. {by}"
    )


def sign_sentence(
    month: Month,
    prepared_by: str,
    entry: int,
    carried: int,
    by: str,
    *,
    alone: bool,
    pack: str = "",
) -> str:
    """Return the sentence for signing a month; `pack` is the seal of the pack that was reviewed."""
    review = ", alone and not reviewed" if alone else ""
    seal = f" Pack {pack}." if pack else ""
    return (
        f"Sign and lock {month.title} as {clean(prepared_by)} prepared it in journal entry "
        f"{entry}{review}: {count(carried, 'open item')} carried.{seal} {by}"
    )


def withdraw_sentence(month: Month, prepared_by: str, reason: str, by: str) -> str:
    """Return the sentence for withdrawing a preparation."""
    return (
        f"Withdraw the preparation of {month.title} by {clean(prepared_by)}. "
        f"Reason: {clean(reason.strip())}. {by}"
    )


def reopen_sentence(month: Month, close: int, reason: str, by: str) -> str:
    """Return the sentence for reopening a month that journal entry `close` closed."""
    return (
        f"Reopen {month.title}, closed in journal entry {close}. "
        f"Reason: {clean(reason.strip())}. {by}"
    )


def require_same(agreed: str | None, sentence: str) -> None:
    """Raise ActionRefused if the sentence is not the one that the person agreed to."""
    if agreed is not None and agreed != sentence:
        raise ActionRefused(
            f"what would be journaled changed while it was on screen; now it is: {sentence}",
            do="look at the month again, then decide",
        )
