"""Benchmark of payments without a reference: this project and Splink learn from decisions.

    python -m benchmarks.peers_habits [FIRST_SEED] [SEEDS]

The worlds are those of `tests/matching/habits_world.py`: payers over several months, of which the
last has no references. Both sides get the decisions of earlier months. This project's function gets
them together with the lines. Splink compares each line of the last month with every settled payment
of an expectation that may still be paid, and with the data of each open request and its customer's
payments. One of its models is trained on the tables, the other by the labels of the month before.
Its best expectation counts as matched with a probability of at least 0.95.

This project's weights were set on the worlds of seeds 1 to 30 and checked on 101 to 108. The seeds
from 201 on are only used for this comparison.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers import CERTAIN, ROOT, SPLINK, Answer, Score

sys.path.insert(0, str(ROOT / "tests" / "matching"))

from habits_world import Habits, draw_habits

from treasury import match_references
from treasury.matching.rules import Rules

__all__ = ["OURS", "answered", "compare", "main", "references", "settled_lines"]

FIRST_SEED, SEEDS = 201, 20
OURS: Final = "treasury"
MODELS: Final = {"em": "Splink 5, trained on the tables", "labels": "Splink 5, trained by labels"}
_FORMS: Final = frozenset(Rules().legal_forms)
_RECORD: Final = pa.schema(
    [
        ("unique_id", pa.string()), ("expectation", pa.string()), ("reached", pa.string()),
        ("payer", pa.string()), ("name", pa.string()), ("words", pa.list_(pa.string())),
        ("cents", pa.int64()), ("day", pa.int32()), ("on", pa.int32()), ("opened", pa.int32()),
    ]
)  # fmt: skip


def answered(habits: Habits) -> dict[str, Answer]:
    """Return the function's answer for each line, given the earlier decisions."""
    lines, expectations = habits.world.tables()
    matches = match_references(lines, expectations, decisions=habits.decisions)
    return {
        row["entry_id"]: Answer(
            row["expectation_id"] if row["outcome"] == "matched" else None, row["expectation_id"]
        )
        for row in matches.lines.arrow.to_pylist()
    }


def splink(habits: Habits) -> tuple[dict[str, dict[str, Answer]], dict[str, float]]:
    """Return each Splink model's answers for the last month's lines, and its seconds."""
    last = max(row["booking_date"].month for row in habits.world.lines)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, month in (("trained", last - 1), ("asked", last)):
            pq.write_table(settled_lines(habits, month), place / f"{name}_lines.parquet")
            pq.write_table(references(habits, month), place / f"{name}_references.parquet")
        script = Path(__file__).with_name("peers_habits_splink.py")
        subprocess.run([SPLINK, script, place], check=True, stdout=subprocess.DEVNULL)
        told = json.loads((place / "splink.json").read_text("utf-8"))
    answers = {
        model: {
            line: Answer(name if probability >= CERTAIN and not is_tied else None, name)
            for line, (name, probability, is_tied) in best.items()
        }
        for model, best in told["best"].items()
    }
    return answers, told["seconds"]


def settled_lines(habits: Habits, month: int) -> pa.Table:
    """Return the lines of a month; lines that belong to no expectation have no label."""
    return pa.Table.from_pylist(
        [
            _record(line, line["entry_id"], habits.world.truths[line["entry_id"]].expectation_id)
            for line in habits.world.lines
            if line["booking_date"].month == month
        ],
        _RECORD,
    )


def references(habits: Habits, month: int) -> pa.Table:
    """Return the data known before a month about each expectation that may be paid in the month.

    A standing code has a row for each settled payment. An open request has a row with its
    customer's name, and a row for each settled payment of the customer; all have its own amount.
    """
    by_id = {row["expectation_id"]: row for row in habits.world.expectations}
    paid: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    by_customer: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in habits.world.lines:
        own = habits.world.truths[line["entry_id"]].expectation_id
        if own is not None and line["booking_date"].month < month:
            paid[own].append(line)
            by_customer[by_id[own]["counterparty_name"] or ""].append(line)
    rows = []
    for name, wanted in by_id.items():
        if wanted["amount"] is None:
            known = [_record(line, f"{name}|{n}", name) for n, line in enumerate(paid[name])]
        elif paid[name] or wanted["opened_at"].month > month:
            continue
        else:
            own = {
                "remittance": None, "counterparty_account": None, "booking_date": None,
                "counterparty_name": wanted["counterparty_name"],
            }  # fmt: skip
            told = [own, *by_customer[wanted["counterparty_name"]]]
            asked = {"account": wanted["account"], "amount": wanted["amount"]}
            opened = wanted["opened_at"].toordinal()
            known = [
                _record(line | asked, f"{name}|{n}", name) | {"opened": opened, "day": None}
                for n, line in enumerate(told)
            ]
        rows += known
    return pa.Table.from_pylist(rows, _RECORD)


def _record(line: dict[str, Any], unique_id: str, label: str | None) -> dict[str, Any]:
    day = line["booking_date"]
    return {
        "unique_id": unique_id, "expectation": label, "reached": line["account"],
        "payer": line["counterparty_account"],
        "name": " ".join(_words(line["counterparty_name"])) or None,
        "words": _words(line["remittance"]) or None,
        "cents": int(line["amount"] * 100),
        "day": day and day.day, "on": day and day.toordinal(), "opened": None,
    }  # fmt: skip


def _words(text: str | None) -> list[str]:
    """Split a text into the words that this project's matching compares, in order."""
    bare = unicodedata.normalize("NFD", (text or "").replace(".", "").replace("Ł", "L").upper())
    letters = "".join(letter for letter in bare if not unicodedata.combining(letter))
    return [word for word in re.findall(r"[A-Z0-9Ø]+", letters) if word not in _FORMS]


def compare(first: int = FIRST_SEED, seeds: int = SEEDS) -> dict[str, Score]:
    """Return the score of each matcher over the lines of the last months."""
    scores = {OURS: Score()}
    if SPLINK.exists():
        scores |= {name: Score() for name in MODELS.values()}
    for seed in range(first, first + seeds):
        habits = draw_habits(seed)
        start = time.monotonic()
        answers = {OURS: answered(habits)}
        scores[OURS].seconds += time.monotonic() - start
        if SPLINK.exists():
            told, seconds = splink(habits)
            for model, name in MODELS.items():
                answers[name] = told[model]
                scores[name].seconds += seconds[model]
        for line in sorted(habits.last_month):
            for name, score in scores.items():
                score.add(habits.world.truths[line], answers[name].get(line, Answer(None, None)))
    return scores


def main(first: int = FIRST_SEED, seeds: int = SEEDS) -> None:
    """Print the table."""
    scores = compare(first, seeds)
    print(f"{scores[OURS].belonging:,} payments without a reference that belong to an expectation")
    print(f"{'':32} {'matched':>8} {'wrong':>6} {'right first':>12} {'seconds':>8}")
    for name in (OURS, *MODELS.values()):
        if name not in scores:
            print(f"{name:32}   not installed: run tools/peers")
            continue
        score = scores[name]
        print(
            f"{name:32} {score.automatic:>8,} {score.wrong:>6,}"
            f" {score.right_first / score.belonging:>12.1%} {score.seconds:>8.1f}"
        )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
