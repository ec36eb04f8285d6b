"""Collective postings: one posting for several bank lines of a day, or several for one line.

The sum has to be exact. Either all parts share a reference with the collective posting or line, or
they are everything of their sign that is left of a day near it. If a part could belong to anything
else, or only some movements of a day add up, all stay open and the reason is stated.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import combinations
from typing import Final

import msgspec

from treasury.close.ledger.posting_pairs import (
    NEAR,
    Collective,
    LedgerMovement,
    Namings,
    PairedMovements,
)
from treasury.close.result_words import count, day
from treasury.core.money import total

_MOST: Final = 8
"""The maximum number of movements of a day for which the sums of only some of them are tried."""
_Day = tuple[date, bool]
"""A day, and whether its movements came in."""


class _Candidate(msgspec.Struct, frozen=True):
    """A sum that was found, and the `reason` to show if it stays undecided.

    `is_open` is true if it cannot be decided.
    """

    found: Collective
    reason: str
    is_open: bool

    @property
    def members(self) -> Iterator[tuple[bool, int]]:
        """The side and the number of each member."""
        yield self.found.is_posting, self.found.whole.number
        for part in self.found.parts:
            yield not self.found.is_posting, part.number


def with_collectives(
    paired: PairedMovements,
    postings: Sequence[LedgerMovement],
    lines: Sequence[LedgerMovement],
    first: date,
    last: date,
) -> PairedMovements:
    """Return the paired movements of an account with their collective postings and lines.

    `postings` and `lines` are all movements of the account. Only those between the two days, both
    included, that are in no pair and no group take part.
    """
    left = {True: paired.postings, False: paired.lines}
    candidates = [
        candidate
        for is_posting in left
        for candidate in _candidates(paired, is_posting, Namings(postings, lines), (first, last))
    ]
    amounts = {side: {each.amount for each in own} for side, own in left.items()}
    by_reference = [each for each in candidates if each.found.reference]
    uses = Counter(member for each in candidates for member in each.members)
    reference_uses = Counter(member for each in by_reference for member in each.members)

    def is_decided(candidate: _Candidate) -> bool:
        found = candidate.found
        if candidate.is_open:
            return False
        if found.reference:
            return all(reference_uses[member] == 1 for member in candidate.members)
        # An equal amount on the other side may be the pair of a part, on a day that is not near.
        has_equal = found.whole.amount in amounts[not found.is_posting] or any(
            part.amount in amounts[found.is_posting] for part in found.parts
        )
        return not has_equal and all(uses[member] == 1 for member in candidate.members)

    decided = [each for each in candidates if is_decided(each)]
    taken = {member for each in decided for member in each.members}
    reasons: dict[tuple[bool, int], str] = {}
    for each in candidates:
        whole = next(each.members)
        if whole not in taken:
            reasons.setdefault(whole, each.reason)
    return msgspec.structs.replace(
        paired,
        collectives=tuple(each.found for each in decided),
        reasons=reasons,
        postings=tuple(each for each in paired.postings if (True, each.number) not in taken),
        lines=tuple(each for each in paired.lines if (False, each.number) not in taken),
    )


def _candidates(
    paired: PairedMovements, is_posting: bool, namings: Namings, days: tuple[date, date]
) -> Iterator[_Candidate]:
    """Yield the sums of one side's movements; `is_posting` is the side of the whole."""
    sides = (paired.postings, paired.lines) if is_posting else (paired.lines, paired.postings)
    wholes, others = (
        [each for each in side if days[0] <= each.day <= days[1] and each.amount] for side in sides
    )
    by_day: defaultdict[_Day, list[LedgerMovement]] = defaultdict(list)
    for other in others:
        by_day[_day_of(other)].append(other)
    # Of these days, it is not known which movements are left.
    unclear = {
        _day_of(member)
        for group in paired.groups
        if group.excess and (group.excess < 0) == is_posting
        for member in (group.lines if is_posting else group.postings)
    }
    partial = {key: _partial_sums(members) for key, members in by_day.items()}
    for whole in wholes:
        for key, members in by_day.items():
            if key[1] != (whole.amount > 0) or abs(key[0] - whole.day) > NEAR:
                continue
            found = _sum_of(whole, members, is_posting)
            noun = "bank line" if is_posting else "posting"
            if found is None and whole.amount in partial[key]:
                some = Collective(is_posting, whole, partial[key][whole.amount])
                words = f"only some of the {count(len(members), noun)} of {day(key[0])}"
                yield _Candidate(some, f"{words} add up to it: not decided", is_open=True)
            elif found is not None and not any(
                namings.contradict(*((whole, part) if is_posting else (part, whole)))
                for part in found.parts
            ):
                words = f"{count(len(found.parts), noun)} of {day(key[0])} add up to it"
                is_open = not found.reference and key in unclear
                yield _Candidate(found, f"{words}, and may belong elsewhere", is_open)


def _sum_of(
    whole: LedgerMovement, members: Sequence[LedgerMovement], is_posting: bool
) -> Collective | None:
    """Return the movement with those of a day that add up to it, or None.

    These are the movements that share a reference with it, or else all of the day.
    """
    for reference in sorted(whole.references):
        named = tuple(member for member in members if reference in member.references)
        if len(named) > 1 and total(each.amount for each in named) == whole.amount:
            return Collective(is_posting, whole, named, reference)
    if len(members) > 1 and total(each.amount for each in members) == whole.amount:
        return Collective(is_posting, whole, tuple(members))
    return None


def _partial_sums(
    members: Sequence[LedgerMovement],
) -> Mapping[Decimal, tuple[LedgerMovement, ...]]:
    """Return each sum of several but not all movements, with the members of all such sums."""
    sums: defaultdict[Decimal, dict[int, LedgerMovement]] = defaultdict(dict)
    if len(members) <= _MOST:
        for size in range(2, len(members)):
            for parts in combinations(members, size):
                amount = total(part.amount for part in parts)
                sums[amount] |= {part.number: part for part in parts}
    return {amount: tuple(parts.values()) for amount, parts in sums.items()}


def _day_of(movement: LedgerMovement) -> _Day:
    return movement.day, movement.amount > 0
