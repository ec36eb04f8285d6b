"""Runs rendered steps on Apache Spark; executed in Spark's own environment, not in ours.

    python spark_runner.py FOLDER…

Each FOLDER/plan.json names the session's settings, the input tables (their Parquet files, the
folder that these are divided under, their columns) and the steps in order. The rows of each step
are written to FOLDER/rows/<step> and read from there by the steps after it.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def run(session, folder, plan):
    """Every step of a plan, in order."""
    for name, table in plan["inputs"].items():
        reader = session.read.schema(table["columns"])
        if table["base"]:
            reader = reader.option("basePath", table["base"])
        rows = reader.parquet(*table["files"]) if table["files"] else None
        if rows is None:
            rows = session.createDataFrame([], table["columns"])
        rows.createOrReplaceTempView(name)
    for name, sql in plan["steps"]:
        place = str(folder / "rows" / name)
        try:
            rows = session.sql(sql)
            rows.write.parquet(place)
        except Exception as error:
            raise SystemExit(f"{name}: {str(error)[:2000]}\n{sql}") from error
        session.read.schema(rows.schema).parquet(place).createOrReplaceTempView(name)


def main(folders):
    """Every plan, in one session."""
    plans = [json.loads((folder / "plan.json").read_text("utf-8")) for folder in folders]
    builder = SparkSession.builder.master("local[1]")
    for name, value in plans[0]["settings"].items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        for folder, plan in zip(folders, plans, strict=True):
            run(session, folder, plan)
    finally:
        session.stop()


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
