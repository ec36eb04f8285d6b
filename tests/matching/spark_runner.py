"""Run rendered steps on Apache Spark, in a Python environment separate from the project's.

    python spark_runner.py FOLDER…

Each FOLDER/plan.json names the session's settings (those of the first plan count), the input
tables (their Parquet files, the base folder of their partitions, and their columns) and the steps
in order. The rows of each step are written to FOLDER/rows/<step> and read from there by the steps
after it. FOLDER/products.json then lists every join without equal columns that Spark plans if no
table is small enough to broadcast: the step, and the tables on both sides.
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession


def run(session, folder, plan):
    """Run every step of a plan, in order."""
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


def products(session, plan):
    """Return the joins without equal columns that Spark plans if it broadcasts no table."""
    session.sql("SET spark.sql.autoBroadcastJoinThreshold=-1")
    database = f"plans{plan['number']}"
    session.sql(f"CREATE DATABASE {database}")
    session.sql(f"USE {database}")
    for name, table in plan["inputs"].items():
        session.sql(f"CREATE TABLE {name} ({table['columns']}) USING parquet")
    outputs = []
    for name, sql in plan["steps"]:
        rows = session.sql(sql)
        nodes = nodes_of(rows._jdf.queryExecution().sparkPlan())
        outputs += [
            [name, [tables_of(child) for child in children_of(node)]]
            for node in nodes
            if "NestedLoop" in node.nodeName() or "Cartesian" in node.nodeName()
        ]
        columns = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in rows.schema)
        session.sql(f"CREATE TABLE {name} ({columns}) USING parquet")
    return outputs


def children_of(node):
    children = node.children()
    return [children.apply(place) for place in range(children.length())]


def nodes_of(node):
    yield node
    for child in children_of(node):
        yield from nodes_of(child)


def tables_of(node):
    """Return the tables that are read below a node of a plan."""
    leaves = [leaf for leaf in nodes_of(node) if not children_of(leaf)]
    scans = [leaf for leaf in leaves if leaf.nodeName().startswith("Scan parquet")]
    return sorted({leaf.tableIdentifier().get().table() for leaf in scans})


def main(folders):
    """Run every plan in one session."""
    plans = [json.loads((folder / "plan.json").read_text("utf-8")) for folder in folders]
    builder = SparkSession.builder.master("local[1]")
    for name, value in plans[0]["settings"].items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        for folder, plan in zip(folders, plans, strict=True):
            run(session, folder, plan)
            outputs = products(session.newSession(), plan)
            (folder / "products.json").write_text(json.dumps(outputs), "utf-8")
    finally:
        session.stop()


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
