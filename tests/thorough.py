"""The number of random examples: few in ordinary runs, many before a release.

`make acceptance` sets the variable THOROUGH, and runs all randomised tests as well as its own.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["THOROUGH", "examples"]

THOROUGH: Final = "THOROUGH" in os.environ


def examples(few: int, many: int) -> int:
    """Return `many` if THOROUGH is set, otherwise `few`."""
    return many if THOROUGH else few
