"""Fast extraction of values from XML text: a bank repeats its elements with different values.

An element without comments, CDATA and stray `>` can be split at `<` and `>` into alternating text
and tags. The sequence of tags is its *shape*. The positions of the values are computed once per
shape from a table of paths and reused for every further element of that shape. Elements match by
local name: banks use prefixes and namespaces inconsistently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

Paths = Mapping[str, str]
"""Map from a path of local names below the element to the name of the value.

A name that ends in `*` is a list. A name that begins with `.` is a working value for a rule and not
a column; the dot is not part of the name.
"""

_MAX_SHAPES: Final = 512
_LONGEST_SHAPE: Final = 1 << 14
_DEEPEST: Final = 64
_CURRENCY: Final = re.compile(r"""\sCcy\s*=\s*["']([^"']*)["']""")
_TEXT_OR_TAG: Final = re.compile(r"""<(?:[^>"']|"[^"]*"|'[^']*')*>|[^<]+|<""")


class ElementValues(msgspec.Struct, frozen=True, gc=False):
    """The values in one element, by name.

    The currency of an amount `.x` is the working value `x_currency`; for a list `x*`, the list
    `x_currency` has the currencies that are stated. `names` has all names for which an element of
    this shape may have a value.
    """

    columns: dict[str, str]
    working: dict[str, str]
    lists: dict[str, list[str]]
    names: frozenset[str] = frozenset()


class _Single(msgspec.Struct, frozen=True):
    """Positions of the values that are not lists, in one shape."""

    places: tuple[tuple[str, int], ...]
    """Positions of each name in reverse order: the value set last is the first in the document."""
    currencies: tuple[tuple[str, int, str], ...]
    """For each currency, the name of its value, the position of the amount, and the code."""

    def pick(self, pieces: list[str], *, escaped: bool) -> dict[str, str]:
        """Return the first non-empty value of each name, without surrounding blanks."""
        values = {name: text for name, place in self.places if (text := pieces[place].strip())}
        for name, place, text in self.currencies:
            if name not in values and pieces[place].strip():
                values[name] = text
        if escaped:
            for name, text in values.items():
                if "&" in text:
                    values[name] = _unescape(text)
        return values


class _Shape(msgspec.Struct, frozen=True):
    """Positions of all values of one shape, lists included."""

    columns: _Single
    working: _Single
    lists: tuple[tuple[str, int, str | None], ...]
    names: frozenset[str]


class Reader:
    """Reader of elements by one table of paths; it caches the positions of each shape."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._shapes: dict[str, _Shape] = {}

    def read(self, raw: str) -> ElementValues:
        """Return the values in an element's text, without surrounding blanks.

        If several elements have the path of one value, the first one that is not empty is used.
        """
        pieces = raw.replace("<", ">").split(">")
        if len(pieces) != 2 * raw.count("<") + 1:
            # Escape each `>` that does not end a tag, as the split relies on it.
            pieces = (
                "".join(
                    f"<{piece[1:-1].replace('>', '&gt;')}>"
                    if piece[0] == "<" and len(piece) > 1
                    else piece.replace(">", "&gt;").replace("<", "&lt;")
                    for piece in _TEXT_OR_TAG.findall(raw)
                )
                .replace("<", ">")
                .split(">")
            )
        key = "<".join(pieces[1::2])
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._learn(key, pieces)
        escaped = "&" in raw
        lists: dict[str, list[str]] = {}
        for name, place, currency in shape.lists:
            text = pieces[place].strip()
            if text:
                lists.setdefault(name, []).append(_unescape(text) if "&" in text else text)
                if currency is not None:
                    lists.setdefault(f"{name}_currency", []).append(currency)
        return ElementValues(
            shape.columns.pick(pieces, escaped=escaped),
            shape.working.pick(pieces, escaped=escaped),
            lists,
            shape.names,
        )

    def _learn(self, key: str, pieces: list[str]) -> _Shape:
        columns: list[tuple[str, int, str | None]] = []
        working: list[tuple[str, int, str | None]] = []
        lists: list[tuple[str, int, str | None]] = []
        for path, tag, place in _elements(pieces):
            name = self._paths.get(path, "")
            currency_tag = _CURRENCY.search(tag)
            currency = _unescape(currency_tag[1]).strip() if currency_tag else None
            if name.endswith("*"):
                lists.append((name[:-1], place, currency))
            elif name.startswith("."):
                working.append((name[1:], place, currency))
            elif name:
                columns.append((name, place, None))
        names = frozenset(name for name, _, _ in (*columns, *working, *lists))
        shape = _Shape(_single(columns), _single(working), tuple(lists), names)
        if len(self._shapes) >= _MAX_SHAPES:
            # If no shape ever repeats, the cache would only grow.
            self._shapes.clear()
        if len(key) <= _LONGEST_SHAPE:
            self._shapes[key] = shape
        return shape


def _single(places: list[tuple[str, int, str | None]]) -> _Single:
    currencies = ((f"{name}_currency", place, text) for name, place, text in places if text)
    return _Single(tuple((name, place) for name, place, _ in places[::-1]), tuple(currencies))


def _elements(pieces: list[str]) -> Iterator[tuple[str, str, int]]:
    """Yield path, tag and text position of each element; the outermost path is empty.

    Stops at an element that is nested too deeply.
    """
    path: list[str] = []
    for place in range(1, len(pieces), 2):
        tag = pieces[place]
        if tag.startswith("/"):
            # The text may be split before the parser has found it to be well-formed.
            del path[-1:]
            continue
        if len(path) > _DEEPEST:
            return
        path.append((tag.split(None, 1) or [""])[0].rstrip("/").rpartition(":")[2])
        yield "/".join(path[1:]), tag, place + 1
        if tag.endswith("/"):
            path.pop()


def _unescape(text: str) -> str:
    """Return the text with XML's predefined references replaced, `&amp;` last."""
    for reference, character in _NAMED_CHARACTERS:
        text = text.replace(reference, character)
    if "&#" in text:
        text = _NUMERIC.sub(_character, text)
    return text.replace("&amp;", "&")


_NAMED_CHARACTERS: Final = (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&apos;", "'"))
_NUMERIC: Final = re.compile(r"&#(x?)([0-9A-Fa-f]{1,9});")


def _character(matched: re.Match[str]) -> str:
    try:
        code = int(matched[2], 16 if matched[1] else 10)
    except ValueError:
        # A decimal reference with letters is not a reference.
        return matched[0]
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
