"""The bank reconciliation with the ledger's postings, from a file to the pack."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner
from report_samples import OWN, ZONE, account, line, reconciliation

from treasury.cli import treasury
from treasury.close.closing import Closing, closing_of
from treasury.close.ledger.bank_reconciliation import BankReconciliation
from treasury.close.ledger.provided_ledger import BooksFile, LedgerFile
from treasury.core.errors import InputError
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace

HEAD = "Konto;Datum;Beleg;Buchungstext;Soll;Haben;Währung"
MAPPING = f'[accounts]\n"bank {OWN}" = ["1200", "1205"]\n'
OPENING = "1200;01.10.2026;;Saldovortrag;1.000,00;;EUR"


def bank_line(day: int, amount: str, text: str = "", entry: str = "") -> dict[str, Any]:
    """Return a bank line of October with a signed amount."""
    signed = Decimal(amount)
    return line(
        entry or f"e{day}{amount}",
        booking_date=date(2026, 10, day),
        direction="CRDT" if signed > 0 else "DBIT",
        amount=abs(signed),
        remittance=text,
    )


def closing(
    rows: Sequence[str],
    lines: Sequence[dict[str, Any]],
    *,
    ledger: str = "",
    opening: str = "1000.00",
    mapping: str = MAPPING,
    **bank: Any,
) -> Closing:
    """Return October with one bank account that held `opening`, its lines and its books."""
    moved = sum(
        each["amount"] if each["direction"] == "CRDT" else -each["amount"] for each in lines
    )
    held = account(
        opening_balance=Decimal(opening), closing_balance=Decimal(opening) + moved, **bank
    )
    balances = f"Konto;Saldo;Währung\n1200;{ledger};EUR\n" if ledger else ""
    given = LedgerFile(
        file_name="saldo.csv" if ledger else "",
        content=balances,
        mapping=mapping,
        books=BooksFile(file_name="books.csv", content="\n".join([HEAD, *rows]), sha256=""),
    )
    return closing_of(reconciliation(statements=[held], lines=lines), ZONE, ledger=given)


def books_of(month: Closing) -> BankReconciliation:
    assert month.books is not None
    return month.books


def account_row(month: Closing) -> dict[str, Any]:
    (row,) = books_of(month).accounts.arrow.to_pylist()
    return row


def differences(month: Closing) -> list[tuple[Decimal | None, str, str]]:
    """Return amount, command and next step of the items about the ledger."""
    items = month.items.select(kind="ledger_difference")
    return [(item.amount, item.command, item.next_step) for item in items]


LINES = [bank_line(5, "250.00", "RE-10023"), bank_line(9, "-15.00", "Charges")]
POSTINGS = [
    OPENING,
    "001200;06.10.2026;RE-10023;Invoice;250,00;;EUR",
    "1205;30.10.2026;ZL-10;Payment run;;400,00;EUR",
    ";;;Summe;1.250,00;400,00;",
]


def test_outstanding_items_explain_the_difference_and_do_not_block() -> None:
    month = closing(POSTINGS, LINES)
    row = account_row(month)
    figures = [row[name] for name in ("balance", "in_books_only", "at_bank_only", "expected")]
    assert figures == [1235, -400, -15, 850]
    assert (row["books"], row["unexplained"], row["pairs"]) == (850, 0, 1)
    assert row["finding"] == "outstanding items explain it"
    assert books_of(month).agrees
    assert differences(month) == []
    items = books_of(month).items.arrow.to_pylist()
    assert [(item["side"], item["amount"], item["days"]) for item in items] == [
        ("at the bank alone", -15, 22),
        ("in the books alone", -400, 1),
    ]
    (pair,) = books_of(month).pairs.arrow.to_pylist()
    assert (pair["decided_by"], pair["line"], pair["posted_on"]) == (
        "reference RE10023",
        3,
        date(2026, 10, 6),
    )


def test_an_unexplained_difference_blocks_with_a_command_that_shows_it() -> None:
    month = closing(POSTINGS, LINES, opening="1100.00")
    assert account_row(month)["unexplained"] == -100
    ((amount, command, step),) = differences(month)
    assert (amount, command) == (-100, "treasury books 2026-10")
    assert step.startswith("the books have EUR 100.00 less than outstanding items explain: ")
    assert not books_of(month).agrees


def test_the_ledgers_own_balance_is_the_balance_per_books() -> None:
    without_opening = POSTINGS[1:]
    month = closing(without_opening, LINES)
    assert account_row(month)["books"] is None
    assert "its balance per books is not known" in differences(month)[0][2]
    month = closing(without_opening, LINES, ledger="850,00")
    assert account_row(month)["finding"] == "outstanding items explain it"
    # Without the postings, the same ledger differs from the bank.
    assert month.ledger is not None
    assert month.ledger.agrees
    assert differences(month) == []
    month = closing(POSTINGS, LINES, ledger="849,99")
    assert [amount for amount, *_ in differences(month)] == [Decimal("-0.01")]
    assert account_row(month)["finding"] == (
        "the ledger's balance differs by EUR 0.01 from its opening row and postings"
    )


def test_no_books_agree_with_a_balance_that_is_not_proved() -> None:
    month = closing(POSTINGS, LINES, complete=False, problem="October has no statement")
    finding = "the balance is not proved: October has no statement"
    assert account_row(month)["finding"] == finding
    assert len(differences(month)) == 1


def test_equal_amounts_are_a_group_and_its_rest_is_outstanding() -> None:
    lines = [bank_line(5, "250.00"), bank_line(6, "250.00")]
    rows = [OPENING, *(f"1200;0{day}.10.2026;;;250,00;;EUR" for day in (5, 6, 7))]
    month = closing(rows, lines)
    row = account_row(month)
    assert (row["pairs"], row["groups"], row["in_books_only"], row["unexplained"]) == (0, 1, 250, 0)
    (item,) = books_of(month).items.arrow.to_pylist()
    assert item["text"] == "1 of the 3 postings of group 1"
    matches = books_of(month).pairs.arrow["match"].to_pylist()
    assert matches == ["group 1"] * 5


def test_postings_of_an_earlier_month_may_be_paid_in_this_one() -> None:
    # The file begins in September; the bank's lines are known from October.
    rows = [
        "1200;01.09.2026;;EB-Wert;1.300,00;;EUR",
        "1200;03.09.2026;RE-500;paid in September;;200,00;EUR",
        "1200;29.09.2026;RE-70077;paid in October;;100,00;EUR",
    ]
    month = closing(rows, [bank_line(1, "-100.00", "RE-70077")], opening="1100.00")
    row = account_row(month)
    assert (row["books"], row["unexplained"], row["outstanding"]) == (1000, 0, 0)
    assert row["finding"] == "agrees"


def test_another_currency_and_other_accounts_are_named_and_not_compared() -> None:
    rows = [OPENING, "1200;05.10.2026;;;250,00;;USD", "4400;05.10.2026;;;9,00;;EUR"]
    month = closing(rows, [])
    assert account_row(month)["books"] == 1000
    (note,) = books_of(month).notes
    assert note.startswith("not compared: 2 rows on accounts that accounts.toml gives to no bank")
    assert note.endswith(": 1200 (USD), 4400 (EUR)")
    month = closing(["4400;05.10.2026;;;9,00;;EUR"], [])
    assert account_row(month)["finding"] == "not in the file: not compared"
    assert books_of(month).title.startswith("Books on 31 October 2026: 0 of 1 account compared")
    assert differences(month) == []
    assert not books_of(month).agrees


def test_outside_text_is_harmless_in_the_answer() -> None:
    hostile = "<img src=x onerror=alert(1)>"
    month = closing([OPENING, f"1200;05.10.2026;;{hostile};9,00;;EUR"], [])
    assert hostile not in books_of(month)._repr_html_()


def test_the_report_has_a_row_for_each_account_and_outstanding_item() -> None:
    from treasury.report.sections import sections

    section = next(each for each in sections(closing(POSTINGS, LINES)) if each.anchor == "accounts")
    grid = section.grids[-1]
    assert grid.caption.startswith("Books on 31 October 2026: 1 account compared, 0 to look at")
    assert [row[0].text for row in grid.rows] == [
        "EUR operating account",
        "Noordzee Vis BV Charges",
        "ZL-10 Payment run",
    ]
    assert [cell.text for cell in grid.rows[0][1:7]] == [
        "1,235.00",
        "-400.00",
        "-15.00",
        "850.00",
        "850.00",
        "0.00",
    ]


# The practice company's October.


def practice_books(month_end: Workspace, folder: Path) -> Path:
    """Write the postings of the operating account: one line is not posted, one payment is new."""
    r = month_end.reconcile("2026-10")
    (held,) = (row for row in r.statements.arrow.to_pylist() if row["account"] == OWN)
    lines = [row for row in r.lines.arrow.to_pylist() if row["statement_account"] == OWN]
    unposted = next(row for row in lines if row["line_class"] == "bank_charge")

    def written(amount: Decimal) -> str:
        return f"{amount:.2f}".replace(".", ",")

    rows = [HEAD, f"{OWN};01.10.2026;;Saldovortrag;{written(held['opening_balance'])};;EUR"]
    for row in lines:
        if row is not unposted:
            amount = written(row["amount"])
            sides = f"{amount};" if row["direction"] == "CRDT" else f";{amount}"
            day = f"{row['booking_date']:%d.%m.%Y}"
            rows.append(f"{OWN};{day};;{row['reference'] or ''};{sides};EUR")
    rows.append(f"{OWN};30.10.2026;ZL-10;Payment run;;1.200,00;EUR")
    path = folder / "books.csv"
    path.write_text("\n".join(rows), "utf-8")
    return path


@pytest.mark.acceptance
def test_the_books_given_to_a_close_are_on_every_list_from_then_on(
    month_end: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    desk.periods.prepare_or_show("2026-10", books=practice_books(month_end, tmp_path))
    command = ["--workspace", str(desk.folder), "books", "2026-10"]
    shown = CliRunner().invoke(treasury, command, catch_exceptions=False).stdout
    assert "EUR operating account, EUR …6689: outstanding items explain it" in shown
    assert "30 Oct ZL-10 Payment run EUR -1,200.00" in " ".join(shown.split())
    assert "EUR payout account, EUR …4300: not in the file: not compared" in shown
    assert not len(desk.open_items("2026-10").select(kind="ledger_difference"))
    rows = CliRunner().invoke(treasury, [*command, "--outstanding", "--format", "json"]).stdout
    assert "ZL-10" in rows


@pytest.mark.acceptance
def test_the_pack_of_a_close_reproduces_its_books(month_end: Workspace, tmp_path: Path) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    path = practice_books(month_end, tmp_path)
    pack = desk.close("2026-10", books=path)
    assert verify_pack(pack.folder).holds
    assert (pack.folder / "inputs" / "books.csv").read_text("utf-8") == path.read_text("utf-8")
    workbook = openpyxl.load_workbook(pack.workbook, read_only=True)
    heads = [cell.value for cell in next(workbook["Outstanding"].iter_rows())]
    assert heads[:3] == ["Account", "Name", "Currency"]


def test_without_books_the_command_says_what_to_give(month_end: Workspace) -> None:
    command = ["--workspace", str(month_end.folder), "books", "2026-10"]
    refused = CliRunner().invoke(treasury, command).exception
    assert isinstance(refused, InputError)
    assert (refused.do or "").endswith("treasury books 2026-10 --books FILE")
