"""The trace of a transfer from sender to receiver, in the service's records and balances."""

from __future__ import annotations

from collections.abc import Iterator

from treasury.core.statuses import TRANSFER_FINAL
from treasury.month.trace.hops import words
from treasury.month.trace.payment_trace import Hop, HopState
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
