"""Digits of other scripts are read as digits; look-alike letters raise a doubt."""

from __future__ import annotations

import unicodedata

import pytest
from attacked_lines import LONG, Row, left_open, request
from match_tables import line, match

from treasury.matching.letter_forms import latin_shapes

OTHER = "PAY-2026-009983"
BOTH = [request("r", LONG, "5000"), request("s", OTHER, "612.35")]

SHAPES = latin_shapes()
SCRIPTS = {
    "CHEROKEE": "\u13e2\u13aa\u13a9",
    "LISU": "\ua4d1\ua4ee\ua4ec",
    "COPTIC": "\u2ca2\u2ca8",
    "CYRILLIC": "\u0420\u0410\u0423",
    "GREEK": "\u03a1\u0391\u03a5",
    "CARIAN": "\U000102a0",
    "DESERET": "\U00010404",
}


def in_script(code: str, script: str) -> str:
    """Replace each letter and zero of the code with its look-alike in the script, if any."""
    shapes = {SHAPES[letter]: letter for letter in SCRIPTS[script]}
    return "".join(shapes.get("O" if c == "0" else c, c) for c in code)


def in_digits(code: str, zero: str) -> str:
    """Return the code with the decimal digits of the script that has this zero."""
    return "".join(chr(ord(zero) + int(c)) if c.isdigit() else c for c in code)


ZEROS = [chr(c) for c in range(0x0660, 0x11F60) if unicodedata.decimal(chr(c), None) == 0]


@pytest.mark.acceptance
def test_digits_of_every_script_are_read() -> None:
    assert len(ZEROS) > 50
    rows = [
        line(f"a{n}", "612.35", f"{LONG} {in_digits(OTHER, zero)}") for n, zero in enumerate(ZEROS)
    ]
    matches = match(rows, BOTH)
    assert set(matches.lines.arrow["outcome"].to_pylist()) == {"conflict"}


@pytest.mark.acceptance
def test_a_code_in_the_digits_of_another_script_matches() -> None:
    requests = [request(f"s{n}", f"PAY-2026-00998{n}", "612.35") for n in range(4)]
    zeros = ("\u0660", "\u0966", "\u0e50", "\U0001e950")
    rows = [
        line(f"a{n}", "612.35", in_digits(f"PAY-2026-00998{n}", zero))
        for n, zero in enumerate(zeros)
    ]
    matches = match(rows, requests)
    assert matches.lines.arrow["outcome"].to_pylist() == ["matched"] * 4
    assert matches.lines.arrow["expectation_id"].to_pylist() == [f"s{n}" for n in range(4)]


@pytest.mark.acceptance
def test_a_control_character_in_one_text_changes_no_other() -> None:
    """Many texts are translated together, separated by U+001F."""
    rows = [
        line(f"a{n:02}", "612.35", f"{mark} {in_digits(f'PAY-2026-{n:06}', zero)} {mark}")
        for n, (zero, mark) in enumerate(
            zip(ZEROS, ["\x1f", "\x1f\x1f", "", "\n"] * 20, strict=False)
        )
    ]
    requests = [request(f"s{n:02}", f"PAY-2026-{n:06}", "612.35") for n in range(len(rows))]
    matches = match(rows, requests)
    assert matches.lines.arrow["expectation_id"].to_pylist() == [
        f"s{n:02}" for n in range(len(rows))
    ]
    assert set(matches.lines.arrow["outcome"].to_pylist()) == {"matched"}


@pytest.mark.acceptance
def test_a_second_code_in_look_alike_letters_prevents_a_match() -> None:
    seconds = [in_script(OTHER, s).replace("-", gap) for s in SCRIPTS for gap in ("-", " ", "/")]
    rows = [line(f"a{n}", "612.35", f"{LONG} {second}") for n, second in enumerate(seconds)]
    for row, second in zip(match(rows, BOTH).lines.arrow.to_pylist(), seconds, strict=True):
        assert second.isascii() is False
        assert row["outcome"] == "suggested", (second, row)
        assert OTHER in row["reason"]


@pytest.mark.acceptance
def test_a_code_in_look_alike_letters_is_only_a_candidate() -> None:
    rows = [line(f"a{n}", "612.35", in_script(OTHER, s)) for n, s in enumerate(SCRIPTS)]
    for row in match(rows, BOTH).lines.arrow.to_pylist():
        assert (row["outcome"], row["expectation_id"]) == ("suggested", "s")
        assert "damaged reference" in row["reason"]


def test_a_look_alike_and_one_wrong_digit_are_still_a_candidate() -> None:
    typed: Row = line("a", "612.35", in_script("PAY-2026-009988", "CHEROKEE"))
    assert left_open([typed], BOTH)["expectation_id"] == "s"


@pytest.mark.acceptance
def test_a_code_followed_by_a_look_alike_of_the_rest_of_a_longer_one_is_not_matched() -> None:
    nested = [request("r", "PAY-2026-00A", "5000"), request("s", "PAY-2026-00AB", "70")]
    row = left_open([line("a", "80", "PAY-2026-00A \u0412")], nested)
    assert "PAY-2026-00AB" in row["reason"]
