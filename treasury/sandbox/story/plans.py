"""Plans for the company's ramp requests: routine requests, and special cases.

A plan has the ordered amount and the outcome; `request_story` executes it. `plans.toml` has the
special cases, most of them in October. The days are chosen so that on the morning of 2 November
each request is as late as its note states.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from random import Random
from typing import Final

import msgspec
from msgspec.structs import replace

from treasury.core.calendar import Month, is_target_day
from treasury.core.decoding import convert
from treasury.core.files.package_files import package_toml
from treasury.sandbox.story.mangle import UNBROKEN


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A planned ramp request; `paid` is added to the amount of its wire or payout."""

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


_SCRIPT: Final = convert(package_toml(__package__, "plans.toml")["requests"], tuple[Plan, ...])
_ROUTINE: Final = (("ON_RAMP", 11), ("OFF_RAMP", 10))
_QUIET: Final = {"10": (("ON_RAMP", 6), ("OFF_RAMP", 4))}
"""Number of routine requests in October, which also has most of the requests of `plans.toml`."""


_HOLDING: Final = {
    (10, "ON_RAMP", "blocked"): "blocked_paid",
    (10, "ON_RAMP", "denied"): "denied_paid",
    (10, "OFF_RAMP", "cancelled"): "denied_sent",
}
"""October's outcomes in the scenario in which the provider keeps the money."""


def plans(random: Random, *, holds_money: bool = False) -> list[Plan]:
    """Return the plans for all ramp requests from May to 2 November, in creation order."""
    outcomes = _HOLDING if holds_money else {}
    planned = [
        replace(
            plan, outcome=outcomes.get((plan.day.month, plan.ramp_type, plan.outcome), plan.outcome)
        )
        for plan in _SCRIPT
    ]
    for number in range(5, 11):
        month = Month(2026, number)
        days = [day for day in month.days() if is_target_day(day) and 7 <= day.day <= 24]
        for ramp_type, count in _QUIET.get(str(number), _ROUTINE):
            planned += [_routine(random, ramp_type, random.choice(days), n) for n in range(count)]
        if number < 10:
            for outcome, ramp_type in (("cancelled", "ON_RAMP"), ("rejected", "OFF_RAMP")):
                day, amount = random.choice(days), Decimal(random.randrange(40, 300) * 50)
                planned.append(Plan(
                    day=day, clock=_clock(random), amount=amount, ramp_type=ramp_type,
                    outcome=outcome,
                ))  # fmt: skip
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
