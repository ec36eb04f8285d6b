"""Limits up to which items do not block: put in force by two people, never for duplicates."""

from __future__ import annotations

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from items_october import facts_of, line

from treasury.actions.policies.policy import Policy, load_policy
from treasury.cli import treasury
from treasury.close.closing import Closing
from treasury.core.errors import ActionRefused, InputError, SettingsError
from treasury.journal import Actor, Journal
from treasury.month.items import Limits, OpenItems, open_items
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
POLICY = '[materiality.EUR]\nitem = 50\ntotal = "80.00"\n'


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month("2026-10")


@pytest.fixture
def limits(tmp_path: Path) -> Limits:
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    return Limits(Journal(tmp_path), lambda: load_policy(tmp_path))


def listed(october: Closing, limits: Limits, *lines: dict[str, Any]) -> OpenItems:
    """Return the open items of these lines under the limits in force."""
    agreed = Limits.in_force(limits._journal.entries())
    return open_items(facts_of(october, lines=lines), limits=agreed)


def small(entry: str, amount: int, **changed: Any) -> dict[str, Any]:
    return line(entry, amount=Decimal(amount), **changed)


@pytest.mark.acceptance
def test_limits_hold_once_a_second_person_accepts_them(limits: Limits, october: Closing) -> None:
    assert listed(october, limits, small("e1", 50)).blocking.items, "the file alone has no effect"
    assert [
        row["standing"] for row in limits.propose("small change", actor=ANNA).arrow.to_pylist()
    ] == ["waits for a second person"]
    assert listed(october, limits, small("e1", 50)).blocking.items
    with pytest.raises(ActionRefused, match="anna proposed these limits and cannot accept them"):
        limits.accept(actor=ANNA)
    (row,) = limits.accept(actor=BERT).arrow.to_pylist()
    assert (row["standing"], row["item"], row["total"]) == ("in force", 50, 80)
    items = listed(october, limits, small("e1", 50), small("e2", 51))
    assert [item.subject_id for item in items.blocking] == ["e2"]
    assert len(items) == 2, "items that do not block are still listed"


def test_small_items_that_are_together_more_than_the_total_block(
    limits: Limits, october: Closing
) -> None:
    limits.propose("small change", actor=ANNA)
    limits.accept(actor=BERT)
    lines = [small("e1", 40), small("e2", 40)]
    assert not listed(october, limits, *lines).blocking.items
    assert len(listed(october, limits, *lines, small("e3", 1)).blocking) == 3
    dollars = small("e4", 40, currency="USD")
    assert len(listed(october, limits, *lines, dollars).blocking) == 1, (
        "no limit is declared for USD"
    )


def test_a_duplicate_blocks_at_any_amount(limits: Limits, october: Closing) -> None:
    limits.propose("small change", actor=ANNA)
    limits.accept(actor=BERT)
    (item,) = listed(october, limits, small("e1", 1, outcome="duplicate"))
    assert item.is_blocking


def test_editing_the_file_changes_nothing_and_has_to_be_proposed_again(
    limits: Limits, tmp_path: Path
) -> None:
    limits.propose("small change", actor=ANNA)
    (tmp_path / "policy.toml").write_text(POLICY.replace("50", "5000"), "utf-8")
    with pytest.raises(ActionRefused, match="differs from what anna proposed"):
        limits.accept(actor=BERT)
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    limits.accept(actor=BERT)
    (tmp_path / "policy.toml").write_text("", "utf-8")
    assert limits.list().arrow.to_pylist()[0]["item"] == 50
    limits.propose("none any more", actor=BERT)
    limits.accept(actor=ANNA)
    assert limits.list().arrow.to_pylist() == []


@pytest.mark.acceptance
def test_limits_that_are_not_in_force_are_found_by_the_doctor(
    month_end: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk", ignore=shutil.ignore_patterns("bank"))
    desk = Workspace(tmp_path / "desk")
    found = [one for one in desk.doctor().findings if one.topic == "policy"]
    assert found == []
    with (desk.folder / "policy.toml").open("a", encoding="utf-8") as policy:
        policy.write(POLICY)
    desk = Workspace(desk.folder)
    (one,) = (one for one in desk.doctor().findings if one.topic == "policy")
    assert (one.state, one.do.split(" --")[0]) == ("missing", "run `treasury items limits")
    desk.limits.propose("small change", actor=ANNA)
    assert [one for one in desk.doctor().findings if one.topic == "policy"]
    desk.limits.accept(actor=BERT)
    assert not [one for one in desk.doctor().findings if one.topic == "policy"]


def test_an_invalid_limit_or_a_missing_reason_is_refused(limits: Limits, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a reason"):
        limits.propose(" ", actor=ANNA)
    with pytest.raises(ActionRefused, match="no limits are proposed"):
        limits.accept(actor=BERT)
    for text in ("item = 50\n", 'item = "x"\ntotal = 1\n', "item = 1\ntotal = 2\nmore = 3\n"):
        (tmp_path / "policy.toml").write_text(f"[materiality.EUR]\n{text}", "utf-8")
        with pytest.raises(SettingsError, match=r"policy\.toml"):
            limits.propose("a reason", actor=ANNA)


def test_a_policy_of_one_person_puts_limits_in_force_alone_and_is_marked(
    tmp_path: Path,
) -> None:
    (tmp_path / "policy.toml").write_text(f"one_person = true\n{POLICY}", "utf-8")
    limits = Limits(Journal(tmp_path), lambda: load_policy(tmp_path))
    limits.propose("small change", actor=ANNA)
    (row,) = limits.accept(actor=ANNA).arrow.to_pylist()
    assert (row["accepted_by"], row["alone"]) == ("anna", True)
    assert Policy().materiality == {}


@pytest.mark.acceptance
def test_the_shell_changes_limits_and_a_pack_has_them(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk", ignore=shutil.ignore_patterns("bank"))
    desk = Workspace(tmp_path / "desk")
    before = desk.open_items("2026-10").blocking
    limit = max(item.amount for item in before if item.currency == "EUR" and item.amount)
    text = f"[materiality.EUR]\nitem = {limit}\ntotal = 100000000\n"
    (desk.folder / "policy.toml").write_text(text, "utf-8")
    for who, option in (("anna", ("--propose", "--reason", "small")), ("bert", ("--accept",))):
        monkeypatch.setenv("TREASURY_USER", who)
        words = ["-w", str(desk.folder), "items", "limits", *option]
        assert CliRunner().invoke(treasury, words, catch_exceptions=False).exit_code == 0
    blocking = desk.open_items("2026-10").blocking
    assert {item.item_id for item in blocking if item.currency == "EUR"} == {
        item.item_id
        for item in before
        if item.currency == "EUR" and (item.kind == "paid_twice" or item.amount is None)
    }
    pack = desk.close("2026-10", tmp_path / "pack")
    assert verify_pack(pack.folder).holds
    assert "below the agreed limit" in pack.report.read_text("utf-8")
