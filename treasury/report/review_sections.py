"""The report's sections for a reviewer: controls, month on month, files, assumptions, evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow.compute as pc

from treasury.close.closing import Closing
from treasury.close.evidence import bank_files
from treasury.close.result_words import amounts_words, count, moment
from treasury.close.review.controls import CONTROL_KINDS, is_verified
from treasury.close.review.month_on_month import FINDINGS, MEASURES
from treasury.core.text import clean
from treasury.core.wording import LINE_CLASSES
from treasury.month.funding import short_account
from treasury.month.reconciliation import Reconciliation
from treasury.report.grids import (
    NOTES,
    Cell,
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


def attached_section(closing: Closing) -> Iterator[Section]:
    """Yield the section on attached files with their hashes, if there are any."""
    files, year = closing.rolled.attachments.arrow, closing.r.month.year
    if not files.num_rows:
        return
    names = {item.item_id: item.name for item in closing.items}
    grid = make_grid(
        f"Attached files, {count(files.num_rows, 'file')}",
        "File | Attached to | >Bytes | By | SHA-256, its name in the folder attachments",
        files,
        lambda row: (
            make_cell(row["file_name"], _file_words(row)),
            names.get(row["item_id"], row["item_id"]),
            f"{row['size']:,}",
            make_cell(row["attached_by"], moment(row["attached_at"], closing.zone, year)),
            Cell(row["sha256"], code=True),
        ),
        most=files.num_rows,
    )
    lead = "Files from outside, stored as they came: open them only with a safe program."
    yield Section("attachments", "Attached files", lead, (grid,))


def _file_words(row: Mapping[str, Any]) -> str:
    """Return words about a file that is late or removed; empty for others."""
    late = f"late: {row['month']} was closed" if row["late"] else ""
    removal = ""
    if row["state"] == "removal_proposed":
        removal = f"removal proposed by {row['removal_proposed_by']}: {row['removal_reason']}"
    elif row["state"] == "removed":
        alone = ", alone" if row["removed_alone"] else f" and {row['removed_by']}"
        removal = f"removed by {row['removal_proposed_by']}{alone}: {row['removal_reason']}"
    return "; ".join(filter(None, (late, removal)))


def assumptions_section(closing: Closing) -> Section:
    """Return the section on the assumptions, with the lines left out of matching."""
    grid = make_grid(
        "Left out of matching, by rule",
        "Class | Rule | >Lines | >Amount",
        _left_out(closing.r),
        lambda row: (
            LINE_CLASSES.get(row["line_class"], row["line_class"]),
            row["rule"],
            f"{row['lines']:,}",
            amounts_words(row["amounts"]),
        ),
    )
    notes = (
        f"Days and months are those of {closing.zone.key}; a bank's date has no hour.",
        "Both legs of an own transfer are one amount.",
        "Only booked lines count. Matched: a whole reference proves it and no fact contradicts it.",
        "Fees belong to the month in which a request completed (SUCCEEDED).",
        "Coins sent to a company wallet: delivered by the service, unless evidence was added.",
        "Ledger: not provided."
        if closing.ledger is None and closing.books is None
        else "Ledger: compared, see Accounts.",
    )
    return Section("assumptions", "Assumptions used", "", filled(grid), notes)


def _left_out(r: Reconciliation) -> list[dict[str, Any]]:
    """Return the lines left out of matching by class and rule; own transfers are summed once."""
    names = ["entry_id", "line_class", "rule_name", "amount", "currency"]
    apart = r.lines.arrow.filter(pc.is_valid(r.lines.arrow["line_class"])).select(names).to_pylist()
    listed = {line["entry_id"] for line in apart}
    pairs = r.internal_transfers.arrow.select(["out_id", "in_id"]).to_pylist()
    second = {pair["in_id"] for pair in pairs if pair["out_id"] in listed}
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for line in apart:
        groups.setdefault((line["line_class"], line["rule_name"] or ""), []).append(line)
    return [
        {
            "line_class": line_class,
            "rule": rule,
            "lines": len(lines),
            "amounts": [
                (line["amount"], line["currency"])
                for line in lines
                if line["entry_id"] not in second
            ],
        }
        for (line_class, rule), lines in sorted(groups.items())
    ]


def evidence_section(closing: Closing) -> Section:
    """Return the section on the data behind the report, with hashes."""
    r = closing.r
    grid = make_grid(
        "SHA-256 of the data behind this report",
        "What | >Rows | Hash",
        closing.fingerprints,
        lambda mark: (
            mark.name.replace("_", " "),
            "" if mark.rows is None else f"{mark.rows:,}",
            Cell(mark.sha256, code=True),
        ),
    )
    files = bank_files(r)
    notes = [f"Bank files of the month: {clean(', '.join(files))}."] if files else []
    if r.basis is not None and r.basis.snapshot.commit is not None:
        notes.append(f"Commit {r.basis.snapshot.commit.number} of the lake.")
    if closing.rolled.head is not None and closing.rolled.head.seq:
        head = closing.rolled.head
        notes.append(f"The journal to entry {head.seq}, {head.hash}.")
    if closing.period is not None:
        entry = closing.period.entry
        notes.append(f"Locked by entry {entry.seq} of the journal, {entry.hash}.")
    return Section("evidence", "Evidence", "", (grid,), tuple(notes))
