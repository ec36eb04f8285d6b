"""The store of all service records, in one table.

A record is stored as two JSON texts, its list item and its full body, with further columns to
filter and sort. So a page takes one indexed query and a join of strings. For very large volumes,
the texts are not stored but generated on demand.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Final, TypeAlias

import msgspec

from treasury.sandbox.state import shapes
from treasury.sandbox.state.orders import Orders, select
from treasury.sandbox.state.shapes import Account, AccountTransfer, Company, encode


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record with its kind and its JSON texts."""

    kind: str
    id: str
    item: str
    detail: str
    owner: str = ""
    """Owner of the record: an account; for a transfer, the sender."""
    peer: str = ""
    """For a transfer, the receiving account."""
    created_at: str = ""
    updated_at: str = ""
    status: str = ""
    type: str = ""
    chain: str = ""
    reference: str = ""
    amount: str = ""
    """This and the next two amounts are texts that sort like numbers; see `sortable`."""
    fiat_amount: str = ""
    crypto_amount: str = ""


def sortable(amount: Decimal | str) -> str:
    """Return an amount as fixed-length text that sorts like the number."""
    return f"{Decimal(amount):034.18f}"


Maker: TypeAlias = Callable[[int], str]
COLUMNS: Final = tuple(field for field in Record.__struct_fields__ if field != "detail")
_FIELDS: Final = Record.__struct_fields__
_MAKE: Final = f"""
create table records (
    position integer primary key,
    {", ".join(f"{name} text not null" for name in _FIELDS)}
);
create table facts (name text primary key, value text not null) without rowid;
"""
_INDEXES: Final = {
    # Each index ends with the position.
    "by_id": "unique index by_id on records (kind, id)",
    "by_kind": "index by_kind on records (kind)",
    "by_creation": "index by_creation on records (kind, created_at)",
    "by_change": "index by_change on records (kind, updated_at)",
    "by_owner": "index by_owner on records (kind, owner, created_at)",
    "by_peer": "index by_peer on records (kind, peer, created_at)",
    "by_status": "index by_status on records (kind, status, created_at)",
    "by_reference": "index by_reference on records (kind, reference)",
}  # fmt: skip
_WRITE: Final = f"""
insert into records ({", ".join(_FIELDS)}) values ({", ".join(f":{n}" for n in _FIELDS)})
on conflict (kind, id) do update set {", ".join(f"{n} = excluded.{n}" for n in _FIELDS)}
"""  # noqa: S608 - the names are the struct's own fields


def make_record(kind: str, value: msgspec.Struct, item: object = None, **columns: str) -> Record:
    """Return the record for a body; lists show `item`, by default the body itself."""
    text = encode(value)
    item_text = encode(item) if item is not None else text
    fields = {
        name: getattr(value, name)
        for name in ("id", "created_at", "updated_at", "status", "chain")
        if isinstance(getattr(value, name, None), str)
    }
    amount = getattr(value, "amount", None)
    if isinstance(amount, Decimal | str):
        fields["amount"] = sortable(amount)
    return Record(kind=kind, item=item_text, detail=text, **(fields | columns))


_SERVED: Final[dict[type, tuple[str, dict[str, str], type | None]]] = {
    # For each kind: fields stored in columns with other names, and the fields of a list item.
    shapes.Party: ("party", {"type": "party_type", "reference": "external_id"}, None),
    Account: ("account", {"reference": "external_id"}, None),
    shapes.Wallet: ("wallet", {"owner": "account_id", "reference": "address"}, None),
    shapes.VirtualBankAccount: (
        "virtual_account",
        {"owner": "account_id", "type": "bank_account_type", "reference": "reference_code"}, None,
    ),
    shapes.Transfer: (
        "transfer", {"owner": "sender_account_id", "peer": "receiver_account_id"}, None
    ),
    AccountTransfer: (
        "account_transfer", {"owner": "source_account_id", "peer": "destination_account_id"}, None
    ),
    Company: ("company", {}, None),
    shapes.User: ("user", {"type": "role"}, None),
    shapes.Fee: ("fee", {"type": "type"}, None),
    shapes.FiatCurrency: ("fiat_currency", {}, None),
    shapes.CryptoCurrency: ("crypto_currency", {}, None),
    shapes.CompanyWallet: (
        "company_wallet", {"status": "verification_status", "reference": "address"},
        shapes.CompanyWalletItem,
    ),
    shapes.CompanyBankAccount: (
        "company_bank_account", {"status": "verification_status", "type": "supported_ramp_type"},
        shapes.CompanyBankAccountItem,
    ),
}  # fmt: skip


def service_record(value: msgspec.Struct) -> Record:
    """Return the record for a body of a type in `_SERVED`."""
    kind, columns, item = _SERVED[type(value)]
    values = {column: getattr(value, name) or "" for column, name in columns.items()}
    return make_record(kind, value, shapes.brief(value, item) if item else None, **values)


def role_records(account: Account) -> Iterator[Record]:
    """Yield the records of the parties' roles in an account."""
    for role in account.party_roles:
        name = f"{account.id}/{role.party_id}"
        yield make_record("party_role", role, id=name, owner=account.id, peer=role.party_id)


class Page(msgspec.Struct, frozen=True):
    """The items of one page, and the number of records on all pages."""

    items: list[str]
    total: int


MEMORY: Final = ":memory:"
"""Path of a store in memory."""


class Store:
    """Store of records in SQLite, in memory or in a file.

    Modules with their own tables create them on `db` and write within `transaction()`.
    """

    def __init__(self, place: str = MEMORY) -> None:
        self.db = sqlite3.connect(place, check_same_thread=False, isolation_level=None, timeout=0)
        self.close = weakref.finalize(self, self.db.close)
        self.unseen_from = ""
        """If set, lists hide records created at or after this instant."""
        self.db.execute("pragma locking_mode = exclusive")
        self.db.execute("pragma journal_mode = wal")
        if self.db.execute("select 1 from sqlite_master where name = 'facts'").fetchone() is None:
            indexes = "".join(f"create {index};" for index in _INDEXES.values())
            self.db.executescript(f"begin; {_MAKE} {indexes} commit;")
        self._orders = Orders(self.db)
        self.makers: dict[str, Maker] = {}
        """Functions, by kind, that generate the texts of records stored without texts."""

    def image(self) -> bytes:
        """Return a copy of the whole state, from which another store in memory can start."""
        return self.db.serialize()

    def begin_with(self, image: bytes) -> None:
        """Replace the state with another store's state."""
        self.db.deserialize(image)
        self._orders.forget()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes in the block, or roll them back after an exception; may be nested."""
        self.db.execute("savepoint step")
        try:
            yield
        except BaseException:
            self.db.execute("rollback to step")
            self._orders.forget()
            raise
        finally:
            self.db.execute("release step")

    def put(self, records: Iterable[Record]) -> None:
        """Write records, replacing those with the same kind and id."""
        self._orders.forget()
        with self.transaction():
            self.db.executemany(_WRITE, map(msgspec.structs.asdict, records))

    def load(self, records: Iterable[Record]) -> None:
        """Write very many new records; `makers` generates the texts that they lack."""
        self._orders.forget()
        self.db.execute("pragma cache_size = -400000")
        placeholders = ", ".join("?" * len(_FIELDS))
        with self.transaction():
            for name in _INDEXES:
                self.db.execute(f"drop index {name}")
            self.db.executemany(
                f"insert into records ({', '.join(_FIELDS)}) values ({placeholders})",  # noqa: S608 - the struct's own fields
                map(msgspec.structs.astuple, records),
            )
            for index in _INDEXES.values():
                self.db.execute(f"create {index}")

    def remove(self, kind: str, **where: str) -> None:
        """Delete the records of a kind with these values in their columns."""
        self._orders.forget()
        clauses = "".join(f" and {_check_column(column)} = ?" for column in where)
        self.db.execute(
            f"delete from records where kind = ?{clauses}",  # noqa: S608 - checked columns
            [kind, *where.values()],
        )

    def remember(self, **facts: str) -> None:
        """Store single values by name."""
        self.db.executemany("insert or replace into facts values (?, ?)", facts.items())

    def facts(self) -> dict[str, str]:
        """Return the stored single values by name."""
        return dict(self.db.execute("select name, value from facts").fetchall())

    def detail(self, kind: str, id: str, owner: str | None = None) -> str | None:  # noqa: A002 - the services' word
        """Return the record's full JSON; None if it does not exist or has another owner."""
        row = self.db.execute(
            "select detail, position from records"
            " where kind = ? and id = ? and owner = coalesce(?, owner)",
            (kind, id, owner),
        ).fetchone()
        return None if row is None else row[0] or self.makers[kind](row[1])

    def owner(self, kind: str, id: str) -> str | None:  # noqa: A002 - the services' word
        """Return the owner of a record; None if the record does not exist."""
        row = self.db.execute(
            "select owner from records where kind = ? and id = ?", (kind, id)
        ).fetchone()
        return None if row is None else row[0]

    def owners(self, kind: str, peer: str) -> list[str]:
        """Return the owners of all records of a kind that have this peer."""
        rows = self.db.execute(
            "select owner from records where kind = ? and peer = ? order by position", (kind, peer)
        )
        return [owner for (owner,) in rows]

    def last_reference(self, kind: str, beginning: str) -> str:
        """Return the greatest reference with a prefix among a kind's records; empty without one."""
        (reference,) = self.db.execute(
            "select max(reference) from records where kind = ? and reference between ? and ?",
            (kind, beginning, beginning + "~"),
        ).fetchone()
        return reference or ""

    def page(
        self,
        kind: str,
        where: Mapping[str, Sequence[str]],
        *,
        members: Mapping[str, str] | None = None,
        between: tuple[str, str] = ("", "~"),
        sort: Sequence[str] = (),
        descending: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> Page:
        """Return one page of a kind.

        `where` has allowed values by column; `members` has columns of which at least one must have
        its value; `between` limits `created_at`, with an exclusive end.
        """
        allowed = {column: tuple(dict.fromkeys(values)) for column, values in where.items()}
        single = {column: values[0] for column, values in allowed.items() if len(values) == 1}
        several = {column: values for column, values in allowed.items() if len(values) != 1}
        bounds = [] if between == ("", "~") else [("created_at >= ?", between[0])]
        bounds += [("created_at < ?", end) for end in (between[1], self.unseen_from) if end != ""]
        selection = select(kind, single, several, members or {}, bounds)
        total, rows = self._orders.page(
            selection,
            tuple(map(_check_column, sort)),
            descending=descending,
            offset=offset,
            limit=limit,
        )
        return Page([item or self.makers[kind](position) for item, position in rows], total)


def _check_column(column: str) -> str:
    if column not in COLUMNS and column != "position":
        raise KeyError(column)
    return column
