"""Company wallets in a month's accounts, proved by evidence or known from the service only.

The balance at the start or end of the month is computed from a stated balance and the movements in
an export, if the export covers the whole time in between. A delivery counts as seen if the export
has its hash, asset, amount and address. Gas reduces the native coin in addition to transfers:
opening + in - out - gas = closing, if an export lists gas. Evidence that contradicts the records
blocks a close; missing evidence does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow.compute as pc

from treasury.close.result_words import amount_words
from treasury.core.calendar import Month
from treasury.core.coins import native_coin
from treasury.core.files.package_files import step_sql
from treasury.core.money import difference, total
from treasury.lake import Snapshot
from treasury.month.reconciliation import Reconciliation

_ZERO: Final = Decimal(0)
SERVICE_SAYS: Final = "service says delivered"
"""`proved_by` of a wallet for which only the service states a balance."""
_ADD: Final = "add an explorer export: `treasury wallets add FILE --chain … --address …`"
_STATE: Final = "state its balance: `treasury wallets balance …`"
_LIST: Final = "add the explorer's list of transactions, which names gas: `treasury wallets add`"
_WIDER: Final = "add an export that covers the whole month and the day of the stated balance"
_ASK_PROVIDER: Final = (
    "ask the provider where the coins went; do not close the month before you know"
)
_EXPLAIN: Final = "look the wallet up on an explorer, and explain what no record shows"

_Row = dict[str, Any]
_Key = tuple[str, str, str]
"""Chain, address and asset; the case of an address does not matter."""

_DELIVERED: Final = step_sql("treasury.close.steps", "wallets/wallet_deliveries")
_EVIDENCE: Final = step_sql("treasury.close.steps", "wallets/stated_evidence")
_MOVEMENTS: Final = step_sql("treasury.close.steps", "wallets/shown_movements")
_GAS: Final = step_sql("treasury.close.steps", "wallets/shown_gas")


class _Wallet(msgspec.Struct):
    """One asset of a company wallet: the month's deliveries to it, and all its evidence.

    `without_gas` are the periods of exports of the native coin that do not list gas. Such exports
    prove no balance.
    """

    chain: str
    address: str
    asset: str
    deliveries: list[_Row] = msgspec.field(default_factory=list)
    spans: list[tuple[datetime, datetime]] = msgspec.field(default_factory=list)
    stated: list[tuple[datetime, Decimal]] = msgspec.field(default_factory=list)
    movements: list[_Row] = msgspec.field(default_factory=list)
    without_gas: list[tuple[datetime, datetime]] = msgspec.field(default_factory=list)
    gas: list[_Row] = msgspec.field(default_factory=list)

    @property
    def is_native(self) -> bool:
        """Whether the asset is the coin in which the wallet pays gas."""
        return self.asset == native_coin(self.chain)

    def covers(self, start: datetime, end: datetime) -> bool:
        """Return whether exports show every movement between two times."""
        return any(first <= start and end <= last for first, last in self.spans)

    def moved(self, start: datetime, end: datetime) -> tuple[Decimal, Decimal]:
        """Sum the incoming and the outgoing amounts from `start` until just before `end`."""
        own = self.address.lower()
        rows = [row for row in self.movements if start <= row["moved_at"] < end]
        return (
            total(row["amount"] for row in rows if row["to_address"].lower() == own),
            total(row["amount"] for row in rows if row["from_address"].lower() == own),
        )

    def paid(self, start: datetime, end: datetime) -> Decimal:
        """Sum the gas that the wallet paid from `start` until just before `end`."""
        return total(row["amount"] for row in self.gas if start <= row["paid_at"] < end)

    def balances_at(self, at: datetime) -> set[Decimal]:
        """Return the balance at a time, from each stated balance and the movements in between."""
        balances = set()
        for then, balance in self.stated:
            if then != at and not self.covers(min(then, at), max(then, at)):
                continue
            between = min(then, at), max(then, at)
            received, sent = self.moved(*between)
            change = difference(received, total((sent, self.paid(*between))))
            balances.add(total((balance, change if then < at else change.copy_negate())))
        return balances

    def is_seen(self, delivery: _Row) -> bool:
        """Return whether the chain shows the delivery's hash with the whole expected amount."""
        transaction, own = (delivery["hash"] or "").lower(), self.address.lower()
        received = [
            row["amount"]
            for row in self.movements
            if row["transaction_hash"].lower() == transaction and row["to_address"].lower() == own
        ]
        due = [
            row["amount"] for row in self.deliveries if (row["hash"] or "").lower() == transaction
        ]
        return bool(transaction and received) and None not in due and total(received) == total(due)

    def lacks(self, delivery: _Row) -> bool:
        """Return whether a delivery is missing from an export that covers its whole period."""
        begun, ended = delivery["approved_at"], delivery["completed_at"]
        if begun is None or ended is None or self.is_seen(delivery):
            return False
        return self.covers(begun, ended)


def company_rows(r: Reconciliation, zone: ZoneInfo) -> Iterator[_Row]:
    """Yield a row of BALANCES per wallet and asset with deliveries or evidence in the month."""
    if r.basis is None:
        return
    start, end = r.month.start(zone), r.month.end(zone)
    on_ramps = r.fee_requests.arrow.filter(pc.equal(r.fee_requests.arrow["ramp_type"], "ON_RAMP"))
    wallets = _wallets(on_ramps["request_id"].to_pylist(), r.basis.snapshot)
    for _, wallet in sorted(wallets.items()):
        spans = (*wallet.spans, *wallet.without_gas)
        is_covered = any(first < end and start < last for first, last in spans)
        is_stated = any(start <= at <= end for at, _ in wallet.stated)
        if wallet.deliveries or is_covered or is_stated:
            yield _row(wallet, start, end)


class WalletBalance(msgspec.Struct, frozen=True):
    """The last balance of a coin in a company wallet that evidence shows, and its day.

    `delivered` is the sum of what the service delivered since. `problem` says why the balance is
    unknown or not proved.
    """

    chain: str
    address: str
    asset: str
    balance: Decimal | None
    day: date | None
    delivered: Decimal
    problem: str
    next_step: str


def latest_balances(snapshot: Snapshot, now: datetime, zone: ZoneInfo) -> Iterator[WalletBalance]:
    """Yield the last known balance of each coin of each company wallet up to `now`.

    The rules are those of a month's balances, from the start of its month to the time of the
    balance: if evidence contradicts it, it is not proved.
    """
    ids = snapshot.sql(_ALL_DELIVERED)["id"].to_pylist()
    for _, wallet in sorted(_wallets(ids, snapshot).items()):
        ends = {at for at, _ in wallet.stated} | {last for _, last in wallet.spans}
        known_days = (
            at for at in sorted(ends, reverse=True) if at <= now and wallet.balances_at(at)
        )
        last = next(known_days, None)
        completed = [row for row in wallet.deliveries if row["completed_at"] is not None]
        since = [row for row in completed if last is None or row["completed_at"] > last]
        end = last or now
        # A balance at midnight belongs to the day that it ends.
        month = Month.of((end - _INSTANT).astimezone(zone).date())
        start = min(month.start(zone), end)
        # Only these deliveries are compared with the export: a wallet may have thousands.
        wallet.deliveries = [row for row in completed if start <= row["completed_at"] <= end]
        row = _row(wallet, start, end)
        is_known = row["closing"] is not None and not row["blocks"]
        yield WalletBalance(
            chain=wallet.chain,
            address=wallet.address,
            asset=wallet.asset,
            balance=row["closing"],
            day=None if last is None else (last - _INSTANT).astimezone(zone).date(),
            delivered=_sum(since),
            problem="" if is_known else row["problem"],
            next_step="" if is_known else row["next_step"],
        )


_INSTANT: Final = timedelta(microseconds=1)
_ALL_DELIVERED: Final = (
    "SELECT id FROM ramp_requests WHERE ramp_type = 'ON_RAMP' AND status = 'SUCCEEDED'"
)


def _wallets(ids: Sequence[str], snapshot: Snapshot) -> dict[_Key, _Wallet]:
    with snapshot.connection() as connection:
        deliveries = connection.execute(_DELIVERED, {"ids": ids}).to_arrow_table().to_pylist()
        evidence, movements, gas = (
            connection.execute(query).to_arrow_table().to_pylist()
            for query in (_EVIDENCE, _MOVEMENTS, _GAS)
        )
    wallets: dict[_Key, _Wallet] = {}

    def wallet(row: _Row, address: str) -> _Wallet:
        chain, asset = row["chain"] or "", row["asset"] or "?"
        key = (chain.upper(), address.lower(), asset)
        return wallets.setdefault(key, _Wallet(chain, address, asset))

    for row in deliveries:
        wallet(row, row["address"] or "").deliveries.append(row)
    for row in evidence:
        stated = wallet(row, row["address"])
        if row["kind"] == "balance":
            stated.stated.append((row["observed_at"], row["balance"]))
        elif stated.is_native and not row["shows_gas"]:
            stated.without_gas.append((row["covers_from"], row["covers_to"]))
        else:
            stated.spans.append((row["covers_from"], row["covers_to"]))
    for each in wallets.values():
        each.spans = _merged(each.spans)
    _place(wallets, movements, gas)
    return wallets


def _place(wallets: dict[_Key, _Wallet], movements: Iterable[_Row], gas: Iterable[_Row]) -> None:
    """Add movements and gas to the wallets in the dictionary; those of others are left out."""
    for row in movements:
        for address in {row["from_address"].lower(), row["to_address"].lower()}:
            key = (row["chain"].upper(), address, row["asset"])
            if key in wallets:
                wallets[key].movements.append(row)
    for row in gas:
        key = (row["chain"].upper(), row["payer_address"].lower(), row["asset"])
        if key in wallets:
            wallets[key].gas.append(row)


def _merged(spans: Iterable[tuple[datetime, datetime]]) -> list[tuple[datetime, datetime]]:
    """Merge spans that touch or overlap."""
    merged: list[tuple[datetime, datetime]] = []
    for first, last in sorted(spans):
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _row(wallet: _Wallet, start: datetime, end: datetime) -> _Row:
    covered = wallet.covers(start, end)
    delivered = _sum(wallet.deliveries)
    received, sent = wallet.moved(start, end) if covered else (delivered, None)
    gas = wallet.paid(start, end) if covered and wallet.is_native else None
    opening, closing = wallet.balances_at(start), wallet.balances_at(end)
    opened, closed = (next(iter(end)) if len(end) == 1 else None for end in (opening, closing))
    unexplained = None
    if opened is not None and closed is not None:
        left = total((sent or _ZERO, gas or _ZERO))
        unexplained = difference(closed, total((opened, received, left.copy_negate())))
    problem, step, blocks = _judged(wallet, covered, (opening, closing), unexplained)
    return {
        "kind": "company",
        "of": wallet.address,
        "name": f"company wallet on {wallet.chain}",
        "currency": wallet.asset,
        "opening": opened,
        "money_in": received,
        "money_out": sent,
        "fees": _ZERO if covered else None,
        "gas": gas,
        "closing": closed,
        "unexplained": unexplained,
        "proved": not problem,
        "blocks": blocks,
        "in_doubt": _sum([row for row in wallet.deliveries if wallet.lacks(row)]) or None,
        "proved_by": "nothing yet" if blocks else _proved_by(wallet, covered, problem),
        "problem": problem,
        "next_step": step,
    }


def _sum(deliveries: Iterable[_Row]) -> Decimal:
    return total(row["amount"] or _ZERO for row in deliveries)


def _judged(
    wallet: _Wallet, covered: bool, ends: Sequence[set[Decimal]], unexplained: Decimal | None
) -> tuple[str, str, bool]:
    """Return the problem, the next step, and whether it blocks a close."""
    lacking = [row for row in wallet.deliveries if wallet.lacks(row)]
    if lacking:
        sum_of = amount_words(_sum(lacking), wallet.asset)
        names = ", ".join(row["reference"] or row["id"] for row in lacking[:3])
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        return f"the export lacks {sum_of} that was delivered: {names}{more}", _ASK_PROVIDER, True
    if any(len(values) > 1 for values in ends):
        return "stated balances and the movements between do not fit", _EXPLAIN, True
    if unexplained:
        step = _EXPLAIN if covered else (_LIST if wallet.is_native else _ADD)
        return "coins came or went that no evidence shows", step, True
    if wallet.without_gas and not covered and not all(ends):
        return "its export does not name the gas that was paid", _LIST, False
    if not wallet.spans and not wallet.stated:
        return "no evidence of this wallet was added", _ADD, False
    if not all(ends):
        if not wallet.stated:
            return "none of its balances was stated", _STATE, False
        return "no stated balance reaches both ends of the month", _WIDER, False
    return "", "", False


def _proved_by(wallet: _Wallet, covered: bool, problem: str) -> str:
    """Return the kind of proof in words, or that only the service reports the balance."""
    if not problem:
        return "explorer export and stated balance" if covered else "stated balances"
    in_export = sum(map(wallet.is_seen, wallet.deliveries))
    if in_export:
        return f"explorer export, for {in_export} of {len(wallet.deliveries):,} deliveries"
    return SERVICE_SAYS
