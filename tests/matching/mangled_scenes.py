"""Scenes of a company's month: contradictions, repetitions, returns, and lines with few facts.

A scene states the outcomes that the contract allows for a line, if it names any.
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
    request = b.any_request()
    b.line("auto", request, request["code"], amount=_parts(request["amount"], Decimal("0.9"))[0])


@scene("paid over by little")
def _over(b: Builder) -> None:
    request = b.any_request()
    b.line("auto", request, request["code"], amount=request["amount"] + b.cents(99))


@scene("paid over, unknown payer")
def _over_unknown(b: Builder) -> None:
    request = b.expect()
    b.line("suggest", request, request["code"], amount=request["amount"] + b.amount(101, 900))


@scene("paid over, known payer")
def _over_known(b: Builder) -> None:
    request, payer = b.expect(), {"counterparty_account": b.payer()}
    part = _parts(request["amount"], Decimal("0.4"))[0]
    b.line("auto", request, request["code"], amount=part, booking_date=_day(2), **payer)
    b.line(
        "auto", request, request["code"], amount=request["amount"], booking_date=_day(9), **payer
    )


@scene("one cent short")
def _cent_short(b: Builder) -> None:
    request = b.any_request()
    b.line("auto", request, request["code"], amount=request["amount"] - CENT)


@scene("one cent over")
def _cent_over(b: Builder) -> None:
    request = b.any_request()
    b.line("auto", request, request["code"], amount=request["amount"] + CENT)


@scene("instalments")
def _instalments(b: Builder) -> None:
    request = b.any_request()
    first, second_part = _parts(request["amount"], Decimal("0.4"))
    second, third = _parts(second_part, Decimal("0.5"))
    for amount in (first, second, third):
        b.line("auto", request, f"{request['code']} {filler(b.random)}", amount=amount)


@scene("split, another amount, unknown payer")
def _split_other_amount(b: Builder) -> None:
    request = b.expect()
    text = request["code"].replace("-", " ")
    b.line("suggest", request, text, amount=request["amount"] - b.amount(100, 900))


@scene("split, known payer")
def _split_known(b: Builder) -> None:
    request, payer = b.standing(), b.payer()
    payer_fields = {"counterparty_account": payer}
    b.line("auto", request, request["code"], booking_date=_day(2), **payer_fields)
    b.line(
        "auto", request, request["code"].replace("-", " "), booking_date=_day(12), **payer_fields
    )


@scene("split, payer known elsewhere")
def _split_known_elsewhere(b: Builder) -> None:
    rival, request = b.standing(), b.standing()
    payer_fields = {"counterparty_account": b.payer()}
    b.line("auto", rival, rival["code"], booking_date=_day(2), **payer_fields)
    b.line(
        "suggest", request, request["code"].replace("-", " "), booking_date=_day(12), **payer_fields
    )


@scene("split, payer known only later")
def _split_known_later(b: Builder) -> None:
    request, payer_fields = b.standing(), {"counterparty_account": b.payer()}
    b.line(
        "suggest", request, request["code"].replace("-", " "), booking_date=_day(5), **payer_fields
    )
    b.line("auto", request, request["code"], booking_date=_day(20), **payer_fields)


@scene("split, payer known by a contradicted line")
def _split_known_wrongly(b: Builder) -> None:
    request, payer_fields = b.standing(), {"counterparty_account": b.payer()}
    wrong = {"currency": "USD", "booking_date": _day(2), "outcomes": ("conflict",)}
    b.line("never", request, request["code"], **wrong, **payer_fields)
    b.line(
        "suggest", request, request["code"].replace("-", " "), booking_date=_day(12), **payer_fields
    )


# Contradictions


@scene("wrong currency")
def _currency(b: Builder) -> None:
    request = b.any_request()
    b.line("never", request, request["code"], outcomes=("conflict",), currency="USD")


@scene("wrong account")
def _account(b: Builder) -> None:
    request, rival = b.standing(), b.standing()
    b.line("never", request, request["code"], outcomes=("conflict",), account=rival["account"])


@scene("wrong direction")
def _direction(b: Builder) -> None:
    request = b.any_request()
    opposite = {"CRDT": "DBIT", "DBIT": "CRDT"}[request["direction"]]
    b.line("never", request, request["code"], outcomes=("conflict",), direction=opposite)


@scene("sent to another account")
def _sent_elsewhere(b: Builder) -> None:
    request = b.on_ramp()
    elsewhere = {"counterparty_account": b.payer()}
    b.line("never", request, request["code"], outcomes=("conflict",), **elsewhere)


@scene("stopped expectation")
def _stopped(b: Builder) -> None:
    request = b.expect(status=b.random.choice(STATUSES))
    b.line("never", request, request["code"], outcomes=("conflict",))


@scene("stopped expectation, split code")
def _stopped_split(b: Builder) -> None:
    request = b.expect(status=b.random.choice(STATUSES))
    b.line("never", request, request["code"].replace("-", " "))


@scene("closed before")
def _closed(b: Builder) -> None:
    request = b.any_request()
    request["closed_at"] = datetime(2026, 10, 3, 12, tzinfo=UTC)
    b.line("never", request, request["code"], outcomes=("conflict",), booking_date=_day(9))


@scene("before it was opened")
def _not_opened(b: Builder) -> None:
    request = b.any_request()
    request["opened_at"] = datetime(2026, 10, 20, 9, tzinfo=UTC)
    b.line("never", request, request["code"], booking_date=_day(9))


@scene("opened the same day")
def _same_day(b: Builder) -> None:
    request = b.any_request()
    request["opened_at"] = datetime(2026, 10, 9, 16, tzinfo=UTC)
    b.line("auto", request, request["code"], booking_date=_day(9))


@scene("unknown status")
def _unknown_status(b: Builder) -> None:
    request = b.expect(status="UNDER_A_NEW_REVIEW")
    b.line("auto", request, request["code"])


@scene("two codes")
def _two_codes(b: Builder) -> None:
    request, rival = b.expect(), b.expect()
    b.line("never", None, f"{request['code']} {rival['code']}", outcomes=("conflict",))


@scene("two codes, one stopped")
def _two_one_stopped(b: Builder) -> None:
    request, rival = b.expect(), b.expect(status=b.random.choice(STATUSES))
    text = f"{rival['code']} {request['code']}"
    b.line("never", None, text, outcomes=("conflict",), amount=request["amount"])


@scene("two codes in two fields")
def _two_fields(b: Builder) -> None:
    request, rival = b.expect(), b.expect()
    both = Written(request["code"], end_to_end_id=rival["code"])
    b.line("never", None, both, outcomes=("conflict",), amount=request["amount"])


@scene("two codes that add up")
def _two_that_add_up(b: Builder) -> None:
    pair = (b.expect(), b.expect())
    shares = tuple((row["expectation_id"], row["amount"]) for row in pair)
    text = " and ".join(row["code"] for row in pair)
    total = pair[0]["amount"] + pair[1]["amount"]
    b.line("never", None, text, outcomes=("matched",), shares=shares, amount=total)


# Repeated payments and returns


@scene("paid twice")
def _twice(b: Builder) -> None:
    request = b.any_request()
    first = ("auto", request, request["code"])
    again = ("never", request, request["code"])
    # The files may arrive in any order.
    if b.random.choice([True, False]):
        b.line(*first, booking_date=_day(6))
        b.line(*again, outcomes=("duplicate",), booking_date=_day(19))
    else:
        b.line(*again, outcomes=("duplicate",), booking_date=_day(19))
        b.line(*first, booking_date=_day(6))


@scene("paid twice, then split")
def _twice_split(b: Builder) -> None:
    request = b.any_request()
    b.line("auto", request, request["code"], booking_date=_day(6))
    b.line("never", request, request["code"].replace("-", " "), booking_date=_day(19))


@scene("returned")
def _returned(b: Builder) -> None:
    request = b.on_ramp()
    sent = Written(request["code"], end_to_end_id=f"E2E{b.random.randrange(10**9)}")
    here = {"outcomes": ("returned",), "counterparty_account": OPERATOR}
    b.line("never", request, sent, booking_date=_day(6), **here)
    b.line("never", request, sent, booking_date=_day(26), **here, **_return_of(request, sent))


@scene("returned and paid again")
def _paid_again(b: Builder) -> None:
    request = b.on_ramp()
    sent = Written(request["code"], end_to_end_id=f"E2E{b.random.randrange(10**9)}")
    expected_outcome = {"outcomes": ("returned",)}
    b.line("never", request, sent, booking_date=_day(6), **expected_outcome)
    b.line(
        "never",
        request,
        sent,
        booking_date=_day(12),
        **expected_outcome,
        **_return_of(request, sent),
    )
    b.line("auto", request, request["code"], booking_date=_day(20))


@scene("returned in part")
def _returned_part(b: Builder) -> None:
    request = b.on_ramp()
    sent = Written(request["code"], end_to_end_id=f"E2E{b.random.randrange(10**9)}")
    part = _parts(request["amount"], Decimal("0.3"))[0]
    b.line("auto", request, sent, booking_date=_day(6))
    back = _return_of(request, sent) | {"amount": part}
    b.line("never", request, sent, booking_date=_day(26), outcomes=("returned",), **back)


@scene("return of nothing known")
def _orphan(b: Builder) -> None:
    back = {"is_reversal": True, "return_reason": "AC04", "original_reference": "E2EUNKNOWN"}
    b.line("never", None, f"RETURN {filler(b.random)}", **back)


@scene("return of a line not stored, with the code")
def _orphan_code(b: Builder) -> None:
    request = b.on_ramp()
    back = {"return_reason": "AC06", "original_reference": f"E2E{b.random.randrange(10**9)}"}
    b.line("never", request, request["code"], direction="CRDT", **back)


@scene("return of another line, with the code")
def _other_return(b: Builder) -> None:
    request = b.on_ramp()
    sent = Written(request["code"], end_to_end_id=f"E2E{b.random.randrange(10**9)}")
    b.line("auto", request, sent, booking_date=_day(6))
    rival = Written(request["code"], end_to_end_id=f"OTHER{b.random.randrange(10**9)}")
    back = _return_of(request, rival) | {"booking_date": _day(26)}
    b.line("never", request, request["code"], outcomes=("conflict", "suggested"), **back)


@scene("refund without original ids")
def _refund(b: Builder) -> None:
    request = b.on_ramp()
    b.line("auto", request, request["code"], booking_date=_day(6))
    back = {"direction": "CRDT", "booking_date": _day(22)}
    b.line("never", request, f"REFUND {filler(b.random)}", **back)


def _return_of(request: dict[str, Any], sent: Written) -> dict[str, Any]:
    opposite = {"CRDT": "DBIT", "DBIT": "CRDT"}[request["direction"]]
    return {
        "direction": opposite,
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
    first, request = b.expect(), b.expect()
    b.line("auto", first, first["code"], booking_date=_day(2), **payer)
    b.line("suggest", request, written, booking_date=_day(14), **payer)


@scene("no reference, unknown payer")
def _stranger(b: Builder) -> None:
    b.line("never", b.expect(), filler(b.random))


@scene("three equal amounts on one day")
def _three_equal(b: Builder) -> None:
    payer, amount = {"counterparty_account": b.payer()}, b.amount()
    first = b.expect()
    b.line("auto", first, first["code"], booking_date=_day(2), **payer)
    for request in [b.expect(amount=amount) for _ in range(3)]:
        b.line("never", request, filler(b.random), booking_date=_day(14), **payer)


@scene("parts that add up, no reference")
def _sum(b: Builder) -> None:
    payer = {"counterparty_account": b.payer()}
    first, request = b.expect(), b.expect()
    b.line("auto", first, first["code"], booking_date=_day(2), **payer)
    for amount in _parts(request["amount"], Decimal("0.35")):
        b.line("never", request, filler(b.random), amount=amount, booking_date=_day(14), **payer)


# Lines that are pending, twins, classed or late


@scene("pending at the bank")
def _pending(b: Builder) -> None:
    request = b.on_ramp()
    b.line("suggest", request, request["code"], entry_status="PDNG")


@scene("twins")
def _twins(b: Builder) -> None:
    request = b.standing()
    alike = {"amount": b.amount(), "booking_date": _day(9), "counterparty_account": b.payer()}
    for _ in range(2):
        b.line("suggest", request, request["code"], is_twin=True, **alike)


@scene("other business with a code")
def _classed(b: Builder) -> None:
    request = b.expect()
    b.line("never", request, request["code"], outcomes=("ignored",), line_class="other_business")


@scene("opened weeks ago")
def _old(b: Builder) -> None:
    request = b.expect()
    request["opened_at"] = datetime(2026, 10, 9, tzinfo=UTC) - timedelta(days=80)
    b.line("auto", request, request["code"], booking_date=_day(9))
