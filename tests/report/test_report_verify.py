"""A pack verified alone and with its workspace; changes are found and named."""

from __future__ import annotations

import hashlib
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from signed import close_month

from treasury.cli import treasury
from treasury.close.evidence import Evidence, code_of, encode
from treasury.core.errors import ActionRefused, InputError
from treasury.journal import Actor
from treasury.report.excel import answer_tables
from treasury.report.pack.pack_contents import EVIDENCE, is_apart
from treasury.report.pack.pack_verification import verify_pack
from treasury.report.pictures import month_figures
from treasury.statements import STATEMENT_ENTRIES
from treasury.workspace import Workspace

WHY = "carried forward, see the list"
BOOKS = "account,currency,balance\nBE45539951876689,EUR,251686.06\n"


def copied(workspace: Workspace, folder: Path) -> Workspace:
    shutil.copytree(workspace.folder, folder)
    return Workspace(folder)


@pytest.fixture(scope="module")
def desk(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a workspace with October closed with a ledger, for reading and copying only."""
    folder = tmp_path_factory.mktemp("packs")
    desk = copied(month_end, folder / "desk")
    (folder / "ledger.csv").write_text(BOOKS)
    close_month(desk, "2026-10", ledger=folder / "ledger.csv")
    desk.close("2026-10")
    return desk


@pytest.fixture(scope="module")
def pack(desk: Workspace) -> Path:
    return desk.folder / "close" / "2026-10"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.acceptance
def test_a_pack_holds_by_itself_and_with_its_workspace(desk: Workspace, pack: Path) -> None:
    alone = verify_pack(pack)
    assert (alone.findings, alone.notes) == ((), ())
    both = desk.verify_pack(pack)
    assert (both.findings, both.notes) == ((), ())


@pytest.mark.acceptance
def test_the_evidence_names_the_inputs_of_the_close_and_every_file(
    desk: Workspace, pack: Path
) -> None:
    told = msgspec.json.decode((pack / EVIDENCE).read_bytes(), type=Evidence)
    period = desk.periods.get("2026-10")
    assert (told.lake.commit, told.lake.at) == (period.close.commit, period.close.known_at)
    assert told.period == period
    assert told.journal is not None
    desk.journal.verify(told.journal)
    assert (told.rules_hash, told.rules) == (period.close.rules_hash, period.close.rules)
    assert told.code == code_of()
    # These are the month's files and those of September, which prove the opening balances.
    own = [path for path in (desk.folder / "bank").iterdir() if path.stem[-7:] >= "2026-09"]
    assert told.bank_files == {path.name: sha256(path.read_bytes()) for path in own}
    assert told.ledger == {"file_name": "ledger.csv", "sha256": sha256(BOOKS.encode())}
    made = {name: sha256(content) for name, content in files_of(pack).items()}
    del made[EVIDENCE]
    assert told.files | told.apart == made


@pytest.mark.acceptance
def test_every_table_that_the_page_shows_is_there_as_parquet(desk: Workspace, pack: Path) -> None:
    closing = desk.periods.month("2026-10")
    for name, table in answer_tables(closing).items():
        assert pq.read_table(pack / "tables" / f"{name}.parquet").equals(table), name
    fees = pq.read_table(pack / "tables" / "fees.parquet")
    assert fees.equals(closing.fees.requests.arrow)
    assert set(fees["finding"].to_pylist()) == {"as expected"}


@pytest.mark.acceptance
def test_a_pack_is_checked_far_from_its_workspace(pack: Path, tmp_path: Path) -> None:
    away = shutil.copytree(pack, tmp_path / "away")
    assert verify_pack(away).holds


@pytest.mark.acceptance
def test_a_pack_is_verified_in_any_folder(pack: Path, tmp_path: Path) -> None:
    shutil.copytree(pack, tmp_path / "close x of 2026, 41")
    odd = shutil.copytree(pack, tmp_path / "close [x] of 202*, %41?")
    assert verify_pack(odd).holds
    assert verify_pack(shutil.copytree(pack, tmp_path / "close ? of 2026, 41")).holds


def told_of(folder: Path) -> list[str]:
    """Return the subjects of the findings, or `EVIDENCE` if the evidence cannot be read."""
    try:
        return [one.what for one in verify_pack(folder).findings]
    except InputError:
        return [EVIDENCE]


@pytest.mark.acceptance
def test_a_changed_byte_of_any_file_is_found_and_its_file_named(pack: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(pack, tmp_path / "copy")
    for name, content in files_of(pack).items():
        for place in (0, len(content) // 2, len(content) - 1):
            changed = bytearray(content)
            changed[place] ^= 1
            (copy / name).write_bytes(changed)
            assert name in told_of(copy), (name, place)
        (copy / name).write_bytes(content)
    assert verify_pack(copy).holds


def test_a_file_that_is_missing_or_added_is_found(pack: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(pack, tmp_path / "copy")
    (copy / "journal.csv").unlink()
    (copy / "tables" / "more.parquet").write_bytes(b"")
    (copy / "link").symlink_to(pack)
    told = {one.what: one.problem for one in verify_pack(copy).findings}
    assert told == {
        "journal.csv": "is missing",
        "tables/more.parquet": "does not belong to the pack",
        "link": "is a link",
    }


def resealed(folder: Path, **changed: object) -> None:
    """Change the evidence and seal it again."""
    evidence = msgspec.json.decode((folder / EVIDENCE).read_bytes(), type=Evidence)
    made = msgspec.structs.replace(evidence, **changed).sealed()
    (folder / EVIDENCE).write_bytes(encode(made))


@pytest.mark.acceptance
def test_a_page_changed_with_its_evidence_is_not_reproduced(pack: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(pack, tmp_path / "copy")
    page = (copy / "report.html").read_bytes().replace(b"EUR", b"USD")
    (copy / "report.html").write_bytes(page)
    evidence = msgspec.json.decode((copy / EVIDENCE).read_bytes(), type=Evidence)
    files = evidence.files | {"report.html": hashlib.sha256(page).hexdigest()}
    resealed(copy, files=files)
    assert [one.what for one in verify_pack(copy).findings] == ["report.html"]


@pytest.mark.acceptance
def test_the_signer_is_compared_with_the_journal(
    desk: Workspace, pack: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(pack, tmp_path / "copy")
    evidence = msgspec.json.decode((copy / EVIDENCE).read_bytes(), type=Evidence)
    assert evidence.period is not None
    close = msgspec.structs.replace(evidence.period.close, reviewed_by="carl")
    resealed(copy, period=msgspec.structs.replace(evidence.period, close=close))
    # The page in the pack still names bert.
    assert not verify_pack(copy).holds
    found = desk.verify_pack(copy)
    assert not found.holds


@pytest.mark.acceptance
def test_a_closed_month_is_reproduced_after_later_data_and_decisions(
    desk: Workspace, pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_of(pack)
    later = copied(desk, tmp_path / "later")
    with later.lake.writer("sync", datetime(2026, 11, 20, 9, tzinfo=UTC)):
        pass
    others = later.lake.snapshot().sql(
        "SELECT * EXCLUDE (vanished_at, content_hash, valid_from) FROM statement_entries"
        " WHERE booking_date = DATE '2026-10-14' LIMIT 1"
    )
    name = others.schema.get_field_index("entry_id")
    others = others.set_column(name, "entry_id", pa.array(["e-later"]))
    with later.lake.writer("statements", datetime(2026, 11, 21, 9, tzinfo=UTC)) as writer:
        writer.upsert(STATEMENT_ENTRIES, others.cast(STATEMENT_ENTRIES.row_schema))
    monkeypatch.setenv("TREASURY_USER", "carl")
    later.funding.marked_sent(later.awaiting_funds().arrow["request"][0].as_py(), "by phone")
    assert later.reconcile("2026-10").lines.arrow.equals(desk.reconcile("2026-10").lines.arrow)
    assert len(later.periods.late("2026-10")) == 1
    again = files_of(later.close("2026-10", tmp_path / "again").folder)
    assert set(again) == set(before)
    assert [name for name, content in again.items() if content != before[name]] == []


def test_pictures_and_separate_pages_are_hashed_but_not_reproduced(
    desk: Workspace, pack: Path
) -> None:
    names = month_figures(desk.periods.month("2026-10"))
    drawn = {f"figures/{name}.png" for name in names}
    assert {name for name in files_of(pack) if is_apart(name)} == drawn != set()


@pytest.mark.acceptance
def test_a_pack_of_a_reopened_month_fails_verification(
    desk: Workspace, pack: Path, tmp_path: Path
) -> None:
    later = copied(desk, tmp_path / "later")
    later.periods.reopen("2026-10", "a statement was wrong", actor=Actor("bert", "system"))
    found = later.verify_pack(pack)
    assert [one.what for one in found.findings] == ["journal"]


@pytest.mark.acceptance
def test_a_month_that_is_not_closed_has_a_pack_that_holds(
    month_end: Workspace, tmp_path: Path
) -> None:
    desk = copied(month_end, tmp_path / "desk")
    made = desk.close("2026-10")
    assert "not prepared: treasury close 2026-10" in str(made.checklist)
    assert desk.verify_pack(made.folder).findings == ()


def test_the_ledger_of_a_close_is_kept_with_it(desk: Workspace, pack: Path, tmp_path: Path) -> None:
    assert (pack / "inputs" / "ledger.csv").read_text() == BOOKS
    assert "Ledger on 31 October 2026" in (pack / "report.html").read_text()
    with pytest.raises(InputError, match="with the ledger given at its close"):
        desk.close("2026-10", tmp_path / "x", ledger=pack / "inputs" / "ledger.csv")


def test_a_folder_with_other_files_is_not_replaced(month_end: Workspace, tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"thesis\.txt"):
        month_end.close("2026-10", tmp_path / "pack")
    assert (tmp_path / "pack" / "thesis.txt").read_text() == "years of work"


@pytest.mark.acceptance
def test_open_items_block_the_lock_and_nothing_is_written(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    desk = copied(month_end, tmp_path / "desk")
    with pytest.raises(ActionRefused, match="2026-10 is not prepared - prepare it first"):
        desk.close("2026-10", sign=True)
    assert not (desk.folder / "close").exists()
    assert "Suggested: 18, EUR" in desk.close("2026-10").note
    assert desk.journal.entries() == []


@pytest.mark.acceptance
def test_the_command_names_the_differences_and_exits_one(pack: Path, tmp_path: Path) -> None:
    fine = CliRunner().invoke(treasury, ["verify", str(pack)])
    assert fine.exit_code == 0, fine.output
    copy = shutil.copytree(pack, tmp_path / "copy")
    (copy / "close.xlsx").write_bytes(b"x")
    told = CliRunner().invoke(treasury, ["verify", str(copy)])
    assert told.exit_code == 1
    assert "close.xlsx: was changed" in told.output


def test_a_folder_without_evidence_is_not_a_pack(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name the folder of a pack"):
        verify_pack(tmp_path)
    (tmp_path / EVIDENCE).write_text("{}")
    with pytest.raises(InputError, match="get the pack again"):
        verify_pack(tmp_path)
