"""The letter that asks the provider to confirm the company's balances, as an HTML page.

It lists our figures, each with an empty cell for the provider's figure. The page loads no other
files, and text from outside is escaped as in the report.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from treasury.close.result_words import environment_words, moment
from treasury.close.valuation.exposure.provider_exposure import ProviderExposure
from treasury.core.errors import InputError, StorageError
from treasury.core.files.durable import write_whole
from treasury.core.text import clean
from treasury.core.wording import state_words
from treasury.report.grids import Cell, Grid, amount_cell, make_cell, make_grid
from treasury.report.report_page import page_environment

_TEMPLATE: Final = "confirmation.html"
_BLANK: Final = Cell()
_NO_YEAR: Final = 0
"""A year that never occurs: dates of the given year omit the year, so here all dates show it."""


def confirmation_letter(exposure: ProviderExposure) -> str:
    """Return the letter as HTML; the same exposure gives the same text."""
    instant = moment(exposure.at, exposure.zone, _NO_YEAR)
    if exposure.at == exposure.month.end(exposure.zone):
        instant = f"{exposure.instant} {exposure.month.year}"
    return (
        page_environment()
        .get_template(_TEMPLATE)
        .render(
            company=clean(exposure.company),
            setting=environment_words(exposure.environment),
            instant=instant,
            known_at=moment(exposure.cleared_to, exposure.zone, _NO_YEAR),
            zone=exposure.zone.key,
            grids=[grid for grid in _grids(exposure) if grid.rows],
            notes=[clean(note) for note in exposure.notes],
        )
    )


def write_letter(exposure: ProviderExposure, path: Path) -> Path:
    """Write the letter to a new file.

    Raises InputError if the file exists, StorageError if it cannot be written.
    """
    if path.exists() or path.is_symlink():
        raise InputError(
            f"{path} already exists, perhaps with an answer in it",
            do="name another file, or remove it",
        )
    try:
        write_whole(path, confirmation_letter(exposure).encode())
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {error.strerror}",
            do="name a file in an existing folder",
        ) from error
    return path


def _grids(exposure: ProviderExposure) -> Sequence[Grid]:
    """Return all tables with all rows, because each row has to be confirmed."""
    whole_grid = partial(make_grid, most=sys.maxsize)
    return (
        whole_grid(
            "What our records prove, by currency",
            "Currency | >Amount by our records | Your figure",
            [row for row in exposure.currencies.arrow.to_pylist() if row["amount"]],
            lambda row: (row["scope"], amount_cell(row), _BLANK),
        ),
        whole_grid(
            "Its parts",
            "What | Reference | Since | >Amount by our records | Your figure",
            exposure.proved.arrow.to_pylist(),
            lambda row: (
                make_cell(row["kind"], state_words(row["state"])),
                row["reference"],
                moment(row["since"], exposure.zone, exposure.month.year),
                amount_cell(row),
                _BLANK,
            ),
        ),
        whole_grid(
            "What our records do not prove: please state it",
            "What | Reference | >May be | Why we ask | Your figure",
            exposure.not_provable.arrow.to_pylist(),
            lambda row: (
                make_cell(row["kind"], row["currency"]),
                row["reference"],
                amount_cell(row, "in_doubt", absent="not known"),
                row["problem"],
                _BLANK,
            ),
        ),
    )
