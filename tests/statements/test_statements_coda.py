"""CODA, version 2: entries, batches, structured communications, damaged files."""

import io
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path

import coda
import pytest
from camt_samples import rows, write
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.core.errors import StatementError
from treasury.statements import StatementFile, read_batches, read_file
from treasury.statements.bank_file import FileTerms, read_document
from treasury.statements.file_sources import documents
from treasury.statements.fixed.coda import CodaFile, belgian_iban, belgian_reference

OURS = "BE68539007547034"


def record(**fields: str) -> str:
    """Return a record of 128 characters; `at_10="x"` sets a text at index 10."""
    line = [" "] * 128
    for name, text in fields.items():
        start = int(name.removeprefix("at_"))
        line[start : start + len(text)] = text
    assert len(line) == 128
    return "".join(line)


def milli(amount: str) -> str:
    return f"{int(Decimal(amount).copy_abs() * 1000):015d}"


def header(version: str = "2") -> str:
    return record(at_0="0000031102672505", at_24="FILE1", at_60="KREDBEBB", at_127=version)


def balances(opening: str, closing: str) -> tuple[str, str]:
    sign = {value: "1" if value.startswith("-") else "0" for value in (opening, closing)}
    old = record(
        at_0="12001", at_5=OURS, at_39="EUR", at_42=sign[opening] + milli(opening), at_58="301026",
        at_64="ACME BV", at_125="007",
    )  # fmt: skip
    new = record(
        at_0="8001", at_4=OURS, at_38="EUR", at_41=sign[closing] + milli(closing), at_57="311026",
        at_127="0",
    )  # fmt: skip
    return old, new


def move(
    amount: str,
    text: str = "0INVOICE 7",
    *,
    sequence: int = 1,
    detail: int = 0,
    code: str = "00150000",
    booked: str = "311026",
) -> str:
    sign = "1" if amount.startswith("-") else "0"
    return record(
        at_0=f"21{sequence:04d}{detail:04d}", at_10="BANKREF", at_31=sign + milli(amount),
        at_47="301026", at_53=code, at_61=text, at_115=booked, at_121="0010", at_127="0",
    )  # fmt: skip


def more(end_to_end: str, text: str = "", *, sequence: int = 1, reason: str = "") -> str:
    return record(
        at_0=f"22{sequence:04d}0000", at_10=text, at_63=end_to_end, at_98="GKCCBEBB", at_113=reason,
        at_127="0",
    )  # fmt: skip


def party(account: str, name: str, *, sequence: int = 1, detail: int = 0) -> str:
    return record(at_0=f"23{sequence:04d}{detail:04d}", at_10=account, at_47=name, at_127="0")


def trailer(records: int, debits: str, received: str) -> str:
    return record(at_0="9", at_16=f"{records:06d}{milli(debits)}{milli(received)}", at_127="2")


def file_of(moves: Sequence[str], opening: str, closing: str, debits: str, received: str) -> str:
    old, new = balances(opening, closing)
    end = trailer(len(moves) + 2, debits, received)
    return "\r\n".join([header(), old, *moves, new, end, ""])


def read(folder: Path, content: str | bytes) -> StatementFile:
    return read_file(write(folder, content, "file.cod"))


def test_an_entry_has_amount_days_parties_and_references(tmp_path: Path) -> None:
    moves = [
        move("25.50", "0" + "A TEXT ".ljust(51, "X") + "WO"),
        more("E2E-1", "RD"),
        party("BE71096123456769", "CUSTOMER NV"),
    ]
    file = read(tmp_path, file_of(moves, "100.00", "125.50", "0.00", "25.50"))
    assert (file.format, file.problems) == ("CODA", ())
    assert rows(file.statements, "account", "currency", "sequence_number", "proved") == [
        (OURS, "EUR", 7, True)
    ]
    (row,) = file.entries.to_pylist()
    assert (row["amount"], row["direction"]) == (Decimal("25.50"), "CRDT")
    assert (row["booking_date"], row["value_date"]) == (date(2026, 10, 31), date(2026, 10, 30))
    assert row["remittance"] == ["A TEXT ".ljust(51, "X") + "WORD"]
    assert (row["end_to_end_id"], row["account_servicer_reference"]) == ("E2E-1", "BANKREF")
    assert (row["debtor_name"], row["debtor_account"]) == ("CUSTOMER NV", "BE71096123456769")
    assert (row["counterparty_agent"], row["proprietary_code"]) == ("GKCCBEBB", "00150000")
    assert row["raw"].count("\n") == 2


def test_an_overdrawn_account_and_a_debit_are_negative(tmp_path: Path) -> None:
    file = read(tmp_path, file_of([move("-5.00")], "-10.00", "-15.00", "5.00", "0.00"))
    assert rows(file.statements, "opening_balance", "closing_balance", "proved") == [
        (Decimal(-10), Decimal(-15), True)
    ]
    assert file.entries["direction"].to_pylist() == ["DBIT"]


@pytest.mark.parametrize(
    ("text", "references", "remittance"),
    [
        ("1101090933755493", ["+++090/9337/55493+++"], []),
        ("1102090933755493", ["+++090/9337/55493+++"], []),
        ("1101090933755494", [], ["090933755494"]),
        ("1100RF18539007547034", ["RF18539007547034"], []),
        ("0PAID +++090/9337/55493+++", ["+++090/9337/55493+++"], ["PAID +++090/9337/55493+++"]),
        ("0PAID +++090/9337/55494+++", [], ["PAID +++090/9337/55494+++"]),
        ("1999SOMETHING", [], ["SOMETHING"]),
    ],
)
def test_a_structured_communication_counts_if_its_check_digits_are_valid(
    tmp_path: Path, text: str, references: list[str], remittance: list[str]
) -> None:
    file = read(tmp_path, file_of([move("1.00", text)], "0.00", "1.00", "0.00", "1.00"))
    (row,) = file.entries.to_pylist()
    assert (row["structured_references"], row["remittance"]) == (references, remittance)


def test_check_digits_of_zero_are_written_as_97() -> None:
    assert belgian_reference("000000009797") == "+++000/0000/09797+++"
    assert belgian_reference("000000009700") is None
    assert belgian_reference("00000000971") is None


def test_an_account_of_twelve_digits_is_converted_to_its_iban(tmp_path: Path) -> None:
    assert belgian_iban(OURS[4:]) == OURS
    old = GOOD.replace(f"12001{OURS}".ljust(39), f"10001{OURS[4:]} EUR0BE".ljust(39), 1)
    assert read(tmp_path, old).statements["account"].to_pylist() == [OURS]


def test_a_direct_debit_has_a_mandate_and_a_return_has_a_reason(tmp_path: Path) -> None:
    text = "1127" + "301026" + "111" + "CREDITOR".ljust(35) + "MANDATE-7".ljust(35) + "INV 8"
    moves = [move("-3.00", text[:54]), more("NOTPROVIDED", text[54:107], reason="MS03")]
    moves.append(record(at_0="2300010000", at_82=text[107:], at_127="0"))
    file = read(tmp_path, file_of(moves, "3.00", "0.00", "3.00", "0.00"))
    (row,) = file.entries.to_pylist()
    assert (row["mandate_id"], row["return_reason"]) == ("MANDATE-7", "MS03")
    assert (row["remittance"], row["end_to_end_id"]) == (["INV 8"], None)


def batch(*amounts: str, code: str = "50150000") -> list[str]:
    """Return the records of a batch: its total, and each payment with its party."""
    total = sum(map(Decimal, amounts))
    details: list[str] = []
    for number, amount in enumerate(amounts, 1):
        details += [
            move(amount, f"0PART {number}", detail=number, code=code),
            party("", f"NAME {number}", detail=number),
        ]
    return [move(f"{total}", "0BATCH", code="10150000"), *details]


def test_a_batch_gives_one_row_per_detail_and_none_for_the_total(tmp_path: Path) -> None:
    moves = batch("10.00", "20.00")
    file = read(tmp_path, file_of(moves, "0.00", "30.00", "0.00", "30.00"))
    assert rows(file.entries, "amount", "remittance", "counterparty_name") == [
        (Decimal(10), ["PART 1"], "NAME 1"), (Decimal(20), ["PART 2"], "NAME 2"),
    ]  # fmt: skip
    assert file.statements["proved"].to_pylist() == [True]


def information(number: int, text: str, *, more: str = "", sequence: int = 1) -> list[str]:
    """Return an information record (31) of a movement, and its continuation (32) for `more`."""
    numbers = f"{sequence:04d}{number:04d}"
    first = record(at_0=f"31{numbers}", at_31="00150000", at_39=text, at_125="0", at_127="0")
    return [first, *([record(at_0=f"32{numbers}", at_10=more, at_127="0")] if more else [])]


def test_every_free_text_of_a_movement_is_kept(tmp_path: Path) -> None:
    moves = [
        move("50.00", "0FIRST WORDS"),
        *information(1, "1001COMPANY BVBA", more="KERKSTRAAT 123"),
        *information(2, "0Transfer from COMPANY BVBA", more=" KERKSTRAAT"),
        *information(3, "01111 GENT PAY-2026-004417"),
        *information(4, "1002OF THE BANK"),
        *information(5, "1777OF A KIND NOT KNOWN"),
        *information(6, "1006EUR000000000050000"),
    ]
    (row,) = read(tmp_path, file_of(moves, "0.00", "50.00", "0.00", "50.00")).entries.to_pylist()
    assert (row["remittance"], row["counterparty_name"]) == (["FIRST WORDS"], "COMPANY BVBA")
    assert row["additional_information"] == (
        "Transfer from COMPANY BVBA KERKSTRAAT 1111 GENT PAY-2026-004417"
        " OF THE BANK OF A KIND NOT KNOWN"
    )


def test_texts_of_amount_components_are_kept_with_their_movement(tmp_path: Path) -> None:
    moves = [
        move("30.00", "0CARD", code="30150000"),
        move("31.00", "0PAY-2026-004417", detail=1, code="80150100"),
        move("-1.00", "1101090933755493", detail=2, code="80150020"),
        *information(2, "0BELOW A DETAIL"),
    ]
    (row,) = read(tmp_path, file_of(moves, "0.00", "30.00", "0.00", "30.00")).entries.to_pylist()
    assert row["additional_information"] == "PAY-2026-004417 BELOW A DETAIL"
    assert row["structured_references"] == ["+++090/9337/55493+++"]


def test_each_payment_of_a_batch_has_the_information_about_the_batch(tmp_path: Path) -> None:
    total, *details = batch("10.00", "20.00")
    moves = [total, *information(0, "0BATCH OF PAY-2026-004417"), *details]
    file = read(tmp_path, file_of(moves, "0.00", "30.00", "0.00", "30.00"))
    assert set(file.entries["additional_information"].to_pylist()) == {"BATCH OF PAY-2026-004417"}


@pytest.mark.parametrize(
    ("field", "account"),
    [
        (f"{OURS.ljust(34)}EUR", OURS),
        (f"{OURS[4:]} EUR0BE".ljust(37), OURS),
        ("NL05TEST0417164300".ljust(34) + "EUR", "NL05TEST0417164300"),
        ("123-456".ljust(34) + "EUR", "123-456"),
    ],
)
def test_an_account_with_a_blank_structure_code_is_read(
    tmp_path: Path, field: str, account: str
) -> None:
    text = GOOD.replace(f"12001{OURS}".ljust(39) + "EUR", f"1 001{field}", 1)
    assert rows(read(tmp_path, text).statements, "account", "currency", "proved") == [
        (account, "EUR", True)
    ]


def without_account() -> str:
    return GOOD.replace(f"12001{OURS}".ljust(39) + "EUR", "1 001".ljust(42), 1)


def test_a_blank_account_and_currency_default_to_the_given_and_declared_ones(
    tmp_path: Path,
) -> None:
    (document,) = documents([write(tmp_path, without_account(), "f.cod")])
    file = read_document(document, FileTerms(account=OURS, currencies={OURS: "EUR"}))
    assert rows(file.statements, "account", "currency", "proved") == [(OURS, "EUR", True)]
    entries = set(rows(file.entries, "account", "currency"))
    assert entries == {(OURS, "EUR")}
    assert all("currency" in inferred for inferred in file.entries["inferred"].to_pylist())


def test_a_number_of_twelve_digits_without_a_currency_is_a_belgian_account(tmp_path: Path) -> None:
    field = f"12001{OURS}".ljust(39) + "EUR"
    text = GOOD.replace(field, f"1 001{OURS[4:]}    0BE".ljust(42), 1)
    (document,) = documents([write(tmp_path, text, "f.cod")])
    file = read_document(document, FileTerms(currencies={OURS: "EUR"}))
    assert rows(file.statements, "account", "currency", "proved") == [(OURS, "EUR", True)]


def test_without_an_account_and_a_currency_a_statement_is_not_proved(tmp_path: Path) -> None:
    file = read(tmp_path, without_account())
    (row,) = file.statements.to_pylist()
    assert (row["account"], row["currency"], row["proved"]) == (None, None, False)
    assert "the statement names no account; the statement names no currency" in row["proof"]


def test_payments_of_zero_are_merged_into_one_line_of_the_total(tmp_path: Path) -> None:
    moves = [move("30.00", "0BATCH", code="10150000"), *batch("0.00", "0.00")[1:]]
    file = read(tmp_path, file_of(moves, "0.00", "30.00", "0.00", "30.00"))
    (row,) = file.entries.to_pylist()
    assert (row["amount"], file.statements["proved"].to_pylist()) == (Decimal(30), [True])
    assert row["remittance"] == ["BATCH"]
    assert row["additional_information"] == "PART 1 PART 2"


def test_a_file_without_line_breaks_is_read(tmp_path: Path) -> None:
    file = read(tmp_path, GOOD.replace("\r\n", ""))
    assert file.statements["proved"].to_pylist() == [True]
    assert file.entries.num_rows == 2


def test_details_that_do_not_add_up_to_their_entry_fail_the_proof(tmp_path: Path) -> None:
    moves = [move("30.00", code="10150000"), *batch("10.00", "19.00")[1:]]
    file = read(tmp_path, file_of(moves, "0.00", "30.00", "0.00", "30.00"))
    (proof,) = file.statements["proof"].to_pylist()
    assert "details are EUR 29.00, the entry EUR 30.00" in proof


def test_components_of_an_amount_are_not_movements(tmp_path: Path) -> None:
    moves = [
        move("30.00", code="30150000"), move("31.00", detail=1, code="80150100"),
        move("-1.00", detail=2, code="80150020"),
    ]  # fmt: skip
    file = read(tmp_path, file_of(moves, "0.00", "30.00", "0.00", "30.00"))
    assert file.entries["amount"].to_pylist() == [Decimal(30)]
    assert file.statements["proved"].to_pylist() == [True]
    assert file.entries["raw"].to_pylist()[0].count("\n") == 2


GOOD = file_of([move("1.00"), move("2.00", sequence=2)], "0.00", "3.00", "0.00", "3.00")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD.replace("INVOICE 7", "INVOICE", 1), "line 3 has 126 characters instead of 128"),
        (GOOD.replace("0000000000001000", "000000000O001000", 1), "'00000000O001000' is not an am"),
        (GOOD.replace("0000000000001000", "2000000000001000", 1), "neither credit nor debit"),
        (GOOD.replace("3110260010", "3113260010", 1), "'311326' is not a date"),
        ("\n".join(GOOD.splitlines()[:4]), "it ends before its trailer record"),
        ("\n".join(GOOD.splitlines()[:-1]), "it ends before its trailer record"),
        (
            "\n".join(GOOD.splitlines()[:2] + GOOD.splitlines()[3:]),
            "the bank states 000004 records",
        ),
        (GOOD.replace("\r\n8001", "\r\n7001"), "a record of kind '7' is not known"),
    ],
)
def test_a_damaged_record_loses_its_entry_and_fails_the_proof(
    tmp_path: Path, content: str, said: str
) -> None:
    file = read(tmp_path, content)
    assert file.statements["proved"].to_pylist() == [False]
    assert said in file.statements["proof"].to_pylist()[0]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GOOD.replace(header(), header("1")), "file.cod line 1: CODA version '1'"),
        (GOOD.replace("12001BE", "15001BE"), "file.cod line 2: '5' is not a code for"),
        ("\n".join([header(), move("1.00")]), "file.cod line 2: a record before the old balance"),
    ],
)
def test_a_file_without_a_statement_is_refused_by_line(
    tmp_path: Path, content: str, said: str
) -> None:
    with pytest.raises(StatementError) as caught:
        read(tmp_path, content)
    assert caught.value.what.startswith(said)
    assert caught.value.do


def test_several_statements_are_read_in_utf_8_and_windows_1252(tmp_path: Path) -> None:
    one = file_of([move("1.00", "0FACTURE N° 7 À PAYÉ")], "0.00", "1.00", "0.00", "1.00")
    for encoding in ("utf-8", "windows-1252"):
        file = read(tmp_path, (one + GOOD).encode(encoding))
        assert file.statements["proved"].to_pylist() == [True, True]
        assert file.entries["remittance"].to_pylist()[0] == ["FACTURE N° 7 À PAYÉ"]


def test_a_large_file_is_read_in_batches(tmp_path: Path) -> None:
    count = 3000
    moves = [move("1.00", sequence=number % 9999 + 1) for number in range(count)]
    text = file_of(moves, "0.00", f"{count}.00", "0.00", f"{count}.00")
    batches = list(read_batches(write(tmp_path, text, "file.cod")))
    assert max(batch.num_rows for batch in batches) < count == sum(b.num_rows for b in batches)


def test_a_truncated_balance_record_is_refused_by_line() -> None:
    with pytest.raises(StatementError, match="line 2: '' is not a code for the structure"):
        list(CodaFile(io.BytesIO(f"{header()}\n1".encode()), "cut.cod").batches())


@given(
    st.lists(st.sampled_from(GOOD.splitlines()), max_size=12),
    st.integers(0, 1200),
    st.text("0129 A\n", max_size=12),
)
@settings(max_examples=150, deadline=None)
def test_random_content_raises_only_statement_errors(lines: list[str], at: int, other: str) -> None:
    text = "\n".join([header(), *lines])
    text = text[:at] + other + text[at + len(other) :]
    try:
        for _ in CodaFile(io.BytesIO(text.encode()), "fuzz").batches():
            pass
    except StatementError:
        return


def their_rows(path: Path) -> list[tuple[object, ...]]:
    """Return the movements that the library febelfin-coda reads, a batch as its payments."""
    found: list[tuple[object, ...]] = []
    for one in coda.CODA(str(path)).statements:
        for parent in one.moves:
            payments = [m for m in parent.moves if m.transaction_type in {"5", "6", "7"}]
            found += [
                (m.amount, m.entry_date, m.value_date, m.bank_reference.strip(), m.transaction_code)
                for m in payments or [parent]
            ]
    return found


def our_rows(path: Path) -> list[tuple[object, ...]]:
    names = "booking_date", "value_date", "account_servicer_reference", "proprietary_code"
    return [
        (row["amount"] * (1 if row["direction"] == "CRDT" else -1), *(row[name] for name in names))
        for row in read_file(path).entries.to_pylist()
    ]


def test_the_library_febelfin_coda_gives_the_same_entries(tmp_path: Path) -> None:
    theirs = Path(coda.__file__).with_name("CODA.txt")
    assert our_rows(theirs) == their_rows(theirs)
    assert read_file(theirs).statements["proved"].to_pylist() == [True]
    moves = [*batch("10.00", "20.00"), move("-5.00", sequence=2)]
    ours = write(tmp_path, file_of(moves, "0.00", "25.00", "5.00", "30.00"), "ours.cod")
    assert our_rows(ours) == their_rows(ours)
