"""The table of reference rates: a row for each pair and day, or instant, and what published it."""

from __future__ import annotations

from typing import Final

from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT, Column
from treasury.lake import Table

BANK: Final = "ECB"
OWN: Final = "company"
"""Who publishes a rate: the European Central Bank, or the company by a file of its own."""

REFERENCE_RATES: Final = Table(
    name="reference_rates",
    key=("rate_id",),
    title="Reference rates that people added: the ECB's, and the company's own",
    columns=(
        Column("rate_id", TEXT, "our id: who publishes it, the pair, the day or the instant"),
        Column("publisher", TEXT, "ECB, or company"),
        Column("day", DATE, "the day of the rate; of an instant, its day in the reporting zone"),
        Column("observed_at", INSTANT, "the instant of the rate; null for the one rate of a day"),
        Column("base", TEXT, "one unit of this"),
        Column("quote", TEXT, "costs so many units of this"),
        Column("rate", AMOUNT, "as published, above zero", unit="`quote` for one `base`"),
        Column("source", TEXT, "ECB, or the name of the company's file"),
    ),
)

TABLES: Final = (REFERENCE_RATES,)
