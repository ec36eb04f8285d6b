"""What becomes of a reference between the person who types it and the bank's file.

A mangling writes a code into the reference fields of a line in one way, and says two things about
the result: whether the whole code still stands there unbroken, and how far a matcher may go at most
(`auto`, `suggest` or `never`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec

__all__ = ["MANGLINGS", "UNBROKEN", "Ceiling", "Mangling", "Text"]

Ceiling = Literal["auto", "suggest", "never"]
_LINE: Final = 140  # characters that SEPA allows in unstructured remittance


class Text(msgspec.Struct, frozen=True):
    """The reference fields of one line."""

    remittance: tuple[str, ...] = ()
    end_to_end_id: str = ""
    structured: str = ""


class Mangling(msgspec.Struct, frozen=True):
    """One way of writing a code."""

    name: str
    unbroken: bool
    ceiling: Ceiling
    write: Callable[[str, int], Text]
    """From the code and an invoice number."""


def _text(*remittance: str) -> Text:
    return Text(remittance)


def _plain(code: str) -> str:
    return code.replace("-", "")


def _cut_off(code: str, invoice: int) -> Text:
    filler = f"Payment of invoice {invoice} as agreed by telephone with your accounts department "
    stem = code[:-2]
    return _text((filler * 2)[: _LINE - len(stem) - 1].rstrip().ljust(_LINE - len(stem)) + stem)


_TABLE: Final = (
    Mangling("plain", True, "auto", lambda code, _: _text(code)),
    Mangling("after_words", True, "auto", lambda code, n: _text(f"Invoice {n} {code}")),
    Mangling("before_words", True, "auto", lambda code, n: _text(f"{code} invoice {n} thanks")),
    Mangling("lower_case", True, "auto", lambda code, n: _text(f"{code.lower()} invoice {n}")),
    Mangling("no_hyphens", True, "auto", lambda code, n: _text(f"INV {n} {_plain(code)}")),
    Mangling("dots", True, "auto", lambda code, _: _text(code.replace("-", "."))),
    Mangling(
        "punctuated", True, "auto", lambda code, n: _text(f"/INV {n}/{code}, thanks")
    ),
    Mangling("colon", True, "auto", lambda code, n: _text(f"ref:{code};inv {n}")),
    Mangling("brackets", True, "auto", lambda code, n: _text(f"Invoice {n} ({code})")),
    Mangling("second_line", True, "auto", lambda code, n: _text(f"Invoice {n}", code)),
    Mangling("repeated", True, "auto", lambda code, _: _text(f"{code} / {code.lower()}")),
    Mangling(
        "end_to_end", True, "auto", lambda code, n: Text((f"Invoice {n}",), end_to_end_id=code)
    ),
    Mangling(
        "end_to_end_lower", True, "auto",
        lambda code, n: Text((f"Invoice {n}",), end_to_end_id=_plain(code).lower()),
    ),
    Mangling("structured", True, "auto", lambda code, _: Text((), structured=code)),
    Mangling("structured_plain", True, "auto", lambda code, _: Text((), structured=_plain(code))),
    Mangling(
        "hostile_markup", True, "auto",
        lambda code, _: _text(f"<img src=x onerror=alert(1)> {code}"),
    ),
    Mangling("hostile_dollars", True, "auto", lambda code, _: _text(f"$5 and $6 for {code}")),
    Mangling(
        "hostile_formula", True, "auto",
        lambda code, _: _text(f'=HYPERLINK("http://x") {code}'),
    ),
    Mangling(
        "split_space", False, "auto",
        lambda code, n: _text(f"Invoice {n} {code[:-3].rstrip('-')} {code[-3:]}"),
    ),
    Mangling(
        "split_line", False, "auto", lambda code, n: _text(f"Invoice {n} {code[:6]}\n{code[6:]}")
    ),
    Mangling("embedded", False, "suggest", lambda code, n: _text(f"INV{n}{_plain(code)}X")),
    Mangling("cut_off", False, "suggest", _cut_off),
    Mangling("one_off", False, "suggest", lambda code, n: _text(
        f"Invoice {n} {code[:5]}{chr(ord(code[5]) + 1) if code[5] not in '9Z' else 'A'}{code[6:]}"
    )),
    Mangling("letter_o", False, "suggest", lambda code, n: _text(
        f"{code.replace('0', 'O') if '0' in code else f'{code[:-1]}O'} invoice {n}"
    )),
    Mangling("missing", False, "suggest", lambda _, n: _text(f"Invoice {n}")),
    Mangling("empty", False, "suggest", lambda *_: Text()),
)  # fmt: skip
MANGLINGS: Final = {mangling.name: mangling for mangling in _TABLE}
UNBROKEN: Final = tuple(mangling.name for mangling in _TABLE if mangling.unbroken)
