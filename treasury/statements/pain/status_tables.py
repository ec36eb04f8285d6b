"""Table of the banks' answers to payment files: one row for each status.

The columns, in the columns.csv of statements, have ISO 20022's own terms, and each names the
element it is read from, relative to `CstmrPmtStsRpt`.
"""

from __future__ import annotations

from typing import Final

from treasury.core.tables.column_types import columns_of
from treasury.lake import Table

PAYMENT_STATUSES: Final = Table(
    name="payment_statuses",
    key=("status_id",),
    title="What banks answered to payment files: a status of a file, a batch or a payment",
    columns=columns_of("treasury.statements", "payment_statuses"),
)
STATUS_TABLES: Final = (PAYMENT_STATUSES,)
