"""The written reference equals the help of the commands, and every command has help."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from treasury.cli import treasury
from treasury.core.statuses import REQUEST_KNOWN, TRANSFER_KNOWN

ROOT = Path(__file__).resolve().parents[2]


def commands(group: click.Group, path: str = "treasury") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


@pytest.mark.parametrize("name", ["tables.md", "open-items.md", "services.md"])
def test_every_generated_page_is_up_to_date(name: str) -> None:
    pages = runpy.run_path(str(ROOT / "tools" / "reference.py"))["PAGES"]
    assert pages[name]() == (ROOT / "docs" / name).read_text("utf-8")


def test_every_known_status_of_a_ramp_request_and_of_a_transfer_is_explained() -> None:
    page = (ROOT / "docs" / "services.md").read_text("utf-8")
    written, mark, _ = page.partition("<!-- Generated from here on")
    assert mark
    for status in REQUEST_KNOWN | TRANSFER_KNOWN:
        assert re.search(rf"^\|.*`{status}`.* \| \w", written, re.MULTILINE), status


def test_the_reference_is_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "reference.py"))["reference"]()
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == made


@pytest.mark.parametrize(("path", "command"), list(commands(treasury)), ids=str)
def test_every_command_and_option_has_help(path: str, command: click.Command) -> None:
    assert command.help, path
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help or parameter.show_default, (path, parameter.name)


def test_the_sample_statement_equals_the_practice_banks_file(tmp_path: Path) -> None:
    from treasury.sandbox import Sandbox

    sample = next((ROOT / "data" / "sample").glob("*.xml"))
    Sandbox(7).write_bank_files(tmp_path)
    assert (tmp_path / sample.name).read_bytes() == sample.read_bytes()
