"""Which ramp requests the company makes, and when: the routine, and October's special cases.

A plan says what is asked for and how it will go; `desk` carries it out. Every outcome that an
analyst may meet stands in October at least once, on days chosen so that on the morning of
2 November each is exactly as late as its note says.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from random import Random
from typing import Final

import msgspec

from treasury.calendar import Month, is_target_day
from treasury.ground.decoding import convert
from treasury.sandbox.story.mangle import UNBROKEN

__all__ = ["Plan", "plans"]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One ramp request to come. `paid` is what the wire carries beyond or below what was asked."""

    day: date
    clock: str = "09:00"
    ramp_type: str = "ON_RAMP"
    amount: Decimal
    asset: str = "USDC"
    outcome: str = "settled"
    mangling: str = "plain"
    rate: Decimal | None = None
    paid: Decimal = Decimal(0)
    note: str = ""
    id: str = ""


def _on(day: str, clock: str, amount: int, outcome: str, **more: object) -> Plan:
    fields = {"clock": clock, "amount": Decimal(amount), "outcome": outcome, **more}
    return convert({"day": date.fromisoformat(f"2026-{day}"), **fields}, Plan)


def _off(day: str, clock: str, amount: int, outcome: str, **more: object) -> Plan:
    return _on(day, clock, amount, outcome, ramp_type="OFF_RAMP", **more)


_EQUAL: Final = {"rate": Decimal("0.9215"), "mangling": "empty", "note": "three equal payouts"}

_SCRIPT: Final = (
    # The two requests of the contract's examples.
    _on("05-05", "11:00", 25000, "same_day", rate=Decimal("0.9231"),
        id="eeefe351-e8ff-4dd6-a062-f7f43c5bbb0e"),
    _off("05-06", "09:30", 10000, "settled", rate=Decimal("0.92"),
         id="5c739fba-638d-49b6-aa12-7bd6b4f1fc1c"),
    # Now and then the platform steps in.
    _on("06-10", "10:10", 18000, "denied"),
    _off("07-15", "14:20", 7000, "denied"),
    _on("08-19", "09:45", 32000, "blocked"),
    # October: settled, but not as asked.
    _on("10-05", "09:40", 10000, "settled", paid=Decimal("-0.01"), note="short by a cent"),
    _on("10-06", "10:15", 5000, "settled", paid=Decimal("50.00"), note="over by EUR 50.00"),
    _on("10-12", "09:50", 14000, "paid_twice"),
    _on("10-08", "11:30", 6400, "settled", mangling="split_space"),
    _on("10-15", "11:30", 8850, "settled", mangling="one_off"),
    _off("10-13", "10:05", 4200, "settled", mangling="empty", note="payout without a reference"),
    _off("10-19", "10:25", 3900, "settled", mangling="cut_off"),
    _off("10-20", "09:35", 5000, "settled", **_EQUAL),
    _off("10-20", "09:36", 5000, "settled", **_EQUAL),
    _off("10-20", "09:37", 5000, "settled", **_EQUAL),
    _off("10-26", "09:30", 8600, "payout_missing"),
    # October: closed before anything should have been paid.
    _on("10-07", "09:10", 9200, "cancelled_paid"),
    _on("10-14", "15:20", 7300, "rejected"),
    _off("10-16", "13:40", 2500, "cancelled"),
    _on("10-21", "10:30", 45000, "denied"),
    _on("10-22", "09:55", 11500, "blocked"),
    # Open on the morning of 2 November.
    _on("10-26", "09:15", 16500, "wire_returned"),
    _on("10-27", "10:40", 12000, "paid_short", paid=Decimal("-12.00")),
    _on("10-28", "09:25", 15000, "not_paid", note="overdue since 29 October"),
    _on("10-28", "09:45", 25000, "sent_silent"),
    _on("10-28", "11:20", 13200, "processing"),
    _off("10-28", "14:05", 6100, "processing"),
    _on("10-29", "09:00", 25000, "not_paid", note="overdue since 30 October"),
    _off("10-29", "10:15", 4800, "send_crypto"),
    _off("10-30", "09:30", 10000, "hash_given"),
    _on("10-30", "14:40", 8000, "not_paid", note="not yet due"),
    _on("10-30", "15:30", 22000, "waiting"),
    _off("10-30", "16:05", 7500, "waiting"),
    _on("11-02", "08:35", 5600, "waiting", asset="EURC"),
)  # fmt: skip

_ROUTINE: Final = (("ON_RAMP", 11), ("OFF_RAMP", 10))
_QUIET: Final = {"10": (("ON_RAMP", 6), ("OFF_RAMP", 4))}
"""How many routine requests a month has; October has its script besides."""


_HELD: Final = {
    ("ON_RAMP", "blocked"): "blocked_paid",
    ("ON_RAMP", "denied"): "denied_paid",
    ("OFF_RAMP", "cancelled"): "denied_sent",
}
"""What becomes of October's requests at a provider that holds the money."""


def plans(random: Random, *, holds_money: bool = False) -> list[Plan]:
    """Every ramp request of the six months, in the order of creation."""
    planned = list(_SCRIPT)
    if holds_money:
        planned = [
            msgspec.structs.replace(
                plan, outcome=_HELD.get((plan.ramp_type, plan.outcome), plan.outcome)
            )
            if plan.day.month == 10
            else plan
            for plan in planned
        ]
    for number in range(5, 11):
        month = Month(2026, number)
        days = [day for day in month.days() if is_target_day(day) and 7 <= day.day <= 24]
        for ramp_type, count in _QUIET.get(str(number), _ROUTINE):
            planned += [_routine(random, ramp_type, random.choice(days), n) for n in range(count)]
        if number < 10:
            for outcome, ramp_type in (("cancelled", "ON_RAMP"), ("rejected", "OFF_RAMP")):
                day, amount = random.choice(days), Decimal(random.randrange(40, 300) * 50)
                plan = Plan(day=day, clock=_clock(random), amount=amount, ramp_type=ramp_type)
                planned.append(msgspec.structs.replace(plan, outcome=outcome))
    return sorted(planned, key=lambda plan: (plan.day, plan.clock))


def _routine(random: Random, ramp_type: str, day: date, ordinal: int) -> Plan:
    amount = Decimal(60000) if ordinal == 0 else Decimal(random.randrange(70, 380) * 50)
    without = ramp_type == "OFF_RAMP" and ordinal == 1
    return Plan(
        day=day, clock=_clock(random), ramp_type=ramp_type, amount=amount,
        asset=random.choices(("USDC", "EURC"), (5, 1))[0],
        mangling="missing" if without else random.choices(UNBROKEN[:15], (20, *[1] * 14))[0],
        note="payout without a reference" if without else "",
    )  # fmt: skip


def _clock(random: Random) -> str:
    return f"{random.randrange(8, 15):02d}:{random.randrange(60):02d}"
