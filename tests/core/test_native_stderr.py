"""A native thread's panic output is dropped if an error explains it; other output stays."""

import os
import subprocess
import sys

import pytest

from treasury.core.errors import InputError, StorageError
from treasury.core.machine.native_stderr import without_panics

PANIC = b"""
thread 'tokio-rt-worker' (7269) panicked at /x/buffered.rs:369:41:
Already shut down
stack backtrace:
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""


def _call_that_panics(error: Exception | None, text: bytes) -> None:
    with without_panics(StorageError):
        os.write(2, text)
        if error is not None:
            raise error


def test_a_panic_message_is_hidden_only_if_an_error_explains_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(StorageError):
        _call_that_panics(StorageError("the disk is full"), b"before\n" + PANIC + b"after\n")
    assert capfd.readouterr().err == "before\nafter\n"
    with pytest.raises(InputError):
        _call_that_panics(InputError("another problem"), PANIC)
    assert capfd.readouterr().err == PANIC.decode()
    _call_that_panics(None, PANIC)
    assert capfd.readouterr().err == PANIC.decode()


def test_a_process_started_meanwhile_does_not_block() -> None:
    with without_panics(StorageError):
        process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=-1)
    process.communicate()
    assert process.returncode == 0


def test_a_process_without_standard_error_does_its_work() -> None:
    script = (
        "import os, sys; os.close(2); sys.stderr = None\n"
        "from treasury.core.machine.native_stderr import without_panics\n"
        "with without_panics(ValueError): print('done')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout == "done\n"
