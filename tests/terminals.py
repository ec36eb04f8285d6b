"""A command on a real terminal, with typed answers."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path


def on_terminal(folder: Path, *arguments: str, answers: str) -> tuple[int, str]:
    """Run a command on a terminal with these answers; return its exit code and all output."""
    leader, follower = pty.openpty()
    shown = bytearray()

    def read() -> None:
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:
                return
            if not piece:
                return
            shown.extend(piece)

    with subprocess.Popen(
        [sys.executable, "-m", "treasury.cli", "--workspace", str(folder), *arguments],
        stdin=follower, stdout=follower, stderr=follower,
        env={**os.environ, "COLUMNS": "200"},
    ) as running:  # fmt: skip
        os.close(follower)
        reader = threading.Thread(target=read)
        reader.start()
        os.write(leader, answers.encode())
        code = running.wait(60)
        reader.join(10)
    os.close(leader)
    return code, shown.decode()
