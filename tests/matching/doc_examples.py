"""Run the Python blocks of a page in order and insert their output.

    python tests/matching/doc_examples.py docs/reconciliation.md

writes the output of the blocks into the page; the test only compares it.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "as_run"]

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def as_run(page: str) -> str:
    """Return the page with the current output of its examples."""
    # The page imports the benchmarks of this checkout.
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    names: dict[str, Any] = {"__name__": "example"}

    def run(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block[1], "example", "exec"), names)
        if block[2] is None:
            assert printed.getvalue() == "", "an example prints and the page shows nothing"
            return block[0]
        return f"```python\n{block[1]}```\n\n```text\n{printed.getvalue()}```\n"

    return _BLOCK.sub(run, page)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(as_run(path.read_text("utf-8")), "utf-8")
