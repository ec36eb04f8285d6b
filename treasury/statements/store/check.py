"""Proofs of the statements in bank files, as a table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from treasury.core.tables.column_types import TEXT
from treasury.core.tables.table import Table
from treasury.statements.field_values import Currencies, account_number
from treasury.statements.read_files import Reading
from treasury.statements.statement_tables import STATEMENTS
from treasury.statements.store.statement_heads import HEAD, doubted, doubts, find_rivals

_CHECKED: Final = (
    "file_name", "format", "account", "currency", "sequence_number", "opening_date",
    "closing_date", "opening_balance", "closing_balance", "entry_count", "source", "proved",
    "proof",
)  # fmt: skip
_SOURCE: Final = {"source": pa.field("source", TEXT)}
CHECKS: Final = pa.schema([_SOURCE.get(name) or STATEMENTS.schema.field(name) for name in _CHECKED])
"""One row per statement; `source` is null if the account is not declared."""


def check_statements(
    reading: Reading,
    declared: Mapping[str, str] | None = None,
    currencies: Currencies | None = None,
) -> Table:
    """Return whether each statement is proved, alone and in comparison with the others.

    Parameters
    ----------
    reading
        Result of `read_statements`.
    declared
        Map from an account to `own_bank` or `provider_report`. If given, a statement of any other
        account fails.
    currencies
        Map from an account to its currencies. If given, a statement in any other currency fails.

    Returns
    -------
    Table
        One row per statement: account, days, balances in the account's currency, `proved`, and
        `proof` with the sum that holds or the failure.

    Examples
    --------
    >>> check_statements(read_statements(["october.xml"])).df["proved"]
    """
    sources = {account_number(k): v for k, v in (declared or {}).items()}
    rows = reading.statements.arrow.select(list(HEAD)).to_pylist()
    counts = Counter(row["statement_id"] for row in rows)
    if counts.total() > len(counts):
        # Each version lists its rivals: different versions that are equally proved and equally new.
        entries: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for file in reading.files:
            for batch in file.batches():
                columns = (batch[name].to_pylist() for name in ("statement_id", "raw"))
                for key, raw in zip(*columns, strict=True):
                    if counts[key] > 1:
                        entries[file.sha256, key]["".join(raw.split())] += 1
        find_rivals(rows, entries)
    remarks = doubts(rows, currencies or {})
    checked = []
    for place, alone in enumerate(rows):
        row = doubted(alone, remarks.get(place))
        row["source"] = sources.get(row["account"] or "")
        if declared is not None and row["proved"] and row["source"] is None:
            row["proved"] = False
            row["proof"] = f"account {row['account']} is not declared; {row['proof']}"
        checked.append(row)
    checks = pa.Table.from_pylist(checked, schema=CHECKS)
    return Table(checks, title="Statements", as_stored=True)
