"""Files in the inbox are read once they are complete, and then moved to `done` or `refused`."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from notice_servers import endpoint

from treasury.cli.commands.practice import prepare
from treasury.core.errors import InputError, SettingsError, StorageError, WorkspaceLocked
from treasury.core.settings import FILE_NAME
from treasury.sandbox import Sandbox
from treasury.statements import AddReport
from treasury.workspace import Workspace
from treasury.workspace.upkeep.inbox import STILL, Inbox, InboxLook, _plain_name
from treasury.workspace.upkeep.watch import PartState
from treasury.workspace.upkeep.watch_health import watch_findings

STATEMENT = "camt053_BE45539951876689_2026-10.xml"
Begun = Callable[..., "Practice"]


class Practice:
    """A workspace with an inbox; the inbox's clock moves only when the test looks."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder)
        self.inbox = self.workspace.inbox
        self.place = self.inbox.folder
        self.seconds = 0.0
        self.inbox._seconds = lambda: self.seconds

    def look(self, later: float = STILL) -> InboxLook:
        """Advance the clock and look at the inbox."""
        self.seconds += later
        return self.inbox.look()

    def take(self) -> InboxLook:
        """Look twice, so that unchanged files count as complete."""
        self.look()
        return self.look()

    def names(self, place: str) -> list[str]:
        return sorted(path.name for path in (self.place / place).iterdir())


@pytest.fixture
def bank(month_end: Workspace) -> Path:
    return month_end.folder / "bank"


@pytest.fixture
def practice(month_end: Workspace, tmp_path: Path) -> Practice:
    folder = tmp_path / "desk"
    folder.mkdir()
    text = (month_end.folder / FILE_NAME).read_text()
    (folder / FILE_NAME).write_text(f'{text}\n[inbox]\nfolder = "inbox"\n')
    (folder / "inbox").mkdir()
    return Practice(folder)


@pytest.mark.acceptance
def test_a_file_is_added_once_and_moved_to_done(practice: Practice, bank: Path) -> None:
    shutil.copy(bank / STATEMENT, practice.place)
    assert practice.look() == InboxLook(waiting=(STATEMENT,))
    assert practice.look() == InboxLook(added=(STATEMENT,))
    assert practice.names("done") == [STATEMENT]
    entries = practice.workspace.table("statement_entries").arrow.num_rows
    assert entries > 0
    shutil.copy(bank / STATEMENT, practice.place)
    assert practice.take().added == (STATEMENT,)
    assert practice.workspace.table("statement_entries").arrow.num_rows == entries
    assert practice.names("done") == [STATEMENT.replace(".xml", "-2.xml"), STATEMENT]
    assert practice.look() == InboxLook()


def test_an_unreadable_file_is_refused_with_a_reason_next_to_it(practice: Practice) -> None:
    (practice.place / "bad.xml").write_text("<Document>\x1b[2J")
    assert practice.take() == InboxLook(refused=("bad.xml",))
    assert practice.names("refused") == ["bad.xml", "bad.xml.reason.txt"]
    reason = (practice.place / "refused" / "bad.xml.reason.txt").read_text()
    assert "bad.xml" in reason
    assert "\x1b" not in reason
    (practice.place / "bad.xml").write_text("<Document>")
    practice.take()
    assert len(practice.names("refused")) == 4


@pytest.mark.acceptance
def test_a_bad_file_does_not_stop_the_others(practice: Practice, bank: Path) -> None:
    for name in ("a.xml", "z.xml"):
        (practice.place / name).write_text("<Document>")
    shutil.copy(bank / STATEMENT, practice.place)
    assert practice.take() == InboxLook(added=(STATEMENT,), refused=("a.xml", "z.xml"))


@pytest.mark.acceptance
def test_a_growing_file_is_read_only_when_it_stops_growing(practice: Practice, bank: Path) -> None:
    content, path = (bank / STATEMENT).read_bytes(), practice.place / STATEMENT
    for end in range(1, 5):
        path.write_bytes(content[: len(content) * end // 5])
        assert practice.look() == InboxLook(waiting=(STATEMENT,))
    path.write_bytes(content)
    assert practice.look() == InboxLook(waiting=(STATEMENT,))
    assert practice.look(STILL / 2) == InboxLook(waiting=(STATEMENT,))
    assert practice.look(STILL / 2) == InboxLook(added=(STATEMENT,))


def test_a_file_being_rewritten_at_the_same_size_is_not_read(practice: Practice) -> None:
    path = practice.place / "x.xml"
    for moment in range(3):
        path.write_text("<Document>")
        os.utime(path, ns=(moment, moment))
        assert practice.look() == InboxLook(waiting=("x.xml",))


@pytest.mark.parametrize("name", ["x.xml.part", "x.xml.tmp", "x.filepart", "x.xml~", "X.XML.TMP"])
def test_files_with_names_of_unfinished_downloads_are_skipped(
    practice: Practice, name: str
) -> None:
    (practice.place / name).write_text("<Document>")
    practice.take()
    assert practice.look() == InboxLook(waiting=(name,))


def test_hidden_files_and_folders_are_skipped(practice: Practice) -> None:
    (practice.place / ".x.xml").write_text("<Document>")
    (practice.place / "deep").mkdir()
    (practice.place / "deep" / "x.xml").write_text("<Document>")
    practice.take()
    assert practice.look() == InboxLook()
    assert (practice.place / "deep" / "x.xml").is_file()


def test_links_are_not_followed_and_only_regular_files_are_opened(
    practice: Practice, bank: Path
) -> None:
    (practice.place / "link.xml").symlink_to(bank / STATEMENT)
    os.mkfifo(practice.place / "pipe.xml")
    assert practice.take() == InboxLook(refused=("link.xml", "pipe.xml"))
    refused = practice.place / "refused"
    assert (refused / "link.xml").is_symlink()
    assert "is a link" in (refused / "link.xml.reason.txt").read_text()
    assert (bank / STATEMENT).is_file()


@pytest.mark.acceptance
def test_a_file_without_read_permission_is_refused_and_does_not_stop_the_others(
    practice: Practice, bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.statements import file_sources

    opened = file_sources.open_regular

    def barred(path: Path) -> Any:
        if path.name == "barred.xml":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return opened(path)

    monkeypatch.setattr(file_sources, "open_regular", barred)
    (practice.place / "barred.xml").write_text("<Document>")
    shutil.copy(bank / STATEMENT, practice.place)
    assert practice.take() == InboxLook(added=(STATEMENT,), refused=("barred.xml",))
    reason = practice.place / "refused" / "barred.xml.reason.txt"
    assert "Permission denied" in reason.read_text()


@pytest.mark.parametrize("name", ["done", "refused", ".reading"])
def test_a_linked_inbox_folder_is_not_written_to(
    practice: Practice, tmp_path: Path, name: str
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (practice.place / name).symlink_to(precious)
    (practice.place / "x.xml").write_text("<Document>")
    with pytest.raises(StorageError, match="is not a folder"):
        practice.take()
    assert list(precious.iterdir()) == []


def test_hostile_names_are_changed_to_printable_ones(practice: Practice) -> None:
    names = [
        b"a\nb\x1b[2J.xml",
        b"\xff\xfe.xml",
        "\u202elmx.exe".encode(),
        b"x" * 250,
        b"a;rm -rf.xml",
    ]
    for name in names:
        with open(os.path.join(os.fsencode(practice.place), name), "w") as file:
            file.write("<Document>")
    look = practice.take()
    assert len(look.refused) == len(names)
    assert all(name.isprintable() and len(name.encode()) <= 200 for name in look.refused)


@given(st.text(min_size=1, max_size=300))
def test_plain_name_always_returns_a_safe_name(name: str) -> None:
    plain = _plain_name(name)
    assert plain not in {"", ".", ".."}
    assert not plain.startswith(".")
    assert "/" not in plain
    assert plain.isprintable()
    assert len(plain.encode()) <= 180


@pytest.mark.acceptance
def test_a_storage_error_or_a_lock_leaves_the_file_for_a_retry(
    practice: Practice, bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(bank / STATEMENT, practice.place)
    practice.look()
    add, tries = practice.inbox._add, [WorkspaceLocked("somebody writes")]

    def locked(path: Path) -> AddReport:
        if tries:
            raise tries.pop()
        return add(path)

    monkeypatch.setattr(practice.inbox, "_add", locked)
    with pytest.raises(WorkspaceLocked):
        practice.look()
    assert practice.names("done") == []
    assert practice.look() == InboxLook(added=(STATEMENT,))


@pytest.mark.acceptance
def test_a_file_taken_by_a_killed_look_is_read_by_the_next(practice: Practice, bank: Path) -> None:
    (practice.place / ".reading").mkdir()
    shutil.copy(bank / STATEMENT, practice.place / ".reading")
    assert practice.look() == InboxLook(added=(STATEMENT,))


LOOKS = """
import itertools, sys
from pathlib import Path
from treasury.workspace.upkeep.inbox import Inbox
from treasury.workspace import Workspace
desk = Workspace(Path(sys.argv[1]))
print("begun", flush=True)
inbox = Inbox(Path(sys.argv[2]), desk.statements.add, itertools.count(0, 60).__next__)
while (look := inbox.look()).added or look.waiting:
    assert not look.refused
"""


@pytest.mark.acceptance
def test_killed_at_any_moment_every_file_is_added_once(practice: Practice, bank: Path) -> None:
    drawn, names = Random(18), sorted(path.name for path in bank.glob("*_2026-10.xml"))
    for name in names:
        shutil.copy(bank / name, practice.place)
    command = [sys.executable, "-c", LOOKS, practice.workspace.folder, practice.place]
    for kill in (True,) * 5 + (False,):
        with subprocess.Popen(command, stdout=subprocess.PIPE) as looking:
            assert looking.stdout is not None
            assert looking.stdout.readline() == b"begun\n"
            if kill:
                time.sleep(drawn.uniform(0, 0.6))
                looking.kill()
        assert kill or looking.returncode == 0
    assert practice.names("done") == names
    assert practice.names("refused") == practice.names(".reading") == []
    stored = practice.workspace.sql("SELECT DISTINCT file_name FROM statements").arrow.to_pylist()
    assert sorted(row["file_name"] for row in stored) == names


def test_a_file_moved_by_a_killed_look_is_not_moved_twice(practice: Practice, bank: Path) -> None:
    shutil.copy(bank / STATEMENT, practice.place)
    practice.take()
    os.link(practice.place / "done" / STATEMENT, practice.place / ".reading" / STATEMENT)
    assert practice.look() == InboxLook()
    assert (practice.names("done"), practice.names(".reading")) == ([STATEMENT], [])


@pytest.mark.acceptance
def test_a_renamed_file_moved_by_a_killed_look_is_not_moved_twice(
    practice: Practice, bank: Path
) -> None:
    shutil.copy(bank / STATEMENT, practice.place)
    practice.take()
    numbered = STATEMENT.replace(".xml", "-2.xml")
    shutil.copy(bank / STATEMENT, practice.place / "done" / numbered)
    os.link(practice.place / "done" / numbered, practice.place / ".reading" / STATEMENT)
    assert practice.look() == InboxLook()
    assert (practice.names("done"), practice.names(".reading")) == ([numbered, STATEMENT], [])


@pytest.mark.parametrize(
    "folder", [".", "", "..", "/", "inbox/..", "lake", "close/in", "link", "a\\u0000"]
)
def test_an_inbox_that_contains_the_workspace_is_refused(practice: Practice, folder: str) -> None:
    settings = practice.workspace.folder / FILE_NAME
    (settings.parent / "link").symlink_to(settings.parent)
    settings.write_text(settings.read_text().replace('folder = "inbox"', f'folder = "{folder}"'))
    workspace = Workspace(settings.parent)
    with pytest.raises(SettingsError, match=r"inbox\.folder"):
        _ = workspace.inbox
    (finding,) = watch_findings(workspace.folder, workspace.settings)
    assert (finding.state, "inbox.folder" in finding.what) == ("missing", True)


def test_an_unproved_statement_is_moved_to_done_with_a_note(practice: Practice, bank: Path) -> None:
    text = (bank / STATEMENT).read_text()
    at = text.index('<Amt Ccy="EUR">') + len('<Amt Ccy="EUR">')
    (practice.place / "off.xml").write_text(f"{text[:at]}1{text[at:]}")
    assert practice.take().added == ("off.xml",)
    assert "NOT PROVED off.xml" in (practice.place / "done" / "off.xml.reason.txt").read_text()


def test_a_missing_folder_and_a_missing_setting_are_reported(
    practice: Practice, month_end: Workspace
) -> None:
    practice.place.rmdir()
    with pytest.raises(StorageError, match="is not a folder"):
        practice.look()
    with pytest.raises(SettingsError, match="names no inbox"):
        _ = month_end.inbox
    with pytest.raises(InputError, match="cannot read its inbox"):
        _ = practice.workspace.at("2026-11-02T09:00Z").inbox


def test_two_desks_at_one_inbox_take_each_file_once(tmp_path: Path) -> None:
    taken: list[str] = []

    def add(path: Path) -> AddReport:
        taken.append(path.name)
        if len(taken) == 1:
            assert Inbox(tmp_path, add, lambda: 0.0).look() == InboxLook()
        return AddReport((), 0, 0, 0, ())

    (tmp_path / "x.xml").write_text("x")
    clock = iter((0.0, STILL))
    inbox = Inbox(tmp_path, add, lambda: next(clock))
    inbox.look()
    assert inbox.look().added == ("x.xml",)
    assert taken == ["x.xml"]


@pytest.mark.acceptance
def test_a_file_is_added_while_a_long_sync_waits_for_the_services(
    tmp_path: Path, bank: Path
) -> None:
    company = Sandbox()
    with company.serve() as served:
        workspace = prepare(tmp_path / "desk", company, served)
        settings = workspace.folder / FILE_NAME
        settings.write_text(f'{settings.read_text()}\n[inbox]\nfolder = "inbox"\n')
        workspace.close_clients()
        workspace = Workspace(workspace.folder)
        (workspace.folder / "inbox").mkdir()
        # A minute passes in a second.
        workspace.inbox._seconds = lambda: time.monotonic() * 60
        company.faults.add("/ramp/v1/ramp-requests", delay=5, times=3)
        parts: list[str] = []

        def tell(state: PartState) -> None:
            assert not state.error
            if state.name == "inbox" and not parts:
                shutil.copy(bank / STATEMENT, workspace.inbox.folder)
            parts.append(f"{state.name}: {state.brought}" if state.name == "inbox" else state.name)

        workspace.watch(every=timedelta(seconds=1), wait=lambda _: "sync" in parts, tell=tell)
        workspace.close_clients()
    assert "inbox: 1 added" in parts[: parts.index("sync")]
    assert [path.name for path in (workspace.inbox.folder / "done").iterdir()] == [STATEMENT]
    kinds = workspace.lake.commits()["kind"].to_pylist()
    assert kinds == ["statements", "sync"]
    assert workspace.table("statement_entries").arrow.num_rows > 0
    assert workspace.table("ramp_requests").arrow.num_rows > 0


@pytest.mark.acceptance
def test_watch_in_a_shell_adds_a_file_sends_notices_and_ends_on_sigterm(
    practice: Practice, bank: Path
) -> None:
    settings = practice.workspace.folder / FILE_NAME
    # Nothing listens at this address, so the services are unreachable.
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    lines = [
        line if "url" not in line else f'{line.partition("=")[0]}= "{address}/x"'
        for line in settings.read_text().splitlines()
    ]
    shutil.copy(bank / STATEMENT, practice.place)
    command = [sys.executable, "-m", "treasury.cli", "-w", str(settings.parent), "watch"]
    names = {"TREASURY_MAKER_SECRET": "x", "TREASURY_USER": "ines"}
    with endpoint() as hook:
        webhook = f'[notices.webhooks.desk]\nurl = "{hook.url}"\n'
        settings.write_text("\n".join([*lines, webhook]))
        with subprocess.Popen(
            [*command, "--every", "1s"], env=os.environ | names, stdout=subprocess.PIPE, text=True
        ) as watching:
            until = time.monotonic() + 90
            while not hook.posts and watching.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            watching.send_signal(signal.SIGTERM)
            said, _ = watching.communicate(timeout=60)
    assert watching.returncode == 0, said
    assert (practice.place / "done" / STATEMENT).is_file()
    assert "inbox: 1 added" in said
    assert "sync failed 1 time" in said
    assert "notices: webhook desk:" in said
    assert said.rstrip().endswith("stopped")
    told = {item["kind"] for item in hook.posts[0]["items"]}
    assert {"not_synced", "statement_missing"} <= told
