"""`treasury init`: ask for the settings of a new workspace, and test each answer.

On a terminal it prompts for missing options; a script gives all as options. treasury.toml is
written only after each setting was tested; `--offline` skips the tests of addresses and
credentials.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final, get_args

import click
import msgspec

from treasury.cli.command_view import CommandView, pass_view
from treasury.cli.layout import echo_folded
from treasury.cli.output import Choice
from treasury.cli.settings_file import NewSettings
from treasury.core.calendar import Month
from treasury.core.errors import InputError, StatementError, TreasuryError
from treasury.core.settings import (
    FILE_NAME,
    BankAccount,
    Credential,
    Environment,
    Service,
    Services,
    Settings,
    Source,
    require_https,
)
from treasury.core.settings.confirmed_addresses import confirm
from treasury.core.settings.secret_routes import secret_settings
from treasury.core.text import clean
from treasury.workspace import Workspace

_NAMES: Final = ("maker", "checker")
"""Names of the first credentials: one creates, the other approves."""


@click.command()
@click.option("--company", help="The company's name, as reports show it.")
@click.option(
    "--environment", type=Choice(get_args(Environment)), help="The services' environment."
)
@click.option(
    "--time-zone",
    default="Europe/Brussels",
    show_default=True,
    help="Time zone of days and months.",
)
@click.option("--token-url", metavar="URL", help="Address of the token service.")
@click.option(
    "--finance-url", metavar="URL", help="Address of the finance service, version included."
)
@click.option("--ramp-url", metavar="URL", help="Address of the ramp service, version included.")
@click.option(
    "--credential",
    "credentials",
    type=(str, str, str),
    multiple=True,
    metavar="NAME CLIENT_ID PLACE",
    help="PLACE of its secret: env:NAME, file:PATH or keyring:SERVICE/USER.",
)
@click.option(
    "--bank-file",
    "bank_files",
    multiple=True,
    type=click.Path(),
    help="A statement of our own accounts, which are declared from it.",
)
@click.option(
    "--provider-report",
    "reports",
    multiple=True,
    type=click.Path(),
    help="A statement of the provider's account behind our virtual IBANs.",
)
@click.option("--account", metavar="IBAN", help="The account of bank files that name none (CSV).")
@click.option("--currency", metavar="CODE", help="The currency of bank files that state none.")
@click.option(
    "--ask/--no-ask", default=None, help="Prompt for missing options; default: on a terminal."
)
@click.option("--offline", is_flag=True, help="Do not test addresses and credentials.")
@pass_view
def init(view: CommandView, /, **given: Any) -> None:
    """Create a workspace: its company, its services and its accounts.

    Each answer is tested at once: addresses and credentials at the services, accounts by reading a
    bank file. Without the services, the bank files are stored too, and their last month is shown.
    """
    folder = view.folder
    if (folder / FILE_NAME).exists():
        raise InputError(
            f"{folder / FILE_NAME} exists", do="edit it, or name another folder with --workspace"
        )
    answers = _Answers(given)
    new = answers.connected(NewSettings(company=answers.company(), time_zone=given["time_zone"]))
    new = msgspec.structs.replace(new, accounts=answers.accounts())
    settings = new.write(folder)
    # The person has just stated the addresses, and they were tested, so they count as confirmed.
    if not given["offline"]:
        confirm(folder, settings, secret_settings(settings), "treasury init")
    click.echo(f"wrote {folder / FILE_NAME}")
    workspace = Workspace(folder)
    if settings.services is None:
        _show_first_month(workspace, answers.files)
    echo_folded(f"next: {workspace.doctor().next_step or 'all is in order'}")


def _show_first_month(workspace: Workspace, files: dict[str, str | None]) -> None:
    """Store the bank files, each with its account, and show the last month that they touch."""
    for file, account in files.items():
        try:
            workspace.statements.add(file, account=account)
        # The settings are written already, and the file can be added later.
        except TreasuryError as error:
            click.echo(f"treasury: {clean(str(error))}", err=True)
    last = workspace.sql("SELECT max(booking_date) AS day FROM statement_entries").arrow["day"][0]
    if last.is_valid:
        month = min(workspace.month(), Month.of(last.as_py()))
        echo_folded(f"the bank files are stored; the first month is {month.title}:")
        click.echo(workspace.status(month))


class _Answers:
    """The answers given as options, and whether to prompt for the others."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._given = options
        self.files: dict[str, str | None] = {}
        """The bank files that were read, each with its account if the file names none."""
        self._asks: bool = sys.stdin.isatty() if options["ask"] is None else options["ask"]

    def company(self) -> str:
        """Return the company's name; prompt until it fits in a report."""
        name = self._given["company"]
        if name is None and not self._asks:
            raise click.UsageError("Missing option '--company'.")
        while name is None or not name.strip() or not name.isprintable():
            if name is not None:
                error = InputError(
                    f"{name!r} is not a company's name",
                    do="give it as reports should show it, on one line",
                )
                self._say(error)
            name = click.prompt("Company, as reports show it")
        return str(name).strip()

    def connected(self, new: NewSettings) -> NewSettings:
        """Return the settings with addresses and credentials that the services accept."""
        options = self._given
        urls = [options[name] for name in ("token_url", "finance_url", "ramp_url")]
        if not any(urls) and not (
            self._asks and click.confirm("Do you use the payment services?", default=False)
        ):
            if options["credentials"]:
                raise InputError(
                    "credentials are given without the services' addresses",
                    do="give --token-url, --finance-url and --ramp-url too",
                )
            return msgspec.structs.replace(new, environment=self._environment(new))
        while True:
            try:
                connected = self._addressed(new)
                settings = connected.check()
                if not options["offline"]:
                    _try(settings)
            except TreasuryError as error:
                self._say(error)
                options.update(dict.fromkeys(("token_url", "finance_url", "ramp_url")))
                options["credentials"] = ()
            else:
                return connected

    def _addressed(self, new: NewSettings) -> NewSettings:
        options = self._given
        environment = self._environment(new)
        token, finance, ramp = (
            self._url(options[name], words)
            for name, words in (
                ("token_url", "Address of the token service"),
                ("finance_url", "Address of the finance service, version included"),
                ("ramp_url", "Address of the ramp service, version included"),
            )
        )
        services = Services(token_url=token, finance=Service(finance), ramp=Service(ramp))
        return msgspec.structs.replace(
            new,
            environment=environment,
            services=services,
            credentials={
                name: Credential(client_id, place) for name, client_id, place in self._credentials()
            },
        )

    def _environment(self, new: NewSettings) -> str:
        """Return the environment; a default that nobody was asked about is printed."""
        environment: str | None = self._given["environment"]
        if environment is None and self._asks:
            choices = Choice(get_args(Environment))
            environment = click.prompt("Environment", type=choices, default=new.environment)
        if environment is None:
            environment = new.environment
            click.echo(f"environment: {environment}; --environment chooses another")
        return environment

    def _url(self, option: str | None, words: str) -> str:
        if option is None and not self._asks:
            raise InputError(
                f"the {words.lower()} is missing", do="give all three addresses, or none"
            )
        url = option or click.prompt(words)
        require_https(url)
        return str(url)

    def _credentials(self) -> Iterator[tuple[str, str, str]]:
        yield from self._given["credentials"]
        if self._given["credentials"] or not self._asks:
            return
        for name in _NAMES:
            needed = name == _NAMES[0]
            words = f"Client id of the {name}{'' if needed else ', empty for none'}"
            client_id = click.prompt(words, default=None if needed else "", show_default=False)
            if client_id:
                place = click.prompt("Place of its secret (env:NAME, file:PATH, keyring:…)")
                yield name, client_id, place

    def accounts(self) -> tuple[BankAccount, ...]:
        """Return the accounts in the bank files that were given as options or at a prompt."""
        accounts: dict[tuple[str, str], BankAccount] = {}
        sources: dict[str, Source] = {"bank_files": "own_bank", "reports": "provider_report"}
        for name, source in sources.items():
            for file in self._given[name]:
                accounts |= self._read(file, source)
        while self._asks and (file := click.prompt("A bank file, empty to end", default="")):
            try:
                source = click.prompt(
                    "Whose account is it", type=click.Choice(get_args(Source)), default="own_bank"
                )
                accounts |= self._read(file, source)
            except TreasuryError as error:
                self._say(error)
        return tuple(accounts.values())

    def _read(self, file: str, source: Source) -> dict[tuple[str, str], BankAccount]:
        """Return the accounts in a bank file; print what its statements prove."""
        from treasury.statements import check_statements, read_statements

        currency = self._given["currency"]
        account = self._given["account"]
        reading = read_statements([file], account=account)
        rows = reading.statements.to_pylist()
        if reading.lost_count and not rows:
            raise StatementError(
                f"{file}: no row is read; {reading.problems[0].what}",
                do=f"see `treasury statements profile {file}`",
            )
        if rows and account is None and not all(row["account"] for row in rows) and self._asks:
            account = click.prompt("The file names no account. IBAN of its account")
            reading = read_statements([file], account=account)
        states_currency = all(row["currency"] for row in reading.statements)
        if currency is None and self._asks and not states_currency:
            currency = click.prompt(
                "The file states no currency. Currency of the account", default="EUR"
            )
        if account is not None and currency is not None:
            reading = read_statements([file], account=account, currencies={account: currency})
        self.files[file] = account
        checks = check_statements(reading).to_pylist()
        names = {row["account"]: row["account_name"] for row in reading.statements.to_pylist()}
        accounts = {}
        for number, code in dict.fromkeys((row["account"], row["currency"]) for row in checks):
            if number is None or code is None:
                lacking = "account" if number is None else "currency"
                raise StatementError(
                    f"{file} names no {lacking}", do=f"give it with --{lacking}, or in its profile"
                )
            of = [row for row in checks if (row["account"], row["currency"]) == (number, code)]
            for row in of:
                word = "proved" if row["proved"] else "NOT PROVED"
                days = (row["opening_date"], row["closing_date"])
                period = "no balances" if None in days else f"{days[0]} to {days[1]}"
                echo_folded(
                    f"{clean(number)} {code}: {period},"
                    f" {row['entry_count']:,} movements, {word}: {clean(row['proof'])}"
                )
            name = clean(names.get(number) or "")
            accounts[number, code] = BankAccount(
                account=number, source=source, currency=code, name=name
            )
        for problem in reading.problems:
            click.echo(clean(str(problem)), err=True)
        return accounts

    def _say(self, error: TreasuryError) -> None:
        """Print the error before the next prompt; without prompts, raise it."""
        if not self._asks:
            raise error
        click.echo(f"treasury: {clean(str(error))}", err=True)


def _try(settings: Settings) -> None:
    """Fetch each secret and test it with both services; raise an error that names the failure."""
    from treasury.api import Client

    assert settings.services is not None
    for name, credential in settings.credentials.items():
        credential.secret()
        with Client(settings.services, credential) as client:
            client.require_answers()
        echo_folded(f"{clean(name)}: the secret was found, and both services answer")
