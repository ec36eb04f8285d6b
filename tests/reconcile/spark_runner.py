"""Runs rendered steps on Apache Spark; executed in Spark's own environment, not in ours.

    python spark_runner.py FOLDER

FOLDER/plan.json names the session's settings, the input tables with their Parquet files, and the
steps in order. The rows of each step are written to FOLDER/rows/<step> and read from there by the
steps after it.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(folder: Path) -> None:
    """Every step, in order."""
    plan = json.loads((folder / "plan.json").read_text("utf-8"))
    builder = SparkSession.builder.master("local[2]")
    for name, value in plan["settings"].items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        for name, files in plan["inputs"].items():
            session.read.parquet(*files).createOrReplaceTempView(name)
        for name, sql in plan["steps"]:
            place = str(folder / "rows" / name)
            try:
                session.sql(sql).write.parquet(place)
            except Exception as error:
                raise SystemExit(f"{name}: {str(error)[:2000]}\n{sql}") from error
            session.read.parquet(place).createOrReplaceTempView(name)
    finally:
        session.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
