"""A month as double entry: bank lines, completed requests, coin transfers and conversions.

Each entry balances to zero in each currency. If one currency becomes another, both legs are posted
against `conversion`, so that no rate is invented. Unexplained lines are posted to `suspense`; no
line is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.close.ledger.book_entries import BookEntry, BookLeg
from treasury.close.ledger.coin_entries import CoinBooks, CoinPrice
from treasury.close.ledger.transit import begun_before, paid_for
from treasury.close.result_words import count, noted_html
from treasury.close.valuation.coins.coin_events import placed_transfers
from treasury.core.files.package_files import step_sql
from treasury.core.money import totals
from treasury.core.tables.column_texts import clean_column
from treasury.core.tables.column_types import AMOUNT, DATE, INTEGER, TEXT, TEXTS
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema, table_of
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.matching.engine.pipeline import in_order, run, steps_of
from treasury.month.reconciliation import Reconciliation, matched_in_full

ROLES: Final = {
    "bank": "one of our accounts with statements",
    "provider": "the provider's account on which credits to our virtual IBANs are booked",
    "wallet": "coins of one asset, in custody and in company wallets",
    "on-ramp in transit": "fiat sent for coins that have not arrived yet",
    "off-ramp in transit": "fiat owed to us for coins that were sold",
    "collections": "credits to virtual accounts, which customers paid",
    "conversion": "one currency given for another, both legs",
    "ramp fees": "fees of completed requests",
    "payment differences": "amounts by which completed on-ramp requests were underpaid",
    "bank charges": "charges taken by banks",
    "own transfers": "money in transit between own accounts",
    "transfers out": "coins sent to others",
    "transfers in": "coins received from others",
    "other business": "lines that a rule or a person excluded from matching",
    "opening": "balances at the beginning of the month",
    "suspense": "lines without an explanation so far",
    "coins": "the carrying amount of one asset's coins",
    "coin gains": "excess of disposal proceeds over the carrying amount of the coins",
    "coin losses": "excess of the carrying amount of disposed coins over the proceeds",
    "gas": "coins that company wallets paid for gas, at their value",
    "coin impairment": "write-downs to a lower value of coins carried at cost",
    "coin reserve": "changes in the value of coins, posted to reserves",
    "coin revaluation": "changes in the value of coins, posted to profit and loss",
}
"""The roles of postings; `bank` and `provider` are per IBAN, `wallet` and `coins` per asset."""

POSTINGS: Final = grouped_schema(
    (TEXT, "entry"),
    (INTEGER, "posting"),
    (DATE, "date"),
    (TEXT, "role", "of", "currency"),
    (AMOUNT, "amount"),
    (TEXT, "text"),
    (TEXTS, "source_ids"),
)
"""One row per leg. `amount` is in `currency`, with debits positive.

`of` is the IBAN or asset of the role, or empty.
"""

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
"""The roles of money in transit."""
_SOURCES: Final = {"provider_report": "provider"}
"""The role of an account by the source of its statements; any other is `bank`."""
_PROVED: Final = ("proved", "proved_as_group")

PACKAGE: Final = "treasury.close.ledger.books"
"""The steps that book lines and requests; their inputs `other_…` are entries built in Python."""
_LINE: Final = "bank line"
"""The name of a line without any text."""
_SHARES: Final = ["entry_id", "expectation_id", "amount"]
_READ_OF_LINES: Final = [
    "entry_id", "booking_date", "source", "statement_account", "direction", "amount", "currency",
    "outcome", "line_class", "kind", "reference", "expectation_id", "matched_amount",
    "counterparty_name", "remittance",
]  # fmt: skip
_LEGS_IN_ORDER: Final = step_sql("treasury.close.steps", "ledger/legs_in_order")
_SOURCES_IN_ORDER: Final = step_sql("treasury.close.steps", "ledger/sources_in_order")
_LEGS_ALONE: Final = step_sql("treasury.close.steps", "ledger/legs_alone")
_LINES_ALONE: Final = step_sql("treasury.close.steps", "ledger/lines_alone")
_WRONG: Final = step_sql("treasury.close.steps", "ledger/first_unbalanced")
_BALANCES: Final = grouped_schema(
    (TEXT, "role", "of", "currency"), (amount_in("currency"), "balance")
)
_ENTRIES: Final = grouped_schema(
    (INTEGER, "entry_no"), (TEXT, "entry"), (DATE, "booked_on"), (TEXT, "words")
)
_ENTRY_SOURCES: Final = grouped_schema((INTEGER, "entry_no", "place"), (TEXT, "source_id"))
_LEGS: Final = grouped_schema(
    (INTEGER, "entry_no", "part", "place"),
    (TEXT, "role", "account", "currency"),
    (AMOUNT, "amount"),
    (TEXT, "subject_id"),
)


class KnownBalance(msgspec.Struct, frozen=True):
    """A balance at the end of a day: of an account by its proved statements, or of a coin.

    A coin's balance is its carrying amount.
    """

    role: str
    of: str
    currency: str
    on: date
    amount: Decimal


class Accounting(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """A month's entries: one row per leg in `postings`, and the balances that they must result in.

    `notes` lists what could not be posted or asserted, and why.
    """

    title: str
    first: date
    postings: Table
    opening: tuple[KnownBalance, ...]
    closing: tuple[KnownBalance, ...]
    notes: tuple[str, ...]
    prices: tuple[CoinPrice, ...] = ()
    """The values of measured coins at the month's end."""
    sql: str = ""
    """The SQL of the month's lines."""

    def balances(self) -> Table:
        """Return the sum per role, account and currency, opening balances included."""
        sums = totals(
            ((row["role"], row["of"], row["currency"]), row["amount"])
            for row in self.postings.arrow.to_pylist()
        )
        rows = [(*key, amount) for key, amount in sorted(sums.items())]
        return Table(table_of(rows, _BALANCES))

    def sheets(self) -> Mapping[str, Table]:
        """Return the postings and their balances by sheet name."""
        return {"Postings": self.postings, "Balances": self.balances()}

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def _repr_html_(self) -> str:
        return noted_html(self.title, self.notes, self.balances())


def accounting(
    r: Reconciliation,
    zone: ZoneInfo,
    corrections: pa.Table | None = None,
    coins: CoinBooks | None = None,
) -> Accounting:
    """Return the month's entries, by date and entry; each balances in each of its currencies.

    `corrections` are lines of closed months that were decided after the close, as in CORRECTIONS;
    this month posts their differences. `coins` are the entries of the measured coins.
    """
    r = matched_in_full(r)
    coins = coins or CoinBooks()
    notes = list(coins.notes)
    opening, closing = _statement_balances(r, notes)
    requests = r.fee_requests
    lacking = pc.or_(pc.is_null(requests.arrow["fiat_gross"]), pc.is_null(requests.arrow["crypto"]))
    for row in requests.arrow.filter(lacking).to_pylist():
        name = clean(row["reference"] or row["request_id"])
        notes.append(f"{name} is not posted: its amounts are not recorded; sync it")
    others = [
        *(
            BookEntry(
                f"opening:{each.of}",
                each.on,
                f"Opening balance of {each.of}",
                BookLeg(each.role, each.currency, each.amount, each.of).against("opening"),
            )
            for each in opening
        ),
        *begun_before(r, zone),
        *_conversions(r, zone),
        *_transfers(r, zone, notes),
        *_corrections(r, corrections),
        *coins.entries,
    ]
    with _booked(r, others, "unbalanced_entries", "placed_legs", "source_counts") as connection:
        # A month with an unbalanced entry must never be exported.
        unbalanced = connection.execute(_WRONG).fetchone()
        if unbalanced is not None:
            entry, currency = unbalanced
            raise AssertionError(f"{entry} does not balance in {currency}")
        entries = _entries(connection)
        legs = connection.sql(_LEGS_IN_ORDER).to_arrow_table()
    postings = _postings(entries, legs)
    counts = f"{count(postings.num_rows, 'posting')} of {entries.num_rows:,} entries"
    return Accounting(
        title=f"Accounting of {r.month.title}: {counts}",
        first=r.month.first,
        postings=postings,
        opening=(*opening, *_carried(coins.opening, r.month.previous.last)),
        closing=(*closing, *_carried(coins.closing, r.month.last)),
        notes=tuple(notes),
        prices=coins.prices,
        sql=r.sql("month_lines"),
    )


def _carried(legs: Iterable[BookLeg], on: date) -> Iterator[KnownBalance]:
    """Return the coins' carrying amounts on a day, as balances that the entries must result in."""
    return (KnownBalance(leg.role, leg.of, leg.currency, on, leg.amount) for leg in legs)


def transit_postings(
    r: Reconciliation, zone: ZoneInfo, pairs: Mapping[str, str] | None = None
) -> pa.Table:
    """Return the sums of the postings to money in transit, by request or line.

    Columns `role`, `currency`, `amount` and `subject_id`; zero sums have no row. `pairs` maps the
    leg in of each own transfer to its leg out, so that both count as one.
    """
    with _booked(r, tuple(begun_before(r, zone)), "transit_movements", pairs=pairs) as connection:
        return connection.table("transit_movements").to_arrow_table()


@contextmanager
def _booked(
    r: Reconciliation,
    others: Sequence[BookEntry],
    *wanted: str,
    pairs: Mapping[str, str] | None = None,
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection on which the steps `wanted` booked the lines, requests and `others`."""
    lines = _numbered(r.lines.arrow.select(_READ_OF_LINES))
    requests = _numbered(r.fee_requests.arrow, lines.num_rows)
    pairs = pairs or {}
    tables = {
        **_line_tables(lines, r.matches.allocations.arrow, r.virtual_accounts.arrow),
        "completed_requests": requests,
        "paid_by_lines": paid_for(r),
        "transit_roles": pa.table({"role": list(TRANSIT)}),
        "own_transfers_paired": pa.table(
            {"in_id": pa.array(list(pairs), TEXT), "out_id": pa.array(list(pairs.values()), TEXT)}
        ),
        **_tables(others, lines.num_rows + requests.num_rows),
    }
    with _stepped(tables, *wanted) as connection:
        yield connection


@contextmanager
def _stepped(tables: Mapping[str, pa.Table], *wanted: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection on which the wanted steps have run; the tables are not copied.

    One thread handles a hundred thousand lines in two seconds; several would need more memory.
    """
    with duckdb.connect(config={"threads": 1}) as connection:
        for name, table in tables.items():
            connection.register(name, table)
        run(connection, in_order(steps_of(PACKAGE), wanted), targets=wanted)
        yield connection


def _line_tables(lines: pa.Table, shares: pa.Table, standing: pa.Table) -> dict[str, pa.Table]:
    """Return the tables of bank lines for the steps.

    `shares` are the parts of lines that pay several expectations, `standing` the virtual accounts.
    """
    return {
        "booked_lines": lines,
        "line_shares": _numbered(shares.select(_SHARES), name="place"),
        "standing_accounts": standing.select(["virtual_bank_account_id"]),
        "contra_roles": pa.table({"what": list(_CONTRA), "role": list(_CONTRA.values())}),
    }


def _numbered(table: pa.Table, first: int = 0, *, name: str = "entry_no") -> pa.Table:
    """Return the table with row numbers in an additional column."""
    return table.append_column(name, pc.add(_counted(table.num_rows), first))


def _counted(rows: int) -> pa.Array:
    """Return row numbers from 0."""
    return pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, INTEGER), rows)), 1)


def _tables(entries: Sequence[BookEntry], first: int) -> dict[str, pa.Table]:
    """Return entries built in Python as the tables `other_…`."""
    numbered = tuple(enumerate(entries, first))
    heads = [(at, entry.entry, entry.on, entry.text) for at, entry in numbered]
    legs = [
        (at, 1, place, leg.role, leg.of, leg.currency, leg.amount, entry.subject)
        for at, entry in numbered
        for place, leg in enumerate(entry.legs)
    ]
    sources = [
        (at, place, source) for at, entry in numbered for place, source in enumerate(entry.sources)
    ]
    return {
        "other_entries": table_of(heads, _ENTRIES),
        "other_legs": table_of(legs, _LEGS),
        "other_sources": table_of(sources, _ENTRY_SOURCES),
    }


def _entries(connection: duckdb.DuckDBPyConnection) -> pa.Table:
    """Return the entries in order, with the columns that all postings of an entry share."""
    entries = connection.table("book_entries").order("turn").to_arrow_table()
    counts = connection.table("source_counts").order("turn").to_arrow_table()["sources"]
    source_ids = connection.sql(_SOURCES_IN_ORDER).to_arrow_table()["source_id"]
    ends = _joined(pc.cumulative_sum(counts.cast(pa.int32())))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    columns = {
        "entry": entries["entry"],
        "date": entries["booked_on"],
        "text": clean_column(entries["words"]),
        "source_ids": pa.ListArray.from_arrays(offsets, _joined(source_ids)),
    }
    return pa.table(columns).combine_chunks()


def _postings(entries: pa.Table, legs: pa.Table) -> pa.Table:
    """Return one row per leg, in order; the columns of an entry are made once and repeated."""
    turns = _joined(legs["turn"])
    of_entry = pc.subtract(turns, 1)
    columns = {name: _joined(entries[name].take(of_entry)) for name in entries.column_names}
    columns["posting"] = _places(turns)
    columns |= {name: _joined(legs[name]) for name in ("role", "of", "currency", "amount")}
    arrays = [columns[field.name].cast(field.type) for field in POSTINGS]
    return pa.Table.from_arrays(arrays, schema=POSTINGS)


def _places(turns: pa.Array) -> pa.Array:
    """Return each row's position within its entry, from 1; rows are sorted by entry (`turn`)."""
    places = _counted(len(turns))
    others = pc.not_equal(turns.slice(1), turns.slice(0, max(len(turns) - 1, 0)))
    is_first = pa.concat_arrays([pa.array([True] * min(len(turns), 1), pa.bool_()), others])
    nothing = pa.scalar(None, INTEGER)
    first = pc.fill_null_forward(pc.if_else(is_first, places, nothing))
    return pc.add(pc.subtract(places, first), 1)


def _joined(column: pa.ChunkedArray) -> pa.Array:
    """Return the chunks of a column as one array, copying only if there are several."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _statement_balances(
    r: Reconciliation, notes: list[str]
) -> tuple[tuple[KnownBalance, ...], tuple[KnownBalance, ...]]:
    opening, closing = [], []
    for row in r.statements.arrow.to_pylist():
        of = row["account"]
        if row["complete"]:
            account = (_SOURCES.get(row["source"], "bank"), of, row["currency"])
            first, last = row["opening_balance"], row["closing_balance"]
            opening.append(KnownBalance(*account, r.month.previous.last, first))
            closing.append(KnownBalance(*account, r.month.last, last))
        else:
            notes.append(
                f"no balance of {of} is asserted: its statements are not complete and proved"
            )
    return tuple(opening), tuple(closing)


def _corrections(r: Reconciliation, corrections: pa.Table | None) -> Iterator[BookEntry]:
    """Yield the entries for late decisions about lines that a closed month has posted.

    The opening entries of money in transit already contain the correction, but the closed month's
    books do not. So another opening entry takes the corrected part out again.
    """
    if corrections is None or not corrections.num_rows:
        return
    posted = _lines_alone(r, corrections)
    closed = corrections["month"].to_pylist()
    sides: dict[str, dict[str, int]] = {}
    for at, row in enumerate(corrections.select(["entry_id", "side"]).to_pylist()):
        sides.setdefault(row["entry_id"], {})[row["side"]] = at
    for entry_id, own in sides.items():
        before, after = posted[own["before"]], posted[own["after"]]
        legs = _difference(before.legs, after.legs)
        month = closed[own["after"]]
        transit = tuple(leg for leg in legs if leg.role in TRANSIT)
        if transit:
            opened = tuple(map(_negated, transit))
            against = tuple(BookLeg("opening", leg.currency, leg.amount) for leg in transit)
            text = clean(f"{after.text}: as {month} was closed")
            name, on = f"opening:late:{entry_id}", r.month.previous.last
            yield BookEntry(name, on, text, (*opened, *against), after.sources)
        if legs:
            text = clean(f"{after.text}: decided after {month} was closed")
            yield BookEntry(f"late:{entry_id}", r.month.first, text, legs, after.sources)


def _lines_alone(r: Reconciliation, lines: pa.Table) -> list[BookEntry]:
    """Return each line's entry, without the shares of several expectations."""
    rows = _numbered(lines.append_column("remittance", pa.nulls(lines.num_rows, TEXT)))
    nothing = r.virtual_accounts.arrow.schema.empty_table()
    tables = _line_tables(rows, r.matches.allocations.arrow.slice(0, 0), nothing)
    with _stepped(tables, "line_legs") as connection:
        legs: dict[int, list[BookLeg]] = {}
        for at, *leg in connection.execute(_LEGS_ALONE).fetchall():
            legs.setdefault(at, []).append(BookLeg(*leg))
        booked = connection.execute(_LINES_ALONE).fetchall()
    return [
        BookEntry(
            f"line:{entry_id}",
            on,
            clean(words or _LINE),
            tuple(legs[at]),
            tuple(filter(None, (entry_id, expectation_id))),
        )
        for at, entry_id, on, words, expectation_id in booked
    ]


def _difference(before: Iterable[BookLeg], after: Iterable[BookLeg]) -> tuple[BookLeg, ...]:
    """Return the legs by which the second entry differs from the first."""
    legs = (*map(_negated, before), *after)
    sums = totals(((leg.role, leg.currency, leg.of), leg.amount) for leg in legs)
    return tuple(
        BookLeg(role, currency, amount, of)
        for (role, currency, of), amount in sums.items()
        if amount
    )


def _negated(leg: BookLeg) -> BookLeg:
    return msgspec.structs.replace(leg, amount=leg.amount.copy_negate())


def _conversions(r: Reconciliation, zone: ZoneInfo) -> Iterator[BookEntry]:
    """Yield entries of coins from proved conversions; `conversion_sweep` lines book the fiat."""
    for row in r.conversions.arrow.to_pylist():
        if row["state"] not in _PROVED or not row["converted"] or row["closed_at"] is None:
            continue
        on = row["closed_at"].astimezone(zone).date()
        if r.month.first <= on <= r.month.last:
            asset = row["asset"]
            yield BookEntry(
                f"conversion:{row['account_id']}:{asset}:{row['closed_at']:%Y-%m-%dT%H:%M:%S}",
                on,
                clean(f"Converted to {asset}, {row['account']}"),
                BookLeg("wallet", asset, row["converted"], asset).against("conversion"),
                tuple(row["entry_ids"] or ()),
            )


def _transfers(r: Reconciliation, zone: ZoneInfo, notes: list[str]) -> Iterator[BookEntry]:
    """Yield entries of coins sent to and received from others; internal transfers need none."""
    if r.basis is None:
        return
    for row in placed_transfers(r.month, zone, r.basis.snapshot):
        out, into = row["from_holder"] is not None, row["to_holder"] is not None
        asset, amount = row["coin"], row["quantity"]
        if out and into:
            continue
        if amount is None or asset is None:
            notes.append(f"transfer {row['transfer_id']} is not posted: no amount is recorded")
            continue
        if not row["is_told"]:
            notes.append(
                f"transfer {row['transfer_id']} is posted as a transfer with others: the wallet on"
                " the other side is not known; the wallet's explorer export shows it"
            )
        way = "out" if out else "in"
        leg = BookLeg("wallet", asset, amount.copy_negate() if out else amount, asset)
        yield BookEntry(
            f"transfer:{row['transfer_id']}",
            row["happened_on"],
            f"Transfer of {clean(asset)} {way}",
            leg.against(f"transfers {way}"),
            (row["transfer_id"],),
        )
