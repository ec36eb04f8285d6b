"""The command `treasury trace`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner, Result

from treasury import Workspace
from treasury.cli import treasury
from treasury.core.errors import InputError

pytestmark = pytest.mark.acceptance


def call(workspace: Workspace, *words: str) -> Result:
    return CliRunner().invoke(treasury, ["--workspace", str(workspace.folder), *words])


def test_a_trace_is_printed_hop_by_hop_and_as_rows(month_end: Workspace) -> None:
    output = call(month_end, "trace", "PAY-2026-004417")
    assert output.exit_code == 0, output.output
    assert output.output.startswith("PAY-2026-004417, on-ramp of EUR 25,000.00, SUCCEEDED\n")
    assert "Bank line" in output.output
    rows = json.loads(call(month_end, "trace", "PAY-2026-004417", "--format", "json").stdout)
    assert [row["place"] for row in rows][2] == "Bank line"


def test_only_the_message_to_the_provider_is_printed(month_end: Workspace) -> None:
    output = call(month_end, "trace", "PAY-2026-004417", "--provider")
    assert output.output.startswith("Subject: PAY-2026-004417")
    refused = call(month_end, "trace", "EUR 25,000.00", "--provider")
    assert isinstance(refused.exception, InputError)
    mixed = call(month_end, "trace", "PAY-2026-004417", "--provider", "--format", "json")
    assert mixed.exit_code == 2
    assert "takes no --format" in mixed.output
    choices = call(month_end, "trace", "EUR 25,000.00")
    assert "treasury trace " in choices.output
