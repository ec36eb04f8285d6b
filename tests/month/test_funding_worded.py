"""Sentences written once for a group of requests equal the sentences of single requests."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT
from treasury.matching.rules import Rules
from treasury.month.decisions.remark_rows import REQUEST_REMARKS
from treasury.month.funding import FUNDING, funding_rows, remarks_by_request
from treasury.month.funding_words import funding_table

TODAY = date(2026, 11, 2)
SCHEMA = pa.schema(
    [
        *((name, TEXT) for name in ("state", "request_id", "ramp_type", "status")),
        ("payment_reference", TEXT),
        *((name, AMOUNT) for name in ("fiat_gross", "fiat_net", "crypto")),
        *((name, TEXT) for name in ("fiat_currency", "crypto_currency", "deposit_beneficiary")),
        *((name, TEXT) for name in ("deposit_iban", "deposit_bic", "deposit_wallet_address")),
        *((name, TEXT) for name in ("deposit_wallet_chain", "blockchain_transaction_hash")),
        ("approved_at", INSTANT),
        *((name, DATE) for name in ("approved_on", "evidence_to")),
        ("evidence_account", TEXT),
        ("covers", pa.bool_()),
        *((name, AMOUNT) for name in ("received", "remaining")),
        ("received_state", TEXT),
        ("sent_on", DATE),
        ("is_instant", pa.bool_()),
        ("contradiction", TEXT),
        ("wrong_on", DATE),
        ("pending", pa.int64()),
        *((name, DATE) for name in ("maybe_on", "unnamed_on", "returned_on", "came_back_of")),
        ("return_reason", TEXT),
        ("changed_on", DATE),
        ("hash_of", TEXT),
    ]
)
DAYS = st.sampled_from([None, date(2026, 10, 26), date(2026, 10, 29), date(2026, 11, 2)])
AMOUNTS = st.sampled_from(["0", "10.00", "10.01", "9000"]).map(Decimal)
STATES = {
    "PAID BEFORE APPROVAL": "AWAITING_APPROVAL",
    **dict.fromkeys(
        (
            "PAY",
            "CHECK BANK",
            "SENT",
            "SENT WRONG",
            "RETURNED",
            "SEND CRYPTO",
            "HASH GIVEN",
            "HASH USED TWICE",
            "NOT LISTED",
        ),
        "AWAITING_FUNDS",
    ),
}


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a row of the step `funding`, with values that its state allows."""
    state = draw(st.sampled_from(sorted(STATES)))
    off = state in {"SEND CRYPTO", "HASH GIVEN", "HASH USED TWICE"}
    received = draw(AMOUNTS if state.startswith("SENT") else st.sampled_from([None, Decimal(0)]))
    sent = state in {"SENT", "HASH GIVEN"} or (received or 0) > 0
    wrong = draw(st.sampled_from([None, "partly_received", "over_received"])) if received else None
    return {
        "state": state,
        "ramp_type": "OFF_RAMP" if off else "ON_RAMP",
        "status": STATES[state],
        "payment_reference": draw(st.sampled_from([None, "PAY-2026-000001", "PAY-2026-000002"])),
        "fiat_gross": draw(AMOUNTS),
        "fiat_net": draw(AMOUNTS),
        "crypto": draw(AMOUNTS),
        "fiat_currency": draw(st.sampled_from(["EUR", "GBP"])),
        "crypto_currency": draw(st.sampled_from(["USDC", "EURC"])),
        "deposit_beneficiary": draw(st.sampled_from([None, "Ramp Operator BV"])),
        "deposit_iban": draw(st.sampled_from([None, "", "LT353250012345678901", "DE8901"])),
        "deposit_wallet_address": draw(st.sampled_from([None, "0xabcdef", "0x12cdef", "0x34"])),
        "deposit_wallet_chain": draw(st.sampled_from([None, "BASE"])),
        "approved_at": datetime(2026, 10, 26, draw(st.integers(0, 23)), tzinfo=UTC),
        "approved_on": draw(DAYS.filter(bool)),
        "evidence_to": draw(DAYS),
        "evidence_account": draw(st.sampled_from([None, "BE68539007547034"])),
        "covers": draw(st.booleans()),
        "received": received,
        "remaining": draw(AMOUNTS),
        "received_state": wrong,
        "sent_on": draw(DAYS.filter(bool)) if sent else None,
        "is_instant": draw(st.booleans()),
        "contradiction": draw(st.sampled_from([None, "another amount"])),
        "pending": draw(st.integers(0, 1)),
        "maybe_on": draw(DAYS),
        "wrong_on": draw(DAYS),
        "unnamed_on": draw(DAYS.filter(bool)),
        "returned_on": draw(DAYS),
        "came_back_of": draw(DAYS),
        "return_reason": draw(st.sampled_from([None, "AC04"])),
        "changed_on": draw(DAYS),
        "hash_of": draw(st.sampled_from(["PAY-1", "PAY-2"]))
        if state.startswith("HASH U")
        else None,
    }


@pytest.mark.acceptance
@given(given_rows=st.lists(requests(), max_size=12), remarks=st.data())
@settings(max_examples=60)
def test_each_row_reads_the_same_in_a_group_and_alone(
    given_rows: list[dict[str, Any]], remarks: st.DataObject
) -> None:
    rows = [
        {**row, "request_id": f"r{number:02}{copy}"}
        for number, row in enumerate(given_rows)
        # Each request has a copy in its group.
        for copy in range(2)
    ]
    remarked = [row["request_id"] for row in rows if remarks.draw(st.integers(0, 3)) == 0]
    at = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(hours=remarks.draw(st.integers(0, 40)))
    marked = {"reason": "by phone", "marked_by": "ines", "marked_at": at}
    filed = {"file": "payments-1.xml", "filed_by": "ines", "filed_at": at}
    remark_table = pa.Table.from_pylist(
        [
            {
                "request_id": request_row,
                **(marked if number % 4 != 3 else {}),
                "mark": ("marked_sent", "will_not_fund", "marked_sent", None)[number % 4],
                **(filed if number % 4 > 1 else {}),
            }
            for number, request_row in enumerate(remarked)
        ],
        schema=REQUEST_REMARKS,
    )
    with duckdb.connect() as connection:
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
        connection.execute("SET TimeZone = 'UTC'")
        connection.from_arrow(table).create("funding")
        words_together = funding_table(connection, Rules(), TODAY, remark_table).to_pylist()
    alone = [
        msgspec.structs.asdict(request_row)
        for row in table.to_pylist()
        for request_row in funding_rows([row], Rules(), TODAY, remarks_by_request(remark_table))
    ]
    assert {row["request"]: row for row in words_together} == {row["request"]: row for row in alone}
    order = [
        (-row["overdue"], row["currency"], -(row["send"] or 0), row["reference"], row["request"])
        for row in words_together
    ]
    assert order == sorted(order)
    assert len(words_together) == len(rows)


def filed(state: str, filed_at: datetime, **changed: Any) -> tuple[str, int, str]:
    """Return state, days overdue and next step of a request that is in a payment file."""
    row = dict.fromkeys(SCHEMA.names) | {
        "request_id": "r1",
        "state": state,
        "ramp_type": "ON_RAMP",
        "status": "AWAITING_FUNDS",
        "fiat_gross": Decimal(10),
        "fiat_currency": "EUR",
        "approved_at": datetime(2026, 10, 15, tzinfo=UTC),
        "approved_on": date(2026, 10, 15),
        "pending": 0,
        **changed,
    }
    remark = dict.fromkeys(REQUEST_REMARKS.names) | {
        "file": "payments-1.xml",
        "filed_by": "ines",
        "filed_at": filed_at,
    }
    (funding,) = funding_rows([row], Rules(), TODAY, {"r1": remark})
    return funding.state, funding.overdue, funding.next_step


def test_a_payment_in_a_file_waits_for_its_debit_until_that_is_late() -> None:
    on_friday = datetime(2026, 10, 23, 9, tzinfo=UTC)
    wait = ("IN FILE", 0, "Wait for the debit; do not pay twice")
    assert filed("PAY", on_friday, evidence_to=date(2026, 10, 26)) == wait
    assert filed("CHECK BANK", on_friday, evidence_to=date(2026, 10, 22)) == wait
    assert filed("CHECK BANK", on_friday) == wait
    state, overdue, step = filed("PAY", on_friday, evidence_to=date(2026, 10, 28))
    assert (state, overdue) == ("IN FILE", 2)
    assert step == "No debit to 28 Oct: was it uploaded and released; do not pay twice"


def test_the_banks_lines_take_precedence_over_the_file() -> None:
    at = datetime(2026, 10, 23, 9, tzinfo=UTC)
    assert filed("CHECK BANK", at, maybe_on=date(2026, 10, 26))[0] == "CHECK BANK"
    assert filed("CHECK BANK", at, pending=1)[0] == "CHECK BANK"
    assert filed("SENT", at, sent_on=date(2026, 10, 26))[0] == "SENT"
    assert filed("RETURNED", at, returned_on=date(2026, 10, 27))[0] == "RETURNED"
    assert filed("RETURNED", at, returned_on=date(2026, 10, 22))[0] == "IN FILE"
    back = date(2026, 10, 27)
    assert filed("RETURNED", at, returned_on=back, came_back_of=date(2026, 10, 23))[0] == "RETURNED"
    # A file made after the returned debit contains another payment, which is under way.
    assert filed("RETURNED", at, returned_on=back, came_back_of=date(2026, 10, 22))[0] == "IN FILE"


def test_a_hash_without_a_reaction_of_the_service_is_reported_as_silence() -> None:
    row = dict.fromkeys(SCHEMA.names) | {
        "request_id": "r1",
        "state": "HASH GIVEN",
        "ramp_type": "OFF_RAMP",
        "status": "AWAITING_FUNDS",
        "crypto": Decimal(10),
        "crypto_currency": "USDC",
        "fiat_currency": "EUR",
        "approved_on": date(2026, 10, 15),
        "sent_on": TODAY - timedelta(days=1),
    }
    (in_time,) = funding_rows([row], Rules(), TODAY)
    assert not in_time.silent
    assert in_time.next_step.startswith("Wait: the service confirms the transaction by ")
    (late,) = funding_rows([row | {"sent_on": date(2026, 10, 15)}], Rules(), TODAY)
    assert late.silent
    assert "ask the provider, do not pay twice" in late.next_step


def test_an_empty_result_is_an_empty_table() -> None:
    with duckdb.connect() as connection:
        connection.from_arrow(SCHEMA.empty_table()).create("funding")
        table = funding_table(connection, Rules(), TODAY, None)
    assert table.schema == FUNDING
    assert table.num_rows == 0


def test_among_equal_requests_the_larger_comes_first() -> None:
    rows = [
        dict.fromkeys(SCHEMA.names)
        | {
            "request_id": f"r{crypto}",
            "state": "SEND CRYPTO",
            "ramp_type": "OFF_RAMP",
            "status": "AWAITING_FUNDS",
            "crypto": Decimal(crypto),
            "crypto_currency": "USDC",
            "approved_at": datetime(2026, 10, 26, tzinfo=UTC),
            "approved_on": date(2026, 10, 26),
            "pending": 0,
        }
        for crypto in (10, 250, 9000)
    ]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.from_arrow(pa.Table.from_pylist(rows, schema=SCHEMA)).create("funding")
        words = funding_table(connection, Rules(), TODAY, None)
    assert words["request"].to_pylist() == ["r9000", "r250", "r10"]
