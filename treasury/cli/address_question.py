"""The terminal prompt that confirms new or changed addresses of secrets."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from treasury.core.settings.confirmed_addresses import AddressDifference, Ask


def terminal_question() -> Ask | None:
    """Return the function that prompts, or None in a script."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(differing: Sequence[AddressDifference]) -> str | None:
        click.echo("Secrets go to these addresses, and come from these places:", err=True)
        for difference in differing:
            click.echo(f"  {difference}", err=True)
        if not click.confirm("Is that right?", err=True):
            return None
        return str(click.prompt("Reason, for the record", err=True)).strip() or None

    return ask
