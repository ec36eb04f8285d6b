"""A second code that is split, truncated or written differently prevents a match."""

from __future__ import annotations

import unicodedata

import duckdb
import pytest
from attacked_lines import (
    ACCOUNT_CODE,
    LONG,
    Row,
    all_left_open,
    left_open,
    request,
    standing,
)
from match_tables import arrow, line, match, outcome

from treasury.matching.engine.pipeline import load, run, steps_of
from treasury.matching.input_tables import LINES, read_table
from treasury.matching.reference_matching import PACKAGE, rule_tables
from treasury.matching.rules import Rules

pytestmark = pytest.mark.long_file

EXPECTATIONS = [standing("v", ACCOUNT_CODE), request("r", LONG, "9126.40")]
DASH_LESS = "PAY2026004417"


def beside(*pieces: str) -> list[str]:
    """Return two texts per piece: the account's code before the piece, and after it."""
    return [
        text for piece in pieces for text in (f"{ACCOUNT_CODE} {piece}", f"{piece} {ACCOUNT_CODE}")
    ]


@pytest.mark.parametrize("amount", ["9126.40", "12"])
def test_a_second_code_across_punctuation_and_blanks_prevents_a_match(amount: str) -> None:
    texts = []
    for mark in (",", "_", ":", "#", "(", ")", ";", "+", "?", "|", "\u20ac", "' "):
        texts += beside(
            f"PAY-2026{mark} 004417",
            f"PAY-2026 {mark}004417",
            f"PAY-2026{mark}\n004417",
            f"PAY{mark} 2026{mark} 004417",
            f"PAY-2026 {mark} 004417 thanks",
        )
        texts.append(f"PAY-2026{mark} {ACCOUNT_CODE} 004417")
    all_left_open(texts, amount, EXPECTATIONS)


def test_a_second_code_in_very_many_pieces_prevents_a_match() -> None:
    pieces = ("PAY 2 0 2 6 0 0 4417", "P A Y 2 0 2 6 0 0 4 4 1 7", "P.A.Y. 2-0-2-6 / 0 0, 4 4 1 7")
    all_left_open(beside(*pieces), "9126.40", EXPECTATIONS)


def test_a_code_in_very_many_pieces_does_not_match() -> None:
    texts = ["PAY 2 0 2 6 0 0 4417", "PAY-2026, 004417"]
    all_left_open(texts, "9126.40", EXPECTATIONS)


@pytest.mark.acceptance
def test_a_damaged_second_code_between_slashes_or_dots_prevents_a_match() -> None:
    pieces = (
        "INV/PAY-2026-0O4417",
        "PAY-2026-0O4417/INV",
        "/PAY-2026-00441/",
        "INV.PAY-2026-004471",
        "RFB/PAY-2026-04417/X",
        "INV/PAY-2026-O04417/OF/OCTOBER",
        "a.PAY-2026-0044117.b",
    )
    texts = [*beside(*pieces), *(f"{ACCOUNT_CODE}/{piece}" for piece in pieces)]
    all_left_open(texts, "9126.40", EXPECTATIONS)
    for piece in (pieces[0], pieces[5]):
        for field in ("end_to_end_id", "creditor_reference"):
            left_open([line("a", "9126.40", ACCOUNT_CODE, **{field: piece[:35]})], EXPECTATIONS)


def test_a_code_before_a_slash_and_the_damaged_rest_of_a_longer_one_is_not_matched() -> None:
    expectations = [standing("v", "ABCD1234"), request("r", "ABCD1234/EFGH5678", "50")]
    all_left_open(
        ["ABCD1234 /EFGH5679", "ABCD1234 / EFGH5679", "ABCD1234\n/EFGH5679"], "50", expectations
    )


@pytest.mark.acceptance
def test_a_split_and_damaged_second_code_prevents_a_match() -> None:
    pieces = (
        "PAY 2026 0O4417",
        "PAY-2026 00441",
        "PAY 2026 004471",
        "PAY, 2026, 0O4417",
        "thanks PAY 2026 O04417 thanks",
        "PAY-2026-\n00447",
    )
    all_left_open(beside(*pieces), "9126.40", EXPECTATIONS)


@pytest.mark.acceptance
def test_a_truncated_second_code_that_very_many_codes_continue_prevents_a_match() -> None:
    series = [request(f"s{n}", f"PAY-2026-0044{n:02}", "100") for n in range(30)]
    text = f"{ACCOUNT_CODE} PAY-2026-0044"
    reason = left_open([line("a", "100", text)], [standing("v", ACCOUNT_CODE), *series])["reason"]
    assert "PAY-2026-00440" in reason


@pytest.mark.acceptance
def test_a_damaged_second_code_of_very_many_instalments_prevents_a_match() -> None:
    instalments = [
        request(f"s{code}-{n}", f"PAY-2026-00441{code}", f"{n + 10}.00")
        for code in range(3)
        for n in range(12)
    ]
    expectations = [standing("v", ACCOUNT_CODE), *instalments]
    all_left_open(beside("PAY-2026-00441X", "PAY-2026-00441"), "99", expectations)


@pytest.mark.acceptance
def test_very_many_codes_similar_to_the_named_one_do_not_prevent_a_match() -> None:
    series = [request(f"s{n}", f"PAY-2026-0044{n:02}", f"{n + 10}.00") for n in range(30)]
    texts = ["PAY-2026-004417 PAY-2026-0044", "PAY-2026-004417 PAY-2026-00441"]
    rows = [line(f"a{n}", "27", text) for n, text in enumerate(texts)]
    assert match(rows[:1], series).lines.arrow["outcome"].to_pylist() == ["matched"]
    assert match(rows[1:], series).lines.arrow["outcome"].to_pylist() == ["matched"]


MATHEMATICAL = str.maketrans(
    {chr(65 + n): chr(0x1D400 + n) for n in range(26)}
    | {chr(48 + n): chr(0x1D7CE + n) for n in range(10)}
)
CIRCLED = str.maketrans(
    {chr(65 + n): chr(0x24B6 + n) for n in range(26)}
    | {chr(48 + n): chr(0x245F + n) for n in range(1, 10)}
)
FULL = str.maketrans({chr(n): chr(n + 0xFEE0) for n in range(33, 127)})


@pytest.mark.acceptance
@pytest.mark.parametrize("letters", [MATHEMATICAL, CIRCLED, FULL], ids=["bold", "circled", "full"])
def test_a_second_code_in_other_forms_of_its_letters_prevents_a_match(
    letters: dict[int, str],
) -> None:
    written = LONG.translate(letters)
    assert written != LONG
    assert unicodedata.normalize("NFKC", written) == LONG
    all_left_open(beside(written), "12", EXPECTATIONS)
    assert outcome(match([line("a", "9126.40", written)], EXPECTATIONS))["outcome"] == "matched"


@pytest.mark.acceptance
@pytest.mark.parametrize("rest", ["\u2077", "\U0001d7d5", "\u2466", "\u2087", "\uff17", "\u2170"])
def test_a_code_followed_by_another_form_of_the_last_digit_of_a_longer_one_is_not_matched(
    rest: str,
) -> None:
    digit = unicodedata.normalize("NFKC", rest).upper()
    expectations = [
        request("s", "PAY-2026-00441", "80"),
        request("r", f"PAY-2026-00441{digit}", "91"),
    ]
    all_left_open([f"PAY-2026-00441{gap}{rest}" for gap in (" ", ", ", "\n")], "91", expectations)
    assert (
        outcome(match([line("a", "91", f"PAY-2026-00441{rest}")], expectations))["expectation_id"]
        != "s"
    )


@pytest.mark.acceptance
def test_a_character_for_several_letters_raises_a_doubt_and_does_not_end_a_code() -> None:
    expectations = [
        standing("v", ACCOUNT_CODE),
        request("r", LONG, "50"),
        request("f", "FIN-2026-0044", "7"),
    ]
    texts = beside("PAY-2026-0044\u2470", "\ufb01n-2026-0044", "thanks \u2122", "\u0132S", "\u33a1")
    all_left_open(texts, "50", expectations)
    rest = ("\u2470", " \u2470", ", \u2470", "\n\u2470", "\u249c", "\u2122", "\u33c4", "\u2167")
    longer = [
        request(f"l{n}", f"PAY-2026-0044{unicodedata.normalize('NFKC', sign.strip(', '))}", "9")
        for n, sign in enumerate(("\u2470", "\u2122", "\u33c4", "\u2167"))
    ]
    all_left_open(
        [f"PAY-2026-0044{sign}" for sign in rest],
        "50",
        [request("r", "PAY-2026-0044", "50"), *longer],
    )
    matches = match([line("a", "50", f"\u2116 {LONG}")], expectations)
    assert outcome(matches)["outcome"] == "matched", "the sign for a number stands before a code"


@pytest.mark.acceptance
def test_invisible_characters_do_not_divide_a_code() -> None:
    texts = []
    for unseen in (
        "\u115f",
        "\u1160",
        "\u3164",
        "\uffa0",
        "\u034f",
        "\ufe0f",
        "\u180b",
        "\u17b5",
        "\U000e0101",
    ):
        texts += [f"PAY-2026-00441{unseen}7", f"PAY-2026-00441 {unseen}7"]
        texts += [f"{unseen} PAY-2026-00441 {unseen} 7"]
    expectations = [request("s", "PAY-2026-00441", "80"), request("r", LONG, "91")]
    all_left_open(texts, "91.50", expectations)


@pytest.mark.acceptance
def test_a_second_code_with_letters_of_another_script_prevents_a_match() -> None:
    pieces = (
        "P\u0410Y-2026-004417",
        "PAY-2026-\u041e04417",
        "P\u0410\u0423-2026-004417",
        "\u0420\u0410Y-2026-004417",
        "PAY-2026-0\u03bf4417",
        "PAY-2026-00441\u00fc",
    )
    all_left_open(beside(*pieces), "9126.40", EXPECTATIONS)


@pytest.mark.acceptance
def test_a_code_with_other_words_around_it_matches() -> None:
    texts = [
        f"{ACCOUNT_CODE}, invoice 4711, thanks",
        f"{ACCOUNT_CODE} (2026: 10) 004418",
        f"{ACCOUNT_CODE} Gr\u00fc\u00dfe \u2460",
        f"{ACCOUNT_CODE}/INV/2026-1004",
    ]
    rows = [line(f"a{n}", "12", text) for n, text in enumerate(texts)]
    assert set(match(rows, EXPECTATIONS).lines.arrow["outcome"].to_pylist()) == {"matched"}


def test_every_unicode_form_of_a_latin_letter_or_digit_is_found_but_no_other_alphabet() -> None:
    forms = {}
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x20000)):
        plain = unicodedata.normalize("NFKC", chr(code))
        if len(plain) == 1 and plain.isascii() and plain.isalnum() and chr(code) != "\u017f":
            forms[chr(code)] = plain.upper()
    assert len(forms) > 900
    texts = [line(f"{ord(form):06x}", "1", f"x{form}") for form in (*forms, "\u017f", "\u0410")]
    connection = duckdb.connect()
    tables = {"lines": read_table(arrow(texts), LINES, name="lines"), **rule_tables(Rules())}
    load(connection, tables)
    steps = steps_of(PACKAGE)
    run(connection, (steps["line_texts"], steps["reference_fields"]))
    read = dict(connection.execute("SELECT entry_id, text FROM reference_fields").fetchall())
    assert read == {f"{ord(form):06x}": f"X{plain}" for form, plain in forms.items()} | {
        "00017f": "X\u017f",
        "000410": "X\u0410",
    }


NEXT_BY_AMOUNT = [
    ([request("r", LONG), request("s", "PAY-2026-004418")], "7"),
    ([request("r", LONG, "500"), request("s", "PAY-2026-004418", "500")], "500"),
]


@pytest.mark.acceptance
@pytest.mark.parametrize(("expectations", "amount"), NEXT_BY_AMOUNT, ids=["standing", "requests"])
def test_a_second_code_one_slip_from_the_named_one_prevents_a_match(
    expectations: list[Row], amount: str
) -> None:
    pieces = (
        "PAY-2026-0044\u00ad18",
        "PAY-2026-0044+18",
        "PAY-2026-0044\u030118",
        "PAY_2026_004418",
        "PAY-2026-\u200b004418",
        "PAY-2026, 004418",
        "PAY: 2026: 004418",
        "PAY 2026 004418",
        "P A Y 2 0 2 6 0 0 4 4 1 8",
        "PAY-2026-00?214418",
    )
    all_left_open(
        [text.replace(ACCOUNT_CODE, LONG) for text in beside(*pieces)], amount, expectations
    )
    left_open([line("a", amount, LONG, end_to_end_id="PAY_2026_004418")], expectations)


@pytest.mark.parametrize("rival", ["PAY-2026-004471", "PAY-2026-04417"])
def test_a_second_code_that_looks_like_the_damaged_named_one_prevents_a_match(rival: str) -> None:
    text = f"{LONG} {rival.replace('-', '_')}"
    left_open([line("a", "7", text)], [request("r", LONG), request("s", rival)])


@pytest.mark.acceptance
def test_a_second_code_contained_in_the_named_one_prevents_a_match() -> None:
    for short, pieces in (
        ("PAY-2026-0044", ("PAY 2026 0044", "PAY-2026, 0044")),
        ("PAY-2026-00441", ("PAY 2026 00441",)),
    ):
        expectations = [request("r", LONG), request("s", short, "7")]
        all_left_open([f"{LONG} {piece}" for piece in pieces], "7", expectations)


@pytest.mark.acceptance
def test_the_text_of_another_line_does_not_change_a_result() -> None:
    expectations = [request("r", LONG), request("s", "PAY-2026-44170", "7000")]
    mine = line("a", "7", f"{LONG} PAY 2026 4417")
    alone = outcome(match([mine], expectations))
    beside_another = outcome(match([mine, line("b", "3", "PAY-2026-4417", 2)], expectations))
    assert alone == beside_another
    expectations = [request("r", "PAY-2026-001538", "9"), request("s", "PAY-2026-001006", "8")]
    mine = line("a", "9", "PAY-2026-001538 pay 2026 1006")
    other = line("b", "3", "PAY-2026-1006", 2)
    assert outcome(match([mine], expectations)) == outcome(match([mine, other], expectations))


@pytest.mark.acceptance
def test_a_second_code_with_a_raw_subfield_tag_inside_prevents_a_match() -> None:
    pieces = ("PAY-2026?21004417", "PAY-2026?21-004417", "PAY-2026-\n?21004417")
    all_left_open(beside(*pieces), "9126.40", EXPECTATIONS)
    both = {"end_to_end_id": ACCOUNT_CODE, "creditor_reference": "PAY-2026?21-004417"}
    left_open([line("a", "9126.40", None, **both)], EXPECTATIONS)


def test_a_second_code_in_small_letters_of_another_script_prevents_a_match() -> None:
    beta = request("b", "BETA-2026-0001", "7")
    pieces = (
        "\u0420\u0430\u0443-2026-004417",
        "\u0432\u0435\u0442\u0430-2026-0001",
        "\u03a1\u03b1\u03c5-2026-004417",
        "\u03c1\u0430\u0443-2026-004417",
    )
    all_left_open(beside(*pieces), "7", [*EXPECTATIONS, beta])


@pytest.mark.parametrize("code", ["123456", "LEASING", "AB-123"])
def test_a_whole_second_code_between_slashes_or_dots_prevents_a_match(code: str) -> None:
    pieces = (f"INV/{code}", f"no.{code}", f"{code}/INV")
    expectations = [standing("v", ACCOUNT_CODE), request("r", code, "7")]
    all_left_open([*beside(*pieces), f"{code}/{ACCOUNT_CODE}"], "8", expectations)


@pytest.mark.acceptance
def test_a_second_code_truncated_at_the_end_of_a_field_prevents_a_match() -> None:
    for length in (35, 65, 70, 140):
        text = f"{ACCOUNT_CODE} {'thanks for all ' * 10}"[: length - 11] + " PAY-2026-0"
        assert len(text) == length
        left_open([line("a", "7", text)], EXPECTATIONS)
    umlauts = "\u00fc" * 8
    octets = f"{ACCOUNT_CODE} {umlauts} {'thanks for all ' * 10}"[:124] + " LEASING"
    assert len(octets.encode()) == 140
    left_open([line("a", "7", octets)], [*EXPECTATIONS, request("l", "LEASING-2026", "7")])


def test_a_stray_piece_of_a_code_does_not_hide_a_damaged_one() -> None:
    expectations = [request("r", LONG), request("s", "PAY-2026-004528", "7")]
    texts = [f"{LONG} PAY-2026-00 452X", f"{LONG} PAY-2026-004582 (PAY-2026-00)"]
    all_left_open(texts, "7", expectations)


@pytest.mark.acceptance
def test_years_dates_and_amounts_next_to_a_code_of_digits_do_not_prevent_a_match() -> None:
    series = [request(f"s{n}", f"2026{n:04}", f"{n + 10}") for n in range(1, 2001)]
    texts = [
        "20260404, 06.10.2026, 12.34 UHR",
        "20260404 06.08.2026 18:25 UHR",
        "20260404 amount EUR 2026.00",
        "20260404 06.10.2026",
    ]
    rows = [line(f"a{n}", "414", text) for n, text in enumerate(texts)]
    for row in rows:
        assert outcome(match([row], series), row["entry_id"])["outcome"] == "matched", row
