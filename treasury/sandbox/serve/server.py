"""The sandbox as others hold it: a world, served over a real socket on loopback.

`with Sandbox(seed=7).serve() as served:` runs the services in a background thread and ends them
cleanly; `serve_forever` runs them until the process is told to stop.
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

from treasury.errors import InputError
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
from treasury.sandbox.serve.openapi import FINANCE, RAMP, TOKEN
from treasury.sandbox.serve.tokens import CREDENTIALS, Tokens
from treasury.sandbox.serve.webhooks import send_webhooks
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
    """Where a running sandbox is, and what it has been asked."""

    def __init__(self, port: int) -> None:
        self.base_url = f"http://{_HOST}:{port}"
        self.token_url = self.base_url + TOKEN
        self.finance_url = self.base_url + FINANCE
        self.ramp_url = self.base_url + RAMP
        self.requests: list[tuple[str, str, str]] = []
        """Method, path and query of every call, in order of arrival."""


_FIRST_FIXING: Final = date(2026, 4, 1)
"""The first day of the practice bank's rates."""


class Sandbox:
    """A practice company with both services, its banks' files and the truth about them.

    With `state`, a folder, whatever happens outlives the process. `webhook` is a loopback address
    that is told of ramp requests; `ramp_bounds` are the least and the most that one may be of;
    `rate_limit` says how many calls are answered in how much of the machine's time; `volume`, how
    many ramp requests and transfers of earlier years there are besides, to measure with.
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
        self._seed, self._scenario = seed, scenario
        self._rate_limit = rate_limit
        self._world = World(seed, scenario, profile=profile, place=place_of(state), volume=volume)
        self._neighbour_place = place_of(state)
        self._tokens = Tokens(Ids(Streams(seed).of("tokens")))
        self.clock = PracticeClock(self._world)
        """Moves the company's time on."""
        self.ramp = RampDrivers(self._world)
        """What the ramp's platform does."""
        self.finance = FinanceDrivers(self._world)
        """What the finance service's platform does."""
        self.banks = BankDrivers(self._world, self.finance)
        """What arrives from outside."""
        if webhook is not None:
            send_webhooks(self._world, webhook)
        if ramp_bounds is not None:
            self._world.bounds = ramp_bounds

    @property
    def now(self) -> datetime:
        """The instant that it is at the company, in UTC; each write moves it on by a second."""
        return self._world.clock.now

    @property
    def options(self) -> str:
        """The options that make this company: `--scenario full --seed 7`."""
        return f"--scenario {self._scenario} --seed {self._seed}"

    @property
    def company_name(self) -> str:
        """Whose desk it is."""
        return self._world.cast.company.name

    @property
    def credentials(self) -> dict[str, tuple[str, str]]:
        """Client id and secret of the maker, the checker and the viewer."""
        return dict(CREDENTIALS)

    @property
    def neighbour_credentials(self) -> dict[str, tuple[str, str]]:
        """Client id and secret of two users of another company at the same services."""
        return dict(NEIGHBOUR_CREDENTIALS)

    @cached_property
    def _neighbour(self) -> World:
        """The other company, from the first call of one of its users on."""
        place, profile = self._neighbour_place, self._world.profile
        if place != MEMORY:
            place = str(Path(place).with_name("neighbour.sqlite"))
        return World(self._seed, self._scenario, profile=profile, place=place, is_neighbour=True)

    @property
    def bank_accounts(self) -> list[tuple[str, str, str, Source]]:
        """Account, name, currency and source of every account that has statements."""
        return [(a.iban, a.name, "EUR", a.source) for a in self._world.bank.accounts]

    def close(self) -> None:
        """Let go of the state's folder; nothing can be asked afterwards."""
        with self._world.lock:
            self._world.store.close()
            if "_neighbour" in self.__dict__:
                self._neighbour.store.close()

    def expire_tokens(self) -> None:
        """Let every access token run out now."""
        with self._world.lock:
            self._tokens.expire()

    def bank_files(
        self, first: date | None = None, last: date | None = None
    ) -> list[tuple[str, bytes]]:
        """The camt.053 files as names and contents: one an account and month that is over.

        Given days, one an account from `first` to `last`, both included; all of them must be over.
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
        """Write the files of `bank_files`, and nothing else."""
        return _write(folder, self.bank_files(first, last))

    def explorer_files(self) -> list[ExplorerFile]:
        """What explorers export of the company's wallets, from the first day to now."""
        with self._world.lock:
            return explorer_files(self._world)

    def write_explorer_files(self, folder: Path) -> list[Path]:
        """Write the files of `explorer_files`, and nothing else."""
        files = self.explorer_files()
        return _write(folder, [(export.name, export.content.encode()) for export in files])

    def wallet_balances(self, day: date) -> list[WalletBalance]:
        """What the company's wallets held at the end of a day, of each coin and token."""
        with self._world.lock:
            return explorer.wallet_balances(self._world, day)

    def write_rate_file(self, folder: Path) -> Path | None:
        """Write what was published to this day: the practice bank's rates, or those of coins.

        The bank's are in the ECB's form, the coins' in that of a company's own file. None, and
        nothing written, where nothing that is published is followed.
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
        """What each bank line really is; for tests and benchmarks only."""
        return [line.truth() for line in self._world.bank.lines]

    def truth_requests(self) -> list[dict[str, Any]]:
        """The funding state of each ramp request that awaits funds on 2 November."""
        return [msgspec.structs.asdict(funding) for funding in self._world.fundings]

    def write_truth(self, path: Path) -> None:
        """Write both truths as one JSON object: `lines` and `requests`."""
        truth = {"lines": self.truth(), "requests": self.truth_requests()}
        path.write_bytes(msgspec.json.format(msgspec.json.encode(truth), indent=1) + b"\n")

    @contextmanager
    def serve(self, port: int = 0) -> Iterator[Served]:
        """Serve on loopback in a background thread; port 0 takes a free one."""
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
        drivers = drivers_of(self.finance, self.ramp, self.banks)
        drivers["expire_tokens"] = driver_of(self.expire_tokens)
        control = ControlPlane(
            self._world, self.faults, self.clock, drivers, self.bank_files, self.explorer_files
        )
        app = make_app(self._world, self._tokens, control.routes(), lambda: self._neighbour)
        limited = LimitGate(app, self._rate_limit) if self._rate_limit else app
        gate = FaultGate(limited, self.faults, server.cut)

        async def recorded(scope: Scope, receive: Receive, send: Send) -> None:
            query = scope["query_string"].decode("latin-1")
            served.requests.append((scope["method"], scope["path"], query))
            await gate(scope, receive, send)

        server.serve_app(recorded)
        return server


def serve_forever(
    sandbox: Sandbox, port: int = 8000, *, ready: Callable[[Served], None] | None = None
) -> None:
    """Serve until interrupted; `ready` is called once calls are answered."""
    bound = _bind(port)
    served = Served(bound.getsockname()[1])

    def announce() -> None:
        if ready is not None:
            ready(served)

    with suppress(KeyboardInterrupt):  # how a person ends it
        sandbox._server(served, announce).run([bound])  # noqa: SLF001 - the class's other half


class _Server(uvicorn.Server):
    """uvicorn, saying when it is ready and able to cut a connection."""

    def __init__(self, ready: Callable[[], None]) -> None:
        self._ready = ready
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def serve_app(self, app: Any) -> None:
        """Take the application to serve."""
        super().__init__(
            uvicorn.Config(
                app, http="h11", ws="none", lifespan="off", loop="asyncio", log_level="warning",
                access_log=False, timeout_graceful_shutdown=2,
            )
        )  # fmt: skip

    def stop(self) -> None:
        """End as soon as the calls under way are answered; from any thread."""
        self.should_exit = True
        if self._waiting is not None:
            loop, woken = self._waiting
            with suppress(RuntimeError):  # it has ended by itself meanwhile
                loop.call_soon_threadsafe(woken.set)

    async def main_loop(self) -> None:
        """Serve until it is to end, which is seen at once and not at the next tick."""
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
        """Close the connection that the call came on, without an answer."""
        for connection in list(self.server_state.connections):
            if getattr(connection, "client", None) == scope["client"]:
                connection.transport.abort()


def _write(folder: Path, files: list[tuple[str, bytes]]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files:
        (folder / name).write_bytes(content)
    return [folder / name for name, _ in files]


def _bind(port: int) -> socket.socket:
    # Named as TCP, asyncio sends each answer at once; else the head waits 40 ms for the body.
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
