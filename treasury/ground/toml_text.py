"""TOML written by hand: parsed with a bound on nesting, and searched for the line of a key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec

from treasury.errors import InputError
from treasury.text import clean

Keys = Sequence[str | int]
"""The place of a value: names of tables and keys, and positions in arrays, from 0."""

_DEEPEST: Final = 32
_STEP: Final = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<position>\d+)?[^\]]*\]")
_UNKNOWN: Final = re.compile(r"unknown field `([^`]*)`")


def parse_toml(text: str, *, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse TOML; raise TOMLDecodeError also for values nested deeper than any setting is."""
    try:
        document = tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    level: list[Any] = [document]
    for _ in range(_DEEPEST):
        level = [
            part
            for node in level
            for part in (node.values() if isinstance(node, dict) else node)
            if isinstance(part, dict | list)
        ]
    if level:
        raise tomllib.TOMLDecodeError("it is nested too deeply")
    return document


@contextmanager
def at_key(text: str, *keys: str | int) -> Iterator[str]:
    """Give the name of a key, as `rules[1].people`; put its line in front of an InputError."""
    names = (f"[{key}]" if isinstance(key, int) else f".{clean(key)[:40]}" for key in keys)
    try:
        yield "".join(names).removeprefix(".")
    except InputError as error:
        line = line_of(text, keys)
        where = "" if line is None else f"line {line}: "
        raise InputError(where + error.what, do=error.do) from None


def problem_place(text: str, error: msgspec.ValidationError) -> str:
    """Return msgspec's message with the line of the key that it is about."""
    message = str(error)
    path = re.search(r"`\$([^`]*)`$", message)
    keys: list[str | int] = []
    for step in _STEP.finditer(path[1] if path else ""):
        if step["position"]:
            keys.append(int(step["position"]))
        elif step["name"]:
            keys.append(step["name"])
        else:
            break  # msgspec leaves the key of a table out
    if unknown := _UNKNOWN.search(message):
        keys.append(unknown[1])
    line = line_of(text, keys) if keys else None
    return message if line is None else f"line {line}: {message}"


def line_of(text: str, keys: Keys) -> int | None:
    """Return the line on which the value at `keys` is complete; None if there is no such value.

    TOML has several spellings of one key, so the text is not searched: the answer is the first line
    up to which the file parses and has the key.
    """
    lines = text.splitlines(keepends=True)
    found, low, high = None, 0, len(lines) + 1
    while high - low > 1:
        middle = (low + high) // 2
        count, has_key = middle, None
        while count < high and (has_key := _has_key("".join(lines[:count]), keys)) is None:
            count += 1  # inside of a value of several lines
        if has_key is None:
            high = middle
        elif has_key:
            found, high = count, middle
        else:
            low = count
    return found


def _has_key(text: str, keys: Keys) -> bool | None:
    """Whether TOML has a value at `keys`; None for text that is not TOML."""
    try:
        node: Any = parse_toml(text)
        for key in keys:
            node = node[key]
    except tomllib.TOMLDecodeError:
        return None
    except (KeyError, IndexError, TypeError):
        return False
    return True
