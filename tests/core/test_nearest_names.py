"""A misspelt name gives a one-line error with the nearest name, in IPython and in the shell."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from click.testing import CliRunner
from IPython.core.interactiveshell import InteractiveShell

import treasury as treasury_package
from treasury.cli import main, treasury
from treasury.core.errors import InputError, TreasuryError
from treasury.core.text import is_it, nearest
from treasury.statements.file_sources import plain_file
from treasury.workspace import Workspace

MISSPELT: dict[str, tuple[Callable[[Workspace], object], str]] = {
    "month": (lambda t: t.reconcile("2026-1O"), "is it 2026-10?"),
    "month in words": (lambda t: t.reconcile("Oct 2026"), "is it 2026-10?"),
    "table": (lambda t: t.tables("ramp_request"), "is it ramp_requests?"),
    "answer": (lambda t: t.tables("open_item"), "is it open_items?"),
    "table of a query": (lambda t: t.sql("SELECT * FROM open_item"), "is it open_items?"),
    "column": (lambda t: t.awaiting_funds()["refrence"], "is it reference?"),
    "kind of action": (lambda t: t.actions.list(kind="ramp_request.aprove"), "approve?"),
    "state of an action": (lambda t: t.actions.list(state="propsed"), "is it proposed?"),  # type: ignore[arg-type]
    "verb": (lambda t: t.recncile(), "is it reconcile?"),  # type: ignore[attr-defined]
    "panel": (lambda t: t.panels.exception(), "is it exceptions?"),  # type: ignore[attr-defined]
    "table of an answer": (lambda t: t.reconcile("2026-10").line, "is it lines?"),  # type: ignore[attr-defined]
    "verb of a table": (lambda t: t.awaiting_funds().to_exel("x"), "is it to_excel?"),  # type: ignore[attr-defined]
    "verb of another library": (lambda t: t.awaiting_funds().filter("x"), ".where filters"),  # type: ignore[attr-defined]
    "name of the package": (
        lambda _: treasury_package.matchreferences,
        "match_references?",
    ),
    "range of months": (lambda t: t.fees("2026-07:2026-10"), "write it as 2026-07..2026-10"),
    "turn of an item": (lambda t: t.open_items("2026-10").select(turn="me"), "give one of us,"),  # type: ignore[arg-type]
    "outcome": (lambda t: t.reconcile("2026-10").lines.where(outcome="mached"), "is it matched?"),
    "group of fees": (lambda t: t.fees("2026-10").by("pairs"), "is it pair?"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_name_is_one_line_with_the_nearest_one(month_end: Workspace, name: str) -> None:
    ask, expected = MISSPELT[name]
    with pytest.raises(InputError) as caught:
        ask(month_end)
    (line,) = caught.value._render_traceback_()
    assert expected in line
    assert "\n" not in line


def test_a_name_that_is_near_none_gets_no_suggestion(month_end: Workspace) -> None:
    assert nearest("zzz", ["amount", "currency"]) == is_it("zzz", ["amount"]) == ""
    assert nearest("Needs Decision", ["needs_decision"]) == "needs_decision"
    with pytest.raises(InputError) as caught:
        month_end.reconcile("2026-13")
    assert "is it" not in str(caught.value)


def test_a_hook_that_a_notebook_looks_for_is_only_missing(month_end: Workspace) -> None:
    for owner in (month_end, month_end.panels, month_end.reconcile("2026-10")):
        assert getattr(owner, "_repr_mimebundle_", None) is None
        assert not hasattr(owner, "shape")


def test_a_missing_file_names_the_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "statement.xml").write_text("<a/>")
    missing = plain_file(tmp_path / "statment.xml")
    with pytest.raises(TreasuryError, match=r"is it statement\.xml\?"), missing.open():
        pass


def test_ipython_shows_one_line_and_the_traceback_on_request() -> None:
    shell = InteractiveShell.instance()
    shown = io.StringIO()
    with redirect_stdout(shown):
        shell.run_cell("from treasury.core.calendar import Month; Month.parse('2026-1O')")
    assert shown.getvalue().count("\n") == 1
    assert "is it 2026-10?" in shown.getvalue()
    with redirect_stdout(shown):
        shell.run_cell("%tb")
    assert "Traceback" in shown.getvalue()
    assert "calendar.py" in shown.getvalue()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("tables", "open_item"), "is it open_items?"),
        (("tables", "--format", "jsno"), "is it json?"),
        (("tabels",), "Did you mean 'tables'?"),
        (("tables", "--fromat", "json"), "Did you mean '--format'?"),
    ],
)
def test_the_shell_prints_one_line(
    arguments: tuple[str, ...],
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["treasury", *arguments])
    with pytest.raises(SystemExit, match="2"):
        main()
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert expected in told


def test_the_shell_prints_the_traceback_on_request() -> None:
    quiet = CliRunner().invoke(treasury, ["tables", "open_item"])
    loud = CliRunner().invoke(treasury, ["--traceback", "tables", "open_item"])
    assert quiet.stderr == ""
    assert loud.stderr.startswith("Traceback")
    assert isinstance(loud.exception, InputError)
