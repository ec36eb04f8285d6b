"""The commands of the desk: what an analyst does with a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pyarrow.compute as pc

from treasury.cli.output import format_option, print_rows
from treasury.errors import InputError
from treasury.settings import FILE_NAME
from treasury.workspace import Workspace, find_workspace

__all__ = [
    "awaiting_funds",
    "fees",
    "init",
    "reconcile",
    "sql",
    "status",
    "trace",
]

month_option = click.option(
    "--month", metavar="YYYY-MM", help="The month; the last one that ended if not given."
)
as_of_option = click.option(
    "--as-of", metavar="INSTANT", help="As it was known then, like 2026-11-01T09:00Z."
)

TEMPLATE = """\
[workspace]
company = "{company}"
environment = "staging"          # sandbox, staging or production
# allow_writes = true            # without it, nothing is changed in production
time_zone = "Europe/Brussels"    # days and months are counted here

[services]
token_url = "https://…/oauth/token"
finance.base_url = "https://…/v1"
ramp.base_url = "https://…/v1"

# A secret is never written here: env:NAME, file:PATH or keyring:SERVICE/USER says where it is.
[credentials.maker]
client_id = "…"
client_secret = "env:TREASURY_MAKER_SECRET"

# One block for each account whose statements you have. source: own_bank, or provider_report for
# the provider's account on which credits to your virtual IBANs are booked.
[[accounts]]
account = "…"
name = "…"
currency = "EUR"
source = "own_bank"
"""


def folder_of(context: click.Context) -> Path:
    """The workspace's folder, as the options of this command line say."""
    return Path(context.obj) if context.obj else find_workspace()


def workspace_of(context: click.Context, as_of: str | None = None) -> Workspace:
    """The workspace, or the view of it as known at an instant."""
    workspace = Workspace(folder_of(context))
    return workspace.at(as_of) if as_of else workspace


@click.command()
@click.option("--company", required=True, help="The company's name, as reports show it.")
@click.pass_context
def init(context: click.Context, company: str) -> None:
    """Begin a workspace: write a treasury.toml to fill in."""
    path = folder_of(context) / FILE_NAME
    if not company.strip() or not company.isprintable():
        raise InputError(
            f"{company!r} is no company's name", do="give it as reports should show it, on one line"
        )
    if path.exists():
        raise InputError(f"{path} exists", do="edit it, or name another folder with --workspace")
    path.parent.mkdir(parents=True, exist_ok=True)
    quoted = company.replace("\\", "\\\\").replace('"', '\\"')
    path.write_text(TEMPLATE.format(company=quoted), "utf-8")
    click.echo(f"wrote {path}: fill in the addresses, credentials and accounts, then run sync")


@click.command()
@month_option
@click.option(
    "--open", "only_open", is_flag=True, help="Only lines that need a person, earlier months' too."
)
@as_of_option
@format_option
@click.pass_context
def reconcile(
    context: click.Context, month: str | None, only_open: bool, as_of: str | None, form: str
) -> None:
    """Reconcile a month: every bank line with its one outcome and the reason."""
    from treasury.reconcile.decided import NEEDS_A_PERSON
    from treasury.report import outcome_word, reconciliation_summary

    workspace = workspace_of(context, as_of)
    result = workspace.reconcile(month)
    lines = result.lines
    if only_open:
        needed = lines.filter(pc.is_in(lines["outcome"], pa.array(NEEDS_A_PERSON)))
        lines = pa.concat_tables([result.earlier_lines, needed])
    if form == "table":
        click.echo(reconciliation_summary(result, zone=workspace.settings.zone))
        words = [outcome_word(row) for row in lines.to_pylist()]
        lines = lines.append_column("on_screen", pa.array(words, pa.string()))
    print_rows(lines, form, columns=LINE_COLUMNS, title="Bank lines")


LINE_COLUMNS = (
    "booking_date",
    "statement_account",
    "direction",
    "amount",
    "on_screen",
    "reference",
    "reason",
    "counterparty_name",
    "remittance",
)


@click.command("awaiting-funds")
@as_of_option
@format_option
@click.pass_context
def awaiting_funds(context: click.Context, as_of: str | None, form: str) -> None:
    """List requests that wait for their funds, and what to do about each."""
    from treasury.report import funding_totals, funding_view

    workspace = workspace_of(context, as_of)
    rows = workspace.awaiting_funds().arrow
    if form != "table":
        print_rows(rows, form)
        return
    print_rows(
        funding_view(rows, zone=workspace.settings.zone), form, title="Requests awaiting funds"
    )
    click.echo(funding_totals(rows))


@click.command()
@click.option(
    "--month",
    metavar="YYYY-MM[..YYYY-MM]",
    help="The month, or the first and the last; the last one that ended if not given.",
)
@as_of_option
@click.option("--per-request", is_flag=True, help="One row a request instead of totals.")
@click.option("--by", metavar="NAME[,NAME…]", help="Sums by month, direction, pair, network, …")
@click.option("--trend", is_flag=True, help="Sums of each month and the change to the one before.")
@click.option("--calculate", is_flag=True, help="Ask the service's calculator for each fee.")
@click.option(
    "--invoice",
    type=click.Path(exists=True, dir_okay=False),
    help="The provider's invoice, a CSV file: reference, fee, currency, vat. Exits 1 on a gap.",
)
@format_option
@click.pass_context
def fees(
    context: click.Context,
    *,
    month: str | None,
    as_of: str | None,
    per_request: bool,
    by: str | None,
    trend: bool,
    calculate: bool,
    invoice: str | None,
    form: str,
) -> None:
    """Report the fees of the requests completed in a month or several."""
    if sum((per_request, by is not None, trend, invoice is not None)) > 1:
        raise InputError(
            "--per-request, --by, --trend and --invoice are four answers", do="ask for one"
        )
    workspace = workspace_of(context, as_of)
    if invoice is not None:
        _tie(workspace, invoice, month, form)
        return
    try:
        result = workspace.fees(month, calculate=calculate)
    finally:
        workspace.close_clients()
    table = result.totals
    if per_request:
        table = result.requests
    elif trend:
        table = result.trend
    elif by is not None:
        table = result.by(*(name.strip() for name in by.split(",")))
    columns = REQUEST_COLUMNS if per_request else ()
    print_rows(table, form, columns=columns, title=result.title, empty="no request completed")
    if form != "table":
        return
    if result.accruals.num_rows:
        print_rows(result.accruals, form, title="Accruals: funded, not completed at month end")
    if result.to_check.num_rows and not per_request:
        print_rows(result.to_check, form, columns=CHECK_COLUMNS, title="Fees to check")


REQUEST_COLUMNS = (
    "reference",
    "completed_on",
    "pair",
    "chain",
    "bank_account",
    "fiat_gross",
    "fee",
    "fiat_net",
    "crypto",
    "exchange_rate",
    "rate_deviation_bp",
    "rate_bp",
    "tier",
    "expected_fee",
    "finding",
)
"""What a person reads of each request; the other forms have all columns."""
CHECK_COLUMNS = (
    "reference",
    "completed_on",
    "fiat_gross",
    "fee",
    "expected_fee",
    "expected_by",
    "finding",
)


def _tie(workspace: Workspace, invoice: str, month: str | None, form: str) -> None:
    tied = workspace.tie_invoice(invoice, month)
    print_rows(tied.lines, form, title=tied.title, empty="nothing on either side")
    if not tied.agrees:
        raise SystemExit(1)


@click.command()
@month_option
@as_of_option
@click.pass_context
def status(context: click.Context, month: str | None, as_of: str | None) -> None:
    """Show the first screen: what is proved, what needs you."""
    workspace = workspace_of(context, as_of)
    click.echo(workspace.status(month))
    watching = None if as_of else workspace.watching()
    if watching:
        click.echo(f"SYNC        {watching}")


@click.command()
@click.argument("query")
@as_of_option
@format_option
@click.pass_context
def sql(context: click.Context, query: str, as_of: str | None, form: str) -> None:
    """Run QUERY, one SELECT, over the tables of the lake."""
    rows: Any = workspace_of(context, as_of).sql(query)
    print_rows(rows.arrow, form, empty="no rows")


@click.command()
@click.argument("what")
@as_of_option
@click.option("--provider", is_flag=True, help="Print a message to send to the provider instead.")
@format_option
@click.pass_context
def trace(context: click.Context, what: str, as_of: str | None, provider: bool, form: str) -> None:
    """Follow one payment from end to end: each hop with its evidence, or what is missing.

    WHAT is a reference, an IBAN, an amount, a transaction hash, or an id or its beginning.
    """
    found = workspace_of(context, as_of).trace(what)
    if provider and form != "table":
        raise click.UsageError("--provider prints a message, and takes no --format")
    if provider and not found.hops:
        raise InputError(f"{found.asked!r} stands for several payments", do="name one by its id")
    if provider:
        click.echo(found.provider_text(), nl=False)
    elif form == "table":
        click.echo(str(found))
    else:
        print_rows(found.to_arrow(), form)
