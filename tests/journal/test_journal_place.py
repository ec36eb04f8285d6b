"""The journal's location: in the workspace folder, or in a shared database."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.postgres_server import Server
from treasury.core.errors import JournalError, SettingsError
from treasury.core.settings import load_settings
from treasury.journal import Actor
from treasury.workspace import Workspace

DESK = '[workspace]\ncompany = "Harbour"\nenvironment = "sandbox"\n'


def desk(folder: Path, text: str = "") -> Workspace:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "treasury.toml").write_text(DESK + text, "utf-8")
    return Workspace(folder)


def test_the_default_journal_is_in_the_workspace(tmp_path: Path) -> None:
    desk(tmp_path).journal.append("x", "y", {}, actor=Actor("anna", "hub"))
    assert (tmp_path / "journal.sqlite").is_file()


@pytest.mark.acceptance
def test_two_desks_share_a_journal_in_postgresql(postgresql: Server, tmp_path: Path) -> None:
    text = f'[journal]\nurl = "{postgresql.new_url()}"\n'
    one, other = desk(tmp_path / "one", text).journal, desk(tmp_path / "other", text).journal
    one.append("x", "y", {}, actor=Actor("anna", "hub"))
    other.append("x", "z", {}, actor=Actor("bert", "hub"))
    assert [entry.subject for entry in one.entries()] == ["y", "z"]
    assert one.verify() == other.verify()
    one.close()
    other.close()


def test_a_password_is_read_from_its_configured_place_and_not_from_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match=r"journal\.url holds a password") as caught:
        desk(tmp_path, '[journal]\nurl = "postgresql+psycopg://a:topsecret@h/d"\n')
    assert "topsecret" not in str(caught.value)
    apart = '[journal]\nurl = "postgresql+psycopg://a@h/d"\npassword = "env:TREASURY_SECRET"\n'
    workspace = desk(tmp_path, apart)
    with pytest.raises(SettingsError, match="no secret for the journal: environment variable TRE"):
        _ = workspace.journal
    monkeypatch.setenv("TREASURY_SECRET", "topsecret")
    place = load_settings(tmp_path).journal
    assert place is not None
    secret = place.secret()
    assert secret is not None
    assert (secret.reveal(), repr(secret)) == ("topsecret", "Secret(…)")
    (tmp_path / "nowhere").mkdir()
    gone = f'[journal]\nurl = "postgresql+psycopg://a@/d?host={tmp_path}/nowhere"\n'
    with pytest.raises(JournalError, match="cannot be used") as failed:
        desk(tmp_path / "other", gone + 'password = "env:TREASURY_SECRET"\n').journal.entries()
    assert "topsecret" not in str(failed.value)
