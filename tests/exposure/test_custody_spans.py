"""Custodial balances between observations, and credits until a balance contains their coins."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from exposure_samples import ZONE, at, on, short
from hypothesis import given
from hypothesis import strategies as st

from treasury.close.valuation.exposure.custody_spans import credit_spans, custody_spans
from treasury.close.valuation.exposure.exposure_sums import HeldAmount, standing
from treasury.matching.rules import Rules
from treasury.month.conversion import Conversion


def seen(moment: datetime, total: int | None, known_in: int = 0, known_out: int = 0) -> Any:
    """Return an observed balance, with the sums of the known movements before it."""
    return level(moment, known_in, known_out) | {
        "is_observed": 1, "total": None if total is None else Decimal(total),
        "unread": int(total is None),
    }  # fmt: skip


def level(moment: datetime, known_in: int = 0, known_out: int = 0, unstated: int = 0) -> Any:
    """Return the sums of the known movements up to a time, without an observed balance."""
    return {
        "account_id": "a1", "asset": "USDC", "is_observed": 0, "moment": moment, "total": None,
        "wallets": 1, "unread": 0, "known_in": Decimal(known_in), "known_out": Decimal(known_out),
        "unstated": unstated,
    }  # fmt: skip


def credit(entry: str, day: date, amount: int = 900, **changed: Any) -> dict[str, Any]:
    """Return a credit, by default of EUR 900, on a virtual account that converts to USDC."""
    return {
        "account_id": "a1", "asset": "USDC", "currency": "EUR", "reference": "VFY-1",
        "entry_id": entry, "booking_date": day, "amount": Decimal(amount), "outcome": "matched",
        "is_instant": False, "is_decided": False, **changed,
    }  # fmt: skip


def converted(
    state: str, closed: datetime | None, *entries: str, edge: Sequence[str] = ()
) -> Conversion:
    """Return a conversion of these credits; the balance at `closed` ends it."""
    columns: dict[str, Any] = dict.fromkeys(Conversion.__struct_fields__)
    return Conversion(**{
        **columns, "state": state, "account_id": "a1", "account": "Sales", "asset": "USDC",
        "currency": "EUR", "closed_at": closed, "credits": len(entries), "edge_credits": len(edge),
        "reason": "", "next_step": "", "entry_ids": list(entries), "edge_ids": list(edge),
    })  # fmt: skip


def both(
    levels: Sequence[Any], credits_: Sequence[Any] = (), *conversions: Conversion,
    back: Sequence[Any] = (),
) -> tuple[list[HeldAmount], list[HeldAmount]]:  # fmt: skip
    """Return the spans of the balance, and the spans of its credits."""
    steps = {"balance_levels": levels, "conversion_credits": credits_, "credits_back": back}
    balances, unclear = custody_spans(levels, {"a1": "Sales"}, ZONE)
    return balances, list(credit_spans(steps, conversions, unclear, Rules(), ZONE))


def test_a_balance_follows_known_movements_and_then_stays() -> None:
    spans, _ = both([
        seen(at(1), 100), level(at(5), 40, 0), level(at(9), 40, 30), seen(at(12), 110, 40, 30),
    ])  # fmt: skip
    assert short(spans) == [
        ("custodial balance", 100, "01 12:00", "05 12:00"),
        ("custodial balance", 140, "05 12:00", "09 12:00"),
        ("custodial balance", 110, "09 12:00", "12 12:00"),
        ("custodial balance", 110, "12 12:00", None),
    ]
    assert spans[0].reference == "Sales"
    assert "balances seen 1 Oct 12:00 CEST and 12 Oct 12:00 CEST" in spans[0].evidence
    assert spans[-1].evidence.endswith("; no later balance was seen")


def test_the_difference_of_two_balances_is_in_doubt_and_the_lower_balance_is_certain() -> None:
    more, _ = both([seen(at(1), 100), seen(at(12), 150)])
    assert short(more)[:2] == [
        ("custodial balance", 100, "01 12:00", "12 12:00"),
        ("custodial balance?", 50, "01 12:00", "12 12:00"),
    ]
    less, _ = both([seen(at(1), 100), seen(at(12), 70)])
    assert short(less)[:2] == [
        ("custodial balance", 70, "01 12:00", "12 12:00"),
        ("custodial balance?", 30, "01 12:00", "12 12:00"),
    ]
    assert "lost from the balance" in less[1].problem


def test_withdrawals_above_the_balance_put_balance_and_credits_in_doubt() -> None:
    levels = [seen(at(1), 10), level(at(8), 0, 60), seen(at(20), 50, 0, 60)]
    spans, credits_ = both(levels, [credit("e1", on(3)), credit("e2", on(22))])
    assert short(spans) == [
        ("custodial balance", 10, "01 12:00", "08 12:00"),
        ("custodial balance?", 100, "08 12:00", "20 12:00"),
        ("custodial balance?", 100, "01 12:00", "08 12:00"),
        ("custodial balance", 50, "20 12:00", None),
    ]
    assert short(credits_) == [
        ("credit not converted", 900, "03 00:00", "08 12:00"),
        ("credit not converted?", 900, "08 12:00", "20 12:00"),
        ("credit not converted", 900, "20 12:00", None),
        ("credit not converted", 900, "22 00:00", None),
    ]


def test_a_movement_without_an_amount_leaves_the_balance_unknown() -> None:
    rows = [seen(at(1), 100), level(at(5), unstated=1), seen(at(12), 90) | {"unstated": 1}]
    spans, _ = both(rows)
    assert short(spans)[0] == ("custodial balance?", None, "01 12:00", "12 12:00")
    open_end, _ = both([seen(at(1), 100), level(at(5), unstated=1)])
    assert short(open_end) == [
        ("custodial balance", 100, "01 12:00", "05 12:00"),
        ("custodial balance?", None, "05 12:00", None),
    ]


def test_an_unreadable_balance_is_not_an_observation() -> None:
    spans, _ = both([seen(at(1), 100), seen(at(5), None), level(at(6), 0, 30)])
    assert short(spans) == [
        ("custodial balance", 100, "01 12:00", "06 12:00"),
        ("custodial balance", 70, "06 12:00", None),
    ]


def test_a_credit_is_fiat_until_the_balance_that_holds_its_coins() -> None:
    levels = [seen(at(1), 0), seen(at(10), 1000)]
    _, (only,) = both(levels, [credit("e1", on(3))], converted("proved", at(10), "e1"))
    assert short([only]) == [("credit not converted", 900, "03 00:00", "10 12:00")]
    assert (only.left_at, only.left_by) == (at(10), "converted: its coins are in the balance")


def test_credits_that_may_be_on_either_side_of_a_balance_are_in_doubt() -> None:
    levels = [seen(at(1), 0), seen(at(10), 1000), seen(at(20), 2000)]
    _, spans = both(
        levels, [credit("e1", on(8))],
        converted("proved", at(10), "e0", edge=("e1",)), converted("proved", at(20), "e1"),
    )  # fmt: skip
    assert short(spans) == [
        ("credit not converted", 900, "08 00:00", "10 12:00"),
        ("credit not converted?", 900, "10 12:00", "20 12:00"),
    ]
    _, unnamed = both(levels[:2], [credit("e1", on(9))], converted("not_provable", at(10)))
    assert short(unnamed) == [
        ("credit not converted", 900, "09 00:00", "10 12:00"),
        ("credit not converted?", 900, "10 12:00", None),
    ]
    _, told = both(levels, [credit("e1", on(9))], converted("not_provable", at(10)))
    assert short(told)[1][3] == "20 12:00", "its deadline had passed when that balance was seen"


def test_waiting_held_and_misplaced_credits_are_marked() -> None:
    levels = [seen(at(1), 0)]
    for state, word in (("not_yet_credited", "NOT YET CREDITED"), ("held_kyc", "HELD BY KYC")):
        _, (only,) = both(levels, [credit("e1", on(3))], converted(state, at(1), "e1"))
        assert (only.state, only.is_proved, only.until) == (word, True, None)
    _, (wrong,) = both(levels, [credit("e1", on(3))], converted("not_shown", at(1), "e1"))
    assert not wrong.is_proved
    assert "assigned to this account by a person" in wrong.problem


def test_a_line_claimed_twice_counts_once() -> None:
    rows = [
        credit("e1", on(3), outcome="unreferenced", account_id="a2"),
        credit("e1", on(3), outcome="matched"),
        credit("e2", on(4), 400), credit("e2", on(4), 500, account_id="a2"),
    ]  # fmt: skip
    _, spans = both([], rows)
    assert [each.amount for each in spans] == [900, 400, 500], "shares of a divided line all count"


def test_money_returned_to_its_payer_is_exposed_until_the_end_of_that_day() -> None:
    back = {
        "entry_id": "e9", "booking_date": on(5), "amount": Decimal(70), "currency": "EUR",
        "back_on": on(7), "account": "BE1", "file_name": "r.xml", "position": "1",
    }  # fmt: skip
    _, (only,) = both([], back=[back])
    assert short([only]) == [("credit not converted", 70, "05 00:00", "08 00:00")]
    assert (only.state, only.left_at) == ("SENT BACK", at(8, 0))


@given(st.lists(st.tuples(st.integers(-60, 60), st.booleans()), min_size=1, max_size=8))
def test_a_balance_is_never_counted_twice_or_above_the_observed_amount(
    moves: list[tuple[int, bool]],
) -> None:
    """Some moves are known and others seen only in the next balance; one proved level at a time."""
    rows, total, known_in, known_out = [seen(at(1), 50)], 50, 0, 0
    highest = 50
    for day, (amount, is_known) in enumerate(moves, 2):
        if total + amount < 0:
            continue
        total += amount
        highest = max(highest, total)
        if is_known:
            known_in, known_out = known_in + max(amount, 0), known_out + max(-amount, 0)
            rows.append(level(at(day), known_in, known_out))
        else:
            rows.append(seen(at(day), total, known_in, known_out))
    spans, _ = both(rows)
    for day in range(2, len(moves) + 3):
        for hour in (6, 12, 18):
            sure = standing([each for each in spans if each.is_proved], at(day, hour))
            assert len(sure) <= 1
            assert all(each.amount is not None and 0 < each.amount <= highest for each in sure)
