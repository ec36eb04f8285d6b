"""Gaps in the evidence: periods in which an unknown amount may be with the provider.

A sum is proved only if every own account's statements, the provider's reports and the services were
read up to the time of the sum. Otherwise a span without an amount marks the gap. A gap of unknown
currency counts against the limit of every currency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from treasury.close.result_words import day as day_words
from treasury.close.result_words import moment
from treasury.close.valuation.exposure.custody_spans import CREDIT
from treasury.close.valuation.exposure.exposure_sums import EVER, HeldAmount
from treasury.close.valuation.exposure.request_spans import IN_TRANSIT
from treasury.month.funding import short_account
from treasury.month.items.item_facts import STALE_AFTER
from treasury.month.reconciliation import Reconciliation

_Row = Mapping[str, Any]

NOT_READ: Final = "not read"
ACCOUNT: Final = "virtual_account"


def gap_spans(
    r: Reconciliation, at: datetime, zone: ZoneInfo, read_at: datetime | None
) -> Iterator[HeldAmount]:
    """Yield a span per source that was not read up to `at`; `read_at` is the last sync."""
    is_past = at == r.month.end(zone)
    last = (at - timedelta(microseconds=1)).astimezone(zone).date()
    # A bank has booked all of a day's payments only when the day is over.
    if not is_past:
        last -= timedelta(days=1)
    yield from _services(at, zone, read_at, is_past=is_past)
    rows = r.statements.arrow.to_pylist()
    own = [row for row in rows if row["source"] == "own_bank"]
    reports = [row for row in rows if row["source"] == "provider_report"]
    if not own:
        yield _gap(
            EVER, kind=IN_TRANSIT, subject="statement", subject_id="accounts",
            reference="own bank accounts",
            problem="no own bank account is declared: no statement shows what was sent",
            next_step="declare the accounts in treasury.toml and add their statements",
        )  # fmt: skip
    for row in own:
        missing = _missing_from(row, r.month.first, last, is_past=is_past)
        if missing is not None:
            yield _gap(
                datetime.combine(missing, time(), zone),
                kind=IN_TRANSIT, subject="statement", currency=row["currency"],
                subject_id=f"{row['account']}/{row['currency']}",
                reference=f"{row['name'] or ''} {short_account(row['account'])}".strip(),
                problem=f"no proved statement shows {day_words(missing)} to {day_words(last)}",
                next_step="add the statement: `treasury statements add FILE`",
            )  # fmt: skip
    lacking = [_missing_from(row, r.month.first, last, is_past=is_past) for row in reports]
    if reports and not any(lacking):
        return
    for row in r.virtual_accounts.arrow.to_pylist():
        if row["proof"].startswith("NOT PROVABLE"):
            yield _gap(
                EVER, kind=CREDIT, subject=ACCOUNT, subject_id=row["virtual_bank_account_id"],
                reference=row["name"] or row["iban"] or "", currency=row["currency"] or "",
                problem="no complete provider report shows the credits",
                next_step="ask for the report of the account that the credits are booked on",
            )  # fmt: skip


def _services(
    at: datetime, zone: ZoneInfo, read_at: datetime | None, *, is_past: bool
) -> Iterator[HeldAmount]:
    """Yield a gap if the services were not read since the month's end, or not recently."""
    if read_at is None:
        problem = "the services have never been read"
    elif read_at < at and (is_past or at - read_at > STALE_AFTER):
        problem = f"the services were last read {moment(read_at, zone)}"
    else:
        return
    yield _gap(
        read_at or EVER, kind=NOT_READ, subject="source", subject_id="services",
        reference="services", problem=problem, next_step="run `treasury sync`",
    )  # fmt: skip


def _missing_from(row: _Row, first: date, last: date, *, is_past: bool) -> date | None:
    """Return the first day up to `last` without a proved statement of the account, or None."""
    if row["complete"]:
        return None
    missing: date = row["missing_from"] or first
    if is_past:
        return min(missing, last)
    return missing if missing <= last else None


def _gap(since: datetime, *, currency: str = "", **columns: Any) -> HeldAmount:
    return HeldAmount(
        state="NOT PROVABLE", amount=None, currency=currency, since=since, until=None, began=since,
        is_proved=False, **columns,
    )  # fmt: skip
