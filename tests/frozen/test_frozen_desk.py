"""A desk made by an earlier commit opens, answers the same, verifies, signs and recovers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from frozen_answers import answers

from treasury.cli import treasury
from treasury.sandbox import Sandbox
from treasury.settings import FILE_NAME
from treasury.workspace import Workspace

ANSWERS = Path(__file__).parent / "answers.json"


def run(desk: Path, *arguments: str) -> str:
    done = CliRunner().invoke(treasury, ["-w", str(desk), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def rows(desk: Path, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(run(desk, *arguments, "--format", "json"))
    return found


def test_the_desk_answers_as_it_did(unpacked: Path) -> None:
    given = json.loads(json.dumps(answers(Workspace(unpacked / "desk"))))
    assert given == json.loads(ANSWERS.read_text("utf-8"))


def test_the_closed_month_and_its_pack_verify(unpacked: Path) -> None:
    desk = unpacked / "desk"
    run(desk, "verify", str(desk / "close" / "2026-10"))
    assert "as it was closed" in run(desk, "periods", "verify", "2026-10")
    run(desk, "journal", "verify")


def test_a_colleague_signs_the_month_that_was_prepared(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "bert")
    run(frozen / "desk", "close", "2026-11", "--sign")
    desk = Workspace(frozen / "desk")
    assert desk.is_closed("2026-11")
    assert desk.periods.get("2026-11") is not None


def test_a_colleague_approves_the_action_that_waits(
    frozen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = frozen / "desk"
    (waiting,) = rows(desk, "actions", "list", "--state", "proposed")
    monkeypatch.setenv("TREASURY_USER", "bert")
    run(desk, "actions", "approve", str(waiting["id"]))
    assert [row["id"] for row in rows(desk, "actions", "list", "--state", "ready")] == [
        waiting["id"]
    ]


def test_the_decision_sheet_is_applied(frozen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = frozen / "desk"
    before = rows(desk, "exceptions", "--month", "2026-11", "--kind", "no_reference")
    monkeypatch.setenv("TREASURY_USER", "bert")
    run(desk, "decide", str(frozen / "sheet.xlsx"))
    after = rows(desk, "exceptions", "--month", "2026-11", "--kind", "no_reference")
    assert len(after) == len(before) - 1


def test_the_action_of_unknown_outcome_is_recovered_once(frozen: Path) -> None:
    desk, company = frozen / "desk", Sandbox(7)
    (unknown,) = rows(desk, "actions", "list", "--state", "unknown")
    with company.serve() as served:
        settings = (desk / FILE_NAME).read_text("utf-8").split("\n")
        earlier = next(line for line in settings if line.startswith("token_url")).split('"')[1]
        base_url = earlier.removesuffix("/oauth/token")
        text = "\n".join(settings).replace(base_url, served.base_url)
        (desk / FILE_NAME).write_text(text, "utf-8")
        CliRunner().invoke(treasury, ["-w", str(desk), "actions", "recover", str(unknown["id"])])
        company.clock.advance(minutes=10)
    state = {action.id: action.state for action in Workspace(desk).actions.list()}
    assert state[str(unknown["id"])] in {"done", "unknown", "refused"}
    assert len(company.finance.effects()) <= 1


def test_the_home_is_cloned(frozen: Path, tmp_path: Path) -> None:
    cloned = tmp_path / "cloned"
    done = CliRunner().invoke(
        treasury, ["lake", "clone", str(frozen / "home"), str(cloned)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    here, there = Workspace(frozen / "desk"), Workspace(cloned)
    query = "SELECT count(*) AS lines FROM statement_entries"
    assert there.sql(query).to_arrow() == here.sql(query).to_arrow()
