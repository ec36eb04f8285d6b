"""The number of random examples: few on every submission, many before a release.

`make acceptance` sets the variable, and runs all randomised tests as well as its own.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["THOROUGH", "examples"]

THOROUGH: Final = "THOROUGH" in os.environ


def examples(few: int, many: int) -> int:
    """Return the present number of examples."""
    return many if THOROUGH else few
