"""MT940 and MT942: fields, dialects, pages, and layouts of real banks."""

import io
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.core.errors import StatementError
from treasury.statements import StatementFile, read_file
from treasury.statements.mt.mt_file import MtFile
from treasury.statements.text_encoding import Letters


def statement(
    *movements: str,
    opening: str = "C261001EUR100,00",
    closing: str = "C261031EUR100,00",
    number: str = "00010/001",
    ends: tuple[str, str] = ("60F", "62F"),
) -> str:
    lines = [":20:STARTUMSE", ":25:BE68539007547034", f":28C:{number}", f":{ends[0]}:{opening}"]
    return "\r\n".join([*lines, *movements, f":{ends[1]}:{closing}", "-", ""])


def read(folder: Path, *texts: str) -> StatementFile:
    return read_file(write(folder, "".join(texts).encode(), "file.sta"))


@pytest.mark.parametrize(
    ("mark", "direction", "closing", "is_reversal"),
    [
        ("C", "CRDT", "C261031EUR112,50", False),
        ("D", "DBIT", "C261031EUR87,50", False),
        ("RC", "DBIT", "C261031EUR87,50", True),
        ("RD", "CRDT", "C261031EUR112,50", True),
        ("CR", "CRDT", "C261031EUR112,50", False),
        ("DR", "DBIT", "C261031EUR87,50", False),
        ("RDR", "CRDT", "C261031EUR112,50", True),
    ],
)
def test_the_debit_credit_mark_gives_the_direction_and_the_balance_proves_it(
    tmp_path: Path, mark: str, direction: str, closing: str, is_reversal: bool
) -> None:
    file = read(tmp_path, statement(f":61:2610151015{mark}12,50NTRFNONREF//B1", closing=closing))
    assert rows(file.entries, "direction", "amount", "is_reversal") == [
        (direction, Decimal("12.5"), is_reversal)
    ]
    assert rows(file.statements, "proved", "format", "sequence_number") == [(True, "MT940", 10)]


def test_subfields_with_keywords_give_counterparty_and_purpose(tmp_path: Path) -> None:
    movement = (
        ":61:2610151015C12,50NTRFKREF+//B1\r\n"
        ":86:166?00GUTSCHRIFT?109075?20EREF+E2E-1?21KREF+BATCH 7?22MREF+M1?23SVWZ+Invoice 20?\r\n"
        "24 26-004417?30TESTDEFF?31DE1234?32Mustermann Handelsgesellsch?33aft mbH?34000?60 more"
    )
    file = read(tmp_path, statement(movement, closing="C261031EUR112,50"))
    wanted = {
        "end_to_end_id": "E2E-1",
        "payment_information_id": "BATCH 7",
        "mandate_id": "M1",
        "remittance": ["Invoice 20 26-004417 more"],
        "counterparty_name": "Mustermann Handelsgesellschaft mbH",
        "debtor_account": "DE1234",
        "debtor_agent": "TESTDEFF",
        "additional_information": "GUTSCHRIFT",
        "proprietary_code": "NTRF+166",
        "account_servicer_reference": "B1",
    }
    (row,) = file.entries.select(list(wanted)).to_pylist()
    assert row == wanted


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("166?00X?20Y?32Jan?33Kowalski", "Jan Kowalski"),
        ("166?00X?20Y?32Jan ?33Kowalski", "Jan Kowalski"),
        ("166?00X?20Y?32Jan?33 Kowalski", "Jan Kowalski"),
        ("166?00X?20Y?32?33Kowalski", "Kowalski"),
        ("166?00X?20Y?32Jan?33", "Jan"),
        (
            "166?00X?20Y?32Finanzamt Muenchen Abteilun?33g Erhebung",
            "Finanzamt Muenchen Abteilung Erhebung",
        ),
        ("166?00X?20Y?32Empfaenger Josef Jaeger UK?33 01", "Empfaenger Josef Jaeger UK 01"),
        ("166?00X?20Y?32Empfaenger Josef Jaeger UK?3301", "Empfaenger Josef Jaeger UK 01"),
    ],
)
def test_the_second_part_of_a_name_is_joined_only_to_a_full_first_part(
    tmp_path: Path, text: str, name: str
) -> None:
    """`?32` holds 27 characters; a shorter part ends with a word, so a space is added."""
    file = read(tmp_path, statement(f":61:2610151015C10,NTRFNONREF\r\n:86:{text}", closing=MOVED))
    assert file.entries["counterparty_name"].to_pylist() == [name]


def test_the_split_of_a_name_is_not_part_of_the_id(tmp_path: Path) -> None:
    ids = set()
    for parts in ("?32Jan?33Kowalski", "?32JanKowalski"):
        movement = f":61:2610151015C10,NTRFNONREF\r\n:86:166?00X?20Y{parts}"
        file = read(tmp_path, statement(movement, closing=MOVED))
        ids |= set(file.entries["entry_id"].to_pylist())
    assert len(ids) == 1


def test_keywords_between_slashes_are_read(tmp_path: Path) -> None:
    movement = (
        ":61:261015D12,50NTRFEREF//B1\r\n:86:/EREF/E2E-1/BENM//NAME/JOHN DOE/IBAN/NL91TEST/BIC/\r\n"
        "TESTNL2A/REMI/USTD//Invoice 7/ULTC//NAME/Jane/RTRN/AC04"
    )
    file = read(tmp_path, statement(movement, closing="C261031EUR87,50"))
    wanted = {
        "end_to_end_id": "E2E-1",
        "remittance": ["Invoice 7"],
        "counterparty_name": "JOHN DOE",
        "counterparty_account": "NL91TEST",
        "counterparty_agent": "TESTNL2A",
        "ultimate_creditor_name": "Jane",
        "return_reason": "AC04",
        "original_end_to_end_id": "E2E-1",
    }
    (row,) = file.entries.select(list(wanted)).to_pylist()
    assert row == wanted


def test_numbered_lines_and_free_text_are_read(tmp_path: Path) -> None:
    numbered = ":61:261015C1,00NMSC\r\n:NS:01Invoice\r\n02seven\r\n15Payer\r\n17Credit"
    free = ":61:261015C1,00NMSC\r\n:86:Invoice eight\r\n\r\n20:44:45 o'clock\r\n:26:37 more"
    file = read(tmp_path, statement(numbered, free, closing="C261031EUR102,00"))
    assert rows(file.entries, "remittance", "counterparty_name") == [
        (["Invoice", "seven"], "Payer"),
        (["Invoice eight", "20:44:45 o'clock", ":26:37 more"], None),
    ]


HABITS = {
    "labels in columns": (
        "SEPA OVERBOEKING        IBAN: NL91TEST0417164300\r\nBIC: T   NAAM: J JANSEN\r\nKENMERK: 7",
        "J JANSEN", "NL91TEST0417164300", None,
    ),
    "Polish words": (
        "911 PRZELEW; z rach.: 12345; od: JAN KOWALSKI; tyt.: FV 1; TNR: 99",
        "JAN KOWALSKI", "12345", None,
    ),
    "numbered with a tilde": (
        "020~00VE02~20Faktura 7~21uslugi~22~31000012~32FIRMA~34020~38PL61TEST0140000071219812874",
        "FIRMA", "PL61TEST0140000071219812874", ["Faktura 7", "uslugi"],
    ),
    "a group and its name": (
        "/ORDP/NAME/ACME AB/IBAN/SE12/REMI/Invoice 77", "ACME AB", "SE12", ["Invoice 77"],
    ),
    "a counterparty without an account": (
        "/CNTP//TESTNL2A/Jane//REMI/USTD//Text/", "Jane", None, ["Text"],
    ),
    "keywords with a colon, each in a subfield": (
        "166?00UEBERWEISUNG?20EREF: 123?21SVWZ: Rechnung 5?31DE89?32ACME",
        "ACME", "DE89", ["Rechnung 5"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name", "account", "remittance"), HABITS.values(), ids=HABITS)
def test_bank_specific_layouts_of_field_86_are_read(
    tmp_path: Path, text: str, name: str, account: str | None, remittance: list[str] | None
) -> None:
    movement = f":61:2610151015C12,50NTRFNONREF//B1\r\n:86:{text}"
    file = read(tmp_path, statement(movement, closing="C261031EUR112,50"))
    ((who, whose, said),) = rows(
        file.entries, "counterparty_name", "counterparty_account", "remittance"
    )
    assert (who, whose) == (name, account)
    if remittance is not None:
        assert said == remittance


def test_movements_of_different_dialects_in_one_file_are_read(tmp_path: Path) -> None:
    movements = [
        f":61:2610151015C{number},00NTRFNONREF//B{number}\r\n:86:{text}"
        for number, (text, *_) in enumerate([*HABITS.values(), *HABITS.values()], 1)
    ]
    movements.append(":61:2610151015C1,00NMSC")
    file = read(tmp_path, statement(*movements, closing="C261031EUR179,00"))
    names = [name for _, name, *_ in HABITS.values()]
    assert file.entries["counterparty_name"].to_pylist() == [*names, *names, None]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize(
    ("text", "account"),
    [
        ("BE68539007547034EUR", "BE68539007547034"),
        ("NO9386011117947EUR", "NO9386011117947"),
        ("TESTBEBB/BE68 5390 0754 7034", "BE68539007547034"),
        ("20752041/0291593375", "20752041/0291593375"),
        ("NL00BUNQ9999999999EUR", "NL00BUNQ9999999999"),
        ("37040044/0532013000EUR", "37040044/0532013000"),
        ("UBSWCHZH80A/0023000012345678CHF", "UBSWCHZH80A/0023000012345678CHF"),
    ],
)
def test_the_account_is_extracted_from_field_25(tmp_path: Path, text: str, account: str) -> None:
    file = read(tmp_path, statement().replace("BE68539007547034", text))
    assert file.statements["account"].to_pylist() == [account]


@pytest.mark.acceptance
def test_the_result_does_not_depend_on_the_size_of_the_chunks_read(tmp_path: Path) -> None:
    movements = [
        f":61:2610{1 + n % 28:02d}C1,00NTRFNONREF//B{n}\r\n:86:166?20Text {n}?32Näme {n % 7}"
        for n in range(3000)
    ]
    content = statement(*movements, closing="C261031EUR3100,00").encode()

    class Slowly(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(size or 0, 997))

    whole, slow = MtFile(io.BytesIO(content), "f"), MtFile(Slowly(content), "f")
    assert [b.to_pylist() for b in whole.batches()] != []
    assert sum(batch.num_rows for batch in slow.batches()) == 3000
    assert whole.statements == slow.statements
    assert whole.statements[0].proved
    twice = [
        [row for batch in MtFile(source, "f").batches() for row in batch.to_pylist()]
        for source in (io.BytesIO(content), Slowly(content))
    ]
    assert twice[0] == twice[1]


def test_an_amount_of_cents_alone_may_begin_with_its_comma(tmp_path: Path) -> None:
    movement = ":61:2610151015C,50N654NONREF"
    file = read(tmp_path, statement(movement, opening="C261001EUR,00", closing="C261031EUR,5"))
    assert file.entries["amount"].to_pylist() == [Decimal("0.5")]
    assert file.statements["proved"].to_pylist() == [True]


def test_a_lone_account_below_a_movement_belongs_to_the_counterparty(tmp_path: Path) -> None:
    movements = (
        ":61:261015D000000000050,00N544EREF//1\r\nNL91ABNA0417164300\r\n:86:/EREF/E1/REMI/I 12",
        ":61:261015D000000000010,00N544EREF//2\r\nNL91ABNA0417164300 AND MORE",
    )
    file = read(tmp_path, statement(*movements, closing="C261031EUR40,00"))
    names = ("counterparty_account", "creditor_account", "additional_information")
    assert rows(file.entries, *names) == [
        ("NL91ABNA0417164300", "NL91ABNA0417164300", None),
        (None, None, "NL91ABNA0417164300 AND MORE"),
    ]


def test_charges_and_the_instructed_amount_are_read_from_the_second_line(tmp_path: Path) -> None:
    movement = ":61:261015D12,35NTRFX1//B1\r\n/OCMT/USD11,85//CHGS/EUR0,50/"
    file = read(tmp_path, statement(movement, closing="C261031EUR87,65"))
    names = ("instructed_amount", "instructed_currency", "charges_amount", "charges_currency")
    rated = read(tmp_path, statement(movement.replace("/CHGS/EUR0,50/", "EXCH/1,04/")))
    assert rated.entries["exchange_rate"].to_pylist() == [Decimal("1.04")]
    assert rows(file.entries, *names) == [(Decimal("11.85"), "USD", Decimal("0.50"), "EUR")]


@pytest.mark.parametrize(
    ("dates", "booked", "valued"),
    [
        ("2701021231", date(2026, 12, 31), date(2027, 1, 2)),
        ("2612310102", date(2027, 1, 2), date(2026, 12, 31)),
        ("2802290229", date(2028, 2, 29), date(2028, 2, 29)),
        ("2702280229", date(2028, 2, 29), date(2027, 2, 28)),
        ("260230", date(2026, 2, 28), date(2026, 2, 28)),
        ("261015", date(2026, 10, 15), date(2026, 10, 15)),
    ],
)
def test_a_booking_date_without_a_year_is_the_nearest_and_flagged(
    tmp_path: Path, dates: str, booked: date, valued: date
) -> None:
    file = read(tmp_path, statement(f":61:{dates}C1,00NMSC", closing="C261031EUR101,00"))
    ((was_booked, was_valued, inferred),) = rows(
        file.entries, "booking_date", "value_date", "inferred"
    )
    assert was_valued == valued
    assert "booking_date" in inferred  # type: ignore[operator]
    # 29 February is a year away from 28 February 2027 in either direction.
    if dates != "2702280229":
        assert was_booked == booked


def test_pages_are_joined_into_one_statement(tmp_path: Path) -> None:
    one = statement(
        ":61:261015C1,00NMSC", closing="C261015EUR101,00", ends=("60F", "62M"), number="7/1"
    )
    two = statement(
        ":61:261016C2,00NMSC", opening="C261015EUR101,00", closing="C261031EUR103,00",
        ends=("60M", "62F"), number="7/2",
    )  # fmt: skip
    file = read(tmp_path, one, two)
    assert rows(file.statements, "proved", "entry_count", "opening_balance", "closing_balance") == [
        (True, 2, Decimal(100), Decimal(103))
    ]
    alone = read(tmp_path, one)
    assert rows(alone.statements, "proved") == [(False,)]
    assert "interim" in alone.statements["proof"][0].as_py()


def test_several_statements_in_envelopes_keep_the_banks_bic(tmp_path: Path) -> None:
    head = "\x01{1:F01TESTNL2AAXXX0000000000}{2:I940TESTNL2AXXXN3020}{4:\r\n"
    body = statement().removesuffix("-\r\n")
    file = read(tmp_path, head + body + "-}{5:}\r\n", head + body + "-}\x03")
    assert rows(file.statements, "servicer_bic", "proved") == [("TESTNL2A", True)] * 2
    assert len(set(file.statements["statement_id"].to_pylist())) == 2


def test_an_interim_report_is_pending_and_not_proved(tmp_path: Path) -> None:
    text = (
        ":20:X\n:25:BE68539007547034\n:28C:1/1\n:34F:EUR0,00\n:13D:2610151730+0200\n"
        ":61:261015C1,00NMSCNONREF//B1\n:90C:1EUR1,00\n-\n"
    )
    file = read(tmp_path, text)
    assert rows(file.statements, "format", "proved", "proof") == [("MT942", False, "no balances")]
    assert rows(file.entries, "entry_status", "currency") == [("PDNG", "EUR")]
    assert file.problems == ()


def test_a_malformed_movement_loses_only_itself(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        statement(":61:garbage", ":61:261315C1,00NMSC", ":61:261015C1,00NMSC",
                  closing="C261031EUR101,00"),
    )  # fmt: skip
    assert file.entries.num_rows == 1
    assert rows(file.statements, "proved") == [(False,)]
    assert [problem.line for problem in file.problems] == [5, 6, None]


def test_bytes_that_are_not_utf_8_are_read_and_reported(tmp_path: Path) -> None:
    movement = ":61:261015C1,00NMSC\r\n:86:Zürich"
    text = statement(movement, closing="C261031EUR101,00").encode("latin-1")
    file = read_file(write(tmp_path, text, "latin"))
    assert file.entries["remittance"].to_pylist() == [["Zürich"]]
    assert "not UTF-8" in file.problems[0].what


def test_a_field_of_enormous_length_is_refused(tmp_path: Path) -> None:
    for text in (statement(":61:261015C1,00NMSC\r\n:86:" + "x" * 200_000),
                 statement(":61:261015C1,00NMSC\r\n:86:" + "x\r\n" * 200_000)):  # fmt: skip
        with pytest.raises(StatementError, match="64 KB"):
            read(tmp_path, text)


PIECES = st.sampled_from(
    [":61:", ":86:", ":60F:", ":62F:", ":62M:", ":60M:", ":20:", ":25:", ":28C:", "-\n", "-}", "\n",
     "{1:F01X", "C261001EUR1,00", "261015C1,00NMSC//", "?20", "166?00", "/EREF/", "EREF+", ":NS:",
     "0229", "9" * 30, "Ü", "\x00", ":\n", "D999999EUR,", "7/1", "7/2", ":90C:1EUR1", ":34F:"]
)  # fmt: skip


@pytest.mark.acceptance
@given(st.lists(PIECES, max_size=60), st.binary(max_size=20))
@settings(max_examples=300)
def test_random_content_raises_only_statement_errors(pieces: list[str], tail: bytes) -> None:
    content = ("\n".join(pieces) if len(pieces) % 2 else "".join(pieces)).encode() + tail
    try:
        for _ in MtFile(io.BytesIO(content), "fuzz").batches():
            pass
    except StatementError:
        return


MOVED = "C261031EUR110,"
DIALECTS = {
    "between slashes, two of them before a value": (
        (
            ":61:2610151015C10,NTRFNONREF//B1\r\n/TRCD/00100/\r\n"
            ":86:/ORDP//NAME/Jan de Vries/ID/X//IBAN/NL02ABNA0123456789/REMI/USTD//Factuur 1/"
            "/EREF/NOTPROVIDED"
        ),
        ("Jan de Vries", "NL02ABNA0123456789", ["Factuur 1"], None, "B1"),
    ),
    "type of transaction first": (
        (
            ":61:2610151015C10,N247NONREF\r\n"
            ":86:/TRTP/SEPA OVERBOEKING/IBAN/NL84INGB0000000001/BIC/INGBNL2A/NAME/V. NAAM"
            "/REMI/KENM 123/EREF/E1"
        ),
        ("V. NAAM", "NL84INGB0000000001", ["KENM 123"], "E1", None),
    ),
    "carets and a booking text on its own line": (
        (
            ":61:2610151015C10,00S034NONREF//1\r\nPRZELEW\r\n"
            ":86:034^00PRZELEW^20Faktura^21 12^30109^3161109010140000071219812874^32Jan"
        ),
        ("Jan", "61109010140000071219812874", ["Faktura", "12"], None, "1"),
    ),
    "no booking day, funds code, supplementary details": (
        (
            ":61:261015CR10,NTRFNONREF//X\r\nSUPP\r\n"
            ":86:166?00GUTSCHRIFT?20EREF+A1?21SVWZ+Text?31DE89370400440532013000?32Max"
        ),
        ("Max", "DE89370400440532013000", ["Text"], "A1", "X"),
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_payer_and_purpose_are_read_from_bank_specific_texts(tmp_path: Path, dialect: str) -> None:
    movement, expected = DIALECTS[dialect]
    file = read(tmp_path, statement(movement, closing=MOVED))
    assert rows(file.statements, "proved") == [(True,)]
    names = (
        "counterparty_name", "counterparty_account", "remittance", "end_to_end_id",
        "account_servicer_reference",
    )  # fmt: skip
    assert rows(file.entries, *names) == [expected]


def test_envelopes_and_a_currency_after_the_account_are_read(tmp_path: Path) -> None:
    text = statement(":61:2610151015C10,NTRFNONREF", closing=MOVED, number="12/1")
    text = text.replace("BE68539007547034", "BE68539007547034 EUR").replace("-\r\n", "-}")
    head = "{1:F01TESTBEBBAXXX0000000000}{2:I940TESTBEBBXXXXN}{4:\r\n"
    trailer = "{5:{CHK:123456789ABC}}\r\n"
    file = read(tmp_path, head, text, trailer, head, text.replace("12/1", "13/1"), trailer)
    assert rows(file.statements, "account", "sequence_number", "proved") == [
        ("BE68539007547034", 12, True), ("BE68539007547034", 13, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "amount", ["1O,00NTRF", "1O00NTRF", "1l,00NTRF", "10,00", "10", "1 0,00", "10,O0NTRF"]
)
def test_a_movement_whose_amount_or_kind_does_not_parse_is_refused_by_line(
    tmp_path: Path, amount: str
) -> None:
    file = read(tmp_path, statement(f":61:2610151015CR{amount}NONREF//B1", ":86:text"))
    assert file.entries.num_rows == 0
    assert file.statements["proved"].to_pylist() == [False]
    lost = file.problems[0]
    assert (lost.line, lost.what[-17:]) == (5, "is not a movement")


@pytest.mark.parametrize("amount", ["10,00NTRF", "10,NMSC", "10NTRF", "10.00S051", "10,00NGT "])
def test_the_transaction_type_is_read_after_the_amount(tmp_path: Path, amount: str) -> None:
    file = read(tmp_path, statement(f":61:2610151015CR{amount}NONREF", closing="C261031EUR110,00"))
    assert file.entries["amount"].to_pylist() == [Decimal(10)]


def details(folder: Path, *lines: str) -> dict[str, object]:
    """Return the only movement of a file with these lines in field 86."""
    text = statement(":61:2610151015CR10,00NTRFNONREF", ":86:" + "\r\n".join(lines))
    (row,) = read(folder, text).entries.to_pylist()
    return row


def test_slash_text_with_an_unknown_first_keyword_is_read(tmp_path: Path) -> None:
    row = details(tmp_path, "/RTYP/SEPA Incasso/REMI/INV 7/EREF/E7")
    assert (row["remittance"], row["end_to_end_id"]) == (["INV 7"], "E7")
    assert row["additional_information"] == "SEPA Incasso"
    row = details(tmp_path, "/ZZZZ/Y/NAME/A BV/REMI/INV 7")
    assert (row["remittance"], row["counterparty_name"]) == (["INV 7"], "A BV")
    assert row["additional_information"] == "/ZZZZ/Y"


def test_slash_text_may_begin_with_account_and_bank(tmp_path: Path) -> None:
    row = details(tmp_path, "/ACCW/NL54INGB0006752576,INGBNL2A/ORDP//NAME/H/REMI/INV 8")
    assert row["counterparty_account"] == "NL54INGB0006752576"
    assert (row["counterparty_agent"], row["counterparty_name"]) == ("INGBNL2A", "H")


def test_slashes_without_any_known_keyword_are_free_text(tmp_path: Path) -> None:
    assert details(tmp_path, "/WXYZ/INV 9/ABCD/x")["remittance"] == ["/WXYZ/INV 9/ABCD/x"]


def test_a_code_of_four_digits_before_subfields_is_read(tmp_path: Path) -> None:
    row = details(tmp_path, "8300<00FEE<20INV 1", "0<32ACME")
    assert (row["remittance"], row["counterparty_name"]) == (["INV 10"], "ACME")
    assert row["proprietary_code"] == "NTRF+8300"


def test_the_payer_is_read_from_polish_free_text_in_capitals(tmp_path: Path) -> None:
    row = details(
        tmp_path, "770 PRZELEW; Z RACH.: ", "34103012890000000008440201; OD: WHIRLPOOL ",
        "POLSKA; TYT.: 210F1160; TNR: 1",
    )  # fmt: skip
    assert row["counterparty_account"] == "34103012890000000008440201"
    assert row["counterparty_name"] == "WHIRLPOOL POLSKA"


@pytest.mark.parametrize("chunk", [7, 1 << 18])
def test_a_lone_dash_in_a_text_does_not_end_the_statement(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.statements.mt.mt_text._CHUNK", chunk)
    one = (":61:2610151015CR10,00NTRFNONREF", ":86:first\r\n-\r\nsecond")
    last = (":61:2610151015CR5,00NTRFNONREF", ":86:third\r\n-")
    text = statement(*one, *last, closing="C261031EUR115,00")
    again = statement(*one, opening="C261031EUR115,00", closing="C261031EUR125,00", number="11")
    file = read(tmp_path, text, again)
    assert file.statements["proved"].to_pylist() == [True, True]
    assert file.entries["remittance"].to_pylist() == [
        ["first", "-", "second"], ["third", "-"], ["first", "-", "second"]
    ]  # fmt: skip
    assert file.entries["position"].to_pylist() == ["line 5", "line 9", "line 18"]


def test_a_dash_below_the_closing_text_ends_the_statement(tmp_path: Path) -> None:
    one = statement(":61:2610151015CR10,00NTRFNONREF", closing="C261031EUR110,00")
    text = one.replace("\r\n-\r\n", "\r\n:86:about all of it\r\n-\r\n")
    file = read(tmp_path, text + ":61:2610151015CR5,00NTRFNONREF\r\n")
    assert file.statements["proved"].to_pylist() == [True, False]


POLISH = "ZAŻÓŁĆ GĘŚLĄ JAŹŃ\r\nŁÓDŹ ÓŚ"


@pytest.mark.parametrize("encoding", ["windows-1250", "iso-8859-2", "cp852"])
@pytest.mark.parametrize("chunk", [50, 1 << 18])
def test_the_encoding_is_detected_once_per_file_from_its_letters(
    tmp_path: Path, encoding: str, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.statements.mt.mt_text._CHUNK", chunk)
    texts = [":61:2610151015CR10,00NTRFNONREF", f":86:{POLISH}"] * 3
    content = statement(*texts, closing="C261031EUR130,00").encode(encoding)
    file = read_file(write(tmp_path, content, "file.sta"))
    assert file.entries["remittance"].to_pylist() == [POLISH.split("\r\n")] * 3
    assert [problem.what for problem in file.problems] == [
        f"6 lines are not UTF-8; read as {encoding.title()}"
    ]


def test_the_encoding_is_detected_from_large_chunks_and_not_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = 0
    real = Letters.add

    def counted(self: Letters, data: bytes) -> None:
        nonlocal pieces
        pieces += 1
        real(self, data)

    monkeypatch.setattr(Letters, "add", counted)
    texts = [":61:2610151015CR1,00NTRFNONREF", f":86:{POLISH}"] * 500
    content = statement(*texts, closing="C261031EUR600,00").encode("cp1250")
    file = read_file(write(tmp_path, content, "file.sta"))
    assert [problem.what for problem in file.problems] == [
        "1000 lines are not UTF-8; read as Windows-1250"
    ]
    assert pieces <= 2


@pytest.mark.parametrize(
    ("text", "encoding"),
    [("C261001PLN1,00 \xf3", "windows-1250"), ("in COMPLNED \xf3", "windows-1252"),
     ("60F:C261001RON0, \xe2", "windows-1250"), ("BARON \xe2", "windows-1252")],
)  # fmt: skip
def test_a_currency_next_to_an_amount_decides_the_encoding_but_one_inside_a_word_does_not(
    text: str, encoding: str
) -> None:
    letters = Letters()
    letters.add(text.encode("latin-1"))
    assert letters.encoding == encoding
