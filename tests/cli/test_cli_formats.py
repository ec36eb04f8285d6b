"""Every verb that prints facts also prints them for programs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.workspace import Workspace

ACTS = {
    "actions": (
        "again",
        "approve",
        "execute",
        "propose",
        "recover",
        "reject",
        "settle",
        "withdraw",
    ),
    "items": (
        "accept",
        "accept-removal",
        "assign",
        "attach",
        "carry",
        "explain",
        "remark",
        "remove-file",
        "save",
        "withdraw",
    ),
    "journal": ("adopt",),
    "addresses": ("confirm",),
    "journal key": ("enrol", "make", "show"),
    "lake": ("clone", "pin", "pull", "push", "sweep", "unpin"),
    "match": ("accept", "assign", "file", "group", "ignore", "reject", "undo"),
    "notices": ("settle",),
    "periods": ("reopen",),
    "rates": ("add",),
    "request": ("accept-payee", "mark-sent", "not-uploaded", "undo", "void-file", "will-not-fund"),
    "rules": ("save",),
    "statements": ("confirm", "profile", "withdraw"),
    "wallets": ("add", "balance"),
    "": ("demo", "export", "init", "notebook", "notify", "practice", "sandbox", "watch"),
}
"""Verbs with an effect, which print a sentence about it."""


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the group and the name of every command without `--format`."""
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from commands(child, (*path, name))
    elif not any(option.name == "form" for option in command.params):
        yield " ".join(path[:-1]), path[-1]


def test_every_command_that_prints_facts_has_a_format_option() -> None:
    acts = {(group, name) for group, names in ACTS.items() for name in names}
    assert set(commands(treasury)) == acts


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREASURY_USER", "ines")
    shutil.copytree(month_end.folder, tmp_path / "desk")
    return tmp_path / "desk"


def printed(desk: Path, *words: str) -> list[dict[str, object]]:
    done = CliRunner().invoke(treasury, ["-w", str(desk), *words, "--format", "json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert isinstance(rows, list)
    return rows


@pytest.mark.acceptance
def test_a_journal_and_added_files_are_printed_in_machine_formats(desk: Path) -> None:
    line = printed(desk, "match", "open")[0]["entry_id"]
    ignored = ["match", "ignore", str(line), "--reason", "the bank corrected it"]
    assert CliRunner().invoke(treasury, ["-w", str(desk), *ignored]).exit_code == 0
    (head,) = printed(desk, "journal", "head")
    (verified,) = printed(desk, "journal", "verify")
    assert verified["end"] == f"{head['number']}:{head['hash']}"
    assert (verified["entries"], verified["signed"], verified["false"]) == (head["number"], 0, 0)
    assert printed(desk, "journal", "key", "list") == []
    added = printed(
        desk, "statements", "add", *map(str, sorted((desk / "bank").glob("*_2026-10.xml")))
    )
    assert {row["proved"] for row in added} == {True}
