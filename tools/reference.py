"""Write the generated pages of docs/: `--check` only says whether they are up to date.

cli.md is the commands' own help, tables.md the declarations of the tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from treasury import dictionary
from treasury.cli import treasury

DOCS = Path(__file__).resolve().parents[1] / "docs"
HEAD = """\
# Command line

Made from the commands' own help by `make docs`. Every command that prints rows takes
`--format table|json|csv|parquet`: amounts keep every digit in each of them. A failure is one line
on standard error that says what to do next; the exit code is 2 for input or settings, 3 for
storage, 4 for an action refused and 5 for a service.
"""


def pages(command: click.Command, context: click.Context) -> Iterator[str]:
    """The help of a command and of those below it."""
    name = context.command_path
    yield f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from pages(found, click.Context(found, info_name=child, parent=context))


def reference() -> str:
    """The whole page."""
    width = {"terminal_width": 90, "max_content_width": 90}
    context = click.Context(
        treasury, info_name="treasury", **{**treasury.context_settings, **width}
    )
    return "\n".join((HEAD, *pages(treasury, context)))


PAGES: dict[str, Callable[[], str]] = {"cli.md": reference, "tables.md": dictionary.page}


def main() -> int:
    """Write the pages, or compare them."""
    old = 0
    for name, make in PAGES.items():
        path = DOCS / name
        if "--check" not in sys.argv:
            path.write_text(make(), "utf-8")
        elif not path.exists() or path.read_text("utf-8") != make():
            print(f"docs/{name} is not what the code says: run `make docs`", file=sys.stderr)  # noqa: T201
            old = 1
    return old


if __name__ == "__main__":
    sys.exit(main())
