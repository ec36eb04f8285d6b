"""From bytes to typed records and back, with every digit and every unknown field kept.

A body is taken apart twice: into the envelope, whose records stay bytes, and then record by record
into a model. So each record travels with exactly the bytes it came in. The one thing taken out is
the link of a user's invitation, which lets whoever holds it into the company.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from treasury.errors import UnexpectedResponse

__all__ = [
    "Envelope",
    "Pagination",
    "Record",
    "decode",
    "decode_all",
    "encode",
    "open_envelope",
    "split",
]

T = TypeVar("T")

SECRET_FIELDS = ("invitationUrl",)
_MARKS = tuple(field.encode() for field in SECRET_FIELDS)

_json = msgspec.json.Encoder(decimal_format="number")


class Record(msgspec.Struct, Generic[T], frozen=True):
    """A record as a model, the exact bytes it was received in, and the client id that asked."""

    value: T
    raw: bytes
    credential: str = ""


class Pagination(msgspec.Struct, frozen=True, rename="camel"):
    """What a list says about its pages; `number_of_elements` is a total or a page's count."""

    page_number: int | None = None
    page_size: int | None = None
    number_of_elements: int | None = None
    number_of_pages: int | None = None
    has_next_page: bool | None = None


class Envelope(msgspec.Struct, frozen=True):
    """The shape of every successful body: `result`, and `pagination` beside it in a list."""

    success: bool = True
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    pagination: Pagination | None = None


class _Created(msgspec.Struct, frozen=True, rename="camel"):
    """The newest generation wraps what it created once more."""

    created_resource_id: Any = None
    response: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def encode(body: object) -> bytes:
    """JSON bytes; a Decimal is a JSON number with exactly its own digits."""
    return _json.encode(body)


def open_envelope(body: bytes, operation: str) -> Envelope:
    """The envelope of a successful body.

    UnexpectedResponse where the body is no JSON object, says `success: false`, or has no `result`.
    """
    try:
        if not body.isascii():
            body.decode("utf-8")  # what no model names is kept unread, so it is checked here
        envelope = msgspec.json.decode(without_secrets(body), type=Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unexpected(operation, f"the body is not the contract's ({error})") from None
    if not envelope.success or isinstance(envelope.result, msgspec.UnsetType):
        raise _unexpected(operation, "the body has no result")
    return envelope


def result_bytes(envelope: Envelope) -> bytes:
    """The bytes of the result itself, unwrapped where a create answered with a wrapper."""
    assert isinstance(envelope.result, msgspec.Raw)
    raw = bytes(envelope.result)
    if raw.startswith(b"{") and b'"createdResourceId"' in raw:
        created = msgspec.json.decode(raw, type=_Created)
        if created.created_resource_id and isinstance(created.response, msgspec.Raw):
            return bytes(created.response)
    return raw


def decode(raw: bytes, model: type[T], operation: str) -> Record[T]:
    """One record; UnexpectedResponse names the field that does not fit."""
    try:
        return Record(msgspec.json.decode(raw, type=model), raw)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what = f"a {model.__name__} does not read ({error})"
        raise _unexpected(operation, what) from None


def split(raw: bytes, operation: str) -> list[bytes]:
    """The elements of a JSON array, each as its bytes."""
    try:
        return [bytes(item) for item in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _unexpected(operation, f"the result is not a list ({error})") from None


def decode_all(raw: bytes, model: type[T], operation: str) -> list[Record[T]]:
    """Every record of a JSON array."""
    return [decode(item, model, operation) for item in split(raw, operation)]


def without_secrets(body: bytes) -> bytes:
    """The same JSON without the fields that nobody may keep; untouched where it has none."""
    if not any(mark in body for mark in _MARKS):
        return body
    return _json.encode(_pruned(msgspec.Raw(body)))


def _pruned(raw: msgspec.Raw) -> Any:
    head = bytes(raw).lstrip()[:1]
    if head == b"{":
        members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        return {name: _pruned(item) for name, item in members.items() if name not in SECRET_FIELDS}
    if head == b"[":
        return [_pruned(item) for item in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    return raw


def _unexpected(operation: str, what: str) -> UnexpectedResponse:
    return UnexpectedResponse(
        f"{operation}: {what}",
        do="check that the address is the service's own, then report it to the provider",
        operation=operation,
    )
