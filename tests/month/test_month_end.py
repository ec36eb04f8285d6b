"""The practice company's months compared with the sandbox's truth, which only tests read."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from filled import fill

from treasury import Workspace
from treasury.core.errors import InputError, NothingStored
from treasury.matching.reference_matching import OUTCOMES
from treasury.month.reconciliation import STEPS, Reconciliation
from treasury.sandbox import Sandbox


def with_truth(
    workspace: Workspace, company: Sandbox, result: Reconciliation
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return each line of the month with its truth."""
    truth = {(row["account"], row["account_servicer_reference"]): row for row in company.truth()}
    entries = workspace.sql(
        "SELECT entry_id, account, account_servicer_reference FROM statement_entries"
    )
    keys = {
        row["entry_id"]: (row["account"], row["account_servicer_reference"])
        for row in entries.arrow.to_pylist()
    }
    return [(line, truth[keys[line["entry_id"]]]) for line in result.lines.arrow.to_pylist()]


def is_clean(truth: dict[str, Any]) -> bool:
    """Return whether a line has an intact code and no contradiction, return, duplicate or class."""
    spoiled = (
        truth["contradiction"] or truth["returned"] or truth["duplicate"] or truth["line_class"]
    )
    return truth["unbroken"] and not spoiled


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "seed", [7, *(pytest.param(seed, marks=pytest.mark.acceptance) for seed in (8, 9))]
)
def test_matches_stay_below_their_ceiling_and_enough_are_found(seed: int, tmp_path: Path) -> None:
    company = Sandbox(seed)
    workspace = fill(tmp_path, company)
    pairs = [
        pair
        for month in ("2026-09", "2026-10")
        for pair in with_truth(workspace, company, workspace.reconcile(month))
    ]
    assert len(pairs) > 400
    for line, truth in pairs:
        if line["outcome"] == "matched":
            assert truth["ceiling"] == "auto", (line, truth)
            assert line["expectation_id"] == truth["expectation"]["id"], (line, truth)
        assert line["outcome"] == "matched" or not is_clean(truth), (line, truth)
    auto = [line for line, truth in pairs if truth["ceiling"] == "auto"]
    assert sum(line["outcome"] == "matched" for line in auto) >= 0.95 * len(auto)
    findable = [(x, y) for x, y in pairs if y["ceiling"] != "never" and y["expectation"]]
    wrong = [pair for pair in findable if pair[0]["expectation_id"] != pair[1]["expectation"]["id"]]
    assert len(wrong) <= 0.01 * len(findable), wrong


def test_every_special_line_has_its_outcome(month_end: Workspace, company: Sandbox) -> None:
    for line, truth in with_truth(month_end, company, month_end.reconcile("2026-10")):
        if truth["line_class"]:
            assert line["line_class"], (line, truth)
        elif truth["returned"]:
            assert line["outcome"] == "returned", (line, truth)
        elif truth["duplicate"]:
            assert line["outcome"] == "duplicate", (line, truth)
        elif truth["contradiction"]:
            assert line["outcome"] == "conflict", (line, truth)
            assert truth["contradiction"].replace("two_codes", "different codes") in line["reason"]
        elif truth["ceiling"] != "auto":
            assert line["outcome"] in {"suggested", "unreferenced"}, (line, truth)


def test_lines_are_conserved_and_sums_tie_to_the_statements(month_end: Workspace) -> None:
    result = month_end.reconcile("2026-10")
    assert set(result.lines.arrow["outcome"].to_pylist()) <= set(OUTCOMES)
    assert sum(result.counts().values()) == len(result.lines)
    lines = Counter()
    for line in result.lines.arrow.to_pylist():
        lines[line["statement_account"], line["direction"]] += line["amount"]
    statements = month_end.sql(
        "SELECT account, credit_total, debit_total FROM statements"
        " WHERE closing_date = '2026-10-31'"
    ).arrow.to_pylist()
    assert len(statements) == 3
    for row in statements:
        assert lines[row["account"], "CRDT"] == row["credit_total"]
        assert lines[row["account"], "DBIT"] == row["debit_total"]


@pytest.mark.acceptance
def test_each_accounts_balances_tie_with_its_lines(month_end: Workspace) -> None:
    for month in ("2026-05", "2026-09", "2026-10"):
        result = month_end.reconcile(month)
        for row in result.statements.arrow.to_pylist():
            moved = sum(
                line["amount"] if line["direction"] == "CRDT" else -line["amount"]
                for line in result.lines.arrow.to_pylist()
                if line["statement_account"] == row["account"]
            )
            assert row["complete"]
            assert row["opening_balance"] + moved == row["closing_balance"]


def test_no_reason_that_a_person_reads_names_a_line_by_our_id(month_end: Workspace) -> None:
    result = month_end.reconcile("2026-10")
    tables = (result.lines, result.matches.lines, result.matches.candidates)
    reasons = {reason for table in tables for reason in table.arrow["reason"].to_pylist()}
    back = [reason for reason in reasons if "brings back the payment of 2026-" in reason]
    assert back
    ids = set(result.matches.lines.arrow["entry_id"].to_pylist())
    for reason in reasons:
        assert ids.isdisjoint(re.split(r"[\s:;,]+", reason)), reason


def test_requests_that_await_funds_have_their_true_states(
    month_end: Workspace, company: Sandbox
) -> None:
    states = {
        row["reference"]: row["state"] for row in month_end.awaiting_funds().arrow.to_pylist()
    }
    expected = {row["payment_reference"]: row["state"] for row in company.truth_requests()}
    assert states == expected


@pytest.mark.acceptance
def test_pay_is_not_shown_while_october_statements_are_missing(
    company: Sandbox, tmp_path: Path
) -> None:
    folder = tmp_path / "desk"
    with company.serve() as served, pytest.MonkeyPatch.context() as patch:
        from treasury.cli.commands.practice import prepare

        workspace = prepare(folder, company, served)
        patch.setenv("TREASURY_MAKER_SECRET", company.credentials["maker"][1])
        workspace.sync()
        workspace.close_clients()
    early = [path for path in (folder / "bank").glob("*.xml") if "2026-10" not in path.name]
    workspace.statements.add(early)
    rows = workspace.awaiting_funds().arrow.to_pylist()
    assert not [row for row in rows if row["state"] == "PAY"]
    checks = [row for row in rows if row["state"] == "CHECK BANK"]
    assert checks
    assert all("after 30 Sep; do not pay twice" in row["next_step"] for row in checks)


@pytest.mark.acceptance
def test_without_a_provider_report_credits_read_not_provable(
    month_end: Workspace, month_end_unreported: Workspace
) -> None:
    assert month_end.reconcile("2026-10").provable
    result = month_end_unreported.reconcile("2026-10")
    assert not result.provable
    assert set(result.virtual_accounts.arrow["proof"].to_pylist()) == {
        "NOT PROVABLE: no provider report"
    }
    assert set(result.virtual_accounts.arrow["amount"].to_pylist()) == {Decimal(0)}


def test_fees_are_those_of_the_requests_completed_in_the_month(month_end: Workspace) -> None:
    result = month_end.reconcile("2026-10")
    for row in result.fee_requests.arrow.to_pylist():
        assert row["fiat_gross"] - row["fee"] == row["fiat_net"]
        assert row["completed_on"].month == 10
        assert row["tier"].startswith(row["ramp_type"].lower().replace("_", "-"))
    per_request = sum(row["fee"] for row in result.fee_requests.arrow.to_pylist())
    assert per_request == sum(row["fee"] for row in result.fee_totals.arrow.to_pylist())


def test_the_same_question_has_the_same_answer(month_end: Workspace) -> None:
    first, second = month_end.reconcile("2026-10"), month_end.reconcile("2026-10")
    for name in ("lines", "awaiting_funds", "in_transit", "fee_requests", "virtual_accounts"):
        assert getattr(first, name).arrow.equals(getattr(second, name).arrow)


def test_a_month_without_stored_records_is_an_error_that_names_the_stored_months(
    month_end: Workspace,
) -> None:
    with pytest.raises(NothingStored, match="from 2026-05-05 to 2026-10-30"):
        month_end.reconcile("2026-01")
    with pytest.raises(InputError, match="has not begun"):
        month_end.reconcile("2026-12")
    with pytest.raises(InputError, match="not a month"):
        month_end.reconcile("October")


@pytest.mark.acceptance
def test_a_class_rule_never_hides_a_line_with_a_whole_reference(
    company: Sandbox, tmp_path: Path
) -> None:
    workspace = fill(tmp_path, company)
    (tmp_path / "rules.toml").write_text(
        '[[classes]]\nname = "everything"\nline_class = "other_business"\nremittance = ".*"\n'
    )
    result = workspace.reconcile("2026-10")
    for line, truth in with_truth(workspace, company, result):
        assert line["outcome"] == "matched" or not is_clean(truth)


@pytest.mark.acceptance
def test_a_class_rule_compares_the_account_and_the_start_of_the_code(
    company: Sandbox, tmp_path: Path
) -> None:
    """Account numbers may have spaces and lower case; codes are compared from their start."""
    workspace = fill(tmp_path, company)
    own = next(
        account.account for account in workspace.settings.accounts if account.source == "own_bank"
    )
    spaced = " ".join((own[:4], own[4:])).lower()
    (tmp_path / "rules.toml").write_text(
        f'[[classes]]\nname = "not there"\nline_class = "bank_charge"\naccount = "{spaced}"\n'
        'bank_transaction_code = "XXXX|ESCT"\n'
        f'[[classes]]\nname = "loose"\nline_class = "other_business"\naccount = "{spaced}"\n'
        'bank_transaction_code = "XXXX|PMNT"\n'
    )
    classed = {row["rule_name"] for row in workspace.reconcile("2026-10").lines.arrow.to_pylist()}
    assert "loose" in classed
    assert "not there" not in classed


@pytest.mark.acceptance
def test_every_step_can_be_read_and_none_computes_in_floating_point(
    month_end: Workspace,
) -> None:
    from treasury.month.reconciliation import run_on_question

    result = month_end.reconcile("2026-10")
    assert result.sql("funding").startswith("WITH")
    with run_on_question(month_end.snapshot(), month_end.question("2026-10"), None) as steps_run:
        connection = steps_run.connection
        for step in STEPS:
            kinds = {str(kind) for kind in connection.table(step.name).types}
            assert not kinds & {"DOUBLE", "FLOAT"}, step.name
        composed = connection.sql(result.sql("month_lines")).to_arrow_table()
    assert composed.sort_by("entry_id").equals(result.lines.arrow.sort_by("entry_id"))


def test_an_earlier_instant_is_answered_from_the_knowledge_of_that_time(
    month_end: Workspace,
) -> None:
    before_anything = month_end.at("2026-11-01T00:00Z")
    with pytest.raises(NothingStored, match="not known: the services were never read"):
        before_anything.awaiting_funds()
    with pytest.raises(InputError, match="cannot sync"):
        before_anything.sync()


@pytest.mark.acceptance
def test_a_waiting_request_has_the_age_of_its_open_item(month_end: Workspace) -> None:
    items = month_end.open_items("2026-10").table.df.set_index("request_id")["age"]
    tables = month_end.awaiting_funds(), month_end.reconcile("2026-10").awaiting_funds
    for table in tables:
        ages = [
            (row["request_id"], row["age"]) for row in table if row["request_id"] in items.index
        ]
        assert ages == [(request, items[request]) for request, _ in ages]
        assert any(age and not row["overdue"] for (_, age), row in zip(ages, table, strict=False))
    assert "age" not in tables[1].arrow.column_names


def test_a_table_of_current_states_names_its_instant(month_end: Workspace) -> None:
    r = month_end.reconcile("2026-10")
    assert "began by 31 Oct 2026; state, stage and age as of 2 Nov 2026 09:00 CET" in str(
        r.differences
    )
    assert "requests of all months, as of 2 Nov 2026 09:00 CET" in str(r.awaiting_funds)
    waiting = month_end.awaiting_funds()
    assert "PAY-2026-005358" in str(waiting)
    pay = waiting.where(state=["PAY", "SEND CRYPTO", "RETURNED"]).df
    sums = pay.groupby("currency")["amount"].sum()
    euros, coins = (f"{sums[name]:,.{places}f}" for name, places in (("EUR", 2), ("USDC", 6)))
    again = pay[pay["state"] == "RETURNED"]["amount"].sum()
    words = (
        f"EUR {euros} · USDC {coins}; of this again, after a return or rejection: EUR {again:,.2f}"
    )
    assert f"in all to pay now: {words}" in str(waiting)
    items = month_end.open_items("2026-10")
    for table in (items.table, items.select(turn="us").table.head(3)):
        assert "state and age as of 2 Nov 2026" in table._repr_html_()


def test_credits_of_a_virtual_account_are_counted_whether_or_not_matched(
    month_end: Workspace,
) -> None:
    lines = month_end.reconcile("2026-10").lines.where(direction="in").df
    for row in month_end.reconcile("2026-10").virtual_accounts:
        own = lines[lines["account"] == row["iban"]]
        matched = own[own["outcome"] == "matched"]
        assert (row["credits"], row["amount"]) == (len(own), own["amount"].sum())
        assert (row["matched_credits"], row["matched_amount"]) == (
            len(matched), matched["amount"].sum(),
        )  # fmt: skip


def test_a_month_that_is_not_complete_names_the_sources_that_are_not_read(
    month_end: Workspace,
) -> None:
    assert "not read" not in repr(month_end.reconcile("2026-10"))
    r = month_end.reconcile("2026-11")
    for text in (repr(r), str(r), r._repr_html_()):
        assert "ot read: EUR operating account from 2 Nov, " in text
        assert "the services after 2 Nov" in text
