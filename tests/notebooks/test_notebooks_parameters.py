"""Notebooks run by papermill with parameters: a new practice company, and fees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


@pytest.fixture(autouse=True)
def _jupyter_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


def run(name: str, into: Path, **parameters: Any) -> NotebookNode:
    """Run a notebook by papermill in a folder; return it with its output."""

    import nbformat  # the import takes two seconds
    import papermill

    done = into / f"{name}.ipynb"
    papermill.execute_notebook(
        FOLDER / f"{name}.ipynb",
        done,
        parameters=parameters,
        cwd=into,
        kernel_name="python3",
        progress_bar=False,
        execution_timeout=180,
    )
    return nbformat.read(done, as_version=4)


def shown(notebook: NotebookNode, cell: str) -> str:
    """Return the printed and displayed output of a cell, as text and as HTML."""
    (found,) = (one for one in notebook.cells if one.id == cell)
    texts = []
    for output in found.outputs:
        data = output.get("data", {})
        texts += [output.get("text", ""), data.get("text/html", ""), data.get("text/plain", "")]
    return "\n".join(texts)


def test_the_practice_company_is_reconciled_from_nothing(tmp_path: Path) -> None:
    done = run("quickstart", tmp_path, folder=str(tmp_path / "desk"))
    assert "0 changed, 0 vanished" in shown(done, "sync")
    assert "18 statements (18 new, 18 proved)" in shown(done, "statements")
    assert "414 bank lines" in shown(done, "reconcile")
    r = Workspace(tmp_path / "desk").reconcile("2026-10")
    behind = shown(done, "behind").count("<tr>") - 1
    assert behind == r.counts()["suggested"] > 0
    assert "Pay today with this reference" in shown(done, "funding")
    assert "Fees of October 2026: EUR 1,977.86 on 21 completed requests" in shown(done, "fees")
    assert "PAY-2026-004417, on-ramp of EUR 25,000.00, SUCCEEDED" in shown(done, "trace")
    assert "not ready to close" in shown(done, "status")
    assert "SUCCEEDED" in shown(done, "more")
    written = json.dumps(done)
    assert all(secret not in written for _, secret in Sandbox().credentials.values())


def test_fees_are_reported_for_the_requested_months(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_WORKSPACE", str(month_end.folder))
    invoice = tmp_path / "invoice.csv"
    invoice.write_text("reference,fee,currency\nPAY-2026-005175,80.01,EUR\n", "utf-8")
    done = run("fee_report", tmp_path, months="2026-07..2026-10", invoice=str(invoice), write=True)
    assert "EUR 9,267.82 on 84 completed requests" in shown(done, "open")
    assert "EUR -220.48" in shown(done, "trend")
    assert "at 71.62 basis points" in shown(done, "figure")
    assert "1977.86" in shown(done, "behind")
    assert shown(done, "requests").count("<tr>") == 1 + 21
    assert "0 of 84 fees to check" in shown(done, "check")
    assert shown(done, "rates").count("<tr>") == 10
    assert "AWAITING_FUNDS" in shown(done, "accruals")
    assert "EUR 0.01 more than recorded" in shown(done, "invoice")
    path = month_end.folder / "fees 2026-07 to 2026-10.xlsx"
    assert path.is_file()
    path.unlink()


def test_the_last_ended_month_is_reported_by_default(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_WORKSPACE", str(month_end.folder))
    done = run("fee_report", tmp_path)
    assert "Fees of October 2026: EUR 1,977.86" in shown(done, "open")
    assert "no invoice named" in shown(done, "invoice")
    assert not (month_end.folder / "fees 2026-10 to 2026-10.xlsx").exists()
