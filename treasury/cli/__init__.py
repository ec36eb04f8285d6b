"""The command line: the verbs of the workspace, in a shell.

Every command that prints rows takes `--format table|json|csv|parquet`. An error is one line on
standard error that says what to do next, and an exit code that is not 0.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

import click

from treasury import __version__
from treasury.cli.verbs import ARROW_ALONE, VERBS, Verbs
from treasury.core.errors import TreasuryError
from treasury.core.files.access import keep_to_user
from treasury.core.machine.terminal import guard_output, guarded_output

__all__ = ["lighten", "main", "treasury"]


class _Unneeded(MetaPathFinder):
    """Says of libraries that are there that they are not installed.

    Arrow imports pandas to look at any list, half a second of processor time, and numpy whatever it
    is to do, a fifth; no verb gives a frame, and few need numpy. Spark does not start without
    either: where it is asked for, nothing is refused any more.
    """

    def __init__(self) -> None:
        self.refused = {"pandas"}

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse these, and leave everything else to the finders after this one."""
        if name == "pyspark":
            self.refused.clear()
        if name in self.refused:
            raise ModuleNotFoundError(f"this verb does without {name}", name=name)
        return None


_UNNEEDED: Final = _Unneeded()
_MANY_OBJECTS: Final = 100_000
"""New objects until the collector looks for circles: modules alone are a tenth, and none is one."""
_ALLOCATOR: Final = "ARROW_DEFAULT_MEMORY_POOL"
"""Names what Arrow allocates by: jemalloc gives back what is free, a tenth of a large close."""


class _Guarded(click.Group):
    """A group whose commands write to a guarded terminal, and are loaded when they are run."""

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """The command of a verb, loaded with what it needs."""
        if name in ARROW_ALONE:
            _UNNEEDED.refused.add("numpy")
        return super().get_command(context, name)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs, none of which is loaded for it."""
        limit = formatter.width - 6 - max(map(len, VERBS))
        rows = [
            (name, click.Command(name, help=VERBS[name].about).get_short_help_str(limit))
            for name in sorted(VERBS)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run as click does."""
        with guarded_output():
            return super().main(*arguments, **options)


@click.group(
    cls=_Guarded, commands=Verbs(), context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="treasury %(version)s")
@click.option(
    "--workspace",
    "-w",
    envvar="TREASURY_WORKSPACE",
    type=click.Path(file_okay=False),
    help="Folder of the workspace; the nearest one where not given.",
)
@click.pass_context
def treasury(context: click.Context, workspace: str | None) -> None:
    """Close the month: pull, read the bank, reconcile, report, act."""
    keep_to_user()  # until a workspace is opened that says otherwise
    context.obj = workspace


def lighten() -> None:
    """What a process that is ours alone does before anything is loaded, to be fast and small."""
    gc.set_threshold(_MANY_OBJECTS)
    sys.meta_path.insert(0, _UNNEEDED)
    if sys.platform == "linux" and os.uname().machine == "x86_64":  # where Arrow is built with it
        os.environ.setdefault(_ALLOCATOR, "jemalloc")


def main() -> None:
    """Run a command; whatever it cannot do becomes one line and an exit code."""
    lighten()
    guard_output()
    try:
        sys.exit(treasury(prog_name="treasury", standalone_mode=False))
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("treasury: stopped", err=True)
        sys.exit(1)
    except (click.ClickException, TreasuryError) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        line = " ".join(text.split())
        if isinstance(error, click.UsageError):
            path = error.ctx.command_path if error.ctx is not None else "treasury"
            line = f"{line.removesuffix('.')} - see `{path} --help`"
        click.echo(f"treasury: {line}", err=True)
        sys.exit(error.exit_code)
    finally:
        gc.freeze()  # nothing is collected that goes with the process: a tenth of a second
