"""The base class of objects that list their attributes, and suggest one for a misspelt name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from treasury.core.errors import UnknownName
from treasury.core.text import is_it


class NearestNames:
    """An object that prints its attributes, and suggests the nearest one for an unknown one."""

    __slots__ = ()
    _advice: ClassVar[str] = "press the tab key after the dot to see them all"
    """The next step after an unknown attribute."""

    def __repr__(self) -> str:
        fields = getattr(self, "__struct_fields__", ())
        names = (name for name in dir(type(self)) if not name.startswith("_"))
        shown = ", ".join(name for name in names if name not in fields)
        return f"<{type(self).__name__}: {shown}>"

    # Hidden from mypy, which would otherwise accept every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            owner = type(self).__name__
            # IPython looks for its hooks, `dir` looks for `__dict__`, and a property may raise
            # AttributeError.
            if name.startswith("_") or name in dir(type(self)):
                raise AttributeError(f"{owner!r} object has no attribute {name!r}")
            names = [each for each in dir(self) if not each.startswith("_")]
            raise UnknownName(
                f"{owner} has no {name!r}{is_it(name, names)}",
                do=self._advice,
            )
