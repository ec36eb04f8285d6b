"""Scenes of a company's month: what contradicts, repeats, comes back, or says too little.

A scene adds its own expectations and lines to a world and says of each line how far a matcher may
go. Names that the contract gives an outcome carry it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from mangled_texts import Written, filler
from mangled_world import OPERATOR, STATUSES, Builder

__all__ = ["SCENES"]

CENT = Decimal("0.01")
SCENES: dict[str, Callable[[Builder], None]] = {}


def scene(name: str) -> Callable[[Callable[[Builder], None]], Callable[[Builder], None]]:
    """Enter a scene under its name."""

    def enter(play: Callable[[Builder], None]) -> Callable[[Builder], None]:
        SCENES[name] = play
        return play

    return enter


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


@scene("paid over")
def _over(b: Builder) -> None:
    wanted = b.any_request()
    b.line("auto", wanted, wanted["code"], amount=wanted["amount"] + b.amount(100, 900))


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
    b.line("never", None, text, outcomes=("conflict",), shares=shares, amount=total)


# Codes near other codes


def _nested(b: Builder) -> tuple[dict[str, Any], dict[str, Any]]:
    """A code, and one that begins with it."""
    while True:
        long = f"PAY-2025-{b.random.randrange(100_000, 999_999)}"
        if b.claim(long, long[:-1]):
            return b.expect(code=long[:-1]), b.expect(code=long)


@scene("a code that begins another")
def _shorter(b: Builder) -> None:
    short, _ = _nested(b)
    b.line("auto", short, f"{filler(b.random)}, {short['code']}, thanks")


@scene("a code that another begins")
def _longer(b: Builder) -> None:
    _, long = _nested(b)
    b.line("auto", long, f"{filler(b.random)} {long['code']}")


@scene("a split code whose first part is another's")
def _split_after_another(b: Builder) -> None:
    short, long = _nested(b)
    b.line("never", long, f"{short['code']} {long['code'][-1]}")


@scene("cut off at 140 to another's code")
def _cut_to_another(b: Builder) -> None:
    short, long = _nested(b)
    b.line(
        "never", long, f"{'payment of invoices':x<{140 - 1 - len(short['code'])}} {short['code']}"
    )


@scene("cut off at 35 to another's code")
def _cut_to_another_35(b: Builder) -> None:
    short, long = _nested(b)
    cut = f"{'ORDER':x<{35 - 1 - len(short['code'])}} {short['code']}"
    b.line("never", long, Written(None, end_to_end_id=cut))


@scene("a mistyped code of nobody's")
def _nobody(b: Builder) -> None:
    near = b.expect()["code"]
    b.line("never", None, b.typo(near))


@scene("joined neighbours make a code")
def _joined(b: Builder) -> None:
    year, number = b.expect()["code"].split("-")[1:]
    b.line("never", None, f"to pay {year}-{number} pieces delivered")


@scene("joined numbers make a code")
def _joined_numbers(b: Builder) -> None:
    code = b.standing()["code"].replace("-", "")
    b.line("never", None, f"room {code[:4]} {code[4:8]} {code[8:]} floor")


@scene("inside an IBAN")
def _inside_iban(b: Builder) -> None:
    code = b.standing()["code"].replace("-", "")
    b.line("never", None, f"to NL91{code}{b.random.randrange(1000, 9999)} thanks")


@scene("inside a printed IBAN")
def _printed_iban(b: Builder) -> None:
    code = b.standing()["code"].replace("-", "")
    text = f"NL91{code}{b.random.randrange(100000, 999999)}"
    b.line("never", None, " ".join(text[at : at + 4] for at in range(0, len(text), 4)))


@scene("inside a phone number")
def _inside_phone(b: Builder) -> None:
    number = str(b.random.randrange(20_000_000, 99_999_999))
    if b.claim(number):
        b.expect(code=number)
        b.line("never", None, f"call +316{number} or 00316 {number[:4]} {number[4:]}")


@scene("a date and an amount")
def _dates(b: Builder) -> None:
    b.line("never", None, f"{filler(b.random)} of 2026-10-0{b.random.randrange(1, 9)} 1.204,00")


@scene("one code, two expectations")
def _shared(b: Builder) -> None:
    wanted = b.expect()
    b.expect(code=wanted["code"])
    b.line("suggest", wanted, wanted["code"])


# What repeats, and what comes back


@scene("paid twice")
def _twice(b: Builder) -> None:
    wanted = b.any_request()
    b.line("auto", wanted, wanted["code"], booking_date=_day(6))
    b.line("never", wanted, wanted["code"], outcomes=("duplicate",), booking_date=_day(19))


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


# Structured references


def _rf(b: Builder) -> str:
    """A creditor reference with its check digits (ISO 11649)."""
    while True:
        body = str(b.random.randrange(10**11, 10**12))
        check = 98 - int(f"{body}271500") % 97
        code = f"RF{check:02}{body}"
        if b.claim(code):
            return code


def _fours(code: str) -> str:
    return " ".join(code[at : at + 4] for at in range(0, len(code), 4))


@scene("RF, whole")
def _rf_whole(b: Builder) -> None:
    wanted = b.expect(code=_rf(b))
    b.line("auto", wanted, Written(filler(b.random), creditor_reference=wanted["code"].lower()))


@scene("RF, printed in fours")
def _rf_fours(b: Builder) -> None:
    wanted = b.expect(code=_rf(b))
    b.line("auto", wanted, Written(None, creditor_reference=_fours(wanted["code"])))


@scene("RF, in fours between words")
def _rf_words(b: Builder) -> None:
    wanted = b.expect(code=_rf(b))
    b.line("auto", wanted, f"Rechnung {_fours(wanted['code'])} danke")


@scene("RF, in fours, paid short")
def _rf_short(b: Builder) -> None:
    wanted = b.expect(code=_rf(b))
    amount = wanted["amount"] - b.amount(100, 900)
    b.line("auto", wanted, Written(None, creditor_reference=_fours(wanted["code"])), amount=amount)


@scene("RF, one digit wrong")
def _rf_wrong(b: Builder) -> None:
    wanted = b.expect(code=_rf(b))
    at = b.random.randrange(6, 15)
    digit = str((int(wanted["code"][at]) + 1) % 10)
    wrong = wanted["code"][:at] + digit + wanted["code"][at + 1 :]
    b.line("suggest", wanted, Written(None, creditor_reference=wrong))


@scene("opened weeks ago")
def _old(b: Builder) -> None:
    wanted = b.expect()
    wanted["opened_at"] = datetime(2026, 10, 9, tzinfo=UTC) - timedelta(days=80)
    b.line("auto", wanted, wanted["code"], booking_date=_day(9))
