"""What values rest on: the sources of the rates that were taken, and what was assumed."""

from __future__ import annotations

from datetime import date

from treasury.rates.reference_rates import ReferenceRate

__all__ = ["RateSources"]


class RateSources:
    """The sources of the rates that were taken, each to its last day, and what was assumed."""

    def __init__(self) -> None:
        self._last_days: dict[str, date] = {}
        self._assumptions: set[str] = set()

    def add(self, rate: ReferenceRate) -> None:
        """Note that a rate was taken."""
        if rate.source:
            last = self._last_days.get(rate.source, rate.day)
            self._last_days[rate.source] = max(last, rate.day)
        if rate.assumption:
            self._assumptions.add(rate.assumption)

    def words(self) -> tuple[str, ...]:
        """`ECB, to 2026-10-30`, for each source; then `assumed: 1 USDC = 1 USD`."""
        sources = [f"{source}, to {day}" for source, day in sorted(self._last_days.items())]
        return (*sources, *(f"assumed: {assumed}" for assumed in sorted(self._assumptions)))
