"""Field 86 of MT940, the text in which banks hide everything that has no field: its dialects.

SWIFT gives six lines of free text. German and central European banks cut them into numbered
subfields (`?20`), in which SEPA put keywords (`EREF+`); Dutch banks write keywords between slashes
(`/EREF/`); others number lines in a field of their own (`:NS:`). What is in none of these dialects
stays as it is: lines of text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from treasury.statements.values import account_number, reference

__all__ = ["Details", "read_details", "read_numbered_lines"]


class Details(msgspec.Struct, gc=False):
    """What a text says, under the names of the columns."""

    remittance: tuple[str, ...] = ()
    structured: tuple[str, ...] = ()
    information: str | None = None
    code: str | None = None
    name: str | None = None
    account: str | None = None
    agent: str | None = None
    end_to_end_id: str | None = None
    instruction_id: str | None = None
    payment_information_id: str | None = None
    transaction_id: str | None = None
    uetr: str | None = None
    mandate_id: str | None = None
    return_reason: str | None = None
    ultimate_debtor: str | None = None
    ultimate_creditor: str | None = None
    instructed: str | None = None
    charges: str | None = None
    rate: str | None = None
    inferred: tuple[str, ...] = ()


_SUBFIELDS: Final = re.compile(r"\s*(\d{3})?\s*([?>~<^|!%$@#])(?=\d\d)")
_KEYWORD: Final = re.compile(
    r"(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|PURP|RREF|BREF|RTRN|IREF|PREF|UETR)"
    r"\s?([+])"
)
_COLON_KEYWORD: Final = re.compile(
    r"(?:(?<=\s)|^)(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|PURP|IBAN|BIC):\s?"
)
_SLASHED: Final = re.compile(
    r"/(ADDR|BENM|BIC|BNAM|BUSP|CHGI|CHGS?|CNTP|CSID|EREF|EXCH|IBAN|ID|IREF|ISDT|KREF|MARF|MREF|"
    r"NAME|NRTX|OAMT|OCMT|ORDP|PREF|PURP|PURS|REMI|RREF|RTRN|SVCL|SVWZ|TRCD|TRTP|TXTP|TYPE|UDTR|"
    r"UCRD|ULTB|ULTC|ULTD|UETR)/"
)
_REK_NAAM: Final = re.compile(r"REK: ?([A-Z]{2}\d\d[A-Z0-9]{4,30})/NAAM: ?([^\n]+)")
_LEADING_IBAN: Final = re.compile(r"([A-Z]{2}\d\d[A-Z]{4}[A-Z0-9]{6,26}) ([^\n]+)\n")
_NO_VALUE: Final = re.compile(r"[\s/]*")


def read_details(text: str) -> Details:
    """What the text of a field 86 says."""
    subfields = _SUBFIELDS.match(text)
    if subfields is not None:
        return _subfields(text, subfields)
    flat = text.replace("\n", "")
    found = _SLASHED.match(flat.lstrip())
    if found is not None:
        return _slashed(flat.lstrip())
    if _KEYWORD.match(flat.lstrip()):
        details = Details()
        _keywords(details, flat)
        return details
    return _free(text)


def read_numbered_lines(text: str) -> Details:
    """What the lines of a field `:NS:` say, each of which begins with a number."""
    parts: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if line[:2].isdigit():
            parts.setdefault(line[:2], []).append(line[2:].strip())
    return _numbered(parts, _lines_between(parts, 1, 14), (("15", "16"), "17", "34", "33"))


def _subfields(text: str, matched: re.Match[str]) -> Details:
    """`?20` and its like: `?00` booking text, `?20` remittance, `?30` the other party."""
    flat = text[matched.end(2) :].replace("\n", "")
    parts: dict[str, list[str]] = {}
    for piece in _cuts(matched[2]).split(flat):
        parts.setdefault(piece[:2], []).append(piece[2:])
    pieces = [*_lines_between(parts, 20, 29), *_lines_between(parts, 60, 63)]
    details = _numbered(parts, pieces, (("32", "33"), "00", "31", "30"))
    details.code = matched[1]
    details.account = _account(_joined(parts, "38")) or details.account
    return details


@lru_cache(maxsize=16)
def _cuts(separator: str) -> re.Pattern[str]:
    return re.compile(rf"{re.escape(separator)}(?=\d\d)")


def _numbered(
    parts: dict[str, list[str]],
    pieces: list[str],
    where: tuple[tuple[str, str], str, str, str],
) -> Details:
    """The details in numbered parts; `where` has the numbers of name, text, account, bank."""
    names, booking, account, agent = where
    details = Details(
        information=_joined(parts, booking),
        name=_joined(parts, *names),
        account=_account(_joined(parts, account)),
        agent=_joined(parts, agent),
    )
    text = "".join(pieces)
    if _KEYWORD.search(text) or _COLON_KEYWORD.match(text):
        _keywords(details, text)
    else:
        details.remittance = tuple(piece.strip() for piece in pieces if piece.strip())
    return details


def _keywords(details: Details, text: str) -> None:
    """`EREF+... SVWZ+...`: SEPA's keywords, the text before the first one being remittance too."""
    pattern = _KEYWORD if _KEYWORD.search(text) else _COLON_KEYWORD
    found = list(pattern.finditer(text))
    before = text[: found[0].start()].strip() if found else text.strip()
    remittance = [before] if before else []
    ends = [*(matched.start() for matched in found[1:]), len(text)]
    for matched, end in zip(found, ends, strict=True):
        value = text[matched.end() : end].strip()
        if matched[1] == "SVWZ":
            remittance += [value] if value else []
        elif value:
            _KEYS[matched[1]](details, value)
    details.remittance = tuple(remittance)


def _slashed(text: str) -> Details:
    """`/EREF/.../REMI/...`: keywords between slashes; a keyword may open a group of others."""
    details = Details()
    found = list(_SLASHED.finditer(text))
    ends = [*(matched.start() for matched in found[1:]), len(text)]
    group = ""
    for matched, end in zip(found, ends, strict=True):
        key, value = matched[1], text[matched.end() : end].strip().strip("/").strip()
        if key in _GROUPS:
            group = key
        if not value:
            continue
        if key in {"NAME", "ID", "IBAN", "BIC", "ADDR"} and group in _ULTIMATE:
            if key == "NAME":
                setattr(details, _ULTIMATE[group], value)
        elif key == "CNTP":
            _counterparty(details, value)
        elif key == "REMI":
            _remitted(details, value)
        elif key in _KEYS:
            _KEYS[key](details, value)
    return details


def _counterparty(details: Details, value: str) -> None:
    """`/CNTP/account/agent/name/town/`: parts without keywords."""
    account, agent, name = (*(part.strip() or None for part in value.split("/")), None, None, None)[
        :3
    ]
    details.account = _account(account)
    details.agent, details.name = agent, name


def _remitted(details: Details, value: str) -> None:
    """`USTD//text`, `STRD/issuer/reference`, or just the text."""
    kind, _, rest = value.partition("/")
    if kind == "STRD":
        details.structured += (rest.rpartition("/")[2],)
    else:
        details.remittance += (rest.lstrip("/") if kind == "USTD" else value,)


def _free(text: str) -> Details:
    """Text in no dialect, a line at a time; two Dutch habits name the other party in it."""
    lines = tuple(line.strip() for line in text.split("\n") if line.strip())
    details = Details(remittance=lines)
    stated = _REK_NAAM.search(text) or _LEADING_IBAN.match(text)
    if stated is not None:
        details.account, details.name = account_number(stated[1]), stated[2].strip()
        details.inferred = ("counterparty_account", "counterparty_name")
    return details


def _set(name: str) -> Callable[[Details, str], None]:
    def keep(details: Details, value: str) -> None:
        if getattr(details, name) is None and reference(value) is not None:
            setattr(details, name, value)

    return keep


def _set_account(details: Details, value: str) -> None:
    details.account = details.account or _account(value)


def _add_text(details: Details, value: str) -> None:
    details.remittance += (value,)


def _drop(details: Details, value: str) -> None:
    """A keyword without a column; `raw` has it."""


_GROUPS: Final = frozenset(
    {"BENM", "ORDP", "CNTP", "ULTB", "ULTC", "ULTD", "UDTR", "UCRD", "REMI", "EREF", "TRTP"}
)
_ULTIMATE: Final = {
    "ULTB": "ultimate_creditor",
    "ULTC": "ultimate_creditor",
    "UCRD": "ultimate_creditor",
    "ULTD": "ultimate_debtor",
    "UDTR": "ultimate_debtor",
}
_KEYS: Final[dict[str, Callable[[Details, str], None]]] = {
    "EREF": _set("end_to_end_id"),
    "KREF": _set("payment_information_id"),
    "PREF": _set("payment_information_id"),
    "IREF": _set("instruction_id"),
    "RREF": _set("transaction_id"),
    "BREF": _set("transaction_id"),
    "UETR": _set("uetr"),
    "MREF": _set("mandate_id"),
    "MARF": _set("mandate_id"),
    "RTRN": _set("return_reason"),
    "ABWA": _set("ultimate_debtor"),
    "ABWE": _set("ultimate_creditor"),
    "ULTD": _set("ultimate_debtor"),
    "UDTR": _set("ultimate_debtor"),
    "ULTC": _set("ultimate_creditor"),
    "ULTB": _set("ultimate_creditor"),
    "UCRD": _set("ultimate_creditor"),
    "OAMT": _set("instructed"),
    "OCMT": _set("instructed"),
    "COAM": _set("charges"),
    "CHGS": _set("charges"),
    "CHG": _set("charges"),
    "EXCH": _set("rate"),
    "NAME": _set("name"),
    "BENM": _set("name"),
    "ORDP": _set("name"),
    "BIC": _set("agent"),
    "IBAN": _set_account,
    "TRTP": _set("information"),
    "TYPE": _set("information"),
    "TXTP": _set("information"),
    "SVWZ": _add_text,
    **dict.fromkeys(
        ("CRED", "DEBT", "PURP", "CSID", "PURS", "ISDT", "SVCL", "BUSP", "ADDR", "ID", "BNAM",
         "CHGI", "NRTX", "TRCD"),
        _drop,
    ),
}  # fmt: skip


def _lines_between(parts: dict[str, list[str]], first: int, last: int) -> list[str]:
    low, high = f"{first:02d}", f"{last:02d}"
    keys = sorted(key for key in parts if low <= key <= high)
    return [text for key in keys for text in parts[key]]


def _joined(parts: dict[str, list[str]], *keys: str) -> str | None:
    text = "".join(["".join(parts[key]) for key in keys if key in parts]).strip()
    return text or None


def _account(text: str | None) -> str | None:
    return account_number(text) if text and not _NO_VALUE.fullmatch(text) else None
