"""The tables that steps read about a question: the month and its days, the accounts, the rules."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa

from treasury.core.calendar import Month, is_target_day, next_target_day
from treasury.core.identifiers import plain_account
from treasury.core.settings import BankAccount
from treasury.core.tables.column_types import BOOL, INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema, table_of
from treasury.matching.reference_matching import rule_tables
from treasury.matching.rules import ClassRule, Rules, is_text_alone
from treasury.month.question import Question
from treasury.statements.statement_tables import BALANCE_CONFIRMATIONS, COUNTING, STATEMENTS
from treasury.statements.store.coverage import daily_sums, month_coverage


def question_terms(question: Question) -> dict[str, pa.Table]:
    """Return the accounts and rules of a question as tables; they do not depend on its month."""
    rules, accounts = question.rules, question.accounts
    return {
        "declared_accounts": table_of(
            [
                (plain_account(account.account), account.name, account.currency, account.source)
                for account in accounts
            ],
            grouped_schema((TEXT, "account", "name", "currency", "source")),
        ),
        "class_rules": class_rule_table(rules, accounts),
        **rule_tables(rules),
    }


def question_table(question: Question) -> pa.Table:
    """Return the question as a table of one row, which the steps read."""
    finished = question.today - timedelta(days=1)
    while not is_target_day(finished):
        finished -= timedelta(days=1)
    days = month_days(question.month, question.zone)
    return days.append_column("last_finished_day", pa.array([finished]))


def month_days(month: Month, zone: ZoneInfo) -> pa.Table:
    """Return the first and last day of a month, and its start and end as times, in one row."""
    row: dict[str, Any] = {
        "zone": pa.array([zone.key], TEXT),
        "month_first": pa.array([month.first]),
        "month_last": pa.array([month.last]),
        "month_start": pa.array([month.start(zone)], INSTANT),
        "month_end": pa.array([month.end(zone)], INSTANT),
        "next_business_day": pa.array([next_target_day(month.last)]),
    }
    return pa.table(row)


def coverage_table(connection: duckdb.DuckDBPyConnection, question: Question) -> pa.Table:
    """Return the days that each account's proved statements cover without a gap."""
    stored, confirmed = (
        connection.sql(f"SELECT * FROM {name} WHERE {COUNTING}").to_arrow_table()  # noqa: S608
        for name in (STATEMENTS.name, BALANCE_CONFIRMATIONS.name)
    )
    moved = daily_sums(
        lambda query: connection.sql(query).to_arrow_table(), question.accounts, confirmed
    )
    return month_coverage(stored, question.accounts, confirmed, question.month, moved)


def class_rule_table(rules: Rules, accounts: tuple[BankAccount, ...]) -> pa.Table:
    """Return the class rules in their order, transfers between our own accounts first."""
    own = tuple(
        ClassRule(
            name="own transfer",
            line_class="own_transfer",
            source="own_bank",
            counterparty_account=plain_account(account.account),
        )
        for account in accounts
        if account.source == "own_bank"
    )
    rows = [
        (turn, not is_text_alone(rule), *_compared(rule))
        for turn, rule in enumerate((*own, *rules.classes, *rules.standard_classes))
    ]
    columns = (TEXT, *ClassRule.__struct_fields__)
    return table_of(rows, grouped_schema((INTEGER, "turn"), (BOOL, "meets_credits"), columns))


def _compared(rule: ClassRule) -> tuple[str | None, ...]:
    """Return the values of a rule that lines are compared with; accounts in the lines' spelling."""
    accounts = {
        name: plain_account(getattr(rule, name) or "") or None
        for name in ("account", "counterparty_account")
    }
    return msgspec.structs.astuple(msgspec.structs.replace(rule, **accounts))
