"""Requests, replies and refusals of handlers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from treasury.core.decoding import decode_json
from treasury.sandbox.state.shapes import User, decode, encode
from treasury.sandbox.story.world import World

T = TypeVar("T")

EVERYONE: Final = frozenset({"COMPANY_ADMIN", "COMPANY_MANAGER", "COMPANY_VIEWER"})
MANAGERS: Final = frozenset({"COMPANY_ADMIN", "COMPANY_MANAGER"})


class Call(msgspec.Struct, frozen=True):
    """One authenticated call of an operation."""

    user: User
    path: dict[str, str]
    query: dict[str, list[str]]
    body: dict[str, Any]
    raw: bytes = b""
    """The body's bytes, for exact amounts and for binding an idempotency key."""
    address: str = ""
    """Method and path of the call."""
    reads: Mapping[Any, Any] = {}
    """The body types that a profile replaces."""

    def query_value(self, name: str) -> str | None:
        """Return the value of a query parameter; the last value if it is repeated."""
        return self.query[name][-1] if name in self.query else None

    def query_values(self, name: str) -> list[str]:
        """Return all values of a query parameter, which are repeated or separated by commas."""
        return [value for text in self.query.get(name, []) for value in text.split(",")]

    def read(self, shape: type[T]) -> T:
        """Decode the body into `shape`.

        Raises a 400 if the body is missing or invalid; the message names an invalid field.
        """
        if not self.raw:
            raise invalid("The request needs a JSON body.")
        try:
            return decode_json(self.raw, self.reads.get(shape, shape))
        except msgspec.ValidationError as error:
            raise invalid(_misfit(str(error))) from None


class Reply(msgspec.Struct, frozen=True):
    """The status and the text of an answer."""

    body: str
    status: int = 200
    media_type: str = "application/json"


Handler = Callable[[World, Call], Reply]
Write = Callable[[World, Call], Any]
"""Handler of a write; it returns the answer, and the operation defines the status."""
Dress = Callable[[Reply], Reply]


class Route(msgspec.Struct, frozen=True):
    """One operation of a service, with the required scope and the published description."""

    method: str
    path: str
    handler: Handler
    roles: frozenset[str] = EVERYONE
    writes: Write | None = None
    """For a write, the handler without the idempotency wrapper."""
    scope: str = ""
    """Scope that the user's role must have; empty in the finance service, which checks `roles`."""
    dress: Dress = lambda reply: reply
    """A profile's function that translates answers, including refusals."""
    shows: Callable[[list[str]], list[str]] = list
    """A function that returns the fields that a profile's answers keep."""
    says: str = ""
    """Description of the operation in one line."""
    takes: Any = None
    """Type of the body, or a tuple of alternative types; None without a body."""
    gives: Any = None
    """Type of `result`; None if it is null or the answer has no body."""
    status: int = 200
    refuses: tuple[int, ...] = ()
    """Additional refusal statuses; the usual ones follow from the other fields."""
    query: Mapping[str, dict[str, Any]] = {}
    """Query parameters by name, each with the JSON schema of its value."""
    beside: tuple[str, ...] = ()
    """JSON members next to `result`: `pagination` and `sort`."""
    media_type: str = "application/json"
    """Media type of the answer; only JSON has an envelope."""
    published: bool = True
    """False if profile `b`, the published contract, lacks the operation.

    Writes of the finance service need no mark: `profile_b` names those that it has.
    """


class Refusal(Exception):
    """A call is refused with a status, a code and a message."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message

    def reply(self) -> Reply:
        """Return the reply, which has `success` false and the error."""
        errors = [{"code": self.code, "message": self.message}]
        return Reply(encode({"success": False, "errors": errors}), self.status)


_PLACE: Final = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_FIELD: Final = re.compile(r"Object (?P<kind>missing|contains) .* field `(?P<name>.*)`")
_KINDS: Final = {"missing": "is required", "contains": "is not a field of this request"}


def _misfit(text: str) -> str:
    """Return msgspec's error about a body in the service's form, with the field first."""
    match = _PLACE.fullmatch(text)
    assert match is not None
    problem, path = match["what"], match["path"] or ""
    if field := _FIELD.fullmatch(problem):
        return f"{f'{path}.' if path else ''}{field['name']} {_KINDS[field['kind']]}."
    problem = problem.partition(" matching regex")[0] + (
        " of the required form" * ("regex" in problem)
    )
    return f"{path}: {problem}." if path else f"{problem}."


def invalid(message: str) -> Refusal:
    """Return a 400 with the specification's error code."""
    return Refusal(400, "VALIDATION_ERROR", message)


def missing(record: str) -> Refusal:
    """Return a 404 for a record."""
    return Refusal(404, "NOT_FOUND", f"No such {record}.")


def stored(world: World, kind: str, record_id: str, shape: type[T]) -> T:
    """Return the record with this id. Raises a 404 if it does not exist."""
    text = world.store.detail(kind, record_id)
    if text is None:
        raise missing(kind.removeprefix("company_").replace("_", " "))
    return decode(text, shape)


def stale() -> Refusal:
    """Return a 409 for a record that changed after the caller read it."""
    return Refusal(409, "OPTIMISTIC_LOCK_EXCEPTION", "Resource changed; read it again and retry.")


def result(text: str, status: int = 200) -> Reply:
    """Return a successful answer around JSON text."""
    return Reply(f'{{"success":true,"result":{text}}}', status)
