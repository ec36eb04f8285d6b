"""The sentences in which an explanation describes each stage that a bank line passed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias
from zoneinfo import ZoneInfo

from treasury.core.money import format_amount
from treasury.core.wording import LINE_CLASSES, OUTCOMES, instant_words

_Row: TypeAlias = Mapping[str, Any]
_Sentence: TypeAlias = tuple[str, str, str]
"""A sentence of the explanation: its stage, its subject, and its text."""
_FIELDS: Final = {
    "remittance": "remittance text",
    "end_to_end_id": "end-to-end id",
    "creditor_reference": "creditor reference",
}
_READINGS_IN_WORDS: Final = 5
"""Maximum number of readings that are written out; the table of readings has all."""


def line_sentences(line: _Row) -> Iterator[_Sentence]:
    """Yield our account, if it is known, and the other party."""
    if line["account"]:
        yield "line", "our account", line["account"]
    parties = filter(None, (line["counterparty_name"], line["counterparty_account"]))
    side = "from" if line["direction"] == "CRDT" else "to"
    yield "line", side, ", ".join(parties) or "not stated"


def form_sentences(forms: Collection[_Row]) -> Iterator[_Sentence]:
    """Yield two sentences per reference field, its text as written and as compared.

    Without a reference field, yield one sentence about that.
    """
    if not forms:
        yield "text", "", "the line has no reference field"
    for form in forms:
        yield "text", _FIELDS[form["field"]], form["written"]
        yield "text", "compared as", form["form"]


def reading_sentences(readings: Sequence[_Row]) -> Iterator[_Sentence]:
    """Yield a sentence for each of the strongest readings, and one that counts the others."""
    if not readings:
        yield "reading", "", "the text contains no expected code"
    for reading in readings[:_READINGS_IN_WORDS]:
        damaged = f", {reading['damage']}" if reading["needs"] == "person" else ""
        parts = [f"{reading['words']}{damaged}", f"proves {reading['proves']}"]
        if reading["expected"] is None:
            parts.append("takes any amount")
        else:
            parts.append(f"expects {format_amount(reading['expected'], reading['currency'])}")
        if reading["contradiction"]:
            parts.append(f"contradicted: {reading['contradiction']}")
        yield "reading", reading["reference"] or reading["expectation_id"], "; ".join(parts)
    if len(readings) > _READINGS_IN_WORDS:
        yield "reading", "", f"and {len(readings) - _READINGS_IN_WORDS} more, not stronger"


def question_sentences(
    questions: Collection[tuple[int | None, str, bool, bool, str]],
) -> Iterator[_Sentence]:
    """Yield a sentence per question, or one with the reason why no question applies."""
    if not any(is_asked for _, _, is_asked, _, _ in questions):
        yield "questions", "", next(answer for *_, answer in questions)
        return
    for number, words, _, _, answer in questions:
        yield "questions", words if number is None else f"{number} {words}", answer


def return_sentences(returns: Collection[_Row], entry_id: str) -> Iterator[_Sentence]:
    """Yield a sentence per return of the line's money, or one about the payment that it returns."""
    for row in returns:
        amount = format_amount(row["amount"], row["currency"])
        if row["return_id"] == entry_id:
            whole = format_amount(row["original_amount"], row["currency"])
            payment = f"the payment of {whole} of {row['original_date']:%-d %b %Y}"
            part = "" if row["amount"] == row["original_amount"] else f"{amount} of "
            says = f"{part}{payment}, {row['original_id']}; found by {row['clue']}"
            yield "return", "brings back", says
        else:
            says = f"{amount} on {row['returned_on']:%-d %b %Y} with {row['return_id']}"
            yield "return", "came back", f"{says}; found by {row['clue']}"


def candidate_sentences(candidates: Collection[_Row]) -> Iterator[_Sentence]:
    """Yield a sentence per candidate, with its rank, reason and score."""
    if not candidates:
        yield "candidates", "", "none"
    for row in candidates:
        lost = f"; behind the first: {row['lost']}" if row["lost"] else ""
        about = f"{row['rank']} {row['reference'] or row['expectation_id']}"
        yield "candidates", about, f"{row['reason']} ({row['score']:.2f}){lost}"


def allocation_sentences(allocations: Collection[_Row]) -> Iterator[_Sentence]:
    """Yield a sentence per paid expectation, with its share of the line."""
    if not allocations:
        yield "allocation", "", "none: the line pays no expectation"
    for row in allocations:
        amount = format_amount(row["amount"], row["currency"])
        yield "allocation", row["reference"] or row["expectation_id"], amount


def outcome_sentences(line: _Row, zone: ZoneInfo) -> Iterator[_Sentence]:
    """Yield the outcome with its reason, and the person who decided it, if any."""
    word = LINE_CLASSES.get(line["line_class"] or "") or OUTCOMES[line["outcome"]]
    reason = line["reason"]
    if reason.casefold().startswith(word.casefold()):
        yield "outcome", "", word + reason[len(word) :]
    else:
        yield "outcome", word, reason
    if line["decided_by"]:
        at = line["decided_at"]
        when = f" on {instant_words(at.astimezone(zone))}" if at is not None else ""
        yield "outcome", "decided by", f"{line['decided_by']}{when}"
