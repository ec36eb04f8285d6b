"""How a desk and its lake's home stand to each other: what is behind, staged, or only here."""

from __future__ import annotations

from typing import Final

import msgspec

from treasury.core.errors import HomeUnreachable
from treasury.lake.home.heads import HomeHead, read_head
from treasury.lake.home.lake_home import LakeHome

_NAMED: Final = 5
"""So many heads that are not pulled yet are named; of more it is said how many."""


class HomeStatus(msgspec.Struct, frozen=True):
    """A desk beside its home.

    `problem` says why the home could not be asked, empty where it was, and `remedy` what to do.
    `behind` are the newest of the heads that this desk has not pulled, `count` is how many there
    are; `staged` is what was done here and shows to nobody yet.
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
        """The home, where this desk stands and what it has not pulled."""
        if self.number:
            at = f"this desk stands on head {self.number}"
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
        """The sentence and the step that follows; then what is staged."""
        lines = [f"home     {self.sentence}{': run `treasury lake pull`' if self.count else ''}"]
        if self.staged:
            works = "; ".join(self.staged)
            lines.append(f"staged   {works}: shows to nobody before `treasury lake push`")
        return "\n".join(lines)


def home_status(home: LakeHome) -> HomeStatus:
    """Ask the home what is newest, where it answers."""
    note, staged = home.note(), home.staged()
    works = () if staged is None else staged.works
    try:
        numbers = home.numbers_after(note)
        behind = tuple(read_head(home.place, number)[0] for number in numbers[-_NAMED:])
    except HomeUnreachable as error:
        do = error.do or ""
        return HomeStatus(home.place.address, note.number, error.what, staged=works, remedy=do)
    return HomeStatus(home.place.address, note.number, "", len(numbers), behind, works)
