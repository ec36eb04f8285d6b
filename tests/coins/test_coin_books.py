"""Measured coins in the books: their postings, accounts and balances, and the exports."""

from __future__ import annotations

import csv
from collections import defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from beancount import loader
from beancount.core.data import Balance, Price
from coin_desk import history_of, holders, policy_text, pool_of, under

from treasury.close.closing import Closing
from treasury.close.ledger.accounting import Accounting, accounting
from treasury.close.ledger.ledger_accounts import LedgerAccounts
from treasury.close.ledger.ledger_comparison import compare_ledger
from treasury.core.errors import InputError
from treasury.report.accounting_files import mapping_text, write_beancount, write_csv
from treasury.workspace import Workspace

ROLES = {
    "cost": "coin impairment",
    "reserves": "coin reserve",
    "profit_and_loss": "coin revaluation",
}


def books_of(closing: Closing) -> Accounting:
    return accounting(closing.r, closing.zone, coins=closing.coin_books)


def posted(books: Accounting, month: date = date(2026, 10, 1)) -> dict[tuple[str, str], Decimal]:
    """Sum the postings in euros by role and coin, from `month` on: openings are dated earlier."""
    sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in books.postings.arrow.to_pylist():
        if row["date"] >= month and row["currency"] == "EUR":
            sums[row["role"], row["of"]] += row["amount"]
    return sums


@pytest.fixture(scope="module")
def books(october_tied: Closing) -> Accounting:
    return books_of(october_tied)


@pytest.mark.acceptance
def test_beancount_accepts_the_carrying_amounts_at_both_ends_and_has_the_prices(
    books: Accounting, october_tied: Closing, tmp_path: Path
) -> None:
    path = write_beancount(books, tmp_path / "month.beancount")
    entries, errors, _ = loader.load_file(str(path))
    assert errors == []
    held = {
        (entry.account, entry.date): entry.amount.number
        for entry in entries
        if isinstance(entry, Balance) and ":Coins:" in entry.account
    }
    rows = october_tied.coins.measured.arrow.to_pylist()
    for coin in ("EURC", "USDC"):
        for end, name in ((date(2026, 10, 1), "opening"), (date(2026, 11, 1), "closing")):
            stated = sum(row[name] for row in rows if row["coin"] == coin)
            assert held[f"Assets:Coins:{coin}", end] == stated
    prices = [entry for entry in entries if isinstance(entry, Price)]
    assert {(price.currency, price.date, price.amount.number) for price in prices} == {
        ("EURC", date(2026, 10, 31), Decimal("0.9985")),
        ("USDC", date(2026, 10, 31), Decimal("0.8950948801")),
    }


@pytest.mark.acceptance
def test_a_wrong_carrying_amount_is_an_error_of_beancount(
    books: Accounting, tmp_path: Path
) -> None:
    path = write_beancount(books, tmp_path / "month.beancount")
    text = path.read_text("utf-8")
    (line,) = [
        line
        for line in text.splitlines()
        if line.startswith("2026-11-01 balance Assets:Coins:USDC")
    ]
    *words, amount, currency = line.split()
    off_by_a_cent = " ".join([*words, str(Decimal(amount) + Decimal("0.01")), currency])
    path.write_text(text.replace(line, off_by_a_cent), "utf-8")
    _, (error,), _ = loader.load_file(str(path))
    assert "Assets:Coins:USDC" in error.message


@pytest.mark.acceptance
def test_the_value_exchanged_for_coins_offsets_the_requests_own_entry(
    books: Accounting, october_tied: Closing
) -> None:
    """The conversion account's euros sum to zero for each request of a measured coin."""
    movements = october_tied.coins.movements.arrow.to_pylist()
    requests = {row["source_id"] for row in movements if row["contra"] == "conversion"}
    assert len(requests) >= 20
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in books.postings.arrow.to_pylist():
        if (row["role"], row["currency"]) == ("conversion", "EUR"):
            for source in set(row["source_ids"]) & requests:
                sums[source] += row["amount"]
    assert dict.fromkeys(requests, 0) == sums


def test_gains_losses_and_differences_equal_those_of_the_pools(
    books: Accounting, october_tied: Closing
) -> None:
    sums, rows = posted(books), october_tied.coins.measured.arrow.to_pylist()
    gains = sums["coin gains", ""] + sums["coin losses", ""]
    assert -gains == sum(row["gain"] for row in rows)
    assert sums["coin gains", ""] < 0 < -gains
    assert -sums["coin reserve", ""] == sum(
        row["remeasured"] for row in rows if row["coin"] == "EURC"
    )
    assert not sums["coin impairment", ""]
    for coin in ("EURC", "USDC"):
        moved = sum(row["closing"] - row["opening"] for row in rows if row["coin"] == coin)
        assert sums["coins", coin] == moved


@pytest.mark.acceptance
@pytest.mark.parametrize("measurement", ROLES)
def test_each_measurement_posts_its_difference_to_the_right_account(
    october: Closing, unmeasured: Workspace, tmp_path: Path, measurement: str
) -> None:
    openings = {("USDC", ""): ("2000000", "1900000.00")}
    text = policy_text(unmeasured, {"USDC": (measurement, "fifo", "none")}, "entity", openings)
    closing = under(october, history_of(text, tmp_path / "terms"))
    row = pool_of(closing.coins, "USDC")
    assert (row["problem"], row["closing"]) == ("", row["value"])
    assert row["remeasured"] < -50_000
    books = books_of(closing)
    sums = posted(books)
    assert sums[ROLES[measurement], ""] == -row["remeasured"]
    others = set(ROLES.values()) - {ROLES[measurement]}
    assert not [role for role in others if (role, "") in sums]
    _, errors, _ = loader.load_file(str(write_beancount(books, tmp_path / "month.beancount")))
    assert errors == []


def test_the_csv_journal_has_the_same_postings_on_the_mapped_accounts(
    books: Accounting, tmp_path: Path
) -> None:
    named = {
        "coins": "530000", "coins USDC": "530010", "coin gains": "756000",
        "coin losses": "656000", "coin reserve": "120000",
    }  # fmt: skip
    path = write_csv(books, tmp_path / "journal.csv", LedgerAccounts(named))
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            sums[row["account"]] += Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
    all_of = posted(books, date.min)
    assert sums["530000"] == all_of["coins", "EURC"]
    assert sums["530010"] == all_of["coins", "USDC"]
    assert sums["120000"] == all_of["coin reserve", ""]
    assert not [account for account in sums if account.startswith("coin")]
    template = mapping_text(books)
    for role in ("coins EURC", "coins USDC", "coin gains", "coin reserve"):
        assert f'"{role}" = ""' in template


@pytest.mark.parametrize("left_out", ["coins USDC", "coin reserve"])
def test_a_mapping_that_names_no_account_of_measured_coins_is_refused(
    books: Accounting, tmp_path: Path, left_out: str
) -> None:
    named = {"coins EURC": "1", "coins USDC": "2", "coin gains": "3", "coin losses": "4",
             "coin reserve": "5"}  # fmt: skip
    del named[left_out]
    for write in (write_csv, write_beancount):
        with pytest.raises(InputError, match=f"names no account for '{left_out}'"):
            write(books, tmp_path / "journal", LedgerAccounts(named))
    assert not (tmp_path / "journal").exists()


@pytest.mark.acceptance
def test_each_holder_of_measured_coins_has_a_pool(tied: Workspace, october_tied: Closing) -> None:
    pools = {row["pool"] for row in october_tied.coins.measured.arrow.to_pylist()}
    assert pools == {holders(tied)[name] for name in (
        "ETHEREUM", "BASE", "Retail", "Marketplace", "Operations", "Treasury reserve",
    )}  # fmt: skip


def test_a_ledger_that_imported_the_export_agrees_and_a_different_one_does_not(
    books: Accounting, october_tied: Closing, tmp_path: Path
) -> None:
    sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    with write_csv(books, tmp_path / "journal.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            amount = Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
            sums[row["account"], row["currency"]] += amount
    for off in (Decimal(0), Decimal("0.01")):
        sums["coins USDC", "EUR"] += off
        lines = [f"{account},{currency},{sum_}" for (account, currency), sum_ in sums.items()]
        path = tmp_path / "ledger.csv"
        path.write_text("\n".join(["account,currency,balance", *lines, ""]), "utf-8")
        compared = compare_ledger(
            october_tied.r,
            path,
            balances=october_tied.balances.arrow,
            coins=october_tied.coin_books,
        )
        found = {
            row["account"]: row["finding"]
            for row in compared.lines.arrow.to_pylist()
            if row["account"].upper().startswith("COIN")
        }
        assert len(found) == 4
        wrong = {finding for finding in found.values() if finding != "agrees"}
        assert bool(wrong) == bool(off), found
