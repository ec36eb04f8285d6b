"""Owners, remarks and files of items, accounts and checklist steps, on every surface."""

from __future__ import annotations

import json
import shutil
from decimal import Decimal
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from signed import carry_all

from treasury.cli import treasury
from treasury.close.checklist import checklist
from treasury.close.evidence import encode
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Actor, Journal
from treasury.month.items import owner_table
from treasury.month.items.notes.item_owners import ASSIGNED, step_owner, with_owners
from treasury.month.items.notes.note_subjects import STEPS
from treasury.report.pack.pack_contents import EVIDENCE
from treasury.report.pack.pack_recomputation import wrong_attachments
from treasury.report.pack.sealed_pack import read_sealed
from treasury.report.sections import sections
from treasury.workspace import Workspace

INES, JONAS = Actor("ines", "environment"), Actor("jonas", "environment")
BLOCKED, PDF, MAIL = "PAY-2026-005001", b"%PDF-1.7 they confirm it", b"From: a@b.test\r\n\r\nc"
NAME = "a <b>$5.pdf"


@pytest.fixture(scope="module")
def noted(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk with an owner, a remark and a file of an item, an account and a step."""
    folder = tmp_path_factory.mktemp("noted") / "desk"
    shutil.copytree(month_end.folder, folder)
    desk = Workspace(folder)
    account = f"account:{desk.settings.accounts[0].account}"
    desk.items.assign(BLOCKED, account[:-3], "step:Bank lines", owner="marie", actor=INES)
    for name in (BLOCKED, account, "step:bank_lines"):
        desk.items.remark(name, f"asked about {name[:4]}", actor=INES)
    desk.items.attach(BLOCKED, PDF, file_name=NAME, actor=INES)
    desk.items.attach(account, PDF, file_name="again.pdf", actor=INES)
    desk.items.attach("step:bank lines", MAIL, file_name="mail.eml", actor=INES)
    return desk


@pytest.fixture
def desk(noted: Workspace, tmp_path: Path) -> Workspace:
    """Return a copy of the desk, which a test may change."""
    return Workspace(Path(shutil.copytree(noted.folder, tmp_path / "desk")))


def run(desk: Workspace, *words: str, code: int = 0, stream: str = "stdout") -> str:
    done = CliRunner().invoke(
        treasury, ["-w", str(desk.folder), *words], env={"COLUMNS": "300", "TREASURY_USER": "ines"}
    )
    assert done.exit_code == code, done.output
    return str(getattr(done, stream))


@pytest.mark.acceptance
def test_owner_remark_and_file_are_shown_on_every_surface(
    noted: Workspace, month_end: Workspace
) -> None:
    closing = noted.periods.month("2026-10")
    item = closing.items.find(BLOCKED)
    assert (item.owner, item.remark) == ("marie", "ines, 2 Nov: asked about PAY-")
    steps = {step.title: step for step in checklist(closing).steps}
    assert tuple(steps) == STEPS
    words = "owner marie · ines, 2 Nov: asked about step · 1 file"
    assert steps["Bank lines"].found.endswith(words)
    assert {blocker.owner for blocker in steps["Bank lines"].blockers} == {"marie"}
    assert "owner" not in steps["Statements"].found
    by_anchor = {section.anchor: section for section in sections(closing)}
    (row,) = (
        row
        for grid in by_anchor["accounts"].grids
        for row in grid.rows
        if "owner marie" in row[0].note
    )
    assert row[0].note.endswith("owner marie · ines, 2 Nov: asked about acco · 1 file")
    (grid,) = by_anchor["attachments"].grids
    account = f"account:{noted.settings.accounts[0].account}"
    assert [(row[0].text, row[1].text) for row in grid.rows] == [
        (NAME, BLOCKED), ("again.pdf", account), ("mail.eml", "step:bank_lines/2026-10"),
    ]  # fmt: skip
    # These notes change no state.
    assert closing.items.hash == month_end.open_items("2026-10").hash
    assert NAME in run(noted, "items", "files")
    assert "step:bank_lines/2026-10" in run(noted, "items", "owners")


def test_lists_are_filtered_by_owner_currency_and_least_amount(noted: Workspace) -> None:
    items = noted.open_items("2026-10")
    assert [item.name for item in items.select(owner="MARIE")] == [BLOCKED]
    euros = items.select(currency="eur", min_amount="25000")
    assert len(euros) > 1
    assert {(item.currency, abs(item.amount or 0) >= 25_000) for item in euros} == {("EUR", True)}
    least = items.select(min_amount=Decimal("25000.01"))
    assert {item.item_id for item in least if item.currency == "EUR"} < set(euros.by_id)
    by_owner = {item.shown_owner for item in items}
    assert sum(len(items.select(owner=owner)) for owner in by_owner) == len(items)
    assert items.select(owner="Treasury").notes == ()
    (note,) = items.select(owner="mary").notes
    assert note.startswith("no item has the owner 'mary'; the owners are marie, Checker, ")
    assert note in str(items.select(owner="mary"))
    assert note in str(items.select(owner="mary").table)
    assert note in run(noted, "exceptions", "2026-10", "--owner", "mary", stream="stderr")
    for amount in ("1e3", -1, 0.5):
        with pytest.raises(InputError, match="min_amount"):
            items.select(min_amount=amount)
    rows = json.loads(
        run(noted, "exceptions", "2026-10", "--owner", "Marie", "--currency", "EUR",
            "--min-amount", "25000", "--format", "json")
    )  # fmt: skip
    assert [row["name"] for row in rows] == [BLOCKED]


def test_the_owner_of_an_account_owns_its_items_and_a_step_keeps_its_owner(
    month_end: Workspace, tmp_path: Path
) -> None:
    journal = Journal(tmp_path)
    items = month_end.open_items("2026-10")
    first, second, *_ = items.where(lambda item: item.subject == "balance")
    account = first.subject_id.partition("/")[0]
    for subject, owner in (
        (f"account:{account}", "marie"),
        (second.item_id, "jonas"),
        ("step:lock/2026-09", "ines"),
        ("step:lock/2026-11", "carla"),
    ):
        journal.append(ASSIGNED, subject, {"owner": owner}, actor=INES)
    owners = owner_table(journal.entries())
    owned = {item.item_id: item.shown_owner for item in with_owners(items, owners)}
    assert (owned[first.item_id], owned[second.item_id]) == ("marie", "jonas")
    assert {owner for item, owner in owned.items() if item.startswith("line:")} == {"Treasury"}
    months = [Month.parse(f"2026-{number:02}") for number in range(8, 13)]
    named = [step_owner(owners, "Lock", month) for month in months]
    assert named == ["", "ines", "ines", "carla", "carla"]


def test_unknown_names_and_invalid_owners_are_refused(noted: Workspace) -> None:
    for name in ("account:XX", "step:nothing", "step:lock/2026-09", "PAY-1999-000001"):
        with pytest.raises(InputError):
            noted.items.assign(name, owner="ines", dry_run=True)
    for owner in ("", "two\nlines", "x" * 81):
        with pytest.raises(InputError, match="an owner is"):
            noted.items.assign(BLOCKED, owner=owner)
    with pytest.raises(InputError, match="not an open item"):
        noted.items.withdraw("step:lock", reason="x", dry_run=True)
    with pytest.raises(InputError, match="no attached files match"):
        noted.items.file_content("0123456789")


@pytest.mark.acceptance
def test_two_people_remove_the_bytes_and_the_hash_stays(desk: Workspace) -> None:
    first, again, _ = desk.items.files().arrow.to_pylist()
    assert desk.items.file_content(first["sha256"][:12]) == PDF
    assert json.loads(run(desk, "items", "files", "--format", "json"))[0]["size"] == len(PDF)
    mail = desk.folder / "again.eml"
    mail.write_bytes(MAIL)
    assert "again.eml: attached (not written)" in run(
        desk, "items", "attach", "step:lock", str(mail), "--dry-run"
    )
    assert "again.eml" in run(desk, "items", "attach", "step:lock", str(mail))
    saved = desk.folder / "saved.pdf"
    run(desk, "items", "save", str(first["seq"]), str(saved))
    assert saved.read_bytes() == PDF
    again_saved = CliRunner().invoke(
        treasury, ["-w", str(desk.folder), "items", "save", str(first["seq"]), str(saved)]
    )
    assert "File exists" in str(again_saved.exception)
    with pytest.raises(ActionRefused, match="no person proposed"):
        desk.items.accept_removal(first["seq"], actor=JONAS)
    run(desk, "items", "remove-file", str(again["seq"]), "--reason", "another customer's")
    waiting = desk.open_items("2026-10").by_id[f"removal:{first['seq']}"]
    assert (waiting.kind, waiting.turn, waiting.blocks) == ("decision_waits", "colleague", "never")
    assert waiting.command == f"treasury items accept-removal {first['seq']}"
    assert "another customer's, by ines" in waiting.name
    assert waiting.item_id in desk.status().listed("colleague").by_id
    assert waiting.item_id in desk.panels.close().rows.arrow["item_id"].to_pylist()
    with pytest.raises(ActionRefused, match="cannot accept it"):
        desk.items.accept_removal(first["seq"], actor=INES)
    gone = desk.items.accept_removal(first["seq"], actor=JONAS).arrow.to_pylist()
    assert [(row["state"], row["removed_by"], row["sha256"]) for row in gone] == [
        ("removed", "jonas", first["sha256"])
    ] * 2
    assert waiting.item_id not in desk.open_items("2026-10").by_id
    with pytest.raises(ActionRefused, match=r"ines \(another customer's\), accepted by jonas"):
        desk.items.file_content(first["seq"])
    with pytest.raises(ActionRefused, match="removed already"):
        desk.items.propose_removal(again["seq"], "x", actor=INES)
    desk.journal.verify()


@pytest.mark.acceptance
def test_the_owner_in_a_proposal_to_carry_comes_first(desk: Workspace) -> None:
    item = next(iter(desk.open_items("2026-10").blocking))
    desk.items.assign(item.item_id, owner="marie", actor=INES)
    carry_all(desk, "2026-10")
    assert desk.open_items("2026-10").by_id[item.item_id].owner == "carla"
    with pytest.raises(ActionRefused, match="with the owner carla"):
        desk.items.assign(item.item_id, owner="marie", actor=INES)
    large = desk.items.list("2026-10", owner="CARLA", min_amount=40_000).arrow.to_pylist()
    assert large
    assert all(abs(row["amount"]) >= 40_000 for row in large)
    assert "none of these" in run(desk, "items", "list", "2026-10", "--owner", "marie")
    notes = run(desk, "items", "list", "2026-10", "--owner", "marie", stream="stderr")
    assert notes.startswith("no item has the owner 'marie'; the owners are carla")


@pytest.mark.acceptance
def test_the_pack_carries_the_bytes_and_verification_checks_them(desk: Workspace) -> None:
    pack = desk.close("2026-10").folder
    files = sorted(path.name for path in (pack / "attachments").iterdir())
    rows = desk.items.files().arrow.to_pylist()
    assert files == sorted({f"{row['sha256']}.{row['kind']}" for row in rows})
    page = (pack / "report.html").read_text()
    assert "a &lt;b&gt;$5.pdf" in page
    assert "<b>$5" not in page
    evidence, findings = read_sealed(pack)
    assert findings == []
    table = pq.read_table(pack / "tables" / "item_attachments.parquet")
    assert [*wrong_attachments(evidence, table)] == []
    # Changed bytes of a file, and a file that was not attached, are found.
    forged = msgspec.structs.replace(
        evidence,
        files=evidence.files | {f"attachments/{name}": "f" * 64 for name in (files[0], "x.pdf")},
    )
    assert [finding.what for finding in wrong_attachments(forged, table)] == [
        f"attachments/{files[0]}", "attachments/x.pdf",
    ]  # fmt: skip

    def sealed_again() -> list[str]:
        listed = {
            name: digest for name, digest in evidence.files.items() if (pack / name).is_file()
        }
        forged = msgspec.structs.replace(evidence, files=listed).sealed()
        (pack / EVIDENCE).write_bytes(encode(forged))
        return [finding.what for finding in desk.verify_pack(pack).findings]

    name = f"attachments/{files[0]}"
    # A file that was not removed is missing from the pack.
    (pack / name).rename(pack.parent / "aside")
    assert sealed_again() == [name]
    # Two people removed it, so it may be missing.
    sha256 = files[0].partition(".")[0]
    desk.items.propose_removal(sha256, "wrong file", actor=INES)
    desk.items.accept_removal(sha256, actor=JONAS)
    assert sealed_again() == []
