"""The facts that a person sees when deciding, and the comparison with the current facts.

A decision lapses if one of its material facts changes. Other facts, such as a version or a balance,
may change. A fact with a problem blocks the action until the problem is solved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from treasury.core.text import clean

NOT_SHOWN = "not shown"


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One fact with its value; `field` names the field of the action that it is about."""

    name: str
    value: str
    material: bool = True
    field: str = ""
    problem: str = ""
    """Why the fact blocks the action; empty if it does not."""
    takes_two: bool = False
    """Whether this fact requires a second person, even if the policy does not."""


class Moved(msgspec.Struct, frozen=True):
    """A fact whose value differs from the one that the person saw."""

    fact: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.fact} was {self.was}, is {self.now}"


def fact(name: str, value: object, **more: Any) -> Fact:
    """Build a fact; its value becomes one line of visible text, and None becomes `not shown`."""
    return Fact(name=name, value=NOT_SHOWN if value is None else clean(value), **more)


def changed(agreed: Iterable[Fact], fresh: Iterable[Fact]) -> tuple[Moved, ...]:
    """Return the material facts that differ, were added or were removed, in display order."""
    before = {fact.name: fact.value for fact in agreed if fact.material}
    after = {fact.name: fact.value for fact in fresh if fact.material}
    return tuple(
        Moved(name, before.get(name, NOT_SHOWN), after.get(name, NOT_SHOWN))
        for name in dict.fromkeys((*before, *after))
        if before.get(name, NOT_SHOWN) != after.get(name, NOT_SHOWN)
    )
