"""What a handler is given and what it gives back, and the one shape in which a service refuses."""

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
    """One authenticated call."""

    user: User
    path: dict[str, str]
    query: dict[str, list[str]]
    body: dict[str, Any]
    raw: bytes = b""
    """The body's own bytes: amounts are read from them, an idempotency key is bound to them."""
    address: str = ""
    """The method and the path as they were called."""
    reads: Mapping[Any, Any] = {}
    """Shapes that a profile reads in the place of others."""

    def query_value(self, name: str) -> str | None:
        """The value of a query parameter; the last one where it is repeated."""
        return self.query[name][-1] if name in self.query else None

    def query_values(self, name: str) -> list[str]:
        """The values of a parameter that is repeated, or names several with commas."""
        return [value for text in self.query.get(name, []) for value in text.split(",")]

    def read(self, shape: type[T]) -> T:
        """Decode the body into `shape`; a missing or unfit body is 400 and names the field."""
        if not self.raw:
            raise invalid("The request needs a JSON body.")
        try:
            return decode_json(self.raw, self.reads.get(shape, shape))
        except msgspec.ValidationError as error:
            raise invalid(_misfit(str(error))) from None


class Reply(msgspec.Struct, frozen=True):
    """A status and the JSON text that goes with it."""

    body: str
    status: int = 200
    media_type: str = "application/json"


Handler = Callable[[World, Call], Reply]
Write = Callable[[World, Call], Any]
"""The handler of a write: gives what is answered, which its operation's status goes with."""
Dress = Callable[[Reply], Reply]


class Route(msgspec.Struct, frozen=True):
    """One operation of a service: who may call it, and what is published about it."""

    method: str
    path: str
    handler: Handler
    roles: frozenset[str] = EVERYONE
    writes: Write | None = None
    """Of a write, the handler without the one around it that answers and knows keys."""
    scope: str = ""
    """What a role must hold to call it; the ramp service names it, the finance service does not."""
    dress: Dress = lambda reply: reply
    """What a profile makes of the answer, a refusal included."""
    shows: Callable[[list[str]], list[str]] = list
    """Which of the answer's fields a profile leaves in it."""
    says: str = ""
    """What it does, in a line."""
    takes: Any = None
    """The body's type, or several of which it takes one; None where it takes none."""
    gives: Any = None
    """The type of `result`; None where it is null, or there is no body."""
    status: int = 200
    refuses: tuple[int, ...] = ()
    """The statuses of refusals besides those that follow from the rest."""
    query: Mapping[str, dict[str, Any]] = {}
    """The query's parameters by name, each with the JSON schema of its value."""
    beside: tuple[str, ...] = ()
    """What stands beside `result`: `pagination` and `sort`."""
    media_type: str = "application/json"
    """Of the answer; another one has no envelope."""


class Refusal(Exception):
    """A call that the service does not carry out."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message

    def reply(self) -> Reply:
        """`success` false and the errors."""
        errors = [{"code": self.code, "message": self.message}]
        return Reply(encode({"success": False, "errors": errors}), self.status)


_PLACE: Final = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<path>.*)`)?", re.DOTALL)
_FIELD: Final = re.compile(r"Object (?P<kind>missing|contains) .* field `(?P<name>.*)`")
_KINDS: Final = {"missing": "is required", "contains": "is not a field of this request"}


def _misfit(text: str) -> str:
    """What msgspec has against a body, in the service's words: the field first."""
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
    """400, with the code that the specification shows."""
    return Refusal(400, "VALIDATION_ERROR", message)


def missing(record: str) -> Refusal:
    """404 for a record."""
    return Refusal(404, "NOT_FOUND", f"No such {record}.")


def stored(world: World, kind: str, record_id: str, shape: type[T]) -> T:
    """The record of an id; 404 where there is none."""
    text = world.store.detail(kind, record_id)
    if text is None:
        raise missing(kind.removeprefix("company_").replace("_", " "))
    return decode(text, shape)


def stale() -> Refusal:
    """409: the record is no longer the one that the caller read."""
    return Refusal(409, "OPTIMISTIC_LOCK_EXCEPTION", "Resource changed; read it again and retry.")


def result(text: str, status: int = 200) -> Reply:
    """A successful answer around JSON text."""
    return Reply(f'{{"success":true,"result":{text}}}', status)
