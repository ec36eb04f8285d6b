"""`treasury wallets`: evidence of the company's own wallets, which no service shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from treasury.cli.command_view import CommandView, pass_view, view_options
from treasury.cli.layout import echo_folded
from treasury.core.errors import InputError

_chain_option = click.option("--chain", required=True, help="Chain, as the service names it.")
_address_option = click.option("--address", required=True, help="The wallet.")


@click.group()
def wallets() -> None:
    """Prove company wallets, which no service shows, by explorer exports and stated balances."""


@wallets.command("add")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_chain_option
@_address_option
@click.option("--from", "first", metavar="DAY", help="First day of the export.")
@click.option("--to", "last", metavar="DAY", help="Last day of the export.")
@click.option(
    "--asset",
    "assets",
    multiple=True,
    help="An asset that the export covers although no movement shows it.",
)
@click.option("--source", default="", help="The source of the file, if it is not an explorer.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=HEADING",
    help="The file's heading for a column.",
)
@click.option("--replace", is_flag=True, help="Overwrite conflicting rows of earlier exports.")
@pass_view
def add_file(view: CommandView, file: Path, columns: tuple[str, ...], **evidence: Any) -> None:
    """Add FILE, an explorer's export as CSV or Parquet: hash, time, from, to, asset, amount.

    The explorer's list of transactions, with a column TxnFee(ETH) or TxnFee(POL), needs no column
    options: it shows movements of the native coin, and the gas that the wallet paid. Without --from
    and --to it covers its first line to its last. Adding the same file again has no effect.
    """
    headings = {}
    for pair in columns:
        name, equals, heading = pair.partition("=")
        if not equals or not heading.strip():
            raise InputError(
                f"--column {pair[:40]!r} names no heading", do="write it as hash=Txhash"
            )
        headings[name.strip().lower()] = heading.strip()
    echo_folded(str(view.workspace.wallets.add_evidence(file, names=headings, **evidence)))


@wallets.command("balance")
@click.argument("balance")
@click.argument("asset")
@_chain_option
@_address_option
@click.option(
    "--at", required=True, metavar="DAY", help="A day, for the balance at its end, or an instant."
)
@click.option("--source", required=True, help="Where the balance was read; stored with your name.")
@pass_view
def state_balance(view: CommandView, balance: str, asset: str, **where: Any) -> None:
    """Add the BALANCE of ASSET that a person read for a wallet."""
    echo_folded(str(view.workspace.wallets.add_balance(balance, asset, **where)))


@wallets.command("list")
@view_options
def list_evidence(view: CommandView) -> None:
    """List the added evidence: its period or balance, who added it, its source."""
    view.rows(view.workspace.wallets.list().arrow, title="Wallet evidence", empty="none added")
