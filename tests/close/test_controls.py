"""The controls of a close: who did what, how each person was identified, and special acts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest
from openpyxl import load_workbook
from signed import ANNA, BERT, carry_all

from treasury.actions.policies.policy import parse_policy
from treasury.close.review.controls import controls_of, journaled_acts, policy_drafts
from treasury.core.calendar import Month
from treasury.journal import Actor, Head, Journal, SignatureRules, Signing
from treasury.journal.decision_history import SHEET
from treasury.journal.decision_log import decide
from treasury.journal.journal_store import Draft
from treasury.journal.period_history import Close
from treasury.journal.signing import make_key
from treasury.workspace import Workspace

INES = Actor("ines", "hub", "verified")
ZONE = ZoneInfo("Europe/Brussels")
OCTOBER = Month.parse("2026-10")
AT = datetime(2026, 11, 2, 8, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, now=lambda: AT)


def acts(journal: Journal, month: Month = OCTOBER) -> list[dict[str, Any]]:
    return journaled_acts(journal, month, seq=journal.head().seq).to_pylist()


def add(journal: Journal, kind: str, actor: Actor = ANNA, **body: object) -> None:
    journal.append(kind, "line-1", body, actor=actor)


def sign(journal: Journal, month: str) -> None:
    close = Close(
        month=month, reason=None, prepared_by="anna", reviewed_by="bert", commit=1, known_at=AT,
        as_of=AT, head=Head(0, ""), rules_hash="", rules={}, desk={}, roll_forward=[],
        items_hash="", open_items=[], outcomes_hash="",
    )  # fmt: skip
    journal.append("period.close", month, close, actor=BERT)


def test_each_act_says_how_its_person_was_identified(journal: Journal, tmp_path: Path) -> None:
    add(journal, "match.accept", INES, reason="", despite=[])
    add(journal, "match.accept", ANNA, reason="")
    add(journal, "match.accept", Actor("root", "system", "verified"), reason="")
    told = [(row["who"], row["identified"]) for row in acts(journal)]
    assert told == [
        ("ines", "verified: hub"), ("anna", "claimed"), ("root", "verified: login of the computer"),
    ]  # fmt: skip


def test_a_signature_verifies_only_the_owner_of_its_key(tmp_path: Path) -> None:
    place = f"file:{tmp_path / 'key'}"
    keys = {"anna": (make_key(place).public,)}
    signing = Signing(place, lambda: SignatureRules(keys=keys))
    journal = Journal(tmp_path, now=lambda: AT, signing=signing)
    policy = parse_policy(f'[keys]\nanna = "{keys["anna"][0]}"\n', tmp_path / "policy.toml")
    add(journal, "match.accept", reason="")
    assert [row["identified"] for row in acts(journal)] == ["claimed"]
    journal.decide(lambda _: policy_drafts(journal, policy, ANNA))
    add(journal, "match.accept", BERT, reason="")
    told = [(row["who"], row["identified"]) for row in acts(journal)]
    assert told[0] == ("anna", "verified: signed key")
    assert told[-1] == ("bert", "claimed; its signature is another's key, by anna")


def test_the_policy_is_journaled_when_it_changes_and_its_parts_are_named(
    journal: Journal, tmp_path: Path
) -> None:
    def save(text: str) -> int:
        policy = parse_policy(text, tmp_path / "policy.toml")
        return len(journal.decide(lambda _: policy_drafts(journal, policy, ANNA)))

    assert save("") == 0, "there is no policy and none was saved"
    assert save("one_person = true\n") == 1
    assert save("one_person = true\n") == 0
    assert save('one_person = true\n[materiality.EUR]\nitem = "5"\ntotal = "9"\n') == 1
    assert save("one_person = true\n") == 1, "an earlier policy is in force again"
    told = [(row["kind"], row["reason"]) for row in acts(journal)]
    assert told == [
        ("policy_changed", "changed in policy.toml: one_person"),
        ("policy_changed", "changed in policy.toml: materiality"),
        ("policy_changed", "changed in policy.toml: materiality"),
    ]


def test_acts_alone_in_bulk_and_against_a_contradiction_are_special(journal: Journal) -> None:
    add(journal, "match.accept", reason="the payer wrote", despite=["account: …7034"])
    add(journal, "item.accepted", BERT, proposal=1, alone=True)
    two = [Draft("item.proposed", name, {"reason": "late"}, ANNA) for name in ("a", "b")]
    decide(journal, lambda _: (two, None))
    rows = [Draft("match.reject", name, {SHEET: {"row": name}}, ANNA) for name in ("c", "d")]
    decide(journal, lambda _: (rows, None))
    add(journal, "item.remarked", remark="called the bank")
    add(journal, "action.done", how="the service answered")
    controls = controls_of(journaled_acts(journal, OCTOBER, seq=journal.head().seq), ZONE, 3)
    special = [(row["subject"], row["alone"], row["in_bulk"]) for row in controls.special()]
    assert special == [
        ("line-1", False, ""), ("line-1", True, ""),
        ("a", False, "in bulk, 2 items"), ("b", False, "in bulk, 2 items"),
    ]  # fmt: skip
    assert controls.special()[0]["override"] == "account: …7034"
    counts = {row["kind"]: row for row in controls.counts.arrow.to_pylist()}
    assert (counts["line_decided"]["acts"], counts["line_decided"]["overrides"]) == (3, 1)
    assert (counts["carry_proposed"]["in_bulk"], counts["carry_accepted"]["alone"]) == (2, 1)
    assert (len(controls.acts), controls.late_items) == (6, 3), "remarks and answers are not acts"


def test_an_act_belongs_to_the_month_that_is_signed_after_it(journal: Journal) -> None:
    add(journal, "match.accept", reason="for September")
    sign(journal, "2026-09")
    add(journal, "match.accept", reason="for October")
    sign(journal, "2026-10")
    add(journal, "match.accept", reason="for November")
    last = next(entry.seq for entry in journal.entries("period.close", "2026-10"))
    october = journaled_acts(journal, OCTOBER, seq=last).to_pylist()
    assert [row["entry"] for row in october] == [3, 4]
    assert [row["entry"] for row in acts(journal, OCTOBER.next)] == [5]


@pytest.mark.acceptance
def test_page_sheet_answer_and_pack_show_the_same_acts(desk: Workspace, tmp_path: Path) -> None:
    (desk.folder / "policy.toml").write_text("one_person = true\n", "utf-8")
    carry_all(desk, "2026-10")
    desk.periods.prepare("2026-10", actor=ANNA)
    signed = desk.periods.sign("2026-10", actor=ANNA)
    controls = desk.periods.controls("2026-10")
    assert signed.controls.acts.arrow.equals(controls.acts.arrow)
    (last,) = controls.acts.where(kind="signed").arrow.to_pylist()
    assert (last["who"], last["identified"], last["alone"]) == ("anna", "claimed", True)
    pack = desk.close("2026-10", tmp_path / "pack")
    assert pq.read_table(pack.folder / "tables" / "controls.parquet").equals(controls.acts.arrow)
    sheet = load_workbook(pack.workbook)["Controls"]
    kinds = [row[0].value for row in sheet.iter_rows(min_row=2) if row[0].value]
    assert len(kinds) == len(controls.acts)
    assert {"Signed", "Prepared", "Carrying accepted"} <= set(kinds)
    page = pack.report.read_text("utf-8")
    assert f"{len(controls.acts)} acts, {len(controls.acts)} of them" in page
    assert "changed in policy.toml: one_person" in page
    assert desk.verify_pack(pack.folder).holds
