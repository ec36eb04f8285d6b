"""A desk made by an earlier commit opens, gives the same results, verifies, signs and recovers."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from frozen_answers import answers

from treasury.cli import treasury
from treasury.core.settings import FILE_NAME
from treasury.journal.workspace_copies import register
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

DECEMBER = datetime(2026, 12, 1, 8, tzinfo=UTC)
ANSWERS = Path(__file__).parent / "answers.json"


def run(desk: Path, *arguments: str) -> str:
    done = CliRunner().invoke(treasury, ["-w", str(desk), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def rows(desk: Path, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run(desk, *arguments, "--format", "json"))
    return found


def test_the_stored_desk_gives_the_same_results(unpacked: Path) -> None:
    given = json.loads(json.dumps(answers(Workspace(unpacked / "desk"))))
    assert given == json.loads(ANSWERS.read_text("utf-8"))


def test_the_closed_month_and_its_pack_verify(unpacked: Path) -> None:
    desk = unpacked / "desk"
    run(desk, "verify", str(desk / "close" / "2026-10"))
    assert "gives the same result as at its close" in run(desk, "periods", "verify", "2026-10")
    run(desk, "journal", "verify")


def test_a_colleague_can_sign_the_prepared_month(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "bert")
    run(frozen / "desk", "close", "2026-11", "--sign")
    desk = Workspace(frozen / "desk")
    assert desk.is_closed("2026-11")
    assert desk.periods.get("2026-11") is not None


def test_a_colleague_can_approve_the_waiting_action(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = frozen / "desk"
    (waiting,) = rows(desk, "actions", "list", "--state", "proposed")
    monkeypatch.setenv("TREASURY_USER", "bert")
    run(desk, "actions", "approve", str(waiting["id"]), "--yes")
    assert waiting["id"] in {row["id"] for row in rows(desk, "actions", "list", "--state", "ready")}


@pytest.mark.acceptance
def test_the_decision_sheet_is_applied(frozen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = frozen / "desk"
    before = rows(desk, "exceptions", "--month", "2026-11", "--kind", "no_reference")
    monkeypatch.setenv("TREASURY_USER", "bert")
    run(desk, "decide", str(frozen / "sheet.xlsx"))
    after = rows(desk, "exceptions", "--month", "2026-11", "--kind", "no_reference")
    assert len(after) == len(before) - 1


@pytest.mark.parametrize("was_carried_out", [True, False])
def test_the_unknown_action_is_looked_up_and_not_resent(
    unpacked: Path, frozen: Path, was_carried_out: bool
) -> None:
    desk, company = frozen / "desk", Sandbox(7)
    company.clock.set(DECEMBER)
    # The original is registered first, so the frozen desk counts as a copy and has to be adopted.
    # Recovery then does not resend an action that was sent before the adoption.
    register(unpacked / "desk")
    run(desk, "journal", "adopt", "--reason", "unpacked", "--yes")
    (unknown,) = rows(desk, "actions", "list", "--state", "unknown")
    with company.serve() as served:
        _point_at(desk, served.base_url)
        if was_carried_out:
            _carry_out(Workspace(desk), served.base_url, str(unknown["id"]))
        run(desk, "actions", "recover", str(unknown["id"]))
    action = Workspace(desk).actions.get(str(unknown["id"]))
    assert action.state == ("done" if was_carried_out else "unknown")
    assert len(company.finance.effects()) == was_carried_out


def _point_at(desk: Path, base_url: str) -> None:
    """Replace the addresses in the desk's settings with those of the running sandbox."""
    settings = (desk / FILE_NAME).read_text("utf-8")
    earlier = re.search(r'token_url = "(.*)/oauth/token"', settings)
    assert earlier is not None
    (desk / FILE_NAME).write_text(settings.replace(earlier[1], base_url), "utf-8")


def _carry_out(desk: Workspace, base_url: str, action_id: str) -> None:
    """Send the action's request, as if the service had received it and its answer was lost."""
    sending = desk.actions.get(action_id).sending
    assert sending is not None
    client_id, secret = Sandbox(7).credentials["maker"]
    form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
    with httpx.Client(base_url=base_url, trust_env=False) as http:
        token = http.post("/oauth/token", data=form).json()["access_token"]
        http.post(
            f"/finance/v1/accounts/{sending.ids[0]}/transfers/crypto",
            content=sending.body,
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        ).raise_for_status()


def test_the_home_is_cloned(frozen: Path, tmp_path: Path) -> None:
    cloned = tmp_path / "cloned"
    done = CliRunner().invoke(
        treasury, ["lake", "clone", str(frozen / "home"), str(cloned)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    here, there = Workspace(frozen / "desk"), Workspace(cloned)
    query = "SELECT count(*) AS lines FROM statement_entries"
    assert there.sql(query).arrow == here.sql(query).arrow
