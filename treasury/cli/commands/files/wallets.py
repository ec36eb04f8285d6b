"""`treasury wallets`: evidence of what is in the company's own wallets, which no service shows."""

from __future__ import annotations

from pathlib import Path

import click

from treasury.cli.commands.desk import workspace_of
from treasury.cli.output import print_rows, view_options
from treasury.errors import InputError

__all__ = ["wallets"]

chain_option = click.option("--chain", required=True, help="Its chain, as the service names it.")
address_option = click.option("--address", required=True, help="The wallet.")


@click.group()
def wallets() -> None:
    """Prove company wallets, which no service shows, by explorer exports and stated balances."""


@wallets.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@chain_option
@address_option
@click.option("--from", "first", metavar="DAY", help="First day that the export covers.")
@click.option("--to", "last", metavar="DAY", help="Last day that it covers.")
@click.option("--asset", "assets", multiple=True, help="An asset that it shows, if none moved.")
@click.option("--source", default="", help="Where it comes from, if not from an explorer.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=HEADING",
    help="Its own heading of a column.",
)
@click.option("--replace", is_flag=True, help="Take this one's word where an earlier one differs.")
@click.pass_context
def add_file(
    context: click.Context,
    *,
    file: Path,
    chain: str,
    address: str,
    first: str | None,
    last: str | None,
    assets: tuple[str, ...],
    source: str,
    columns: tuple[str, ...],
    replace: bool,
) -> None:
    """Add FILE, an explorer's export as CSV or Parquet: hash, time, from, to, asset, amount.

    The explorer's list of transactions, with a column TxnFee(ETH) or TxnFee(POL), is read as it is:
    the native coin that moved, and the gas that the wallet paid. Without --from and --to it covers
    from its first line to its last. The same file again adds nothing.
    """
    headings = {}
    for pair in columns:
        name, equals, heading = pair.partition("=")
        if not equals or not heading.strip():
            raise InputError(
                f"--column {pair[:40]!r} names no heading", do="write it as hash=Txhash"
            )
        headings[name.strip().lower()] = heading.strip()
    added = workspace_of(context).wallets.add_evidence(
        file,
        chain=chain,
        address=address,
        first=first,
        last=last,
        assets=assets,
        source=source,
        names=headings,
        replace=replace,
    )
    click.echo(str(added))


@wallets.command("balance")
@click.argument("balance")
@click.argument("asset")
@chain_option
@address_option
@click.option("--at", required=True, metavar="DAY", help="A day at its end, or an instant.")
@click.option("--source", required=True, help="Where it was read; kept with your name.")
@click.pass_context
def state_balance(
    context: click.Context,
    *,
    balance: str,
    asset: str,
    chain: str,
    address: str,
    at: str,
    source: str,
) -> None:
    """State that a wallet held BALANCE of ASSET."""
    added = workspace_of(context).wallets.add_balance(
        balance, asset, chain=chain, address=address, at=at, source=source
    )
    click.echo(str(added))


@wallets.command("list")
@view_options
def list_evidence(context: click.Context, as_of: str | None, form: str) -> None:
    """List what was added: what it covers or states, who added it, from where."""
    workspace = workspace_of(context)
    if as_of:
        workspace = workspace.at(as_of)
    print_rows(workspace.wallets.list().arrow, form, title="Wallet evidence", empty="none added")
