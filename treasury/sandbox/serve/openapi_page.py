"""The addresses of the published documents, and a page that a person can browse.

The page holds everything itself: it loads nothing from elsewhere and runs no script.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from typing import Any, Final

import msgspec
from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as WebRoute

from treasury.sandbox.serve.openapi import FINANCE, RAMP, document

__all__ = ["document_routes", "page"]

_FILE: Final = "/openapi.json"
_PAGE: Final = "/openapi.html"


def document_routes(profile: str) -> list[WebRoute]:
    """The documents' addresses: one for each service, one for both, and the page."""

    def encoded(profile: str, service: str) -> bytes:
        return msgspec.json.encode(document(profile, service))

    documents = [
        WebRoute(service + _FILE, _serve(encoded, "application/json", profile, service))
        for service in (FINANCE, RAMP, "")
    ]
    return [*documents, WebRoute(_PAGE, _serve(_page, "text/html", profile, ""))]


def page(profile: str) -> str:
    """Both services' operations and bodies as one HTML page."""
    contract = document(profile)
    return _TEMPLATE.render(
        info=contract["info"],
        groups=_groups(contract),
        schemas=sorted(contract["components"]["schemas"].items()),
        words=_words,
    )


@cache
def _page(profile: str, _: str) -> bytes:
    return page(profile).encode()


def _serve(
    make: Callable[[str, str], bytes], media_type: str, profile: str, service: str
) -> Callable[[Request], Awaitable[Response]]:
    async def serve(_: Request) -> Response:
        return Response(make(profile, service), media_type=media_type)

    return serve


def _groups(contract: dict[str, Any]) -> dict[str, list[tuple[str, str, dict[str, Any]]]]:
    groups: dict[str, list[tuple[str, str, dict[str, Any]]]] = {}
    for path, methods in contract["paths"].items():
        for method, operation in methods.items():
            groups.setdefault(operation["tags"][0], []).append((method.upper(), path, operation))
    return groups


def _words(schema: dict[str, Any]) -> str:
    """A schema in a few words; a component by its name."""
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
    """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ info.title }}, {{ info.version }}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
code, .method { font-family: ui-monospace, monospace }
.method { display: inline-block; min-width: 4.5rem; font-weight: 600 }
details { border: 1px solid #8886; border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem }
summary { cursor: pointer }
table { border-collapse: collapse; margin: .4rem 0 1rem; width: 100% }
th, td { text-align: left; vertical-align: top; border-top: 1px solid #8884; padding: .2rem .5rem }
td { overflow-wrap: anywhere }
th { font-weight: 600; white-space: nowrap; width: 12rem }
</style>
<h1>{{ info.title }}, {{ info.version }}</h1>
<p>{{ info.description }} The same as JSON: <a href="/openapi.json">/openapi.json</a>.</p>
{% macro fields(schema) %}
<table>
{% for name, value in schema.properties.items() %}
<tr><th><code>{{ name }}</code>{{ " *" if name in schema.get("required", []) }}</th>
<td>{{ typed(value) }}</td></tr>
{% endfor %}
</table>
{% endmacro %}
{% macro typed(schema) %}
{% if "$ref" in schema %}<a href="#{{ words(schema) }}">{{ words(schema) }}</a>
{% elif schema.type == "array" and "$ref" in schema["items"] %}
list of <a href="#{{ words(schema['items']) }}">{{ words(schema["items"]) }}</a>
{% else %}{{ words(schema) }}{% endif %}
{% endmacro %}
{% for group, operations in groups.items() %}
<h2>{{ group }}</h2>
{% for method, path, operation in operations %}
<details id="{{ operation.operationId }}">
<summary><span class="method">{{ method }}</span> <code>{{ path }}</code>
{{ operation.summary }}</summary>
<p>{{ operation.description }}
{% for scope in operation.security and operation.security[0].token %}
Scope <code>{{ scope }}</code>.{% endfor %}</p>
{% if operation.parameters %}
<h4>Parameters</h4>
<table>
{% for each in operation.parameters %}
<tr><th><code>{{ each.name }}</code>{{ " *" if each.required }}</th>
<td>{{ each.in }}: {{ typed(each.schema) }}</td></tr>
{% endfor %}
</table>
{% endif %}
{% if operation.requestBody %}
<h4>Body</h4>
{% for kind, content in operation.requestBody.content.items() %}
<p><code>{{ kind }}</code>: {{ typed(content.schema) }}</p>
{% if content.schema.properties %}{{ fields(content.schema) }}{% endif %}
{% endfor %}
{% endif %}
<h4>Answers</h4>
<table>
{% for status, answer in operation.responses.items() %}
<tr><th>{{ status }}</th><td>{{ answer.description }}
{% for content in (answer.content or {}).values() %}
{% if content.schema.properties and content.schema.properties.result %}
<code>result</code>: {{ typed(content.schema.properties.result) }}
{% endif %}{% endfor %}</td></tr>
{% endfor %}
</table>
</details>
{% endfor %}
{% endfor %}
<h2>Bodies</h2>
{% for name, schema in schemas %}
<details id="{{ name }}"><summary><code>{{ name }}</code> {{ schema.description }}</summary>
{{ fields(schema) }}
</details>
{% endfor %}
</html>
"""
)
