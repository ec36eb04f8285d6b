"""Provider exposure as a section of the report: sums, limits, ages, positions, what is in doubt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import pyarrow.compute as pc

from treasury.close.exposure.provider_exposure import ProviderExposure
from treasury.close.result_words import amount_words, amounts_words, count, day, moment
from treasury.report.grids import Cell, Grid, Section, amount_cell, make_cell, make_grid
from treasury.text import clean

__all__ = ["FIGURE", "exposure_section"]

FIGURE: Final = "exposure"
TONES: Final = {"above": "bad", "not provable": "warn", "within": "ok"}
Row = Mapping[str, Any]


def exposure_section(exposure: ProviderExposure, *, is_unread: bool = False) -> Section:
    """The section; its figure is `exposure_by_day`."""
    title = "With the provider"
    if is_unread:
        return Section("exposure", title, "Not known: the services have not been read.")
    if not exposure.positions.num_rows and exposure.whole["peak"] is None:
        return Section("exposure", title, f"Nothing stood there at {exposure.instant}.")
    grids = filter(
        None, (_sums(exposure), _ages(exposure), _positions(exposure), _doubts(exposure))
    )
    return Section(
        "exposure",
        title,
        f"{exposure.title}.{_peak(exposure)}{_cleared(exposure)}",
        tuple(grids),
        tuple(map(clean, exposure.notes)),
        FIGURE,
    )


def _peak(exposure: ProviderExposure) -> str:
    whole = exposure.whole
    if whole["peak"] is None:
        return ""
    most = amount_words(whole["peak"], whole["currency"])
    return f" The most in the month: {most}, {moment(whole['peak_at'], exposure.zone)}."


def _cleared(exposure: ProviderExposure) -> str:
    if exposure.cleared_to <= exposure.at:
        return ""
    rows = exposure.proved.filter(pc.is_valid(exposure.proved["cleared_at"])).to_pylist()
    sums = amounts_words((row["amount"], row["currency"]) for row in rows)
    to = moment(exposure.cleared_to, exposure.zone)
    return f" Of it cleared by {to}: {sums or 'nothing'}."


def _sums(exposure: ProviderExposure) -> Grid:
    return make_grid(
        "By currency, and against the limits",
        "What | >Amount | >Value | >Most in the month | >Cleared since | >Limit | Standing",
        [*exposure.currencies.to_pylist(), exposure.whole],
        lambda row: _sum_row(row, exposure),
        sheet="Exposure totals",
    )


def _sum_row(row: Row, exposure: ProviderExposure) -> tuple[Cell, ...]:
    is_whole = row["scope"] == "all"
    doubt = f"{count(row['not_provable'], 'row')} in no sum" if row["not_provable"] else ""
    if doubt and row["in_doubt"] is not None:
        doubt += f", at most {amount_words(row['in_doubt'], row['currency'])}"
    value = "no reference rate"
    if row["value"] is not None:
        value = amount_words(row["value"], row["value_currency"])
    days = f"{count(row['days_above'], 'day')} ended above" if row["days_above"] else ""
    if not days and None not in (row["peak"], row["limit"]) and row["peak"] > row["limit"]:
        days = "above it within a day"
    return (
        make_cell("All" if is_whole else row["scope"], doubt),
        make_cell("–" if is_whole else amount_words(row["amount"], row["currency"])),
        make_cell(value, row["valued_by"]),
        make_cell(
            "–" if row["peak"] is None else amount_words(row["peak"], row["currency"]),
            moment(row["peak_at"], exposure.zone),
        ),
        amount_cell(row, "cleared"),
        make_cell("–" if row["limit"] is None else amount_words(row["limit"], row["currency"])),
        make_cell(row["standing"], days, TONES.get(row["standing"], "")),
    )


def _ages(exposure: ProviderExposure) -> Grid | None:
    if not exposure.ages.num_rows:
        return None
    return make_grid(
        "How long it has stood there",
        "Age | Currency | >Positions | >Amount | >Value",
        exposure.ages,
        lambda row: (
            make_cell(row["age"]),
            make_cell(row["currency"]),
            make_cell(f"{row['positions']:,}"),
            amount_cell(row),
            _value(row),
        ),
        sheet="Exposure by age",
    )


def _positions(exposure: ProviderExposure) -> Grid | None:
    if not exposure.proved.num_rows:
        return None
    return make_grid(
        "What stood there",
        "What | Reference | >Amount | >Value | Since | Cleared | Evidence",
        exposure.proved,
        lambda row: (
            make_cell(row["kind"], row["state"]),
            make_cell(row["reference"]),
            amount_cell(row),
            _value(row),
            make_cell(_since(row, exposure), _age(row)),
            make_cell(moment(row["cleared_at"], exposure.zone) or "–", row["cleared_by"]),
            make_cell(row["evidence"]),
        ),
        sheet="Provider exposure",
    )


def _doubts(exposure: ProviderExposure) -> Grid | None:
    if not exposure.not_provable.num_rows:
        return None
    return make_grid(
        "Not provable: in no sum above",
        "What | Reference | >In doubt | Since | Why",
        exposure.not_provable,
        lambda row: (
            make_cell(row["kind"]),
            make_cell(row["reference"]),
            make_cell(
                "not known"
                if row["in_doubt"] is None
                else amount_words(row["in_doubt"], row["currency"])
            ),
            make_cell(_since(row, exposure)),
            make_cell(row["problem"], row["next_step"]),
        ),
        sheet="Provider exposure",
    )


def _value(row: Row) -> Cell:
    if row["value"] is None:
        return make_cell("no reference rate")
    return amount_cell(row, "value", "value_currency")


def _since(row: Row, exposure: ProviderExposure) -> str:
    """The day that it came; a virtual account that no report shows has none."""
    if row["since"] is None:
        return "not known"
    local = row["since"].astimezone(exposure.zone)
    return day(local.date(), (exposure.at - timedelta(microseconds=1)).year)


def _age(row: Row) -> str:
    return "" if row["age"] is None else count(row["age"], row["clock"])
