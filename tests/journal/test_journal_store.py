"""The journal's guarantees: one order, no loss or hidden change, and each nonce used once."""

from __future__ import annotations

import os
import pwd
import sqlite3
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.core.errors import JournalError
from treasury.journal import Actor, Head, Journal, current_actor
from treasury.journal.decision_log import read_decided

ANNA = Actor("anna", "environment")
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "desk", now=lambda: NOON)


def edited(tmp_path: Path, *statements: str) -> None:
    """Change the file as in an SQLite shell."""
    with sqlite3.connect(tmp_path / "desk" / "journal.sqlite") as connection:
        connection.execute("DROP TRIGGER entries_no_update")
        connection.execute("DROP TRIGGER entries_no_delete")
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_entries_are_returned_unchanged(journal: Journal) -> None:
    body = {"amount": Decimal("25000.10"), "when": NOON, "lines": ["a", None], "version": 3}
    added = journal.append("match.accept", "line-1", body, actor=ANNA, nonce="n1")
    journal.append("match.reject", "line-2", {}, actor=ANNA)
    assert added.body == {
        "amount": "25000.10",
        "when": "2026-11-02T12:00:00Z",
        "lines": ["a", None],
        "version": 3,
    }
    assert (added.seq, added.at, added.actor, added.nonce) == (1, NOON, ANNA, "n1")
    assert journal.entries()[0] == added
    assert [e.seq for e in journal.entries("match.reject")] == [2]
    assert [e.seq for e in journal.entries("match.")] == [1, 2]
    assert [e.seq for e in journal.entries(subject="line-1")] == [1]
    assert journal.entries("match") == []


def test_reading_a_missing_journal_creates_nothing(journal: Journal, tmp_path: Path) -> None:
    assert journal.entries() == []
    assert journal.head() == journal.verify() == Head(0, "0" * 64)
    assert not (tmp_path / "desk").exists()


def test_no_entry_is_earlier_than_the_one_before_it(tmp_path: Path) -> None:
    noon = datetime(2026, 11, 2, 12, tzinfo=UTC)
    clock = iter([noon, noon - timedelta(hours=1), noon + timedelta(hours=1)])
    journal = Journal(tmp_path, now=lambda: next(clock))
    for _ in range(3):
        journal.append("x", "y", {}, actor=ANNA)
    assert [entry.at for entry in journal.entries()] == [noon, noon, noon + timedelta(hours=1)]


def test_entries_of_several_kinds_come_in_their_order(journal: Journal) -> None:
    for kind in ("match.accept", "rules.saved", "action.done", "match.undo"):
        journal.append(kind, kind, {}, actor=ANNA)
    several = journal.entries(("action.", "match."))
    assert [entry.kind for entry in several] == ["match.accept", "action.done", "match.undo"]
    assert journal.entries(()) == []


def test_decisions_are_read_at_once_and_actions_separately(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("match.accept", "action.done", "note.other", "period.close"):
        journal.append(kind, kind, {}, actor=ANNA)
    head, reads, real = journal.head(), list[object](), Journal._rows
    monkeypatch.setattr(
        Journal, "_rows", lambda one, query: (reads.append(query), real(one, query))[1]
    )
    decided = read_decided(journal, head=head)
    assert len(reads) == 1
    assert [entry.kind for entry in decided.entries] == ["match.accept", "period.close"]
    assert [entry.kind for entry in decided.acts] == ["action.done"]


def test_a_float_is_refused(journal: Journal) -> None:
    with pytest.raises(JournalError, match=r"0\.1 is not an exact value"):
        journal.append("x", "y", {"deep": [{"amount": 0.1}]}, actor=ANNA)
    assert journal.entries() == []


@pytest.mark.parametrize(
    ("statements", "found"),
    [
        (["UPDATE entries SET body = '{\"n\":9}' WHERE seq = 2"], "entry 2 was changed"),
        (["UPDATE entries SET actor = 'bert' WHERE seq = 3"], "entry 3 was changed"),
        (["UPDATE entries SET nonce = 'n' WHERE seq = 1"], "entry 1 was changed"),
        (["DELETE FROM entries WHERE seq = 2"], "entry 2 is missing"),
        (["DELETE FROM entries WHERE seq = 1"], "entry 1 is missing"),
        (
            [
                "UPDATE entries SET seq = 99 WHERE seq = 2",
                "UPDATE entries SET seq = 2 WHERE seq = 3",
                "UPDATE entries SET seq = 3 WHERE seq = 99",
            ],
            "entry 2 does not follow",
        ),
        (
            [
                "DELETE FROM entries WHERE seq = 2",
                "UPDATE entries SET seq = 2 WHERE seq = 3",
                "UPDATE entries SET seq = 3 WHERE seq = 4",
            ],
            "entry 2 does not follow",
        ),
    ],
)
def test_an_edit_a_removal_and_a_move_are_detected(
    journal: Journal, tmp_path: Path, statements: list[str], found: str
) -> None:
    for number in range(4):
        journal.append("x", "y", {"n": number}, actor=ANNA)
    assert journal.verify() == journal.head()
    edited(tmp_path, *statements)
    with pytest.raises(JournalError, match=found):
        journal.verify()


def test_a_truncation_at_the_end_is_detected_by_a_noted_head(
    journal: Journal, tmp_path: Path
) -> None:
    for number in range(3):
        journal.append("x", "y", {"n": number}, actor=ANNA)
    noted = journal.head()
    journal.append("x", "y", {}, actor=ANNA)
    assert journal.verify(noted).seq == 4
    edited(tmp_path, "DELETE FROM entries WHERE seq >= 3")
    with pytest.raises(JournalError, match="entry 4 was noted here"):
        journal.verify()
    (tmp_path / "desk" / "journal.end").unlink()
    assert journal.verify().seq == 2
    with pytest.raises(JournalError, match="entry 3 was noted"):
        journal.verify(noted)


facts = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@pytest.mark.acceptance
@given(body=st.dictionaries(st.text(max_size=5), facts), subject=st.text(max_size=5))
@settings(max_examples=25)
def test_arbitrary_facts_keep_the_chain_valid(
    tmp_path_factory: pytest.TempPathFactory, body: dict[str, Any], subject: str
) -> None:
    journal = Journal(tmp_path_factory.mktemp("journal"))
    added = [journal.append("k", subject, body, actor=ANNA).hash for _ in range(2)]
    assert journal.entries()[0].body == body
    assert journal.verify() == Head(2, added[1])


@pytest.mark.acceptance
def test_threads_add_to_one_chain(journal: Journal) -> None:
    def add(name: str) -> None:
        for number in range(5):
            journal.append("x", name, {"n": number}, actor=ANNA)

    threads = [threading.Thread(target=add, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert journal.verify().seq == 20


@pytest.mark.acceptance
def test_processes_append_to_one_chain_and_only_one_wins_a_nonce(
    journal: Journal, tmp_path: Path
) -> None:
    script = (
        "import sys; from pathlib import Path; from treasury.journal import Actor, Journal\n"
        "from treasury.core.errors import ActionRefused\n"
        "journal, actor = Journal(Path(sys.argv[1])), Actor('p', 'system')\n"
        "for n in range(5): journal.append('x', sys.argv[2], {}, actor=actor)\n"
        "try: journal.append('x', 'y', {}, actor=actor, nonce='one')\n"
        "except ActionRefused: print('refused')\n"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "desk"), str(number)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    said = [run.communicate(timeout=60)[0] for run in runs]
    assert sorted(said) == ["", "refused\n", "refused\n"]
    assert journal.verify().seq == 16


def test_a_file_that_is_not_a_journal_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").write_bytes(b"not a database" * 100)
    with pytest.raises(JournalError, match="cannot be used"):
        Journal(tmp_path).entries()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(JournalError, match="cannot be used"):
        Journal(tmp_path / "file" / "desk").append("x", "y", {}, actor=ANNA)


def test_an_invalid_address_does_not_show_its_password() -> None:
    with pytest.raises(JournalError, match="a shared journal needs PostgreSQL") as caught:
        Journal("nosuchdatabase://anna:topsecret@host/name")
    assert "topsecret" not in str(caught.value)


def test_a_url_is_accepted(tmp_path: Path) -> None:
    journal = Journal(f"sqlite:///{tmp_path / 'other.db'}")
    journal.append("x", "y", {}, actor=ANNA)
    assert (tmp_path / "other.db").exists()


def test_a_name_from_the_environment_is_claimed_and_the_default_is_the_system_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", "hubert")
    monkeypatch.setenv("TREASURY_USER", "enya")
    assert current_actor() == Actor("hubert", "environment", "claimed")
    monkeypatch.delenv("JUPYTERHUB_USER")
    assert current_actor() == Actor("enya", "environment", "claimed")
    monkeypatch.setenv("TREASURY_USER", " ")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "jonas")
    own = pwd.getpwuid(os.getuid()).pw_name
    assert current_actor() == Actor(own, "system", "verified")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(JournalError, match="who is deciding"):
        current_actor()
