"""What the kinds of action ask about the world: of the lake first, or of the service alone.

A proposal is checked against what the last sync stored, and asks the service for what that does not
hold. An execution asks the service. Both give the same typed records, so a fact is worked out in
one way; within a batch of executions an answer serves for a few seconds.

Lists of what was made lately are read back to an instant, however many records came after it: what
was carried out before a workspace was put back from an older copy is found behind what came since.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast

import msgspec

from treasury.api.models import (
    Account,
    Balance,
    Company,
    CompanyBankAccount,
    CompanyUser,
    CompanyWallet,
    CryptoCurrency,
    FiatCurrency,
    Holding,
    Party,
    RampRequest,
    Transfer,
    VirtualBankAccount,
    Wallet,
)
from treasury.errors import ActionRefused, Forbidden, InputError, NotFound, NotOffered
from treasury.ground.decoding import decode_json
from treasury.lake import Snapshot
from treasury.money import total

if TYPE_CHECKING:
    from treasury.api import Client, Record

__all__ = ["LISTS", "LiveSource", "RecordSource", "ServiceRecords", "StoredSource"]

T = TypeVar("T")
_EVER: Final = datetime.min.replace(tzinfo=UTC)
FRESH_SECONDS: Final = 5.0
"""For how long an answer of the service serves within a batch."""


class RecordSource(Protocol):
    """Gives a record by what it is and its id; None where it does not hold it."""

    def read(self, record_type: str, record_id: str) -> Any:
        """The record, or for a list (`wallets`, `holders`, …) the records."""

    def latest(self, list_name: str, record_id: str, since: datetime) -> Sequence[Any]:
        """The records of a list that were made since an instant, or do not say when."""


class ServiceRecords:
    """The records of the services, asked of one source after the other until one holds them."""

    def __init__(self, *sources: RecordSource, since: datetime = _EVER) -> None:
        self._sources = sources
        self._since = since

    def account(self, account_id: str, field: str) -> Account:
        """An account of the finance service; InputError names `field` where there is none."""
        return cast("Account", self._require("account", account_id, field))

    def account_named(self, external_id: str, field: str) -> Account:
        """The account with our own id."""
        return cast("Account", self._require("account_named", external_id, field))

    def holds_name(self, external_id: str) -> Account | None:
        """The account that has this id of ours already; None where none has."""
        return cast("Account | None", self._ask("account_named", external_id))

    def party(self, party_id: str, field: str) -> Party:
        """A party of the finance service."""
        return cast("Party", self._require("party", party_id, field))

    def company_users(self) -> Sequence[CompanyUser]:
        """Who may use the ramp service for the company."""
        return cast("Sequence[CompanyUser]", self._ask("company_users", "") or ())

    def holders(self, account_id: str) -> Sequence[Party]:
        """The parties that hold an account."""
        return cast("Sequence[Party]", self._ask("holders", account_id) or ())

    def wallets(self, account_id: str) -> Sequence[Wallet]:
        """The wallets of an account with what they hold."""
        return cast("Sequence[Wallet]", self._ask("wallets", account_id) or ())

    def holdings(self, account_id: str) -> list[tuple[str | None, Holding]]:
        """What an account holds, each with the chain of its wallet."""
        return [
            (wallet.chain, balance.holding())
            for wallet in self.wallets(account_id)
            for balance in wallet.balances
        ]

    def ramp_request(self, request_id: str, field: str) -> RampRequest:
        """A ramp request with its details."""
        return cast("RampRequest", self._require("ramp_request", request_id, field))

    def company(self) -> Company | None:
        """The company of the credential."""
        return cast("Company | None", self._ask("company", ""))

    def company_wallet(self, wallet_id: str, field: str) -> CompanyWallet:
        """A wallet that the company registered."""
        return cast("CompanyWallet", self._require("company_wallet", wallet_id, field))

    def company_bank_account(self, account_id: str, field: str) -> CompanyBankAccount:
        """A bank account that the company registered."""
        return cast("CompanyBankAccount", self._require("company_bank_account", account_id, field))

    def company_wallets(self) -> Sequence[CompanyWallet]:
        """Every wallet that the company registered."""
        return cast("Sequence[CompanyWallet]", self._ask("company_wallets", "") or ())

    def company_bank_accounts(self) -> Sequence[CompanyBankAccount]:
        """Every bank account that the company registered."""
        return cast("Sequence[CompanyBankAccount]", self._ask("company_bank_accounts", "") or ())

    def lately(self, list_name: str, record_id: str = "") -> Sequence[Any]:
        """The records of a list (`LISTS`) that were made since the instant that is asked about.

        Of an account where they are one's. Raises Forbidden or NotOffered where the service does
        not show the list, ActionRefused where it is too long to be read back that far.
        """
        lists = (source.latest(list_name, record_id, self._since) for source in self._sources)
        return next(filter(None, lists), ())

    def fiat_currency(self, code: str, field: str) -> FiatCurrency:
        """A fiat currency of the ramp service by its code."""
        offered: Sequence[FiatCurrency] = self._ask("fiat_currencies", "") or ()
        matches = [unit for unit in offered if code in {unit.currency, unit.id}]
        return _only(matches, [unit.currency for unit in offered], code, field)

    def crypto_currency(self, code: str, chain: str | None, field: str) -> CryptoCurrency:
        """A cryptocurrency of the ramp service by its code, on a chain where it is on several."""
        offered: Sequence[CryptoCurrency] = self._ask("crypto_currencies", "") or ()
        on_chain = [unit for unit in offered if chain in {unit.chain, None}]
        matches = [unit for unit in on_chain if code in {unit.currency, unit.id}]
        names = [f"{unit.currency} on {unit.chain}" for unit in offered]
        return _only(matches, names, f"{code} on {chain}" if chain else code, field)

    def _require(self, record_type: str, record_id: str, field: str) -> Any:
        record = self._ask(record_type, record_id)
        if record is None:
            raise InputError(
                f"{field}: there is no {record_type.replace('_', ' ')} {record_id}",
                do="check the id, and that the credential belongs to the same company",
            )
        return record

    def _ask(self, record_type: str, record_id: str) -> Any:
        answers = (source.read(record_type, record_id) for source in self._sources)
        return next((answer for answer in answers if answer is not None), None)


def _only(matches: Sequence[T], offered: Iterable[str | None], code: str, field: str) -> T:
    if len(matches) == 1:
        return matches[0]
    problem = "is on several networks" if matches else "is not offered by the ramp service"
    raise InputError(
        f"{field}: {code} {problem}", do=f"use one of: {', '.join(sorted(filter(None, offered)))}"
    )


class StoredSource:
    """The last commit of the lake; it says nothing of what it has not seen whole."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def read(self, record_type: str, record_id: str) -> Any:
        """The record as it was last synced."""
        if self._snapshot.commit is None:
            return None
        model, table, column, several = _STORED[record_type]
        query = f"SELECT raw FROM {table} WHERE vanished_at IS NULL"  # noqa: S608 - names of our own
        params = {}
        if column:
            query += f" AND {column} = $wanted"
            params["wanted"] = record_id
        rows = self._snapshot.sql(query, params or None).column("raw").to_pylist()
        records = [decode_json(raw, model) for raw in rows]
        if record_type == "holders":
            return [role.party for role in records if role.party is not None] or None
        if record_type == "wallets":  # what they hold is observed anew by every sync
            return self._with_balances(records)
        if several:
            return records or None
        whole = records[:1] if record_type != "ramp_request" else [r for r in records if r.version]
        return whole[0] if whole else None

    def latest(self, list_name: str, record_id: str, since: datetime) -> Sequence[Any]:
        """What the last sync knew of them."""
        if self._snapshot.commit is None:
            return ()
        listed = LISTS[list_name]
        query = (
            f"SELECT raw FROM {listed.table} WHERE vanished_at IS NULL"  # noqa: S608 - our own names
            f" AND {listed.column or '$wanted'} = $wanted"
            " AND coalesce(created_at >= $since, TRUE) ORDER BY created_at DESC, id"
        )
        rows = self._snapshot.sql(query, {"wanted": record_id, "since": since})
        return [decode_json(raw, listed.model) for raw in rows["raw"].to_pylist()]

    def _with_balances(self, wallets: list[Wallet]) -> list[Wallet] | None:
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
                    decode_json(row["raw"], Balance)
                    for row in rows
                    if row["wallet_id"] == wallet.id
                ),
            )
            for wallet in wallets
        ]


class _RoleHeld(msgspec.Struct, frozen=True):
    party: Party | None = None


_STORED: Final[dict[str, tuple[Any, str, str, bool]]] = {
    # what is asked: its model, its table, the column that names it, whether there are several
    "account": (Account, "accounts", "id", False),
    "account_named": (Account, "accounts", "external_id", False),
    "party": (Party, "parties", "id", False),
    "holders": (_RoleHeld, "party_roles", "account_id", True),
    "wallets": (Wallet, "wallets", "account_id", True),
    "ramp_request": (RampRequest, "ramp_requests", "id", False),
    "company": (Company, "company", "", False),
    "company_users": (CompanyUser, "company_users", "", True),
    "company_wallet": (CompanyWallet, "company_wallets", "id", False),
    "company_wallets": (CompanyWallet, "company_wallets", "", True),
    "company_bank_account": (CompanyBankAccount, "company_bank_accounts", "id", False),
    "company_bank_accounts": (CompanyBankAccount, "company_bank_accounts", "", True),
    "fiat_currencies": (FiatCurrency, "fiat_currencies", "", True),
    "crypto_currencies": (CryptoCurrency, "crypto_currencies", "", True),
}


class Listed(msgspec.Struct, frozen=True):
    """A list of records that are made one after the other, in the lake and at the service."""

    model: Any
    table: str
    column: str
    """Which column names whose they are; empty where they are the company's."""
    iterate: Callable[[Client, str], Iterable[Record[Any]]]
    """The service's list, newest first."""


LISTS: Final = {
    "transfers": Listed(
        Transfer,
        "transfers",
        "sender_account_id",
        lambda c, i: c.finance.transfers.iterate(i, sort_order="DESC"),
    ),
    "account_transfers": Listed(
        Transfer,
        "transfers",
        "sender_account_id",
        lambda c, i: c.finance.account_to_account_transfers.iterate(
            source_account_id=i, sort_order="DESC"
        ),
    ),
    "virtual_accounts": Listed(
        VirtualBankAccount,
        "virtual_bank_accounts",
        "account_id",
        lambda c, i: c.finance.virtual_bank_accounts.iterate(i, sort_order="DESC"),
    ),
    "ramp_requests": Listed(
        RampRequest,
        "ramp_requests",
        "",
        lambda c, _: c.ramp.requests.iterate(sort_order="DESC"),
    ),
    "parties": Listed(
        Party, "parties", "", lambda c, _: c.finance.parties.iterate(sort_order="DESC")
    ),
}
MOST_RECORDS: Final = 20_000
"""So many records of a list are read at most; beyond that nobody can tell what it holds."""


class LiveSource:
    """The service as it is now; an answer serves for `seconds`, for those that come in a batch."""

    def __init__(
        self,
        connect: Callable[[], Client],
        *,
        seconds: float = FRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._seconds = seconds
        self._clock = clock
        self._records: dict[tuple[str, str], tuple[float, Any]] = {}
        self._latest: dict[tuple[str, str], tuple[datetime, Sequence[Any]]] = {}

    def read(self, record_type: str, record_id: str) -> Any:
        """The record as the service tells it; None where it has none or does not say."""
        key = (record_type, record_id)
        now = self._clock()
        cached = self._records.get(key)
        fresh = cached is not None and now - cached[0] < self._seconds
        if cached is not None and fresh and record_type not in _ALWAYS_ASKED:
            return cached[1]
        try:
            record = _LIVE[record_type](self._connect(), record_id)
        except NotFound:
            return None
        except (Forbidden, NotOffered):
            if record_type in _MAY_BE_CLOSED:
                return None
            raise
        self._records[key] = (now, record)
        return record

    def latest(self, list_name: str, record_id: str, since: datetime) -> Sequence[Any]:
        """What the service lists, read once for a batch and again only to look back a day more."""
        name = (list_name, record_id)
        if name not in self._latest or since < self._latest[name][0]:
            day = since.replace(hour=0, minute=0, second=0, microsecond=0)
            recent: list[Any] = []
            # It comes newest first.
            for record in LISTS[list_name].iterate(self._connect(), record_id):
                created_at = record.value.created_at
                if created_at is not None and created_at < day:
                    break
                recent.append(record.value)
                if len(recent) > MOST_RECORDS:
                    raise ActionRefused(
                        f"more than {MOST_RECORDS:,} {list_name.replace('_', ' ')} were made since"
                        f" {day:%Y-%m-%d}, so whether one of them is the same nobody can tell;"
                        " nothing was sent",
                        do="look for it in the provider's portal, then withdraw it or propose it"
                        " again",
                    )
            self._latest[name] = (day, recent)
        return self._latest[name][1]

    def draw(self, account_id: str, asset: str, amount: Decimal) -> None:
        """Count an amount that was just sent against the balance that was read before it."""
        key = ("wallets", account_id)
        if key in self._records:
            at, wallets = self._records[key]
            holders = (w for w in wallets if any(asset in {b.asset, b.token} for b in w.balances))
            has = next(holders, None)
            if has is None:
                return
            remaining = [
                _drawn(has, asset, amount) if wallet is has else wallet for wallet in wallets
            ]
            self._records[key] = (at, remaining)


def _drawn(wallet: Wallet, asset: str, amount: Decimal) -> Wallet:
    balances = []
    for holding in (balance.holding() for balance in wallet.balances):
        available = holding.available
        if holding.asset == asset:
            spendable = holding.total if available is None else available
            available = None if spendable is None else total((spendable, amount.copy_negate()))
        balances.append(
            Balance(
                asset=holding.asset,
                contract_address=holding.contract_address,
                total=holding.total,
                available=available,
                reserved=holding.reserved,
            )
        )
    return msgspec.structs.replace(wallet, balances=tuple(balances))


_ALWAYS_ASKED: Final = frozenset({"ramp_request"})
"""Whose version is sent along: asked for every time."""
_MAY_BE_CLOSED: Final = frozenset({"holders", "wallets", "company", "company_users"})
"""What some credentials and generations of the service do not give: the service then decides."""

_LIVE: Final[dict[str, Callable[[Client, str], Any]]] = {
    "account": lambda c, i: c.finance.accounts.get(i).value,
    "account_named": lambda c, i: next(
        (r.value for r in c.finance.accounts.iterate(external_id=i) if r.value.external_id == i),
        None,
    ),
    "party": lambda c, i: c.finance.parties.get(i).value,
    "holders": lambda c, i: [
        role.value.party for role in c.finance.party_roles.all(i) if role.value.party is not None
    ],
    "wallets": lambda c, i: [wallet.value for wallet in c.finance.wallets.iterate(i)],
    "ramp_request": lambda c, i: c.ramp.requests.get(i).value,
    "company": lambda c, _: c.ramp.company.get().value,
    "company_users": lambda c, _: [r.value for r in c.ramp.users.all()],
    "company_wallet": lambda c, i: c.ramp.wallets.get(i).value,
    "company_wallets": lambda c, _: [r.value for r in c.ramp.wallets.iterate()],
    "company_bank_account": lambda c, i: c.ramp.bank_accounts.get(i).value,
    "company_bank_accounts": lambda c, _: [
        c.ramp.bank_accounts.get(r.value.id).value for r in c.ramp.bank_accounts.iterate()
    ],  # a list item does not show the number
    "fiat_currencies": lambda c, _: [r.value for r in c.ramp.fiat_currencies.recent()],
    "crypto_currencies": lambda c, _: [r.value for r in c.ramp.crypto_currencies.recent()],
}
