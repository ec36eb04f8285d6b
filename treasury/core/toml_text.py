"""Parses TOML written by people within limits, and finds the line of a key for errors."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from treasury.core.errors import InputError
from treasury.core.text import clean

Keys = Sequence[str | int]
"""The path to a value: names of tables and keys, and array indices from 0."""

_LONGEST: Final = 2 << 20
"""Maximum number of characters, enough for thirty thousand payees."""
_LONGEST_KEY: Final = 300
_DEEPEST: Final = 32
_LARGEST: Final = 2**63
"""TOML's integers have 64 bits."""
_TEXT: Final = (
    # Multi-line strings, strings and comments. An unterminated string extends to the end.
    r'''"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\Z)|\'{3}(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)'''
    r"""|"(?:[^"\\\n]++|\\[^\n])*+(?:"|$)|'[^'\n]*+(?:'|$)|\#[^\n]*+"""
)
_TEXTS: Final = re.compile(_TEXT, re.DOTALL | re.MULTILINE)
_STRUCTURE: Final = re.compile(rf"{_TEXT}|[\[\]{{}}\n]", re.DOTALL | re.MULTILINE)
_DEEP_KEY: Final = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{_DEEPEST}}}")
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<position>\d+)?[^\]]*\]")
_UNKNOWN: Final = re.compile(r"unknown field `([^`]*)`")


def parse_toml(text: str, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse TOML; raise TOMLDecodeError for invalid, too long or too deep text."""
    if len(text) > _LONGEST:
        raise tomllib.TOMLDecodeError(f"it is longer than {_LONGEST >> 20} MB")
    # The library's time and memory grow with the square of the number of parts in a key.
    if _DEEP_KEY.search(_TEXTS.sub("t", text)):
        raise tomllib.TOMLDecodeError("it is nested too deeply")
    try:
        document = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except tomllib.TOMLDecodeError:
        raise
    # Python refuses numbers with too many digits.
    except (ValueError, ArithmeticError):
        raise tomllib.TOMLDecodeError("a number in it is too large") from None
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        if any(len(key) > _LONGEST_KEY for node in level if isinstance(node, dict) for key in node):
            # An error may show the key, so its length is limited.
            raise tomllib.TOMLDecodeError("a key in it is too long")
        parts = [
            part for node in level for part in (node.values() if isinstance(node, dict) else node)
        ]
        if any(isinstance(part, int) and not -_LARGEST <= part < _LARGEST for part in parts):
            raise tomllib.TOMLDecodeError("a number in it is too large")
        level = [part for part in parts if isinstance(part, dict | list)]
    if level:
        raise tomllib.TOMLDecodeError("it is nested too deeply")
    return document


@contextmanager
def at_key(text: str, *keys: str | int) -> Iterator[str]:
    """Yield the name of a key, such as `rules[1].people`; prefix an InputError with its line."""
    names = (f"[{key}]" if isinstance(key, int) else f".{clean(key)[:40]}" for key in keys)
    try:
        yield "".join(names).removeprefix(".")
    except InputError as error:
        line = line_of(text, keys)
        where = "" if line is None else f"line {line}: "
        raise InputError(where + error.what, do=error.do) from None


def problem_place(text: str, error: msgspec.ValidationError) -> str:
    """Return the message of msgspec's error, with the key's line."""
    message = str(error)
    path = re.search(r"`\$([^`]*)`$", message)
    keys: list[str | int] = []
    for step in _STEP.finditer(path[1] if path else ""):
        if step["position"]:
            keys.append(int(step["position"]))
        elif step["name"]:
            keys.append(step["name"])
        else:
            # msgspec does not name the key of a table.
            break
    if unknown := _UNKNOWN.search(message):
        keys.append(unknown[1])
    line = line_of(text, keys) if keys else None
    return message if line is None else f"line {line}: {message}"


def line_of(text: str, keys: Keys) -> int | None:
    """Return the line on which the value at `keys` ends; None if there is no such value.

    A key can be spelt in several ways in TOML, so searching the text is not enough. The result is
    the first line up to which the file parses and has the key.
    """
    ends = list(_statement_ends(text))
    place = bisect_left(ends, True, key=lambda end: _has_key(text[: end[1]], keys))
    return ends[place][0] if place < len(ends) else None


def _statement_ends(text: str) -> Iterator[tuple[int, int]]:
    """Yield the number and end position of each line that does not end inside a value."""
    line, depth = 1, 0
    for found in _STRUCTURE.finditer(text):
        part = found[0]
        depth += (part in {"[", "{"}) - (part in {"]", "}"})
        if part == "\n" and depth == 0:
            yield line, found.end()
        line += part.count("\n")
    if not text.endswith("\n"):
        yield line, len(text)


def _has_key(text: str, keys: Keys) -> bool:
    """Return True if TOML has a value at `keys`."""
    node: Any = parse_toml(text)
    try:
        for key in keys:
            node = node[key]
    except (KeyError, IndexError, TypeError):
        return False
    return True
