"""All kinds of action by name, and the sentence that a person confirms.

The sentence is journaled word for word.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from treasury.actions.kinds.account_actions import ACCOUNT_KINDS
from treasury.actions.kinds.company_actions import COMPANY_KINDS
from treasury.actions.kinds.kind import Findings, Kind
from treasury.actions.kinds.onboarding_actions import ONBOARDING_KINDS
from treasury.actions.kinds.ramp_actions import RAMP_KINDS
from treasury.actions.kinds.transfer_actions import TRANSFER_KINDS
from treasury.core.errors import InputError
from treasury.core.text import clean, is_it, one_of
from treasury.core.wording import instant_words

KINDS: Final = {
    kind.name: kind
    for kind in (*RAMP_KINDS, *TRANSFER_KINDS, *ACCOUNT_KINDS, *ONBOARDING_KINDS, *COMPANY_KINDS)
}
"""Every kind of action, by name."""


def kind_of(name: str) -> Kind:
    """Return the kind of that name; raise InputError listing the kinds if there is none."""
    try:
        return KINDS[name]
    except KeyError:
        raise InputError(
            f"{name!r} is not a kind of action{is_it(name, KINDS)}",
            do=one_of(name, sorted(KINDS)),
        ) from None


def sentence(
    kind: Kind,
    findings: Findings,
    *,
    actor: str,
    client_id: str,
    at: datetime,
    verb: str = "Proposed",
    reason: str | None = None,
    notes: tuple[str, ...] = (),
    masked: bool = False,
) -> str:
    """Return the sentence to confirm: who does what, how much, where to and when.

    With `masked`, only the end of an account is shown, for output that is saved or shared. The text
    is one line and quotes people and services, so escape it before display.
    """
    content = clean(findings.masked if masked else findings.says)
    parts = [f"{kind.verb} {content}", kind.consequence]
    if findings.request is not None:
        creator = clean(findings.request.created_by) or "unknown"
        parts.append(f"Created by {creator}, version {findings.request.version}.")
    parts += [f"{note}." for note in notes]
    parts.append(
        f"{verb} by {clean(actor)} at {instant_words(at, '%Y-%m-%d %H:%M:%S')},"
        f" sent as {clean(client_id)}."
    )
    return " ".join([*parts, *([f"Reason: {clean(reason)}"] if reason else [])])
