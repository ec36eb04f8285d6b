"""Several threads can decode a new type at the same time without crashing the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

ROUNDS = 150
RACE = """
import sys, threading
import msgspec
from treasury.core.decoding import convert, decode_json

sys.setswitchinterval(1e-6)
plain = {"first": {"n1": 2}, "all": [{"n3": 4}, {"n19": 1}]}
encoded = msgspec.json.encode(plain)

def decode(kind, gate):
    gate.wait()
    READ

for number in range(ROUNDS):
    inner = msgspec.defstruct("Inner", [(f"n{i}", int | None, None) for i in range(20)])
    outer = msgspec.defstruct("Outer", [("first", inner | None, None), ("all", list[inner], [])])
    gate = threading.Barrier(6)
    threads = [threading.Thread(target=decode, args=(outer, gate)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


@pytest.mark.first_case
@pytest.mark.parametrize("read", ["decode_json(encoded, kind)", "convert(plain, kind)"])
def test_threads_that_decode_a_new_type_at_once_all_succeed(read: str) -> None:
    script = RACE.replace("READ", read).replace("ROUNDS", str(ROUNDS))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
