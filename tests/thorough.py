"""How much a test draws: a part on every submission, all of it before a release.

`make acceptance` sets the variable and runs, besides its own tests, all that draw.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["THOROUGH", "examples"]

THOROUGH: Final = "THOROUGH" in os.environ


def examples(few: int, many: int) -> int:
    """How many examples are drawn now."""
    return many if THOROUGH else few
