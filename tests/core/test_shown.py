"""How results display themselves: in a notebook, in pandas, in a list."""

from __future__ import annotations

import importlib
import pkgutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pytest

import treasury
from treasury.actions import Action
from treasury.actions.action_list import ActionList
from treasury.close.stored_answers import Answers
from treasury.core.errors import InputError
from treasury.core.nearest_names import Screen
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.rates.rate_files import read_rates
from treasury.workspace import Workspace, find_workspace


def test_a_screen_prints_line_by_line_and_is_a_string() -> None:
    screen = Screen("one\ntwo")
    assert repr(screen) == "one\ntwo"
    assert screen.splitlines() == ["one", "two"]


def test_pandas_loses_no_digit_of_an_amount() -> None:
    given = ["14000", "0.1", "-1.5", "26865.995017", "0.000000000000000001", None]
    kept = [None if one is None else Decimal(one) for one in given]
    table = Table(pa.table({"amount": pa.array(kept, pa.decimal128(38, 18))}))
    assert list(table["amount"].dropna()) == kept[:-1]
    assert table["amount"].sum() == sum(kept[:-1], Decimal(0))


def test_an_empty_action_list_prints_no_action(month_end: Workspace) -> None:
    assert repr(ActionList()) == "no action"
    found = month_end.actions.list()
    assert isinstance(found, tuple)
    assert repr(found) == "no action"


def test_actions_are_a_table_in_a_notebook() -> None:
    class Proposer:
        name = "ines"

    class One:
        id, state, text, proposed_by = "A-1", "ready", "Pay <b>", Proposer
        people = ("ines", "jonas")

    one: Action = One()  # type: ignore[assignment]
    shown = "A-1  ready  Pay <b>  (proposed by ines, approved by jonas)"
    assert repr(ActionList([one])) == shown
    html = ActionList([one])._repr_html_()
    assert "Pay &lt;b&gt;" in html
    assert html.count("padding:") == html.count("<th ") + html.count("<td ") == 10
    table = ActionList([one]).table.where(state="ready")
    assert list(table) == [
        {
            "id": "A-1",
            "state": "ready",
            "text": "Pay <b>",
            "proposed_by": "ines",
            "approved_by": "jonas",
        }
    ]
    assert ActionList().df.empty


def test_a_new_workspace_is_created_in_the_project_and_not_the_notebooks_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREASURY_WORKSPACE", raising=False)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "notebooks").mkdir()
    assert find_workspace(tmp_path / "notebooks") == tmp_path / "data" / "workspace"


NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
ZONE = ZoneInfo("Europe/Brussels")
HOSTILE = "ACME \x1b[2J\u202e"


def test_a_result_is_displayed_without_the_text_of_its_tables(month_end: Workspace) -> None:
    remarks = pa.table({"remark": [HOSTILE]})
    basis = msgspec.structs.replace(month_end.reconcile("2026-10").basis, remarks=remarks)
    assert "remarks=<1 rows>" in repr(basis)
    for shown in (repr(basis), str(basis), repr(Answers("1", {"lines": remarks}))):
        assert "ACME" not in shown
        assert shown.isprintable()


def test_no_struct_prints_its_arrow_tables() -> None:
    found = set()
    for module in pkgutil.walk_packages(treasury.__path__, "treasury."):
        if "sandbox" in module.name or "__main__" in module.name:
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
                continue
            hints = map(str, vars(kind).get("__annotations__", {}).values())
            if issubclass(kind, Tables) or "pa.Table" in " ".join(hints):
                found.add(kind)
    assert len(found) > 20
    raw = [kind for kind in found if kind.__repr__ is msgspec.Struct.__repr__]
    assert [kind.__name__ for kind in raw if not kind.__name__.startswith("_")] == []


def test_errors_and_rates_escape_control_characters(tmp_path: Path) -> None:
    error = InputError(f"{HOSTILE} is no file", do=f"look at {HOSTILE}\nand again")
    assert [line.isprintable() for line in str(error).splitlines()] == [True, True]
    path = tmp_path / f"{HOSTILE}.csv"
    path.write_text("day,base,quote,rate\n2026-10-30,USDC,EUR,0.9\n")
    with pytest.raises(InputError) as caught:
        read_rates(path.with_suffix(".none"), NOW, ZONE)
    assert str(caught.value).isprintable()
    (source,) = read_rates(path, NOW, ZONE).table()["source"].to_pylist()
    assert source.isprintable()


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ("reconcile", "10 of 414 rows"),
        ("fees", ".totals"),
        ("open_items", "next_step"),
        ("accounting", ".postings"),
        ("coins", ".coins"),
        ("exposure", ".totals"),
        ("transit_bridge", ".steps"),
        ("checklist", "Bank lines"),
    ],
)
def test_print_shows_the_tables_of_a_result(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch, result: str, shown: str
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = str(getattr(month_end, result)("2026-10"))
    assert shown in text
    assert len(text.splitlines()) > 5
    assert " object at 0x" not in text


@pytest.mark.parametrize(
    ("name", "verb"),
    [
        ("matches", "open"), ("funding", "list"), ("rules", "history"), ("items", "list"),
        ("limits", "list"), ("measurement", "list"), ("exposure_limits", "list"),
        ("periods", "late"), ("notices", "send"), ("actions", "list"), ("statements", "list"),
        ("wallets", "list"), ("rates", "list"),
    ],
)  # fmt: skip
def test_an_object_with_verbs_prints_them(month_end: Workspace, name: str, verb: str) -> None:
    assert repr(month_end).startswith("<treasury workspace ")
    text = repr(getattr(month_end, name))
    assert f" {verb}" in text
    assert "object at 0x" not in text


def test_the_dictionary_and_a_query_print_everything(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    columns = month_end.tables("bank_lines")
    for shown in (str(columns), columns._repr_html_()):
        assert "29 rows" in shown
        assert all(name in shown.replace(" ", "_") for name in columns["column"])
    assert ".df has them all" not in str(month_end.tables())
    query = "SELECT entry_id, remittance, reason, amount, currency, account FROM bank_lines"
    head = [word for word in str(month_end.sql(query)).split() if word in query.split(", ")]
    assert "reason" in head
    assert "not shown" not in str(month_end.sql(query))
