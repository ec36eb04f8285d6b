"""The sections of the close report as data, in their order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.close_words import transit_words, unread_words
from treasury.close.closing import Closing
from treasury.close.ledger.bank_reconciliation import IN_BOOKS, BankReconciliation
from treasury.close.ledger.ledger_comparison import FINE, LedgerComparison
from treasury.close.ledger.transit_bridge import TransitBridge
from treasury.close.month_proof import in_transit, proof_of
from treasury.close.result_words import (
    amount_words,
    carried_words,
    count,
    day,
    moment,
)
from treasury.core.coins import NATIVE_COINS
from treasury.core.money import total
from treasury.core.tables.column_texts import value_text
from treasury.core.text import clean
from treasury.core.wording import EXPECTED_KINDS, OUTCOMES, state_words
from treasury.month.funding import short_account
from treasury.month.items import OpenItem, OpenItems
from treasury.month.items.evidence_items import NOT_PROVABLE, OUT_OF_SCOPE
from treasury.month.reconciliation import Reconciliation
from treasury.report.cash.cash_section import flows_section, funds_section
from treasury.report.coin_section import coins_section
from treasury.report.exceptions import decisions_section, earlier_section, exceptions_section
from treasury.report.exposure.exposure_section import exposure_section
from treasury.report.fee_section import conversion_costs_section, fees_section, gas_section
from treasury.report.grids import (
    NOTES,
    Cell,
    Grid,
    Section,
    amount_cell,
    bare_amount,
    filled,
    make_cell,
    make_grid,
)
from treasury.report.review_sections import (
    assumptions_section,
    attached_section,
    controls_section,
    evidence_section,
    month_on_month_section,
)
from treasury.report.screen import overdue_words
from treasury.report.screens.month_status import open_words

_BRIDGED: Final = {
    **EXPECTED_KINDS,
    "off_ramp_coins": "off-ramp, its coins",
    "credit": "virtual-account credit",
    "own_transfer": "own transfer",
}
"""The words for the kinds of bridge rows."""
_KINDS: Final = {"bank": "bank", "custodial": "custodial wallet", "company": "company wallet"}
_ROLLED: Final = (
    "opening", "new", "matched", "reopened", "cancelled", "blocked", "adjusted", "closing",
    "standing_blocked",
)  # fmt: skip
_TONES: Final = {
    "PAY": "warn",
    "ACCOUNT CHANGED": "warn",
    "CHECK BANK": "warn",
    "REJECTED": "warn",
    "REJECTED, NOT PROVED": "warn",
    "SENT": "ok",
    "HASH GIVEN": "ok",
    "SEND CRYPTO": "warn",
    "HASH PROPOSED": "ok",
}

_ITEMS_SHOWN: Final = 20
"""Maximum number of outstanding items of an account that the page lists."""


def sections(closing: Closing) -> list[Section]:
    """Return all sections that follow the verdict, in order."""
    r, zone = closing.r, closing.zone
    front = [
        _accounts(closing),
        _open(closing),
        _in_transit(closing),
        _awaiting(closing),
        fees_section(closing.r, closing.fees, unread=unread_words(closing)),
    ]
    appendix = [
        *_waiting(closing),
        _collections(r),
        month_on_month_section(closing),
        funds_section(closing.cash, r.month, unread=unread_words(closing)),
        *(
            Section("bridge", "Money in transit, tied to the journal", "", grids)
            for grids in [filled(_bridge(closing.bridge))]
            if grids
        ),
        exceptions_section(r),
        conversion_costs_section(closing.fees.costs, unread=unread_words(closing)),
        gas_section(closing.fees.gas),
        coins_section(closing.coins),
        exposure_section(closing.exposure, unread=unread_words(closing)),
        flows_section(closing.cash, r.month),
        controls_section(closing),
        decisions_section(r, zone),
        *attached_section(closing),
        earlier_section(r, closing.rolled.late.arrow, zone),
        assumptions_section(closing),
        evidence_section(closing),
    ]
    return front + [msgspec.structs.replace(section, behind=True) for section in appendix]


# The sections on accounts and open items.


def _accounts(closing: Closing) -> Section:
    proof = proof_of(closing.r)
    balances = closing.balances.arrow.to_pylist()
    grid = make_grid(
        "Accounts: opening + in - out - fees = closing",
        "Account | Currency | >Opening | >In | >Out | >Fees | >Closing | Proved by | >Unexplained"
        " | >Undecided",
        [row for row in balances if not _pays_gas(row)],
        lambda row: _account_row(row, closing.notes_on(f"account:{row['of']}")),
        sheet="Balances",
    )
    native = make_grid(
        "Native coin of company wallets: opening + in - out - gas = closing",
        "Wallet | >Opening | >In | >Out | >Gas | >Closing | Proved by | >Unexplained",
        [row for row in balances if _pays_gas(row)],
        _native_row,
        sheet="Balances",
    )
    lead = f"{proof.proved} of {count(proof.accounts, 'account')} proved for the whole month."
    if not proof.accounts:
        lead = "No account is declared in treasury.toml, so nothing can be proved."
    grids = filled(grid, native)
    if closing.ledger is not None:
        grids = (*grids, _ledger(closing.ledger))
    if closing.books is not None:
        grids = (*grids, _books(closing.books))
    notes = [given.notes for given in (closing.ledger, closing.books) if given is not None]
    compared = tuple(clean(note) for own_notes in notes for note in own_notes)
    return Section("accounts", "Accounts", lead, grids, (*NOTES["accounts"], *compared), "cash")


def _ledger(ledger: LedgerComparison) -> Grid:
    names = ("balance", "in_transit_in", "in_transit_out", "expected", "ledger", "difference")
    return make_grid(
        ledger.title,
        "Account | >Balance | >In transit in | >In transit out | >Expected | >Ledger"
        " | >Difference | Finding",
        ledger.lines.arrow.to_pylist(),
        lambda row: (
            make_cell(
                row["name"] or short_account(row["account"]),
                f"{row['currency']} {short_account(row['account'])}",
            ),
            *(bare_amount(row, name) for name in names),
            make_cell(row["finding"], tone=_finding_tone(row["finding"])),
        ),
        sheet="Ledger",
    )


def _finding_tone(finding: str) -> str:
    """Return the tone of a finding on an account: good, bad, or a decision of two people."""
    if finding.startswith(OUT_OF_SCOPE):
        return "warn"
    return "ok" if finding in FINE else "bad"


def _books(books: BankReconciliation) -> Grid:
    """Return the bank reconciliation: a row per account, and below it each outstanding item."""
    items = books.items.arrow.to_pylist()
    names = ("balance", "in_books_only", "at_bank_only", "expected", "books", "unexplained")
    heads = (
        "Account | >Per bank | >+ In the books alone | >- At the bank alone | >= Expected"
        " | >Per books | >Unexplained | Finding"
    )

    def item_row(item: Mapping[str, Any]) -> tuple[object, ...]:
        words = " ".join(filter(None, (item["document"], item["text"])))
        seen = f"seen {day(item['seen_on'])}" if item["seen_on"] else count(item["days"], "day")
        amount = bare_amount(item, "amount")
        sides = (amount, "") if item["side"] == IN_BOOKS else ("", amount)
        return (make_cell(words or "no text", day(item["day"])), "", *sides, "", "", "", seen)

    rows: list[tuple[object, ...]] = []
    for row in books.accounts.arrow.to_pylist():
        pairs = "" if row["pairs"] is None else count(row["pairs"], "pair")
        rows.append(
            (
                make_cell(
                    row["name"] or short_account(row["account"]),
                    f"{row['currency']} {short_account(row['account'])}",
                ),
                *(bare_amount(row, name) for name in names),
                make_cell(row["finding"], pairs, _finding_tone(row["finding"])),
            )
        )
        own = (row["account"], row["currency"])
        of_account = [item for item in items if (item["account"], item["currency"]) == own]
        rows += map(item_row, of_account[:_ITEMS_SHOWN])
        if len(of_account) > _ITEMS_SHOWN:
            more = f"{len(of_account) - _ITEMS_SHOWN:,} more, on the sheet Outstanding"
            rows.append((more, *[""] * 7))
    return make_grid(books.title, heads, rows, lambda row: row, sheet="Books")


def _pays_gas(row: Mapping[str, Any]) -> bool:
    """Return True if a row is about the native coin of a company wallet, which pays the gas."""
    return row["kind"] == "company" and row["currency"] in NATIVE_COINS.values()


def _native_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    """Return the row of a wallet's native coin, without trailing zeros."""

    def digits(name: str) -> str:
        shown = bare_amount(row, name)
        return shown.rstrip("0").rstrip(".") if "." in shown else shown

    tone = "ok" if row["proved"] else ("bad" if row["blocks"] else "warn")
    amounts = (digits(name) for name in ("opening", "money_in", "money_out", "gas", "closing"))
    return (
        make_cell(row["name"], f"{row['currency']}, {short_account(row['of'])}"),
        *amounts,
        make_cell(row["proved_by"], row["problem"], tone),
        digits("unexplained") if row["unexplained"] else "–",
    )


def _account_row(row: Mapping[str, Any], notes: str) -> tuple[object, ...]:
    unexplained = bare_amount(row, "unexplained") if row["unexplained"] else "–"
    lines = row["undecided_lines"]
    tone = (
        "ok" if row["proved"] else ("bad" if row["blocks"] or row["kind"] != "company" else "warn")
    )
    return (
        make_cell(
            row["name"] or short_account(row["of"]),
            " · ".join(filter(None, (f"{short_account(row['of'])}, {_KINDS[row['kind']]}", notes))),
        ),
        row["currency"],
        *(bare_amount(row, name) for name in ("opening", "money_in", "money_out")),
        bare_amount(row, "fees") if row["fees"] else "–",
        bare_amount(row, "closing"),
        make_cell(row["proved_by"], row["problem"], tone),
        unexplained,
        make_cell(
            bare_amount(row, "undecided") if lines else "–", count(lines, "line") if lines else ""
        ),
    )


def _open(closing: Closing) -> Section:
    """Return the open items, blocking ones first, under their kind and next step.

    Requests that wait for the decision of a listed line are in the appendix.
    """
    items, year = closing.items, closing.r.month.year
    blocking = items.blocking
    not_blocking = items.where(lambda item: not item.is_blocking and not _mirrors(item, items))
    waiting = len(items) - len(blocking) - len(not_blocking)
    captions = {
        f"Blocks the close, {count(len(blocking), 'item')}": blocking,
        f"Open but not blocking, {count(len(not_blocking), 'item')}": not_blocking,
    }
    grids = tuple(
        make_grid(
            caption,
            "Item | >Amount | Since | Who acts",
            _under_headings(chosen),
            lambda item: _item_row(item, year),
            sheet="Open items",
        )
        for caption, chosen in captions.items()
        if len(chosen)
    )
    lead = f"{open_words(items)}."
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        lead += f" {count(waiting, 'request')} {verb} for one of these lines: see the appendix."
    return Section("blocking", "Open items", lead, grids, (), "open-items")


def _mirrors(item: OpenItem, items: OpenItems) -> bool:
    """Return whether an item only waits for the decision of another one in the list."""
    return item.kind == "awaits_line" and item.counted_in in items.by_id


def _under_headings(items: OpenItems) -> list[OpenItem | Cell]:
    """Return the items in order, after a heading for each kind and next step."""
    groups: dict[tuple[str, str], list[OpenItem]] = {}
    for item in items:
        groups.setdefault((item.kind, item.next_step), []).append(item)
    rows: list[OpenItem | Cell] = []
    for (_, next_step), members in groups.items():
        tone = "bad" if members[0].is_blocking else "plain"
        rows.append(make_cell(members[0].words.label, next_step, tone))
        rows += members
    return rows


def _item_row(item: OpenItem, year: int) -> tuple[object, ...]:
    since, state = day(item.since, year) or "–", state_words(item.state)
    age = f", {count(item.age, item.clock)}" if item.age else ""
    elsewhere = "counted with its line" if item.counted_in else ""
    state_note = state if state.casefold() != item.words.label.casefold() else ""
    return (
        make_cell(item.name, "; ".join(filter(None, (state_note, item.remark)))),
        make_cell(
            "–" if item.amount is None else amount_words(item.amount, item.currency), elsewhere
        ),
        f"{since}{age}",
        make_cell(item.shown_owner, carried_words(item, year)),
    )


def _waiting(closing: Closing) -> Iterator[Section]:
    """Yield the section on requests that wait for a line, if there are any."""
    items, year = closing.items, closing.r.month.year
    waiting = items.where(lambda item: _mirrors(item, items))
    if not len(waiting):
        return
    grid = make_grid(
        f"Counted with their lines, {count(len(waiting), 'request')}",
        "Request | >Amount | Since | Line to decide first",
        waiting.items,
        lambda item: (
            *_item_row(item, year)[:3],
            make_cell(
                items.by_id[item.counted_in].name, day(items.by_id[item.counted_in].since, year)
            ),
        ),
        sheet="Open items",
    )
    yield Section("waiting", "Requests that wait for a line", "", (grid,))


# The section on money in transit.


def _in_transit(closing: Closing) -> Section:
    r = closing.r
    sure, maybe = in_transit(r)
    title, year = f"In transit at {day(r.month.last)}", r.month.year
    captions = {
        title: sure,
        "May have arrived, as a line that needs a decision; not counted": maybe,
    }
    grids = tuple(
        make_grid(
            caption,
            "What | Reference | Left on | >Amount | Where now | Arrived",
            rows,
            lambda row: (
                row["what"],
                row["reference"] or "no reference",
                day(row["left_on"], year),
                amount_cell(row),
                row["where_now"],
                day(row["arrived_on"], year)
                or (f"maybe {day(on, year)}" if (on := row["may_have_arrived_on"]) else "not yet"),
            ),
            sheet="In transit",
        )
        for caption, rows in captions.items()
        if rows
    )
    lead = unread_words(closing) or transit_words(r)
    return Section("transit", title, f"{lead}.", grids)


def _bridge(bridge: TransitBridge) -> Grid:
    """Return the differences between the three sums by reason; the workbook has all rows."""
    names = ("report", "journal", "roll_forward")
    steps = bridge.steps.arrow.to_pylist() if len(bridge.rows) else []
    return make_grid(
        "In transit according to this report and the journal, and open in the roll-forward",
        "What | Why | >Items | >Report | >Journal | >Roll-forward",
        [*steps, *_summed(steps, names)],
        lambda row: (
            make_cell(_BRIDGED[row["kind"]], row["currency"]),
            row["why"],
            f"{row['rows']:,}",
            *(bare_amount(row, name) if row[name] else "–" for name in names),
        ),
        sheet="In transit bridge",
    )


def _summed(steps: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the sums by kind and currency, which the bridge connects."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for step in steps:
        groups.setdefault((step["kind"], step["currency"]), []).append(step)
    return [
        {"kind": kind, "currency": currency, "why": "total"}
        | {"rows": sum(member["rows"] for member in members)}
        | {name: total(member[name] for member in members) for name in names}
        for (kind, currency), members in groups.items()
    ]


def _awaiting(closing: Closing) -> Section:
    r, zone = closing.r, closing.zone
    blocking = {item.subject_id for item in closing.items.blocking.select(subject="request")}
    awaiting = make_grid(
        f"Requests awaiting funds, at {moment(r.as_of, zone, r.month.year)}",
        "State | Due | Reference | >Send | To | Seen | Next step",
        r.shown_funding,
        lambda row: _awaiting_row(row, zone, blocking),
        sheet="Awaiting funds",
    )
    rolled = _rolled(closing.rolled.roll_forward.arrow)
    lead = "" if awaiting.rows else "No request awaits funds."
    if unread := unread_words(closing):
        lead = f"{unread}."
    notes = NOTES["awaiting"] * bool(awaiting.rows) + NOTES["rolled"] * bool(rolled.rows)
    grids = filled(awaiting, rolled)
    return Section("awaiting", "Requests awaiting funds", lead, grids, notes, "funding")


def _rolled(totals: pa.Table) -> Grid:
    return make_grid(
        "Open items of requests from the month's beginning to its end",
        "Kind | >Opening | >New | >Matched | >Reopened | >Cancelled | >Blocked | >Adjusted"
        " | >Closing | >Stands blocked",
        totals,
        lambda row: (
            make_cell(str(row["kind"]).replace("_", "-"), row["currency"]),
            *(bare_amount(row, name) for name in _ROLLED),
        ),
        sheet="Roll-forward",
    )


def _awaiting_row(
    row: Mapping[str, Any], zone: ZoneInfo, blocking: Collection[str]
) -> tuple[object, ...]:
    tone = "bad" if row["request"] in blocking else _TONES.get(row["state"], "")
    overdue = overdue_words(dict(row))
    approved = f", approved {moment(row['approved'], zone)}" if row["approved"] else ""
    beneficiary = row["to"].removesuffix(short_account(row["to_account"])).strip()
    evidence = f"bank seen to {day(row['evidence_to'])}" if row["evidence_to"] else ""
    return (
        make_cell(state_words(row["state"]), tone=tone),
        make_cell(day(row["due"]) or "–", f"overdue {overdue}" if overdue else ""),
        make_cell(row["reference"] or "no reference", f"{row['direction']}{approved}"),
        amount_cell(row, "send"),
        make_cell(beneficiary or row["to"] or "–", short_account(row["to_account"])),
        make_cell(row["seen"], evidence),
        row["next_step"],
    )


def _collections(r: Reconciliation) -> Section:
    title = "Collections per virtual account"
    if not len(r.virtual_accounts):
        return Section("collections", title, "There are no virtual accounts.")
    grid = make_grid(
        title,
        "Virtual account | Reference code | >Credits | >Amount | Becomes | Proof",
        r.virtual_accounts.arrow,
        _collection_row,
        sheet="Virtual accounts",
    )
    conversions = make_grid(
        "Their conversion, by account and interval of its balance",
        "Account | Until | >Credits | >Amount | >Stablecoin | >Implied rate | Proof",
        r.conversions.arrow,
        _conversion_row,
        sheet="Conversions",
    )
    return Section("collections", title, "", (grid, *filled(conversions)), NOTES["collections"])


def _conversion_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    low, high = row["implied_rate"], row["implied_rate_to"]
    rate = "–" if low is None else value_text(low)
    if low is not None and high is not None and high != low:
        rate = f"{value_text(low)} to {value_text(high)}"
    proved = row["state"] in {"proved", "proved_as_group"}
    edge = f"{row['edge_credits']} may lie outside" if row["edge_credits"] else ""
    return (
        make_cell(row["account"], row["asset"]),
        "" if row["closed_at"] is None else day(row["closed_at"].date()),
        make_cell(row["credits"], edge),
        amount_cell(row, "fiat", absent="–"),
        amount_cell(row, "converted", "asset", "–"),
        rate,
        make_cell(row["state"].replace("_", " "), row["reason"], tone="" if proved else "warn"),
    )


def _collection_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    unproved = row["proof"].startswith(NOT_PROVABLE)
    return (
        make_cell(row["name"] or "no name", short_account(row["iban"])),
        row["reference"] or "none",
        "–" if unproved else f"{row['credits']:,}",
        "–" if unproved else amount_words(row["amount"], row["currency"]),
        row["target_cryptocurrency"] or "–",
        make_cell(row["proof"], tone="bad" if unproved else "ok"),
    )


def tally(r: Reconciliation) -> Iterable[tuple[str, str, int]]:
    """Return the number of the month's bank lines by outcome: the outcome, its word, the count."""
    counts = r.counts()
    return [(name, OUTCOMES[name], counts[name]) for name in OUTCOMES if counts[name]]
