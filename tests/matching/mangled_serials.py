"""Scenes of serial numbers written in another way, some of them ambiguous.

A line is ambiguous if another request for its amount has a code that differs by one slip, if the
text continues as a longer code or was cut off before the rest of that code, or if the digits are
grouped differently. A matcher may not match an ambiguous line automatically.
"""

from __future__ import annotations

from typing import Any

from mangled_rivals import CUT_LENGTHS
from mangled_world import Builder, scene

_WORDS = ("thanks", "with thanks", "as agreed", "for the order", "final payment")


def _serial(b: Builder) -> tuple[str, int]:
    """Draw an unused serial number, and return its prefix and its number."""
    while True:
        letters = "".join(b.random.choices("BCDFGHJKMNPQRSTVWX", k=4))
        number = b.random.randrange(1_200, 9_800)
        if b.claim(f"{letters}-2026-00{number}", f"{letters}-2026-{number}"):
            return f"{letters}-2026-", number


def _one_slip_away(b: Builder, **more: Any) -> tuple[dict[str, Any], str]:
    """Return a request and its code without zeros; add a request one slip from that code."""
    series, number = _serial(b)
    request = b.expect(code=f"{series}00{number}", **more)
    digits = str(number)
    near = [f"1{digits}", f"{digits}0", f"{digits[:-1]}{(number + 1) % 10}"]
    if digits[2] != digits[3]:
        near.append(f"{digits[:2]}{digits[3]}{digits[2]}")
    b.expect(code=f"{series}{b.random.choice(near)}", **more)
    return request, f"{series}{number}"


@scene("zeros dropped, another request of the amount one slip away")
def _slip_of_the_amount(b: Builder) -> None:
    request, text = _one_slip_away(b, amount=b.amount())
    b.line("never", None, text, amount=request["amount"])


@scene("zeros dropped, a request of another amount one slip away")
def _slip_of_another_amount(b: Builder) -> None:
    request, text = _one_slip_away(b)
    b.line("auto", request, text)


def _longer_beside(b: Builder) -> tuple[dict[str, Any], str, str]:
    """Return a request, its code without zeros, and the last digit of another, longer code."""
    series, number = _serial(b)
    request = b.expect(code=f"{series}00{number}")
    digit = str(b.random.randrange(1, 10))
    b.expect(code=f"{series}00{number}{digit}")
    return request, f"{series}{number}", digit


@scene("zeros dropped, the text goes on to a longer code")
def _goes_on_to_longer(b: Builder) -> None:
    request, text, digit = _longer_beside(b)
    gap = b.random.choice((" ", ", ", "\n", " - ", "/", " : "))
    b.line("never", None, f"{text}{gap}{digit}", amount=request["amount"])


@scene("zeros dropped, cut off where a longer code goes on")
def _cut_before_longer(b: Builder) -> None:
    request, text, _ = _longer_beside(b)
    length = b.random.choice([n for n in CUT_LENGTHS if n > len(text) + 1])
    b.line("never", None, f"{'R':x<{length - 1 - len(text)}} {text}", amount=request["amount"])


@scene("zeros dropped, words after it and a longer code beside")
def _words_after(b: Builder) -> None:
    request, text, _ = _longer_beside(b)
    b.line("auto", request, f"{text} {b.random.choice(_WORDS)}")


def _two_divisions(b: Builder) -> tuple[str, str]:
    """Return a code of groups of digits, and the same digits grouped differently."""
    while True:
        letters = "".join(b.random.choices("BCDFGHJKMNPQRSTVWX", k=3))
        first, second = b.random.randrange(1, 10), b.random.randrange(11, 100)
        code = f"{letters}/{first}/{second}/2026"
        other = f"{letters}/{first}{second // 10}/{second % 10}/2026"
        if second % 10 and b.claim(code, other):
            return code, other


@scene("a serial number whose groups were moved")
def _moved_groups(b: Builder) -> None:
    pair = list(_two_divisions(b))
    b.random.shuffle(pair)
    code, text = pair
    zeros = b.random.choice(("", "0"))
    head, _, tail = text.partition("/")
    b.line("never", None, f"{head}/{zeros}{tail}", amount=b.expect(code=code)["amount"])


@scene("a serial number with other zeros in its groups")
def _same_groups(b: Builder) -> None:
    code, _ = _two_divisions(b)
    letters, first, second, year = code.split("/")
    text = f"{letters}/0{first}/{second:0>3}/{year}"
    b.line("auto", b.expect(code=code), text)
