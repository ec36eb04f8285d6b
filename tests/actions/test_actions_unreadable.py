"""A journal entry that an edit made unreadable raises an error that names the entry."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from action_practice import MORNING, Practice

from treasury.actions import Actions
from treasury.core.errors import JournalError
from treasury.journal import Journal
from treasury.journal.chain import reads_entries


def edited(practice: Practice, kind: str, **fields: Any) -> tuple[Actions, int]:
    """Change fields of the last entry of a kind; return `Actions` that reread it, and its number.

    The value `REMOVED` removes a field.
    """
    practice.journal.close()
    database = sqlite3.connect(practice.folder / "journal.sqlite")
    database.execute("DROP TRIGGER entries_no_update")
    seq, body = database.execute(
        "SELECT seq, body FROM entries WHERE kind = ? ORDER BY seq DESC", (kind,)
    ).fetchone()
    content = {name: value for name, value in (json.loads(body) | fields).items() if value != ()}
    database.execute("UPDATE entries SET body = ? WHERE seq = ?", (json.dumps(content), seq))
    database.commit()
    database.close()
    journal = Journal(practice.folder, now=lambda: MORNING)
    practice._stack.callback(journal.close)
    return practice.desk("jonas", journal=journal), seq


REMOVED = ()
USES: dict[str, Callable[[Actions, str], Any]] = {
    "list": lambda desk, _: desk.list(),
    "recover": lambda desk, action_id: desk.recover(action_id),
    "again": lambda desk, action_id: desk.again(action_id),
    "execute": lambda desk, action_id: desk.execute(action_id),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("kind", "fields", "problem"),
    [
        ("action.sending", {"left_at": "the day before"}, "Invalid isoformat string"),
        ("action.sending", {"left_at": 5}, "fromisoformat: argument must be str"),
        ("action.sending", {"left_at": REMOVED}, "'left_at' is missing"),
        ("action.sending", {"left_at": "2026-11-02T08:00:00"}, "has no time zone"),
        ("action.sending", {"ids": None}, "Expected `array`, got `null`"),
        ("action.sending", {"boot_milliseconds": REMOVED}, "'boot_milliseconds' is missing"),
        ("action.sending", {"term_seconds": "long"}, "term_seconds"),
        ("action.sending", {"deadline_seconds": 10**18}, "deadline_seconds"),
        ("action.proposed", {"needed": "two"}, "invalid literal for int"),
        ("action.proposed", {"facts": 3}, "Expected `array`"),
        ("action.approved", {"content_hash": REMOVED}, "'content_hash' is missing"),
    ],
)
def test_an_unreadable_entry_is_named(
    practice: Practice, kind: str, fields: dict[str, Any], problem: str, use: str
) -> None:
    action = practice.transfer()
    practice.ines.execute(action.id)
    effects = len(practice.effects())
    desk, seq = edited(practice, kind, **fields)
    with pytest.raises(JournalError, match=f"entry {seq} of the journal cannot be read") as raised:
        USES[use](desk, action.id)
    assert problem in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "treasury journal verify" in str(raised.value)
    assert len(practice.effects()) == effects


def test_an_iteration_over_entries_names_the_unreadable_one(practice: Practice) -> None:
    practice.transfer()
    entries = list(practice.journal.entries())

    @reads_entries
    def walk(entries: Any, name: str) -> list[Any]:
        return [entry.body[name] for entry in entries]

    assert walk(entries[:1], "content") or walk(entries[:1], "kind")
    with pytest.raises(JournalError, match=r"entry \d+ of the journal cannot be read: 'nope' is"):
        walk(entries, "nope")
