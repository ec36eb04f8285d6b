"""Checks of queries written by people: one statement that only reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import duckdb
import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import QueryError
from treasury.core.tables.duckdb_engine import Params
from treasury.core.text import clean

_READING_FUNCTIONS: Final = frozenset({
    "duckdb_columns", "duckdb_functions", "duckdb_keywords", "duckdb_schemas", "duckdb_settings",
    "duckdb_tables", "duckdb_types", "duckdb_views", "generate_series", "histogram",
    "histogram_values", "json_each", "json_tree", "pragma_table_info", "pragma_version", "range",
    "repeat", "repeat_row", "unnest",
})  # fmt: skip
"""Functions that a query may call as a table. Some others change the process, read memory at an
address, run a text as a query, or crash a process whose settings are locked.
"""

_READS: Final = (duckdb.StatementType.SELECT, duckdb.StatementType.MULTI)


def check_reads(connection: duckdb.DuckDBPyConnection, query: str, params: Params) -> None:
    """Raise QueryError unless the text is one statement that only reads.

    DuckDB allows a COPY inside a WITH clause, but only at the top level. So the query is planned as
    a subquery, and DuckDB itself refuses every clause that writes.
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
                f"a query over the lake cannot call {clean(function)[:60]!r} as a table",
                do=f"read tables, or call one of {', '.join(sorted(_READING_FUNCTIONS))}",
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
