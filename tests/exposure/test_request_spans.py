"""Each status of an on-ramp and an off-ramp: the amounts, their kinds, starts and ends."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from exposure_samples import ZONE, at, debit, on, payout, request, short, told, turn
from hypothesis import given
from hypothesis import strategies as st

from treasury.close.valuation.exposure.exposure_sums import HeldAmount, standing

APPROVED = turn(at(5, 10), "AWAITING_FUNDS")
OFF = "OFF_RAMP"


def test_a_debit_is_exposed_from_its_day_until_delivery() -> None:
    spans = told(
        request(status="SUCCEEDED", received_at=at(7, 9), completed_at=at(7, 11)),
        debits=[debit(on(6))],
        turns=[APPROVED, turn(at(7, 9), "PROCESSING"), turn(at(7, 11), "SUCCEEDED")],
    )
    assert short(spans) == [
        ("fiat in transit", 1000, "06 00:00", "07 09:00"),
        ("fiat in transit", 1000, "07 09:00", "07 11:00"),
    ]
    assert {each.left_at for each in spans} == {at(7, 11)}
    assert {each.began for each in spans} == {at(6, 0)}


def test_a_silent_service_leaves_the_money_in_transit() -> None:
    (only,) = told(request(), debits=[debit(on(29))], turns=[APPROVED])
    assert short([only]) == [("fiat in transit", 1000, "29 00:00", None)]
    assert (only.state, only.left_at, only.evidence) == (
        "AWAITING_FUNDS", None, "debited 2026-10-29: october.xml, Ntry[1]",
    )  # fmt: skip


def test_processing_beyond_its_deadline_is_stuck() -> None:
    spans = told(
        request(status="PROCESSING", received_at=at(8, 9)),
        debits=[debit(on(8))],
        turns=[turn(at(8, 9), "PROCESSING")],
    )
    assert [each.kind for each in spans] == ["fiat in transit", "fiat in transit", "stuck"]
    # The end of 9 October, which is the next TARGET day after Thursday, 8 October.
    assert spans[-1].since == at(10, 0)


@pytest.mark.parametrize("status", ["CANCELLED", "REJECTED", "DENIED", "FAILED"])
def test_an_ended_on_ramp_is_stuck_until_the_money_is_returned(status: str) -> None:
    ended = request(status=status)
    turns = [APPROVED, turn(at(9, 14), status)]
    assert short(told(ended, debits=[debit(on(8))], turns=turns)) == [
        ("fiat in transit", 1000, "08 00:00", "09 14:00"),
        ("stuck", 1000, "09 14:00", None),
    ]
    back = told(ended, debits=[debit(on(8), back_on=on(12))], turns=turns)
    assert short(back)[-1] == ("stuck", 1000, "09 14:00", "13 00:00")
    assert back[-1].left_by == "money back at the bank on 2026-10-12"
    perhaps = told(ended, debits=[debit(on(8), perhaps_back_on=on(12))], turns=turns)
    assert short(perhaps)[1:] == [
        ("stuck", 1000, "09 14:00", "13 00:00"),
        ("stuck?", 1000, "13 00:00", None),
    ]


def test_blocked_money_is_blocked_until_it_is_released() -> None:
    spans = told(
        request(status="PROCESSING", received_at=at(7, 9)),
        debits=[debit(on(6))],
        turns=[
            APPROVED, turn(at(7, 9), "PROCESSING"), turn(at(7, 12), "BLOCKED"),
            turn(at(8, 12), "PROCESSING"),
        ],
    )  # fmt: skip
    assert [(each.kind, each.state) for each in spans] == [
        ("fiat in transit", "AWAITING_FUNDS"),
        ("fiat in transit", "PROCESSING"),
        ("blocked", "BLOCKED"),
        ("fiat in transit", "PROCESSING"),
        ("stuck", "PROCESSING"),
    ]


def test_an_unknown_status_leaves_the_money_at_the_provider() -> None:
    spans = told(request(status="UNDER_REVIEW"), debits=[debit(on(6))], turns=[
        APPROVED, turn(at(7, 9), "UNDER_REVIEW"),
    ])  # fmt: skip
    assert (spans[-1].kind, spans[-1].state, spans[-1].until) == (
        "fiat in transit", "UNDER_REVIEW", None,
    )  # fmt: skip


def test_money_received_by_the_service_is_exposed_without_a_bank_line() -> None:
    stated = told(request(status="PROCESSING", received_at=at(29, 9)))
    assert short(stated) == [("fiat in transit", 1000, "29 09:00", None)]
    assert "no line shows it" in stated[0].evidence
    only_status = told(request(status="PROCESSING"), turns=[turn(at(29, 9), "PROCESSING")])
    assert short(only_status)[0] == ("fiat in transit", 1000, "29 09:00", "31 00:00")


def test_an_unpaid_request_has_no_exposure() -> None:
    for status in ("AWAITING_APPROVAL", "AWAITING_FUNDS", "BLOCKED", "CANCELLED", "DENIED"):
        assert told(request(status=status), turns=[turn(at(5), status)]) == []
        assert told(request(OFF, status=status), turns=[turn(at(5), status)]) == []


def test_a_succeeded_request_without_its_event_ends_with_its_status() -> None:
    turns = [APPROVED, turn(at(7, 11), "SUCCEEDED")]
    spans = told(request(status="SUCCEEDED"), debits=[debit(on(6))], turns=turns)
    assert short(spans) == [("fiat in transit", 1000, "06 00:00", "07 11:00")]
    off = told(request(OFF, status="SUCCEEDED"), turns=turns)
    assert short(off) == [("payout outstanding", 990, "07 11:00", None)]


def test_a_delivery_before_the_debit_has_no_exposure() -> None:
    early = request(status="SUCCEEDED", received_at=at(6, 9), completed_at=at(6, 10))
    assert told(early, debits=[debit(on(7))], turns=[turn(at(6, 9), "PROCESSING")]) == []


def test_an_overpayment_is_shown_next_to_the_request() -> None:
    done = request(status="SUCCEEDED", received_at=at(7, 9), completed_at=at(7, 11))
    lines = [
        debit(on(6)), debit(on(6), "above", amount=Decimal("50.00")),
        debit(on(7), "twice", perhaps_back_on=on(20)), debit(on(8), "elsewhere"),
    ]  # fmt: skip
    spans = told(done, debits=lines)
    later = [each for each in spans if each.until is None or each.until > at(9)]
    assert short(later) == [
        ("stuck", 50, "06 00:00", None),
        ("stuck", 1000, "07 00:00", "21 00:00"),
        ("fiat in transit?", 1000, "08 00:00", None),
        ("stuck?", 1000, "21 00:00", None),
    ]
    assert [each.state for each in later[:2]] == ["MORE THAN WAS ASKED", "PAID TWICE"]
    assert {each.subject for each in later} == {"line"}


def test_a_contradicted_line_is_stuck_and_in_doubt_after_delivery() -> None:
    closed = told(request(status="CANCELLED"), debits=[debit(on(8), "contradicted")])
    assert short(closed) == [("stuck", 1000, "08 00:00", None)]
    delivered = request(status="SUCCEEDED", completed_at=at(9, 9))
    spans = told(delivered, debits=[debit(on(8), "contradicted")])
    assert short(spans) == [
        ("stuck", 1000, "08 00:00", "09 09:00"),
        ("stuck?", 1000, "09 09:00", None),
    ]


def test_a_payment_for_a_closed_request_is_exposed_by_its_status() -> None:
    turns = [APPROVED, turn(at(9, 10), "PROCESSING"), turn(at(9, 12), "BLOCKED")]
    line = debit(on(8), "closed")
    held = told(request(status="BLOCKED", received_at=at(9, 10)), debits=[line], turns=turns)
    assert [(each.kind, each.state) for each in held] == [
        ("fiat in transit", "AWAITING_FUNDS"), ("fiat in transit", "PROCESSING"),
        ("blocked", "BLOCKED"),
    ]  # fmt: skip
    denied = told(request(status="DENIED"), debits=[line], turns=[turn(at(9, 12), "DENIED")])
    assert short(denied) == [
        ("fiat in transit", 1000, "08 00:00", "09 12:00"),
        ("stuck", 1000, "09 12:00", None),
    ]
    cancelled = [turn(at(7), "CANCELLED")]
    again = told(request(status="CANCELLED"), debits=[debit(on(8), "closed")], turns=cancelled)
    assert short(again) == [("stuck", 1000, "08 00:00", None)]
    done = request(status="SUCCEEDED", completed_at=at(7, 9))
    after = told(done, debits=[debit(on(6)), line], turns=[turn(at(7, 9), "SUCCEEDED")])
    assert short(after)[-1] == ("stuck", 1000, "08 00:00", None)
    assert after[-1].state == "PAID TO CLOSED REQUEST"


def test_an_undecided_line_is_in_doubt_and_in_no_sum() -> None:
    undecided = debit(on(8), "undecided")
    assert short(told(request(), debits=[undecided])) == [
        ("fiat in transit?", 1000, "08 00:00", None)
    ]
    received = request(status="PROCESSING", received_at=at(9, 9))
    assert short(told(received, debits=[undecided])) == [
        ("fiat in transit", 1000, "09 09:00", None)
    ], "the service has it, so it counts once, as the service reports"


# Off-ramp


def off(status: str = "AWAITING_FUNDS", **changed: Any) -> dict[str, Any]:
    return request(OFF, status, **{"sent_at": at(6, 10), **changed})


DONE = {"status": "SUCCEEDED", "received_at": at(7, 9), "completed_at": at(7, 11)}


def test_coins_are_exposed_until_completion_and_the_payout_until_the_bank_shows_it() -> None:
    spans = told(off(**DONE), payouts=[payout(on(8))], turns=[turn(at(7, 9), "PROCESSING")])
    assert short(spans) == [
        ("crypto sent", 1100, "06 10:00", "07 09:00"),
        ("crypto sent", 1100, "07 09:00", "07 11:00"),
        ("payout outstanding", 990, "07 11:00", "09 00:00"),
    ]
    assert {each.currency for each in spans} == {"USDC", "EUR"}
    assert {each.left_at for each in spans} == {at(9, 0)}
    assert {each.began for each in spans} == {at(6, 10)}


def test_a_partial_payout_leaves_the_rest_outstanding() -> None:
    spans = told(off(**DONE), payouts=[payout(on(8), "400.00"), payout(on(12), "590.00")])
    assert short(spans)[1:] == [
        ("payout outstanding", 990, "07 11:00", "09 00:00"),
        ("payout outstanding", 590, "09 00:00", "13 00:00"),
    ]
    early = told(off(), payouts=[payout(on(8), "400.00")])
    assert short(early) == [
        ("crypto sent", 1100, "06 10:00", "09 00:00"),
        ("payout outstanding", 590, "09 00:00", None),
    ]
    assert early[1].evidence_in(ZONE).startswith("a part was paid out by 9 Oct 00:00 CEST")


def test_a_credit_that_may_be_the_payout_puts_it_in_doubt() -> None:
    spans = told(off(**DONE), payouts=[payout(on(8), standing="undecided")])
    assert short(spans)[1:] == [
        ("payout outstanding", 990, "07 11:00", "09 00:00"),
        ("payout outstanding?", 990, "09 00:00", None),
    ]
    unknown = told(off(**{**DONE, "fiat_net_amount": None}))
    assert short(unknown)[1:] == [("payout outstanding?", None, "07 11:00", None)]


@pytest.mark.parametrize("status", ["CANCELLED", "REJECTED", "DENIED", "FAILED"])
def test_coins_of_an_ended_off_ramp_are_in_doubt(status: str) -> None:
    spans = told(off(status), turns=[turn(at(9, 14), status)])
    assert short(spans) == [
        ("crypto sent", 1100, "06 10:00", "09 14:00"),
        ("crypto sent?", 1100, "09 14:00", None),
    ]
    assert spans[1].next_step == "ask the provider for them"


def test_coins_of_a_blocked_or_late_off_ramp_are_blocked_or_stuck() -> None:
    turns = [turn(at(6, 11), "PROCESSING"), turn(at(7, 9), "BLOCKED")]
    assert [each.kind for each in told(off("BLOCKED"), turns=turns)] == [
        "crypto sent", "crypto sent", "blocked",
    ]  # fmt: skip
    assert [each.kind for each in told(off("PROCESSING"), turns=turns[:1])][-1] == "stuck"
    only_status = told(off("PROCESSING", sent_at=None), turns=turns[:1])
    assert short(only_status)[0][:3] == ("crypto sent", 1100, "06 11:00")


def test_a_reused_hash_proves_neither_coins_nor_payout() -> None:
    spans = told(off(**DONE, is_hash_in_doubt=True), payouts=[payout(on(8))])
    assert short(spans) == [
        ("crypto sent?", 1100, "06 10:00", "07 11:00"),
        ("payout outstanding?", 990, "07 11:00", "09 00:00"),
    ]


def test_coins_of_a_custodial_balance_count_for_the_request_once_the_transfer_settled() -> None:
    custody = {"is_from_custody": True, "is_settled": 0, "settled_at": None}
    assert told(off(**custody)) == [], "they still count in the balance"
    # The first transfer settles before the request gets its hash, the second after it.
    for settled in (at(6, 9), at(6, 12)):
        spans = told(off(**{**custody, "is_settled": 1, "settled_at": settled}))
        assert [each.since for each in spans] == [settled], "no gap and nothing twice"


# Invariants


statuses = st.sampled_from((
    "AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING", "BLOCKED", "SUCCEEDED", "CANCELLED",
    "DENIED", "FAILED", "SOMETHING_NEW",
))  # fmt: skip
hours = st.integers(0, 24 * 29).map(lambda hour: at(1, 0) + timedelta(hours=hour))


_STANDINGS = ("sent", "twice", "contradicted", "closed", "undecided")


@st.composite
def drawn_requests(draw: st.DrawFn) -> list[HeldAmount]:
    turns = [turn(moment, draw(statuses)) for moment in draw(st.lists(hours, max_size=5))]
    sent, received, completed = sorted(draw(st.lists(hours, min_size=3, max_size=3)))
    is_on = draw(st.booleans())
    of = request(
        "ON_RAMP" if is_on else OFF, draw(statuses), is_hash_in_doubt=draw(st.booleans()),
        sent_at=draw(st.sampled_from((sent, None))),
        received_at=draw(st.sampled_from((received, None))),
        completed_at=draw(st.sampled_from((completed, None))),
    )  # fmt: skip
    day = draw(st.integers(1, 28))
    maybe = st.none() | st.integers(day, 30).map(on)
    debits = [
        debit(on(day), draw(st.sampled_from(_STANDINGS)),
              back_on=draw(maybe), perhaps_back_on=draw(maybe))
    ]  # fmt: skip
    payouts = [payout(on(day), draw(st.sampled_from(("400.00", "990.00", "1200.00"))))]
    return told(of, debits=debits * draw(st.integers(0, 1)), turns=turns,
                payouts=payouts * draw(st.integers(0, 1)))  # fmt: skip


@given(drawn_requests())
def test_an_amount_has_one_exposure_state_at_a_time(spans: list[HeldAmount]) -> None:
    """The spans of one request, proved or in doubt, never overlap; nor do those of one line."""
    # A payment in addition to the request's amount is separate money, with the subject "line".
    for subject in ("request", "line"):
        for before, after in pairwise(each for each in spans if each.subject == subject):
            assert before.until is not None
            assert before.until <= after.since
    for each in spans:
        assert each.until is None or each.since < each.until
        assert each.began <= each.since
        assert each.problem if not each.is_proved else not each.problem
        assert each.amount is not None
        assert each.amount > 0


@given(drawn_requests(), hours)
def test_the_exposure_never_exceeds_the_given_amount(
    spans: list[HeldAmount], instant: datetime
) -> None:
    stands = standing([each for each in spans if each.is_proved], instant)
    assert len(stands) == len({each.subject for each in stands})
    assert all(each.amount in (1000, 1100, 990, 590) for each in stands)
