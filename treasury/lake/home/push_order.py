"""PushOrder at a home: a desk that was overtaken goes first, so that none waits for ever.

A desk that commits again and again could overtake another one each time. Whoever was overtaken says
so in the home, and who begins anew lets that desk pass for a while. It is a courtesy and no lock:
what keeps commits apart are the heads alone, and nobody waits for long for a desk that was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from treasury.lake.home.object_place import ListedObject, ObjectPlace

TURNS: Final = "turns/"
PATIENCE: Final = 60.0
"""Seconds that a desk lets others pass before it goes on all the same."""
_QUIET: Final = 2.0
"""Seconds that it waits without saying so."""
_POLL: Final = 0.1


class PushOrder:
    """The turns at one home, for one desk."""

    def __init__(self, place: ObjectPlace, desk: str, tell: Callable[[str], object]) -> None:
        self._place = place
        self._name = f"{TURNS}{desk}"
        self._tell = tell

    def claim(self) -> None:
        """Ask the other desks to let this one pass; asked again, it keeps its place among them."""
        self._place.create(self._name, b"")

    def give_up(self) -> None:
        """Let the others go on: this desk has its commit, or wants none any more."""
        self._place.remove([self._name])

    def let_pass(self) -> None:
        """Wait until the desks that were overtaken before this one have had their turn.

        A turn that nobody has taken for as long as this desk waits is removed.
        """
        first = ahead = self._ahead()
        began = time.monotonic()
        is_announced = False
        while ahead:
            waited = time.monotonic() - began
            if waited > PATIENCE:
                self._place.remove(entry.name for entry in ahead if entry in first)
                return
            if waited > _QUIET and not is_announced:
                self._tell("another desk was overtaken, and is let pass before this is done")
                is_announced = True
            time.sleep(_POLL)
            ahead = self._ahead()

    def _ahead(self) -> list[ListedObject]:
        turns = sorted(self._place.listed(TURNS), key=lambda turn: (turn.modified, turn.name))
        names = [turn.name for turn in turns]
        return turns[: names.index(self._name)] if self._name in names else turns
