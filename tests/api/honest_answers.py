"""Answers about the requested record, with identifying values from the request."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import unquote

import httpx

from treasury.api.answer_identity import SharedValue
from treasury.api.operations import IDENTITY

_PLACE = re.compile(r"\{(\w+)\}")
_VERSION = "/v1"


def operation_of(request: httpx.Request) -> tuple[str, dict[str, str]]:
    """Return the declared operation of a request and the ids in its path; both empty if unknown."""
    path = request.url.raw_path.decode().partition("?")[0].partition(_VERSION)[2]
    for operation in IDENTITY:
        method, _, route = operation.partition(" ")
        pattern = _PLACE.sub(r"(?P<\1>[^/]+)", route)
        match = re.fullmatch(pattern, path)
        if method == request.method and match is not None:
            return operation, {name: unquote(text) for name, text in match.groupdict().items()}
    return "", {}


def about_request(request: httpx.Request, record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with its identifying values replaced by the request's."""
    operation, ids = operation_of(request)
    body = json.loads(request.content or b"{}")
    record = json.loads(json.dumps(record))
    for comparison in map(SharedValue.parse, IDENTITY.get(operation, "").split()):
        sent: Any = ids if comparison.in_path else body
        for name in comparison.sent:
            sent = sent.get(name) if isinstance(sent, dict) else None
        for path in comparison.shown:
            place: Any = record
            for name in path[:-1]:
                place = place.get(name) if isinstance(place, dict) else None
            shown = place.get(path[-1]) if isinstance(place, dict) else None
            if sent is not None and shown is not None and not isinstance(shown, dict):
                place[path[-1]] = sent
    return record
