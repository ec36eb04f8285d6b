"""The base class of objects that name the nearest attribute for a misspelt one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treasury.core.errors import UnknownName
from treasury.core.text import is_it


class NearestNames:
    """An object that names the nearest attribute of an unknown one."""

    __slots__ = ()
    _advice: ClassVar[str] = "press the tab key after the dot to see them all"
    """The next step after an unknown attribute."""

    # With it, mypy would accept every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            owner = type(self).__name__
            # IPython looks for its own hooks, `dir` for `__dict__`; a property may raise
            # AttributeError.
            if name.startswith("_") or name in dir(type(self)):
                raise AttributeError(f"{owner!r} object has no attribute {name!r}")
            names = [each for each in dir(self) if not each.startswith("_")]
            raise UnknownName(
                f"{owner} has no {name!r}{is_it(name, names)}",
                do=self._advice,
            )
