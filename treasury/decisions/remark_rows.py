"""What people said and did about ramp requests that no bank line shows, a row for each request.

It proves nothing. A remark stands beside the state that the bank and the service prove; a request
in a payment file, or whose transaction hash was given here, has been paid already as far as we
know, and is not to be paid again because the service does not show it yet.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from treasury.journal.decision_history import standing_files, standing_hashes, standing_remarks
from treasury.journal.decision_log import Decided

__all__ = ["REQUEST_MARKS", "mark_table"]

REQUEST_MARKS: Final = pa.schema(
    [
        ("request_id", pa.string()),
        ("mark", pa.string()),
        ("reason", pa.string()),
        ("marked_by", pa.string()),
        ("marked_at", pa.timestamp("us", tz="UTC")),
        ("file", pa.string()),
        ("filed_by", pa.string()),
        ("filed_at", pa.timestamp("us", tz="UTC")),
        ("hash_state", pa.string()),
        ("hash_by", pa.string()),
        ("hash_at", pa.timestamp("us", tz="UTC")),
    ]
)
"""A row for each request with a remark, in a payment file, or given a hash; the rest is empty.

`hash_state` is as in `GivenHash`.
"""


def mark_table(decided: Decided) -> pa.Table:
    """What people said and did about requests, by request; columns as in REQUEST_MARKS."""
    marks, files = standing_remarks(decided.entries), standing_files(decided.entries)
    hashes = standing_hashes(decided.acts)
    rows = []
    for request in sorted({*marks, *files, *hashes}):
        row: dict[str, object] = {"request_id": request}
        if (mark := marks.get(request)) is not None:
            row |= {
                "mark": mark.mark,
                "reason": mark.reason,
                "marked_by": mark.by,
                "marked_at": mark.at,
            }
        if (file := files.get(request)) is not None:
            row |= {"file": file.name, "filed_by": file.by, "filed_at": file.at}
        if (given := hashes.get(request)) is not None:
            row |= {
                "hash_state": given.state,
                "hash_by": given.by,
                "hash_at": given.at,
            }
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=REQUEST_MARKS)
