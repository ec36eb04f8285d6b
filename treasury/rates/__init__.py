"""Reference rates from files of the ECB and the company, used to value amounts.

`add_rates` reads a file and stores all of its rates or none. `ReferenceRates` returns the price of
one unit of a currency or coin on a day, with the day of the rate used and the assumptions made.
"""

from treasury.rates.brought_history import BroughtHistory, brought_history
from treasury.rates.rate_files import FileRates, read_rates
from treasury.rates.rate_store import AddedRates, add_rates
from treasury.rates.rate_table import REFERENCE_RATES, TABLES
from treasury.rates.reference_rates import ReferenceRate, ReferenceRates, ReferenceValue

__all__ = [
    "REFERENCE_RATES", "TABLES", "AddedRates", "BroughtHistory", "FileRates", "ReferenceRate",
    "ReferenceRates", "ReferenceValue", "add_rates", "brought_history", "read_rates",
]  # fmt: skip
