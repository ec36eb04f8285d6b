"""The sections of the close report, in the order of the desk: what each says, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from treasury.identifiers import plain_account
from treasury.reconcile.monthly import Reconciliation
from treasury.reconcile.periods import Blocker
from treasury.report.checklist import blockers
from treasury.report.closing import Closing
from treasury.report.evidence import bank_files
from treasury.report.exceptions import (
    decisions_section,
    earlier_section,
    exceptions_section,
)
from treasury.report.fee_section import fees_section
from treasury.report.grids import Cell, Grid, Section, amount_cell, make_cell, make_grid
from treasury.report.ledger import AGREES, LedgerComparison
from treasury.report.screen import overdue_words, transit_words
from treasury.report.verdict import NOT_PROVABLE, Verdict, funding_kind, in_transit, unexplained
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
from treasury.tabular import shown
from treasury.text import clean

__all__ = ["sections", "tally"]

KINDS: Final = {"bank": "bank", "custodial": "custodial wallet", "company": "company wallet"}
DUE: Final = "Due dates are our policy, not the provider's promise. Bank dates have no hour."
TIED: Final = "Opening + new - matched + reopened by returns - cancelled + adjusted = closing."
ROLLED: Final = ("opening", "new", "matched", "reopened", "cancelled", "adjusted", "closing")
_TONES: Final = {
    "PAY": "bad",
    "CHECK BANK": "warn",
    "SENT": "ok",
    "HASH GIVEN": "ok",
    "SEND CRYPTO": "warn",
}


def sections(closing: Closing) -> list[Section]:
    """Every section after the verdict, in the order of the desk."""
    r, zone = closing.r, closing.zone
    return [
        _accounts(closing),
        _blocking(closing),
        _in_transit(r),
        _awaiting(closing),
        exceptions_section(r),
        _collections(r),
        fees_section(r, closing.fees),
        decisions_section(r, zone),
        earlier_section(r, closing.rolled.late, zone),
        _assumptions(closing),
        _evidence(closing),
    ]


# Accounts and what blocks


def _accounts(closing: Closing) -> Section:
    r, found = closing.r, closing.verdict
    nobody = _nobody(r)
    grid = make_grid(
        "Accounts: opening + in - out - fees = closing",
        "Account | Currency | >Opening | >In | >Out | >Fees | >Closing | Proved by | >Unexplained",
        closing.balances.to_pylist(),
        lambda row: _account_row(row, nobody.get(row["of"], []) if row["kind"] == "bank" else []),
        sheet="Balances",
    )
    lead = f"{found.proved} of {count(found.accounts, 'account')} proved for the whole month."
    if not found.accounts:
        lead = "No account is declared in treasury.toml, so nothing can be proved."
    notes: tuple[str, ...] = (
        "A statement is proved when its opening balance and its entries give its closing balance.",
        "A custodial wallet is proved where nothing unknown moved around either end of the month.",
        "What came into a custodial wallet is transfers, delivered requests, proved conversions.",
    )
    grids = (grid,) if closing.balances.num_rows else ()
    if closing.ledger is not None:
        grids = (*grids, _ledger(closing.ledger))
        notes = (*notes, *map(clean, closing.ledger.notes))
    return Section("accounts", "Accounts", lead, grids, notes, "cash")


def _ledger(ledger: LedgerComparison) -> Grid:
    names = ("balance", "in_transit_in", "in_transit_out", "expected", "ledger", "difference")
    return make_grid(
        ledger.title,
        "Account | >Balance | >In transit in | >In transit out | >Expected | >Ledger"
        " | >Difference | Finding",
        ledger.lines.to_pylist(),
        lambda row: (
            make_cell(
                row["name"] or short_account(row["account"]),
                f"{row['currency']} {short_account(row['account'])}",
            ),
            *(make_cell(_bare(row, name)) for name in names),
            make_cell(row["finding"], tone="ok" if row["finding"] == AGREES else "bad"),
        ),
        sheet="Ledger",
    )


def _nobody(r: Reconciliation) -> dict[str, list[tuple[Any, str]]]:
    """The amounts that nobody has explained yet, by account."""
    found: dict[str, list[tuple[Any, str]]] = {}
    columns = ["statement_account", "amount", "currency"]
    for row in unexplained(r.lines).select(columns).to_pylist():
        found.setdefault(plain_account(row["statement_account"]), []).append(
            (row["amount"], row["currency"])
        )
    return found


def _account_row(row: Mapping[str, Any], nobody: Sequence[tuple[Any, str]]) -> tuple[Cell, ...]:
    own = [(row["unexplained"], row["currency"])] if row["unexplained"] else []
    tone = (
        "ok" if row["proved"] else ("bad" if row["blocks"] or row["kind"] != "company" else "warn")
    )
    return (
        make_cell(
            row["name"] or short_account(row["of"]),
            f"{short_account(row['of'])}, {KINDS[row['kind']]}",
        ),
        make_cell(row["currency"]),
        *(make_cell(_bare(row, name)) for name in ("opening", "money_in", "money_out")),
        make_cell(_bare(row, "fees") if row["fees"] else "–"),
        make_cell(_bare(row, "closing")),
        make_cell(row["proved_by"], row["problem"], tone),
        make_cell(
            amounts_words((*nobody, *own)).removeprefix(f"{clean(row['currency'])} ") or "–",
            count(len(nobody), "line") if nobody else "",
        ),
    )


def _bare(row: Mapping[str, Any], name: str) -> str:
    """An amount whose currency stands in a column of its own."""
    return _balance(row, name).removeprefix(f"{clean(row['currency'])} ")


def _balance(row: Mapping[str, Any], name: str) -> str:
    return "–" if row[name] is None else amount_words(row[name], row["currency"])


def _blocking(closing: Closing) -> Section:
    r = closing.r
    today = r.as_of.astimezone(closing.zone).date()
    rows = blockers(closing)
    apart = _apart(closing.verdict)
    if not rows:
        return Section("blocking", "Blocking items", "Nothing blocks the close.", (), apart)
    grid = make_grid(
        "What blocks the close",
        "Item | >Items | >Amount | Since | Who acts | Next step",
        rows,
        lambda one: _blocking_row(one, today),
        sheet="Checklist",
    )
    why = closing.period.close.reason if closing.period else None
    lead = f"Closed with these open: {clean(why)}" if why else ""
    return Section("blocking", "Blocking items", lead, (grid,), apart, "open-items")


def _blocking_row(one: Blocker, today: date) -> tuple[Cell, ...]:
    since = date.fromisoformat(one.since) if one.since else None
    age = count((today - since).days, "day") if since and since <= today else ""
    return (
        make_cell(one.label),
        make_cell(f"{one.items:,}"),
        make_cell("–" if not one.currency else amount_words(one.amount, one.currency)),
        make_cell(day(since, today.year) or "–", age),
        make_cell(one.owner),
        make_cell(one.next_step),
    )


def _apart(found: Verdict) -> tuple[str, ...]:
    if not found.apart:
        return ()
    return (f"{count(found.apart, 'item')} of other months, listed below, apart: not blocking.",)


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
            "What | Reference | Left on | >Amount | Where now | Arrived",
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
        make_cell(row["what"]),
        make_cell(row["reference"] or "no reference"),
        make_cell(day(row["left_on"], year)),
        amount_cell(row),
        make_cell(row["where_now"]),
        make_cell(day(row["arrived_on"], year) or maybe or "not yet"),
    )


def _awaiting(closing: Closing) -> Section:
    r, zone = closing.r, closing.zone
    rows = r.awaiting_funds.to_pylist()
    grids = []
    if rows:
        grids.append(
            make_grid(
                f"Requests awaiting funds, at {moment(r.as_of, zone, r.month.year)}",
                "State | Due | Reference | >Send | To | Seen | Next step",
                rows,
                lambda row: _awaiting_row(row, zone),
                sheet="Awaiting funds",
            )
        )
    if closing.rolled.roll_forward.num_rows:
        grids.append(_rolled(closing.rolled.roll_forward))
    lead = "" if rows else "No request waits for its funds."
    notes = (DUE,) if rows else ()
    if closing.rolled.roll_forward.num_rows:
        notes = (*notes, TIED)
    return Section("awaiting", "Requests awaiting funds", lead, tuple(grids), notes, "funding")


def _rolled(totals: pa.Table) -> Grid:
    return make_grid(
        "Open items of requests from the month's beginning to its end",
        "Kind | >Opening | >New | >Matched | >Reopened | >Cancelled | >Adjusted | >Closing",
        totals.to_pylist(),
        lambda row: (
            make_cell(str(row["kind"]).replace("_", "-"), row["currency"]),
            *(make_cell(amount_words(row[name], row["currency"])) for name in ROLLED),
        ),
        sheet="Roll-forward",
    )


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
        "No endpoint lists a conversion: it is proved by what balances moved between two looks.",
        "The implied rate holds rate and fee together; the service states neither.",
    )
    return Section("collections", title, "", (grid, *_conversions(r)), notes)


def _conversions(r: Reconciliation) -> tuple[Grid, ...]:
    rows = r.conversions.to_pylist()
    if not rows:
        return ()
    return (
        make_grid(
            "What became of them, by account and interval of its balance",
            "Account | Until | >Credits | >Amount | >Stablecoin | >Implied rate | Proof",
            rows,
            _conversion_row,
            sheet="Conversions",
        ),
    )


def _conversion_row(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    low, high = row["implied_rate"], row["implied_rate_to"]
    rate = "–" if low is None else shown(low)
    if low is not None and high is not None and high != low:
        rate = f"{shown(low)} to {shown(high)}"
    state = row["state"].replace("_", " ")
    proved = row["state"] in {"proved", "proved_as_group"}
    coins = row["converted"]
    edge = f"{row['edge_credits']} of them may lie outside" if row["edge_credits"] else ""
    return (
        make_cell(row["account"], row["asset"]),
        make_cell("" if row["closed_at"] is None else day(row["closed_at"].date())),
        make_cell(row["credits"], edge),
        make_cell("–" if row["fiat"] is None else amount_words(row["fiat"], row["currency"])),
        make_cell("–" if coins is None else amount_words(coins, row["asset"])),
        make_cell(rate),
        make_cell(state, row["reason"], tone="" if proved else "warn"),
    )


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


def _assumptions(closing: Closing) -> Section:
    r = closing.r
    classed: dict[str, list[tuple[Any, str]]] = {}
    left = r.lines.filter(pc.is_valid(r.lines["line_class"]))
    for line in left.select(["line_class", "amount", "currency"]).to_pylist():
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
        f"Days and months are those of {closing.zone.key}; a bank's date has no hour.",
        "Only booked lines count. Matched: a whole reference proves it and nothing contradicts.",
        "Fees belong to the month in which a request completed (SUCCEEDED).",
        "Coins sent to a company wallet: the service says delivered, unless evidence was added.",
        "Ledger: not provided." if closing.ledger is None else "Ledger: compared, see Accounts.",
    )
    return Section("assumptions", "Assumptions used", "", left_out if classed else (), notes)


def _evidence(closing: Closing) -> Section:
    r = closing.r
    grid = make_grid(
        "SHA-256 of what this report was made from",
        "What | >Rows | Hash",
        closing.marks,
        lambda mark: (
            make_cell(mark.name.replace("_", " ")),
            make_cell("" if mark.rows is None else f"{mark.rows:,}"),
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


def tally(r: Reconciliation) -> Iterable[tuple[str, str, int]]:
    """The parts that the month's bank lines are made of: outcome, its word, how many."""
    counts = r.counts()
    return [(name, OUTCOMES[name], counts[name]) for name in OUTCOMES if counts[name]]
