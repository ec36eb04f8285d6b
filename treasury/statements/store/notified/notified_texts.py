"""Texts of a payment copied from another message or export to a row without them.

Some banks book a payment in camt.053 with only amount, day and reference, and state payer and
purpose in camt.054. Both are one movement: the statement's row counts and receives the texts. In
the same way a row of a CSV export receives the text of an overlapping export.
"""

# ruff: noqa: S608 - only our own numbers, days and hashes are put into queries

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.files.package_files import step_sql
from treasury.core.tables.column_types import TEXT
from treasury.lake import Snapshot
from treasury.statements.statement_tables import COUNTING, STATEMENT_ENTRIES
from treasury.statements.store.row_staging import BARE, PART, WORDLESS, Staging
from treasury.statements.store.statement_heads import Heads

_TAKEN_OVER: Final = (
    "message_id", "payment_information_id", "instruction_id", "end_to_end_id", "transaction_id",
    "uetr", "mandate_id", "remittance", "structured_references", "additional_information",
    "counterparty_name", "counterparty_account", "counterparty_agent", "debtor_name",
    "debtor_account", "debtor_agent", "creditor_name", "creditor_account", "creditor_agent",
    "ultimate_debtor_name", "ultimate_creditor_name", "return_reason", "original_end_to_end_id",
)  # fmt: skip
_STEPS: Final = "treasury.statements.store.steps"
_NOTIFIED: Final = step_sql(_STEPS, "notified_payments")
_BARE_PAYMENTS: Final = step_sql(_STEPS, "stored_bare_payments")


def notified_texts(
    snapshot: Snapshot, staging: Staging, heads: Heads, days: tuple[date, date]
) -> dict[str, dict[str, Any]]:
    """Return the texts for rows without them, by the id of the movement.

    Stored rows that receive a text are added to the table `patches`.
    """
    reports = [key for key, facts in heads.counting.items() if facts.is_provisional]
    ((exports,),) = staging.run("SELECT count(*) FROM exports").fetchall()
    if not reports and not exports:
        return {}
    where = f"{COUNTING} AND booking_date BETWEEN DATE '{days[0]}' AND DATE '{days[1]}'"
    wordless = snapshot.sql(
        f"SELECT entry_id, {BARE} AS is_bare FROM {STATEMENT_ENTRIES.name}"
        f" WHERE {where} AND {WORDLESS}"
    )
    staging.run("CREATE TABLE stored_wordless (entry_id VARCHAR, is_bare BOOLEAN)")
    staging.keep("stored_wordless", wordless)
    staging.run("CREATE TABLE reports (statement_id VARCHAR)")
    staging.keep("reports", pa.table({"statement_id": pa.array(reports, TEXT)}))
    staging.run(
        "CREATE TABLE chosen_wordless AS SELECT h.entry_id, c.is_bare"
        " FROM chosen AS h JOIN came AS c USING (place) WHERE NOT c.has_words"
    )
    replaced = staging.run(
        "SELECT entry_id FROM chosen_wordless SEMI JOIN stored USING (entry_id)"
        " ANTI JOIN stored_wordless USING (entry_id)"
    ).fetchall()
    staging.run(f"CREATE TABLE notified_payments AS {_NOTIFIED}")
    staging.run(f"INSERT INTO patches {_BARE_PAYMENTS}")
    payments = staging.run("FROM notified_payments ORDER BY place").fetchall()
    names = ", ".join(("entry_id", *_TAKEN_OVER))
    query = (
        f"SELECT {names} FROM {STATEMENT_ENTRIES.name}"
        f" WHERE list_contains($ids, entry_id) AND NOT ({PART})"
    )
    stored = snapshot.sql(query, {"ids": [entry_id for (entry_id,) in replaced]}).to_pylist()
    texts = {row.pop("entry_id"): row for row in stored}
    return texts | dict(_incoming_texts(staging, dict(payments)))


def _incoming_texts(staging: Staging, ids: dict[int, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    if not ids:
        return
    for place, rows in staging.parts():
        here = [at for at in ids if place <= at < place + rows.num_rows]
        if here:
            taken = rows.take(pa.array([at - place for at in here], pa.int64()))
            for at, row in zip(here, taken.select(_TAKEN_OVER).to_pylist(), strict=True):
                yield ids[at], row


def with_texts(rows: pa.Table, texts: dict[str, dict[str, Any]]) -> pa.Table:
    """Return the rows with the found texts in their empty columns."""
    if not texts or not pc.any(pc.is_in(rows["entry_id"], pa.array(list(texts), TEXT))).as_py():
        return rows
    sources = [texts.get(entry_id, {}) for entry_id in rows["entry_id"].to_pylist()]
    for name in _TAKEN_OVER:
        values = [
            value or more.get(name) or value
            for value, more in zip(rows[name].to_pylist(), sources, strict=True)
        ]
        kind = rows.schema.field(name).type
        rows = rows.set_column(rows.schema.get_field_index(name), name, pa.array(values, kind))
    return rows
