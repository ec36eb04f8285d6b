"""CFONB 120: entries with complementary records, signed amounts, incomplete files."""

import io
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.core.errors import InputError, StatementError
from treasury.statements import StatementFile, read_batches, read_file
from treasury.statements.fixed.cfonb import CfonbFile, french_iban

OURS = "FR7630006000011234567890189"


def amount(text: str) -> str:
    """Return an amount in fourteen characters; the last one encodes a digit and the sign."""
    cents = f"{int(Decimal(text).copy_abs() * 100):014d}"
    letters = "}JKLMNOPQR" if text.startswith("-") else "{ABCDEFGHI"
    return cents[:-1] + letters[int(cents[-1])]


def record(kind: str, day: str, **fields: str) -> str:
    """Return a record of 120 characters for our account; `at_48="x"` sets a text at index 48."""
    line = list(f"{kind}30006    00001EUR2 12345678901  {day}".ljust(120))
    for name, text in fields.items():
        start = int(name.removeprefix("at_"))
        line[start : start + len(text)] = text
    assert len(line) == 120
    return "".join(line)


def balance(kind: str, day: str, text: str) -> str:
    return record(kind, day, at_90=amount(text))


def move(text: str, label: str = "VIR SEPA CLIENT", ref: str = "", reason: str = "") -> str:
    return record(
        "04", "311026", at_7="0A1B", at_32="05", at_40=reason, at_42="301026", at_48=label,
        at_81="0000007", at_90=amount(text), at_104=ref,
    )  # fmt: skip


def more(qualifier: str, text: str) -> str:
    return record("05", "311026", at_7="0A1B", at_32="05", at_45=qualifier, at_48=text)


def file_of(*records: str, opening: str, closing: str) -> str:
    ends = balance("01", "301026", opening), balance("07", "311026", closing)
    return "\r\n".join([ends[0], *records, ends[1], ""])


def read(folder: Path, content: str | bytes) -> StatementFile:
    return read_file(write(folder, content, "file.txt"))


def test_an_entry_includes_its_complementary_records(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        file_of(
            move("25.57", ref="OWNREF"), more("NPY", "CLIENT SA"), more("RCN", "E2E-1"),
            more("LCC", "FACTURE 7 ".ljust(68, "X") + "MO"), more("LC2", "TS"),
            more("LCS", "RF18539007547034"), more("RUM", "MANDATE-7"),
            more("CPY", "FR1420041010050500013M02606"), more("MMO", "USD200000000003000"),
            opening="100.00", closing="125.57",
        ),
    )  # fmt: skip
    assert (file.format, file.problems) == ("CFONB 120", ())
    assert rows(file.statements, "account", "currency", "proved") == [(OURS, "EUR", True)]
    (row,) = file.entries.to_pylist()
    assert (row["amount"], row["direction"]) == (Decimal("25.57"), "CRDT")
    assert (row["booking_date"], row["value_date"]) == (date(2026, 10, 31), date(2026, 10, 30))
    assert row["remittance"] == ["VIR SEPA CLIENT", "FACTURE 7 ".ljust(68, "X") + "MOTS"]
    assert (row["end_to_end_id"], row["mandate_id"]) == ("E2E-1", "MANDATE-7")
    assert row["structured_references"] == ["RF18539007547034"]
    assert (row["debtor_name"], row["debtor_account"]) == (
        "CLIENT SA", "FR1420041010050500013M02606"
    )  # fmt: skip
    assert (row["instructed_amount"], row["instructed_currency"]) == (Decimal("30.00"), "USD")
    assert (row["proprietary_code"], row["entry_reference"]) == ("05+0A1B", "0000007")
    assert row["raw"].count("\n") == 8


@pytest.mark.parametrize(
    ("text", "signed"),
    [("0.10", "0.10"), ("-0.10", "-0.10"), ("-12.34", "-12.34"), ("9.99", "9.99")],
)
def test_the_last_character_of_an_amount_encodes_its_digit_and_sign(
    tmp_path: Path, text: str, signed: str
) -> None:
    moved = Decimal(signed)
    file = read(tmp_path, file_of(move(text), opening="0.00", closing=f"{moved:.2f}"))
    (row,) = file.entries.to_pylist()
    assert row["amount"] * (1 if row["direction"] == "CRDT" else -1) == moved
    assert file.statements["closing_balance"].to_pylist() == [moved]
    assert file.statements["proved"].to_pylist() == [True]


def test_a_french_account_number_is_converted_to_its_iban() -> None:
    assert french_iban("30006", "00001", "12345678901") == OURS
    assert french_iban("20041", "01005", "0500013M026") == "FR1420041010050500013M02606"
    with pytest.raises(InputError, match="is not a French account number"):
        french_iban("20041", "01005", "0500013-026")


def test_each_of_several_statements_is_proved(tmp_path: Path) -> None:
    one = file_of(move("1.00"), opening="0.00", closing="1.00")
    two = file_of(move("-2.00", reason="01"), opening="1.00", closing="-1.00")
    file = read(tmp_path, (one + two).encode("windows-1252"))
    assert file.statements["proved"].to_pylist() == [True, True]
    assert file.entries["return_reason"].to_pylist() == [None, "01"]


GOOD = file_of(move("1.00"), move("2.00"), opening="0.00", closing="3.00")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD.replace("0000000000010{", "000000000001O{", 1), "is not an amount"),
        (GOOD.replace("0000000000010{", "00000000000100", 1), "is not an amount"),
        (GOOD.replace("VIR SEPA", "VIR", 1), "is not an amount"),
        (GOOD.replace("\r\n0730006", "XYZ\r\n0730006"), "has 123 characters instead of 120"),
        (GOOD.replace("0A1B00001", "0A1B00002", 1), "its account is not the st"),
        (GOOD.replace("0A1B00001EUR", "0A1B00001USD", 1), "its account is not the st"),
        (GOOD.replace("05311026", "05311326", 1), "'311326' is not a date"),
        ("\n".join(GOOD.splitlines()[:3]), "it ends before its new balance"),
        (
            GOOD[:-110] + GOOD[-110:].replace("12345678901", "12345678902"),
            "belongs to another account",
        ),
        (GOOD.replace("\r\n0730006", f"\r\n{record('09', '311026')}\r\n0730006"), "kind '09'"),
        ("\r\n".join(GOOD.splitlines()[:2] + GOOD.splitlines()[3:]), "(EUR 2.00 off)"),
    ],
)
def test_a_damaged_record_loses_its_entry_and_fails_the_proof(
    tmp_path: Path, content: str, said: str
) -> None:
    file = read(tmp_path, content)
    assert file.statements["proved"].to_pylist() == [False]
    assert said in file.statements["proof"].to_pylist()[0]


def of_bank(code: str, record: str) -> str:
    return f"{record[:2]}{code}{record[7:]}"


def test_a_movement_with_the_code_of_another_bank_belongs_to_the_account(
    tmp_path: Path,
) -> None:
    moves = [
        of_bank("10556", move("-22.79", "PRLV SEPA")), of_bank("10556", more("LIB", "FACTURE 7")),
        move("50.00"), of_bank("15489", more("LIB", "PAY-2026-004417")),
    ]  # fmt: skip
    text = file_of(*moves, opening="100.00", closing="127.21")
    ending = text.rindex("0730006")
    file = read(tmp_path, text[:ending] + of_bank("10278", text[ending:]))
    assert file.statements["proved"].to_pylist() == [True]
    assert rows(file.entries, "account", "amount", "remittance") == [
        (OURS, Decimal("22.79"), ["PRLV SEPA", "FACTURE 7"]),
        (OURS, Decimal("50.00"), ["VIR SEPA CLIENT", "PAY-2026-004417"]),
    ]


def test_a_record_05_without_its_currency_belongs_to_its_movement(tmp_path: Path) -> None:
    blank = more("LIB", "PAY-2026-004417").replace("EUR2", "    ")
    file = read(tmp_path, file_of(move("1.00"), blank, opening="0.00", closing="1.00"))
    assert file.entries["remittance"].to_pylist() == [["VIR SEPA CLIENT", "PAY-2026-004417"]]


def test_a_blank_currency_defaults_to_that_of_the_statement(tmp_path: Path) -> None:
    text = file_of(move("50.00"), opening="100.00", closing="150.00")
    first, *others = text.split("\r\n")
    below = [line.replace("EUR2", "   2") for line in others]
    file = read(tmp_path, "\r\n".join([first, *below]))
    assert file.statements["proved"].to_pylist() == [True]
    assert file.entries["currency"].to_pylist() == ["EUR"]
    other = [line.replace("EUR2", "USD2") for line in others]
    assert read(tmp_path, "\r\n".join([first, *other])).statements["proved"].to_pylist() == [False]


@pytest.mark.parametrize("filler", ["0000", "0001", "A   "])
def test_the_reserved_field_may_contain_anything(tmp_path: Path, filler: str) -> None:
    text = file_of(move("50.00"), opening="100.00", closing="150.00")
    lines = [f"{line[:7]}{filler}{line[11:]}" if line else "" for line in text.split("\r\n")]
    assert read(tmp_path, "\r\n".join(lines)).statements["proved"].to_pylist() == [True]


def test_every_text_of_a_movement_is_kept_for_any_qualifier(tmp_path: Path) -> None:
    moves = [
        move("1.00"), more("REF", "REMISE 7"), more("REF", "PAY-2026-004417"),
        more("", "BLANK KIND"), more("ZZZ", "UNKNOWN KIND"), more("IPY", "RCS 552100554"),
    ]  # fmt: skip
    (row,) = read(tmp_path, file_of(*moves, opening="0.00", closing="1.00")).entries.to_pylist()
    assert row["additional_information"] == "REMISE 7 PAY-2026-004417 UNKNOWN KIND"
    assert row["remittance"] == ["VIR SEPA CLIENT", "BLANK KIND"]


def without_line_ends(text: str) -> str:
    return text.replace("\r\n", "")


def with_cut_blanks(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def with_more_blanks(text: str) -> str:
    return "\n".join(f"{line}   " for line in text.splitlines())


@pytest.mark.parametrize(
    "written",
    [
        without_line_ends, with_cut_blanks, with_more_blanks,
        lambda text: without_line_ends(text).rstrip(),
        lambda text: text.replace("\r\n", "\r"),
        lambda text: text.replace("\r\n05", "\r\n\f05"),
        lambda text: f"{without_line_ends(text)}\r\n{without_line_ends(text)}\r\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1"])
def test_the_line_ends_of_a_file_do_not_matter(
    tmp_path: Path, written: Callable[[str], str], encoding: str
) -> None:
    moves = [move("50.00"), more("LIB", "PAYÉ PAR ÉMILE"), more("LIB", "PAY-2026-004417")]
    text = written(file_of(*moves, opening="0.00", closing="50.00"))
    file = read(tmp_path, text.encode(encoding))
    assert set(file.statements["proved"].to_pylist()) == {True}
    assert rows(file.entries, "amount", "remittance")[0] == (
        Decimal(50), ["VIR SEPA CLIENT", "PAYÉ PAR ÉMILE", "PAY-2026-004417"]
    )  # fmt: skip


def test_records_without_line_ends_are_read_in_chunks(tmp_path: Path) -> None:
    moves = [move("1.00", "VIR DE ÉMILE"), more("LIB", "X")] * 3000
    text = without_line_ends(file_of(*moves, opening="0.00", closing="3000.00"))
    for encoding in ("utf-8", "iso-8859-1"):
        file = read(tmp_path, text.encode(encoding))
        assert file.statements["proved"].to_pylist() == [True]
        assert file.entries.num_rows == 3000


def test_a_record_before_the_opening_balance_is_refused_by_line(tmp_path: Path) -> None:
    torn = GOOD + move("1.00") + "\n"
    with pytest.raises(StatementError, match=r"^file\.txt line 5: a record precedes"):
        read(tmp_path, torn)


def test_a_large_file_is_read_in_batches(tmp_path: Path) -> None:
    text = file_of(*[move("1.00")] * 3000, opening="0.00", closing="3000.00")
    batches = list(read_batches(write(tmp_path, text, "file.txt")))
    assert max(batch.num_rows for batch in batches) < 3000 == sum(b.num_rows for b in batches)


@given(
    st.lists(st.sampled_from([*GOOD.splitlines(), more("LIB", "x")]), max_size=12),
    st.integers(0, 1200),
    st.text("0129 A{}\n", max_size=12),
)
@settings(max_examples=150, deadline=None)
def test_random_content_raises_only_statement_errors(lines: list[str], at: int, other: str) -> None:
    text = "\n".join(lines)
    text = text[:at] + other + text[at + len(other) :]
    try:
        for _ in CfonbFile(io.BytesIO(text.encode()), "fuzz").batches():
            pass
    except StatementError:
        return
