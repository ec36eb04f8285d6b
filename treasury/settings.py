"""Configuration and secrets: `treasury.toml` in the workspace, read once into a frozen struct.

A secret is never in the file. The file says where it is: `env:NAME`, `file:PATH` or
`keyring:SERVICE/USER`; it is fetched when a token is asked for and shown nowhere.
"""

from __future__ import annotations

import ipaddress
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote_plus, urlsplit
from zoneinfo import ZoneInfo

import msgspec

from treasury.errors import InputError, SettingsError, StorageError
from treasury.ground import durable
from treasury.ground.access import Shared
from treasury.ground.decoding import convert
from treasury.ground.notice_terms import InboxTerms, NoticeTerms, is_place
from treasury.ground.regular_files import read_settings
from treasury.ground.toml_text import parse_toml
from treasury.identifiers import is_iban, plain_account
from treasury.text import clean, utf8_text

FILE_NAME = "treasury.toml"
_PIN_NAME = "environment"

Environment = Literal["sandbox", "staging", "production"]
Source = Literal["own_bank", "provider_report"]
_Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: Final[tuple[_Weekday, ...]] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
StatementDays = Literal["business", "every", "movements"] | tuple[_Weekday, ...]
"""`business`: TARGET days; `movements`: only days on which something moved; or days of the week."""


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


class CompanySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[workspace]`: whose desk this is. `now` fixes the clock and is for the sandbox only.

    In production nothing is written to the services before `allow_writes` says so. What is written
    to disk is its user's alone, or with `shared` its group's.
    """

    company: str
    environment: Environment = "sandbox"
    time_zone: str = "Europe/Brussels"
    now: datetime | None = None
    allow_writes: bool = False
    shared: Shared | None = None
    town: str | None = None
    country: str | None = None
    """Of the company's seat, by its ISO code: a payment beyond the EEA names the payer's."""


class Service(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One service's base address, version prefix included."""

    base_url: str


class BankReceiverFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[services.bank_receiver]`: field names of the bank account that a fiat transfer pays.

    The specification does not show them; the provider does. Without them no such transfer is sent.
    """

    object: str
    iban: str
    name: str
    bic: str


class Services(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[services]`: the two base addresses and the token address they share.

    Whoever takes the addresses takes along which environment they belong to and whether it may be
    written to. `environment` may stand in the file, beside the addresses that it is about; it then
    has to be the workspace's. `allow_writes` is `[workspace]`'s and is not read here.
    """

    token_url: str
    finance: Service
    ramp: Service
    bank_receiver: BankReceiverFields | None = None
    environment: Environment | None = None
    allow_writes: bool | None = None

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host of the finance service and that of the ramp service."""
        return tuple(urlsplit(s.base_url).hostname or "" for s in (self.finance, self.ramp))

    @property
    def may_write(self) -> bool:
        """Whether anything may be changed at these addresses: in production only if allowed."""
        return self.environment != "production" or self.allow_writes is True


class Credential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[credentials.NAME]`: a client id, and where its secret is."""

    client_id: str
    client_secret: str
    environment: Environment | None = None
    """The credential's environment; where given, it has to be the workspace's."""

    def secret(self) -> Secret:
        """Fetch the secret; SettingsError says where it was looked for, never what was found."""
        return secret_at(self.client_secret, self.client_id, "client_secret")


def secret_at(described: str, holder: str, key: str) -> Secret:
    """The secret at the place that a setting names; SettingsError where nothing is there."""
    try:
        secret, missing = find_secret(described, key)
    except SettingsError as error:
        secret, missing = None, error.what
    if secret is None:
        raise SettingsError(
            f"no secret for {holder}: {missing}", do="set it there, then run the command again"
        )
    return secret


def find_secret(described: str, key: str) -> tuple[Secret | None, str]:
    """The secret at the place that a setting names, or None; and what is to be said of none.

    SettingsError where nobody can tell: the keyring does not answer.
    """
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
            missing = f"the keyring has no entry {place}"
            try:
                # Only where it is used: it loads the desktop's secret service.
                import keyring
            except ImportError:
                why = "keyring is not installed (`pip install treasury[keyring]`)"
                raise _no_keyring(why) from None
            service, _, user = place.partition("/")
            try:
                value = keyring.get_password(service, user)
            except Exception as error:  # noqa: BLE001 - a backend is a plugin, and may raise anything
                why = f"the keyring does not answer ({type(error).__name__})"
                if type(error).__name__ == "NoKeyringError":
                    why = "this machine has no keyring; env:NAME and file:PATH need none"
                raise _no_keyring(why) from None
        case _:
            value = None
            missing = f"{key} names no place (env:NAME, file:PATH, keyring:SERVICE/USER)"
    return (Secret(value) if value else None), missing


def _no_keyring(why: str) -> SettingsError:
    return SettingsError(why, do="unlock or install it, or name another place")


class JournalPlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[journal]`: the database of a journal that several desks share, PostgreSQL by its URL.

    Without a URL it is in the workspace. The URL names no password; `password` says where it is, as
    a client's secret, and `key` where each person's own signing key is. Each month's close adds the
    journal's head to the file `publish_head`, or leaves a file of its own in that folder.
    """

    url: str | None = None
    password: str | None = None
    key: str = "file:~/.config/treasury/signing.key"
    publish_head: str | None = None

    def secret(self) -> Secret | None:
        """Fetch the password; None where the database asks for none."""
        place = self.password
        return None if place is None else secret_at(place, "the journal", "password")


class SparkEngine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[engine]`: the Spark on which `treasury reconcile` works a month out; DuckDB without it.

    `address` is that of a Spark Connect server or of a master, `token` the place of what a server
    asks for, as a client's secret. `lake` is where the cluster finds the lake's tables, such as in
    the home; the workspace's own folder without it.
    """

    address: str
    token: str | None = None
    lake: str | None = None

    def secret(self) -> Secret | None:
        """Fetch the token; None where the server asks for none."""
        return None if self.token is None else secret_at(self.token, self.address, "token")


_SPARK_ADDRESS: Final = re.compile(r"(?:sc|spark|k8s)://\S+|yarn|local(?:\[[0-9*, ]+\])?")
SPARK_ADDRESSES: Final = "sc://host:15002, spark://host:7077, k8s://…, yarn or local[2]"
"""What an address of Spark looks like, for whoever wrote another."""


def is_spark_address(address: str) -> bool:
    """Whether Spark takes it: a Spark Connect server's address, or a master's."""
    return _SPARK_ADDRESS.fullmatch(address) is not None


class LakePlace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[lake]`: the home that desks share the lake through: `s3://bucket/folder`, or a folder.

    A folder is given by its whole path, or by its path from the workspace. The credential comes
    from the environment, as every tool of that cloud takes it.
    """

    home: str


_Answers = Literal["all", "rejections"]


class BankAccount(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """`[[accounts]]`: an account whose statements we are given, and who writes them.

    `own_bank` is an account of ours at a bank; `provider_report` is the provider's account on which
    credits to our virtual IBANs are booked. One in several currencies is declared for each.
    `opened` and `closed` are its first and its last day, `statement_days` those for which the bank
    writes a statement: TARGET days where nothing is said.
    """

    account: str
    source: Source
    currency: str = "EUR"
    name: str = ""
    opened: date | None = None
    closed: date | None = None
    statement_days: StatementDays | None = None
    holder: str = ""
    """The holder's name as its bank has it, for payment files; the company if it is not given."""
    batch_booking: bool = False
    """Whether its bank is asked to book a payment file as one debit."""
    answers: _Answers = "all"
    """Of which payments in a file its bank reports: of all, or of rejected ones alone."""


class PayeeAddress(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[payees.IBAN]`: where the holder of that account is, by the ISO code of its country.

    A payment file states it; what is not given is not made up.
    """

    town: str
    country: str


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything `treasury.toml` says."""

    workspace: CompanySettings
    services: Services | None = None
    credentials: dict[str, Credential] = {}
    accounts: tuple[BankAccount, ...] = ()
    payees: dict[str, PayeeAddress] = {}
    """Addresses of those we pay, by their IBAN."""
    journal: JournalPlace | None = None
    """Where people's decisions are kept; in the workspace where left out."""
    engine: SparkEngine | None = None
    """Where months are reconciled; in this process, by DuckDB, where left out."""
    lake: LakePlace | None = None
    """Where the lake is shared; with nobody where left out."""
    notices: NoticeTerms | None = None
    """Who is told what is new; nobody where left out."""
    inbox: InboxTerms | None = None
    """Where files come by themselves; nowhere where left out."""

    @property
    def zone(self) -> ZoneInfo:
        """The reporting time zone."""
        return ZoneInfo(self.workspace.time_zone)

    @property
    def currencies(self) -> dict[str, tuple[str, ...]]:
        """Each declared account with its currencies, in the order of the file."""
        codes: dict[str, tuple[str, ...]] = {}
        for account in self.accounts:
            number = plain_account(account.account)
            codes[number] = (*codes.get(number, ()), account.currency)
        return codes

    def now(self) -> datetime:
        """The instant that it is, in UTC: the sandbox's fixed one where set, else the machine's."""
        return self.workspace.now or datetime.now(UTC)

    def credential(self, name: str) -> Credential:
        """The named credential; SettingsError lists the names there are."""
        try:
            return self.credentials[name]
        except KeyError:
            names = ", ".join(sorted(self.credentials)) or "none"
            raise SettingsError(
                f"there is no credential {name!r} (there are: {names})",
                do=f"add [credentials.{name}] to {FILE_NAME}",
            ) from None


def require_plain_path(folder: Path) -> None:
    """InputError where a workspace cannot be in the folder: its path would be read as a pattern.

    The lake's tables are opened by their paths, in which `%41` is a letter and `[…]` a choice.
    """
    path = str(folder.absolute())
    if utf8_text(path) != path:
        raise InputError(
            f"{clean(path)} has a byte in it that is not UTF-8, which no lake's path can have",
            do="choose a folder with a UTF-8 path, or move it there",
        )
    special = next((char for char in path if char in _SPECIAL), "")
    if special:
        raise InputError(
            f"{clean(path)} has {special!r} in it, which no lake's path can have",
            do=f"choose a folder without any of {' '.join(_SPECIAL)} in its path, or move it there",
        )


_SPECIAL: Final = "[]%?*\\" if os.sep == "/" else "[]%?*"


def load_settings(folder: Path) -> Settings:
    """Read and check `treasury.toml` in `folder`; SettingsError names the file and the key.

    InputError as `require_plain_path`.
    """
    require_plain_path(folder)
    path = folder / FILE_NAME
    settings = _read(path)
    if isinstance(settings, SettingsError):
        raise settings
    for problem, remedy in _problems(settings):
        raise SettingsError(f"{path}: {problem}", do=remedy)
    if settings.services is None:
        return settings
    desk = settings.workspace
    services = msgspec.structs.replace(
        settings.services, environment=desk.environment, allow_writes=desk.allow_writes
    )
    return msgspec.structs.replace(settings, services=services)


_BY_CREDENTIALS: Final = "take it out; the services are asked with what [credentials] names"
_ADDRESSES: Final = {
    "journal.url": 'take it out, and say where it is with password = "env:NAME"',
    "engine.address": 'take it out, and say where it is with token = "env:NAME"',
    "lake.home": "take it out; the credential comes from the environment (docs/lake.md)",
    "services.token_url": _BY_CREDENTIALS,
    "services.finance.base_url": _BY_CREDENTIALS,
    "services.ramp.base_url": _BY_CREDENTIALS,
}
"""Addresses in which no password may stand, and where it goes."""


def _read(path: Path) -> Settings | SettingsError:
    """The settings, or what is wrong with the file.

    The error is not raised here: a traceback can show the variables of every function it went
    through, and here they hold the file's text, in which somebody may have put a password.
    """
    try:
        document = parse_toml(read_settings(path))
        for key, remedy in _ADDRESSES.items():
            place: object = document
            for part in key.split("."):
                place = place.get(part) if isinstance(place, dict) else None
            if holds_secret(str(place)):
                return SettingsError(f"{path}: {key} holds a password", do=remedy)
        for key, value in _values(document):  # what of the template was not filled in
            if _PLACEHOLDER in value and (key != "workspace.company" or value == _PLACEHOLDER):
                meanings = (words for end, words in _TO_FILL.items() if key.endswith(end))
                return SettingsError(
                    f"{path}: {key} is still the template's {_PLACEHOLDER}",
                    do=f"write {next(meanings, 'it')}",
                )
        return convert(document, Settings)
    except FileNotFoundError:
        return SettingsError(
            f"{path} does not exist",
            do="run `treasury init`, or `treasury demo` for a practice company",
        )
    except SettingsError as error:
        return SettingsError(error.what, do=error.do)  # without the traceback of this one
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        return SettingsError(f"{path}: {error}", do="correct that key")


_PLACEHOLDER: Final = "…"
_TO_FILL: Final = {
    "services.token_url": "the address of tokens that the provider gave you",
    "services.finance.base_url": "the finance service's address, its version included",
    "services.ramp.base_url": "the ramp service's address, its version included",
    "client_id": "the client id that the provider gave you",
    "client_secret": "the place of the secret: env:NAME, file:PATH or keyring:SERVICE/USER",
    "account": "the IBAN, or remove the block until you have statements of it",
    "name": "what the account is called, or remove the line",
}
"""What to write in place of each value that the template leaves open, by the end of its key."""


def _values(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Every text in a TOML document, with its key; the blocks of an array are numbered from 1."""
    if isinstance(node, str):
        yield key, node
    elif isinstance(node, dict):
        for name, value in node.items():
            yield from _values(value, f"{key}.{name}" if key else name)
    elif isinstance(node, list):
        for number, value in enumerate(node, 1):
            yield from _values(value, f"{key}[{number}]")


_USERINFO: Final = re.compile(r"[^:/]+://[^:/@]*:[^@]*@")
"""As SQLAlchemy reads an address: user, a colon and everything up to an @."""
_SECRET_NAME: Final = re.compile(
    r"pass(?:word|wd|phrase)?$|pwd|secret|token|credential|(?:client|server|api)_?key",
    re.IGNORECASE,
)
"""Names of parameters that are secrets; `passfile` and `sslkey` name a place."""


def holds_secret(url: str) -> bool:
    """Whether the address of a database holds a password, before its host or as a parameter."""
    if _USERINFO.match(url):
        return True
    names = (unquote_plus(part.partition("=")[0]) for part in re.split(r"[?&;#]", url)[1:])
    return any(_SECRET_NAME.search(name.strip()) for name in names)


def settings_for_colleagues(settings: Settings) -> str:
    """What another desk on the same lake begins with, as JSON: no credential, no place of one."""
    desk = msgspec.structs.replace(settings.workspace, allow_writes=False, shared=None)
    services = settings.services
    if services is not None:
        services = msgspec.structs.replace(services, environment=None, allow_writes=None)
    shared = Settings(
        workspace=desk, services=services, accounts=settings.accounts, payees=settings.payees
    )
    return msgspec.json.encode(shared).decode()


def pin_environment(folder: Path, settings: Settings) -> None:
    """Note beside the lake which environment fills it; refuse another one from then on.

    To be called before the first thing is stored, and after the services have answered: addresses
    that were never right are not noted. SettingsError as `is_pinned`.
    """
    if not is_pinned(folder, settings):
        path = folder / _PIN_NAME
        try:
            durable.write_whole(path, f"{place_of(settings)}\n".encode())
        except OSError as error:
            raise StorageError(
                f"{path} cannot be written: {error.strerror}", do="make the workspace writable"
            ) from error


def is_pinned(folder: Path, settings: Settings) -> bool:
    """Whether it is noted which environment fills a workspace.

    SettingsError where it holds the records of another environment, or of the same at other hosts.
    The sandbox has no host of its own.
    """
    place = place_of(settings)
    path = folder / _PIN_NAME
    try:
        pinned = read_settings(path).strip()
    except FileNotFoundError:
        return False
    if not pinned:
        raise SettingsError(
            f"{path} is empty, so whose records {folder} holds is not known",
            do=f"restore it from a copy, or write {place} into it if that is so",
        )
    if pinned != place:
        raise SettingsError(
            f"{folder} holds the records of {pinned}, and {FILE_NAME} now says {place}",
            do="make a workspace of its own for each environment",
        )
    return True


def place_of(settings: Settings) -> str:
    """The environment and its hosts: `staging at finance.example.test, ramp.example.test`."""
    services, environment = settings.services, settings.workspace.environment
    if services is None or environment == "sandbox":
        return environment
    return f"{environment} at {', '.join(services.hosts)}"


def _problems(settings: Settings) -> Iterator[tuple[str, str]]:
    """What of settings that read cannot be used, and what to do about it."""
    desk, is_zone = settings.workspace, False
    with suppress(KeyError, ValueError, OSError):
        is_zone = bool(settings.zone)
    if not is_zone:
        problem = f"workspace.time_zone {desk.time_zone!r} is not a time zone"
        yield problem, "write it as Europe/Brussels"
    if desk.now is not None and (desk.environment != "sandbox" or desk.now.tzinfo is None):
        problem = "workspace.now fixes the clock, which only a sandbox may, with a time zone"
        yield problem, "remove the line"
    if settings.services is not None:
        yield from _service_problems(settings.services, desk.environment)
    for name, credential in settings.credentials.items():
        yield from _strange(f"credentials.{name}", credential.environment, desk.environment)
    yield from _account_problems(settings.accounts)
    for name in settings.payees:
        if not is_iban(name) or plain_account(name) != name:
            yield f"[payees.{clean(name)[:40]}] is no IBAN", "write it in capitals, without blanks"
    if settings.notices is not None:
        for problem, remedy in _notice_problems(settings.notices):
            yield f"notices: {problem}", remedy
    if settings.engine is not None and not is_spark_address(settings.engine.address):
        problem = f"engine.address {settings.engine.address!r:.80} is no address of Spark"
        yield problem, f"write {SPARK_ADDRESSES}, or take [engine] out for DuckDB"


def _service_problems(services: Services, environment: Environment) -> Iterator[tuple[str, str]]:
    """The services' addresses are encrypted, and of the environment that the settings name."""
    if services.allow_writes is not None:
        yield "services.allow_writes is not read", "write allow_writes below [workspace]"
    for url in (services.token_url, services.finance.base_url, services.ramp.base_url):
        yield from _in_the_clear(url)
        # A sandbox is on this machine, and production is not.
        host = urlsplit(url).hostname
        if environment == ("production" if is_loopback(host or "") else "sandbox"):
            where = "a sandbox runs on a loopback address, production never"
            yield f"{host} cannot be {environment}", f"{where}; correct the one or the other"
    yield from _strange("services", services.environment, environment)


def _notice_problems(terms: NoticeTerms) -> Iterator[tuple[str, str]]:
    """Addresses that can be used, mail in the clear on this machine alone."""
    yield from terms.problems()
    smtp = terms.smtp
    if smtp is not None and smtp.security == "none" and not is_loopback(smtp.host):
        problem = f"smtp.security is none, and {smtp.host} is not this machine"
        yield problem, "write starttls or tls"
    for name, webhook in terms.webhooks.items():
        if is_place(webhook.url):
            continue
        if holds_secret(webhook.url):
            problem = f"webhooks.{name}.url holds a password"
            yield problem, 'say where the address is: url = "env:NAME"'
        for problem, remedy in _in_the_clear(webhook.url):
            yield f"webhooks.{name}.url: {problem}", remedy


def _account_problems(accounts: tuple[BankAccount, ...]) -> Iterator[tuple[str, str]]:
    """Each account once in a currency, of one source, closed after it was opened."""
    sources: dict[str, Source] = {}
    declared: set[tuple[str, str]] = set()
    for account in accounts:
        where, number = f"[[accounts]] {account.account}", plain_account(account.account)
        if _CURRENCY.fullmatch(account.currency) is None:
            problem = f"{where} is in {account.currency!r:.20}, which is no currency"
            yield problem, "write three capital letters, like EUR"
        if (number, account.currency) in declared:
            problem = f"{where} is declared twice in {account.currency}"
            yield problem, "remove one of the two blocks"
        if account.source != sources.setdefault(number, account.source):
            yield f"{where} has two sources", "give all its blocks the same source"
        if account.opened and account.closed and account.closed < account.opened:
            days = f"closed on {account.closed}, before it opened on {account.opened}"
            yield f"{where} {days}", "correct `opened` or `closed`"
        if account.statement_days == ():
            remedy = 'write "business", "every", "movements", or days of the week like ["fri"]'
            yield f"{where} has no statement_days", remedy
        declared.add((number, account.currency))


_CURRENCY: Final = re.compile(r"[A-Z]{3}", re.ASCII)


def _strange(
    section: str, environment: Environment | None, expected: Environment
) -> Iterator[tuple[str, str]]:
    """A section that says that it is of another environment than the workspace."""
    if environment not in {None, expected}:
        problem = f"[{section}] is for {environment}, and this workspace is for {expected}"
        yield problem, "give each environment a workspace with its own addresses and credentials"


def _in_the_clear(url: str) -> Iterator[tuple[str, str]]:
    """An address of plain http that is not on this machine."""
    parts = urlsplit(url)
    is_own = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if parts.scheme != "https" and not is_own:
        problem = f"{parts.scheme}://{parts.hostname} is not https"
        yield problem, "plain http is for loopback addresses only"


def require_https(url: str, where: str = "") -> None:
    """Refuse plain http to anywhere but this machine; `where` begins the SettingsError."""
    for problem, remedy in _in_the_clear(url):
        raise SettingsError(f"{where}{problem}", do=remedy)


def is_loopback(host: str) -> bool:
    """Whether the host name or address stays on this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
