"""Checks that an answer is about the same record as its request.

A request can get an answer about another record: from a cache with a wrong key, a proxy that mixes
up connections, or a surplus response. The column `identity` of `operations.csv` therefore declares
which values the request and the answer of each operation share, with entries such as `id={id}`.
The left side names a field of the answer. The right side names an id in the path or, without
braces, a field of the request's body. A dot separates an object from its field. Names separated by
`|` are alternatives: one of the fields must be equal.

A field that is missing, null or blank on either side is not compared. In a list, each record is
compared.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec

from treasury.api.codec import LONGEST, UNREADABLE, encode, unexpected
from treasury.api.operations import IDENTITY
from treasury.core.decoding import decode_json
from treasury.core.errors import UnexpectedResponse
from treasury.core.identifiers import plain_account, plain_address
from treasury.core.text import clean, service_code

_PLACE: Final = re.compile(r"\{(\w+)\}")
_UUID: Final = re.compile(r"[0-9a-f]{8}(-?)[0-9a-f]{4}(\1[0-9a-f]{4}){2}\1[0-9a-f]{12}")
_NUMBER: Final = tuple(b"-0123456789"[at : at + 1] for at in range(11))
_Members = dict[str, msgspec.Raw]


class SharedValue(msgspec.Struct, frozen=True):
    """One entry of the column `identity`: one of the `shown` fields must equal the `sent` one."""

    shown: tuple[tuple[str, ...], ...]
    sent: tuple[str, ...]
    in_path: bool

    @classmethod
    def parse(cls, entry: str) -> SharedValue:
        """Parse an entry such as `senderAccountId|receiverAccountId={accountId}`."""
        shown, _, sent = entry.partition("=")
        place = _PLACE.fullmatch(sent)
        return cls(
            shown=tuple(tuple(name.split(".")) for name in shown.split("|")),
            sent=(place[1],) if place else tuple(sent.split(".")),
            in_path=place is not None,
        )


class _Rule(msgspec.Struct, frozen=True):
    """The comparisons for one operation, and struct types that decode only the compared fields.

    `one` decodes a record, `many` a list of records.
    """

    comparisons: tuple[SharedValue, ...]
    one: Any
    many: Any


def _rule(entries: str) -> _Rule:
    comparisons = tuple(SharedValue.parse(entry) for entry in entries.split())
    names = dict.fromkeys(path[0] for comparison in comparisons for path in comparison.shown)
    one = msgspec.defstruct(
        "Identity", [(name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for name in names]
    )
    return _Rule(comparisons, one, list[one])  # type: ignore[valid-type]


_RULES: Final[Mapping[str, _Rule]] = {name: _rule(entries) for name, entries in IDENTITY.items()}
_BY_ID: Final = _rule("id={id}")
"""Default rule for an operation whose route ends in `/{id}`."""
_BY_WRAPPER: Final = _rule("id=createdResourceId")
"""Rule for the wrapper in which the newest generation of the service returns a created record."""
_NO_RULE: Final = _rule("")


def other_record(
    operation: str,
    ids: tuple[str, ...],
    content: bytes | None,
    result: bytes,
    created_id: object = None,
) -> str:
    """Return how the answer differs from the request; "" if it is about the same record.

    `content` is the request's body and `result` the answer's result. `created_id` is the id in the
    wrapper around a created record. Raise UnexpectedResponse if a record cannot be decoded.
    """
    rule = _RULES.get(operation) or (_BY_ID if operation.endswith("/{id}") else _NO_RULE)
    try:
        other = _differs(rule, operation, ids, content, result)
        if created_id is not None and not other:
            wrapper = encode({"createdResourceId": created_id})
            other = _differs(_BY_WRAPPER, "", (), wrapper, result)
    except UNREADABLE as error:
        raise unexpected(operation, f"a record cannot be decoded ({error})") from None
    return other


def _differs(
    rule: _Rule, operation: str, ids: tuple[str, ...], content: bytes | None, result: bytes
) -> str:
    """Return the first difference between result and request by this rule; "" if there is none."""
    if not rule.comparisons or result[:1] not in {b"{", b"["}:
        return ""
    records = decode_json(result, rule.many if result.startswith(b"[") else rule.one)
    return _compare(
        rule.comparisons,
        dict(zip(_PLACE.findall(operation), ids, strict=True)),
        decode_json(content, _Members) if content and content.startswith(b"{") else {},
        records if isinstance(records, list) else [records],
    )


def wrong_record(operation: str, ids: tuple[str, ...], other: str) -> UnexpectedResponse:
    """Return the error for a read that returned another record."""
    return UnexpectedResponse(
        f"{operation}: the answer is {other}",
        do="read the record again; if the error persists, a proxy mixes up answers",
        operation=operation,
        ids=ids,
    )


def _compare(
    comparisons: Iterable[SharedValue],
    ids: Mapping[str, str],
    body: _Members,
    records: Sequence[Any],
) -> str:
    """Return the first difference between any record and the request."""
    for comparison in comparisons:
        name = comparison.sent[-1]
        if comparison.in_path:
            sent: str | None = ids[name]
        else:
            first, *path = comparison.sent
            sent = _scalar_of(body.get(first, msgspec.UNSET), path)
        if sent is None:
            continue
        # Most answers repeat the value byte for byte, as text or as a number.
        spellings = (msgspec.json.encode(sent), sent.encode())
        whole = [path for path in comparison.shown if len(path) == 1]
        for record in records:
            if any(bytes(getattr(record, path[0]) or b"") in spellings for path in whole):
                continue
            shown = _difference(comparison, _FORMS.get(name, _identifier), sent, record)
            if shown:
                return f"about {shown}, not {name} {_quoted(name, sent)}"
    return ""


def _difference(
    comparison: SharedValue, form: Callable[[str], object], sent: str, record: Any
) -> str:
    """Return how the record differs from `sent`; "" if one of the fields is equal to it."""
    differing: tuple[tuple[str, ...], str] | None = None
    for path in comparison.shown:
        shown = _scalar_of(getattr(record, path[0]), path[1:])
        if shown is None:
            continue
        if shown == sent or form(shown) == form(sent):
            return ""
        differing = differing or (path, shown)
    if differing is None:
        return ""
    path, shown = differing
    return f"{'.'.join(path)} {_quoted(path[-1], shown)}"


def _scalar_of(raw: msgspec.Raw | msgspec.UnsetType, path: Sequence[str]) -> str | None:
    """Return the text or number at a path; None for a blank text or any other value."""
    content = b"" if isinstance(raw, msgspec.UnsetType) else bytes(raw)
    for name in path:
        if not content.startswith(b"{"):
            return None
        content = bytes(decode_json(content, _Members).get(name, b""))
    if content.startswith(b'"'):
        return decode_json(content, str).strip() or None
    return content.decode() if content.startswith(_NUMBER) else None


# Normalisation of values that can be written in several ways


def _identifier(text: str) -> str:
    """Normalise the case and hyphens of a UUID, or the Unicode form and blanks of another text."""
    lower = text.lower()
    if _UUID.fullmatch(lower):
        return lower.replace("-", "")
    return " ".join(unicodedata.normalize("NFC", text).split())


def _amount(text: str) -> object:
    """Convert an amount to a Decimal, so that 1.0 equals 1; return other texts unchanged."""
    try:
        return Decimal(text) if len(text) <= LONGEST else text
    except InvalidOperation:
        return text


_FORMS: Final[Mapping[str, Callable[[str], object]]] = {
    **dict.fromkeys(["amount", "inAmount"], _amount),
    **dict.fromkeys(["asset", "chain", "cryptocurrency", "currency", "inCurrency"], service_code),
    **dict.fromkeys(["outCryptocurrency", "targetCryptocurrency"], service_code),
    **dict.fromkeys(["bankAccountType", "partyType", "rampType", "roleType"], service_code),
    **dict.fromkeys(["accountNumber", "iban"], lambda text: plain_account(text).replace("-", "")),
    "address": plain_address,
    "email": str.casefold,
}
"""Normalising function by the name of the sent field; the default is `_identifier`."""


def _quoted(name: str, value: str) -> str:
    """Format a value for an error message; only the last digits of an account number are shown."""
    return f"…{clean(value[-4:])}" if name in {"accountNumber", "iban"} else clean(value)[:80]
