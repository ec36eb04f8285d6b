"""`docs/sandbox.md` is complete, and its month end can be practised as written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from treasury.cli.commands.practice import sandbox as command
from treasury.sandbox import PROFILES, Sandbox
from treasury.sandbox.serve.control import driver_of, drivers_of
from treasury.sandbox.serve.faults import CATALOGUE

PAGE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text("utf-8")


def table(title: str) -> dict[str, str]:
    """Return the first two cells of each row of the first table under a title."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]*?) \|", section, re.MULTILINE))


def test_every_driver_is_documented_with_its_parameters(sandbox: Sandbox) -> None:
    known = drivers_of(sandbox.finance, sandbox.ramp, sandbox.banks)
    known |= {"expire_tokens": driver_of(sandbox.expire_tokens)}
    takes = {name: re.findall("`([^`]+)`", cell) for name, cell in table("Drivers").items()}
    assert takes == {
        name: list(driver.takes.__struct_encode_fields__) for name, driver in known.items()
    }


def test_the_documented_faults_profiles_and_credentials_are_the_existing_ones(
    sandbox: Sandbox,
) -> None:
    assert set(table("Faults")) == set(CATALOGUE)
    assert set(table("Profiles")) == set(PROFILES)
    secrets = {client: cell.strip("`") for client, cell in table("Credentials").items()}
    assert secrets == dict(sandbox.credentials.values())


def test_every_option_is_documented() -> None:
    options = {p.opts[-1] for p in command.params if isinstance(p, click.Option)}
    assert set(table("Start it")) == options


@pytest.mark.acceptance
def test_the_month_end_can_be_practised_as_written(tmp_path: Path) -> None:
    if not (shutil.which("curl") and shutil.which("bash")):
        pytest.skip("needs curl and bash")
    (script,) = re.findall("```bash\n(.*?)```", PAGE, re.DOTALL)
    here = Path(sys.executable).parent
    path = f"{here}{os.pathsep}{os.environ['PATH']}"
    asked = [here / "treasury", "--workspace", tmp_path, "practice", "--", "bash", "-c", script]
    done = subprocess.run(
        asked, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=240,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (shown,) = re.findall("because no rule names it:\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown in done.stdout
