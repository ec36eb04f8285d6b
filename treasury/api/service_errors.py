"""Converts a service's refusal into one of the errors of `core.errors`, by status and code.

Codes are compared in upper case with underscores, regardless of how the service writes them. A
message shows the code, field and text of each error, cut to one line, and the trace ids. It shows
no other header, and no other part of the body.
"""

from __future__ import annotations

import re
from typing import Any, Final

import httpx
import msgspec

from treasury.api.codec import UNREADABLE
from treasury.api.operations import LATER_DROPPED, NAMES_RECORDS, SCOPES, refusals_of
from treasury.core import errors as tree
from treasury.core.text import service_code

_MOST_FAULTS: Final = 20
"""Maximum number of errors shown for one refusal; further errors are only counted."""

_TRACE_HEADERS = ("x-trace-id", "x-request-id", "x-correlation-id")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9]*([_-][A-Za-z0-9]+)*", re.ASCII)
_BEARER = re.compile(
    r"(?i)(bearer\s+|basic\s+(?=\S*[\d=])|(?:token|secret|password)\W{1,3})[\w.~+/=-]{6,}"
)

_BY_STATUS: dict[int, type[tree.ServiceError]] = {
    400: tree.InvalidRequest,
    401: tree.Unauthorized,
    402: tree.InsufficientFunds,
    403: tree.Forbidden,
    404: tree.NotFound,
    405: tree.NotOffered,
    409: tree.VersionConflict,
    415: tree.InvalidRequest,
    422: tree.InvalidRequest,
    429: tree.RateLimited,
}

_NOT_READY = {
    "KYC_NOT_VERIFIED", "KYC_REQUIRED", "KYB_NOT_VERIFIED", "ACCOUNT_NOT_ACTIVE",
    "ACCOUNT_WALLET_NOT_ACTIVE", "BANK_ACCOUNT_NOT_VERIFIED", "WALLET_NOT_VERIFIED",
}  # fmt: skip
_BY_CODE: dict[str, type[tree.ServiceError]] = {
    **dict.fromkeys(_NOT_READY, tree.NotReady),
    "INSUFFICIENT_FUNDS": tree.InsufficientFunds,
    "INSUFFICIENT_BALANCE": tree.InsufficientFunds,
    "IDEMPOTENCY_CONFLICT": tree.KeySpent,
    "IDEMPOTENCY_KEY_CONFLICT": tree.KeySpent,
    "OPTIMISTIC_LOCK_EXCEPTION": tree.VersionConflict,
    "CONCURRENT_MODIFICATION": tree.VersionConflict,
    "VERSION_CONFLICT": tree.VersionConflict,
}
_REFINED = frozenset({400, 402, 403, 409, 422})
"""Statuses with several meanings, for which the error code decides first."""

_DO: dict[type[tree.ServiceError], str] = {
    tree.InvalidRequest: "nothing was executed; correct the request",
    tree.Unauthorized: "check that the credential belongs to this environment",
    tree.InsufficientFunds: "fund the account, or send less; nothing was executed",
    tree.Forbidden: "use a credential whose role allows it; nothing was executed",
    tree.NotFound: "check the id, and that the credential belongs to the same company",
    tree.NotOffered: "this service does not have the operation; do without it",
    tree.NotReady: "wait for the verification, or ask the provider; nothing was executed",
    tree.VersionConflict: "read the record again and decide on its current content",
    tree.KeySpent: "look up what the key was used for before you send it with a new key",
    tree.RateLimited: "wait a little, then run it again",
    tree.ServiceFault: "run it again later; if the error persists, give the provider the trace id",
    tree.UnexpectedResponse: "check the address in treasury.toml",
}


class Fault(msgspec.Struct, frozen=True):
    """One error in a refusal: its normalised code, its field, and one line of text."""

    code: str | None = None
    field: str | None = None
    message: str | None = None

    def __str__(self) -> str:
        """Format as `REQUIRED_FIELD: address.city must be set`, without repeating the field."""
        field = self.field if self.field and self.field not in (self.message or "") else None
        about = " ".join(part for part in (field, self.message) if part)
        return ": ".join(part for part in (self.code, about) if part)


class Refusal(msgspec.Struct, frozen=True):
    """The content of a failed response: its errors in the service's order, and the trace ids."""

    faults: tuple[Fault, ...] = ()
    trace: str | None = None
    is_ours: bool = False
    """True if the body is JSON in the services' own error shape, unlike a proxy's page."""
    untold: int = 0
    """Number of errors that are not in `faults`."""

    @property
    def code(self) -> str | None:
        """The first error's code."""
        return self.faults[0].code if self.faults else None

    @property
    def message(self) -> str | None:
        """The first error's text."""
        return self.faults[0].message if self.faults else None

    def __str__(self) -> str:
        """Return all errors in one line."""
        texts = [text for text in map(str, self.faults) if text]
        texts += [f"and {self.untold} more errors"] if self.untold else []
        return "; ".join(texts)


def error_for(
    response: httpx.Response, operation: str, *, ids: tuple[str, ...] = (), key: str | None = None
) -> tree.ServiceError:
    """Return the exception for an unsuccessful response; `key` is the idempotency key sent."""
    refusal = read_refusal(response)
    kind = _kind(response.status_code, refusal, operation, keyed=key is not None)
    faults = str(refusal)
    message = f"{operation}: {response.status_code}" + (f" {faults}" if faults else "")
    advice, scope = _DO[kind], SCOPES.get(operation)
    if kind is tree.Forbidden and scope is not None:
        advice = f"use a credential that may {scope}; nothing was executed"
    if kind is tree.NotFound and operation in NAMES_RECORDS:
        advice = "check the ids in the request, and that they belong to the same company"
    if kind is tree.NotFound and operation in LATER_DROPPED:
        advice = "check the id; later generations of the service do not have this operation at all"
    error = kind(
        message + where(ids, refusal.trace),
        do=advice,
        operation=operation,
        status=response.status_code,
        code=refusal.code,
        trace=refusal.trace,
        ids=ids,
        key=key,
    )
    if isinstance(error, tree.NotOffered):
        error.by_service = refusal.is_ours
    return error


def not_offered(error: tree.NotFound) -> tree.NotOffered:
    """Return NotOffered for a 404 about a record that exists."""
    refusal = tree.NotOffered(
        error.what,
        do=_DO[tree.NotOffered],
        operation=error.operation,
        status=error.status,
        code=error.code,
        trace=error.trace,
        ids=error.ids,
        key=error.key,
    )
    refusal.by_service = True
    return refusal


def where(ids: tuple[str, ...], trace: str | None = None) -> str:
    """Format the ids of the record and the trace id, as in ` (id r1, trace t1)`."""
    parts = [f"id {text}" for text in map(one_line, ids) if text]
    parts += [f"trace {trace}"] if trace else []
    return f" ({', '.join(parts)})" if parts else ""


def _kind(status: int, refusal: Refusal, operation: str, *, keyed: bool) -> type[tree.ServiceError]:
    if status in _REFINED:
        for fault in refusal.faults:
            if fault.code in _BY_CODE:
                return _BY_CODE[fault.code]
    # A new record has no version, so the conflict is about the key.
    if status == 409 and keyed:
        return tree.KeySpent
    may_name_record = "{" in operation or operation in NAMES_RECORDS
    if status == 404 and not (may_name_record and refusal.is_ours):
        return tree.NotOffered
    if status >= 500:
        return tree.ServiceFault
    if 300 <= status < 400:
        return tree.UnexpectedResponse
    return _BY_STATUS.get(status, tree.InvalidRequest)


def read_refusal(response: httpx.Response) -> Refusal:
    """Read the errors and trace ids of a failed response, in any documented shape."""
    header = next(
        (response.headers[name] for name in _TRACE_HEADERS if name in response.headers), ""
    )
    try:
        body = msgspec.json.decode(response.content)
    except UNREADABLE:
        body = None
    if not isinstance(body, dict):
        return Refusal(trace=one_line(header, 80))
    media_type = response.headers.get("content-type", "").partition(";")[0]
    is_json = media_type.strip().lower() == "application/json"
    listed = next((body[key] for key in ("errors", "failures") if _objects(body.get(key))), None)
    entries = _objects(listed) or [body]
    # The services use text codes. Numeric codes come from another API, such as a gateway.
    is_coded = bool(listed) and all(
        isinstance(error, dict)
        and isinstance(error.get("code"), str)
        and _CODE.fullmatch(error["code"])
        for error in listed or ()
    )
    traces = [entry.get("traceCode") for entry in (body, *entries[:_MOST_FAULTS])]
    trace_ids = dict.fromkeys(trace for each in traces if (trace := one_line(each, 80)))
    return Refusal(
        faults=tuple(
            Fault(
                code=_code(error.get("code") or error.get("error")),
                field=one_line(error.get("field"), 100),
                message=one_line(error.get("message") or error.get("error_description")),
            )
            for error in entries[:_MOST_FAULTS]
        ),
        trace=", ".join(trace_ids) or one_line(header, 80),
        is_ours=is_json and body.get("success") is False and is_coded,
        untold=max(0, len(entries) - _MOST_FAULTS),
    )


def is_refusal(response: httpx.Response, operation: str) -> bool:
    """Return True if the service itself states that it did not execute this write.

    A proxy, gateway or filter in front of the service may send its own answer, even after the
    service has executed the write. So a write counts as refused only if the body has the services'
    own error shape and the status is a documented refusal of this operation. After any other
    unsuccessful answer the outcome is unknown. A forged answer with this shape and status looks
    like the service's own.
    """
    return read_refusal(response).is_ours and response.status_code in refusals_of(operation)


def _objects(listed: Any) -> list[dict[str, Any]]:
    return (
        [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    )


def _code(value: Any) -> str | None:
    """Normalise a code: `invalid-request` becomes `INVALID_REQUEST`."""
    line = one_line(value, 80)
    return line and service_code(line)


def one_line(value: Any, length: int = 300) -> str | None:
    """Return text from the service on one line, without control characters or possible secrets."""
    if not isinstance(value, str):
        return None
    text = _BEARER.sub(r"\1…", _CONTROLS.sub(" ", value)).strip()
    return text[:length] or None
