"""Before it is confirmed, a decision shows every other open item that it changes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.journal import Actor
from treasury.month.items import Effects, OpenItems
from treasury.panels.steps.verdict_steps import PendingVerdict, Verdict, ask_verdict
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance

MONTH = "2026-10"
ANNA = Actor("anna", "environment")


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return Workspace(Path(shutil.copytree(month_end.folder, tmp_path / "desk")))


def line_of(desk: Workspace, **wanted: Any) -> dict[str, Any]:
    rows = desk.reconcile(MONTH).lines.arrow.to_pylist()
    return next(row for row in rows if all(row[name] == value for name, value in wanted.items()))


def changed(before: OpenItems, after: OpenItems, line: str) -> set[str]:
    """Return the ids of the items that differ between two lists, except the line's own."""

    def said(items: OpenItems, name: str) -> tuple[Any, ...]:
        item = items.by_id.get(name)
        return () if item is None else (item.kind, item.state, item.amount, item.blocks)

    names = {*before.by_id, *after.by_id} - {f"line:{line}"}
    return {name for name in names if said(before, name) != said(after, name)}


def ids(effects: Effects) -> set[str]:
    return {one.item_id for one in effects}


def test_a_rejected_match_names_the_request_that_reads_as_unpaid(desk: Workspace) -> None:
    line = line_of(desk, outcome="matched", kind="on_ramp", reference="PAY-2026-005375")
    before = desk.open_items(MONTH)
    words = {"reason": "another company's", "actor": ANNA}
    planned = desk.matches.reject(line["entry_id"], line["reference"], dry_run=True, **words)
    effects = desk.decision_effects(planned)
    assert not effects.unknown
    assert desk.journal.entries("match.") == []
    desk.matches.reject(line["entry_id"], line["reference"], **words)
    rejected = desk.open_items(MONTH)
    assert ids(effects) == changed(before, rejected, line["entry_id"])
    assert all(one.why and one.was != one.becomes for one in effects)
    undo = desk.decision_effects(desk.matches.undo(line["entry_id"], actor=ANNA, dry_run=True))
    desk.matches.undo(line["entry_id"], actor=ANNA)
    assert ids(undo) == changed(rejected, desk.open_items(MONTH), line["entry_id"])
    assert changed(before, desk.open_items(MONTH), line["entry_id"]) == set()


def test_a_credit_given_to_the_wrong_account_changes_only_its_own_item(desk: Workspace) -> None:
    line = next(
        row
        for row in desk.matches.open().arrow.to_pylist()
        if row["entry_id"].startswith("b2f8a94b")
    )
    before = desk.reconcile(MONTH)
    planned = desk.matches.accept(
        line["entry_id"], "VFY-HG6Q-975", reason="by mail", actor=ANNA, dry_run=True
    )
    (effect,) = desk.decision_effects(planned)
    assert effect.item_id.startswith("conversion:")
    assert (effect.was, effect.becomes) == ("", "NOT SHOWN")
    desk.matches.accept(line["entry_id"], "VFY-HG6Q-975", reason="by mail", actor=ANNA)
    after = desk.reconcile(MONTH)
    others = [row for row in after.conversions.arrow.to_pylist() if row["state"] != "not_shown"]
    assert others == before.conversions.arrow.to_pylist()
    assert after.in_transit.arrow.equals(before.in_transit.arrow)


def test_the_panels_first_step_and_the_shell_name_the_same_items(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    line = line_of(desk, outcome="suggested", kind="on_ramp", reference="PAY-2026-005253")
    request = line["expectation_id"]
    asked = ask_verdict(desk, Verdict(verb="accept", pairs=((line["entry_id"], (request,)),)))
    assert isinstance(asked, PendingVerdict)
    assert asked.effects is not None
    assert f"request:{request}" in ids(asked.effects)
    facts = asked.step(desk.settings.now()).facts
    (fact,) = [one for one in facts if one.name == "Other changes"]
    wanted = ["match", "accept", line["entry_id"], request, "--dry-run"]
    done = CliRunner().invoke(treasury, ["-w", str(desk.folder), *wanted])
    assert done.exit_code == 0, done.output
    shown = [text.strip() for text in done.stdout.splitlines() if text.startswith("  ")]
    assert [text.text for text in fact.lines] == shown == [str(one) for one in asked.effects]
    assert "also changes, in the open items of 2026-10:" in done.stdout
    assert desk.journal.entries("match.") == []
