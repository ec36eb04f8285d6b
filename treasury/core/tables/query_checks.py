"""Checks of queries written by people: one statement that only reads."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.decoding import decode_json
from treasury.core.errors import QueryError
from treasury.core.files.package_files import package_rows
from treasury.core.tables import duckdb_engine
from treasury.core.tables.duckdb_engine import Params
from treasury.core.text import clean, is_it, one_of
from treasury.core.wording import column_meant, column_of_code, has_all_words

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
_NO_VALUE: Final = re.compile(r"Values were not provided for .* parameters: (.+)")
_TOO_MANY: Final = re.compile(r"count mismatch, identifiers of the excess parameters: (.+)")
_NOT_CONVERTED: Final = re.compile(
    r"Could not convert string (?P<quote>['\"])(?P<text>.*)(?P=quote) to (?P<type>[A-Z]+)"
    r'|(?P<time>date|timestamp) field (?:format|value out of range): "(?P<value>.*?)"'
)
_NOT_COMPARED: Final = re.compile(r"Cannot compare values of type ([A-Z]+).* and type ([A-Z]+)")
_NUMBER: Final = ("a number", "10000.50")
_TYPES: Final = {
    "VARCHAR": ("a text", "'EUR'"),
    "STRING": ("a text", "'EUR'"),
    "BOOL": ("true or false", "true"),
    "BOOLEAN": ("true or false", "true"),
    "DATE": ("a date", "'2026-10-31'"),
    "TIMESTAMP": ("an instant", "'2026-10-31 09:00'"),
}
"""The words for DuckDB's types, each with an example; all others are numbers."""
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
    """Yield the functions that a query calls as a table."""
    for node in _nodes(connection, query):
        if node.get("type") == "TABLE_FUNCTION":
            yield node["function"]["function_name"]


def _nodes(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[dict[str, Any]]:
    """Yield every node of DuckDB's syntax tree of a query."""
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
            yield node
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node


def compared_texts(
    connection: duckdb.DuckDBPyConnection, query: str
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield the tables, the column and the text of each comparison of a column with a text.

    Only `=`, `<>`, `IN` and `NOT IN` in a WHERE clause are found, and only in a SELECT that reads
    tables: with a subquery in FROM, or a WITH clause, a column may be a computed one. One of the
    tables has the column, if the SELECT has no outer query.
    """
    nodes = list(_nodes(connection, query))
    if any(node.get("map") for node in nodes):
        return
    for node in nodes:
        tables = _tables_of(node.get("from_table")) if node.get("type") == "SELECT_NODE" else {}
        for compared in _conjuncts(node.get("where_clause")) if tables else ():
            columns = [each for each in compared if each["class"] == "COLUMN_REF"]
            if len(columns) != 1:
                continue
            *qualifier, column = columns[0]["column_names"]
            own_tables = (tables[qualifier[-1]],) if qualifier and qualifier[-1] in tables else ()
            for each in compared:
                value = each["value"]["value"] if each["class"] == "CONSTANT" else None
                if isinstance(value, str) and each["value"]["type"]["id"] == "VARCHAR":
                    yield own_tables or (() if qualifier else tuple(tables.values())), column, value


def _tables_of(node: Any) -> dict[str, str]:
    """Return the tables of a FROM clause by alias; empty if it has anything other than tables."""
    if node and node["type"] == "BASE_TABLE":
        return {node["alias"] or node["table_name"]: node["table_name"]}
    if not node or node["type"] != "JOIN":
        return {}
    left_tables, right_tables = _tables_of(node["left"]), _tables_of(node["right"])
    return left_tables | right_tables if left_tables and right_tables else {}


_COMPARISONS: Final = frozenset({
    "COMPARE_EQUAL", "COMPARE_NOTEQUAL", "COMPARE_IN", "COMPARE_NOT_IN",
})  # fmt: skip


def _conjuncts(node: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the two sides, or the list, of each comparison in a condition and its parts."""
    if not node:
        return
    parts = node.get("children") or [node[side] for side in ("left", "right") if side in node]
    if node["type"] in _COMPARISONS:
        yield parts
    elif node["class"] in ("CONJUNCTION", "OPERATOR"):
        for part in parts:
            yield from _conjuncts(part)


def query_error(
    error: duckdb.Error, query: str, columns: Collection[str], tables: Collection[str] = ()
) -> QueryError:
    """Return the error for a query in one line, with the nearest name for a misspelt one.

    `columns` are those of the tables that the query reads, and `tables` all tables.
    """
    words = str(error)
    if unbound := _NO_VALUE.search(words):
        return QueryError(
            f"no value was given for parameter {clean(unbound[1])} of the query",
            do='give a value for each question mark, as in where("amount > ?", 100)',
        )
    if excess := _TOO_MANY.search(words):
        return QueryError(
            f"the query has no parameter {clean(excess[1])}",
            do="write a question mark for each value",
        )
    if table := _NO_TABLE.search(words):
        near = is_it(table[1], tables)
        listed = "run `treasury tables` to see them all"
        return QueryError(
            f"there is no table {clean(table[1])!r}{near}",
            do="correct the query" if near or not tables else listed,
        )
    if misread := _NOT_CONVERTED.search(words):
        return _wrong_value(misread, query, columns)
    if compared := _NOT_COMPARED.search(words):
        kinds = [_TYPES.get(name, _NUMBER)[0] for name in compared.groups()]
        return QueryError(
            f"the query compares {kinds[0]} with {kinds[1]}", do="compare values of one type"
        )
    column = _NO_COLUMN.search(words)
    if column is None:
        text = " ".join(_PLACE.split(words)[0].split())
        return QueryError(clean(text), do="correct the query")
    name = column[1]
    near_column, do = column_meant(name, columns), "correct the query"
    hint = column_hint(name, near_column, columns)
    if not near_column and f'"{name}"' in query:
        do = f"write a text in single quotes: '{clean(name)}'"
    elif not near_column and 0 < len(columns) <= _MOST_COLUMNS:
        do = one_of(name, columns) or do
    elif not near_column and columns:
        do = "see the columns of each table with t.tables(NAME), or `treasury tables NAME`"
    return QueryError(f"there is no column {clean(name)!r}{hint}", do=do)


def column_hint(name: str, near: str, columns: Collection[str]) -> str:
    """Return the end of an error for a missing column: the near one, or the tables that have it."""
    others = _other_tables(name, columns)
    return f"; is it {clean(near)}?" if near else f"; {others} {name}" if others else ""


def value_hint(name: str, value: str, near: str, columns: Collection[str]) -> str:
    """Return the end of an error for a value that no row can have: the near one, or its place."""
    if near:
        return f"; is it {clean(near)}?"
    meant = column_of_code(value, (each for each in columns if each != name))
    here = f"; is it {meant[0]}={meant[1]!r}?" if meant else ""
    # A column with one list of codes has the same values in every table.
    others = "" if has_all_words(name) else _other_tables(name, columns)
    return f"{here}{'' if here else ';'} {others} other values of {name}" if others else here


def _other_tables(column: str, columns: Collection[str]) -> str:
    """Return the results of a month that have a column, as in `open_items and balances have`.

    Results whose columns are all among `columns` are left out: they are the table itself.
    """
    declared: dict[str, list[str]] = {}
    for row in package_rows("treasury.workspace.upkeep", "answer_columns.csv"):
        declared.setdefault(row["table"], []).append(row["column"])
    names = [name for name, own in declared.items() if column in own and not {*own} <= {*columns}]
    *first, last = names or [""]
    return f"{', '.join(first)} and {last} have" if first else f"{last} has" if last else ""


def _wrong_value(misread: re.Match[str], query: str, columns: Collection[str]) -> QueryError:
    """Return the error for a text that is compared with a column of another type."""
    text = misread["value"] if misread["text"] is None else misread["text"]
    kind, example = _TYPES.get((misread["type"] or misread["time"]).upper(), _NUMBER)
    before, found, after = query.partition(duckdb_engine.literal(text))
    # The column is on the right of an operator after the text, or the last one before the text.
    right = re.match(r'\s*[<>=!]+\s*"?(\w+)', after)
    near = [right[1]] if right else []
    near += reversed(re.findall(r"\w+", before) if found else [])
    column = next((name for name in near if name in columns), "")
    shown = repr(clean(text)[:60])
    problem = f"{column} is {kind}, and {shown} is not"
    return QueryError(
        problem if column else f"the query reads {shown} as {kind}",
        do=f"write a value like {example}",
    )


_ROW: Final = "row of the table"
"""Name of the column in which a filter returns the numbers of the matching rows."""


def matching_rows(
    table: pa.Table, condition: str, values: Sequence[object], zone: ZoneInfo | None
) -> tuple[pa.Array, list[tuple[str, str]]]:
    """Return the indices of the rows for which a condition holds, in order.

    The second part is the columns and texts that the condition compares.
    """
    numbered = table.append_column(_ROW, pa.array(range(table.num_rows), pa.int64()))
    query = f'SELECT "{_ROW}" FROM answer WHERE {condition} ORDER BY "{_ROW}"'  # noqa: S608
    with duckdb_engine.connect(one_thread=True) as connection:
        if zone is not None:
            connection.execute(f"SET GLOBAL TimeZone = {duckdb_engine.literal(zone.key)}")
        connection.register("answer", numbered)
        duckdb_engine.lock(connection)
        try:
            check_reads(connection, query, values)
            rows = duckdb_engine.rows(connection, query, values)
            texts = compared_texts(connection, query)
            compared = [(column, text) for _, column, text in texts]
        except duckdb.Error as error:
            raise query_error(error, query, table.column_names) from None
    return rows[_ROW].combine_chunks(), compared
