"""The sections of the close report, in the order of the desk: what each says, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Final
from zoneinfo import ZoneInfo

from treasury.identifiers import plain_account
from treasury.reconcile.monthly import Reconciliation
from treasury.report.evidence import bank_files, fingerprints
from treasury.report.exceptions import (
    UNEXPLAINED,
    decisions_section,
    earlier_section,
    exceptions_section,
)
from treasury.report.fee_section import fees_section
from treasury.report.grids import Cell, Section, amount_cell, make_cell, make_grid
from treasury.report.screen import overdue_words, transit_words
from treasury.report.verdict import NOT_PROVABLE, Need, Verdict, funding_kind, in_transit, verdict
from treasury.report.words import (
    LINE_CLASSES,
    OUTCOMES,
    amount_words,
    amounts_words,
    count,
    day,
    moment,
    short_account,
)
from treasury.text import clean

__all__ = ["sections", "tally"]

SOURCES: Final = {"own_bank": "own bank", "provider_report": "provider report"}
_TONES: Final = {
    "PAY": "bad",
    "CHECK BANK": "warn",
    "SENT": "ok",
    "HASH GIVEN": "ok",
    "SEND CRYPTO": "warn",
}


def sections(r: Reconciliation, zone: ZoneInfo) -> list[Section]:
    """Every section after the verdict, in the order of the desk."""
    found = verdict(r, zone)
    return [
        _accounts(r, found),
        _blocking(r, found, zone),
        _in_transit(r),
        _awaiting(r, zone),
        exceptions_section(r),
        _collections(r),
        fees_section(r),
        *decisions_section(r),
        *earlier_section(r),
        _assumptions(r, zone),
        _evidence(r),
    ]


# Accounts and what blocks


def _accounts(r: Reconciliation, found: Verdict) -> Section:
    lines: dict[str, list[dict[str, Any]]] = {}
    columns = [
        "statement_account", "currency", "direction", "amount", "outcome", "line_class"
    ]  # fmt: skip
    for line in r.lines.select(columns).to_pylist():
        lines.setdefault(plain_account(line["statement_account"]), []).append(line)
    grid = make_grid(
        "Accounts and their statements in the month",
        "Account | >Opening | >In | >Out | >Closing | >Unexplained | Statements",
        r.statements.to_pylist(),
        lambda row: _account_row(row, lines.get(row["account"], [])),
        sheet="Statements",
    )
    lead = f"{found.proved} of {count(found.accounts, 'account')} proved for the whole month."
    if not found.accounts:
        lead = "No account is declared in treasury.toml, so nothing can be proved."
    note = (
        "A statement is proved when its opening balance and its entries give its closing balance."
    )
    return Section("accounts", "Accounts", lead, (grid,) if found.accounts else (), (note,), "cash")


def _account_row(row: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> tuple[Cell, ...]:
    def sums(of: Callable[[Mapping[str, Any]], bool]) -> str:
        chosen = [(line["amount"], line["currency"]) for line in lines if of(line)]
        return amounts_words(chosen)

    open_lines = [
        line for line in lines if line["outcome"] in UNEXPLAINED and not line["line_class"]
    ]
    where = f"{row['currency']} {short_account(row['account'])}, {SOURCES[row['source']]}"
    charges = sums(lambda line: line["line_class"] == "bank_charge")
    proved = f"{row['proved']} of {row['statements']} proved" if row["statements"] else "none added"
    reach = f"to {day(row['covered_to'])}" if row["covered_to"] else ""
    return (
        make_cell(row["name"] or short_account(row["account"]), where),
        make_cell(_balance(row, "opening_balance")),
        make_cell(sums(lambda line: line["direction"] == "CRDT") or "–"),
        make_cell(
            sums(lambda line: line["direction"] == "DBIT") or "–",
            f"bank charges {charges}" if charges else "",
        ),
        make_cell(_balance(row, "closing_balance")),
        make_cell(
            amounts_words((line["amount"], line["currency"]) for line in open_lines) or "–",
            count(len(open_lines), "line") if open_lines else "",
        ),
        make_cell(proved, row["problem"] or reach, "ok" if row["complete"] else "bad"),
    )


def _balance(row: Mapping[str, Any], name: str) -> str:
    return "–" if row[name] is None else amount_words(row[name], row["currency"])


def _blocking(r: Reconciliation, found: Verdict, zone: ZoneInfo) -> Section:
    today = r.as_of.astimezone(zone).date()
    rows: list[tuple[Cell, ...]] = [
        _need_row(need, today) for need in found.needs if need.items > need.apart
    ]
    for row in r.statements.to_pylist():
        if not row["complete"]:
            where = f"{row['name']} {short_account(row['account'])}".strip()
            step = row["problem"] or _missing_step(row["covered_to"])
            rows.append(_plain_need(f"Statement not complete: {where}", 1, "Treasury", step))
    if not found.accounts:
        rows.append(
            _plain_need("No account declared", 1, "Treasury", "Declare them in treasury.toml")
        )
    for reason, number in found.not_provable:
        rows.append(
            _plain_need(
                f"Not provable: credits to {count(number, 'virtual account')}, {reason}",
                number,
                "Provider",
                "Ask for the report of the account that the credits are booked on",
            )
        )
    if not rows:
        return Section("blocking", "Blocking items", "Nothing blocks the close.", (), _apart(found))
    grid = make_grid(
        "What blocks the close",
        "Item | >Items | >Amount | Since | Who acts | Next step",
        rows,
        lambda row: row,
    )
    return Section("blocking", "Blocking items", "", (grid,), _apart(found))


def _apart(found: Verdict) -> tuple[str, ...]:
    if not found.apart:
        return ()
    return (f"{count(found.apart, 'item')} of other months, listed below, apart: not blocking.",)


def _need_row(need: Need, today: date) -> tuple[Cell, ...]:
    age = count((today - need.since).days, "day") if need.since and need.since <= today else ""
    since = day(need.since, today.year) or "–"
    return (
        make_cell(need.words.label),
        make_cell(f"{need.items - need.apart:,}"),
        make_cell(amount_words(need.amount, need.currency)),
        make_cell(since, age),
        make_cell(need.words.owner),
        make_cell(need.words.next_step),
    )


def _plain_need(item: str, items: int, owner: str, step: str) -> tuple[Cell, ...]:
    return (
        make_cell(item),
        make_cell(items),
        Cell("–"),
        Cell("–"),
        make_cell(owner),
        make_cell(step),
    )


def _missing_step(covered_to: date | None) -> str:
    return f"Add the statement after {day(covered_to)}" if covered_to else "Add its statements"


# Money on its way


def _in_transit(r: Reconciliation) -> Section:
    sure, maybe = in_transit(r)
    title = f"In transit at {day(r.month.last)}"
    captions = {
        title: sure,
        "May have arrived: a line that needs a decision may be it; not counted": maybe,
    }
    grids = tuple(
        make_grid(
            caption,
            "Reference | What | Left on | >Amount | Where now | Arrived",
            rows,
            lambda row: _transit_row(row, r.month.year),
            sheet="In transit",
        )
        for caption, rows in captions.items()
        if rows
    )
    return Section("transit", title, f"{transit_words(r)}.", grids)


def _transit_row(row: Mapping[str, Any], year: int) -> tuple[Cell, ...]:
    maybe = f"maybe {day(row['may_have_arrived_on'], year)}" if row["may_have_arrived_on"] else ""
    return (
        make_cell(row["reference"] or "no reference"),
        make_cell(row["what"]),
        make_cell(day(row["left_on"], year)),
        amount_cell(row),
        make_cell(row["where_now"]),
        make_cell(day(row["arrived_on"], year) or maybe or "not yet"),
    )


def _awaiting(r: Reconciliation, zone: ZoneInfo) -> Section:
    rows = r.awaiting_funds.to_pylist()
    title = "Requests awaiting funds"
    if not rows:
        return Section("awaiting", title, "No request waits for its funds.")
    grid = make_grid(
        f"Requests awaiting funds, at {moment(r.as_of, zone, r.month.year)}",
        "State | Due | Reference | >Send | To | Seen | Next step",
        rows,
        lambda row: _awaiting_row(row, zone),
        sheet="Awaiting funds",
    )
    note = "Due dates are our policy, not the provider's promise. Bank dates have no hour."
    return Section("awaiting", title, "", (grid,), (note,))


def _awaiting_row(row: Mapping[str, Any], zone: ZoneInfo) -> tuple[Cell, ...]:
    kind = funding_kind(row)
    tone = "bad" if kind else _TONES.get(row["state"], "")
    if kind is None and row["state"] == "PAY":
        tone = "warn"
    overdue = overdue_words(dict(row))
    approved = f", approved {moment(row['approved'], zone)}" if row["approved"] else ""
    beneficiary = row["to"].removesuffix(short_account(row["to_account"])).strip()
    evidence = f"bank seen to {day(row['evidence_to'])}" if row["evidence_to"] else ""
    return (
        make_cell(row["state"], tone=tone),
        make_cell(day(row["due"]) or "–", f"overdue {overdue}" if overdue else ""),
        make_cell(row["reference"] or "no reference", f"{row['direction']}{approved}"),
        amount_cell(row, "send"),
        make_cell(beneficiary or row["to"] or "–", short_account(row["to_account"])),
        make_cell(row["seen"], evidence),
        make_cell(row["next_step"]),
    )


def _collections(r: Reconciliation) -> Section:
    rows = r.virtual_accounts.to_pylist()
    title = "Collections per virtual account"
    if not rows:
        return Section("collections", title, "There are no virtual accounts.")
    grid = make_grid(
        title,
        "Virtual account | Reference code | >Credits | >Amount | Becomes | Proof",
        rows,
        _collection_row,
        sheet="Virtual accounts",
    )
    notes = (
        "Credits count here when they carry the account's reference; the others are exceptions.",
        "What they became in stablecoin is not proved here: no endpoint lists the conversion.",
    )
    return Section("collections", title, "", (grid,), notes)


def _collection_row(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    unproved = row["proof"].startswith(NOT_PROVABLE)
    return (
        make_cell(row["name"] or "no name", short_account(row["iban"])),
        make_cell(row["reference"] or "none"),
        make_cell("–" if unproved else f"{row['credits']:,}"),
        make_cell("–" if unproved else amount_words(row["amount"], row["currency"])),
        make_cell(row["target_cryptocurrency"] or "–"),
        make_cell(row["proof"], tone="bad" if unproved else "ok"),
    )


# What it rests on


def _assumptions(r: Reconciliation, zone: ZoneInfo) -> Section:
    classed: dict[str, list[tuple[Any, str]]] = {}
    for line in r.lines.select(["line_class", "amount", "currency"]).to_pylist():
        if line["line_class"]:
            classed.setdefault(line["line_class"], []).append((line["amount"], line["currency"]))
    left_out = (
        make_grid(
            "Left out of matching, by rule",
            "Class | >Lines | >Amount",
            sorted(classed.items()),
            lambda item: (
                make_cell(LINE_CLASSES.get(item[0], item[0])),
                make_cell(f"{len(item[1]):,}"),
                make_cell(amounts_words(item[1])),
            ),
        ),
    )
    notes = (
        f"Days and months are calendar days and months in {zone.key}; a bank's date has no hour.",
        "Only booked lines count. Matched: a whole reference proves it and nothing contradicts.",
        "Fees belong to the month in which a request completed (SUCCEEDED).",
        "Coins sent to a company wallet: the service says delivered; no wallet evidence is read.",
        "Ledger: not provided.",
    )
    return Section("assumptions", "Assumptions used", "", left_out if classed else (), notes)


def _evidence(r: Reconciliation) -> Section:
    grid = make_grid(
        "SHA-256 of what this report was made from",
        "What | >Rows | Hash",
        fingerprints(r),
        lambda mark: (
            make_cell(mark.name.replace("_", " ")),
            make_cell("" if mark.rows is None else f"{mark.rows:,}"),
            Cell(mark.sha256, code=True),
        ),
    )
    files = bank_files(r)
    notes = (f"Bank files of the month: {clean(', '.join(files))}.",) if files else ()
    return Section("evidence", "Evidence", "", (grid,), notes)


def tally(r: Reconciliation) -> Iterable[tuple[str, str, int]]:
    """The parts that the month's bank lines are made of: outcome, its word, how many."""
    counts = r.counts()
    return [(name, OUTCOMES[name], counts[name]) for name in OUTCOMES if counts[name]]
