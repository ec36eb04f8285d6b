"""Scenes of payments that name one request but may belong to another, and honest look-alikes.

The amount, the payer, a truncated text, a label or a second spelling points to another request, so
a matcher may not choose between the two.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

from mangled_texts import Written, filler
from mangled_world import Builder, scene

CENT = Decimal("0.01")
CUT_LENGTHS = (16, 18, 20, 25, 30, 32, 50, 60, 80, 100)
OTHER_NUMBERS = (
    "client no / invoice no: {} - {}", "your inv {1} our invoice {0}", "our ref {}", "auth code {}",
    "SEPA REFERENCE {}", "customer ref {}", "invoice {} {}", "my invoice {}", "mandate ref {}",
    "terminal code {}", "invoice/order: {}, {}",
)  # fmt: skip
SCRIPTS = (
    ("0123456789", "\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668\u0669"),
    ("0123456789", "\u0966\u0967\u0968\u0969\u096a\u096b\u096c\u096d\u096e\u096f"),
    ("PAY", "\u13e2\u13aa\u13a9"),
    ("PAY", "\ua4d1\ua4ee\ua4ec"),
    ("PY", "\u2ca2\u2ca8"),
    ("PAY", "\u0420\u0410\u0423"),
    ("PAY", "\u03a1\u0391\u03a5"),
)


def _day(of: int) -> date:
    return date(2026, 10, of)


def _two_of_one(b: Builder) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Return two requests of the same owner, payer or both, and the payer as a line's field."""
    payer = b.payer()
    owner = f"owner {payer}"
    tie: dict[str, Any] = b.random.choice(
        [
            {"owner": owner},
            {"counterparty_account": payer},
            {"owner": owner, "counterparty_account": payer},
        ]
    )
    return b.expect(**tie), b.expect(**tie), {"counterparty_account": payer}


def _long_code(b: Builder, end: int) -> tuple[str, str]:
    """Draw a code, and return it with and without its last `end` characters."""
    while True:
        letters = "".join(b.random.choices("BCDFGHJKMNPQRSTVWX", k=3))
        middle = f"{b.random.randrange(10)}KY{b.random.randrange(10)}"
        long = f"{letters}-{middle}-{b.random.randrange(10**4, 10**5)}"
        if b.claim(long, long[:-end]):
            return long, long[:-end]


@scene("another request's amount, nothing left")
def _nothing_left(b: Builder) -> None:
    first, second, payer = _two_of_one(b)
    b.line("auto", first, first["code"], booking_date=_day(2), **payer)
    b.line("never", None, first["code"], amount=second["amount"], booking_date=_day(9), **payer)


@scene("another request's amount, both open")
def _both_open(b: Builder) -> None:
    first, second, payer = _two_of_one(b)
    text = f"{first['code']} {filler(b.random)}"
    b.line("never", None, text, amount=second["amount"], booking_date=_day(9), **payer)


@scene("another request's amount, partly paid before")
def _part_before(b: Builder) -> None:
    first, second, payer = b.expect(), b.expect(), {"counterparty_account": b.payer()}
    part = (second["amount"] * Decimal("0.3")).quantize(CENT)
    b.line("auto", second, second["code"], amount=part, booking_date=_day(2), **payer)
    rest = second["amount"] - part
    b.line("never", None, first["code"], amount=rest, booking_date=_day(9), **payer)


@scene("two payments with each other's code")
def _swapped(b: Builder) -> None:
    first, second, payer = _two_of_one(b)
    b.line("never", None, first["code"], amount=second["amount"], booking_date=_day(9), **payer)
    b.line("never", None, second["code"], amount=first["amount"], booking_date=_day(9), **payer)


@scene("received, then more from the payer")
def _more_after(b: Builder) -> None:
    request, payer = b.expect(), {"counterparty_account": b.payer()}
    b.line("auto", request, request["code"], booking_date=_day(2), **payer)
    factor = b.random.choice([Decimal("1.03"), Decimal(4), Decimal("0.4"), Decimal("0.97")])
    amount = (request["amount"] * factor).quantize(CENT)
    b.line("never", None, request["code"], amount=amount, booking_date=_day(9), **payer)


@scene("two digits wrong onto another's code, the right payer")
def _two_slips(b: Builder) -> None:
    payer = b.payer()
    request = b.expect(counterparty_account=payer)
    code = request["code"]
    while True:
        at = sorted(b.random.sample(range(9, len(code)), 2))
        typed = list(code)
        for place in at:
            typed[place] = str((int(typed[place]) + b.random.randrange(1, 10)) % 10)
        if b.claim("".join(typed)):
            break
    b.expect(code="".join(typed))
    b.line("never", None, "".join(typed), amount=request["amount"], counterparty_account=payer)


@scene("a longer code, continued with a slip")
def _goes_on_with_slip(b: Builder) -> None:
    long, short = _long_code(b, 2)
    shorter = b.random.choice([b.expect, b.standing])(code=short)
    request = b.expect(code=long)
    wrong = str((int(long[-1]) + b.random.randrange(1, 10)) % 10)
    text = f"{shorter['code']} {long[-2]}{wrong}"
    more = {"account": shorter["account"]} if shorter["amount"] is None else {}
    b.line("never", None, text, amount=request["amount"], **more)


@scene("cut off, blanks collapsed, of the longer code's amount")
def _cut_collapsed(b: Builder) -> None:
    long, short = _long_code(b, b.random.choice([1, 2, 3]))
    b.expect(code=short)
    request = b.expect(code=long)
    text = f"{'payment of the invoices of last month':x<{136 - len(short)}} {short}"
    b.line("never", None, text, amount=request["amount"])


@scene("cut off where other rails cut")
def _cut_elsewhere(b: Builder) -> None:
    long, short = _long_code(b, 1)
    b.expect(code=short)
    request = b.expect(code=long)
    length = b.random.choice([n for n in CUT_LENGTHS if n > len(short) + 1])
    amount = b.random.choice([request["amount"], b.amount(100, 900)])
    b.line("never", None, f"{'R':x<{length - 1 - len(short)}} {short}", amount=amount)


@scene("a number that another label announces")
def _other_label(b: Builder) -> None:
    code, rival = (str(b.random.randrange(20_000_000, 99_999_999)) for _ in range(2))
    if b.claim(code, rival):
        request = b.expect(code=code)
        amount = (request["amount"] * Decimal("0.5")).quantize(CENT)
        text = b.random.choice(OTHER_NUMBERS).format(code, rival)
        b.line("never", None, text, amount=amount)


@scene("a second code in another script")
def _other_script(b: Builder) -> None:
    first, second = b.expect(), b.expect()
    code = second["code"].translate(str.maketrans(*b.random.choice(SCRIPTS)))
    b.line("never", None, f"{first['code']} {code}", amount=second["amount"])


@scene("a sign inside a longer code")
def _sign_inside(b: Builder) -> None:
    long, short = _long_code(b, b.random.choice([1, 2]))
    make = b.random.choice([b.expect, b.standing])
    shorter = make(code=short)
    request = make(code=long, account=shorter["account"])
    sign = b.random.choice("/.-")
    b.line(
        "never", None, f"{short}{sign}{long[len(short) :]}", amount=request["amount"] or b.amount()
    )


@scene("another owner's request is deducted")
def _other_owner(b: Builder) -> None:
    high, low = b.amount(50_000, 90_000), b.amount(5_000, 40_000)
    first = b.expect(amount=high, owner=b.payer())
    second = b.on_ramp(amount=low, owner=b.payer(), counterparty_account=None)
    text = f"{first['code']} {second['code']}"
    b.line("never", None, text, outcomes=("conflict",), amount=high - low)


@scene("the same owner's request is deducted")
def _own_netted(b: Builder) -> None:
    high, low, owner = b.amount(50_000, 90_000), b.amount(5_000, 40_000), b.payer()
    first = b.expect(amount=high, owner=owner)
    second = b.on_ramp(amount=low, owner=owner, counterparty_account=None)
    shares = ((first["expectation_id"], high), (second["expectation_id"], -low))
    text = f"{first['code']} {second['code']}"
    b.line("never", None, text, outcomes=("matched",), shares=shares, amount=high - low)


@scene("instalments of a payer with other requests")
def _honest_instalments(b: Builder) -> None:
    first, _, payer = _two_of_one(b)
    part = (first["amount"] * Decimal("0.4")).quantize(CENT)
    for day, amount in ((2, part), (9, first["amount"] - part)):
        b.line("auto", first, first["code"], amount=amount, booking_date=_day(day), **payer)


@scene("short by the charges of banks")
def _honest_short(b: Builder) -> None:
    first, _, payer = _two_of_one(b)
    charges = b.amount(500, 3_500)
    stated = b.random.choice([{"charges": charges}, {}])
    amount = first["amount"] - charges
    if amount > 0:
        written = Written(filler(b.random), end_to_end_id=first["code"])
        b.line("auto", first, written, amount=amount, **payer, **stated)


@scene("several requests of a payer in one payment")
def _honest_bundle(b: Builder) -> None:
    first, second, payer = _two_of_one(b)
    shares = tuple((row["expectation_id"], row["amount"]) for row in (first, second))
    text = f"{first['code']}, {second['code']}"
    total = first["amount"] + second["amount"]
    b.line("never", None, text, outcomes=("matched",), shares=shares, amount=total, **payer)
