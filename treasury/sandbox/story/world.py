"""The state of the sandbox: the services' records and the banks' lines after the story.

It depends on the seed and not on the machine's clock: two worlds with the same seed are equal to
the byte, and stay equal after equal calls. A later change runs in an act: one transaction with its
own stream of ids.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from itertools import chain
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from treasury.core.errors import InputError
from treasury.core.files.package_files import step_sql
from treasury.sandbox.state.callbacks import Callbacks
from treasury.sandbox.state.clock import START, CompanyClock
from treasury.sandbox.state.folder import is_new, open_store
from treasury.sandbox.state.ids import Ids, Streams
from treasury.sandbox.state.keys import Keys
from treasury.sandbox.state.ledger import Ledger
from treasury.sandbox.state.shapes import DepositBankAccount, RampRequest, bare, decode, encode
from treasury.sandbox.state.store import (
    COLUMNS,
    MEMORY,
    Record,
    Store,
    role_records,
    service_record,
)
from treasury.sandbox.story.bank import Bank
from treasury.sandbox.story.business import tell_business
from treasury.sandbox.story.cast import PAYOUT_IBAN, POLYGON_WALLET, Cast, make_cast, neighbour_cast
from treasury.sandbox.story.credits import Conversion, Credits
from treasury.sandbox.story.lines import Book, Line, StatementAccount
from treasury.sandbox.story.plans import plans
from treasury.sandbox.story.rates import QUOTES, Quotes
from treasury.sandbox.story.request_life import Life, record_of
from treasury.sandbox.story.request_story import Desk, Funding
from treasury.sandbox.story.transfer_story import Wallets
from treasury.sandbox.story.volume import NONE, Past, Volume

_MAKE: Final = step_sql(__package__, "agenda")


class Entry(msgspec.Struct, frozen=True):
    """A scheduled step: its time, its name, and its subject."""

    due: datetime
    step: str
    subject: str


class Agenda:
    """The pending entries, earliest first, each run when the company's clock reaches its time.

    An entry has the name of a step and its subject. The step's function is looked up when the step
    is due, so that an agenda can be stored. The step itself checks whether it still applies.
    """

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._db.executescript(_MAKE)
        self._steps: dict[str, Callable[[str], object]] = {}

    def on(self, step: str, act: Callable[[str], object]) -> None:
        """Register a step's function, which is called with an entry's subject."""
        self._steps[step] = act

    def add(self, due: datetime, step: str, subject: str) -> None:
        """Schedule a step for the time `due`."""
        values = (due.isoformat(timespec="microseconds"), step, subject)
        self._db.execute("insert into agenda (due, step, subject) values (?, ?, ?)", values)

    def take(self, until: datetime) -> Entry | None:
        """Remove and return the earliest entry due by `until`; None if no entry is due."""
        row = self._db.execute(
            "delete from agenda where position = (select position from agenda where due <= ?"
            " order by due, position limit 1) returning due, step, subject",
            (until.isoformat(timespec="microseconds"),),
        ).fetchone()
        return None if row is None else Entry(datetime.fromisoformat(row[0]), row[1], row[2])

    def happen(self, entry: Entry) -> None:
        """Run an entry's step."""
        self._steps[entry.step](entry.subject)

    def coming(self) -> list[Entry]:
        """Return all entries, earliest first."""
        rows = self._db.execute("select due, step, subject from agenda order by due, position")
        return [Entry(datetime.fromisoformat(due), step, subject) for due, step, subject in rows]


DEPOSIT_BANK: Final = "deposit_bank"
"""Name of the stored value that holds the provider's changed deposit details."""

_HOLDS_MONEY: Final = "holds-money"
"""Scenario in which the provider blocks or denies requests after receiving the money."""
_GAS: Final = "gas"
"""Scenario with a wallet on Polygon, where each transaction pays a fixed gas fee."""
SCENARIOS: Final = ("full", "no-provider-report", _GAS, *QUOTES, _HOLDS_MONEY)

S = TypeVar("S", bound=msgspec.Struct)


class World:
    """The services' records, the banks' lines and the clock from 2 November on.

    The story runs once per process, and its result is stored once; later events are added.
    """

    def __init__(
        self,
        seed: int,
        scenario: str,
        *,
        profile: str = "spec",
        place: str = MEMORY,
        volume: Volume = NONE,
        is_neighbour: bool = False,
    ) -> None:
        if scenario not in SCENARIOS:
            raise InputError(
                f"there is no scenario {scenario!r}", do=f"use one of: {', '.join(SCENARIOS)}"
            )
        self.profile = profile
        self.quotes = QUOTES.get(scenario, Quotes())
        streams = Streams(seed)
        story = _story_of(
            seed, self.quotes, is_neighbour=is_neighbour, holds_money=scenario == _HOLDS_MONEY
        )
        self.cast, self.fundings = story.cast_in(scenario), story.fundings
        self.store = open_store(place)
        company = (seed, scenario, profile, is_neighbour)
        is_usual = place == MEMORY and volume == NONE
        if is_usual and company in _BEGUN:
            self.store.begin_with(_BEGUN[company])
        self.agenda = Agenda(self.store)
        self.ledger = Ledger(self.store)
        """The ledger with all balances of the finance service."""
        self.keys, self.callbacks = Keys(self.store), Callbacks()
        self.bank = Bank(self.store, _accounts(self.cast, scenario), story.lines)
        self._random = streams.of("live")
        self.ids = Ids(self._random)
        """Source of the ids of events after the story."""
        self.life = Life(self.cast, self.ids, self.quotes)
        past = Past(self.cast, seed, volume)
        self.store.makers |= past.makers
        identity = {
            "seed": str(seed), "scenario": scenario, "profile": profile, "volume": str(volume),
        }  # fmt: skip
        if is_new(self.store, identity, story.fingerprint):
            with self.store.transaction():
                moves = streams.of("moves")
                wallets = Wallets(self.cast, Ids(streams.of("transfers")), moves, self.ledger)
                if story.conversions:
                    wallets.tell(story.conversions)
                if volume != NONE:
                    self.store.load(past.records())
                self.store.put(_records(self.cast, wallets))
                self.store.put(map(record_of, story.requests))
                self.store.remember(
                    now=START.isoformat(), acts="0", told=story.fingerprint, **identity
                )
            if is_usual:
                _BEGUN[company] = self.store.image()
        facts = self.store.facts()
        if DEPOSIT_BANK in facts:
            self.life.deposit_bank = decode(facts[DEPOSIT_BANK], DepositBankAccount)
        self.clock = CompanyClock(datetime.fromisoformat(facts["now"]))
        self._seed, self._acts = seed, int(facts["acts"])
        self.lock = threading.RLock()
        """Lock held while a call reads or changes the world."""
        self.bounds = (Decimal(0), Decimal("1e12"))
        """Minimum and maximum amount of a ramp request."""
        self.on_change: Callable[[RampRequest, str], object] | None = None
        """Function called with a ramp request's new state and its previous status (empty for a new
        request); None if no function is registered.
        """
        self._acting = False
        self._after: list[Callable[[], object]] = []

    @property
    def has_planted_gas(self) -> bool:
        """Return whether all transactions of the company's wallets pay the same fixed gas fee."""
        return self.store.facts()["scenario"] == _GAS

    @contextmanager
    def act(self) -> Iterator[World]:
        """Run an act, whose writes take effect together, or not at all after an exception.

        The act yields the world and holds its lock. Ids drawn in an act depend on the seed and the
        act's number. A nested act is part of the outer one.
        """
        with self.lock:
            if self._acting:
                scheduled = len(self._after)
                try:
                    with self.store.transaction():
                        yield self
                except BaseException:
                    del self._after[scheduled:]
                    raise
                return
            before, after = self.clock.now, self._after
            self._acting = True
            self._acts += 1
            self._random.seed(f"{self._seed}/act/{self._acts}")
            try:
                with self.store.transaction():
                    yield self
                    self.store.remember(now=self.clock.now.isoformat(), acts=str(self._acts))
                self._after = []
            except BaseException:
                self.clock.now = before
                self._acts -= 1
                self._after = []
                raise
            finally:
                self._acting = False
            for call in after:
                call()

    @contextmanager
    def behind(self, seconds: int) -> Iterator[None]:
        """Let lists lag during the block: they hide records created in the last `seconds`."""
        if seconds:
            self.store.unseen_from = bare(self.clock.now - timedelta(seconds=seconds))
        try:
            yield
        finally:
            self.store.unseen_from = ""

    def after(self, call: Callable[[], object]) -> None:
        """Run a function after the current act has taken effect; it must not block."""
        self._after.append(call)

    def advance(self, until: datetime) -> int:
        """Move the clock forward and run due events, each at its time; return their number."""
        happened = 0
        with self.act():
            while (entry := self.agenda.take(until)) is not None:
                self.clock.now = max(self.clock.now, entry.due)
                self.agenda.happen(entry)
                happened += 1
            self.clock.now = max(self.clock.now, until)
        return happened

    def keep(self, record: S) -> S:
        """Write a record's new state."""
        self.store.put([service_record(record)])
        return record

    def change(self, request: RampRequest) -> RampRequest:
        """Write a ramp request's new state."""
        before = self.store.detail("ramp_request", request.id)
        self.store.put([record_of(request)])
        if self.on_change is not None:
            status = decode(before, RampRequest).status if before else ""
            self.on_change(request, status)
        return request


_BEGUN: Final[dict[tuple[int, str, str, bool], bytes]] = {}
"""Cache of stores at the end of each company's story."""


class _Story(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a company's story; it never changes, so worlds with the same seed share it."""

    cast: Cast
    requests: tuple[RampRequest, ...]
    conversions: list[Conversion]
    """The conversions of customers' credits to stablecoins."""
    fundings: list[Funding]
    """The true funding state of requests that await funds."""
    lines: tuple[Line, ...]
    """The banks' lines."""
    fingerprint: str
    """Version of the story, which may change with the sandbox's version."""

    def cast_in(self, scenario: str) -> Cast:
        """Return the cast; in the scenario `gas`, with a wallet on Polygon."""
        if scenario != _GAS:
            return self.cast
        wallet = replace(POLYGON_WALLET, company_id=self.cast.company.id)
        return replace(self.cast, wallets=(*self.cast.wallets, wallet))


@cache
def _story_of(seed: int, quotes: Quotes, *, is_neighbour: bool, holds_money: bool) -> _Story:
    streams, book = Streams(seed), Book()
    cast = neighbour_cast(seed) if is_neighbour else make_cast(streams)
    if is_neighbour:
        # The second company has one on-ramp request, which awaits approval.
        request = Life(cast, Ids(streams.of("neighbour"))).create(
            "ON_RAMP", Decimal(18_000), Decimal("0.9231"), "USDC",
            reference=f"PAY-{START.year}-900001", user=cast.users["maker"],
            at=START - timedelta(days=1),
        )  # fmt: skip
        requests, conversions, fundings = [request], [], []
    else:
        life = Life(cast, Ids(streams.of("events")), quotes)
        desk = Desk(cast, life, Ids(streams.of("desk")), streams.of("acts"), book)
        planned = plans(streams.of("plans"), holds_money=holds_money)
        requests = [desk.carry_out(plan) for plan in planned]
        conversions = Credits(cast, streams.of("credits"), book, quotes).tell()
        tell_business(cast, streams.of("business"), book)
        fundings = desk.fundings
    lines = tuple(book.numbered())
    whole = "".join(encode(part) for part in (requests, lines, COLUMNS))
    return _Story(
        cast=cast, requests=tuple(requests), conversions=conversions, fundings=fundings,
        lines=lines, fingerprint=hashlib.sha256(whole.encode()).hexdigest(),
    )  # fmt: skip


def _accounts(cast: Cast, scenario: str) -> list[StatementAccount]:
    name = cast.company.name
    accounts = [
        StatementAccount(
            PAYOUT_IBAN, "EUR payout account", name, "Test Bank NL", "TESTNL2A", "own_bank",
            Decimal("184210.55"),
        ),
        StatementAccount(
            cast.funding_iban, "EUR operating account", name, "Test Bank BE", "TESTBEBB",
            "own_bank", Decimal("912400.00"),
        ),
        StatementAccount(
            cast.master_iban, "Virtual accounts (provider)", name, "Test Bank", "TESTBEBB",
            "provider_report", Decimal("25310.40"),
        ),
    ]  # fmt: skip
    return accounts[:2] if scenario == "no-provider-report" else accounts


def _records(cast: Cast, wallets: Wallets) -> Iterator[Record]:
    served = (
        cast.parties, cast.accounts, wallets.wallets(), cast.virtual_accounts, wallets.transfers,
        wallets.internal, (cast.company,), cast.users.values(), cast.bank_accounts, cast.wallets,
        cast.fees, cast.fiat, cast.crypto,
    )  # fmt: skip
    yield from map(service_record, chain.from_iterable(served))
    for account in cast.accounts:
        yield from role_records(account)
