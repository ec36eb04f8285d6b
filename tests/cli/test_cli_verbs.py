"""A verb loads its dependencies when it runs; if an extra is missing it names the extra."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from treasury.cli import treasury
from treasury.cli.verbs import EXTRAS, VERBS
from treasury.workspace import Workspace

HEAVY = ("duckdb", "httpx", "pandas", "pyarrow", "sqlalchemy", "starlette", "treasury.sandbox")
ELSEWHERE = (
    # The first screen does not need these modules, though its libraries might load them.
    "httpx", "matplotlib", "sqlalchemy", "treasury.api.client",
    "treasury.statements.read_files", "treasury.sandbox",
)  # fmt: skip
PRACTICE = {"demo", "practice", "sandbox"}


def python(code: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def without(modules: tuple[str, ...], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process that cannot import these modules."""
    return python(
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({modules!r}))\n"
        f"sys.argv = ['treasury', *{arguments!r}]\n"
        "from treasury.cli import main\n"
        "main()\n"
    )


@pytest.mark.parametrize("name", VERBS)
def test_the_list_of_commands_shows_their_own_summaries(name: str) -> None:
    command = treasury.commands[name]
    assert isinstance(command, click.Command)
    assert (command.name, command.get_short_help_str(limit=1000)) == (name, VERBS[name].about)


@pytest.mark.acceptance
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_commands_without_data_load_no_library(option: str) -> None:
    done = python(
        "import sys\n"
        f"sys.argv = ['treasury', '{option}']\n"
        "from treasury.cli import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('loaded:', [n for n in {HEAVY!r} if n in sys.modules])\n"
    )
    assert done.stdout.splitlines()[-1] == "loaded: []"


def loaded(folder: Path, *arguments: str) -> list[str]:
    """Return the lines that a verb prints; the last one names the ELSEWHERE modules it loaded."""
    return python(
        "import sys\n"
        f"sys.argv = ['treasury', '--workspace', {str(folder)!r}, *{arguments!r}]\n"
        "from treasury.cli import main\n"
        "try:\n    main()\n"
        f"finally:\n    print('loaded:', [n for n in {ELSEWHERE!r} if n in sys.modules])\n"
    ).stdout.splitlines()


@pytest.mark.acceptance
def test_the_first_screen_loads_only_needed_modules(month_end: Workspace) -> None:
    lines = loaded(month_end.folder, "status", "2026-10")
    assert lines[0].startswith("October 2026")
    assert lines[-1] == "loaded: []"


@pytest.mark.acceptance
def test_the_database_module_is_loaded_once_a_decision_exists(
    month_end: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "decided"
    shutil.copytree(month_end.folder, folder)
    desk = Workspace(folder)
    line = next(row for row in desk.matches.open().arrow.to_pylist() if row["suggestion"])
    desk.matches.accept(line["entry_id"], line["suggestion"], reason="as the payer said")
    lines = loaded(folder, "status", "2026-10")
    assert lines[0].startswith("October 2026")
    assert lines[-1] == "loaded: ['sqlalchemy']"


@pytest.mark.acceptance
def test_every_other_command_works_without_the_practice_services() -> None:
    missing = tuple(name for name, extra in EXTRAS.items() if extra in {"sandbox", "spark"})
    assert without(missing, "--help").returncode == 0
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({missing!r}))\n"
        "from treasury.cli import treasury\n"
        f"for name in set(treasury.commands) - {PRACTICE!r}:\n    treasury.commands[name]\n"
    )
    assert python(code).returncode == 0


@pytest.mark.acceptance
@pytest.mark.parametrize("verb", sorted(PRACTICE))
def test_a_command_with_a_missing_extra_names_the_installation(verb: str) -> None:
    done = without(("starlette",), verb)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"treasury: `treasury {verb}` needs starlette, which is not installed"
        " - install it: pip install 'treasury-toolkit[sandbox]'\n"
    )
