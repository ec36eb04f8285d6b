"""Benchmark of matching on Apache Spark against DuckDB, on the same Parquet files.

    python -m benchmarks.spark [ROWS] [--tenfold] [--duckdb-alone] [--only WAY,…]

WAY is one of:

- `cluster`: a standalone cluster of real processes on loopback (a master and two workers, each with
  an executor of one core and less than 4 GB)
- `killed`: the same cluster, with a worker killed during the run
- `same-amount`, `one-code`, `one-payer`: sets in which every line has the same amount, names the
  same code, or comes from the same payer
- `drawn`: random worlds with every way to mangle a code, with decisions and rules
- `local`: two threads in one process
- `connect`: a Spark Connect server
- `month`: a month of a workspace with ROWS bank lines and requests, read from its lake by two
  threads

`--tenfold` adds ten times the rows on the cluster. DuckDB matches each set in its own process. All
four tables must have the same rows (compared by a hash over the sorted hashes of the rows), or the
exit code is 1.

With `--duckdb-alone` only DuckDB matches the ordinary set, and no Spark process is started. Its
database is limited to 4 GB; the Arrow tables of the input and the result come on top.

Both sides read the files and write their tables within the measured time. All Java processes share
the cores of one machine here, so the ratio to DuckDB does not apply to a cluster of many machines.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# Spark is installed in a separate environment, in which this module starts itself again.
if importlib.util.find_spec("pyspark") is None:
    python = ROOT / ".venv-spark" / "bin" / "python"
    os.execv(python, [str(python), "-m", "benchmarks.spark", *sys.argv[1:]])
sys.path.insert(0, str(ROOT / "tests" / "matching"))

import duckdb  # noqa: E402 - only the Spark environment is sure to have these
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from mangled import drawn  # noqa: E402

from benchmarks.close import filled  # noqa: E402
from benchmarks.reconcile import one_code, ordinary, ordinary_parts, peak_mb, same_amount  # noqa: E402
from benchmarks.spark_cluster import (  # noqa: E402
    HEAP,
    Cluster,
    connect_server,
    processor_seconds,
)
from treasury.matching.rules import ClassRule, Rules  # noqa: E402

ROWS = 1_000_000
MONTH = "2026-10"
TABLES = ("lines", "expectations", "allocations", "candidates")
WAYS = (
    "cluster", "killed", "same-amount", "one-code", "one-payer", "drawn", "local", "connect",
    "month",
)  # fmt: skip
PARTS = 8
"""Number of files per table, so that several tasks read it."""
DRIVER = "3g"
Tables = tuple[pa.Table, pa.Table]
Hashes = dict[str, tuple[int, str]]


class Made(NamedTuple):
    """DuckDB's seconds, and the hashes of its tables."""

    wall: float
    hashes: Hashes


def one_payer(rows: int) -> Tables:
    """Return the ordinary set with every line from one account."""
    lines, expectations = ordinary(rows)
    column = lines.schema.get_field_index("counterparty_account")
    same = pa.array(["LT000000000000000001"] * rows)
    return lines.set_column(column, "counterparty_account", same), expectations


def decisions_on(lines: pa.Table, expectations: pa.Table) -> pa.Table:
    """Return a few decisions with each verdict, about lines chosen by row number."""
    few = range(0, min(lines.num_rows, expectations.num_rows), 997)
    rows = [
        {
            "entry_id": lines["entry_id"][n].as_py(),
            "expectation_id": expectations["expectation_id"][n].as_py(),
            "verdict": ("accept", "reject", "ignore")[n % 3],
            "reason": "by telephone",
        }
        for n in few
    ]
    return pa.Table.from_pylist(rows)


SETS: dict[str, Callable[[int], Tables]] = {
    "ordinary": ordinary,
    "same-amount": same_amount,
    "one-code": one_code,
    "one-payer": one_payer,
    "drawn": drawn,
}


def write_set(name: str, rows: int, place: Path) -> None:
    """Write the files of a set: each table in parts, and the decisions if the set has any."""
    for what in ("lines", "expectations"):
        (place / what).mkdir(parents=True)
    for number, both in enumerate(parts_of(name, rows)):
        for what, piece in zip(("lines", "expectations"), both, strict=True):
            if piece.num_rows:
                pq.write_table(piece, place / what / f"part-{number}.parquet")
        if name == "drawn":
            (place / "decisions").mkdir(exist_ok=True)
            pq.write_table(decisions_on(*both), place / "decisions" / f"part-{number}.parquet")


def parts_of(name: str, rows: int) -> Iterator[Tables]:
    if name == "ordinary":
        yield from ordinary_parts(rows, PARTS)
        return
    lines, expectations = SETS[name](rows)
    size = -(-max(lines.num_rows, expectations.num_rows) // PARTS)
    for start in range(0, PARTS * size, size):
        yield lines.slice(start, size), expectations.slice(start, size)


def inputs_of(place: Path) -> dict[str, Any]:
    decisions = place / "decisions"
    return {
        "lines": str(place / "lines"),
        "expectations": str(place / "expectations"),
        "decisions": pq.read_table(decisions) if decisions.exists() else None,
        "rules": rules_of_drawn() if decisions.exists() else None,
    }


def rules_of_drawn() -> Rules:
    """Return a company's rules for the drawn worlds: an additional class, and other limits."""
    debits = ClassRule(
        name="debits", line_class="other_business", direction="DBIT", remittance=r"\binvoice\b"
    )
    return Rules(classes=(debits,), max_candidates=3, over_tolerance=Decimal("0.05"))


def match_with_duckdb(place: Path, into: Path) -> dict[str, Any]:
    from treasury import match_references

    begin = time.perf_counter()
    matches = match_references(**inputs_of(place))
    for name in TABLES:
        (into / name).mkdir(parents=True)
        pq.write_table(getattr(matches, name).to_arrow(), into / name / "part-0.parquet")
    return {
        "wall": time.perf_counter() - begin,
        "processor": time.process_time(),
        "peak": peak_mb(),
        "counts": matches.counts(),
    }


def match_with_spark(place: Path, into: Path, address: str) -> dict[str, Any]:
    from treasury.matching.spark import match_references

    session: Any = address if address.startswith("sc://") else session_at(address, into)
    begin = time.perf_counter()
    matches = match_references(**inputs_of(place), engine=session, into=into)
    wall = time.perf_counter() - begin
    return {
        "wall": wall,
        "processor": processor_seconds(driver_of(session)),
        "peak": 0,
        "counts": matches.counts(),
    }


def session_at(address: str, into: Path) -> Any:
    """Open a session on a cluster, or on threads of this process."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(address)
    for name, setting in {
        "spark.driver.memory": DRIVER,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": HEAP,
        "spark.executor.cores": "1",
        "spark.local.dir": str(into.parent / "shuffles"),
        "spark.sql.warehouse.dir": str(into.parent / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, setting)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def reconcile_with_duckdb(desk: Path, into: Path) -> dict[str, Any]:
    from treasury.workspace import Workspace

    begin = time.perf_counter()
    r = Workspace(desk).reconcile(MONTH)
    write_answer(r, into)
    for name in TABLES:
        (into / name).mkdir(parents=True)
        pq.write_table(getattr(r.matches, name).to_arrow(), into / name / "part-0.parquet")
    wall = time.perf_counter() - begin
    return {"wall": wall, "processor": time.process_time(), "peak": peak_mb(), "counts": r.counts()}


def reconcile_with_spark(desk: Path, into: Path, address: str) -> dict[str, Any]:
    from treasury.workspace import Workspace

    session = session_at(address, into)
    begin = time.perf_counter()
    r = Workspace(desk).reconcile(MONTH, engine=session, into=into)
    write_answer(r, into)
    wall, processor = time.perf_counter() - begin, processor_seconds(driver_of(session))
    return {"wall": wall, "processor": processor, "peak": 0, "counts": r.counts()}


def write_answer(r: Any, into: Path) -> None:
    """Write the tables of a month's reconciliation, named by sheet, next to those of matching."""
    for name, table in r.sheets().items():
        (into.parent / name).mkdir(parents=True)
        pq.write_table(table.to_arrow(), into.parent / name / "part-0.parquet")


def driver_of(session: Any) -> int:
    """Return the process id of this session's driver; 0 if a server runs the driver."""
    java = getattr(session, "_jvm", None)
    return 0 if java is None else int(java.java.lang.ProcessHandle.current().pid())


def apart(*arguments: object) -> dict[str, Any]:
    """Run a part of this module in its own process and return its JSON output."""
    command = [sys.executable, "-m", "benchmarks.spark", *map(str, arguments)]
    done = subprocess.run(
        command,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def hashes_of(*places: Path) -> Hashes:
    """Return for each table the number of rows, and a hash of the sorted hashes of the rows.

    Folders without Parquet files are skipped.
    """
    hashes = {}
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for path in sorted(path for place in places for path in place.iterdir()):
            if not any(path.glob("*.parquet")):
                continue
            files = f"read_parquet('{path}/*.parquet')"
            columns = sorted(connection.sql(f"FROM {files}").columns)
            row = ", ".join(f'coalesce(CAST("{column}" AS VARCHAR), chr(0))' for column in columns)
            found = connection.execute(
                "SELECT count(*), md5(string_agg(h, '' ORDER BY h))"
                f" FROM (SELECT md5(concat_ws(chr(1), {row})) AS h FROM {files})"
            ).fetchone()
            assert found is not None
            hashes[path.name] = found
    return hashes


class Bench:
    """One run of the benchmark: the files of its sets, and DuckDB's results for comparison."""

    def __init__(self, folder: Path, rows: int) -> None:
        self.folder, self.rows = folder, rows
        self.is_alike = True
        self._duckdb: dict[Path, Made] = {}
        self._number = 0

    def set_of(self, name: str, rows: int) -> Path:
        """Return the folder of a set; if it is missing, write it and match it with DuckDB."""
        place = self.folder / f"{name}-{rows}"
        if not place.exists():
            apart("--write", name, rows, place)
            said = apart("--duckdb", place, place / "duckdb")
            self._duckdb[place] = Made(said["wall"], hashes_of(place / "duckdb"))
            self._tell(f"{name}, DuckDB", rows, said, "")
        return place

    def match(self, way: str, name: str, rows: int, address: str) -> float:
        """Match a set on Spark, print the comparison with DuckDB, and return the seconds."""
        place = self.set_of(name, rows)
        into = self.next_place()
        self._number += 1
        said = apart("--spark", place, into, address)
        self._compare(f"{name}, {way}", rows, said, hashes_of(into), self._duckdb[place])
        return float(said["wall"])

    def reconcile(self, address: str) -> None:
        """Reconcile a month on Spark and on DuckDB from one lake, and compare all tables."""
        desk, ours, theirs = self.folder / "desk", self.folder / "month", self.next_place()
        self._number += 1
        apart("--fill", desk, self.rows)
        said = apart("--duckdb-month", desk, ours / "answer")
        self._tell("a month, DuckDB", self.rows, said, "")
        made = Made(said["wall"], hashes_of(ours, ours / "answer"))
        said = apart("--spark-month", desk, theirs, address)
        found = hashes_of(theirs.parent, theirs)
        self._compare(f"a month, {address}", self.rows, said, found, made)

    def _compare(
        self, what: str, rows: int, said: dict[str, Any], found: Hashes, made: Made
    ) -> None:
        """Print Spark's time, and whether its rows equal DuckDB's."""
        names = sorted(found.keys() | made.hashes.keys())
        wrong = [name for name in names if found.get(name) != made.hashes.get(name)]
        self.is_alike = self.is_alike and not wrong
        alike = f"OTHER ROWS in {', '.join(wrong)}" if wrong else "the same rows"
        self._tell(what, rows, said, f"{said['wall'] / made.wall:6.1f} × DuckDB, {alike}")

    def next_place(self) -> Path:
        """Return the folder that the next run writes to."""
        return self.folder / f"into{self._number + 1}" / "answer"

    def _tell(self, what: str, rows: int, said: dict[str, Any], more: str) -> None:
        peak = f"peak {said['peak']:6,} MB" if said["peak"] else ""
        times = f"{said['wall']:8.1f} s, {said['processor']:7.1f} s of processor"
        print(f"{what:<28} {rows:>10,} rows {times}  {more}{peak}", flush=True)


def on_cluster(bench: Bench, ways: list[str], *, is_tenfold: bool) -> None:
    """Run the ways that use the standalone cluster."""
    with Cluster(bench.folder) as cluster:
        print(f"cluster {cluster.address}, heap of an executor {HEAP}", flush=True)

        def match(way: str, name: str, rows: int = bench.rows) -> float:
            wall = bench.match(way, name, rows, cluster.address)
            held, seconds = cluster.new_peaks()
            peaks = ", ".join(f"{peak:,} MB" for peak in held)
            print(f"    executors: peaks {peaks}; {seconds:.1f} s of processor", flush=True)
            return wall

        if set(ways) - {"killed", "drawn"} or is_tenfold:
            ordinary_wall = match("cluster", "ordinary")
        for name in ("same-amount", "one-code", "one-payer"):
            if name in ways:
                share = match("cluster", name) / ordinary_wall
                print(f"    {name}: {share:.2f} of the ordinary set's time", flush=True)
        if "drawn" in ways:
            match("cluster", "drawn")
        if is_tenfold:
            times = match("cluster", "ordinary", 10 * bench.rows) / ordinary_wall
            print(f"    ten times the rows: {times:.1f} times the time", flush=True)
        if "killed" in ways:
            killer = threading.Thread(target=kill_in_the_middle, args=(bench, cluster), daemon=True)
            killer.start()
            match("a worker killed", "ordinary")


MIDDLE = 30
"""Number of written steps after which a worker is killed; the ordinary set has about fifty."""


def kill_in_the_middle(bench: Bench, cluster: Cluster) -> None:
    """Kill a worker after the next run has written some steps."""
    place = bench.next_place()
    while (written := len(list(place.glob("steps_*/*/_SUCCESS")))) < MIDDLE:
        time.sleep(0.2)
    cluster.kill_worker()
    print(f"    a worker was killed after {written} written steps", flush=True)


def main(arguments: argparse.Namespace) -> int:
    ways = arguments.only.split(",")
    strange = set(ways) - set(WAYS)
    if strange:
        raise SystemExit(f"unknown: {', '.join(sorted(strange))}; the ways are: {WAYS}")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        bench = Bench(Path(name), arguments.rows)
        if arguments.duckdb_alone:
            bench.set_of("ordinary", bench.rows)
            return 0
        if set(ways) - {"local", "connect", "month"}:
            on_cluster(bench, ways, is_tenfold=arguments.tenfold)
        if "local" in ways:
            bench.match("local[2]", "ordinary", bench.rows, "local[2]")
        if "connect" in ways:
            with connect_server(bench.folder, DRIVER) as address:
                bench.match("Connect", "ordinary", bench.rows, address)
        if "month" in ways:
            bench.reconcile("local[2]")
    return 0 if bench.is_alike else 1


def part(arguments: list[str]) -> dict[str, Any]:
    """Run the part that the arguments name, in this process."""
    match arguments:
        case ["--write", name, rows, place]:
            write_set(name, int(rows), Path(place))
            return {}
        case ["--fill", desk, rows]:
            filled(Path(desk), int(rows))
            return {}
        case ["--duckdb-month", desk, into]:
            return reconcile_with_duckdb(Path(desk), Path(into))
        case ["--spark-month", desk, into, address]:
            return reconcile_with_spark(Path(desk), Path(into), address)
        case ["--duckdb", place, into]:
            return match_with_duckdb(Path(place), Path(into))
        case ["--spark", place, into, address]:
            return match_with_spark(Path(place), Path(into), address)
    raise SystemExit(__doc__)


PARTED = ("--write", "--duckdb", "--spark", "--fill", "--duckdb-month", "--spark-month")

if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in PARTED:
        print(json.dumps(part(sys.argv[1:])))
        sys.exit()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark")
    parser.add_argument("rows", nargs="?", type=int, default=ROWS)
    parser.add_argument("--tenfold", action="store_true")
    parser.add_argument("--duckdb-alone", action="store_true")
    parser.add_argument("--only", default=",".join(WAYS), metavar="WAY,…")
    # On SIGTERM, exit normally so that the processes started here end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser.add_argument("--folder", help="Folder for the files; default: a temporary folder.")
    sys.exit(main(parser.parse_args()))
