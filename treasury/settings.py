"""Configuration and secrets: `treasury.toml` in the workspace, read once into a frozen struct.

A secret is never in the file. The file says where it is: `env:NAME`, `file:PATH` or
`keyring:SERVICE/USER`; it is fetched when a token is asked for and shown nowhere.
"""

from __future__ import annotations

import ipaddress
import os
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import msgspec

from treasury.errors import SettingsError, StorageError

__all__ = [
    "BankAccount",
    "Company",
    "Credential",
    "JournalPlace",
    "Secret",
    "Service",
    "Services",
    "Settings",
    "load_settings",
    "pin_environment",
    "place_of",
    "require_https",
]

FILE_NAME = "treasury.toml"
PIN_NAME = "environment"

Environment = Literal["sandbox", "staging", "production"]
Source = Literal["own_bank", "provider_report"]


class Secret:
    """A string that shows itself to nobody; `reveal()` gives it to the one place that needs it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")

    def reveal(self) -> str:
        """The secret itself."""
        return self._value


class Company(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[workspace]`: whose desk this is. `now` fixes the clock and is for the sandbox only.

    In production nothing is written to the services before `allow_writes` says so.
    """

    company: str
    environment: Environment = "sandbox"
    time_zone: str = "Europe/Brussels"
    now: datetime | None = None
    allow_writes: bool = False


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One service's base address, version prefix included."""

    base_url: str


class Services(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[services]`: the two base addresses and the token address they share.

    Whoever takes the addresses takes along which environment they belong to and whether it may be
    written to. `environment` may stand in the file, beside the addresses that it is about; it then
    has to be the workspace's. `allow_writes` is `[workspace]`'s and is not read here.
    """

    token_url: str
    finance: Service
    ramp: Service
    environment: Environment | None = None
    allow_writes: bool | None = None

    @property
    def may_write(self) -> bool:
        """Whether anything may be changed at these addresses: in production only if allowed."""
        return self.environment != "production" or self.allow_writes is True


class Credential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[credentials.NAME]`: a client id, and where its secret is."""

    client_id: str
    client_secret: str
    environment: Environment | None = None
    """Where it belongs; may be left out, and has to be the workspace's where it is not."""

    def secret(self) -> Secret:
        """Fetch the secret; SettingsError says where it was looked for, never what was found."""
        return _secret_at(self.client_secret, self.client_id, "client_secret")


def _secret_at(described: str, whose: str, key: str) -> Secret:
    kind, _, place = described.partition(":")
    match kind:
        case "env":
            value = os.environ.get(place)
            missing = f"environment variable {place} is not set"
        case "file":
            path = Path(place).expanduser()
            value = path.read_text("utf-8").strip() if path.is_file() else None
            missing = f"secret file {path} does not exist"
        case "keyring":
            import keyring  # only where it is used: it loads the desktop's secret service

            service, _, user = place.partition("/")
            value = keyring.get_password(service, user)
            missing = f"the keyring has no entry {place}"
        case _:
            value = None
            missing = f"{key} names no place (env:NAME, file:PATH, keyring:SERVICE/USER)"
    if not value:
        raise SettingsError(
            f"no secret for {whose}: {missing}",
            do="set it there, then run the command again",
        )
    return Secret(value)


class JournalPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[journal]`: the database of a journal that several desks share, PostgreSQL by its URL.

    The URL names no password; `password` says where it is, as a client's secret.
    """

    url: str
    password: str | None = None

    def secret(self) -> Secret | None:
        """Fetch the password; None where the database asks for none."""
        if self.password is None:
            return None
        return _secret_at(self.password, "the journal", "password")


class BankAccount(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[accounts]]`: an account whose statements we are given, and who writes them.

    `own_bank` is an account of ours at a bank; `provider_report` is the provider's account on which
    credits to our virtual IBANs are booked.
    """

    account: str
    source: Source
    currency: str = "EUR"
    name: str = ""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything `treasury.toml` says."""

    workspace: Company
    services: Services | None = None
    credentials: dict[str, Credential] = {}
    accounts: tuple[BankAccount, ...] = ()
    journal: JournalPlace | None = None
    """Where people's decisions are kept; in the workspace where left out."""

    @property
    def zone(self) -> ZoneInfo:
        """The reporting time zone."""
        return ZoneInfo(self.workspace.time_zone)

    def now(self) -> datetime:
        """The instant that it is, in UTC: the sandbox's fixed one where set, else the machine's."""
        return self.workspace.now or datetime.now(UTC)

    def credential(self, name: str) -> Credential:
        """The named credential; SettingsError lists the names there are."""
        try:
            return self.credentials[name]
        except KeyError:
            known = ", ".join(sorted(self.credentials)) or "none"
            raise SettingsError(
                f"there is no credential {name!r} (there are: {known})",
                do=f"add [credentials.{name}] to {FILE_NAME}",
            ) from None


def load_settings(folder: Path) -> Settings:
    """Read and check `treasury.toml` in `folder`; SettingsError names the file and the key."""
    path = folder / FILE_NAME
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise SettingsError(
            f"{path} does not exist",
            do="run `treasury init`, or `treasury demo` for a practice company",
        ) from None
    try:
        settings = msgspec.convert(tomllib.loads(text), Settings)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SettingsError(f"{path}: {error}", do="correct that key") from None
    _check(settings, path)
    return _bound(settings)


def pin_environment(folder: Path, settings: Settings) -> None:
    """Note beside the lake which environment fills it; refuse another one from then on.

    To be called before the first thing is stored. SettingsError where the workspace already holds
    the records of another environment, or of the same at other hosts. The sandbox has no host of
    its own.
    """
    mark = place_of(settings)
    path = folder / PIN_NAME
    try:
        held = path.read_text("utf-8").strip()
    except FileNotFoundError:
        _note(path, mark)
        return
    if not held:
        raise SettingsError(
            f"{path} is empty, so whose records {folder} holds is not known",
            do=f"restore it from a copy, or write {mark} into it if that is so",
        )
    if held != mark:
        raise SettingsError(
            f"{folder} holds the records of {held}, and {FILE_NAME} now says {mark}",
            do="make a workspace of its own for each environment",
        )


def _note(path: Path, mark: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(mark + "\n", "utf-8")
        os.replace(draft, path)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}", do="make the workspace writable"
        ) from error


def place_of(settings: Settings) -> str:
    """Which environment at which hosts: `staging at finance.example.test, ramp.example.test`."""
    services, environment = settings.services, settings.workspace.environment
    if services is None or environment == "sandbox":
        return environment
    hosts = (urlsplit(s.base_url).hostname or "" for s in (services.finance, services.ramp))
    return f"{environment} at {', '.join(hosts)}"


def _bound(settings: Settings) -> Settings:
    """The settings, with the addresses told what they belong to."""
    if settings.services is None:
        return settings
    desk = settings.workspace
    services = msgspec.structs.replace(
        settings.services, environment=desk.environment, allow_writes=desk.allow_writes
    )
    return msgspec.structs.replace(settings, services=services)


def _check(settings: Settings, path: Path) -> None:
    try:
        _ = settings.zone
    except (KeyError, ValueError, OSError):
        raise SettingsError(
            f"{path}: workspace.time_zone {settings.workspace.time_zone!r} is not a time zone",
            do="write it as Europe/Brussels",
        ) from None
    now = settings.workspace.now
    if now is not None and (settings.workspace.environment != "sandbox" or now.tzinfo is None):
        raise SettingsError(
            f"{path}: workspace.now fixes the clock, which only a sandbox may, with a time zone",
            do="remove the line",
        )
    services = settings.services
    if services is not None:
        if services.allow_writes is not None:
            raise SettingsError(
                f"{path}: services.allow_writes is not read",
                do="write allow_writes below [workspace]",
            )
        for url in (services.token_url, services.finance.base_url, services.ramp.base_url):
            require_https(url, f"{path}: ")
            _check_place(url, settings.workspace.environment, path)
        _check_same("services", services.environment, settings, path)
    for name, credential in settings.credentials.items():
        _check_same(f"credentials.{name}", credential.environment, settings, path)
    if settings.journal is not None and urlsplit(settings.journal.url).password is not None:
        raise SettingsError(
            f"{path}: journal.url holds a password",
            do='take it out, and say where it is with password = "env:NAME"',
        )


def _check_same(
    section: str, environment: Environment | None, settings: Settings, path: Path
) -> None:
    ours = settings.workspace.environment
    if environment is not None and environment != ours:
        raise SettingsError(
            f"{path}: [{section}] is for {environment}, and this workspace is for {ours}",
            do="give each environment a workspace with its own addresses and credentials",
        )


def _check_place(url: str, environment: Environment, path: Path) -> None:
    """A sandbox is on this machine, and production is not."""
    here = is_loopback(urlsplit(url).hostname or "")
    if (environment == "sandbox" and not here) or (environment == "production" and here):
        raise SettingsError(
            f"{path}: {urlsplit(url).hostname} cannot be {environment}",
            do="a sandbox runs on a loopback address, production never; correct the one or the"
            " other",
        )


def require_https(url: str, where: str = "") -> None:
    """Refuse plain http to anywhere but this machine; `where` begins the SettingsError."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return
    raise SettingsError(
        f"{where}{parts.scheme}://{parts.hostname} is not https",
        do="plain http is for loopback addresses only",
    )


def is_loopback(host: str) -> bool:
    """Whether the host name or address stays on this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
