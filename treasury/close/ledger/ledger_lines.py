"""Reads the balances or the postings in a ledger's file, as accounting programs export them.

The columns are found by their names in several languages, also below a title. Amounts may have a
decimal point or comma, a minus before or behind, a mark for debit or credit, or separate columns
for both. Debits are positive. Rows with totals are left out. If a file is ambiguous, an error asks
for a term, which `[ledger]` or `[books]` of `accounts.toml` then states.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Final

import msgspec

from treasury.close.ledger.ledger_accounts import BooksTerms, LedgerTerms
from treasury.core.calendar import parse_day
from treasury.core.errors import InputError
from treasury.core.money import CURRENCIES, difference
from treasury.core.tables.csv_input import CsvLine, csv_rows
from treasury.statements.csv.csv_values import amount_in, cell, decimal_sign

_WORDS: Final[Mapping[str, str]] = {
    "account": "account|iban|account (?:no|number|code|id)|gl account|g/l account|ledger account"
    "|konto|kontonummer|konto-?nr|sachkonto|sachkontonummer|compte|n[°o] (?:de )?compte"
    "|num[ée]ro (?:de )?compte|compte num|comptenum|rekening|rekeningnummer|grootboekrekening"
    "|grootboeknummer|cuenta|conto|codice conto",
    "currency": "currency|currency code|ccy|cur|w[äa]e?hrung|w[äa]hrungscode|whg|wkz|devise"
    "|valuta|munt|muntcode|moneda|divisa",
    "balance": "balance|closing balance|ending balance|end balance|saldo|endsaldo|schlusssaldo"
    "|abschlusssaldo|solde|solde final|eindsaldo|saldo final|saldo finale|amount|betrag",
    "debit": "debit|debits|debit balance|debit amount|dr|soll|saldo soll|sollsaldo|umsatz soll"
    "|betrag soll|d[ée]bit|solde d[ée]biteur|debet|debe|dare",
    "credit": "credit|credits|credit balance|credit amount|cr|haben|saldo haben|habensaldo"
    "|umsatz haben|betrag haben|cr[ée]dit|solde cr[ée]diteur|haber|avere",
    "mark": "s/h|h/s|d/c|c/d|dr/cr|d/h|soll/haben|soll-/haben-?kennzeichen|shkz|sens|debit/credit"
    "|debit or credit",
}
_POSTING_WORDS: Final[Mapping[str, str]] = {
    **{name: words for name, words in _WORDS.items() if name != "balance"},
    "amount": "amount|signed amount|amount in local currency|amount in lc|movement|betrag|umsatz"
    "|buchungsbetrag|betrag hausw[äa]hrung|montant|bedrag|importe|importo",
    "date": "date|posting date|booking date|entry date|transaction date|datum|buchungsdatum"
    "|buchungstag|date comptable|date d'[ée]criture|ecrituredate|boekdatum|boekingsdatum|fecha"
    "|data|data registrazione",
    "document_date": "document date|belegdatum|date de pi[èe]ce|piecedate|documentdatum",
}
_COLUMNS, _POSTING_COLUMNS = (
    {
        name: re.compile(rf"(?:{words})\.?(?: ?[(\[]?([a-z]{{3}})[)\]]?)?")
        for name, words in words_by_name.items()
    }
    for words_by_name in (_WORDS, _POSTING_WORDS)
)
"""Patterns of a column's head in lower case; a currency may follow, as in `Saldo (EUR)`."""
_TOTAL: Final = re.compile(
    r"(?:grand |sub|sous-|zwischen|gesamt|end)?(?:total|totals|totale|totaal|totaux|summe|summen"
    r"|gesamt|suma|somme|insgesamt)(?: (?:[a-z]{3}|(?:klasse |class |classe )?[0-9]+))?:?",
    re.IGNORECASE,
)
"""Pattern of the label of a row with a total."""
_SIDES: Final = {
    **dict.fromkeys(("s", "d", "dr", "db", "soll", "debit", "débit", "debet"), 1),
    **dict.fromkeys(("h", "c", "cr", "haben", "credit", "crédit"), -1),
}
_MARKED: Final = re.compile(r"(.*?[0-9.,])\s*(S|H|DR|CR|D|C)", re.IGNORECASE | re.DOTALL)
_TEXTS: Final = {
    "text": re.compile(
        "(?:posting |booking |line )?text|description|details|narrative|memo|remarks?|buchungstext"
        "|verwendungszweck|bezeichnung|libell[ée](?: .*)?|ecriturelib|omschrijving|concepto"
        "|descripci[óo]n|descrizione|counterparty|name|partner|tiers"
    ),
    "document": re.compile(
        "document|document (?:no|number)|doc(?: no)?|voucher(?: no)?|reference|ref"
        "|external document(?: no)?|invoice(?: no| number)?|beleg|belegnummer|beleg-?nr"
        "|belegfeld ?[12]?|referenz|rechnungsnummer|pi[èe]ce|pieceref|n[°o] (?:de )?pi[èe]ce"
        "|r[ée]f[ée]rence|boekstuk|boekstuknummer|stuknummer|documento|asiento"
        "|numero documento|entry no|zuordnung"
    ),
}
"""Patterns of the columns that say what a posting is for; a file may have several of each."""
_OPENING: Final = re.compile(
    r"(?:opening balance|(?:balance )?brought forward|balance b/?f|b/f|saldovortrag|eb-?wert"
    r"|er(?:ö|oe)ffnungs(?:saldo|bilanz|bilanzwert|wert|buchung)|anfangs(?:saldo|bestand)|beginsaldo"
    r"|openingssaldo|(?:report )?[àa] nouveau|solde (?:initial|d'ouverture|report[ée])"
    r"|saldo (?:inicial|iniziale|anterior|precedente))"
    r"(?: of [A-Z]{2}[0-9A-Z]+|[ :]*(?:per|at|zum|am|du|of|on|op|au|al)?[ ]*[0-9][0-9./\- ]*)?",
    re.IGNORECASE,
)
"""Pattern of the text of a row with an account's balance before its postings."""
_CLOSING: Final = re.compile(
    r"(?:closing|ending|end) balance|(?:end|schluss|abschluss|eind)-?saldo|solde final"
    r"|saldo finale?",
    re.IGNORECASE,
)
_BARE_BALANCE: Final = re.compile(r"saldo|solde|balance|saldi|salden", re.IGNORECASE)
"""Pattern of the label of a row with a balance, if the row has no date."""
_SHORT_DAY: Final = re.compile(r"([0-9]{1,2}[./][0-9]{1,2}[./])([0-9]{2})", re.ASCII)
_CLOCK: Final = re.compile(r"[ T][0-9]{2}:[0-9]{2}(?::[0-9]{2}.*)?$", re.ASCII)
_DELIMITERS: Final = ";\t,"
_TITLE_LINES: Final = 20
"""Number of first lines in which the names of the columns are looked for."""


class Posting(msgspec.Struct, frozen=True, kw_only=True):
    """A posting to a ledger account, debits positive; `line` is its line in the file.

    `is_opening` marks the account's balance before its postings. Its day is `date.min` if the file
    states none.
    """

    line: int
    account: str
    currency: str
    day: date
    amount: Decimal
    text: str = ""
    document: str = ""
    is_opening: bool = False


def ledger_lines(
    path: Path, content: bytes, terms: LedgerTerms, *, ask: bool = False
) -> list[CsvLine]:
    """Return the account, the currency and the balance of each line; debits are positive.

    With `ask`, raise InputError if commas and points in the amounts may separate decimals or group
    thousands; without it, a point then separates decimals. Raise InputError naming the file and the
    line that cannot be read.
    """
    sheet = _read_sheet(path, content, terms, _COLUMNS)
    account_rows = [(line, cells) for line, cells in sheet.rows if not _is_total(cells, sheet.at)]
    sign = _decimal_sign(path, account_rows, sheet.at, terms, ask=ask)
    lines = []
    for line, cells in account_rows:
        where = f"{path}, line {line}"
        account, currency = _account_cells(where, cells, sheet)
        balance = _balance(where, cells, sheet.at, sign, terms.amount_column)
        lines.append(CsvLine(line, {"account": account, "currency": currency, "balance": balance}))
    return lines


def ledger_postings(
    path: Path, content: bytes, terms: BooksTerms, *, ask: bool = False
) -> list[Posting]:
    """Return the postings and opening balances in a file; errors as in `ledger_lines`.

    Rows with totals or closing balances are left out.
    """
    sheet = _read_sheet(path, content, terms, _POSTING_COLUMNS)
    at, heads = sheet.at, [_head(text) for text in sheet.head]
    days = [at[name] for name in ("date", "document_date") if name in at]
    columns = {
        name: [
            place
            for place, head in enumerate(heads)
            if head == _head(getattr(terms, name))
            or (not getattr(terms, name) and pattern.fullmatch(head.removesuffix(".")))
        ]
        for name, pattern in _TEXTS.items()
    }
    rows = []
    for line, cells in sheet.rows:
        day_text = next(filter(None, (_text_at(cells, place) for place in days)), "")
        labels = [text for text in cells if text]
        is_opening = any(map(_OPENING.fullmatch, labels))
        is_closing = any(map(_CLOSING.fullmatch, labels))
        if not day_text and not is_opening:
            is_closing |= any(
                _TOTAL.fullmatch(text) or _BARE_BALANCE.fullmatch(text) for text in labels
            )
        if not is_closing:
            rows.append((line, cells, day_text, is_opening))
    sign = _decimal_sign(path, [row[:2] for row in rows], at, terms, ask=ask)
    postings = []
    for line, cells, day_text, is_opening in rows:
        where = f"{path}, line {line}"
        account, currency = _account_cells(where, cells, sheet)
        if not day_text and not is_opening:
            raise InputError(f"{where}: date is empty", do="fill it in, or remove the line")
        texts = {
            name: " ".join(filter(None, (_text_at(cells, place) for place in places)))
            for name, places in columns.items()
        }
        posting = Posting(
            line=line,
            account=account,
            currency=currency.upper(),
            day=_day(where, day_text) if day_text else date.min,
            amount=_balance(where, cells, at, sign, terms.amount_column),
            is_opening=is_opening,
            **texts,
        )
        postings.append(posting)
    return postings


_Places = Mapping[str, int]
_Rows = list[tuple[int, list[str]]]
_Columns = Mapping[str, re.Pattern[str]]


class _Sheet(msgspec.Struct, frozen=True):
    """The rows below a file's line of column names, each column's place, and the one currency."""

    head: list[str]
    rows: _Rows
    at: _Places
    currency: str


def _read_sheet(
    path: Path, content: bytes, terms: LedgerTerms | BooksTerms, patterns: _Columns
) -> _Sheet:
    """Return a file's rows; raise InputError if its columns or its currency are not known."""
    rows, at = _columns(path, content, terms, patterns)
    number, head = rows[0]
    head_currencies = {
        (match[1] or "").upper()
        for name in (terms.amount_column, "debit", "credit")
        if name in at and (match := patterns[name].fullmatch(_head(head[at[name]])))
    } & CURRENCIES
    common = terms.currency or (head_currencies.pop() if len(head_currencies) == 1 else "")
    if "currency" not in at and not common:
        raise InputError(
            f"{path}, line {number}: no column has the currency",
            do=f'add currency = "EUR", or the right one, below [{terms.section}] in accounts.toml',
        )
    return _Sheet(
        head, [(line, _cells(path, line, cells, head)) for line, cells in rows[1:]], at, common
    )


def _account_cells(where: str, cells: Sequence[str], sheet: _Sheet) -> tuple[str, str]:
    """Return the account and the currency of a row; raise InputError if one is empty."""
    account = _cell(cells, sheet.at, "account")
    currency = _cell(cells, sheet.at, "currency") or sheet.currency
    for name, value in (("account", account), ("currency", currency)):
        if not value:
            raise InputError(f"{where}: {name} is empty", do="fill it in")
    return account, currency


def _day(where: str, text: str) -> date:
    """Return the day in a cell, which may have a time or a year of two digits."""
    day_text = _CLOCK.sub("", text)
    if short := _SHORT_DAY.fullmatch(day_text):
        day_text = f"{short[1]}20{short[2]}"
    try:
        return parse_day(day_text)
    except InputError as error:
        raise InputError(f"{where}: {error.what}", do=error.do) from None


def _columns(
    path: Path, content: bytes, terms: LedgerTerms | BooksTerms, patterns: _Columns
) -> tuple[_Rows, _Places]:
    """Return the line that names the columns, the rows below it, and each column's place."""
    problem = None
    for delimiter in _DELIMITERS:
        try:
            rows = csv_rows(path, content, delimiter)
        except InputError as error:
            # Quoted cells look wrong if they are split at another delimiter.
            problem = problem or error
            continue
        for at, (number, cells) in enumerate(rows[:_TITLE_LINES]):
            places = _places(f"{path}, line {number}", cells, terms, patterns)
            has_amount = terms.amount_column in places or {"debit", "credit"} <= places.keys()
            has_day = "date" not in patterns or places.keys() & {"date", "document_date"}
            if "account" in places and has_amount and has_day:
                return rows[at:], places
    if problem is not None:
        raise problem
    *names, last = terms.needed_columns
    lines = ", ".join(f'{name} = "…"' for name in terms.needed_columns)
    raise InputError(
        f"{path}: no line names the columns of {', '.join(names)} and {last},"
        " or of debit and credit",
        do=f"give it the columns {', '.join((*names, 'currency'))} and {last}; or name its own"
        f" columns in accounts.toml, below [{terms.section}]: {lines}",
    )


def _places(
    where: str, cells: Sequence[str], terms: LedgerTerms | BooksTerms, patterns: _Columns
) -> dict[str, int]:
    """Return the place of each column in a line; the terms may name a column.

    Raise InputError if two columns have the same meaning.
    """
    heads = [_head(text) for text in cells]
    places: dict[str, int] = {}
    for name, pattern in patterns.items():
        own = _head(getattr(terms, name, ""))
        if own:
            columns = [at for at, head in enumerate(heads) if head == own]
        else:
            columns = [at for at, head in enumerate(heads) if pattern.fullmatch(head)]
        if len(columns) > 1:
            both_heads = " and ".join(repr(cells[at].strip()) for at in columns[:2])
            raise InputError(
                f"{where}: {both_heads:.80} may both be the {name}",
                do=f'add {name} = "…", with the head of the right one, below [{terms.section}]'
                " in accounts.toml",
            )
        if columns:
            places[name] = columns[0]
    return places


def _head(text: str) -> str:
    return " ".join(cell(text).lower().split())


def _cells(path: Path, line: int, cells: Sequence[str], head: Sequence[str]) -> list[str]:
    # In a comma-separated file, 1.000,00 would be two cells, and the amount 1.
    if any(map(str.strip, cells[len(head) :])):
        raise InputError(
            f"{path}, line {line}: {len(cells)} cells for {len(head)} columns",
            do="export it with semicolons, or quote amounts that have a comma",
        )
    return [cell(text) for text in cells]


def _cell(cells: Sequence[str], at: _Places, name: str) -> str:
    return _text_at(cells, at[name]) if name in at else ""


def _text_at(cells: Sequence[str], place: int) -> str:
    # Programs leave out empty cells at the end of a row.
    return cells[place] if place < len(cells) else ""


def _is_total(cells: Sequence[str], at: _Places) -> bool:
    """Return whether a row is a total: it has the label of a total instead of an account."""
    account = _cell(cells, at, "account")
    if account:
        return _TOTAL.fullmatch(account) is not None
    return any(map(_TOTAL.fullmatch, cells))


def _decimal_sign(
    path: Path, rows: _Rows, at: _Places, terms: LedgerTerms | BooksTerms, *, ask: bool
) -> str:
    """Return the decimal separator of the file's amounts, a comma or a point."""
    if terms.decimal:
        return terms.decimal
    texts = [
        _cell(cells, at, name)
        for name in (terms.amount_column, "debit", "credit")
        for _, cells in rows
    ]
    sign = decimal_sign(match[1] if (match := _MARKED.fullmatch(text)) else text for text in texts)
    if not sign and ask:
        example = next(text for text in texts if {",", "."} & set(text))
        raise InputError(
            f"{path}: {example!r:.40} may have decimals or thousands after its comma or point",
            do=f'add decimal = "," or decimal = "." below [{terms.section}] in accounts.toml',
        )
    return sign if sign in {",", "."} else "."


def _balance(where: str, cells: Sequence[str], at: _Places, sign: str, column: str) -> Decimal:
    """Return a row's balance or amount: of one column, or debit less credit."""
    try:
        if column in at:
            text, side_mark = _cell(cells, at, column), _cell(cells, at, "mark")
            if not text:
                raise InputError(f"{column} is empty", do="fill it in")
            return _marked(text, side_mark, sign)
        debit, credit = (
            _marked(text, "", sign) if (text := _cell(cells, at, name)) else Decimal(0)
            for name in ("debit", "credit")
        )
        return difference(debit, credit)
    except InputError as error:
        raise InputError(f"{where}: {error.what}", do=error.do or "write it as 1234.56") from None


def _marked(text: str, side_mark: str, sign: str) -> Decimal:
    """Return the amount of a cell; its mark for debit or credit decides its sign."""
    if marked := _MARKED.fullmatch(text):
        text, side_mark = marked[1], side_mark or marked[2]
    amount = amount_in(text, sign)
    if not side_mark:
        return amount
    side = _SIDES.get(side_mark.lower().rstrip("."))
    if side is None or amount < 0:
        problem = "does not mark debit or credit" if side is None else f"and {text!r:.40} disagree"
        raise InputError(
            f"{side_mark!r:.20} {problem}", do="write S or H, or D or C, after a plain amount"
        )
    return amount if side > 0 else amount.copy_negate()
