"""Which profile a CSV file is in, and where its columns stand: found out from its first rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

import msgspec

from treasury.errors import StatementError
from treasury.identifiers import is_iban
from treasury.statements.csv_text import Row, rows_of
from treasury.statements.csv_values import cell, is_amount, is_day
from treasury.statements.csv_words import IN, OUT, SIGNS
from treasury.statements.profiles import Profile, plain
from treasury.statements.values import account_number

__all__ = ["SAMPLE", "Layout", "layout_of", "proposal"]

_DELIMITERS: Final = (";", ",", "\t", "|")
_MOST_BEFORE_HEADER: Final = 60
SAMPLE: Final = 200
"""Lines that show how a file is laid out."""


class Layout(msgspec.Struct, frozen=True):
    """How to read a file: its profile, and which columns have which role."""

    profile: Profile
    delimiter: str
    header: int
    """The number of the header row, from 0; -1 where there is none."""
    columns: dict[str, tuple[int, ...]]
    header_currency: str | None = None
    is_proposed: bool = False
    are_days_shown: bool = True
    """Whether the values show which part of a day is its month."""


def layout_of(lines: Sequence[str], profiles: Iterable[Profile], file_name: str) -> Layout | None:
    """The layout of a file that is in one of the profiles; the one that explains most columns."""
    known = tuple(profiles)
    found: list[tuple[int, Layout]] = []
    for delimiter, sample in _samples(lines, file_name):
        for number, row in enumerate(sample[:_MOST_BEFORE_HEADER]):
            headers = [plain(text) for text in row.cells]
            if sum(map(bool, headers)) < 3:
                continue
            for profile in known:
                if not profile.shape and _has_all(headers, profile.needs or _first(profile)):
                    columns = _columns(headers, profile)
                    if _complete(columns):
                        currency = _header_currency(row.cells, columns)
                        layout = Layout(profile, delimiter, number, columns, currency)
                        found.append((len(columns) + len(profile.needs), layout))
        for profile in known:
            if profile.shape and _shaped(sample, profile.shape):
                columns = _numbered(profile)
                found.append((1, Layout(profile, delimiter, -1, columns)))
    return max(found, key=lambda one: one[0])[1] if found else None


def _samples(lines: Sequence[str], file_name: str) -> Iterator[tuple[str, list[Row]]]:
    """The first rows as each delimiter cuts them."""
    head = lines[:SAMPLE]
    for delimiter in _DELIMITERS:
        if any(delimiter in line for line in head):
            yield delimiter, list(_whole(head, delimiter, file_name))


def _whole(lines: Sequence[str], delimiter: str, file_name: str) -> Iterator[Row]:
    """The rows in some lines, of which the last may end within a cell."""
    try:
        yield from rows_of(iter(lines), delimiter, file_name)
    except StatementError:
        return  # another delimiter may cut it better; the file itself is read strictly


def _first(profile: Profile) -> tuple[str, ...]:
    return tuple("|".join(headers) for headers in profile.columns.values())


def _has_all(headers: Sequence[str], needs: Iterable[str]) -> bool:
    return all(
        any(_same(header, plain(name)) for name in need.split("|") for header in headers)
        for need in needs
    )


def _same(header: str, name: str) -> bool:
    """Whether they are one header; a lost letter stands for any one."""
    if "\ufffd" not in header:
        return header == name
    return re.fullmatch(re.escape(header).replace("\ufffd", "."), name) is not None


def _columns(headers: Sequence[str], profile: Profile) -> dict[str, tuple[int, ...]]:
    columns: dict[str, tuple[int, ...]] = {}
    for role, names in profile.columns.items():
        places = [
            place
            for name in names
            for place, header in enumerate(headers)
            if header and _same(header, plain(name))
        ]
        if places:
            columns[role] = tuple(dict.fromkeys(places))
    return columns


def _numbered(profile: Profile) -> dict[str, tuple[int, ...]]:
    return {
        role: tuple(int(name[1:]) - 1 for name in names if name[1:].isdigit())
        for role, names in profile.columns.items()
    }


def _complete(columns: dict[str, tuple[int, ...]]) -> bool:
    return "booking_date" in columns and bool({"amount", "debit", "credit"} & columns.keys())


def _header_currency(cells: Sequence[str], columns: dict[str, tuple[int, ...]]) -> str | None:
    """The currency in a header such as `Gutschrift in CHF`."""
    places = [p for role in ("amount", "debit", "credit", "balance") for p in columns.get(role, ())]
    found = (_IN_HEADER.search(cells[place].strip()) for place in places)
    return next((matched[1] for matched in found if matched), None)


_IN_HEADER: Final = re.compile(
    rf"(?:\bin |\ben |[ (])([A-Z]{{3}}|{'|'.join(map(re.escape, SIGNS))})\)?$"
)


def _shaped(sample: Sequence[Row], shape: str) -> bool:
    """Whether nearly all rows look like this, and none like a header."""
    rows = [row for row in sample if any(map(str.strip, row.cells))]
    fitting = sum(_fits(row.cells, shape) for row in rows)
    return len(rows) > 0 and fitting >= 1 and fitting * 10 >= len(rows) * 9


def _fits(cells: Sequence[str], shape: str) -> bool:
    if not len(shape) <= len(cells) <= len(shape) + 1:
        return False
    return all(_FITS[kind](cell(text)) for kind, text in zip(shape, cells, strict=False))


def _is_text(text: str) -> bool:
    return bool(text) and not is_amount(text) and not is_day(text)


_FITS: Final[dict[str, Callable[[str], bool]]] = {
    "d": is_day,
    "a": is_amount,
    "t": _is_text,
    "-": lambda text: not text,
    "?": lambda text: not text or is_amount(text),
    "*": lambda _: True,
}


def proposal(lines: Sequence[str], file_name: str) -> Layout | None:
    """The layout that an unknown file seems to have: by the words of its headers and its values.

    None where days or amounts cannot be told from the rest.
    """
    best: tuple[int, Layout] | None = None
    for delimiter, sample in _samples(lines, file_name):
        for number, row in enumerate(sample[:_MOST_BEFORE_HEADER]):
            layout = _proposed(row, sample[number + 1 :], delimiter, number)
            if layout is not None and (best is None or len(layout.columns) > best[0]):
                best = len(layout.columns), layout
    return best[1] if best else None


def _proposed(header: Row, below: Sequence[Row], delimiter: str, number: int) -> Layout | None:
    names = [cell(text) for text in header.cells]
    rows = [row.cells for row in below if len(row.cells) >= len(names) - 1 > 0]
    if len([name for name in names if name]) < 3 or not rows:
        return None
    if any(is_day(name) or is_amount(name) for name in names if name):
        return None
    kinds = [_kind(rows, place) for place in range(len(names))]
    others = [p for p, name in enumerate(names) if kinds[p] == "i" and _names_other(name)]
    columns: dict[str, tuple[int, ...]] = {}
    if others:
        columns["counterparty_account"] = (others[0],)
    taken = set(others[:1])
    for role, words in _WORDS.items():
        wanted = _KINDS.get(role, "")
        places = [
            place
            for word in words
            for place, name in enumerate(names)
            if place not in taken
            and name
            and word in plain(name)
            and (not wanted or kinds[place] in wanted)
        ]
        if places and role not in columns:
            several = tuple(dict.fromkeys(places)) if role == "text" else (places[0],)
            columns[role] = several
            taken.update(several)
    if "amount" in columns and "sign" not in columns:
        signs = [p for p in range(len(names)) if p not in taken and _says_sign(rows, p)]
        columns.update({"sign": (signs[0],)} if signs else {})
    if "amount" in columns:
        columns.pop("debit", None)
        columns.pop("credit", None)
    if not _complete(columns) or ({"debit", "credit"} & columns.keys() and not _both(columns)):
        return None
    order, is_shown = _day_order(rows, columns["booking_date"][0])
    profile = Profile(
        name="proposed",
        columns={role: tuple(names[p] for p in places) for role, places in columns.items()},
        needs=tuple(name for name in names if name),
        day_order=order,
        decimal="",
    )
    currency = _header_currency(names, columns)
    return Layout(
        profile,
        delimiter,
        number,
        columns,
        currency,
        is_proposed=True,
        are_days_shown=is_shown,
    )


def _names_other(name: str) -> bool:
    return any(word in plain(name) for word in _WORDS["counterparty_name"])


def _says_sign(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Whether all that a column says is debit or credit, in whatever words."""
    said = {text for cells in rows if place < len(cells) and (text := cell(cells[place]))}
    return bool(said) and all(text in {"+", "-"} or plain(text) in IN | OUT for text in said)


def _both(columns: dict[str, tuple[int, ...]]) -> bool:
    return "amount" in columns or {"debit", "credit"} <= columns.keys()


def _kind(rows: Sequence[Sequence[str]], place: int) -> str:
    """What most cells of a column are: d day, a amount, i IBAN, t text, - nothing."""
    kinds = Counter[str]()
    for cells in rows[:100]:
        text = cell(cells[place]) if place < len(cells) else ""
        if text:
            is_number = is_iban(account_number(text))
            kinds[
                "d" if is_day(text) else "a" if is_amount(text) else "i" if is_number else "t"
            ] += 1
    return kinds.most_common(1)[0][0] if kinds else "-"


def _day_order(
    rows: Sequence[Sequence[str]], place: int
) -> tuple[Literal["dmy", "mdy", "ymd"], bool]:
    """The order of the days' parts, and whether the values show it.

    One above twelve does. Else the order counts in which the days are closer together.
    """
    firsts: set[int] = set()
    seconds: set[int] = set()
    for cells in rows:
        found = _PARTS.match(cell(cells[place])) if place < len(cells) else None
        if found is None:
            continue
        if len(found[1]) == 4:
            return "ymd", True
        firsts.add(int(found[1]))
        seconds.add(int(found[2]))
    if not firsts or max(firsts) > 12 or max(seconds) > 12:
        return ("mdy" if seconds and max(seconds) > 12 else "dmy"), True
    return ("mdy" if len(firsts) < len(seconds) else "dmy"), False


_PARTS: Final = re.compile(r"(\d{1,4})[-./ ](\d{1,2})[-./ ](\d{1,4})")
_KINDS: Final = {
    "booking_date": "d", "value_date": "d-", "amount": "a", "debit": "a-", "credit": "a-",
    "balance": "a-", "currency": "t-", "status": "t-",
}  # fmt: skip
_WORDS: Final[dict[str, tuple[str, ...]]] = {
    # In the order in which a column is given away: the particular before the general.
    "value_date": (
        "valuutapaiva", "arvopaiva", "vardedag", "valuta", "valuedate", "datevaleur",
        "datedevaleur", "wertstellung", "rentedatum", "fechavalor", "datavaluta", "datavalor",
        "waluty"
    ),
    "booking_date": (
        "bokforingsdag", "bokforing", "bokføring", "bogføring", "bogforing", "kirjauspaiva",
        "kuupaev", "dataoperacji", "dataoperacao", "konyvelesdatuma", "bookingdate",
        "buchungstag", "buchungsdatum", "boekdatum", "boekingsdatum", "datecomptable",
        "dateoperation", "datedoperation", "datacontabile", "fechaoperacion", "dataksiegowania",
        "bookedat", "transactiondate", "completeddate", "posted", "date", "datum", "data",
        "fecha", "dato", "dag", "paiva", "buchung", "wert"
    ),
    "balance": (
        "saldo", "balance", "runningbal", "solde", "kontostand", "zustatek", "egyenleg", "likutis",
        "atlikums"
    ),
    "fee": ("fee", "gebuhr", "frais", "kosten", "commission"),
    "debit": (
        "utfrakonto", "debito", "debet", "obciazenia", "terheles", "debit", "belastung",
        "lastschrift", "soll", "addebito", "addebiti", "uitgaven", "cargo", "paidout",
        "withdrawal", "dare", "uscite", "af"
    ),
    "credit": (
        "innpakonto", "innpåkonto", "credito", "kredit", "uznania", "jovairas", "credit",
        "gutschrift", "haben", "accredito", "accrediti", "inkomsten", "abono", "paidin",
        "deposit", "avere", "entrate", "bij"
    ),
    "amount": (
        "amount", "betrag", "bedrag", "montant", "importo", "importe", "kwota", "umsatz", "belop",
        "belopp", "beløp", "beløb", "belob", "summe", "summa", "maara", "castka", "osszeg",
        "valor", "montante", "suma", "value"
    ),
    "currency": (
        "mena", "currency", "valuutta", "valuuta", "penznem", "wahrung", "waehrung", "devise",
        "munt", "valuta", "divisa", "moneta", "monnaie", "waluta", "ccy"
    ),
    "sign": (
        "afbij", "debitcredit", "sollhaben", "creditdebit", "creditdebet", "debetcredit",
        "deebetkreedit", "dc", "drcr", "cdt", "sh"
    ),
    "counterparty_account": (
        "counterpartyiban", "counterpartyaccount", "tegenrekening", "comptecontrepartie",
        "ibanzahlungsbeteiligter", "gegenkonto", "kontonummeriban", "payeeaccount",
        "beneficiaryaccount"
    ),
    "counterparty_agent": ("bic", "swift"),
    "counterparty_name": (
        "counterpartyname", "counterparty", "naamtegenpartij", "nomcontrepartie", "beguenstigter",
        "begunstigter", "auftraggeber", "payee", "empfanger", "zahlungsbeteiligter",
        "beneficiary", "name", "partner", "namn", "navn", "nimi", "saaja", "odbiorca", "ordonnateur"
    ),
    "account": (
        "iban", "auftragskonto", "rekening", "compte", "account", "konto", "cuenta", "conto"
    ),
    "mandate_id": ("mandat", "mandate"),
    "end_to_end_id": ("endtoend", "e2e"),
    "reference": (
        "transactionid", "transactionno", "bankreference", "reference", "referenz", "referentie",
        "riferimento", "id"
    ),
    "status": ("status", "state"),
    "kind": ("type", "kind", "art", "code"),
    "text": (
        "description", "verwendungszweck", "omschrijving", "communication", "mededeling",
        "libelle", "details", "text", "memo", "narrative", "descrizione", "causale", "concepto",
        "remittance", "message", "notification", "purpose", "opis", "tekst", "beskriv", "viesti",
        "selgitus", "popis", "descricao", "tytuł", "forklaring", "rubrik", "otsikko", "kozlemeny",
        "meddelande", "zprava", "subject", "particulars"
    ),
}  # fmt: skip
