"""Reads and checks `treasury.toml`; a SettingsError names the file and the key."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from treasury.core.decoding import convert
from treasury.core.errors import InputError, SettingsError
from treasury.core.files.regular_files import read_settings
from treasury.core.files.secret_places import PLACES, is_place
from treasury.core.identifiers import is_iban, plain_account
from treasury.core.money import written_amount
from treasury.core.settings.addresses import holds_secret, in_the_clear, is_loopback
from treasury.core.settings.notice_terms import NoticeTerms
from treasury.core.settings.secret_routes import ROUTES, values_at
from treasury.core.settings.workspace_settings import (
    FILE_NAME,
    SPARK_ADDRESSES,
    BankAccount,
    Environment,
    Services,
    Settings,
    Source,
    is_spark_address,
)
from treasury.core.text import clean, utf8_text
from treasury.core.toml_text import parse_toml


def require_plain_path(folder: Path) -> None:
    """Raise InputError if the folder's path is not suitable for a workspace.

    The lake's tables are opened by a path in which `%41` means a letter and `[…]` a pattern, so a
    workspace's path must not contain such characters.
    """
    path = str(folder.absolute())
    if utf8_text(path) != path:
        raise InputError(
            f"{clean(path)} contains a byte that is not UTF-8, which a lake's path cannot contain",
            do="choose a folder with a UTF-8 path, or move it there",
        )
    special = next((char for char in path if char in _SPECIAL), "")
    if special:
        raise InputError(
            f"{clean(path)} contains {special!r}, which a lake's path cannot contain",
            do=f"choose a folder without any of {' '.join(_SPECIAL)} in its path, or move it there",
        )


_SPECIAL: Final = "[]%?*\\" if os.sep == "/" else "[]%?*"


def load_settings(folder: Path) -> Settings:
    """Read and check `treasury.toml` in `folder`.

    Raise SettingsError naming the file and the key, and the InputError of `require_plain_path`.
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


_IN_ENVIRONMENT: Final = "take it out; the credential comes from the environment (docs/lake.md)"
_ADDRESSES: Final = {route.address: route.advice for route in ROUTES} | {
    "lake.home": _IN_ENVIRONMENT
}
"""Keys of addresses that must not have a password, and advice on where the password belongs."""
_PLACES_OF_SECRETS: Final = [place for route in ROUTES for place in route.places]


def _read(path: Path) -> Settings | SettingsError:
    """Return the settings, or the error for the file.

    The error is returned, not raised: a traceback can show variables, and this function's variables
    hold the file's text, which may contain a password.
    """
    try:
        document = parse_toml(read_settings(path))
        if mistyped := next(_typed_secrets(document), None):
            problem, remedy = mistyped
            return SettingsError(f"{path}: {problem}", do=remedy)
        # The file may still have placeholders of the template.
        for key, value in _values(document):
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
        # The caller raises a new error, without the traceback of this one.
        return SettingsError(error.what, do=error.do)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        return SettingsError(f"{path}: {error}", do="correct that key")


def _typed_secrets(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each key with a secret typed into the file, and the advice on where it belongs."""
    for pattern, remedy in _ADDRESSES.items():
        for key, value in values_at(document, pattern):
            if not is_place(str(value)) and holds_secret(str(value)):
                yield f"{key} holds a password", remedy
    for pattern in _PLACES_OF_SECRETS:
        for key, value in values_at(document, pattern):
            if not is_place(str(value)) and _PLACEHOLDER not in str(value):
                yield f"{key} is not the place of a secret", f"name its place: {PLACES}"


_PLACEHOLDER: Final = "…"
_TO_FILL: Final = {
    "services.token_url": "the address for requesting tokens that the provider gave you",
    "services.finance.base_url": "the finance service's address, including its version",
    "services.ramp.base_url": "the ramp service's address, including its version",
    "client_id": "the client id that the provider gave you",
    "client_secret": "the place of the secret: env:NAME, file:PATH or keyring:SERVICE/USER",
    "account": "the IBAN, or remove the block until you have its statements",
    "name": "the account's name, or remove the line",
}
"""What to write instead of the template's placeholder, by the last part of the key."""


def _values(node: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of a TOML document with its key; array elements are numbered from 1."""
    if isinstance(node, str):
        yield key, node
    elif isinstance(node, dict):
        for name, value in node.items():
            yield from _values(value, f"{key}.{name}" if key else name)
    elif isinstance(node, list):
        for number, value in enumerate(node, 1):
            yield from _values(value, f"{key}[{number}]")


def _problems(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield each problem in the parsed settings, and its remedy."""
    desk, is_zone = settings.workspace, False
    with suppress(KeyError, ValueError, OSError):
        is_zone = bool(settings.zone)
    if not is_zone:
        problem = f"workspace.time_zone {desk.time_zone!r} is not a time zone"
        yield problem, "write it as Europe/Brussels"
    if desk.now is not None and (
        desk.environment != "sandbox"
        or desk.now.tzinfo is None
        or not _FIRST_YEAR <= desk.now.year <= _LAST_YEAR
    ):
        years = f"between {_FIRST_YEAR} and {_LAST_YEAR}"
        problem = (
            f"workspace.now fixes the clock, which only a sandbox may do, with a time zone, {years}"
        )
        yield problem, "remove the line"
    if settings.services is not None:
        yield from _service_problems(settings.services, desk.environment)
    for name, credential in settings.credentials.items():
        yield from _strange(f"credentials.{name}", credential.environment, desk.environment)
    yield from _account_problems(settings.accounts)
    for name in settings.payees:
        if not is_iban(name) or plain_account(name) != name:
            yield (
                f"[payees.{clean(name)[:40]}] is not an IBAN",
                "write it in capitals, without blanks",
            )
    if settings.notices is not None:
        for problem, remedy in _notice_problems(settings.notices):
            yield f"notices: {problem}", remedy
    if settings.engine is not None and not is_spark_address(settings.engine.address):
        yield (
            "engine.address is not an address of Spark",
            f"write {SPARK_ADDRESSES}, or take [engine] out for DuckDB",
        )


_FIRST_YEAR, _LAST_YEAR = 1970, 2199
"""Years to which a clock may be fixed; at the calendar's ends, a time zone may lack the date."""


def _service_problems(services: Services, environment: Environment) -> Iterator[tuple[str, str]]:
    """Yield each problem of the services, such as an address that is unencrypted or not allowed."""
    if services.allow_writes is not None:
        yield "services.allow_writes is not read", "write allow_writes below [workspace]"
    for url in (services.token_url, services.finance.base_url, services.ramp.base_url):
        yield from in_the_clear(url)
        # A sandbox is on this machine; production is not.
        host = urlsplit(url).hostname
        if environment == ("production" if is_loopback(host or "") else "sandbox"):
            where = "a sandbox runs on a loopback address, production never does"
            yield f"{host} cannot be {environment}", f"{where}; correct one of them"
    yield from _strange("services", services.environment, environment)


def _notice_problems(terms: NoticeTerms) -> Iterator[tuple[str, str]]:
    """Yield each problem of the notices; unencrypted mail must stay on this machine."""
    yield from terms.problems()
    smtp = terms.smtp
    if smtp is not None and smtp.security == "none" and not is_loopback(smtp.host):
        problem = f"smtp.security is none, but {smtp.host} is not this machine"
        yield problem, "write starttls or tls"
    for name, webhook in terms.webhooks.items():
        if not is_place(webhook.url.reveal()):
            for problem, remedy in in_the_clear(webhook.url.reveal()):
                yield f"webhooks.{name}.url: {problem}", remedy


def _account_problems(accounts: tuple[BankAccount, ...]) -> Iterator[tuple[str, str]]:
    """Yield each problem of the accounts, such as two blocks for one account and currency."""
    sources: dict[str, Source] = {}
    declared: set[tuple[str, str]] = set()
    for account in accounts:
        where, number = f"[[accounts]] {account.account}", plain_account(account.account)
        if _CURRENCY.fullmatch(account.currency) is None:
            problem = f"{where} is in {account.currency!r:.20}, which is not a currency"
            yield problem, "write three capital letters, for example EUR"
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
        if account.floor:
            try:
                written_amount(account.floor)
            except InputError:
                yield f"{where} has the floor {account.floor!r:.30}", 'write it as "50000.00"'
        declared.add((number, account.currency))


_CURRENCY: Final = re.compile(r"[A-Z]{3}", re.ASCII)


def _strange(
    section: str, environment: Environment | None, expected: Environment
) -> Iterator[tuple[str, str]]:
    """Yield a problem if a section is for an environment other than the workspace's."""
    if environment not in {None, expected}:
        problem = f"[{section}] is for {environment}, but this workspace is for {expected}"
        yield problem, "give each environment a workspace with its own addresses and credentials"
