"""Requests that wait for their funds: their state, due date and next step in words.

The SQL step `funding` finds what the bank shows. This module adds our due dates, the service's due
dates, and the next step. Bank details stay hidden until a request is approved. A colleague's remark
("marked sent", "will not fund") is shown with the state, but is not evidence. A request that a
payment file contains is IN FILE, and must not be paid, until the bank answers or shows the payment,
or a person decides otherwise. A request with a transaction hash entered here is HASH PROPOSED until
the service has the hash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.money import format_amount, totals
from treasury.core.tables.column_types import schema_of
from treasury.core.tables.schemas import with_units
from treasury.core.text import clean
from treasury.matching.rules import Rules
from treasury.month.clocks import Rail, days_word, rail_of, reacts_by
from treasury.month.states import PAYABLE, waiting_on
from treasury.statements.pain.order_answers import OrderAnswer

_Row = Mapping[str, Any]


class FundingRow(msgspec.Struct, frozen=True, kw_only=True):
    """A waiting request; `send` is in `currency`, `overdue` counts `overdue_unit` since `due`.

    `file` is the payment file that contains the request, journaled at `file_seq`. `answer` is the
    bank's answer to the payment. `at_bank` is the stage of `OrderAnswer`, or `payee` while the bank
    has not decided and could not confirm the payee's name as ordered. It is empty without an
    answer.
    """

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
    file: str
    file_seq: int | None
    answer: str
    at_bank: str
    request: str


FUNDING: Final = with_units(schema_of(FundingRow), send="currency")
FUNDING_KEYS: Final = (
    "reference", "ramp_type", "amount", "currency", "state", "due", "overdue", "overdue_unit",
    "age",
)  # fmt: skip
"""The first columns of the waiting requests in an answer, by their names there."""
_LEFT_US: Final = waiting_on("service's")
"""States in which we have paid, so that a due date of the service applies."""
_UNPAID: Final = waiting_on("ours")
"""States in which we must act, so that our due date applies."""
IN_FILE = "IN FILE"
"""A payment file contains the request, and the bank has neither answered nor shown a debit."""
WITH_THE_BANK = "WITH THE BANK"
"""The bank has answered, and has neither rejected nor debited the payment yet."""
REJECTED = "REJECTED"
"""The bank has finally rejected the payment, and no record shows a debit."""
_REJECTED_UNPROVED: Final = "REJECTED, NOT PROVED"
"""The bank has finally rejected the payment, but the statements do not yet rule out a debit."""
ACCOUNT_CHANGED = "ACCOUNT CHANGED"
"""The account is not the one that was paid before, and no person has confirmed it."""
HASH_PROPOSED = "HASH PROPOSED"
"""A transaction hash was entered here, and the service does not have one yet."""


def funding_rows(
    requests: Iterable[_Row],
    rules: Rules,
    today: date,
    remarks: Mapping[str, _Row] | None = None,
) -> list[FundingRow]:
    """Return a row for each request of the step `funding`, the most overdue first.

    Requests that are equally overdue are sorted by currency, the larger amount first.
    `remarks` are people's remarks and payment files by request id, as in REQUEST_REMARKS.
    """
    by_request = remarks or {}
    rows = (_row(row, rules, today, by_request.get(row["request_id"])) for row in requests)
    return sorted(
        rows, key=lambda row: (-row.overdue, row.currency, -(row.send or 0), row.reference)
    )


def to_pay(rows: pa.Table) -> str:
    """Return `in all to pay now: EUR 56,500.00 · USDC 4,800.000000`, by currency.

    What was paid before, and was returned or rejected, is stated as a part of the sum. `rows` have
    the columns of FUNDING. Requests that wait for somebody else are not to pay.
    """
    payable = [row for row in rows.to_pylist() if row["state"] in PAYABLE]
    again = _sums([row for row in payable if row["state"] in {"RETURNED", REJECTED}])
    if not payable:
        return "none of these is to be paid now"
    part = f"; of this again, after a return or rejection: {again}" if again else ""
    return f"in all to pay now: {_sums(payable)}{part}"


def _sums(rows: Iterable[_Row]) -> str:
    """Return the amounts to send by currency, and the number of requests without an amount."""
    amounts = [(row["currency"], row["send"]) for row in rows]
    sums = totals((currency, amount) for currency, amount in amounts if amount is not None)
    parts = [format_amount(sums[currency], currency) for currency in sorted(sums)]
    unstated = sum(amount is None for _, amount in amounts)
    return " · ".join([*parts, *([f"{unstated} without a recorded amount"] if unstated else [])])


def remarks_by_request(remarks: pa.Table | None) -> dict[str, dict[str, Any]]:
    """Return the rows of REQUEST_REMARKS by request id."""
    return {row["request_id"]: row for row in remarks.to_pylist()} if remarks is not None else {}


def ages(rows: pa.Table, today: date, zone: ZoneInfo) -> pa.ChunkedArray:
    """Return the days since each request's approval, in `overdue_unit`; None before an approval.

    A request waits for its funds from its approval on. The age of its open item is the same.
    """
    approvals = zip(rows["approved"].to_pylist(), rows["currency"].to_pylist(), strict=True)
    days = [
        None if at is None else rail_of(currency).between(at.astimezone(zone).date(), today)
        for at, currency in approvals
    ]
    return pa.chunked_array([pa.array(days, pa.int64())])


def short_account(account: str | None) -> str:
    """Return the last four characters, as in `…8901`, by which people recognise an account."""
    return f"…{account[-4:]}" if account else ""


def _row(request: _Row, rules: Rules, today: date, remark: _Row | None) -> FundingRow:
    if remark is not None and remark.get("debited") and request["state"] in _UNPAID:
        # A debit of the whole file may have paid the request, in spite of the bank's answer.
        request = {**request, "state": "CHECK BANK", "maybe_on": remark["debited"]}
    on_ramp = request["ramp_type"] == "ON_RAMP"
    currency = request["fiat_currency"] if on_ramp else request["crypto_currency"]
    rail = _rail(request)
    approved = request["status"] != "AWAITING_APPROVAL"
    due = rail.add(request["approved_on"], rules.ours_target_days) if approved else None
    state = _remarked_state(request, remark)
    overdue = rail.between(due, today) if due is not None and state in _UNPAID else 0
    evidence = [_payment_words(request)]
    if remark is not None and remark["file"] is not None and state in {IN_FILE, WITH_THE_BANK}:
        evidence.append(f"in {remark['file']}")
        if request["evidence_to"] is not None:
            leaves = remark["execution"] or remark["filed_at"].date()
            due = rail.add(leaves, rules.ours_target_days)
            overdue = rail.between(due, min(today, request["evidence_to"]))
    # Silence is counted in the rail's days since the service should have reacted.
    is_sent = state in _LEFT_US and request["sent_on"] is not None
    silent_since = rail.between(_reacts_by(request, rules), today) if is_sent else 0
    names = ("beneficiary", "iban") if on_ramp else ("wallet_chain", "wallet_address")
    beneficiary, account = (request[f"deposit_{name}"] for name in names)
    answer = _bank_answer(request, remark)
    if answer is not None:
        evidence.append(_answer_words(answer))
    changes = {"state": state, "is_overdue": overdue > 0, "answer": answer}
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
        seen=", ".join(evidence),
        evidence_to=request["evidence_to"] if on_ramp else None,
        next_step=_remarked_step(step, state, remark),
        silent=silent_since > 0,
        marked=_remark_words(remark, state),
        file=(remark["file"] or "") if remark is not None else "",
        file_seq=remark["file_seq"] if remark is not None else None,
        answer=_answer_words(answer),
        at_bank=_at_bank(answer),
        request=request["request_id"],
    )


def _remarked_state(request: _Row, remark: _Row | None) -> str:
    """Return the state that the bank shows, unless a payment file or a remark overrides it."""
    state: str = request["state"]
    if remark is None or state not in _UNPAID:
        return state
    if state == "SEND CRYPTO" and remark["hash_state"] is not None:
        return HASH_PROPOSED
    answer = _bank_answer(request, remark)
    if _is_in_file(request, remark, answer):
        return _state_at_bank(request, answer)
    if answer is not None and state in {"PAY", "RETURNED"}:
        # The payment is in no file now, but the statements must still cover the day of its
        # rejection.
        at_bank = _state_at_bank(request, answer)
        if at_bank != REJECTED:
            state = _REJECTED_UNPROVED if at_bank == _REJECTED_UNPROVED else "CHECK BANK"
    return "WILL NOT FUND" if remark["mark"] == "will_not_fund" else state


_LATEST: Final = datetime.max.replace(tzinfo=UTC)


def _bank_answer(request: _Row, remark: _Row | None) -> OrderAnswer | None:
    """Return the bank's answer to a request's last payment, or to an earlier undecided payment.

    A payment may still be paid in any file that the bank has not rejected, even if no upload of the
    file is recorded. Payments that came back are ignored.
    """
    answered = () if remark is None else remark.get("answers", ())
    answers: list[OrderAnswer | None] = [
        answer for made, answer in answered if not _is_back(request, made)
    ]
    undecided = [answer for answer in answers[:-1] if answer and answer.stage != "rejected"]
    last = answers[-1] if answers else None
    if undecided and (last is None or last.stage == "rejected"):
        return undecided[-1]
    if last is None or last.stage != "rejected":
        return last
    # The statements must cover the latest day on which the bank rejected one of the payments.
    return max((answer for answer in answers if answer), key=lambda answer: answer.at or _LATEST)


def _is_back(request: _Row, made: datetime) -> bool:
    """Return whether a payment in a file has come back since.

    A file made after the day of the returned debit contains a new payment.
    """
    back: date | None = request["returned_on"] if request["state"] == "RETURNED" else None
    debited: date | None = request["came_back_of"]
    is_before = back is not None and made.date() < back
    return is_before and (debited is None or made.date() <= debited)


def _state_at_bank(request: _Row, answer: OrderAnswer | None) -> str:
    """Return the state of a payment in a file from the bank's answer, while no line shows it.

    It is REJECTED, and may be paid again, only if the statements cover the day of the rejection and
    show no debit, and nothing is pending. Before that it is rejected, but must not be paid.
    """
    if answer is None:
        return IN_FILE
    if answer.stage not in {"contradicted", "duplicate", "rejected"}:
        return WITH_THE_BANK
    shown_to: date | None = request["evidence_to"]
    is_shown = (
        request["state"] in {"PAY", "RETURNED"}
        and answer.at is not None
        and shown_to is not None
        and shown_to >= answer.at.date()
    )
    if answer.stage != "rejected":
        return "CHECK BANK"
    return REJECTED if is_shown else _REJECTED_UNPROVED


def _at_bank(answer: OrderAnswer | None) -> str:
    if answer is None:
        return ""
    is_undecided = answer.stage in {"received", "signature", "accepted"}
    return "payee" if is_undecided and answer.payee in _UNVERIFIED else answer.stage


def _answer_words(answer: OrderAnswer | None) -> str:
    """Return the answer in words, such as `RJCT: rejected, AC04 account closed, 30 Oct`, or ""."""
    if answer is None:
        return ""
    on = f", {answer.at:%-d %b}" if answer.at is not None else ""
    return f"{answer.words}{on}{_PAYEE_WORDS[answer.payee]}"


_PAYEE_WORDS: Final = {
    "": "",
    "match": "; the payee's name matches",
    "close": "; the payee's name matches closely",
    "accepted": "; the payee's name matches closely and was accepted",
    "none": "; the payee's name does not match",
    "not_possible": "; the payee could not be verified",
}


def _is_in_file(request: _Row, remark: _Row, answer: OrderAnswer | None) -> bool:
    """Return whether a payment is in a file or has a bank's answer, and no line shows it yet.

    A rejection is not counted as an answer.
    """
    if request["state"] == "CHECK BANK" and (request["maybe_on"] or request["pending"]):
        return False
    if answer is not None and answer.stage != "rejected":
        return True
    return remark["file"] is not None and not _is_back(request, remark["filed_at"])


def _remark_words(remark: _Row | None, state: str) -> str:
    """Return the remark in words, such as `marked sent by ines, 29 Oct: reason`, or ""."""
    if remark is None:
        return ""
    remarks = []
    if remark["mark"] is not None:
        by = f"{remark['marked_by']}, {remark['marked_at']:%-d %b}"
        remarks.append(mark_words(remark["mark"], by, remark["reason"]))
    if state == HASH_PROPOSED:
        remarks.append(f"hash given by {remark['hash_by']}, {remark['hash_at']:%-d %b}")
    if remark["file"] is not None and state in {IN_FILE, WITH_THE_BANK, "CHECK BANK"}:
        remarks.append(
            f"left in {remark['file']} by {remark['filed_by']}, {remark['filed_at']:%-d %b}"
        )
    return "; ".join(remarks)


_MARKS: Final = {"marked_sent": "marked sent", "will_not_fund": "will not fund, said"}


def mark_words(mark: str, by: str, reason: str) -> str:
    """Return a mark with its author and reason, such as `marked sent by ines: by phone`."""
    return f"{_MARKS[mark]} by {by}{f': {reason}' if reason else ''}"


def _remarked_step(step: str, state: str, remark: _Row | None) -> str:
    """Return the next step: ask the colleague who marked it as sent, or else the state's step."""
    if remark is None or remark["mark"] != "marked_sent" or state not in _UNPAID:
        return step
    return f"Marked sent by {remark['marked_by']}: ask before you pay, no bank line shows it yet"


def _rail(request: _Row) -> Rail:
    """Return the rail of our payment; due dates of both sides are counted in its days."""
    on_ramp = request["ramp_type"] == "ON_RAMP"
    return rail_of(request["fiat_currency"] if on_ramp else request["crypto_currency"])


def _reacts_by(request: _Row, rules: Rules) -> date:
    instant = bool(request["is_instant"])
    return reacts_by(request["sent_on"], rules, rail=_rail(request), instant=instant)


_DEBIT_WORDS = {
    "wrong_on": "contradicted debit",
    "unnamed_on": "debit without reference",
    "maybe_on": "possible debit",
}


def _payment_words(request: _Row) -> str:
    """Describe the payment as the bank shows it, or for an off-ramp as the service shows it."""
    if request["ramp_type"] != "ON_RAMP":
        if request["hash_of"]:
            return f"hash of {request['hash_of']}"
        return "hash given" if request["state"] == "HASH GIVEN" else "no hash"
    received: Decimal | None = request["received"]
    if request["returned_on"] and not received:
        return f"returned {request['returned_on']:%-d %b}"
    if received:
        return f"{format_amount(received, request['fiat_currency'])} {request['sent_on']:%-d %b}"
    for key, words in _DEBIT_WORDS.items():
        if request[key]:
            return f"{words} {request[key]:%-d %b}"
    return "pending at bank" if request["pending"] else "no debit"


def _next_step(
    request: _Row, due: date | None, silent_since: int, rules: Rules, today: date
) -> str:
    match request["state"]:
        case "PAY":
            when = f"by {due:%-d %b}" if due is not None and due > today else "today"
            return f"Pay {when} with this reference"
        case "IN FILE" | "WITH THE BANK":
            return _in_file(request)
        case "RETURNED":
            reason = f" {request['return_reason']}" if request["return_reason"] else ""
            return f"RETURNED{reason}; fix, then pay again"
        case "CHECK BANK" | "REJECTED" | "REJECTED, NOT PROVED":
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


def _in_file(request: _Row) -> str:
    answer: OrderAnswer | None = request["answer"]
    if answer is not None and _at_bank(answer) == "payee":
        known_as = f" as {clean(answer.payee_name)}" if answer.payee_name else " by a similar name"
        return _UNVERIFIED[answer.payee].format(known_as=known_as)
    if request["is_overdue"]:
        asked = "was it uploaded and released" if answer is None else "ask the bank"
        return f"No debit to {request['evidence_to']:%-d %b}: {asked}; do not pay twice"
    return f"{_AT_BANK[None if answer is None else answer.stage]}; do not pay twice"


_UNVERIFIED: Final = {
    "none": "The bank knows another name for this IBAN: do not release it; verify the details anew,"
    " outside the file, by two people",
    "close": "The bank knows the payee{known_as}: have a colleague compare before the release,"
    " and accept it (treasury request accept-payee)",
    "not_possible": "The bank could not verify the payee: verify the details before the release",
}
"""What to do if the bank could not confirm the payee's name as ordered."""
_AT_BANK: Final = {
    None: "Wait for the debit",
    "received": "Wait for the debit, the bank has decided nothing",
    "accepted": "Wait for the debit, the bank may still reject it",
    "signature": "Have it signed at the bank",
    "settled": "Carried out, the bank says: add its statement",
}


def _check_bank(request: _Row) -> str:
    answer: OrderAnswer | None = request["answer"]
    if answer is not None and answer.stage == "rejected":
        # The words begin with the status code and its meaning, and the reasons follow.
        reasons = answer.words.partition(", ")[2]
        rejected = f"Rejected by the bank{f': {reasons}' if reasons else ''}"
        if request["state"] == REJECTED:
            return f"{rejected}; fix it, then pay again"
        if request["state"] == _REJECTED_UNPROVED:
            step = _add_statements(request)
            return f"{rejected}; {step[:1].lower()}{step[1:]}"
    if answer is not None and answer.stage == "duplicate":
        return "Rejected as a duplicate: the bank may have it already; find it, do not pay twice"
    if answer is not None and answer.stage == "contradicted":
        return "The bank's answers do not agree: ask the bank, do not pay twice"
    if request["maybe_on"]:
        return f"A debit of {request['maybe_on']:%-d %b} may be this one; decide it first"
    if request["pending"]:
        return "Pending at bank; wait for the booked statement, do not pay twice"
    return _add_statements(request)


def _add_statements(request: _Row) -> str:
    account = short_account(request["evidence_account"])
    if request["evidence_to"] is None:
        account_words = f" of {account}" if account else " of the paying account"
        return f"Add the statements{account_words}; do not pay twice"
    return f"Add the statement of {account} after {request['evidence_to']:%-d %b}; do not pay twice"


def _sent_wrong(request: _Row) -> str:
    currency = request["fiat_currency"]
    if request["changed_on"]:
        changed = f"{request['changed_on']:%-d %b}"
        return f"The amount was changed on {changed}, after you paid; ask the provider"
    if request["received_state"] == "partly_received":
        return step_for_gap(request["remaining"], currency)
    if request["received_state"] == "over_received":
        return step_for_gap(request["fiat_gross"] - request["received"], currency)
    if request["contradiction"] is None:
        day = f"{request['unnamed_on']:%-d %b}"
        return f"Sent without its reference on {day}; decide that line, tell the provider"
    return f"Contradicted ({request['contradiction']}); contact the provider, do not pay twice"


def step_for_gap(gap: Decimal, currency: str) -> str:
    """Return what to do about a payment that is short by `gap`, or over if `gap` is negative."""
    amount = format_amount(abs(gap), currency)
    if gap > 0:
        return f"Short by {amount}; ask the provider before you send the rest"
    return f"Over by {amount}; ask the provider for it back"
