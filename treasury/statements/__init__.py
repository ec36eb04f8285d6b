"""Bank statements: read the files of any bank, check their balances, store their movements.

`read_statements` reads files of any format without storing them, `read_batches` reads one large
file in batches, `check_statements` returns the proof or the failure of each statement,
`add_statements` stores them, `coverage` returns how far the stored statements reach and what is
missing, and `propose_profile` describes the CSV of an unknown bank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treasury.core.machine.loading import given_names
from treasury.statements.explorer.wallet_tables import WALLET_TABLES
from treasury.statements.pain.status_tables import STATUS_TABLES
from treasury.statements.statement_tables import STATEMENT_ENTRIES, STATEMENTS
from treasury.statements.statement_tables import TABLES as STATEMENT_TABLES
from treasury.statements.store.coverage import COVERAGE, coverage, stored_coverage

if TYPE_CHECKING:
    from treasury.statements.bank_file import StatementFile
    from treasury.statements.csv.profiles import Profile, load_profiles, to_toml
    from treasury.statements.entry_rows import Problem
    from treasury.statements.profile_proposal import Proposal, propose_profile, sketch_profile
    from treasury.statements.read_files import Reading, read_batches, read_file, read_statements
    from treasury.statements.store.add import AddedStatement, AddReport, add_statements
    from treasury.statements.store.check import CHECKS, check_statements
    from treasury.statements.store.confirmed_balance import confirm_balance
    from treasury.statements.store.withdraw import (
        StoredStatement,
        Withdrawal,
        find_statement,
        planned_withdrawal,
        withdraw_statement,
    )

TABLES = (*STATEMENT_TABLES, *STATUS_TABLES, *WALLET_TABLES)
"""Tables filled from files or by people: statements, bank answers, wallet evidence."""

__all__ = [
    "CHECKS", "COVERAGE", "STATEMENTS", "STATEMENT_ENTRIES", "TABLES", "AddReport",
    "AddedStatement", "Problem", "Profile", "Proposal", "Reading", "StatementFile",
    "StoredStatement", "Withdrawal", "add_statements", "check_statements", "confirm_balance",
    "coverage", "find_statement", "load_profiles", "planned_withdrawal", "propose_profile",
    "read_batches", "read_file", "read_statements", "sketch_profile", "stored_coverage", "to_toml",
    "withdraw_statement",
]  # fmt: skip

_MODULES = {
    "bank_file": "StatementFile",
    "profile_proposal": "Proposal propose_profile sketch_profile",
    "csv.profiles": "Profile load_profiles to_toml",
    "entry_rows": "Problem",
    "read_files": "Reading read_batches read_file read_statements",
    "store.add": "AddReport AddedStatement add_statements",
    "store.check": "CHECKS check_statements",
    "store.confirmed_balance": "confirm_balance",
    "store.withdraw": "StoredStatement Withdrawal find_statement planned_withdrawal"
    " withdraw_statement",
}
"""Modules imported on first use, because most calls only read stored tables."""

__getattr__ = given_names(
    __name__, {name: module for module, names in _MODULES.items() for name in names.split()}
)
