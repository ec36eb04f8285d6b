"""Statements that must not count: the messages about them, and their withdrawal."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from case_desk import OWN, camt, desk, entry
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.core.errors import InputError, StatementError
from treasury.workspace import Workspace

CSV = """\
Posting date,Narrative,Paid out,Paid in,Balance
01/10/2026,Hello,,100.00,1100.00
30/10/2026,Bye,50.00,,1050.00
"""
PROFILE = """\
name = "some bank"
needs = ["Posting date", "Narrative", "Paid out", "Paid in"]
day_order = "dmy"
decimal = "."
{currency}
[columns]
booking_date = ["Posting date"]
debit = ["Paid out"]
credit = ["Paid in"]
balance = ["Balance"]
text = ["Narrative"]
"""


def profiled(workspace: Workspace, currency: str = "") -> None:
    """Write a bank profile for the sample CSV file."""
    folder = workspace.folder / "profiles"
    folder.mkdir(exist_ok=True)
    line = f'currency = "{currency}"\n' if currency else ""
    (folder / "some.toml").write_text(PROFILE.format(currency=line), "utf-8")


def csv(folder: Path, text: str = CSV) -> Path:
    path = folder / "bank.csv"
    path.write_text(text, "utf-8")
    return path


def account_row(workspace: Workspace, month: str = "2026-10") -> dict[str, Any]:
    (row,) = workspace.reconcile(month).statements.arrow.to_pylist()
    return row


def without_currency(workspace: Workspace, folder: Path) -> Path:
    """Store a statement before its account is declared, so that its currency is unknown."""
    settings = workspace.folder / "treasury.toml"
    declared = settings.read_text("utf-8")
    settings.write_text(declared.partition("[[accounts]]")[0], "utf-8")
    path = csv(folder)
    profiled(workspace)
    Workspace(workspace.folder).statements.add([path], account=OWN)
    settings.write_text(declared, "utf-8")
    return path


@pytest.mark.acceptance
def test_the_declared_currency_counts_if_a_file_states_none(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    profiled(workspace)
    report = workspace.statements.add([csv(tmp_path)], account=OWN)
    assert [
        (statement_row.currency, statement_row.proved) for statement_row in report.statements
    ] == [("EUR", True)]
    assert account_row(workspace)["closing_balance"] == Decimal(1050)


@pytest.mark.acceptance
def test_every_screen_works_after_a_profile_gains_a_currency(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    path = without_currency(workspace, tmp_path)
    profiled(workspace, "EUR")
    workspace = Workspace(workspace.folder)
    workspace.statements.add([path], account=OWN)
    (problem,) = workspace.open_items("2026-10").select(kind="statement_missing")
    assert "bank.csv: the statement names no currency" in problem.next_step
    assert "`treasury statements withdraw " in problem.next_step
    assert "STATEMENTS" in workspace.status("2026-10")
    statement = problem.next_step.partition("statements withdraw ")[2][:8]
    withdrawal = workspace.statements.withdraw(statement, reason="read without its currency")
    assert withdrawal.movements == 2
    assert account_row(workspace)["complete"]
    assert workspace.reconcile("2026-10").lines.arrow.num_rows == 2


@pytest.mark.acceptance
def test_a_withdrawal_is_journaled_with_its_reason_and_shown_on_adding_again(
    tmp_path: Path,
) -> None:
    workspace = desk(tmp_path / "desk")
    path = camt(tmp_path, entry("7.00"), closing="107.00")
    workspace.statements.add([path])
    workspace.statements.withdraw("october.xml", reason="of another company")
    (entry_,) = workspace.journal.entries("statement.")
    assert (entry_.body["reason"], entry_.body["file_name"]) == (
        "of another company",
        "october.xml",
    )
    assert workspace.statements.list().arrow.num_rows == 0
    report = workspace.statements.add([path])
    (problem,) = report.problems
    assert "(of another company); it counts again" in str(problem)
    assert workspace.statements.add([path]).problems == ()
    with pytest.raises(InputError, match="needs a reason"):
        workspace.statements.withdraw("october.xml", reason=" ")
    with pytest.raises(InputError, match="cannot withdraw a statement"):
        workspace.at("2026-11-01T09:00Z").statements.withdraw("october.xml", reason="x")


@pytest.mark.acceptance
def test_an_unknown_currency_on_a_multi_currency_account_names_the_statement(
    tmp_path: Path,
) -> None:
    workspace = desk(tmp_path / "desk")
    without_currency(workspace, tmp_path)
    settings = workspace.folder / "treasury.toml"
    text = settings.read_text("utf-8")
    block = text[text.index("[[accounts]]") :]
    settings.write_text(text + "\n" + block.replace('"EUR"', '"USD"'), "utf-8")
    workspace = Workspace(workspace.folder)
    with pytest.raises(StatementError, match=r"bank\.csv names no currency") as raised:
        workspace.reconcile("2026-10")
    statement = str(raised.value.do).partition("statements withdraw ")[2][:8]
    workspace.statements.withdraw(statement, reason="no currency")
    profiled(workspace, "USD")
    workspace.statements.add([tmp_path / "bank.csv"], account=OWN)
    rows = {
        row["currency"]: row for row in workspace.reconcile("2026-10").statements.arrow.to_pylist()
    }
    assert rows["USD"]["complete"]
    assert rows["USD"]["closing_balance"] == Decimal(1050)
    assert not rows["EUR"]["complete"]


@pytest.mark.acceptance
def test_a_statement_in_a_currency_that_is_not_declared_keeps_its_account_from_being_complete(
    tmp_path: Path,
) -> None:
    workspace = desk(tmp_path / "desk")
    dollars = camt(tmp_path, name="dollars.xml")
    dollars.write_text(dollars.read_text("utf-8").replace("EUR", "USD"), "utf-8")
    workspace.statements.add([camt(tmp_path, entry("7.00"), closing="107.00"), dollars])
    row = account_row(workspace)
    assert not row["complete"]
    assert row["problem"].startswith(f"dollars.xml: account {OWN} is declared in EUR, not in USD")
    assert row["closing_balance"] == Decimal(107)


@pytest.mark.acceptance
def test_a_decision_about_a_withdrawn_line_blocks_nothing(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    workspace.statements.add([camt(tmp_path, entry("7.00"), entry("1.00"), closing="108.00")])
    line = workspace.reconcile("2026-10").lines.arrow["entry_id"].to_pylist()[0]
    workspace.matches.ignore(line, reason="ours")
    workspace.statements.withdraw("october.xml", reason="wrong file")
    corrected = camt(tmp_path, entry("9.00"), closing="109.00", name="corrected.xml")
    workspace.statements.add([corrected])
    assert workspace.reconcile("2026-10").lines.arrow.num_rows == 1
    assert "BANK LINES" in workspace.status("2026-10")
    assert [row["entry_id"] for row in workspace.matches.list().arrow.to_pylist()] == [line]
    report = workspace.statements.add([tmp_path / "october.xml"])
    (problem_text,) = [
        problem.what for problem in report.problems if "counts again" in problem.what
    ]
    assert problem_text.endswith("it counts again, and so do the decisions on 1 of its lines")


@pytest.mark.acceptance
def test_dependents_of_a_statement_are_shown_before_its_withdrawal(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    workspace.statements.add([camt(tmp_path, entry("7.00"), entry("1.00"), closing="108.00")])
    line = workspace.reconcile("2026-10").lines.arrow["entry_id"].to_pylist()[0]
    workspace.matches.ignore(line, reason="ours")
    arguments = ["-w", str(workspace.folder), "statements", "withdraw", "october.xml"]
    planned = [*arguments, "--reason", "wrong file", "--dry-run"]
    printed = CliRunner().invoke(treasury, planned).stdout.splitlines()
    assert printed[0] == "bank lines now: 1 unreferenced + 1 ignored"
    assert printed[1] == "1 decision on them would lose their line"
    assert printed[2].startswith("would be withdrawn: october.xml ")
    assert printed[2].endswith("2 movements no longer count")
    assert workspace.journal.entries("statement.") == []
    assert workspace.reconcile("2026-10").lines.arrow.num_rows == 2
    invocation = CliRunner().invoke(treasury, [*arguments, "--reason", "wrong file"]).stdout
    assert invocation.splitlines()[:2] == printed[:2]
    assert "\nwithdrawn: october.xml " in invocation
    assert workspace.statements.list().arrow.num_rows == 0


def test_only_bank_lines_are_named_if_no_month_is_closed(month_end: Workspace) -> None:
    planned = month_end.statements.withdraw(
        "camt053_BE45539951876689_2026-10.xml", reason="x", dry_run=True
    )
    (sentence,) = month_end.rests_on(planned)
    assert sentence.startswith("bank lines now: ")


@pytest.mark.acceptance
def test_incomplete_statements_are_shown_as_not_known_instead_of_none(
    month_end: Workspace, tmp_path: Path
) -> None:
    workspace = Workspace(Path(shutil.copytree(month_end.folder, tmp_path / "desk")))
    for row in workspace.statements.list().arrow.to_pylist():
        if row["closing_date"].month == 10:
            workspace.statements.withdraw(row["statement_id"], reason="try")
    for command in ("reconcile", "status"):
        arguments = ["-w", str(workspace.folder), command, "2026-10"]
        printed = CliRunner().invoke(treasury, arguments).stdout
        assert "not known: the statements of the month are not complete" in printed, printed
        assert "none" not in printed
