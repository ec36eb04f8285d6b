"""A misspelt name gives a one-line error with the nearest name, in IPython and in the shell."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cached_property, partial
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from IPython.core.interactiveshell import InteractiveShell

import treasury as treasury_package
from treasury import plots
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
    "number as a month": (lambda t: t.reconcile(202610), "is it 2026-10?"),  # type: ignore[arg-type]
    "number as months": (lambda t: t.fees(10), "'10' is not a month"),  # type: ignore[arg-type]
    "text as days": (lambda t: t.cash("14"), "give a number of days"),  # type: ignore[arg-type]
    "panel": (lambda t: t.panels.closes(), "is it close?"),  # type: ignore[attr-defined]
    "table of an answer": (lambda t: t.reconcile("2026-10").line, "is it lines?"),  # type: ignore[attr-defined]
    "verb of a table": (lambda t: t.awaiting_funds().to_exel("x"), "is it to_excel?"),  # type: ignore[attr-defined]
    "verb of another library": (lambda t: t.awaiting_funds().filter("x"), ".where filters"),  # type: ignore[attr-defined]
    "name of the package": (
        lambda _: treasury_package.matchreferences,
        "match_references?",
    ),
    "range of months": (lambda t: t.fees("2026-07:2026-10"), "write it as 2026-07..2026-10"),
    "chart": (lambda _: plots.fee, "plots has no 'fee'; is it fees?"),
    "column as an attribute": (
        lambda t: t.reconcile("2026-10").lines.ammount,  # type: ignore[attr-defined]
        'is it the column amount? - table["amount"] is a column, .where filters',
    ),
    "column of a query": (
        lambda t: t.sql("SELECT l.ammount FROM bank_lines l", month="2026-10"),
        "there is no column 'ammount'; is it amount?",
    ),
    "column of a join": (
        lambda t: t.sql(
            "SELECT b.wholly FROM bank_lines b JOIN ramp_requests q ON q.id = b.reason"
        ),
        "see the columns of each table with t.tables(NAME)",
    ),
    "column of a stored table": (
        lambda t: t.sql("SELECT statuss FROM ramp_requests"),
        "there is no column 'statuss'; is it status?",
    ),
    "column of a predicate": (
        lambda t: t.reconcile("2026-10").lines.where("ammount > 10"),
        "there is no column 'ammount'; is it amount?",
    ),
    "text in double quotes": (
        lambda t: t.reconcile("2026-10").lines.where('outcome = "suggested"'),
        "write a text in single quotes: 'suggested'",
    ),
    "month in place of values": (
        lambda t: t.sql("SELECT 1", "2026-10"),
        "write month='2026-10'",
    ),
    "turn of an item": (lambda t: t.open_items("2026-10").select(turn="uss"), "is it us?"),  # type: ignore[arg-type]
    "filter of items": (lambda t: t.open_items("2026-10").select(trun="us"), "is it turn?"),
    "column in where of items": (
        lambda t: t.open_items("2026-10").where(turn="us"),
        "use table.where(turn='us'), or select(turn='us')",
    ),
    "predicate in where of items": (
        lambda t: t.open_items("2026-10").where("amount > 1"),  # type: ignore[arg-type]
        "use table.where('amount > 1')",
    ),
    "filter of a result": (lambda t: t.reconcile("2026-10").where(), "use .df, or .lines,"),  # type: ignore[attr-defined]
    "column of a result": (lambda t: t.reconcile("2026-10")["amount"], "use .df, or .lines,"),
    "column of fees": (lambda t: t.fees("2026-10")["fee"], "use .df, or .recorded,"),
    "column of items": (lambda t: t.open_items("2026-10")["amount"], "use .df, or .table"),
    "column of a screen": (lambda t: t.status("2026-10")["amount"], "use t.open_items(),"),  # type: ignore[index]
    "size of a result": (lambda t: len(t.reconcile("2026-10")), "use .df, or .lines,"),
    "method of decisions": (lambda t: t.matches.acept(), "is it accept?"),  # type: ignore[attr-defined]
    "outcome": (lambda t: t.reconcile("2026-10").lines.where(outcome="mached"), "is it matched?"),
    "column by another name": (
        lambda t: t.reconcile("2026-10").lines.sort("-payer"),
        "there is no column 'payer'; is it counterparty_name?",
    ),
    "column of another table": (
        lambda t: t.reconcile("2026-10").lines.where(overdue_unit="day"),
        "no column 'overdue_unit'; awaiting_funds has overdue_unit - use one of booking_date",
    ),
    "value of another column": (
        lambda t: t.reconcile("2026-10").lines.where(kind="needs_decision"),
        "no value 'needs_decision'; is it outcome='suggested'? internal_transfers, open_items,",
    ),
    "value of another table": (
        lambda t: t.reconcile("2026-10").lines.where("kind = 'overdue'"),
        "kind has no value 'overdue'; internal_transfers, open_items",
    ),
    "number of rows": (
        lambda t: t.awaiting_funds().head("5"),  # type: ignore[arg-type]
        "head takes a number of rows, not '5' - write it like head(5)",
    ),
    "value of a question mark": (
        lambda t: t.awaiting_funds().where("amount > ?"),
        "give a value for each question mark",
    ),
    "value without a question mark": (
        lambda t: t.awaiting_funds().where("amount > ?", 1, 2),
        "the query has no parameter 2",
    ),
    "result for a chart": (
        lambda t: plots.fees(t.reconcile("2026-10")),  # type: ignore[arg-type]
        "cannot draw a value of type Reconciliation - write plots.fees(t.fees(MONTHS))",
    ),
    "value for a chart": (lambda _: plots.exposure(3), "write plots.exposure(t.exposure(MONTH))"),  # type: ignore[arg-type]
    "month of a chart": (
        lambda t: plots.cash(t.reconcile("2026-10").lines),
        'write plots.cash(table, "2026-10")',
    ),
    "result for pandas": (lambda t: pd.DataFrame(t.reconcile("2026-10")), "use .df, or .lines"),  # type: ignore[call-overload]
    "items for pandas": (lambda t: pd.DataFrame(t.open_items("2026-10")), "use .df, or .table"),
    "word of a kind in a query": (
        lambda t: t.sql("SELECT name FROM open_items WHERE kind = 'Overdue, not paid'"),
        "kind has no value 'Overdue, not paid'; is it overdue?",
    ),
    "word of an outcome in a predicate": (
        lambda t: t.reconcile("2026-10").lines.where("outcome IN ('matched', 'Needs decision')"),
        "outcome has no value 'Needs decision'; is it suggested?",
    ),
    "code of a bank in a predicate": (
        lambda t: t.reconcile("2026-10").lines.where("amount > 1 AND NOT direction = 'CRDT'"),
        "direction has no value 'CRDT'; is it in?",
    ),
    "group of fees": (lambda t: t.fees("2026-10").by("pairs"), "is it pair?"),
}


@pytest.mark.first_case
@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_name_is_one_line_with_the_nearest_one(month_end: Workspace, name: str) -> None:
    ask, expected = MISSPELT[name]
    with pytest.raises(InputError) as caught:
        ask(month_end)
    (line,) = caught.value._render_traceback_()
    assert expected in line
    assert "\n" not in line


def test_a_list_of_names_is_shown_only_without_a_near_one(month_end: Workspace) -> None:
    lines = month_end.reconcile("2026-10").lines
    for name, has_list in (("ammount", False), ("zzz", True)):
        for ask in (partial(lines.__getitem__, name), partial(lines.where, f"{name} = 1")):
            with pytest.raises(InputError) as caught:
                ask()
            assert ("use one of booking_date, " in str(caught.value)) is has_list


def test_the_traceback_of_a_query_has_the_words_of_duckdb(month_end: Workspace) -> None:
    with pytest.raises(InputError) as caught:
        month_end.awaiting_funds().where("refrence = 'x'")
    caught.value._render_traceback_()
    assert "Binder Error" in "\n".join(caught.value._render_traceback_())


@pytest.mark.acceptance
def test_a_result_counts_its_only_table_and_is_true(month_end: Workspace) -> None:
    items = month_end.open_items("2026-10")
    assert len(items) == len(items.table) > 0
    assert len(month_end.checklist("2026-10")) == len(month_end.checklist("2026-10").table)
    assert month_end.reconcile("2026-10")
    assert not items.where(lambda _: False)


def test_facades_show_their_methods(month_end: Workspace) -> None:
    assert repr(month_end.rates) == "<StoredRates: add, list, reference>"
    assert repr(month_end.limits) == "<Limits: propose, accept, list>"
    assert "who proposed and approved" in repr(month_end.actions)
    for name in ("limits", "measurement", "exposure_limits", "actions", "journal", "lake"):
        facade = getattr(month_end, name)
        assert all(callable(getattr(facade, each)) for each in dir(facade) if each != "policy")
        assert not {"rows", "differ", "without", "wall", "settling_until"} & {*dir(facade)}
    assert 'entries(subject="A-1")' in repr(month_end.journal)
    facades = {
        name
        for base in Workspace.__mro__
        for name, value in vars(base).items()
        if isinstance(value, cached_property) and not name.startswith("_")
    } - {"inbox", "notices"}
    assert len(facades) >= 12
    for name in facades:
        assert " object at 0x" not in repr(getattr(month_end, name)), name


def test_a_name_that_is_near_none_gets_no_suggestion(month_end: Workspace) -> None:
    assert nearest("zzz", ["amount", "currency"]) == is_it("zzz", ["amount"]) == ""
    assert nearest("Needs Decision", ["needs_decision"]) == "needs_decision"
    with pytest.raises(InputError) as caught:
        month_end.reconcile("2026-13")
    assert "is it" not in str(caught.value)


def test_a_display_hook_of_notebooks_is_an_ordinary_missing_attribute(month_end: Workspace) -> None:
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
