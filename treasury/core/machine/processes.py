"""Processes: whether one runs, and starting our own with a minimal environment.

A started process is a fresh interpreter instead of a fork: that works the same in a notebook, in a
script and on every platform. It runs the same package as its parent. It takes nothing from the
current folder or the user's settings, and from the environment, which contains credentials, only
what an interpreter needs to start.
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
    """Start a process that runs one of our functions; its result is the exit code.

    Its standard input is a pipe. Raise OSError if it cannot be started.
    """
    root = str(Path(__file__).parents[3])
    # An empty entry means the original current folder; it is replaced by the package's location.
    paths = [*([] if root in sys.path else [root]), *filter(None, sys.path)]
    return subprocess.Popen(  # noqa: S603 - no shell, and our own arguments
        [sys.executable, "-I", "-c", _START, json.dumps(paths), module, function, *arguments],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env={name: os.environ[name] for name in _INHERITED if name in os.environ},
    )


def is_running(pid: int) -> bool:
    """Return True if a process with that number exists, of any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # It exists and belongs to another user.
    except PermissionError:
        return True
    return True
