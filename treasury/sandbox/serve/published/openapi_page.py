"""Addresses of the OpenAPI documents, and an HTML page to browse them.

The page is self-contained: it loads no other files and has no script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import msgspec
from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as WebRoute

from treasury.core.files.package_files import package_text
from treasury.sandbox.serve.published.openapi import FINANCE, RAMP, document

_FILE: Final = "/openapi.json"
_PAGE: Final = "/openapi.html"


def document_routes(profile: str) -> list[WebRoute]:
    """Return the routes for the documents (one per service, one for both) and the page."""

    def answering(path: str, make: Callable[[], bytes], media_type: str) -> WebRoute:
        async def serve(_: Request) -> Response:
            return Response(make(), media_type=media_type)

        return WebRoute(path, serve)

    def document_route(service: str) -> WebRoute:
        def encoded() -> bytes:
            return msgspec.json.encode(document(profile, service))

        return answering(service + _FILE, encoded, "application/json")

    documents = [document_route(service) for service in (FINANCE, RAMP, "")]
    return [*documents, answering(_PAGE, lambda: page(profile).encode(), "text/html")]


@cache
def page(profile: str) -> str:
    """Return both services' operations and bodies as one HTML page."""
    contract = document(profile)
    return _TEMPLATE.render(
        info=contract["info"],
        groups=_groups(contract),
        schemas=sorted(contract["components"]["schemas"].items()),
        words=_words,
    )


def _groups(contract: dict[str, Any]) -> dict[str, list[tuple[str, str, dict[str, Any]]]]:
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in contract["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    return groups


def _words(schema: dict[str, Any]) -> str:
    """Return a short description of a schema; for a named schema, its name."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_words(part) for part in schema["anyOf"] if part != {"type": "null"})
    if schema.get("type") == "array":
        return f"list of {_words(schema['items'])}"
    return ", ".join(_facts(schema)) or "anything"


def _facts(schema: dict[str, Any]) -> Iterator[str]:
    if "title" in schema:
        yield schema["title"]
    elif "type" in schema:
        yield str(schema["type"])
    for name, word in _FACTS.items():
        if schema.get(name) is not None:
            value = schema[name]
            yield word.format(" | ".join(map(str, value)) if isinstance(value, list) else value)


_FACTS: Final = {
    "const": "always {}",
    "enum": "{}",
    "format": "{}",
    "pattern": "like {}",
    "minLength": "at least {} long",
    "maxLength": "at most {} long",
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "default": "{} if not given",
    "description": "{}",
}
_TEMPLATE: Final = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
    package_text(__package__, "openapi_page.html")
)
