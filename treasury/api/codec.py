"""From bytes to typed records and back, with every digit and every unknown field kept.

A body is taken apart twice: into the envelope, whose records stay bytes, and then record by record
into a model. So each record travels with exactly the bytes it came in. The one thing taken out is
the link of a user's invitation, which lets whoever holds it into the company.
"""

from __future__ import annotations

import re
from typing import Any, Final, Generic, TypeVar

import msgspec

from treasury.core.decoding import decode_json
from treasury.core.errors import UnexpectedResponse

T = TypeVar("T")

UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError)
"""What reading a service's JSON raises: not JSON, another shape, too deep, a time beyond reach."""

DEEPEST: Final = 64
"""Levels of a record; those of the specifications have five."""

LONGEST: Final = 128
"""Digits in a row of a record's number; an amount has at most 38."""

_MOST_VALUES: Final = 500_000
"""Values of an answer: each takes many times its bytes. A page of 1,000 records has 100,000."""

MOST_RECORDS: Final = 100_000
"""Records of an answer, of a list that has no pages too."""

_STRIDE: Final = 8
_DIGITS: Final = bytes(ord("0") if chr(byte) in "0123456789" else 0 for byte in range(256))
_LONG: Final = b"0" * (LONGEST // _STRIDE)
_TOKENS: Final = re.compile(rb'"[^"]*"|[\[{]|[\]}]|[0-9]+')

SECRET_FIELDS = ("invitationUrl",)
_SECRET_NAMES = tuple(field.encode() for field in SECRET_FIELDS)

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

    @property
    def total(self) -> int | None:
        """Records in the whole list, where the service states it and its numbers agree.

        `numberOfElements` is documented as the total, but some services put the page's count there;
        then it does not fit `numberOfPages`.
        """
        if self.number_of_elements is None or not self.page_size:
            return None
        pages = -(-self.number_of_elements // self.page_size)
        return self.number_of_elements if pages == self.number_of_pages else None


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

    UnexpectedResponse where the body is no JSON object, says `success: false`, has no `result`, or
    more values than any answer.
    """
    if body.count(b",") > _MOST_VALUES:
        raise unexpected(operation, f"the body has more than {_MOST_VALUES:,} values")
    try:
        if not body.isascii():
            body.decode("utf-8")  # what no model names is kept unread, so it is checked here
        envelope = decode_json(without_secrets(body, operation), Envelope)
    except UNREADABLE as error:
        raise unexpected(operation, f"the body is not the contract's ({error})") from None
    if not envelope.success or isinstance(envelope.result, msgspec.UnsetType):
        raise unexpected(operation, "the body has no result")
    return envelope


def unwrap(envelope: Envelope) -> tuple[bytes, Any]:
    """The bytes of the result itself, and the id that the wrapper of a create announces, if any."""
    assert isinstance(envelope.result, msgspec.Raw)
    raw = bytes(envelope.result)
    if raw.startswith(b"{") and b'"createdResourceId"' in raw:
        created = decode_json(raw, _Created)
        if created.created_resource_id and isinstance(created.response, msgspec.Raw):
            return bytes(created.response), created.created_resource_id
    return raw, None


def decode(raw: bytes, model: type[T], operation: str) -> Record[T]:
    """One record; UnexpectedResponse names the field that does not fit."""
    _require_plain(raw, operation)
    try:
        return Record(decode_json(raw, model), raw)
    except UNREADABLE as error:
        problem = f"a {model.__name__} does not read ({error})"
        raise unexpected(operation, problem) from None


def split(raw: bytes, operation: str) -> list[bytes]:
    """The elements of a JSON array, each as its bytes."""
    try:
        items = msgspec.json.decode(raw, type=list[msgspec.Raw])
    except UNREADABLE as error:
        raise unexpected(operation, f"the result is not a list ({error})") from None
    if len(items) > MOST_RECORDS:
        raise unexpected(operation, f"the result has more than {MOST_RECORDS:,} records")
    return [bytes(item) for item in items]


def is_plain(raw: bytes, records: int = 1) -> bool:
    """Whether so many records are certain to be no deeper, and to have no longer number, than may.

    A quick look: digits in a row show at every eighth place. What fails it may still be plain.
    """
    levels = raw.count(b"{") + raw.count(b"[") - records
    return levels < DEEPEST and _LONG not in raw[::_STRIDE].translate(_DIGITS)


def _require_plain(raw: bytes, operation: str) -> None:
    """Refuse what whoever reads the record later may not be able to read."""
    if is_plain(raw):
        return
    depth = 0
    for token in _TOKENS.finditer(raw.replace(b"\\\\", b"").replace(b'\\"', b"")):
        first = token[0][:1]
        depth += (first in b"[{") - (first in b"]}")
        if depth > DEEPEST:
            raise unexpected(operation, f"a record has more than {DEEPEST} levels")
        if first.isdigit() and len(token[0]) > LONGEST:
            raise unexpected(operation, f"a record has a number of more than {LONGEST} digits")


def without_secrets(body: bytes, operation: str) -> bytes:
    """The same JSON without the fields that nobody may keep; untouched where it has none."""
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
    """The error of an answer that is not the contract's."""
    return UnexpectedResponse(
        f"{operation}: {problem}",
        do="check that the address is the service's own, then report it to the provider",
        operation=operation,
    )
