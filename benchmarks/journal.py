"""What it costs that the journal is verified before anything is decided.

A journal of so many entries: all of it verified, and one more decision, where nobody else has
written since the last one and where somebody has. With `--url` in an empty PostgreSQL database.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from treasury.journal import Actor, Draft, Journal

ANNA = Actor("anna", "environment")
TOGETHER = 1_000
ROUNDS = 5
BODY = {
    "kind": "crypto_transfer.create",
    "target": "f5520527-134b-49e6-ac6e-833cf327cb46",
    "text": "Send USDC 10.00 on BASE from Treasury to Operations. " * 4,
    "facts": [{"name": f"fact {number}", "value": "25000.00"} for number in range(12)],
}
"""Of the size of a proposal's."""


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _median(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> float:
    rounds = []
    for _ in range(ROUNDS):
        before()
        rounds.append(_seconds(work))
    return statistics.median(rounds)


def _measure(place: Path | str, count: int) -> None:
    journal, other = Journal(place), Journal(place)
    drafts = [Draft("action.proposed", "A-1", BODY, ANNA)] * TOGETHER
    while journal.head().seq < count:
        journal.extend(drafts)
    decision = Draft("match.ignore", "line", {"reason": "a charge"}, ANNA)

    def decide(*, thorough: bool = False) -> None:
        journal.decide(lambda _: [decision], thorough=thorough)

    def interfere() -> None:
        other.note([decision])

    figures = {
        "the whole chain": _median(journal.verify),
        "one more decision": _median(decide),
        "one more, after another process": _median(decide, interfere),
        "an approval, an execution, a close": _median(lambda: decide(thorough=True)),
    }
    for name, seconds in figures.items():
        print(f"{count:9,} entries: {name:<35} {seconds * 1000:9.1f} ms")
    journal.close()
    other.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("counts", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--url", help="an empty PostgreSQL database; one journal of the last size")
    given = parser.parse_args()
    for count in sorted(given.counts):
        with tempfile.TemporaryDirectory() as folder:
            _measure(given.url or Path(folder), count)


if __name__ == "__main__":
    main()
