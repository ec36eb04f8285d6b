"""The close on the command line: the ledger, the printed report, the notebook, missing programs."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from signed import close_month

from treasury.cli import treasury
from treasury.close.evidence import Evidence
from treasury.core.errors import InputError, StorageError
from treasury.report.pack import close_notebook, pdf_printing
from treasury.report.pack.pack_contents import EVIDENCE
from treasury.report.pack.pack_verification import verify_pack
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]
needs_chromium = pytest.mark.skipif(pdf_printing.browser() is None, reason="no Chromium installed")


def run(desk: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(
        treasury,
        ["--workspace", str(desk.folder), "close", "--month", "2026-10", *arguments],
        catch_exceptions=False,
    )


def evidence(pack: Path) -> Evidence:
    import msgspec

    return msgspec.json.decode((pack / EVIDENCE).read_bytes(), type=Evidence)


@pytest.fixture
def jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))


@pytest.mark.acceptance
def test_the_checklist_and_the_written_files_are_printed(
    month_end: Workspace, tmp_path: Path
) -> None:
    pack = tmp_path / "pack"
    told = run(month_end, "--out", str(pack)).stdout
    assert told.startswith("Close of October 2026, Harbour Lane Trading NV\n[x] Statements ")
    assert "[-] Ledger               not provided: nothing to compare" in told
    assert "[-] Lock                 not prepared: treasury close 2026-10" in told
    *_, report, workbook, proof, seal, why = told.splitlines()
    assert why.startswith("2026-10 is not prepared: Overdue, not paid: 2, EUR 40,000.00; ")
    assert [Path(one).name for one in (report, workbook, proof)] == [
        "report.html",
        "close.xlsx",
        EVIDENCE,
    ]
    assert seal == f"seal {evidence(pack).seal}"


@pytest.mark.acceptance
def test_a_ledger_is_compared_account_by_account(month_end: Workspace, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.csv"
    ledger.write_text("account,currency,balance\nBE45539951876689,EUR,1.00\n", "utf-8")
    told = run(month_end, "--out", str(tmp_path / "pack"), "--ledger", str(ledger)).stdout
    assert "[ ] Ledger " in told
    assert "orrect the ledger, or explain the difference" in told
    assert (tmp_path / "pack" / "inputs" / "ledger.csv").read_bytes() == ledger.read_bytes()
    assert verify_pack(tmp_path / "pack").holds


@pytest.mark.acceptance
def test_a_ledger_that_cannot_be_read_is_refused_by_its_line(
    month_end: Workspace, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.csv"
    ledger.write_text("account,currency,balance\nBE45539951876689,EUR,1.000,00\n", "utf-8")
    with pytest.raises(InputError, match=r"ledger\.csv, line 2"):
        run(month_end, "--out", str(tmp_path / "pack"), "--ledger", str(ledger))
    assert not (tmp_path / "pack").exists()


@pytest.mark.acceptance
@needs_chromium
@pytest.mark.browser
def test_chromium_prints_the_report_next_to_the_pack(month_end: Workspace, tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    told = run(month_end, "--out", str(pack), "--pdf").stdout
    assert str(pack / "report.pdf") in told
    content = (pack / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF-")
    assert content.rstrip().endswith(b"%%EOF")
    assert content.count(b"/Type /Page\n") > 3
    assert set(evidence(pack).apart) >= {"report.pdf"}
    assert verify_pack(pack).holds
    (pack / "report.pdf").write_bytes(content + b"\n")
    assert "report.pdf: was changed" in str(verify_pack(pack))


@pytest.mark.acceptance
@needs_chromium
@pytest.mark.browser
def test_a_missing_page_is_not_printed(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="could not print"):
        pdf_printing.print_pdf(tmp_path / "none.html", tmp_path / "folder" / "none.pdf")


@pytest.mark.parametrize(("option", "told"), [("--pdf", "Chromium"), ("--notebook", "papermill")])
def test_a_missing_extra_is_reported_before_the_month_is_locked(
    month_end: Workspace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    told: str,
) -> None:
    monkeypatch.setattr(pdf_printing, "browser", lambda: None)
    monkeypatch.setattr(close_notebook.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("TREASURY_USER", "anna")
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    with pytest.raises(InputError, match=told):
        run(desk, option)
    assert desk.periods.list().arrow.num_rows == 0
    assert not (desk.folder / "close").exists()


@pytest.mark.acceptance
@pytest.mark.usefixtures("jupyter")
def test_the_executed_notebook_is_in_the_pack_but_not_verified(
    month_end: Workspace, tmp_path: Path
) -> None:
    pack, books = tmp_path / "pack", tmp_path / "ledger.csv"
    books.write_text("account,currency,balance\nBE45539951876689,EUR,251686.06\n", "utf-8")
    told = run(month_end, "--out", str(pack), "--notebook", "--ledger", str(books)).stdout
    assert str(pack / close_notebook.NOTEBOOK) in told
    import nbformat  # the import takes two seconds

    done = nbformat.read(pack / close_notebook.NOTEBOOK, as_version=4)
    code = [cell for cell in done.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in code)
    written = json.dumps(done, ensure_ascii=False)
    assert "October 2026 · Harbour Lane Trading NV" in written
    assert "Fees of October 2026" in written
    assert "Ledger on 31 October 2026: 1 of 10 accounts compared" in written
    assert all(secret not in written for _, secret in Sandbox().credentials.values())
    sealed = evidence(pack)
    assert close_notebook.NOTEBOOK in sealed.apart
    assert close_notebook.NOTEBOOK not in sealed.files
    assert verify_pack(pack).holds
    (pack / close_notebook.NOTEBOOK).write_text("{}", "utf-8")
    assert f"{close_notebook.NOTEBOOK}: was changed" in str(verify_pack(pack))
    # A pack with a notebook is still a pack, and is replaced by one without.
    run(month_end, "--out", str(pack))
    assert not (pack / close_notebook.NOTEBOOK).exists()


@pytest.mark.acceptance
def test_the_notebook_follows_the_checklist_step_by_step(month_end: Workspace) -> None:
    import nbformat

    stored = nbformat.read(ROOT / "notebooks" / close_notebook.NOTEBOOK, as_version=4)
    words = "\n".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    headings = re.findall(r"^## \d+\. (.+)$", words, re.MULTILINE)
    steps = month_end.checklist("2026-10").steps
    assert len(headings) == len(steps)
    for heading, step in zip(headings, steps, strict=True):
        assert step.title.lower() in heading.lower()


@pytest.mark.acceptance
@pytest.mark.usefixtures("jupyter")
def test_the_notebook_of_a_closed_month_shows_the_stored_close(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(tmp_path / "desk")
    close_month(desk, "2026-10")
    run(desk, "--notebook")
    written = (desk.folder / "close" / "2026-10" / close_notebook.NOTEBOOK).read_text("utf-8")
    assert "closed by anna, reviewed by bert" in written
    status = desk.status("2026-10")
    closed = re.search(r"CLOSE +closed, (\d+) open items carried, (\d+) more did not block", status)
    assert closed is not None
    assert sum(map(int, closed.groups())) == 67
    assert "SIGNED       closed by anna, reviewed by bert, 2 Nov 09:00 CET" in status
    assert "not ready" not in status
    assert "not ready to close" in desk.status("2026-09")


@pytest.mark.acceptance
@pytest.mark.usefixtures("jupyter")
def test_a_failing_notebook_names_its_cell_and_keeps_the_previous_pack(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = tmp_path / "pack"
    run(month_end, "--out", str(pack))
    before = (pack / EVIDENCE).read_bytes()
    import nbformat

    broken = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("x = 1"), nbformat.v4.new_code_cell("1 / 0")],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
    )
    nbformat.write(broken, tmp_path / "broken.ipynb")
    monkeypatch.setattr(close_notebook, "stored_notebook", lambda _: tmp_path / "broken.ipynb")
    with pytest.raises(StorageError, match="stopped at cell 3: ZeroDivisionError"):
        run(month_end, "--out", str(pack), "--notebook")
    assert (pack / EVIDENCE).read_bytes() == before
