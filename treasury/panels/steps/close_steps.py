"""The two steps of a month's close: show the sentence to journal, then prepare, sign or reopen.

Every rule is checked by the journal's own functions, in both steps. The sentence that was shown is
handed over with the confirmation, and nothing is journaled if another one would be.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from treasury.close.closing import Closing
from treasury.core.calendar import Month
from treasury.core.errors import TreasuryError
from treasury.core.text import clean
from treasury.journal import Actor
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Message, StepBlock, Text, confirm_buttons, detail
from treasury.panels.frames.list_panel import PendingDecision
from treasury.panels.frames.panel import status
from treasury.panels.frames.panel_text import instant
from treasury.panels.panel_workspace import PanelWorkspace

STEPS: Final = {
    "prepare": ("Prepare", "Confirm and prepare", "Prepared"),
    "sign": ("Sign", "Confirm and sign", "Signed"),
    "withdraw": ("Withdraw", "Confirm withdrawal", "Withdrew the preparation of"),
    "reopen": ("Reopen", "Confirm reopening", "Reopened"),
}
"""For each step of a close: its button, the button that confirms it, and the title of the result.
"""


class PendingStep(PendingDecision, frozen=True, kw_only=True):
    """A step of a month's close to confirm; `sentence` is journaled.

    `seal` is the hash of the pack to review, and `agreed_to` the last agreement in that pack.
    """

    name: str
    closing: Closing
    sentence: str
    actor: Actor
    identity: str
    reason: str = ""
    seal: str = ""
    folder: str = ""
    agreed_to: int | None = None

    @property
    def month(self) -> Month:
        """The month of the step."""
        return self.closing.r.month

    def step(self, now: datetime) -> StepBlock:
        """Return the step: the sentence, the person, the items and, for a signature, the pack."""
        label, confirm, _ = STEPS[self.name]
        items = self.closing.items
        carried = items.where(lambda item: item.proposed_by is not None)
        groups = [Text(f"{group.words.label}: {group.worth}") for group in carried.groups]
        pack = (Text(self.seal, "code"), Text(self.folder, "quiet")) if self.seal else ()
        stops = self.name in {"withdraw", "reopen"}
        return StepBlock(
            key=self.nonce,
            title=f"{label} {self.month.title}?",
            text=self.sentence,
            facts=(
                detail("Decided by", Text(self.actor.name, "strong"), Text(self.identity, "quiet")),
                detail("When", Text(instant(now))),
                detail("Open items", Text(f"{len(items):,}, {len(items.blocking):,} block")),
                *((detail("Carried", *groups),) if groups and not stops else ()),
                *((detail("Hash of the pack to review", *pack),) if pack else ()),
            ),
            buttons=confirm_buttons(confirm, "danger" if stops else "primary"),
            tone="stop" if stops else "go",
        )


def ask_step(desk: PanelWorkspace, name: str, month: Month, reason: str, work: Work) -> PendingStep:
    """Return the step to confirm; raise ActionRefused if this person may not take it.

    Before a signature, the pack is written as it would be signed, so that its hash can be named.
    """
    closing = desk.periods.at_close(month)
    refusal = desk.periods.foresee(name, closing, reason=reason).refusal
    if refusal is not None:
        raise refusal
    seal, folder = "", ""
    if name == "sign":
        work.say("Writing the pack to review")
        pack = desk.write_pack(closing)
        seal, folder = pack.seal, str(pack.folder)
    work.check()
    step = desk.periods.foresee(name, closing, reason=reason, pack=seal)
    return PendingStep(
        name=name,
        closing=closing,
        sentence=step.sentence,
        actor=step.actor,
        identity=step.identity,
        reason=reason,
        seal=seal,
        folder=folder,
        agreed_to=closing.rolled.agreed_to if name == "sign" else None,
    )


def take_step(desk: PanelWorkspace, pending: PendingStep, work: Work) -> Message:
    """Take the confirmed step, and write the pack of a prepared or signed month."""
    work.pass_the_point("Writing it to the journal")
    month, agreed, periods = pending.month, pending.sentence, desk.periods
    closing = None
    match pending.name:
        case "prepare":
            closing = periods.prepare(month, agreed=agreed)
        case "sign":
            closing = periods.sign(
                month, pack=pending.seal, agreed=agreed, agreed_to=pending.agreed_to
            )
        case "withdraw":
            periods.withdraw(month, pending.reason, agreed=agreed)
        case _:
            periods.reopen(month, pending.reason, agreed=agreed)
    lines = [Text(agreed)]
    if closing is not None:
        lines += packed(desk, closing)
    return status(f"{STEPS[pending.name][2]} {month.title}", *lines)


def packed(desk: PanelWorkspace, closing: Closing) -> list[Text]:
    """Write a month's pack; return where it is, or why it was not written.

    The month is already journaled, so this does not fail if the pack cannot be written.
    """
    try:
        pack = desk.write_pack(closing)
    except TreasuryError as error:
        again = f"treasury close {closing.r.month}"
        return [Text(f"The pack was not written: {clean(error)}. Run {again}", "warn")]
    return [Text(f"Pack {pack.seal}", "code"), Text(str(pack.folder), "quiet")]
