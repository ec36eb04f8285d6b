"""Requests handled as plain moves give the same sums as requests with separate spans."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from exposure_samples import ZONE

from treasury.close.valuation.exposure.exposure_sums import (
    HeldAmount,
    Move,
    amounts_by_day,
    currency_peaks,
    moves_of,
)
from treasury.close.valuation.exposure.provider_exposure import PACKAGE
from treasury.close.valuation.exposure.request_spans import request_spans
from treasury.core.calendar import Month
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT
from treasury.matching.engine.pipeline import in_order, load, run, steps_of
from treasury.matching.reference_matching import rule_tables
from treasury.matching.rules import Rules
from treasury.month.clocks import end_of
from treasury.month.question_tables import month_days

OCTOBER, TODAY = Month.parse("2026-10"), date(2026, 11, 3)
END, AS_SET = OCTOBER.end(ZONE), Rules()
TABLES = {
    "requests_at_provider": "request_id reference ramp_type status fiat_amount fiat_net_amount"
    " fiat_currency crypto_amount crypto_currency sent_at received_at completed_at"
    " is_hash_in_doubt is_from_custody is_settled settled_at",
    "provider_payouts": "request_id entry_id booking_date amount currency standing file_name"
    " position",
    "request_status_changes": "request_id moment status is_record seen_at",
}
STEPS = in_order(
    {name: steps_of(PACKAGE)[name] for name in ("plain_requests", "plain_moves")}, ["plain_moves"]
)
Row = dict[str, Any]


def kind_of(name: str) -> pa.DataType:
    if name in ("is_hash_in_doubt", "is_from_custody"):
        return pa.bool_()
    if name in ("is_record", "is_settled"):
        return pa.int64()
    if name == "moment" or name.endswith("_at"):
        return INSTANT
    if name == "booking_date":
        return DATE
    return AMOUNT if name.endswith("amount") else TEXT


def drawn(random: Random, number: int) -> tuple[Row, list[Row], list[Row]]:
    """Draw a request with payouts and status changes; each of its values is plain or unusual."""
    own, completed_on = f"r{number}", date(2026, 10, 1) + timedelta(days=random.randrange(-3, 34))
    hours = timedelta(minutes=random.randrange(1, 24 * 60))
    completed = (datetime.combine(completed_on, time(), ZONE) + hours).astimezone(UTC)
    net = Decimal(random.randrange(0, 90_000)) / 100
    before = timedelta(minutes=random.choice((0, 5, 60, 600, 3000, 9000, -30)))
    sent = random.choice((completed - before, completed - before, None))
    request = {
        "request_id": own, "reference": own,
        "ramp_type": random.choice(("OFF_RAMP",) * 9 + ("ON_RAMP",)),
        "status": random.choice(("SUCCEEDED",) * 9 + ("PROCESSING",)),
        "fiat_amount": net, "fiat_net_amount": random.choice((net,) * 9 + (None,)),
        "fiat_currency": "EUR", "crypto_amount": Decimal(random.randrange(1, 90_000)) / 100,
        "crypto_currency": random.choice(("USDC", "EURC")), "sent_at": sent, "received_at": None,
        "completed_at": random.choice((completed,) * 9 + (None,)),
        "is_hash_in_doubt": random.random() < 0.05, "is_from_custody": random.random() < 0.05,
        "is_settled": 1, "settled_at": completed - before,
    }  # fmt: skip
    payouts = [
        {
            "request_id": own, "entry_id": f"e{number}-{n}", "currency": "EUR",
            "booking_date": completed_on + timedelta(days=random.randrange(-1, 3)),
            "amount": random.choice((net, net, net + 1, net / 2)),
            "standing": random.choice(("received",) * 9 + ("undecided",)),
            "file_name": "october.xml", "position": str(n),
        }
        for n in range(random.choice((1, 1, 1, 1, 0, 2)))
    ]  # fmt: skip
    turns = [
        {
            "request_id": own,
            "moment": completed - timedelta(minutes=random.choice((5, 90, 2000, 9000))),
            "status": random.choice(("PROCESSING",) * 9 + ("BLOCKED", "FAILED", "AWAITING_FUNDS")),
            "is_record": 0,
            "seen_at": completed,
        }
        for _ in range(random.randrange(3))
    ]
    turns.append(
        {
            "request_id": own, "moment": completed, "status": request["status"], "is_record": 1,
            "seen_at": completed,
        }
    )  # fmt: skip
    return request, payouts, turns


def plain_of(
    tables: dict[str, list[Row]], zone: ZoneInfo = ZONE, rules: Rules = AS_SET
) -> tuple[set[str], list[Move]]:
    """Return the requests that the steps find plain, and their moves."""
    asked = month_days(OCTOBER, zone).append_column(
        "last_finished_day", pa.array([TODAY - timedelta(days=1)])
    )
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        given = {
            name: pa.Table.from_pylist(
                tables[name], pa.schema([(column, kind_of(column)) for column in columns.split()])
            )
            for name, columns in TABLES.items()
        }
        load(connection, {**given, "asked": asked, "rules": rule_tables(rules)["rules"]})
        run(connection, STEPS)
        names = {
            name for (name,) in connection.sql("SELECT request_id FROM plain_requests").fetchall()
        }
        return names, [
            Move(**row) for row in connection.table("plain_moves").to_arrow_table().to_pylist()
        ]


def told(
    tables: dict[str, list[Row]], names: set[str], zone: ZoneInfo = ZONE, rules: Rules = AS_SET
) -> list[HeldAmount]:
    """Return the spans of the named requests, computed one by one."""
    own = {
        name: [row for row in rows if row["request_id"] in names] for name, rows in tables.items()
    }
    payouts = sorted(own["provider_payouts"], key=lambda row: row["booking_date"])
    steps: dict[str, Sequence[Row]] = {
        "provider_requests": own["requests_at_provider"], "provider_debits": (),
        "told_payouts": payouts, "provider_status_changes": own["request_status_changes"],
    }  # fmt: skip
    return list(request_spans(steps, rules, zone))


def shown(moves: Sequence[Move], zone: ZoneInfo = ZONE) -> tuple[Any, ...]:
    """Return the amounts at each day's end, and the peaks of the month."""
    ends = [(day, end_of(day, zone)) for day in OCTOBER.days()]
    days = [(each.day, dict(each.amounts)) for each in amounts_by_day(moves, ends)]
    return days, currency_peaks(moves, OCTOBER.start(zone), OCTOBER.end(zone))


def drawn_tables(random: Random) -> dict[str, list[Row]]:
    tables: dict[str, list[Row]] = {name: [] for name in TABLES}
    for number in range(400):
        for name, rows in zip(TABLES, drawn(random, number), strict=True):
            tables[name] += [rows] if isinstance(rows, dict) else rows
    return tables


@pytest.mark.first_case
@pytest.mark.parametrize("seed", range(12))
def test_plain_requests_move_as_if_computed_one_by_one(seed: int) -> None:
    tables = drawn_tables(Random(seed))
    names, moves = plain_of(tables)
    assert 15 < len(names) < 300
    spans = told(tables, names)
    assert all(span.is_proved for span in spans)
    assert not [span for span in spans if span.stands_at(END)], "they hold no money at the end"
    assert shown(moves_of((), moves)) == shown(moves_of(spans))
    assert not any(span.kind not in ("crypto sent", "payout outstanding") for span in spans)


@pytest.mark.parametrize("zone", ["Atlantic/Azores", "America/Havana"])
@pytest.mark.parametrize("target_days", [0, 2])
def test_a_repeated_midnight_moves_nothing_to_another_day(zone: str, target_days: int) -> None:
    """Clocks go back from one to midnight: in the Azores on 25 October, in Havana on 1 November."""
    rules, place = Rules(theirs_target_days=target_days), ZoneInfo(zone)
    for seed in range(3):
        tables = drawn_tables(Random(seed))
        names, moves = plain_of(tables, place, rules)
        spans = told(tables, names, place, rules)
        assert len(names) > 10
        assert all(span.is_proved for span in spans)
        assert shown(moves_of((), moves), place) == shown(moves_of(spans), place)
