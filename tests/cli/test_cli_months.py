"""The month of a command: an argument, --month, or the last month that ended."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.cli.command_view import month_argument
from treasury.core.errors import InputError
from treasury.workspace import Workspace

VERBS = (
    ("reconcile",), ("exceptions",), ("fees",), ("close",), ("export",), ("compare",),
    ("periods", "roll-forward"), ("items", "list"),
)  # fmt: skip


def command_of(names: tuple[str, ...]) -> click.Command:
    found: click.Command = treasury
    for name in names:
        assert isinstance(found, click.Group)
        found = found.commands[name]
    return found


@pytest.mark.parametrize("names", VERBS, ids=" ".join)
def test_every_command_about_a_month_takes_it_in_two_ways_or_uses_a_default(
    names: tuple[str, ...],
) -> None:
    taken = {one.name: one for one in command_of(names).params}
    assert not taken["written_month"].required
    assert not taken["month"].required
    assert "default: the last one that ended" in (taken["month"].help or "")  # type: ignore[attr-defined]


def test_two_different_months_are_refused_and_a_repeated_one_is_accepted() -> None:
    @click.command()
    @month_argument
    def verb(month: str | None) -> None:
        click.echo(month)

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(verb, arguments)
        return done.exit_code, done.output

    assert run("2026-10") == run("--month", "2026-10") == (0, "2026-10\n")
    assert run("2026-10", "--month", "2026-10") == (0, "2026-10\n")
    code, said = run("2026-09", "--month", "2026-10")
    assert code == 2
    assert "two months are given, 2026-09 and 2026-10" in said


def test_the_default_month_is_the_last_complete_one(month_end: Workspace) -> None:
    assert str(month_end.month()) == "2026-10"
    assert month_end.month("2026-09") == month_end.month(month_end.month("2026-09"))
    assert str(month_end.fees().months.last) == "2026-10"


@pytest.mark.parametrize("instant", ["0001-01-01T00:00Z", "9999-12-31T23:59Z"])
def test_an_instant_out_of_range_is_refused_in_one_line(month_end: Workspace, instant: str) -> None:
    arguments = ["-w", str(month_end.folder), "status", "--as-of", instant]
    done = CliRunner().invoke(treasury, arguments)
    assert isinstance(done.exception, InputError)
    assert "outside the years 1900 to 9998" in str(done.exception)


@pytest.mark.acceptance
def test_a_list_of_one_kind_does_not_claim_that_nothing_is_open(month_end: Workspace) -> None:
    arguments = ["-w", str(month_end.folder), "exceptions", "2026-10", "--kind", "late_item"]
    printed = CliRunner().invoke(treasury, arguments).stdout
    assert "none of these; " in printed
    assert "nothing" not in printed
