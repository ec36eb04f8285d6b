"""A month from open to signed in the close panel, without a browser; two people."""

from __future__ import annotations

import base64
from decimal import Decimal
from pathlib import Path

import pytest
from decide_desk import copy_of
from panel_month import rows_of, words
from panel_practice import said
from signed import carry_all

from treasury.actions.policies.policy import parse_policy
from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Actor
from treasury.panels import ClosePanel
from treasury.panels.frames.blocks import Frame, StepBlock
from treasury.panels.steps.close_steps import STEPS
from treasury.workspace import Workspace

MONTH = "2026-10"
TERMS = {"reason": "asked the payer", "owner": "ana", "clear_by": "30 Nov"}


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setenv("TREASURY_USER", "ines")
    return copy_of(month_end, tmp_path / "desk")


def go(panel: ClosePanel, name: str, *chosen: str, **typed: str) -> Frame:
    """Press a button and wait for the result."""
    panel.press(name, chosen=chosen or None, **typed)
    assert panel.wait(240)
    return panel.frame()


def asks(panel: ClosePanel, name: str, *chosen: str, **typed: str) -> StepBlock:
    """Take the first step, which for a signature also writes the pack."""
    frame = go(panel, name, *chosen, **typed)
    assert frame.step is not None, frame.message
    return frame.step


def confirms(panel: ClosePanel, step: StepBlock) -> Frame:
    """Take the second step and wait for the result."""
    panel.press("confirm", step=step.key)
    assert panel.wait(240)
    return panel.frame()


def enabled(panel: ClosePanel) -> list[str]:
    block = panel.frame().checklist
    assert block is not None
    return [button.name for button in block.buttons if button.enabled and button.name in STEPS]


def keys_of(panel: ClosePanel, kind: str) -> list[str]:
    return [row["item_id"] for row in panel.rows.arrow.to_pylist() if row["kind"] == kind]


@pytest.mark.acceptance
def test_items_are_carried_in_bulk_and_accepted_by_a_colleague(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = desk.panels.close(MONTH, size=100)
    keys = keys_of(panel, "no_reference")
    other = keys_of(panel, "contradicted")[0]
    assert "Items of several kinds" in said(go(panel, "carry", keys[0], other))
    frame = go(panel, "carry", *keys)
    assert [field.name for field in frame.fields] == ["reason", "owner", "clear_by"]
    assert "clear_by: " in said(go(panel, "review", *keys, **TERMS | {"clear_by": "soon"}))
    frame = go(panel, "review", keys[0], **TERMS)
    assert "The chosen items are not those of the form" in said(frame)
    step = go(panel, "review", *keys, **TERMS).step
    assert step is not None
    facts = {fact.name: [line.text for line in fact.lines] for fact in step.facts}
    assert step.title == "Carry past the close: 3 items?"
    assert facts["By decision and currency"] == ["Carry past the close: EUR 6,725.50 (3)"]
    assert facts["The largest"] == ["EUR 3,475.50: Zuiderlicht Film"]
    assert facts["Decided by"] == ["ines", "claimed"]
    assert desk.journal.entries("item.") == []
    assert "Journaled in bulk, 3 items" in said(confirms(panel, step))
    proposals = desk.journal.entries("item.proposed")
    assert {entry.body["sheet"]["bulk"] for entry in proposals} == {"in bulk, 3 items"}
    assert {entry.actor.name for entry in proposals} == {"ines"}
    assert "To be carried until 30 Nov 2026, proposed by ines" in words(
        next(row for row in rows_of(panel) if row.key == keys[0])
    )

    alone = go(panel, "accept_carry", *keys)
    assert "ines proposed to carry" in said(alone)
    monkeypatch.setenv("TREASURY_USER", "jonas")
    colleague = desk.panels.close(MONTH, size=100)
    step = asks(colleague, "accept_carry", *keys)
    assert step.title == "Accept that it is carried: 3 items?"
    confirms(colleague, step)
    assert [entry.actor.name for entry in desk.journal.entries("item.accepted")] == ["jonas"] * 3
    carried = desk.open_items(MONTH).select(kind="no_reference")
    assert all(item.is_accepted for item in carried)


@pytest.mark.acceptance
def test_items_above_the_materiality_limit_are_asked_one_by_one(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.folder / "policy.toml").write_text("[materiality.EUR]\nitem = 2000\ntotal = 1\n", "utf-8")
    desk.limits.propose("for the year")
    monkeypatch.setenv("TREASURY_USER", "jonas")
    desk.limits.accept()
    panel = desk.panels.close(MONTH, size=100)
    keys = keys_of(panel, "no_reference")
    amounts = {item.item_id: item.amount for item in desk.open_items(MONTH)}
    large = [key for key in keys if (amounts[key] or 0) > Decimal(2000)]
    assert (len(keys), len(large)) == (3, 2)
    go(panel, "choose", *keys)
    frame = go(panel, "review", *keys, decision="ignore", reason="not ours")
    assert frame.step is not None
    facts = {fact.name: [line.text for line in fact.lines] for fact in frame.step.facts}
    assert facts["Materiality limit"] == [
        "EUR 2,000.00 an item", "2 items above it: confirmed next, one by one",
    ]  # fmt: skip
    asked = [frame.step]
    for number in range(3):
        assert len(desk.journal.entries("match.ignore")) == number
        step = panel.frame().step
        assert step is not None
        asked.append(step)
        confirms(panel, step)
    assert panel.frame().step is None
    assert [len(step.items) for step in asked[1:]] == [1, 1, 1]
    bodies = [entry.body for entry in desk.journal.entries("match.ignore")]
    assert all("bulk" not in body["sheet"] for body in bodies)


@pytest.mark.acceptance
def test_one_item_is_decided_by_its_own_choices(desk: Workspace) -> None:
    panel = desk.panels.close(MONTH, size=100)
    key = keys_of(panel, "needs_decision")[-1]
    frame = go(panel, "choose", key)
    choices = dict(frame.fields[0].choices)
    accepts = [option for option, label in choices.items() if label.startswith("Accept: PAY-")]
    assert accepts
    assert "decision: is missing" in said(go(panel, "review", key, reason="x"))
    step = go(panel, "review", key, decision=accepts[0], reason="by phone").step
    assert step is not None
    assert choices[accepts[0]] in step.items[0]
    confirms(panel, step)
    (entry,) = desk.journal.entries("match.accept")
    assert (entry.actor.name, entry.body["reason"]) == ("ines", "by phone")
    assert go(panel, "back").step is None


@pytest.mark.acceptance
def test_items_get_an_owner_and_a_file_and_the_file_is_saved_as_it_was(desk: Workspace) -> None:
    panel = desk.panels.close(MONTH, size=100)
    first, second, _ = keys_of(panel, "no_reference")
    assert "owner: is missing" in said(go(panel, "assign", first))
    assert "jonas owns 2 items, assigned by ines" in said(
        go(panel, "assign", first, second, owner="jonas")
    )
    assert desk.items.owners().arrow["owner"].to_pylist() == ["jonas", "jonas"]
    row = next(row for row in rows_of(panel) if row.key == first)
    assert "jonas" in words(row).split("\n")
    content = b"From: bank@example.test\r\nSubject: <img src=x onerror=alert(1)>\r\n\r\nHello"
    coded = base64.b64encode(content).decode()
    assert "has no attached file" in said(go(panel, "files", first))
    wrong = go(panel, "attach", first, file="letter.pdf", content=coded)
    assert "Not attached" in said(wrong)
    assert "Several rows" in said(go(panel, "attach", first, second, file="a.eml", content=coded))
    assert "Attached by ines" in said(go(panel, "attach", first, file="a.eml", content=coded))
    (file,) = desk.items.files(month=MONTH).arrow.to_pylist()
    assert (file["item_id"], file["attached_by"]) == (first, "ines")
    row = next(row for row in rows_of(panel) if row.key == first)
    assert "1 file" in words(row).split("\n")
    frame = go(panel, "files", first)
    ((number, label),) = frame.fields[0].choices
    assert label.startswith("a.eml, by ines, ")
    sent: list[object] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panel, "send", lambda message, **_: sent.append(message))
        panel.press("save_file", file_number=number)
    (handed,) = [message["file"] for message in sent if "file" in message]  # type: ignore[index,operator]
    assert base64.b64decode(handed["text"]) == content
    assert (handed["name"], handed["type"]) == ("a.eml", "application/octet-stream")
    assert go(panel, "leave").fields[0].name == "owner"


@pytest.mark.acceptance
def test_a_month_goes_from_open_to_signed_and_is_reopened_by_two_people(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry_all(desk, MONTH)
    first = desk.open_items(MONTH).items[0].item_id
    desk.items.attach(first, b"answer of the bank", file_name="answer.txt", month=MONTH)
    panel = desk.panels.close(MONTH)
    assert enabled(panel) == ["prepare"]
    step = asks(panel, "prepare")
    assert step.text.endswith("By ines, claimed.")
    assert desk.journal.entries("period.") == []
    assert "Prepared October 2026" in said(confirms(panel, step))
    (prepared,) = desk.journal.entries("period.prepare")
    assert (prepared.body["text"], prepared.actor.name) == (step.text, "ines")
    assert enabled(panel) == ["withdraw"]
    assert "the preparer does not sign" in said(go(panel, "sign"))
    assert "step_reason: is missing" in said(go(panel, "withdraw"))

    monkeypatch.setenv("TREASURY_USER", "jonas")
    colleague = desk.panels.close(MONTH)
    assert enabled(colleague) == ["sign", "withdraw"]
    stale = asks(colleague, "sign")
    item = desk.periods.at_close(MONTH).items.items[0]
    desk.items.remark(item.item_id, "look again", month=MONTH)
    assert "new agreements or remarks since its pack was written" in said(
        confirms(colleague, stale)
    )
    step = asks(colleague, "sign")
    (seal,) = [f.lines[0].text for f in step.facts if f.name.startswith("Hash of the pack")]
    assert f" Pack {seal}. By jonas, claimed." in step.text
    assert desk.verify_pack(desk.folder / "close" / MONTH).holds
    assert "Signed October 2026" in said(confirms(colleague, step))
    (signed,) = desk.journal.entries("period.close")
    assert (signed.body["text"], signed.body["pack"]) == (step.text, seal)
    assert signed.actor.name == "jonas"
    pack = desk.folder / "close" / MONTH
    assert desk.verify_pack(pack).holds
    (attached,) = (pack / "attachments").iterdir()
    assert attached.read_bytes() == b"answer of the bank"
    assert enabled(colleague) == ["reopen"]
    assert colleague.frame().fields == ()
    verified = go(colleague, "verify")
    assert "The pack of October 2026 is verified" in said(verified)
    assert "from the pinned commit and the journal" in said(verified)
    (pack / "report.html").write_text("another report", "utf-8")
    assert "The pack of October 2026 differs" in said(go(colleague, "verify"))

    step = asks(colleague, "reopen", step_reason="the bank corrected its statement")
    assert "Reason: the bank corrected its statement. By jonas, claimed." in step.text
    assert "Reopened October 2026" in said(confirms(colleague, step))
    (reopened,) = desk.journal.entries("period.reopen")
    assert reopened.body["text"] == step.text
    assert enabled(colleague) == ["prepare"]
    desk.journal.verify()


@pytest.mark.acceptance
def test_the_ledger_is_given_in_the_panel_until_the_month_is_prepared(
    desk: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.csv"
    path.write_text("account,currency,balance\nBE45539951876689,EUR,251686.06\n", "utf-8")
    coded = base64.b64encode(path.read_bytes()).decode()
    panel = desk.panels.close(MONTH)
    assert "contains a path" in said(go(panel, "ledger", file="../ledger.csv", content=coded))
    text = base64.b64encode(b"no balances").decode()
    assert "Not kept" in said(go(panel, "ledger", file="ledger.csv", content=text))
    assert not (desk.folder / "ledger").exists()
    given = said(go(panel, "ledger", file="ledger.csv", content=coded))
    assert "ledger.csv is kept for October 2026" in given
    assert "Ledger on 31 October 2026: 1 of " in given
    assert desk.periods.at_close(MONTH).ledger is not None
    assert desk.journal.entries("period.") == []
    carry_all(desk, MONTH)
    confirms(panel, asks(panel, "prepare"))
    block = panel.frame().checklist
    assert block is not None
    names = [button.name for button in block.buttons]
    assert ("ledger" in names, "books" in names, "verify" in names) == (False, False, True)
    with pytest.raises(ActionRefused, match="is prepared, with the ledger that it had then"):
        desk.periods.keep_ledger(MONTH, ledger=path)


@pytest.mark.acceptance
def test_write_prepares_the_month_when_the_cell_runs_and_only_once(desk: Workspace) -> None:
    blocked = desk.panels.close(MONTH, write=True)
    assert "is not prepared" in said(blocked.frame())
    assert desk.journal.entries("period.") == []
    carry_all(desk, MONTH)
    for _ in range(2):
        panel = desk.panels.close(MONTH, write=True)
    assert enabled(panel) == ["withdraw"]
    assert [entry.actor.name for entry in desk.journal.entries("period.prepare")] == ["ines"]


@pytest.mark.acceptance
def test_a_sentence_that_changed_since_it_was_shown_is_not_journaled(desk: Workspace) -> None:
    carry_all(desk, MONTH)
    closing = desk.periods.at_close(MONTH)
    step = desk.periods.foresee("prepare", closing)
    with pytest.raises(ActionRefused, match="what would be journaled changed"):
        desk.periods.prepare(MONTH, agreed=step.sentence.replace("items", "things"))
    assert desk.journal.entries("period.") == []
    with pytest.raises(InputError, match="is not a step of a close"):
        desk.periods.foresee("lock", closing)


@pytest.mark.parametrize(
    ("text", "source", "refused"),
    [
        ("", "environment", True),
        ("", "system", False),
        ('identified_by = ["environment"]', "environment", False),
        ('[hub]\napi = "https://hub.test/hub/api"', "system", True),
        ('[hub]\napi = "https://hub.test/hub/api"', "hub", False),
        ('signed = true\n[keys]\nines = "{key}"', "environment", False),
    ],
)
def test_a_claimed_name_signs_no_month_in_production_unless_the_policy_accepts_it(
    text: str, source: str, refused: bool
) -> None:
    key = "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
    policy = parse_policy(text.replace("{key}", key), Path("policy.toml"))
    assurance = "claimed" if source == "environment" else "verified"
    actor = Actor("ines", source, assurance)  # type: ignore[arg-type]
    policy.check_signer(actor, "sandbox")
    if not refused:
        policy.check_signer(actor, "production")
        return
    with pytest.raises(ActionRefused, match="claimed, not verified, and a claimed name signs no"):
        policy.check_signer(actor, "production")
