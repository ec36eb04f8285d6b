"""Starts processes with a minimal environment, and checks whether a process is running.

A started process is a new interpreter and not a fork, so it works the same in a notebook, in a
script and on every platform. It runs the same package as its parent and ignores the current folder
and the user's settings. It gets only the environment variables that an interpreter needs to start,
because others may be credentials.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Final

_START: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from importlib import import_module;"
    " import_module('treasury.core.machine.terminal').guard_output();"
    " sys.exit(getattr(import_module(sys.argv[2]), sys.argv[3])(*sys.argv[4:]))"
)
_INHERITED: Final = (
    "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP",
)  # fmt: skip


def started(
    module: str,
    function: str,
    *arguments: str,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process that runs a function of this package; its result becomes the exit code.

    The standard input of the process is a pipe. Raise OSError if the process cannot be started.
    """
    root = str(Path(__file__).parents[3])
    # An empty entry means the folder in which Python started; the package's location replaces it.
    paths = [*([] if root in sys.path else [root]), *filter(None, sys.path)]
    return subprocess.Popen(  # noqa: S603 - no shell, and our own arguments
        [sys.executable, "-I", "-c", _START, json.dumps(paths), module, function, *arguments],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env={name: os.environ[name] for name in _INHERITED if name in os.environ},
    )


def is_running(pid: int) -> bool:
    """Return True if any user's process has this process id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # The process belongs to another user.
    except PermissionError:
        return True
    return True
