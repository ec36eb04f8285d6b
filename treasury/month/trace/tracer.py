"""Tracing of a payment through the records, from the bank's line to the wallet or back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.statuses import TRANSFER_FINAL
from treasury.lake import Snapshot
from treasury.matching.engine.pipeline import compose, in_order, needed, steps_of
from treasury.month.funding import remarks_by_request
from treasury.month.funding_words import with_answers
from treasury.month.question import Question
from treasury.month.reconciliation import STEPS, _known_at, run_on_question
from treasury.month.trace.hops import words
from treasury.month.trace.line_trace import LineHops
from treasury.month.trace.lookup import TRACE_PACKAGE, as_typed, look_up
from treasury.month.trace.payment_trace import Hop, HopState, Trace
from treasury.month.trace.request_trace import RequestHops
from treasury.month.trace.trace_records import Records, Row, TraceParts, sql_of


class TransferHops(Records):
    """Finds the hops of one transfer."""

    def read(self, transfer_id: str) -> TraceParts:
        """Return title, hops, next step and names of a transfer."""
        row = self.row(sql_of("transfer_parties"), transfer_id)
        # The caller has found the transfer, so the row exists.
        assert row is not None
        amount = words(row["amount"], row["asset"])
        if row["amount"] is None:
            amount = words(row["fiat_amount"], row["fiat_currency"])
        status, hash_ = row["status"], row["transaction_hash"] or ""
        began, ended = row["created_at"] or row["first_seen_at"], row["updated_at"]
        says = f"{amount} from {row['sender'] or row['sender_account_id'] or 'not stated'}"
        evidence = f"transfer {transfer_id}, {row['kind']}"
        hops = [Hop("Sender", "seen", says, at=began, evidence=evidence)]
        evidence = f"hash {hash_}" if hash_ else ""
        match status:
            case "COMPLETED":
                hops.append(Hop("Service", "seen", status, at=ended, evidence=evidence))
                hops += self._arrival(row)
            case "FAILED":
                why = row["failure_reason"] or row["failure_code"] or "no reason given"
                hops.append(
                    Hop("Service", "ended", f"{status}: {why}", at=ended, evidence=evidence)
                )
            case _:
                since = self.day(began)
                hops.append(Hop("Service", "missing", f"{status}", since=since, evidence=evidence))
        return TraceParts(
            title=f"{row['kind'].replace('_', ' ')} transfer of {amount}, {status}",
            hops=tuple(hops),
            next_step="" if status in TRANSFER_FINAL else "Ask the provider",
            names=(
                ("Transfer", transfer_id),
                ("Amount", amount),
                ("Transaction hash", hash_),
                ("Our reference", row["merchant_reference"] or ""),
            ),
        )

    def _arrival(self, row: Row) -> Iterator[Hop]:
        if row["receiver"] is not None:
            gap = self.row(
                "SELECT receiver_lacks_it FROM transfer_gaps WHERE transfer_id = ?", row["id"]
            )
            lacks = gap is not None and gap["receiver_lacks_it"] == 1
            says = "its balance lacks this amount" if lacks else "no balance contradicts it"
            state: HopState = "conflict" if lacks else "seen"
            yield Hop("Receiver", state, f"{row['receiver']}: {says}")
        elif row["kind"] == "fiat":
            says = "completed per service; the account is not ours, so no bank evidence is possible"
            yield Hop("Bank", "as recorded", says)
        else:
            says = f"completed per service ({row['transaction_hash'] or 'no hash'})"
            yield Hop("Wallet", "as recorded", says)


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
