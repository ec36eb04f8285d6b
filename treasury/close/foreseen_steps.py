"""A step of a month's close before it is taken: its sentence, and why it is refused now.

The checks are those of the step itself. Only reproducing a prepared month is left to the signature.
"""

from __future__ import annotations

from collections.abc import Sequence

from treasury.actions.policies.policy import Policy
from treasury.close.closing import Closing
from treasury.close.period_pins import reopen_refusal
from treasury.close.sign_off import (
    prepare_refusal,
    preparing_words,
    sign_refusal,
    signing_words,
    unaccepted_refusal,
)
from treasury.close.step_sentences import CloseStep, actor_words, reopen_sentence, withdraw_sentence
from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Actor, Entry
from treasury.journal.period_history import closed_periods
from treasury.month.question import Question


def foresee_step(
    step: str,
    closing: Closing,
    question: Question,
    entries: Sequence[Entry],
    *,
    policy: Policy,
    actor: Actor,
    reason: str = "",
    pack: str = "",
) -> CloseStep:
    """Return a step of a month's close for this person; raise InputError for an unknown step."""
    month, preparation = closing.r.month, closing.preparation
    closed, by = closed_periods(entries), actor_words(actor, policy)
    not_prepared = ActionRefused(
        f"{month} is not prepared", do=f"prepare it first: treasury close {month}"
    )
    sentence, refusal = "", None
    match step:
        case "prepare" | "sign" | "withdraw" if closing.period is not None:
            refusal = ActionRefused(f"{month} is closed", do="reopen it first, with a reason")
        case "prepare" if preparation is not None:
            refusal = ActionRefused(
                f"{preparation.close.prepared_by} prepared {month}: it waits for a second person",
                do="sign it, or withdraw the preparation with a reason",
            )
        case "prepare":
            sentence = preparing_words(closing, actor, policy)
            refusal = prepare_refusal(question, entries, closing.items, policy, actor)
        case "sign" if preparation is not None:
            sentence = signing_words(preparation, closing, actor, policy, pack)
            refusal = sign_refusal(preparation, policy, actor) or unaccepted_refusal(closing)
        case "withdraw" if preparation is not None:
            sentence = withdraw_sentence(month, preparation.close.prepared_by, reason, by)
        case "sign" | "withdraw":
            refusal = not_prepared
        case "reopen":
            refusal = reopen_refusal(month, closed)
            if refusal is None:
                sentence = reopen_sentence(month, closed[str(month)].entry.seq, reason, by)
        case _:
            raise InputError(
                f"{step!r:.40} is not a step of a close",
                do="use prepare, sign, withdraw or reopen",
            )
    return CloseStep(
        name=step,
        actor=actor,
        identity=policy.assurance(actor),
        sentence=sentence,
        refusal=refusal,
    )
