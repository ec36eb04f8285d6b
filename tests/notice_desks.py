"""A desk in a separate process that sends notices repeatedly, each time about one more fact.

`notice_desks.py FOLDER MAIL_PORT HOOK_URL FACTS [KILLS SEED]`: with KILLS, children send the
notices one after another, and so many of them are killed at random moments. The first and the last
child run to their ends.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from notice_servers import MONDAY, desk, due, settings

# The parent needs this import only to load the database's library before it forks children.
from treasury.journal import Journal, journal_schema


def tell(folder: Path, port: int, url: str, facts: int, first: int = 1) -> None:
    """Send the notices of `first` facts, and again with one more fact, up to `facts`."""
    journal, of = Journal(folder, now=lambda: MONDAY), settings(mail=port, url=url)
    for number in range(first, facts + 1):
        desk(journal, of, lambda number=number: [due(n) for n in range(1, number + 1)]).send()  # type: ignore[misc]


def tell_killed(place: tuple[Path, int, str], facts: int, kills: int, seed: int) -> None:
    """Send the notices of `facts` facts in child processes, `kills` of which are killed."""
    assert journal_schema.SCHEMA_VERSION
    drawn = random.Random(seed)
    lasts = _child(place, 1, first=1)
    for kill in range(kills):
        upto = max(1, facts * (kill + 1) // kills)
        _child(place, upto, first=max(1, upto - 1), until=drawn.uniform(0, 1.3 * lasts))
    _child(place, facts, first=facts)


def _child(
    place: tuple[Path, int, str], facts: int, *, first: int, until: float | None = None
) -> float:
    """Send in a child process that is killed after `until` seconds; return its running time."""
    begun = time.monotonic()
    child = os.fork()
    if child == 0:
        tell(*place, facts, first)
        os._exit(0)
    if until is not None:
        time.sleep(until)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert until is not None or status == 0
    return time.monotonic() - begun


if __name__ == "__main__":
    os.environ["TREASURY_USER"] = "ines"
    folder, port, url, facts, *killed = sys.argv[1:]
    if killed:
        kills, seed = map(int, killed)
        tell_killed((Path(folder), int(port), url), int(facts), kills, seed)
    else:
        tell(Path(folder), int(port), url, int(facts))
