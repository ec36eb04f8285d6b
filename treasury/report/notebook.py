"""The close's notebook, run for a month and left in its pack, so that each figure shows its rows.

It is the notebook that people work in, run by papermill from end to end. It reads the workspace and
writes nothing there; what it shows differs from run to run, so the pack promises its hash only.
"""

from __future__ import annotations

import importlib.util
from importlib import resources
from pathlib import Path
from typing import Final

from treasury.calendar import Month
from treasury.errors import InputError, StorageError

__all__ = ["NOTEBOOK", "require_papermill", "run_notebook"]

NOTEBOOK: Final = "monthly_reconciliation.ipynb"
LONGEST: Final = 600
"""Seconds that one cell may take."""
_EXTRA: Final = "papermill", "ipykernel"


def require_papermill() -> None:
    """InputError where notebooks cannot be run here."""
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"running the notebook needs {missing[0]}, which is not installed",
            do="install treasury[notebooks], or leave --notebook out",
        )


def run_notebook(workspace: Path, month: Month, to: Path, *, ledger: Path | None = None) -> Path:
    """Run the close's notebook on a workspace and write it, outputs included, to `to`.

    `ledger` is compared in it; a closed month has that of its close.
    Raises InputError where papermill is not installed, StorageError where a cell fails.
    """
    require_papermill()
    import papermill
    from jupyter_client.kernelspec import NoSuchKernel
    from papermill.exceptions import PapermillException, PapermillExecutionError

    try:
        papermill.execute_notebook(
            _stored(),
            to,
            parameters={
                "folder": str(workspace.resolve()),
                "month": str(month),
                "ledger": None if ledger is None else str(ledger.resolve()),
                "write": False,
            },
            cwd=workspace,
            kernel_name="python3",
            progress_bar=False,
            execution_timeout=LONGEST,
        )
    except PapermillExecutionError as error:
        raise StorageError(
            f"the notebook stopped at cell {error.cell_index + 1}: {error.ename}: {error.evalue}",
            do=f"run {NOTEBOOK} in JupyterLab to see why, or leave --notebook out",
        ) from error
    except (PapermillException, NoSuchKernel, RuntimeError, TimeoutError) as error:
        raise StorageError(
            f"the notebook could not be run: {error}",
            do=f"run {NOTEBOOK} in JupyterLab to see why, or leave --notebook out",
        ) from error
    return to


def _stored() -> Path:
    """The notebook as it comes with the package, or beside it in a checkout."""
    package = Path(str(resources.files("treasury")))
    places = (package / "notebooks" / NOTEBOOK, package.parent / "notebooks" / NOTEBOOK)
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        raise InputError(
            f"{NOTEBOOK} did not come with this installation", do="install treasury again"
        )
    return found
