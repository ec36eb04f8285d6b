"""The sandbox object, which serves both services over a loopback socket.

`with Sandbox(seed=7).serve() as served:` runs the services in a background thread and stops them at
the end of the block; `serve_forever` runs them until the process is interrupted.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
import uvicorn
from starlette.types import Receive, Scope, Send

from treasury.core.errors import InputError
from treasury.sandbox.finance.finance_drivers import FinanceDrivers
from treasury.sandbox.http.limits import LimitGate, RateLimit
from treasury.sandbox.ramp.ramp_drivers import RampDrivers
from treasury.sandbox.serve import explorer
from treasury.sandbox.serve.app import make_app
from treasury.sandbox.serve.bank_drivers import BankDrivers
from treasury.sandbox.serve.camt import statements
from treasury.sandbox.serve.control import ControlPlane, PracticeClock, driver_of, drivers_of
from treasury.sandbox.serve.explorer import ExplorerFile, WalletBalance, explorer_files
from treasury.sandbox.serve.faults import FaultGate, Faults
from treasury.sandbox.serve.published.openapi import FINANCE, RAMP, TOKEN
from treasury.sandbox.serve.tokens import CREDENTIALS, Tokens
from treasury.sandbox.serve.webhooks import Webhooks
from treasury.sandbox.state.folder import place_of
from treasury.sandbox.state.ids import Ids, Streams
from treasury.sandbox.state.store import MEMORY
from treasury.sandbox.story.cast import NEIGHBOUR_CREDENTIALS
from treasury.sandbox.story.lines import Source
from treasury.sandbox.story.rates import coin_rate_file, rate_file
from treasury.sandbox.story.volume import NONE, Volume
from treasury.sandbox.story.world import World

PROFILES: Final = ("spec", "b")
_HOST: Final = "127.0.0.1"


class Served:
    """A running sandbox: its address, and the calls that it has received."""

    def __init__(self, port: int) -> None:
        self.base_url = f"http://{_HOST}:{port}"
        self.token_url = self.base_url + TOKEN
        self.finance_url = self.base_url + FINANCE
        self.ramp_url = self.base_url + RAMP
        self.requests: list[tuple[str, str, str]] = []
        """Method, path and query of every call, in order of arrival."""


_FIRST_FIXING: Final = date(2026, 4, 1)
"""First day of the practice bank's exchange rates."""


class Sandbox:
    """A practice company with both services, its bank files, and the meaning of each bank line.

    If a folder `state` is named, the records outlive the process. `webhook` is a loopback address
    that receives events about ramp requests, signed with `webhook_secret`. `ramp_bounds` are the
    minimum and maximum amount of a ramp request; `rate_limit` is the number of calls allowed in a
    number of seconds; and `volume` is the number of extra ramp requests and transfers from earlier
    years, for measurements.
    """

    def __init__(
        self,
        seed: int = 7,
        *,
        scenario: str = "full",
        profile: str = "spec",
        state: Path | None = None,
        webhook: str | None = None,
        ramp_bounds: tuple[Decimal, Decimal] | None = None,
        rate_limit: RateLimit | None = None,
        volume: Volume = NONE,
    ) -> None:
        if profile not in PROFILES:
            raise InputError(
                f"there is no profile {profile!r}", do=f"use one of: {', '.join(PROFILES)}"
            )
        self.faults = Faults()
        self._seed, self._scenario, self._profile = seed, scenario, profile
        self._volume, self._place, self._webhook = volume, place_of(state), webhook
        self._limits = (rate_limit, ramp_bounds)
        self._begin()

    def _begin(self) -> None:
        self._world = world = World(
            self._seed, self._scenario, profile=self._profile, place=self._place,
            volume=self._volume,
        )  # fmt: skip
        streams = Streams(self._seed)
        self._tokens = Tokens(Ids(streams.of("tokens")))
        self.clock = PracticeClock(world)
        """The company's clock, which can be moved forward."""
        self.ramp = RampDrivers(world)
        """Drivers of the ramp platform."""
        self.finance = FinanceDrivers(world)
        """Drivers of the finance platform."""
        self.banks = BankDrivers(world, self.finance)
        """Drivers of the banks, for events outside the services."""
        self.webhooks = Webhooks(world, Ids(streams.of("webhooks")))
        """Registered receivers of events about ramp requests."""
        self.webhook_secret: str | None = None
        """The secret that signs deliveries to the constructor's `webhook`."""
        if self._webhook is not None:
            self.webhook_secret = str(self.webhooks.register(self._webhook)["secret"])
        self.rate_limit, bounds = self._limits
        """The rate limit of both services; None without a limit."""
        if bounds is not None:
            self.ramp_bounds = bounds

    def reset(self) -> None:
        """Reset records, ledger, keys, clock, faults, limits and webhooks.

        Afterwards the drivers, the clock and the webhooks are new objects. A stored state is
        deleted.
        """
        with self._world.lock:
            self.faults.clear()
            if self._place != MEMORY:
                self.close()
                for name in (self._place, self._neighbour_place):
                    Path(name).unlink(missing_ok=True)
            self.__dict__.pop("_neighbour", None)
            self._begin()

    @property
    def ramp_bounds(self) -> tuple[Decimal, Decimal]:
        """Return the minimum and maximum amount of a ramp request."""
        return self._world.bounds

    @ramp_bounds.setter
    def ramp_bounds(self, bounds: tuple[Decimal, Decimal]) -> None:
        least, most = bounds
        if not (least.is_finite() and most.is_finite() and 0 <= least <= most):
            raise InputError(
                f"{least} to {most} is not a valid range",
                do="give a smaller and a larger amount",
            )
        self._world.bounds = bounds

    @property
    def now(self) -> datetime:
        """Return the company's current time, in UTC; each write adds a second."""
        return self._world.clock.now

    @property
    def options(self) -> str:
        """Return the command line options of this company, such as `--scenario full --seed 7`."""
        return f"--scenario {self._scenario} --seed {self._seed}"

    @property
    def company_name(self) -> str:
        """Return the name of the company."""
        return self._world.cast.company.name

    @property
    def credentials(self) -> dict[str, tuple[str, str]]:
        """Return the client ids and secrets of the three users: maker, checker and viewer."""
        return dict(CREDENTIALS)

    @property
    def neighbour_credentials(self) -> dict[str, tuple[str, str]]:
        """Return the client ids and secrets of a second company's two users."""
        return dict(NEIGHBOUR_CREDENTIALS)

    @cached_property
    def _neighbour(self) -> World:
        """Return the second company's world (its state), created on its first call."""
        return World(
            self._seed, self._scenario, profile=self._profile, place=self._neighbour_place,
            is_neighbour=True,
        )  # fmt: skip

    @property
    def _neighbour_place(self) -> str:
        if self._place == MEMORY:
            return MEMORY
        return str(Path(self._place).with_name("neighbour.sqlite"))

    @property
    def bank_accounts(self) -> list[tuple[str, str, str, Source]]:
        """Return the IBAN, name, currency and source of every account that has statements."""
        return [(a.iban, a.name, "EUR", a.source) for a in self._world.bank.accounts]

    def close(self) -> None:
        """Close the store of the state; the object cannot be used afterwards."""
        with self._world.lock:
            self._world.store.close()
            if "_neighbour" in self.__dict__:
                self._neighbour.store.close()

    def expire_tokens(self) -> None:
        """Let all access tokens expire now."""
        with self._world.lock:
            self._tokens.expire()

    def bank_files(
        self, first: date | None = None, last: date | None = None
    ) -> list[tuple[str, bytes]]:
        """Return the camt.053 files as names and contents: one per account and past month.

        With `first` or `last`, return one file per account for these past days, both inclusive; the
        other one defaults to yesterday.
        """
        world = self._world
        with world.lock:
            today = world.clock.today
            periods = world.bank.months(today)
            if first is not None or last is not None:
                yesterday = today - timedelta(1)
                periods = [world.bank.days(first or yesterday, last or yesterday, today)]
            return list(statements(world.bank.accounts, world.bank.lines, periods))

    def write_bank_files(
        self, folder: Path, first: date | None = None, last: date | None = None
    ) -> list[Path]:
        """Write the files of `bank_files` to a folder; return their paths."""
        return _write(folder, self.bank_files(first, last))

    def explorer_files(self) -> list[ExplorerFile]:
        """Return block explorers' exports for the company's wallets, from the first day to now."""
        with self._world.lock:
            return explorer_files(self._world)

    def write_explorer_files(self, folder: Path) -> list[Path]:
        """Write the files of `explorer_files` to a folder; return their paths."""
        files = self.explorer_files()
        return _write(folder, [(export.name, export.content.encode()) for export in files])

    def wallet_balances(self, day: date) -> list[WalletBalance]:
        """Return the company wallets' balances of coins and tokens at the end of a day."""
        with self._world.lock:
            return explorer.wallet_balances(self._world, day)

    def write_rate_file(self, folder: Path) -> Path | None:
        """Write the rates published so far: the practice bank's, or those for coins.

        The bank's file has the ECB's format; the file for coins has the format for a company's own
        rates. If the scenario has no published rates, no file is written and None is returned.
        """
        world = self._world
        if not (world.quotes.is_published or world.has_planted_gas):
            return None
        today = world.clock.today
        days = [today - timedelta(back) for back in range((today - _FIRST_FIXING).days + 1)]
        if world.has_planted_gas:
            name, content = "coins.csv", coin_rate_file(days)
        else:
            name, content = "eurofxref-hist.csv", rate_file(days)
        return _write(folder, [(name, content.encode())])[0]

    def truth(self) -> list[dict[str, Any]]:
        """Return the true meaning of each bank line, for tests and benchmarks only."""
        return [line.truth() for line in self._world.bank.lines]

    def truth_requests(self) -> list[dict[str, Any]]:
        """Return the true funding state of each ramp request that awaits funds on 2 November."""
        return [msgspec.structs.asdict(funding) for funding in self._world.fundings]

    def write_truth(self, path: Path) -> None:
        """Write the true meanings as JSON, with `lines` and `requests`."""
        truth = {"lines": self.truth(), "requests": self.truth_requests()}
        path.write_bytes(msgspec.json.format(msgspec.json.encode(truth), indent=1) + b"\n")

    @contextmanager
    def serve(self, port: int = 0) -> Iterator[Served]:
        """Serve on loopback in a background thread; port 0 means any free port."""
        bound, ready = _bind(port), threading.Event()
        served = Served(bound.getsockname()[1])
        server = self._server(served, ready.set)
        thread = threading.Thread(target=server.run, args=([bound],), name="sandbox")
        thread.start()
        try:
            ready.wait()
            yield served
        finally:
            server.stop()
            thread.join()

    def _server(self, served: Served, ready: Callable[[], None]) -> _Server:
        server = _Server(ready)
        world, gate = self._world, self._gate(server.cut)

        async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal world, gate
            query = scope["query_string"].decode("latin-1")
            served.requests.append((scope["method"], scope["path"], query))
            # The sandbox was reset, so there is a new world.
            if world is not self._world:
                world, gate = self._world, self._gate(server.cut)
            await gate(scope, receive, send)

        server.serve_app(recorded)
        return server

    def _gate(self, cut: Callable[[Scope], None]) -> FaultGate:
        """Return the current world's application, wrapped in faults and the rate limit."""
        drivers = drivers_of(self.finance, self.ramp, self.banks)
        drivers["expire_tokens"] = driver_of(self.expire_tokens)
        control = ControlPlane(self._world, self, drivers)
        app = make_app(self._world, self._tokens, control.routes(), lambda: self._neighbour)
        return FaultGate(LimitGate(app, lambda: self.rate_limit), self.faults, cut)


def serve_forever(
    sandbox: Sandbox, port: int = 8000, *, ready: Callable[[Served], None] | None = None
) -> None:
    """Serve until interrupted; `ready` is called as soon as the server accepts calls."""
    bound = _bind(port)
    served = Served(bound.getsockname()[1])

    def announce() -> None:
        if ready is not None:
            ready(served)

    # The user's interrupt is the normal end.
    with suppress(KeyboardInterrupt):
        sandbox._server(served, announce).run([bound])  # noqa: SLF001 - the class's other half


class _Server(uvicorn.Server):
    """A uvicorn server that reports when it is ready and can close a single connection."""

    def __init__(self, ready: Callable[[], None]) -> None:
        self._ready = ready
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def serve_app(self, app: Any) -> None:
        """Create a server of this application."""
        super().__init__(
            uvicorn.Config(
                app, http="h11", ws="none", lifespan="off", loop="asyncio", log_level="warning",
                access_log=False, timeout_graceful_shutdown=2,
            )
        )  # fmt: skip

    def stop(self) -> None:
        """Stop after the open calls are answered; may be called from any thread."""
        self.should_exit = True
        if self._waiting is not None:
            loop, woken = self._waiting
            # The event loop may have ended in the meantime.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(woken.set)

    async def main_loop(self) -> None:
        """Serve until `stop` is called; it takes effect at once, not at uvicorn's next tick."""
        woken = asyncio.Event()
        self._waiting = asyncio.get_running_loop(), woken
        tick = 0
        while not await self.on_tick(tick):
            tick = (tick + 1) % 864_000
            with suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), 0.1)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def cut(self, scope: Scope) -> None:
        """Close a call's connection without an answer."""
        for connection in list(self.server_state.connections):
            if getattr(connection, "client", None) == scope["client"]:
                connection.transport.abort()


def _write(folder: Path, files: list[tuple[str, bytes]]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files:
        (folder / name).write_bytes(content)
    return [folder / name for name, _ in files]


def _bind(port: int) -> socket.socket:
    # asyncio sets TCP_NODELAY only if the protocol is stated; without it, headers wait 40 ms.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((_HOST, port))
    except OSError as error:
        bound.close()
        raise InputError(
            f"port {port} cannot be used: {error.strerror}", do="choose another with --port"
        ) from None
    return bound
