"""The way of a transfer: from its sender to its receiver, by the service's word and by balances."""

from __future__ import annotations

from collections.abc import Iterator

from treasury.trace.hops import words
from treasury.trace.payment_trace import Hop
from treasury.trace.trace_records import Records, Row, TraceParts

__all__ = ["TransferWay"]


class TransferWay(Records):
    """What the records tell of one transfer."""

    def read(self, transfer_id: str) -> TraceParts:
        """Title, hops, next step and names of a transfer."""
        row = self.row(
            "SELECT t.*, s.name AS sender, r.name AS receiver FROM transfers AS t"
            " LEFT JOIN accounts AS s ON s.id = t.sender_account_id"
            " LEFT JOIN accounts AS r ON r.id = t.receiver_account_id WHERE t.id = ?",
            transfer_id,
        )
        assert row is not None  # it was just found
        amount = words(row["amount"], row["asset"])
        if row["amount"] is None:
            amount = words(row["fiat_amount"], row["fiat_currency"])
        began = row["created_at"] or row["first_seen_at"]
        hops = [
            Hop(
                place="Sender",
                state="seen",
                says=f"{amount} from {row['sender'] or row['sender_account_id'] or 'not stated'}",
                at=began,
                evidence=f"transfer {transfer_id}, {row['kind']}",
            )
        ]
        completed = row["status"] == "COMPLETED"
        failed = row["status"] == "FAILED"
        why = f": {row['failure_reason'] or row['failure_code'] or 'no reason given'}"
        hops.append(
            Hop(
                place="Service",
                state="seen" if completed else "ended" if failed else "missing",
                says=f"{row['status']}{why if failed else ''}",
                at=row["updated_at"] if completed or failed else None,
                since=None if completed or failed else self.day(began),
                evidence=f"hash {row['transaction_hash']}" if row["transaction_hash"] else "",
            )
        )
        if completed:
            hops += self._arrival(row)
        return TraceParts(
            title=f"{row['kind'].replace('_', ' ')} transfer of {amount}, {row['status']}",
            hops=tuple(hops),
            next_step="" if completed else "Ask the provider" if not failed else "",
            names=(
                ("Transfer", transfer_id),
                ("Amount", amount),
                ("Transaction hash", row["transaction_hash"] or ""),
                ("Our reference", row["merchant_reference"] or ""),
            ),
        )

    def _arrival(self, row: Row) -> Iterator[Hop]:
        if row["receiver"] is not None:
            gap = self.row(
                "SELECT receiver_lacks_it FROM transfer_gaps WHERE transfer_id = ?", row["id"]
            )
            lacks = gap is not None and gap["receiver_lacks_it"] == 1
            yield Hop(
                place="Receiver",
                state="contradicted" if lacks else "seen",
                says=f"{row['receiver']}: "
                + ("its balance lacks this amount" if lacks else "no balance contradicts it"),
            )
        elif row["kind"] == "fiat":
            yield Hop(
                place="Bank",
                state="as recorded",
                says="completed per service; no bank evidence possible for somebody else's account",
            )
        else:
            yield Hop(
                place="Wallet",
                state="as recorded",
                says=f"completed per service ({row['transaction_hash'] or 'no hash'})",
            )
