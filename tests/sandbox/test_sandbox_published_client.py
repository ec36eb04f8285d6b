"""An independent client of the published generation: every operation, every field it may send.

It is written from the published contract alone and imports only our server. One table names the
operations, one scenario drives them over a socket, and requests and answers are compared with the
contract field by field, if the contract is available next to the project.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from plain_http import plain_client
from published_finance import drive_finance
from published_ramp import drive_ramp
from published_stranger import FINANCE, KINDS, OF_ONE_KIND, RAMP, SERVICES, Scene, Sent, Stranger

from treasury.sandbox import Sandbox
from treasury.sandbox.state.shapes import RampRequest

PUBLISHED = Path(__file__).parents[3] / "shared" / "spec" / "published.md"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_file(),
    reason=f"no file {PUBLISHED}: the published client's calls are not compared with the contract",
)


@pytest.fixture(scope="module")
def calls() -> Iterator[list[Sent]]:
    """Run the scenario, which checks statuses and effects, and return its successful calls."""
    sandbox = Sandbox(7, profile="b")
    with sandbox.serve() as served, plain_client() as http:
        bases = {"Finance": served.finance_url, "Ramp": served.ramp_url}
        stranger = Stranger(http, served.token_url, bases)
        for name, (client_id, secret) in sandbox.credentials.items():
            stranger.sign_in(name, client_id, secret)
        scene = Scene(stranger, sandbox)
        drive_finance(scene)
        drive_ramp(scene)
        yield stranger.calls


@pytest.mark.parametrize("operation", [*FINANCE, *RAMP])
def test_every_operation_is_called(calls: list[Sent], operation: str) -> None:
    assert operation in {call.operation for call in calls}


def test_every_answer_has_the_envelope_and_every_list_its_pages(calls: list[Sent]) -> None:
    for call in calls:
        media_type = call.answer.headers.get("content-type")
        if call.answer.status_code == 204 or call.operation == "GET /ramp-requests/export":
            assert media_type in {None, "text/csv; charset=utf-8"}
            continue
        assert media_type == "application/json"
        told = call.answer.json()
        assert {"success", "result"} <= set(told) <= {"success", "result", "pagination", "sort"}
        if "page" in call.query:
            assert told["pagination"]["pageNumber"] == call.query["page"]
            assert told["pagination"]["pageSize"] == call.query["size"]


# Comparison with the contract

Fields = dict[str, tuple[str, bool]]
"""A schema: the type of each field, and whether a body must have the field."""


def section(title: str) -> str:
    text = PUBLISHED.read_text("utf-8")
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def schemas(service: str) -> dict[str, Fields]:
    lines = re.findall(r"^- \*\*(\w+)\*\*: (.+)$", section(f"{service}: schemas"), re.MULTILINE)
    found = {}
    for name, text in lines:
        parts = re.split(r", (?![^{]*})(?![^\[]*\])", text)
        if all(part.isupper() for part in parts):
            # This is an enum; its values are also listed next to each field that has them.
            continue
        pairs = (part.partition(" ") for part in parts)
        found[name] = {one.rstrip("*"): (kind, one.endswith("*")) for one, _, kind in pairs}
    return found


def whole(named: dict[str, Fields], name: str, record: dict[str, Any]) -> Fields:
    """Return the fields of a record, including those of its kind of bank account."""
    fields = named[name]
    if name in OF_ONE_KIND:
        fields = fields | named[OF_ONE_KIND[name].format(KINDS[record["bankAccountType"]])]
    return fields


def of_kind(value: Any, kind: str) -> bool:
    """Return whether a JSON value has a simple type of the contract."""
    if "null" in kind:
        return value is None or isinstance(value, str)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind in {"int32", "int64"}:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind in {"boolean", "object"}:
        return isinstance(value, bool if kind == "boolean" else dict)
    if kind.startswith("{"):
        return value in kind.strip("{}").split(", ")
    if not isinstance(value, str):
        return False
    if kind == "date-time":
        return bool(datetime.fromisoformat(value))
    if kind == "uri":
        return bool(urlsplit(value).scheme)
    return kind != "email" or "@" in value


UNNAMED = {
    # Types of fields that the contract does not state next to the field.
    "companyBankAccount": "CompanyBankAccountDto",
    "depositBankAccount": "DepositBankAccountDto",
}


class Reading:
    """A check of answers against their schemas; it collects the fields found, and the faults."""

    def __init__(self, named: dict[str, Fields]) -> None:
        self._named = named
        self.met: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.faults: set[str] = set()

    def read(self, value: Any, kind: str, place: str) -> None:
        if kind.startswith("[") and not kind.startswith("['"):
            if not isinstance(value, list):
                self.faults.add(f"{place}: no list")
                return
            for one in value:
                self.read(one, kind[1:-1], place)
        elif kind in self._named:
            fields = whole(self._named, kind, value)
            self.faults |= {f"{place}.{name}: not published" for name in set(value) - set(fields)}
            for name in set(value) & set(fields):
                self.met[kind, value.get("bankAccountType", "")].add(name)
                self.read(value[name], fields[name][0] or UNNAMED.get(name, ""), f"{kind}.{name}")
        elif not of_kind(value, kind):
            self.faults.add(f"{place}: {value!r} is not {kind or 'text'}")


@needs_published
@pytest.mark.parametrize("service", SERVICES)
def test_the_table_lists_the_operations_bodies_and_statuses_of_the_contract(service: str) -> None:
    lines = re.findall(
        r"^- `(\w+ [^`]+)`(?: \?\S+)?(?: body (\w*))? → ([\d ]+)$",
        section(f"{service}: operations"),
        re.MULTILINE,
    )
    assert {name for name, _, _ in lines} == set(SERVICES[service])
    for name, body, statuses in lines:
        ours = SERVICES[service][name]
        assert body in {"", ours.takes}, name
        assert str(ours.status) == statuses.split()[0], name


@needs_published
@pytest.mark.parametrize("service", SERVICES)
def test_every_parameter_and_body_field_was_sent(calls: list[Sent], service: str) -> None:
    named, missing = schemas(service), []
    for name, parameters in re.findall(
        r"^- `(\w+ [^`]+)` \?(\S+)", section(f"{service}: operations"), re.MULTILINE
    ):
        sent = {key for call in calls if call.operation == name for key in call.query}
        missing += [f"{name} ?{one}" for one in parameters.split(",") if one not in sent]
    for name, operation in SERVICES[service].items():
        if not operation.takes:
            continue
        bodies = [call.body for call in calls if call.operation == name and call.body]
        kinds: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for body in bodies:
            kinds[body.get("bankAccountType", "")].append(body)
        assert operation.takes not in OF_ONE_KIND or set(kinds) == set(KINDS)
        for several in kinds.values():
            fields = whole(named, operation.takes, several[0])
            sent = {key for body in several for key in body}
            missing += [f"{name} {one}" for one in fields if one not in sent]
            for body in several:
                needed = {one for one, (_, is_needed) in fields.items() if is_needed}
                assert needed <= set(body) <= set(fields), (name, body)
    assert missing == []


BEYOND = {f"result.{name}: not published" for name in RampRequest.BEYOND}
UNMET = {
    # No operation reads a payment request that has ended.
    "PaymentExecution": {"errorMessage"},
    "PaymentRequest": {"settledAmount", "settledAt", "shortfallAmount", "reversedAt"},
}


@needs_published
@pytest.mark.parametrize("service", SERVICES)
def test_every_answer_conforms_to_the_contract_field_by_field(
    calls: list[Sent], service: str
) -> None:
    named = schemas(service)
    reading = Reading(named)
    for call in calls:
        operation = SERVICES[service].get(call.operation)
        if operation is None or not operation.gives:
            continue
        told = call.answer.json()
        reading.read(told["result"], operation.gives, "result")
        if "pagination" in told:
            reading.read(told["pagination"], "Pagination", "pagination")
    assert reading.faults - BEYOND == set()
    lacking = {}
    for (name, kind), met in reading.met.items():
        fields = whole(named, name, {"bankAccountType": kind}) if kind else named[name]
        if left := set(fields) - met - UNMET.get(name, set()):
            lacking[name, kind] = sorted(left)
    assert lacking == {}
