"""Commands of an analyst, one after another, each followed by a line with the workspace's state.

    python -m benchmarks.power_cut_child FOLDER VERB…

A power cut must not lose work that a line has reported.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from treasury.journal import Actor
from treasury.journal.period_history import closed_periods
from treasury.matching.rules import Rules
from treasury.workspace import Workspace

VERBS = ("sync", "statements", "pin", "ignore", "resync", "close", "unpin")
SAID = "SAID "
ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
MONTH = "2026-10"


class Standing(msgspec.Struct, frozen=True):
    """State of a workspace after a verb; `rows` has the number and a hash of each table's rows."""

    verb: str
    commit: int
    rows: dict[str, str]
    pins: tuple[int, ...]
    entries: int
    closed: tuple[str, ...]


def rows_of(desk: Workspace, commit: int | None = None) -> dict[str, str]:
    """Return the number and a hash of each table's rows at a commit, by default the last one."""
    snapshot = desk.lake.snapshot(commit=commit)
    queries = [
        f"SELECT '{name}' AS name, count(*) || ':' || coalesce(bit_xor(hash(t)), 0) AS held"
        f' FROM "{name}" t'
        for name in snapshot.views()
    ]
    rows = snapshot.sql(" UNION ALL ".join(queries)).to_pylist()
    return {row["name"]: row["held"] for row in rows}


def standing(desk: Workspace, verb: str) -> Standing:
    """Read the state of the workspace from the disk."""
    last = desk.lake.last_commit()
    return Standing(
        verb,
        0 if last is None else last.number,
        rows_of(desk),
        tuple(pin.commit.number for pin in desk.lake.pins()),
        desk.journal.verify().seq,
        tuple(sorted(closed_periods(desk.journal.entries("period.")))),
    )


def do(desk: Workspace, verb: str) -> None:
    """Run one verb as an analyst does."""
    match verb:
        case "sync" | "resync":
            desk.sync()
        case "statements":
            desk.statements.add(sorted((desk.folder / "bank").glob("*.xml")))
        case "pin":
            desk.lake.pin("to look at again", desk.now())
        case "ignore":
            lines = desk.matches.open().arrow["entry_id"]
            desk.matches.ignore(lines[0].as_py(), reason="not ours", actor=ANNA)
        case "close":
            blocking = [item.item_id for item in desk.open_items(MONTH).blocking]
            terms = {"owner": "carla", "by": "2027-12-31", "reason": "as agreed"}
            desk.items.carry(*blocking, **terms, month=MONTH, actor=ANNA)
            desk.items.accept(*blocking, month=MONTH, actor=BERT)
            desk.periods.prepare(MONTH, actor=ANNA)
            desk.periods.sign(MONTH, actor=BERT)
        case "rules":
            desk.rules.save(Rules(), reason="as the contract has it", actor=ANNA)
        case "pack":
            desk.close(MONTH)
        case "unpin":
            desk.lake.unpin(desk.lake.pins()[0].commit.number)
        case _:
            raise ValueError(verb)


def main(folder: str, *verbs: str) -> None:
    for verb in verbs:
        do(Workspace(Path(folder)), verb)
        line = msgspec.json.encode(standing(Workspace(Path(folder)), verb)).decode()
        os.write(1, f"{SAID}{line}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
