"""Values out of serialised XML, quickly: the elements of a bank's entries repeat, the text differs.

An element as the serialiser writes it has no comments, CDATA or stray `<` and `>`, so cutting at
those two characters leaves text and tag in turn. The tags in order are its *shape*. Where each
value stands is worked out once per shape, by a table of paths; the next element of the same shape
only has its values picked. Elements match by local name: prefix and namespace say nothing reliable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

__all__ = ["Fields", "Paths", "Reader"]

Paths = Mapping[str, str]
"""Path of local names below the element -> name of the value.

A name that ends in `*` is a list. A name that begins with `.` is a working value (the dot is not
part of the name): a rule has to look at it before it goes anywhere.
"""

_MAX_SHAPES: Final = 512
_CURRENCY: Final = re.compile(r'\sCcy="([^"]*)"')


class Fields(msgspec.Struct, frozen=True):
    """The values found in one element, by name.

    The currency beside an amount `.x` is the working value `x_currency`; beside a list `x*` it is a
    list of the same length, `x_currency`.
    """

    columns: dict[str, str]
    working: dict[str, str]
    lists: dict[str, list[str]]


_Place = tuple[str, int, str | None]


class _Shape(msgspec.Struct, frozen=True):
    """Where the values of one shape stand among the pieces, each with the currency in its tag."""

    columns: tuple[_Place, ...]
    working: tuple[_Place, ...]
    lists: tuple[_Place, ...]


class Reader:
    """Reads elements by one table of paths, remembering their shapes."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._shapes: dict[str, _Shape] = {}

    def read(self, raw: str) -> Fields:
        """The values in an element as `lxml` serialises it, white space around them removed.

        Of several elements that give the same single value the first that is not empty counts.
        """
        pieces = raw.replace("<", ">").split(">")
        key = "<".join(pieces[1::2])
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._learn(key, pieces)
        if "&" in raw:
            pieces = [_unescape(piece) if "&" in piece else piece for piece in pieces]
        columns = _picked(pieces, shape.columns)
        working = _picked(pieces, shape.working)
        lists: dict[str, list[str]] = {}
        for name, place, currency in shape.lists:
            text = pieces[place].strip()
            if text:
                lists.setdefault(name, []).append(text)
                if currency is not None:
                    lists.setdefault(f"{name}_currency", []).append(currency)
        return Fields(columns, working, lists)

    def _learn(self, key: str, pieces: list[str]) -> _Shape:
        columns: list[_Place] = []
        working: list[_Place] = []
        lists: list[_Place] = []
        for path, tag, place in _elements(pieces):
            name = self._paths.get(path, "")
            found = _CURRENCY.search(tag)
            currency = _unescape(found[1]).strip() if found else None
            if name.endswith("*"):
                lists.append((name[:-1], place, currency))
            elif name.startswith("."):
                working.append((name[1:], place, currency))
            elif name:
                columns.append((name, place, None))
        shape = _Shape(tuple(columns), tuple(working), tuple(lists))
        if len(self._shapes) >= _MAX_SHAPES:
            self._shapes.clear()  # a file that never repeats itself gains nothing by remembering
        self._shapes[key] = shape
        return shape


def _picked(pieces: list[str], places: tuple[_Place, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, place, currency in places:
        text = pieces[place].strip()
        if text and name not in found:
            found[name] = text
            if currency:
                found[f"{name}_currency"] = currency
    return found


def _elements(pieces: list[str]) -> Iterator[tuple[str, str, int]]:
    """Path below the outermost element, tag, and place of its text, of every element in order."""
    path: list[str] = []
    for place in range(1, len(pieces), 2):
        tag = pieces[place]
        if tag.startswith("/"):
            path.pop()
            continue
        path.append(tag.split(None, 1)[0].rstrip("/").rpartition(":")[2])
        yield "/".join(path[1:]), tag, place + 1
        if tag.endswith("/"):
            path.pop()


def _unescape(text: str) -> str:
    """What the serialiser escapes: three names and numeric references. The ampersand goes last."""
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"')
    if "&#" in text:
        text = _NUMERIC.sub(_character, text)
    return text.replace("&amp;", "&")


_NUMERIC: Final = re.compile(r"&#(x?)([0-9A-Fa-f]+);")


def _character(matched: re.Match[str]) -> str:
    return chr(int(matched[2], 16 if matched[1] else 10))
