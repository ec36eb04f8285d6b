"""Processes: whether one runs, and those of our own package, given nothing they do not need.

Such a process is a fresh interpreter rather than a fork: it works the same in a notebook, in a
script and on every platform. It runs the package that asked for it, wherever that was found; it
takes nothing from the current folder or the user's settings, and of the environment, where
credentials stand, only what an interpreter needs to start.
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
    """A process that runs a function of ours, whose result is its exit code; its input is a pipe.

    OSError where it cannot be started.
    """
    root = str(Path(__file__).parents[3])
    # "" is wherever we were when we began: it gives way to where this package was found.
    paths = [*([] if root in sys.path else [root]), *filter(None, sys.path)]
    return subprocess.Popen(  # noqa: S603 - no shell, and our own arguments
        [sys.executable, "-I", "-c", _START, json.dumps(paths), module, function, *arguments],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env={name: os.environ[name] for name in _INHERITED if name in os.environ},
    )


def is_running(pid: int) -> bool:
    """Whether a process of that number is there, whosever it is."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is there, and somebody else's
        return True
    return True
