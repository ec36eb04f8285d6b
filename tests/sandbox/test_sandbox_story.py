"""The story of the simulated company, with the exceptions that October's close must find."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from treasury.core.calendar import is_target_day, next_target_day
from treasury.sandbox import Sandbox
from treasury.sandbox.story.mangle import MANGLINGS, UNBROKEN


@pytest.fixture(scope="module")
def october(sandbox: Sandbox) -> list[dict[str, Any]]:
    return [row for row in sandbox.truth() if row["booking_date"].startswith("2026-10")]


def clean(row: dict[str, Any]) -> bool:
    trouble = row["contradiction"] or row["returned"] or row["duplicate"]
    return row["unbroken"] and not trouble


@pytest.mark.parametrize("seed", [1, 7, 2026])
def test_october_is_mostly_clean_and_has_every_kind_of_exception(seed: int) -> None:
    rows = [r for r in Sandbox(seed).truth() if r["booking_date"].startswith("2026-10")]
    matched = sum(map(clean, rows))
    assert 390 <= len(rows) <= 440
    assert 335 <= matched <= 375
    contradictions = Counter(row["contradiction"] for row in rows if row["contradiction"])
    assert contradictions == {"account": 1, "status": 1, "direction": 1, "two_codes": 1}
    assert sum(row["duplicate"] for row in rows) == 1
    assert sum(row["returned"] for row in rows) == 4
    classes = Counter(row["line_class"] for row in rows if row["line_class"])
    assert set(classes) == {"bank_charge", "own_transfer", "other_business", "conversion_sweep"}
    assert {row["mangling"] for row in rows} >= set(MANGLINGS) - {"none"}


def test_a_ceiling_is_auto_only_where_a_reference_or_a_known_payer_allows_it(
    october: list[dict[str, Any]],
) -> None:
    for row in october:
        if clean(row):
            assert row["ceiling"] == "auto"
        elif row["ceiling"] == "auto":
            assert row["mangling"] in {"split_space", "split_line"}
        if row["line_class"] or row["contradiction"] or row["returned"] or row["duplicate"]:
            assert row["ceiling"] == "never"
        assert row["unbroken"] is (row["mangling"] in UNBROKEN)


def test_the_three_equal_payouts_share_a_day_and_an_amount_and_have_no_reference(
    october: list[dict[str, Any]],
) -> None:
    rows = [row for row in october if row["note"] == "three equal payouts"]
    assert len(rows) == 3
    assert len({(row["booking_date"], row["amount"], row["account"]) for row in rows}) == 1
    assert len({row["expectation"]["id"] for row in rows}) == 3
    assert {row["ceiling"] for row in rows} == {"never"}


def test_all_statuses_occur_and_the_truth_lists_every_request_that_awaits_funds(
    sandbox: Sandbox, requests: list[dict[str, Any]]
) -> None:
    assert {request["status"] for request in requests} == {
        "AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING", "SUCCEEDED", "CANCELLED", "REJECTED",
        "DENIED", "BLOCKED",
    }  # fmt: skip
    told = sandbox.truth_requests()
    awaiting = {request["id"] for request in requests if request["status"] == "AWAITING_FUNDS"}
    assert {row["id"] for row in told} == awaiting
    assert Counter(row["state"] for row in told) == {
        "PAY": 3, "SENT": 1, "SENT WRONG": 1, "RETURNED": 1, "SEND CRYPTO": 1, "HASH GIVEN": 1,
    }  # fmt: skip
    amounts = {request["id"]: request["fiatAmount"] for request in requests}
    overdue = [row for row in told if row["note"].startswith("overdue")]
    assert sum(amounts[row["id"]] for row in overdue) == 40000
    assert [amounts[row["id"]] for row in told if row["state"] == "SENT"] == [25000]


def test_on_2_november_the_missing_wire_is_late_and_the_last_approval_not_yet_due(
    sandbox: Sandbox, requests: list[dict[str, Any]]
) -> None:
    today, states = sandbox.now.date(), {r["id"]: r for r in sandbox.truth_requests()}
    sent = {r["expectation"]["id"]: r for r in sandbox.truth() if r["expectation"]}
    for request in requests:
        state = states.get(request["id"])
        if state is None:
            continue
        approved = date.fromisoformat(request["events"][1]["createdAt"][:10])
        if state["state"] == "SENT":
            booked = date.fromisoformat(sent[request["id"]]["booking_date"])
            assert next_target_day(booked) < today
        elif state["state"] == "PAY":
            assert request["id"] not in sent
            is_overdue = next_target_day(approved) < today
            assert is_overdue is state["note"].startswith("overdue")


def test_receipts_follow_the_bank_booking_and_payouts_precede_it(
    sandbox: Sandbox, requests: list[dict[str, Any]]
) -> None:
    first: dict[str, dict[str, Any]] = {}
    for row in sandbox.truth():
        if row["expectation"] and row["contradiction"] is None:
            first.setdefault(row["expectation"]["id"], row)
    proved = 0
    for request in requests:
        row = first.get(request["id"])
        events = {event["eventType"]: event["createdAt"][:10] for event in request["events"]}
        if row is None:
            continue
        assert is_target_day(date.fromisoformat(row["booking_date"]))
        if row["direction"] == "DBIT" and "PAYMENT_RECEIVED" in events:
            assert row["booking_date"] <= events["PAYMENT_RECEIVED"]
            assert request["amountReceived"] == Decimal(row["amount"])
            proved += 1
        elif row["direction"] == "CRDT":
            assert row["booking_date"] >= events["COMPLETED"]
            proved += 1
    assert proved > 100


def test_one_payout_of_october_never_arrived(
    sandbox: Sandbox, requests: list[dict[str, Any]]
) -> None:
    arrived = {row["expectation"]["id"] for row in sandbox.truth() if row["expectation"]}
    missing = [
        request for request in requests
        if request["rampType"] == "OFF_RAMP" and request["status"] == "SUCCEEDED"
        and request["id"] not in arrived
    ]  # fmt: skip
    assert [request["events"][-1]["createdAt"][:7] for request in missing] == ["2026-10"]


def test_october_completes_about_twenty_requests_and_their_fees(
    requests: list[dict[str, Any]],
) -> None:
    done = [
        request for request in requests
        if request["status"] == "SUCCEEDED"
        and request["events"][-1]["createdAt"].startswith("2026-10")
    ]  # fmt: skip
    assert 18 <= len(done) <= 25
    assert {request["feePercentage"] for request in done} == {Decimal("0.8"), Decimal("0.6")}


def test_three_requests_of_the_maker_await_the_checker(
    requests: list[dict[str, Any]],
) -> None:
    left = [request for request in requests if request["status"] == "AWAITING_APPROVAL"]
    assert len(left) == 3
    assert {request["events"][0]["username"] for request in left} == {"maker"}


def test_payment_references_are_unique_and_ascending(requests: list[dict[str, Any]]) -> None:
    ordered = sorted(requests, key=lambda request: request["createdAt"])
    references = [request["paymentReference"] for request in ordered]
    assert references == sorted(set(references))


def test_a_broken_code_is_never_another_valid_code(sandbox: Sandbox) -> None:
    rows = sandbox.truth()
    codes = {row["expectation"]["code"] for row in rows if row["expectation"]}
    for name in set(MANGLINGS) - set(UNBROKEN):
        for code in codes:
            text = MANGLINGS[name].write(code, 1234)
            words = {w.upper().replace("-", "") for part in text.remittance for w in part.split()}
            assert words.isdisjoint(other.replace("-", "") for other in codes)


def test_another_seed_changes_the_records_but_not_the_company(sandbox: Sandbox) -> None:
    other = Sandbox(8)
    assert other.truth() != sandbox.truth()
    assert Sandbox(7).truth() == sandbox.truth()
    assert other.company_name == sandbox.company_name == "Harbour Lane Trading NV"
    assert other.now == sandbox.now


def test_every_amount_of_the_truth_is_a_positive_decimal_string(sandbox: Sandbox) -> None:
    for row in sandbox.truth():
        amount = Decimal(row["amount"])
        assert amount > 0
        assert amount.as_tuple().exponent == -2
