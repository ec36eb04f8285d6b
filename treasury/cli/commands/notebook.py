"""`treasury notebook`: the notebooks, opened in their workspace."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Final

import click

from treasury.cli.command_view import CommandView, pass_view
from treasury.core.errors import InputError
from treasury.core.text import is_it, one_of
from treasury.report.pack.close_notebook import notebook_names, stored_notebook

_FIRST: Final = "operations"
"""The notebook opened by default."""


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("name", default=_FIRST)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@pass_view
def notebook(view: CommandView, name: str, options: tuple[str, ...]) -> None:
    """Open the notebook NAME in JupyterLab: operations, monthly_reconciliation and others.

    It is copied into the workspace for you to edit; an existing copy is opened unchanged. OPTIONS
    after the name are passed to JupyterLab, for example `--no-browser`.
    """
    if name.startswith("-"):
        name, options = _FIRST, (name, *options)
    names = notebook_names()
    if name not in names:
        raise InputError(f"{name!r} is not a notebook{is_it(name, names)}", do=one_of(name, names))
    if importlib.util.find_spec("jupyterlab") is None:
        raise InputError(
            "notebooks need jupyterlab, which is not installed",
            do="install it: pip install 'treasury-toolkit[notebooks]'",
        )
    folder = view.folder.resolve()
    own = folder / "notebooks" / f"{name}.ipynb"
    if not own.exists():
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_bytes(stored_notebook(name).read_bytes())
        click.echo(f"copied to {own}")
    variables = os.environ | {"TREASURY_WORKSPACE": str(folder)}
    command = [sys.executable, "-m", "jupyterlab", *options, str(own)]
    sys.stdout.flush()
    os.execve(sys.executable, command, variables)  # noqa: S606 - it takes this process's place
