"""The process that reads large bank files for another: jobs on standard input, a line of JSON each.

Every job is answered by a line on standard output; the end of the input ends the process.
"""

from __future__ import annotations

import sys

import msgspec

from treasury.ground.decoding import decode_json
from treasury.statements.parallel_reading import Job, work

__all__ = ["serve"]


def serve() -> int:
    """Read what is asked for until nothing more is; the exit code."""
    for line in sys.stdin.buffer:
        outcome = work(decode_json(line, Job))
        sys.stdout.buffer.write(msgspec.json.encode(outcome) + b"\n")
        sys.stdout.buffer.flush()
    return 0
