"""Overlapping CSV exports; the later one has other texts for the same movements."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write

from treasury.lake import Lake
from treasury.statements import TABLES, AddReport, add_statements

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)
OURS = "NL91ABNA0417164300"
PAYER = "NL20INGB0001234567"
PROFILE = """day_order = "ymd"
decimal = "."
currency = "EUR"
[columns]
booking_date = ["Date"]
amount = ["Amount"]
balance = ["Balance"]
text = ["Description"]
"""
HEADER = "Date,Description,Amount,Balance\n"
SHOP = "2026-10-05,SHOP AMSTERDAM,-10.00,90.00\n"
COFFEE = "2026-10-06,COFFEE,-3.50,86.50\n"
SHOP_LATER = '2026-10-05,"Shop, Amsterdam NL",-10.00,90.00\n'
COFFEE_LATER = "2026-10-06,Coffee,-3.50,86.50\n"
SECOND_COFFEE = "2026-10-07,Coffee,-3.50,83.00\n"
BUNQ = "Date,Interest Date,Amount,Account,Counterparty,Name,Description\n"


class Desk:
    """A lake to which `add` adds CSV files, in one call or each one day after the file before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lake = Lake(folder, TABLES)
        (folder / "profiles").mkdir(parents=True)
        (folder / "profiles" / "generic.toml").write_text(PROFILE, "utf-8")

    def add(self, texts: tuple[str, ...], *, together: bool = False) -> list[AddReport]:
        paths = [write(self.folder, text, f"{n}.csv") for n, text in enumerate(texts)]
        calls = [paths] if together else [[path] for path in paths]
        return [
            add_statements(
                self.lake,
                call,
                NOW + timedelta(days=n),
                declared={OURS: "own_bank"},
                currencies={OURS: ["EUR"]},
                account=OURS,
            )
            for n, call in enumerate(calls)
        ]

    def rows(self, *names: str) -> list[tuple[object, ...]]:
        query = "SELECT * FROM statement_entries ORDER BY booking_date, amount, entry_id"
        return rows(self.lake.snapshot().sql(query), *names)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "workspace")


FIRST = HEADER + SHOP + COFFEE
LATER = HEADER + SHOP_LATER + COFFEE_LATER + SECOND_COFFEE


@pytest.mark.acceptance
@pytest.mark.parametrize("together", [True, False], ids=["one call", "two calls"])
@pytest.mark.parametrize("texts", [(FIRST, LATER), (LATER, FIRST, LATER)])
def test_the_balance_after_a_row_identifies_a_known_movement_with_another_text(
    desk: Desk, texts: tuple[str, ...], together: bool
) -> None:
    desk.add(texts, together=together)
    assert desk.rows("amount", "entry_status", "is_twin", "balance_after") == [
        (Decimal(10), "BOOK", False, Decimal(90)),
        (Decimal("3.5"), "BOOK", False, Decimal("86.5")),
        (Decimal("3.5"), "BOOK", False, Decimal(83)),
    ]


@pytest.mark.acceptance
def test_row_order_and_an_incomplete_day_do_not_matter(desk: Desk) -> None:
    noon = HEADER + "2026-10-06,COFFEE,-3.50,86.50\n" + SHOP
    evening = HEADER + "2026-10-06,Coffee,-3.50,83.00\n" + COFFEE_LATER + SHOP_LATER
    desk.add((noon, evening))
    assert sorted(desk.rows("amount", "balance_after", "is_twin")) == [
        (Decimal("3.5"), Decimal(83), False),
        (Decimal("3.5"), Decimal("86.5"), False),
        (Decimal(10), Decimal(90), False),
    ]


@pytest.mark.acceptance
def test_exports_of_the_same_days_with_other_texts_do_not_contradict(desk: Desk) -> None:
    desk.add((FIRST, HEADER + SHOP_LATER + COFFEE_LATER))
    assert desk.rows("amount") == [(Decimal(10),), (Decimal("3.5"),)]
    stored = desk.lake.snapshot().sql("SELECT proved, rivals FROM statements")
    assert rows(stored, "proved", "rivals") == [(True, None)]


@pytest.mark.acceptance
def test_a_credit_in_an_unproved_and_a_later_export_counts_once(desk: Desk) -> None:
    first = HEADER + "2026-10-05,PAYER BV PAY-2026-004471,500.00,600.00\n"
    later = '2026-10-05,"Payer BV, PAY-2026-004471 (SEPA)",500.00,600.00\n'
    desk.add((first, HEADER + later + "2026-10-06,Other,1.00,601.00\n"))
    assert desk.rows("amount", "is_twin") == [(Decimal(500), False), (Decimal(1), False)]


WORDLESS = HEADER + "2026-10-05,,-10.00,90.00\n2026-10-06,,-3.50,86.50\n"


SAME_DAYS = HEADER + SHOP_LATER + COFFEE_LATER


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("later", "order", "together"),
    [
        (LATER, (0, 1), False),
        (LATER, (1, 0), True),
        (SAME_DAYS, (0, 1), True),
        (SAME_DAYS, (1, 0), False),
    ],
    ids=["more", "more before", "same days", "same days before"],
)
def test_a_row_without_a_text_takes_the_text_of_another_export(
    desk: Desk, later: str, order: tuple[int, ...], together: bool
) -> None:
    desk.add(tuple((WORDLESS, later)[at] for at in order), together=together)
    assert desk.rows("amount", "remittance")[:2] == [
        (Decimal(10), ["Shop, Amsterdam NL"]), (Decimal("3.5"), ["Coffee"]),
    ]  # fmt: skip
    assert len(desk.rows("amount")) == later.count("\n") - 1
    again = desk.add((WORDLESS, later))
    assert [(report.entries_new, report.entries_changed) for report in again] == [(0, 0)] * 2


@pytest.mark.acceptance
def test_a_row_with_only_a_name_takes_the_text_of_another_export(desk: Desk) -> None:
    named = PROFILE + 'counterparty_name = ["Name"]\n'
    (desk.folder / "profiles" / "generic.toml").write_text(named, "utf-8")
    first = "Date,Name,Description,Amount,Balance\n2026-10-05,Payer BV,,500.00,600.00\n"
    desk.add((first, first.replace("BV,,", "BV,PAY-2026-004471,")))
    assert desk.rows("counterparty_name", "remittance") == [("Payer BV", ["PAY-2026-004471"])]


def bunq(name: str, text: str, account: str = PAYER, day: str = "05") -> str:
    return f"2026-10-{day},2026-10-{day},500.00,{OURS},{account},{name},{text}\n"


@pytest.mark.first_case
@pytest.mark.parametrize("together", [True, False], ids=["one call", "two calls"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("Payer BV", "PAY-2026-004471"), ("Payer B.V.", "PAY-2026-004471")),
        (("Payer BV", "PAY-2026-004471"), ("PAYER", "Payment PAY-2026-004471 (SEPA)")),
        (("Payer BV", "Thank you"), ("PAYER BV", "thank  you!")),
    ],
    ids=["name", "reference", "case"],
)
def test_without_balances_account_and_reference_identify_a_known_movement(
    desk: Desk, before: tuple[str, str], after: tuple[str, str], together: bool
) -> None:
    desk.add(
        (BUNQ + bunq(*before), BUNQ + bunq("X", "y", day="06") + bunq(*after)), together=together
    )
    assert desk.rows("booking_date", "is_twin") == [
        (date(2026, 10, 5), False), (date(2026, 10, 6), False)
    ]  # fmt: skip


@pytest.mark.acceptance
@pytest.mark.parametrize("together", [True, False], ids=["one call", "two calls"])
def test_rows_that_agree_only_in_day_and_amount_are_twins_and_reported(
    desk: Desk, together: bool
) -> None:
    other = bunq("Someone", "other words", account="NL02RABO0123456789")
    texts = (BUNQ + bunq("Payer BV", "PAY-2026-004471"), BUNQ + other)
    *_, report = desk.add(texts, together=together)
    assert desk.rows("amount", "is_twin") == [(Decimal(500), True)] * 2
    (problem,) = [problem for problem in report.problems if "different words" in problem.what]
    assert problem.file_name == "1.csv"
    assert "2026-10-05" in problem.what


@pytest.mark.acceptance
def test_a_long_text_does_not_take_quadratic_time(desk: Desk) -> None:
    before, after = ("a1b2c3" + "d" * 100_000 + end for end in ("", " again"))
    desk.add((BUNQ + bunq("Payer BV", before), BUNQ + bunq("Payer BV", after)))
    assert desk.rows("is_twin") == [(True,), (True,)]


@pytest.mark.acceptance
def test_two_movements_of_one_export_stay_two_with_any_texts(desk: Desk) -> None:
    both = BUNQ + bunq("Payer BV", "PAY-2026-004471") + bunq("Payer B.V.", "PAY-2026-004471")
    desk.add((both, both))
    assert desk.rows("amount", "is_twin") == [(Decimal(500), False)] * 2


@pytest.mark.acceptance
def test_an_export_that_continues_another_shares_no_movement(desk: Desk) -> None:
    morning = HEADER + SHOP + COFFEE
    evening = HEADER + "2026-10-06,TEA,-3.50,83.00\n" + "2026-10-06,TEA 2,-3.00,80.00\n"
    desk.add((morning, evening))
    assert len(desk.rows("amount")) == 4
