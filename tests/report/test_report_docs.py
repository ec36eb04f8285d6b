"""The pages about cash, fees, accounting, matching and exposure show what the commands print."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doc_console import ROOT, as_run, with_limits

from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance


@pytest.mark.parametrize(
    ("name", "examples"), [("fees", 10), ("accounting", 5), ("matching", 3), ("cash", 6)]
)
def test_every_example_prints_the_output_on_the_page(
    practised: Workspace, tmp_path: Path, name: str, examples: int
) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    desk = Workspace(shutil.copytree(practised.folder, tmp_path / "desk"))
    assert page.count("```console") + page.count("```python") >= examples
    assert as_run(page, desk, tmp_path) == page
    assert f"docs/{name}.md" in (ROOT / "README.md").read_text("utf-8")


def test_the_exposure_page_shows_the_output_of_a_desk_under_its_limits(
    practised: Workspace, tmp_path: Path
) -> None:
    page = (ROOT / "docs" / "exposure.md").read_text("utf-8")
    desk = with_limits(page, shutil.copytree(practised.folder, tmp_path / "desk"))
    assert page.count("```console") + page.count("```python") >= 6
    assert as_run(page, desk, tmp_path) == page
    assert "docs/exposure.md" in (ROOT / "README.md").read_text("utf-8")
