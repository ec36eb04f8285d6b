"""Ten common jobs of an analyst, each in at most five lines, and the answers that they use."""

from __future__ import annotations

import ast
import inspect
import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars
import pytest

import treasury
from treasury import Table, TreasuryError, match_references, plots
from treasury.core.errors import TableError
from treasury.workspace import Workspace

MONTHLY = Path(__file__).resolve().parents[2] / "notebooks" / "monthly_reconciliation.ipynb"
PAID = {"amount": Decimal("9126.40"), "currency": "EUR", "direction": "CRDT"}
LINE = {
    "entry_id": "a",
    "account": "BE1",
    "booking_date": "2026-10-06",
    "remittance": "PAY-2026-004417",
    **PAID,
}
REQUEST = {"expectation_id": "r", "kind": "off_ramp", "code": "PAY-2026-004417", **PAID}


@pytest.fixture
def t(month_end: Workspace) -> Workspace:
    return month_end


def test_credits_of_one_payer_above_an_amount(t: Workspace) -> None:
    lines = t.reconcile("2026-10").lines
    large = lines.where("signed_amount > 10000 AND counterparty_name = ?", "Ramp Operator BV")
    assert isinstance(large, Table)
    assert len(large) == 5
    assert large.df["signed_amount"].min() > 10000


def test_lines_are_joined_to_their_requests_with_the_days_between(t: Workspace) -> None:
    r = t.reconcile("2026-10")
    lines, requests = r.lines.df, r.fee_requests.df
    both = lines.merge(requests, left_on="expectation_id", right_on="request_id")
    days = (both["completed_on"] - both["booking_date"]).dt.days
    assert days.count() == len(both) > 0


def test_a_chart_of_the_fee_trend(t: Workspace) -> None:
    figure = plots.fees(t.fees("2026-09..2026-10"))
    assert "Fees" in repr(figure)


def test_wires_that_wait_for_days_as_frame_and_workbook(t: Workspace, tmp_path: Path) -> None:
    late = t.awaiting_funds().where("overdue >= 3")
    assert late.df["amount"].sum() > 0
    assert late.to_excel(tmp_path / "late.xlsx").is_file()


def test_credits_by_virtual_account_and_week(t: Workspace) -> None:
    lines = t.reconcile("2026-10").lines.where(kind="virtual_bank_account", direction="in").df
    weeks = lines.groupby(["account", pd.Grouper(key="booking_date", freq="W")])["amount"].sum()
    assert weeks.sum() == lines["amount"].sum() > 0


def test_duplicates_are_listed(t: Workspace) -> None:
    twice = t.reconcile("2026-10").lines.where(outcome="duplicate")
    assert len(twice) == 1


def test_an_own_frame_is_matched() -> None:
    lines = pd.DataFrame([LINE])
    requests = pd.DataFrame([REQUEST])
    matches = match_references(lines, requests)
    assert matches.lines.df["outcome"].tolist() == ["matched"]


@pytest.mark.acceptance
def test_the_monthly_notebook_is_run_by_papermill(t: Workspace, tmp_path: Path) -> None:
    import papermill

    asked = {"folder": str(t.folder), "month": "2026-10"}
    done = papermill.execute_notebook(MONTHLY, tmp_path / "done.ipynb", asked, cwd=tmp_path)
    assert "October 2026" in str(done.cells)


def test_lines_are_exported_as_csv(t: Workspace, tmp_path: Path) -> None:
    path = t.reconcile("2026-10").lines.to_csv(tmp_path / "lines.csv")
    assert len(pd.read_csv(path)) == len(t.reconcile("2026-10").lines)


def test_a_chart_of_the_age_of_open_items(t: Workspace) -> None:
    figure = plots.open_items_by_age(t.open_items("2026-10"))
    assert "open" in repr(figure).casefold()


@pytest.mark.acceptance
def test_the_tasks_on_the_page_of_tables_run_as_written(t: Workspace) -> None:
    page = (MONTHLY.parents[1] / "docs" / "dataframes.md").read_text("utf-8")
    tasks = page.partition("## Three tasks")[2].partition("## Columns")[0]
    names = {"t": t, "r": t.reconcile("2026-10")}
    results = []
    for code in re.findall(r"```python\n(.*?)```", tasks, re.DOTALL):
        *first, last = ast.parse(code).body
        exec(compile(ast.Module(first, []), "page", "exec"), names)
        assert isinstance(last, ast.Expr)
        results.append(eval(compile(ast.Expression(last.value), "page", "eval"), names))
    joined, by_week, matched = results
    assert len(joined) == 29
    assert by_week.sum() > 0
    assert matched.df["outcome"].tolist() == ["matched"]


@pytest.mark.acceptance
def test_papermill_runs_the_notebook_as_written_on_the_page(
    t: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("papermill")
    page = (MONTHLY.parents[1] / "docs" / "dataframes.md").read_text("utf-8")
    code = page.partition("## A notebook for each month")[2].split("```")[1]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notebooks").symlink_to(MONTHLY.parent)
    exec(code.removeprefix("python\n"), {"t": t})
    done = (tmp_path / "october.ipynb").read_text("utf-8")
    assert "requests of all months, as of 2 Nov 2026 09:00 CET" in done
    assert "matched credits" in done


JOBS = (
    test_credits_of_one_payer_above_an_amount,
    test_lines_are_joined_to_their_requests_with_the_days_between,
    test_a_chart_of_the_fee_trend,
    test_wires_that_wait_for_days_as_frame_and_workbook,
    test_credits_by_virtual_account_and_week,
    test_duplicates_are_listed,
    test_an_own_frame_is_matched,
    test_the_monthly_notebook_is_run_by_papermill,
    test_lines_are_exported_as_csv,
    test_a_chart_of_the_age_of_open_items,
)


def test_each_of_the_ten_jobs_has_at_most_five_lines() -> None:
    sources = {job.__name__: inspect.getsource(job).rstrip() for job in JOBS}
    lines = {
        name: source.partition("-> None:\n")[2].count("\n") + 1 for name, source in sources.items()
    }
    assert len(lines) == 10
    assert {name: count for name, count in lines.items() if count > 5} == {}


def test_key_columns_are_first_and_ids_last_in_answers_and_views(t: Workspace) -> None:
    columns = t.reconcile("2026-10").lines.columns
    assert columns[:3] == ["booking_date", "direction", "amount"]
    assert columns[-1] == "runner_up_id"
    assert t.sql("SELECT * FROM bank_lines", month="2026-10").columns == columns


def test_a_chart_accepts_an_answer_or_its_frame(t: Workspace) -> None:
    r = t.reconcile("2026-10")
    of_answer, of_frame = plots.cash(r), plots.cash(r.lines.df, "2026-10")
    assert repr(of_answer) == repr(of_frame)


def test_an_error_is_one_line_in_a_notebook(t: Workspace) -> None:
    with pytest.raises(TreasuryError) as caught:
        t.reconcile("2026-13")
    assert len(caught.value._render_traceback_()) == 1


def test_a_workspace_is_opened_by_the_text_of_its_path(t: Workspace) -> None:
    assert str(Workspace(str(t.folder))) == str(t)


def test_every_exported_name_exists() -> None:
    for name in treasury.__all__:
        assert getattr(treasury, name) is not None, name
    assert treasury.codes()["outcome"]["suggested"]


@pytest.mark.acceptance
def test_a_query_joins_the_answers_of_a_month_to_stored_tables(t: Workspace) -> None:
    items = t.sql("SELECT item_id, signed_amount FROM open_items", month="2026-10")
    assert len(items) == len(t.open_items("2026-10"))
    lines = t.sql("SELECT count(*) AS n FROM bank_lines WHERE direction = 'in'", month="2026-10")
    assert lines.df["n"][0] == len(t.reconcile("2026-10").lines.where(direction="in"))
    both = t.sql(
        "SELECT a.reference FROM awaiting_funds a JOIN ramp_requests q ON a.request_id = q.id"
    )
    assert len(both) == len(t.awaiting_funds())
    assert len(t.sql("SELECT * FROM wallet_balances")) > 0


def test_the_balances_of_a_result_are_those_of_the_query(t: Workspace) -> None:
    balances = t.reconcile("2026-10").balances
    queried = t.sql("SELECT * FROM balances", month="2026-10")
    assert balances.columns == queried.columns
    assert balances.df["closing"].tolist() == queried.df["closing"].tolist()
    assert balances.where(kind="bank").df["closing"].sum() > 0


def test_two_sums_are_subtracted_exactly(t: Workspace) -> None:
    lines = t.reconcile("2026-10").lines
    sums = lines.df.groupby(["direction", "currency"])["amount"].sum()
    incoming, outgoing = sums["in"], sums["out"]
    net = pd.concat([incoming, -outgoing]).groupby(level=0).sum()
    assert net.equals(lines.df.groupby("currency")["signed_amount"].sum().rename("amount"))


def test_a_join_with_all_columns_is_shown_and_converted(t: Workspace) -> None:
    both = t.sql(
        "SELECT * FROM fee_requests f JOIN bank_lines b ON f.request_id = b.expectation_id",
        month="2026-10",
    )
    assert {"reference", "reference_1"} <= set(both.columns)
    assert "reference_1" in repr(both)
    assert both.df.columns.is_unique


def test_a_filter_for_a_value_that_is_not_a_code_is_an_error(t: Workspace) -> None:
    lines = t.reconcile("2026-10").lines
    with pytest.raises(TableError, match="no value 'incoming' - this table has in, out"):
        lines.where(direction=["in", "incoming"])
    with pytest.raises(TableError, match="no value 'sugested'; is it suggested"):
        t.open_items("2026-10").table.where(kind="sugested")
    with pytest.raises(TableError, match="kind has no value 'suggested'; is it outcome='suggested'"):
        lines.where(kind="suggested")
    # A code that no row has selects no row.
    returned = lines.where(outcome="matched").where(outcome="returned")
    assert len(returned) == len(lines.where(counterparty_name="Nobody BV")) == 0


@pytest.mark.acceptance
def test_a_code_is_the_word_on_screen_and_the_stored_code_selects_the_same_rows(
    t: Workspace,
) -> None:
    lines, items = t.reconcile("2026-10").lines, t.open_items("2026-10").table
    words = treasury.codes()
    assert set(items["kind"]) | set(items["turn"]) <= set(words["kind"]) | set(words["turn"])
    assert not {"needs_decision", "NEEDS DECISION"} & {*items["kind"], *items["state"]}
    for table, same in (
        (items, [{"kind": "suggested"}, {"kind": "needs_decision"}, {"kind": "Suggested"}]),
        (items, [{"state": "SUGGESTED"}, {"state": "NEEDS DECISION"}]),
        (items, [{"turn": "us"}, {"turn": "yours"}]),
        (lines, [{"outcome": "other_business"}, {"outcome": ["Other business"]}]),
        (lines, [{"direction": "in"}, {"direction": "CRDT"}]),
    ):
        first, *others = (table.where(**condition) for condition in same)
        assert len(first)
        assert all(each.arrow.equals(first.arrow) for each in others)
    assert len(lines.where(outcome="ignored")) == 0
    classed = lines.where("outcome = 'other_business'")
    assert classed.arrow.equals(lines.where("line_class IS NOT NULL").arrow)
    assert set(classed.arrow["outcome"].to_pylist()) == {"ignored"}
    query = "SELECT outcome FROM bank_lines WHERE outcome = 'other_business'"
    assert len(t.sql(query, month="2026-10")) == len(classed)


def test_a_query_shows_the_currency_of_a_column_that_a_table_declares(t: Workspace) -> None:
    query = "SELECT name, currency, closing, closing * 2 AS twice FROM balances"
    balances = t.sql(query, month="2026-10")
    assert balances.units == {"closing": "currency"}
    assert "EUR 251,686.06" in str(balances)
    assert t.sql("SELECT name, closing FROM balances", month="2026-10").units == {}
    joined = t.sql(
        "SELECT b.currency, r.amount, b.signed_amount FROM bank_lines b"
        " JOIN ramp_requests r ON r.id = b.expectation_id",
        month="2026-10",
    )
    # A request's coins are not in the currency of its bank line.
    assert joined.units == {"signed_amount": "currency"}
    assert t.table("ramp_requests").units["fiat_amount"] == "fiat_currency"


@pytest.mark.acceptance
def test_instants_of_every_answer_are_in_the_reporting_zone(t: Workspace) -> None:
    r, zone = t.reconcile("2026-10"), "Europe/Brussels"
    trace = t.trace(r.awaiting_funds.df["reference"][0])
    columns = [
        r.lines["decided_at"],
        r.conversions["opened_at"],
        t.fees("2026-10").df["completed_at"],
        t.awaiting_funds()["approved"],
        trace.df["at"],
    ]
    assert {str(column.dt.tz) for column in columns} == {zone}


def test_an_answer_is_converted_to_polars_as_its_main_table(t: Workspace) -> None:
    items = t.open_items("2026-10").select(turn="us")
    assert polars.DataFrame(items).equals(items.table.pl)


def test_a_request_names_who_approved_it(t: Workspace) -> None:
    approved = t.sql("SELECT username FROM ramp_request_events WHERE event_type = 'APPROVED'")
    assert set(approved["username"]) == {"checker"}


def test_the_dictionary_names_the_values_that_lines_have(t: Workspace) -> None:
    meanings = t.tables("bank_lines").df.set_index("column")["meaning"]
    outcomes = set(t.reconcile("2026-10").lines["outcome"])
    assert outcomes <= set(meanings["outcome"].replace(",", " ").replace(";", " ").split())
    assert "other_business" in outcomes


def test_missing_columns_of_own_lines_are_explained_with_a_row() -> None:
    frame = pd.DataFrame({"amount": [100.1], "description": ["PAY-2026-004417"]})
    with pytest.raises(TableError, match=r'direction="CRDT".*one of .*remittance'):
        match_references(frame, frame)
