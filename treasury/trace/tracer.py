"""Follows a payment through the records: from the bank's line to the wallet, or back."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

import pyarrow as pa

from treasury.lake import Snapshot
from treasury.reconcile.engine.pipeline import compose, in_order, needed, steps_of
from treasury.reconcile.funding import marks_of
from treasury.reconcile.monthly import STEPS, _answered, _known_at
from treasury.reconcile.question import Question
from treasury.trace.line_trace import LineWay
from treasury.trace.lookup import TRACE_PACKAGE, as_typed, look_up
from treasury.trace.payment_trace import Trace
from treasury.trace.request_trace import RequestWay
from treasury.trace.trace_records import Told
from treasury.trace.transfer_trace import TransferWay

__all__ = ["trace"]

TRACE_STEPS: Final = in_order(steps_of(TRACE_PACKAGE), ("traceables", "traced_amounts", "choices"))
WAYS: Final[Mapping[str, type[RequestWay | LineWay | TransferWay]]] = {
    "request": RequestWay,
    "line": LineWay,
    "transfer": TransferWay,
}


def trace(
    snapshot: Snapshot,
    question: Question,
    what: str | Decimal | int,
    decisions: pa.Table | None = None,
    marks: pa.Table | None = None,
) -> Trace:
    """Trace whatever goes by `what`: a reference, account, amount, hash, or an id or its beginning.

    Where several things go by it, the answer holds them as `choices`. Raises InputError where
    nothing was typed, NothingStored where nothing goes by that name.
    """
    asked = as_typed(what)
    with _answered(snapshot, question, decisions) as found:
        connection = found.connection
        found.bring(TRACE_STEPS)
        subject, choices, there = look_up(connection, asked)
        if subject is None:
            told = Told(title=f"{_how_many(choices.num_rows, there)}: choose one")
        else:
            told = WAYS[subject.kind](connection, question, marks_of(marks)).told(subject.id)
        return Trace(
            asked=asked,
            title=told.title,
            hops=told.hops,
            choices=choices,
            next_step=told.next_step,
            names=told.names,
            company=question.company,
            known_at=_known_at(connection) or question.as_of,
            zone=question.zone,
            sql=compose(needed((*STEPS, *TRACE_STEPS), "choices"), "choices"),
        )


def _how_many(shown: int, there: int) -> str:
    if shown == there:
        return f"{there} payments, latest first"
    return f"the latest {shown} of {there:,} payments"
