"""Fast extraction of values from XML text: a bank's elements repeat, only the text differs.

An element without comments, CDATA and stray `>` can be split at `<` and `>`, which gives text and
tags in turn. The sequence of tags is its *shape*. The positions of the values are determined once
per shape from a table of paths; for the next element of that shape the values are only picked.
Elements match by local name: banks use prefixes and namespaces inconsistently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

Paths = Mapping[str, str]
"""Map from a path of local names below the element to the name of the value.

A name that ends in `*` is a list. A name that begins with `.` is a working value for a rule (the
dot is not part of the name).
"""

_MAX_SHAPES: Final = 512
_LONGEST_SHAPE: Final = 1 << 14
_DEEPEST: Final = 64
_CURRENCY: Final = re.compile(r"""\sCcy\s*=\s*["']([^"']*)["']""")
_TEXT_OR_TAG: Final = re.compile(r"""<(?:[^>"']|"[^"]*"|'[^']*')*>|[^<]+|<""")


class ElementValues(msgspec.Struct, frozen=True, gc=False):
    """The values in one element, by name.

    The currency of an amount `.x` is the working value `x_currency`; that of a list `x*` is a list
    of the same length, `x_currency`. `names` has every name that an element of this shape may give
    a value to.
    """

    columns: dict[str, str]
    working: dict[str, str]
    lists: dict[str, list[str]]
    names: frozenset[str] = frozenset()


class _Single(msgspec.Struct, frozen=True):
    """Positions of the single values of one shape."""

    places: tuple[tuple[str, int], ...]
    """Positions of each name, last one first, so that the first value that is not empty wins."""
    currencies: tuple[tuple[str, int, str], ...]
    """Position of the tag with the currency of an amount, by name, and that of the amount."""

    def pick(self, pieces: list[str], *, escaped: bool) -> dict[str, str]:
        """Return the first value of each name that is not empty, stripped."""
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
    """Positions of the values of one shape."""

    columns: _Single
    working: _Single
    lists: tuple[tuple[str, int, str | None], ...]
    names: frozenset[str]


class Reader:
    """Reader of elements by one table of paths; it caches their shapes."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._shapes: dict[str, _Shape] = {}

    def read(self, raw: str) -> ElementValues:
        """Return the values in an element's text, stripped.

        If several elements give the same single value, the first one that is not empty wins.
        """
        pieces = raw.replace("<", ">").split(">")
        if len(pieces) != 2 * raw.count("<") + 1:
            # The text with each `>` that ends no tag written as a reference.
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
            # A file that never repeats a shape gains nothing from the cache.
            self._shapes.clear()
        if len(key) <= _LONGEST_SHAPE:
            self._shapes[key] = shape
        return shape


def _single(places: list[tuple[str, int, str | None]]) -> _Single:
    currencies = ((f"{name}_currency", place, text) for name, place, text in places if text)
    return _Single(tuple((name, place) for name, place, _ in places[::-1]), tuple(currencies))


def _elements(pieces: list[str]) -> Iterator[tuple[str, str, int]]:
    """Yield the path, tag and text position of every element below the outermost one, in order."""
    path: list[str] = []
    for place in range(1, len(pieces), 2):
        tag = pieces[place]
        if tag.startswith("/"):
            # The text may be used before it is known to be well-formed.
            del path[-1:]
            continue
        if len(path) > _DEEPEST:
            return
        path.append((tag.split(None, 1) or [""])[0].rstrip("/").rpartition(":")[2])
        yield "/".join(path[1:]), tag, place + 1
        if tag.endswith("/"):
            path.pop()


def _unescape(text: str) -> str:
    """Return the text with XML's predefined references replaced, the ampersand last."""
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
        # Letters in a decimal number: not a reference.
        return matched[0]
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
