from __future__ import annotations

import csv
import re
from collections import defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from beancount import loader
from hypothesis import given
from hypothesis import strategies as st
from report_samples import HOSTILE, OWN, ZONE, account, fee, line, reconciliation, virtual

from treasury.close.ledger.accounting import PACKAGE, ROLES, Accounting, accounting
from treasury.close.ledger.ledger_accounts import LedgerAccounts, load_mapping
from treasury.close.ledger.transit import begun_before, owed_payouts
from treasury.core.errors import InputError
from treasury.core.money import total
from treasury.matching.engine.pipeline import Step, steps_of
from treasury.report.accounting_files import mapping_text, write_beancount, write_csv
from treasury.workspace import Workspace

OFF_RAMP = fee(
    request_id="r2",
    ramp_type="OFF_RAMP",
    fiat_gross=Decimal("9200.00"),
    fee=Decimal("73.60"),
    fiat_net=Decimal("9126.40"),
    crypto=Decimal("10000.000000"),
)


def books(**tables: Any) -> Accounting:
    return accounting(reconciliation(**tables), ZONE)


def posted(made: Accounting) -> dict[tuple[str, str], Decimal]:
    sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in made.postings.arrow.to_pylist():
        sums[row["role"], row["currency"]] += row["amount"]
    return {key: amount for key, amount in sums.items() if amount}


def errors(made: Accounting, path: Path) -> list[str]:
    write_beancount(made, path)
    _, found, _ = loader.load_file(str(path))
    return [str(error) for error in found]


def test_an_on_ramp_is_booked_from_the_bank_to_coins_less_the_fee() -> None:
    wire = line(
        amount=Decimal(25_000),
        direction="DBIT",
        kind="on_ramp",
        matched_amount=Decimal(25_000),
        expectation_id="r1",
    )
    assert posted(books(lines=[wire], fee_requests=[fee()], statements=[])) == {
        ("bank", "EUR"): -25_000,
        ("ramp fees", "EUR"): 200,
        ("conversion", "EUR"): 24_800,
        ("conversion", "USDC"): Decimal("-26865.995017"),
        ("wallet", "USDC"): Decimal("26865.995017"),
    }


@pytest.mark.acceptance
def test_an_off_ramp_leaves_its_payout_in_transit_until_the_bank_shows_it() -> None:
    open_one = posted(books(fee_requests=[OFF_RAMP], statements=[]))
    assert open_one["off-ramp in transit", "EUR"] == Decimal("9126.40")
    payout = line(amount=Decimal("9126.40"), kind="off_ramp", matched_amount=Decimal("9126.40"))
    done = posted(books(fee_requests=[OFF_RAMP], lines=[payout], statements=[]))
    assert ("off-ramp in transit", "EUR") not in done
    assert done["ramp fees", "EUR"] == Decimal("73.60")


@pytest.mark.parametrize(
    ("changed", "role"),
    [
        ({"outcome": "ignored", "line_class": "bank_charge"}, "bank charges"),
        ({"outcome": "ignored", "line_class": "own_transfer"}, "own transfers"),
        ({"outcome": "ignored", "line_class": "conversion_sweep"}, "conversion"),
        ({"outcome": "ignored", "line_class": None}, "other business"),
        ({"outcome": "matched", "kind": "virtual_bank_account"}, "collections"),
        ({"outcome": "returned", "kind": "on_ramp"}, "on-ramp in transit"),
        ({"outcome": "suggested", "kind": "on_ramp"}, "suspense"),
        ({"outcome": "duplicate", "kind": "on_ramp"}, "suspense"),
        ({"outcome": "unreferenced", "kind": None}, "suspense"),
    ],
)
def test_a_line_is_posted_against_its_counterpart(changed: dict[str, Any], role: str) -> None:
    made = posted(books(lines=[line(**changed)], statements=[]))
    assert made == {("bank", "EUR"): 100, (role, "EUR"): -100}


def test_an_excess_payment_is_posted_to_suspense() -> None:
    paid = line(kind="on_ramp", direction="DBIT", matched_amount=Decimal("60.00"))
    assert posted(books(lines=[paid], statements=[])) == {
        ("bank", "EUR"): -100,
        ("on-ramp in transit", "EUR"): 60,
        ("suspense", "EUR"): 40,
    }


def test_the_providers_account_is_not_one_of_our_bank_accounts() -> None:
    own = line("own", direction="CRDT", amount=Decimal(5), currency="EUR")
    theirs = line("theirs", direction="CRDT", amount=Decimal(7), currency="EUR")
    made = posted(books(lines=[own, theirs | {"source": "provider_report"}], statements=[]))
    assert (made["bank", "EUR"], made["provider", "EUR"]) == (5, 7)


@pytest.mark.acceptance
def test_liabilities_agree_in_the_books_and_in_the_ledger_comparison(month_end: Workspace) -> None:
    r = month_end.reconcile("2026-10")
    owed = [one for one in owed_payouts(r) if one.is_owed]
    made = posted(month_end.accounting("2026-10"))
    assert made["off-ramp in transit", "EUR"] == total(one.amount or 0 for one in owed) > 0
    begun = [one.legs[0].amount for one in begun_before(r, month_end.settings.zone)]
    former = month_end.accounting("2026-09")
    assert total(begun) == posted(former)["off-ramp in transit", "EUR"] > 0
    assert any(not one.is_owed for one in owed_payouts(r))


@pytest.mark.acceptance
def test_a_completed_request_paid_a_cent_short_leaves_nothing_in_transit(
    month_end: Workspace,
) -> None:
    rows = month_end.accounting("2026-10").postings.arrow.to_pylist()
    (short,) = [row for row in rows if row["role"] == "payment differences"]
    assert short["amount"] == Decimal("-0.01")
    reference = short["text"].removesuffix(" completed")
    moved = [
        row["amount"]
        for row in rows
        if row["role"] == "on-ramp in transit" and reference in row["text"]
    ]
    assert len(moved) == 2
    assert total(moved) == 0


def test_a_request_without_amounts_is_named_and_not_posted() -> None:
    made = books(fee_requests=[fee(crypto=None)], statements=[account(complete=False)])
    assert len(made.postings) == 0
    assert made.notes == (
        f"no balance of {OWN} is asserted: its statements are not complete and proved",
        "PAY-2026-004417 is not posted: its amounts are not recorded; sync it",
    )


amounts = st.decimals(min_value=Decimal("1e-18"), max_value=10**16, places=18)


@pytest.mark.acceptance
@given(
    st.lists(
        st.tuples(
            amounts,
            amounts,
            st.sampled_from(["CRDT", "DBIT"]),
            st.sampled_from(["matched", "returned", "ignored", "suggested"]),
            st.sampled_from(["EUR", "USD"]),
        )
    )
)
def test_every_entry_balances_in_every_currency(rows: list[tuple[Any, ...]]) -> None:
    lines = [
        line(
            str(at),
            amount=amount,
            matched_amount=matched,
            direction=direction,
            outcome=outcome,
            currency=currency,
            kind="on_ramp",
        )
        for at, (amount, matched, direction, outcome, currency) in enumerate(rows)
    ]
    made = books(lines=lines, fee_requests=[fee(), OFF_RAMP])
    legs: defaultdict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for row in made.postings.arrow.to_pylist():
        legs[row["entry"], row["currency"]].append(row["amount"])
    assert not any(map(total, legs.values()))


def test_an_unbalanced_entry_is_never_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = dict(steps_of(PACKAGE))
    wrong = steps["request_legs"].sql.replace(
        "'ramp fees', '', fiat, fee", "'ramp fees', '', fiat, gross"
    )
    steps["request_legs"] = Step("request_legs", wrong, is_stored=False)
    monkeypatch.setattr("treasury.close.ledger.accounting.steps_of", lambda _: steps)
    with pytest.raises(AssertionError, match="request:r1 does not balance in EUR"):
        books(fee_requests=[fee()])


def test_a_line_for_several_requests_has_a_leg_for_each_and_the_rest_in_suspense() -> None:
    r = reconciliation(
        lines=[line("e1", amount=Decimal(100)), line("e2", amount=Decimal(7), currency="USD")],
        virtual_accounts=[virtual(virtual_bank_account_id="v1")],
        statements=[],
    )
    shares = [("e1", "r9", Decimal(60)), ("e1", "v1/2026-10-14", Decimal(30))]
    names = ("entry_id", "expectation_id", "amount")
    rows = [dict(zip(names, share, strict=True)) for share in shares]
    allocations = pa.Table.from_pylist(rows, schema=r.matches.allocations.arrow.schema)
    matches = msgspec.structs.replace(r.matches, allocations=allocations)
    made = accounting(msgspec.structs.replace(r, matches=matches), ZONE).postings.arrow.to_pylist()
    assert [(row["entry"], row["posting"], row["role"], row["amount"]) for row in made] == [
        ("line:e1", 1, "bank", 100),
        ("line:e1", 2, "off-ramp in transit", -60),
        ("line:e1", 3, "collections", -30),
        ("line:e1", 4, "suspense", -10),
        ("line:e2", 1, "bank", 7),
        ("line:e2", 2, "suspense", -7),
    ]
    assert [row["source_ids"] for row in made[2:5]] == [["e1", "r9", "v1/2026-10-14"]] * 2 + [
        ["e2"]
    ]


@pytest.mark.acceptance
def test_beancount_output_does_not_depend_on_the_batch_size(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = accounting(month_end.reconcile("2026-10"), month_end.settings.zone)
    whole = write_beancount(made, tmp_path / "whole").read_bytes()
    monkeypatch.setattr("treasury.report.accounting_files._BATCH", 7)
    assert write_beancount(made, tmp_path / "parts").read_bytes() == whole


@pytest.mark.acceptance
def test_the_practice_month_is_accepted_by_beancount_with_its_balances(
    month_end: Workspace, tmp_path: Path
) -> None:
    made = accounting(month_end.reconcile("2026-10"), month_end.settings.zone)
    assert made.opening
    assert made.closing
    path = tmp_path / "october.beancount"
    assert errors(made, path) == []
    known = made.closing[0]
    right = f"balance Assets:Bank:{known.of} {known.amount:f} "
    wrong = f"balance Assets:Bank:{known.of} {total((known.amount, Decimal('0.01'))):f} "
    path.write_text(path.read_text("utf-8").replace(right, wrong), "utf-8")
    assert any("Balance failed" in str(error) for error in loader.load_file(str(path))[1])


def test_text_from_outside_is_only_text_in_beancount_and_csv(tmp_path: Path) -> None:
    nasty = '"\n2026-10-01 open Assets:Evil \\ ' + HOSTILE
    rows = [
        line(counterparty_name=nasty, currency="€$ x"),
        line("e2", counterparty_name="=1+1", statement_account="NL 12 bank"),
        line("e3", counterparty_name="x\r=1+1;=2+2"),
    ]
    made = books(lines=rows, statements=[])
    path = tmp_path / "x.beancount"
    assert errors(made, path) == []
    assert "\n2026-10-01 open Assets:Evil" not in path.read_text("utf-8")
    write_csv(made, tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        texts = [row["text"] for row in csv.DictReader(file)]
    assert not any(re.search(r"(?:^|[;,\t\r\n])=", text) for text in texts)
    assert b"\r" not in (tmp_path / "x.csv").read_bytes()


def test_the_journal_has_separate_debit_and_credit_and_the_companys_accounts(
    tmp_path: Path,
) -> None:
    made = books(lines=[line(amount=Decimal("100.000000000000000001"))], statements=[])
    mapping = LedgerAccounts({"bank": "550000", f"bank {OWN}": "550001"})
    write_csv(made, tmp_path / "journal.csv", mapping)
    with (tmp_path / "journal.csv").open(newline="", encoding="utf-8") as file:
        debit, credit = csv.DictReader(file)
    assert (debit["account"], debit["debit"], debit["credit"]) == (
        "550001",
        "100.000000000000000001",
        "",
    )
    assert (credit["account"], credit["debit"], credit["credit"]) == (
        "suspense",
        "",
        "100.000000000000000001",
    )
    assert debit["date"] == str(date(2026, 10, 14))


@pytest.mark.acceptance
def test_a_mapping_to_fill_in_reads_back(tmp_path: Path) -> None:
    path = tmp_path / "accounts.toml"
    path.write_text(mapping_text(books(lines=[line()])).replace('""', '"5"'), "utf-8")
    assert load_mapping(path).of("bank", OWN) == "5"
    assert load_mapping(path).of("ramp fees", "") == "ramp fees"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[accounts]\n"banq" = "5"', "'banq' is not a role"),
        ('[accounts]\n"bank" = 5', "'bank' names no account"),
        ("[account]", "'account' is not known"),
        ("", r"no \[accounts\]"),
        ("[", "accounts.toml: "),
    ],
)
def test_a_mapping_that_is_wrong_is_refused_by_name(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "accounts.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        load_mapping(path)


def test_every_role_has_a_place_in_beancount(tmp_path: Path) -> None:
    from treasury.report import accounting_files

    assert accounting_files._BEANCOUNT.keys() == ROLES.keys()
