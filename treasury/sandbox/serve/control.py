"""The sandbox's control plane over HTTP: drivers, clock, faults and bank files.

Its addresses begin with /sandbox, need no token, and are not part of the two services. It answers
only calls to a loopback host name, so that a web page cannot reach it through its own domain. Its
JSON answers are marked as the sandbox's own.
"""

from __future__ import annotations

import inspect
import io
import zipfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from types import MethodType
from typing import Any, Final, Protocol, cast, get_type_hints

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as WebRoute

from treasury.core.decoding import decode_json
from treasury.core.errors import InputError
from treasury.sandbox.http.exchange import Refusal
from treasury.sandbox.http.limits import RateLimit
from treasury.sandbox.serve.explorer import ExplorerFile
from treasury.sandbox.serve.faults import CATALOGUE, UNDISTURBED, Faults
from treasury.sandbox.serve.webhooks import EVENTS, OVERLAP, PAUSES, Webhooks
from treasury.sandbox.state.callbacks import is_loopback
from treasury.sandbox.state.shapes import encode
from treasury.sandbox.story.world import World

_LABEL: Final = "the sandbox's own control plane; no part of either service"

_Answer = Callable[[Request, bytes], Any]


class Company(Protocol):
    """The parts of the sandbox that the control plane uses (a protocol)."""

    faults: Faults
    clock: PracticeClock
    webhooks: Webhooks
    rate_limit: RateLimit | None
    ramp_bounds: tuple[Decimal, Decimal]

    def reset(self) -> None:
        """Reset the sandbox to its initial state."""

    def bank_files(
        self, first: date | None = None, last: date | None = None
    ) -> list[tuple[str, bytes]]:
        """Return the banks' files by name."""

    def explorer_files(self) -> list[ExplorerFile]:
        """Return block explorers' exports for the company's wallets."""


class Driver(msgspec.Struct, frozen=True):
    """A method that a call may run, and the type of its arguments."""

    act: Callable[..., Any]
    takes: type[msgspec.Struct]

    def run(self, body: bytes) -> object:
        """Run the method with the arguments in a JSON object; amounts are exact."""
        arguments = _read(body, self.takes)
        return self.act(**{name: getattr(arguments, name) for name in self.takes.__struct_fields__})


def drivers_of(*holders: object) -> dict[str, Driver]:
    """Return all public methods of the objects by name; later objects take precedence."""
    return {
        name: driver_of(method)
        for holder in holders
        for name, method in inspect.getmembers(holder, inspect.ismethod)
        if not name.startswith("_")
    }


def driver_of(method: Callable[..., Any]) -> Driver:
    """Return a method as a driver that takes the arguments in the method's signature."""
    return Driver(method, _arguments_of(cast(MethodType, method).__func__))


@cache
def _arguments_of(function: Callable[..., Any]) -> type[msgspec.Struct]:
    hints = get_type_hints(function)
    fields: list[Any] = []
    for name, parameter in list(inspect.signature(function).parameters.items())[1:]:
        # An amount may be a JSON number or string; both are read exactly.
        kind = Decimal if hints[name] == Decimal | str else hints[name]
        is_needed = parameter.default is parameter.empty
        fields.append((name, kind) if is_needed else (name, kind, parameter.default))
    return msgspec.defstruct(
        function.__name__, fields, rename="camel", forbid_unknown_fields=True, kw_only=True
    )


class PracticeClock:
    """The company's clock, which the user can move forward but not back.

    Events that become due on the way happen at their own time. Access tokens expire by the
    machine's clock.
    """

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def now(self) -> datetime:
        """Return the company's current time, in UTC."""
        return self._world.clock.now

    @property
    def today(self) -> date:
        """Return the current date in Brussels."""
        return self._world.clock.today

    def advance(self, span: timedelta | None = None, **parts: float) -> int:
        """Move the clock forward, such as by `days=1, hours=2`; return the number of events."""
        with self._world.lock:
            return self.set(self.now + (span or timedelta()) + timedelta(**parts))

    def set(self, until: datetime) -> int:
        """Move the clock forward to an instant; return the number of events."""
        if until.tzinfo is None:
            raise InputError(f"{until} has no time zone", do="write 2026-11-03T09:00:00Z")
        with self._world.lock:
            if until < self.now:
                raise InputError(
                    f"the company's clock is at {self.now:%Y-%m-%dT%H:%M:%SZ} already",
                    do="start a new sandbox to go back; the clock only moves forward",
                )
            return self._world.advance(until.astimezone(UTC))


class _Clock(msgspec.Struct, forbid_unknown_fields=True):
    to: datetime | None = None
    days: int = 0
    hours: int = 0
    minutes: int = 0


class _Mix(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    seed: int
    rate: float
    names: tuple[str, ...] = tuple(CATALOGUE)
    path: str = ""
    at_most: int = 1_000_000


class _Faults(msgspec.Struct, forbid_unknown_fields=True):
    add: list[dict[str, Any]] = []
    mix: _Mix | None = None


class _Rate(msgspec.Struct, forbid_unknown_fields=True):
    calls: int
    seconds: float


class _Bounds(msgspec.Struct, forbid_unknown_fields=True):
    least: Decimal
    most: Decimal


class _Limits(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    rate_limit: _Rate | msgspec.UnsetType | None = msgspec.UNSET
    ramp_bounds: _Bounds | msgspec.UnsetType = msgspec.UNSET


class _Webhook(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    url: str
    events: tuple[str, ...] = EVENTS
    twice: bool = False
    pauses: tuple[float, ...] = PAUSES


class _Rotation(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    overlap_seconds: float = OVERLAP


class ControlPlane(msgspec.Struct, frozen=True):
    """Handlers of the control plane, one for each address and HTTP method."""

    world: World
    company: Company
    drivers: Mapping[str, Driver]

    def state(self, *_: object) -> object:
        """Return the time, scheduled events, accounts, drivers, faults and number of effects."""
        world = self.world
        return {
            "sandbox": _LABEL,
            "now": self.company.clock.now,
            "profile": world.profile,
            "agenda": [msgspec.structs.asdict(entry) for entry in world.agenda.coming()],
            "accounts": [msgspec.structs.asdict(account) for account in world.bank.accounts],
            "drivers": {
                name: list(driver.takes.__struct_encode_fields__)
                for name, driver in sorted(self.drivers.items())
            },
            "faults": list(CATALOGUE),
            "effects": len(world.keys.effects()),
        }

    def clock(self, _: Request, body: bytes) -> object:
        """Move the clock forward, by a period or to an instant."""
        target = _read(body, _Clock)
        if target.to is not None:
            happened = self.company.clock.set(target.to)
        else:
            span = timedelta(days=target.days, hours=target.hours, minutes=target.minutes)
            happened = self.company.clock.advance(span)
        return {"now": self.company.clock.now, "happened": happened}

    def drive(self, request: Request, body: bytes) -> object:
        """Run a driver."""
        name = request.path_params["driver"]
        if name not in self.drivers:
            raise InputError(
                f"there is no driver {name[:40]}", do=f"use one of: {', '.join(self.drivers)}"
            )
        return self.drivers[name].run(body)

    def waiting(self, *_: object) -> object:
        """Return the queued faults that are still pending, and the faults that have occurred."""
        return {"waiting": self.company.faults.waiting(), "struck": self.company.faults.struck}

    def break_(self, request: Request, body: bytes) -> object:
        """Queue faults, or set the mix of random faults."""
        queued = _read(body, _Faults)
        for fault in queued.add:
            self.company.faults.add(**fault)
        if queued.mix is not None:
            mix = queued.mix
            self.company.faults.mix(
                mix.seed, mix.rate, mix.names, path=mix.path, at_most=mix.at_most
            )
        return self.waiting(request, body)

    def mend(self, request: Request, body: bytes) -> object:
        """Delete the queued faults and the mix."""
        self.company.faults.clear()
        return self.waiting(request, body)

    def effects(self, *_: object) -> object:
        """Return all writes that took effect, in order."""
        return self.world.keys.effects()

    def files(self, request: Request, _: bytes) -> Response:
        """Return the bank files for all past months, or for the given days, as one archive."""
        first, last = (_day(request, name) for name in ("first", "last"))
        return _archive(self.company.bank_files(first, last))

    def explorer(self, *_: object) -> Response:
        """Return block explorers' exports for the company's wallets up to today, as one archive."""
        return _archive((export.name, export.content) for export in self.company.explorer_files())

    def limits(self, *_: object) -> object:
        """Return the rate limit, and the minimum and maximum amount of a ramp request."""
        least, most = self.company.ramp_bounds
        return {
            "rateLimit": self.company.rate_limit, "rampBounds": {"least": least, "most": most},
        }  # fmt: skip

    def limit(self, _: Request, body: bytes) -> object:
        """Set the rate limit (`null` for none), and the minimum and maximum of a ramp request."""
        change = _read(body, _Limits)
        rate = change.rate_limit
        # If one limit in the body is invalid, neither is changed.
        limit = RateLimit(rate.calls, rate.seconds) if isinstance(rate, _Rate) else None
        if isinstance(change.ramp_bounds, _Bounds):
            self.company.ramp_bounds = (change.ramp_bounds.least, change.ramp_bounds.most)
        if rate is not msgspec.UNSET:
            self.company.rate_limit = limit
        return self.limits()

    def reset(self, *_: object) -> object:
        """Reset records, ledger, keys, clock, faults, limits and webhooks."""
        self.company.reset()
        return {"now": self.company.clock.now}

    def webhooks(self, *_: object) -> object:
        """List the registered webhooks."""
        return self.company.webhooks.registered()

    def register_webhook(self, _: Request, body: bytes) -> object:
        """Register a webhook; the answer has its secret."""
        asked = _read(body, _Webhook)
        return self.company.webhooks.register(
            asked.url, events=asked.events, twice=asked.twice, pauses=asked.pauses
        )

    def rotate_webhook(self, request: Request, body: bytes) -> object:
        """Give a webhook a new secret; the old one also signs for a while."""
        overlap = _read(body, _Rotation).overlap_seconds
        webhook_id = request.path_params["webhook"]
        return self.company.webhooks.rotate(webhook_id, overlap_seconds=overlap)

    def delete_webhook(self, request: Request, _: bytes) -> object:
        """Delete a webhook."""
        self.company.webhooks.delete(request.path_params["webhook"])
        return self.webhooks()

    def routes(self) -> list[WebRoute]:
        """Return the control plane's addresses."""
        table: Iterable[tuple[str, dict[str, _Answer]]] = (
            ("", {"GET": self.state}),
            ("/clock", {"POST": self.clock}),
            ("/drive/{driver}", {"POST": self.drive}),
            ("/faults", {"GET": self.waiting, "POST": self.break_, "DELETE": self.mend}),
            ("/effects", {"GET": self.effects}),
            ("/limits", {"GET": self.limits, "POST": self.limit}),
            ("/reset", {"POST": self.reset}),
            ("/webhooks", {"GET": self.webhooks, "POST": self.register_webhook}),
            ("/webhooks/{webhook}", {"DELETE": self.delete_webhook}),
            ("/webhooks/{webhook}/rotate", {"POST": self.rotate_webhook}),
            ("/bank-files", {"GET": self.files}),
            ("/explorer-files", {"GET": self.explorer}),
        )
        return [
            WebRoute(UNDISTURBED + path, _endpoint(self.world, methods), methods=list(methods))
            for path, methods in table
        ]


def _endpoint(
    world: World, methods: Mapping[str, _Answer]
) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        body = await request.body()
        if not is_loopback(f"http://{request.headers.get('host', '')}"):
            return _json({"sandbox": _LABEL, "error": "only this machine may call it"}, 403)
        try:
            with world.lock:
                answer = methods["GET" if request.method == "HEAD" else request.method](
                    request, body
                )
        except InputError as error:
            return _json({"sandbox": _LABEL, "error": error.what, "do": error.do}, 400)
        except Refusal as refusal:
            return _json({"sandbox": _LABEL, "error": refusal.message}, 400)
        return (
            answer if isinstance(answer, Response) else _json({"sandbox": _LABEL, "result": answer})
        )

    return serve


def _archive(files: Iterable[tuple[str, bytes | str]]) -> Response:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in files:
            zipped.writestr(zipfile.ZipInfo(name), content)
    return Response(archive.getvalue(), media_type="application/zip")


def _json(value: object, status: int = 200) -> Response:
    return Response(encode(value), status, media_type="application/json")


def _read(body: bytes, shape: type[Any]) -> Any:
    try:
        return decode_json(body or b"{}", shape)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"the body does not fit: {error}", do="GET /sandbox names a driver's fields"
        ) from None


def _day(request: Request, name: str) -> date | None:
    text = request.query_params.get(name)
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InputError(f"{name} is not a date", do=f"write {name}=2026-11-05") from None
