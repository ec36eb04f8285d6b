"""Scenes of a company's month: what contradicts, repeats, comes back, or says too little.

Where the contract names the outcome of such a line, the scene does too.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from mangled_texts import Written, filler
from mangled_world import OPERATOR, STATUSES, Builder, scene

CENT = Decimal("0.01")


def _day(of: int) -> date:
    return date(2026, 10, of)


def _parts(amount: Decimal, share: Decimal) -> tuple[Decimal, Decimal]:
    first = (amount * share).quantize(CENT)
    return first, amount - first


# Amounts that differ


@scene("paid short")
def _short(b: Builder) -> None:
    wanted = b.any_request()
    b.line("auto", wanted, wanted["code"], amount=_parts(wanted["amount"], Decimal("0.9"))[0])


@scene("paid over by little")
def _over(b: Builder) -> None:
    wanted = b.any_request()
    b.line("auto", wanted, wanted["code"], amount=wanted["amount"] + b.cents(99))


@scene("paid over, unknown payer")
def _over_unknown(b: Builder) -> None:
    wanted = b.expect()
    b.line("suggest", wanted, wanted["code"], amount=wanted["amount"] + b.amount(101, 900))


@scene("paid over, known payer")
def _over_known(b: Builder) -> None:
    wanted, payer = b.expect(), {"counterparty_account": b.payer()}
    part = _parts(wanted["amount"], Decimal("0.4"))[0]
    b.line("auto", wanted, wanted["code"], amount=part, booking_date=_day(2), **payer)
    b.line("auto", wanted, wanted["code"], amount=wanted["amount"], booking_date=_day(9), **payer)


@scene("one cent short")
def _cent_short(b: Builder) -> None:
    wanted = b.any_request()
    b.line("auto", wanted, wanted["code"], amount=wanted["amount"] - CENT)


@scene("one cent over")
def _cent_over(b: Builder) -> None:
    wanted = b.any_request()
    b.line("auto", wanted, wanted["code"], amount=wanted["amount"] + CENT)


@scene("instalments")
def _instalments(b: Builder) -> None:
    wanted = b.any_request()
    first, rest = _parts(wanted["amount"], Decimal("0.4"))
    second, third = _parts(rest, Decimal("0.5"))
    for amount in (first, second, third):
        b.line("auto", wanted, f"{wanted['code']} {filler(b.random)}", amount=amount)


@scene("split, another amount, unknown payer")
def _split_other_amount(b: Builder) -> None:
    wanted = b.expect()
    text = wanted["code"].replace("-", " ")
    b.line("suggest", wanted, text, amount=wanted["amount"] - b.amount(100, 900))


@scene("split, known payer")
def _split_known(b: Builder) -> None:
    wanted, payer = b.standing(), b.payer()
    known = {"counterparty_account": payer}
    b.line("auto", wanted, wanted["code"], booking_date=_day(2), **known)
    b.line("auto", wanted, wanted["code"].replace("-", " "), booking_date=_day(12), **known)


@scene("split, payer known elsewhere")
def _split_known_elsewhere(b: Builder) -> None:
    other, wanted = b.standing(), b.standing()
    known = {"counterparty_account": b.payer()}
    b.line("auto", other, other["code"], booking_date=_day(2), **known)
    b.line("suggest", wanted, wanted["code"].replace("-", " "), booking_date=_day(12), **known)


@scene("split, payer known only later")
def _split_known_later(b: Builder) -> None:
    wanted, known = b.standing(), {"counterparty_account": b.payer()}
    b.line("suggest", wanted, wanted["code"].replace("-", " "), booking_date=_day(5), **known)
    b.line("auto", wanted, wanted["code"], booking_date=_day(20), **known)


@scene("split, payer known by a contradicted line")
def _split_known_wrongly(b: Builder) -> None:
    wanted, known = b.standing(), {"counterparty_account": b.payer()}
    wrong = {"currency": "USD", "booking_date": _day(2), "outcomes": ("conflict",)}
    b.line("never", wanted, wanted["code"], **wrong, **known)
    b.line("suggest", wanted, wanted["code"].replace("-", " "), booking_date=_day(12), **known)


# What contradicts


@scene("wrong currency")
def _currency(b: Builder) -> None:
    wanted = b.any_request()
    b.line("never", wanted, wanted["code"], outcomes=("conflict",), currency="USD")


@scene("wrong account")
def _account(b: Builder) -> None:
    wanted, other = b.standing(), b.standing()
    b.line("never", wanted, wanted["code"], outcomes=("conflict",), account=other["account"])


@scene("wrong direction")
def _direction(b: Builder) -> None:
    wanted = b.any_request()
    other = {"CRDT": "DBIT", "DBIT": "CRDT"}[wanted["direction"]]
    b.line("never", wanted, wanted["code"], outcomes=("conflict",), direction=other)


@scene("sent to another account")
def _sent_elsewhere(b: Builder) -> None:
    wanted = b.on_ramp()
    elsewhere = {"counterparty_account": b.payer()}
    b.line("never", wanted, wanted["code"], outcomes=("conflict",), **elsewhere)


@scene("stopped expectation")
def _stopped(b: Builder) -> None:
    wanted = b.expect(status=b.random.choice(STATUSES))
    b.line("never", wanted, wanted["code"], outcomes=("conflict",))


@scene("stopped expectation, split code")
def _stopped_split(b: Builder) -> None:
    wanted = b.expect(status=b.random.choice(STATUSES))
    b.line("never", wanted, wanted["code"].replace("-", " "))


@scene("closed before")
def _closed(b: Builder) -> None:
    wanted = b.any_request()
    wanted["closed_at"] = datetime(2026, 10, 3, 12, tzinfo=UTC)
    b.line("never", wanted, wanted["code"], outcomes=("conflict",), booking_date=_day(9))


@scene("before it was opened")
def _not_opened(b: Builder) -> None:
    wanted = b.any_request()
    wanted["opened_at"] = datetime(2026, 10, 20, 9, tzinfo=UTC)
    b.line("never", wanted, wanted["code"], booking_date=_day(9))


@scene("opened the same day")
def _same_day(b: Builder) -> None:
    wanted = b.any_request()
    wanted["opened_at"] = datetime(2026, 10, 9, 16, tzinfo=UTC)
    b.line("auto", wanted, wanted["code"], booking_date=_day(9))


@scene("unknown status")
def _unknown_status(b: Builder) -> None:
    wanted = b.expect(status="UNDER_A_NEW_REVIEW")
    b.line("auto", wanted, wanted["code"])


@scene("two codes")
def _two_codes(b: Builder) -> None:
    wanted, other = b.expect(), b.expect()
    b.line("never", None, f"{wanted['code']} {other['code']}", outcomes=("conflict",))


@scene("two codes, one stopped")
def _two_one_stopped(b: Builder) -> None:
    wanted, other = b.expect(), b.expect(status=b.random.choice(STATUSES))
    text = f"{other['code']} {wanted['code']}"
    b.line("never", None, text, outcomes=("conflict",), amount=wanted["amount"])


@scene("two codes in two fields")
def _two_fields(b: Builder) -> None:
    wanted, other = b.expect(), b.expect()
    both = Written(wanted["code"], end_to_end_id=other["code"])
    b.line("never", None, both, outcomes=("conflict",), amount=wanted["amount"])


@scene("two codes that add up")
def _two_that_add_up(b: Builder) -> None:
    pair = (b.expect(), b.expect())
    shares = tuple((row["expectation_id"], row["amount"]) for row in pair)
    text = " and ".join(row["code"] for row in pair)
    total = pair[0]["amount"] + pair[1]["amount"]
    b.line("never", None, text, outcomes=("matched",), shares=shares, amount=total)


# What repeats, and what comes back


@scene("paid twice")
def _twice(b: Builder) -> None:
    wanted = b.any_request()
    first = ("auto", wanted, wanted["code"])
    again = ("never", wanted, wanted["code"])
    if b.random.choice([True, False]):  # the files may come in any order
        b.line(*first, booking_date=_day(6))
        b.line(*again, outcomes=("duplicate",), booking_date=_day(19))
    else:
        b.line(*again, outcomes=("duplicate",), booking_date=_day(19))
        b.line(*first, booking_date=_day(6))


@scene("paid twice, then split")
def _twice_split(b: Builder) -> None:
    wanted = b.any_request()
    b.line("auto", wanted, wanted["code"], booking_date=_day(6))
    b.line("never", wanted, wanted["code"].replace("-", " "), booking_date=_day(19))


@scene("returned")
def _returned(b: Builder) -> None:
    wanted = b.on_ramp()
    sent = Written(wanted["code"], end_to_end_id=f"E2E{b.random.randrange(10**9)}")
    here = {"outcomes": ("returned",), "counterparty_account": OPERATOR}
    b.line("never", wanted, sent, booking_date=_day(6), **here)
    b.line("never", wanted, sent, booking_date=_day(26), **here, **_return_of(wanted, sent))


@scene("returned and paid again")
def _paid_again(b: Builder) -> None:
    wanted = b.on_ramp()
    sent = Written(wanted["code"], end_to_end_id=f"E2E{b.random.randrange(10**9)}")
    gone = {"outcomes": ("returned",)}
    b.line("never", wanted, sent, booking_date=_day(6), **gone)
    b.line("never", wanted, sent, booking_date=_day(12), **gone, **_return_of(wanted, sent))
    b.line("auto", wanted, wanted["code"], booking_date=_day(20))


@scene("returned in part")
def _returned_part(b: Builder) -> None:
    wanted = b.on_ramp()
    sent = Written(wanted["code"], end_to_end_id=f"E2E{b.random.randrange(10**9)}")
    part = _parts(wanted["amount"], Decimal("0.3"))[0]
    b.line("auto", wanted, sent, booking_date=_day(6))
    back = _return_of(wanted, sent) | {"amount": part}
    b.line("never", wanted, sent, booking_date=_day(26), outcomes=("returned",), **back)


@scene("return of nothing known")
def _orphan(b: Builder) -> None:
    back = {"is_reversal": True, "return_reason": "AC04", "original_reference": "E2EUNKNOWN"}
    b.line("never", None, f"RETURN {filler(b.random)}", **back)


@scene("return of a line not stored, with the code")
def _orphan_code(b: Builder) -> None:
    wanted = b.on_ramp()
    back = {"return_reason": "AC06", "original_reference": f"E2E{b.random.randrange(10**9)}"}
    b.line("never", wanted, wanted["code"], direction="CRDT", **back)


@scene("return of another line, with the code")
def _other_return(b: Builder) -> None:
    wanted = b.on_ramp()
    sent = Written(wanted["code"], end_to_end_id=f"E2E{b.random.randrange(10**9)}")
    b.line("auto", wanted, sent, booking_date=_day(6))
    other = Written(wanted["code"], end_to_end_id=f"OTHER{b.random.randrange(10**9)}")
    back = _return_of(wanted, other) | {"booking_date": _day(26)}
    b.line("never", wanted, wanted["code"], outcomes=("conflict", "suggested"), **back)


@scene("refund without original ids")
def _refund(b: Builder) -> None:
    wanted = b.on_ramp()
    b.line("auto", wanted, wanted["code"], booking_date=_day(6))
    back = {"direction": "CRDT", "booking_date": _day(22)}
    b.line("never", wanted, f"REFUND {filler(b.random)}", **back)


def _return_of(wanted: dict[str, Any], sent: Written) -> dict[str, Any]:
    other = {"CRDT": "DBIT", "DBIT": "CRDT"}[wanted["direction"]]
    return {
        "direction": other,
        "return_reason": "AC04",
        "original_reference": sent.end_to_end_id,
    }


# No reference


@scene("no reference, known payer")
def _no_reference(b: Builder) -> None:
    _known_payer(b, filler(b.random))


@scene("NOTPROVIDED, known payer")
def _not_provided(b: Builder) -> None:
    _known_payer(b, Written(None, end_to_end_id=b.random.choice(["NOTPROVIDED", "NONREF"])))


def _known_payer(b: Builder, written: Written | str) -> None:
    payer = {"counterparty_account": b.payer()}
    first, wanted = b.expect(), b.expect()
    b.line("auto", first, first["code"], booking_date=_day(2), **payer)
    b.line("suggest", wanted, written, booking_date=_day(14), **payer)


@scene("no reference, unknown payer")
def _stranger(b: Builder) -> None:
    b.line("never", b.expect(), filler(b.random))


@scene("three equal amounts on one day")
def _three_equal(b: Builder) -> None:
    payer, amount = {"counterparty_account": b.payer()}, b.amount()
    first = b.expect()
    b.line("auto", first, first["code"], booking_date=_day(2), **payer)
    for wanted in [b.expect(amount=amount) for _ in range(3)]:
        b.line("never", wanted, filler(b.random), booking_date=_day(14), **payer)


@scene("parts that add up, no reference")
def _sum(b: Builder) -> None:
    payer = {"counterparty_account": b.payer()}
    first, wanted = b.expect(), b.expect()
    b.line("auto", first, first["code"], booking_date=_day(2), **payer)
    for amount in _parts(wanted["amount"], Decimal("0.35")):
        b.line("never", wanted, filler(b.random), amount=amount, booking_date=_day(14), **payer)


# Lines that are not what they seem


@scene("pending at the bank")
def _pending(b: Builder) -> None:
    wanted = b.on_ramp()
    b.line("suggest", wanted, wanted["code"], entry_status="PDNG")


@scene("twins")
def _twins(b: Builder) -> None:
    wanted = b.standing()
    alike = {"amount": b.amount(), "booking_date": _day(9), "counterparty_account": b.payer()}
    for _ in range(2):
        b.line("suggest", wanted, wanted["code"], is_twin=True, **alike)


@scene("other business with a code")
def _classed(b: Builder) -> None:
    wanted = b.expect()
    b.line("never", wanted, wanted["code"], outcomes=("ignored",), line_class="other_business")


@scene("opened weeks ago")
def _old(b: Builder) -> None:
    wanted = b.expect()
    wanted["opened_at"] = datetime(2026, 10, 9, tzinfo=UTC) - timedelta(days=80)
    b.line("auto", wanted, wanted["code"], booking_date=_day(9))
