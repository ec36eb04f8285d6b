"""The month of a command: written after it or as --month, the last one that ended if not given."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

__all__ = ["month_argument", "month_option", "months_argument"]

_LAST = "the last one that ended if not given."
month_option = click.option("--month", metavar="YYYY-MM", help=f"The month; {_LAST}")
"""--month alone, for a command that takes other names after it."""


def month_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """MONTH or --month, which the command gets as `month`."""
    return _either(function, "YYYY-MM", month_option)


def months_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """MONTHS or --month, one month or the first and the last of several, as `month`."""
    written, help_text = "YYYY-MM[..YYYY-MM]", f"The month, or the first and the last; {_LAST}"
    return _either(function, written, click.option("--month", metavar=written, help=help_text))


def _either(
    function: Callable[..., Any], written: str, option: Callable[..., Any]
) -> Callable[..., Any]:
    @wraps(function)
    def command(*given: Any, month: str | None, written_month: str | None, **more: Any) -> Any:
        if month is not None and written_month not in {None, month}:
            raise click.UsageError(f"two months are given, {written_month} and {month}: give one")
        return function(*given, month=month or written_month, **more)

    return click.argument("written_month", metavar=f"[{written}]", required=False)(option(command))
