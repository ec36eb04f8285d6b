"""Tracing of a payment through the records, from the bank's line to the wallet or back."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from treasury.lake import Snapshot
from treasury.matching.engine.pipeline import compose, in_order, needed, steps_of
from treasury.month.funding import remarks_by_request
from treasury.month.funding_words import with_answers
from treasury.month.question import Question
from treasury.month.reconciliation import STEPS, _known_at, run_on_question
from treasury.month.trace.line_trace import LineHops
from treasury.month.trace.lookup import TRACE_PACKAGE, as_typed, look_up
from treasury.month.trace.payment_trace import Trace
from treasury.month.trace.request_trace import RequestHops
from treasury.month.trace.trace_records import TraceParts
from treasury.month.trace.transfer_trace import TransferHops

TRACE_STEPS: Final = in_order(
    steps_of(TRACE_PACKAGE), ("traceable_names", "traced_amounts", "trace_choices")
)
_WAYS: Final[Mapping[str, type[RequestHops | LineHops | TransferHops]]] = {
    "request": RequestHops,
    "line": LineHops,
    "transfer": TransferHops,
}


def trace(
    snapshot: Snapshot,
    question: Question,
    what: str | Decimal | int,
    decisions: pa.Table | None = None,
    remarks: pa.Table | None = None,
) -> Trace:
    """Trace the payment with a given reference, account, amount, hash, id, or start of an id.

    If several payments have that name, the answer contains them as `choices`. Raise InputError if
    `what` is empty, and NothingStored if no payment has that name.
    """
    typed = as_typed(what)
    with run_on_question(snapshot, question, decisions) as steps_run:
        connection = steps_run.connection
        steps_run.bring(TRACE_STEPS)
        subject, choices, count = look_up(connection, typed)
        if subject is None:
            latest = choices.num_rows
            listed = f"the latest {latest} of {count:,} payments"
            if latest == count:
                listed = f"{count} payments, latest first"
            parts = TraceParts(title=f"{listed}: choose one")
        else:
            remarked = with_answers(connection, remarks_by_request(remarks), question.zone)
            parts = _WAYS[subject.kind](connection, question, remarked).read(subject.id)
        return Trace(
            asked=typed,
            **msgspec.structs.asdict(parts),
            choices=choices,
            company=question.company,
            known_at=_known_at(connection) or question.as_of,
            zone=question.zone,
            sql=compose(needed((*STEPS, *TRACE_STEPS), "trace_choices"), "trace_choices"),
        )
