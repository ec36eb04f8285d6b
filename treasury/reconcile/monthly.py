"""A month's reconciliation: a snapshot of the lake, people's decisions and rules in; answers out.

Everything the lake and the journal hold takes part in matching, so that a payment of an earlier
month is known to be one; the month then selects what is shown. No clock is read: `known_at` is an
argument.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import duckdb
import msgspec
import pyarrow as pa

from treasury.calendar import Month, is_target_day
from treasury.errors import NothingStored
from treasury.lake import INSTANT, TEXT, Snapshot
from treasury.reconcile.funding import FUNDING, funding_rows
from treasury.reconcile.inputs import exact_pandas
from treasury.reconcile.matching import (
    OUTCOME_STEPS,
    OUTCOMES,
    PACKAGE,
    REFERENCE_STEPS,
    Matches,
    read_decisions,
    read_matches,
    rule_tables,
)
from treasury.reconcile.pipeline import Step, compose, load, load_steps, run
from treasury.reconcile.rules import ClassRule, Rules
from treasury.settings import BankAccount

if TYPE_CHECKING:
    import pandas as pd

    from treasury.reconcile.inputs import TableLike

__all__ = ["Reconciliation", "reconcile_month"]

MONTH_PACKAGE = "treasury.reconcile.month"
STEPS: tuple[Step, ...] = (
    *load_steps(MONTH_PACKAGE, ("bank_lines", "expectations", "texts")),
    *load_steps(PACKAGE, REFERENCE_STEPS),
    *load_steps(MONTH_PACKAGE, ("line_classes", "lines")),
    *load_steps(PACKAGE, OUTCOME_STEPS),
    *load_steps(
        MONTH_PACKAGE,
        (
            "covered",
            "statement_proofs",
            "month_lines",
            "virtual_account_credits",
            "evidence",
            "funding_lines",
            "funding",
            "in_transit",
            "fee_requests",
            "fee_accruals",
            "fee_totals",
        ),
    ),
)
ANSWERS = (
    "statement_proofs",
    "month_lines",
    "virtual_account_credits",
    "in_transit",
    "fee_requests",
    "fee_accruals",
    "fee_totals",
)


class Total(msgspec.Struct, frozen=True):
    """How many lines, and their amount in one currency."""

    items: int
    amount: Decimal
    currency: str


class Reconciliation(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What the bank's month amounts to; every table is Arrow, every amount exact.

    `lines`: the month's booked bank lines with their outcome (amount in `currency`, direction CRDT
    or DBIT). `awaiting_funds`: requests to fund, in the words of the desk. `virtual_accounts`: credits
    proved for each virtual account, or NOT PROVABLE. `in_transit`, `statements`, `fee_requests`,
    `fee_accruals`, `fee_totals`: as their names say. `matches` holds every line ever stored.
    """

    month: Month
    company: str
    environment: str
    known_at: datetime
    lines: pa.Table
    awaiting_funds: pa.Table
    virtual_accounts: pa.Table
    in_transit: pa.Table
    statements: pa.Table
    fee_requests: pa.Table
    fee_accruals: pa.Table
    fee_totals: pa.Table
    matches: Matches

    def sql(self, step: str) -> str:
        """The whole query behind one step ("month_lines", "funding", …), to read or run."""
        names = [known.name for known in STEPS]
        return compose(STEPS[: names.index(step) + 1], step)

    def counts(self) -> dict[str, int]:
        """Lines of the month by outcome; other business, which matching leaves out, apart."""
        found = dict.fromkeys((*OUTCOMES, "other_business"), 0)
        for row in self.lines.select(["outcome", "line_class"]).to_pylist():
            found["other_business" if row["line_class"] else row["outcome"]] += 1
        return found

    def totals(self, outcome: str) -> list[Total]:
        """Items and amounts of the lines with that outcome by currency, without other business."""
        sums: dict[str, tuple[int, Decimal]] = {}
        for row in self.lines.select(["outcome", "line_class", "currency", "amount"]).to_pylist():
            if row["outcome"] == outcome and row["line_class"] is None:
                items, amount = sums.get(row["currency"], (0, Decimal(0)))
                sums[row["currency"]] = (items + 1, amount + row["amount"])
        return [Total(*sums[currency], currency) for currency in sorted(sums)]

    @property
    def provable(self) -> bool:
        """Whether every virtual account's credits can be proved."""
        proofs = self.virtual_accounts["proof"].to_pylist()
        return not any(proof.startswith("NOT PROVABLE") for proof in proofs)

    def to_pandas(self) -> pd.DataFrame:
        """The month's lines as a DataFrame with exact Decimals."""
        return exact_pandas(self.lines)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in self.counts().items() if n)
        return f"<Reconciliation {self.month}: {self.lines.num_rows} lines: {counts or 'none'}>"


def reconcile_month(
    snapshot: Snapshot,
    month: Month,
    *,
    company: str,
    environment: str,
    accounts: Iterable[BankAccount],
    zone: ZoneInfo,
    known_at: datetime,
    decisions: TableLike | None = None,
    rules: Rules | None = None,
) -> Reconciliation:
    """Reconcile `month` from one snapshot of the lake, as it was known at `known_at`.

    Raises NothingStored for a month after `known_at`, or one of which neither a bank line nor a
    request is stored.
    """
    rules = rules or Rules()
    accounts = tuple(accounts)
    if month.start(zone) > known_at:
        raise NothingStored(f"{month} has not begun", do=f"known at {known_at:%Y-%m-%d}")
    asked = _asked(month, zone, known_at)
    with snapshot.connection() as connection:
        load(
            connection,
            {
                "declared_accounts": _accounts(accounts),
                "class_rules": _class_rules(rules, accounts),
                "decisions": read_decisions(decisions),
                "asked": asked,
                **rule_tables(rules),
            },
        )
        run(connection, STEPS)
        answers = {name: connection.table(name).to_arrow_table() for name in ANSWERS}
        _require_month(connection, answers, month)
        funding = connection.table("funding").to_arrow_table()
        matches = read_matches(connection, STEPS, rules)
    return Reconciliation(
        month=month,
        company=company,
        environment=environment,
        known_at=known_at,
        lines=answers["month_lines"],
        awaiting_funds=_funding_table(funding, rules, known_at.astimezone(zone).date()),
        virtual_accounts=answers["virtual_account_credits"],
        in_transit=answers["in_transit"],
        statements=answers["statement_proofs"].sort_by(
            [("source", "ascending"), ("account", "ascending")]
        ),
        fee_requests=answers["fee_requests"],
        fee_accruals=answers["fee_accruals"],
        fee_totals=answers["fee_totals"],
        matches=matches,
    )


def _funding_table(funding: pa.Table, rules: Rules, today: date) -> pa.Table:
    return pa.Table.from_pylist(
        [msgspec.structs.asdict(row) for row in funding_rows(funding.to_pylist(), rules, today)],
        schema=FUNDING,
    )


def _require_month(
    connection: duckdb.DuckDBPyConnection, answers: dict[str, pa.Table], month: Month
) -> None:
    if answers["month_lines"].num_rows or answers["fee_requests"].num_rows:
        return
    found = connection.execute(
        "SELECT CAST(min(booking_date) AS VARCHAR), CAST(max(booking_date) AS VARCHAR)"
        " FROM bank_lines"
    ).fetchone()
    first, last = found or (None, None)
    stored = f"bank lines are stored from {first} to {last}" if first else "no bank line is stored"
    raise NothingStored(
        f"nothing is stored for {month}: {stored}",
        do="run `treasury sync` and `treasury statements add FILE…`, or ask for another month",
    )


def _asked(month: Month, zone: ZoneInfo, known_at: datetime) -> pa.Table:
    """The question as a table of one row, which the steps read."""
    finished = known_at.astimezone(zone).date() - timedelta(days=1)
    while not is_target_day(finished):
        finished -= timedelta(days=1)
    row: dict[str, Any] = {
        "zone": pa.array([zone.key], TEXT),
        "month_first": pa.array([month.first]),
        "month_last": pa.array([month.last]),
        "month_start": pa.array([month.start(zone)], INSTANT),
        "month_end": pa.array([month.end(zone)], INSTANT),
        "last_finished_day": pa.array([finished]),
    }
    return pa.table(row)


def _accounts(accounts: tuple[BankAccount, ...]) -> pa.Table:
    return pa.table(
        {
            "account": pa.array([plain(account.account) for account in accounts], TEXT),
            "name": pa.array([account.name for account in accounts], TEXT),
            "currency": pa.array([account.currency for account in accounts], TEXT),
            "source": pa.array([account.source for account in accounts], TEXT),
        }
    )


def _class_rules(rules: Rules, accounts: tuple[BankAccount, ...]) -> pa.Table:
    """The class rules in their order, transfers between our own accounts first."""
    own = tuple(
        ClassRule(
            name="own transfer",
            line_class="own_transfer",
            source="own_bank",
            counterparty_account=plain(account.account),
        )
        for account in accounts
        if account.source == "own_bank"
    )
    names = ClassRule.__struct_fields__
    schema = pa.schema([("turn", pa.int64()), *((name, TEXT) for name in names)])
    return pa.Table.from_pylist(
        [
            {"turn": turn, **msgspec.structs.asdict(rule)}
            for turn, rule in enumerate((*own, *rules.classes))
        ],
        schema=schema,
    )


def plain(account: str) -> str:
    """An account number without spaces, in upper case."""
    return account.replace(" ", "").upper()
