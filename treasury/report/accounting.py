"""A month as double entry: every bank line and every completed request, as postings that balance.

Each entry balances to nothing in each currency by itself. Where one currency becomes another both
legs stand against `conversion`, so that no rate is invented. What nobody has explained is posted to
`suspense` and stays visible there; nothing is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.lake import AMOUNT, DATE, INTEGER, TEXT, TEXTS, Snapshot
from treasury.money import difference, total
from treasury.reconcile.monthly import MONTH_PACKAGE, Reconciliation
from treasury.reconcile.pipeline import in_order, run, steps_of
from treasury.report.transit import begun_before, paid_for
from treasury.report.words import count
from treasury.tabular import Tabular, html_table
from treasury.text import clean, safe_html

__all__ = ["POSTINGS", "ROLES", "Accounting", "Balance", "accounting", "transit_postings"]

ROLES: Final = {
    "bank": "an account of ours whose statements we have",
    "provider": "the provider's account on which credits to our virtual IBANs are booked",
    "wallet": "coins of one asset, in custody and in company wallets",
    "on-ramp in transit": "fiat sent for coins that have not come yet",
    "off-ramp in transit": "fiat owed to us for coins that were sold",
    "collections": "credits to virtual accounts, what customers paid",
    "conversion": "one currency given for another, both legs",
    "ramp fees": "fees of completed ramp requests",
    "payment differences": "what completed on-ramp requests were paid less than their gross amount",
    "bank charges": "what banks charged",
    "own transfers": "money on its way between own accounts",
    "transfers out": "coins sent to others",
    "transfers in": "coins received from others",
    "other business": "lines that rules or people set apart",
    "opening": "what was there when the month began",
    "suspense": "what nobody has explained yet",
}
"""What a posting is to; `bank` and `provider` are one account an IBAN, `wallet` one an asset."""

POSTINGS: Final = pa.schema(
    [
        ("entry", TEXT),
        ("posting", INTEGER),
        ("date", DATE),
        ("role", TEXT),
        ("of", TEXT),
        ("currency", TEXT),
        ("amount", AMOUNT),
        ("text", TEXT),
        ("source_ids", TEXTS),
    ]
)
"""`amount` is signed, debit positive, in `currency`; `of` is the IBAN or asset of the role."""

_CONTRA: Final = {
    "bank_charge": "bank charges",
    "own_transfer": "own transfers",
    "conversion_sweep": "conversion",
    "other_business": "other business",
    "on_ramp": "on-ramp in transit",
    "off_ramp": "off-ramp in transit",
    "virtual_bank_account": "collections",
}
TRANSIT: Final = ("on-ramp in transit", "off-ramp in transit", "own transfers")
"""The roles of money that is on its way."""
_SOURCES: Final = {"provider_report": "provider"}
"""The role of an account by the source of its statements; any other is `bank`."""
_EXPLAINED: Final = ("matched", "returned")
_PROVED: Final = ("proved", "proved_as_group")
NOTHING: Final = Decimal(0)


class Balance(msgspec.Struct, frozen=True):
    """What an account is known to hold at the end of a day, by its proved statements."""

    role: str
    of: str
    currency: str
    on: date
    amount: Decimal


class Accounting(Tabular, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A month's entries: `postings`, one row each, and the balances that they have to meet.

    `notes` says what could not be posted or asserted, and why.
    """

    title: str
    first: date
    postings: pa.Table
    opening: tuple[Balance, ...]
    closing: tuple[Balance, ...]
    notes: tuple[str, ...]
    sql: str = ""
    """The query behind the month's lines."""

    def balances(self) -> pa.Table:
        """The sum of each role, account and currency, opening balances included."""
        sums: defaultdict[tuple[str, str, str], list[Decimal]] = defaultdict(list)
        for row in self.postings.to_pylist():
            sums[row["role"], row["of"], row["currency"]].append(row["amount"])
        names = ("role", "of", "currency")
        rows = [
            {**dict(zip(names, key, strict=True)), "balance": total(amounts)}
            for key, amounts in sorted(sums.items())
        ]
        return pa.Table.from_pylist(
            rows, schema=pa.schema([*((name, TEXT) for name in names), ("balance", AMOUNT)])
        )

    def sheets(self) -> Mapping[str, pa.Table]:
        """The postings and the balances that they come to."""
        return {"Postings": self.postings, "Balances": self.balances()}

    def write_csv(self, path: str | Path, mapping: str | Path | None = None) -> Path:
        """Write the CSV journal, by the ledger accounts that the file `mapping` names."""
        from treasury.report.accounting_files import accounts_of, write_csv

        return write_csv(self, Path(path), accounts_of(mapping))

    def write_beancount(self, path: str | Path, mapping: str | Path | None = None) -> Path:
        """Write the same entries as a Beancount file."""
        from treasury.report.accounting_files import accounts_of, write_beancount

        return write_beancount(self, Path(path), accounts_of(mapping))

    def mapping(self) -> str:
        """A mapping file to fill in: every role that the entries use, with what it is."""
        from treasury.report.accounting_files import mapping_text

        return mapping_text(self)

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{safe_html(note)}</li>" for note in self.notes)
        head = f"<p class='tex2jax_ignore'>{safe_html(self.title)}</p><ul>{notes}</ul>"
        return head + html_table(self.balances())


class _Leg(msgspec.Struct, frozen=True, gc=False):
    role: str
    currency: str
    amount: Decimal
    of: str = ""
    about: str = ""
    """The request or virtual account that it is about, where its entry is about several."""


class _Entry(msgspec.Struct, frozen=True, gc=False):
    entry: str
    on: date
    text: str
    legs: tuple[_Leg, ...]
    sources: tuple[str, ...]


def accounting(
    r: Reconciliation, zone: ZoneInfo, corrections: pa.Table | None = None
) -> Accounting:
    """The month's entries, by date and entry; each balances in each of its currencies.

    `corrections` are lines of closed months that were decided since, as in CORRECTIONS: this month
    posts what that changes.
    """
    notes: list[str] = []
    opening, closing = _statement_balances(r, notes)
    entries = [
        *_openings(opening),
        *_begun(r, zone),
        *_lines(r, r.lines),
        *_requests(r.fee_requests.to_pylist(), paid_for(r), notes),
        *_conversions(r, zone),
        *_transfers(r, zone, notes),
        *_corrections(r, corrections),
    ]
    entries.sort(key=lambda entry: (entry.on, entry.entry))
    postings = _postings(entries)
    what = f"{count(postings.num_rows, 'posting')} of {len(entries):,} entries"
    return Accounting(
        title=f"Accounting of {r.month.title}: {what}",
        first=r.month.first,
        postings=postings,
        opening=opening,
        closing=closing,
        notes=tuple(notes),
        sql=r.sql("month_lines"),
    )


def transit_postings(r: Reconciliation, zone: ZoneInfo) -> pa.Table:
    """The postings to money in transit, each with the request or the line that it is about.

    Columns `role`, `currency`, `amount` and `subject_id`; nothing else of the month is made.
    """
    kinds = pc.is_in(r.lines["kind"], pa.array(["on_ramp", "off_ramp"], TEXT))
    own = pc.fill_null(pc.equal(r.lines["line_class"], "own_transfer"), fill_value=False)
    entries = [
        *_begun(r, zone),
        *_lines(r, r.lines.filter(pc.or_(pc.or_(kinds, own), _is_shared(r.lines)))),
        *_requests(r.fee_requests.to_pylist(), paid_for(r), []),
    ]
    rows = [
        {
            "role": leg.role,
            "currency": leg.currency,
            "amount": leg.amount,
            "subject_id": leg.about or entry.sources[-1],
        }
        for entry in entries
        for leg in entry.legs
        if leg.amount and leg.role in TRANSIT
    ]
    names = ("role", "currency", "subject_id")
    schema = pa.schema([*((name, TEXT) for name in names), ("amount", AMOUNT)])
    return pa.Table.from_pylist(rows, schema=schema)


def _postings(entries: Sequence[_Entry]) -> pa.Table:
    """A row a leg, column by column; what its entry says is made once and repeated."""
    legs = [tuple(leg for leg in entry.legs if leg.amount) for entry in entries]
    for entry, own in zip(entries, legs, strict=True):
        _require_balance(entry, own)
    of_entry = pa.array([at for at, own in enumerate(legs) for _ in own], pa.int64())
    told = {
        "entry": [entry.entry for entry in entries],
        "date": [entry.on for entry in entries],
        "text": [entry.text for entry in entries],
        "source_ids": [entry.sources for entry in entries],
    }
    moved = {
        "posting": [n for own in legs for n in range(1, len(own) + 1)],
        "role": [leg.role for own in legs for leg in own],
        "of": [leg.of for own in legs for leg in own],
        "currency": [leg.currency for own in legs for leg in own],
        "amount": [leg.amount for own in legs for leg in own],
    }
    columns = [
        pa.array(moved[field.name], field.type)
        if field.name in moved
        else pa.array(told[field.name], field.type).take(of_entry)
        for field in POSTINGS
    ]
    return pa.Table.from_arrays(columns, schema=POSTINGS)


def _require_balance(entry: _Entry, legs: Iterable[_Leg]) -> None:
    """A month of money that does not balance must never leave here."""
    sums: dict[str, Decimal] = {}
    for leg in legs:
        sums[leg.currency] = total((sums.get(leg.currency, NOTHING), leg.amount))
    for currency, left in sums.items():
        if left:
            raise AssertionError(f"{entry.entry} does not balance in {currency}")


def _statement_balances(
    r: Reconciliation, notes: list[str]
) -> tuple[tuple[Balance, ...], tuple[Balance, ...]]:
    opening, closing = [], []
    for row in r.statements.to_pylist():
        of, currency = row["account"], row["currency"]
        role = _SOURCES.get(row["source"], "bank")
        if not row["complete"]:
            notes.append(f"no balance of {of} is asserted: its statements are not complete, proved")
            continue
        opening.append(Balance(role, of, currency, r.month.previous.last, row["opening_balance"]))
        closing.append(Balance(role, of, currency, r.month.last, row["closing_balance"]))
    return tuple(opening), tuple(closing)


def _openings(balances: Iterable[Balance]) -> Iterator[_Entry]:
    for known in balances:
        yield _Entry(
            f"opening:{known.of}",
            known.on,
            f"Opening balance of {known.of}",
            (
                _Leg(known.role, known.currency, known.amount, known.of),
                _Leg("opening", known.currency, known.amount.copy_negate()),
            ),
            (),
        )


def _begun(r: Reconciliation, zone: ZoneInfo) -> Iterator[_Entry]:
    """What earlier months left in transit, so that its account closes with what is in transit."""
    for one in begun_before(r, zone):
        since = f" since {one.since}" if one.since else ""
        yield _Entry(
            f"opening:{one.request_id}",
            r.month.previous.last,
            clean(f"{one.reference} in transit{since}"),
            (
                _Leg(one.role, one.currency, one.amount),
                _Leg("opening", one.currency, one.amount.copy_negate()),
            ),
            (one.request_id,),
        )


def _lines(r: Reconciliation, lines: pa.Table) -> Iterator[_Entry]:
    """An entry for each line; one that is for several has a leg for each."""
    shared = set(lines.filter(_is_shared(lines))["entry_id"].to_pylist())
    shares: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    if shared:
        wanted = pc.is_in(r.matches.allocations["entry_id"], pa.array(sorted(shared), TEXT))
        for share in r.matches.allocations.filter(wanted).to_pylist():
            shares[share["entry_id"]].append(share)
    standing = set(r.virtual_accounts["virtual_bank_account_id"].to_pylist())
    for row in lines.to_pylist():
        parts = shares.get(row["entry_id"])
        yield _line(row) if not parts else _shared_line(row, parts, standing)


def _is_shared(lines: pa.Table) -> pa.ChunkedArray:
    """Whether a line is matched to several expectations, so that none is named beside it."""
    return pc.and_(pc.equal(lines["outcome"], "matched"), pc.is_null(lines["expectation_id"]))


def _shared_line(
    row: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], standing: Collection[str]
) -> _Entry:
    """A line that several expectations have shares in; the rest is in suspense."""
    whole, sign = _line(row), 1 if row["direction"] == "CRDT" else -1
    usual = "off_ramp" if sign > 0 else "on_ramp"
    legs = []
    for part in parts:
        is_standing = part["expectation_id"].partition("/")[0] in standing
        role = _CONTRA["virtual_bank_account" if is_standing else usual]
        amount = part["amount"].copy_negate() if sign > 0 else part["amount"]
        legs.append(_Leg(role, row["currency"], amount, about=part["expectation_id"]))
    bank = whole.legs[0]
    rest = total((bank.amount, *(leg.amount for leg in legs))).copy_negate()
    return msgspec.structs.replace(
        whole,
        legs=(bank, *legs, _Leg("suspense", row["currency"], rest)),
        sources=(row["entry_id"], *(part["expectation_id"] for part in parts)),
    )


def _line(row: Mapping[str, Any]) -> _Entry:
    """A bank line against what it is; the part beyond what was expected is in suspense."""
    amount = row["amount"] if row["direction"] == "CRDT" else row["amount"].copy_negate()
    explained = _explained(row, amount)
    parts = (row["counterparty_name"], row["reference"] or row["remittance"])
    return _Entry(
        f"line:{row['entry_id']}",
        row["booking_date"],
        clean(" · ".join(_text(part) for part in parts if part) or "bank line"),
        (
            _Leg(
                _SOURCES.get(row["source"], "bank"),
                row["currency"],
                amount,
                row["statement_account"],
            ),
            _Leg(_contra(row), row["currency"], explained.copy_negate()),
            _Leg("suspense", row["currency"], difference(explained, amount)),
        ),
        tuple(filter(None, (row["entry_id"], row["expectation_id"]))),
    )


def _corrections(r: Reconciliation, corrections: pa.Table | None) -> Iterator[_Entry]:
    """What a decision after the close changes of a line that the closed month has posted.

    What of it is in transit was not so in the closed month's books: the opening says it as they do.
    """
    sides: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in [] if corrections is None else corrections.to_pylist():
        sides.setdefault(row["entry_id"], {})[row["side"]] = {**row, "remittance": None}
    for entry_id, own in sides.items():
        before, after = _line(own["before"]), _line(own["after"])
        legs = _difference(before.legs, after.legs)
        closed = own["after"]["month"]
        transit = tuple(leg for leg in legs if leg.role in TRANSIT)
        if transit:
            opened = tuple(
                _Leg(leg.role, leg.currency, leg.amount.copy_negate(), leg.of) for leg in transit
            )
            against = tuple(_Leg("opening", leg.currency, leg.amount) for leg in transit)
            text = clean(f"{after.text}: as {closed} was closed")
            on = r.month.previous.last
            yield _Entry(f"opening:late:{entry_id}", on, text, (*opened, *against), after.sources)
        if legs:
            text = clean(f"{after.text}: decided after {closed} was closed")
            yield _Entry(f"late:{entry_id}", r.month.first, text, legs, after.sources)


def _difference(before: Iterable[_Leg], after: Iterable[_Leg]) -> tuple[_Leg, ...]:
    """What has to be posted so that the one becomes the other."""
    sums: dict[tuple[str, str, str], list[Decimal]] = {}
    for sign, legs in ((-1, before), (1, after)):
        for leg in legs:
            amount = leg.amount if sign > 0 else leg.amount.copy_negate()
            sums.setdefault((leg.role, leg.currency, leg.of), []).append(amount)
    return tuple(
        _Leg(role, currency, amount, of)
        for (role, currency, of), amounts in sums.items()
        if (amount := total(amounts))
    )


def _text(part: object) -> str:
    return " ".join(map(str, part)) if isinstance(part, list) else str(part)


def _contra(row: Mapping[str, Any]) -> str:
    if row["outcome"] == "ignored":
        return _CONTRA.get(row["line_class"] or "", "other business")
    return _CONTRA.get(row["kind"] or "", "suspense")


def _explained(row: Mapping[str, Any], amount: Decimal) -> Decimal:
    """How much of the signed amount is explained."""
    if row["outcome"] == "ignored":
        return amount
    if row["outcome"] not in _EXPLAINED or row["kind"] is None:
        return NOTHING
    matched = row["matched_amount"]
    if matched is None or matched >= row["amount"]:
        return amount
    return matched if amount > 0 else matched.copy_negate()


def _requests(
    rows: Iterable[Mapping[str, Any]], paid: Mapping[str, Decimal], notes: list[str]
) -> Iterator[_Entry]:
    for row in rows:
        name = row["reference"] or row["request_id"]
        if row["fiat_gross"] is None or row["crypto"] is None:
            notes.append(f"{clean(name)} is not posted: its amounts are not recorded; sync it")
            continue
        yield _Entry(
            f"request:{row['request_id']}",
            row["completed_on"],
            clean(f"{name} completed"),
            _on_ramp(row, paid.get(row["request_id"]))
            if row["ramp_type"] == "ON_RAMP"
            else _off_ramp(row),
            (row["request_id"],),
        )


def _on_ramp(row: Mapping[str, Any], paid: Decimal | None) -> tuple[_Leg, ...]:
    """Once it completed nothing of it is in transit: a cent that was never paid is a difference.

    Where no line is known to have paid it the whole is taken, against the line in suspense.
    """
    fiat, asset, gross = row["fiat_currency"], row["crypto_currency"] or "?", row["fiat_gross"]
    fee = row["fee"] or NOTHING
    sent = min(paid, gross) if paid else gross
    return (
        _Leg("on-ramp in transit", fiat, sent.copy_negate()),
        _Leg("payment differences", fiat, difference(sent, gross)),
        _Leg("ramp fees", fiat, fee),
        _Leg("conversion", fiat, difference(gross, fee)),
        _Leg("conversion", asset, row["crypto"].copy_negate()),
        _Leg("wallet", asset, row["crypto"], asset),
    )


def _off_ramp(row: Mapping[str, Any]) -> tuple[_Leg, ...]:
    fiat, asset, gross = row["fiat_currency"], row["crypto_currency"] or "?", row["fiat_gross"]
    fee = row["fee"] or NOTHING
    return (
        _Leg("wallet", asset, row["crypto"].copy_negate(), asset),
        _Leg("conversion", asset, row["crypto"]),
        _Leg("conversion", fiat, gross.copy_negate()),
        _Leg("ramp fees", fiat, fee),
        _Leg("off-ramp in transit", fiat, difference(gross, fee)),
    )


def _conversions(r: Reconciliation, zone: ZoneInfo) -> Iterator[_Entry]:
    """The coins of proved conversions; their euros left with the provider's sweep."""
    for row in r.conversions.to_pylist():
        if row["state"] not in _PROVED or not row["converted"] or row["closed_at"] is None:
            continue
        on = row["closed_at"].astimezone(zone).date()
        if r.month.first <= on <= r.month.last:
            asset = row["asset"]
            yield _Entry(
                f"conversion:{row['account_id']}:{asset}:{row['closed_at']:%Y-%m-%dT%H:%M:%S}",
                on,
                clean(f"Converted to {asset}, {row['account']}"),
                (
                    _Leg("wallet", asset, row["converted"], asset),
                    _Leg("conversion", asset, row["converted"].copy_negate()),
                ),
                tuple(row["entry_ids"] or ()),
            )


def _transfers(r: Reconciliation, zone: ZoneInfo, notes: list[str]) -> Iterator[_Entry]:
    """Coins sent and received; between own accounts nothing moves."""
    if r.basis is None:
        return
    for row in _settled(r.basis.snapshot, r.month.start(zone), r.month.end(zone)):
        out, into = row["sender_account_id"] is not None, row["receiver_account_id"] is not None
        asset, amount = row["asset"], row["amount"]
        if out and into:
            continue
        if amount is None or asset is None:
            notes.append(f"transfer {row['transfer_id']} is not posted: no amount is recorded")
            continue
        signed = amount.copy_negate() if out else amount
        yield _Entry(
            f"transfer:{row['transfer_id']}",
            row["settled_at"].astimezone(zone).date(),
            f"Transfer of {clean(asset)} {'out' if out else 'in'}",
            (
                _Leg("wallet", asset, signed, asset),
                _Leg("transfers out" if out else "transfers in", asset, signed.copy_negate()),
            ),
            (row["transfer_id"],),
        )


def _settled(snapshot: Snapshot, start: datetime, end: datetime) -> list[dict[str, Any]]:
    steps = in_order(steps_of(MONTH_PACKAGE), ("settled_transfers",))
    with snapshot.connection() as connection:
        run(connection, steps)
        found = connection.execute(
            "SELECT * FROM settled_transfers WHERE settled_at >= ? AND settled_at < ?"
            " ORDER BY settled_at, transfer_id",
            [start, end],
        )
        rows: list[dict[str, Any]] = found.to_arrow_table().to_pylist()
    return rows
