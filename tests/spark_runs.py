"""Scripts that run in Spark's own environment, and their results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent
PYTHON = TESTS.parent / ".venv-spark" / "bin" / "python"
DESK = TESTS / "spark_desk.py"


def run_on_spark(way: str, folder: Path, desk: Path = DESK) -> dict[str, Any]:
    """Run the script `desk` on a folder; return the results that it writes for `way`."""
    assert PYTHON.exists(), "Apache Spark is not installed; run tools/spark"
    assert shutil.which("java"), "Spark needs Java; on Debian: apt-get install default-jre-headless"
    completed = subprocess.run(
        [PYTHON, desk, way, folder],
        env=os.environ
        | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": str(PYTHON),
            # The scripts import the samples of the tests.
            "PYTHONPATH": os.pathsep.join((str(TESTS), str(TESTS / "lake"))),
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=1700,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr[-4000:]
    answers: dict[str, Any] = json.loads((folder / f"{way}.json").read_text("utf-8"))
    return answers
