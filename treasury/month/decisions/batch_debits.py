"""The requests that a debit pays, if a bank booked one debit for a whole payment file.

A bank that books a batch shows one debit with the file's id and the sum of its payments, without
rejected ones. The journal has the requests of the file, so one decision assigns them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from treasury.core.errors import ActionRefused, InputError
from treasury.core.identifiers import plain_account
from treasury.core.money import format_amount, total
from treasury.core.text import clean
from treasury.journal import Entry
from treasury.journal.decision_history import PaymentFile, files_made
from treasury.month.decisions.file_debits import order_stages
from treasury.month.standing_knowledge import Knowledge
from treasury.statements.pain.file_ids import FileIds


def orders_paid(
    knowledge: Knowledge,
    entries: Iterable[Entry],
    line_id: str,
    file_name: str,
    *,
    reason: str,
    accepted: Collection[tuple[str, tuple[str, ...]]],
) -> tuple[str, ...]:
    """Return the requests of a payment file that a debit pays: all that the bank has not rejected.

    Raise InputError if the file was not made here. Raise ActionRefused if the line is not a debit
    of the paying account, is matched to another request, or is not exactly the amount that these
    requests wait for. Raise it too if one of them is gone or partly paid, or if the line does not
    name the file and no reason is given. A payment that the bank rejected as a duplicate counts as
    paid by another debit, unless the debit is exactly the sum with the duplicates. A reason is then
    required: if the file was uploaded twice, this debit may have paid them. `accepted` are pairs of
    an accepted line and its requests.
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
            do="run `treasury request list` to see the files",
        )
    line = knowledge.line_rows([line_id])[line_id]
    if line["direction"] != "DBIT":
        raise ActionRefused(
            f"the line {line_id} is not a debit", do="give the line that is the file's debit"
        )
    payers = {plain_account(file.payer) for file in orders.values() if file.payer}
    if payers - {plain_account(line["statement_account"])}:
        raise ActionRefused(
            f"the line {line_id} is not a debit of the account that {clean(file_name)} pays from,"
            f" {clean(', '.join(payers))}",
            do="give the debit of that account, or accept the line for the requests that it pays",
        )
    paid = _ordered(knowledge, orders, line, reason)
    rows = knowledge.expectation_rows
    missing = [request for request in paid if request not in rows]
    if missing or not paid:
        raise ActionRefused(
            f"this debit cannot be accepted for {clean(file_name)}: all payments are rejected, or a"
            " request is gone",
            do="sync, then look at `treasury awaiting-funds`",
        )
    if (line_id, paid) in accepted:
        return paid
    outcome = knowledge.outcomes[line_id]
    if outcome["outcome"] == "matched" and outcome["expectation_id"] not in orders:
        raise ActionRefused(
            f"the line {line_id} is matched already: {outcome['reason']}",
            do="reject the wrong match first, with a reason",
        )
    apart = [request for request in paid if rows[request]["remaining"] != rows[request]["amount"]]
    if apart:
        row = rows[apart[0]]
        raise ActionRefused(
            f"{row['code']} of {clean(file_name)} has received"
            f" {format_amount(row['received'], row['currency'])} through another line",
            do="accept the line for the requests that it pays, once they are known",
        )
    expected = total(rows[request]["remaining"] for request in paid)
    if expected != line["amount"]:
        currency = line["currency"]
        raise ActionRefused(
            f"the line {line_id} is {format_amount(line['amount'], currency)}; the payments of "
            f"{clean(file_name)} that are not rejected wait for "
            f"{format_amount(expected, currency)}",
            do="add the bank's answers to the file, or accept the line for some of its requests",
        )
    ids = FileIds(file.message_id for file in orders.values())
    if not reason.strip() and not ids.named(line).whole:
        raise ActionRefused(
            f"the line {line_id} does not name {clean(file_name)}",
            do="state in the reason how you know that it belongs to this file",
        )
    return paid


def _ordered(
    knowledge: Knowledge, orders: Mapping[str, PaymentFile], line: Mapping[str, Any], reason: str
) -> tuple[str, ...]:
    """Return the requests that were not rejected; with duplicates if the debit is the sum of all.

    Raise ActionRefused if duplicates would be included without a reason.
    """
    stages = order_stages(knowledge.snapshot, orders)
    rows = knowledge.expectation_rows
    ordered = {request for request in orders if stages.get(request) != "rejected"}
    duplicates = {request for request in ordered if stages.get(request) == "duplicate"}
    whole = total(rows[request]["amount"] for request in ordered if request in rows)
    if not duplicates or whole != line["amount"]:
        return tuple(sorted(ordered - duplicates))
    if not reason.strip():
        file = next(iter(orders.values()))
        raise ActionRefused(
            f"the line {line['entry_id']} would also pay what the bank rejected in "
            f"{clean(file.name)} as a duplicate",
            do="state in the reason how you know that this debit paid it; if you do not know, ask"
            " the bank",
        )
    return tuple(sorted(ordered))
