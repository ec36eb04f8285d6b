"""Payment status reports: read in every version, stored once, combined into one answer."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from pain_samples import payment, report

from treasury.core.errors import StatementError
from treasury.lake import Lake
from treasury.statements import TABLES, add_statements, read_statements
from treasury.statements.pain.order_answers import OrderAnswer, order_answer

NOW = datetime(2026, 11, 2, 9, tzinfo=UTC)


def written(folder: Path, text: str, name: str = "answer.xml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("version", ["03", "10", "14"])
def test_a_report_is_read_at_every_level(tmp_path: Path, version: str) -> None:
    path = written(
        tmp_path,
        report(
            payment("PAY-2026-004417", "RJCT", "AC04", text="account closed"),
            payment("PAY-2026-004418", "ACSP"),
            file_status="PART",
            batch_status="PART",
            version=version,
        ),
    )
    reading = read_statements([path])
    assert reading.files[0].format == "pain.002"
    assert (
        reading.statements.arrow.num_rows
        == reading.entries.arrow.num_rows
        == reading.lost_count
        == 0
    )
    rows = reading.statuses.arrow.to_pylist()
    assert [(row["level"], row["status"]) for row in rows] == [
        ("file", "PART"), ("payment", "RJCT"), ("payment", "ACSP"), ("batch", "PART"),
    ]  # fmt: skip
    assert {row["original_message_id"] for row in rows} == {"PAY-ABC"}
    rejected = rows[1]
    assert (rejected["reasons"], rejected["details"]) == (["AC04"], ["account closed"])
    assert (rejected["amount"], rejected["currency"]) == (Decimal("25000.00"), "EUR")
    assert rejected["created_at"] == datetime(2026, 11, 2, 7, tzinfo=UTC)
    assert rejected["execution_date"] == date(2026, 11, 2)
    assert rejected["creditor_name"] == "Ramp Operator BV"
    assert rejected["creditor_account"] == "NL05TEST0417164300"
    assert rejected["raw"].startswith("<TxInfAndSts>")


def test_consecutive_reports_in_a_file_refer_to_their_own_payments(tmp_path: Path) -> None:
    one = report(payment("PAY-1", "ACSC"), original="FILE-1", message_id="BANK-1")
    two = report(payment("PAY-2", "RJCT", "AC04"), original="FILE-2", message_id="BANK-2")
    rows = read_statements([written(tmp_path, f"{one}\n{two}")]).statuses.arrow.to_pylist()
    names = ("message_id", "original_message_id", "original_end_to_end_id")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("BANK-1", "FILE-1", "PAY-1"), ("BANK-2", "FILE-2", "PAY-2"),
    ]  # fmt: skip
    statement = "<Document><BkToCstmrStmt><Stmt><Id>S</Id></Stmt></BkToCstmrStmt></Document>"
    for texts in ((one, statement), (statement, one)):
        with pytest.raises(StatementError, match="in it is no") as caught:
            read_statements([written(tmp_path, "\n".join(texts))])
        assert "cut the file" in caught.value.do


def test_prefixes_older_dates_and_utf_16_are_read(tmp_path: Path) -> None:
    text = report(payment("PAY-1", "ACSC")).replace("<Dt>2026-11-02</Dt>", "2026-11-02")
    for name in ("Document", "CstmrPmtStsRpt", "OrgnlPmtInfAndSts", "TxInfAndSts"):
        text = text.replace(f"<{name}", f"<p:{name}").replace(f"</{name}", f"</p:{name}")
    text = text.replace("xmlns=", "xmlns:p=").replace("UTF-8", "UTF-16")
    path = tmp_path / "answer.xml"
    path.write_bytes(text.encode("utf-16"))
    (row,) = read_statements([path]).statuses.arrow.to_pylist()
    assert (row["status"], row["execution_date"]) == ("ACSC", date(2026, 11, 2))


def test_a_statement_that_mentions_a_report_in_its_text_stays_a_statement(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><GrpHdr>'
        "<MsgId>&lt;CstmrPmtStsRpt&gt;</MsgId></GrpHdr><Stmt><Id>1</Id></Stmt></BkToCstmrStmt>"
        "</Document>",
    )
    assert read_statements([path]).files[0].format == "camt.053"


@pytest.mark.acceptance
def test_adding_a_report_again_under_any_name_changes_nothing(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "w", TABLES)
    text = report(payment("PAY-1", "ACCP"), payment("PAY-1", "ACCP"), file_status="ACCP")
    first = add_statements(lake, [written(tmp_path, text)], NOW, declared={})
    assert (first.statuses_new, first.statuses_known, first.statements) == (3, 0, ())
    assert str(first) == "3 statuses of payment files new, 0 known before"
    before = lake.snapshot().sql("SELECT * FROM payment_statuses ORDER BY status_id")
    again = add_statements(lake, [written(tmp_path, text, "other.xml")], NOW, declared={})
    assert (again.statuses_new, again.statuses_known) == (0, 3)
    after = lake.snapshot().sql("SELECT * FROM payment_statuses ORDER BY status_id")
    assert after.equals(before)


@pytest.mark.acceptance
def test_a_large_report_is_read_in_a_separate_process(tmp_path: Path) -> None:
    many = [payment(f"PAY-{n}", "ACSP", text="x" * 9_000) for n in range(1_000)]
    path = written(tmp_path, report(*many))
    assert path.stat().st_size > 8 << 20
    assert read_statements([path], workers=2).statuses.arrow.num_rows == 1_000


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (report(file_status="ACCP", original=""), "names no payment file"),
        (report(file_status="ACCP")[:-40], "not well-formed XML"),
        (
            report().replace("<Document", '<!DOCTYPE d [<!ENTITY a "b">]><Document'),
            "it has a DOCTYPE",
        ),
    ],
)
def test_a_report_without_a_payment_file_or_valid_xml_is_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    with pytest.raises(StatementError, match=problem):
        read_statements([written(tmp_path, text)])


def test_unreadable_parts_of_a_report_are_named_by_position(tmp_path: Path) -> None:
    text = report(
        payment("PAY-1", "ACSP", amount="1e3"),
        "<TxInfAndSts><OrgnlEndToEndId>PAY-2</OrgnlEndToEndId></TxInfAndSts>",
        payment("PAY-3", "WHAT"),
    )
    reading = read_statements([written(tmp_path, text)])
    assert [row["status"] for row in reading.statuses.arrow.to_pylist()] == ["WHAT"]
    assert reading.lost_count == 2
    told = " | ".join(map(str, reading.problems))
    assert "TxInfAndSts[1]: status not read: amount: '1e3' is not a number" in told
    assert "TxInfAndSts[2]: status not read: a payment without a status" in told
    assert "status WHAT is not known, and decides nothing" in told


# The combined result of several reports


def answer(
    *texts: str, reference: str = "PAY-1", folder: Path, **ordered: Any
) -> OrderAnswer | None:
    """Return the combined answer of these reports to a payment of the file PAY-ABC."""
    paths = [written(folder, text, f"{number}.xml") for number, text in enumerate(texts)]
    statuses = read_statements(paths).statuses.arrow.to_pylist() if paths else []
    return order_answer(statuses, "PAY-ABC", reference, **ordered)


EARLY, LATE = "2026-11-02T08:00:00Z", "2026-11-02T12:00:00Z"


@pytest.mark.parametrize(
    ("reports", "stage"),
    [
        ([], None),
        ([report(payment("PAY-2", "RJCT"))], None),
        ([report(file_status="RJCT", original="PAY-XYZ")], None),
        ([report(file_status="RCVD")], "received"),
        ([report(file_status="ACTC")], "received"),
        ([report(file_status="PATC")], "signature"),
        ([report(payment("PAY-1", "ACCP"), file_status="PART")], "accepted"),
        ([report(payment("PAY-1", "WHAT"))], "accepted"),
        ([report(payment("PAY-1", "ACSC"))], "settled"),
        ([report(file_status="RJCT", reasons=("AM04",))], "rejected"),
        ([report(batch_status="RJCT")], "rejected"),
        ([report(payment("PAY-1", "RJCT", "AC04"), file_status="PART")], "rejected"),
        ([report(payment("PAY-1", "RJCT", "AC04"), file_status="ACCP")], "rejected"),
        ([report(payment("PAY-1", "RJCT"))] * 2, "rejected"),
        *(
            ([report(payment("PAY-1", "RJCT", code))], "duplicate")
            for code in ("AM05", "DU01", "DU02", "DU03", "DU04", "DU05")
        ),
        # Reasons without a status apply to the status of the level above.
        ([report(payment("PAY-1", "", "AM05"), file_status="RJCT")], "duplicate"),
        ([report(payment("PAY-1", "", "DU04"), batch_status="RJCT")], "duplicate"),
        (
            [
                report(payment("PAY-2", "RJCT"), file_status="RJCT").replace(
                    "</OrgnlPmtInfId>",
                    "</OrgnlPmtInfId><StsRsnInf><Rsn><Cd>DU02</Cd></Rsn></StsRsnInf>",
                )
            ],
            "duplicate",
        ),
        ([report(payment("PAY-1", "", "AC04"), file_status="PART")], "received"),
        ([report(payment("PAY-1", "ACSP"), file_status="RJCT")], "contradicted"),
        ([report(payment("PAY-1", "RJCT"), payment("PAY-1", "ACSP"))], "contradicted"),
        ([report(payment("PAY-1", "ACSP"), payment("PAY-1", "RJCT"))], "contradicted"),
        # The bank reuses the id of a report.
        (
            [
                report(payment("PAY-1", "RJCT"), at=EARLY),
                report(payment("PAY-1", "ACSP"), at=LATE),
            ],
            "contradicted",
        ),
        # The bank's timestamps count, not the order of arrival.
        (
            [
                report(payment("PAY-1", "RJCT"), message_id="B2", at=LATE),
                report(file_status="ACSP", message_id="B1", at=EARLY),
            ],
            "rejected",
        ),
        (
            [
                report(payment("PAY-1", "RJCT"), message_id="B1", at=EARLY),
                report(file_status="ACSP", message_id="B2", at=LATE),
            ],
            "contradicted",
        ),
        (
            [
                report(payment("PAY-1", "RJCT"), message_id="B2", at=LATE),
                report(payment("PAY-1", "ACSC"), message_id="B1", at=EARLY),
            ],
            "contradicted",
        ),
        (
            [
                report(payment("PAY-1", "RJCT"), message_id="B1", at=EARLY),
                report(file_status="ACSP", message_id="B2", at="soon"),
            ],
            "contradicted",
        ),
        (
            [
                report(file_status="ACSP", message_id="B2", at=LATE),
                report(file_status="RCVD", message_id="B1", at=EARLY),
            ],
            "accepted",
        ),
    ],
)
def test_the_reports_about_a_payment_give_one_stage(
    tmp_path: Path, reports: list[str], stage: str | None
) -> None:
    found = answer(*reports, folder=tmp_path)
    assert (None if found is None else found.stage) == stage


ORDERED = {
    "made": datetime(2026, 11, 2, 8, tzinfo=UTC),
    "amount": Decimal(25_000),
    "payee_iban": "NL05 TEST 0417 1643 00",
}


@pytest.mark.parametrize(
    ("text", "stage", "words"),
    [
        (report(payment("PAY-1", "RJCT"), at=EARLY), "rejected", ""),
        (report(payment("pay-1 ", "RJCT"), at=EARLY, original=" pay-abc"), "rejected", ""),
        (report(payment("PAY-1", "ACSP"), at=EARLY, original="Pay-Abc"), "accepted", ""),
        (report(payment("PAY-1", "RJCT", amount="25000.01"), at=EARLY), "contradicted",
         "but for EUR 25,000.01"),
        (report(payment("PAY-1", "RJCT"), at=EARLY).replace('"EUR"', '"USD"'), "contradicted",
         "but for USD 25,000.00"),
        (report(payment("PAY-1", "RJCT", iban="NL79TEST0000000002"), at=EARLY), "contradicted",
         "but for another account"),
        (report(payment("PAY-1", "RJCT"), at="2026-11-02T07:59:59Z"), "contradicted",
         "but dated before the file was made"),
        (report(file_status="RJCT", at="2026-10-01T08:00:00Z"), "contradicted",
         "but dated before the file was made"),
        (report(payment("PAY-1", "RJCT"), at=EARLY).replace(
            "PmtInfId>PAY-ABC", "PmtInfId>PAY-OTHER"), "contradicted", "but for another batch"),
        (report(payment("PAY-1", "RJCT"), at=EARLY).replace(
            "PmtInfId>PAY-ABC", "PmtInfId>NOTPROVIDED"), "rejected", ""),
        # Some banks give only the batch's id, or their own id for the file.
        (report(payment("PAY-1", "RJCT"), at=EARLY).replace(
            "OrgnlMsgId>PAY-ABC", "OrgnlMsgId>NOTPROVIDED"), "rejected", ""),
        (report(payment("PAY-1", "ACSP"), at=EARLY).replace(
            "OrgnlMsgId>PAY-ABC", "OrgnlMsgId>EB-7"), "accepted", ""),
        (report(payment("PAY-1", "RJCT"), at=EARLY).replace(
            "OrgnlMsgId>PAY-ABC", "OrgnlMsgId>EB-7"), "contradicted", "but for another file"),
    ],
)  # fmt: skip
def test_a_report_that_differs_from_the_order_is_contradicted(
    tmp_path: Path, text: str, stage: str, words: str
) -> None:
    found = answer(text, folder=tmp_path, **ORDERED)
    assert found
    assert found.stage == stage
    assert words in found.words


def test_a_rejection_of_the_order_counts_despite_one_of_an_earlier_upload(
    tmp_path: Path,
) -> None:
    before = report(payment("PAY-1", "RJCT", "AC04"), at="2026-11-01T08:00:00Z")
    now = report(payment("PAY-1", "RJCT", "AC04"), at=LATE, message_id="B2")
    found = answer(before, now, folder=tmp_path, **ORDERED)
    assert found
    assert (found.stage, found.at) == ("rejected", datetime(2026, 11, 2, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    "text",
    [
        report(payment("PAY-1", "RJCT", proprietary="DU03")),
        report(payment("PAY-1", "RJCT", proprietary="am05/44")),
        report(payment("PAY-1", "RJCT", proprietary="Duplicate file")),
        report(payment("PAY-1", "RJCT", "NARR", text="Bestand is dubbel aangeleverd")),
        report(payment("PAY-1", "RJCT", "NARR", text="file already received")),
        report(payment("PAY-1", "RJCT"), file_status="PART", reasons=("DU04",)),
        report(payment("PAY-1", "RJCT", "AC04", "DU05")),
        report(payment("PAY-1", "CANC", "AM05")),
    ],
)
def test_a_duplicate_is_recognised_in_every_form_of_report(tmp_path: Path, text: str) -> None:
    found = answer(text, folder=tmp_path)
    assert found
    assert found.stage == "duplicate"


def test_a_status_without_references_matches_no_payment() -> None:
    """The status and the payment both lack an end-to-end id, which does not make them match."""
    status = {
        "original_message_id": "PAY-ABC", "original_batch_id": None, "level": "payment",
        "original_end_to_end_id": None, "message_id": "R1", "status": "RJCT", "reasons": ["AC04"],
        "details": [], "amount": None, "currency": None, "creditor_account": None,
        "created_at": datetime(2026, 10, 30, tzinfo=UTC),
    }  # fmt: skip
    assert order_answer([status], "PAY-ABC", "") is None


@pytest.mark.acceptance
def test_the_answer_does_not_depend_on_the_version_or_order_of_reports(tmp_path: Path) -> None:
    said = [payment("PAY-1", "ACSP"), payment("PAY-1", "RJCT", "AC04")]
    texts = [
        report(said[0], at=EARLY, message_id="B1", version="03"),
        report(said[0], at=EARLY, message_id="B1", version="14"),
        report(said[1], at=LATE, message_id="B2", version="10"),
        report(said[1], at=LATE, message_id="B2", version="03"),
    ]
    for order in permutations(texts):
        found = answer(*order, folder=tmp_path)
        assert found
        assert (found.stage, found.words) == ("rejected", "RJCT: rejected, AC04 account closed")


def test_a_verification_of_another_account_does_not_apply_to_the_payee(tmp_path: Path) -> None:
    told = payment("PAY-1", "RCVC", iban="NL79TEST0000000002")
    found = answer(report(told, at=LATE), folder=tmp_path, **ORDERED)
    assert found
    assert found.payee == "not_possible"


@pytest.mark.parametrize(
    ("code", "payee", "name"),
    [
        ("RCVC", "match", ""),
        ("RVMC", "close", "Ramp Operator B.V."),
        ("RVNM", "none", ""),
        ("RVNA", "not_possible", ""),
    ],
)
def test_the_verification_of_the_payee_is_separate_from_the_stage(
    tmp_path: Path, code: str, payee: str, name: str
) -> None:
    found = answer(
        report(
            payment("PAY-1", code, text="Ramp Operator B.V."), file_status="RVCM", message_id="B1"
        ),
        report(file_status="ACTC", message_id="B2", at=LATE),
        folder=tmp_path,
    )
    assert found
    assert (found.stage, found.payee, found.payee_name) == ("received", payee, name)


def test_a_status_has_its_reason_in_words(tmp_path: Path) -> None:
    found = answer(report(payment("PAY-1", "RJCT", "AC04", "XX99")), folder=tmp_path)
    assert found
    assert found.words == "RJCT: rejected, AC04 account closed, XX99"
