"""What the difference to a reference is called: by who published the rates that it is held against.

A difference is *in the rate* only where each published rate has an instant near the conversion's
own. Any other has what the market did since, and is named by the publisher of the rates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from treasury.rates import ReferenceRate
from treasury.rates.rate_table import BANK, OWN

__all__ = [
    "IN_THE_RATE", "TO_ASSUMED_RATE", "TO_OWN_RATE", "TO_REFERENCE", "TO_SEVERAL",
    "difference_against", "difference_of_sum",
]  # fmt: skip

_MARKET: Final = "(spread and market movement)"
IN_THE_RATE: Final = "in the rate"
TO_REFERENCE: Final = f"difference to the ECB reference {_MARKET}"
TO_OWN_RATE: Final = f"difference to the company's rate {_MARKET}"
TO_ASSUMED_RATE: Final = f"difference to the assumed rate {_MARKET}"
TO_SEVERAL: Final = f"difference to the reference {_MARKET}"
"""Of rates that are of the company and of the ECB, and of a sum of several differences."""

_BY_PUBLISHER: Final = {
    frozenset[str](): TO_ASSUMED_RATE,
    frozenset({BANK}): TO_REFERENCE,
    frozenset({OWN}): TO_OWN_RATE,
    frozenset({BANK, OWN}): TO_SEVERAL,
}


def difference_against(rates: Iterable[ReferenceRate]) -> str:
    """What the difference to these rates is called."""
    published = [rate for rate in rates if rate.source]
    if published and all(rate.has_instant for rate in published):
        return IN_THE_RATE
    return _BY_PUBLISHER[frozenset(name for rate in published for name in rate.publishers)]


def difference_of_sum(names: Iterable[str]) -> str:
    """What the sum of differences of these names is called; none or all are *in the rate*."""
    (name, *others) = set(names)
    return TO_SEVERAL if others else name
