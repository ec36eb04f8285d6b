"""Scenes of codes inside, next to or formed from other texts, and codes with check digits.

Examples: a code that begins another one, a code formed by chance from neighbouring words, a code
inside an IBAN. If the text cannot decide, a matcher may not decide either.
"""

from __future__ import annotations

from typing import Any

from mangled_texts import Written, filler
from mangled_world import Builder, scene


def _nested(b: Builder) -> tuple[dict[str, Any], dict[str, Any]]:
    """Add two requests; the second's code is the first's code and one more digit."""
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


@scene("a longer code across other characters")
def _across(b: Builder) -> None:
    short, long = _nested(b)
    gap = b.random.choice(
        ("_", ",", "+", "\u00b7", "\ufffd", "\u200b", "\u00ad", "\u0301", "\u2060")
    )
    b.line("never", long, f"{short['code']}{gap}{long['code'][-1]}")


@scene("a code that goes on unseen")
def _goes_on(b: Builder) -> None:
    code = b.expect()["code"]
    gap = b.random.choice(("\u200b", "\u00ad", "\u0301", "\u2060", "\ufeff"))
    b.line("never", None, f"{code}{gap}{b.random.randrange(10, 99)}")


@scene("letters that only look alike")
def _alike(b: Builder) -> None:
    code = b.expect()["code"]
    pair = b.random.choice((("P", "\u0420"), ("A", "\u0391"), ("Y", "\u04ae")))
    b.line("never", None, code.replace(*pair))


@scene("letters that fold into others")
def _folding(b: Builder) -> None:
    code = f"SIR-{b.random.randrange(10**6, 10**7)}"
    if b.claim(code):
        b.expect(code=code)
        b.line("never", None, code.replace(*b.random.choice((("S", "\u017f"), ("I", "\u0131")))))


@scene("a code, and another's split, of its amount")
def _second_split(b: Builder) -> None:
    first, second = b.expect(), b.expect()
    code = second["code"]
    text = f"{first['code']} is done, this is {code[:11]} {code[11:]}"
    b.line("never", None, text, amount=second["amount"])


@scene("a code, and another's split, of both amounts")
def _both_split(b: Builder) -> None:
    first, second = b.expect(), b.expect()
    code = second["code"]
    total = first["amount"] + second["amount"]
    b.line("never", None, f"{first['code']} {code[:11]}\n{code[11:]}", amount=total)


@scene("a code, and another's in pieces")
def _second_in_pieces(b: Builder) -> None:
    first, second = b.expect(), b.expect()
    gap = b.random.choice((", ", " : ", " (", "; ", " #", " / "))
    pieces = gap.join(second["code"].split("-"))
    b.line("never", None, f"{first['code']} {pieces}", amount=second["amount"])


@scene("a code, and another's split and damaged")
def _second_split_and_damaged(b: Builder) -> None:
    first, second = b.expect(), b.expect()
    code = second["code"]
    text = f"{first['code']} {code[:8].replace('-', ' ')} {code[8:-1]}{b.random.choice('XYZ')}"
    b.line("never", None, text, amount=second["amount"])


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
    request = b.expect()
    b.expect(code=request["code"])
    b.line("suggest", request, request["code"])


def _rf(b: Builder) -> str:
    """Draw an unused creditor reference with its check digits (ISO 11649)."""
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
    request = b.expect(code=_rf(b))
    b.line("auto", request, Written(filler(b.random), creditor_reference=request["code"].lower()))


@scene("RF, printed in fours")
def _rf_fours(b: Builder) -> None:
    request = b.expect(code=_rf(b))
    b.line("auto", request, Written(None, creditor_reference=_fours(request["code"])))


@scene("RF, in fours between words")
def _rf_words(b: Builder) -> None:
    request = b.expect(code=_rf(b))
    b.line("auto", request, f"Rechnung {_fours(request['code'])} danke")


@scene("RF, in fours before a number")
def _rf_before(b: Builder) -> None:
    request = b.expect(code=_rf(b))
    b.line("auto", request, f"{_fours(request['code'])} {b.random.randrange(1000, 9999)}")


@scene("RF, in fours, paid short")
def _rf_short(b: Builder) -> None:
    request = b.expect(code=_rf(b))
    amount = request["amount"] - b.amount(100, 900)
    b.line(
        "auto", request, Written(None, creditor_reference=_fours(request["code"])), amount=amount
    )


@scene("RF, one digit wrong")
def _rf_wrong(b: Builder) -> None:
    request = b.expect(code=_rf(b))
    at = b.random.randrange(6, 15)
    digit = str((int(request["code"][at]) + 1) % 10)
    wrong = request["code"][:at] + digit + request["code"][at + 1 :]
    b.line("suggest", request, Written(None, creditor_reference=wrong))
