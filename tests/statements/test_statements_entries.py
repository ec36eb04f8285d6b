"""Entries of camt statements as rows: amounts, directions, dates, references, parties."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import OURS, balance, detail, document, entry, read, rows, statement, write

from treasury.statements import read_file

PARTIES = (
    "<RltdPties><Dbtr>{a}<Nm>Payer</Nm>{b}</Dbtr><DbtrAcct><Id>{debtor}</Id></DbtrAcct>"
    "<Cdtr>{a}<Nm>Payee</Nm>{b}</Cdtr><CdtrAcct><Id>{creditor}</Id></CdtrAcct></RltdPties>"
)


def parties(debtor: str = "DE1", creditor: str = "DE2", *, wrapped: bool = False) -> str:
    return PARTIES.format(
        a="<Pty>" if wrapped else "",
        b="</Pty>" if wrapped else "",
        debtor=f"<IBAN>{debtor}</IBAN>",
        creditor=f"<Othr><Id>{creditor}</Id></Othr>",
    )


def test_an_entry_without_details_is_one_row(tmp_path: Path) -> None:
    file = read(tmp_path, entry("12.50", "DBIT"))
    assert rows(file.entries, "amount", "currency", "direction", "position", "inferred") == [
        (Decimal("12.50"), "EUR", "DBIT", "Ntry[1]", [])
    ]


def test_a_batch_is_one_row_per_detail_and_the_parent_is_not_counted(tmp_path: Path) -> None:
    batch = entry("6.00", "CRDT", detail("a", amount="1.00"), detail("b", amount="5.00"))
    file = read(tmp_path, entry("2.00"), batch, closing="108.00")
    assert rows(file.entries, "amount", "remittance", "position", "ordinal") == [
        (Decimal("2.00"), [], "Ntry[1]", 1),
        (Decimal("1.00"), ["a"], "Ntry[2]/TxDtls[1]", 2),
        (Decimal("5.00"), ["b"], "Ntry[2]/TxDtls[2]", 3),
    ]
    assert len(set(file.entries["entry_id"].to_pylist())) == 3
    assert file.statements["proved"].to_pylist() == [True]


def test_raw_of_a_batch_row_is_the_entry_with_that_detail_alone(tmp_path: Path) -> None:
    batch = entry("6.00", "CRDT", detail("first", amount="1.00"), detail("second", amount="5.00"))
    first, second = read(tmp_path, batch).entries["raw"].to_pylist()
    assert "first" in first
    assert "second" not in first
    assert "second" in second
    assert "first" not in second
    assert first.count("<BookgDt>") == second.count("<BookgDt>") == 1


def test_a_batch_of_thousands_is_read_whole(tmp_path: Path) -> None:
    count = 1500
    details = [detail(f"nr {n}", amount="1.00") for n in range(count)]
    file = read(tmp_path, entry(f"{count}.00", "CRDT", *details), closing=f"{100 + count}.00")
    assert [text for (text,) in file.entries["remittance"].to_pylist()] == [
        f"nr {n}" for n in range(count)
    ]
    assert file.statements["proved"].to_pylist() == [True]


def test_a_detail_without_an_amount_gets_the_remainder(tmp_path: Path) -> None:
    file = read(tmp_path, entry("6.00", "CRDT", detail(amount="1.00"), detail()))
    assert rows(file.entries, "amount", "inferred") == [
        (Decimal("1.00"), []),
        (Decimal("5.00"), ["amount"]),
    ]


def test_details_without_amounts_are_one_row_with_the_amount_of_the_entry(tmp_path: Path) -> None:
    one = detail("PAY-2026-004417", refs="<EndToEndId>E2E-1</EndToEndId>")
    two = detail("PAY-2026-004471", refs="<EndToEndId>E2E-2</EndToEndId>")
    more = "<AcctSvcrRef>R1</AcctSvcrRef><AddtlNtryInf>Batch</AddtlNtryInf>"
    file = read(tmp_path, entry("6.00", "CRDT", one, two, more=more), closing="106.00")
    (row,) = file.entries.to_pylist()
    assert (row["amount"], row["position"], row["inferred"]) == (Decimal(6), "Ntry[1]", [])
    assert row["remittance"] == ["PAY-2026-004417", "PAY-2026-004471"]
    assert row["additional_information"] == "Batch E2E-1 E2E-2"
    assert (row["end_to_end_id"], row["account_servicer_reference"]) == (None, "R1")
    assert row["raw"].count("<TxDtls>") == 2
    assert file.statements["proved"].to_pylist() == [True]


def test_several_details_without_amounts_share_one_row_with_the_remainder(tmp_path: Path) -> None:
    details = detail("a"), detail("b", amount="1.00"), detail("c")
    file = read(tmp_path, entry("6.00", "CRDT", *details), closing="106.00")
    assert rows(file.entries, "amount", "remittance", "inferred", "position") == [
        (Decimal(5), ["a", "c"], ["amount"], "Ntry[1]/TxDtls[1]"),
        (Decimal(1), ["b"], [], "Ntry[1]/TxDtls[2]"),
    ]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize("amounts", [("0.00", "0"), ("25.00", "0.00"), (None, "0.00")])
def test_details_of_zero_are_one_row_with_the_amount_of_the_entry(
    tmp_path: Path, amounts: tuple[str | None, str]
) -> None:
    details = [
        detail(f"PAY-{place}", amount=amount, refs=f"<EndToEndId>E-{place}</EndToEndId>")
        for place, amount in enumerate(amounts)
    ]
    file = read(tmp_path, entry("25.00", "CRDT", *details), closing="125.00")
    assert file.statements["proved"].to_pylist() == [True]
    (row,) = file.entries.to_pylist()
    assert (row["amount"], row["remittance"]) == (Decimal(25), ["PAY-0", "PAY-1"])
    assert row["additional_information"] == "E-0 E-1"


def test_a_detail_of_zero_does_not_get_the_remainder(tmp_path: Path) -> None:
    details = [detail("a", amount="20.00"), detail("b", amount="0.00")]
    file = read(tmp_path, entry("25.00", "CRDT", *details), closing="125.00")
    (proof,) = file.statements["proof"].to_pylist()
    assert "details are 5.00 EUR short of the entry" in proof


def test_details_in_another_currency_only_are_one_row_of_the_entry(tmp_path: Path) -> None:
    foreign = '<AmtDtls><InstdAmt><Amt Ccy="USD">3.00</Amt></InstdAmt></AmtDtls>'
    details = detail("a", more=foreign), detail("b", more=foreign)
    file = read(tmp_path, entry("5.00", "CRDT", *details), closing="105.00")
    assert rows(file.entries, "amount", "remittance", "instructed_amount") == [
        (Decimal(5), ["a", "b"], None)
    ]


def test_details_above_the_entry_amount_give_one_unproved_row(
    tmp_path: Path,
) -> None:
    file = read(
        tmp_path, entry("6.00", "CRDT", detail("a", amount="7.00"), detail("b")), closing="106.00"
    )
    assert rows(file.entries, "amount", "remittance") == [(Decimal(6), ["a", "b"])]
    assert "details are 1.00 EUR more than the entry" in file.statements["proof"][0].as_py()


def test_details_that_do_not_add_up_are_reported(tmp_path: Path) -> None:
    batch = entry("6.00", "CRDT", detail(amount="1.00"), detail(amount="4.00"))
    file = read(tmp_path, batch, closing="106.00")
    assert "details are 1.00 EUR short of the entry" in str(file.problems[0])
    assert file.statements["proved"].to_pylist() == [False]


def test_a_detail_in_the_opposite_direction_is_subtracted(tmp_path: Path) -> None:
    back = detail(amount="1.00", more="<CdtDbtInd>DBIT</CdtDbtInd>")
    file = read(tmp_path, entry("4.00", "CRDT", detail(amount="5.00"), back), closing="104.00")
    assert rows(file.entries, "amount", "direction") == [
        (Decimal("5.00"), "CRDT"),
        (Decimal("1.00"), "DBIT"),
    ]
    assert file.statements["proved"].to_pylist() == [True]


def test_a_single_detail_in_another_currency_keeps_the_entrys_amount(tmp_path: Path) -> None:
    foreign = '<TxDtls><Amt Ccy="USD">7.00</Amt></TxDtls>'
    file = read(tmp_path, entry("6.00", "CRDT", foreign))
    assert rows(
        file.entries, "amount", "currency", "instructed_amount", "instructed_currency", "inferred"
    ) == [(Decimal("6.00"), "EUR", Decimal("7.00"), "USD", ["amount"])]


def test_charges_explain_a_single_detail_stated_before_charges(tmp_path: Path) -> None:
    charged = (
        '<TxDtls><Amt Ccy="EUR">10.00</Amt><Chrgs><TtlChrgsAndTaxAmt Ccy="EUR">0.50'
        "</TtlChrgsAndTaxAmt></Chrgs></TxDtls>"
    )
    file = read(tmp_path, entry("9.50", "CRDT", charged), closing="109.50")
    assert rows(file.entries, "amount", "charges_amount", "charges_currency") == [
        (Decimal("9.50"), Decimal("0.50"), "EUR")
    ]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize("mark", ["true", "false"])
@pytest.mark.parametrize(("direction", "closing"), [("CRDT", "110.00"), ("DBIT", "90.00")])
def test_a_reversal_flag_does_not_change_the_direction(
    tmp_path: Path, mark: str, direction: str, closing: str
) -> None:
    reversal = entry("10.00", direction, more=f"<RvslInd>{mark}</RvslInd>")
    file = read(tmp_path, reversal, closing=closing)
    assert rows(file.entries, "direction", "is_reversal") == [(direction, mark == "true")]
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize("status", ["<Sts>BOOK</Sts>", "<Sts><Cd>BOOK</Cd></Sts>"])
def test_a_status_is_read_as_text_and_as_code(tmp_path: Path, status: str) -> None:
    assert read(tmp_path, entry(status=status)).entries["entry_status"].to_pylist() == ["BOOK"]


def test_only_booked_entries_are_in_the_sum(tmp_path: Path) -> None:
    pending = entry("5.00", status="<Sts><Cd>PDNG</Cd></Sts>")
    info = entry("7.00", status="<Sts>INFO</Sts>")
    file = read(tmp_path, pending, info, entry("1.00"), closing="101.00")
    assert file.statements["proved"].to_pylist() == [True]
    assert file.entries["entry_status"].to_pylist() == ["PDNG", "INFO", "BOOK"]


@pytest.mark.parametrize(
    "written",
    [
        "<Dt>2026-10-15</Dt>",
        "<Dt>2026-10-15+02:00</Dt>",
        "<Dt>2026-10-15T00:00:00</Dt>",
        "<DtTm>2026-10-15T23:59:59.123+05:00</DtTm>",
        "<DtTm>2026-10-15T00:30:00Z</DtTm>",
    ],
)
def test_a_booking_date_is_read_as_written(tmp_path: Path, written: str) -> None:
    file = read(tmp_path, entry(booked=f"<BookgDt>{written}</BookgDt>"))
    assert file.entries["booking_date"].to_pylist() == [date(2026, 10, 15)]


@pytest.mark.parametrize(
    ("account", "written", "expected"),
    [
        (OURS, "2026-10-31T23:00:00Z", "2026-11-01"),
        (OURS, "2026-10-31T23:00:00.000+00:00", "2026-11-01"),
        (OURS, "2026-10-31T22:59:59Z", "2026-10-31"),
        (OURS, "2026-06-30T22:00:00Z", "2026-07-01"),
        # Midnight and the second before it in UTC, and times not in UTC, are read as written.
        (OURS, "2026-10-31T23:59:59Z", "2026-10-31"),
        (OURS, "2026-10-31T23:59:59.999Z", "2026-10-31"),
        (OURS, "2026-11-01T00:00:00Z", "2026-11-01"),
        (OURS, "2026-10-31T23:00:00", "2026-10-31"),
        (OURS, "2026-10-31T23:30:00-05:00", "2026-10-31"),
        ("GB29NWBK60161331926819", "2026-10-31T23:30:00Z", "2026-10-31"),
        ("GB29NWBK60161331926819", "2026-06-30T23:30:00Z", "2026-07-01"),
        ("ES9121000418450200051332", "2026-10-31T23:00:00Z", "2026-11-01"),
        ("LV80BANK0000435195001", "2026-10-31T22:00:00Z", "2026-11-01"),
        ("123456", "2026-10-31T23:00:00Z", "2026-10-31"),
    ],
)
def test_an_instant_in_utc_becomes_the_day_in_the_country_of_the_account(
    tmp_path: Path, account: str, written: str, expected: str
) -> None:
    moment = f"<DtTm>{written}</DtTm>"
    stated = "".join(
        balance(code, "100.00").replace("<Dt>2026-10-31</Dt>", moment) for code in ("OPBD", "CLBD")
    )
    movement = entry(
        "0.00", booked=f"<BookgDt>{moment}</BookgDt>", value=f"<ValDt>{moment}</ValDt>"
    )
    name = (
        f"<IBAN>{account}</IBAN>" if account[:2].isalpha() else f"<Othr><Id>{account}</Id></Othr>"
    )
    file = read(tmp_path, movement, balances=stated, account=name)
    day = date.fromisoformat(expected)
    assert rows(file.entries, "booking_date", "value_date") == [(day, day)]
    assert rows(file.statements, "opening_date", "closing_date") == [(day, day)]


def test_an_account_without_an_iban_uses_the_time_zone_of_its_bic(tmp_path: Path) -> None:
    servicer = "<Svcr><FinInstnId><BICFI>KREDBEBB</BICFI></FinInstnId></Svcr>"
    text = document(
        statement(
            entry(booked="<BookgDt><DtTm>2026-10-31T23:00:00Z</DtTm></BookgDt>"),
            account="<Othr><Id>123456</Id></Othr>",
        )
    ).replace("<Ccy>EUR</Ccy></Acct>", f"<Ccy>EUR</Ccy>{servicer}</Acct>")
    file = read_file(write(tmp_path, text))
    assert file.entries["booking_date"].to_pylist() == [date(2026, 11, 1)]


def test_a_missing_booking_date_is_inferred_and_marked(tmp_path: Path) -> None:
    file = read(tmp_path, entry(booked=""), entry(booked="", value=""))
    assert rows(file.entries, "booking_date", "value_date", "inferred") == [
        (date(2026, 10, 16), date(2026, 10, 16), ["booking_date"]),
        (date(2026, 10, 31), None, ["booking_date"]),
    ]


@pytest.mark.parametrize(
    "bad",
    [
        entry("1,234.56"),
        entry("1.234,56"),
        entry("-5.00"),
        entry("NaN"),
        entry(""),
        entry(direction="C"),
        entry(booked="<BookgDt><Dt>2026-02-30</Dt></BookgDt>"),
        entry("1.0000000000000000001"),
        "<Ntry/>",
    ],
)
def test_a_malformed_entry_is_lost_and_fails_the_proof(tmp_path: Path, bad: str) -> None:
    file = read(tmp_path, entry("3.00"), bad, entry("2.00"), closing="105.00")
    assert file.entries["amount"].to_pylist() == [Decimal("3.00"), Decimal("2.00")]
    assert [problem.position for problem in file.problems] == ["Stmt[1]/Ntry[2]", ""]
    assert file.problems[-1].what == "1 entry is not read"
    assert file.statements["proved"].to_pylist() == [False]


def test_placeholder_references_are_none_and_stay_in_raw(tmp_path: Path) -> None:
    refs = "<EndToEndId>NOTPROVIDED</EndToEndId><TxId>Nonref</TxId><InstrId>NONE-7</InstrId>"
    (row,) = read(tmp_path, entry("1.00", "CRDT", detail(refs=refs))).entries.to_pylist()
    assert (row["end_to_end_id"], row["transaction_id"]) == (None, None)
    assert row["instruction_id"] == "NONE-7"
    assert "NOTPROVIDED" in row["raw"]


def test_remittance_keeps_every_part_in_order(tmp_path: Path) -> None:
    remittance = (
        "<TxDtls><RmtInf><Ustrd>VFY-7K2Q</Ustrd><Ustrd>-931 &amp; thanks &lt;3</Ustrd>"
        "<Strd><CdtrRefInf><Ref>RF18539007547034</Ref></CdtrRefInf>"
        "<AddtlRmtInf>more</AddtlRmtInf></Strd></RmtInf></TxDtls>"
    )
    file = read(tmp_path, entry("1.00", "CRDT", remittance))
    assert rows(file.entries, "remittance", "structured_references") == [
        (["VFY-7K2Q", "-931 & thanks <3", "more"], ["RF18539007547034"])
    ]


@pytest.mark.parametrize("wrapped", [False, True])
def test_parties_are_read_with_and_without_a_wrapper_element(tmp_path: Path, wrapped: bool) -> None:
    file = read(tmp_path, entry("1.00", "CRDT", detail(more=parties(wrapped=wrapped))))
    assert rows(
        file.entries, "debtor_name", "debtor_account", "creditor_name", "creditor_account"
    ) == [("Payer", "DE1", "Payee", "DE2")]


@pytest.mark.parametrize(
    ("direction", "debtor", "creditor", "is_reversal", "expected"),
    [
        ("CRDT", "DE1", "DE2", False, "DE1"),
        ("DBIT", "DE1", "DE2", False, "DE2"),
        # A return names the original parties: we had paid, so the payee is the counterparty.
        ("CRDT", "DE1", "DE2", True, "DE2"),
        # Our own account number decides, even if the bank swaps the parties of a return.
        ("CRDT", "DE1", OURS, True, "DE1"),
        ("CRDT", OURS, "DE2", False, "DE2"),
    ],
)
def test_the_counterparty_is_the_other_party(
    tmp_path: Path,
    direction: str,
    debtor: str,
    creditor: str,
    *,
    is_reversal: bool,
    expected: str,
) -> None:
    mark = f"<RvslInd>{str(is_reversal).lower()}</RvslInd>"
    paid = entry("1.00", direction, detail(more=parties(debtor, creditor)), more=mark)
    assert read(tmp_path, paid).entries["counterparty_account"].to_pylist() == [expected]


def test_a_return_keeps_its_reason_and_the_id_of_the_returned_payment(tmp_path: Path) -> None:
    returned = detail(
        refs="<EndToEndId>PAY-2026-004417</EndToEndId>",
        more="<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>",
    )
    file = read(tmp_path, entry("1.00", "CRDT", returned))
    assert rows(file.entries, "return_reason", "original_end_to_end_id", "is_reversal") == [
        ("AC04", "PAY-2026-004417", False)
    ]


@pytest.mark.parametrize(
    "account",
    [
        "<IBAN>BE68 5390 0754 7034</IBAN>",
        "<Othr><Id>be68539007547034</Id></Othr>",
        "<PrtryAcct><Id>BE68539007547034</Id></PrtryAcct>",
    ],
)
def test_an_account_is_recognised_in_every_spelling(tmp_path: Path, account: str) -> None:
    file = read(tmp_path, entry(), account=account)
    assert file.entries["account"].to_pylist() == file.statements["account"].to_pylist() == [OURS]


@pytest.mark.parametrize("namespace", [None, "urn:iso:std:iso:20022:tech:xsd:camt.053.001.99", "x"])
def test_elements_are_read_in_any_namespace(tmp_path: Path, namespace: str | None) -> None:
    text = document(statement(entry("1.00", "CRDT", detail("hello"))), namespace=namespace)
    assert read_file(write(tmp_path, text)).entries["remittance"].to_pylist() == [["hello"]]


def test_a_prefixed_document_reads_like_a_plain_one(tmp_path: Path) -> None:
    plain = document(
        statement(entry("3.00", "CRDT", detail("a", amount="1.00"), detail("b", amount="2.00")))
    )
    prefixed = plain.replace("</", "</c:").replace("<", "<c:").replace("<c:/c:", "</c:")
    prefixed = prefixed.replace("<c:?xml", "<?xml").replace("xmlns=", "xmlns:c=")
    names = ("entry_id", "amount", "remittance")
    first = read_file(write(tmp_path, plain)).entries
    second = read_file(write(tmp_path, prefixed)).entries
    assert rows(first, *names) == rows(second, *names)


def test_exchange_and_codes_are_read(tmp_path: Path) -> None:
    exchanged = (
        '<TxDtls><AmtDtls><InstdAmt><Amt Ccy="USD">11.00</Amt></InstdAmt><TxAmt>'
        '<Amt Ccy="EUR">10.00</Amt><CcyXchg><SrcCcy>USD</SrcCcy><TrgtCcy>EUR</TrgtCcy>'
        "<XchgRate>1.1</XchgRate></CcyXchg></TxAmt></AmtDtls></TxDtls>"
    )
    code = (
        "<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn>"
        "<Prtry><Cd>NTRF</Cd></Prtry></BkTxCd>"
    )
    (row,) = read(tmp_path, entry("10.00", "CRDT", exchanged, more=code)).entries.to_pylist()
    assert (row["instructed_amount"], row["instructed_currency"]) == (Decimal("11.00"), "USD")
    assert (row["source_currency"], row["target_currency"]) == ("USD", "EUR")
    assert row["exchange_rate"] == Decimal("1.1")
    assert (row["bank_transaction_code"], row["proprietary_code"]) == ("PMNT/RCDT/ESCT", "NTRF")


def test_reports_and_notifications_are_read_and_not_proved(tmp_path: Path) -> None:
    for kind, message, name in (
        ("Rpt", "BkToCstmrAcctRpt", "camt.052"),
        ("Ntfctn", "BkToCstmrDbtCdtNtfctn", "camt.054"),
    ):
        text = document(statement(entry(), balances="", kind=kind), message=message)
        file = read_file(write(tmp_path, text))
        assert (file.format, file.entries.num_rows) == (name, 1)
        assert rows(file.statements, "proved", "proof") == [(False, "no balances")]


def test_an_interim_balance_proves_nothing(tmp_path: Path) -> None:
    balances = balance("OPBD", "100.00") + balance("ITBD", "110.00")
    file = read(tmp_path, entry("10.00"), balances=balances)
    (proof,) = file.statements["proof"].to_pylist()
    assert file.statements["proved"].to_pylist() == [False]
    assert "interim EUR 110.00" in proof


def test_a_missing_currency_defaults_to_that_of_the_account(tmp_path: Path) -> None:
    text = document(statement(entry("1.00"))).replace('<Ntry><Amt Ccy="EUR">', "<Ntry><Amt>")
    file = read_file(write(tmp_path, text))
    assert rows(file.entries, "currency", "inferred") == [("EUR", ["currency"])]


def test_the_currency_of_an_empty_amount_is_ignored(tmp_path: Path) -> None:
    empty = '<TxDtls><Amt Ccy="USD"/></TxDtls>'
    file = read(tmp_path, entry("10.00", "CRDT", empty))
    assert rows(file.entries, "amount", "currency", "instructed_currency") == [
        (Decimal("10.00"), "EUR", None)
    ]
