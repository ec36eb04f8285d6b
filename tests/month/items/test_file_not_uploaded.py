"""The maker of a payment file cannot report that it was not uploaded, except at a one-person desk.

`tests/panels/test_panels_funding_files.py` tests the same in the funding panel.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from decision_sheets import desk_in, fill_in

from treasury.cli import treasury
from treasury.journal import Actor
from treasury.journal.decision_history import NOT_UPLOADED
from treasury.month.items.sheet.sheet_rows import ACTS
from treasury.workspace import Workspace

ANNA = Actor("anna", "environment")
FILE, MONTH = "payments-1.xml", "2026-10"


class Filed:
    """A desk with its first payable request in a file that anna made."""

    def __init__(self, desk: Workspace) -> None:
        self.desk = desk
        rows = desk.awaiting_funds().arrow.to_pylist()
        self.request: dict[str, Any] = next(row for row in rows if row["state"] == "PAY")
        body = {"requests": [self.request["request"]], "execution": "2026-11-02"}
        desk.journal.append("payment_file.made", FILE, body, actor=ANNA)

    @property
    def state(self) -> str:
        rows = self.desk.awaiting_funds().arrow.to_pylist()
        return next(row["state"] for row in rows if row["request"] == self.request["request"])


@pytest.fixture
def filed(month_end: Workspace, tmp_path: Path) -> Filed:
    return Filed(desk_in(tmp_path / "desk", month_end))


@pytest.mark.first_case
@pytest.mark.parametrize("maker", ["anna", "Anna", " ANNA ", "ａｎｎａ"])
def test_the_maker_of_a_file_cannot_withdraw_its_payments_in_a_shell(
    filed: Filed, monkeypatch: pytest.MonkeyPatch, maker: str
) -> None:
    reference = filed.request["reference"]
    words = ["--workspace", str(filed.desk.folder), "request"]
    for verb, name in (("not-uploaded", reference), ("void-file", FILE)):
        monkeypatch.setenv("TREASURY_USER", maker)
        refused = CliRunner().invoke(treasury, [*words, verb, name, "--reason", "lost"])
        assert refused.exit_code != 0
        assert "cannot withdraw it" in str(refused.exception)
    assert filed.state == "IN FILE"
    assert filed.desk.journal.head().seq == 1
    monkeypatch.setenv("TREASURY_USER", "bert")
    taken = CliRunner().invoke(treasury, [*words, "not-uploaded", reference, "--reason", "lost"])
    assert taken.exit_code == 0
    assert filed.state == "PAY"


@pytest.mark.acceptance
def test_only_a_second_person_withdraws_a_file_in_a_sheet(
    filed: Filed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    desk = filed.desk
    sheet = desk.exceptions_sheet(tmp_path / "october.xlsx", MONTH)
    item = f"request:{filed.request['request']}"
    # The person who applies the sheet counts, not the name under "Proposed by".
    typed = {"Decision": ACTS[NOT_UPLOADED], "Reason": "lost", "Proposed by": "bert"}
    fill_in(sheet, {item: typed})
    (verdict,) = desk.decide(sheet).verdicts
    assert verdict.outcome == "refused"
    assert "cannot withdraw it" in verdict.why
    assert (filed.state, desk.journal.head().seq) == ("IN FILE", 1)
    monkeypatch.setenv("TREASURY_USER", "bert")
    (verdict,) = Workspace(desk.folder).decide(sheet).verdicts
    assert verdict.outcome == "to be journaled"
    assert filed.state == "PAY"
    (entry,) = desk.journal.entries("request.not_uploaded")
    assert (entry.actor.name, entry.body["alone"]) == ("bert", False)


@pytest.mark.acceptance
def test_a_one_person_desk_gives_a_reason_and_the_entry_is_marked(
    month_end: Workspace, tmp_path: Path
) -> None:
    desk = desk_in(tmp_path / "one", month_end)
    (desk.folder / "policy.toml").write_text("one_person = true\n")
    filed = Filed(desk)
    desk.funding.not_uploaded(filed.request["reference"], "closed the bank's page", actor=ANNA)
    (entry,) = desk.journal.entries("request.not_uploaded")
    assert (entry.body["alone"], entry.body["reason"]) == (True, "closed the bank's page")
    assert filed.state == "PAY"
