"""Provider exposure as a section of the report: totals, limits, ages, positions, doubts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import pyarrow.compute as pc

from treasury.close.result_words import amount_words, amounts_words, count, day, moment
from treasury.close.valuation.exposure.provider_exposure import ProviderExposure
from treasury.core.text import clean
from treasury.core.wording import state_words
from treasury.report.grids import Section, amount_cell, filled, make_cell, make_grid

FIGURE: Final = "exposure"
_TONES: Final = {"above": "bad", "not provable": "warn", "within": "ok"}
_VALUE: Final = ("value", "value_currency", "no reference rate")
_Row = Mapping[str, Any]


def exposure_section(exposure: ProviderExposure, *, unread: str = "") -> Section:
    """Return the section on exposure, with the figure `exposure_by_day`."""
    title = "With the provider"
    if unread:
        return Section("exposure", title, f"{unread[:1].upper()}{unread[1:]}.")
    if not len(exposure.positions) and exposure.whole["peak"] is None:
        return Section("exposure", title, f"The provider held nothing at {exposure.instant}.")
    grids = filled(
        make_grid(
            "By currency, and against the limits",
            "What | >Amount | >Value | >Most in the month | >Cleared since | >Limit | Standing",
            [*exposure.currencies.arrow.to_pylist(), exposure.whole],
            lambda row: _sum_row(row, exposure),
            sheet="Exposure totals",
        ),
        make_grid(
            "By age",
            "Age | Currency | >Positions | >Amount | >Value",
            exposure.ages.arrow,
            lambda row: (
                row["age"],
                row["currency"],
                f"{row['positions']:,}",
                amount_cell(row),
                amount_cell(row, *_VALUE),
            ),
            sheet="Exposure by age",
        ),
        make_grid(
            "Positions with the provider",
            "What | Reference | >Amount | >Value | Since | Cleared | Evidence",
            exposure.proved.arrow,
            lambda row: (
                make_cell(row["kind"], state_words(row["state"])),
                row["reference"],
                amount_cell(row),
                amount_cell(row, *_VALUE),
                make_cell(
                    _since(row, exposure),
                    "" if row["age"] is None else count(row["age"], row["clock"]),
                ),
                make_cell(moment(row["cleared_at"], exposure.zone) or "–", row["cleared_by"]),
                row["evidence"],
            ),
            sheet="Provider exposure",
        ),
        make_grid(
            "Not provable: not included above",
            "What | Reference | >In doubt | Since | Why",
            exposure.not_provable.arrow,
            lambda row: (
                row["kind"],
                row["reference"],
                amount_cell(row, "in_doubt", absent="not known"),
                _since(row, exposure),
                make_cell(row["problem"], row["next_step"]),
            ),
            sheet="Provider exposure",
        ),
    )
    whole, most = exposure.whole, ""
    if whole["peak"] is not None:
        amount = amount_words(whole["peak"], whole["currency"])
        most = f" The most in the month: {amount}, {moment(whole['peak_at'], exposure.zone)}."
    cleared = ""
    if exposure.cleared_to > exposure.at:
        rows = exposure.proved.arrow.filter(
            pc.is_valid(exposure.proved.arrow["cleared_at"])
        ).to_pylist()
        sums = amounts_words((row["amount"], row["currency"]) for row in rows)
        to = moment(exposure.cleared_to, exposure.zone)
        cleared = f" Cleared by {to}: {sums or 'nothing'}."
    lead = f"{exposure.title}.{most}{cleared}"
    return Section("exposure", title, lead, grids, tuple(map(clean, exposure.notes)), FIGURE)


def _sum_row(row: _Row, exposure: ProviderExposure) -> tuple[object, ...]:
    is_whole = row["scope"] == "all"
    doubt = f"{count(row['not_provable'], 'row')} not in the sums" if row["not_provable"] else ""
    if doubt and row["in_doubt"] is not None:
        doubt += f", at most {amount_words(row['in_doubt'], row['currency'])}"
    days = f"{count(row['days_above'], 'day')} ended above" if row["days_above"] else ""
    if not days and None not in (row["peak"], row["limit"]) and row["peak"] > row["limit"]:
        days = "above it within a day"
    return (
        make_cell("All" if is_whole else row["scope"], doubt),
        "–" if is_whole else amount_words(row["amount"], row["currency"]),
        amount_cell(row, *_VALUE, row["valued_by"]),
        amount_cell(row, "peak", absent="–", note=moment(row["peak_at"], exposure.zone)),
        amount_cell(row, "cleared"),
        amount_cell(row, "limit", absent="–"),
        make_cell(row["standing"], days, _TONES.get(row["standing"], "")),
    )


def _since(row: _Row, exposure: ProviderExposure) -> str:
    """Return the day of arrival, or `not known` for a gap in the evidence without a beginning."""
    if row["since"] is None:
        return "not known"
    local = row["since"].astimezone(exposure.zone)
    return day(local.date(), (exposure.at - timedelta(microseconds=1)).year)
