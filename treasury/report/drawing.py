"""The common parts of all figures: style, stacked panels, axes from zero, texts of amounts.

A figure is a separate matplotlib `Figure`, made without pyplot's global state. Amounts become
floats only as positions on a scale; texts are formatted from exact decimals. Outside text is never
rendered as markup, mathematics or a missing glyph.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeAlias

import matplotlib as mpl
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator

from treasury.close.result_words import amount_words, day
from treasury.core.calendar import Month, is_target_day
from treasury.core.errors import InputError
from treasury.core.tables.column_texts import wide
from treasury.core.tables.table import Table
from treasury.core.text import safe_html
from treasury.core.wording import EXPECTED_KINDS

if TYPE_CHECKING:
    import pandas as pd

    Frame: TypeAlias = pd.DataFrame | Table | pa.Table | Sequence[Mapping[str, Any]]

P = ParamSpec("P")

INK: Final = {
    "text": "#1c2733",
    "muted": "#5b6875",
    "grid": "#dde3e8",
    "closed": "#f2f5f7",
    "first": "#0072b2",
    "second": "#d55e00",
}
"""The colours of every figure: Okabe and Ito's blue and vermilion, safe for colour blindness."""

_COLOURED: Final = {
    "muted": ("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"),
    "text": ("axes.titlecolor", "text.color"),
    "grid": ("grid.color",),
}
_STYLE: Final[Any] = mpl.rc_params_from_file(
    Path(__file__).with_name("templates") / "figures.mplstyle", use_default_template=False
) | {name: INK[colour] for colour, names in _COLOURED.items() for name in names}
_WIDTH: Final = 9.2
_STRANGE: Final = re.compile(r"[^A-Za-z0-9.,+\- ]")
_NO_METADATA: Final = dict.fromkeys(("Date", "Creator", "Format", "Type"))


class Drawing(Figure):
    """A figure that a notebook displays as SVG; `words` are its description."""

    words: str = ""

    def __repr__(self) -> str:
        return self.words or super().__repr__()

    def _repr_html_(self) -> str | None:
        if not self.words:
            return None
        caption = f"<figcaption>{safe_html(self.words)}</figcaption>"
        # The XML declaration is removed, because HTML does not allow it. The figure's dark texts
        # need a light background in a dark host.
        _, _, svg = self._repr_svg_().partition("<svg")
        style = "max-width:100%;height:auto;background:white"
        return f"<figure style='margin:0'><svg style='{style}'{svg}{caption}</figure>"

    def _mime_(self) -> tuple[str, str]:
        """Return what marimo shows; its own display of a figure is transparent, without words."""
        return "text/html", self._repr_html_() or self._repr_svg_()

    def _repr_svg_(self) -> str:
        return figure_svg(self).decode()


def records(frame: Frame, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame, an Arrow table or a list as dictionaries.

    Raises InputError if one of `columns` is missing; an empty list is accepted. Missing values of
    pandas become None.
    """
    rows, names = _rows(frame, columns)
    missing = [name for name in columns if name not in names]
    if missing and names:
        raise InputError(
            f"the figure needs a column {missing[0]!r}", do=f"give it {', '.join(columns)}"
        )
    return rows


def together(frame: Frame, amount: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return `records`, but sum up rows of an Arrow table that differ only in their amount.

    The column `rows` has the number of rows in a sum. Rows without an amount are counted apart.
    """
    if isinstance(frame, Table):
        frame = frame.arrow
    if not isinstance(frame, pa.Table) or set(columns) - set(frame.column_names):
        return [{**row, "rows": 1} for row in records(frame, columns)]
    keys = [name for name in columns if name != amount]
    table = frame.select(keys).append_column(amount, wide(frame[amount]))
    table = table.append_column("is_recorded", pc.is_valid(frame[amount]))
    groups = table.group_by([*keys, "is_recorded"], use_threads=False)
    summed = groups.aggregate([(amount, "sum"), ([], "count_all")])
    return summed.rename_columns({f"{amount}_sum": amount, "count_all": "rows"}).to_pylist()


def _rows(frame: Frame, columns: Sequence[str]) -> tuple[list[dict[str, Any]], list[str]]:
    if isinstance(frame, Table):
        frame = frame.arrow
    if isinstance(frame, pa.Table):
        present = [name for name in columns if name in frame.column_names]
        return frame.select(present).to_pylist(), frame.column_names
    if isinstance(frame, Sequence):
        rows = [dict(row) for row in frame]
        return rows, list(rows[0]) if rows else []
    # A DataFrame made of a Table has words instead of codes in the column `direction`.
    shown = {"credit_debit": "direction"} if "credit_debit" in frame else {"ramp_type": "direction"}
    if set(shown) & set(frame):
        frame = frame.drop(columns="direction", errors="ignore").rename(columns=shown)
        frame["direction"] = frame["direction"].replace(EXPECTED_KINDS)
    plain = frame.astype(object).where(frame.notna(), None)
    return [{str(k): v for k, v in row.items()} for row in plain.to_dict("records")], list(plain)


def figure_svg(figure: Figure) -> bytes:
    """Return the figure as SVG; the same figure gives the same bytes."""
    out = io.BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(out, format="svg", metadata=_NO_METADATA)
    return out.getvalue()


def figure_png(figure: Figure) -> bytes:
    """Return the figure as PNG on white; the same figure gives the same bytes."""
    out = io.BytesIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(out, format="png", dpi=144, facecolor="white", metadata={"Software": None})
    return out.getvalue()


def drawn(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Draw in the common style, then freeze the layout, because each rendering would change it."""

    @wraps(draw)
    def styled(*arguments: P.args, **options: P.kwargs) -> Figure:
        with mpl.rc_context(_STYLE):
            figure = draw(*arguments, **options)
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
            return figure

    return styled


def panels(number: int, *, height: float) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure of `number` stacked panels, each `height` inches high."""
    number = max(number, 1)
    layout = ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.06)
    figure = Drawing(figsize=(_WIDTH, height * number), layout=layout)
    grid = figure.subplots(number, 1, squeeze=False)
    return figure, list(grid[:, 0])


def ruled(axes: Axes) -> None:
    """Draw horizontal lines behind the data, to read amounts by."""
    axes.grid(axis="y", zorder=1)
    axes.set_axisbelow(True)


def days(axes: Axes, month: Month) -> None:
    """Draw the days of a month from left to right; shade days on which TARGET is closed."""
    for at in month.days():
        if not is_target_day(at):
            axes.axvspan(at.day - 0.5, at.day + 0.5, color=INK["closed"], linewidth=0, zorder=0)
    last = month.last.day
    places = [1, *range(5, last - 1, 5), last]
    axes.set_xlim(0.4, last + 0.6)
    axes.set_xticks(places, [day(month.first), *map(str, places[1:-1]), day(month.last)])
    ruled(axes)


def legend(axes: Axes, parts: Iterable[tuple[str, str]]) -> None:
    """Write each name in its colour under the title, instead of a separate legend."""
    at = 0.0
    for words, colour in parts:
        axes.annotate(
            words, (0, 1), xytext=(at, 8), xycoords="axes fraction", textcoords="offset points",
            color=colour, fontweight="bold", annotation_clip=False,
        )  # fmt: skip
        at += 6.4 * len(words) + 14


def scale(axes: Axes, currency: str, *, below_is_out: bool = False) -> None:
    """Label the vertical axis with amounts of a currency.

    If below zero is money out, the labels have no minus sign.
    """
    axes.yaxis.set_major_locator(MaxNLocator(5))

    def words(place: float, _: int) -> str:
        size = abs(place) if below_is_out else place
        return f"{label(currency)} {size:,.{0 if size == int(size) else 2}f}"

    axes.yaxis.set_major_formatter(FuncFormatter(words))


def amount_text(amount: Decimal, currency: str) -> str:
    """Return the exact amount with its currency."""
    return amount_words(amount, label(currency))


def label(currency: str) -> str:
    """Return a currency code, which comes from outside, without characters that a font may lack."""
    return _STRANGE.sub("?", currency)[:12]


def nothing(axes: Axes, words: str) -> None:
    """Draw an empty panel that states the reason."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", color=INK["muted"])
