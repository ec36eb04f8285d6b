"""Requests that wait for their funds, in the words of the desk: state, when it is due, what to do.

The SQL step `funding` says what the bank shows; here the two clocks are read and the next step is
written. Bank details stay hidden until a request is approved. What a colleague remarked ("marked
sent", "will not fund") stands beside the state and is no evidence. A request that left in a payment
file is IN FILE, and not to be paid, until the bank shows it or somebody says otherwise; one whose
transaction hash was given here is HASH PROPOSED until the service has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.lake import AMOUNT, DATE, INSTANT, TEXT
from treasury.money import format_amount
from treasury.reconcile.clocks import Rail, days_word, rail_of, reacts_by
from treasury.reconcile.rules import Rules

__all__ = [
    "FUNDING", "HASH_PROPOSED", "IN_FILE", "REMARK_WORDS", "FundingRow", "funding_rows",
    "remarks_by_request", "short_account",
]  # fmt: skip


class FundingRow(msgspec.Struct, frozen=True, kw_only=True):
    """One request: `send` is in `currency`; `overdue` counts `overdue_unit`s since `due`."""

    state: str
    due: date | None
    overdue: int
    overdue_unit: str
    direction: str
    reference: str
    send: Decimal | None
    currency: str
    to: str
    to_account: str
    approved: datetime | None
    seen: str
    evidence_to: date | None
    next_step: str
    silent: bool
    marked: str
    request: str


FUNDING = pa.schema(
    [
        ("state", TEXT),
        ("due", DATE),
        ("overdue", pa.int64()),
        ("overdue_unit", TEXT),
        ("direction", TEXT),
        ("reference", TEXT),
        ("send", AMOUNT),
        ("currency", TEXT),
        ("to", TEXT),
        ("to_account", TEXT),
        ("approved", INSTANT),
        ("seen", TEXT),
        ("evidence_to", DATE),
        ("next_step", TEXT),
        ("silent", pa.bool_()),
        ("marked", TEXT),
        ("request", TEXT),
    ]
)
LEFT_US = ("SENT", "HASH GIVEN")
"""States in which the money has left us, so that the service's clock runs."""
UNPAID = ("PAY", "CHECK BANK", "RETURNED", "SEND CRYPTO", "HASH USED TWICE", "DETAILS INACTIVE")
"""States in which our side has still to act, so that our clock runs."""
IN_FILE = "IN FILE"
"""The state of a request that left in a payment file, while the bank shows nothing of it."""
HASH_PROPOSED = "HASH PROPOSED"
"""The state of a request whose transaction hash was given here, while the service has none."""


def funding_rows(
    requests: Iterable[Mapping[str, Any]],
    rules: Rules,
    today: date,
    remarks: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[FundingRow]:
    """A row for each request of the step `funding`: most overdue first, then the larger amount.

    `remarks` are people's remarks and payment files by request id, as in REQUEST_REMARKS.
    """
    by_request = remarks or {}
    rows = [
        _row(request, rules, today, by_request.get(request["request_id"])) for request in requests
    ]
    return sorted(
        rows, key=lambda row: (-row.overdue, row.currency, -(row.send or 0), row.reference)
    )


def remarks_by_request(remarks: pa.Table | None) -> dict[str, dict[str, Any]]:
    """People's remarks by request, from the table of the journal."""
    return {row["request_id"]: row for row in remarks.to_pylist()} if remarks is not None else {}


def short_account(account: str | None) -> str:
    """`…8901`: enough of an account to recognise it by."""
    return f"…{account[-4:]}" if account else ""


def _row(
    request: Mapping[str, Any], rules: Rules, today: date, remark: Mapping[str, Any] | None
) -> FundingRow:
    on_ramp = request["ramp_type"] == "ON_RAMP"
    currency = request["fiat_currency"] if on_ramp else request["crypto_currency"]
    rail = _rail(request)
    approved = request["status"] != "AWAITING_APPROVAL"
    due = rail.add(request["approved_on"], rules.ours_target_days) if approved else None
    state = _remarked_state(request, remark)
    overdue = rail.between(due, today) if due is not None and state in UNPAID else 0
    filed = remark if state == IN_FILE else None
    if filed is not None and request["evidence_to"] is not None:
        due = rail.add(filed["filed_at"].date(), rules.ours_target_days)
        overdue = rail.between(due, min(today, request["evidence_to"]))
    # Days of the rail that the service has been silent past its own time.
    is_sent = state in LEFT_US and request["sent_on"] is not None
    silent_since = rail.between(_reacts_by(request, rules), today) if is_sent else 0
    beneficiary, account = (
        (request["deposit_beneficiary"], request["deposit_iban"])
        if on_ramp
        else (request["deposit_wallet_chain"], request["deposit_wallet_address"])
    )
    changes = {"state": state, "is_overdue": overdue > 0}
    step = (
        _HASH_STEPS[remark["hash_state"]]
        if remark is not None and state == HASH_PROPOSED
        else _next_step({**request, **changes}, due, silent_since, rules, today)
    )
    return FundingRow(
        state=state,
        due=due,
        overdue=overdue,
        overdue_unit=rail.unit,
        direction="on-ramp" if on_ramp else "off-ramp",
        reference=request["payment_reference"] or "",
        send=request["fiat_gross"] if on_ramp else request["crypto"],
        currency=currency,
        to=(f"{beneficiary or ''} {short_account(account)}".strip()) if approved else "",
        to_account=(account or "") if approved else "",
        approved=request["approved_at"],
        seen=_payment_words(request, on_ramp=on_ramp) + (f", in {filed['file']}" if filed else ""),
        evidence_to=request["evidence_to"] if on_ramp else None,
        next_step=_remarked_step(step, state, remark),
        silent=silent_since > 0,
        marked=_remark_words(remark, state),
        request=request["request_id"],
    )


def _remarked_state(request: Mapping[str, Any], remark: Mapping[str, Any] | None) -> str:
    """The state that the bank shows, unless a payment file or a remark says what it cannot."""
    state: str = request["state"]
    if remark is None or state not in UNPAID:
        return state
    if state == "SEND CRYPTO" and remark["hash_state"] is not None:
        return HASH_PROPOSED
    if _is_in_file(request, remark):
        return IN_FILE
    return "WILL NOT FUND" if remark["mark"] == "will_not_fund" else state


def _is_in_file(request: Mapping[str, Any], remark: Mapping[str, Any]) -> bool:
    """Whether the bank says nothing yet of the payment that left in a file."""
    if remark["file"] is None:
        return False
    match request["state"]:
        case "RETURNED":  # what a file before it paid has come back
            returned: date | None = request["returned_on"]
            return returned is not None and remark["filed_at"].date() >= returned
        case "CHECK BANK":
            return not request["maybe_on"] and not request["pending"]
    return True


def _remark_words(remark: Mapping[str, Any] | None, state: str) -> str:
    """`marked sent by ines, 29 Oct: reason`; nothing where nobody remarked anything."""
    if remark is None:
        return ""
    remarks = []
    if remark["mark"] is not None:
        reason = f": {remark['reason']}" if remark["reason"] else ""
        remarks.append(
            f"{REMARK_WORDS[remark['mark']]} by {remark['marked_by']},"
            f" {remark['marked_at']:%-d %b}{reason}"
        )
    if state == HASH_PROPOSED:
        remarks.append(f"hash given by {remark['hash_by']}, {remark['hash_at']:%-d %b}")
    if remark["file"] is not None and state in (IN_FILE, "CHECK BANK"):
        remarks.append(
            f"left in {remark['file']} by {remark['filed_by']}, {remark['filed_at']:%-d %b}"
        )
    return "; ".join(remarks)


REMARK_WORDS: Final = {"marked_sent": "marked sent", "will_not_fund": "will not fund, said"}
"""How a remark is said, before the name of whoever made it."""


def _remarked_step(step: str, state: str, remark: Mapping[str, Any] | None) -> str:
    """The next step, where a colleague says that the money is on its way already."""
    if remark is None or remark["mark"] != "marked_sent" or state not in UNPAID:
        return step
    return f"Marked sent by {remark['marked_by']}: ask before you pay, no bank line shows it yet"


def _rail(request: Mapping[str, Any]) -> Rail:
    """The rail that the payment leaves us by, in whose days both clocks are read."""
    on_ramp = request["ramp_type"] == "ON_RAMP"
    return rail_of(request["fiat_currency"] if on_ramp else request["crypto_currency"])


def _reacts_by(request: Mapping[str, Any], rules: Rules) -> date:
    return reacts_by(
        request["sent_on"],
        rules,
        rail=_rail(request),
        instant=bool(request["is_instant"]),
    )


DEBIT_WORDS = {
    "wrong_on": "contradicted debit",
    "unnamed_on": "debit without reference",
    "maybe_on": "possible debit",
}


def _payment_words(request: Mapping[str, Any], *, on_ramp: bool) -> str:
    """What the bank, or for an off-ramp the service, shows of the payment."""
    if not on_ramp:
        if request["hash_of"]:
            return f"hash of {request['hash_of']}"
        return "hash given" if request["state"] == "HASH GIVEN" else "no hash"
    received: Decimal | None = request["received"]
    if request["returned_on"] and not received:
        return f"returned {request['returned_on']:%-d %b}"
    if received:
        return f"{format_amount(received, request['fiat_currency'])} {request['sent_on']:%-d %b}"
    for key, words in DEBIT_WORDS.items():
        if request[key]:
            return f"{words} {request[key]:%-d %b}"
    return "pending at bank" if request["pending"] else "no debit"


def _next_step(
    request: Mapping[str, Any], due: date | None, silent_since: int, rules: Rules, today: date
) -> str:
    match request["state"]:
        case "PAY":
            when = f"by {due:%-d %b}" if due is not None and due > today else "today"
            return f"Pay {when} with this reference"
        case "IN FILE" if request["is_overdue"]:
            reached = f"{request['evidence_to']:%-d %b}"
            return f"No debit to {reached}: ask the bank whether it has the file; do not pay twice"
        case "RETURNED":
            reason = f" {request['return_reason']}" if request["return_reason"] else ""
            return f"RETURNED{reason}; fix, then pay again"
        case "CHECK BANK":
            return _check_bank(request)
        case "SENT" | "HASH GIVEN" if silent_since:
            days = days_word(silent_since, _rail(request))
            return f"Service silent for {days}; ask the provider, do not pay twice"
        case "SENT":
            return f"Wait: the service reacts by {_reacts_by(request, rules):%-d %b}"
        case "HASH GIVEN":
            reacted = _reacts_by(request, rules)
            return f"Wait: the service confirms the transaction by {reacted:%-d %b}"
        case "SENT WRONG":
            return _sent_wrong(request)
        case "HASH USED TWICE":
            return f"The same hash stands for {request['hash_of']}: find which one it paid"
        case state:
            return _STEPS[state]


_STEPS = {
    "NOT LISTED": "The service no longer lists it: do not pay, ask the provider",
    "PAID BEFORE APPROVAL": "Paid before it was approved; have it approved, or recall the payment",
    "WILL NOT FUND": "Nothing; it stays open at the service",
    "IN FILE": "Wait for the debit; do not pay twice",
    "SEND CRYPTO": "Send it, then submit the transaction hash",
    "DETAILS INACTIVE": "The deposit details are not active: do not pay, ask the provider",
}


_HASH_STEPS = {
    "open": "Have its hash approved and carried out; do not send the coins again",
    "left": "Recover the action that gives its hash; do not send the coins again",
    "done": "Sync, so that the service's record shows; do not send the coins again",
}


def _check_bank(request: Mapping[str, Any]) -> str:
    if request["maybe_on"]:
        return f"A debit of {request['maybe_on']:%-d %b} may be this one; decide it first"
    if request["pending"]:
        return "Pending at bank; wait for the booked statement, do not pay twice"
    account = short_account(request["evidence_account"])
    if request["evidence_to"] is None:
        account_words = f" of {account}" if account else " of the paying account"
        return f"Add the statements{account_words}; do not pay twice"
    return f"Add the statement of {account} after {request['evidence_to']:%-d %b}; do not pay twice"


def _sent_wrong(request: Mapping[str, Any]) -> str:
    currency = request["fiat_currency"]
    if request["changed_on"]:
        changed = f"{request['changed_on']:%-d %b}"
        return f"The amount was changed on {changed}, after you paid; ask the provider"
    if request["received_state"] == "partly_received":
        short = format_amount(request["remaining"], currency)
        return f"Short by {short}; ask the provider before you send the rest"
    if request["received_state"] == "over_received":
        over = format_amount(request["received"] - request["fiat_gross"], currency)
        return f"Over by {over}; ask the provider for it back"
    if request["contradiction"] is None:
        day = f"{request['unnamed_on']:%-d %b}"
        return f"Sent without its reference on {day}; decide that line, tell the provider"
    return f"Contradicted ({request['contradiction']}); contact the provider, do not pay twice"
