"""Rows of CSV exports that describe stored movements in different words.

Exports of one account overlap, and the texts of a movement may differ between two exports. A row
with new words is compared with the stored movements of its day that the export lacks. If the two
are surely one movement, the row gets the id of the stored one. If only day and amount agree, both
are marked as twins, which a person matches. Then rows with a different day are compared
(`moved_rows`).
"""

# ruff: noqa: S608 - only our own names, numbers and days are put into queries

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.files.package_files import step_sql
from treasury.core.money import total
from treasury.core.tables.column_types import AMOUNT, BOOL, DATE, INTEGER, TEXT
from treasury.lake import Snapshot
from treasury.statements.arrow_columns import column
from treasury.statements.csv.profiles import plain
from treasury.statements.statement_tables import COUNTING, STATEMENT_ENTRIES, STATEMENTS
from treasury.statements.store.exports.moved_rows import compare_moved, mark_moved
from treasury.statements.store.row_staging import EXPORT_COLUMNS, Staging
from treasury.statements.store.statement_facts import FACT_COLUMNS, facts_of

_STEPS: Final = "treasury.statements.store.steps"
_UNKNOWN: Final = step_sql(_STEPS, "export_rows_unknown")
_UNMATCHED: Final = step_sql(_STEPS, "export_rows_unmatched")
_AT_ONCE: Final = 20_000
_FEWEST_DIGITS: Final = 4
_WORD: Final = re.compile(r"[^\W_]+(?:[-./][^\W_]+)*")

_Moved = tuple[str | None, str | None, date, str, Decimal, str | None]
"""Account, currency, day, direction, amount and status."""


class ExportRow(msgspec.Struct, frozen=True, gc=False):
    """A movement in an export; `place` is its position, None if it is stored."""

    place: int | None
    entry_id: str
    account: str | None
    currency: str | None
    booking_date: date
    direction: str
    amount: Decimal
    entry_status: str | None
    balance_after: Decimal | None
    counterparty_account: str | None
    counterparty_name: str | None
    end_to_end_id: str | None
    remittance: list[str]
    structured_references: list[str]

    @property
    def moved(self) -> _Moved:
        """Return the values that all rows of one movement share, however it is described."""
        return (
            self.account, self.currency, self.booking_date, self.direction, self.amount,
            self.entry_status,
        )  # fmt: skip

    def proofs(self) -> tuple[object, ...]:
        """Return keys that identify a movement among rows of one day and amount, surest first.

        A key is None if the row lacks its values.
        """
        account, name = self.counterparty_account, self.counterparty_name or ""
        texts = [*self.remittance, *self.structured_references]
        words = plain("".join([name, *texts]))
        # Words with several digits may be references.
        codes = frozenset(
            plain(word)
            for word in _WORD.findall(" ".join(texts))
            if sum(map(str.isdigit, word)) >= _FEWEST_DIGITS
        )
        return (
            self.balance_after,
            (account, self.end_to_end_id) if account and self.end_to_end_id else None,
            (account, words) if words else None,
            (account, codes) if account and codes else None,
        )


def join_exports(
    snapshot: Snapshot, staging: Staging, files: Sequence[pa.Table], first: date, last: date
) -> dict[tuple[int, str], str]:
    """Give staged rows of CSV exports the ids of the stored movements that they represent.

    `files` has the statements of each file; stored rows between the days `first` and `last` are
    compared. The table `doubtful` receives the pairs about which a person decides, `moved_rows` the
    rows that are stored with a different day. Returns the contradictions with stored exports, by
    file and statement.
    """
    names = ", ".join(EXPORT_COLUMNS)
    _keep_statements(snapshot, staging, files)
    views = snapshot.views()
    staging.run(
        f"CREATE TABLE known_exports AS SELECT -1 AS file, NULL::BIGINT AS place, {names}"
        f" FROM ({views[STATEMENT_ENTRIES.name]}) WHERE {COUNTING}"
        f" AND booking_date BETWEEN DATE '{first}' AND DATE '{last}'"
        " AND entry_status <> 'SUPERSEDED'"
        f" AND statement_id IN (SELECT statement_id FROM ({views[STATEMENTS.name]})"
        f" WHERE {COUNTING} AND format LIKE 'CSV%')"
    )
    contradictions: dict[tuple[int, str], str] = {}
    numbers = staging.run("SELECT DISTINCT file FROM export_rows ORDER BY file").fetchall()
    for (file,) in numbers:
        _join_file(staging, file)
        staging.run(
            "CREATE OR REPLACE TABLE unmatched_rows AS FROM unknown"
            " WHERE place NOT IN (SELECT place FROM respelled)"
        )
        compared = compare_moved(staging, file)
        mark_moved(staging, file, compared.same)
        doubtful = [(row.place, row.entry_id) for row in compared.doubtful]
        staging.keep("doubtful", _pairs_table(file, doubtful))
        contradictions |= {(file, key): text for key, text in compared.contradictions.items()}
        staging.run(f"INSERT INTO known_exports SELECT * FROM export_rows WHERE file = {file}")
    return contradictions


def _keep_statements(snapshot: Snapshot, staging: Staging, files: Sequence[pa.Table]) -> None:
    """Create the table of exports, incoming ones and stored ones, which have -1 as file."""
    names = ", ".join(FACT_COLUMNS)
    query = f"SELECT {names} FROM {STATEMENTS.name} WHERE {COUNTING} AND format LIKE 'CSV%'"
    statements = [(-1, row) for row in snapshot.sql(query).to_pylist()]
    for number, table in enumerate(files):
        rows = table.select(list(FACT_COLUMNS)).to_pylist()
        statements += [(number, row) for row in rows if row["format"].startswith("CSV")]
    facts = []
    for file, row in statements:
        export = facts_of(row)
        if export.entry_count == 1 and export.opening is None and export.closing is not None:
            # The opening balance follows from the row itself. It is not evidence, but connects the
            # row to those of other exports.
            opening = total((export.closing, export.debits, -export.credits))
            export = msgspec.structs.replace(export, opening=opening, proved=True)
        facts.append((file, export))
    fields: dict[str, tuple[Sequence[Any], pa.DataType]] = {
        "file": ([file for file, _ in facts], INTEGER),
        "first_day": ([each.first for _, each in facts], DATE),
        "last_day": ([each.last for _, each in facts], DATE),
        "proved": ([each.proved for _, each in facts], BOOL),
        **{name: ([getattr(each, name) for _, each in facts], kind) for name, kind in _STATED},
    }
    rows = pa.table({name: column(values, kind) for name, (values, kind) in fields.items()})
    columns = ", ".join(f"{field.name} {_SQL_TYPES[field.type]}" for field in rows.schema)
    staging.run(f"CREATE TABLE export_statements ({columns})")
    staging.keep("export_statements", rows)


_STATED: Final = (
    ("statement_id", TEXT), ("file_name", TEXT), ("format", TEXT), ("account", TEXT),
    ("currency", TEXT), ("opening", AMOUNT), ("closing", AMOUNT),
)  # fmt: skip
_SQL_TYPES: Final = {
    INTEGER: "BIGINT", DATE: "DATE", BOOL: "BOOLEAN", TEXT: "VARCHAR", AMOUNT: "DECIMAL(38,18)"
}  # fmt: skip


def _pairs_table(file: int, found: Sequence[tuple[int | None, str]]) -> pa.Table:
    """Return pairs as a table: the position of a row, and the id of a stored movement."""
    return pa.table(
        {
            "file": column([file] * len(found), INTEGER),
            "place": column([place for place, _ in found], INTEGER),
            "entry_id": column([entry_id for _, entry_id in found], TEXT),
        }
    )


def _join_file(staging: Staging, file: int) -> None:
    staging.run(f"CREATE OR REPLACE TABLE mine AS SELECT * FROM export_rows WHERE file = {file}")
    staging.run(f"CREATE OR REPLACE TABLE unknown AS {_UNKNOWN}")
    staging.run(f"CREATE OR REPLACE TABLE unmatched AS {_UNMATCHED}")
    staging.run("CREATE OR REPLACE TABLE respelled AS FROM doubtful LIMIT 0")
    ((count,),) = staging.run("SELECT count(*) FROM unmatched").fetchall()
    parts = count // _AT_ONCE + 1 if count else 0
    for part in range(parts):
        known, incoming = (
            _rows(
                staging,
                f"SELECT * FROM {table} WHERE account_servicer_reference IS NULL"
                f" AND hash(booking_date) % {parts} = {part}",
            )
            for table in ("unmatched", "unknown")
        )
        for table, found in zip(("respelled", "doubtful"), pairs(known, incoming), strict=True):
            ids = [(row.place, other.entry_id) for row, other in found]
            staging.keep(table, _pairs_table(file, ids))
    for table in ("came", "export_rows", "mine"):
        staging.run(
            f"UPDATE {table} SET entry_id = r.entry_id FROM respelled AS r"
            f" WHERE r.place = {table}.place"
        )


def _rows(staging: Staging, query: str) -> list[ExportRow]:
    names = ("place", *(name for name in EXPORT_COLUMNS if name in ExportRow.__struct_fields__))
    table = staging.run(f"{query} ORDER BY place, entry_id").to_arrow_table()
    listed = table.select(list(names)).to_pylist()
    return [ExportRow(**row) for row in listed]


_Pairs = list[tuple[ExportRow, ExportRow]]


def pairs(known: Iterable[ExportRow], incoming: Iterable[ExportRow]) -> tuple[_Pairs, _Pairs]:
    """Pair incoming with stored rows; return sure pairs, and doubtful pairs.

    Each row is in one pair at most.
    """
    groups: dict[_Moved, tuple[list[ExportRow], list[ExportRow]]] = defaultdict(lambda: ([], []))
    for side, rows in enumerate((known, incoming)):
        for row in rows:
            groups[row.moved][side].append(row)
    same: _Pairs = []
    alike: _Pairs = []
    for stored, came in groups.values():
        rest_came, rest_stored = came, stored
        for number in range(len(_PROOFS)):
            found = list(_joined(rest_stored, rest_came, number))
            same += found
            used = {id(row) for pair in found for row in pair}
            rest_came = [row for row in rest_came if id(row) not in used]
            rest_stored = [row for row in rest_stored if id(row) not in used]
        alike += zip(rest_came, rest_stored, strict=False)
    return same, alike


_PROOFS: Final = ("balance", "end-to-end id", "words", "references")
"""Names of the keys in `ExportRow.proofs`, in order."""


def _joined(stored: Iterable[ExportRow], came: Iterable[ExportRow], number: int) -> Iterator[Any]:
    waiting: dict[object, deque[ExportRow]] = defaultdict(deque)
    for row in stored:
        waiting[row.proofs()[number]].append(row)
    waiting.pop(None, None)
    for row in came:
        others = waiting.get(row.proofs()[number])
        if others:
            yield row, others.popleft()
