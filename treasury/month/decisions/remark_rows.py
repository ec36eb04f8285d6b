"""What people said and did about ramp requests that no bank line shows, a row for each request.

It proves nothing. A remark stands beside the state that the bank and the service prove; a request
in a payment file, or whose transaction hash was given here, has been paid already as far as we
know, and is not to be paid again because the service does not show it yet.
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
"""A row for each request with a remark, in a payment file, or given a hash; the rest is empty.

`hash_state` is as in `GivenHash`. `file` is the payment file that it is in, at the place `file_seq`
of the journal, to be carried out on `execution`; `order_messages` and `order_references` are the
ids of that and of every earlier file that it left in, and of its payment in each, by which the bank
answers; `orders_made` is when, `order_amounts` (EUR) and `order_accounts` are what each orders, and
to which IBAN, empty where that was not journaled; `payees_accepted` are the names that banks gave
for the payee of each and that were accepted, `rejections_alone` says of each whether its bank
reports of rejected payments alone.
"""


def remark_table(decided: Decided) -> pa.Table:
    """What people said and did about requests, by request; columns as in REQUEST_REMARKS."""
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
