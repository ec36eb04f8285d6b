"""Remarks on open items, with their authors and answers, in every output that shows the item."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.core.errors import ActionRefused, InputError
from treasury.core.text import clean
from treasury.journal import Actor
from treasury.workspace import Workspace

INES, JONAS = Actor("ines", "environment"), Actor("jonas", "environment")
BLOCKED = "PAY-2026-005001"


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    shutil.copytree(month_end.folder, tmp_path / "desk")
    return Workspace(tmp_path / "desk")


def asked(desk: Workspace) -> int:
    """Let ines remark on a blocked request, and return the sequence number of her remark."""
    desk.items.remark(BLOCKED, "asked the provider, ticket 77", actor=INES)
    row, *_ = desk.items.remarks().arrow.to_pylist()
    return int(row["seq"])


@pytest.mark.acceptance
def test_a_remark_and_its_answer_are_shown_with_the_item_on_every_surface(desk: Workspace) -> None:
    before = desk.open_items("2026-10")
    (item,) = desk.items.remark(BLOCKED, "they look into it", answers=asked(desk), actor=JONAS)
    assert item.remark == (
        "ines, 2 Nov: asked the provider, ticket 77 · jonas to ines, 2 Nov: they look into it"
    )
    answer, question = desk.items.remarks().arrow.to_pylist()
    assert (answer["answers"], question["answered_by"]) == (question["seq"], "jonas")
    items = desk.open_items("2026-10")
    # A remark changes no state.
    assert items.hash == before.hash
    assert {item.item_id for item in items if item.remark} == {item.item_id}
    printed = CliRunner().invoke(
        treasury, ["-w", str(desk.folder), "exceptions", "--kind", "blocked", "--month", "2026-10"],
        env={"COLUMNS": "300"},
    ).stdout  # fmt: skip
    assert "they look into it" in printed
    assert "Provider" in printed
    pack = desk.close("2026-10")
    report = pack.report.read_text()
    assert "jonas to ines, 2 Nov: they look into it" in report
    desk.verify_pack(pack.folder)
    desk.journal.verify()
    earlier = desk.at("2026-11-02T07:00Z")
    assert earlier.items.remarks().arrow.num_rows == 0


@pytest.mark.acceptance
def test_an_answer_is_to_a_remark_on_the_same_item(desk: Workspace) -> None:
    place = asked(desk)
    with pytest.raises(ActionRefused, match=f"has no remark {place}"):
        desk.items.remark("PAY-2026-005326", "x", answers=place)
    with pytest.raises(ActionRefused, match="no remark 99"):
        desk.items.remark(BLOCKED, "x", answers=99)


@pytest.mark.parametrize("text", ["", "  ", "two\nlines", "\x1b[2J", "x" * 501])
def test_an_empty_long_or_multiline_remark_is_refused(desk: Workspace, text: str) -> None:
    with pytest.raises(InputError, match="one line of at most 500 characters"):
        desk.items.remark(BLOCKED, text)
    assert desk.journal.entries() == []


@pytest.mark.acceptance
def test_a_remark_on_an_unknown_item_or_from_an_earlier_view_is_refused(desk: Workspace) -> None:
    with pytest.raises(InputError, match="no open item"):
        desk.items.remark("PAY-1999-000001", "x")
    with pytest.raises(InputError):
        desk.at("2026-11-02T09:00Z").items.remark(BLOCKED, "x")
    desk.items.remark(BLOCKED, "x", dry_run=True)
    assert desk.journal.entries() == []


@pytest.mark.acceptance
def test_of_many_remarks_the_last_are_shown_and_all_are_listed(desk: Workspace) -> None:
    for number in range(5):
        (item,) = desk.items.remark(BLOCKED, f"remark {number}", actor=INES)
        if number == 3:
            assert item.remark.startswith("1 earlier remark · ines, 2 Nov: remark 1 · ")
    assert item.remark.startswith("2 earlier remarks · ines, 2 Nov: remark 2 · ")
    assert desk.items.remarks().arrow.num_rows == 5
    assert clean(item.remark) == item.remark


@pytest.mark.acceptance
def test_the_shell_adds_and_lists_remarks(desk: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREASURY_USER", "ines")

    def run(*words: str) -> str:
        done = CliRunner().invoke(treasury, ["-w", str(desk.folder), "items", *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "no remarks" in run("remarks")
    assert "remarked (not written)" in run("remark", BLOCKED, "called them", "--dry-run")
    assert ": remarked\n" in run("remark", BLOCKED, "called them")
    assert "remarked" in run("remark", BLOCKED, "again", "--answers", "1")
    assert "called them" in run("remarks")
