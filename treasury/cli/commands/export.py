"""The command that exports a month as a CSV journal and a Beancount file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click

from treasury.cli.command_view import CommandView, month_argument, pass_view
from treasury.cli.output import as_of_option
from treasury.close.ledger.provided_ledger import MAPPING
from treasury.core.errors import InputError, StorageError

_JOURNAL, _BEANCOUNT = "journal.csv", "month.beancount"


@click.command()
@month_argument
@as_of_option
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Folder to write to.")
@click.option(
    "--mapping",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="TOML file with your ledger account for each role; default: accounts.toml of the"
    " workspace.",
)
@click.option(
    "--mapping-template", is_flag=True, help="Print a template of that file, and write nothing."
)
@pass_view
def export(
    view: CommandView,
    month: str | None,
    out: Path | None,
    mapping: Path | None,
    mapping_template: bool,
) -> None:
    """Write a month as double entry: journal.csv and month.beancount.

    Unexplained amounts are posted to a suspense account. Amounts that could not be posted, and
    balances that could not be asserted, are listed on standard error.
    """
    if mapping_template == (out is not None):
        raise InputError(
            "export writes to a folder, or prints a mapping template",
            do="give either --out FOLDER or --mapping-template",
        )
    workspace = view.workspace
    books = workspace.accounting(month)
    if out is None:
        click.echo(books.mapping(), nl=False)
        return
    own = workspace.folder / MAPPING
    mapping = mapping or (own if own.is_file() else None)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".writing-", dir=out) as name:
            folder = Path(name)
            books.write_csv(folder / _JOURNAL, mapping)
            books.write_beancount(folder / _BEANCOUNT, mapping)
            for file in (_JOURNAL, _BEANCOUNT):
                os.replace(folder / file, out / file)
    except OSError as error:
        raise StorageError(
            f"{out} cannot be written: {error.strerror}", do="name a folder you may write to"
        ) from None
    click.echo(f"{books.title}\n{out / _JOURNAL}\n{out / _BEANCOUNT}")
    for note in books.notes:
        click.echo(note, err=True)
