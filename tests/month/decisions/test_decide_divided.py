"""A line for several virtual accounts is divided by a person or refused; no amount counts twice."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.core.errors import ActionRefused, InputError
from treasury.core.money import total
from treasury.journal import Actor
from treasury.panels.steps.verdict_steps import PendingVerdict, Verdict, ask_verdict, sentence
from treasury.workspace import Workspace

MONTH = "2026-10"
FIRST, SECOND = "VFY-8M3T-407", "VFY-QDP7-604"
ANNA = Actor("anna", "environment")


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return Workspace(Path(shutil.copytree(month_end.folder, tmp_path / "desk")))


@pytest.fixture
def line(desk: Workspace) -> str:
    """Return the id of a line of EUR 2,740.00 that two virtual accounts share."""
    (line_row,) = [
        row["entry_id"]
        for row in desk.matches.open().arrow.to_pylist()
        if row["entry_id"].startswith("3a13e996")
    ]
    return str(line_row)


def counted(desk: Workspace) -> dict[str, tuple[int, Decimal]]:
    """Return the number and the sum of the credits of each virtual account."""
    rows = desk.reconcile(MONTH).virtual_accounts.arrow.to_pylist()
    return {row["reference"]: (row["credits"], row["amount"]) for row in rows}


def test_a_line_without_shares_is_refused(desk: Workspace, line: str) -> None:
    with pytest.raises(
        ActionRefused, match=r"is for several expectations, some without a fixed amount: "
    ) as refused:
        desk.matches.accept(line, [FIRST, SECOND], reason="by telephone", actor=ANNA)
    assert "write CODE=AMOUNT for each" in str(refused.value)
    assert desk.journal.entries("match.") == []


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "shares",
    [
        {FIRST: "2000.00", SECOND: "740.01"},
        {FIRST: "2740.00", SECOND: "0.00"},
        {FIRST: "2741.00", SECOND: "-1.00"},
    ],
)
def test_shares_are_positive_and_sum_to_the_line_exactly(
    desk: Workspace, line: str, shares: dict[str, str]
) -> None:
    with pytest.raises(InputError, match="the shares come to"):
        desk.matches.accept(line, shares, reason="by telephone", actor=ANNA)
    assert desk.journal.entries("match.") == []


@pytest.mark.acceptance
def test_each_account_counts_its_share_and_the_sum_is_the_line(desk: Workspace, line: str) -> None:
    before = counted(desk)
    shares = {FIRST: "2000.00", SECOND: "740.00"}
    decision = desk.matches.accept(line, shares, reason="by telephone", actor=ANNA)
    assert total(decision.shares.values()) == Decimal(2_740)
    after = counted(desk)
    for name, share in shares.items():
        assert after[name] == (before[name][0] + 1, before[name][1] + Decimal(share))
    assert {name: row for name, row in after.items() if name not in shares} == {
        name: row for name, row in before.items() if name not in shares
    }
    again = desk.matches.accept(line, shares, reason="by telephone", actor=ANNA)
    assert again.seq == decision.seq
    with pytest.raises(ActionRefused, match="already decided"):
        desk.matches.accept(line, {FIRST: "1000", SECOND: "1740"}, reason="no", actor=ANNA)
    books = desk.accounting(MONTH).postings.arrow.to_pylist()
    own = [row for row in books if row["entry"] == f"line:{line}"]
    assert sorted((row["role"], row["amount"]) for row in own) == [
        ("collections", Decimal(-2_000)),
        ("collections", Decimal(-740)),
        ("provider", Decimal(2_740)),
    ]
    desk.matches.undo(line, actor=ANNA)
    assert counted(desk) == before


@pytest.mark.acceptance
def test_the_shell_divides_by_code_and_amount(
    desk: Workspace, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    arguments = ["match", "accept", line[:8], f"{FIRST}=2000.00", f"{SECOND}=740.00"]
    invocation = CliRunner().invoke(
        treasury, ["-w", str(desk.folder), *arguments, "--reason", "telephone"]
    )
    assert invocation.exit_code == 0, invocation.output
    (entry,) = desk.journal.entries("match.accept")
    assert sorted(entry.body["shares"].values()) == ["2000.00", "740.00"]
    mixed = ["match", "accept", line[:8], f"{FIRST}=2000.00", SECOND]
    invocation = CliRunner().invoke(treasury, ["-w", str(desk.folder), *mixed])
    assert isinstance(invocation.exception, InputError)


def test_the_confirmed_sentence_names_each_share(desk: Workspace, line: str) -> None:
    shares = {FIRST: "2000.00", SECOND: "740.00"}
    (planned,) = desk.matches.accept_many(
        [(line, shares)], reason="by telephone", actor=ANNA, dry_run=True
    )
    assert f"{FIRST} with EUR 2,000.00" in sentence(planned)
    assert f"{SECOND} with EUR 740.00" in sentence(planned)


def test_a_share_finer_than_a_cent_is_refused(desk: Workspace, line: str) -> None:
    with pytest.raises(InputError, match="more decimals than EUR allows"):
        desk.matches.accept(line, {FIRST: "1999.9950", SECOND: "740.0050"}, dry_run=True)


@pytest.mark.acceptance
def test_the_missing_part_of_a_payout_stays_open(desk: Workspace, line: str) -> None:
    """A line that a person accepts for a part settles only that part."""
    items = desk.open_items("2026-10")
    missing = next(item for item in items if item.kind == "payout_missing" and item.amount > 1000)
    (request,) = desk.sql(
        "SELECT payment_reference, fiat_net_amount FROM ramp_requests WHERE id = ?",
        [missing.subject_id],
    ).arrow.to_pylist()
    shares = {FIRST: "1740.00", request["payment_reference"]: "1000.00"}
    desk.matches.accept(line, shares, reason="by telephone", actor=ANNA)
    missing_now = desk.open_items("2026-10").select(subject="request", kind="payout_missing")
    (remainder,) = [item for item in missing_now if item.subject_id == missing.subject_id]
    assert remainder.amount == request["fiat_net_amount"] - 1000
    assert "only EUR 1,000.00 of it arrived" in remainder.next_step


# Lines accepted for another record


@pytest.fixture
def before_it(desk: Workspace) -> str:
    """Return a line of August, EUR 4,921.23 above a payout that was requested in October."""
    (line_row,) = [
        row["entry_id"]
        for row in desk.matches.open().arrow.to_pylist()
        if row["entry_id"].startswith("451eb22c")
    ]
    return str(line_row)


@pytest.mark.acceptance
def test_a_line_before_its_request_is_not_simply_accepted(desk: Workspace, before_it: str) -> None:
    with pytest.raises(ActionRefused, match="was opened on 2026-10-21, after the line of 2026-08-"):
        desk.matches.accept(before_it, "PAY-2026-005308", actor=ANNA)
    decision = desk.matches.accept(before_it, "PAY-2026-005308", reason="by telephone", actor=ANNA)
    assert len(decision.despite) == 2
    assert decision.despite[0].startswith("PAY-2026-005308 was opened on 2026-10-21")
    assert "more than the EUR 6,051.20 still expected" in decision.despite[1]
    assert desk.journal.entries("match.")[-1].body["despite"] == list(decision.despite)


@pytest.mark.acceptance
def test_objections_to_a_decision_are_shown_before_it_is_confirmed(
    desk: Workspace, before_it: str
) -> None:
    verdict = Verdict(
        verb="accept", pairs=((before_it, ("PAY-2026-005308",)),), reason="by telephone"
    )
    question = ask_verdict(desk, verdict)
    assert isinstance(question, PendingVerdict)
    step = question.step(desk.settings.now())
    facts = {fact.name: fact.lines for fact in step.facts}
    assert [line.text for line in facts["Although"]] == list(question.planned[0].despite)
    arguments = ["-w", str(desk.folder), "match", "accept", before_it, "PAY-2026-005308",
                 "--reason", "by telephone", "--dry-run"]  # fmt: skip
    printed = CliRunner().invoke(treasury, arguments).stdout
    assert "although PAY-2026-005308 was opened on 2026-10-21" in printed
    assert "EUR 4,921.23: not open to RECEIVED TOO MUCH (Send the rest back" in printed


@pytest.mark.acceptance
def test_the_amount_received_in_excess_stays_open(desk: Workspace, before_it: str) -> None:
    desk.matches.accept(before_it, "PAY-2026-005308", reason="by telephone", actor=ANNA)
    remainder = desk.open_items(MONTH).by_id[f"line:{before_it}/rest"]
    assert (remainder.kind, remainder.month) == ("more_than_expected", "2026-08")
    assert remainder.amount == Decimal("4921.23")
    assert remainder.is_blocking
    desk.matches.undo(before_it, actor=ANNA)
    assert f"line:{before_it}/rest" not in desk.open_items(MONTH).by_id


@pytest.mark.acceptance
def test_a_wire_of_more_than_its_request_asked_for_stays_open(desk: Workspace) -> None:
    (remainder,) = desk.open_items(MONTH).select(kind="more_than_expected")
    assert (remainder.name, remainder.state) == (
        "PAY-2026-005184, Ramp Operator BV",
        "PAID TOO MUCH",
    )
    assert (remainder.amount, remainder.turn) == (Decimal(50), "us")
