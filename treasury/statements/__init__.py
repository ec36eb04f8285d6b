"""Bank statements: files of any bank in, proved movements in the lake out.

`read_statements` reads files of any format without storing, `read_batches` one of any size, a piece
at a time; `check_statements` says what is not proved; `add_statements` stores; `coverage` says how
far the stored ones reach and what is missing; `propose_profile` describes an unknown bank's CSV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from treasury.loading import given_names
from treasury.statements.coverage import COVERAGE, coverage, stored_coverage
from treasury.statements.tables import STATEMENT_ENTRIES, STATEMENTS
from treasury.statements.tables import TABLES as STATEMENT_TABLES
from treasury.statements.wallets import WALLET_TABLES

if TYPE_CHECKING:
    from treasury.statements.add import AddedStatement, AddReport, add_statements
    from treasury.statements.check import CHECKS, check_statements
    from treasury.statements.confirm import confirm_balance
    from treasury.statements.files import StatementFile
    from treasury.statements.profiles import Profile, load_profiles, to_toml
    from treasury.statements.propose import Proposal, propose_profile, sketch_profile
    from treasury.statements.read import Reading, read_batches, read_file, read_statements
    from treasury.statements.rows import Problem
    from treasury.statements.withdraw import (
        StoredStatement,
        Withdrawal,
        find_statement,
        planned_withdrawal,
        withdraw_statement,
    )

TABLES = (*STATEMENT_TABLES, *WALLET_TABLES)
"""What people add to the lake: bank statements, and evidence of the company's own wallets."""

__all__ = [
    "CHECKS",
    "COVERAGE",
    "STATEMENTS",
    "STATEMENT_ENTRIES",
    "TABLES",
    "AddReport",
    "AddedStatement",
    "Problem",
    "Profile",
    "Proposal",
    "Reading",
    "StatementFile",
    "StoredStatement",
    "Withdrawal",
    "add_statements",
    "check_statements",
    "confirm_balance",
    "coverage",
    "find_statement",
    "load_profiles",
    "planned_withdrawal",
    "propose_profile",
    "read_batches",
    "read_file",
    "read_statements",
    "sketch_profile",
    "stored_coverage",
    "to_toml",
    "withdraw_statement",
]

__getattr__ = given_names(
    __name__,
    {
        "AddReport": "add",
        "AddedStatement": "add",
        "CHECKS": "check",
        "Problem": "rows",
        "Profile": "profiles",
        "Proposal": "propose",
        "Reading": "read",
        "StatementFile": "files",
        "StoredStatement": "withdraw",
        "Withdrawal": "withdraw",
        "add_statements": "add",
        "check_statements": "check",
        "confirm_balance": "confirm",
        "find_statement": "withdraw",
        "load_profiles": "profiles",
        "planned_withdrawal": "withdraw",
        "propose_profile": "propose",
        "read_batches": "read",
        "read_file": "read",
        "read_statements": "read",
        "sketch_profile": "propose",
        "to_toml": "profiles",
        "withdraw_statement": "withdraw",
    },
)
"""What reads files is loaded when it is asked for: most verbs read what is stored."""
