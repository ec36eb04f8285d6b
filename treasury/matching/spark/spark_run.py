"""Run SQL steps on Apache Spark, and write the results to a folder or schema.

A stored step is written and then read from storage, so that its plan does not contain the steps
before it, and the loss of a worker loses no finished step. Several steps run at a time: while the
driver plans one, the workers run others. A step that is read once becomes part of its reader,
unless the reader can be skipped when that step has no rows.
"""

from __future__ import annotations

import re
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import duckdb
import pyarrow as pa

from treasury.core.errors import InputError, StorageError
from treasury.core.settings import SPARK_ADDRESSES, Secret, is_spark_address
from treasury.matching.engine.dialect import SPARK_SETTINGS, render
from treasury.matching.engine.pipeline import Step
from treasury.matching.engine.rowless import is_rowless

_T = TypeVar("_T")
_R = TypeVar("_R")
_ELSEWHERE: Final = "name another folder or schema with `into`; nothing is overwritten"
_INSTALL: Final = "install it: pip install 'treasury-toolkit[spark]'"


def session_of(engine: Any, token: Secret | None = None) -> Any:
    """Return `engine` if it is a Spark session, else the session at that address.

    An address has Spark's own form: `sc://host:15002` for a Spark Connect server, or
    `spark://host:7077`, `yarn`, `local[2]` for a master. The `token` is sent to a Connect server.
    Raises InputError for any other value, if no Spark answers there, or if pyspark is not
    installed.
    """
    if not isinstance(engine, str):
        if hasattr(engine, "sql") and hasattr(engine, "createDataFrame"):
            return engine
        raise InputError(
            f"engine: {type(engine).__name__} is not a Spark session",
            do="give a session, its address, or nothing for DuckDB",
        )
    if not is_spark_address(engine):
        raise InputError(
            f"engine: {engine.partition(';')[0]!r:.80} is not a Spark address",
            do=f"write {SPARK_ADDRESSES}, or nothing for DuckDB",
        )
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise InputError(f"engine: Spark is not installed ({error.name})", do=_INSTALL) from error
    builder = SparkSession.builder.appName("treasury")
    try:
        if engine.startswith("sc://"):
            return builder.remote(_with_token(engine, token)).getOrCreate()
        if engine.startswith("local") and SparkSession.getActiveSession() is None:
            for name, setting in _LOCAL.items():
                builder = builder.config(name, setting)
        return builder.master(engine).getOrCreate()
    except (PySparkException, Py4JError, RuntimeError) as error:
        reason = first_line(error)
        if token is not None:
            reason = reason.replace(token.reveal(), "…")
        raise InputError(
            f"engine: there is no Spark at {engine.partition(';')[0]!r:.80} ({reason})",
            do="start it (a master on this machine needs Java 17), or correct the address",
        ) from None


def _with_token(address: str, token: Secret | None) -> str:
    if token is None:
        return address
    parted = address if "/;" in address else f"{address.rstrip('/')}/"
    return f"{parted};token={token.reveal()}"


_LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""Settings under which a Spark of this process listens only on this machine."""


@contextmanager
def spark_settings(session: Any) -> Iterator[None]:
    """Apply the settings that the steps need, and restore the session's settings afterwards."""
    former = {name: session.conf.get(name, None) for name in (*SPARK_SETTINGS, *_OF_SIZE)}
    for name, setting in SPARK_SETTINGS.items():
        session.conf.set(name, setting)
    try:
        yield
    finally:
        for name, setting in former.items():
            if setting is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, setting)


_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_OF_SIZE: Final = (_PARTITIONS, "spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
"""Settings that depend on the number of rows."""
_ROWS_OF_PARTITION: Final = 100_000
FEW: Final = 20_000
"""Number of rows up to which compiling a step costs more than running it."""
_AT_ONCE: Final = 4
"""Maximum number of steps that run at the same time."""


def spark_columns(schema: pa.Schema) -> str:
    """Return the columns of an Arrow table in Spark's syntax."""
    return ", ".join(f"`{name}` {kind}" for name, kind in spark_types(schema).items())


def spark_types(schema: pa.Schema) -> dict[str, str]:
    """Return the Spark type of each column in an Arrow table."""
    return {field.name: _spark_type(field.type) for field in schema}


def _spark_type(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        return _spark_type(kind.value_type)
    if pa.types.is_list(kind):
        return f"array<{_spark_type(kind.value_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return _SPARK_TYPES[kind]


_SPARK_TYPES: Final = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.date32(): "date",
}


def literal_path(path: str) -> str:
    """Escape a path so that Spark reads no character as a wildcard."""
    return _GLOB.sub(r"\\\1", path)


_GLOB: Final = re.compile(r"([\[\]{}*?\\])")


def only_readers(steps: Sequence[Step], answers: Iterable[str]) -> dict[str, Step]:
    """Return the steps that are read once, each with its reader.

    A step that a view reads is read as often as the view. A result (`answers`) is read at the end
    and may be read later, so it is counted as read twice.
    """
    times = Counter(dict.fromkeys(answers, 2))
    readers: dict[str, Step] = {}
    for step in reversed(steps):
        for name, mentions in step.mentions.items():
            times[name] += mentions if step.is_stored else mentions * times[step.name]
            readers[name] = step
    return {step.name: readers[step.name] for step in steps if times[step.name] == 1}


def without_rows(session: Any, columns: Mapping[str, str]) -> Any:
    """Return a table with these columns and types that Spark's planner recognises as empty."""
    kinds = ", ".join(f"CAST(NULL AS {kind}) AS `{name}`" for name, kind in columns.items())
    return session.sql(f"SELECT {kinds} WHERE FALSE")


def side_by_side(work: Callable[[_T], _R], each: Iterable[_T]) -> list[_R]:
    """Call `work` for each item in parallel, because the driver mostly waits for workers."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, each))


class SparkRun:
    """The tables and steps of one run in a Spark session, under names that no other run uses.

    `into` is a folder (`/mnt/work/2026-10`, `s3://bucket/2026-10`) or a schema of the session's
    catalog. Existing tables are not overwritten. Most steps handle rare cases. So a step without
    rows is replaced by a table that Spark recognises as empty, and steps that cannot have rows
    after that are not run. `steps` are all steps of the run, `answers` the steps that give the
    results.
    """

    def __init__(
        self, session: Any, into: str | Path, steps: Sequence[Step], answers: Iterable[str]
    ) -> None:
        self.session = session
        self._is_folder = isinstance(into, Path) or "/" in into or "\\" in into
        self._into = str(into.absolute() if isinstance(into, Path) else into).rstrip("/")
        self._mark = f"treasury_{secrets.token_hex(6)}"
        self._views: dict[str, str] = {}
        self._between: list[str] = []
        self._rowless: set[str] = set()
        self._only_readers = only_readers(steps, answers)
        self._parser = duckdb.connect()

    def suit(self, rows: int) -> None:
        """Adapt the session to the number of rows of the largest table."""
        self.session.conf.set(_PARTITIONS, str(max(2, -(-rows // _ROWS_OF_PARTITION))))
        if rows <= FEW:
            self.session.conf.set("spark.sql.codegen.wholeStage", "false")
            self.session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")

    def give(self, tables: Mapping[str, Any]) -> None:
        """Add tables that steps read: Spark tables, or small Arrow tables."""
        for name, table in tables.items():
            if isinstance(table, pa.Table):
                self._name(name, self.local(table), has_rows=table.num_rows > 0)
            else:
                self._name(name, table, has_rows=not table.isEmpty())

    def local(self, table: pa.Table) -> Any:
        """Return a small Arrow table as a Spark table with the same types."""
        plain = pa.schema(
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        )
        if not table.num_rows:
            return without_rows(self.session, spark_types(plain))
        return self.session.createDataFrame(table.cast(plain), spark_columns(plain))

    def bring(self, steps: Iterable[Step]) -> None:
        """Run each step as soon as the steps that it reads have run, several at a time."""
        waiting = {step.name: step for step in steps}
        running: dict[Future[tuple[Any, bool]], str] = {}
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            try:
                while waiting or running:
                    unfinished = {*waiting, *running.values()}
                    ready = [step for step in waiting.values() if not step.reads & unfinished]
                    for step in ready:
                        del waiting[step.name]
                        if not self._define(step):
                            running[pool.submit(self._run, step)] = step.name
                    # A step that only had to be defined is done, so steps that read it may be
                    # ready.
                    if ready and waiting:
                        continue
                    for done in wait(running, return_when=FIRST_COMPLETED).done:
                        rows, has_rows = done.result()
                        self._name(running.pop(done), rows, has_rows=has_rows)
            finally:
                pool.shutdown(cancel_futures=True)

    def _define(self, step: Step) -> bool:
        """Define a step and return True if it need not run, else return False."""
        if is_rowless(self._parser, step.sql, self._rowless):
            self._name(step.name, self._selected(step), has_rows=False)
        elif not step.is_stored or self._is_part_of_its_reader(step):
            self._views[step.name] = f"{self._mark}_{step.name}"
            self._selected(step).createOrReplaceTempView(self._views[step.name])
        else:
            return False
        return True

    def _is_part_of_its_reader(self, step: Step) -> bool:
        reader = self._only_readers.get(step.name)
        return reader is not None and not is_rowless(
            self._parser, reader.sql, self._rowless | {step.name}
        )

    def _run(self, step: Step) -> tuple[Any, bool]:
        rows = self.between(step.name, self._selected(step))
        return rows, not rows.isEmpty()

    def _selected(self, step: Step) -> Any:
        return self.session.sql(render(step, called=self._views))

    def _name(self, name: str, rows: Any, *, has_rows: bool) -> None:
        """Create the view of a table, and note whether it is empty."""
        if not has_rows:
            self._rowless.add(name)
            kinds = {field.name: field.dataType.simpleString() for field in rows.schema}
            rows = without_rows(self.session, kinds)
        self._views[name] = f"{self._mark}_{name}"
        rows.createOrReplaceTempView(self._views[name])

    def rows(self, query: str) -> Any:
        """Run a query in DuckDB's dialect over the tables and steps of the run; return its rows."""
        return self.session.sql(render(Step("query", query), called=self._views))

    def first_row(self, query: str) -> Any:
        """Return the first row of a query, or None."""
        return self.rows(query).head()

    def table(self, name: str) -> Any:
        """Return the rows of a table or step."""
        return self.session.table(self._views[name])

    def between(self, name: str, rows: Any) -> Any:
        """Store rows until the run ends, and return the stored table."""
        place = f"steps_{self._mark}/{name}" if self._is_folder else f"{self._mark}_{name}"
        self._between.append(place)
        return self._written(place, rows)

    def keep(self, name: str, rows: Any) -> Any:
        """Write rows of the result under `name` to `into`, and return the written table."""
        return self._written(name, rows)

    def end(self) -> None:
        """Drop the views and the stored steps of the run.

        Spark Connect cannot remove files: in a folder that this machine cannot reach, the folder
        `steps_…` stays.
        """
        self._parser.close()
        for view in self._views.values():
            self.session.catalog.dropTempView(view)
        if not self._is_folder:
            for name in self._between:
                self.session.sql(f"DROP TABLE IF EXISTS {self._into}.{name}")
        elif (java := getattr(self.session, "_jvm", None)) is not None:
            steps = java.org.apache.hadoop.fs.Path(f"{self._into}/steps_{self._mark}")
            active = java.org.apache.spark.sql.SparkSession.active().sparkContext()
            is_with_all_in_it = True
            steps.getFileSystem(active.hadoopConfiguration()).delete(steps, is_with_all_in_it)
        else:
            shutil.rmtree(f"{self._into.removeprefix('file://')}/steps_{self._mark}", True)

    def require_free(self, names: Iterable[str]) -> None:
        """Raise StorageError if one of these tables already exists."""
        from pyspark.errors import AnalysisException

        for place in map(self._place, names):
            try:
                if self._is_folder:
                    self.session.read.format("binaryFile").load(literal_path(place)).schema  # noqa: B018 - Connect looks when it is asked
                elif not self.session.catalog.tableExists(place):
                    continue
            except AnalysisException:
                continue
            raise StorageError(f"{place} is not written: it already exists", do=_ELSEWHERE)

    def _place(self, name: str) -> str:
        return f"{self._into}/{name}" if self._is_folder else f"{self._into}.{name}"

    def _written(self, name: str, rows: Any) -> Any:
        from py4j.protocol import Py4JError
        from pyspark.errors import AnalysisException, PySparkException

        place = self._place(name)
        try:
            if not self._is_folder:
                rows.write.saveAsTable(place)
                return self.session.table(place)
            rows.write.parquet(place)
            return self.session.read.schema(rows.schema).parquet(literal_path(place))
        except AnalysisException as error:
            raise StorageError(
                f"{place} is not written: {first_line(error)}", do=_ELSEWHERE
            ) from error
        except (PySparkException, Py4JError) as error:
            raise StorageError(
                f"{place} is not written: {first_line(error)}",
                do="look at Spark's own log; if the place cannot be written, name another",
            ) from error


def first_line(error: BaseException) -> str:
    """Return the first line of Spark's message, without the stack trace."""
    return str(error).strip().partition("\n")[0][:200]
