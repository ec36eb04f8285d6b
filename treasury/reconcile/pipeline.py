"""Named SQL steps, each a short SELECT in a file of its own, composed into one query.

A step may name the steps before it and the input tables; nothing is formatted into its text. The
composed text is what runs and what a person sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

__all__ = ["Step", "compose", "load", "load_steps", "needed", "run"]

_WORDS: Final = re.compile(r"\w+")
_GIVEN: Final = "given_table"


class Step(msgspec.Struct, frozen=True):
    """One SELECT and the name that later steps know it by."""

    name: str
    sql: str
    kept: bool = True
    """Whether its rows are stored; else later steps read through it."""


@cache
def load_steps(
    package: str, names: tuple[str, ...], read_through: frozenset[str] = frozenset()
) -> tuple[Step, ...]:
    """The steps `names` of `package`, each from the file `<name>.sql`, in that order."""
    folder = resources.files(package)
    return tuple(
        Step(name, (folder / f"{name}.sql").read_text("utf-8").strip(), name not in read_through)
        for name in names
    )


def compose(steps: Iterable[Step], final: str) -> str:
    """One query: every step as a common table expression, then all rows of `final`."""
    parts = ",\n".join(f"{_quoted(step.name)} AS (\n{_indent(step.sql)}\n)" for step in steps)
    return f"WITH {parts}\nSELECT * FROM {_quoted(final)}"


def needed(steps: Sequence[Step], final: str) -> tuple[Step, ...]:
    """The steps that `final` rests on, itself included, in their order.

    A step rests on those that its text names anywhere, in a comment too: one too many is harmless.
    """
    wanted = {final}
    for step in reversed(steps):
        if step.name in wanted:
            wanted.update(_WORDS.findall(step.sql))
    return tuple(step for step in steps if step.name in wanted)


def load(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]) -> None:
    """Give the connection each Arrow table under its name."""
    for name, table in tables.items():
        connection.register(_GIVEN, table)
        connection.execute(f"CREATE TEMP TABLE {_quoted(name)} AS FROM {_GIVEN}")
        connection.unregister(_GIVEN)


def run(connection: duckdb.DuckDBPyConnection, steps: Iterable[Step]) -> None:
    """Run each step once and keep its rows for the steps after it, or only its name."""
    for step in steps:
        kind = "TABLE" if step.kept else "VIEW"
        connection.execute(f"CREATE TEMP {kind} {_quoted(step.name)} AS {step.sql}")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
