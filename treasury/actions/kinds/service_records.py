"""Reads the records against which actions are checked, from the last sync or the service.

A proposal reads the last sync, and from the service only what the sync lacks. An execution reads
only from the service. Both return the same types of records, so facts are derived in the same way.
Within a batch of executions, answers are cached for a few seconds.

Lists of recent records are read back to a certain time, even if they are long. So actions that are
missing from a workspace restored from an older copy are found as well. A list that ignores the
requested order is read to its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

import msgspec

from treasury.api import models
from treasury.core.decoding import decode_json
from treasury.core.errors import ActionRefused, Forbidden, InputError, NotFound, NotOffered
from treasury.core.machine.boot_clock import boot_seconds
from treasury.core.money import total
from treasury.lake import Snapshot

if TYPE_CHECKING:
    from treasury.api import Client, ListPage, Record

T = TypeVar("T")
_EVER: Final = datetime.min.replace(tzinfo=UTC)
_FRESH_SECONDS: Final = 5.0
"""How long an answer is cached within a batch."""
_LIST_SECONDS: Final = 60.0
"""How long a list of recent records is cached."""


class RecordType(msgspec.Struct, Generic[T], frozen=True):
    """A record type that can be read by id, from its table in the lake or from the service."""

    words: str
    model: type[T]
    table: str
    column: str
    """The column with the id; empty for the company's own records, which are read all at once."""
    ask: Callable[[Client, str], Any]
    may_be_closed: bool = False
    """Whether some credentials or generations cannot read it; the check is then left to the
    service."""


class RecordList(RecordType[T], frozen=True):
    """A list of records, identified by the id of their owner."""


class RecordFeed(RecordType[T], frozen=True):
    """A list that is read in pages, sorted by creation time, newest first."""


class RecordSource(Protocol):
    """A source of records, such as the last sync or the live service."""

    def read(self, record_type: RecordType[Any], record_id: str) -> Any:
        """Return the record, or all records of a `RecordList`; None if the source has none."""

    def latest(self, feed: RecordFeed[Any], record_id: str, since: datetime) -> Sequence[Any]:
        """Return the records created since a time, and those without a creation time."""


class ServiceRecords:
    """Reads each record from the first source that has it."""

    def __init__(self, *sources: RecordSource, since: datetime = _EVER) -> None:
        self._sources = sources
        self._since = since

    def require(self, record_type: RecordType[T], record_id: str, field: str) -> T:
        """Return the record of that id; raise InputError naming `field` if there is none."""
        record = self.find(record_type, record_id)
        if record is None:
            raise InputError(
                f"{field}: no {record_type.words} has the id {record_id}",
                do="check the id, and that the credential belongs to the same company",
            )
        return record

    def find(self, record_type: RecordType[T], record_id: str = "") -> T | None:
        """Return the record of that id; None if there is none."""
        answers = (source.read(record_type, record_id) for source in self._sources)
        return next((answer for answer in answers if answer is not None), None)

    def all(self, record_list: RecordList[T], owner_id: str = "") -> Sequence[T]:
        """Return the records of an account, or of the company."""
        records: Any = self.find(record_list, owner_id)
        return records or ()

    def holders(self, account_id: str) -> Sequence[models.Party]:
        """Return the parties that hold an account."""
        return [role.party for role in self.all(_ROLES, account_id) if role.party is not None]

    def holdings(self, account_id: str) -> list[tuple[str | None, models.Holding]]:
        """Return an account's balances, each with its wallet's chain."""
        return [
            (wallet.chain, balance.holding())
            for wallet in self.all(WALLETS, account_id)
            for balance in wallet.balances
        ]

    def lately(self, feed: RecordFeed[T], record_id: str = "") -> Sequence[T]:
        """Return the records of a list created since the instant passed to the constructor.

        Records without a creation time are included. `record_id` is the account's id if the list
        belongs to one account. Raises Forbidden or NotOffered if the service does not show the
        list, ActionRefused if it is too long to be read back that far.
        """
        lists = (source.latest(feed, record_id, self._since) for source in self._sources)
        return next(filter(None, lists), ())

    def fiat_currency(self, code: str, field: str) -> models.FiatCurrency:
        """Return a fiat currency of the ramp service by its code."""
        offered = self.all(_FIAT_CURRENCIES)
        matches = [unit for unit in offered if code in {unit.currency, unit.id}]
        return _only(matches, [unit.currency for unit in offered], code, field)

    def crypto_currency(self, code: str, chain: str | None, field: str) -> models.CryptoCurrency:
        """Return a cryptocurrency of the ramp service by its code and, if given, its chain."""
        offered = self.all(_CRYPTO_CURRENCIES)
        on_chain = [unit for unit in offered if chain in {unit.chain, None}]
        matches = [unit for unit in on_chain if code in {unit.currency, unit.id}]
        names = [f"{unit.currency} on {unit.chain}" for unit in offered]
        return _only(matches, names, f"{code} on {chain}" if chain else code, field)


def _only(matches: Sequence[T], offered: Iterable[str | None], code: str, field: str) -> T:
    if len(matches) == 1:
        return matches[0]
    problem = "is on several networks" if matches else "is not offered by the ramp service"
    raise InputError(
        f"{field}: {code} {problem}", do=f"use one of: {', '.join(sorted(filter(None, offered)))}"
    )


class StoredSource:
    """Reads from the last commit of the lake; skips incompletely synced records."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def read(self, record_type: RecordType[Any], record_id: str) -> Any:
        """Return the record as it was last synced."""
        if self._snapshot.commit is None:
            return None
        query = (
            f"SELECT raw FROM {record_type.table} WHERE vanished_at IS NULL"  # noqa: S608 - our own names
            f" AND {record_type.column or '$wanted'} = $wanted"
        )
        rows = self._snapshot.sql(query, {"wanted": record_id})["raw"].to_pylist()
        records = [decode_json(raw, record_type.model) for raw in rows]
        if record_type is _ROLES:
            return [role for role in records if role.party is not None] or None
        # Every sync stores all balances again, so only the newest one per asset is read.
        if record_type is WALLETS:
            return self._with_balances(records)
        if record_type is RAMP_REQUEST:
            records = [request for request in records if request.version]
        is_list = isinstance(record_type, RecordList)
        return (records or None) if is_list else next(iter(records), None)

    def latest(self, feed: RecordFeed[Any], record_id: str, since: datetime) -> Sequence[Any]:
        """Return the last sync's records created since a time, or without a creation time."""
        if self._snapshot.commit is None:
            return ()
        query = (
            f"SELECT raw FROM {feed.table} WHERE vanished_at IS NULL"  # noqa: S608 - our own names
            f" AND {feed.column or '$wanted'} = $wanted"
            " AND coalesce(created_at >= $since, TRUE) ORDER BY created_at DESC, id"
        )
        rows = self._snapshot.sql(query, {"wanted": record_id, "since": since})
        return [decode_json(raw, feed.model) for raw in rows["raw"].to_pylist()]

    def _with_balances(self, wallets: list[models.Wallet]) -> list[models.Wallet] | None:
        query = (
            "SELECT wallet_id, raw FROM wallet_balances WHERE wallet_id = ANY($ids)"
            " QUALIFY row_number() OVER ("
            "PARTITION BY wallet_id, asset, contract_address ORDER BY observed_at DESC) = 1"
        )
        ids = [wallet.id for wallet in wallets]
        if not wallets or None in ids:
            return None
        rows = self._snapshot.sql(query, {"ids": ids}).to_pylist()
        return [
            msgspec.structs.replace(
                wallet,
                balances=tuple(
                    decode_json(row["raw"], models.Balance)
                    for row in rows
                    if row["wallet_id"] == wallet.id
                ),
            )
            for wallet in wallets
        ]


class RoleHeld(msgspec.Struct, frozen=True):
    """The fields of a party's role that are used by the checks."""

    party: models.Party | None = None


def _values(records: Iterable[Record[Any]]) -> list[Any]:
    return [record.value for record in records]


ACCOUNT: Final = RecordType(
    "account", models.Account, "accounts", "id", lambda c, i: c.finance.accounts.get(i).value
)
ACCOUNT_NAMED: Final = RecordType(
    "account named", models.Account, "accounts", "external_id",
    lambda c, i: next(
        (r.value for r in c.finance.accounts.iterate(external_id=i) if r.value.external_id == i),
        None,
    ),
)  # fmt: skip
"""Accounts, looked up by the id that we chose."""
PARTY: Final = RecordType(
    "party", models.Party, "parties", "id", lambda c, i: c.finance.parties.get(i).value
)
_ROLES: Final = RecordList(
    "roles", RoleHeld, "party_roles", "account_id",
    lambda c, i: _values(c.finance.party_roles.all(i)), may_be_closed=True,
)  # fmt: skip
WALLETS: Final = RecordList(
    "wallets", models.Wallet, "wallets", "account_id",
    lambda c, i: _values(c.finance.wallets.iterate(i)), may_be_closed=True,
)  # fmt: skip
"""The wallets of an account, with their balances."""
RAMP_REQUEST: Final = RecordType(
    "ramp request",
    models.RampRequest,
    "ramp_requests",
    "id",
    lambda c, i: c.ramp.requests.get(i).value,
)
COMPANY: Final = RecordType(
    "company",
    models.Company,
    "company",
    "",
    lambda c, _: c.ramp.company.get().value,
    may_be_closed=True,
)
COMPANY_USERS: Final = RecordList(
    "company users", models.CompanyUser, "company_users", "",
    lambda c, _: _values(c.ramp.users.all()), may_be_closed=True,
)  # fmt: skip
COMPANY_WALLET: Final = RecordType(
    "company wallet", models.CompanyWallet, "company_wallets", "id",
    lambda c, i: c.ramp.wallets.get(i).value,
)  # fmt: skip
COMPANY_WALLETS: Final = RecordList(
    "company wallets", models.CompanyWallet, "company_wallets", "",
    lambda c, _: _values(c.ramp.wallets.iterate()),
)  # fmt: skip
COMPANY_BANK_ACCOUNT: Final = RecordType(
    "company bank account", models.CompanyBankAccount, "company_bank_accounts", "id",
    lambda c, i: c.ramp.bank_accounts.get(i).value,
)  # fmt: skip
COMPANY_BANK_ACCOUNTS: Final = RecordList(
    "company bank accounts", models.CompanyBankAccount, "company_bank_accounts", "",
    lambda c, _: _values(  # A list item lacks the account number, so the details are read.
        c.ramp.bank_accounts.get(r.value.id) for r in c.ramp.bank_accounts.iterate()
    ),
)  # fmt: skip
_FIAT_CURRENCIES: Final = RecordList(
    "fiat currencies", models.FiatCurrency, "fiat_currencies", "",
    lambda c, _: _values(c.ramp.fiat_currencies.recent()),
)  # fmt: skip
_CRYPTO_CURRENCIES: Final = RecordList(
    "crypto currencies", models.CryptoCurrency, "crypto_currencies", "",
    lambda c, _: _values(c.ramp.crypto_currencies.recent()),
)  # fmt: skip


TRANSFERS: Final = RecordFeed(
    "transfers", models.Transfer, "transfers", "sender_account_id",
    lambda c, i: c.finance.transfers.pages(i, sort_order="DESC"),
)  # fmt: skip
INNER_TRANSFERS: Final = RecordFeed(
    "account transfers", models.Transfer, "transfers", "sender_account_id",
    lambda c, i: c.finance.account_to_account_transfers.pages(
        source_account_id=i, sort_order="DESC"
    ),
)  # fmt: skip
VIRTUAL_ACCOUNTS: Final = RecordFeed(
    "virtual accounts", models.VirtualBankAccount, "virtual_bank_accounts", "account_id",
    lambda c, i: c.finance.virtual_bank_accounts.pages(i, sort_order="DESC"),
)  # fmt: skip
RAMP_REQUESTS: Final = RecordFeed(
    "ramp requests", models.RampRequest, "ramp_requests", "",
    lambda c, _: c.ramp.requests.pages(sort_order="DESC"),
)  # fmt: skip
PARTIES: Final = RecordFeed(
    "parties", models.Party, "parties", "",
    lambda c, _: c.finance.parties.pages(sort_order="DESC"),
)  # fmt: skip
MOST_RECORDS: Final = 20_000
"""Maximum number of recent records read from a list; more raise ActionRefused."""


class LiveSource:
    """Reads from the live service; answers are cached for `seconds`, for the actions of a batch."""

    def __init__(
        self, connect: Callable[[], Client], *, clock: Callable[[], float] = boot_seconds
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._records: dict[tuple[str, str], tuple[float, Any]] = {}
        self._latest: dict[tuple[str, str], tuple[float, datetime, Sequence[Any]]] = {}

    def read(self, record_type: RecordType[Any], record_id: str) -> Any:
        """Return the record from the service; None if it has none or does not show it."""
        key = (record_type.words, record_id)
        now = self._clock()
        cached = self._records.get(key)
        is_fresh = cached is not None and now - cached[0] < _FRESH_SECONDS
        # The version of a ramp request is sent with the call, so it must be current.
        if cached is not None and is_fresh and record_type is not RAMP_REQUEST:
            return cached[1]
        try:
            record = record_type.ask(self._connect(), record_id)
        except NotFound:
            return None
        except (Forbidden, NotOffered):
            if record_type.may_be_closed:
                return None
            raise
        self._records[key] = (now, record)
        return record

    def latest(self, feed: RecordFeed[Any], record_id: str, since: datetime) -> Sequence[Any]:
        """Return the records of a list, from a one-minute cache if that reaches back far enough.

        Some of them may have been created before `since`.
        """
        name, now = (feed.words, record_id), self._clock()
        cached = self._latest.get(name)
        if cached is None or since < cached[1] or now - cached[0] >= _LIST_SECONDS:
            day = since.replace(hour=0, minute=0, second=0, microsecond=0)
            pages = feed.ask(self._connect(), record_id)
            cached = self._latest[name] = (now, day, _created_since(pages, day, feed.words))
        return cached[2]

    def forget(self, record_ids: Iterable[str]) -> None:
        """Remove cached answers about the records that a call is about to change."""
        for key in [key for key in self._records if key[1] in record_ids]:
            del self._records[key]

    def draw(self, account_id: str, asset: str, amount: Decimal) -> None:
        """Subtract an amount that is about to be sent from the cached balance."""
        key = (WALLETS.words, account_id)
        if key not in self._records:
            return
        at, wallets = self._records[key]
        holders = (w for w in wallets if any(asset in {b.asset, b.token} for b in w.balances))
        holder = next(holders, None)
        if holder is not None:
            remaining = _drawn(holder, asset, amount)
            self._records[key] = (at, [remaining if w is holder else w for w in wallets])


def spendable(holding: models.Holding) -> Decimal | None:
    """Return the available amount of a holding, or its total if no available amount is stated."""
    return holding.total if holding.available is None else holding.available


def _drawn(wallet: models.Wallet, asset: str, amount: Decimal) -> models.Wallet:
    balances = []
    for holding in (balance.holding() for balance in wallet.balances):
        content = msgspec.structs.asdict(holding)
        if holding.asset == asset:
            held = spendable(holding)
            remaining = None if held is None else total((held, amount.copy_negate()))
            content["available"] = remaining
        balances.append(models.Balance(**content))
    return msgspec.structs.replace(wallet, balances=tuple(balances))


def _created_since(pages: Iterable[ListPage[Any]], since: datetime, words: str) -> list[Any]:
    """Return the listed records created since a time, and those without a creation time.

    Reading stops at the first older page, if the list was sorted newest first so far.
    """
    recent: list[Any] = []
    earliest, in_order, count = None, True, 0
    for page in pages:
        for record in page:
            created_at = record.value.created_at
            falls = created_at is not None and (earliest is None or created_at <= earliest)
            in_order, earliest = in_order and falls, created_at
            if created_at is None or created_at >= since:
                recent.append(record.value)
        count += len(page)
        is_end = in_order and earliest is not None and earliest < since
        if len(recent) > MOST_RECORDS or (count > MOST_RECORDS and not is_end):
            order = "were made" if in_order else "are listed in no order, some of them made"
            raise ActionRefused(
                f"more than {MOST_RECORDS:,} {words} {order} since {since:%Y-%m-%d}, so one of"
                " them may be the same; nothing was sent",
                do="look for it in the provider's portal, then withdraw it or propose it again",
            )
        if is_end:
            break
    return recent
