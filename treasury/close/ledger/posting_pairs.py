"""Which posting of the books is which line at the bank, for one account and currency.

A pair has exactly the same amount. It needs a reference that only these two name, or days near each
other with no other posting or line of that amount near them. Postings and lines that could be
exchanged are a group: its sums are known, its pairs are not. Across the first and the last day,
only references decide, because one side may not be in the file or the statements.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

import msgspec

NEAR: Final = timedelta(days=7)
"""How far apart a posting and a line may be if no reference decides."""
_REFERENCE: Final = re.compile(r"[^\W_](?:[^\W_]|[-./_](?=[^\W_]))*")
_SEPARATORS: Final = str.maketrans("", "", "-./_")
_LEAST_DIGITS: Final = 4
_LEAST_LENGTH: Final = 5
_COMMON: Final = 3
"""A reference in more movements of one side than this is no evidence against a pair."""
_YEAR, _MONTH, _DAY = "(?:19|20)[0-9]{2}", "(?:0[1-9]|1[0-2])", "[0-3][0-9]"
_DATE: Final = re.compile(f"{_YEAR}{_MONTH}(?:{_DAY})?|(?:{_DAY})?{_MONTH}{_YEAR}")

_IBAN: Final = re.compile("[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")


class LedgerMovement(msgspec.Struct, frozen=True):
    """A posting or a bank line; its amount is positive for money that the account received.

    `number` is its place in the caller's list.
    """

    number: int
    day: date
    amount: Decimal
    references: frozenset[str]


class Pair(msgspec.Struct, frozen=True):
    """A posting and its bank line; `reference` decided it, or if empty, amount and day did."""

    posting: LedgerMovement
    line: LedgerMovement
    reference: str = ""


class ExchangeableGroup(msgspec.Struct, frozen=True):
    """Postings and bank lines of one amount on near days that could be exchanged."""

    postings: tuple[LedgerMovement, ...]
    lines: tuple[LedgerMovement, ...]

    @property
    def amount(self) -> Decimal:
        """The amount of each posting and line."""
        return self.postings[0].amount

    @property
    def excess(self) -> int:
        """The number of postings without a line; negative for lines without a posting."""
        return len(self.postings) - len(self.lines)


class Collective(msgspec.Struct, frozen=True):
    """One movement and the movements of a day on the other side that add up to it.

    The one is a posting if `is_posting`, otherwise a bank line. `reference` decided it, or if
    empty, the parts are everything that was left of their day.
    """

    is_posting: bool
    whole: LedgerMovement
    parts: tuple[LedgerMovement, ...]
    reference: str = ""


class PairedMovements(msgspec.Struct, frozen=True):
    """The pairs, groups and collective postings of an account, and the movements in none.

    `reasons` states why a sum was not decided, by side (True for postings) and number.
    """

    pairs: tuple[Pair, ...]
    groups: tuple[ExchangeableGroup, ...]
    postings: tuple[LedgerMovement, ...]
    lines: tuple[LedgerMovement, ...]
    collectives: tuple[Collective, ...] = ()
    reasons: Mapping[tuple[bool, int], str] = {}


def references_in(text: str, amount: Decimal) -> frozenset[str]:
    """Return the numbers in a text that may identify a payment, without separators.

    Dates, IBANs and the amount itself identify none.
    """
    own_digits = "".join(filter(str.isdigit, f"{amount:f}")).strip("0")
    written = [match[0] for match in _REFERENCE.finditer(text)]
    # A slash may be a part of a number, or separate several.
    parts = {*written, *(part for each in written for part in each.split("/"))}
    candidates = (part.translate(_SEPARATORS).upper() for part in parts)
    return frozenset(
        reference
        for reference in candidates
        if len(reference) >= _LEAST_LENGTH
        and sum(map(str.isdigit, reference)) >= _LEAST_DIGITS
        and not _DATE.fullmatch(reference)
        and not _IBAN.fullmatch(reference)
        and reference.strip("0") != own_digits
    )


def pair_movements(
    postings: Sequence[LedgerMovement], lines: Sequence[LedgerMovement], first: date, last: date
) -> PairedMovements:
    """Pair the postings and lines of an account between two days, both included.

    Movements before and after these days take part if a reference decides.
    """
    namings = Namings(postings, lines)
    pairs = list(_by_reference(postings, lines, namings, (first, last)))
    paired = {pair.posting.number for pair in pairs}, {pair.line.number for pair in pairs}
    unpaired = [
        [each for each in side if first <= each.day <= last and each.number not in taken]
        for side, taken in zip((postings, lines), paired, strict=True)
    ]
    groups = []
    for near in _near_groups(unpaired[0], unpaired[1], namings):
        if len(near.postings) == len(near.lines) == 1:
            pairs.append(Pair(near.postings[0], near.lines[0]))
        else:
            groups.append(near)
    taken_postings = {pair.posting.number for pair in pairs}
    taken_lines = {pair.line.number for pair in pairs}
    for group in groups:
        taken_postings |= {each.number for each in group.postings}
        taken_lines |= {each.number for each in group.lines}
    return PairedMovements(
        tuple(sorted(pairs, key=lambda pair: (pair.posting.day, pair.posting.number))),
        tuple(groups),
        tuple(each for each in postings if each.number not in taken_postings),
        tuple(each for each in lines if each.number not in taken_lines),
    )


class Namings:
    """The postings and the lines of an account that name each reference."""

    def __init__(self, postings: Iterable[LedgerMovement], lines: Iterable[LedgerMovement]) -> None:
        self.postings, self.lines = _named_by(postings), _named_by(lines)

    def contradict(self, posting: LedgerMovement, line: LedgerMovement) -> bool:
        """Return whether their references speak against a pair, and they share none.

        They do if one of the two names another movement, or if both have a number of one kind, such
        as `PAY-2026-004417` and `PAY-2026-004500`.
        """
        if posting.references & line.references:
            return False
        kinds = (set(filter(None, map(_kind, each.references))) for each in (posting, line))
        return (
            bool(set.intersection(*kinds))
            or _names_another(posting, self.lines)
            or _names_another(line, self.postings)
        )


def _named_by(movements: Iterable[LedgerMovement]) -> dict[str, list[LedgerMovement]]:
    named: dict[str, list[LedgerMovement]] = defaultdict(list)
    for movement in movements:
        # In one order, so that the same file always names the same reference of a pair.
        for reference in sorted(movement.references):
            named[reference].append(movement)
    return named


def _kind(reference: str) -> str:
    """Return a reference with its digits hidden, if it begins with letters; otherwise nothing."""
    return re.sub("[0-9]", "0", reference) if reference[:2].isalpha() else ""


def _names_another(
    movement: LedgerMovement, others: Mapping[str, Sequence[LedgerMovement]]
) -> bool:
    # A return names the payment that it brings back, which has the other sign.
    return any(
        0 < sum((other.amount > 0) == (movement.amount > 0) for other in named) <= _COMMON
        for name in movement.references
        if (named := others.get(name))
    )


def _by_reference(
    postings: Sequence[LedgerMovement],
    lines: Sequence[LedgerMovement],
    namings: Namings,
    days: tuple[date, date],
) -> Iterator[Pair]:
    """Yield the pairs that a reference decides, if no other reference joins them to others."""
    joined: dict[tuple[int, int], Pair] = {}
    lines_of_amount = _by_amount(lines)
    for amount, own_postings in _by_amount(postings).items():
        named_lines = _named_by(lines_of_amount[amount])
        for reference, naming_postings in _named_by(own_postings).items():
            naming_lines = named_lines.get(reference, ())
            if len(naming_postings) == len(naming_lines) == 1:
                pair = Pair(naming_postings[0], naming_lines[0], reference)
                if _may_join(pair, days, namings):
                    joined.setdefault((pair.posting.number, pair.line.number), pair)
    partners = Counter(posting for posting, _ in joined), Counter(line for _, line in joined)
    for (posting_number, line_number), pair in joined.items():
        if partners[0][posting_number] == partners[1][line_number] == 1:
            yield pair


def _by_amount(movements: Iterable[LedgerMovement]) -> dict[Decimal, list[LedgerMovement]]:
    """Return the movements by amount, each list in the order of days."""
    of_amount: dict[Decimal, list[LedgerMovement]] = defaultdict(list)
    for movement in sorted(movements, key=lambda each: (each.day, each.number)):
        of_amount[movement.amount].append(movement)
    return of_amount


def _may_join(pair: Pair, days: tuple[date, date], namings: Namings) -> bool:
    """Return whether a reference is enough for a pair on these days.

    Outside of the days that both sides cover, an unknown posting or line may have the same
    reference. If one of the pair is outside, its reference must occur only once on each side, and
    if it is before the first day, the two must be near each other.
    """
    (first, last), reference = days, pair.reference
    early, late = sorted((pair.posting.day, pair.line.day))
    if first <= early and late <= last:
        return True
    is_only = len(namings.postings[reference]) == len(namings.lines[reference]) == 1
    is_near = late - early <= NEAR or first <= early
    return is_only and is_near and first <= late and early <= last


def _near_groups(
    postings: Sequence[LedgerMovement], lines: Sequence[LedgerMovement], namings: Namings
) -> Iterator[ExchangeableGroup]:
    """Yield the postings and lines of one amount that near days join, directly or through others.

    A posting and a line whose references contradict each other are not joined directly.
    """
    lines_of_amount = _by_amount(lines)
    for amount, own_postings in _by_amount(postings).items():
        own_lines = lines_of_amount[amount]
        line_days = [line.day for line in own_lines]
        groups: list[tuple[list[LedgerMovement], dict[int, LedgerMovement]]] = []
        for posting in own_postings:
            at = slice(
                bisect_left(line_days, posting.day - NEAR),
                bisect_right(line_days, posting.day + NEAR),
            )
            near = {
                line.number: line for line in own_lines[at] if not namings.contradict(posting, line)
            }
            if not near:
                continue
            touched = [group for group in groups if group[1].keys() & near.keys()]
            groups = [group for group in groups if not group[1].keys() & near.keys()]
            merged_postings = [posting]
            for group_postings, group_lines in touched:
                merged_postings += group_postings
                near |= group_lines
            groups.append((merged_postings, near))
        for merged, near_lines in groups:
            yield ExchangeableGroup(
                tuple(sorted(merged, key=lambda each: (each.day, each.number))),
                tuple(sorted(near_lines.values(), key=lambda each: (each.day, each.number))),
            )
