"""Write what commands print into README.md and docs/, from the practice company of `make demo`.

A text block below the comment `<!-- prints: treasury status -->` gets the output of that command.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
BLOCK: Final = re.compile(
    r"(?P<mark><!-- prints: treasury (?P<command>[^>]*?) -->\n)```text\n.*?```", re.DOTALL
)
PROGRAM: Final = Path(sys.executable).with_name("treasury")


def printed(folder: Path, *arguments: str) -> str:
    """Return what a command prints in a workspace."""
    command = [PROGRAM, "--workspace", folder, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own program


def main() -> None:
    """Run the demo once, then each command named in a page."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "workspace"
        printed(folder, "demo")
        # The pages show the month before its report is written.
        shutil.rmtree(folder / "close")
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
            page = path.read_text("utf-8")
            path.write_text(
                BLOCK.sub(
                    lambda block: (
                        f"{block['mark']}```text\n{printed(folder, *block['command'].split())}```"
                    ),
                    page,
                ),
                "utf-8",
            )


if __name__ == "__main__":
    main()
