"""People's remarks on ramp requests, their payment files and hashes; one row per request.

They prove no payment. A remark is shown next to the state that the bank and the service prove. A
request in a payment file, or with a transaction hash entered here, is treated as paid. It must
not be paid again only because the service does not show it yet.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from treasury.core.tables.column_types import AMOUNT, BOOL, DATE, INSTANT, INTEGER, TEXT
from treasury.core.tables.schemas import grouped_schema
from treasury.journal import decision_history as history
from treasury.journal.decision_log import Decided

REQUEST_REMARKS: Final = grouped_schema(
    (TEXT, "request_id", "mark", "reason", "marked_by"),
    (INSTANT, "marked_at"),
    (TEXT, "file"),
    (INTEGER, "file_seq"),
    (TEXT, "filed_by"),
    (INSTANT, "filed_at"),
    (DATE, "execution"),
    (pa.list_(TEXT), "order_messages", "order_references"),
    (pa.list_(INSTANT), "orders_made"),
    (pa.list_(AMOUNT), "order_amounts"),
    (pa.list_(TEXT), "order_accounts"),
    (pa.list_(pa.list_(TEXT)), "payees_accepted"),
    (pa.list_(BOOL), "rejections_alone"),
    (TEXT, "hash_state", "hash_by"),
    (INSTANT, "hash_at"),
)
"""One row per request with a remark, a payment file or a hash; unused columns are empty.

`hash_state` is as in `GivenHash`. `file` is the payment file that contains the request now,
journaled at `file_seq` and to be executed on `execution`. The lists have an element per file that
contained the request, including earlier files. `order_messages` and `order_references` are the ids
of the file and of the payment, which the bank's answers repeat. `orders_made` is when the file was
made. `order_amounts` (EUR) and `order_accounts` are the amount and the IBAN, empty if they were not
journaled. `payees_accepted` are banks' names for the payee that people accepted. `rejections_alone`
is true if the bank reports rejected payments only.
"""


def remark_table(decided: Decided) -> pa.Table:
    """Return people's remarks and actions by request; columns as in REQUEST_REMARKS."""
    remarks = history.standing_remarks(decided.entries)
    made = {
        request: files
        for request, files in history.files_made(decided.entries).items()
        if files[-1].is_standing or any(file.message_id for file in files)
    }
    hashes = history.standing_hashes(decided.acts)
    accepted = history.accepted_payees(decided.entries)
    rows = []
    for request in sorted({*remarks, *made, *hashes}):
        row: dict[str, object] = {"request_id": request}
        if (remark := remarks.get(request)) is not None:
            row |= {
                "mark": remark.mark,
                "reason": remark.reason,
                "marked_by": remark.by,
                "marked_at": remark.at,
            }
        if (files := made.get(request)) is not None:
            row["order_messages"] = [file.message_id for file in files]
            row["order_references"] = [file.reference for file in files]
            row["orders_made"] = [file.at for file in files]
            row["order_amounts"] = [file.amount for file in files]
            row["order_accounts"] = [file.payee_iban for file in files]
            row["rejections_alone"] = [file.rejections_alone for file in files]
            row["payees_accepted"] = [
                sorted(
                    name
                    for name, payee in accepted.get((file.payee_iban, file.payee), {}).items()
                    if payee.holds_in(file)
                )
                for file in files
            ]
            if (file := files[-1]).is_standing:
                row |= {
                    "file": file.name,
                    "file_seq": file.seq,
                    "filed_by": file.by,
                    "filed_at": file.at,
                    "execution": file.execution,
                }
        if (given_hash := hashes.get(request)) is not None:
            row |= {
                "hash_state": given_hash.state,
                "hash_by": given_hash.by,
                "hash_at": given_hash.at,
            }
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=REQUEST_REMARKS)
