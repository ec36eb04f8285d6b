"""The rules about decisions, for every kind of decision that a panel offers, in a real browser.

The tests are named after the twelve rules for panels; the rules of display are in another file.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from panel_lab import Desk, Notebook
from panel_practice import ON_RAMP, Practice
from panel_rules import (
    HASH,
    SENDER,
    WAYS,
    Way,
    button,
    one_panel,
    outcome,
    propose_transfers,
    ready_transfers,
    start_of,
    writes,
)
from playwright.sync_api import Locator, expect

pytestmark = [pytest.mark.acceptance, pytest.mark.browser]

REQUESTS = "/ramp/v1/ramp-requests"
TRANSFERS = f"/finance/v1/accounts/{SENDER}/transfers/crypto"
SLOW = 5.0
"""Seconds until a service answers: long enough for a busy browser to press Cancel."""


@pytest.fixture
def notebook(
    desk: Desk, month: Practice, way: Way, request: pytest.FixtureRequest
) -> Iterator[Notebook]:
    way.prepare(month)
    name = re.sub(r"\W", "_", request.node.name)
    with one_panel(desk, month.workspace.folder, name, way.panel) as opened:
        yield opened


@pytest.fixture
def panel(notebook: Notebook) -> Locator:
    return notebook.panel


OFTEN = ("approve", "carry_out", "accept")
"""The ways without a pytest mark of their own; the file's mark applies to all ways."""


@pytest.fixture(
    params=[pytest.param(way, marks=() if way in OFTEN else pytest.mark.acceptance) for way in WAYS]
)
def way(request: pytest.FixtureRequest) -> Way:
    return WAYS[request.param]


def decided(month: Practice, way: Way) -> int:
    """Return the number of the journal's entries of the decision's kind."""
    return len(month.journaled(way.entry))


# 1. Two steps for anything that moves money; Confirm is never in the place of the first button.


def test_rule_1_a_double_click_on_the_first_step_sends_nothing(
    panel: Locator, month: Practice, way: Way
) -> None:
    before = (decided(month, way), writes(month))
    way.choose(panel)
    first = button(panel, way.verb)
    place = first.bounding_box()
    first.dblclick()
    confirm = button(panel, way.confirm)
    expect(confirm).to_be_visible()
    assert (decided(month, way), writes(month)) == before
    stands, there = first.bounding_box(), confirm.bounding_box()
    assert place is not None
    assert stands is not None
    assert there is not None
    for one in (place, stands):
        assert there["y"] > one["y"] + one["height"] or there["x"] > one["x"] + one["width"]


# 2. A nonce that is valid once.


def test_rule_2_five_clicks_in_one_turn_and_one_in_a_second_view_decide_once(
    desk: Desk, month: Practice, way: Way, request: pytest.FixtureRequest
) -> None:
    way.prepare(month)
    before = (decided(month, way), len(writes(month)))
    name = re.sub(r"\W", "_", request.node.name)
    start = f"{start_of(month.workspace.folder)}\npanel = t.panels.{way.panel}()"
    notebook = desk.open(name, start, "panel", "panel").run()
    try:
        expect(notebook.panel).to_have_count(2)
        first, second = notebook.panel.nth(0), notebook.panel.nth(1)
        button(second, "Sync").first.wait_for()
        way.begin(first)
        expect(button(second, way.confirm)).to_be_visible()
        desk.page.evaluate(
            "() => { for (let n = 0; n < 5; n++)"
            " document.querySelectorAll('[data-press=confirm]').forEach(one => one.click()); }"
        )
        for view in (first, second):
            expect(view.get_by_role("status")).to_contain_text(way.done)
            expect(view.locator(".tp-step")).to_have_count(0)
        assert decided(month, way) == before[0] + 1
        assert len(writes(month)) == before[1] + way.sent
    finally:
        notebook.close()


# 3. Work off the kernel's main thread, with progress and a working Cancel.


@pytest.mark.parametrize("way", ["approve", "submit_hash"], indirect=True)
def test_rule_3_cancel_acts_while_the_service_is_slow_and_nothing_was_sent(
    panel: Locator, month: Practice, way: Way
) -> None:
    month.company.faults.add(REQUESTS, method="GET", delay=SLOW)
    way.choose(panel)
    button(panel, way.verb).click()
    expect(panel.get_by_role("progressbar")).to_be_visible()
    button(panel, "Cancel").click()
    expect(panel.get_by_role("status")).to_contain_text("Nothing was sent.")
    assert writes(month) == []
    assert month.journaled("action.") == []


def test_rule_3_a_cancelled_batch_says_after_how_many(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    ready_transfers(month, *(f"1.{number:02}" for number in range(55)))
    month.company.faults.add(TRANSFERS, method="POST", delay=SLOW)
    folder, name = month.workspace.folder, request.node.name
    with one_panel(desk, folder, name, "approvals", size=55) as notebook:
        panel = notebook.panel
        button(panel, "Actions (55)").click()
        expect(panel.locator(".tp-choice input")).to_have_count(55)
        panel.evaluate(
            "one => one.querySelectorAll('.tp-choice input').forEach(box => box.click())"
        )
        expect(panel.locator(".tp-choice input:checked")).to_have_count(55)
        button(panel, "Carry out").click()
        button(panel, "Confirm and send").click()
        expect(panel.get_by_role("progressbar")).to_be_visible()
        button(panel, "Cancel").click()
        expect(panel.get_by_role("status")).to_contain_text("Cancelled after ")
        expect(panel.get_by_role("status")).to_contain_text("still ready; nothing was sent")
    sent = [path for path in writes(month) if path.endswith("/transfers/crypto")]
    assert 0 < len(sent) < 55
    assert len(month.workspace.actions.list(state="ready")) == 55 - len(sent)


def test_rule_3_a_sync_shows_its_progress_and_can_be_stopped(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    commit = month.workspace.snapshot().commit
    month.company.faults.add(REQUESTS, method="GET", delay=SLOW)
    with one_panel(desk, month.workspace.folder, request.node.name, "sync") as notebook:
        panel = notebook.panel
        button(panel, "Sync").first.click()
        expect(panel.get_by_role("progressbar")).to_be_visible()
        button(panel, "Cancel").click()
        expect(panel.get_by_role("status")).to_contain_text("The stored data is unchanged.")
    assert month.workspace.snapshot().commit == commit


# 4. Who, what, amount, account and when: in the text to confirm, and afterwards.


def test_rule_4_the_confirmed_text_equals_the_journal_entry(
    panel: Locator, month: Practice, way: Way
) -> None:
    step = way.begin(panel)
    asked = step.inner_text()
    way.finish(panel)
    entry = month.journaled(way.entry)[-1]
    said = panel.get_by_role("status").inner_text()
    assert entry.actor.name == "ana.lyst"
    assert "ana.lyst" in asked
    assert re.search(r"(2026-11-02|2 Nov 2026) \d\d:\d\d:\d\d CET", asked)
    told = way.told(entry, month)
    assert told
    for part in told:
        assert part in asked
        assert part in said


# 7. Errors are shown in the panel, state whether anything was sent, and offer Retry.


@pytest.mark.parametrize("way", ["approve", "submit_hash"], indirect=True)
def test_rule_7_a_failing_service_is_an_alert_and_can_be_tried_again(
    panel: Locator, month: Practice, way: Way
) -> None:
    month.company.faults.add(REQUESTS, method="GET", status=400)
    way.choose(panel)
    button(panel, way.verb).click()
    expect(panel.get_by_role("alert")).to_contain_text("Nothing was sent.")
    assert writes(month) == []
    way.begin(panel)
    expect(panel.get_by_role("alert")).to_have_count(0)
    way.finish(panel)
    assert len(writes(month)) == 1


@pytest.mark.parametrize("way", ["carry_out"], indirect=True)
def test_rule_7_a_missing_answer_is_an_alert_and_is_recovered(
    panel: Locator, month: Practice, way: Way
) -> None:
    for _ in range(10):
        month.company.faults.add(TRANSFERS, method="POST", status=500)
    way.begin(panel)
    button(panel, way.confirm).click()
    expect(panel.get_by_role("alert")).to_contain_text("is unknown")
    month.company.faults.clear()
    policy = month.workspace.folder / "policy.toml"
    policy.write_text("[recovery]\nsettling_seconds = 0\n", "utf-8")
    way.choose(panel)
    button(panel, "Recover").click()
    button(panel, "Confirm recovery").click()
    expect(panel.get_by_role("status")).to_contain_text("is done")
    assert len(month.journaled("action.done")) == 1


@pytest.mark.parametrize("name", ["matches", "transfers", "close"])
def test_rule_7_a_journal_that_cannot_be_used_is_an_alert_and_can_be_tried_again(
    desk: Desk, month: Practice, request: pytest.FixtureRequest, name: str
) -> None:
    way = {"matches": WAYS["accept"], "transfers": WAYS["propose"]}.get(name)
    # The proposal creates the journal.
    propose_transfers(month, "1.00")
    key = re.sub(r"\W", "_", request.node.name)
    with one_panel(desk, month.workspace.folder, key, name) as notebook:
        panel = notebook.panel
        if way is None:
            panel.locator(".tp-choice input").first.check()
        else:
            way.begin(panel)
        kept = newer_journal(month.workspace.folder)
        button(panel, "Trace" if way is None else way.confirm).click()
        alert = panel.get_by_role("alert")
        expect(alert).to_contain_text("newer version of treasury")
        expect(alert).to_contain_text(re.compile("Nothing was (sent|written|changed)"))
        kept.replace(month.workspace.folder / "journal.sqlite")
        if way is None:
            button(panel, "Trace").click()
            expect(button(panel, "Copy Text for the provider")).to_be_visible()
        else:
            before = decided(month, way)
            way.begin(panel)
            way.finish(panel)
            assert decided(month, way) == before + 1


def newer_journal(folder: Path) -> Path:
    """Replace the journal with one of a newer version; return the path of the former one."""
    path, kept = folder / "journal.sqlite", folder / "kept.sqlite"
    newer = folder / "newer.sqlite"
    kept.write_bytes(path.read_bytes())
    newer.write_bytes(path.read_bytes())
    with sqlite3.connect(newer) as connection:
        connection.execute("UPDATE journal_schema SET version = 99")
    connection.close()
    os.replace(newer, path)
    return kept


def test_rule_7_a_sync_that_fails_stays_in_sight(
    desk: Desk, month: Practice, request: pytest.FixtureRequest
) -> None:
    month.company.faults.add(REQUESTS, method="GET", status=400)
    with one_panel(desk, month.workspace.folder, request.node.name, "sync") as notebook:
        panel = notebook.panel
        button(panel, "Sync").first.click()
        expect(panel.get_by_role("alert")).to_contain_text("The stored data is unchanged.")
        expect(panel.get_by_role("note")).to_contain_text("failed")
        button(panel, "Sync").first.click()
        expect(panel.get_by_role("status")).to_contain_text("Synced")
        expect(panel.get_by_role("note")).to_have_count(0)


# 8. The keyboard is enough.


def test_rule_8_every_decision_is_taken_by_keyboard_and_the_focus_is_kept(
    panel: Locator, month: Practice, way: Way
) -> None:
    before = decided(month, way)
    keys = panel.page.keyboard
    way.choose(panel)
    first = button(panel, way.verb)
    first.focus()
    keys.press("Enter")
    heading = panel.locator(".tp-step h3")
    expect(heading).to_be_focused()
    keys.press("Escape")
    expect(first).to_be_focused()
    keys.press("Enter")
    expect(heading).to_be_focused()
    confirm = button(panel, way.confirm)
    for _ in range(12):
        keys.press("Tab")
        if confirm.evaluate("one => one === document.activeElement"):
            break
    expect(confirm).to_be_focused()
    keys.press("Enter")
    status = panel.get_by_role("status")
    expect(status).to_contain_text(way.done)
    expect(status).to_be_focused()
    assert decided(month, way) == before + 1


# 10. Safe to run again, to load the page again, and to restart the kernel.


def test_rule_10_a_cell_run_three_times_has_one_effect(
    notebook: Notebook, panel: Locator, month: Practice, way: Way
) -> None:
    before = (decided(month, way), len(writes(month)))
    for _ in range(2):
        notebook.run()
    expect(panel).to_have_count(1)
    expect(button(panel, "Sync").first).to_be_visible()
    way.begin(panel)
    way.finish(panel)
    notebook.run()
    expect(panel).to_have_count(1)
    expect(button(panel, "Sync").first).to_be_visible()
    assert decided(month, way) == before[0] + 1
    assert len(writes(month)) == before[1] + way.sent


def test_rule_10_a_step_is_still_there_when_the_page_is_loaded_again(
    desk: Desk, notebook: Notebook, panel: Locator, month: Practice, way: Way
) -> None:
    before = decided(month, way)
    way.begin(panel)
    notebook.saved()
    desk.reload(notebook)
    expect(button(panel, way.confirm)).to_be_visible()
    way.finish(panel)
    assert decided(month, way) == before + 1


@pytest.mark.parametrize("way", ["approve"], indirect=True)
def test_rule_10_a_request_approved_elsewhere_is_already_decided(
    panel: Locator, month: Practice, way: Way
) -> None:
    row = month.waiting()[0]
    with month.portal("checker") as portal:
        portal.ramp.requests.approve(row["id"], version=row["version"])
    sent = writes(month)
    way.choose(panel)
    button(panel, way.verb).click()
    expect(panel.get_by_role("status")).to_contain_text(f"{ON_RAMP} is already decided")
    expect(button(panel, way.confirm)).to_have_count(0)
    assert writes(month) == sent


@pytest.mark.parametrize("way", ["carry_out", "submit_hash", "accept", "propose"], indirect=True)
def test_rule_10_a_decision_made_elsewhere_is_not_repeated(
    panel: Locator, month: Practice, way: Way
) -> None:
    way.begin(panel)
    _do_elsewhere(month, way)
    stands = (decided(month, way), writes(month))
    button(panel.locator(".tp-step"), way.confirm).click()
    said = outcome(panel)
    # A second proposal is another action, which needs its own approval.
    if way.verb == "Check":
        expect(said).to_contain_text(way.done)
        assert writes(month) == stands[1]
        return
    expect(said).to_contain_text(
        re.compile("[Aa]lready decided|Nothing was|nothing was|1 done|is not")
    )
    assert (decided(month, way), writes(month)) == stands


def _do_elsewhere(month: Practice, way: Way) -> None:
    """Make the decision of a way outside the panel, as a colleague would."""
    actions = month.workspace.actions
    match way.verb:
        case "Carry out":
            (ready,) = actions.list(state="ready")
            actions.execute(ready.id)
        case "Submit hash":
            waits = month.workspace.panels.funding().rows.arrow.to_pylist()
            row = next(one for one in waits if one["state"] == "SEND CRYPTO")
            found = month.request(row["request"])
            with month.portal("maker") as portal:
                portal.ramp.requests.add_transaction_hash(
                    found.id, transaction_hash=HASH, version=found.version
                )
        case "Accept…":
            line = month.workspace.panels.matches().rows.arrow.to_pylist()[0]
            month.workspace.matches.accept(line["entry_id"], line["expectation_id"])
