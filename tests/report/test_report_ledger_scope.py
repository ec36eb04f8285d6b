"""An account is taken out of the comparison with the books by two people, with a reason."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pytest
from report_samples import OWN, ZONE, account, line, reconciliation

from treasury.actions.policies.policy import load_policy
from treasury.close.closing import Closing, Rolled, closing_of
from treasury.close.ledger.ledger_scope import SCOPE, LedgerScope
from treasury.close.ledger.provided_ledger import LedgerFile
from treasury.close.review.controls import controls_of, journaled_acts
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError, SettingsError
from treasury.core.tables.table import Table
from treasury.journal import Actor, Journal
from treasury.report.sections import sections

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
POLICY = f'[out_of_scope]\n"{OWN[:4]} {OWN[4:]}" = "kept by the parent"\n'
LEDGER = f"account;currency;balance\n{OWN};EUR;1,00\n"


@pytest.fixture
def scope(tmp_path: Path) -> LedgerScope:
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    return LedgerScope(Journal(tmp_path), lambda: load_policy(tmp_path), zone=ZONE)


def closed_with(scope: pa.Table) -> Closing:
    digest = hashlib.sha256(LEDGER.encode()).hexdigest()
    ledger = LedgerFile(file_name="ledger.csv", content=LEDGER, sha256=digest)
    r = reconciliation(lines=[line()], statements=[account()])
    return closing_of(r, ZONE, Rolled(scope=Table(scope)), ledger=ledger)


def test_an_account_is_out_of_scope_once_a_second_person_agrees(
    scope: LedgerScope, tmp_path: Path
) -> None:
    journal = Journal(tmp_path)
    with pytest.raises(InputError, match="needs a reason"):
        scope.propose("", actor=ANNA)
    (waiting,) = scope.propose("group policy", actor=ANNA).arrow.to_pylist()
    assert (waiting["account"], waiting["standing"]) == (OWN, "waits for a second person")
    assert LedgerScope.in_force(journal.entries()).num_rows == 0
    with pytest.raises(ActionRefused, match="anna proposed these accounts and cannot accept"):
        scope.accept(actor=ANNA)
    scope.accept(actor=BERT)
    (row,) = LedgerScope.in_force(journal.entries()).to_pylist()
    assert (row["reason"], row["proposed_by"], row["accepted_by"]) == (
        "kept by the parent", "anna", "bert",
    )  # fmt: skip
    acts = journaled_acts(journal, Month.parse("2026-10"), seq=journal.head().seq)
    assert [act["kind"] for act in controls_of(acts, ZONE, 0).special()] == ["scope_changed"] * 2
    assert acts["reason"].to_pylist()[0] == f"group policy: {OWN}"
    (tmp_path / "policy.toml").write_text('[out_of_scope]\n"BE1" = ""\n', "utf-8")
    with pytest.raises(SettingsError, match="out_of_scope"):
        load_policy(tmp_path)


def test_an_account_out_of_scope_no_longer_blocks_and_the_report_says_who_agreed() -> None:
    before = closed_with(SCOPE.empty_table())
    (item,) = before.items.select(kind="ledger_difference")
    assert item.is_blocking
    assert before.ledger is not None
    assert not before.ledger.agrees
    agreed = {"account": OWN, "reason": "kept by the parent", "alone": False}
    rows = [agreed | {"proposed_by": "anna", "accepted_by": "bert"}]
    after = closed_with(pa.Table.from_pylist(rows, schema=SCOPE))
    assert not len(after.items.select(kind="ledger_difference"))
    assert after.ledger is not None
    words = "out of scope: kept by the parent, says anna and bert"
    assert after.ledger.lines.arrow["finding"].to_pylist() == [words]
    assert after.ledger.title.endswith("0 of 1 account compared, 0 to look at, 1 out of scope")
    cells = [
        cell.text
        for section in sections(after)
        if section.anchor == "accounts"
        for grid in section.grids
        for row in grid.rows
        for cell in row
    ]
    assert words in cells
