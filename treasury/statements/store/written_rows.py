"""Choice of the rows to write: movements that are new, or better than the stored version.

SQL handles most rows by their ids: they are unlike any other row, or equal to a stored one. Only
the remaining rows are compared one by one (`movement_identity`), some ten thousand at a time; rows
of equal content are compared together.
"""

# ruff: noqa: S608 - only our own names, numbers, days and hashes are put into queries

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import StorageError
from treasury.core.files.package_files import step_sql
from treasury.core.tables.column_types import BOOL, INTEGER, TEXT
from treasury.lake import Changes, Snapshot, Writer
from treasury.statements.arrow_columns import column
from treasury.statements.statement_tables import COUNTING, STATEMENT_ENTRIES
from treasury.statements.store.exports.respelled_rows import join_exports
from treasury.statements.store.movement_identity import (
    SUPERSEDED,
    MovementRegister,
    MovementVersion,
)
from treasury.statements.store.notified.batch_details import BatchDetails, find_batch_details
from treasury.statements.store.notified.notified_texts import notified_texts, with_texts
from treasury.statements.store.row_staging import RAW_HASH, Staging
from treasury.statements.store.statement_facts import FACT_COLUMNS, StatementFacts, facts_of
from treasury.statements.store.statement_heads import Heads, Versions

_AROUND: Final = timedelta(days=20)
_COMPARED_AT_ONCE: Final = 50_000
_PATCHED_AT_ONCE: Final = 5_000

_TABLES: Final = """
    CREATE TABLE looked_at (statement_id VARCHAR);
    CREATE TABLE overtaken (file BIGINT, statement_id VARCHAR);
    CREATE TABLE chosen (place BIGINT, entry_id VARCHAR, entry_status VARCHAR, is_twin BOOLEAN);
    CREATE TABLE patches AS FROM chosen;
    CREATE TABLE stored_totals (entry_id VARCHAR);
"""
_STEPS: Final = "treasury.statements.store.steps"
_EXTENDED: Final = step_sql(_STEPS, "exports_extended")
_ADDED: Final = step_sql(_STEPS, "versions_added")
_ALONE: Final = step_sql(_STEPS, "rows_alone")
_PART: Final = {
    name: step_sql(_STEPS, name)
    for name in ("contents_repeated", "rows_unchanged", "rows_compared", "rows_known")
}
"""SQL steps in order, run for each part of the rows; rows of equal content are in one part."""


def versions_of(snapshot: Snapshot, staging: Staging, files: Sequence[pa.Table]) -> Versions:
    """Look up stored rows that resemble incoming ones, and compare the versions of statements.

    `files` has the statements of the incoming rows, one table per file.
    """
    statements = pa.concat_tables(files)
    # Stored movements that may equal incoming ones are of the same days or close to them.
    first, last = _days(staging, statements)
    names = "entry_id, statement_id, entry_status, booking_date, is_twin"
    where = f"{COUNTING} AND booking_date BETWEEN DATE '{first}' AND DATE '{last}'"
    try:
        staging.run(
            f"CREATE TABLE stored AS SELECT {names}, {RAW_HASH} AS raw"
            f" FROM ({snapshot.views()[STATEMENT_ENTRIES.name]}) WHERE {where}"
        )
    except StorageError:
        # If a stored file cannot be read, the lake raises an error with the file and the remedy.
        snapshot.sql(f"SELECT count({RAW_HASH}) FROM {STATEMENT_ENTRIES.name} WHERE {where}")
        raise
    exports = statements.filter(pc.starts_with(statements["format"], "CSV"))
    contradictions: dict[tuple[int, str], str] = {}
    if exports.num_rows:
        contradictions = join_exports(snapshot, staging, files, first, last)
    sums = staging.run(
        "SELECT file, statement_id, sum(md5_number_lower(raw)::HUGEINT) FROM came"
        " GROUP BY file, statement_id"
    ).fetchall()
    staging.run("CREATE TABLE exports (statement_id VARCHAR)")
    staging.keep("exports", exports.select(["statement_id"]))
    added = snapshot.sql(_ADDED, {"ids": statements["statement_id"].to_pylist()}).to_pylist()
    return Versions(
        frozenset((row["statement_id"], row["file_sha256"]) for row in added),
        {(file, key): f"{content_sum:032x}" for file, key, content_sum in sums},
        frozenset(staging.run(_EXTENDED).fetchall()) if exports.num_rows else frozenset(),
        contradictions,
    )


def write_rows(
    writer: Writer, staging: Staging, heads: Heads, statements: pa.Table
) -> tuple[int, int]:
    """Write movements that are new or better than the stored version.

    Return the numbers of new and changed movements. `statements` are the statements of the rows. A
    change that a later version in the same call reverts is not counted.
    """
    # Rows of reports and corrected statements may change even if they equal stored rows.
    reports = {key for key, facts in heads.counting.items() if facts.is_provisional}
    reports |= {key for key, row in heads.incoming.items() if facts_of(row).is_provisional}
    changed = {key for key, state in heads.came.states.items() if state == "changed"}
    outvoted = {key for _, key in heads.came.outvoted}
    staging.run(_TABLES)
    ids = sorted(reports | changed | outvoted | heads.repeated)
    staging.keep("looked_at", _table(statement_id=(ids, TEXT)))
    # An export that is replaced by another one may have texts that the other lacks.
    staging.run(
        "CREATE TABLE exported_texts AS SELECT place, entry_id, has_words FROM came"
        " SEMI JOIN exports USING (statement_id) WHERE NOT is_bare"
    )
    if heads.came.overtaken:
        files, overtaken = zip(*heads.came.overtaken, strict=True)
        staging.keep("overtaken", _table(file=(files, INTEGER), statement_id=(overtaken, TEXT)))
        staging.run(
            "DELETE FROM came USING overtaken AS o"
            " WHERE o.file = came.file AND o.statement_id = came.statement_id"
        )
    days = _days(staging, statements)
    details = find_batch_details(writer.base, staging, heads, days)
    staging.keep("stored_totals", _table(entry_id=(sorted(details.stored_totals), TEXT)))
    places = ", ".join(map(str, sorted(details.came_totals)))
    if places:
        staging.run(f"UPDATE came SET entry_status = '{SUPERSEDED}' WHERE place IN ({places})")
    parts = (_count(staging, "came") + _count(staging, "stored")) // _COMPARED_AT_ONCE + 1
    for part in range(parts):
        for rows, table in (("mine", "came"), ("theirs", "stored")):
            staging.run(
                f"CREATE OR REPLACE TABLE {rows} AS SELECT *, left(entry_id, 32) AS content"
                f" FROM {table} WHERE hash(content) % {parts} = {part}"
            )
        for step, query in _PART.items():
            staging.run(f"CREATE OR REPLACE TABLE {step} AS {query}")
        staging.run(f"INSERT INTO chosen {_ALONE}")
        _compare(staging, heads, details)
    _mark_doubtful(staging)
    texts = notified_texts(writer.base, staging, heads, days)
    changes = [*_write(writer, staging, texts), *_patch(writer, staging, texts)]
    return sum(change.new for change in changes), sum(change.changed for change in changes)


def doubtful_rows(staging: Staging) -> dict[int, list[date]]:
    """Return, by file, the days of written rows that may be stored movements in other words."""
    found: dict[int, list[date]] = defaultdict(list)
    query = "SELECT file, booking_date FROM doubtful JOIN came USING (file, place) ORDER BY ALL"
    for file, day in staging.run(query).fetchall():
        found[file].append(day)
    return found


def moved_days(staging: Staging) -> dict[int, list[tuple[date, date]]]:
    """Return, by file, both days of each row that is a movement stored with a different day."""
    found: dict[int, list[tuple[date, date]]] = defaultdict(list)
    query = "SELECT file, booking_date, known_date FROM moved_rows ORDER BY ALL"
    for file, day, known_day in staging.run(query).fetchall():
        found[file].append((day, known_day))
    return found


def _mark_doubtful(staging: Staging) -> None:
    """Mark rows that may be stored movements in other words, and these movements, as twins."""
    # Rows that are not written, such as those of a version that does not count, are skipped.
    staging.run("DELETE FROM doubtful WHERE place NOT IN (SELECT place FROM chosen)")
    alike = "place IN (SELECT place FROM doubtful) OR entry_id IN (SELECT entry_id FROM doubtful)"
    for table in ("chosen", "patches"):
        staging.run(f"UPDATE {table} SET is_twin = TRUE WHERE {alike}")
    staging.run(
        "INSERT INTO patches SELECT NULL AS place, entry_id, entry_status, TRUE AS is_twin"
        " FROM stored WHERE entry_id IN (SELECT entry_id FROM doubtful) AND NOT is_twin"
        " AND entry_id NOT IN (SELECT entry_id FROM patches UNION ALL SELECT entry_id FROM chosen)"
    )


def _table(**columns: tuple[Sequence[Any], pa.DataType]) -> pa.Table:
    return pa.table({name: column(values, kind) for name, (values, kind) in columns.items()})


def _days(staging: Staging, statements: pa.Table) -> tuple[date, date]:
    """Return the first and the last day of stored movements that may match."""
    query = "SELECT min(booking_date), max(booking_date) FROM came"
    days = [day for row in staging.run(query).fetchall() for day in row if day]
    for facts in map(facts_of, statements.select(list(FACT_COLUMNS)).to_pylist()):
        days += [day for day in (facts.first, facts.last) if date.min < day < date.max]
    first, last = min(days, default=date.min), max(days, default=date.min)
    return (
        first - _AROUND if first - date.min > _AROUND else date.min,
        last + _AROUND if date.max - last > _AROUND else date.max,
    )


def _count(staging: Staging, table: str) -> int:
    return int(staging.run(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def _compare(staging: Staging, heads: Heads, details: BatchDetails) -> None:
    """Compare the rows of a part one by one, and record the chosen ones."""
    if not _count(staging, "rows_compared") and not _count(staging, "rows_known"):
        return
    before = {key: facts_of(row) for key, row in heads.stored.items()}
    incoming = {key: facts_of(row) for key, row in heads.incoming.items()}
    # Read the stored rows to compare, with twins in the order of their counters.
    names = "entry_id, statement_id, entry_status, booking_date, raw, is_twin"
    stored = staging.run(f"SELECT {names} FROM rows_known ORDER BY length(entry_id), entry_id")
    statements = {**incoming, **before}
    movements = MovementRegister(
        MovementVersion(
            entry_id,
            statements.get(of) or StatementFacts(of),
            status,
            booked,
            raw,
            is_twin,
            is_total=entry_id in details.stored_totals,
            is_detail=entry_id in details.stored_details,
        )
        for entry_id, of, status, booked, raw, is_twin in stored.fetchall()
    )
    rows = _incoming_versions(staging, incoming, details)
    for place in filter(heads.came.counts, heads.came.places):
        corrects = place[1] in heads.came.corrected
        used = movements.add(rows.get(place, ()), corrects=corrects)
        if corrects:
            movements.correct(incoming[place[1]], used)
    for place in heads.came.outvoted:
        movements.keep_superseded(rows.get(place, ()))
    movements.settle(heads.counting.values(), heads.repeated)
    for name, versions in (("chosen", movements.chosen), ("patches", movements.patches)):
        if versions:
            several = versions.values()
            identities = _table(
                place=([version.place for version in several], INTEGER),
                entry_id=([version.entry_id for version in several], TEXT),
                entry_status=([version.status for version in several], TEXT),
                is_twin=([version.is_twin for version in several], BOOL),
            )
            staging.keep(name, identities)


def _incoming_versions(
    staging: Staging, statements: Mapping[str, StatementFacts], details: BatchDetails
) -> dict[tuple[int, str], list[MovementVersion]]:
    """Return the incoming rows to compare by file and statement, with `is_twin` set."""
    alike = "file, statement_id, content, booking_date"
    compared = staging.run(
        "SELECT file, entry_id, statement_id, entry_status, booking_date, raw,"
        f" count(*) OVER (PARTITION BY {alike}) > 1, place FROM rows_compared ORDER BY place"
    ).fetchall()
    rows: dict[tuple[int, str], list[MovementVersion]] = defaultdict(list)
    for file, entry_id, statement_id, status, booked, raw, is_twin, place in compared:
        version = MovementVersion(
            entry_id,
            statements[statement_id],
            status,
            booked,
            raw,
            is_twin,
            place,
            is_total=place in details.came_totals,
            is_detail=place in details.came_details,
        )
        rows[file, statement_id].append(version)
    return rows


def _write(writer: Writer, staging: Staging, texts: dict[str, dict[str, Any]]) -> Iterator[Changes]:
    """Write the chosen rows with their final ids, status and twin flag; yield the changes."""
    for place, rows in staging.parts():
        identities = staging.run(
            "SELECT place, entry_id, entry_status, is_twin FROM chosen"
            f" WHERE place >= {place} AND place < {place + rows.num_rows} ORDER BY place"
        ).to_arrow_table()
        if identities.num_rows:
            places = pc.subtract(identities["place"], place)
            chosen = _with_identities(rows.take(places), identities)
            yield writer.upsert(STATEMENT_ENTRIES, with_texts(chosen, texts))


def _patch(writer: Writer, staging: Staging, texts: dict[str, dict[str, Any]]) -> Iterator[Changes]:
    """Update the status or twin flag of stored rows, and add texts; yield the changes."""
    for start in range(0, _count(staging, "patches"), _PATCHED_AT_ONCE):
        identities = staging.run(
            f"FROM patches ORDER BY entry_id LIMIT {_PATCHED_AT_ONCE} OFFSET {start}"
        ).to_arrow_table()
        quoted = ", ".join(f"'{entry_id}'" for entry_id in identities["entry_id"].to_pylist())
        names = STATEMENT_ENTRIES.row_schema.names
        rows = writer.read(STATEMENT_ENTRIES, names, f"entry_id IN ({quoted})")
        rows = rows.sort_by("entry_id").cast(STATEMENT_ENTRIES.row_schema)
        yield writer.upsert(
            STATEMENT_ENTRIES, with_texts(_with_identities(rows, identities), texts)
        )


def _with_identities(rows: pa.Table, identities: pa.Table) -> pa.Table:
    """Return the rows with these ids, statuses and twin flags, which are in the same order."""
    for name in ("entry_id", "entry_status", "is_twin"):
        rows = rows.set_column(rows.schema.get_field_index(name), name, identities[name])
    return rows.cast(STATEMENT_ENTRIES.row_schema)
