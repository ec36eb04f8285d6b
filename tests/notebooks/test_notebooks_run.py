"""The stored notebooks have no output in the repository, and run on the practice company."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from signed import carry_all

from treasury.cli.commands.practice import prepare
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = ("operations", "monthly_reconciliation", "trace_payment", "quickstart", "fee_report")
VIEW = "application/vnd.jupyter.widget-view+json"


@contextmanager
def served_in(folder: Path, month_end: Workspace) -> Iterator[Workspace]:
    """Yield a copy of the month in `folder`, with its services running and in the environment."""
    company = Sandbox()
    shutil.copytree(month_end.folder, folder / "workspace")
    with pytest.MonkeyPatch.context() as patch, company.serve() as served:
        for name, (_, secret) in company.credentials.items():
            patch.setenv(f"TREASURY_{name.upper()}_SECRET", secret)
        for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(folder / name.lower()))
        made = prepare(folder / "workspace", company, served)
        patch.setenv("TREASURY_WORKSPACE", str(made.folder))
        yield made


@pytest.fixture
def workspace(tmp_path: Path, month_end: Workspace) -> Iterator[Workspace]:
    with served_in(tmp_path, month_end) as made:
        yield made


@pytest.fixture(scope="module")
def morning(
    month_end: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Workspace, NotebookNode]:
    """Run the morning notebook; return its workspace and the notebook with its output."""
    folder = tmp_path_factory.mktemp("morning")
    with served_in(folder, month_end) as made:
        return made, run("operations", folder)


def read(name: str) -> NotebookNode:
    import nbformat  # the import takes two seconds

    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def run(name: str, folder: Path, *, write: bool = False) -> NotebookNode:
    """Run a stored notebook in a folder; `write` switches its writing on."""

    from nbclient import NotebookClient

    notebook = read(name)
    for cell in notebook.cells if write else ():
        cell.source = cell.source.replace("write = False", "write = True")
    NotebookClient(
        notebook, timeout=180, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


def outputs(notebook: NotebookNode, cell: str) -> list[NotebookNode]:
    (found,) = (one for one in notebook.cells if one.id == cell)
    return list(found.outputs)


def text(notebook: NotebookNode, cell: str) -> str:
    return "".join(one.text for one in outputs(notebook, cell) if one.output_type == "stream")


def html(notebook: NotebookNode, cell: str) -> str:
    return "".join(
        one.data["text/html"]
        for one in outputs(notebook, cell)
        if "text/html" in one.get("data", {})
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_stored_without_outputs(name: str) -> None:
    import nbformat

    notebook = read(name)
    nbformat.validate(notebook)
    assert "widgets" not in notebook.metadata
    for cell in notebook.cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_short_cells_with_words_before_them(name: str) -> None:
    cells = read(name).cells
    assert cells[0].cell_type == "markdown"
    assert all(len(cell.source.splitlines()) <= 15 for cell in cells if cell.cell_type == "code")
    words = [cell.id for cell in cells if cell.cell_type == "markdown"]
    assert len(words) >= 5


@pytest.mark.acceptance
def test_the_morning_notebook_runs_and_shows_open_work(
    morning: tuple[Workspace, NotebookNode],
) -> None:
    workspace, done = morning
    assert "Decide bank lines <strong>" in html(done, "status")
    assert "EUR operating account" in html(done, "statements")
    _, panel = outputs(done, "approvals")
    assert VIEW in panel.data
    _, funding = outputs(done, "funding")
    assert VIEW in funding.data
    awaiting = workspace.sql("SELECT * FROM ramp_requests WHERE status = 'AWAITING_APPROVAL'")
    held = json.dumps(done.metadata) + json.dumps([panel, funding])
    for row in awaiting.arrow.to_pylist():
        for told in ("payment_reference", "company_bank_account_iban", "company_wallet_address"):
            assert row[told] is None or row[told] not in held
    assert all(secret not in json.dumps(done) for _, secret in Sandbox().credentials.values())


@pytest.mark.acceptance
def test_the_morning_shows_no_whole_account_number(
    morning: tuple[Workspace, NotebookNode],
) -> None:
    workspace, done = morning
    shown = json.dumps(done)
    for account in workspace.settings.accounts:
        assert account.account not in shown


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["operations", "monthly_reconciliation"])
def test_run_all_changes_nothing_even_if_the_month_can_be_prepared(
    workspace: Workspace, tmp_path: Path, name: str
) -> None:
    carry_all(workspace, "2026-10")
    assert not workspace.open_items("2026-10").blocking

    def stored() -> tuple[object, ...]:
        last = workspace.lake.last_commit()
        return workspace.journal.head(), last and last.number, workspace.lake.pins()

    before = stored()
    run(name, tmp_path)
    assert stored() == before
    assert not (workspace.folder / "close").exists()


@pytest.mark.acceptance
def test_the_close_runs_and_writes_its_report(workspace: Workspace, tmp_path: Path) -> None:
    done = run("monthly_reconciliation", tmp_path, write=True)
    assert "October 2026" in text(done, "open")
    assert "matched" in html(done, "summary")
    assert "Suggested" in html(done, "open-lines")
    assert "by provider report" in html(done, "virtual")
    assert "Fees of October 2026" in html(done, "fees")
    assert "With the provider at the end of 31 Oct: EUR 383,507.65" in text(done, "exposure")
    assert "not provable" in html(done, "exposure")
    assert "payout outstanding" in html(done, "exposure-rows")
    for figure in ("cash", "rates", "exposure-figure"):
        (output,) = outputs(done, figure)
        assert output.data["image/svg+xml"].lstrip().startswith("<?xml")
    report = workspace.folder / "close" / "2026-10" / "report.html"
    assert str(report) in text(done, "close")
    assert report.is_file()
    assert "CLOSE" in text(done, "first-screen")


@pytest.mark.acceptance
def test_a_payment_is_traced_and_a_message_written(workspace: Workspace, tmp_path: Path) -> None:
    done = run("trace_payment", tmp_path)
    shown = html(done, "trace")
    assert "PAY-2026-004417, on-ramp of EUR 25,000.00, SUCCEEDED" in shown
    for place in ("Bank line", "Reference", "Service", "Conversion", "Wallet"):
        assert place in shown
    assert text(done, "gaps") == "Next: nothing to do\n"
    assert "Payment reference: PAY-2026-004417" in text(done, "provider")
