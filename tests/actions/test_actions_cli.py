"""The commands for actions and the journal, run by two people."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from action_practice import OPERATIONS, TREASURY
from click.testing import CliRunner, Result

from treasury.cli import treasury
from treasury.cli.commands.practice import prepare
from treasury.core.errors import ActionRefused, InputError, JournalError
from treasury.sandbox import Sandbox

Run = Callable[..., Result]
TRANSFER = (
    "actions", "propose", "crypto_transfer.create", f"sender_account_id={TREASURY}",
    f"receiver_account_id={OPERATIONS}", "chain=base", "asset=USDC",
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Yield a function that runs a command as a person; it raises the errors that `main` prints."""
    company = Sandbox(7)
    with company.serve() as served:
        workspace = prepare(tmp_path, company, served)
        workspace.sync()
        workspace.close_clients()

        def as_somebody(who: str, *words: str) -> Result:
            monkeypatch.setenv("TREASURY_USER", who)
            arguments = ["--workspace", str(tmp_path), *words]
            return CliRunner().invoke(treasury, arguments, catch_exceptions=False)

        yield as_somebody


@pytest.mark.acceptance
def test_a_transfer_runs_from_proposal_to_response(run: Run) -> None:
    said = run("ines", *TRANSFER, "amount=100.00", "--reason", "invoice 7").output
    assert "A-1  proposed, waits for 1 to approve  Send USDC 100.000000 on BASE" in said
    with pytest.raises(ActionRefused, match="never the checker"):
        run("ines", "actions", "approve", "A-1", "--yes")
    approved = run("jonas", "actions", "approve", "A-1", "--yes").output
    assert "Approve 1 action: 1 of USDC 100.000000." in approved
    assert "A-1  ready" in approved
    done = run("ines", "actions", "execute", "A-1", "--yes")
    assert done.exit_code == 0
    assert "A-1  done (PENDING)" in done.output
    again = run("ines", "actions", "execute", "A-1", "--yes")
    assert again.exit_code == ActionRefused.exit_code
    assert "was already carried out by ines" in again.output
    assert "no action is open" in run("ines", "actions", "recover").output


@pytest.mark.acceptance
def test_a_proposal_is_checked_against_the_last_sync_and_the_error_names_the_field(
    run: Run,
) -> None:
    with pytest.raises(ActionRefused, match=r"amount: .* is over the balance"):
        run("ines", *TRANSFER, "amount=99999999")
    with pytest.raises(InputError, match="amount: is missing"):
        run("ines", *TRANSFER)
    with pytest.raises(InputError, match="is not FIELD=VALUE"):
        run("ines", *TRANSFER, "amount")


def test_an_evidence_only_key_can_be_omitted(run: Run) -> None:
    wallet = ("actions", "propose", "wallet.create", f"account_id={TREASURY}", "chain=BASE")
    said = run("ines", *wallet, "--without-key").output
    assert "It is sent without an idempotency key." in said
    run("ines", "actions", "withdraw", "A-1")
    assert "without an idempotency key" not in run("ines", "actions", "again", "A-1").output
    assert "without an idem" in run("ines", "actions", "again", "A-1", "--without-key").output
    with pytest.raises(InputError, match="has no key that could be left out"):
        run("ines", *TRANSFER, "amount=1.00", "--without-key")
    with pytest.raises(InputError, match="is not FIELD=VALUE"):
        run("ines", *wallet, "without_key=yes")


@pytest.mark.acceptance
def test_several_actions_can_be_listed_shown_rejected_and_withdrawn(run: Run) -> None:
    for amount in ("1.00", "2.00", "3.00"):
        run("ines", *TRANSFER, f"amount={amount}")
    assert "A-1  rejected: no" in run("jonas", "actions", "reject", "A-1", "--reason", "no").output
    assert "A-2  withdrawn" in run("ines", "actions", "withdraw", "A-2").output
    rows = json.loads(run("ines", "actions", "list", "--format", "json").output)
    assert [(row["id"], row["state"], row["amount"]) for row in rows] == [
        ("A-1", "rejected", "1.00"), ("A-2", "withdrawn", "2.00"), ("A-3", "proposed", "3.00"),
    ]  # fmt: skip
    assert [row["id"] for row in json.loads(run(
        "ines", "actions", "list", "--state", "proposed", "--format", "json").output
    )] == ["A-3"]  # fmt: skip
    shown = run("jonas", "actions", "show", "A-3").output
    assert "sender verification: VERIFIED" in shown
    assert "agreed: ines; needed: 2" in shown
    assert "A-4  proposed" in run("ines", "actions", "again", "A-1").output


def test_listing_an_unknown_kind_or_state_is_refused(run: Run) -> None:
    with pytest.raises(InputError, match="'nosuch' is not a kind of action") as refused:
        run("ines", "actions", "list", "--kind", "nosuch")
    assert "wallet.create" in str(refused.value.do)
    known = ("actions", "list", "--kind", "wallet.create", "--format", "json")
    assert json.loads(run("ines", *known).output) == []
    assert run("ines", "actions", "list", "--state", "nosuch").exit_code == 2


@pytest.mark.acceptance
def test_a_decision_without_a_terminal_or_confirmation_is_refused(run: Run) -> None:
    run("ines", *TRANSFER, "amount=1.00")
    with pytest.raises(InputError, match="no terminal to confirm on"):
        run("jonas", "actions", "approve", "A-1")
    assert "A-1  proposed" in run("ines", "actions", "show", "A-1").output


@pytest.mark.acceptance
def test_kinds_fields_and_policy_are_printed(run: Run) -> None:
    assert "ramp_request.submit_hash" in run("ines", "actions", "kinds").output
    fields = run("ines", "actions", "kinds", "wallet.create", "--format", "csv").output
    assert fields == '"field","needed"\n"account_id","True"\n"chain","True"\n'
    policy = json.loads(run("ines", "actions", "policy", "--format", "json").output)
    assert {row["kind"]: row["people"] for row in policy}["crypto_transfer.create"] == 2


@pytest.mark.acceptance
def test_the_journal_is_listed_and_verified_and_an_edit_is_detected(
    run: Run, tmp_path: Path
) -> None:
    run("ines", *TRANSFER, "amount=1.00")
    rows = json.loads(
        run("ines", "journal", "list", "--kind", "action.", "--format", "json").output
    )
    assert [(row["kind"], row["by"], row["known_from"]) for row in rows] == [
        ("action.proposed", "ines", "environment")
    ]
    said = run("ines", "journal", "verify").output
    assert said.startswith("2 entries, none changed; the end is 2:")
    noted = said.strip().rpartition(" ")[2]
    assert run("ines", "journal", "verify", "--head", noted).exit_code == 0
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as shell:
        shell.execute("DROP TRIGGER entries_no_update")
        shell.execute("UPDATE entries SET actor = 'jonas' WHERE seq = 2")
        shell.commit()
    with pytest.raises(JournalError, match="entry 2 was changed"):
        run("ines", "journal", "verify")
    with pytest.raises(InputError, match="is not the end of a journal"):
        run("ines", "journal", "verify", "--head", "seven")


@pytest.mark.acceptance
def test_adopting_an_older_copy_of_the_journal_lapses_open_actions(
    run: Run, tmp_path: Path
) -> None:
    run("ines", *TRANSFER, "amount=1.00")
    older = (tmp_path / "journal.sqlite").read_bytes()
    run("jonas", "actions", "approve", "A-1", "--yes")
    (tmp_path / "journal.sqlite").write_bytes(older)
    with pytest.raises(JournalError, match="the journal went back"):
        run("jonas", "actions", "approve", "A-1", "--yes")
    with pytest.raises(InputError, match="no terminal to confirm on"):
        run("jonas", "journal", "adopt", "--reason", "the disk broke")
    said = run("jonas", "journal", "adopt", "--reason", "the disk broke", "--yes").output
    assert "A-1  lapsed" in said
    assert "1 open actions lapsed" in said
    assert run("ines", "journal", "verify").exit_code == 0


@pytest.mark.acceptance
def test_settling_requires_an_unknown_action_and_an_outcome(run: Run, tmp_path: Path) -> None:
    run("ines", *TRANSFER, "amount=1.00")
    with pytest.raises(ActionRefused, match="A-1 is proposed, not unknown"):
        run("jonas", "actions", "settle", "A-1", "--outcome", "not-carried-out", "--reason", "m")
    assert run("jonas", "actions", "settle", "A-1", "--reason", "mail").exit_code == 2


def test_a_request_can_be_named_by_its_payment_reference(run: Run) -> None:
    named = ("actions", "propose", "ramp_request.approve", "request_id=PAY-2026-005409")
    said = run("ines", *named, "--reason", "agreed").output
    assert "A-1  ready  Approve on-ramp PAY-2026-005409" in said
    shown = json.loads(run("ines", "actions", "show", "A-1", "--format", "json").output)
    assert "PAY-2026-005409" in json.dumps(shown)
