"""A debit that a bank booked for a whole payment file: which of its requests it pays.

A bank that books a batch shows one debit, with the file's id and the sum of its payments less those
that it rejected. The file is journaled with its requests, so one decision settles all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from treasury.errors import ActionRefused, InputError
from treasury.journal import Entry
from treasury.journal.decision_history import PaymentFile, files_made
from treasury.money import format_amount, total
from treasury.reconcile.standing_knowledge import Knowledge
from treasury.statements.pain.order_answers import order_answer, stored_statuses
from treasury.text import clean

__all__ = ["file_named", "orders_paid"]

_TEXTS: Final = ("end_to_end_id", "creditor_reference", "remittance")


def orders_paid(
    knowledge: Knowledge,
    entries: Iterable[Entry],
    line_id: str,
    file_name: str,
    *,
    reason: str,
    accepted: Collection[tuple[str, tuple[str, ...]]],
) -> tuple[str, ...]:
    """The requests of a payment file that a debit pays: all but those that the bank has rejected.

    Raises InputError for a file that was never made, ActionRefused where the line is no debit, or
    not of exactly what these requests wait for, or neither names the file nor has a reason.
    `accepted` are lines that are accepted already, each with the requests that it was accepted for.
    """
    orders = {
        request: file
        for request, files in files_made(entries).items()
        for file in files
        if file.name == file_name
    }
    if not orders:
        raise InputError(
            f"no payment file {clean(file_name)[:80]!r} was made here",
            do="run `treasury request list` to see which were",
        )
    line = knowledge.line_rows([line_id])[line_id]
    if line["direction"] != "DBIT":
        raise ActionRefused(f"the line {line_id} is no debit", do="give the debit of the file")
    rejected = _rejected(knowledge, orders)
    paid = tuple(sorted(set(orders) - rejected))
    rows = knowledge.expectation_rows
    missing = [request for request in paid if request not in rows]
    if missing or not paid:
        raise ActionRefused(
            f"nothing of {clean(file_name)} can be paid by it: its requests are rejected, or gone",
            do="sync, then look at `treasury awaiting-funds`",
        )
    if (line_id, paid) in accepted:
        return paid
    apart = [request for request in paid if rows[request]["remaining"] != rows[request]["amount"]]
    if apart:
        row = rows[apart[0]]
        raise ActionRefused(
            f"{row['code']} of {clean(file_name)} has received"
            f" {format_amount(row['received'], row['currency'])} by another line",
            do="accept the line for the requests that it pays, once it is known which",
        )
    expected = total(rows[request]["remaining"] for request in paid)
    if expected != line["amount"]:
        currency = line["currency"]
        raise ActionRefused(
            f"the line {line_id} is {format_amount(line['amount'], currency)}, what of"
            f" {clean(file_name)} is not rejected waits for {format_amount(expected, currency)}",
            do="add the bank's answers to the file, or accept the line for some of it",
        )
    ids = {file.message_id for file in orders.values() if file.message_id}
    if not reason.strip() and not file_named(line, ids):
        raise ActionRefused(
            f"the line {line_id} does not name {clean(file_name)}",
            do="say how you know that it is this file's, as the reason",
        )
    return paid


def file_named(line: Mapping[str, Any], message_ids: Iterable[str]) -> str:
    """Which of these ids of payment files a bank line carries; empty for none."""
    texts = " ".join(line[name] or "" for name in _TEXTS)
    return next((name for name in message_ids if name in texts), "")


def _rejected(knowledge: Knowledge, orders: Mapping[str, PaymentFile]) -> set[str]:
    """The requests of which the bank finally rejected the payment in this file."""
    statuses = stored_statuses(
        knowledge.snapshot.sql, (file.message_id for file in orders.values())
    )
    rejected = set()
    for request, file in orders.items():
        about = statuses.get(file.message_id, ())
        answer = order_answer(about, file.message_id, file.reference)
        if answer is not None and answer.stage == "rejected":
            rejected.add(request)
    return rejected
