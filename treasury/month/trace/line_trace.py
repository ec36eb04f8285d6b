"""The trace of a bank line: to its virtual account and wallet, or to the records it may belong to.

A line that belongs to a ramp request, even if its money was returned, is traced as that request.
"""

from __future__ import annotations

from collections.abc import Iterator

from treasury.month.differences import misdirected_step
from treasury.month.trace.hops import LINE_STEPS, bank_line, conversion, place_of, reference, words
from treasury.month.trace.payment_trace import Hop
from treasury.month.trace.request_trace import RequestHops
from treasury.month.trace.trace_records import Records, Row, TraceParts, sql_of
from treasury.month.treasury_view import conversions_of


class LineHops(Records):
    """Finds the hops of one bank line."""

    def read(self, entry_id: str) -> TraceParts:
        """Return title, hops, next step and names of a line."""
        line = self.row("SELECT * FROM every_line WHERE entry_id = ?", entry_id)
        if line is None:
            return self._unbooked(entry_id)
        if line["kind"] in {"on_ramp", "off_ramp"} and line["outcome"] in {"matched", "returned"}:
            of_request = RequestHops(self.connection, self.question, self.remarks)
            return of_request.read(line["expectation_id"])
        hops = [bank_line(line), reference(line)]
        # If our payment went wrong, the next step is the one for that difference.
        wrong = self.row("SELECT * FROM misdirected_lines WHERE entry_id = ?", entry_id)
        step = LINE_STEPS.get(line["outcome"], "") if wrong is None else misdirected_step(wrong)
        # Without a matched virtual account, use the account with the IBAN that the line reached.
        matched = (line["expectation_id"] or "").partition("/")[0]
        account = self.row(sql_of("line_account"), matched, line["account"], matched)
        if account is not None:
            hops += self._collection(line, account)
        elif line["outcome"] in {"suggested", "unreferenced", "conflict", "duplicate"}:
            hops += self._candidates(line)
        stated = self.row("SELECT end_to_end_id FROM bank_lines WHERE entry_id = ?", entry_id)
        amount = words(line["amount"], line["currency"])
        way = "credit" if line["direction"] == "CRDT" else "debit"
        return TraceParts(
            title=f"{way} of {amount} on {line['booking_date']:%-d %b %Y}",
            hops=tuple(hops),
            next_step="" if line["line_class"] else step,
            names=(
                ("Amount", amount),
                ("Booked on", f"{line['booking_date']}"),
                ("Account", line["account"] or ""),
                ("Counterparty", line["counterparty_name"] or ""),
                ("Counterparty account", line["counterparty_account"] or ""),
                ("End-to-end id", (stated and stated["end_to_end_id"]) or ""),
                ("Text", line["remittance"] or ""),
                ("Reference", line["reference"] or ""),
            ),
        )

    def _unbooked(self, entry_id: str) -> TraceParts:
        """Return the trace of a line that the bank has not booked, or has replaced."""
        line = self.row("SELECT * FROM bank_lines WHERE entry_id = ?", entry_id)
        # The caller has found the line, so the row exists.
        assert line is not None
        amount = words(line["amount"], line["currency"])
        says = f"{amount}, {line['entry_status']}: pending at bank"
        on, evidence = line["booking_date"], place_of(line)
        hop = Hop("Bank line", "not provable", says, on=on, evidence=evidence)
        return TraceParts(
            title=f"{amount} pending at bank",
            hops=(hop,),
            next_step="Wait for the booked statement",
            names=(("Amount", amount),),
        )

    def _collection(self, line: Row, account: Row) -> Iterator[Hop]:
        """Yield the hops from a virtual account to the wallet behind it."""
        says = (
            f"{account['name'] or account['id']}, {account['iban'] or 'no IBAN'},"
            f" code {account['reference_code']}, {account['status']}"
        )
        evidence = f"virtual bank account {account['id']}"
        yield Hop("Virtual account", "seen", says, evidence=evidence)
        proofs = [
            row
            for row in conversions_of(self.connection, self.question)
            if row.account_id == account["account_id"]
            and line["entry_id"] in (*row.entry_ids, *row.edge_ids)
        ]
        asset = account["target_cryptocurrency"]
        if not proofs:
            says = f"no balance proves that it became {asset}; no endpoint lists conversions"
            yield Hop("Conversion", "not provable", says, since=line["booking_date"])
        for proof in proofs:
            due = self.day(proof.due) if proof.due else None
            yield conversion(proof, line, due, self.question.zone)
        wallet = self.row(sql_of("account_wallet"), asset, account["account_id"])
        if wallet is None or wallet["observed_at"] is None:
            yield Hop("Wallet", "not provable", f"no balance of {asset} was observed")
            return
        at, held_by = wallet["observed_at"], account["account_id"]
        total = self.row(sql_of("wallets_total"), held_by, asset, at)
        assert total is not None
        holder = account["account_name"] or held_by
        says = f"{holder} held {words(total['total'], asset)} when it was last observed"
        evidence = f"wallet {wallet['address']} on {wallet['chain']}"
        yield Hop("Wallet", "seen", says, at=at, evidence=evidence)

    def _candidates(self, line: Row) -> Iterator[Hop]:
        for row in self.rows(sql_of("line_candidates"), line["entry_id"]):
            says = f"{row['code'] or row['kind']}: {row['reason']} ({row['score']:.2f})"
            yield Hop("Candidate", "undecided", says, is_for_provider=False)
