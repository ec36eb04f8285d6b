"""Bank statements: files of any bank in, proved movements in the lake out.

`read_statements` reads without storing, `add_statements` stores, `coverage` says how far the stored
ones reach.
"""

from treasury.statements.add import AddedStatement, AddReport, add_statements
from treasury.statements.coverage import COVERAGE, coverage
from treasury.statements.read import Reading, StatementFile, read_file, read_statements
from treasury.statements.rows import Problem
from treasury.statements.tables import STATEMENT_ENTRIES, STATEMENTS, TABLES

__all__ = [
    "COVERAGE",
    "STATEMENTS",
    "STATEMENT_ENTRIES",
    "TABLES",
    "AddReport",
    "AddedStatement",
    "Problem",
    "Reading",
    "StatementFile",
    "add_statements",
    "coverage",
    "read_file",
    "read_statements",
]
