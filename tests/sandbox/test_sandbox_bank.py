"""The bank's files are valid, agree with their balances and depend only on the seed."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from treasury.sandbox import Sandbox
from treasury.sandbox.state.ids import iban, is_iban

NS = {"c": "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"}


@pytest.fixture(scope="module")
def files(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sandbox.write_bank_files(tmp_path_factory.mktemp("bank"))


def statement(path: Path) -> Any:
    return etree.parse(path).find("c:BkToCstmrStmt/c:Stmt", NS)


def text(element: Any, path: str) -> str:
    found = element.find("/".join(f"c:{name}" for name in path.split("/")), NS)
    return "" if found is None else found.text or ""


def signed(element: Any) -> Decimal:
    amount = Decimal(text(element, "Amt"))
    return amount if text(element, "CdtDbtInd") == "CRDT" else -amount


def details(files: list[Path]) -> dict[str, tuple[str, str, Any]]:
    """Return account, booking date and element of every detail, by the bank's reference."""
    found = {}
    for path in files:
        root = statement(path)
        for entry in root.findall("c:Ntry", NS):
            for detail in entry.findall("c:NtryDtls/c:TxDtls", NS):
                reference = text(detail, "Refs/AcctSvcrRef")
                assert reference not in found
                found[reference] = (
                    text(root, "Acct/Id/IBAN"), text(entry, "BookgDt/Dt"), detail
                )  # fmt: skip
    return found


def test_each_account_and_month_has_exactly_one_file(sandbox: Sandbox, files: list[Path]) -> None:
    accounts = {account for account, *_ in sandbox.bank_accounts}
    assert len(accounts) == 3
    assert set(files) == set(files[0].parent.iterdir())
    assert {path.name for path in files} == {
        f"camt053_{account}_2026-{month:02d}.xml" for account in accounts for month in range(5, 11)
    }


def test_balances_agree_with_the_entries_and_with_the_previous_month(
    files: list[Path],
) -> None:
    carried: dict[str, Decimal] = {}
    for path in sorted(files):
        root = statement(path)
        opening, closing = (signed(balance) for balance in root.findall("c:Bal", NS))
        entries = [signed(entry) for entry in root.findall("c:Ntry", NS)]
        assert opening + sum(entries) == closing
        account = text(root, "Acct/Id/IBAN")
        assert opening == carried.get(account, opening)
        carried[account] = closing
        assert closing > 0
        assert text(root, "TxsSummry/TtlNtries/NbOfNtries") == str(len(entries))
        total = sum((amount for amount in entries if amount > 0), Decimal(0))
        assert Decimal(text(root, "TxsSummry/TtlCdtNtries/Sum")) == total


def test_a_batch_states_the_sum_and_count_of_its_details(files: list[Path]) -> None:
    batches = 0
    for path in files:
        for entry in statement(path).findall("c:Ntry", NS):
            parts = entry.findall("c:NtryDtls/c:TxDtls", NS)
            assert sum(signed(part) for part in parts) == signed(entry)
            if len(parts) > 1:
                batches += 1
                assert text(entry, "NtryDtls/Btch/NbOfTxs") == str(len(parts))
    # There are six payrolls and at least one batch of credits.
    assert batches >= 7


def test_every_account_number_has_valid_check_digits(files: list[Path]) -> None:
    numbers = {found.text for path in files for found in statement(path).iterfind(".//c:IBAN", NS)}
    assert len(numbers) > 30
    assert all(is_iban(number) for number in numbers)
    assert {"NL05TEST0417164300", "BE68539007547034", "LT353250012345678901"} <= numbers


def test_check_digits_are_those_of_iso_13616() -> None:
    assert iban("BE", "539007547034") == "BE68539007547034"
    assert iban("GB", "WEST12345698765432") == "GB82WEST12345698765432"
    assert not is_iban("BE68539007547043")


def test_the_truth_has_one_row_for_every_detail_of_the_files(
    sandbox: Sandbox, files: list[Path]
) -> None:
    found, truth = details(files), sandbox.truth()
    assert {row["account_servicer_reference"] for row in truth} == set(found)
    assert len(truth) == len(found)
    for row in truth:
        account, booked, detail = found[row["account_servicer_reference"]]
        assert (row["account"], row["booking_date"]) == (account, booked)
        assert (row["amount"], row["direction"]) == (text(detail, "Amt"), text(detail, "CdtDbtInd"))
        assert row["currency"] == "EUR"


def test_the_truth_marks_exactly_the_details_with_an_unbroken_code(
    sandbox: Sandbox, files: list[Path]
) -> None:
    found = details(files)
    for row in sandbox.truth():
        if row["expectation"] is None:
            assert not row["unbroken"]
            continue
        _, _, detail = found[row["account_servicer_reference"]]
        fields = [element.text or "" for element in detail.iterfind(".//c:Ustrd", NS)]
        fields += [text(detail, "Refs/EndToEndId"), text(detail, "RmtInf/Strd/CdtrRefInf/Ref")]
        code = row["expectation"]["code"].replace("-", "")
        tokens = {token for field in fields for token in tokenise(field)}
        assert row["unbroken"] is (code in tokens), (row, fields)


def tokenise(field: str) -> set[str]:
    """Return the words of a field, in upper case and without hyphens and dots."""
    kept = "".join(c if c.isalnum() or c in "-." else " " for c in field.upper())
    return {token.replace("-", "").replace(".", "") for token in kept.split(" ")}


def test_a_credit_on_the_provider_account_names_the_virtual_iban(
    sandbox: Sandbox, files: list[Path]
) -> None:
    master = next(a for a, *_, source in sandbox.bank_accounts if source == "provider_report")
    reached = {
        text(detail, "RltdPties/CdtrAcct/Id/IBAN")
        for account, _, detail in details(files).values()
        if account == master and text(detail, "CdtDbtInd") == "CRDT"
    }
    assert len(reached) == 4
    assert "BE68539007547034" in reached
    assert master not in reached


def test_a_return_names_its_reason_and_the_original_end_to_end_id(
    sandbox: Sandbox, files: list[Path]
) -> None:
    found = details(files)
    returned = [row for row in sandbox.truth() if row["returned"]]
    reasons: dict[str, list[str]] = {}
    for row in returned:
        _, _, detail = found[row["account_servicer_reference"]]
        name = text(detail, "Refs/EndToEndId")
        reasons.setdefault(name, []).append(text(detail, "RtrInf/Rsn/Cd"))
    assert sorted(map(sorted, reasons.values())) == [["", "AC04"], ["", "MS03"]]


def test_hostile_text_is_escaped_in_the_files(files: list[Path]) -> None:
    content = {
        element.text
        for path in files
        for name in ("Ustrd", "Nm")
        for element in statement(path).iterfind(f".//c:{name}", NS)
    }
    for hostile in ("<img src=x onerror=alert(1)>", '=HYPERLINK("http://x")', "$5 and $6"):
        assert any(hostile in found for found in content)


def test_without_a_provider_report_the_files_of_own_accounts_are_unchanged(
    files: list[Path], tmp_path: Path
) -> None:
    bare = Sandbox(7, scenario="no-provider-report")
    assert {source for *_, source in bare.bank_accounts} == {"own_bank"}
    written = bare.write_bank_files(tmp_path)
    assert len(written) == 12
    before = {path.name: path for path in files}
    for path in written:
        own, other = statement(path), statement(before[path.name])
        assert [signed(b) for b in own.findall("c:Bal", NS)] == [
            signed(b) for b in other.findall("c:Bal", NS)
        ]


@pytest.mark.acceptance
def test_the_bytes_depend_only_on_the_seed(files: list[Path], tmp_path: Path) -> None:
    same = Sandbox(7).write_bank_files(tmp_path / "same")
    other = Sandbox(8).write_bank_files(tmp_path / "other")
    assert [path.read_bytes() for path in same] == [path.read_bytes() for path in files]
    october = [path for path in other if path.name.endswith("2026-10.xml")]
    assert {path.read_bytes() for path in october}.isdisjoint(p.read_bytes() for p in files)
