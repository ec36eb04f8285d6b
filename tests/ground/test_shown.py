"""How answers show themselves where nobody formats them: in a notebook, in pandas, in a list."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from treasury.actions import Action
from treasury.actions.action_list import ActionList
from treasury.tables.tabular import exact_pandas
from treasury.text import Screen
from treasury.workspace import Workspace, find_workspace


def test_a_screen_is_shown_line_by_line_and_is_a_text() -> None:
    screen = Screen("one\ntwo")
    assert repr(screen) == "one\ntwo"
    assert screen.splitlines() == ["one", "two"]


def test_pandas_shows_the_digits_that_say_something_and_loses_none() -> None:
    given = ["14000", "0.1", "-1.5", "26865.995017", "0.000000000000000001", None]
    kept = [None if one is None else Decimal(one) for one in given]
    table = pa.table({"amount": pa.array(kept, pa.decimal128(38, 18))})
    shown = list(exact_pandas(table)["amount"])
    assert shown == kept
    assert [str(one) for one in shown[:4]] == ["14000.00", "0.10", "-1.50", "26865.995017"]
    assert str(shown[4]) == "1E-18"


def test_no_action_is_said_to_be_none_and_several_are_a_line_each(month_end: Workspace) -> None:
    assert repr(ActionList()) == "no action"
    found = month_end.actions.list()
    assert isinstance(found, tuple)
    assert repr(found) == "no action"


def test_actions_are_a_table_in_a_notebook() -> None:
    class Proposer:
        name = "ines"

    class One:
        id, state, text, proposed_by, people = "A-1", "proposed", "Pay <b>", Proposer, ("ines",)

    one: Action = One()  # type: ignore[assignment]
    assert repr(ActionList([one])) == "A-1  proposed  Pay <b>"
    assert "Pay &lt;b&gt;" in ActionList([one])._repr_html_()


def test_a_new_workspace_is_the_projects_and_not_the_notebooks_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TREASURY_WORKSPACE", raising=False)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "notebooks").mkdir()
    assert find_workspace(tmp_path / "notebooks") == tmp_path / "data" / "workspace"
