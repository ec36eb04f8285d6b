"""The process that reads one large bank file for another: a job on standard input, JSON back."""

from __future__ import annotations

import sys

import msgspec

from treasury.statements.parallel import Job, work

if __name__ == "__main__":
    outcome = work(msgspec.json.decode(sys.stdin.buffer.read(), type=Job))
    sys.stdout.buffer.write(msgspec.json.encode(outcome))
