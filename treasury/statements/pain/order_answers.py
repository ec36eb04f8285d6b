"""The combined result of the bank's answers about one payment in a payment file.

A bank answers several times, about the whole file, its batch or a payment, and its reports may be
added in any order. A later answer overrides an earlier one, and an answer about the payment
overrides an answer about the file. A rejection is final unless a later answer, or an answer of
another level, contradicts it: a payment both rejected and accepted is undecided. A rejection is not
final either if it names a different amount, account or batch, or is older than the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final, Literal

import msgspec
import pyarrow as pa

from treasury.core.identifiers import plain_account
from treasury.core.money import format_amount
from treasury.statements.field_values import reference as named_reference
from treasury.statements.pain import status_codes
from treasury.statements.pain.status_codes import PAYEE_RESULTS, STATUSES, status_words

_Row = Mapping[str, Any]
_Stage = Literal[
    "received", "signature", "accepted", "settled", "rejected", "duplicate", "contradicted"
]
_SAYS_DUPLICATE: Final = re.compile(
    r"\b(?:AM05|DU0[1-5])|DUPLI|DOUBLE|DOUBLON|DOPPEL|DOPPI|DUBBEL|ALREADY", re.IGNORECASE
)
"""Codes and words of banks that reject a payment as a duplicate."""
_LEVELS: Final = {"file": 0, "batch": 1, "payment": 2}
_EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
_UNDECIDED: Final = ("received", "signature", "accepted", "settled")
_STORED: Final = """\
SELECT original_message_id, original_batch_id, original_end_to_end_id, message_id, created_at,
    level, status, reasons, details, amount, currency, creditor_account
FROM payment_statuses
WHERE vanished_at IS NULL AND (
    upper(trim(original_message_id)) IN (SELECT unnest($messages))
    OR upper(trim(original_batch_id)) IN (SELECT unnest($messages))
)
ORDER BY created_at, status_id
"""


class OrderAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a payment at the bank, according to the bank's answers."""

    stage: _Stage
    words: str
    """Status code, its meaning, and the reasons."""
    at: datetime | None
    """Time at which the bank created the answer that decides."""
    payee: Literal["", "match", "close", "accepted", "none", "not_possible"] = ""
    """Result of the verification of the payee's name; people may have accepted a close match."""
    payee_name: str = ""
    """For a close match, the payee's name as the bank knows it."""


def stored_statuses(
    read: Callable[[str, dict[str, Any]], pa.Table], messages: Iterable[str]
) -> dict[str, list[dict[str, Any]]]:
    """Return the stored statuses of payment files, oldest first, by the file's message id.

    `read` returns the rows of a query with its values, like `Snapshot.sql`.
    """
    asked = set(filter(None, messages))
    by_folded: dict[str, list[dict[str, Any]]] = {folded_id(message): [] for message in asked}
    if asked:
        for status in read(_STORED, {"messages": sorted(by_folded)}).to_pylist():
            for name in _files_named(status) & by_folded.keys():
                by_folded[name].append(status)
    return {message: by_folded[folded_id(message)] for message in asked}


def order_answer(
    statuses: Iterable[_Row],
    message_id: str,
    reference: str,
    *,
    made: datetime | None = None,
    amount: Decimal | None = None,
    payee_iban: str = "",
    accepted: Collection[str] = (),
    rejections_alone: bool = False,
) -> OrderAnswer | None:
    """Return the bank's answer about a payment; None if no row of `payment_statuses` has one.

    A payment file has one batch with the file's id, so a status of the batch applies to all
    payments. `made` is the time when the file was written; `amount` (in EUR) and `payee_iban` are
    those ordered; each is None or empty if unknown. `accepted` has the names from the bank that
    people accepted. With `rejections_alone` the bank only reports rejections: a payment that its
    report on the file does not mention is accepted.
    """
    of_file = sorted(
        (row for row in statuses if folded_id(message_id) in _files_named(row)),
        key=lambda row: (row["created_at"] or _EARLIEST, _LEVELS[row["level"]]),
    )
    about = [
        row
        for row in of_file
        if row["level"] != "payment"
        or folded_id(row["original_end_to_end_id"]) == folded_id(reference) != ""
    ]
    if not about and of_file and rejections_alone:
        at = of_file[-1]["created_at"]
        return OrderAnswer(stage="accepted", words="not among the payments rejected", at=at)
    if not about:
        return None
    by_stage: dict[str, list[_Row]] = {}
    for row in about:
        by_stage.setdefault(_stage(row), []).append(row)
    verified = by_stage.get("payee", [])
    strange = partial(
        _strangeness, message_id=message_id, made=made, amount=amount, payee_iban=payee_iban
    )
    answer = _of_money(by_stage, about[-1], strange)
    if not verified:
        return answer
    # A verification of another account is not about this payee.
    result = "not_possible" if strange(verified[-1]) else PAYEE_RESULTS[verified[-1]["status"]]
    name = " ".join(verified[-1]["details"]) if result == "close" else ""
    if result == "close" and name in accepted:
        result = "accepted"
    return msgspec.structs.replace(answer, payee=result, payee_name=name)


def _stage(row: _Row) -> str:
    """Return the stage that a status code shows; for an unknown code, the undecided `accepted`."""
    status = STATUSES.get(row["status"])
    return "accepted" if status is None else status.stage


def folded_id(name: str | None) -> str:
    """Return an id normalised for comparison: without surrounding blanks, case ignored."""
    return (name or "").strip().upper()


def _files_named(row: _Row) -> frozenset[str]:
    """Return the ids of the payment file in a status: the file's own, and its batch's.

    Both are normalised by `folded_id`: a payment file has one batch, with the file's own id.
    """
    names = (row["original_message_id"], row["original_batch_id"])
    return frozenset(folded_id(name) for name in names if name)


def _strangeness(
    row: _Row, *, message_id: str, made: datetime | None, amount: Decimal | None, payee_iban: str
) -> str:
    """Return as text how a status contradicts the order; empty if it does not."""
    for name, word in (("original_message_id", "file"), ("original_batch_id", "batch")):
        other = named_reference(row[name])
        if other and folded_id(other) != folded_id(message_id):
            return f"but for another {word}"
    said = row["created_at"]
    stated, currency = row["amount"], row["currency"] or "EUR"
    if None not in {stated, amount} and (stated, currency) != (amount, "EUR"):
        return f"but for {format_amount(stated, currency)}"
    account = plain_account(row["creditor_account"] or "")
    if account and payee_iban and account != plain_account(payee_iban):
        return "but for another account"
    return "but dated before the file was made" if said and made and said < made else ""


def _of_money(
    by_stage: Mapping[str, Sequence[_Row]], last: _Row, strange: Callable[[_Row], str]
) -> OrderAnswer:
    rejected = by_stage.get("rejected", [])
    rejections = [row for row in rejected if not strange(row)]
    undecided = [row for stage in _UNDECIDED for row in by_stage.get(stage, [])]
    if rejected and not rejections:
        words = f"{status_words(rejected[-1]['status'])}, {strange(rejected[-1])}"
        at = rejected[-1]["created_at"]
        return OrderAnswer(stage="contradicted", words=words, at=at)
    if not rejections:
        latest = max(
            undecided, key=lambda row: (row["created_at"] or _EARLIEST, _LEVELS[row["level"]]),
            default=last,
        )  # fmt: skip
        stage: Any = _stage(latest) if undecided else "received"
        return OrderAnswer(
            stage=stage, words=status_words(latest["status"]), at=latest["created_at"]
        )
    final = rejections[-1]
    stated = [*rejected, *by_stage.get("parts", [])]
    reasons = [code for row in rejected for code in row["reasons"]]
    why = status_codes.reason_words(list(dict.fromkeys(reasons)))
    words = ", ".join(filter(None, (status_words(final["status"]), why)))
    doubtful = [row for row in undecided if _speaks_against(row, final)]
    if doubtful:
        words = f"{words}; also {status_words(doubtful[-1]['status'])}"
        return OrderAnswer(stage="contradicted", words=words, at=final["created_at"])
    texts = [text for row in stated for text in (*row["reasons"], *row["details"])]
    is_duplicate = any(map(_SAYS_DUPLICATE.search, texts))
    return OrderAnswer(
        stage="duplicate" if is_duplicate else "rejected", words=words, at=final["created_at"]
    )


def _speaks_against(row: _Row, rejection: _Row) -> bool:
    """Return whether a status other than a rejection contradicts a rejection.

    An executed payment always contradicts it, and so does any later answer. In the same report, an
    answer about the same or a smaller part of the file (batch, payment) contradicts it. Banks reuse
    report ids, so two rows are of one report only if the time is the same too.
    """
    if _stage(row) == "settled":
        return True
    said, rejected = row["created_at"], rejection["created_at"]
    if (row["message_id"], said) == (rejection["message_id"], rejected):
        return _LEVELS[row["level"]] >= _LEVELS[rejection["level"]]
    return said is None or rejected is None or said >= rejected
