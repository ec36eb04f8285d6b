"""Named SQL steps, each a short SELECT in a separate file, composed into one query.

A step selects from other steps and from input tables by name. No value is formatted into its text,
so the composed query that a person sees is the one that runs. The order of the steps follows from
the tables that each step reads.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.tables import duckdb_engine
from treasury.core.tables.duckdb_engine import quoted
from treasury.matching.engine.rowless import is_rowless

VIEW_HEADER: Final = "-- This step is a view"
"""Beginning of a step that becomes a view: storing its many rows would cost more than reading them
once or twice."""
_COMMENT: Final = re.compile(r"--[^\n]*")
_READ: Final = re.compile(r'(?:(?<!DISTINCT )FROM|JOIN)\s+"?(\w+)')
_WITH: Final = "WITH"
_OWN: Final = re.compile(rf"(?:\b{_WITH}|,)\s+(\w+) AS \(")
_LOADED: Final = "given_table"


class Step(msgspec.Struct, frozen=True):
    """A SELECT, and the name by which other steps read its rows."""

    name: str
    sql: str
    is_stored: bool = True
    """True if the step's rows are stored in a table, false if the step is a view."""

    @property
    def reads(self) -> frozenset[str]:
        """The steps and tables in the step's FROM and JOIN clauses."""
        return frozenset(_mentioned_in(self.sql))

    @property
    def mentions(self) -> Mapping[str, int]:
        """The number of times that the step's text selects from each step or table."""
        return _mentioned_in(self.sql)


@cache
def _mentioned_in(sql: str) -> Mapping[str, int]:
    text = _COMMENT.sub("", sql)
    own = frozenset(_OWN.findall(text) if _WITH in text else ())
    return Counter(name for name in _READ.findall(text) if name not in own)


@cache
def steps_of(package: str) -> Mapping[str, Step]:
    """Return every step of a package and its folders by name, each from the file `<name>.sql`.

    Raise ValueError if two steps have the same name.
    """
    steps: dict[str, Step] = {}
    for file in _sql_files(resources.files(package)):
        name = file.name.removesuffix(".sql")
        if name in steps:
            raise ValueError(f"{package} has two steps named {name}")
        sql = file.read_text("utf-8").strip()
        steps[name] = Step(name, sql, is_stored=not sql.startswith(VIEW_HEADER))
    return steps


def _sql_files(folder: Traversable) -> Iterator[Traversable]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _sql_files(entry)
        elif entry.name.endswith(".sql"):
            yield entry


def in_order(steps: Mapping[str, Step], targets: Iterable[str]) -> tuple[Step, ...]:
    """Return the target steps and all steps that they need; each follows those that it reads.

    Raise ValueError if steps read each other in a circle.
    """
    ordered: dict[str, Step] = {}

    def visit(name: str, below: tuple[str, ...] = ()) -> None:
        if name in ordered or name not in steps:
            return
        if name in below:
            raise ValueError(f"steps read each other in a circle: {' > '.join((*below, name))}")
        for read in sorted(steps[name].reads):
            visit(read, (*below, name))
        ordered[name] = steps[name]

    for name in targets:
        visit(name)
    return tuple(ordered.values())


def needed(steps: Sequence[Step], *targets: str) -> tuple[Step, ...]:
    """Return the target steps and all steps that they need, in the order of `steps`.

    A target may also be a table that these steps only read. Raise ValueError for any other name.
    """
    known = {step.name for step in steps}.union(*(step.reads for step in steps))
    if unknown := set(targets) - known:
        raise ValueError(f"there is no step {min(unknown)!r}")
    names = {step.name for step in in_order({step.name: step for step in steps}, targets)}
    return tuple(step for step in steps if step.name in names)


def stored(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return the steps with views turned into tables, which is faster for few rows."""
    return tuple(msgspec.structs.replace(step, is_stored=True) for step in steps)


def compose(steps: Iterable[Step], final: str) -> str:
    """Return one query that selects all of `final`; every step is a common table expression."""
    indented = {step.name: step.sql.replace("\n", "\n    ") for step in steps}
    parts = ",\n".join(f"{quoted(name)} AS (\n    {sql}\n)" for name, sql in indented.items())
    return f"WITH {parts}\nSELECT * FROM {quoted(final)}"


def load(
    connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table], *, kind: str = "TEMP"
) -> None:
    """Load each Arrow table into the connection under its name, replacing any table of that name.

    With an empty `kind` (instead of TEMP), other connections of the database see the tables too.
    """
    for name, table in tables.items():
        created = f"CREATE OR REPLACE {kind} TABLE {quoted(name)}"
        columns = None if table.num_rows else duckdb_engine.typed_columns(table.schema)
        if columns is not None:
            connection.execute(f"{created} ({columns})")
            continue
        connection.register(_LOADED, table)
        connection.execute(f"{created} AS FROM {_LOADED}")
        connection.unregister(_LOADED)


def run(
    connection: duckdb.DuckDBPyConnection,
    steps: Sequence[Step],
    *,
    targets: Collection[str] | None = None,
) -> None:
    """Run each step once, which creates a table or a view for the later steps.

    With `targets`, a table is dropped as soon as no later step and no target reads it. A step that
    cannot have rows is not run if its columns are known.
    """
    spent = {} if targets is None else spent_steps(steps, targets)
    without: set[str] = set()
    for place, step in enumerate(steps):
        if not make(connection, step, without):
            without.add(step.name)
        for name in spent.get(place, ()):
            drop(connection, name)


def read_in_turn(
    connection: duckdb.DuckDBPyConnection,
    steps: Sequence[Step],
    results: Mapping[str, str],
    *,
    loaded: Collection[str],
    in_place: Collection[str],
    rowless: Collection[str] = (),
    gives_back: bool = True,
) -> dict[str, pa.Table]:
    """Run the steps, and read each result, sorted, as soon as its step has run.

    A table that no later step reads is dropped before the next step runs, so that results and the
    rows they come from are not in memory together. The `loaded` tables and the registered tables
    that are read `in_place` are dropped too. Without `gives_back` the tables stay until the
    connection closes, because for few rows dropping takes longer than it saves.
    """
    given = (*loaded, *in_place)
    spent = spent_steps(steps, (), given=given, results=results) if gives_back else {}
    without, tables = set(rowless), dict[str, pa.Table]()
    for place, step in enumerate(steps):
        if not make(connection, step, without):
            without.add(step.name)
        if step.name in results:
            ordered = connection.table(step.name).order(results[step.name])
            tables[step.name] = duckdb_engine.read_beside(connection, ordered)
        for name in spent.get(place, ()):
            if name in in_place:
                connection.unregister(name)
            else:
                drop(connection, name)
    return tables


def drop(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Drop the table of a step or an input."""
    connection.execute(f"DROP TABLE {quoted(name)}")


def rename(connection: duckdb.DuckDBPyConnection, name: str, new: str) -> None:
    """Rename a table."""
    connection.execute(f"ALTER TABLE {quoted(name)} RENAME TO {quoted(new)}")


_COLUMNS: Final[dict[str, str]] = {}
"""Cache of the columns of each step that has run, by its text: the schema of the inputs is fixed.
"""


def make(connection: duckdb.DuckDBPyConnection, step: Step, rowless: Collection[str]) -> int:
    """Run a step and return its row count; a view counts as one row."""
    name, columns = quoted(step.name), _COLUMNS.get(step.sql)
    if columns is not None and is_rowless(connection, step.sql, rowless):
        connection.execute(f"CREATE TEMP TABLE {name} ({columns})")
        return 0
    kind = "TABLE" if step.is_stored else "VIEW"
    counted = connection.execute(f"CREATE TEMP {kind} {name} AS {step.sql}").fetchone()
    if columns is None:
        table = connection.table(step.name)
        pairs = zip(table.columns, table.types, strict=True)
        _COLUMNS[step.sql] = ", ".join(f"{quoted(column)} {type_}" for column, type_ in pairs)
    return 1 if counted is None else int(counted[0])


def spent_steps(
    steps: Sequence[Step],
    targets: Collection[str],
    *,
    given: Collection[str] = (),
    results: Collection[str] = (),
) -> dict[int, list[str]]:
    """Return the stored steps to drop after each step, by position.

    Tables in `given` are included if a step reads them. The `targets` are never dropped. Each of
    the `results` is read as soon as its step has run, so it may be dropped after that.
    """
    rows = {name: frozenset({name}) for name in given}
    last: dict[str, int] = {}
    for place, step in enumerate(steps):
        read = frozenset[str]().union(*(rows.get(name, ()) for name in step.reads))
        rows[step.name] = frozenset({step.name}) if step.is_stored else read
        if step.is_stored or step.name in results:
            last.update(dict.fromkeys(read, place))
        if step.is_stored:
            last[step.name] = place
    needless = last.keys() - frozenset[str]().union(*(rows[name] for name in targets))
    by_place: dict[int, list[str]] = {}
    for name in sorted(needless):
        by_place.setdefault(last[name], []).append(name)
    return by_place
