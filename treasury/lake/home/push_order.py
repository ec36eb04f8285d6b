"""Order of pushes at a home: a desk that lost the race goes first, so that none waits forever.

A desk that commits often could overtake another one each time. A desk that lost the race registers
in the home, and desks that start afterwards wait for it for a while. It is a courtesy and not a
lock: only the heads separate commits, and no desk waits long for one that was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from treasury.lake.home.object_place import ListedObject, ObjectPlace

TURNS: Final = "turns/"
PATIENCE: Final = 60.0
"""Seconds that a desk waits for others before it continues anyway."""
_QUIET: Final = 2.0
"""Seconds of waiting before a message is shown."""
_POLL: Final = 0.1


class PushOrder:
    """The waiting desks of one home, as seen by one desk."""

    def __init__(self, place: ObjectPlace, desk: str, tell: Callable[[str], object]) -> None:
        self._place = place
        self._name = f"{TURNS}{desk}"
        self._tell = tell

    def claim(self) -> None:
        """Register to go first; a repeated registration keeps the position."""
        self._place.create(self._name, b"")

    def give_up(self) -> None:
        """Withdraw the registration, because this desk has committed or gives up."""
        self._place.remove([self._name])

    def let_pass(self) -> None:
        """Wait until the desks registered before this one have finished.

        Registrations that are still there after the maximum wait are removed.
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
                self._tell("another desk lost the race before and goes first; waiting")
                is_announced = True
            time.sleep(_POLL)
            ahead = self._ahead()

    def _ahead(self) -> list[ListedObject]:
        turns = sorted(self._place.listed(TURNS), key=lambda turn: (turn.modified, turn.name))
        names = [turn.name for turn in turns]
        return turns[: names.index(self._name)] if self._name in names else turns
