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
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

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

__all__ = ["LISTS", "Live", "Records", "Source", "Stored"]

T = TypeVar("T")
_EVER: Final = datetime.min.replace(tzinfo=UTC)
FRESH_SECONDS: Final = 5.0
"""For how long an answer of the service serves within a batch."""


class Source(Protocol):
    """Gives a record by what it is and its id; None where it does not hold it."""

    def read(self, what: str, record_id: str) -> Any:
        """The record, or for a list (`wallets`, `holders`, …) the records."""

    def latest(self, what: str, record_id: str, since: datetime) -> Sequence[Any]:
        """The records of a list that were made since an instant, or do not say when."""


class Records:
    """What is asked, of one source after the other until one holds it."""

    def __init__(self, *sources: Source, since: datetime = _EVER) -> None:
        self._sources = sources
        self._since = since

    def account(self, account_id: str, field: str) -> Account:
        """An account of the finance service; InputError names `field` where there is none."""
        found: Account = self._known("account", account_id, field)
        return found

    def account_named(self, external_id: str, field: str) -> Account:
        """The account with our own id."""
        found: Account = self._known("account_named", external_id, field)
        return found

    def holds_name(self, external_id: str) -> Account | None:
        """The account that has this id of ours already; None where none has."""
        found: Account | None = self._ask("account_named", external_id)
        return found

    def party(self, party_id: str, field: str) -> Party:
        """A party of the finance service."""
        found: Party = self._known("party", party_id, field)
        return found

    def company_users(self) -> Sequence[CompanyUser]:
        """Who may use the ramp service for the company."""
        found: Sequence[CompanyUser] = self._ask("company_users", "") or ()
        return found

    def holders(self, account_id: str) -> Sequence[Party]:
        """The parties that hold an account."""
        found: Sequence[Party] = self._ask("holders", account_id) or ()
        return found

    def wallets(self, account_id: str) -> Sequence[Wallet]:
        """The wallets of an account with what they hold."""
        found: Sequence[Wallet] = self._ask("wallets", account_id) or ()
        return found

    def holdings(self, account_id: str) -> list[tuple[str | None, Holding]]:
        """What an account holds, each with the chain of its wallet."""
        return [
            (wallet.chain, balance.holding())
            for wallet in self.wallets(account_id)
            for balance in wallet.balances
        ]

    def ramp_request(self, request_id: str, field: str) -> RampRequest:
        """A ramp request with its details."""
        found: RampRequest = self._known("ramp_request", request_id, field)
        return found

    def company(self) -> Company | None:
        """The company of the credential."""
        found: Company | None = self._ask("company", "")
        return found

    def company_wallet(self, wallet_id: str, field: str) -> CompanyWallet:
        """A wallet that the company registered."""
        found: CompanyWallet = self._known("company_wallet", wallet_id, field)
        return found

    def company_bank_account(self, account_id: str, field: str) -> CompanyBankAccount:
        """A bank account that the company registered."""
        found: CompanyBankAccount = self._known("company_bank_account", account_id, field)
        return found

    def company_wallets(self) -> Sequence[CompanyWallet]:
        """Every wallet that the company registered."""
        found: Sequence[CompanyWallet] = self._ask("company_wallets", "") or ()
        return found

    def company_bank_accounts(self) -> Sequence[CompanyBankAccount]:
        """Every bank account that the company registered."""
        found: Sequence[CompanyBankAccount] = self._ask("company_bank_accounts", "") or ()
        return found

    def lately(self, what: str, record_id: str = "") -> Sequence[Any]:
        """The records of a list (`LISTS`) that were made since the instant that is asked about.

        Of an account where they are one's. Raises Forbidden or NotOffered where the service does
        not show the list, ActionRefused where it is too long to be read back that far.
        """
        lists = (source.latest(what, record_id, self._since) for source in self._sources)
        return next(filter(None, lists), ())

    def fiat_currency(self, code: str, field: str) -> FiatCurrency:
        """A fiat currency of the ramp service by its code."""
        every: Sequence[FiatCurrency] = self._ask("fiat_currencies", "") or ()
        found = [one for one in every if code in {one.currency, one.id}]
        return _only(found, [one.currency for one in every], code, field)

    def crypto_currency(self, code: str, chain: str | None, field: str) -> CryptoCurrency:
        """A cryptocurrency of the ramp service by its code, on a chain where it is on several."""
        every: Sequence[CryptoCurrency] = self._ask("crypto_currencies", "") or ()
        found = [
            one for one in every if code in {one.currency, one.id} and chain in {one.chain, None}
        ]
        names = [f"{one.currency} on {one.chain}" for one in every]
        return _only(found, names, f"{code} on {chain}" if chain else code, field)

    def _known(self, what: str, record_id: str, field: str) -> Any:
        found = self._ask(what, record_id)
        if found is None:
            raise InputError(
                f"{field}: there is no {what.replace('_', ' ')} {record_id}",
                do="check the id, and that the credential belongs to the same company",
            )
        return found

    def _ask(self, what: str, record_id: str) -> Any:
        for source in self._sources:
            found = source.read(what, record_id)
            if found is not None:
                return found
        return None


def _only(found: Sequence[T], known: Sequence[str | None], wanted: str, field: str) -> T:
    if len(found) == 1:
        return found[0]
    said = "is on several networks" if found else "is not offered by the ramp service"
    raise InputError(
        f"{field}: {wanted} {said}", do=f"use one of: {', '.join(sorted(filter(None, known)))}"
    )


class Stored:
    """The last commit of the lake; it says nothing of what it has not seen whole."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def read(self, what: str, record_id: str) -> Any:
        """The record as it was last synced."""
        if self._snapshot.commit is None:
            return None
        model, table, column, several = _STORED[what]
        query = f"SELECT raw FROM {table} WHERE vanished_at IS NULL"  # noqa: S608 - names of our own
        params = {}
        if column:
            query += f" AND {column} = $wanted"
            params["wanted"] = record_id
        rows = self._snapshot.sql(query, params or None).column("raw").to_pylist()
        records = [decode_json(raw, model) for raw in rows]
        if what == "holders":
            return [role.party for role in records if role.party is not None] or None
        if what == "wallets":  # what they hold is observed anew by every sync
            return self._with_balances(records)
        if several:
            return records or None
        whole = records[:1] if what != "ramp_request" else [r for r in records if r.version]
        return whole[0] if whole else None

    def latest(self, what: str, record_id: str, since: datetime) -> Sequence[Any]:
        """What the last sync knew of them."""
        if self._snapshot.commit is None:
            return ()
        listed = LISTS[what]
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
MOST: Final = 20_000
"""So many records of a list are read at most; beyond that nobody can tell what it holds."""


class Live:
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
        self._known: dict[tuple[str, str], tuple[float, Any]] = {}
        self._latest: dict[tuple[str, str], tuple[datetime, Sequence[Any]]] = {}

    def read(self, what: str, record_id: str) -> Any:
        """The record as the service tells it; None where it has none or does not say."""
        asked = (what, record_id)
        now = self._clock()
        held = self._known.get(asked)
        fresh = held is not None and now - held[0] < self._seconds
        if held is not None and fresh and what not in _ALWAYS_ASKED:
            return held[1]
        try:
            found = _LIVE[what](self._connect(), record_id)
        except NotFound:
            return None
        except (Forbidden, NotOffered):
            if what in _MAY_BE_CLOSED:
                return None
            raise
        self._known[asked] = (now, found)
        return found

    def latest(self, what: str, record_id: str, since: datetime) -> Sequence[Any]:
        """What the service lists, read once for a batch and again only to look back a day more."""
        name = (what, record_id)
        if name not in self._latest or since < self._latest[name][0]:
            day = since.replace(hour=0, minute=0, second=0, microsecond=0)
            listed = LISTS[what].iterate(self._connect(), record_id)
            self._latest[name] = (day, _created_since(listed, day, what))
        return self._latest[name][1]

    def draw(self, account_id: str, asset: str, amount: Decimal) -> None:
        """Count an amount that was just sent against the balance that was read before it."""
        asked = ("wallets", account_id)
        if asked in self._known:
            at, wallets = self._known[asked]
            has = next((w for w in wallets if any(_holds(b, asset) for b in w.balances)), None)
            if has is None:
                return
            left = [_drawn(has, asset, amount) if one is has else one for one in wallets]
            self._known[asked] = (at, left)


def _drawn(wallet: Wallet, asset: str, amount: Decimal) -> Wallet:
    held = [balance.holding() for balance in wallet.balances]
    return msgspec.structs.replace(
        wallet,
        balances=tuple(
            Balance(
                asset=one.asset,
                contract_address=one.contract_address,
                total=one.total,
                available=_less(one, amount) if one.asset == asset else one.available,
                reserved=one.reserved,
            )
            for one in held
        ),
    )


def _less(held: Holding, amount: Decimal) -> Decimal | None:
    left = held.available if held.available is not None else held.total
    return None if left is None else total((left, amount.copy_negate()))


def _holds(balance: Balance, asset: str) -> bool:
    return asset in {balance.asset, balance.token}


def _created_since(listed: Iterable[Record[Any]], since: datetime, what: str) -> list[Any]:
    """What a list that comes newest first holds down to an instant."""
    recent: list[Any] = []
    for record in islice(listed, MOST + 1):
        created_at = record.value.created_at
        if created_at is not None and created_at < since:
            return recent
        recent.append(record.value)
    if len(recent) > MOST:
        raise ActionRefused(
            f"more than {MOST:,} {what.replace('_', ' ')} were made since {since:%Y-%m-%d}, so"
            " whether one of them is the same nobody can tell; nothing was sent",
            do="look for it in the provider's portal, then withdraw it or propose it again",
        )
    return recent


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
