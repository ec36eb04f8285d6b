"""The banks' answers to payment files: a row per status of a file, a batch or a payment.

The ids that were journaled when a file was made here link its statuses to the file and its
requests. Other statuses are shown without a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pyarrow as pa

from treasury.core.tables.column_types import AMOUNT, INSTANT, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.journal import Entry
from treasury.journal.decision_history import files_made
from treasury.statements.pain.order_answers import folded_id
from treasury.statements.pain.status_codes import STATUSES, reason_words, status_words

FILE_ANSWERS: Final = grouped_schema(
    (TEXT, "file", "level", "reference", "outcome", "status", "reasons", "details"),
    (AMOUNT, "amount"),
    (TEXT, "currency", "payee"),
    (INSTANT, "said_at"),
    (TEXT, "report", "original_message_id", "request"),
)
"""`file` and `request` are empty if the payment was not made in this workspace, and `request` also
for a status of a whole file or batch.

`amount`, in `currency`, is the ordered amount according to the bank's report; `report` is the
report's id.
"""
_OUTCOMES: Final = {
    "received": "pending",
    "signature": "pending, to be signed",
    "accepted": "accepted",
    "settled": "carried out",
    "rejected": "rejected",
    "parts": "in part",
    "payee": "payee",
}
"""The meaning of a single status; `OrderAnswer` combines several statuses of one payment."""


def file_answers(statuses: pa.Table, entries: Iterable[Entry]) -> pa.Table:
    """Return the banks' answers, sorted by file and message id; columns as in FILE_ANSWERS."""
    names: dict[str, str] = {}
    requests: dict[tuple[str, str], str] = {}
    for request, files in files_made(entries).items():
        for file in files:
            message = folded_id(file.message_id)
            names[message] = file.name
            requests[message, folded_id(file.reference)] = request
    rows = []
    for row in statuses.to_pylist():
        message = folded_id(row["original_message_id"])
        if message not in names:
            message = folded_id(row["original_batch_id"])
        payment = message, folded_id(row["original_end_to_end_id"])
        status = STATUSES.get(row["status"])
        rows.append(
            {
                "file": names.get(message) if message else None,
                "level": row["level"],
                "reference": row["original_end_to_end_id"],
                "outcome": "not known" if status is None else _OUTCOMES[status.stage],
                "status": status_words(row["status"]),
                "reasons": reason_words(row["reasons"]),
                "details": "; ".join(row["details"]),
                "amount": row["amount"],
                "currency": row["currency"],
                "payee": row["creditor_name"],
                "said_at": row["created_at"],
                "report": row["message_id"],
                "original_message_id": row["original_message_id"],
                "request": requests.get(payment) if row["level"] == "payment" else None,
            }
        )
    rows.sort(key=lambda row: (row["file"] or "", row["original_message_id"] or ""))
    return pa.Table.from_pylist(rows, schema=FILE_ANSWERS)
