"""Reconcile months on Apache Spark and on DuckDB; executed in Spark's own environment.

    python spark_month_desk.py WAY FOLDER

WAY is practice, drawn or lake. The differences between the engines and the messages are written to
FOLDER/WAY.json. For practice, FOLDER/practice must be a practice workspace in November.
"""

import json
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from spark_desk import spark

from treasury.core.errors import TreasuryError
from treasury.month.reconciliation import SHEETS, worked_out
from treasury.month.spark.spark_lake import LakeOnCluster, read_lake
from treasury.month.spark.spark_month import month_on_spark
from treasury.workspace import Workspace

TABLES = (*SHEETS.values(), "fee_totals", "bank_cutoffs", "excess_lines")
SCALARS = ("month", "company", "environment", "as_of", "known_at", "rules")


def differences(duckdb, on_spark):
    """Return the names of the parts in which two answers differ; the order of rows counts."""
    wrong = [name for name in TABLES if not alike(duckdb, on_spark, name)]
    wrong += [name for name in SCALARS if getattr(duckdb, name) != getattr(on_spark, name)]
    shown = [
        *on_spark.lines["entry_id"].to_pylist(),
        *on_spark.earlier_lines["entry_id"].to_pylist(),
    ]
    for name in ("lines", "allocations", "candidates"):
        rows, brought = getattr(duckdb.matches, name), getattr(on_spark.matches, name)
        kept = rows.filter(pc.is_in(rows["entry_id"], pa.array(shown, pa.string())))
        wrong += [f"matches.{name}"] * (not kept.equals(brought))
    states, brought = duckdb.matches.expectations, on_spark.matches.expectations
    ids = brought["expectation_id"]
    kept = states.filter(pc.is_in(states["expectation_id"], ids.combine_chunks()))
    return wrong + ["matches.expectations"] * (not kept.equals(brought))


def alike(duckdb, on_spark, name):
    left, right = getattr(duckdb, name), getattr(on_spark, name)
    return left.schema == right.schema and left.equals(right)


def everything(matches):
    """Return every table of `SparkMatches` as sorted rows."""
    names = ("lines", "expectations", "allocations", "candidates")
    return {name: sorted(map(str, getattr(matches, name).toArrow().to_pylist())) for name in names}


def practice(folder):
    """Compare October, the tables that Spark writes, refusals, and a lake in its home."""
    desk = Workspace(folder / "practice")
    said = {}
    with spark(folder) as session:
        ours = desk.reconcile("2026-10")
        theirs = desk.reconcile("2026-10", engine=session, into=folder / "october")
        said["differences"] = differences(ours, theirs)
        said["rows"] = len(ours.lines)
        said["counts"] = [ours.counts(), theirs.counts()]
        said["is partial"] = theirs.is_partial
        said["written"] = [
            name
            for name, rows in everything(theirs.matches_on_spark).items()
            if rows != sorted(map(str, getattr(ours.matches, name).arrow.to_pylist()))
        ]
        said["folder"] = sorted(path.name for path in (folder / "october").iterdir())
        before = desk.at("2026-11-01T07:59Z")
        said["nothing yet"] = refusal(lambda: before.reconcile("2026-10", engine=session))
        said["too early"] = refusal(lambda: desk.reconcile("2027-10", engine=session))
        said["long ago"] = refusal(lambda: desk.reconcile("2001-10", engine=session))
        steps = folder / "practice" / "spark"
        said["home"], said["no home"] = of_a_home(folder, session)
        said["left"] = [path.name for path in steps.iterdir()]
        said["mode"] = oct(steps.stat().st_mode & 0o777)
    return said


def of_a_home(folder, session):
    """Return the differences if Spark reads the lake's home, and the message if it is missing."""
    shared, home = folder / "shared", folder / "home"
    shutil.copytree(folder / "practice", shared)
    with (shared / "treasury.toml").open("a") as file:
        file.write(f'\n[lake]\nhome = "{home}"\n')
        file.write(f'\n[engine]\naddress = "local[2]"\nlake = "file://{home}/lake"\n')
    desk = Workspace(shared)
    desk.lake.sharing.push()
    ours = desk.reconcile("2026-10", engine="duckdb")
    wrong = differences(ours, desk.reconcile("2026-10", engine=session))
    (home / "lake").rename(home / "away")
    return wrong, refusal(lambda: desk.reconcile("2026-10", engine=session))


def refusal(ask):
    """Return the class and the message of the error that a call raises, or None."""
    try:
        ask()
    except TreasuryError as error:
        return f"{type(error).__name__}: {error}"
    return None


def drawn(folder):
    """Compare random months with decisions and a close; Spark matches settled records too."""
    from settled_world import DrawnMonths

    world = DrawnMonths(5, folder / "a {lake} of ours", lines=18)
    for _ in range(3):
        world.pass_month()
        answer = worked_out(world.basis(None)).answer
        suggested = [row for row in answer.lines.arrow.to_pylist() if row["outcome"] == "suggested"]
        pairs = answer.matches.candidates.arrow.select(["entry_id", "expectation_id"]).to_pylist()
        world.decide(suggested, [tuple(row.values()) for row in pairs])
        world.surprise()
    world.close()
    basis = world.basis(world.closed_months())
    with spark(folder) as session:
        theirs = month_on_spark(
            basis,
            engine=session,
            into=None,
            folder=folder / "steps {x}",
            lake=LakeOnCluster(folder),
        )
    everything_matched = worked_out(world.basis(None)).answer
    return {
        "differences": differences(everything_matched, theirs),
        "rows": len(theirs.lines),
        "decided": len(world.decided),
        "left": [path.name for path in (folder / "steps {x}").iterdir()],
    }


def lake(folder):
    """Compare how Spark and DuckDB read tables of every form, as of commits and instants."""
    from lake_samples import CATALOGUE, REQUESTS, WALLETS, day, requests

    from treasury.core.tables.column_types import AMOUNT, TEXT, Column
    from treasury.lake import Lake, Table
    from treasury.matching.spark.spark_run import spark_settings

    never = Table("never", (Column("id", TEXT, "nobody"),))
    place = folder / "tables {x,y} é #1"
    place.mkdir()
    kept = Lake(place, (*CATALOGUE, never))
    for number, rows in enumerate((requests(a="OPEN", b="DONE"), requests(a="DONE", c="OPEN"))):
        with kept.writer("sync", day(number)) as writer:
            writer.upsert(REQUESTS, rows)
    late = (Column("late", TEXT, "new"), Column("late_amount", AMOUNT, "new", unit="euros"))
    wider = Table("requests", (*REQUESTS.columns, *late), settles=True)
    later = Lake(place, (wider, WALLETS, *CATALOGUE[2:], never))
    names = [name for t in (wider, WALLETS, never) for name in (t.name, t.history)] + ["balances"]
    said = {}
    with spark(folder) as session, spark_settings(session):
        views = {
            "now": later.snapshot(),
            "first commit": later.snapshot(commit=1),
            "before": later.snapshot(day(-1)),
            "between": later.snapshot(day(0)),
            "after": later.snapshot(day(5)),
        }
        for when, snapshot in views.items():
            for name, rows in read_lake(session, snapshot, names, LakeOnCluster(place)).items():
                ours, theirs = snapshot.table(name), rows.toArrow()
                assert theirs.column_names == ours.column_names, (when, name)
                alike = in_order(ours) == in_order(theirs.cast(ours.schema))
                said[f"{when}: {name}"] = [ours.num_rows, alike]
    return said


def in_order(table):
    return sorted(map(str, table.to_pylist()))


if __name__ == "__main__":
    way, place = sys.argv[1], Path(sys.argv[2])
    answers = {"practice": practice, "drawn": drawn, "lake": lake}[way](place)
    (place / f"{way}.json").write_text(json.dumps(answers), "utf-8")
