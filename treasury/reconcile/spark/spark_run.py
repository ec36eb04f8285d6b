"""The steps of a model on Apache Spark: run where the rows are, written where a person says.

A step that is stored is written and read again from there, so that no plan grows with the steps
before it, and a worker that is lost takes nothing along that was done.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import duckdb
import pyarrow as pa

from treasury.errors import InputError, StorageError
from treasury.reconcile.engine.dialect import SPARK_SETTINGS, render
from treasury.reconcile.engine.pipeline import Step
from treasury.reconcile.engine.rowless import is_rowless
from treasury.settings import SPARK_ADDRESSES, Secret, is_spark_address

__all__ = [
    "SparkRun", "session_of", "spark_columns", "spark_settings", "spark_types", "without_rows",
]  # fmt: skip

_INSTALL: Final = "install it: pip install 'treasury[spark]'"


def session_of(engine: Any, token: Secret | None = None) -> Any:
    """The Spark session that `engine` is, or the one at its address.

    An address is what Spark itself takes: `sc://host:15002` of a Spark Connect server, or
    `spark://host:7077`, `yarn`, `local[2]` of a master. A server that asks for a token is given it.
    InputError for anything else, or where pyspark is not installed.
    """
    if not isinstance(engine, str):
        if hasattr(engine, "sql") and hasattr(engine, "createDataFrame"):
            return engine
        raise InputError(
            f"engine: {type(engine).__name__} is no Spark session",
            do="give a session, its address, or nothing for DuckDB",
        )
    if not is_spark_address(engine):
        raise InputError(
            f"engine: {engine.partition(';')[0]!r:.80} is no address of Spark",
            do=f"write {SPARK_ADDRESSES}, or nothing for DuckDB",
        )
    try:
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
    except (PySparkException, RuntimeError) as error:
        reason = _first_line(error)
        if token is not None:
            reason = reason.replace(token.reveal(), "…")
        raise InputError(
            f"engine: there is no Spark at {engine.partition(';')[0]!r:.80} ({reason})",
            do="start it (a master of this machine needs Java 17), or correct the address",
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
"""A Spark of this process listens on this machine alone."""


@contextmanager
def spark_settings(session: Any) -> Iterator[None]:
    """What the steps need said to a session, for as long as they run; then it is as it was."""
    former = {name: session.conf.get(name, None) for name in SPARK_SETTINGS}
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


def spark_columns(schema: pa.Schema) -> str:
    """The columns of an Arrow table as Spark writes them."""
    return ", ".join(f"`{name}` {kind}" for name, kind in spark_types(schema).items())


def spark_types(schema: pa.Schema) -> dict[str, str]:
    """Spark's type of each column of an Arrow table."""
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


def without_rows(session: Any, columns: Mapping[str, str]) -> Any:
    """A table of these columns and types of Spark that is known to be empty, to its planner too."""
    kinds = ", ".join(f"CAST(NULL AS {kind}) AS `{name}`" for name, kind in columns.items())
    return session.sql(f"SELECT {kinds} WHERE FALSE")


class SparkRun:
    """Tables and steps in a session under names of this run's own.

    `into` is a folder (`/mnt/work/2026-10`, `s3://bucket/2026-10`) or a schema of the session's
    catalog. Nothing that is there already is written over. What has no row is told to Spark as
    such, and what can then have none is not run: most steps are about what is rare.
    """

    def __init__(self, session: Any, into: str) -> None:
        self.session = session
        self._is_folder = "/" in into or "\\" in into
        self._into = into.rstrip("/")
        self._mark = f"treasury_{secrets.token_hex(6)}"
        self._views: dict[str, str] = {}
        self._between: list[str] = []
        self._rowless: set[str] = set()
        self._parser = duckdb.connect()

    def give(self, tables: Mapping[str, Any]) -> None:
        """Tables that steps read: Spark's, or small ones of Arrow."""
        for name, table in tables.items():
            self._name(name, self.local(table) if isinstance(table, pa.Table) else table)

    def local(self, table: pa.Table) -> Any:
        """A small Arrow table as Spark's, in the same types."""
        plain = pa.schema(
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in table.schema
        )
        if not table.num_rows:
            return without_rows(self.session, spark_types(plain))
        return self.session.createDataFrame(table.cast(plain), spark_columns(plain))

    def bring(self, steps: Iterable[Step]) -> None:
        """Run each step in order."""
        for step in steps:
            rows = self.session.sql(render(step, called=self._views))
            if is_rowless(self._parser, step.sql, self._rowless):
                self._name(step.name, self._emptied(rows))
            elif step.is_stored:
                self._name(step.name, self.between(step.name, rows))
            else:
                self._views[step.name] = f"{self._mark}_{step.name}"
                rows.createOrReplaceTempView(self._views[step.name])

    def _name(self, name: str, rows: Any) -> None:
        """Give rows that are there their name, and note where there are none."""
        if rows.isEmpty():
            self._rowless.add(name)
            rows = self._emptied(rows)
        self._views[name] = f"{self._mark}_{name}"
        rows.createOrReplaceTempView(self._views[name])

    def _emptied(self, rows: Any) -> Any:
        kinds = {field.name: field.dataType.simpleString() for field in rows.schema}
        return without_rows(self.session, kinds)

    def rows(self, query: str) -> Any:
        """The rows of a query, in DuckDB's words, over the tables and steps of this run."""
        return self.session.sql(render(Step("query", query), called=self._views))

    def first_row(self, query: str) -> Any:
        """The first row of such a query, or None."""
        return self.rows(query).head()

    def table(self, name: str) -> Any:
        """The rows of a table or step."""
        return self.session.table(self._views[name])

    def between(self, name: str, rows: Any) -> Any:
        """Rows that the run needs until it ends."""
        place = f"steps_{self._mark}/{name}" if self._is_folder else f"{self._mark}_{name}"
        self._between.append(place)
        return self._written(place, rows)

    def keep(self, name: str, rows: Any) -> Any:
        """Rows of the answer, under their name in the place that was said; read from there."""
        return self._written(name, rows)

    def end(self) -> None:
        """Give back the names and what only the run needed.

        Spark Connect removes no files: there, in a folder that this machine does not see, what
        begins with `steps_` stays.
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

    def _written(self, name: str, rows: Any) -> Any:
        from pyspark.errors import AnalysisException

        place = f"{self._into}/{name}" if self._is_folder else f"{self._into}.{name}"
        try:
            if not self._is_folder:
                rows.write.saveAsTable(place)
                return self.session.table(place)
            rows.write.parquet(place)
            return self.session.read.schema(rows.schema).parquet(place)
        except AnalysisException as error:
            raise StorageError(
                f"{place} is not written: {_first_line(error)}",
                do="name another folder or schema with `into`; nothing is written over",
            ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:200]
