"""Class `edits`: a journal edited by hand, on which no decision or sending may rely.

The edits are those of a person with a database tool: a value is changed, an entry removed, two
entries are swapped, or the last entries are cut off; the triggers may be restored afterwards. If
the person also recomputes all hashes and stores the new end, the file itself shows no trace: this
edit is counted separately.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks.torture.desk import ready_action
from benchmarks.torture.runs import BLOCK, Result, Run, Step, Subject, kind_at
from benchmarks.torture.workspaces import END, JOURNAL, Premises, enter
from treasury.journal.chain import FIRST, entry_hash

NEEDS_TWO: Final = "crypto_transfer.create"


class Plan(NamedTuple):
    """The edit, the entry's position (as a fraction of the journal), and how the edit is made."""

    edit: str
    place: float
    is_open: bool
    """Whether the desk has the journal open during the edit."""
    keeps_triggers: bool
    replaces: bool
    """Whether the edited file replaces the original one under its name."""
    keeps_times: bool
    """Whether the file keeps its modification time."""


Rows = list[dict[str, Any]]


def _body(rows: Rows, at: int) -> None:
    body = msgspec.json.decode(rows[at]["body"])
    body["reason"] = f"{body.get('reason') or ''} and more"
    rows[at]["body"] = msgspec.json.encode(body).decode()


def _blank(rows: Rows, at: int) -> None:
    rows[at]["body"] += " "


def _actor(rows: Rows, at: int) -> None:
    rows[at]["actor"] = "nora"


def _source(rows: Rows, at: int) -> None:
    rows[at]["actor_source"] = "hub"


def _time(rows: Rows, at: int) -> None:
    rows[at]["at"] = "2026-11-02T07:00:00+00:00"


def _kind(rows: Rows, at: int) -> None:
    rows[at]["kind"] = "action.approved" if rows[at]["kind"] != "action.approved" else "action.done"


def _subject(rows: Rows, at: int) -> None:
    rows[at]["subject"] = "A-2" if rows[at]["subject"] != "A-2" else "A-1"


def _hash(rows: Rows, at: int) -> None:
    rows[at]["hash"] = "f" * 64


def _removed(rows: Rows, at: int) -> None:
    del rows[at]


def _closed_up(rows: Rows, at: int) -> None:
    del rows[at]
    for seq, row in enumerate(rows, 1):
        row["seq"] = seq


def _exchanged(rows: Rows, at: int) -> None:
    other = at - 1 if at else at + 1
    rows[at]["seq"], rows[other]["seq"] = rows[other]["seq"], rows[at]["seq"]


def _cut_off(rows: Rows, at: int) -> None:
    del rows[max(1, at) :]


def _emptied(rows: Rows, _: int) -> None:
    rows.clear()


def _own_hash(rows: Rows, at: int) -> None:
    _body(rows, at)
    rows[at]["hash"] = _hashed(rows[at])


def _rewritten(rows: Rows, at: int) -> None:
    """Change a body, remove the entries that record a sending, and recompute the whole chain."""
    _body(rows, at)
    rows[:] = [row for row in rows if row["kind"] not in {"action.sending", "action.done"}]
    before = FIRST
    for seq, row in enumerate(rows, 1):
        row |= {"seq": seq, "prev_hash": before}
        before = row["hash"] = _hashed(row)


def _hashed(row: dict[str, Any]) -> str:
    return entry_hash(**{name: row[name] for name in row if name != "hash"})


EDITS: Final[dict[str, Callable[[Rows, int], None]]] = {
    "a body": _body,
    "a blank": _blank,
    "a person": _actor,
    "how a person is known": _source,
    "a time": _time,
    "a kind": _kind,
    "a subject": _subject,
    "a hash": _hash,
    "a body and its hash": _own_hash,
    "removed": _removed,
    "removed and closed up": _closed_up,
    "exchanged": _exchanged,
    "cut off": _cut_off,
    "emptied": _emptied,
    "rewritten": _rewritten,
    "rewritten with its end": _rewritten,
}
BEYOND: Final = frozenset({"rewritten with its end"})
"""Edits that the workspace itself cannot detect."""


def draw(random: Random, seed: int, number: int) -> tuple[str, Plan]:
    """Draw a plan for the next kind."""
    return kind_at(seed, number), Plan(
        random.choice([*EDITS]),
        random.random(),
        is_open=random.random() < 0.5,
        keeps_triggers=random.random() < 0.5,
        replaces=random.random() < 0.3,
        keeps_times=random.random() < 0.5,
    )


def play(premises: Premises, run: Run) -> Result:
    """Fill a journal, edit it, and try all operations that decide or send."""
    company, plan = premises.company, run.plan
    folder = company.new_folder()
    desk = premises.open(folder)
    done = ready_action(desk, company, run.kind)
    desk.execute(done.id)
    ready = ready_action(desk, company, run.kind)
    waiting = desk.propose(NEEDS_TWO, company.fields(NEEDS_TWO))
    if not plan.is_open:
        desk.close()
    _edit(folder, plan)
    if not plan.is_open:
        desk = premises.open(folder)
    entries, effects = _entries(folder), company.all_effects()
    ended = desk.execute(ready.id)
    attempts: dict[str, Callable[[], object]] = {
        "approved": lambda: desk.approve(waiting.id),
        "rejected": lambda: desk.reject(waiting.id),
        "proposed": lambda: desk.propose(NEEDS_TWO, company.fields(NEEDS_TWO)),
        "withdrawn": lambda: desk.withdraw(ready.id),
        "done again": lambda: desk.actions.execute(done.id),
        "recovered": lambda: desk.actions.recover(ready.id),
    }
    passed = [name for name, attempt in attempts.items() if _passes(attempt)]
    added, sent = _entries(folder) - entries, company.all_effects() - effects
    desk.close()
    steps = (Step("read", sent),)
    if not added and not sent:
        return Result(run, ended, steps, "not sent")
    if plan.edit in BEYOND:
        return Result(run, ended, steps, "beyond us")
    why = f"{sent} sent and {added} entries added: {', '.join([ended, *passed])}"
    return Result(run, ended, steps, "LET THROUGH", why)


def _passes(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except Exception:  # noqa: BLE001 - the entries and sendings are judged
        return False
    return True


def _entries(folder: Path) -> int:
    with closing(sqlite3.connect(folder / JOURNAL)) as connection:
        (count,) = connection.execute("select count(*) from entries").fetchone()
    return int(count)


def _edit(folder: Path, plan: Plan) -> None:
    """Make the planned change to the file, like a person with a database tool."""
    journal = folder / JOURNAL
    file = folder / "edited" if plan.replaces else journal
    if plan.replaces:
        shutil.copyfile(journal, file)
    times = journal.stat()
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        triggers = [
            (name, sql)
            for name, sql in connection.execute(
                "select name, sql from sqlite_master where type = 'trigger'"
            )
        ]
        for name, _ in triggers:
            connection.execute(f"drop trigger {name}")
        rows = [dict(row) for row in connection.execute("select * from entries order by seq")]
        EDITS[plan.edit](rows, int(plan.place * len(rows)))
        connection.execute("delete from entries")
        for row in rows:
            names = ", ".join(row)
            marks = ", ".join(f":{name}" for name in row)
            connection.execute(f"insert into entries ({names}) values ({marks})", row)
        if plan.keeps_triggers:
            for _, sql in triggers:
                connection.execute(sql)
        connection.commit()
    if plan.replaces:
        file.replace(journal)
    if plan.keeps_times:
        os.utime(journal, ns=(times.st_atime_ns, times.st_mtime_ns))
    if plan.edit in BEYOND:
        place = (folder / END).read_text("utf-8").partition(" ")[2]
        (folder / END).write_text(f"{rows[-1]['seq']}:{rows[-1]['hash']} {place}", "utf-8")


EDITED: Final = Subject("edits", BLOCK * 20, draw, play, enter)
