"""The command `sync`: its options, and watching as a shell runs it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from treasury import Workspace
from treasury.cli import treasury


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--watch", "often"), "is not a length of time like 30s, 5m or 2h"),
        (("--watch", "0s"), "is not a length of time"),
        (("--since", "yesterday"), "is not a day like 2026-10-01"),
        (("--details", "-1"), "is not in the range"),
    ],
)
def test_an_option_that_does_not_read_is_refused(
    month_end: Workspace, option: tuple[str, str], said: str
) -> None:
    command = ["--workspace", str(month_end.folder), "sync", *option]
    done = CliRunner().invoke(treasury, command)
    assert done.exit_code == 2
    assert said in done.output
