"""The table of reference rates: one row per publisher, pair and day or instant."""

from __future__ import annotations

from typing import Final

from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT, Column
from treasury.lake import Table

BANK: Final = "ECB"
OWN: Final = "company"
"""Publisher of a rate: the European Central Bank, or the company through its own file."""

REFERENCE_RATES: Final = Table(
    name="reference_rates",
    key=("rate_id",),
    title="Reference rates that people added: the ECB's, and the company's own",
    columns=(
        Column("rate_id", TEXT, "our id: the publisher, the pair, and the day or the instant"),
        Column("publisher", TEXT, "ECB, or company"),
        Column(
            "day", DATE, "the day of the rate; for an instant, its day in the reporting time zone"
        ),
        Column("observed_at", INSTANT, "the instant of the rate; null for a daily rate"),
        Column("base", TEXT, "the currency or coin that is priced"),
        Column("quote", TEXT, "the currency or coin of the price"),
        Column("rate", AMOUNT, "as published, above zero", unit="`quote` for one `base`"),
        Column("source", TEXT, "ECB, or the name of the company's file"),
    ),
)

TABLES: Final = (REFERENCE_RATES,)
