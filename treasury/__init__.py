"""treasury: close the month in a notebook.

`t = treasury.open()` opens the workspace; everything else is reached from it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treasury.core.errors import TreasuryError
from treasury.core.nearest_names import unknown_in_module
from treasury.workspace import Workspace
from treasury.workspace import open_workspace as open  # noqa: A004 - treasury.open() reads well

if TYPE_CHECKING:
    from treasury.cli.commands.practice import practice_company
    from treasury.core.tables.table import Table
    from treasury.matching import Matches, Rules, match_references
    from treasury.report import plots
    from treasury.workspace.upkeep.dictionary import codes

__all__ = [
    "Matches", "Rules", "Table", "TreasuryError", "Workspace", "codes", "match_references",
    "open", "plots", "practice_company",
]  # fmt: skip

__version__ = "0.2.0.dev0"

_PLACES = {
    **dict.fromkeys(("Matches", "Rules", "match_references"), "treasury.matching"),
    "Table": "treasury.core.tables.table",
    "codes": "treasury.workspace.upkeep.dictionary",
    "practice_company": "treasury.cli.commands.practice",
}


def __getattr__(name: str) -> Any:
    """Import a module on first use, so that `import treasury` stays fast."""
    if name == "plots":
        return import_module("treasury.report.plots")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise unknown_in_module(__name__, name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
