"""The English check reads all kinds of texts, and fails for a folder above the limit."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "prose.py"))
is_sentence, prose_of, by_folder, report = (
    TOOL[name] for name in ("is_sentence", "prose_of", "by_folder", "report")
)
PLAIN = "The check reads this line. " * 50
ODD = "anew"
NOTEBOOK = json.dumps({
    "cells": [
        {"cell_type": "code", "source": [f"# {ODD}\n"]},
        {"cell_type": "markdown", "source": ["Run it\n", f"{ODD}.\n"]},
    ]
})  # fmt: skip


def words_of(tmp_path: Path, name: str, content: str) -> list[tuple[int, str]]:
    """Return the odd turns of speech counted in a file with this content, by line."""
    path = tmp_path / name
    path.write_text(content, "utf-8")
    return [(place.line, place.words) for place in prose_of(path).places]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("module.py", f'"""Read\n\n{ODD}."""\n', 3),
        ("function.py", f'def f():\n    """Read {ODD}."""\n', 2),
        ("attribute.py", f'LIMIT = 3\n"""Read {ODD}."""\n', 2),
        ("comment.py", f"LIMIT = 3  # read {ODD}\n", 1),
        ("message.py", f'error("the file has to be read {ODD}")\n', 1),
        ("part.py", f'error(f"the file {{name}} has to be read {ODD}")\n', 1),
        ("step.sql", f"-- Rows read {ODD}\nSELECT 1\n", 1),
        ("page.md", f"# Title\n\nRead {ODD}.\n", 3),
        ("words.csv", f'key,meaning\na,"the column is read {ODD}"\n', 2),
        ("rules.toml", f'help = "the rule is read {ODD}"\n', 1),
        ("page.html", f"<p>the page is read {ODD}</p>\n", 1),
        ("book.ipynb", NOTEBOOK, 1),
    ],
)
def test_each_kind_of_text_is_read(tmp_path: Path, name: str, content: str, line: int) -> None:
    assert words_of(tmp_path, name, content) == [(line, ODD)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("name.py", f'{ODD} = "{ODD}"\n'),
        ("directive.py", f"import os  # noqa: {ODD}\n"),
        ("query.py", f'run("SELECT {ODD} AS the only column here")\n'),
        ("code.md", f"```text\n{ODD}\n```\n"),
        ("quoted.md", f'It prints "{ODD}" and `{ODD}`.\n'),
        ("term.md", "A standing expectation has a standing code.\n"),
        ("step.sql", f"SELECT '{ODD}'\n"),
    ],
)
def test_code_quotes_and_terms_are_exempt(tmp_path: Path, name: str, content: str) -> None:
    assert words_of(tmp_path, name, content) == []


def test_a_sentence_is_distinguished_from_a_query_and_a_key() -> None:
    assert is_sentence("the file has no lines")
    assert not any(map(is_sentence, ("no_lines", "a 1 2 3 4 5", "FROM a table with many rows")))


@pytest.fixture
def project(tmp_path: Path) -> Callable[[str, str], None]:
    """Return a function that writes a file into a test project."""

    def write(name: str, content: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")

    return write


def test_a_folder_above_the_limit_is_reported_with_its_places(
    tmp_path: Path, project: Callable[[str, str], None]
) -> None:
    project("docs/plain.md", PLAIN)
    project("README.md", PLAIN)
    assert [*report(tmp_path)] == []
    project("docs/odd.md", f"Read {ODD}.\n")
    head, place = report(tmp_path)
    assert head == f"{tmp_path / 'docs'}: 4.0 hard phrases per 1,000 of 252 words"
    assert place == f"  {tmp_path / 'docs' / 'odd.md'}:1: [{ODD}] Read {ODD}."


def test_a_folder_of_few_words_counts_with_its_parent(
    tmp_path: Path, project: Callable[[str, str], None]
) -> None:
    project("docs/plain.md", PLAIN * 3)
    project("docs/deep/deeper/odd.md", f"Read {ODD}.\n")
    project("docs/large/plain.md", PLAIN)
    words = {folder: prose.words for folder, prose in by_folder(tmp_path).items()}
    docs = tmp_path / "docs"
    assert words == {tmp_path: 0, docs: 752, docs / "large": 250}
    assert [*report(tmp_path)] == []


def test_files_of_other_projects_and_other_folders_are_not_read(
    tmp_path: Path, project: Callable[[str, str], None]
) -> None:
    project("treasury/_vendor/page.md", f"{ODD} " * 300)
    project("data/workspace/page.md", f"{ODD} " * 300)
    project("data/README.md", f"Read {ODD}.\n")
    assert {folder: prose.words for folder, prose in by_folder(tmp_path).items()} == {tmp_path: 2}


@pytest.mark.parametrize(("content", "code"), [(PLAIN, 0), (f"{ODD} " * 300, 1)])
def test_the_exit_code_is_1_if_a_folder_fails(
    tmp_path: Path,
    project: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    code: int,
) -> None:
    project("docs/page.md", content)
    main: Any = TOOL["main"]
    monkeypatch.setitem(main.__globals__, "report", lambda: report(tmp_path))
    assert main([]) == code


def test_a_folder_given_is_listed_without_a_limit(
    tmp_path: Path, project: Callable[[str, str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    project("docs/page.md", f"{PLAIN}\nRead {ODD}.\n")
    assert TOOL["main"]([str(tmp_path / "docs")]) == 0
    assert capsys.readouterr().out.endswith(f"page.md:2: [{ODD}] Read {ODD}.\n")


def test_strings_of_tests_quote_messages_and_do_not_count() -> None:
    """This file has odd turns of speech, but only in strings such as the parameters above."""
    assert prose_of(Path(__file__)).places == ()
