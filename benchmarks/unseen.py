"""What ordinary syncs of drawn practice companies name: `python -m benchmarks.unseen [SYNCS]`.

Things happen at each company between its syncs, as they do; nothing is hidden from any of them, so
whatever a sync names as unseen is noise. The companies are the tests' own. A sync takes about a
second of a processor, half of it to compare and write its tables; with `TMPDIR` in memory it waits
for no disk. Each company is told as it ends, so that a run that is cut short has its figure too.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "month" / "items"))

from drawn_company import drawn_company

from treasury.core.errors import InputError

EACH = 25
"""Syncs of one company."""


def main(syncs: int) -> int:
    named: list[str] = []
    begun, used, made, told = time.monotonic(), time.process_time(), 0, 0
    while made < syncs:
        seed = made // EACH
        with (
            tempfile.TemporaryDirectory() as folder,
            drawn_company(seed, Path(folder)) as played,
        ):
            drawn = Random(seed)
            for number in range(min(EACH, syncs - made)):
                with suppress(InputError):  # an act that cannot be, such as a second denial
                    drawn.choice(played._acts())()  # noqa: SLF001
                report = played.desk.sync(full=number % 7 == 6)
                named += [f"company {seed}, sync {number}: {said}" for said in report.notices]
                made += 1
        for said in named[told:]:
            print(said)
        told = len(named)
        spent, worked = time.monotonic() - begun, time.process_time() - used
        print(
            f"{made:,} syncs of {-(-made // EACH)} companies named {told} things,"
            f" {spent:.0f} s, {worked:.0f} s of a processor",
            flush=True,
        )
    return 1 if named else 0


if __name__ == "__main__":
    os.environ.setdefault("TREASURY_USER", "ana.lyst")
    raise SystemExit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000))
