"""`treasury wallets`: evidence of what is in the company's own wallets, which no service shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from treasury.cli.command_view import CommandView, pass_view, view_options
from treasury.core.errors import InputError

_chain_option = click.option("--chain", required=True, help="Its chain, as the service names it.")
_address_option = click.option("--address", required=True, help="The wallet.")


@click.group()
def wallets() -> None:
    """Prove company wallets, which no service shows, by explorer exports and stated balances."""


@wallets.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_chain_option
@_address_option
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
@pass_view
def add_file(view: CommandView, file: Path, columns: tuple[str, ...], **evidence: Any) -> None:
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
    click.echo(str(view.workspace.wallets.add_evidence(file, names=headings, **evidence)))


@wallets.command("balance")
@click.argument("balance")
@click.argument("asset")
@_chain_option
@_address_option
@click.option("--at", required=True, metavar="DAY", help="A day at its end, or an instant.")
@click.option("--source", required=True, help="Where it was read; kept with your name.")
@pass_view
def state_balance(view: CommandView, balance: str, asset: str, **where: Any) -> None:
    """State that a wallet held BALANCE of ASSET."""
    click.echo(str(view.workspace.wallets.add_balance(balance, asset, **where)))


@wallets.command("list")
@view_options
def list_evidence(view: CommandView) -> None:
    """List what was added: what it covers or states, who added it, from where."""
    view.rows(view.workspace.wallets.list().arrow, title="Wallet evidence", empty="none added")
