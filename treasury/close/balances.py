"""The balances of a month: opening + in - out - fees - gas = closing, and the proof of each end.

A bank account is proved by its statements, or by confirmed balances that its lines connect. The
balance of a custodial wallet at a cut-off is exact if no unexplained movement lies between the
observations before and after. The wallet is proved if both ends are exact, and transfers and proved
conversions explain the difference between them. The services show no balance of a company wallet:
see `wallet_balances`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.result_words import moment
from treasury.close.wallet_balances import company_rows
from treasury.core.identifiers import plain_account
from treasury.core.money import difference, total
from treasury.core.tables.column_texts import wide
from treasury.core.tables.column_types import BOOL, INTEGER, TEXT
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.matching.engine.pipeline import needed
from treasury.month.items.item_facts import needing_a_person
from treasury.month.kept_run import kept_run
from treasury.month.reconciliation import STEPS, Reconciliation

BALANCES: Final = grouped_schema(
    (TEXT, "kind", "of", "name", "currency"),
    (
        amount_in("currency"),
        "opening",
        "money_in",
        "money_out",
        "fees",
        "gas",
        "closing",
        "unexplained",
    ),
    (amount_in("currency"), "in_doubt", "undecided"),
    (INTEGER, "undecided_lines"),
    (BOOL, "proved", "blocks"),
    (TEXT, "proved_by", "problem", "next_step"),
)
"""One row per `bank` account, `custodial` wallet balance and `company` wallet.

Amounts are in `currency`; `of` is the IBAN, account id or address. `gas` is paid by a company
wallet in its chain's native coin; it is null for other rows and without an export that lists gas.
`unexplained` is closing - (opening + in - out - fees - gas); null if an end is unknown. `in_doubt`
is the amount that may belong to the time before or after an end of the month. `undecided` is the
sum of the bank account's lines that need a person, in both directions; the balance contains them.
`undecided_lines` is their number. `blocks` is true if the row itself prevents the close. An account
with incomplete statements does not: it has an open item. `next_step` says how to prove the balance.
"""

_ZERO: Final = Decimal(0)
PROVED: Final = ("proved", "proved_as_group")
"""The states of a conversion that balances prove."""
_CONFIRMED: Final = "confirmed balances"
_CHARGE: Final = "bank_charge"
_LEVELS: Final = needed(STEPS, "balance_levels")
"""The steps for balances of custodial wallets; usually they already ran for the month."""
_SYNC: Final = "run `treasury sync`: it reads the balance after the month's end"
_ASK: Final = (
    "ask the provider for the balance at the cut-off and close with its answer as the reason;"
    " next month sync shortly before and after its end"
)
_FULL: Final = "run `treasury sync --full`; if the amount stays missing, ask the provider"
_EXPLAIN: Final = "ask the provider what it was; find the credit or transfer that no record shows"

_Row = dict[str, Any]


_WORKED_OUT: Final[list[tuple[Reconciliation, Hashable, pa.Table]]] = []
"""A cache of the last answer's balances, because a decision needs them several times."""


def month_balances(r: Reconciliation, zone: ZoneInfo) -> pa.Table:
    """Return every balance of the month, banks first; columns as in BALANCES."""
    records = None if r.basis is None else r.basis.snapshot.key()
    # Without a key, the result is not cached: a later call may see other records.
    if records is None:
        return _month_balances(r, zone)
    for before, asked_before, balances in _WORKED_OUT:
        if asked_before == (records, zone) and r.has_tables_of(before):
            return balances
    balances = _month_balances(r, zone)
    _WORKED_OUT[:] = [(r, (records, zone), balances)]
    return balances


def balances_table(r: Reconciliation) -> Table:
    """Return every balance of the month as a table for analysts."""
    zone = r.zone or ZoneInfo("UTC")
    return Table(month_balances(r, zone), zone=zone, title="Balances")


def _month_balances(r: Reconciliation, zone: ZoneInfo) -> pa.Table:
    rows = [*_bank_rows(r), *_custodial_rows(r, zone), *company_rows(r, zone)]
    return pa.Table.from_pylist(rows, schema=BALANCES)


# The balances of bank accounts.


def _bank_rows(r: Reconciliation) -> Iterator[_Row]:
    moved = _moved(r.lines.arrow)
    open_lines: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    needing = needing_a_person(r.lines.arrow).select(["statement_account", "currency", "amount"])
    for row in needing.to_pylist():
        key = (plain_account(row["statement_account"]), row["currency"])
        open_lines[key].append(row["amount"])
    for row in r.statements.arrow.to_pylist():
        sums = moved.get((plain_account(row["account"]), row["currency"]), {})
        money_in, money_out = sums.get(("CRDT", False), _ZERO), sums.get(("DBIT", False), _ZERO)
        fees = difference(sums.get(("DBIT", True), _ZERO), sums.get(("CRDT", True), _ZERO))
        flows = total((money_in, money_out.copy_negate(), fees.copy_negate()))
        opening, closing = row["opening_balance"], row["closing_balance"]
        unexplained = None
        if opening is not None and closing is not None:
            unexplained = difference(closing, total((opening, flows)))
        by_lines = row["statements"] and not row["proved"]
        way = _CONFIRMED if by_lines else "statements"
        # Connected balances prove nothing if an end of the month is unknown.
        lacks_an_end = way == _CONFIRMED and unexplained is None
        proved = row["complete"] and not unexplained and not lacks_an_end
        undecided = open_lines.get((plain_account(row["account"]), row["currency"]), ())
        yield {
            "kind": "bank",
            "of": row["account"],
            "name": row["name"],
            "currency": row["currency"],
            "opening": opening,
            "money_in": money_in,
            "money_out": money_out,
            "fees": fees,
            "closing": closing,
            "unexplained": unexplained,
            "undecided": total(undecided),
            "undecided_lines": len(undecided),
            "proved": proved,
            # An account with incomplete statements blocks the close through its own open item.
            "blocks": bool(row["complete"] and (unexplained or lacks_an_end)),
            "proved_by": way if proved else "nothing yet",
            "problem": row["problem"]
            or ("its lines do not add up to its balances" if unexplained else ""),
            "next_step": "" if proved else "read its statements again: `treasury statements check`",
        }


def _moved(lines: pa.Table) -> dict[tuple[str, str], dict[tuple[str, bool], Decimal]]:
    """Return the sums of movements by account, currency and direction; charges are separate."""
    sums_by_account: dict[tuple[str, str], dict[tuple[str, bool], Decimal]] = defaultdict(dict)
    keys = ["statement_account", "currency", "direction", "line_class"]
    table = lines.select(keys).append_column("amount", wide(lines["amount"]))
    for row in table.group_by(keys).aggregate([("amount", "sum")]).to_pylist():
        sums = sums_by_account[plain_account(row["statement_account"]), row["currency"]]
        way = (row["direction"], row["line_class"] == _CHARGE)
        sums[way] = total((sums.get(way, _ZERO), row["amount_sum"]))
    return sums_by_account


# The balances of custodial wallets.


class _End(msgspec.Struct, frozen=True):
    """A balance at one end of the month.

    It has the known movements up to that time, the number of transfers without an amount
    (`unstated`), and `level`, the balance less the known movements. If the level is unknown,
    `problem` says why. `in_doubt` is set if a known amount may belong to the time before or after.
    """

    known_in: Decimal
    known_out: Decimal
    unstated: int
    level: Decimal | None
    problem: str = ""
    next_step: str = ""
    in_doubt: Decimal | None = None

    @property
    def balance(self) -> Decimal | None:
        """The exact balance, or None if it is unknown."""
        if self.level is None:
            return None
        return total((self.level, self.known_in, self.known_out.copy_negate()))


def _custodial_rows(r: Reconciliation, zone: ZoneInfo) -> Iterator[_Row]:
    if r.basis is None:
        return
    with kept_run(r.basis.snapshot) as steps_run:
        steps_run.bring(_LEVELS)
        connection = steps_run.connection
        observed = connection.execute(
            "SELECT * FROM balance_levels WHERE account_id IS NOT NULL AND asset IS NOT NULL"
            " ORDER BY account_id, asset, moment, is_observed"
        ).to_arrow_table()
        names = dict(connection.execute("SELECT id, name FROM accounts").fetchall())
    levels: dict[tuple[str, str], list[_Row]] = defaultdict(list)
    for row in observed.to_pylist():
        levels[row["account_id"], row["asset"]].append(row)
    start, end = r.month.start(zone), r.month.end(zone)
    for (account, asset), rows in sorted(levels.items()):
        first, last = (_end(rows, cut_off, zone) for cut_off in (start, end))
        converted = _converted(r, account, asset, (start, end))
        yield {
            "kind": "custodial",
            "of": account,
            "name": names.get(account) or "",
            "currency": asset,
            "opening": first.balance,
            "money_out": difference(last.known_out, first.known_out),
            "fees": _ZERO,
            "closing": last.balance,
        } | _explained(first, last, converted)


def _end(rows: Sequence[_Row], cut_off: datetime, zone: ZoneInfo) -> _End:
    """Return the balance at a cut-off, from the observations before and after."""
    at = bisect_left([row["moment"] for row in rows], cut_off)
    moved: tuple[Decimal, Decimal, int] = (_ZERO, _ZERO, 0)
    if at:
        last = rows[at - 1]
        moved = (last["known_in"], last["known_out"], int(last["unstated"] or 0))
    before = next((row for row in reversed(rows[:at]) if is_observation(row)), None)
    after = next((row for row in rows[at:] if is_observation(row)), None)
    when = _stored_moment(cut_off, zone)
    if after is None:
        return _End(*moved, None, f"no balance was seen after {when}", _SYNC)
    if before is None:
        if at == 0 and level_of(after) == 0 and not after["unstated"]:
            return _End(*moved, _ZERO)
        return _End(*moved, None, f"no balance was seen before {when}", _ASK)
    if before["unstated"] != after["unstated"]:
        return _End(*moved, None, f"a transfer around {when} states no amount", _FULL)
    level, later = level_of(before), level_of(after)
    if level != later:
        between = " and ".join(_stored_moment(row["moment"], zone) for row in (before, after))
        problem = f"what was converted between {between} may lie on either side"
        return _End(*moved, None, problem, _ASK, difference(later, level))
    return _End(*moved, level)


def _stored_moment(instant: datetime, zone: ZoneInfo) -> str:
    """Return a time such as `29 Oct 09:20`.

    Closed months are stored with this form and verified by it, so it must not change.
    """
    return moment(instant, zone).rpartition(" ")[0]


def is_observation(row: Mapping[str, Any]) -> bool:
    """Return whether the row is an observation in which every wallet of the account was read."""
    return bool(row["is_observed"]) and not row["unread"]


def level_of(row: Mapping[str, Any]) -> Decimal:
    """Return a row's balance less the known movements up to it."""
    return total((row["total"], row["known_out"], row["known_in"].copy_negate()))


def _converted(
    r: Reconciliation, account: str, asset: str, ends: tuple[datetime, datetime]
) -> Decimal:
    """Return the coins that the month's proved conversions brought."""
    return total(
        row["converted"]
        for row in r.conversions.arrow.to_pylist()
        if (row["account_id"], row["asset"]) == (account, asset)
        and row["state"] in PROVED
        and row["converted"] is not None
        and row["opened_at"] is not None
        and ends[0] <= row["opened_at"]
        and row["closed_at"] <= ends[1]
    )


def _explained(first: _End, last: _End, converted: Decimal) -> _Row:
    """Return the columns for incoming coins, the unexplained amount and the proof."""
    money_in = total((difference(last.known_in, first.known_in), converted))
    unclear = [end for end in (first, last) if end.problem]
    problem = "; ".join(dict.fromkeys(end.problem for end in unclear))
    step = unclear[-1].next_step if unclear else ""
    unexplained = None
    if first.level is not None and last.level is not None:
        unexplained = difference(difference(last.level, first.level), converted)
        if unexplained:
            problem = "coins came or went that no transfer and no proved conversion explains"
            step = _EXPLAIN
        if first.unstated != last.unstated:
            problem, step = "a transfer of the month states no amount", _FULL
    proved = not problem
    return {
        "money_in": money_in,
        "unexplained": unexplained,
        "in_doubt": next((end.in_doubt for end in reversed(unclear) if end.in_doubt), None),
        "proved": proved,
        "blocks": not proved,
        "proved_by": "balance intervals" if proved else "nothing yet",
        "problem": problem,
        "next_step": step,
    }
