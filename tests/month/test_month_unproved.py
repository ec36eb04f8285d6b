"""Statements with balances that do not fit their lines, and statements without balances."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_desk import OWN, camt, desk, entry
from click.testing import CliRunner, Result

from treasury.cli import treasury
from treasury.month.reconciliation import step_sql
from treasury.statements.balance_proof import WITHOUT_BALANCES
from treasury.workspace import Workspace


def add(workspace: Workspace, *files: Path) -> Result:
    arguments = ["-w", str(workspace.folder), "statements", "add", *map(str, files)]
    return CliRunner().invoke(treasury, arguments, catch_exceptions=False)


@pytest.mark.acceptance
def test_adding_a_statement_with_a_failed_proof_exits_1_and_names_the_fix(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    addition = add(workspace, camt(tmp_path, entry("7.00"), closing="108.00"))
    assert addition.exit_code == 1
    assert "NOT PROVED october.xml: opening EUR 100.00" in addition.stdout
    assert "1 not proved, so not matched automatically" in addition.stdout
    (item,) = workspace.open_items("2026-10").select(kind="statement_missing")
    assert item.state == "NOT PROVED"
    right = camt(tmp_path, entry("7.00"), closing="107.00")
    assert add(workspace, right).exit_code == 0


@pytest.mark.acceptance
def test_an_account_without_balances_reads_not_provable_and_adding_it_succeeds(
    tmp_path: Path,
) -> None:
    workspace = desk(tmp_path / "desk")
    file = camt(tmp_path, entry("7.00"))
    text = file.read_text("utf-8")
    start, end = text.index("<Bal>"), text.rindex("</Bal>") + len("</Bal>")
    file.write_text(text[:start] + text[end:], "utf-8")
    addition = add(workspace, file)
    assert addition.exit_code == 0
    assert "NOT PROVABLE october.xml: no balances" in addition.stdout
    (item,) = workspace.open_items("2026-10").select(kind="statement_missing")
    assert item.state == "NOT PROVABLE"
    assert item.next_step.startswith(
        "october.xml: no balances: its lines are matched but prove no balance"
    )


def test_a_file_without_balances_leaves_a_month_of_proved_statements_complete(
    tmp_path: Path,
) -> None:
    workspace = desk(tmp_path / "desk")
    bare = camt(tmp_path, entry("7.00"), name="bare.xml")
    text = bare.read_text("utf-8")
    start, end = text.index("<Bal>"), text.rindex("</Bal>") + len("</Bal>")
    bare.write_text(text[:start] + text[end:], "utf-8")
    add(workspace, bare, camt(tmp_path, entry("7.00"), closing="107.00"))
    (row,) = workspace.reconcile("2026-10").statements.arrow.to_pylist()
    assert (row["account"], row["complete"], row["problem"]) == (OWN, True, None)


def test_the_words_of_a_proof_without_balances_are_those_that_the_model_reads() -> None:
    assert WITHOUT_BALANCES in step_sql("counted_statements")
