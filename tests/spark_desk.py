"""Matching on Apache Spark as a person uses it; run by the Python of Spark's own environment.

    python spark_desk.py classic|connect|serve FOLDER

FOLDER has lines.parquet, expectations.parquet and decisions.parquet, and wrong/ with tables that
must be refused. Results go into FOLDER too; counts and messages go to FOLDER/<way>.json.
"""

import json
import socket
import sys
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from treasury.core.errors import TreasuryError
from treasury.matching.spark import match_references

SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.default.parallelism": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.session.timeZone": "Asia/Tokyo",
}
"""Settings for small tables on one machine, with a time zone far from the tests' own."""


@contextmanager
def spark(folder, **more):
    """Yield a Spark session with the settings above and `more`."""
    builder = SparkSession.builder.master("local[2]")
    for name, setting in (SETTINGS | more).items():
        builder = builder.config(name, setting)
    session = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def refusal(*given, **more):
    """Return the error of a refused call, or None."""
    try:
        match_references(*given, **more)
    except TreasuryError as error:
        return f"{type(error).__name__}: {error}"
    return None


def classic(folder):
    """Match DataFrames into a folder, and a table and a path into a schema; try refused tables.

    Return the counts, the stored names and the messages.
    """
    said = {}
    lines, expectations = folder / "lines.parquet", folder / "expectations.parquet"
    decisions = pq.read_table(folder / "decisions.parquet")
    with spark(folder) as session:
        frames = [session.read.parquet(str(path)) for path in (lines, expectations)]
        result = match_references(
            *frames, decisions=decisions, engine=session, into=folder / "answer"
        )
        said["counts"] = result.counts()
        said["hash"] = result.rules_hash
        said["left"] = sorted(path.name for path in (folder / "answer").iterdir())
        said["zone"] = session.conf.get("spark.sql.session.timeZone")
        said["again"] = refusal(*frames, engine=session, into=folder / "answer")
        session.sql("CREATE SCHEMA october")
        few = session.read.parquet(str(lines)).limit(20)
        few.write.saveAsTable("october.bank")
        result = match_references("october.bank", str(expectations), engine=session, into="october")
        said["schema"] = sorted(
            row.tableName for row in session.sql("SHOW TABLES IN october").collect()
        )
        said["views"] = [table.name for table in session.catalog.listTables() if table.isTemporary]
        said["few"] = sum(result.counts().values())
        for path in sorted((folder / "wrong").iterdir()):
            given = {"lines": lines, "expectations": expectations}
            name = path.name.partition("-")[0]
            given[name] = path
            tables = (session.read.parquet(str(table)) for table in given.values())
            said[path.stem] = refusal(*tables, engine=session, into=folder / "refused")
        said["no path"] = refusal(
            str(folder / "none.parquet"), frames[1], engine=session, into="x/y"
        )
        said["no engine"] = refusal(*frames, engine=3, into="x/y")
    return said


def serve(folder):
    """Print the address of a new Spark Connect server, and run it until standard input closes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
    }
    with spark(folder, **server):
        sys.stdout.write(f"sc://127.0.0.1:{port}\n")
        sys.stdout.flush()
        sys.stdin.read()
    return {}


def connect(folder):
    """Match through a Spark Connect server in another process; return the counts and the module."""
    command = [sys.executable, __file__, "serve", str(folder)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as server:
        address = server.stdout.readline().strip()
        result = match_references(
            pq.read_table(folder / "lines.parquet"),
            str(folder / "expectations.parquet"),
            decisions=pq.read_table(folder / "decisions.parquet"),
            engine=address,
            into=folder / "connected",
        )
        said = {"counts": result.counts(), "module": type(result.lines).__module__}
        # A client that outlives its server retries for minutes.
        result.lines.sparkSession.stop()
        server.stdin.close()
    return said


if __name__ == "__main__":
    way, place = sys.argv[1], Path(sys.argv[2])
    answers = {"classic": classic, "connect": connect, "serve": serve}[way](place)
    (place / f"{way}.json").write_text(json.dumps(answers), "utf-8")
