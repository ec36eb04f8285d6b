"""`treasury notebook` opens a notebook of the package in its workspace."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.core.errors import InputError
from treasury.report.pack.close_notebook import notebook_names, stored_notebook

SHELL = "from treasury.cli import main; main()"


def opened(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `treasury notebook` with JupyterLab's --version, so that JupyterLab ends immediately."""
    command = [sys.executable, "-c", SHELL, "-w", str(folder), "notebook", *arguments, "--version"]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.acceptance
def test_a_notebook_is_copied_once_and_never_overwritten(tmp_path: Path) -> None:
    own = tmp_path / "notebooks" / "operations.ipynb"
    done = opened(tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"copied to {own}\n")
    assert own.read_bytes() == stored_notebook("operations").read_bytes()
    own.write_text("{}", "utf-8")
    again = opened(tmp_path, "operations")
    assert "copied" not in again.stdout
    assert own.read_text("utf-8") == "{}"


def test_every_notebook_comes_with_the_package() -> None:
    assert set(notebook_names()) == {
        "fee_report", "monthly_reconciliation", "operations", "quickstart", "trace_payment",
    }  # fmt: skip


def test_an_unknown_name_and_a_missing_extra_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ["-w", str(tmp_path), "notebook"]
    done = CliRunner().invoke(treasury, [*asked, "fees"])
    assert isinstance(done.exception, InputError)
    assert "use one of fee_report, monthly_reconciliation" in str(done.exception)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    done = CliRunner().invoke(treasury, asked)
    assert "pip install 'treasury-toolkit[notebooks]'" in str(done.exception)
    assert not (tmp_path / "notebooks").exists()
