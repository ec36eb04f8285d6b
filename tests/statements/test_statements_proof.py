"""The proof of a statement: opening + entries = closing, or a message with the difference."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import OURS, balance, document, entry, read, rows, statement, write
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from treasury.cli import treasury
from treasury.statements import StatementFile, read_file
from treasury.statements.balance_proof import StatementBalance, Tally, is_provable


def test_a_statement_that_adds_up_is_proved_and_shows_the_sum(tmp_path: Path) -> None:
    file = read(tmp_path, entry("20.00"), entry("5.50", "DBIT"), closing="114.50")
    assert rows(file.statements, "proved", "proof", "entry_count", "credit_total") == [
        (
            True,
            "opening EUR 100.00 + credits EUR 20.00 - debits EUR 5.50 = closing EUR 114.50",
            2,
            Decimal("20.00"),
        )
    ]


def test_a_difference_of_a_cent_is_reported_with_the_amounts(tmp_path: Path) -> None:
    file = read(tmp_path, entry("20.00"), closing="119.99")
    (proof,) = file.statements["proof"].to_pylist()
    assert file.statements["proved"].to_pylist() == [False]
    assert "= EUR 120.00, but closing is EUR 119.99 (EUR -0.01 off)" in proof


def test_an_overdrawn_account_has_negative_balances(tmp_path: Path) -> None:
    balances = balance("OPBD", "10.00", sign="DBIT") + balance("CLBD", "30.00", sign="DBIT")
    file = read(tmp_path, entry("20.00", "DBIT"), balances=balances)
    assert rows(file.statements, "opening_balance", "closing_balance", "proved") == [
        (Decimal("-10.00"), Decimal("-30.00"), True)
    ]


def test_a_missing_opening_balance_defaults_to_the_previous_closing(tmp_path: Path) -> None:
    balances = balance("PRCD", "1.00") + balance("CLBD", "2.00") + balance("CLAV", "9.00")
    file = read(tmp_path, entry("1.00"), balances=balances)
    assert file.statements["proved"].to_pylist() == [True]


@pytest.mark.parametrize(
    ("opening", "closing", "said"),
    [("1.00", None, "no closing balance"), (None, "1.00", "no opening balance")],
)
def test_a_missing_balance_is_named(
    tmp_path: Path, opening: str | None, closing: str | None, said: str
) -> None:
    text = document(statement(opening=opening, closing=closing))
    assert read_file(write(tmp_path, text)).statements["proof"].to_pylist() == [said]


def test_an_entry_in_another_currency_fails_the_proof(tmp_path: Path) -> None:
    file = read(tmp_path, entry("1.00", currency="USD"))
    assert rows(file.statements, "proved") == [(False,)]
    assert "USD 1.00 in a statement in EUR" in file.statements["proof"][0].as_py()


def test_an_unreadable_balance_is_ignored(tmp_path: Path) -> None:
    file = read(tmp_path, balances=balance("OPBD", "1.00") + balance("CLBD", "one"))
    assert rows(file.statements, "proved") == [(False,)]
    assert "balance not read" in str(file.problems[0])


def test_each_statement_of_a_file_is_proved_separately(tmp_path: Path) -> None:
    text = document(
        statement(entry("1.00"), opening="1.00", closing="2.00"),
        statement(entry("1.00"), opening="2.00", closing="4.00"),
    )
    file = read_file(write(tmp_path, text))
    assert rows(file.statements, "proved") == [(True,), (False,)]
    assert len(set(file.statements["statement_id"].to_pylist())) == 2
    assert file.entries["statement_id"].to_pylist() == file.statements["statement_id"].to_pylist()


def amount_of(units: int) -> Decimal:
    """Return an amount in units of the eighteenth decimal, independent of Python's precision."""
    digits = tuple(map(int, str(abs(units))))
    return Decimal((int(units < 0), digits, -18))


units = st.integers(min_value=0, max_value=10**37)


@given(st.lists(st.tuples(units, st.sampled_from([1, -1])), max_size=20), units)
def test_the_sum_is_exact_to_the_last_decimal(movements: list[tuple[int, int]], start: int) -> None:
    tally = Tally("ETH")
    for amount, sign in movements:
        tally.add(amount_of(amount), "ETH", "CRDT" if sign > 0 else "DBIT")
    end = start + sum(amount * sign for amount, sign in movements)
    opening = StatementBalance("OPBD", amount_of(start), "ETH", None)
    assert tally.result(opening, StatementBalance("CLBD", amount_of(end), "ETH", None))[0]
    assert not tally.result(opening, StatementBalance("CLBD", amount_of(end + 1), "ETH", None))[0]


def unsigned(code: str, amount: str) -> str:
    return balance(code, amount, day="2026-10-15").replace("<CdtDbtInd>CRDT</CdtDbtInd>", "")


BARE = "<Ntry><Amt Ccy='EUR'>{}</Amt><CdtDbtInd>{}</CdtDbtInd></Ntry>"


def clearing(folder: Path, opening: str, closing: str, *entries: str) -> StatementFile:
    """Read a statement with unsigned balances; its only date is the creation time of the file."""
    balances = unsigned("OPBD", opening) + unsigned("CLBD", closing)
    account = f"<Acct><Id><IBAN>{OURS}</IBAN></Id><Ccy>EUR</Ccy></Acct>"
    text = document(f"<Stmt><Id>S1</Id>{account}{balances}{''.join(entries)}</Stmt>")
    created = "<MsgId>M1</MsgId><CreDtTm>2026-10-15T19:47:17.828+02:00</CreDtTm>"
    return read_file(write(folder, text.replace("<MsgId>M1</MsgId>", created)))


@pytest.mark.parametrize(
    ("opening", "closing", "moved", "signed"),
    [
        ("100.00", "90.00", "10.00", ("100.00", "90.00")),
        ("100.00", "110.00", "10.00", ("-100.00", "-110.00")),
        ("5.00", "5.00", "10.00", ("5.00", "-5.00")),
        ("0.00", "10.00", "10.00", ("0.00", "-10.00")),
    ],
)
def test_the_movements_give_unsigned_balances_their_sign(
    tmp_path: Path, opening: str, closing: str, moved: str, signed: tuple[str, str]
) -> None:
    file = clearing(tmp_path, opening, closing, BARE.format(moved, "DBIT"))
    assert rows(file.statements, "opening_balance", "closing_balance", "proved") == [
        (*map(Decimal, signed), True)
    ]
    assert "the movements show it" in file.problems[0].what
    (row,) = file.entries.to_pylist()
    assert (row["booking_date"], row["entry_status"]) == (date(2026, 10, 15), "BOOK")
    assert row["inferred"] == ["entry_status", "booking_date"]
    assert (
        file.statements["created_at"].to_pylist()[0].isoformat()
        == "2026-10-15T17:47:17.828000+00:00"
    )


def test_unsigned_balances_without_movements_prove_nothing(tmp_path: Path) -> None:
    file = clearing(tmp_path, "7.00", "7.00")
    said = "balances without a sign, and no movement that shows it"
    assert rows(file.statements, "proved", "proof") == [(False, said)]
    assert not is_provable(said)


@pytest.mark.parametrize(
    ("more", "proved"),
    [
        ("<Avlbty><Amt Ccy='EUR'>7.00</Amt></Avlbty>", True),
        ("<Avlbty><Amt Ccy='EUR'>7</Amt><CdtDbtInd>CRDT</CdtDbtInd></Avlbty>", True),
        ("<Avlbty><Amt Ccy='EUR'>7.00</Amt><CdtDbtInd>DBIT</CdtDbtInd></Avlbty>", False),
        ("<Avlbty><Amt Ccy='EUR'>6.00</Amt></Avlbty>", False),
        # With a credit line, this much may be available although the account is overdrawn.
        (
            "<CdtLine><Amt>14.00</Amt></CdtLine><Avlbty><Amt Ccy='EUR'>7.00</Amt></Avlbty>",
            False,
        ),
    ],
)
def test_unsigned_fully_available_balances_without_movements_are_credits(
    tmp_path: Path, more: str, proved: bool
) -> None:
    both = "".join(
        unsigned(code, "7.00").replace("</Bal>", f"{more}</Bal>") for code in ("OPBD", "CLBD")
    )
    file = read(tmp_path, balances=both)
    assert rows(file.statements, "opening_balance", "closing_balance", "proved") == [
        (Decimal(7), Decimal(7), proved)
    ]
    assert bool(file.problems) is proved


def test_the_available_amount_does_not_override_the_movements(tmp_path: Path) -> None:
    both = "".join(
        unsigned(code, amount).replace(
            "</Bal>", f"<Avlbty><Amt Ccy='EUR'>{amount}</Amt></Avlbty></Bal>"
        )
        for code, amount in (("OPBD", "100.00"), ("CLBD", "110.00"))
    )
    file = read(tmp_path, entry("10.00", "DBIT"), balances=both)
    assert rows(file.statements, "opening_balance", "closing_balance", "proved") == [
        (Decimal(-100), Decimal(-110), True)
    ]


def test_unsigned_balances_that_do_not_add_up_are_not_proved(tmp_path: Path) -> None:
    file = clearing(tmp_path, "100.00", "95.00", BARE.format("10.00", "DBIT"))
    assert "(EUR 5.00 off)" in file.statements["proof"].to_pylist()[0]


def test_the_count_of_lost_entries_is_reported_last_and_exits_with_1(tmp_path: Path) -> None:
    text = document(statement(entry("1.00"), entry("x"), entry("y"), closing="101.00"))
    path = write(tmp_path, text)
    file = read_file(path)
    assert (file.lost_count, str(file.problems[-1])) == (2, "file.xml: 2 entries are not read")
    done = CliRunner().invoke(treasury, ["statements", "read", str(path)])
    assert (done.exit_code, "file.xml: 2 entries are not read" in done.stderr) == (1, True)
    good = write(tmp_path, document(statement(entry("1.00"), closing="101.00")))
    assert CliRunner().invoke(treasury, ["statements", "read", str(good)]).exit_code == 0
