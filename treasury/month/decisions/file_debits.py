"""Debits of whole payment files that are matched without a person's decision.

The journal has the payments of each file. A debit that states the file's id, and is exactly the sum
of the payments that the bank did not reject, must be the debit for these payments, unless a record
contradicts it. A debit with weaker evidence needs a person's decision (`batch_debits`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.money import total
from treasury.core.text import clean
from treasury.journal import Entry
from treasury.journal import decision_history as history
from treasury.journal.decision_history import DECISIONS, PaymentFile
from treasury.lake import Snapshot
from treasury.statements.pain.file_ids import FileIds
from treasury.statements.pain.order_answers import OrderAnswer, order_answer, stored_statuses

IN_FILE: Final = "file"
"""The verdict for a debit that the payment file's id matches to the file's requests."""
_CURRENCY: Final = "EUR"
"""The currency of payment files."""
_DAY: Final = timedelta(days=1)
_DEBITS: Final = step_sql("treasury.month.decisions.steps", "booked_debits")
_REQUESTS: Final = step_sql("treasury.month.decisions.steps", "ordered_requests")
_CREDITS: Final = step_sql("treasury.month.decisions.steps", "booked_credits")


def decisions_in_force(snapshot: Snapshot, entries: Iterable[Entry]) -> pa.Table:
    """Return the decisions on bank lines as matching reads them; columns as in DECISIONS.

    These are people's decisions in the given journal entries. Debits that state a payment file's id
    and equal its sum are added with the verdict "file", unless a record contradicts them.
    """
    entries = tuple(entries)
    return in_force(snapshot, entries, history.decision_table(history.standing(entries)))


def in_force(snapshot: Snapshot, entries: Iterable[Entry], decided: pa.Table) -> pa.Table:
    """Return people's decisions on bank lines, and those that follow from payment file ids."""
    orders: dict[str, dict[str, PaymentFile]] = {}
    for request, files in history.files_made(entries).items():
        for file in files:
            if file.message_id:
                orders.setdefault(file.name, {})[request] = file
    if not orders:
        return decided
    rows = [
        {
            "entry_id": line["entry_id"],
            "expectation_id": request,
            "verdict": IN_FILE,
            "reason": f"payment file {clean(name)}: its id, and exactly what it orders",
        }
        for name, line, paid in _file_debits(snapshot, orders, decided)
        for request in paid
    ]
    return pa.concat_tables([decided, pa.Table.from_pylist(rows, schema=DECISIONS)])


def order_stages(snapshot: Snapshot, orders: Mapping[str, PaymentFile]) -> dict[str, str]:
    """Return the bank's stage for each payment in a file, if the bank has answered.

    `orders` maps each request to the file that contains it. The stages are those of `OrderAnswer`.
    """
    statuses = stored_statuses(snapshot.select, (file.message_id for file in orders.values()))
    stages: dict[str, str] = {}
    for request, file in orders.items():
        about = statuses.get(file.message_id, ())
        answer = answer_to(file, about)
        if answer is not None:
            stages[request] = answer.stage
    return stages


def answer_to(
    file: PaymentFile, statuses: Iterable[Mapping[str, Any]], accepted: Collection[str] = ()
) -> OrderAnswer | None:
    """Return the bank's answer to a payment in a file, or None, from rows of `payment_statuses`.

    `accepted` are banks' names for its payee that people accepted.
    """
    return order_answer(
        statuses,
        file.message_id,
        file.reference,
        made=file.at,
        amount=file.amount,
        payee_iban=file.payee_iban,
        accepted=accepted,
        rejections_alone=file.rejections_alone,
    )


def _file_debits(
    snapshot: Snapshot,
    orders: Mapping[str, Mapping[str, PaymentFile]],
    decided: pa.Table,
) -> Iterator[tuple[str, Mapping[str, Any], Sequence[str]]]:
    """Yield each payment file whose debit is certain, the debit's line, and the paid requests."""
    files = {name: next(iter(own.values())) for name, own in orders.items()}
    names_by_id: dict[str, list[str]] = {}
    for name, file in files.items():
        names_by_id.setdefault(file.message_id, []).append(name)
    since = min(file.at.date() for file in files.values()) - _DAY
    lines = snapshot.select(_DEBITS, {"since": since}).to_pylist()
    file_ids = FileIds(names_by_id)
    named = [(line, file_ids.named(line)) for line in lines]
    decided_lines = {*decided["entry_id"].to_pylist()}
    accepted = decided.filter(pc.equal(decided["verdict"], "accept"))
    ordered = pa.array({request for own in orders.values() for request in own}, pa.string())
    accepted = accepted.filter(pc.is_in(accepted["expectation_id"], ordered))
    # A returned payment does not count as a second payment.
    booked_in = snapshot.select(_CREDITS, {"ids": accepted["entry_id"].to_pylist()})["entry_id"]
    is_back = pc.is_in(accepted["entry_id"], booked_in.combine_chunks())
    accepted = accepted.filter(pc.invert(is_back))
    accepted_requests = {*accepted["expectation_id"].to_pylist()}
    for message, names in names_by_id.items():
        own = [(line, ids) for line, ids in named if message in ids.perhaps]
        if len(names) != 1 or [ids.whole for _, ids in own] != [{message}]:
            # Unless the id stands for one file and one debit, a person must decide.
            continue
        (name,), ((line, _),) = names, own
        paid = _paid_by(snapshot, orders[name], line)
        others = [other for other in lines if other is not line]
        # References of the payments, to find any that the bank also booked separately.
        references = FileIds(orders[name][request].reference for request in paid)
        if (
            paid
            and line["entry_id"] not in decided_lines
            and accepted_requests.isdisjoint(orders[name])
            and not any(references.named(other).whole for other in others)
        ):
            yield name, line, paid


def _paid_by(
    snapshot: Snapshot, orders: Mapping[str, PaymentFile], line: Mapping[str, Any]
) -> Sequence[str]:
    """Return the requests of a file that a debit with the file's id pays; none in case of doubt."""
    file = next(iter(orders.values()))
    stages = order_stages(snapshot, orders)
    paid = sorted(request for request in orders if stages.get(request) != "rejected")
    amounts = [orders[request].amount for request in paid]
    ordered = [amount for amount in amounts if amount is not None]
    rows = snapshot.select(_REQUESTS, {"ids": paid}).to_pylist()
    expected = {row["id"]: row["amount"] for row in rows if row["currency"] == _CURRENCY}
    is_certain = (
        line["is_certain"]
        and not {"contradicted", "duplicate"} & set(stages.values())
        and all(orders[request].is_standing for request in paid)
        and line["account"] == plain_account(file.payer)
        and line["currency"] == _CURRENCY
        and line["booking_date"] >= file.at.date() - _DAY
        and len(ordered) == len(paid)
        and [expected.get(request) for request in paid] == ordered
        and total(ordered) == line["amount"]
    )
    return paid if is_certain else ()
