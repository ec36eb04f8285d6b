"""The state of a desk (a copy of the lake) relative to the home: heads to pull, staged work."""

from __future__ import annotations

from typing import Final

import msgspec

from treasury.core.errors import HomeUnreachable
from treasury.lake.home.heads import HomeHead, read_head
from treasury.lake.home.lake_home import LakeHome

_NAMED: Final = 5
"""Maximum number of unpulled heads to list; the rest are only counted."""


class HomeStatus(msgspec.Struct, frozen=True):
    """A desk's state compared with its home.

    `number` is this desk's head. `problem` explains why the home could not be reached, and `remedy`
    what to do. `count` is the number of heads that this desk has not pulled, and `behind` has the
    newest of them. `staged` lists local work that other desks do not see yet.
    """

    address: str
    number: int
    problem: str = ""
    count: int = 0
    behind: tuple[HomeHead, ...] = ()
    staged: tuple[str, ...] = ()
    remedy: str = ""

    @property
    def sentence(self) -> str:
        """A sentence on the home, this desk's head, and the heads to pull."""
        if self.number:
            at = f"this desk is at head {self.number}"
        else:
            at = "this desk never pulled or pushed"
        if self.problem:
            return f"{at}; {self.problem}"
        if not self.count:
            return f"{self.address}: {at}{', the newest' if self.number else ''}"
        names = ", ".join(head.sentence for head in self.behind)
        more = self.count - len(self.behind)
        names += f" and {more:,} before them" if more else ""
        return f"{self.address}: {at}, {self.count:,} behind ({names})"

    def __str__(self) -> str:
        """Return the sentence with the next step, and the staged work."""
        lines = [f"home     {self.sentence}{': run `treasury lake pull`' if self.count else ''}"]
        if self.staged:
            works = "; ".join(self.staged)
            lines.append(f"staged   {works}: not visible before `treasury lake push`")
        return "\n".join(lines)


def home_status(home: LakeHome) -> HomeStatus:
    """Return this desk's state, with the home's newest heads if the home can be reached."""
    note, staged = home.note(), home.staged()
    works = () if staged is None else staged.works
    try:
        numbers = home.numbers_after(note)
        behind = tuple(read_head(home.place, number)[0] for number in numbers[-_NAMED:])
    except HomeUnreachable as error:
        do = error.do or ""
        return HomeStatus(home.place.address, note.number, error.what, staged=works, remedy=do)
    return HomeStatus(home.place.address, note.number, "", len(numbers), behind, works)
