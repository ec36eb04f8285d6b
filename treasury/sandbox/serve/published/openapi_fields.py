"""Enums, formats and examples that the OpenAPI documents add to the types' schemas.

The services may add enum values, so their types are text here, and `openapi_fields.json` lists the
known values. An entry applies to one field of one schema (`Party.status`) or to every field of that
name (`kycStatus`); the first match wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.files.package_files import package_text


class _Fields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enums: dict[str, list[str]]
    formats: dict[str, str]
    bare_times: frozenset[str]
    """Schemas with times that have no zone and are therefore not a `date-time` of RFC 3339."""
    examples: dict[str, Any]


FIELDS: Final = decode_json(package_text(__package__, "openapi_fields.json"), _Fields)


def with_details(components: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schemas with the enum, format and example of each field."""
    return {name: _schema(name, schema) for name, schema in components.items()}


def _schema(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    if "properties" not in schema:
        return schema
    fields = schema["properties"].items()
    return schema | {"properties": {field: _field(name, field, value) for field, value in fields}}


def _field(schema: str, field: str, value: dict[str, Any]) -> dict[str, Any]:
    """Return one field's schema; in a nullable field, details go to the non-null branch."""
    if "anyOf" in value:
        branches = [
            branch if branch.get("type") == "null" else _field(schema, field, branch)
            for branch in value["anyOf"]
        ]
        return value | {"anyOf": branches}
    if value.get("type") not in {"string", "number", "integer"} or "enum" in value:
        return value
    details: dict[str, Any] = {}
    if (enum := _entry(FIELDS.enums, schema, field)) and value["type"] == "string":
        details["enum"] = enum
    if text := _entry(FIELDS.formats, schema, field):
        is_bare = text == "date-time" and schema in FIELDS.bare_times
        details |= {} if is_bare else {"format": text}
    example = _entry(FIELDS.examples, schema, field)
    if example is not None and isinstance(example, str) == (value["type"] == "string"):
        details["examples"] = [example]
    return value | details


def _entry(table: Mapping[str, Any], schema: str, field: str) -> Any:
    return table.get(f"{schema}.{field}", table.get(field))
