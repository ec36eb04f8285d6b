"""The report as PDF, printed by the installed browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from treasury.core.errors import InputError, StorageError

_BROWSERS: Final = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
)  # fmt: skip
LONGEST: Final = 120
"""Time limit of printing, in seconds."""


def browser() -> str | None:
    """Return the first browser in the list that is installed."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


def require_browser() -> str:
    """Return the browser for printing; raise InputError without one."""
    installed = browser()
    if installed is None:
        raise InputError(
            "a PDF needs Chromium or Chrome, and none is installed",
            do="install one, or print report.html from your browser",
        )
    return installed


def print_pdf(page: Path, to: Path) -> Path:
    """Print `page` to a PDF; raise InputError without a browser, StorageError on failure."""
    executable = require_browser()
    with tempfile.TemporaryDirectory(prefix="treasury-") as profile:
        command = [
            executable,
            "--headless=new",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            "--no-pdf-header-footer",
            f"--user-data-dir={profile}",
            f"--print-to-pdf={to.resolve()}",
            # Run as root, the browser refuses to start with its sandbox.
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            page.resolve().as_uri(),
        ]
        try:
            printing = subprocess.run(command, capture_output=True, timeout=LONGEST, check=False)  # noqa: S603 - no shell, our own arguments
        except subprocess.TimeoutExpired as error:
            raise StorageError(
                "the browser did not finish printing", do="print report.html from your browser"
            ) from error
    if printing.returncode or not to.is_file():
        raise StorageError(
            f"the browser could not print the report (exit {printing.returncode})",
            do="print report.html from your browser",
        )
    return to
