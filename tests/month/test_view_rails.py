"""References of deposit rails: a wire may carry one instead of its virtual account's code."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from filled import fill

from treasury.extract.finance_tables import VIRTUAL_BANK_ACCOUNTS
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance

VIRTUAL = VIRTUAL_BANK_ACCOUNTS.table


def matched(workspace: Workspace) -> set[tuple[str, str]]:
    """Return October's lines that are assigned to a virtual account, each with the account."""
    rows = workspace.sql("SELECT id FROM virtual_bank_accounts").arrow.to_pylist()
    ids = {row["id"] for row in rows}
    lines = workspace.reconcile("2026-10").lines.arrow.to_pylist()
    pairs = [(row["entry_id"], str(row["expectation_id"]).partition("/")[0]) for row in lines]
    return {pair for pair in pairs if pair[1] in ids}


def test_a_rails_reference_is_as_good_as_the_accounts_own(tmp_path: Path) -> None:
    workspace = fill(tmp_path / "desk", Sandbox(7))
    before = matched(workspace)
    accounts = workspace.reconcile("2026-10").virtual_accounts.arrow.to_pylist()
    traced = workspace.sql(
        "SELECT reference_code AS code FROM virtual_bank_accounts"
    ).arrow.to_pylist()
    columns = VIRTUAL.row_schema.names
    rows = workspace.table("virtual_bank_accounts").arrow.select(columns).to_pylist()
    for row in rows:
        row["rail_references"], row["reference_code"] = [row["reference_code"], "WIRE-000-77"], None
    with workspace.lake.writer("sync", workspace.settings.now() + timedelta(hours=1)) as writer:
        writer.upsert(VIRTUAL, pa.Table.from_pylist(rows, schema=VIRTUAL.row_schema))
    assert matched(workspace) == before != set()
    again = workspace.reconcile("2026-10").virtual_accounts.arrow.to_pylist()
    assert [(row["credits"], row["amount"]) for row in again] == [
        (row["credits"], row["amount"]) for row in accounts
    ]
    assert "to choose from" in repr(workspace.trace(traced[0]["code"]))
