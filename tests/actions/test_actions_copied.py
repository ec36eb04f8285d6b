"""If a workspace is copied, only one of the copies sends."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from action_practice import Practice, refused, transfer_fields
from test_actions_kinds import CREATES
from test_actions_restored import cut_off, ready

from benchmarks.torture.runs import may_stay_unknown
from treasury.actions import KINDS
from treasury.core.errors import ActionRefused, OutcomeUnknown
from treasury.journal import ADOPTED, Journal
from treasury.workspace import Workspace

KEYLESS = [name for name, kind in KINDS.items() if kind.safety == "neither"]


@pytest.fixture
def copy(practice: Practice, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a path for the copy, outside the workspace."""
    return tmp_path_factory.mktemp("beside") / "copy"


def copied(practice: Practice, copy: Path) -> None:
    practice.journal.close()
    shutil.copytree(practice.folder, copy)


@pytest.mark.parametrize("kind", KEYLESS)
@pytest.mark.parametrize("first", ["original", "copy"])
def test_only_the_original_executes_an_action_in_either_order(
    practice: Practice, copy: Path, kind: str, first: str
) -> None:
    action = ready(practice, kind)
    before = len(practice.effects())
    copied(practice, copy)
    other = practice.beside(copy)[0]
    if first == "original":
        practice.ines.execute(action.id)
    said = refused(lambda: other.execute(action.id))
    assert f"is a copy of the workspace {practice.folder}, and neither knows" in said
    assert "treasury journal adopt" in said
    if first == "copy":
        practice.ines.execute(action.id)
    assert len(practice.effects()) == before + 1
    assert other.get(action.id).state == "ready"


def test_a_copied_workspace_sends_nothing(practice: Practice, copy: Path) -> None:
    action, sent = practice.transfer("1.00"), practice.transfer("2.00")
    practice.sandbox.faults.add("/finance/v1", method="POST", drop="before", times=2)
    with pytest.raises(OutcomeUnknown):
        practice.ines.execute(sent.id)
    practice.sandbox.faults.clear()
    copied(practice, copy)
    other = practice.beside(copy)[0]
    writes = len(practice.posts())
    confirmed = other.draft("wallet.create", **CREATES["wallet.create"])
    [ran] = other.execute_all([action.id])
    assert isinstance(ran.error, ActionRefused)
    for attempt in (
        lambda: other.carry_out(confirmed),
        lambda: other.recover(sent.id),
    ):
        assert "is a copy of the workspace" in refused(attempt)
    assert len(practice.posts()) == writes
    assert [one.state for one in other.list()] == ["ready", "unknown"]
    practice.wait()
    assert practice.ines.recover(sent.id)[0].state == "done"


def test_an_adopted_copy_starts_a_new_series_and_the_original_continues(
    practice: Practice, copy: Path
) -> None:
    action = practice.transfer()
    copied(practice, copy)
    other, checker = practice.beside(copy)
    lapsed = other.adopt_journal("to try the new release")
    assert [one.id for one in lapsed] == [action.id]
    assert "is a copy that was adopted" in other.get(action.id).why
    [entry] = Journal(copy).entries(ADOPTED)
    assert entry.body["copy_of"] == str(practice.folder)
    with pytest.raises(ActionRefused, match="this workspace is not a copy"):
        other.adopt_journal("once more")
    assert practice.ines.execute(action.id).state == "done"
    again = other.propose("crypto_transfer.create", **transfer_fields())
    assert "LOOK: just like it at the service" in again.text
    checker.approve(again.id)
    assert other.execute(again.id).state == "done"


@pytest.mark.parametrize(
    "kind",
    [
        name
        for name, kind in KINDS.items()
        if kind.safety == "keyed" and not may_stay_unknown(name, took_effect=False)
    ],
)
def test_an_unknown_action_in_an_adopted_copy_is_looked_up_and_not_resent(
    practice: Practice, copy: Path, kind: str
) -> None:
    action = cut_off(practice, kind)
    copied(practice, copy)
    other = practice.beside(copy)[0]
    other.adopt_journal("to try the new release")
    writes = len(practice.posts())
    practice.wait()
    [left] = other.recover(action.id)
    assert left.state == "unknown"
    assert "this journal is an older copy that was adopted since" in left.why
    assert len(practice.posts()) == writes
    assert practice.ines.recover(action.id)[0].state == "done"


def test_an_action_sent_after_the_adoption_is_resent(practice: Practice, copy: Path) -> None:
    practice.transfer("1.00")
    copied(practice, copy)
    other, checker = practice.beside(copy)
    other.adopt_journal("to try the new release")
    action = other.propose("crypto_transfer.create", **transfer_fields("3.00"))
    checker.approve(action.id)
    practice.sandbox.faults.add("/finance/v1", method="POST", drop="before", times=2)
    with pytest.raises(OutcomeUnknown):
        other.execute(action.id)
    practice.sandbox.faults.clear()
    practice.wait()
    assert other.recover(action.id)[0].state == "done"


def test_a_copy_made_before_the_first_proposal_is_an_independent_workspace(
    practice: Practice, copy: Path
) -> None:
    copied(practice, copy)
    other, checker = practice.beside(copy)
    action = other.propose("crypto_transfer.create", **transfer_fields())
    checker.approve(action.id)
    assert other.execute(action.id).state == "done"
    assert practice.ines.execute(practice.transfer("1.00").id).state == "done"


def test_the_doctor_reports_a_copied_workspace_and_the_next_step(
    practice: Practice, copy: Path
) -> None:
    (practice.folder / "treasury.toml").write_text('[workspace]\ncompany = "Harbour"\n', "utf-8")
    practice.transfer()
    copied(practice, copy)
    [what, _] = _findings(copy)
    assert what == (
        f"it is a copy of {practice.folder}: nothing is sent from here",
        f"continue in {practice.folder}, or run `treasury journal adopt --reason …` here",
    )
    assert len(_findings(practice.folder)) == 1
    Workspace(copy).actions.adopt_journal("the other disk is gone")
    assert len(_findings(copy)) == 1


def _findings(folder: Path) -> list[tuple[str, str]]:
    found = Workspace(folder).doctor().findings
    return sorted((one.what, one.do) for one in found if one.topic == "workspace")[::-1]
