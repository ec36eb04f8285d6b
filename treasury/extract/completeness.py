"""What a sync cannot have seen, and what it does not know.

That is counts that do not agree, lists that were refused, ids that no list has, gaps in a service's
numbering, and fields that nobody here knows yet. What only the sync knows (a stated count, a
refusal, a new field) is stored as a finding, and goes when a later sync finds it no more; a field
stays, so that it is named once. What stored records say of each other is asked of the snapshot.
Where everything agrees nothing is written.
"""

# ruff: noqa: S608 - table and column names are declared

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa

from treasury.core.files.package_files import step_sql
from treasury.core.tables.column_types import INTEGER, TEXT, Column
from treasury.extract.fetched_rows import FetchedRows
from treasury.lake import Snapshot, Table
from treasury.lake.writer import Writer, stored_rows

FindingKind = Literal["count", "refused", "field"]

SYNC_FINDINGS: Final = Table(
    name="sync_findings",
    key=("finding_id",),
    title="What a sync could not see or does not know: counts, refused lists, new fields",
    columns=(
        Column("finding_id", TEXT, "our id, the same while the finding is"),
        Column("kind", TEXT, "count, refused, field"),
        Column("table_name", TEXT, "the table that it is about"),
        Column("subject", TEXT, "the list, or the field's path in `raw`"),
        Column("listed", INTEGER, "records that the service counts"),
        Column("held", INTEGER, "records of that list that are held"),
        Column("why", TEXT, "what the service said"),
    ),
)


class SyncFinding(msgspec.Struct, frozen=True):
    """One thing that a sync could not see, or does not know."""

    kind: FindingKind
    table_name: str
    subject: str
    listed: int | None = None
    held: int | None = None
    why: str = ""

    @property
    def finding_id(self) -> str:
        """What it is recognised by from sync to sync."""
        return f"{self.kind}/{self.table_name}/{self.subject}"

    def __str__(self) -> str:
        match self.kind:
            case "count":
                return (
                    f"{self.table_name}: the service counts {self.listed:,} in the list"
                    f" {self.subject} and {self.held:,} are held: run `treasury sync --full`"
                )
            case "field":
                return f"{self.table_name}: field {self.subject} is new; it is kept in raw"
            case _:
                return f"{self.table_name}: not read: {self.why}"


def stored_findings(snapshot: Snapshot) -> list[SyncFinding]:
    """The findings that stand in a snapshot, by table."""
    columns = SyncFinding.__struct_fields__
    rows = stored_rows(snapshot, SYNC_FINDINGS, columns, "vanished_at IS NULL")
    order = [(name, "ascending") for name in ("table_name", "kind", "subject")]
    return [msgspec.convert(row, SyncFinding) for row in rows.sort_by(order).to_pylist()]


def write_findings(
    writer: Writer | FetchedRows, findings: Iterable[SyncFinding], *, stand: Iterable[str]
) -> None:
    """Store what was found in place of what stood; those of the ids in `stand` stay as they were.

    Where nothing was found and nothing stood, nothing is written.
    """
    before = {finding.finding_id: finding for finding in stored_findings(writer.base)}
    present = {name: before[name] for name in stand if name in before}
    present |= {finding.finding_id: finding for finding in findings}
    if present == before:
        return
    rows = [
        {
            "finding_id": name,
            **msgspec.structs.asdict(finding),
            "raw": msgspec.json.encode(finding).decode(),
        }
        for name, finding in present.items()
    ]
    table = pa.Table.from_pylist(rows, schema=SYNC_FINDINGS.row_schema)
    writer.upsert(SYNC_FINDINGS, table, complete=True)


# What stored records say of each other

_REFERENCES: Final = (
    ("transfers", "sender_account_id", "accounts"),
    ("transfers", "receiver_account_id", "accounts"),
    ("wallets", "account_id", "accounts"),
    ("virtual_bank_accounts", "account_id", "accounts"),
    ("ramp_requests", "company_wallet_id", "company_wallets"),
    ("ramp_requests", "company_bank_account_id", "company_bank_accounts"),
)
"""Columns that name records of other tables. Users are none: the provider's own act as well."""

_NOWHERE: Final = (
    "SELECT missing_from, id, sum(records)::BIGINT AS records, min(since) AS since,"
    " string_agg(DISTINCT named_by, ', ' ORDER BY named_by) AS named_by FROM ("
    + " UNION ALL ".join(
        f"SELECT '{target}' AS missing_from, {column} AS id, count(*) AS records,"
        f" min(valid_from) AS since, '{table}.{column}' AS named_by FROM {table}"
        f" WHERE {column} IS NOT NULL AND vanished_at IS NULL"
        f" AND {column} NOT IN (SELECT id FROM {target})"
        f" AND EXISTS (SELECT 1 FROM {target}) GROUP BY {column}"
        for table, column, target in _REFERENCES
    )
    + ") GROUP BY missing_from, id ORDER BY missing_from, id"
)

_GAPS: Final = step_sql("treasury.extract.steps", "reference_gaps")
LEAST: Final = 20
_PERCENT: Final = 98
"""Per cent of the numbers between a series' first and last that are held where a gap is named: in
a numbering that all customers of a provider share, gaps say nothing."""


def named_nowhere(snapshot: Snapshot) -> list[Mapping[str, Any]]:
    """Ids that stored records name and no list has: the table, the id, how many name it, since."""
    return list(snapshot.select(_NOWHERE).to_pylist())


def reference_gaps(snapshot: Snapshot) -> list[Mapping[str, Any]]:
    """Gaps in payment references that are numbered closely: first, last, how many, since."""
    return list(snapshot.select(_GAPS, {"least": LEAST, "percent": _PERCENT}).to_pylist())


def unseen_sentences(snapshot: Snapshot) -> Iterator[str]:
    """What stored records say that no list has, a sentence each, for the report of a sync."""
    for row in named_nowhere(snapshot):
        yield (
            f"{row['missing_from']}: {row['id']} is named by {row['named_by']} and no list has it"
        )
    for row in reference_gaps(snapshot):
        span = row["first"] if row["missing"] == 1 else f"{row['first']} to {row['last']}"
        yield f"ramp_requests: no request has the reference {span}"
