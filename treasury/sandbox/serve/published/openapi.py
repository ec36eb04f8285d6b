"""OpenAPI 3.1 documents of both services, generated from the route tables.

Operations, with parameters, bodies, answers and statuses, come from the routes and the body types;
enums, formats and examples come from `openapi_fields.json`. There is one document for each service,
and one for both with the token address.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, Final, get_args, get_origin

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.files.package_files import package_text
from treasury.sandbox.finance import finance_routes
from treasury.sandbox.http.exchange import EVERYONE, Route
from treasury.sandbox.ramp import ramp_routes
from treasury.sandbox.ramp.people import SCOPES
from treasury.sandbox.serve.webhooks import EVENTS

FINANCE: Final = "/finance/v1"
RAMP: Final = "/ramp/v1"
TOKEN: Final = "/oauth/token"  # noqa: S105 - an address, not a secret

_REF: Final = "#/components/schemas/"
_ANY_TIME: Final = frozenset({401, 429, 500})
_PARTS: Final = decode_json(
    package_text(__package__, "openapi_parts.json"),
    dict[str, dict[str, Any]],
)
"""Fixed parts of the documents: common schemas, the token address, descriptions of statuses."""
_PARTS["scheme"]["flows"]["clientCredentials"]["scopes"] = {
    scope: f"Held by {', '.join(role for role in SCOPES if scope in SCOPES[role])}."
    for scope in sorted(SCOPES["COMPANY_ADMIN"])
}
_TITLES: Final = {FINANCE: "Finance service", RAMP: "Ramp service", "": "Both services"}
_ABOUT: Final = (
    "A practice sandbox: no money moves. The sandbox defines what the specification leaves open."
)


@cache
def document(profile: str, service: str = "") -> dict[str, Any]:
    """Return the document for one service, `FINANCE` or `RAMP`, or by default for both.

    The document for one service has relative paths; the document for both has full paths and the
    token address. The result is cached, so change only a copy.
    """
    tables = {FINANCE: finance_routes.routes(profile), RAMP: ramp_routes.routes(profile)}
    chosen = {address: tables[address] for address in ([service] if service else tables)}
    routes = [route for table in chosen.values() for route in table]
    kinds = [kind for route in routes for kind in (*_bodies(route), _each(route)) if kind]
    kinds = list(dict.fromkeys(kinds))
    by_kind, plain_components = map(
        _plainly, msgspec.json.schema_components(kinds, ref_template=_REF + "{name}")
    )
    components = with_details(plain_components)
    schemas = dict(zip(kinds, by_kind, strict=True))
    paths: dict[str, dict[str, Any]] = {} if service else {TOKEN: {"post": _PARTS["token"]}}
    for address, table in chosen.items():
        for route in table:
            operation = _operation(route, address, schemas, components)
            path = route.path if service else address + route.path
            paths.setdefault(path, {})[route.method.lower()] = operation
    # The specification does not define webhooks, so the sandbox's own are described.
    webhooks = {
        event: {"post": _PARTS["webhook"] | {"operationId": event.replace(".", "_")}}
        for event in EVENTS
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": _TITLES[service], "version": f"v1 ({profile})", "description": _ABOUT},
        "servers": [{"url": service or "/"}],
        "security": [{"token": []}],
        "paths": paths,
        **({} if service == FINANCE else {"webhooks": webhooks}),
        "components": {
            "schemas": components | _PARTS["schemas"],
            "securitySchemes": {"token": _PARTS["scheme"]},
        },
    }


def statuses(route: Route) -> list[int]:
    """Return all statuses with which an operation may answer."""
    guarded = bool(route.scope) or route.roles != EVERYONE
    codes = {route.status, *route.refuses, *_ANY_TIME}
    if route.method not in {"GET", "DELETE"}:
        codes |= {400, 415}
        # Every body may have an idempotency key.
        codes |= {422} if guarded else set()
    codes |= {400} if route.query else set()
    codes |= {403} if guarded else set()
    codes |= {404} if "{" in route.path else set()
    return sorted(codes)


def _plainly(schema: Any) -> Any:
    """Return the schema with exact amounts as JSON numbers, as the services write them."""
    if isinstance(schema, Mapping):
        if schema.get("format") == "decimal":
            return {"type": "number"}
        return {name: _plainly(value) for name, value in schema.items()}
    if isinstance(schema, list | tuple):
        return [_plainly(value) for value in schema]
    return schema


def _bodies(route: Route) -> tuple[Any, ...]:
    takes = route.takes
    return takes if isinstance(takes, tuple) else () if takes is None else (takes,)


def _each(route: Route) -> Any:
    """Return the type of the result, or of the items of a list."""
    return get_args(route.gives)[0] if get_origin(route.gives) is list else route.gives


def _operation(
    route: Route, address: str, schemas: Mapping[Any, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    in_path = (
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)}", route.path)
    )
    in_query = (
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in route.query.items()
    )
    words = re.findall("[A-Za-z0-9]+", f"{address.split('/')[1]} {route.method} {route.path}")
    roles = sorted(route.roles)
    if route.scope:
        roles = [role for role, scopes in SCOPES.items() if route.scope in scopes]
    operation: dict[str, Any] = {
        "operationId": "_".join(words).lower(),
        "summary": route.says,
        "tags": [_TITLES[address]],
        "description": f"For {', '.join(roles)}.",
        "security": [{"token": [route.scope] if route.scope else []}],
        "parameters": [*in_path, *in_query],
        "responses": {},
    }
    if bodies := [schemas[kind] for kind in _bodies(route)]:
        schema = bodies[0] if len(bodies) == 1 else {"anyOf": bodies}
        operation["requestBody"] = {"required": True, "content": _json(schema)}
    if "/payment-sessions" in route.path:
        operation["callbacks"] = _PARTS["callbacks"]
    failure = {"content": _json({"$ref": _REF + "Failure"})}
    for status in statuses(route):
        operation["responses"][str(status)] = {
            "description": _PARTS["statuses"].get(str(status), HTTPStatus(status).phrase),
            **(_answer(route, schemas, components) if status == route.status else failure),
            **({"headers": _PARTS["limit_headers"]} if status == 429 else {}),
        }
    return operation


def _answer(
    route: Route, schemas: Mapping[Any, Any], components: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the content of an answer: none for 204, otherwise a file or JSON."""
    if route.media_type != "application/json":
        return {"content": {route.media_type: {"schema": {"type": "string"}}}}
    if route.status == HTTPStatus.NO_CONTENT:
        return {}
    result: Any = {"type": "null"}
    if route.gives is not None:
        result = schemas[_each(route)]
        whole = components[result["$ref"].removeprefix(_REF)]
        names = route.shows(list(whole["properties"]))
        if len(names) < len(whole["properties"]):
            result = whole | {
                "properties": {name: whole["properties"][name] for name in names},
                "required": [name for name in whole["required"] if name in names],
            }
    if get_origin(route.gives) is list:
        result = {"type": "array", "items": result}
    beside = {name: {"$ref": _REF + name.capitalize()} for name in route.beside}
    envelope = {
        "type": "object",
        "properties": {"success": {"const": True}, "result": result, **beside},
        "required": ["success", "result", *beside],
    }
    return {"content": _json(envelope)}


def _json(schema: Any) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


class _Fields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    enums: dict[str, list[str]]
    formats: dict[str, str]
    bare_times: frozenset[str]
    """Schemas with times that have no zone and are therefore not a `date-time` of RFC 3339."""
    examples: dict[str, Any]


FIELDS: Final = decode_json(package_text(__package__, "openapi_fields.json"), _Fields)
"""Enums, formats and examples that the documents add to the types' schemas.

The services may add enum values, so their types are text. An entry applies to one field of one
schema (`Party.status`) or to every field of that name (`kycStatus`); the first match wins.
"""


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
