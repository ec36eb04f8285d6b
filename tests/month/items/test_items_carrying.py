"""The verbs that carry an item past a close: item by item, by two people, with clear refusals."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.close.checklist import checklist
from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Actor
from treasury.month.items import OpenItem
from treasury.report import month_screen
from treasury.report.report_page import render_html
from treasury.workspace import Workspace

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
MONTH = "2026-10"
TERMS: dict[str, Any] = {"owner": "carla", "by": "2026-11-30", "reason": "the payer was asked"}


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    shutil.copytree(month_end.folder, tmp_path / "desk", ignore=shutil.ignore_patterns("bank"))
    return Workspace(tmp_path / "desk")


@pytest.fixture(scope="module")
def item(month_end: Workspace) -> OpenItem:
    return month_end.open_items(MONTH).blocking.select(kind="needs_decision").items[0]


@pytest.mark.acceptance
def test_an_item_is_proposed_by_one_and_accepted_by_another(
    desk: Workspace, item: OpenItem
) -> None:
    (proposed,) = desk.items.carry(item.item_id, **TERMS, actor=ANNA)
    assert (proposed.proposed_by, proposed.accepted_by, proposed.is_blocking) == (
        "anna", None, True,
    )  # fmt: skip
    (accepted,) = desk.items.accept(item.item_id, actor=BERT)
    assert (accepted.accepted_by, accepted.is_blocking) == ("bert", False)
    assert (accepted.owner, accepted.expected_by) == ("carla", date(2026, 11, 30))
    assert (accepted.accepted_amount, accepted.accepted_state) == (item.amount, item.state)
    (row,) = desk.items.list().arrow.to_pylist()
    assert (row["standing"], row["name"]) == ("carried", item.name)
    kinds = [entry.kind for entry in desk.journal.entries()]
    assert kinds == ["item.proposed", "item.accepted"]


@pytest.mark.acceptance
def test_repeating_a_decision_writes_nothing(desk: Workspace, item: OpenItem) -> None:
    for _ in range(2):
        desk.items.carry(item.item_id, **TERMS, actor=ANNA)
        desk.items.accept(item.item_id, actor=BERT)
    assert len(desk.journal.entries()) == 2


@pytest.mark.acceptance
def test_the_proposer_cannot_accept_in_any_spelling_of_the_name(
    desk: Workspace, item: OpenItem
) -> None:
    desk.items.carry(item.item_id, **TERMS, actor=ANNA)
    for name in ("anna", " Anna ", "\uff41nna", "\u0430nn\u0430"):
        with pytest.raises(ActionRefused, match=r"proposed to carry .* and cannot accept it"):
            desk.items.accept(item.item_id, actor=Actor(name, "environment"))
    desk.journal.append("item.accepted", item.item_id, {}, actor=ANNA)
    assert desk.open_items(MONTH).by_id[item.item_id].is_blocking, (
        "an acceptance journaled without the verb has no effect"
    )


@pytest.mark.acceptance
def test_an_item_carried_by_one_person_is_marked_as_signed_alone(
    desk: Workspace, item: OpenItem
) -> None:
    (desk.folder / "policy.toml").write_text("one_person = true\n", "utf-8")
    desk.items.carry(item.item_id, **TERMS, actor=ANNA)
    (accepted,) = desk.items.accept(item.item_id, actor=ANNA)
    assert (accepted.accepted_alone, accepted.is_blocking) == (True, False)
    assert desk.items.list().arrow.to_pylist()[0]["standing"] == "carried, signed alone"
    assert "carried: anna for carla, signed alone" in render_html(desk.periods.month(MONTH))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"owner": " "}, "needs an owner"),
        ({"reason": ""}, "needs a reason"),
        ({"by": "end of November"}, "'end of November' is not a day"),
        ({"by": "2026-11-01"}, "2026-11-01 is in the past"),
    ],
)
def test_missing_fields_are_named_and_nothing_is_written(
    desk: Workspace, item: OpenItem, changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(InputError, match=why):
        desk.items.carry(item.item_id, **{**TERMS, **changed}, actor=ANNA)
    assert desk.journal.entries() == []


@pytest.mark.acceptance
def test_an_item_that_does_not_block_is_carried_without_a_proposal(desk: Workspace) -> None:
    stuck = desk.open_items(MONTH).select(blocks="never").items[0]
    with pytest.raises(ActionRefused, match="does not block the close: it is carried without"):
        desk.items.carry(stuck.item_id, **TERMS, actor=ANNA)


@pytest.mark.acceptance
def test_an_item_that_cannot_be_accepted_is_refused_with_the_next_step(desk: Workspace) -> None:
    another = '[[accounts]]\naccount = "NL00TEST0000000001"\nname = "New"\ncurrency = "EUR"\n'
    with (desk.folder / "treasury.toml").open("a", encoding="utf-8") as settings:
        settings.write(f'\n{another}source = "own_bank"\n')
    desk = Workspace(desk.folder)
    missing = desk.open_items(MONTH).select(kind="statement_missing").items[0]
    with pytest.raises(ActionRefused, match="cannot be accepted") as refused:
        desk.items.carry(missing.item_id, **TERMS, actor=ANNA)
    assert refused.value.do == missing.next_step


@pytest.mark.acceptance
def test_only_a_current_proposal_can_be_accepted(desk: Workspace, item: OpenItem) -> None:
    with pytest.raises(ActionRefused, match="no person proposed to carry") as refused:
        desk.items.accept(item.item_id, actor=BERT)
    assert f"treasury items carry {item.item_id}" in str(refused.value.do)
    body = {
        "amount": "1.00", "currency": item.currency, "state": item.state,
        "owner": "carla", "expected_by": "2026-11-30", "reason": "asked",
    }  # fmt: skip
    desk.journal.append("item.proposed", item.item_id, body, actor=ANNA)
    with pytest.raises(ActionRefused, match=r"has lapsed: the amount was EUR 1\.00, is EUR"):
        desk.items.accept(item.item_id, actor=BERT)
    assert desk.items.list().arrow.to_pylist()[0]["standing"].startswith("lapsed: the amount was")


@pytest.mark.acceptance
def test_an_item_is_named_by_its_reference_or_the_beginning_of_its_id(desk: Workspace) -> None:
    items = desk.open_items(MONTH)
    overdue = items.select(kind="overdue").items[0]
    assert items.find(overdue.item_id[:14]) == overdue
    assert items.find(overdue.name.split()[0].rstrip(",")) == overdue
    with pytest.raises(InputError, match="no open item of 2026-10 matches 'PAY-1'"):
        items.find("PAY-1")
    with pytest.raises(InputError, match=r"\d+ open items of 2026-10 match 'line'"):
        items.find("line")


@pytest.mark.acceptance
def test_a_withdrawn_item_blocks_again(desk: Workspace, item: OpenItem) -> None:
    with pytest.raises(ActionRefused, match="no person proposed"):
        desk.items.withdraw(item.item_id, reason="the payer paid", actor=ANNA)
    desk.items.carry(item.item_id, **TERMS, actor=ANNA)
    desk.items.accept(item.item_id, actor=BERT)
    (again,) = desk.items.withdraw(item.item_id, reason="the payer paid", actor=ANNA)
    assert (again.is_blocking, again.proposed_by) == (True, None)


@pytest.mark.acceptance
def test_an_earlier_view_and_a_dry_run_write_nothing(desk: Workspace, item: OpenItem) -> None:
    desk.items.carry(item.item_id, **TERMS, actor=ANNA, dry_run=True)
    with pytest.raises(InputError, match="no decisions can be made"):
        desk.at("2026-11-02T08:00Z").items.carry(item.item_id, **TERMS, actor=ANNA)
    assert desk.journal.entries() == []


@pytest.mark.acceptance
def test_the_shell_proposes_accepts_lists_and_every_surface_shows_it(
    desk: Workspace, item: OpenItem, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(who: str) -> Callable[..., str]:
        def called(*arguments: str) -> str:
            monkeypatch.setenv("TREASURY_USER", who)
            done = CliRunner().invoke(
                treasury, ["-w", str(desk.folder), "items", *arguments], catch_exceptions=False
            )
            assert done.exit_code == 0, done.output
            return done.stdout

        return called

    terms = ("--owner", "carla", "--by", "2026-11-30", "--reason", "the payer was asked")
    told = run("anna")("carry", item.item_id, *terms)
    assert told.startswith(f"{item.item_id}: proposed to be carried\n")
    items = len(desk.open_items(MONTH))
    blocking = len(desk.open_items(MONTH).blocking)
    waits = "1 proposed to be carried waits for a second person: treasury items list 2026-10"
    assert f" {blocking} of {items} open items block it; {waits}" in " ".join(
        desk.status(MONTH).split()
    )
    assert run("bert")("accept", item.item_id).startswith(f"{item.item_id}: accepted\n")
    (row,) = json.loads(run("bert")("list", "--format", "json"))
    assert (row["standing"], row["proposed_by"], row["accepted_by"]) == ("carried", "anna", "bert")
    closing = desk.periods.month(MONTH)
    screen = month_screen(closing)
    assert f" {blocking - 1} of {items} open items block it, 1 carried" in screen
    (shown,) = [text for text in screen.splitlines() if text.startswith("  Suggested  ")]
    assert shown.split()[1] == "17"
    assert "1 open item carried, each signed by two people" in str(checklist(closing))
    assert "carried: anna and bert for carla, by 30 Nov" in render_html(closing)
    assert "nothing proposed" not in run("bert")("list")
