"""The order of pushes: a desk that lost the race goes first, so that no desk waits forever.

A desk that commits often could overtake another desk every time. So a desk that lost several races
registers in the home, and the other desks wait for it for a limited time. This is not a lock: only
heads prevent conflicting commits, and no desk waits long for one that was killed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from treasury.lake.home.object_place import ListedObject, ObjectPlace

TURNS: Final = "turns/"
PATIENCE: Final = 60.0
"""Maximum number of seconds that a desk waits for others."""
_QUIET: Final = 2.0
"""Seconds of waiting after which a message is shown."""
_POLL: Final = 0.1


class PushOrder:
    """The desks registered in a home to push first; registers, withdraws and waits for one desk."""

    def __init__(self, place: ObjectPlace, desk: str, tell: Callable[[str], object]) -> None:
        self._place = place
        self._name = f"{TURNS}{desk}"
        self._tell = tell

    def claim(self) -> None:
        """Register this desk to go first; registering twice keeps the first position."""
        self._place.create(self._name, b"")

    def give_up(self) -> None:
        """Withdraw this desk's registration, after it committed or gave up."""
        self._place.remove([self._name])

    def let_pass(self) -> None:
        """Wait until the desks registered before this one have finished.

        After the maximum wait, the registrations that existed when it began are removed.
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
