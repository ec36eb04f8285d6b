"""Find steps that cannot have rows, because the tables that they read have none.

Most matching steps handle rare cases: for a few lines they have no rows, and planning them costs
far more than running them. DuckDB's syntax tree of a step shows which sources must have rows. A
clause of an unknown kind is assumed to have rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, TypeAlias

import duckdb
import msgspec


class _Any(msgspec.Struct, frozen=True):
    """The sources of a join: it has no rows if any source has none."""

    parts: tuple[_Source, ...]


class _All(msgspec.Struct, frozen=True):
    """The sources of a union: it has no rows if every source has none."""

    parts: tuple[_Source, ...]


_Source: TypeAlias = "str | _Any | _All"
_Names: TypeAlias = Mapping[str, _Source]
_SOME_ROW: Final = _Any(())
_PARSE: Final = (
    "SELECT json_serialize_sql(?, skip_null := true, skip_empty := true, skip_default := true)"
)
_SOURCES: Final[dict[str, _Source]] = {}
"""The sources of each query by its text, so that a text is parsed once per process."""
AGGREGATES: Final = frozenset(
    {
        "any_value", "arg_max", "arg_min", "array_agg", "avg", "bool_and", "bool_or", "count",
        "count_star", "first", "last", "list", "max", "max_by", "min", "min_by", "string_agg",
        "sum",
    }
)  # fmt: skip
"""Aggregate functions: without GROUP BY, they return one row even for an empty input."""


def is_rowless(connection: duckdb.DuckDBPyConnection, sql: str, rowless: Collection[str]) -> bool:
    """Return whether a query certainly has no rows if the named tables have none."""
    if sql not in _SOURCES:
        row = connection.execute(_PARSE, [sql]).fetchone()
        assert row is not None
        # DuckDB's syntax tree names what the query selects from.
        _SOURCES[sql] = _query(msgspec.json.decode(row[0])["statements"][0]["node"], {})
    return _is_without(_SOURCES[sql], rowless)


def _is_without(source: _Source, rowless: Collection[str]) -> bool:
    match source:
        case str():
            return source in rowless
        case _Any(parts):
            return any(_is_without(part, rowless) for part in parts)
        case _All(parts):
            return all(_is_without(part, rowless) for part in parts)


def _query(node: Mapping[str, Any], own: _Names) -> _Source:
    """Return the sources of a query; `own` are its common table expressions."""
    for part in node.get("cte_map", {}).get("map", ()):
        named = part["value"]
        # DuckDB 1 nests the query once more than DuckDB 2.
        query = named.get("query_node") or named["query"]["node"]
        own = {**own, part["key"]: _query(query, own)}
    match node:
        # An aggregate without GROUP BY has one row even if its input is empty.
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
        case {"type": "JOIN", "join_type": "INNER" | "SEMI"}:
            return _Any((_table(node["left"], own), _table(node["right"], own)))
        case {"type": "JOIN", "join_type": "LEFT" | "ANTI"}:
            return _table(node["left"], own)
    return _SOME_ROW


def _aggregates(node: object) -> bool:
    match node:
        case {"class": "SUBQUERY"} | {"class": "WINDOW"}:
            # An aggregate in a subquery or window does not make this query an aggregate.
            return False
        case {"class": "FUNCTION", "function_name": name} if name in AGGREGATES:
            return True
        case dict():
            return any(map(_aggregates, node.values()))
        case list():
            return any(map(_aggregates, node))
    return False
