"""`docs/coins.md` on the practice month: the output of its examples, and of bean-check."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from beancount import loader
from doc_console import ROOT, as_run

from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance


def test_every_example_prints_the_output_on_the_page(month_end: Workspace, tmp_path: Path) -> None:
    """The examples put new terms in force, so they run on a copy of the workspace."""
    shutil.copytree(month_end.folder, tmp_path / "desk", ignore=shutil.ignore_patterns("close"))
    page = (ROOT / "docs" / "coins.md").read_text("utf-8")
    assert page.count("```console") + page.count("```python") >= 13
    assert as_run(page, Workspace(tmp_path / "desk"), tmp_path) == page
    for measurement in ("cost", "reserves", "profit_and_loss"):
        assert f'measurement = "{measurement}"' in page
    _, errors, _ = loader.load_file(str(tmp_path / "month.beancount"))
    assert errors == []
    assert "docs/coins.md" in (ROOT / "README.md").read_text("utf-8")
