from __future__ import annotations

import csv
import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from click.testing import CliRunner
from report_samples import HOSTILE, OWN, PROVIDER, ZONE, reconciliation
from report_samples import account as moved_account

from treasury.cli import treasury
from treasury.close.balances import BALANCES
from treasury.close.closing import closing_of
from treasury.close.ledger.ledger_accounts import load_mapping, read_mapping
from treasury.close.ledger.ledger_comparison import LedgerComparison, compare_ledger
from treasury.close.ledger.provided_ledger import LedgerFile
from treasury.core.errors import InputError
from treasury.month.internal import INTERNAL_TRANSFERS
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace

PAYOUTS = "NL05TEST0417164300"
PENDING = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.052.001.08"><BkToCstmrAcctRpt>
<GrpHdr><MsgId>M1</MsgId></GrpHdr><Rpt><Id>R1</Id><CreDtTm>2026-10-31T20:00:00+01:00</CreDtTm>
<Acct><Id><IBAN>BE45539951876689</IBAN></Id><Ccy>EUR</Ccy></Acct>
<Ntry><Amt Ccy="EUR">1234.56</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>PDNG</Cd></Sts>
<BookgDt><Dt>2026-10-31</Dt></BookgDt><ValDt><Dt>2026-10-31</Dt></ValDt></Ntry>
<Ntry><Amt Ccy="EUR">9.00</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>PDNG</Cd></Sts>
<BookgDt><Dt>2026-11-02</Dt></BookgDt><ValDt><Dt>2026-11-02</Dt></ValDt></Ntry>
<Ntry><Amt Ccy="EUR">7.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>PDNG</Cd></Sts>
<BookgDt><Dt>2026-10-31</Dt></BookgDt><ValDt><Dt>2026-10-31</Dt></ValDt></Ntry>
</Rpt></BkToCstmrAcctRpt></Document>
"""


def ledger(folder: Path, *lines: str, head: str = "account,currency,balance") -> Path:
    path = folder / "ledger.csv"
    path.write_text("\n".join([head, *lines]), "utf-8")
    return path


def account(**changed: Any) -> dict[str, Any]:
    """Return an own account that holds EUR 251,686.06 all month."""
    held = Decimal("251686.06")
    return moved_account(opening_balance=held, closing_balance=held) | changed


def compared(folder: Path, *lines: str, **tables: Any) -> LedgerComparison:
    held = {"statements": [account()]} | tables
    return compare_ledger(reconciliation(**held), ledger(folder, *lines))


def findings(result: LedgerComparison) -> dict[tuple[str, str], str]:
    return {
        (row["account"], row["currency"]): row["finding"] for row in result.lines.arrow.to_pylist()
    }


def row_of(result: LedgerComparison, account: str) -> dict[str, Any]:
    (row,) = (row for row in result.lines.arrow.to_pylist() if row["account"] == account)
    return row


def test_a_ledger_that_has_the_balance_agrees_by_iban_or_by_name(tmp_path: Path) -> None:
    for name in (OWN, "be45 5399 5187 6689", "EUR operating account"):
        result = compared(tmp_path, f"{name},eur,251686.06")
        assert result.agrees
        assert repr(result) == "<Ledger on 31 October 2026: 1 account compared, 0 to look at>"


def test_a_ledger_that_differs_by_the_last_digit_does_not_agree(tmp_path: Path) -> None:
    result = compared(tmp_path, f"{OWN},EUR,251686.060000000000000001")
    assert not result.agrees
    (row,) = result.lines.arrow.to_pylist()
    assert row["difference"] == Decimal("1e-18")
    assert (
        compared(tmp_path, f"{OWN},EUR,251600.00").lines.arrow["finding"][0].as_py()
        == "the ledger has EUR 86.06 less"
    )


def test_accounts_that_the_file_lacks_are_named_and_not_compared(tmp_path: Path) -> None:
    two = [account(), account(account="BE22", name="Second")]
    result = compared(tmp_path, f"{OWN},EUR,251686.06", statements=two)
    assert findings(result) == {
        (OWN, "EUR"): "agrees",
        ("BE22", "EUR"): "not in the file: not compared",
    }
    assert result.title == ("Ledger on 31 October 2026: 1 of 2 accounts compared, 0 to look at")
    assert result.agrees
    assert not compared(tmp_path, statements=two).agrees


def test_accounts_that_one_side_lacks_are_named(tmp_path: Path) -> None:
    result = compared(tmp_path, "BE11,EUR,5", f"{OWN},USD,251686.06")
    alone = "in the ledger alone: no statement and no wallet here has this account"
    assert findings(result) == {
        (OWN, "EUR"): "not in the file: not compared",
        ("BE11", "EUR"): alone,
        (OWN, "USD"): alone,
    }
    assert not result.agrees


def test_differences_block_by_currency_and_full_amount(tmp_path: Path) -> None:
    text = ledger(tmp_path, f"{OWN},USD,12.50").read_text("utf-8")
    given = LedgerFile(content=text, file_name="ledger.csv", sha256="")
    answer = reconciliation(statements=[account()])
    closing = closing_of(answer, ZONE, ledger=given)
    items = closing.items.select(kind="ledger_difference")
    do = "if it is one of yours, map it in accounts.toml; or correct the ledger"
    alone = "in the ledger alone: no statement and no wallet here has this account"
    assert [(one.name, one.amount, one.currency, one.next_step) for one in items] == [
        (f"{OWN}, USD", Decimal("12.50"), "USD", f"{alone}: {do}"),
    ]
    assert [(one.amount, one.currency) for one in closing.items.blocking.groups] == [
        (Decimal("12.50"), "USD"),
    ]


def test_the_providers_account_is_compared_only_where_the_ledger_has_it(tmp_path: Path) -> None:
    theirs = account(account=PROVIDER, source="provider_report", opening_balance=Decimal(5))
    theirs["closing_balance"] = Decimal(5)
    tables = {"statements": [account(), theirs]}
    mine = compared(tmp_path, f"{OWN},EUR,251686.06", **tables)
    assert mine.agrees
    assert len(mine.lines) == 1
    both = compared(tmp_path, f"{OWN},EUR,251686.06", f"{PROVIDER},EUR,5", **tables)
    assert both.agrees
    assert len(both.lines) == 2


def test_no_ledger_agrees_with_a_balance_that_is_not_proved(tmp_path: Path) -> None:
    open_one = account(complete=False, problem="October has no statement")
    result = compared(tmp_path, f"{OWN},EUR,251686.06", statements=[open_one])
    (row,) = result.lines.arrow.to_pylist()
    assert row["difference"] == 0
    assert row["finding"] == "the balance is not proved: October has no statement"
    assert not result.agrees


def test_a_name_of_two_accounts_matches_neither(tmp_path: Path) -> None:
    two = [account(name="Bank"), account(account="BE22", name="Bank")]
    result = compared(tmp_path, "Bank,EUR,251686.06", statements=two)
    assert "in the ledger alone" in findings(result)["Bank", "EUR"]


def test_an_account_on_two_lines_is_refused_by_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ledger\.csv, line 3: .*is on line 2 already"):
        compared(tmp_path, f"{OWN},EUR,1", "EUR operating account,EUR,2")


@pytest.mark.parametrize("wrong", [f"{OWN},EUR,1.234,56", f"{OWN},,1", f"{OWN},EUR,much"])
def test_a_line_that_cannot_be_read_is_refused_by_its_number(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(InputError, match=r"ledger\.csv, line 2"):
        compared(tmp_path, wrong)


def mapped(folder: Path, mapping: str, *lines: str) -> LedgerComparison:
    given = ledger(folder, *lines, head="Konto;Währung;Saldo")
    accounts = read_mapping(mapping, "accounts.toml")
    return compare_ledger(reconciliation(statements=[account()]), given, accounts=accounts)


@pytest.mark.parametrize(("written", "name"), [("1200", "001200"), ("001200", "1200")])
def test_leading_zeros_of_an_account_do_not_matter(tmp_path: Path, written: str, name: str) -> None:
    mapping = f'[accounts]\n"bank {OWN}" = "{name}"\n'
    assert mapped(tmp_path, mapping, f"{written};EUR;251.686,06").agrees


def test_several_ledger_accounts_of_one_bank_account_are_added_up(tmp_path: Path) -> None:
    mapping = f'[accounts]\n"bank {OWN}" = ["1200", "1201"]\n'
    result = mapped(tmp_path, mapping, "1200;EUR;251.700,06", "1201;EUR;14,00-")
    assert result.agrees
    assert len(result.lines) == 1
    with pytest.raises(InputError, match="line 3: '1200' in EUR is on line 2 already"):
        mapped(tmp_path, mapping, "1200;EUR;251.700,06", "1200;EUR;14,00-")


def test_outside_text_is_harmless_in_a_notebook(tmp_path: Path) -> None:
    assert HOSTILE not in compared(tmp_path, f"{HOSTILE},EUR,1")._repr_html_()


def test_a_wallet_is_compared_with_its_balance_in_each_asset(tmp_path: Path) -> None:
    wallet = dict.fromkeys(BALANCES.names) | {"kind": "custodial", "of": "a-1", "name": "Ops"}
    rows = [
        wallet | {"currency": "USDC", "closing": Decimal("5.000001"), "proved": True},
        wallet | {"currency": "EURC", "problem": "no balance was seen after 31 Oct: sync"},
    ]
    balances = pa.Table.from_pylist(rows, schema=BALANCES)
    path = ledger(tmp_path, "Ops,USDC,5.000001", "a-1,EURC,0")
    result = compare_ledger(reconciliation(), path, balances=balances)
    assert findings(result) == {
        ("a-1", "USDC"): "agrees",
        ("a-1", "EURC"): "the balance is not proved: no balance was seen after 31 Oct: sync",
    }


def test_a_payout_that_had_not_arrived_is_on_its_way_in(
    month_end: Workspace, tmp_path: Path
) -> None:
    r = month_end.reconcile("2026-10")
    net = {
        row["payment_reference"]: row["fiat_net_amount"]
        for row in month_end.table("ramp_requests").arrow.to_pylist()
    }
    under_way = net["PAY-2026-005349"]
    compared_now = compare_ledger(r, ledger(tmp_path, f"{PAYOUTS},EUR,1017248.24"))
    row = row_of(compared_now, PAYOUTS)
    assert row["in_transit_in"] == under_way == Decimal("7829.08")
    not_owed = "is not counted as on its way: the service had not completed it"
    assert f"PAY-2026-005379 {not_owed}" in compared_now.notes
    assert row["expected"] == Decimal("1025077.32")
    assert row["difference"] == -under_way
    apart = "what is in transit is not on this account of the ledger"
    assert row["finding"] == f"the ledger has EUR 7,829.08 less: {apart}"
    agreed = compare_ledger(r, ledger(tmp_path, f"{PAYOUTS},EUR,1025077.32"))
    assert row_of(agreed, PAYOUTS)["finding"] == "agrees"


def test_a_payout_that_may_have_arrived_is_named_and_not_counted(
    month_end: Workspace, tmp_path: Path
) -> None:
    result = compare_ledger(month_end.reconcile("2026-10"), ledger(tmp_path))
    note = (
        "PAY-2026-005308 is not counted as on its way: a line of 2026-10-23 may be its payout;"
        " decide it"
    )
    assert note in result.notes


@pytest.mark.acceptance
def test_a_debit_that_is_pending_at_the_bank_is_on_its_way_out(
    month_end: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    (tmp_path / "pending.xml").write_text(PENDING, "utf-8")
    desk.statements.add(tmp_path / "pending.xml")
    result = compare_ledger(desk.reconcile("2026-10"), ledger(tmp_path, f"{OWN},EUR,250451.50"))
    row = row_of(result, OWN)
    assert (row["in_transit_in"], row["in_transit_out"]) == (0, Decimal("1234.56"))
    assert row["finding"] == "agrees"


@pytest.mark.parametrize(
    ("state", "in_on", "counted"),
    [
        ("both_legs", date(2026, 11, 2), True),
        ("under_way", None, True),
        ("both_legs", date(2026, 10, 31), False),
        ("leg_in_missing", None, False),
    ],
)
def test_a_transfer_between_own_accounts_is_on_its_way_over_the_cut_off(
    month_end: Workspace, tmp_path: Path, state: str, in_on: date | None, counted: bool
) -> None:
    r = month_end.reconcile("2026-10")
    moved = [
        row | {"state": state, "in_on": in_on}
        for row in r.internal_transfers.arrow.to_pylist()
        if row["kind"] == "between own bank accounts"
    ]
    crossing = msgspec.structs.replace(
        r, internal_transfers=pa.Table.from_pylist(moved, schema=INTERNAL_TRANSFERS)
    )
    row = row_of(compare_ledger(crossing, ledger(tmp_path)), OWN)
    assert row["in_transit_in"] == (55_000 if counted else 0)


# Our own export as the ledger


def summed(journal: Path) -> list[str]:
    """Return the balances in a ledger that imported the journal, as lines of a CSV file."""
    balances: dict[tuple[str, str], Decimal] = {}
    with journal.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["account"], row["currency"])
            moved = Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
            balances[key] = balances.get(key, Decimal(0)) + moved
    return [f"{name},{currency},{amount}" for (name, currency), amount in balances.items()]


MAPPING = """[accounts]
"bank BE45539951876689" = "550000"
"bank NL05TEST0417164300" = "550010"
"on-ramp in transit" = "580000"
"off-ramp in transit" = "580000"
"suspense" = "499000"
"""


@pytest.mark.acceptance
@pytest.mark.parametrize("mapping", ["", MAPPING], ids=["by role", "by mapping"])
def test_the_books_of_our_own_export_agree_to_the_cent(
    month_end: Workspace, tmp_path: Path, mapping: str
) -> None:
    path, accounts = tmp_path / "accounts.toml", None
    if mapping:
        path.write_text(mapping, "utf-8")
        accounts = load_mapping(path)
    books = month_end.accounting("2026-10")
    journal = books.write_csv(tmp_path / "journal.csv", path if mapping else None)
    given = ledger(tmp_path, *summed(journal))
    result = compare_ledger(month_end.reconcile("2026-10"), given, accounts=accounts)
    assert {row["difference"] for row in result.lines.arrow.to_pylist()} == {Decimal(0)}
    assert result.agrees
    assert len(result.lines) == len(summed(journal))
    assert (
        "EUR 7,829.08 is expected on the ledger's own account of off-ramp in transit, not at a bank"
        in result.notes
    )


def test_an_account_of_our_export_that_differs_is_named(
    month_end: Workspace, tmp_path: Path
) -> None:
    result = compare_ledger(
        month_end.reconcile("2026-10"), ledger(tmp_path, "on-ramp in transit,EUR,50188.00")
    )
    row = row_of(result, "on-ramp in transit")
    assert (row["expected"], row["difference"]) == (Decimal(41_338), Decimal(8_850))
    assert row["finding"] == "the ledger has EUR 8,850.00 more than the month posted"


@pytest.mark.acceptance
def test_the_ledger_given_to_a_close_is_on_every_list_from_then_on(
    month_end: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    (tmp_path / "saldo.csv").write_text(f"Konto;Währung;Saldo\n{OWN};EUR;251.600,00\n", "utf-8")
    draft = desk.periods.prepare_or_show("2026-10", ledger=tmp_path / "saldo.csv")
    assert draft.refusal is not None
    (item,) = desk.open_items("2026-10").select(kind="ledger_difference")
    assert (item.amount, item.command) == (
        Decimal("-86.06"),
        "treasury exceptions --kind ledger_difference",
    )
    # The difference can be carried without naming the ledger's file again.
    words = ["items", "carry", item.item_id, "--month", "2026-10", "--owner", "ines"]
    words += ["--by", "2026-11-30", "--reason", "booked in November"]
    told = CliRunner().invoke(treasury, ["--workspace", str(desk.folder), *words])
    assert item.item_id in told.stdout
    carried = desk.items.list("2026-10").arrow.to_pylist()
    assert [row["item_id"] for row in carried] == [item.item_id]
    (tmp_path / "saldo.csv").write_text(f"Konto;Währung;Saldo\n{OWN};EUR;251.686,06\n", "utf-8")
    desk.periods.prepare_or_show("2026-10", ledger=tmp_path / "saldo.csv")
    assert not len(desk.open_items("2026-10").select(kind="ledger_difference"))


@pytest.mark.acceptance
def test_a_close_recognises_the_ledgers_accounts_by_the_workspaces_mapping(
    month_end: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "desk"
    shutil.copytree(month_end.folder, folder)
    (folder / "accounts.toml").write_text(MAPPING, "utf-8")
    desk = Workspace(folder)
    journal = desk.accounting("2026-10").write_csv(
        tmp_path / "journal.csv", folder / "accounts.toml"
    )
    given = ledger(tmp_path, *summed(journal))
    closing = desk.periods.month("2026-10", ledger=given)
    assert closing.ledger is not None
    assert closing.ledger.agrees
    assert not len(closing.items.select(kind="ledger_difference"))
    pack = desk.close("2026-10", ledger=given)
    assert verify_pack(pack.folder).holds
