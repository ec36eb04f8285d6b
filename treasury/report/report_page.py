"""The close report as one HTML page, which loads no other files and escapes all outside text.

The template draws sections, tables and cells; the module `sections` makes their content. Figures
are inlined as SVG with the page's colours, so that they follow its light, dark and print styles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from treasury.close.checklist import checklist
from treasury.close.close_words import ALONE, evidence_words, names_words, sign_offs
from treasury.close.closing import Closing
from treasury.close.result_words import environment_words, moment
from treasury.core.text import clean
from treasury.report.drawing import INK
from treasury.report.grids import MOST_ROWS_SHOWN, make_grid
from treasury.report.pictures import Drawn, month_figures
from treasury.report.screens.month_status import blocking_rows, month_facts, open_words
from treasury.report.sections import sections, tally

_TEMPLATE: Final = "report.html"
_ID: Final = re.compile(r'(\bid="|href="#|url\(#)')
_STYLE: Final = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.DOTALL)
_SIZE: Final = re.compile(r' width="[\d.]+pt" height="[\d.]+pt"')
_PAPER: Final = "#ffffff"


def render_html(closing: Closing, drawn: Mapping[str, Drawn] | None = None) -> str:
    """Return the whole page; the same month gives the same text. `drawn` are finished figures."""
    r, zone = closing.r, closing.zone
    steps = checklist(closing)
    # The page begins as the month's screen does, with the verdict as its headline.
    (_, verdict), _, *facts = month_facts(closing)
    headline, _, more = verdict.partition("; ")
    blocks = make_grid(
        "What blocks the close",
        "Kind | >Items | Amount",
        blocking_rows(closing.items),
        lambda row: (row.label, f"{len(row.items):,}", " · ".join(row.amounts)),
        sheet="Open items",
    )
    return (
        page_environment()
        .get_template(_TEMPLATE)
        .render(
            month=r.month.title,
            company=clean(r.company),
            setting=environment_words(r.environment),
            alone=ALONE if closing.period is not None and closing.period.close.alone else "",
            known_at=moment(r.known_at, zone, r.month.year),
            as_of=moment(r.as_of, zone, r.month.year),
            zone=zone.key,
            open_words=". ".join(filter(None, (open_words(closing.items), _capital(more)))),
            blocking=len(closing.items.blocking),
            headline=_capital(headline),
            facts=[
                *((label.capitalize(), words) for label, words in facts),
                ("Evidence", evidence_words(closing)),
                ("Names", names_words(closing)),
            ],
            blocks=blocks,
            signed=sign_offs(closing),
            tally=tally(r),
            steps=[(step.state, step.title, step.found) for step in steps.steps],
            sections=sections(closing),
            pictures={
                name: {"svg": inline_svg(picture.svg, name), "alt": picture.words}
                for name, picture in (drawn or month_figures(closing)).items()
            },
            shown=MOST_ROWS_SHOWN,
        )
    )


def _capital(words: str) -> str:
    """Return words as a sentence begins, without changing the case of the others."""
    return f"{words[:1].upper()}{words[1:]}"


def inline_svg(svg: bytes, name: str) -> Markup:
    """Return a figure as inline SVG with the page's colour variables and unique ids."""
    text = svg.decode()
    text = _STYLE.sub("", text[text.index("<svg") :])
    text = _SIZE.sub("", text, count=1)
    text = _ID.sub(rf"\g<1>{name}-", text)
    for colour, value in INK.items():
        text = text.replace(value, f"var(--fig-{colour})")
    text = text.replace(_PAPER, "var(--paper)")
    return Markup(text)  # noqa: S704 - drawn by us; matplotlib escapes the text in it


def page_environment() -> Environment:
    """Return the templates' environment: values are escaped, and none may be missing."""
    return Environment(
        loader=PackageLoader("treasury.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
