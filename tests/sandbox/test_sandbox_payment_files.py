"""The practice bank answers a payment file, and the desk reads the answers."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from treasury.actions.payment_orders import CreditTransfer, Payer, pain001
from treasury.core.errors import InputError
from treasury.sandbox import Sandbox
from treasury.statements.pain.order_answers import order_answer
from treasury.workspace import Workspace

PAYER = Payer(name="Harbour Lane Trading NV", iban="NL05TEST0417164300")
MADE = datetime(2026, 11, 2, 8, tzinfo=UTC)


def file_of(number: int) -> str:
    transfers = [
        CreditTransfer(
            reference=f"PAY-{place}", beneficiary="Ramp Operator BV", iban=PAYER.iban,
            amount=Decimal("10.00"),
        )
        for place in range(1, number + 1)
    ]  # fmt: skip
    return pain001(transfers, PAYER, MADE, date(2026, 11, 2))


def answered(texts: list[str], folder: Path, desk: Workspace) -> dict[str, Any]:
    """Return the desk's view of the reports, by the payment's reference."""
    for place, text in enumerate(texts):
        (folder / f"{place}.xml").write_text(text, "utf-8")
    desk.statements.add(*sorted(folder.glob("*.xml")))
    rows = desk.table("payment_statuses").arrow.to_pylist()
    message = rows[0]["original_message_id"]
    references = {row["original_end_to_end_id"] for row in rows}
    return {name: order_answer(rows, message, name) for name in references}


@pytest.fixture
def desk(tmp_path: Path) -> Workspace:
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "treasury.toml").write_text(
        '[workspace]\ncompany = "Harbour Lane Trading NV"\nenvironment = "sandbox"\n'
        "now = 2026-11-02T09:00:00+01:00\n"
    )
    return Workspace(folder)


@pytest.mark.acceptance
def test_the_bank_accepts_most_rejects_the_tenth_renames_one_and_ignores_one(
    own_sandbox: Sandbox, http: httpx.Client, tmp_path: Path, desk: Workspace
) -> None:
    with own_sandbox.serve() as served:
        address = f"{served.base_url}/sandbox/drive/payment_file"
        reports = http.post(address, json={"file": file_of(20)}).json()["result"]
    assert [report["name"][-6:] for report in reports] == ["_1.xml", "_2.xml"]
    answers = answered([report["text"] for report in reports], tmp_path, desk)
    assert set(answers) == {f"PAY-{place}" for place in range(1, 21)} - {"PAY-7", "PAY-17"}
    stages = {name: answer.stage for name, answer in answers.items()}
    assert {name for name, stage in stages.items() if stage == "rejected"} == {"PAY-10", "PAY-20"}
    assert set(stages.values()) == {"rejected", "accepted"}
    close = {name: answer.payee_name for name, answer in answers.items() if answer.payee == "close"}
    assert close == {"PAY-5": "Ramp Operator BV Holding", "PAY-15": "Ramp Operator BV Holding"}
    assert answers["PAY-1"].payee == "match"


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("answer", "heard"),
    [
        ("accept", ("accepted", "match")),
        ("reject", ("rejected", "match")),
        ("close_match", ("accepted", "close")),
        ("no_match", ("accepted", "none")),
    ],
)
def test_the_bank_responds_as_instructed(
    own_sandbox: Sandbox, tmp_path: Path, desk: Workspace, answer: Any, heard: tuple[str, str]
) -> None:
    reports = own_sandbox.banks.payment_file(file=file_of(1), answer=answer)
    (result,) = answered([report.text for report in reports], tmp_path, desk).values()
    assert (result.stage, result.payee) == heard


def test_silence_gives_no_report_and_an_invalid_payment_file_is_refused(
    own_sandbox: Sandbox,
) -> None:
    assert own_sandbox.banks.payment_file(file=file_of(3), answer="silence") == []
    for text in ("", "<Document/>", "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"):
        with pytest.raises(InputError, match="the file is no"):
            own_sandbox.banks.payment_file(file=text)


def test_the_bank_responds_at_an_earlier_instant_and_never_at_a_later_one(
    own_sandbox: Sandbox,
) -> None:
    earlier = datetime(2026, 10, 30, 12, tzinfo=UTC)
    reports = own_sandbox.banks.payment_file(file=file_of(1), answered_at=earlier)
    assert "<CreDtTm>2026-10-30T12:00:02Z</CreDtTm>" in reports[1].text
    for instant in (datetime(2026, 11, 2, 8, 1, tzinfo=UTC), datetime(2026, 10, 30, 12)):  # noqa: DTZ001 - the case
        with pytest.raises(InputError, match="the bank cannot answer at"):
            own_sandbox.banks.payment_file(file=file_of(1), answered_at=instant)
