"""Write docs/cli.md from the commands' own help; `--check` only says whether it is up to date."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from treasury.cli import treasury

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
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


def main() -> int:
    """Write the page, or compare it."""
    if "--check" in sys.argv:
        current = PAGE.read_text("utf-8") if PAGE.exists() else ""
        if current != reference():
            print("docs/cli.md is not what the commands say: run `make docs`", file=sys.stderr)  # noqa: T201
            return 1
        return 0
    PAGE.write_text(reference(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
