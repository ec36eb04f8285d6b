"""The pages about fees and accounting show what the commands print."""

from __future__ import annotations

from pathlib import Path

import pytest
from doc_console import ROOT, as_run

from treasury.workspace import Workspace


@pytest.mark.parametrize(("name", "examples"), [("fees", 8), ("accounting", 5)])
def test_every_example_prints_what_the_page_shows(
    month_end: Workspace, tmp_path: Path, name: str, examples: int
) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text("utf-8")
    assert page.count("```console") + page.count("```python") >= examples
    assert as_run(page, month_end, tmp_path) == page
    assert f"docs/{name}.md" in (ROOT / "README.md").read_text("utf-8")
