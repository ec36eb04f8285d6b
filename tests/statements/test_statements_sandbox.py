"""The sandbox company's bank files, end to end: proved, complete, and added only once."""

from datetime import date
from pathlib import Path

import pytest
from camt_samples import rows

from treasury.core.settings import BankAccount
from treasury.lake import Lake
from treasury.sandbox import Sandbox
from treasury.statements import TABLES, add_statements, stored_coverage

pytestmark = pytest.mark.acceptance


def test_every_file_of_the_sandbox_is_proved_and_covers_its_month(tmp_path: Path) -> None:
    sandbox = Sandbox(seed=7)
    files = sandbox.write_bank_files(tmp_path)
    declared = {account: source for account, _, _, source in sandbox.bank_accounts}
    lake = Lake(tmp_path / "workspace", TABLES)

    report = add_statements(lake, files, sandbox.now, declared=declared)
    assert report.statements_new == len(files)
    assert (report.not_proved, report.problems, report.entries_known) == ((), (), 0)
    assert lake.snapshot().sql("SELECT 1 FROM statement_entries").num_rows == report.entries_new

    accounts = [BankAccount(account=one, source=source) for one, source in declared.items()]
    reach = stored_coverage(lake.snapshot(), accounts)
    assert rows(reach, "covered_to", "gaps") == [(date(2026, 10, 31), [])] * len(declared)

    again = add_statements(lake, reversed(files), sandbox.now, declared=declared)
    assert (again.statements_new, again.entries_new, again.entries_changed) == (0, 0, 0)
