"""The report's sections for a reviewer: the controls of the close, and month on month."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from treasury.close.closing import Closing
from treasury.close.result_words import count, moment
from treasury.close.review.controls import CONTROL_KINDS, is_verified
from treasury.close.review.month_on_month import FINDINGS, MEASURES
from treasury.month.funding import short_account
from treasury.report.grids import (
    NOTES,
    Section,
    bare_amount,
    filled,
    make_cell,
    make_grid,
)

_SIGN_OFF: Final = ("prepared", "signed", "withdrawn", "reopened")


def controls_section(closing: Closing) -> Section:
    """Return who prepared, accepted and signed, the numbers of acts, and the special acts."""
    controls = closing.controls
    acts = controls.acts.arrow.to_pylist()
    year = closing.r.month.year

    def act_row(row: Mapping[str, Any]) -> tuple[object, ...]:
        return (
            make_cell(CONTROL_KINDS[row["kind"]], f"entry {row['entry']}"),
            make_cell(row["who"], row["identified"], "ok" if is_verified(row) else "warn"),
            moment(row["at"], closing.zone, year),
            row["subject"],
            make_cell(row["reason"] or "–", row["override"] and f"although {row['override']}"),
            "; ".join(filter(None, ("alone" if row["alone"] else "", row["in_bulk"]))) or "–",
        )

    heads = "Act | Who | When | About | Reason | How"
    grids = filled(
        make_grid(
            "Who prepared and signed",
            heads,
            [row for row in acts if row["kind"] in _SIGN_OFF],
            act_row,
            sheet="Controls",
        ),
        make_grid(
            "All acts by kind",
            "Act | >Acts | >Verified | >Claimed | >Alone | >In bulk | >Overrides | People",
            [row for row in controls.counts.arrow.to_pylist() if row["acts"]],
            lambda row: (
                CONTROL_KINDS[row["kind"]],
                *(
                    f"{row[name]:,}" if row[name] else "–"
                    for name in ("acts", "verified", "claimed", "alone", "in_bulk", "overrides")
                ),
                row["people"],
            ),
            sheet="Controls",
        ),
        make_grid(
            "Acts alone, in bulk or against a contradiction, and changes to policy or scope",
            heads,
            controls.special(),
            act_row,
            sheet="Controls",
        ),
    )
    late = f"Late items: {controls.late_items:,}."
    if not acts:
        return Section("controls", "Controls", f"The journal has no act for this month. {late}")
    claimed = sum(not is_verified(row) for row in acts)
    lead = (
        f"{count(len(acts), 'act')}, {claimed:,} of them by a person whose name is only claimed;"
        f" {len(controls.special()):,} listed one by one. {late}"
    )
    return Section("controls", "Controls", lead, grids, NOTES["controls"])


def month_on_month_section(closing: Closing) -> Section:
    """Return each account's figures next to those of earlier closed months."""
    compared = closing.month_on_month
    title = "Month on month"
    if not compared.months:
        words = "The month before is not closed, so there are no figures to compare."
        return Section("month-on-month", title, words)
    grid = make_grid(
        f"{closing.r.month} compared with {compared.months[0]}",
        "Account | What | >Now | >Before | >Change | Compared with | Explanation",
        compared.changes.arrow,
        _change_row,
        sheet="Month on month",
    )
    missing = len(compared.missing)
    lead = f"Compared with {', '.join(compared.months)}."
    if missing:
        lead += f" {count(missing, 'explanation')} missing."
    return Section("month-on-month", title, lead, filled(grid), NOTES["month_on_month"])


def _change_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    numbers = [row["number"], row["number_before"]]
    open_now, open_before = ("" if each is None else f"{each:,} open" for each in numbers)
    tone = {"missing": "bad", "explained": "ok"}.get(row["finding"], "")
    proof = "" if row["proved"] in {None, True} else "not proved in both months"
    account = row["name"] or short_account(row["of"]) or "All accounts"
    return (
        make_cell(account, short_account(row["of"]) if row["name"] else ""),
        make_cell(MEASURES[row["measure"]], row["currency"]),
        make_cell(bare_amount(row, "amount"), open_now),
        make_cell(bare_amount(row, "before"), open_before),
        make_cell(bare_amount(row, "change"), proof),
        row["compared_with"],
        make_cell(FINDINGS[row["finding"]], row["explanation"], tone),
    )
