"""Ways to write a reference, whole or damaged, as found in banks' files.

A mangling is one way to write a code into a line's reference fields. It states whether the code is
still whole, and the ceiling: how far matching may go (`auto`, `suggest` or `never`).
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

Ceiling = Literal["auto", "suggest", "never"]
# Maximum length of an unstructured remittance text in SEPA.
_LINE: Final = 140


class Text(msgspec.Struct, frozen=True):
    """The reference fields of one line."""

    remittance: tuple[str, ...] = ()
    end_to_end_id: str = ""
    structured: str = ""


class Mangling(msgspec.Struct, frozen=True):
    """A way to write a code: the texts of the fields, with placeholders for the code's forms."""

    name: str
    unbroken: bool
    ceiling: Ceiling
    remittance: tuple[str, ...] = ()
    end_to_end_id: str = ""
    structured: str = ""

    def write(self, code: str, invoice: int) -> Text:
        """Return the reference fields of a payment with a code and an invoice number."""
        plain, stem = code.replace("-", ""), code[:-2]
        filler = (
            f"Payment of invoice {invoice} as agreed by telephone with your accounts department "
        )
        before = (filler * 2)[: _LINE - len(stem) - 1].rstrip().ljust(_LINE - len(stem))
        typo = chr(ord(code[5]) + 1) if code[5] not in "9Z" else "A"
        forms = {
            "code": code, "n": invoice, "lower": code.lower(), "plain": plain,
            "plain_lower": plain.lower(), "dots": code.replace("-", "."), "cut": before + stem,
            "two_words": f"{code[:-3].rstrip('-')} {code[-3:]}",
            "two_lines": f"{code[:6]}\n{code[6:]}", "typo": f"{code[:5]}{typo}{code[6:]}",
            "letter_o": code.replace("0", "O") if "0" in code else f"{code[:-1]}O",
        }  # fmt: skip
        return Text(
            tuple(line.format_map(forms) for line in self.remittance),
            self.end_to_end_id.format_map(forms),
            self.structured.format_map(forms),
        )


_TABLE: Final = (
    Mangling("plain", True, "auto", ("{code}",)),
    Mangling("after_words", True, "auto", ("Invoice {n} {code}",)),
    Mangling("before_words", True, "auto", ("{code} invoice {n} thanks",)),
    Mangling("lower_case", True, "auto", ("{lower} invoice {n}",)),
    Mangling("no_hyphens", True, "auto", ("INV {n} {plain}",)),
    Mangling("dots", True, "auto", ("{dots}",)),
    Mangling("punctuated", True, "auto", ("/INV {n}/{code}, thanks",)),
    Mangling("colon", True, "auto", ("ref:{code};inv {n}",)),
    Mangling("brackets", True, "auto", ("Invoice {n} ({code})",)),
    Mangling("second_line", True, "auto", ("Invoice {n}", "{code}")),
    Mangling("repeated", True, "auto", ("{code} / {lower}",)),
    Mangling("end_to_end", True, "auto", ("Invoice {n}",), end_to_end_id="{code}"),
    Mangling("end_to_end_lower", True, "auto", ("Invoice {n}",), end_to_end_id="{plain_lower}"),
    Mangling("structured", True, "auto", structured="{code}"),
    Mangling("structured_plain", True, "auto", structured="{plain}"),
    Mangling("hostile_markup", True, "auto", ("<img src=x onerror=alert(1)> {code}",)),
    Mangling("hostile_dollars", True, "auto", ("$5 and $6 for {code}",)),
    Mangling("hostile_formula", True, "auto", ('=HYPERLINK("http://x") {code}',)),
    Mangling("split_space", False, "auto", ("Invoice {n} {two_words}",)),
    Mangling("split_line", False, "auto", ("Invoice {n} {two_lines}",)),
    Mangling("embedded", False, "suggest", ("INV{n}{plain}X",)),
    Mangling("cut_off", False, "suggest", ("{cut}",)),
    Mangling("one_off", False, "suggest", ("Invoice {n} {typo}",)),
    Mangling("letter_o", False, "suggest", ("{letter_o} invoice {n}",)),
    Mangling("missing", False, "suggest", ("Invoice {n}",)),
    Mangling("empty", False, "suggest"),
)
MANGLINGS: Final = {mangling.name: mangling for mangling in _TABLE}
UNBROKEN: Final = tuple(mangling.name for mangling in _TABLE if mangling.unbroken)
