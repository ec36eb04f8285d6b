"""Base classes of objects that help after a misspelt name or a wrong operation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

from treasury.core.errors import TableError, UnknownName
from treasury.core.text import is_it, one_of


class NearestNames:
    """An object that suggests the nearest attribute for an unknown one."""

    __slots__ = ()
    _advice: ClassVar[str] = "press the tab key after the dot to see them all"
    """The next step after an unknown attribute."""

    # Hidden from mypy, which would otherwise accept every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            owner = type(self).__name__
            # IPython looks for its hooks, `dir` looks for `__dict__`, and a property may raise
            # AttributeError.
            if name.startswith("_") or name in dir(type(self)):
                raise AttributeError(f"{owner!r} object has no attribute {name!r}")
            raise self._unknown(name)

    def _unknown(self, name: str) -> UnknownName:
        """Return the error for an unknown attribute."""
        names = [each for each in dir(self) if not each.startswith("_")]
        return UnknownName(
            f"{type(self).__name__} has no {name!r}{is_it(name, names)}", do=self._advice
        )


class Facade(NearestNames):
    """An object whose methods are the operations on one subject, such as `t.actions`.

    Its `repr` and completion list them.
    """

    __slots__ = ()
    _offers: ClassVar[Sequence[str]] = ()
    """The names that `repr` and completion list; by default `repr` lists all public methods."""
    _hint: ClassVar[str] = ""
    """What people look for and do not find by the names of the methods."""

    def __dir__(self) -> list[str]:
        # The other public names are for other modules.
        return sorted(self._offers or super().__dir__())

    def __repr__(self) -> str:
        names = self._offers or [
            name
            for base in reversed(type(self).__mro__)
            for name, value in vars(base).items()
            if isinstance(value, FunctionType) and not name.startswith("_")
        ]
        hint = f"; {self._hint}" if self._hint else ""
        return f"<{type(self).__name__}: {', '.join(dict.fromkeys(names))}{hint}>"


class Screen(str):
    """A text of several lines that a notebook shows as `print` would."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        if isinstance(key, str):
            raise TableError(
                "a screen is a text, not a table", do="use t.open_items(), t.facts() or t.sql(…)"
            )
        return super().__getitem__(key)


def unknown_in_module(module: str, name: str, names: Collection[str]) -> AttributeError:
    """Return the error for an unknown name of a module, with the nearest of its public names."""
    if name.startswith("_"):
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    return UnknownName(
        f"{module.rpartition('.')[2]} has no {name!r}{is_it(name, names)}",
        do=one_of(name, names),
    )
