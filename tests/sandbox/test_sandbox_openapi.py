"""The published documents are complete, valid and equal to the routes; their HTML page."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest
from lxml import html

from treasury.sandbox import Served
from treasury.sandbox.finance import finance_routes
from treasury.sandbox.ramp import ramp_routes
from treasury.sandbox.serve.published.openapi import (
    FIELDS,
    FINANCE,
    RAMP,
    TOKEN,
    document,
    statuses,
)
from treasury.sandbox.serve.published.openapi_page import page
from treasury.sandbox.serve.webhooks import EVENTS

PROFILES = ("spec", "b")


def operations(told: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (method.upper(), path): operation
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
    }


def references(value: object) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if "$ref" in value else set()
        return own.union(*(references(each) for each in value.values()))
    if isinstance(value, list | tuple):
        return set().union(*(references(each) for each in value))
    return set()


@pytest.mark.parametrize("profile", PROFILES)
def test_exactly_the_existing_routes_are_published_with_all_their_statuses(profile: str) -> None:
    told = operations(document(profile))
    routes = {
        (route.method, service + route.path): route
        for service, table in (
            (FINANCE, finance_routes.routes(profile)),
            (RAMP, ramp_routes.routes(profile)),
        )
        for route in table
    }
    assert set(told) == {*routes, ("POST", TOKEN)}
    for operation, route in routes.items():
        assert list(told[operation]["responses"]) == [str(status) for status in statuses(route)]
        assert told[operation]["summary"].endswith(".")
        assert {401, 429, 500} < set(statuses(route))


@pytest.mark.acceptance
@pytest.mark.parametrize("profile", PROFILES)
def test_every_reference_names_a_component_and_every_schema_is_valid(profile: str) -> None:
    # Imported here, because the import takes two seconds in every worker.
    import jsonschema

    told = document(profile)
    names = {f"#/components/schemas/{name}" for name in told["components"]["schemas"]}
    assert references(told) <= names
    for schema in told["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
    assert len({o["operationId"] for o in operations(told).values()}) == len(operations(told))


def test_amounts_are_published_with_their_json_types() -> None:
    schemas = document("spec")["components"]["schemas"]
    asked = schemas["CryptoBody"]["properties"]["amount"]
    assert asked.items() >= {"type": "number", "exclusiveMinimum": 0}.items()
    assert schemas["Transfer"]["properties"]["amount"]["type"] == "number"
    assert schemas["Amount"]["properties"]["total"]["type"] == "string"
    assert schemas["NewSession"]["properties"]["inAmount"]["type"] == "string"


def branches(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [branch for branch in schema.get("anyOf", [schema]) if branch.get("type") != "null"]


def test_statuses_times_and_ids_are_published_with_their_enums_and_formats() -> None:
    schemas = document("spec")["components"]["schemas"]
    status = schemas["RampRequest"]["properties"]["status"]
    assert {"AWAITING_FUNDS", "SUCCEEDED", "BLOCKED", "FAILED"} < set(status["enum"])
    assert schemas["Transfer"]["properties"]["createdAt"]["format"] == "date-time"
    assert "format" not in schemas["Party"]["properties"]["createdAt"]
    assert branches(schemas["Party"]["properties"]["kycStatus"])[0]["enum"][0] == "PENDING"
    assert schemas["RampRequest"]["properties"]["id"]["format"] == "uuid"


@pytest.mark.parametrize("profile", PROFILES)
def test_every_example_is_valid_for_its_field(profile: str) -> None:
    import jsonschema

    schemas = document(profile)["components"]["schemas"]
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    compared = 0
    for schema in schemas.values():
        for field in schema.get("properties", {}).values():
            for branch in branches(field):
                for example in branch.get("examples", ()):
                    jsonschema.validate(example, branch, format_checker=checker)
                    compared += 1
    assert compared > 100


def test_every_entry_of_the_table_of_fields_describes_a_published_field() -> None:
    published = {
        (name, field)
        for profile in PROFILES
        for name, schema in document(profile)["components"]["schemas"].items()
        for field in schema.get("properties", {})
    }
    names = {field for _, field in published}
    for table in (FIELDS.enums, FIELDS.formats, FIELDS.examples):
        for entry in table:
            schema, _, field = entry.rpartition(".")
            assert (schema, field) in published if schema else field in names, entry


@pytest.mark.parametrize("profile", PROFILES)
def test_every_429_is_published_with_its_headers(profile: str) -> None:
    for operation in operations(document(profile)).values():
        if "429" in operation["responses"]:
            headers = operation["responses"]["429"]["headers"]
            assert {"Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining"} < set(headers)


def test_callbacks_and_webhooks_are_published() -> None:
    whole = document("spec")
    path = "/finance/v1/accounts/{accountId}/fiat-to-crypto/payment-sessions"
    (called,) = whole["paths"][path]["post"]["callbacks"]["paid"]
    assert called == "{$request.body#/callbackUrl}"
    assert set(whole["webhooks"]) == set(EVENTS)
    assert set(document("spec", RAMP)["webhooks"]) == set(EVENTS)
    assert "webhooks" not in document("spec", FINANCE)


def test_profile_b_publishes_the_fields_that_it_returns() -> None:
    told = operations(document("b"))
    answer = told["GET", "/finance/v1/accounts/{id}"]["responses"]["200"]["content"]
    shown = answer["application/json"]["schema"]["properties"]["result"]
    assert {"chain", "partyRoles"}.isdisjoint(shown["properties"])
    assert {"id", "kycStatus", "version"} <= set(shown["required"])
    assert ("POST", "/finance/v1/transfers") not in told


def test_each_service_has_a_document_and_both_share_one(served: Served, http: httpx.Client) -> None:
    both = http.get(f"{served.base_url}/openapi.json").json()
    assert both == json.loads(json.dumps(document("spec")))
    found = {("POST", TOKEN): operations(both)["POST", TOKEN]}
    for url, service in ((served.finance_url, FINANCE), (served.ramp_url, RAMP)):
        one = http.get(f"{url}/openapi.json").json()
        assert one["servers"] == [{"url": service}]
        found |= {(method, service + path): o for (method, path), o in operations(one).items()}
    assert found == operations(both)


def test_every_published_operation_requires_a_token(served: Served, http: httpx.Client) -> None:
    for (method, path), operation in operations(document("spec")).items():
        if path == TOKEN:
            continue
        address = re.sub(r"{\w+}", "x", path)
        assert http.request(method, served.base_url + address).status_code == 401, operation


def test_the_published_scopes_are_those_that_the_service_requires() -> None:
    told = document("spec")
    flows = told["components"]["securitySchemes"]["token"]["flows"]
    known = set(flows["clientCredentials"]["scopes"])
    asked = {s for o in operations(told).values() for each in o["security"] for s in each["token"]}
    assert asked <= known
    assert {"approve:ramp-request", "manage:company-users"} <= asked


@pytest.mark.parametrize("profile", PROFILES)
def test_the_page_shows_every_operation_and_loads_no_resources(profile: str) -> None:
    tree = html.fromstring(page(profile))
    shown = {node.get("id") for node in tree.iter("details")}
    told = document(profile)
    assert shown == {o["operationId"] for o in operations(told).values()} | set(
        told["components"]["schemas"]
    )
    assert not list(tree.iter("script", "img", "iframe", "link"))
    targets = {node.get("href") for node in tree.iter("a")} - {"/openapi.json"}
    assert targets <= {f"#{name}" for name in shown}
    assert "url(" not in page(profile)
    assert "@import" not in page(profile)


def test_the_page_is_served_as_html(served: Served, http: httpx.Client) -> None:
    answer = http.get(f"{served.base_url}/openapi.html")
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.text == page("spec")


def test_a_blank_parameter_is_refused(viewer: Any) -> None:
    for name in ("page", "size", "sortOn", "sortOrder", "fromDate"):
        assert viewer.ramp("/ramp-requests", **{name: ""}).status_code == 400
    assert viewer.finance("/accounts/nobody/transfers").status_code == 404
