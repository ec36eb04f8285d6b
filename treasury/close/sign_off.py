"""Closing a month takes two people: one prepares it, a second one signs what was prepared.

Preparing journals the lake's commit, the journal's end and the hash of the list of open items.
Signing computes the month again from these inputs, compares the list with the hash, and locks the
month. Records that were added in between become late items. Agreements to carry items are the
exception: those made up to the signature are used.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from treasury.actions.kinds.kind import AssetAmount
from treasury.actions.policies.policy import CLOSE, Policy
from treasury.close import period_pins
from treasury.close.cash.own_flows import OwnFlow, flows_drafts
from treasury.close.closing import Closing, closing_from, stored_answers, with_acts
from treasury.close.ledger.provided_ledger import LedgerFile, journaled_ledger
from treasury.close.pinned_inputs import read_tables
from treasury.close.result_words import count
from treasury.close.review.controls import policy_drafts
from treasury.close.review.month_on_month import MEASURES
from treasury.close.signing.step_sentences import (
    CloseStep,
    actor_words,
    prepare_sentence,
    reopen_sentence,
    require_same,
    sign_sentence,
    withdraw_sentence,
)
from treasury.close.stored_answers import write_answers
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError, NothingStored
from treasury.core.money import format_amount, totals
from treasury.core.tables.column_texts import value_text
from treasury.core.text import clean
from treasury.journal import Actor, Entry, Journal, period_history
from treasury.journal.decision_log import Decided, decide, read_decided
from treasury.journal.journal_store import Draft
from treasury.journal.person_names import same_person
from treasury.lake import CLOSE_OF, Lake
from treasury.lake.upkeep.file_check import require_unaltered
from treasury.month.items import OpenItems
from treasury.month.question import Question


class PreparedMonth(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A prepared month; if it could not be prepared, `refusal` is the reason."""

    closing: Closing
    refusal: ActionRefused | None = None


def prepare_month(
    journal: Journal,
    lake: Lake,
    question: Question,
    *,
    actor: Actor,
    policy: Policy,
    now: datetime,
    ledger: LedgerFile | None = None,
    flows: Sequence[OwnFlow] = (),
    agreed: str | None = None,
    show: bool = False,
) -> PreparedMonth:
    """Prepare a month for a second person, or return the refusal without writing anything.

    `flows` are the company's own expected flows, which are journaled for the month's report.
    `agreed` is the sentence that the person confirmed; raise ActionRefused if it is not the one
    that would be journaled. If the month is prepared already, that preparation is returned; raise
    ActionRefused if it has a different ledger. Raise NothingStored before the first sync, and
    TreasuryError if the open items do not roll forward. Raise JournalError if the journal does not
    verify, unless the month is only to be shown.
    """

    def build(decided: Decided) -> tuple[list[Draft], PreparedMonth]:
        standing = period_history.preparations(decided.entries).get(str(question.month))
        if standing is not None:
            journaled = journaled_ledger(decided.entries, standing.close, standing.entry)
            if ledger is not None and ledger != journaled:
                raise ActionRefused(
                    f"{standing.month} is prepared with a different ledger, or with none",
                    do=f"withdraw that first: treasury close {standing.month} --withdraw "
                    "--reason …",
                )
            closing = prepared_month(journal, lake, standing, decided.entries)
            return [], PreparedMonth(closing=closing)
        snapshot = lake.snapshot()
        if snapshot.commit is None:
            raise NothingStored("nothing is stored yet", do="run `treasury sync` first")
        basis = period_pins.basis_on(snapshot, question, decided)
        examined = period_pins.examine(journal, lake, basis, decided).require_tied()
        closing = closing_from(
            journal, lake, examined, question.zone,
            ledger=ledger, policy=policy, flows=lambda: flows,
        )  # fmt: skip
        refusal = prepare_refusal(question, decided.entries, closing, policy, actor)
        if refusal is not None:
            return [], PreparedMonth(closing=closing, refusal=refusal)
        text = preparing_words(closing, actor, policy)
        require_same(agreed, text)
        require_unaltered(lake, snapshot, read_tables())
        lake.pin(f"{CLOSE_OF}{question.month}", now, commit=snapshot.commit.number)
        close = period_history.Close(
            month=str(question.month),
            reason=None,
            prepared_by=actor.name,
            commit=snapshot.commit.number,
            known_at=snapshot.commit.at,
            as_of=question.as_of,
            head=decided.head,
            rules_hash=question.rules.hash,
            rules=msgspec.to_builtins(question.rules),
            desk={
                "company": question.company,
                "environment": question.environment,
                "time_zone": question.zone.key,
                "accounts": msgspec.to_builtins(question.accounts),
            }
            | ({} if question.uses_services else {"uses_services": False}),
            # The journal stores amounts as decimal text.
            roll_forward=[
                {
                    name: value_text(value) if isinstance(value, Decimal) else value
                    for name, value in row.items()
                }
                for row in examined.roll_forward.totals.arrow.to_pylist()
            ],
            items_hash=examined.roll_forward.items_hash,
            open_items=_groups(closing.items),
            outcomes_hash=period_pins.outcomes_hash(examined.answer.lines.arrow),
            list_hash=closing.items.hash,
            text=text,
        )
        beside = [] if ledger is None else [ledger.draft(close.month, actor)]
        saved = [*policy_drafts(journal, policy, actor), *flows_drafts(journal, flows, actor)]
        prepared = Draft(period_history.PREPARE, close.month, close, actor)
        return [*saved, *beside, prepared], PreparedMonth(closing=closing)

    # A month that is only shown needs no error: its open items show the problem.
    if show and journal.problem():
        return build(read_decided(journal))[1]
    added, prepared = decide(journal, build, thorough=True)
    if not added:
        return prepared
    preparation = period_history.preparations(added)[str(question.month)]
    closing = msgspec.structs.replace(prepared.closing, preparation=preparation)
    return msgspec.structs.replace(prepared, closing=with_acts(closing, journal))


def prepared_month(
    journal: Journal, lake: Lake, preparation: period_history.Preparation, agreed: Sequence[Entry]
) -> Closing:
    """Return a month as it was prepared, with the agreements to carry in these entries."""
    return _examined(journal, lake, preparation, agreed)[0]


def sign_month(
    journal: Journal,
    lake: Lake,
    month: Month,
    *,
    actor: Actor,
    policy: Policy,
    pack: str = "",
    agreed: str | None = None,
    agreed_to: int | None = None,
) -> tuple[period_history.Period, Closing | None]:
    """Sign a prepared month and lock it; the closing is None if it was signed before.

    `pack` is the seal of the pack that the signer reviewed, `agreed` the sentence that the signer
    confirmed, and `agreed_to` the last journal entry with an agreement that the pack contains.

    Raise ActionRefused if the signer prepared it and the policy asks for two people, if the name of
    the signer is only claimed in production, if an item blocks without acceptance, if the carried
    amounts exceed the policy's limits for `month.close`, if the prepared result cannot be
    reproduced, or if it is no longer what the signer reviewed. An interrupted signature can simply
    be repeated.
    """
    policy.check_identity(actor)

    def build(decided: Decided) -> tuple[list[Draft], tuple[Decided, Closing | None]]:
        period = period_history.closed_periods(decided.entries).get(str(month))
        if period and period.close.preparation and period.close.reviewed_by == actor.name:
            return [], (decided, None)
        period_history.require_turn(month, decided.entries)
        preparation = _standing(decided, month)
        refusal = sign_refusal(preparation, policy, actor)
        if refusal is not None:
            raise refusal
        pinned = lake.snapshot(commit=preparation.close.commit)
        require_unaltered(lake, pinned, read_tables())
        closing, examined = _examined(journal, lake, preparation, decided.entries)
        _require_as_prepared(preparation, closing, examined, decided.entries)
        refusal = _limit_refusal("approve", closing.items, policy, actor)
        if refusal is not None:
            raise refusal
        if agreed_to is not None and closing.rolled.agreed_to != agreed_to:
            raise ActionRefused(
                f"{month} has new agreements or remarks since its pack was written",
                do="review the pack as it is now, then sign",
            )
        text = signing_words(preparation, closing, actor, policy, pack)
        require_same(agreed, text)
        answers = stored_answers(closing)
        close = msgspec.structs.replace(
            preparation.close,
            reviewed_by=actor.name,
            preparation=preparation.entry,
            prepared_at=preparation.prepared_at,
            alone=same_person(preparation.close.prepared_by, actor.name),
            pack=pack,
            text=text,
            models=answers.models,
            answers=write_answers(
                lake.workspace, preparation.close.name, {**answers.tables, **examined.end.tables()}
            ),
        )
        signed = Draft(period_history.CLOSE, close.month, close, actor)
        return [*policy_drafts(journal, policy, actor), signed], (decided, closing)

    added, (decided, closing) = decide(journal, build, thorough=True)
    period = period_history.closed_periods(decided.after(added).entries)[str(month)]
    if closing is None:
        return period, None
    closing = msgspec.structs.replace(closing, period=period, preparation=None)
    return period, with_acts(closing, journal)


def withdraw_preparation(
    journal: Journal,
    month: Month,
    reason: str,
    *,
    actor: Actor,
    policy: Policy,
    agreed: str | None = None,
) -> period_history.Preparation:
    """Withdraw and return a preparation, so that the month can be prepared again.

    `agreed` is the sentence that the person confirmed. Raise InputError without a reason, and
    ActionRefused if the month is not prepared, or if another sentence would be journaled.
    """
    if not reason.strip():
        raise InputError("withdrawing a preparation needs a reason", do="give the reason")

    def build(decided: Decided) -> tuple[list[Draft], period_history.Preparation]:
        preparation = _standing(decided, month)
        text = withdraw_sentence(
            month, preparation.close.prepared_by, reason, actor_words(actor, policy)
        )
        require_same(agreed, text)
        body = {"reason": reason.strip(), "preparation": preparation.entry.seq, "text": text}
        return [Draft(period_history.WITHDRAW, str(month), body, actor)], preparation

    return decide(journal, build)[1]


def _standing(decided: Decided, month: Month) -> period_history.Preparation:
    preparation = period_history.preparations(decided.entries).get(str(month))
    if preparation is None:
        raise ActionRefused(
            f"{month} is not prepared", do=f"prepare it first: treasury close {month}"
        )
    return preparation


def _examined(
    journal: Journal, lake: Lake, preparation: period_history.Preparation, agreed: Sequence[Entry]
) -> tuple[Closing, period_pins.Examined]:
    close = preparation.close
    examined = period_pins.examine_again(journal, lake, close)
    ledger = journaled_ledger(agreed, close, preparation.entry)
    closing = closing_from(
        journal,
        lake,
        examined,
        examined.knowledge.question.zone,
        ledger=ledger,
        agreed=agreed,
        preparation=preparation,
    )
    return closing, examined


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
    """Return a step of a month's close for this person: its sentence, and any refusal.

    The checks are those of the step itself, but only signing also recomputes the prepared month.
    Raise InputError for an unknown step.
    """
    month, preparation = closing.r.month, closing.preparation
    closed, by = period_history.closed_periods(entries), actor_words(actor, policy)
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
            refusal = prepare_refusal(question, entries, closing, policy, actor)
        case "sign" if preparation is not None:
            sentence = signing_words(preparation, closing, actor, policy, pack)
            refusal = (
                sign_refusal(preparation, policy, actor)
                or unaccepted_refusal(closing)
                or _limit_refusal("approve", closing.items, policy, actor)
            )
        case "withdraw" if preparation is not None:
            sentence = withdraw_sentence(month, preparation.close.prepared_by, reason, by)
        case "sign" | "withdraw":
            refusal = not_prepared
        case "reopen":
            refusal = period_pins.reopen_refusal(month, closed)
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


def preparing_words(closing: Closing, actor: Actor, policy: Policy) -> str:
    """Return the sentence that preparing this month would journal."""
    proposed = sum(item.proposed_by is not None for item in closing.items)
    by = actor_words(actor, policy)
    return prepare_sentence(closing.r.month, len(closing.items), proposed, by)


def signing_words(
    preparation: period_history.Preparation,
    closing: Closing,
    actor: Actor,
    policy: Policy,
    pack: str,
) -> str:
    """Return the sentence that signing this prepared month would journal."""
    prepared_by = preparation.close.prepared_by
    return sign_sentence(
        closing.r.month,
        prepared_by,
        preparation.entry.seq,
        sum(item.is_accepted for item in closing.items),
        actor_words(actor, policy),
        alone=same_person(prepared_by, actor.name),
        pack=pack,
    )


def sign_refusal(
    preparation: period_history.Preparation, policy: Policy, actor: Actor
) -> ActionRefused | None:
    """Return why this person may not sign a preparation, or None."""
    month, prepared_by = preparation.month, preparation.close.prepared_by
    if same_person(prepared_by, actor.name) and not policy.one_person:
        return ActionRefused(
            f"{prepared_by} prepared {month}, and the preparer does not sign",
            do=f"have a colleague sign it at their own login: treasury close {month} --sign",
        )
    try:
        policy.check_signer(actor, preparation.close.desk["environment"])
    except ActionRefused as refusal:
        return refusal
    return None


def prepare_refusal(
    question: Question, entries: Sequence[Entry], closing: Closing, policy: Policy, actor: Actor
) -> ActionRefused | None:
    """Return why this person cannot prepare the month now, or None."""
    month = question.month
    if question.as_of < month.end(question.zone):
        return ActionRefused(f"{month} has not ended yet", do="close it after its last day")
    try:
        period_history.require_turn(month, entries)
        policy.check_identity(actor)
    except ActionRefused as refusal:
        return refusal
    blocking = closing.items.blocking.where(lambda item: item.proposed_by is None)
    if not len(blocking):
        return _limit_refusal("propose", closing.items, policy, actor) or _unexplained(closing)
    never = blocking.select(blocks="never acceptable")
    carry = (
        f"propose to carry each: treasury items carry ITEM… --month {month} --owner … --by …"
        " --reason …"
    )
    return ActionRefused(
        f"{month} is not prepared: {_listed(never if len(never) else blocking)}",
        do="settle these, because they cannot be accepted"
        if len(never)
        else f"settle these, or {carry}",
    )


def _unexplained(closing: Closing) -> ActionRefused | None:
    """Return the refusal of a month with a change that a person must explain first, or None."""
    has_thresholds = closing.rolled.thresholds().num_rows > 0
    missing = closing.month_on_month.missing if has_thresholds else []
    if not missing:
        return None
    row = missing[0]
    name = clean(row["name"] or row["of"])
    words = {name: format_amount(row[name], row["currency"]) for name in ("change", "threshold")}
    others = f"; {count(len(missing) - 1, 'more change')} without one" if len(missing) > 1 else ""
    return ActionRefused(
        f"{closing.r.month} is not prepared: {MEASURES[row['measure']].lower()} of {name} changed"
        f" by {words['change']} compared with {row['compared_with']}, which needs an explanation"
        f" above {words['threshold']}{others}",
        do=f"explain it: treasury items explain {row['of']} TEXT --month {closing.r.month};"
        f" `treasury periods month-on-month {closing.r.month}` lists the changes",
    )


def _limit_refusal(
    verb: str, items: OpenItems, policy: Policy, actor: Actor
) -> ActionRefused | None:
    """Return why this person may not close a month that carries these items, or None.

    The amount is the total of the items that people carry, in each currency. An amount that another
    item contains counts once.
    """
    carried = items.where(lambda item: item.proposed_by is not None)
    sums = totals(
        (item.currency, item.counted_amount.copy_abs())
        for item in carried
        if item.counted_amount is not None
    )
    try:
        policy.check(verb, CLOSE, None, actor, ())
        for currency in sorted(sums):
            policy.check(verb, CLOSE, AssetAmount(currency, sums[currency]), actor, ())
    except ActionRefused as refusal:
        return refusal
    return None


def _require_as_prepared(
    preparation: period_history.Preparation,
    closing: Closing,
    examined: period_pins.Examined,
    entries: Sequence[Entry],
) -> None:
    """Raise ActionRefused if the prepared result is not reproduced, or if an item blocks."""
    month, close = preparation.month, preparation.close
    anew = f"treasury close {month} --withdraw --reason …, then treasury close {month}"
    turns = (period_history.CLOSE, period_history.REOPEN)
    moved = [each for each in entries if each.seq > close.head.seq and each.kind in turns]
    if moved:
        raise ActionRefused(
            f"{moved[0].subject} was closed or reopened after {month} was prepared",
            do=f"have it prepared again: {anew}",
        )
    apart = period_pins.difference_from_close(close, examined)
    if not apart and closing.items.hash != close.list_hash:
        apart = "its list of open items"
    if apart:
        raise ActionRefused(
            f"{month} differs from what {close.prepared_by} prepared: {apart} differs",
            do=f"have it prepared again: {anew}",
        )
    refusal = unaccepted_refusal(closing)
    if refusal is not None:
        raise refusal


def unaccepted_refusal(closing: Closing) -> ActionRefused | None:
    """Return the refusal if an item of a prepared month blocks without acceptance, else None."""
    month, blocking = closing.r.month, closing.items.blocking
    if not len(blocking):
        return None
    return ActionRefused(
        f"{month} is not signed: {_listed(blocking)} not accepted",
        do=f"accept each, or send it back: treasury items accept ITEM… --month {month};"
        f" `treasury items list {month}` lists them",
    )


def _listed(items: OpenItems) -> str:
    return "; ".join(f"{group.words.label}: {group.worth}" for group in items.groups)


def _groups(items: OpenItems) -> list[dict[str, Any]]:
    """Return the groups of open items in the form that is journaled."""
    return [
        {
            "label": group.words.label,
            "items": group.items,
            "currency": group.currency,
            "amount": None if group.amount is None else value_text(group.amount),
            "money": group.money,
            "turn": group.turn,
        }
        for group in items.groups
    ]
