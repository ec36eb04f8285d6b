"""A panel on a saved page or in a terminal: a note with its title and row count, no amounts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from panel_practice import Practice

from treasury.extract import SERVICE_TABLES

SEE_LIVE = "To use this panel, run its cell in a notebook that runs widgets."
STATE = "application/vnd.jupyter.widget-state+json"


def seen(page: str) -> str:
    """Return the text of a page that a browser without JavaScript shows."""
    body = page[page.index("<body") :]
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", body, flags=re.DOTALL)
    return re.sub(r"<[^>]+>", " ", body)


@pytest.mark.acceptance
@pytest.mark.parametrize("is_state_kept", [True, False], ids=["state kept", "state left out"])
def test_a_saved_page_shows_a_note_and_the_notebook_stores_no_figure(
    month: Practice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_state_kept: bool
) -> None:
    import nbformat  # the import takes two seconds
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    source = f"import treasury\ntreasury.open({str(month.workspace.folder)!r}).panels.funding()"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
    NotebookClient(
        notebook, timeout=180, kernel_name="python3", store_widget_state=is_state_kept
    ).execute()
    page, _ = HTMLExporter().from_notebook_node(notebook)

    rows = month.workspace.panels.funding().rows.arrow.to_pylist()
    note = f"Funding: {len(rows)} requests. {SEE_LIVE}"
    assert rows
    assert seen(page).count(note) == 1

    assert is_state_kept == (STATE in notebook.metadata.get("widgets", {}))
    kept = json.dumps(notebook.metadata) + json.dumps(notebook.cells[0].outputs)
    figures = [f"{row['send']:.2f}" for row in rows] + [f"{row['send']:,.2f}" for row in rows]
    hidden = [*figures, *(row["reference"] for row in rows)]
    assert [text for text in hidden if text in kept or text in page] == []


def test_a_terminal_shows_the_note_without_an_empty_line(
    month: Practice,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
    try:
        shell.push({"panel": month.workspace.panels.sync()})
        capsys.readouterr()
        shell.run_cell("panel")
    finally:
        InteractiveShell.clear_instance()
    shown = capsys.readouterr().out
    tables = len(SERVICE_TABLES)
    note = f"Sync: {tables} tables of the services. {SEE_LIVE}\n"
    assert shown.endswith(note)
    assert shown.count("\n") == 1
