"""What a person is shown of the world when deciding, and what of it has moved since.

A decision is about these facts and no others. A material one that is no longer what was shown makes
the decision lapse; the others (a version, a balance, who made a record) may move. A fact can also
say what is wrong with it: then the action cannot be taken while it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from treasury.core.text import clean

NOT_SHOWN = "not shown"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was so; `field` is the action's field that it is about."""

    name: str
    value: str
    material: bool = True
    field: str = ""
    problem: str = ""
    """Why the action cannot be taken while this is so; empty where it can."""
    takes_two: bool = False
    """Whether a second person has to agree while this is so, whatever the policy says otherwise."""


class Moved(msgspec.Struct, frozen=True):
    """One fact that is no longer what the person saw."""

    fact: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.fact} was {self.was}, is {self.now}"


def fact(name: str, value: object, **more: Any) -> Fact:
    """A fact; outside text is brought to one visible line, None is `not shown`."""
    return Fact(name=name, value=NOT_SHOWN if value is None else clean(value), **more)


def changed(agreed: Iterable[Fact], fresh: Iterable[Fact]) -> tuple[Moved, ...]:
    """The material facts that differ, one that came or went included, in the order shown."""
    before = {fact.name: fact.value for fact in agreed if fact.material}
    after = {fact.name: fact.value for fact in fresh if fact.material}
    return tuple(
        Moved(name, before.get(name, NOT_SHOWN), after.get(name, NOT_SHOWN))
        for name in dict.fromkeys((*before, *after))
        if before.get(name, NOT_SHOWN) != after.get(name, NOT_SHOWN)
    )
