"""Table of the banks' answers to payment files, with one row per status.

The columns are declared in columns.csv in the terms of ISO 20022; the source of a column is an XML
element, relative to `CstmrPmtStsRpt`.
"""

from __future__ import annotations

from typing import Final

from treasury.core.tables.column_types import columns_of
from treasury.lake import Table

PAYMENT_STATUSES: Final = Table(
    name="payment_statuses",
    key=("status_id",),
    title="Answers of banks to payment files: one status of a file, a batch or a payment per row",
    columns=columns_of("treasury.statements", "payment_statuses"),
)
STATUS_TABLES: Final = (PAYMENT_STATUSES,)
