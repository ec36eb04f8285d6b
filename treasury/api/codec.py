"""Decodes JSON of the services into typed records, and encodes request bodies.

A body is decoded in two steps: first the envelope, with its records as bytes, then each record into
a model. So each record keeps the exact bytes received, with every digit and every unknown field.
Only the link in a user's invitation is removed, because it gives access to the company.
"""

from __future__ import annotations

import re
from typing import Any, Final, Generic, TypeVar

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import UnexpectedResponse

T = TypeVar("T")

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError)
"""Exceptions for JSON that cannot be decoded: invalid, of another shape, too deep, out of range."""

DEEPEST: Final = 64
"""Maximum nesting of a record; the specifications' records have five levels."""

LONGEST: Final = 128
"""Maximum number of consecutive digits in a number; an amount has at most 38."""

_MOST_VALUES: Final = 500_000
"""Maximum number of values in an answer, because a decoded value takes much more memory than its
bytes. A page of 1,000 records has 100,000 values.
"""

MOST_RECORDS: Final = 100_000
"""Maximum number of records in an answer, also in a list that has no pages."""

_STRIDE: Final = 8
_DIGITS: Final = bytes(ord("0") if chr(byte) in "0123456789" else 0 for byte in range(256))
_LONG: Final = b"0" * (LONGEST // _STRIDE)
_TOKENS: Final = re.compile(rb'"[^"]*"|[\[{]|[\]}]|[0-9]+')

SECRET_FIELDS = ("invitationUrl",)
_SECRET_NAMES = tuple(field.encode() for field in SECRET_FIELDS)

_json = msgspec.json.Encoder(decimal_format="number")


class Record(msgspec.Struct, Generic[T], frozen=True):
    """A record of a service.

    `value` is the record as a model, `raw` has the exact bytes received, and `credential` is the
    client id of the call.
    """

    value: T
    raw: bytes
    credential: str = ""


class Pagination(msgspec.Struct, frozen=True, rename="camel"):
    """The page information that the service sends with a list.

    Depending on the service, `number_of_elements` counts the whole list or this page.
    """

    page_number: int | None = None
    page_size: int | None = None
    number_of_elements: int | None = None
    number_of_pages: int | None = None
    has_next_page: bool | None = None

    @property
    def total(self) -> int | None:
        """Number of records in the whole list; None if the service does not state it consistently.

        `numberOfElements` is documented as the total, but some services return the page's count,
        which contradicts `numberOfPages`.
        """
        if self.number_of_elements is None or not self.page_size:
            return None
        pages = -(-self.number_of_elements // self.page_size)
        return self.number_of_elements if pages == self.number_of_pages else None


class Envelope(msgspec.Struct, frozen=True):
    """The JSON object of every successful body: `result`, and for a list also `pagination`."""

    success: bool = True
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    pagination: Pagination | None = None


class _Created(msgspec.Struct, frozen=True, rename="camel"):
    """The wrapper in which the newest generation of the service returns a created record."""

    created_resource_id: Any = None
    response: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def encode(body: object) -> bytes:
    """Encode a value as JSON; a Decimal becomes a number with exactly the same digits."""
    return _json.encode(body)


def open_envelope(body: bytes, operation: str) -> Envelope:
    """Decode the envelope of a successful body.

    Raise UnexpectedResponse if the body is not a JSON object, has `success: false`, lacks `result`,
    or has more values than any valid answer.
    """
    if body.count(b",") > _MOST_VALUES:
        raise unexpected(operation, f"the body has more than {_MOST_VALUES:,} values")
    try:
        if not body.isascii():
            # msgspec does not decode fields outside the model, so the encoding is checked here.
            body.decode("utf-8")
        envelope = decode_json(without_secrets(body, operation), Envelope)
    except UNREADABLE as error:
        raise unexpected(operation, f"the body does not match the contract ({error})") from None
    if not envelope.success or isinstance(envelope.result, msgspec.UnsetType):
        raise unexpected(operation, "the body has no result")
    return envelope


def unwrap(envelope: Envelope) -> tuple[bytes, Any]:
    """Return the bytes of the result, and the id in a created record's wrapper, if it has one."""
    assert isinstance(envelope.result, msgspec.Raw)
    raw = bytes(envelope.result)
    if raw.startswith(b"{") and b'"createdResourceId"' in raw:
        created = decode_json(raw, _Created)
        if created.created_resource_id and isinstance(created.response, msgspec.Raw):
            return bytes(created.response), created.created_resource_id
    return raw, None


def decode(raw: bytes, model: type[T], operation: str) -> Record[T]:
    """Decode one record; raise UnexpectedResponse naming the field that does not fit."""
    _require_plain(raw, operation)
    try:
        return Record(decode_json(raw, model), raw)
    except UNREADABLE as error:
        problem = f"a {model.__name__} cannot be decoded ({error})"
        raise unexpected(operation, problem) from None


def split(raw: bytes, operation: str) -> list[bytes]:
    """Split a JSON array into the bytes of its elements."""
    try:
        items = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except UNREADABLE as error:
        raise unexpected(operation, f"the result is not a list ({error})") from None
    if len(items) > MOST_RECORDS:
        raise unexpected(operation, f"the result has more than {MOST_RECORDS:,} records")
    return [bytes(item) for item in items]


def is_plain(raw: bytes, records: int = 1) -> bool:
    """Return True if the records are certain to respect the limits on depth and digits.

    For digits, only every eighth byte is checked. A record that fails the check may still be valid.
    """
    levels = raw.count(b"{") + raw.count(b"[") - records
    return levels < DEEPEST and _LONG not in raw[::_STRIDE].translate(_DIGITS)


def _require_plain(raw: bytes, operation: str) -> None:
    """Raise UnexpectedResponse for a record that other JSON parsers may refuse."""
    if is_plain(raw):
        return
    depth = 0
    for token in _TOKENS.finditer(raw.replace(b"\\\\", b"").replace(b'\\"', b"")):
        first = token[0][:1]
        depth += (first in b"[{") - (first in b"]}")
        if depth > DEEPEST:
            raise unexpected(operation, f"a record has more than {DEEPEST} levels")
        if first.isdigit() and len(token[0]) > LONGEST:
            raise unexpected(operation, f"a record has a number with more than {LONGEST} digits")


def without_secrets(body: bytes, operation: str) -> bytes:
    """Return JSON without the secret fields; a body that has none is returned unchanged."""
    if not any(name in body for name in _SECRET_NAMES):
        return body
    _require_plain(body, operation)
    return _json.encode(_pruned(msgspec.Raw(body)))


def _pruned(raw: msgspec.Raw) -> Any:
    head = bytes(raw).lstrip()[:1]
    if head == b"{":
        members = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        return {name: _pruned(item) for name, item in members.items() if name not in SECRET_FIELDS}
    if head == b"[":
        return [_pruned(item) for item in msgspec.json.decode(raw, type=list[msgspec.Raw])]
    return raw


def unexpected(operation: str, problem: str) -> UnexpectedResponse:
    """Return the error for an answer that does not match the contract."""
    return UnexpectedResponse(
        f"{operation}: {problem}",
        do="check that the address is the service's own, then report it to the provider",
        operation=operation,
    )
