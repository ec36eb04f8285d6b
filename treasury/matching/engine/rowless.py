"""Which steps can have no row, because nothing that their rows would come from has any.

Most steps of matching are about what is rare: of a few lines they have no row, and planning one
costs far more than finding none. When a step has none follows from DuckDB's own syntax tree of its
text. A clause that is not known to pass emptiness on counts as having rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

import duckdb
import msgspec


class _Any(msgspec.Struct, frozen=True):
    """Has no row as soon as one of its parts has none: a join; without parts it has one."""

    parts: tuple[_Source, ...]


class _All(msgspec.Struct, frozen=True):
    """Has no row once all of its parts have none: a union."""

    parts: tuple[_Source, ...]


_Source: TypeAlias = "str | _Any | _All"
_Names: TypeAlias = Mapping[str, _Source]
_SOME_ROW: Final = _Any(())
_PARSE: Final = (
    "SELECT json_serialize_sql(?, skip_null := true, skip_empty := true, skip_default := true)"
)
_SOURCES: Final[dict[str, _Source]] = {}
"""Where the rows of each text come from: a text is parsed once per process."""
AGGREGATES: Final = frozenset(
    {
        "any_value", "arg_max", "arg_min", "array_agg", "avg", "bool_and", "bool_or", "count",
        "count_star", "first", "last", "list", "max", "max_by", "min", "min_by", "string_agg",
        "sum",
    }
)  # fmt: skip
"""The aggregates, which over no row at all still give one."""


def is_rowless(connection: duckdb.DuckDBPyConnection, sql: str, rowless: Collection[str]) -> bool:
    """Whether a query has no row for certain while the named tables have none."""
    if sql not in _SOURCES:
        _SOURCES[sql] = _rows_from(connection, sql)
    return _is_without(_SOURCES[sql], rowless)


def _rows_from(connection: duckdb.DuckDBPyConnection, sql: str) -> _Source:
    """Where the rows of a query come from, by DuckDB's own syntax tree of it."""
    row = connection.execute(_PARSE, [sql]).fetchone()
    assert row is not None
    return _query(msgspec.json.decode(row[0])["statements"][0]["node"], {})


def _is_without(source: _Source, rowless: Collection[str]) -> bool:
    match source:
        case str():
            return source in rowless
        case _Any(parts):
            return any(_is_without(part, rowless) for part in parts)
        case _All(parts):
            return all(_is_without(part, rowless) for part in parts)


def _query(node: Mapping[str, Any], own: _Names) -> _Source:
    """Where the rows of a query come from; `own` are the queries that it names itself."""
    for part in node.get("cte_map", {}).get("map", ()):
        named = part["value"]
        # DuckDB 1 nests the query once more than DuckDB 2.
        query = named.get("query_node") or named["query"]["node"]
        own = {**own, part["key"]: _query(query, own)}
    match node:
        # Without groups an aggregate has a row whatever it reads.
        case {"type": "SELECT_NODE"} if "group_expressions" in node or not _aggregates(
            node["select_list"]
        ):
            return _table(node["from_table"], own)
        case {"type": "SET_OPERATION_NODE", "setop_type": "UNION"}:
            # DuckDB 1 writes two sides, DuckDB 2 a list.
            sides = node.get("children") or (node["left"], node["right"])
            return _All(tuple(_query(side, own) for side in sides))
    return _SOME_ROW


def _table(node: Mapping[str, Any], own: _Names) -> _Source:
    match node:
        case {"type": "BASE_TABLE", "table_name": name}:
            return own.get(name, name)
        case {"type": "SUBQUERY"}:
            return _query(node["subquery"]["node"], own)
        case {"type": "JOIN", "join_type": "INNER"}:
            return _Any((_table(node["left"], own), _table(node["right"], own)))
        case {"type": "JOIN", "join_type": "LEFT"}:
            return _table(node["left"], own)
    return _SOME_ROW


def _aggregates(node: object) -> bool:
    match node:
        case {"class": "SUBQUERY"} | {"class": "WINDOW"}:
            return False  # of other rows, or of each row that there is
        case {"class": "FUNCTION", "function_name": name} if name in AGGREGATES:
            return True
        case dict():
            return any(map(_aggregates, node.values()))
        case list():
            return any(map(_aggregates, node))
    return False
