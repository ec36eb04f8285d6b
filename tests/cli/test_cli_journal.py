"""The journal's commands for people who do not trust its database: heads, keys, verification."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from signed import BERT, close_month

from treasury.cli import treasury
from treasury.core.errors import InputError, JournalError, StorageError
from treasury.journal import Actor
from treasury.workspace import Workspace

Run = Callable[..., Result]
SETTINGS = '[workspace]\ncompany = "Harbour Lane"\n'


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a workspace, with a separate home folder for its person."""
    folder = tmp_path / "desk"
    folder.mkdir()
    (folder / "treasury.toml").write_text(SETTINGS)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TREASURY_USER", "ines")
    return folder


@pytest.fixture
def run(desk: Path) -> Run:
    def command(*words: str) -> Result:
        arguments = ["--workspace", str(desk), "journal", *words]
        return CliRunner().invoke(treasury, arguments, catch_exceptions=False)

    return command


def decide(desk: Path, subject: str, *, by: str = "ines") -> None:
    Workspace(desk).journal.append("x", subject, {}, actor=Actor(by, "environment"))


def test_a_head_is_printed_stored_and_compared_with_the_journal(
    run: Run, desk: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="the journal is empty"):
        run("head")
    kept = tmp_path / "heads.txt"
    for number in range(3):
        decide(desk, str(number))
        with kept.open("a") as file:
            file.write(run("head").output)
    first = kept.read_text().split()[0]
    said = run("verify", "--heads", str(kept), "--head", first).output
    assert "3 entries, none changed" in said
    assert "contains all 4 ends that were noted elsewhere" in said
    # Without keys, nothing is shown about signatures.
    assert "signed" not in said
    (desk / "journal.sqlite").unlink()
    (desk / "journal.end").unlink()
    # Another journal takes the place of the first one.
    for number in (0, 7, 8):
        decide(desk, str(number))
    assert run("verify").exit_code == 0
    # Even an equal entry has a different hash, because its time differs.
    with pytest.raises(JournalError, match="whose entry 1 was noted"):
        run("verify", "--heads", str(kept))


def test_a_key_is_created_enrolled_and_shown_with_each_entry(run: Run, desk: Path) -> None:
    with pytest.raises(InputError, match="there is no signing key"):
        run("key", "show")
    decide(desk, "before")
    made = run("key", "make")
    public = made.stdout.strip()
    assert public.startswith("ed25519:")
    assert "not enrolled" in run("key", "show").output
    assert "enrolled the key of ines" in run("key", "enrol", "ines", public).output
    assert "enrolled as ines" in run("key", "show").output
    assert f"ines  {public}\n" in run("key", "list").output
    decide(desk, "signed")
    said = run("verify").output
    assert "1 entry unsigned" in said
    assert "1 entry valid, by ines" in said
    rows = json.loads(run("list", "--format", "json").output)
    assert [row["signature"] for row in rows] == ["unsigned", "valid, by ines"]
    assert [row["assurance"] for row in rows] == ["claimed", "claimed"]
    decide(desk, "under another name", by="jonas")
    lied = run("verify")
    assert lied.exit_code == 1
    assert "entry 3: another's key, by ines" in lied.output


def test_a_reader_may_supply_their_own_keys(run: Run, desk: Path, tmp_path: Path) -> None:
    public = run("key", "make").stdout.strip()
    own = tmp_path / "keys.toml"
    own.write_text(f'signed = true\n[keys]\nines = "{public}"\n')
    decide(desk, "signed")
    assert f"1 entry unknown key, by {public}" in run("verify").output
    assert "1 entry valid, by ines" in run("verify", "--keys", str(own)).output
    own.write_text("signed = true\n")
    with pytest.raises(JournalError, match="entry 1 by ines is not signed"):
        run("verify", "--keys", str(own))


@pytest.mark.acceptance
def test_required_signatures_are_checked_for_every_decision(run: Run, desk: Path) -> None:
    decide(desk, "before")
    public = run("key", "make").stdout.strip()
    run("key", "enrol", "ines", public)
    policy = desk / "policy.toml"
    keys = policy.read_text()
    policy.write_text(f"signed = true\n{keys}")
    with pytest.raises(JournalError, match=r"entry 1 by ines .* unsigned .*signed_after"):
        run("verify")
    policy.write_text(f"signed = true\nsigned_after = 1\n{keys}")
    decide(desk, "signed")
    assert run("verify").exit_code == 0
    with closing(sqlite3.connect(desk / "journal.sqlite")) as shell, shell:
        shell.execute("DROP TRIGGER entries_no_update")
        shell.execute("UPDATE entries SET signature = NULL, public_key = NULL WHERE seq = 2")
    with pytest.raises(JournalError, match="entry 2 was changed"):
        run("verify")


@pytest.mark.acceptance
def test_a_close_publishes_the_head_to_the_configured_place(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    shutil.copytree(month_end.folder, tmp_path / "desk")
    heads = tmp_path / "another disk" / "heads.txt"
    settings = tmp_path / "desk" / "treasury.toml"
    settings.write_text(f'{settings.read_text()}\n[journal]\npublish_head = "{heads}"\n')
    desk = Workspace(tmp_path / "desk")
    # The folder of the heads does not exist yet.
    with pytest.raises(StorageError, match="head cannot be written"):
        close_month(desk, "2026-10")
    assert desk.periods.get("2026-10").is_closed
    heads.parent.mkdir()
    # Signing again publishes the head, once.
    desk.periods.sign("2026-10", actor=BERT)
    desk.periods.sign("2026-10", actor=BERT)
    [line] = heads.read_text().splitlines()
    assert line.startswith(f"{desk.journal.head()} ")
    assert line.endswith("close of 2026-10")
    checked = CliRunner().invoke(
        treasury, ["--workspace", str(desk.folder), "journal", "verify", "--heads", str(heads)]
    )
    assert "contains all 1 ends" in checked.output
