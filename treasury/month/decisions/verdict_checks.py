"""Checks of a decision on a bank line against the current records and decisions.

A wrong match is worse than no match. A decision that a fact contradicts needs a reason. An
impossible decision (another currency, a line that is not booked) is refused. A line of a closed
month may be decided; the decision posts to the open month.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec

from treasury.core.errors import ActionRefused, InputError, TreasuryError
from treasury.core.money import format_amount, quantize, total
from treasury.core.tables.column_texts import value_text
from treasury.core.text import clean
from treasury.journal.decision_history import Decision
from treasury.journal.decision_log import Decided
from treasury.journal.period_history import closed_periods
from treasury.month.decisions.corrections import next_open, posted_to
from treasury.month.decisions.standing_verdicts import NEEDS_A_PERSON
from treasury.month.decisions.verdict_facts import contradicts, expectation_facts, line_facts
from treasury.month.standing_knowledge import Knowledge

Body = dict[str, Any]
_SETTLES: Final = ("accept", "ignore")


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """A decision that a person requests; lines and expectations are ids."""

    verb: str
    entry_id: str
    expectations: tuple[str, ...] = ()
    reason: str = ""
    to: str = ""
    undoes: int | None = None
    shares: Mapping[str, Decimal] = {}


_Rule = Callable[["Check", Wish, dict[str, Any]], Sequence[str]]
"""Refuses a requested decision, or returns the facts against it that its reason outweighs."""


class Check:
    """Checks requested decisions in order; an amount that one claims is not left for later ones."""

    def __init__(self, knowledge: Knowledge, decided: Decided, stand: Sequence[Decision]) -> None:
        self._knowledge = knowledge
        self._closed = closed_periods(decided.entries)
        self._stand = stand
        self._claimed: dict[str, Decimal] = {}

    def all(self, wishes: Sequence[Wish]) -> list[Body | None]:
        """Return each decision's journal content, or None if it exists; raise the first refusal."""
        ids = [wish.entry_id for wish in wishes]
        repeated = next((id_ for id_ in ids if ids.count(id_) > 1), None)
        if repeated is not None:
            raise InputError(
                f"the line {repeated} is given more than once", do="give each line once"
            )
        return [*map(self._granting(ids), wishes)]

    def each(self, wishes: Sequence[Wish]) -> list[Body | TreasuryError | None]:
        """Return each decision's journal content, its refusal, or None if the decision exists.

        A refused decision claims no amount.
        """
        grant = self._granting([wish.entry_id for wish in wishes])
        answers: list[Body | TreasuryError | None] = []
        for wish in wishes:
            claimed = dict(self._claimed)
            try:
                answers.append(grant(wish))
            except (ActionRefused, InputError) as refusal:
                self._claimed = claimed
                answers.append(refusal)
        return answers

    def _granting(self, ids: Sequence[str]) -> Callable[[Wish], Body | None]:
        """Return a function that checks a decision on these lines and returns its body or None."""
        lines = self._knowledge.line_rows(ids)
        known_from = self._knowledge.known_from(ids) if self._closed else {}

        def grant(wish: Wish) -> Body | None:
            line = lines.get(wish.entry_id)
            booked = line["booking_date"] if line else None
            # No statement contains the line any more, so its date is that of the undone decision.
            if line is None:
                undone = next((d for d in self._stand if d.seq == wish.undoes), None)
                text = (undone.facts.get("line") or {}).get("booking_date") if undone else None
                booked = date.fromisoformat(text) if text else None
            body = self._body(wish, line)
            if body is not None and booked is not None:
                home = posted_to(booked, known_from.get(wish.entry_id), self._closed)
                if str(home) in self._closed:
                    open_month = next_open(home, self._closed)
                    body |= {"closed_month": str(home), "posts_to": str(open_month)}
            return body

        return grant

    def _body(self, wish: Wish, line: dict[str, Any] | None) -> Body | None:
        despite: Sequence[str] = ()
        if wish.verb != "undo":
            if any(states_wish(decision, wish) for decision in self._stand):
                return None
            require_undecided(wish, self._stand)
            # `find_line` has found the line, so it exists.
            assert line is not None
            despite = _RULES[wish.verb](self, wish, line)
        rows = self._knowledge.expectation_rows
        outcome = self._knowledge.outcomes.get(wish.entry_id)
        commit = self._knowledge.snapshot.commit
        return {
            "entry_id": wish.entry_id,
            "expectation_id": wish.expectations[0] if len(wish.expectations) == 1 else None,
            "expectation_ids": list(wish.expectations),
            "reason": wish.reason,
            "to": wish.to,
            "undoes": wish.undoes,
            **({"despite": list(despite)} if despite else {}),
            **(
                {"shares": {name: value_text(wish.shares[name]) for name in wish.shares}}
                if wish.shares
                else {}
            ),
            "facts": {
                "line": None if line is None else line_facts(line),
                "expectations": {
                    name: expectation_facts(rows[name])
                    for name in wish.expectations
                    if name in rows
                },
            },
            "seen": {
                "outcome": outcome and outcome["outcome"],
                "why": outcome and outcome["reason"],
                "rules_hash": self._knowledge.rules.hash,
                "commit": commit.number if commit else None,
            },
        }

    def accept(self, wish: Wish, line: dict[str, Any]) -> Sequence[str]:
        """Return the facts against accepting the line.

        Raise ActionRefused if it is impossible, or if there are such facts and no reason is given.
        """
        if (line["entry_status"] or "BOOK") != "BOOK":
            raise ActionRefused(
                f"the line {line['entry_id']} is not booked yet ({line['entry_status']})",
                do="add the statement that books it, then decide",
            )
        outcome = self._knowledge.outcomes[wish.entry_id]
        if outcome["outcome"] == "returned":
            raise ActionRefused(
                f"the money of line {wish.entry_id} went back ({outcome['reason']})",
                do="accept the payment that replaces it",
            )
        rows = [self._knowledge.expectation_rows[name] for name in wish.expectations]
        # Amounts in different currencies are never compared.
        for row in rows:
            if line["currency"] != row["currency"]:
                raise ActionRefused(
                    f"the line {line['entry_id']} is in {line['currency']}, but {row['code']} is in"
                    f" {row['currency']}",
                    do="the two cannot be matched: ask the provider, or close the line with a"
                    " reason",
                )
        _require_divided(wish, line, rows)
        over = self._over(wish, line, outcome, rows)
        why = [*self._contradictions(line, outcome, rows), *over]
        if why and not wish.reason:
            raise ActionRefused(
                f"the line {wish.entry_id} cannot be accepted without a reason: {'; '.join(why)}",
                do="state in the reason why it is right nevertheless",
            )
        return why

    def reject(self, wish: Wish, _: dict[str, Any]) -> Sequence[str]:
        """Require a reason for rejecting a match or duplicate; its request may then look unpaid."""
        outcome = self._knowledge.outcomes[wish.entry_id]
        if outcome["outcome"] in {"matched", "duplicate"} and not wish.reason:
            raise ActionRefused(
                f"the line {wish.entry_id} is {outcome['outcome']} by its reference",
                do="state in the reason why that is wrong",
            )
        return ()

    def ignore(self, wish: Wish, _: dict[str, Any]) -> Sequence[str]:
        """Require a reason, and refuse a matched line: its request would look unpaid."""
        if not wish.reason:
            raise InputError("ignoring a line needs a reason", do="give the reason")
        outcome = self._knowledge.outcomes[wish.entry_id]
        if outcome["outcome"] == "matched":
            raise ActionRefused(
                f"the line {wish.entry_id} is matched ({outcome['reason']}); if it is closed, "
                "its request looks unpaid",
                do="reject the match first, if it is wrong",
            )
        return ()

    def assign(self, wish: Wish, _: dict[str, Any]) -> Sequence[str]:
        """Check that a colleague is named and that the line still needs a decision."""
        if not wish.to:
            raise InputError("no person is named", do="give the person who should decide the line")
        outcome = self._knowledge.outcomes[wish.entry_id]
        if outcome["outcome"] not in NEEDS_A_PERSON:
            raise ActionRefused(
                f"the line {wish.entry_id} is {outcome['outcome']}: it needs no decision",
                do="run `treasury match open` to see the lines that need a decision",
            )
        return ()

    def _contradictions(
        self, line: dict[str, Any], outcome: dict[str, Any], rows: list[dict[str, Any]]
    ) -> Iterable[str]:
        if outcome["outcome"] in {"conflict", "duplicate"}:
            yield f"{outcome['outcome']}: {outcome['reason']}"
        elif outcome["outcome"] == "matched" and outcome["expectation_id"] not in {
            row["expectation_id"] for row in rows
        }:
            yield f"its reference belongs to {outcome['expectation_id']}"
        if line["line_class"] is not None:
            yield f"the rules class it as {line['line_class']}"
        for row in rows:
            receives = line["direction"] == row["direction"]
            suggestion = (outcome["outcome"], outcome["expectation_id"])
            if not receives and suggestion != ("suggested", row["expectation_id"]):
                yield f"it is {line['direction']}, {row['code']} expects {row['direction']}"
            if receives and contradicts(row["status"], self._knowledge.rules):
                yield f"{row['code']} is {row['status']}"
            opened = row["opened_at"]
            if receives and opened is not None and opened.date() > line["booking_date"]:
                yield (
                    f"{row['code']} was opened on {opened.date()}, after the line of"
                    f" {line['booking_date']}"
                )
            if row["account"] is not None and row["account"] != line["account"]:
                yield f"it reached {line['account']}, {row['code']} belongs to {row['account']}"

    def _over(
        self,
        wish: Wish,
        line: dict[str, Any],
        outcome: dict[str, Any],
        rows: list[dict[str, Any]],
    ) -> Iterable[str]:
        """Yield a contradiction if the line exceeds the amount that earlier decisions leave."""
        if any(row["direction"] != line["direction"] for row in rows):
            return
        if wish.shares:
            for row in rows:
                share = wish.shares[row["expectation_id"]]
                if row["remaining"] is not None and share > row["remaining"]:
                    yield (
                        f"{format_amount(share, line['currency'])} is more than the"
                        f" {format_amount(row['remaining'], line['currency'])} still expected for"
                        f" {row['code']}"
                    )
            return
        if any(row["remaining"] is None for row in rows):
            return
        room = Decimal(0)
        for row in rows:
            name = row["expectation_id"]
            own = outcome["matched_amount"] if outcome["expectation_id"] == name else None
            claimed = self._claimed.get(name, Decimal(0))
            open_amount = total((row["remaining"], own or Decimal(0), claimed.copy_negate()))
            room = total((room, max(open_amount, Decimal(0))))
            self._claimed[name] = total((claimed, line["amount"]))
        if line["amount"] > room:
            codes = ", ".join(str(row["code"]) for row in rows)
            yield (
                f"{format_amount(line['amount'], line['currency'])} is more than the"
                f" {format_amount(room, line['currency'])} still expected for {codes}"
            )


_RULES: Final[dict[str, _Rule]] = {
    "accept": Check.accept,
    "reject": Check.reject,
    "ignore": Check.ignore,
    "assign": Check.assign,
}


def _require_divided(wish: Wish, line: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Refuse missing shares if an expectation has no amount, and shares that do not add up."""
    worth = format_amount(line["amount"], line["currency"])
    standing = [str(row["code"]) for row in rows if row["amount"] is None]
    if not wish.shares:
        if len(rows) > 1 and standing:
            raise ActionRefused(
                f"the line {wish.entry_id} of {worth} is for several expectations, some without a"
                f" fixed amount: {', '.join(standing)}",
                do="divide it: write CODE=AMOUNT for each; the amounts must add up to the line",
            )
        return
    for code, share in wish.shares.items():
        if quantize(share, line["currency"]) != share:
            raise InputError(
                f"the share of {clean(code)}, {share}, has more decimals than "
                f"{line['currency']} allows",
                do="round each share to the currency's decimals; the sum must be the line's amount",
            )
    shares = total(wish.shares.values())
    if any(share <= 0 for share in wish.shares.values()) or shares != line["amount"]:
        raise InputError(
            f"the shares come to {format_amount(shares, line['currency'])}, but the line"
            f" {wish.entry_id} is {worth}",
            do="give each a share above zero; the shares must add up to the line",
        )


def require_undecided(wish: Wish, stand: Sequence[Decision]) -> None:
    """Refuse a verdict on a line that is decided already, or accepting a rejected pair."""
    for decision in stand:
        if decision.entry_id != wish.entry_id:
            continue
        settled = decision.verb in _SETTLES
        contrary = wish.verb == "accept" and decision.verb == "reject"
        if settled or (contrary and set(decision.expectations) & set(wish.expectations)):
            about = f" for {', '.join(decision.expectations)}" if decision.expectations else ""
            when = f"{decision.at:%Y-%m-%d %H:%M} UTC"
            why = f" ({clean(decision.reason)})" if decision.reason else ""
            state = f"{decision.by} decided it on {when}: {decision.verb}{about}{why}"
            raise already(decision.entry_id, "decided", state)


def states_wish(decision: Decision, wish: Wish | Decision) -> bool:
    """Return whether a decision in force is equal to a requested one."""
    names = ("verb", "entry_id", "expectations", "to")
    is_same = all(getattr(decision, name) == getattr(wish, name) for name in names)
    return is_same and decision.shares == dict(wish.shares)


def already(line: str, how: str, state: str) -> ActionRefused:
    """Return the error for a line or pair that is decided already."""
    return ActionRefused(
        f"the line {line} is already {how}: {state}",
        do="undo that first, if it is wrong",
    )
