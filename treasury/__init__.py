"""treasury: close the month in a notebook.

`t = treasury.open()` opens the workspace; everything else is reached from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treasury.core.errors import TreasuryError
from treasury.workspace import Workspace
from treasury.workspace import open_workspace as open  # noqa: A004 - treasury.open() reads well

if TYPE_CHECKING:
    from treasury.matching import Matches, Rules, match_references

__all__ = ["Matches", "Rules", "TreasuryError", "Workspace", "match_references", "open"]

__version__ = "0.2.0.dev0"

_LAZY = {"Matches", "Rules", "match_references"}


def __getattr__(name: str) -> Any:
    """Load the matching room only when it is asked for: `import treasury` stays quick."""
    if name in _LAZY:
        from treasury import matching

        return getattr(matching, name)
    raise AttributeError(f"module 'treasury' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
