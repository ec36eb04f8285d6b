"""Dialects of field 86 of MT940, a text with all values that have no field of their own.

SWIFT gives six lines of free text. German and central European banks split them into numbered
subfields (`?20`), in which SEPA put keywords (`EREF+`); Dutch banks write keywords between slashes
(`/EREF/`); others number lines in a separate field (`:NS:`). Any other text is read line by line.

Texts with the same subfields or keywords in the same order are parsed together, each part as a
column, because a bank repeats the form of its texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from operator import contains
from typing import Any, Final, TypeVar

from treasury.statements.field_values import account_number, reference

Columns = dict[str, list[Any]]
"""Map from a column, of `statement_entries` or `WORKING`, to a list with a value for each text."""

WORKING: Final = ("code", "instructed", "charges", "rate", "name_in_id")
"""Names of intermediate values for the rules of `mt_rows`.

They are the booking code, amounts as text, and the spelling of the other party's name from which
ids are computed.
"""

_Row = Sequence[str]
_Key = TypeVar("_Key", bound=Hashable)
_Part = TypeVar("_Part")

_KEYWORD: Final = re.compile(
    r"(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|PURP|RREF|BREF|RTRN|IREF|PREF|UETR)"
    r"\s?\+"
)
_COLON_KEYWORD: Final = re.compile(
    r"(?:(?<=\s)|^)(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|PURP|IBAN|BIC):\s?"
)
_SLASHED: Final = re.compile(
    r"/(ACCW|ADDR|BENM|BIC|BNAM|BUSP|CHGI|CHGS?|CNTP|CSID|EREF|EXCH|IBAN|ID|IREF|ISDT|KREF|MARF|MREF|"
    r"NAME|NRTX|OAMT|OCMT|ORDP|PREF|PURP|PURS|REMI|RREF|RTRN|RTYP|SVCL|SVWZ|TRCD|TRTP|TXTP|TYPE|UDTR|"
    r"UCRD|ULTB|ULTC|ULTD|UETR)(?=/)"
)
_BEGINS: Final = re.compile(
    r"\s*(?:(?:\d{3,4}\s*)?([?>~<^|!%$@#])(?=\d\d)"
    rf"|(?=(?:/[A-Z]{{4}}(?=/).*?)?{_SLASHED.pattern})(/)|(?={_KEYWORD.pattern})[A-Z]{{4}}\s?(\+))"
)
_PARTY_PATTERNS: Final = tuple(
    (marker, re.compile(pattern))
    for marker, pattern in (
        ("REK:", r"REK: ?([A-Z]{2}\d\d[A-Z0-9]{4,30})/NAAM: ?([^\n]+)"),
        (
            "NAAM:",
            r"IBAN: ?([A-Z]{2}\d\d[A-Z0-9]{4,30})\s[\s\S]{0,390}?NAAM: ?(\S[^\n]*?)(?=\s\s|\n|$)",
        ),
        ("RACH.:", r"(?i:\brach\.:\s*(\w{4,34});\s*(?:od|dla):)\s*([^;]+);"),
    )
)
"""Patterns of single banks: a marker in the text, and the other party's account and name.
"""
_LEADING_IBAN: Final = re.compile(r"([A-Z]{2}\d\d[A-Z]{4}[A-Z0-9]{6,26}) ([^\n]+)\n")
_NO_VALUE: Final = re.compile(r"[\s/]*")


def details_of(texts: Sequence[str], numbered: frozenset[int] = frozenset()) -> Columns:
    """Return the columns in texts of field 86, or of field NS at the positions `numbered`."""
    way = _dialect(texts[0])
    if len(way.strip("/+")) == 1 and not numbered and _whole(way).fullmatch("\0".join(texts)):
        # Usually all texts of a bank have one dialect.
        return _subfields(way, texts)
    ways = list(map(_dialect, texts))
    for at in numbered:
        ways[at] = "NS"
    return _together(ways, texts, _read)


def _dialect(text: str) -> str:
    """Return the dialect of a text: the sign before the numbers of subfields, or a name."""
    matched = _BEGINS.match(text.replace("\n", ""))
    return matched[matched.lastindex or 0] if matched else ""


@lru_cache(maxsize=16)
def _whole(separator: str) -> re.Pattern[str]:
    pattern = rf"\s*(?:\d{{3,4}}\s*)?{re.escape(separator)}\d\d[^\0]*"
    return re.compile(rf"{pattern}(?:\0{pattern})*")


def _read(way: str, texts: Sequence[str]) -> Columns:
    match way:
        # `/EREF/.../REMI/...`: keywords between slashes.
        case "/":
            plain = [text.replace("\n", "").lstrip() for text in texts]
            return _cut(_SLASHED, plain, _of_slashed)
        # `EREF+... SVWZ+...` without subfields.
        case "+":
            return _cut(_KEYWORD, [text.replace("\n", "") for text in texts], _of_keywords)
        # Each line begins with a number.
        case "NS":
            rows = [[line for line in text.split("\n") if line[:2].isdigit()] for text in texts]
            return _together([tuple(line[:2] for line in row) for row in rows], rows, _of_lines)
        case "":
            return _free(texts)
    return _subfields(way, texts)


def _cut(
    pattern: re.Pattern[str],
    texts: Sequence[str],
    read: Callable[[tuple[str, ...], Sequence[_Row]], Columns],
) -> Columns:
    """Return the columns of texts without line breaks, split at the keys that a pattern finds.

    `read` gets the keys, and one column of texts for the part before the first key and after each
    key.
    """
    if alike := _cut_alike(pattern, texts):
        return read(*alike)
    rows = list(map(pattern.split, texts))
    return _together(
        [tuple(row[1::2]) for row in rows],
        rows,
        lambda keys, some: read(keys, list(zip(*some, strict=True))[::2]),
    )


def _cut_alike(
    pattern: re.Pattern[str], texts: Sequence[str]
) -> tuple[tuple[str, ...], Sequence[_Row]] | None:
    """Return keys and columns of texts that all have the first text's keys in order, or None."""
    count, keys = len(texts), tuple(pattern.findall(texts[0]))
    pieces = pattern.split("\n".join(texts)) if keys else []
    if not keys or pieces[1::2] != list(keys) * count:
        return None
    *columns, last = [pieces[2 * at :: 2 * len(keys)] for at in range(1, len(keys) + 1)]
    # The texts are joined, so each text must end within its own last value.
    ends = "\n".join(last).split("\n")
    if len(ends) != 2 * count - 1 or not all(map(contains, last[:-1], repeat("\n"))):
        return None
    return keys, [[pieces[0], *ends[1::2]], *columns, ends[::2]]


def _together(
    keys: Sequence[_Key],
    rows: Sequence[_Part],
    read: Callable[[_Key, Sequence[_Part]], Columns],
) -> Columns:
    """Return the columns of rows; rows with the same key are read together."""
    if len(set(keys)) == 1:
        return read(keys[0], rows)
    places: dict[_Key, list[int]] = {}
    for at, key in enumerate(keys):
        places.setdefault(key, []).append(at)
    columns: Columns = {}
    for key, here in places.items():
        for name, values in read(key, [rows[at] for at in here]).items():
            column = columns.setdefault(name, [_EMPTY.get(name)] * len(rows))
            for at, value in zip(here, values, strict=True):
                column[at] = value
    return columns


_EMPTY: Final[dict[str, tuple[str, ...]]] = {
    "remittance": (), "structured_references": (), "inferred": (),
}  # fmt: skip


def _subfields(separator: str, texts: Sequence[str]) -> Columns:
    """Read subfields: `?00` booking text, `?20` remittance, `?30` the other party, and others."""
    cuts = re.compile(rf"{re.escape(separator)}(\d\d)")
    return _cut(cuts, [text.replace("\n", "") for text in texts], _of_subfields)


def _of_subfields(numbers: tuple[str, ...], columns: Sequence[_Row]) -> Columns:
    parts = _parts_of(numbers, columns[1:])
    pieces = [*_between(parts, "20", "29"), *_between(parts, "60", "63")]
    details = _numbered(parts, pieces, (("32", "33"), "00", "31", "30"))
    details["code"] = _stripped(columns[0])
    if "38" in parts:
        accounts = _accounts(_put_together(parts["38"]))
        _offer(details, "counterparty_account", accounts, first=True)
    return details


def _of_lines(numbers: tuple[str, ...], rows: Sequence[_Row]) -> Columns:
    columns = [[line[2:].strip() for line in column] for column in zip(*rows, strict=True)]
    parts = _parts_of(numbers, columns)
    return _numbered(parts, _between(parts, "01", "14"), (("15", "16"), "17", "34", "33"))


_Parts = dict[str, list[_Row]]
"""Map from the number of a part to the columns of its texts; a number may repeat."""


def _parts_of(numbers: Sequence[str], columns: Sequence[_Row]) -> _Parts:
    parts: _Parts = {}
    for number, column in zip(numbers, columns, strict=True):
        parts.setdefault(number, []).append(column)
    return parts


def _between(parts: _Parts, first: str, last: str) -> list[_Row]:
    """Return the columns whose numbers are in a range, ordered by number."""
    return [
        column for number in sorted(parts) if first <= number <= last for column in parts[number]
    ]


def _put_together(columns: Sequence[_Row]) -> Sequence[str]:
    return columns[0] if len(columns) == 1 else list(map("".join, zip(*columns, strict=True)))


def _numbered(
    parts: _Parts,
    pieces: Sequence[_Row],
    where: tuple[tuple[str, str], str, str, str],
) -> Columns:
    """Return the columns in numbered parts.

    `where` has the numbers of the name, the booking text, the account and the agent.
    """
    names, booking, account, agent = where
    details: Columns = {}
    for name, number in (("additional_information", booking), ("counterparty_agent", agent)):
        if number in parts:
            details[name] = _stripped(_put_together(parts[number]))
    details.update(_named_in([column for name in names for column in parts.get(name, ())]))
    if account in parts:
        details["counterparty_account"] = _accounts(_put_together(parts[account]))
    if pieces:
        texts = _put_together(pieces)
        details.update(_remittance(texts, pieces))
    return details


def _named_in(parts: Sequence[_Row]) -> Columns:
    """Join the other party's name from parts of 27 characters; a shorter part ends a word."""
    if not parts:
        return {}
    plain = _stripped(_put_together(parts))
    if len(parts) == 1:
        return {"counterparty_name": plain}
    names: list[str] = []
    for row in zip(*parts, strict=True):
        name = last = ""
        for part in row:
            ends = 0 < len(last) < _NAME_PART and not last[-1].isspace() and not part[:1].isspace()
            name, last = f"{name} {part}" if ends else name + part, part
        names.append(name)
    return {"counterparty_name": _stripped(names), "name_in_id": plain}


_NAME_PART: Final = 27
"""Number of characters in `?32` and `?33`, and in lines 15 and 16 of field NS."""


def _remittance(texts: Sequence[str], pieces: Sequence[_Row]) -> Columns:
    """Read texts that consist of pieces, by the keywords in them or else piece by piece."""
    if alike := _cut_alike(_KEYWORD, texts):
        return _of_keywords(*alike)
    ways = [
        "+" if _KEYWORD.search(text) else ":" if _COLON_KEYWORD.match(text) else ""
        for text in texts
    ]
    if ":" in ways:
        # A keyword is recognised only at the beginning of a word.
        texts = [
            "".join(f" {piece}" if _COLON_KEYWORD.match(piece) else piece for piece in row)
            for row in zip(*pieces, strict=True)
        ]
    if "" not in ways:
        return _together(ways, texts, lambda way, some: _cut(_BY_WAY[way], some, _of_keywords))

    def keywords_or_pieces(way: str, rows: Sequence[_Row]) -> Columns:
        texts, *pieces = zip(*rows, strict=True)
        return _cut(_BY_WAY[way], texts, _of_keywords) if way else {"remittance": _texts(pieces)}

    return _together(ways, list(zip(texts, *pieces, strict=True)), keywords_or_pieces)


_BY_WAY: Final = {"+": _KEYWORD, ":": _COLON_KEYWORD}


def _of_keywords(keys: tuple[str, ...], columns: Sequence[_Row]) -> Columns:
    """Read texts with SEPA keywords; the text before the first keyword is remittance too."""
    details: Columns = {}
    remittance: list[_Row] = [columns[0]]
    for key, values in zip(keys, columns[1:], strict=True):
        if key == "SVWZ":
            remittance.append(values)
        else:
            _take(details, key, list(map(str.strip, values)))
    details["remittance"] = _texts(remittance)
    return details


def _of_slashed(keys: tuple[str, ...], columns: Sequence[_Row]) -> Columns:
    """Read texts with keywords between slashes.

    Some keywords open a group, for example the fields of an ultimate debtor.
    """
    details: Columns = {}
    remittance: list[_Row] = []
    if any(columns[0]):
        details["additional_information"] = _stripped(columns[0])
    group = ""
    for key, column in zip(keys, columns[1:], strict=True):
        values = [value.strip().strip("/").strip() for value in column]
        group = key if key in _GROUPS else group
        if key in _PARTY and group in _ULTIMATE:
            if key == "NAME":
                _offer(details, _ULTIMATE[group], [value or None for value in values], first=True)
        elif key in {"CNTP", "ACCW"}:
            cut = column if key == "CNTP" else [text.replace(",", "/") for text in column]
            # `/CNTP/account/agent/name/town/` has parts without keywords.
            rows = [[part.strip() for part in f"{value}///".split("/")[1:4]] for value in cut]
            accounts, agents, names = zip(*rows, strict=True)
            for name, parts in {
                "counterparty_account": _accounts(accounts),
                "counterparty_agent": [agent or None for agent in agents],
                "counterparty_name": [name or None for name in names],
            }.items():
                _offer(details, name, parts, first=True)
        elif key == "REMI":
            structured, free = zip(*map(_remitted, values), strict=True)
            remittance.append(free)
            before = details.get("structured_references", [()] * len(structured))
            details["structured_references"] = [
                (*stated, added) if added else stated
                for stated, added in zip(before, structured, strict=True)
            ]
        elif key == "SVWZ":
            remittance.append(values)
        else:
            _take(details, key, values)
    if remittance:
        details["remittance"] = _texts(remittance)
    return details


def _remitted(value: str) -> tuple[str, str]:
    """Return reference and text of `USTD//text` or `STRD/issuer/reference`, else only the text."""
    kind, _, text = value.partition("/")
    if kind == "STRD":
        return text.rpartition("/")[2], ""
    return "", text.lstrip("/") if kind == "USTD" else value


def _free(texts: Sequence[str]) -> Columns:
    """Read texts of unknown dialects line by line; some banks name the other party in them."""
    details: Columns = {
        "remittance": [tuple(filter(None, map(str.strip, text.split("\n")))) for text in texts]
    }
    parties = [_party_in(text) for text in texts]
    if any(parties):
        details["counterparty_account"] = [party and account_number(party[1]) for party in parties]
        details["counterparty_name"] = [party and " ".join(party[2].split()) for party in parties]
        both = ("counterparty_account", "counterparty_name")
        details["inferred"] = [both if party else () for party in parties]
    return details


def _party_in(text: str) -> re.Match[str] | None:
    upper = text.upper()
    for marker, pattern in _PARTY_PATTERNS:
        if marker in upper and (matched := pattern.search(text)):
            return matched
    return _LEADING_IBAN.match(text) if "\n" in text else None


def _take(details: Columns, key: str, values: Sequence[str]) -> None:
    """Store the values of a keyword in its column; without a column they remain in `raw`."""
    name = _COLUMN.get(key)
    if name == "counterparty_account":
        _offer(details, name, _accounts(values))
    elif name is not None:
        _offer(details, name, references(values))


def references(texts: Sequence[str]) -> list[str | None]:
    """Return the references, with None for empty texts and placeholders."""
    distinct = set(texts)
    if len(distinct) * 4 < len(texts):
        by_text = {text: reference(text) or None for text in distinct}
        return [by_text[text] for text in texts]
    return [(reference(text) if text[0] in "Nn" else text) if text else None for text in texts]


def _offer(details: Columns, name: str, values: list[Any], *, first: bool = False) -> None:
    """Fill missing values of a column; with `first`, these values override existing ones."""
    before = details.get(name)
    if before is None:
        details[name] = values
    else:
        pairs = zip(values, before, strict=True) if first else zip(before, values, strict=True)
        details[name] = [a if a is not None else b for a, b in pairs]


def _texts(columns: Sequence[_Row]) -> list[tuple[str, ...]]:
    """Return the texts of each row that are not empty."""
    several = [column for column in columns if any(column)] or columns[:1]
    if len(several) == 1:
        return [(text,) if text else () for text in map(str.strip, several[0])]
    return [
        tuple([text for text in map(str.strip, row) if text]) for row in zip(*several, strict=True)
    ]


def _stripped(texts: Sequence[str]) -> list[str | None]:
    return [text or None for text in map(str.strip, texts)]


def _accounts(texts: Iterable[str]) -> list[str | None]:
    return [text if text.isalnum() and text.isupper() else _account(text) for text in texts]


def _account(text: str) -> str | None:
    return account_number(text) if text and not _NO_VALUE.fullmatch(text) else None


_GROUPS: Final = frozenset(
    {"BENM", "ORDP", "CNTP", "ULTB", "ULTC", "ULTD", "UDTR", "UCRD", "REMI", "EREF", "TRTP"}
)
_PARTY: Final = frozenset({"NAME", "ID", "IBAN", "BIC", "ADDR"})
_ULTIMATE: Final = {
    "ULTB": "ultimate_creditor_name",
    "ULTC": "ultimate_creditor_name",
    "UCRD": "ultimate_creditor_name",
    "ULTD": "ultimate_debtor_name",
    "UDTR": "ultimate_debtor_name",
}
_COLUMN: Final = {
    "EREF": "end_to_end_id",
    "KREF": "payment_information_id",
    "PREF": "payment_information_id",
    "IREF": "instruction_id",
    "RREF": "transaction_id",
    "BREF": "transaction_id",
    "UETR": "uetr",
    "MREF": "mandate_id",
    "MARF": "mandate_id",
    "RTRN": "return_reason",
    "ABWA": "ultimate_debtor_name",
    "ABWE": "ultimate_creditor_name",
    **_ULTIMATE,
    "OAMT": "instructed",
    "OCMT": "instructed",
    "COAM": "charges",
    "CHGS": "charges",
    "CHG": "charges",
    "EXCH": "rate",
    "NAME": "counterparty_name",
    "BENM": "counterparty_name",
    "ORDP": "counterparty_name",
    "BIC": "counterparty_agent",
    "IBAN": "counterparty_account",
    "TRTP": "additional_information",
    "RTYP": "additional_information",
    "TYPE": "additional_information",
    "TXTP": "additional_information",
}
"""Column of each keyword; a keyword without a column only ends the value before it."""
