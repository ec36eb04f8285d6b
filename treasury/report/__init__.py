"""Reports for people: the first screen, the fees, and the report and pack of a month's close."""

from treasury.close.fees.fee_table import Fees, calculated_fees, fees_between, fees_of
from treasury.close.fees.invoice import Tied, tie_invoice
from treasury.close.result_words import count, outcome_word, reason_words
from treasury.report.exceptions import open_lines
from treasury.report.pack.pack_folder import ClosePack, write_close
from treasury.report.screen import (
    SERVICES_ADD,
    first_screen,
    funding_totals,
    funding_view,
    reconciliation_summary,
    unknown_screen,
)

__all__ = [
    "SERVICES_ADD", "ClosePack", "Fees", "Tied", "calculated_fees", "count", "fees_between",
    "fees_of", "first_screen", "funding_totals", "funding_view", "open_lines", "outcome_word",
    "reason_words", "reconciliation_summary", "tie_invoice", "unknown_screen", "write_close",
]  # fmt: skip
