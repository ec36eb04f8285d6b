"""Panics of native threads are left out where an error says it; everything else is written."""

import os
import subprocess
import sys

import pytest

from treasury.errors import InputError, StorageError
from treasury.ground.native_stderr import without_panics

PANIC = b"""
thread 'tokio-rt-worker' (7269) panicked at /x/buffered.rs:369:41:
Already shut down
stack backtrace:
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""


def test_a_panic_is_left_out_only_if_an_error_explains_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(StorageError), without_panics(StorageError):
        os.write(2, b"before\n" + PANIC + b"after\n")
        raise StorageError("the disk is full")
    assert capfd.readouterr().err == "before\nafter\n"
    with pytest.raises(InputError), without_panics(StorageError):
        os.write(2, PANIC)
        raise InputError("another problem")
    assert capfd.readouterr().err == PANIC.decode()
    with without_panics(StorageError):
        os.write(2, PANIC)
    assert capfd.readouterr().err == PANIC.decode()


def test_a_process_started_meanwhile_keeps_nobody_waiting() -> None:
    with without_panics(StorageError):
        process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=-1)
    process.communicate()
    assert process.returncode == 0
