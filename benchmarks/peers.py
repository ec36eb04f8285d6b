"""Benchmark of matching against other matchers, on generated worlds with known correct matches.

    python -m benchmarks.peers [SEEDS] [EACH]

The worlds are those of `benchmarks.matching_proof`. The other matchers are: whole tokens joined to
codes with pandas; codes searched anywhere in the text; the same with equal amounts only; and
Splink, trained on the tables themselves, which matches the best expectation with a probability of
at least 0.95. If a matcher finds two expectations for a line, it does not match the line. Lines
that pay several expectations are left out. `tools/peers` installs Splink; without it, its row says
so.

Prints for each matcher: wrong automatic matches (to another expectation, or of a line without an
expectation), precision, recall over the lines with an expectation, how often the correct one is the
first candidate, and seconds.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "matching"))

from mangled import draw  # noqa: E402 - the tests' own generator, so that both measure one thing
from mangled_world import Truth, World  # noqa: E402

from treasury import match_references  # noqa: E402

SEEDS, EACH = 4, 9
SPLINK: Final = ROOT / ".venv-peers" / "bin" / "python"
CERTAIN: Final = 0.95
"""Minimum probability with which Splink's best expectation counts as a match."""
_TEXTS: Final = ("remittance", "end_to_end_id", "creditor_reference")


class Answer(msgspec.Struct, frozen=True):
    """A matcher's answer for a line: its automatic match, and its first candidate."""

    matched: str | None
    first: str | None


class Score(msgspec.Struct):
    """The correct and wrong answers of a matcher over all worlds."""

    automatic: int = 0
    wrong: int = 0
    right_first: int = 0
    belonging: int = 0
    seconds: float = 0.0

    def add(self, truth: Truth, answer: Answer) -> None:
        """Count the answer for one line."""
        belongs = truth.ceiling != "never"
        is_right = belongs and answer.matched == truth.expectation_id
        self.belonging += belongs
        self.automatic += answer.matched is not None
        self.wrong += answer.matched is not None and not is_right
        self.right_first += belongs and answer.first == truth.expectation_id

    @property
    def row(self) -> str:
        """Return the results as a row of the table."""
        right = self.automatic - self.wrong
        precision = right / self.automatic if self.automatic else 1.0
        return (
            f"{self.wrong:>6,} {precision:>10.1%} {right / self.belonging:>8.1%}"
            f" {self.right_first / self.belonging:>12.1%} {self.seconds:>8.1f}"
        )


Answers = dict[str, Answer]


def ours(world: World) -> Answers:
    """Match with this project's function and its default rules."""
    matches = match_references(*world.tables())
    return {
        row["entry_id"]: Answer(
            row["expectation_id"] if row["outcome"] == "matched" else None, row["expectation_id"]
        )
        for row in matches.lines.arrow.to_pylist()
    }


def exact_tokens(world: World) -> Answers:
    """Join tokens of the text to codes, as an analyst does with pandas."""
    lines = pd.DataFrame({"line": [row["entry_id"] for row in world.lines]})
    lines["token"] = [re.findall(r"[A-Z0-9./-]+", text_of(row)) for row in world.lines]
    tokens = lines.explode("token").dropna()
    tokens["code"] = tokens["token"].str.replace(r"[./-]", "", regex=True)
    codes = pd.DataFrame(
        {
            "expectation": [row["expectation_id"] for row in world.expectations],
            "code": [plain(row["code"]) for row in world.expectations],
        }
    )
    found = tokens.merge(codes, on="code").groupby("line")["expectation"].agg(["nunique", "first"])
    return {
        line: Answer(row["first"] if row["nunique"] == 1 else None, row["first"])
        for line, row in found.iterrows()
    }


def substrings(world: World, *, by_amount: bool) -> Answers:
    """Search for codes anywhere in the text; with `by_amount`, only for those of equal amount."""
    codes = [
        (plain(row["code"]), row["expectation_id"], row["amount"]) for row in world.expectations
    ]
    answers = {}
    for line in world.lines:
        text = plain(text_of(line))
        found = [
            (len(code), name)
            for code, name, amount in codes
            if code in text and (not by_amount or amount in (None, line["amount"]))
        ]
        if found:
            first = max(found)[1]
            answers[line["entry_id"]] = Answer(first if len(found) == 1 else None, first)
    return answers


def splink(world: World) -> Answers:
    """Return Splink's best expectation for each line."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        pq.write_table(linked_lines(world), place / "lines.parquet")
        pq.write_table(linked_expectations(world), place / "expectations.parquet")
        script = Path(__file__).with_name("peers_splink.py")
        subprocess.run([SPLINK, script, place], check=True, stdout=subprocess.DEVNULL)
        best = json.loads((place / "splink.json").read_text("utf-8"))["best"]
    return {
        line: Answer(name if probability >= CERTAIN and not is_tied else None, name)
        for line, (name, probability, is_tied) in best.items()
    }


def linked_lines(world: World) -> pa.Table:
    """Convert the lines to Splink's columns: amounts in whole cents, days as numbers."""
    rows = []
    for row in world.lines:
        tokens = [plain(token) for token in text_of(row).split()]
        long = max((t for t in tokens if re.search(r"[0-9]", t)), key=len, default="")
        rows.append(
            linked(row, row["entry_id"], row["booking_date"], plain(text_of(row)), long)
            | {"tokens": tokens, "payer": row["counterparty_account"]}
        )
    return pa.Table.from_pylist(rows, _LINKED)


def linked_expectations(world: World) -> pa.Table:
    """Convert the expectations to the same columns."""
    return pa.Table.from_pylist(
        [
            linked(row, row["expectation_id"], row["opened_at"], code := plain(row["code"]), code)
            | {"tokens": [code], "payer": row["counterparty_account"]}
            for row in world.expectations
        ],
        _LINKED,
    )


def linked(row: dict[str, Any], name: str, day: Any, text: str, token: str) -> dict[str, Any]:
    amount = row["amount"]
    return {
        "unique_id": name,
        "text": text or None,
        "token": token or None,
        "tail": token[-6:] or None,
        "cents": None if amount is None else int(amount * 100),
        "day": day.toordinal() if day is not None else None,
        "direction": row["direction"],
    }


_LINKED = pa.schema(
    [
        ("unique_id", pa.string()),
        ("text", pa.string()),
        ("token", pa.string()),
        ("tail", pa.string()),
        ("cents", pa.int64()),
        ("day", pa.int64()),
        ("direction", pa.string()),
        ("tokens", pa.list_(pa.string())),
        ("payer", pa.string()),
    ]
)


def text_of(line: dict[str, Any]) -> str:
    """Return the complete text of a line, in capitals."""
    parts = [line[name] for name in _TEXTS if line[name]]
    return " ".join(" ".join(p) if isinstance(p, list) else p for p in parts).upper()


def plain(text: str) -> str:
    """Return only the letters and digits, in capitals."""
    return re.sub(r"[^A-Z0-9]", "", text.upper())


PEERS: Final[dict[str, Callable[[World], Answers]]] = {
    "treasury": ours,
    "whole tokens, pandas": exact_tokens,
    "substring": lambda world: substrings(world, by_amount=False),
    "substring and amount": lambda world: substrings(world, by_amount=True),
    "Splink 5, trained": splink,
}


def compare(seeds: int = SEEDS, each: int = EACH) -> dict[str, Score]:
    """Return the score of every matcher over the worlds."""
    scores = {name: Score() for name in PEERS if PEERS[name] is not splink or SPLINK.exists()}
    for seed in range(1, seeds + 1):
        world = draw(seed, each)
        for name, score in scores.items():
            start = time.monotonic()
            answers = PEERS[name](world)
            score.seconds += time.monotonic() - start
            for line, truth in world.truths.items():
                if not truth.shares:
                    score.add(truth, answers.get(line, Answer(None, None)))
    return scores


def main(seeds: int = SEEDS, each: int = EACH) -> None:
    """Print the table."""
    scores = compare(seeds, each)
    print(
        f"{'':24} {'wrong':>6} {'precision':>10} {'recall':>8} {'right first':>12} {'seconds':>8}"
    )
    for name in PEERS:
        row = scores[name].row if name in scores else "  not installed: run tools/peers"
        print(f"{name:24} {row}")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
