"""How a desk and its lake's home stand to each other: what is behind, staged, or only here."""

from __future__ import annotations

from typing import Final

import msgspec

from treasury.errors import HomeUnreachable
from treasury.lake.home.heads import Head, read_head
from treasury.lake.home.lake_home import LakeHome

__all__ = ["HomeStatus", "home_status"]

NAMED: Final = 5
"""So many heads that are not pulled yet are named; of more it is said how many."""


class HomeStatus(msgspec.Struct, frozen=True):
    """A desk beside its home; `problem` says why the home could not be asked, empty where it was.

    `behind` are the newest of the heads that this desk has not pulled, `count` is how many there
    are; `staged` is what was done here and shows to nobody yet.
    """

    address: str
    number: int
    problem: str = ""
    count: int = 0
    behind: tuple[Head, ...] = ()
    staged: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The home, how far behind this desk is, and what is staged, a line each."""
        at = "this desk never pulled or pushed"
        if self.number:
            at = f"this desk stands on head {self.number}{'' if self.count else ', the newest'}"
        if self.problem:
            lines = [f"home     {at.removesuffix(', the newest')}; {self.problem}"]
        elif not self.count:
            lines = [f"home     {self.address}: {at}"]
        else:
            names = ", ".join(head.sentence for head in self.behind)
            more = self.count - len(self.behind)
            names += f" and {more:,} before them" if more else ""
            behind = f"{at}, {self.count:,} behind ({names}): run `treasury lake pull`"
            lines = [f"home     {self.address}: {behind}"]
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
        behind = tuple(read_head(home.place, number)[0] for number in numbers[-NAMED:])
    except HomeUnreachable as error:
        return HomeStatus(home.place.address, note.number, error.what, staged=works)
    return HomeStatus(home.place.address, note.number, "", len(numbers), behind, works)
