"""The commands of `docs/setup.md`, run as written in an empty folder; only the port differs."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from treasury.core.settings import load_settings

pytestmark = pytest.mark.acceptance

PAGE = (Path(__file__).parents[2] / "docs" / "setup.md").read_text("utf-8")


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the commands of the page; return their folder and their output."""
    if not (shutil.which("curl") and shutil.which("bash")):
        pytest.skip("needs curl and bash")
    folder = tmp_path_factory.mktemp("setup")
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    port = free_port()
    script = "\n".join(("set -eu", *blocks))
    script = script.replace("127.0.0.1:8000", f"127.0.0.1:{port}")
    script = script.replace("--port 8000", f"--port {port}")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True,
        text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_first_hour_ends_with_a_proved_month(followed: tuple[Path, str]) -> None:
    folder, shown = followed
    settings = load_settings(folder / "desk")
    assert list(settings.credentials) == ["maker", "checker"]
    assert [one.source for one in settings.accounts] == [
        "own_bank",
        "own_bank",
        "provider_report",
    ]
    assert "checker: the secret was found, and both services answer" in shown
    assert "next: run `treasury sync`" in shown
    assert "STATEMENTS  3 of 3 proved, to 31 Oct" in shown


def test_the_doctor_reports_only_optional_steps(followed: tuple[Path, str]) -> None:
    _, shown = followed
    said = re.findall(r"^(ok|missing|optional|damaged) +([a-z ]+): ", shown, re.MULTILINE)
    assert {topic for state, topic in said if state != "ok"} == {"wallets", "rules"}


def test_bank_files_alone_give_lines_and_books_and_list_the_benefits_of_services(
    followed: tuple[Path, str],
) -> None:
    folder, shown = followed
    assert len((folder / "lines.csv").read_text("utf-8").splitlines()) == 34
    assert (folder / "books" / "journal.csv").is_file()
    assert "STATEMENTS   1 of 1 proved, to 31 Oct" in shown
    assert "\nFEES         not used here" in shown
