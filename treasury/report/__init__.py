"""Reports for people: the first screens, the fees, and the report and pack of a month's close."""

from typing import TYPE_CHECKING

from treasury.close.fees.fee_table import Fees, calculated_fees, fees_between, fees_of
from treasury.close.fees.invoice import Tied, tie_invoice
from treasury.close.result_words import count, outcome_word, reason_words
from treasury.core.machine.loading import given_names

if TYPE_CHECKING:
    from treasury.report.exceptions import open_lines
    from treasury.report.pack.pack_folder import ClosePack, write_close
    from treasury.report.screen import (
        funding_totals,
        funding_view,
        reconciliation_summary,
        unknown_screen,
    )
    from treasury.report.screens import month_screen

__all__ = [
    "ClosePack", "Fees", "Tied", "calculated_fees", "count", "fees_between", "fees_of",
    "funding_totals", "funding_view", "month_screen", "open_lines", "outcome_word", "reason_words",
    "reconciliation_summary", "tie_invoice", "unknown_screen", "write_close",
]  # fmt: skip

_NAMES = {
    "exceptions": ("open_lines",),
    "pack.pack_folder": ("ClosePack", "write_close"),
    "screen": ("funding_totals", "funding_view", "reconciliation_summary", "unknown_screen"),
    "screens": ("month_screen",),
}
__getattr__ = given_names(
    __name__, {name: module for module, names in _NAMES.items() for name in names}
)
"""Load the other modules on first use: a first screen needs neither the page nor the pack."""
