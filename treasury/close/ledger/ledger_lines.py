"""Reads the balances in a ledger's file, as accounting programs export them.

The columns are found by their names in several languages, also below a title. Amounts may have a
decimal point or comma, a minus before or behind, a mark for debit or credit, or separate columns
for both. Debits are positive. Rows with totals are left out. If a file is ambiguous, an error asks
for a term, which `[ledger]` of `accounts.toml` then states.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

from treasury.close.ledger.ledger_accounts import LedgerTerms
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
    "debit": "debit|debits|debit balance|dr|soll|saldo soll|sollsaldo|d[ée]bit|solde d[ée]biteur"
    "|debet|debe|dare",
    "credit": "credit|credits|credit balance|cr|haben|saldo haben|habensaldo|cr[ée]dit"
    "|solde cr[ée]diteur|haber|avere",
    "mark": "s/h|h/s|d/c|c/d|dr/cr|d/h|soll/haben|soll-/haben-?kennzeichen|shkz|sens|debit/credit"
    "|debit or credit",
}
_COLUMNS: Final = {
    name: re.compile(rf"(?:{words})\.?(?: ?[(\[]?([a-z]{{3}})[)\]]?)?")
    for name, words in _WORDS.items()
}
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
_AMOUNTS: Final = ("balance", "debit", "credit")
_DELIMITERS: Final = ";\t,"
_TITLE_LINES: Final = 20
"""Number of first lines in which the names of the columns are looked for."""


def ledger_lines(
    path: Path, content: bytes, terms: LedgerTerms, *, ask: bool = False
) -> list[CsvLine]:
    """Return the account, the currency and the balance of each line; debits are positive.

    With `ask`, raise InputError if commas and points in the amounts may separate decimals or group
    thousands; without it, a point then separates decimals. Raise InputError naming the file and the
    line that cannot be read.
    """
    rows, at = _columns(path, content, terms)
    number, head = rows[0]
    head_currencies = {
        (match[1] or "").upper()
        for name in _AMOUNTS
        if name in at and (match := _COLUMNS[name].fullmatch(_head(head[at[name]])))
    } & CURRENCIES
    common = terms.currency or (head_currencies.pop() if len(head_currencies) == 1 else "")
    if "currency" not in at and not common:
        raise InputError(
            f"{path}, line {number}: no column has the currency",
            do='add currency = "EUR", or the right one, below [ledger] in accounts.toml',
        )
    cells_of = [(line, _cells(path, line, cells, head)) for line, cells in rows[1:]]
    account_rows = [(line, cells) for line, cells in cells_of if not _is_total(cells, at)]
    sign = _decimal_sign(path, account_rows, at, terms, ask=ask)
    lines = []
    for line, cells in account_rows:
        where = f"{path}, line {line}"
        account, currency = _cell(cells, at, "account"), _cell(cells, at, "currency") or common
        for name, value in (("account", account), ("currency", currency)):
            if not value:
                raise InputError(f"{where}: {name} is empty", do="fill it in")
        balance = _balance(where, cells, at, sign)
        lines.append(CsvLine(line, {"account": account, "currency": currency, "balance": balance}))
    return lines


_Places = Mapping[str, int]
_Rows = list[tuple[int, list[str]]]


def _columns(path: Path, content: bytes, terms: LedgerTerms) -> tuple[_Rows, _Places]:
    """Return the rows from the line that names the columns on, and each column's place."""
    for delimiter in _DELIMITERS:
        rows = csv_rows(path, content, delimiter)
        for at, (number, cells) in enumerate(rows[:_TITLE_LINES]):
            places = _places(f"{path}, line {number}", cells, terms)
            has_amount = "balance" in places or {"debit", "credit"} <= places.keys()
            if "account" in places and has_amount:
                return rows[at:], places
    raise InputError(
        f"{path}: no line names the columns of account and balance, or of debit and credit",
        do="give it the columns account, currency and balance; or name its own columns in"
        ' accounts.toml, below [ledger]: account = "…", balance = "…"',
    )


def _places(where: str, cells: Sequence[str], terms: LedgerTerms) -> dict[str, int]:
    """Return the place of each column in a line; the terms may name a column.

    Raise InputError if two columns have the same meaning.
    """
    heads = [_head(text) for text in cells]
    places: dict[str, int] = {}
    for name, pattern in _COLUMNS.items():
        own = _head(getattr(terms, name, ""))
        if own:
            columns = [at for at, head in enumerate(heads) if head == own]
        else:
            columns = [at for at, head in enumerate(heads) if pattern.fullmatch(head)]
        if len(columns) > 1:
            both_heads = " and ".join(repr(cells[at].strip()) for at in columns[:2])
            raise InputError(
                f"{where}: {both_heads:.80} may both be the {name}",
                do=f'add {name} = "…", with the head of the right one, below [ledger] in'
                " accounts.toml",
            )
        if columns:
            places[name] = columns[0]
    return places


def _head(text: str) -> str:
    return " ".join(cell(text).lower().split())


def _cells(path: Path, line: int, cells: Sequence[str], head: Sequence[str]) -> list[str]:
    # In a file with commas, 1.000,00 would be two cells, and the amount 1.
    if any(map(str.strip, cells[len(head) :])):
        raise InputError(
            f"{path}, line {line}: {len(cells)} cells for {len(head)} columns",
            do="export it with semicolons, or quote amounts that have a comma",
        )
    return [cell(text) for text in cells]


def _cell(cells: Sequence[str], at: _Places, name: str) -> str:
    place = at.get(name)
    return cells[place] if place is not None and place < len(cells) else ""


def _is_total(cells: Sequence[str], at: _Places) -> bool:
    """Return whether a row is a total: it has the label of a total instead of an account."""
    account = _cell(cells, at, "account")
    if account:
        return _TOTAL.fullmatch(account) is not None
    return any(map(_TOTAL.fullmatch, cells))


def _decimal_sign(path: Path, rows: _Rows, at: _Places, terms: LedgerTerms, *, ask: bool) -> str:
    """Return the decimal separator of the file's amounts, a comma or a point."""
    if terms.decimal:
        return terms.decimal
    texts = [_cell(cells, at, name) for name in _AMOUNTS for _, cells in rows]
    sign = decimal_sign(match[1] if (match := _MARKED.fullmatch(text)) else text for text in texts)
    if not sign and ask:
        example = next(text for text in texts if {",", "."} & set(text))
        raise InputError(
            f"{path}: {example!r:.40} may have decimals or thousands after its comma or point",
            do='add decimal = "," or decimal = "." below [ledger] in accounts.toml',
        )
    return sign if sign in {",", "."} else "."


def _balance(where: str, cells: Sequence[str], at: _Places, sign: str) -> Decimal:
    """Return a row's balance: of one column, or debit less credit."""
    try:
        if "balance" in at:
            text, side_mark = _cell(cells, at, "balance"), _cell(cells, at, "mark")
            if not text:
                raise InputError("balance is empty", do="fill it in")
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
        problem = "is no mark for debit or credit" if side is None else f"and {text!r:.40} disagree"
        raise InputError(
            f"{side_mark!r:.20} {problem}", do="write S or H, or D or C, after a plain amount"
        )
    return amount if side > 0 else amount.copy_negate()
