"""Checks of queries written by people: one statement that only reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final

import duckdb
import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import QueryError
from treasury.core.tables.duckdb_engine import Params
from treasury.core.text import clean, is_it, one_of

_READING_FUNCTIONS: Final = frozenset({
    "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_schemas", "duckdb_settings",
    "duckdb_tables", "duckdb_types", "duckdb_views", "generate_series", "histogram",
    "histogram_values", "json_each", "json_tree", "pragma_table_info", "pragma_version", "range",
    "repeat", "repeat_row", "unnest",
})  # fmt: skip
"""Functions that a query may call as a table. Some others change the process, read memory at an
address, run a text as a query, or crash a process whose settings are locked.
"""

_NO_TABLE: Final = re.compile(r'Table with name "?(.+?)"? does not exist')
_NO_COLUMN: Final = re.compile(
    r'[Cc]olumn (?:named )?"(.+?)"(?: not found| does not exist| in \w+ list not found|\n|$)'
)
_PLACE: Final = re.compile(r"\n\n(?:LINE|Candidate)")
"""Beginning of the part of an error in which DuckDB repeats the query or lists names."""
_MOST_COLUMNS: Final = 40
"""Maximum number of columns that an error lists."""

_READS: Final = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)


def check_reads(connection: duckdb.DuckDBPyConnection, query: str, params: Params) -> None:
    """Raise QueryError unless the text is one statement that only reads.

    DuckDB allows a COPY inside a WITH clause, but only at the top level. So the query is planned as
    a subquery, and DuckDB itself refuses every clause that writes. Its errors are passed on.
    """
    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type not in _READS:
        raise QueryError(
            "only one SELECT at a time can be run over the lake",
            do="write a single query that reads",
        )
    text = statements[0].query.rstrip().rstrip(";")
    for function in _table_functions(connection, text):
        if function.lower() not in _READING_FUNCTIONS:
            raise QueryError(
                f"a query over the lake cannot call {clean(function)[:60]!r} as a table"
                f"{is_it(function.lower(), _READING_FUNCTIONS)}",
                do=one_of(function.lower(), sorted(_READING_FUNCTIONS), "read tables, or call"),
            )
    connection.execute(f"EXPLAIN SELECT * FROM (\n{text}\n)", params)  # noqa: S608 - parsed as one SELECT


def _table_functions(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[str]:
    """Yield the functions that a query calls as a table, from the syntax tree of DuckDB."""
    row = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchone()
    assert row is not None
    try:
        tree = decode_json(row[0], dict[str, Any])
    except msgspec.DecodeError as error:
        raise QueryError(f"the query cannot be checked: {error}", do="nest it less") from None
    if tree["error"]:
        raise QueryError(clean(tree["error_message"]), do="write a single query that reads")
    nodes: list[Any] = [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            if node.get("type") == "TABLE_FUNCTION":
                yield node["function"]["function_name"]
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node


def query_error(
    error: duckdb.Error, query: str, columns: Collection[str], tables: Collection[str] = ()
) -> QueryError:
    """Return the error for a query in one line, with the nearest name for a misspelt one.

    `columns` are those of the tables that the query reads, and `tables` all tables.
    """
    words = str(error)
    if table := _NO_TABLE.search(words):
        near = is_it(table[1], tables)
        listed = "run `treasury tables` to see them all"
        return QueryError(
            f"there is no table {clean(table[1])!r}{near}",
            do="correct the query" if near or not tables else listed,
        )
    column = _NO_COLUMN.search(words)
    if column is None:
        text = " ".join(_PLACE.split(words)[0].split())
        return QueryError(clean(text), do="correct the query")
    name = column[1]
    near, do = is_it(name, columns), "correct the query"
    if not near and f'"{name}"' in query:
        do = f"write a text in single quotes: '{clean(name)}'"
    elif not near and 0 < len(columns) <= _MOST_COLUMNS:
        do = one_of(name, columns) or do
    elif not near and columns:
        do = "see the columns of each table with t.tables(NAME), or `treasury tables NAME`"
    return QueryError(f"there is no column {clean(name)!r}{near}", do=do)
