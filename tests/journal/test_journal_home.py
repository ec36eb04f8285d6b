"""Two desks with a common journal and home: each sees the other's decisions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shared_desks import anna, ben, run, shared_home

from benchmarks.postgres_server import Server
from treasury.core.settings import FILE_NAME

pytestmark = pytest.mark.acceptance

MONTH = "2026-10"
__all__ = ["anna", "ben", "shared_home"]


def test_decisions_about_unpulled_commits_are_reported(
    anna: Path, ben: Path, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other desk shows the decision once it has pulled the commit."""
    url = postgresql.new_url()
    for desk in (anna, ben):
        with (desk / FILE_NAME).open("a") as settings:
            settings.write(f'\n[journal]\nurl = "{url}"\n')
    monkeypatch.setenv("TREASURY_USER", "ines")
    path = next((anna / "bank").glob("*.xml"))
    # Adding a known file makes a commit without new rows.
    assert run(anna, "statements", "add", str(path)).exit_code == 0
    line = json.loads(run(anna, "match", "open", "--format", "json").stdout)[0]
    ignored = run(anna, "match", "ignore", str(line["entry_id"]), "--reason", "a test of the bank")
    assert ignored.exit_code == 0, ignored.output
    said = run(ben, "reconcile", MONTH).stderr
    assert "the journal has a decision on commits up to 3, but this desk has pulled up to 2" in said
    assert "the journal has a decision" in run(ben, "doctor").output
    run(ben, "lake", "pull")
    assert "the journal has" not in run(ben, "reconcile", MONTH).stderr
    printed = [
        run(desk, "reconcile", MONTH, "--format", "csv").stdout_bytes for desk in (anna, ben)
    ]
    assert printed[0] == printed[1]
