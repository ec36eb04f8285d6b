"""Unusual files of banks: balances, empty parts, charges, encodings, table layouts."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import OURS, balance, detail, document, entry, read, rows, statement, write

from treasury.core.errors import StatementError
from treasury.statements import StatementFile, read_file
from treasury.statements.byte_stream import UnknownFormat

ABROAD = '<AmtDtls><InstdAmt><Amt Ccy="USD">11.00</Amt></InstdAmt></AmtDtls>'

BALANCES = {
    "the previous closing opens": ({"PRCD": "100.00", "CLBD": "110.00"}, "closing EUR 110.00"),
    "available balances prove nothing": (
        {"OPAV": "100.00", "CLAV": "110.00"}, "no balances",
    ),
    "an available balance does not open": (
        {"OPAV": "100.00", "CLBD": "110.00"}, "no opening balance",
    ),
    "an available balance does not close": (
        {"OPBD": "100.00", "CLAV": "110.00"}, "no closing balance",
    ),
    "available next to booked": (
        {"OPAV": "7.00", "PRCD": "100.00", "CLAV": "9.00", "CLBD": "110.00", "FWAV": "8.00"},
        "closing EUR 110.00",
    ),
    "the opening before the previous closing": (
        {"PRCD": "90.00", "OPBD": "100.00", "CLBD": "110.00"}, "closing EUR 110.00",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("stated", "said"), BALANCES.values(), ids=BALANCES)
def test_only_booked_balances_open_and_close_a_statement(
    tmp_path: Path, stated: dict[str, str], said: str
) -> None:
    balances = "".join(balance(code, amount) for code, amount in stated.items())
    file = read(tmp_path, entry("10.00"), balances=balances)
    ((proved, proof),) = rows(file.statements, "proved", "proof")
    assert str(proof).endswith(said)
    assert proved == said.startswith("closing")


@pytest.mark.parametrize("empty", ["<Stmt/>", "<Stmt></Stmt>", "<Stmt><Id>S1</Id></Stmt>"])
def test_an_empty_statement_is_not_proved_and_does_not_affect_others(
    tmp_path: Path, empty: str
) -> None:
    file = read_file(write(tmp_path, document(empty, statement(entry("1.00"), closing="101.00"))))
    assert rows(file.statements, "account", "entry_count", "proved") == [
        (None, 0, False), (OURS, 1, True),
    ]  # fmt: skip
    assert [problem.position for problem in file.problems] == ["Stmt[1]"]


def test_a_batch_with_only_a_payment_count_is_one_row_with_its_ids(tmp_path: Path) -> None:
    batch = "<MsgId>M7</MsgId><PmtInfId>P7</PmtInfId><NbOfTxs>3</NbOfTxs>"
    more = f"<NtryDtls><Btch>{batch}</Btch></NtryDtls>"
    file = read(tmp_path, entry("10.00", more=more), closing="110.00")
    assert rows(file.entries, "amount", "message_id", "payment_information_id") == [
        (Decimal(10), "M7", "P7")
    ]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize(
    "written", [entry("10.00", "CRDT", detail(more=ABROAD)), entry("10.00", more=ABROAD)],
    ids=["of a detail", "of the entry"],
)  # fmt: skip
def test_an_instructed_amount_in_another_currency_does_not_change_the_entry(
    tmp_path: Path, written: str
) -> None:
    file = read(tmp_path, written, closing="110.00")
    names = ("amount", "currency", "instructed_amount", "instructed_currency")
    assert rows(file.entries, *names) == [(Decimal(10), "EUR", Decimal(11), "USD")]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize(
    ("written", "amount"), [(".50", "0.5"), ("5.", "5"), ("+5.00", "5"), ("005.10", "5.1")]
)
def test_every_xml_decimal_notation_of_an_amount_is_read(
    tmp_path: Path, written: str, amount: str
) -> None:
    file = read(tmp_path, entry(written), opening=".00", closing=amount)
    assert file.entries["amount"].to_pylist() == [Decimal(amount)]
    assert file.statements["proved"].to_pylist() == [True]


def test_a_zero_balance_needs_no_direction(tmp_path: Path) -> None:
    nothing = balance("OPBD", "0.00").replace("<CdtDbtInd>CRDT</CdtDbtInd>", "")
    file = read(tmp_path, entry("5.00"), balances=nothing + balance("CLBD", "5.00"))
    assert file.statements["proved"].to_pylist() == [True]
    something = balance("OPBD", "1.00").replace("<CdtDbtInd>CRDT</CdtDbtInd>", "")
    file = read(tmp_path, entry("5.00"), balances=something + balance("CLBD", "7.00"))
    assert file.statements["proved"].to_pylist() == [False]


@pytest.mark.parametrize("order", [1, -1], ids=["oldest first", "newest first"])
def test_of_the_balances_of_several_days_the_earliest_opens_and_the_latest_closes(
    tmp_path: Path, order: int
) -> None:
    days = [
        balance("OPBD", "100.00", day="2026-10-01") + balance("CLBD", "105.00", day="2026-10-01"),
        balance("OPBD", "105.00", day="2026-10-02") + balance("CLBD", "112.00", day="2026-10-02"),
    ]
    file = read(tmp_path, entry("5.00"), entry("7.00"), balances="".join(days[::order]))
    ((opening, closing, proved),) = rows(
        file.statements, "opening_balance", "closing_balance", "proved"
    )
    assert (opening, closing, proved) == (100, 112, True)


@pytest.mark.parametrize("order", [1, -1])
def test_a_balance_excluding_the_credit_line_takes_precedence(tmp_path: Path, order: int) -> None:
    line = '<CdtLine><Incl>true</Incl><Amt Ccy="EUR">1000.00</Amt></CdtLine>'
    closing = [
        balance("CLBD", "105.00"), balance("CLBD", "1105.00").replace("<Amt", f"{line}<Amt", 1)
    ]  # fmt: skip
    balances = balance("OPBD", "100.00") + "".join(closing[::order])
    file = read(tmp_path, entry("5.00"), balances=balances)
    assert rows(file.statements, "closing_balance", "proved") == [(Decimal(105), True)]


def test_each_batch_in_an_entry_keeps_its_ids(tmp_path: Path) -> None:
    def group(batch: str, *details: str) -> str:
        return f"<NtryDtls><Btch><PmtInfId>{batch}</PmtInfId></Btch>{''.join(details)}</NtryDtls>"

    one = group("A", detail("one", amount="10.00"), detail("two", amount="5.00"))
    file = read(
        tmp_path,
        entry("30.00", more=one + group("B", detail("three", amount="15.00"))),
        closing="130.00",
    )
    names = ("position", "amount", "payment_information_id", "remittance")
    assert rows(file.entries, *names) == [
        ("Ntry[1]/TxDtls[1]", Decimal(10), "A", ["one"]),
        ("Ntry[1]/TxDtls[2]", Decimal(5), "A", ["two"]),
        ("Ntry[1]/TxDtls[3]", Decimal(15), "B", ["three"]),
    ]
    assert ["B</PmtInfId>" in raw for raw in file.entries["raw"].to_pylist()] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("direction", "moved", "closing", "amounts"),
    [
        ("CRDT", "28.50", "128.50", ("9.10", "19.40")),
        ("DBIT", "31.50", "68.50", ("10.90", "20.60")),
    ],
)
def test_charges_of_each_detail_explain_amounts_stated_before_charges(
    tmp_path: Path, direction: str, moved: str, closing: str, amounts: tuple[str, str]
) -> None:
    def charged(amount: str, charge: str) -> str:
        more = f'<Chrgs><TtlChrgsAndTaxAmt Ccy="EUR">{charge}</TtlChrgsAndTaxAmt></Chrgs>'
        return detail(amount=amount, more=more)

    details = charged("10.00", "0.90"), charged("20.00", "0.60")
    file = read(tmp_path, entry(moved, direction, *details), closing=closing)
    found = rows(file.entries, "amount", "charges_amount", "inferred")
    assert found == [
        (Decimal(amounts[0]), Decimal("0.9"), ["amount"]),
        (Decimal(amounts[1]), Decimal("0.6"), ["amount"]),
    ]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize(
    ("ways", "charged"),
    [(("DBIT", "DBIT"), "1.5"), (("DBIT", "CRDT"), "0.5"), (("CRDT", "DBIT"), "-0.5"),
     (("", ""), "1.5"), (("DBIT", ""), "1.5")],
)  # fmt: skip
def test_refunded_charges_are_deducted(tmp_path: Path, ways: tuple[str, str], charged: str) -> None:
    said = [f"<CdtDbtInd>{way}</CdtDbtInd>" if way else "" for way in ways]
    records = "".join(
        f'<Rcrd><Amt Ccy="EUR">{amount}</Amt>{way}</Rcrd>'
        for amount, way in zip(("1.00", "0.50"), said, strict=True)
    )
    file = read(tmp_path, entry("5.00", more=f"<Chrgs>{records}</Chrgs>"), closing="105.00")
    assert rows(file.entries, "charges_amount", "charges_currency") == [(Decimal(charged), "EUR")]


CHARGED = '<Chrgs><TtlChrgsAndTaxAmt Ccy="EUR">{}</TtlChrgsAndTaxAmt></Chrgs>'


@pytest.mark.parametrize(
    ("direction", "moved", "closing"),
    [("DBIT", "1526.00", "474.00"), ("CRDT", "1474.00", "3474.00")],
)
def test_charges_of_an_entry_with_several_details_are_a_separate_row(
    tmp_path: Path, direction: str, moved: str, closing: str
) -> None:
    way = f"<CdtDbtInd>{direction}</CdtDbtInd>"
    details = (
        detail("Invoice 77", amount="1000.00", more=way),
        detail("Invoice 78", amount="500.00", more=way),
    )
    more = CHARGED.format("26.00")
    file = read(
        tmp_path, entry(moved, direction, *details, more=more), opening="2000.00", closing=closing
    )
    assert rows(
        file.entries, "amount", "direction", "remittance", "charges_amount", "position"
    ) == [
        (Decimal(1000), direction, ["Invoice 77"], None, "Ntry[1]/TxDtls[1]"),
        (Decimal(500), direction, ["Invoice 78"], None, "Ntry[1]/TxDtls[2]"),
        (Decimal(26), "DBIT", [], Decimal(26), "Ntry[1]/Chrgs"),
    ]
    assert "TxDtls" not in file.entries["raw"].to_pylist()[2]
    assert file.statements["proved"].to_pylist() == [True]


def test_charges_of_details_and_of_their_entry_explain_a_difference_together(
    tmp_path: Path,
) -> None:
    details = detail(amount="10.00", more=CHARGED.format("1.00")), detail(amount="20.00")
    more = CHARGED.format("2.00")
    file = read(tmp_path, entry("33.00", "DBIT", *details, more=more), closing="67.00")
    assert rows(file.entries, "amount", "inferred") == [
        (Decimal(11), ["amount"]), (Decimal(20), []), (Decimal(2), []),
    ]  # fmt: skip
    assert file.statements["proved"].to_pylist() == [True]


def test_charges_that_do_not_equal_the_difference_do_not_prove_the_statement(
    tmp_path: Path,
) -> None:
    details = detail(amount="10.00"), detail(amount="20.00")
    for direction, moved, closing in (("DBIT", "31.00", "69.00"), ("CRDT", "32.00", "132.00")):
        batch = entry(moved, direction, *details, more=CHARGED.format("2.00"))
        file = read(tmp_path, batch, closing=closing)
        assert file.entries.num_rows == 2
        assert file.statements["proved"].to_pylist() == [False]


def test_details_next_to_one_with_the_full_amount_are_merged_into_it(tmp_path: Path) -> None:
    file = read(
        tmp_path, entry("30.00", "CRDT", detail("all", amount="30.00"), detail("a"), detail("b")),
        closing="130.00",
    )  # fmt: skip
    assert rows(file.entries, "amount", "remittance", "inferred") == [
        (Decimal(30), ["all", "a", "b"], [])
    ]
    assert file.statements["proved"].to_pylist() == [True]


def test_a_detail_without_an_amount_is_zero_if_nothing_remains(tmp_path: Path) -> None:
    parts = detail("a", amount="10.00"), detail("b", amount="20.00"), detail("c")
    file = read(tmp_path, entry("30.00", "CRDT", *parts), closing="130.00")
    assert rows(file.entries, "amount", "inferred") == [
        (Decimal(10), []), (Decimal(20), []), (Decimal(0), ["amount"]),
    ]  # fmt: skip


def documents(folder: Path, *texts: str | bytes) -> StatementFile:
    """Read a file of consecutive documents."""
    parts = [text if isinstance(text, bytes) else text.encode() for text in texts]
    return read_file(write(folder, b"".join(parts)))


FIRST = document(statement(entry("50.00", "CRDT", detail("one")), closing="150.00"))
SECOND = document(
    statement(
        entry("70.00", "CRDT", detail("Zürich")), opening="150.00", closing="220.00", name="S2",
        sequence=2, days=("2026-11-01", "2026-11-30"),
    )
).replace("<MsgId>M1</MsgId>", "<MsgId>M2</MsgId>")  # fmt: skip
UNDECLARED = SECOND.partition("\n")[2]


@pytest.mark.parametrize(
    "texts",
    [
        (FIRST, SECOND),
        (FIRST, "\n\n", SECOND, "\n"),
        (FIRST, "\n", UNDECLARED),
        (FIRST, "\ufeff", SECOND),
        (FIRST, "\r\n\ufeff", UNDECLARED),
        ("\ufeff", FIRST, "\ufeff", SECOND),
        (FIRST.replace("UTF-8", "utf8"), "<!-- next -->", SECOND),
        (FIRST.encode("utf-16"), SECOND.encode("utf-16-le")),
        (FIRST, " " * 65536, SECOND),
        (FIRST, " " * (65536 - len(FIRST) - 9), SECOND),
    ],
)
def test_consecutive_documents_in_a_file_are_all_read(
    tmp_path: Path, texts: tuple[str | bytes, ...]
) -> None:
    file = documents(tmp_path, *texts)
    assert rows(file.statements, "message_id", "bank_statement_id", "proved") == [
        ("M1", "S1", True), ("M2", "S2", True),
    ]  # fmt: skip
    assert file.entries["remittance"].to_pylist() == [["one"], ["Zürich"]]


@pytest.mark.parametrize("cut", ["</Ntry>", "<BookgDt", "<Ustrd>one", "</Document"])
@pytest.mark.parametrize("mark", ["", "\n", "\ufeff"])
def test_a_document_truncated_before_another_one_is_refused(
    tmp_path: Path, cut: str, mark: str
) -> None:
    for following in (SECOND, UNDECLARED):
        with pytest.raises(StatementError, match="not well-formed"):
            documents(tmp_path, FIRST.partition(cut)[0] + cut, mark, following)


@pytest.mark.acceptance
def test_many_documents_in_a_file_are_all_read(tmp_path: Path) -> None:
    small = document(statement(entry("0.00")))
    assert documents(tmp_path, small * 3000).statements.num_rows == 3000


def test_documents_may_use_the_same_prefix_for_two_versions(tmp_path: Path) -> None:
    def prefixed(version: str) -> str:
        text = document(statement(entry("10.00"), closing="110.00"), namespace=None)
        text = re.sub(r"<(/?)(?=[A-Z])", r"<\1n:", text)
        space = f'xmlns:n="urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version}"'
        return text.replace("<n:Document", f"<n:Document {space}")

    one, two = prefixed("02"), prefixed("08").partition("\n")[2]
    for texts in ((one, two), ("<All>", one.partition("\n")[2], two, "</All>")):
        file = documents(tmp_path, *texts)
        assert file.entries["amount"].to_pylist() == [Decimal(10)] * 2


def test_a_notification_after_a_statement_keeps_its_own_format(tmp_path: Path) -> None:
    other = document(
        statement(entry("10.00"), balances="", kind="Ntfctn"), message="BkToCstmrDbtCdtNtfctn",
        namespace=None,
    )  # fmt: skip
    assert documents(tmp_path, FIRST, other).statements["format"].to_pylist() == [
        "camt.053", "camt.054",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("second", "said", "step"),
    [
        (
            "<Document><CstmrPmtStsRpt/></Document>",
            "document 2 in it is not a bank st",
            "cut the file",
        ),
        (SECOND[:-9], "not well-formed XML, line 4, column", "if the bank sends the same"),
        (SECOND.replace("?>\n", "?>\n<!DOCTYPE a>\n"), "it has a DOCTYPE", "ask the bank"),
        (SECOND.replace("UTF-8", "ISO-8859-1"), "documents in two encodings", "cut the file"),
        ("junk", "junk after document element", "if the bank sends the same"),
    ],
)
def test_an_unreadable_document_refuses_the_whole_file(
    tmp_path: Path, second: str, said: str, step: str
) -> None:
    with pytest.raises(StatementError) as caught:
        documents(tmp_path, FIRST, "\n", second)
    assert said in caught.value.what
    assert step in caught.value.do
    if second.startswith("<Document>"):
        with pytest.raises(
            StatementError, match="document 1 in it is not a bank statement"
        ) as other:
            documents(tmp_path, "<Document><Other/></Document>", FIRST.partition("\n")[2])
        assert not isinstance(other.value, UnknownFormat)


def test_a_rate_with_too_many_digits_loses_only_itself(tmp_path: Path) -> None:
    rate = "<XchgRate>0.83333333333333333333333333</XchgRate>"
    exchange = f"<CcyXchg><SrcCcy>USD</SrcCcy><TrgtCcy>EUR</TrgtCcy>{rate}</CcyXchg>"
    abroad = f'<AmtDtls><InstdAmt><Amt Ccy="USD">12.00</Amt>{exchange}</InstdAmt></AmtDtls>'
    file = read(tmp_path, entry("10.00", "CRDT", detail(more=abroad)), closing="110.00")
    names = ("amount", "instructed_amount", "exchange_rate", "source_currency")
    assert rows(file.entries, *names) == [(Decimal(10), Decimal(12), None, "USD")]
    assert rate in str(file.entries["raw"][0])
    assert file.statements["proved"].to_pylist() == [True]


CAMT = document(statement(entry("10.00", "CRDT", detail("Zürich"))))
UNSAID = CAMT.partition("\n")[2]
MT = (
    f":20:X\r\n:25:{OURS}\r\n:28C:1/1\r\n:60F:C261001EUR1,00\r\n:61:261015C1,00NTRF//B\r\n"
    ":86:Zürich\r\n:62F:C261031EUR2,00\r\n-\r\n"
)
TABLE = (
    "Rekeningnummer;Afschriftnummer;Munt;Datum;Omschrijving;Valuta;Bedrag;Saldo\n"
    f"{OURS};10;EUR;16/10/2026;Zürich;16/10/2026;-1.234,50;8.765,50\n"
    f"{OURS};10;EUR;15/10/2026;Zürich;15/10/2026;5.000,00;10.000,00\n"
)
ENCODED = {
    "camt, UTF-8 with a byte order mark": CAMT.encode("utf-8-sig"),
    "camt, UTF-16 declared as UTF-8": CAMT.encode("utf-16"),
    "camt, UTF-16 without a byte order mark": CAMT.replace("UTF-8", "UTF-16").encode("utf-16-be"),
    "camt, UTF-16 in little-endian order": CAMT.replace("UTF-8", "UTF-16LE").encode("utf-16-le"),
    "camt, Latin-1": CAMT.replace("UTF-8", "ISO-8859-1").encode("latin-1"),
    "camt, no declared encoding": UNSAID.encode(),
    "MT940, UTF-8": MT.encode(),
    "MT940, UTF-8 with a byte order mark": MT.encode("utf-8-sig"),
    "MT940, Latin-1": MT.encode("latin-1"),
    "MT940, UTF-16": MT.encode("utf-16"),
    "MT940, UTF-16 without a byte order mark": MT.encode("utf-16-be"),
    "MT940, lines ended by @@": MT.replace("\r\n", "@@").replace("\n", "@@").encode(),
    "CSV, UTF-8 with a byte order mark": TABLE.encode("utf-8-sig"),
    "CSV, UTF-16": TABLE.encode("utf-16"),
    "CSV, UTF-16 without a byte order mark": TABLE.encode("utf-16-be"),
    "CSV, Windows-1252": TABLE.encode("cp1252"),
}


@pytest.mark.parametrize("content", ENCODED.values(), ids=ENCODED)
def test_every_supported_encoding_is_read_correctly(tmp_path: Path, content: bytes) -> None:
    file = read_file(write(tmp_path, content))
    assert {text for (text,) in file.entries["remittance"].to_pylist()} == {"Zürich"}
    assert file.statements["account"].to_pylist() == [OURS]


@pytest.mark.parametrize(
    "content",
    [CAMT.encode("latin-1"), UNSAID.encode("latin-1"), CAMT.encode("utf-32"), MT.encode("utf-32")],
    ids=["Latin-1 declared as UTF-8", "undeclared Latin-1", "UTF-32", "MT940 in UTF-32"],
)
def test_an_undeclared_or_unsupported_encoding_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(StatementError, match=r"^file\.xml: ") as caught:
        read_file(write(tmp_path, content))
    assert caught.value.do


TABLES = {
    "tabs": TABLE.replace(";", "\t"),
    "commas and quotes": '"' + TABLE.strip().replace(";", '","').replace("\n", '"\n"') + '"\n',
    "a minus behind the amount": TABLE.replace("-1.234,50", "1.234,50-"),
    "a typographic minus": TABLE.replace("-1.234,50", "\u22121.234,50"),
    "narrow spaces between thousands": TABLE.replace("1.234,50", "1\u202f234,50"),
    "the separator first": f"sep=;\n{TABLE}",
    "the separator first, a tab": "sep=\t\n" + TABLE.replace(";", "\t"),
    "the separator first, quoted, after a byte order mark": f'\ufeff"sep=;"\r\n{TABLE}',
    "lines before the header": f"Export of 1 November\nClient;X\n\n{TABLE}",
    "empty rows between": TABLE.replace("\n", "\n;;;;;;;\n\n"),
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES)
def test_the_layout_of_a_table_does_not_change_its_content(tmp_path: Path, text: str) -> None:
    file = read_file(write(tmp_path, text))
    assert rows(file.entries, "direction", "amount", "account") == [
        ("DBIT", Decimal("1234.5"), OURS), ("CRDT", Decimal(5000), OURS),
    ]  # fmt: skip
    assert rows(file.statements, "proved", "opening_balance", "closing_balance") == [
        (True, Decimal(5000), Decimal("8765.5"))
    ]
