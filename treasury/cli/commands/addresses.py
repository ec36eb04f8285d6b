"""`treasury addresses`: the addresses that receive secrets, and where secrets are stored."""

from __future__ import annotations

import click
import pyarrow as pa

from treasury.cli.address_question import terminal_question
from treasury.cli.command_view import CommandView, pass_view, print_options
from treasury.cli.layout import echo_folded
from treasury.core.errors import InputError
from treasury.core.settings.confirmed_addresses import (
    COMMAND,
    confirm,
    confirm_first_use,
    confirmed_values,
    differences,
)
from treasury.core.settings.secret_routes import secret_settings
from treasury.core.text import ascii_escaped


@click.group()
def addresses() -> None:
    """Show and confirm the addresses that receive secrets, and where secrets are stored."""


@addresses.command("list")
@print_options
def addresses_list(view: CommandView) -> None:
    """List each address that can receive a secret and each secret's place, as confirmed."""
    folder, settings = view.folder, view.workspace.settings
    confirmed = confirmed_values(folder)
    differing = {difference.setting.key for difference in differences(folder, settings)}
    rows = []
    for setting in secret_settings(settings):
        known = confirmed.get(setting.key)
        state = "confirmed" if known is not None else "first use"
        rows.append(
            {
                "setting": ascii_escaped(setting.key),
                "value": ascii_escaped(setting.value),
                "state": "to confirm" if setting.key in differing else state,
                "confirmed": None if known is None else ascii_escaped(known.value),
                "at": None if known is None else known.at,
                "reason": None if known is None else known.reason,
            }
        )
    view.rows(
        pa.Table.from_pylist(rows, schema=_ADDRESSES),
        title="Addresses and places of secrets",
        empty="these settings name no address",
    )


_ADDRESSES = pa.schema(
    [(name, pa.string()) for name in ("setting", "value", "state", "confirmed")]
    + [("at", pa.timestamp("us", tz="UTC")), ("reason", pa.string())]
)


@addresses.command("confirm")
@click.option(
    "--place",
    "places",
    multiple=True,
    metavar="PLACE",
    help="Confirm only this place of a secret, written as in treasury.toml; also in a script.",
)
@click.option("--reason", help="Reason; prompted for on a terminal.")
@pass_view
def addresses_confirm(view: CommandView, places: tuple[str, ...], reason: str | None) -> None:
    """Confirm the current addresses and places of secrets in treasury.toml.

    Each new or changed address is shown with its previous value, for confirmation on a terminal. In
    a workspace of an earlier version every address counts as new, once.
    """
    folder, settings = view.folder, view.workspace.settings
    question = terminal_question()
    differing = differences(folder, settings, trust_first=question is None)
    if places:
        named = [d.setting for d in differing if d.setting.role == "place"]
        written = {ascii_escaped(place) for place in places}
        named = [setting for setting in named if ascii_escaped(setting.value) in written]
        if missing := written - {ascii_escaped(setting.value) for setting in named}:
            raise InputError(
                f"not waiting for confirmation: {', '.join(sorted(missing))}",
                do="write it as shown by `treasury addresses list`",
            )
        if not reason:
            raise click.UsageError("--place requires --reason")
        confirm(folder, settings, named, reason)
    elif differing:
        if question is None:
            raise InputError(
                f"{'; '.join(map(str, differing))}: only a person can confirm this",
                do=f"run `{COMMAND}` on a terminal, or name an unusual place with --place",
            )
        answer = question(differing)
        if answer is None:
            raise click.Abort
        confirm(folder, settings, [d.setting for d in differing], reason or answer)
    else:
        confirm_first_use(folder, settings)
    echo_folded("confirmed for you: this workspace sends secrets to no other address")
