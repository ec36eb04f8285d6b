"""Execute the notebook of a month's close for its pack; it shows the rows of each figure.

It is the notebook in which people work, executed by papermill. It reads the workspace without
writing to it. Its output differs between runs, so the pack guarantees only its hash.
"""

from __future__ import annotations

import importlib.util
from importlib import resources
from pathlib import Path
from typing import Final

from treasury.core.calendar import Month
from treasury.core.errors import InputError, StorageError

NOTEBOOK: Final = "monthly_reconciliation.ipynb"
LONGEST: Final = 600
"""Time limit of one cell, in seconds."""
_EXTRA: Final = "papermill", "ipykernel"


def require_papermill() -> None:
    """Raise InputError if notebooks cannot be executed here."""
    missing = [name for name in _EXTRA if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"running the notebook needs {missing[0]}, which is not installed",
            do="install treasury-toolkit[notebooks], or omit --notebook",
        )


def run_notebook(
    workspace: Path,
    month: Month,
    to: Path,
    *,
    ledger: Path | None = None,
    books: Path | None = None,
) -> Path:
    """Execute the close's notebook on a workspace and write it with outputs to `to`.

    `ledger` and `books` are the files of balances and postings that the notebook compares; a closed
    month uses those of its close.
    Raises InputError if papermill is missing, StorageError if the notebook fails.
    """
    require_papermill()
    import papermill
    from jupyter_client.kernelspec import NoSuchKernel
    from papermill.exceptions import PapermillException, PapermillExecutionError

    try:
        papermill.execute_notebook(
            stored_notebook(Path(NOTEBOOK).stem),
            to,
            parameters={
                "folder": str(workspace.resolve()),
                "month": str(month),
                "ledger": None if ledger is None else str(ledger.resolve()),
                "books": None if books is None else str(books.resolve()),
                "write": False,
            },
            cwd=workspace,
            kernel_name="python3",
            progress_bar=False,
            execution_timeout=LONGEST,
        )
    except (PapermillException, NoSuchKernel, RuntimeError, TimeoutError) as error:
        problem = f"could not be run: {error}"
        if isinstance(error, PapermillExecutionError):
            problem = f"stopped at cell {error.cell_index + 1}: {error.ename}: {error.evalue}"
        raise StorageError(
            f"the notebook {problem}",
            do=f"run `treasury notebook {Path(NOTEBOOK).stem}` to see why, or omit --notebook",
        ) from error
    return to


def notebook_names() -> tuple[str, ...]:
    """Return the names of the notebooks in the package."""
    return tuple(sorted(path.stem for path in _folder().glob("*.ipynb")))


def stored_notebook(name: str) -> Path:
    """Return a notebook of the package or the checkout; raise InputError if it is missing."""
    path = _folder() / f"{name}.ipynb"
    if not path.is_file():
        raise InputError(
            f"{path.name} is missing from this installation", do="install treasury again"
        )
    return path


def _folder() -> Path:
    package = Path(str(resources.files("treasury")))
    within = package / "notebooks"
    return within if within.is_dir() else package.parent / "notebooks"
