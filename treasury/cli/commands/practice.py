"""The practice company: its services (the sandbox), its workspace, and its commands."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import click

from treasury.cli.command_view import CommandView, pass_view
from treasury.cli.output import Choice
from treasury.cli.practised_payments import begin_payments, play_payments
from treasury.cli.progress import TerminalProgress
from treasury.cli.settings_file import from_template
from treasury.core.calendar import Month, parse_instant
from treasury.core.errors import InputError, TreasuryError
from treasury.core.settings import FILE_NAME, load_settings, require_plain_path
from treasury.core.settings.confirmed_addresses import confirm
from treasury.core.settings.secret_routes import secret_settings
from treasury.sandbox import (
    PROFILES,
    SCENARIOS,
    RateLimit,
    Sandbox,
    Served,
    Volume,
    serve_forever,
)
from treasury.workspace import RULES_FILE, Workspace, find_workspace

_SECRET_VARIABLE = "TREASURY_{}_SECRET"  # noqa: S105 - the variable's name, not a secret

_FIRST_DAY = date(2026, 5, 1)
"""The first day of the explorers' exports."""
_TOKEN_HEADINGS = {
    "hash": "Transaction Hash",
    "time": "DateTime (UTC)",
    "asset": "TokenSymbol",
    "amount": "TokenValue",
}
"""Column names in an explorer's list of token transfers."""

_MARK = "# Made by: "
"""Prefix of the line with the company's options in the settings of a practice workspace."""
_scenario_option = click.option(
    "--scenario",
    type=Choice(SCENARIOS),
    default="full",
    show_default=True,
    help="The variant of the company: its bank files, wallets and provider.",
)
_seed_option = click.option(
    "--seed", type=int, default=7, show_default=True, help="Seed of the company's data."
)


def _bounds(text: str) -> tuple[Decimal, Decimal]:
    """Return the bounds in a text such as `100,1000000`."""
    least, _, most = text.partition(",")
    try:
        return Decimal(least), Decimal(most)
    except InvalidOperation:
        raise InputError(
            f"{text!r} is not a pair of bounds", do="write them as 100,1000000"
        ) from None


def _parsed_by(parse: Callable[[str], object]) -> Callable[..., object]:
    """Return a callback that parses an option's text, if it is given."""
    return lambda _context, _option, text: None if text is None else parse(text)


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@_seed_option
@click.option("--profile", type=Choice(PROFILES), default="spec", show_default=True)
@_scenario_option
@click.option(
    "--bank-files",
    type=click.Path(file_okay=False),
    help="Also write the bank's files to this folder.",
)
@click.option(
    "--explorer-files",
    type=click.Path(file_okay=False),
    help="Also write the explorers' exports of the company's wallets to this folder.",
)
@click.option(
    "--truth",
    type=click.Path(dir_okay=False),
    help="Also write the correct expectation of each bank line.",
)
@click.option("--state", type=click.Path(file_okay=False), help="Store the state in this folder.")
@click.option(
    "--clock",
    metavar="INSTANT",
    help="Advance the company's clock first, for example to `2026-11-03T09:00Z`.",
)
@click.option(
    "--webhook", metavar="URL", help="Send signed events about ramp requests to a loopback address."
)
@click.option(
    "--rate-limit",
    metavar="CALLS/SECONDS",
    callback=_parsed_by(RateLimit.parse),
    help="Answer calls beyond this rate with 429, for example `100/60`.",
)
@click.option(
    "--ramp-bounds",
    metavar="LEAST,MOST",
    callback=_parsed_by(_bounds),
    help="Refuse ramp requests outside these bounds, for example `100,50000`.",
)
@click.option(
    "--volume",
    metavar="REQUESTS,TRANSFERS",
    default="0,0",
    help="Also create records of earlier years for performance measurements, for example "
    "`1000000,2000000`.",
)
def sandbox(
    *,
    port: int,
    bank_files: str | None,
    explorer_files: str | None,
    truth: str | None,
    state: str | None,
    clock: str | None,
    volume: str,
    **options: Any,
) -> None:
    """Serve both services for practice on loopback, until interrupted."""
    folder = Path(state) if state else None
    company = Sandbox(state=folder, volume=Volume.parse(volume), **options)
    if clock:
        instant = parse_instant(clock)
        if instant > company.now:
            company.clock.set(instant)
        else:
            click.echo(f"the clock is already at {company.now:%Y-%m-%dT%H:%MZ}", err=True)
    if bank_files:
        for path in company.write_bank_files(Path(bank_files)):
            click.echo(str(path))
    if explorer_files:
        for path in company.write_explorer_files(Path(explorer_files)):
            click.echo(str(path))
    if truth:
        company.write_truth(Path(truth))

    serve_forever(company, port, ready=partial(_announce, company))


def _announce(company: Sandbox, served: Served) -> None:
    """Print the addresses and the practice credentials of a running sandbox."""
    click.echo(f"finance  {served.finance_url}\nramp     {served.ramp_url}")
    click.echo(f"token    {served.token_url}")
    click.echo(f"practice {served.base_url}/sandbox  clock, drivers, faults, bank files")
    for name, (client_id, secret) in company.credentials.items():
        click.echo(f"{name:<8} client_id={client_id} client_secret={secret} (practice only)")
    if company.webhook_secret:
        click.echo(f"webhook  secret={company.webhook_secret} (practice only)")


@click.command()
@_scenario_option
@_seed_option
@pass_view
def demo(view: CommandView, scenario: str, seed: int) -> None:
    """Run the whole job on the practice company and show what is open now."""
    company, folder = Sandbox(seed, scenario=scenario), view.folder
    with company.serve() as served:
        workspace = prepare(folder, company, served)
        requests = begin_payments(folder, company)
        month = Month.of(company.now.astimezone(workspace.settings.zone).date()).previous
        try:
            with TerminalProgress() as progress:
                _step("sync", lambda: workspace.sync(progress=progress))
            play(workspace, company, requests, _step)
            _step("close", lambda: workspace.close(month).report)
        finally:
            workspace.close_clients()
    click.echo()
    click.echo(workspace.status())


@click.command(context_settings={"ignore_unknown_options": True})
@_scenario_option
@_seed_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@pass_view
def practice(view: CommandView, scenario: str, seed: int, command: tuple[str, ...]) -> None:
    """Run COMMAND with a running sandbox, in a synced practice workspace."""
    company, folder = Sandbox(seed, scenario=scenario), view.folder
    with company.serve() as served:
        workspace = prepare(folder, company, served)
        requests = begin_payments(folder, company)
        try:
            workspace.sync()
            play(workspace, company, requests, lambda _, work: work())
        finally:
            workspace.close_clients()
        variables = os.environ | {"TREASURY_WORKSPACE": str(folder.resolve())}
        try:
            code = _run_beside(command, variables)
        except OSError as error:
            raise InputError(
                f"{command[0]} cannot be run: {error.strerror}", do="name a command that exists"
            ) from error
    sys.exit(code)


def play(
    workspace: Workspace,
    company: Sandbox,
    requests: Sequence[str],
    step: Callable[[str, Callable[[], object]], object],
) -> None:
    """Do the month's work of the practice company after a sync, so that the month can be closed."""
    files = sorted((workspace.folder / "bank").glob("*.xml"))
    step("statements", lambda: workspace.statements.add(files))
    for published in rate_files(workspace.folder):
        step("rates", partial(workspace.rates.add, published))
    step("wallets", partial(add_wallet_files, workspace, company))
    play_payments(workspace, company, requests)


def _run_beside(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a command to its end; if this process is stopped, stop the command and wait for it."""
    stopped = 0

    def stop(number: int, _: object) -> None:
        nonlocal stopped
        stopped = number
        if running is not None and running.poll() is None:
            running.terminate()

    running: subprocess.Popen[bytes] | None = None
    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        running = subprocess.Popen(command, env=variables)  # noqa: S603 - what the person typed
        code = running.wait()
    except KeyboardInterrupt:  # The terminal has sent the signal to the command too.
        code = 130 if running is None else running.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 128 + stopped if stopped else code


def prepare(folder: Path, company: Sandbox, served: Served) -> Workspace:
    """Write the practice workspace's settings, rules and bank files.

    Also sets the environment variables with its secrets. Raises InputError for the folder of a real
    workspace or of another practice company, because the records would conflict.
    """
    require_plain_path(folder)
    path = folder / FILE_NAME
    if path.exists() and load_settings(folder).workspace.environment != "sandbox":
        raise InputError(
            f"{path} belongs to a real workspace",
            do="name another folder with --workspace for the practice company",
        )
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    # The existing practice company was created with these options.
    made_by = next((line.removeprefix(_MARK) for line in lines if line.startswith(_MARK)), "")
    if made_by not in {"", company.options}:
        raise InputError(
            f"{folder} is the workspace of another practice company, {made_by}",
            do=f"name another folder with --workspace for {company.options}, or remove this one",
        )
    for name, (_, secret) in company.credentials.items():
        os.environ[_SECRET_VARIABLE.format(name.upper())] = secret
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(settings_text(company, served), "utf-8")
    rules = resources.files("treasury.cli").joinpath("templates/practice_rules.toml").read_bytes()
    (folder / RULES_FILE).write_bytes(rules)
    bank = folder / "bank"
    for old in bank.glob("*.xml"):
        old.unlink()
    company.write_bank_files(bank)
    company.write_rate_file(folder / "rates")
    settings = load_settings(folder)  # The addresses are those of the server in this process.
    confirm(folder, settings, secret_settings(settings), "the practice company")
    return Workspace(folder)


def practice_company(folder: str | Path | None = None) -> Workspace:
    """Serve a practice company in this process and return its workspace; its money is not real.

    Parameters
    ----------
    folder
        The workspace's folder; default: `quickstart` next to the nearest workspace.

    Returns
    -------
    Workspace
        The prepared workspace. The services end with the process.

    Raises
    ------
    InputError
        If the folder belongs to a real workspace or to another practice company.

    Examples
    --------
    >>> t = treasury.practice_company()
    >>> t.sync()
    """
    place = Path(folder) if folder else find_workspace().parent / "quickstart"
    company, services = Sandbox(), ExitStack()
    atexit.register(services.close)
    return prepare(place, company, services.enter_context(company.serve()))


def rate_files(folder: Path) -> list[Path]:
    """Return the files of reference rates that the company's provider follows, if any."""
    return sorted((folder / "rates").glob("*.csv"))


def add_wallet_files(workspace: Workspace, company: Sandbox) -> str:
    """Add the explorers' exports of the company's wallets, and the balances before the exports.

    The exports are in the workspace's folder `explorer`.
    """
    folder = workspace.folder / "explorer"
    company.write_explorer_files(folder)
    today = company.now.astimezone(workspace.settings.zone).date()
    for export in company.explorer_files():
        workspace.wallets.add_evidence(
            folder / export.name,
            chain=export.chain,
            address=export.address,
            first=str(_FIRST_DAY),
            last=str(today),
            names=_TOKEN_HEADINGS if export.tokens else None,
        )
    held = company.wallet_balances(_FIRST_DAY - timedelta(1))
    for before in held:
        workspace.wallets.add_balance(
            before.balance,
            before.asset,
            chain=before.chain,
            address=before.address,
            at=str(_FIRST_DAY - timedelta(1)),
            source="read off the practice explorer",
        )
    wallets = len({(export.chain, export.address) for export in company.explorer_files()})
    return f"exports of {wallets} company wallets, and {len(held)} balances"


def settings_text(company: Sandbox, served: Served) -> str:
    """Return the practice company's treasury.toml, with the company's current time."""
    company_facts = {"company": company, "served": served, "mark": _MARK}
    return from_template("practice.toml", variable=_SECRET_VARIABLE, **company_facts)


def _step(name: str, work: Callable[[], object]) -> None:
    """Do one step of the demo and print its result; name the step if it fails."""
    began = time.monotonic()
    try:
        sentence = str(work())
    except TreasuryError:
        click.echo(f"{name}: failed", err=True)
        raise
    click.echo(f"{name:<11} {time.monotonic() - began:5.1f} s  {sentence.splitlines()[0]}")
