"""The step that accepts a payee's name as its bank gave it: both names, and who bears the loss."""

from __future__ import annotations

import uuid

import msgspec

from treasury.decisions.remarks import LIABILITY
from treasury.journal.decision_history import AcceptedPayee
from treasury.panels.frames.blocks import StepBlock, Text, confirm_buttons, detail
from treasury.panels.panel_desk import PanelDesk
from treasury.text import clean

__all__ = ["PendingPayee", "ask_payee", "payee_step"]


class PendingPayee(msgspec.Struct, frozen=True, kw_only=True):
    """A close match to accept, of the payment of one request; `nonce` is good for one answer."""

    nonce: str
    request: str
    reference: str
    payee: AcceptedPayee


def ask_payee(desk: PanelDesk, request: str, reference: str, reason: str) -> PendingPayee:
    """What to confirm; ActionRefused where there is no close match, or not for this person."""
    payee = desk.funding.accept_payee(request, reason, dry_run=True)
    return PendingPayee(nonce=uuid.uuid4().hex, request=request, reference=reference, payee=payee)


def payee_step(pending: PendingPayee, *, idle: bool) -> StepBlock:
    """The two names beside each other, the account, and what accepting means."""
    payee = pending.payee
    return StepBlock(
        key=pending.nonce,
        title=f"Accept the payee of {clean(pending.reference)}?",
        text="The bank's name is accepted as that of this payee, for this account and these names,"
        " until either changes.",
        facts=(
            detail("We order", Text(clean(payee.name), "strong")),
            detail("The bank knows", Text(clean(payee.known_as) or "a similar name, not given")),
            detail("Account", Text(clean(payee.iban), "code")),
            detail("Reason", Text(clean(payee.reason))),
            detail("Accepted by", Text(clean(payee.by), "strong")),
        ),
        notes=(Text(LIABILITY, "warn"),),
        buttons=confirm_buttons("Confirm name", "danger", idle=idle),
        tone="stop",
    )
