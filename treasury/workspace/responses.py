"""The service's answers to create calls, for records that cannot be read later.

A payment session or payment request can be created but not read. So its record is the answer stored
in the journal when the action was carried out, and its status is not the current one. Each resource
is declared as a table, which `t.sql` can query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.api import models
from treasury.core.decoding import decode_json
from treasury.core.tables.column_types import AMOUNT, BOOL, INSTANT, INTEGER, TEXT
from treasury.core.text import camel_case
from treasury.extract.record_rows import Form, ReceivedRecord, form, rows
from treasury.extract.record_rows import RecordField as Field
from treasury.journal import Entry, Journal

_CARRIED_OUT: Final = "action.done"


class Answered(ReceivedRecord, frozen=True, kw_only=True):
    """An answer and its journal entry."""

    entry: Entry
    request_id: str | None = None


def _id(answer: ReceivedRecord) -> str | None:
    """Return the id in the answer, else the id that a person looked up, or None."""
    assert isinstance(answer, Answered)
    return getattr(answer.value, "id", None) or answer.entry.body.get("record")


_ID = Field("id", TEXT, _id, "the service's id", "id")
_STATUS = Field("status", TEXT, "status", "status in the answer; no later status is available")
_TIMES = (
    Field("created_at", INSTANT, "created_at", "when the service created it"),
    Field("updated_at", INSTANT, "updated_at", "when the service had last changed it"),
)
_JOURNALED = (
    Field("journaled_at", INSTANT, lambda found: found.entry.at, "when the answer was journaled"),
    Field(
        "decided_by",
        TEXT,
        lambda found: found.entry.actor.name,
        "the person who had it sent",
    ),
    Field(
        "known_from",
        TEXT,
        lambda found: found.entry.body.get("how"),
        "how it became known: answered, read back, said by a person",
    ),
    Field("action_id", TEXT, lambda found: found.entry.subject, "the action in the journal"),
    Field("entry", INTEGER, lambda found: found.entry.seq, "the journal's entry with the answer"),
)


def _amounts(name: str, meaning: str) -> tuple[Field, Field]:
    """Declare the columns for an amount in fiat and in coins; older answers only have fiat."""
    source = camel_case(name)
    in_fiat = name.removesuffix("amount") + "fiat_amount"
    in_coins = name.removesuffix("amount") + "crypto_amount"

    def fiat(answer: ReceivedRecord) -> Decimal | None:
        value = getattr(answer.value, name, None)
        return value.fiat if isinstance(value, models.PaymentAmount) else value

    def coins(answer: ReceivedRecord) -> Decimal | None:
        value = getattr(answer.value, name, None)
        return value.crypto if isinstance(value, models.PaymentAmount) else None

    return (
        Field(in_fiat, AMOUNT, fiat, meaning, source, "`currency`"),
        Field(in_coins, AMOUNT, coins, "the same in coins", f"{source}.crypto", "not stated"),
    )


def _metadata(answer: ReceivedRecord) -> str | None:
    """Return JSON text; None if it is missing or the answer cannot be read."""
    text = bytes(getattr(answer.value, "metadata", b"null")).decode()
    return None if text == "null" else text


_SESSIONS: Final = form(
    "payment_sessions",
    "Payment session",
    _ID,
    Field("account_id", TEXT, "account_id", "the account that receives the coins"),
    _STATUS,
    Field("in_amount", AMOUNT, "in_amount", "amount that the customer pays", unit="`in_currency`"),
    Field("in_currency", TEXT, "in_currency", "currency of `in_amount`"),
    Field(
        "out_cryptocurrency", TEXT, "out_cryptocurrency", "coin to which the amount is converted"
    ),
    Field("payment_url", TEXT, "payment_url", "the checkout's address, for the customer"),
    Field("external_ref", TEXT, "external_ref", "our own reference"),
    Field("wallet_id", TEXT, "wallet_id", "the wallet that receives the coins"),
    Field("transaction_hash", TEXT, "blockchain_tx_id", "hash of the transaction"),
    Field("cancellable", BOOL, "cancellable", "whether it could be cancelled at that time"),
    Field("expires_at", INSTANT, "expires_at", "when the checkout closes"),
    Field("metadata", TEXT, _metadata, "our data stored with it, as JSON", "metadata"),
    Field("idempotency_key", TEXT, "idempotency_key", "key that it was created with"),
    *_TIMES,
    *_JOURNALED,
    title="Checkouts that we opened, as the service answered",
    observations=True,
)

_REQUESTS: Final = form(
    "payment_requests",
    "Payment request",
    _ID,
    Field("account_id", TEXT, "account_id", "the account that pays"),
    _STATUS,
    *_amounts("amount", "requested amount"),
    *_amounts("original_amount", "amount requested first"),
    *_amounts("settlement_amount", "amount to settle"),
    *_amounts("settled_amount", "settled amount"),
    *_amounts("shortfall_amount", "amount that could not be settled"),
    Field("currency", TEXT, "currency", "currency of the fiat amounts"),
    Field("external_id", TEXT, "external_id", "our own reference"),
    Field("description", TEXT, "description", "text of the requester"),
    Field("settled_at", INSTANT, "settled_at", "when it was settled"),
    Field("reversal_reason", TEXT, "reversal_reason", "why it was reversed, as a code"),
    Field("reversal_description", TEXT, "reversal_description", "why it was reversed, in words"),
    Field("reversed_at", INSTANT, "reversed_at", "when it was reversed"),
    Field("idempotency_key", TEXT, "idempotency_key", "key that it was created with"),
    *_TIMES,
    *_JOURNALED,
    title="Card payments that we requested, as the service answered",
    observations=True,
)

_EXECUTIONS: Final = form(
    "payment_request_executions",
    "Payment request",
    Field("id", TEXT, "id", "the service's id", "executions[].id"),
    Field("payment_request_id", TEXT, lambda found: found.request_id, "the payment request", "id"),
    Field("type", TEXT, "type", "AUTHORIZATION, SETTLEMENT", "executions[].type"),
    Field("status", TEXT, "status", "status in the answer", "executions[].status"),
    Field("chain", TEXT, "chain", "blockchain network", "executions[].chain"),
    Field("asset", TEXT, "asset", "the coin that moves", "executions[].asset"),
    Field("amount", AMOUNT, "amount", "units of `asset`", "executions[].amount", unit="`asset`"),
    Field(
        "exchange_rate",
        AMOUNT,
        "exchange_rate",
        "as the service states it",
        "executions[].exchangeRate",
        "as the service states it",
    ),
    Field("wallet_pair_id", TEXT, "wallet_pair_id", "pair of wallets", "executions[].walletPairId"),
    Field(
        "transaction_hash",
        TEXT,
        "transaction_hash",
        "on-chain hash",
        "executions[].transactionHash",
    ),
    Field("error_message", TEXT, "error_message", "why it failed", "executions[].errorMessage"),
    Field("created_at", INSTANT, "created_at", "when it began", "executions[].createdAt"),
    Field("updated_at", INSTANT, "updated_at", "last change", "executions[].updatedAt"),
    *_JOURNALED,
    title="The steps of each payment request, as the service answered",
    observations=True,
)


class Response(msgspec.Struct, frozen=True):
    """A table of answers, with the function that finds its records, and their model.

    `create` is the end of the create call's path.
    """

    form: Form
    create: str
    model: type[Any]
    parts: Callable[[Answered], Iterator[Answered]] = lambda found: iter((found,))


def _executions(answer: Answered) -> Iterator[Answered]:
    """Yield each execution of a payment request, with its own bytes."""
    for part in getattr(answer.value, "executions", None) or ():
        raw = bytes(part)
        yield Answered(
            value=_read(raw, models.PaymentExecution),
            raw=raw,
            entry=answer.entry,
            request_id=_id(answer),
        )


RESPONSES: Final = {
    response.form.table.name: response
    for response in (
        Response(_SESSIONS, "/payment-sessions", models.PaymentSession),
        Response(_REQUESTS, "/payment-requests", models.PaymentRequest),
        Response(_EXECUTIONS, "/payment-requests", models.PaymentRequest, _executions),
    )
}
"""All tables of answers, by name."""


def responses(journal: Journal, name: str, until: datetime | None = None) -> pa.Table:
    """Return one table's rows in the journal's order; with `until`, only those journaled by then.

    A record with two answers, as after a repeated call, has one row, from the last answer. If an
    answer is unreadable or was not stored, its row only has the columns from the journal entry.
    """
    response = RESPONSES[name]
    last: dict[object, Answered] = {}
    for entry in journal.entries(_CARRIED_OUT):
        operation = str(entry.body.get("operation", ""))
        is_create = operation.startswith("POST ") and operation.endswith(response.create)
        if is_create and (until is None or entry.at <= until):
            text = entry.body.get("response")
            raw = text.encode() if isinstance(text, str) else b""
            answer = Answered(value=_read(raw, response.model), raw=raw, entry=entry)
            record = _id(answer) or entry.seq
            last.pop(record, None)
            last[record] = answer
    table = rows(response.form, [part for each in last.values() for part in response.parts(each)])
    # An answer that was not stored has no bytes, so `raw` is null.
    texts = pc.if_else(pc.equal(table["raw"], ""), pa.scalar(None, TEXT), table["raw"])
    return table.set_column(table.column_names.index("raw"), table.schema.field("raw"), texts)


def _read(raw: bytes, model: type[Any]) -> Any:
    """Return the record, or None if the bytes are not of this model."""
    try:
        return decode_json(raw, model)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
