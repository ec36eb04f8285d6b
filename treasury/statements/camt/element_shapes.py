"""Values out of XML text, quickly: the elements of a bank's entries repeat, the text differs.

An element without comments, CDATA and stray `>` can be cut at `<` and `>`, which leaves text and
tag in turn. The tags in order are its *shape*. Where each
value stands is worked out once per shape, by a table of paths; the next element of the same shape
only has its values picked. Elements match by local name: prefix and namespace say nothing reliable.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

Paths = Mapping[str, str]
"""Path of local names below the element -> name of the value.

A name that ends in `*` is a list. A name that begins with `.` is a working value (the dot is not
part of the name): a rule has to look at it before it goes anywhere.
"""

_MAX_SHAPES: Final = 512
_LONGEST_SHAPE: Final = 1 << 14
_DEEPEST: Final = 64
_CURRENCY: Final = re.compile(r"""\sCcy\s*=\s*["']([^"']*)["']""")
_TEXT_OR_TAG: Final = re.compile(r"""<(?:[^>"']|"[^"]*"|'[^']*')*>|[^<]+|<""")


class ElementValues(msgspec.Struct, frozen=True, gc=False):
    """The values found in one element, by name.

    The currency beside an amount `.x` is the working value `x_currency`; beside a list `x*` it is a
    list of the same length, `x_currency`. `names` has every name that an element of this shape may
    give a value to.
    """

    columns: dict[str, str]
    working: dict[str, str]
    lists: dict[str, list[str]]
    names: frozenset[str] = frozenset()


class _Single(msgspec.Struct, frozen=True):
    """Where the single values of one shape stand among the pieces."""

    places: tuple[tuple[str, int], ...]
    """The last place of a name first, so that the first one that is not empty counts."""
    currencies: tuple[tuple[str, int, str], ...]
    """The currency in the tag of an amount, by its own name and the amount's place."""

    def pick(self, pieces: list[str], *, escaped: bool) -> dict[str, str]:
        """The values, white space around them removed, by name: the first that is not empty."""
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
    """Where the values of one shape stand."""

    columns: _Single
    working: _Single
    lists: tuple[tuple[str, int, str | None], ...]
    names: frozenset[str]


class Reader:
    """Reads elements by one table of paths, remembering their shapes."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._shapes: dict[str, _Shape] = {}

    def read(self, raw: str) -> ElementValues:
        """The values in an element's text, white space around them removed.

        Of several elements that give the same single value the first that is not empty counts.
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
            self._shapes.clear()  # a file that never repeats itself gains nothing by remembering
        if len(key) <= _LONGEST_SHAPE:
            self._shapes[key] = shape
        return shape


def _single(places: list[tuple[str, int, str | None]]) -> _Single:
    currencies = ((f"{name}_currency", place, text) for name, place, text in places if text)
    return _Single(tuple((name, place) for name, place, _ in places[::-1]), tuple(currencies))


def _elements(pieces: list[str]) -> Iterator[tuple[str, str, int]]:
    """Path below the outermost element, tag, and place of its text, of every element in order."""
    path: list[str] = []
    for place in range(1, len(pieces), 2):
        tag = pieces[place]
        if tag.startswith("/"):
            del path[-1:]  # the text may be looked at before it is known to be well-formed
            continue
        if len(path) > _DEEPEST:
            return
        path.append((tag.split(None, 1) or [""])[0].rstrip("/").rpartition(":")[2])
        yield "/".join(path[1:]), tag, place + 1
        if tag.endswith("/"):
            path.pop()


def _unescape(text: str) -> str:
    """The references that XML knows without a DOCTYPE. The ampersand goes last."""
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
        return matched[0]  # letters in a decimal number: no reference at all
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
