"""The ways in which a reference changes between its entry by a person and the bank's file.

Each way writes a code into the reference fields of a line and declares the ceiling for matchers:
`known` if the amount is the expected one, and `standing` if the expectation has no amount and the
payer is new. Under the ceiling `auto` a line may be matched, under `suggest` only suggested. Under
`never` it may not be matched. The ways follow from the contract, not from any matcher.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Literal

import msgspec

__all__ = ["CEILINGS", "TEXTS", "Ceiling", "Way", "Written", "filler", "plain"]

Ceiling = Literal["auto", "suggest", "never"]
CEILINGS: tuple[Ceiling, ...] = ("auto", "suggest", "never")
# Maximum numbers of characters in SEPA, for the remittance text and for ids.
_UNSTRUCTURED, _STRUCTURED = 140, 35


class Written(msgspec.Struct, frozen=True):
    """The reference fields of a line."""

    remittance: str | None = None
    end_to_end_id: str | None = None
    creditor_reference: str | None = None


class Way(msgspec.Struct, frozen=True):
    """One way of writing a code; `write` returns None if a code cannot be written this way."""

    name: str
    known: Ceiling
    standing: Ceiling
    write: Callable[[str, Random], Written | None]


def plain(code: str) -> str:
    """Return a code in its compared form: upper case without hyphens, dots and slashes."""
    return code.upper().translate(str.maketrans("", "", "-./"))


def filler(random: Random) -> str:
    """Draw words that people write next to a reference; they never contain a code."""
    words = ("invoice", "Rechnung", "order", "facture", "for October", "thanks", "as agreed", "ref")
    return f"{random.choice(words)} {random.randrange(10, 9999)}"


def _around(change: Callable[[str, Random], str | None]) -> Callable[[str, Random], Written | None]:
    """Return a function that writes the changed code, alone, after or before other words."""

    def write(code: str, random: Random) -> Written | None:
        changed = change(code, random)
        if changed is None:
            return None
        return Written(random.choice([changed, f"{filler(random)} {changed}", f"{changed} thanks"]))

    return write


BOLD = {65 + n: 0x1D400 + n for n in range(26)} | {48 + n: 0x1D7CE + n for n in range(10)}
"""Code points of mathematical bold letters and digits, by those of the plain ones."""


def _fixed(pattern: str) -> Callable[[str, Random], Written | None]:
    """Return a function that writes a fixed text; `{lower}` is the code in lower case."""
    return lambda code, _: Written(pattern.format(code, lower=code.lower()))


def _cut_between(code: str, random: Random, separator: str) -> str:
    at = random.randrange(2, len(code) - 1)
    head, right = code[:at].rstrip("-"), code[at:].lstrip("-")
    return f"{head}{separator}{right}"


def _cut_twice(code: str, random: Random) -> str:
    first, second = sorted(random.sample(range(2, len(code) - 1), 2))
    return f"{code[:first]} {code[first:second]} {code[second:]}"


def _folded(code: str, random: Random) -> Written:
    """Break the text at 27 characters, as banks do, so that the code is divided."""
    before = ("Payment for " + filler(random) + " " * 20)[: 27 - random.randrange(2, len(code) - 2)]
    text = f"{before.rstrip():x<{len(before) - 1}} {code} thank you"
    return Written("\n".join(text[at : at + 27] for at in range(0, len(text), 27)))


def _letter_for_digit(digit: str, letter: str) -> Callable[[str, Random], str | None]:
    def change(code: str, random: Random) -> str | None:
        places = [at for at, char in enumerate(code) if char == digit]
        if not places:
            return None
        at = random.choice(places)
        return code[:at] + letter + code[at + 1 :]

    return change


def _places(code: str) -> list[int]:
    return [at for at, char in enumerate(code) if char != "-"]


def _one_off(code: str, random: Random) -> str:
    at = random.choice(_places(code))
    others = "0123456789" if code[at].isdigit() else "ABCDEFGHKMNPQRSTUVWXYZ"
    return code[:at] + random.choice(others.replace(code[at], "")) + code[at + 1 :]


def _transposed(code: str, random: Random) -> str | None:
    pairs = [
        at
        for at in range(len(code) - 1)
        if code[at] != code[at + 1] and "-" not in code[at : at + 2]
    ]
    at = random.choice(pairs)
    return code[:at] + code[at + 1] + code[at] + code[at + 2 :]


def _one_missing(code: str, random: Random) -> str | None:
    at = random.choice(_places(code)[:-1])
    if code[at] == "0" and not code[: code.index("0", at)].endswith(tuple("123456789")):
        # A dropped zero is another way of writing the code.
        return None
    return code[:at] + code[at + 1 :]


def _one_more(code: str, random: Random) -> str:
    at = random.choice(_places(code))
    return code[:at] + random.choice("23456789") + code[at:]


def _zeros(code: str, change: Callable[[str], str]) -> str | None:
    head, _, number = code.rpartition("-")
    if not number.startswith("0") or len(number.lstrip("0")) < 3:
        return None
    return f"{head}-{change(number)}"


def _cut_at_140(code: str, random: Random) -> Written:
    head = code[: -random.randrange(1, 3)]
    long = "payment of the invoices of last month as agreed by telephone with your accounts office "
    before = (long * 2)[: _UNSTRUCTURED - len(head) - 1]
    return Written(f"{before.rstrip():x<{_UNSTRUCTURED - len(head) - 1}} {head}")


def _cut_at_35(code: str, random: Random) -> Written:
    head = code[: -random.randrange(1, 3)]
    return Written(
        filler(random), end_to_end_id=f"{'ORDER':x<{_STRUCTURED - len(head) - 1}} {head}"
    )


TEXTS: tuple[Way, ...] = (
    Way("plain", "auto", "auto", _fixed("{}")),
    Way("lower case", "auto", "auto", _around(lambda code, _: code.lower())),
    Way("without hyphens", "auto", "auto", _around(lambda code, _: code.replace("-", ""))),
    Way("dots for hyphens", "auto", "auto", _around(lambda code, _: code.replace("-", "."))),
    Way("slashes for hyphens", "auto", "auto", _around(lambda code, _: code.replace("-", "/"))),
    Way("dashes for hyphens", "auto", "auto", _around(lambda code, _: code.replace("-", "–"))),
    Way("in full width", "auto", "auto",
        lambda c, _: Written(c.translate({n: n + 0xFEE0 for n in range(33, 127)}))),
    Way("in mathematical letters", "auto", "auto", _around(lambda code, _: code.translate(BOLD))),
    Way("words before", "auto", "auto", lambda c, r: Written(f"{filler(r)}, {filler(r)} {c}")),
    Way("words after", "auto", "auto", lambda c, r: Written(f"{c} {filler(r)} {filler(r)}")),
    Way("after a colon", "auto", "auto", _fixed("ref:{};inv 3391")),
    Way("in brackets", "auto", "auto", _fixed("Invoice 12 ({lower})")),
    Way("in markup", "auto", "auto", _fixed("<img src=x onerror=alert(1)>{}</img>")),
    Way("in a formula", "auto", "auto", _fixed('=HYPERLINK("http://x.test";"{}")')),
    Way("behind a direction mark", "auto", "auto", _fixed("\u202e{}\u202c thanks")),
    Way("tagged with slashes", "auto", "auto", _fixed("/RFB/{}/INV/3391")),
    Way("in the bank's own text", "auto", "auto", _fixed("SEPA CREDIT TRANSFER REF. {} VAL 0310")),
    Way("letters lost beside it", "auto", "auto", _fixed("M?ller & S?hne GmbH, {}, K ln")),
    Way("on a line of its own", "auto", "auto", _fixed("first line\n{}\nlast line")),
    Way("with a full stop", "auto", "auto", _fixed("As agreed for {}. Regards")),
    Way("written twice", "auto", "auto", _fixed("{} / {lower}")),
    Way("end-to-end id", "auto", "auto", lambda c, r: Written(filler(r), end_to_end_id=c)),
    Way("end-to-end id, plain", "auto", "auto",
        lambda c, _: Written(None, end_to_end_id=c.replace("-", "").lower())),
    Way("creditor reference", "auto", "auto",
        lambda c, r: Written(filler(r), creditor_reference=c)),
    Way("in two fields", "auto", "auto", lambda c, _: Written(c, end_to_end_id=c.lower())),
    Way("split by a space", "auto", "suggest", _around(lambda c, r: _cut_between(c, r, " "))),
    Way("split by a line break", "auto", "suggest", _around(lambda c, r: _cut_between(c, r, "\n"))),
    Way("split by hyphen and space", "auto", "suggest",
        _around(lambda c, r: _cut_between(c, r, "- "))),
    Way("split by a hard space", "auto", "suggest",
        _around(lambda c, r: _cut_between(c, r, "\u00a0"))),
    Way("spaces for hyphens", "auto", "suggest", _around(lambda code, _: code.replace("-", " "))),
    Way("split twice", "auto", "suggest", _around(_cut_twice)),
    Way("folded at 27", "auto", "suggest", _folded),
    Way("O for 0", "suggest", "suggest", _around(_letter_for_digit("0", "O"))),
    Way("I for 1", "suggest", "suggest", _around(_letter_for_digit("1", "I"))),
    Way("one character off", "suggest", "suggest", _around(_one_off)),
    Way("two characters swapped", "suggest", "suggest", _around(_transposed)),
    Way("a character lost", "suggest", "suggest", _around(_one_missing)),
    Way("a character added", "suggest", "suggest", _around(_one_more)),
    Way("cut off at 140", "suggest", "suggest", _cut_at_140),
    Way("cut off at 35", "suggest", "suggest", _cut_at_35),
    Way("glued to a word", "suggest", "suggest", _around(lambda code, _: f"Ref{code}")),
    Way("inside a longer word", "suggest", "suggest",
        _around(lambda c, r: f"INV{r.randrange(999)}{c.replace('-', '')}X")),
    Way("leading zeros dropped", "auto", "suggest",
        _around(lambda code, _: _zeros(code, lambda number: number.lstrip("0")))),
    Way("leading zeros added", "auto", "suggest",
        _around(lambda code, _: _zeros(code, lambda number: "00" + number))),
    Way("question marks for dashes", "suggest", "suggest",
        _around(lambda code, _: code.replace("-", "?"))),
)  # fmt: skip
"""Every way of writing a code that leaves the code or most of its characters intact."""
