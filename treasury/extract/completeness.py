"""Findings about the completeness of synced data.

Only the sync itself can notice three problems: a count that disagrees with the stored records, a
refused list, and an unknown field. It stores them as findings, and removes a finding when a later
sync of the table does not repeat it. The finding about a field stays, so that the field is reported
once. Other findings are queried from stored records: ids that records refer to but no list has, and
gaps in a service's numbering.
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
    title="Findings of a sync: counts, refused lists, new fields",
    columns=(
        Column("finding_id", TEXT, "id of the finding, equal in every sync"),
        Column("kind", TEXT, "count, refused, field"),
        Column("table_name", TEXT, "table that the finding is about"),
        Column("subject", TEXT, "list, or path of the field in `raw`"),
        Column("listed", INTEGER, "number of records that the service states"),
        Column("held", INTEGER, "number of stored records of that list"),
        Column("why", TEXT, "answer of the service"),
    ),
)


class SyncFinding(msgspec.Struct, frozen=True):
    """A list that a sync could not read completely, or a field that it does not know."""

    kind: FindingKind
    table_name: str
    subject: str
    listed: int | None = None
    held: int | None = None
    why: str = ""

    @property
    def finding_id(self) -> str:
        """The id of the finding, which is equal in every sync."""
        return f"{self.kind}/{self.table_name}/{self.subject}"

    def __str__(self) -> str:
        match self.kind:
            case "count":
                return (
                    f"{self.table_name}: the service counts {self.listed:,} in the list"
                    f" {self.subject}, but {self.held:,} are stored: run `treasury sync --full`"
                )
            case "field":
                return f"{self.table_name}: field {self.subject} is new; it is kept in raw"
            case _:
                return f"{self.table_name}: not read: {self.why}"


def stored_findings(snapshot: Snapshot) -> list[SyncFinding]:
    """Read the current findings of a snapshot, sorted by table."""
    columns = SyncFinding.__struct_fields__
    rows = stored_rows(snapshot, SYNC_FINDINGS, columns, "vanished_at IS NULL")
    order = [(name, "ascending") for name in ("table_name", "kind", "subject")]
    return [msgspec.convert(row, SyncFinding) for row in rows.sort_by(order).to_pylist()]


def write_findings(
    writer: Writer | FetchedRows, findings: Iterable[SyncFinding], *, stand: Iterable[str]
) -> None:
    """Replace the stored findings by these, but keep those with ids in `stand`.

    If the findings are unchanged, no rows are written.
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


# Findings from stored records

_REFERENCES: Final = (
    ("transfers", "sender_account_id", "accounts"),
    ("transfers", "receiver_account_id", "accounts"),
    ("wallets", "account_id", "accounts"),
    ("virtual_bank_accounts", "account_id", "accounts"),
    ("ramp_requests", "company_wallet_id", "company_wallets"),
    ("ramp_requests", "company_bank_account_id", "company_bank_accounts"),
)
"""Columns with ids of records in other tables. User columns are left out, because a user may be an
employee of the provider who is in no list.
"""

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
"""Percentage of a series' numbers that must be stored before its gaps are reported. If the
provider's customers share a series, most of its numbers belong to others.
"""


def named_nowhere(snapshot: Snapshot) -> list[Mapping[str, Any]]:
    """Return ids that stored records refer to but no list has, with table, count and first date."""
    return list(snapshot.select(_NOWHERE).to_pylist())


def reference_gaps(snapshot: Snapshot) -> list[Mapping[str, Any]]:
    """Return the gaps in dense series of payment references.

    The columns are the gap's first and last reference, the count of missing ones, and the time at
    which the reference after the gap was first stored.
    """
    return list(snapshot.select(_GAPS, {"least": LEAST, "percent": _PERCENT}).to_pylist())


def unseen_sentences(snapshot: Snapshot) -> Iterator[str]:
    """Yield a sentence for each missing record and each gap, for the report of a sync."""
    for row in named_nowhere(snapshot):
        yield (
            f"{row['missing_from']}: {row['id']} is referenced by {row['named_by']}, but no list"
            " has it"
        )
    for row in reference_gaps(snapshot):
        span = row["first"] if row["missing"] == 1 else f"{row['first']} to {row['last']}"
        yield f"ramp_requests: no request has the reference {span}"
