"""Follows a payment through the records: from the bank's line to the wallet, or back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final

import duckdb
import pyarrow as pa

from treasury.lake import Snapshot
from treasury.reconcile.differences import TELLERS, Today, difference_rows
from treasury.reconcile.funding import funding_rows, marks_of
from treasury.reconcile.hops import (
    LINE_STATES,
    LINE_STEPS,
    conversion,
    exchange,
    id_of,
    last_event,
    on_chain,
    paid_out,
    place_of,
    reference,
    who,
    words,
)
from treasury.reconcile.lookup import Subject, look_up
from treasury.reconcile.monthly import MONTH_PACKAGE, STEPS, Question, _answered, _known_at
from treasury.reconcile.pipeline import compose, load_steps
from treasury.reconcile.trace import Hop, HopState, Trace
from treasury.reconcile.view import conversions_of

__all__ = ["trace"]

TRACE_STEPS: Final = load_steps(MONTH_PACKAGE, ("traceables", "traced_amounts", "choices"))

Row = Mapping[str, Any]
DELIVERY: Final = (
    "company_wallet_address",
    "company_wallet_chain",
    "crypto_currency",
    "approved_at",
    "completed_at",
)
"""Where coins are delivered, what, and the time in which it happens."""
ENDED: Final = {
    "CANCELLED": "cancelled",
    "REJECTED": "rejected",
    "ADMIN_REJECTED": "denied by the provider",
    "FAILED": "failed at the service",
}


def trace(
    snapshot: Snapshot,
    question: Question,
    what: str,
    decisions: pa.Table | None = None,
    marks: pa.Table | None = None,
) -> Trace:
    """Trace whatever goes by `what`: a reference, account, amount, hash, or an id or its beginning.

    Where several things go by it, the answer holds them as `choices`. Raises InputError where
    nothing was typed, NothingStored where nothing goes by that name.
    """
    with _answered(snapshot, question, decisions) as connection:
        for step in TRACE_STEPS:
            connection.sql(step.sql).create_view(step.name)
        subject, choices = look_up(connection, what)
        way = _Way(connection, question, marks_of(marks))
        told: dict[str, Any] = {"title": f"{choices.num_rows} payments, latest first: choose one"}
        if subject is not None:
            told = way.told(subject)
        return Trace(
            asked=what,
            choices=choices,
            company=question.company,
            known_at=_known_at(connection) or question.as_of,
            zone=question.zone,
            sql=compose((*STEPS, *TRACE_STEPS), "choices"),
            **({"hops": (), "next_step": "", "names": ()} | told),
        )


class _Way:
    """The records around one payment."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        question: Question,
        marks: Mapping[str, Row],
    ) -> None:
        self._connection = connection
        self._question = question
        self._marks = marks

    def told(self, subject: Subject) -> dict[str, Any]:
        """Title, hops, next step and names of a subject."""
        match subject.kind:
            case "request":
                return self._request(subject.id)
            case "transfer":
                return self._transfer(subject.id)
            case _:
                return self._line(subject.id)

    # records

    def _rows(self, query: str, *params: Any) -> list[dict[str, Any]]:
        return self._connection.sql(query, params=list(params)).to_arrow_table().to_pylist()

    def _row(self, query: str, *params: Any) -> dict[str, Any] | None:
        rows = self._rows(query, *params)
        return rows[0] if rows else None

    # a ramp request

    def _request(self, request_id: str) -> dict[str, Any]:
        request = self._row("SELECT * FROM ramp_requests WHERE id = ?", request_id)
        assert request is not None  # it was just found
        on_ramp = request["ramp_type"] == "ON_RAMP"
        events = self._rows(
            "SELECT * FROM ramp_request_events WHERE ramp_request_id = ? ORDER BY created_at, id",
            request_id,
        )
        hops = [*self._beginning(request, events)]
        if on_ramp:
            hops += [*self._bank_of(request), *self._received(request, events)]
            hops += [*exchange(request), *self._delivered(request, events)]
        else:
            hops += [*self._sent_crypto(request, events), *self._received(request, events)]
            hops += [*exchange(request), *paid_out(request, events), *self._bank_of(request)]
        gross = request["fiat_amount"] if on_ramp else request["crypto_amount"]
        currency = request["fiat_currency"] if on_ramp else request["crypto_currency"]
        way = "on-ramp" if on_ramp else "off-ramp"
        name = request["payment_reference"] or request_id
        return {
            "title": f"{name}, {way} of {words(gross, currency)}, {request['status']}",
            "hops": tuple(hops),
            "next_step": self._step_of(request_id),
            "names": (
                ("Payment reference", request["payment_reference"] or ""),
                ("Ramp request", request_id),
                ("Amount", words(gross, currency)),
                ("Transaction hash", request["blockchain_transaction_hash"] or ""),
            ),
        }

    def _beginning(self, request: Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
        made = last_event(events, "CREATED")
        yield Hop(
            place="Request",
            state="seen",
            says=f"asked for by {request['created_by'] or 'an unknown user'}",
            at=(made or request)["created_at"],
            evidence=f"ramp request {request['id']}, version {request['version']}",
        )
        changed = last_event(events, "AMOUNT_CHANGED")
        if changed is not None:
            yield Hop(
                place="Request",
                state="seen",
                says=f"amount changed by {who(changed)}",
                at=changed["created_at"],
                evidence=id_of(changed),
            )
        for kind, ended_words in ENDED.items():
            ended = last_event(events, kind)
            if ended is not None:
                yield Hop(
                    place="Request",
                    state="ended",
                    says=f"{ended_words}, by {who(ended)}",
                    at=ended["created_at"],
                    evidence=id_of(ended),
                )
        approved = last_event(events, "APPROVED")
        if approved is not None:
            yield Hop(
                place="Approval",
                state="seen",
                says=f"approved by {who(approved)}",
                at=approved["created_at"],
                evidence=id_of(approved),
            )
        elif request["status"] == "AWAITING_APPROVAL":
            yield Hop(
                place="Approval",
                state="missing",
                says="nobody has approved it; nothing may be paid",
                since=self._day(request["created_at"]),
            )

    def _bank_of(self, request: Row) -> Iterator[Hop]:
        """What the bank shows of a request, or how far its statements reach without it."""
        lines = self._rows(
            "SELECT l.* FROM every_line AS l WHERE l.expectation_id = ? OR EXISTS (SELECT 1"
            " FROM allocations AS a WHERE a.entry_id = l.entry_id AND a.expectation_id = ?)"
            " ORDER BY l.booking_date, l.entry_id",
            request["id"],
            request["id"],
        )
        for line in lines:
            yield self._bank_line(line)
            yield reference(line)
        on_ramp = request["ramp_type"] == "ON_RAMP"
        begun = request["approved_at"] if on_ramp else request["completed_at"]
        if any(line["outcome"] == "matched" for line in lines) or begun is None:
            return
        account = (request["company_bank_account_iban"] or "").replace(" ", "").upper()
        covered = (
            self._row("SELECT * FROM evidence WHERE currency = ?", request["fiat_currency"])
            if on_ramp
            else self._row("SELECT * FROM covered WHERE account = ?", account)
        )
        reaches: date | None = covered["covered_to"] if covered else None
        amount = request["fiat_amount"] if on_ramp else request["fiat_net_amount"]
        what = f"{'debit' if on_ramp else 'credit'} of {words(amount, request['fiat_currency'])}"
        since = self._day(begun)
        known = (
            f"the statements reach to {reaches:%-d %b %Y}" if reaches else "no statement shows it"
        )
        provable = reaches is not None and reaches >= since
        yield Hop(
            place="Bank line",
            state="missing" if provable else "not provable",
            says=f"no {what} is matched; {known}",
            amount=amount,
            currency=request["fiat_currency"],
            since=since,
        )

    def _received(self, request: Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
        event = last_event(events, "PAYMENT_RECEIVED")
        if event is not None:
            on_ramp = request["ramp_type"] == "ON_RAMP"
            unit = request["fiat_currency"] if on_ramp else request["crypto_currency"]
            said = words(request["amount_received"], unit) if request["amount_received"] else "it"
            yield Hop(
                place="Service",
                state="seen",
                says=f"the service received {said}",
                at=event["created_at"],
                evidence=id_of(event),
            )
        elif request["is_open"] and request["approved_at"] is not None:
            sent = self._row("SELECT * FROM request_lines WHERE request_id = ?", request["id"])
            given = last_event(events, "TX_HASH_ADDED")
            since = self._day((given or {"created_at": request["approved_at"]})["created_at"])
            yield Hop(
                place="Service",
                state="missing",
                says=f"the service does not say that it received it; it says {request['status']}",
                since=(sent and sent["received_on"]) or since,
            )

    def _sent_crypto(self, request: Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
        given = request["blockchain_transaction_hash"]
        event = last_event(events, "TX_HASH_ADDED")
        if given:
            yield Hop(
                place="Blockchain",
                state="seen",
                says=f"we gave the hash {given} on {request['crypto_chain'] or 'an unknown chain'}",
                at=(event or request)["created_at"],
                amount=request["crypto_amount"],
                currency=request["crypto_currency"],
                evidence=id_of(event) if event else "",
            )
            yield from self._on_chain(request)
            yield from self._transfer_of(given)
            yield from self._hash_problem(request["id"])
        elif request["approved_at"] is not None:
            yield Hop(
                place="Blockchain",
                state="missing",
                says="no transaction hash was given for the coins",
                since=self._day(request["approved_at"]),
            )

    def _transfer_of(self, given: str) -> Iterator[Hop]:
        rows = self._rows(
            "SELECT * FROM transfers WHERE lower(transaction_hash) = lower(?) ORDER BY id", given
        )
        for row in rows:
            yield Hop(
                place="Transfer",
                state="seen",
                says=f"{words(row['amount'], row['asset'])} from our account, {row['status']}",
                at=row["updated_at"] or row["created_at"] or row["first_seen_at"],
                evidence=f"transfer {row['id']}",
            )

    def _on_chain(self, request: Row) -> Iterator[Hop]:
        """What explorer exports of company wallets show, or should show, of a request's coins."""
        given = request["blockchain_transaction_hash"]
        rows = self._rows(
            "SELECT * FROM wallet_movements WHERE vanished_at IS NULL"
            " AND lower(transaction_hash) = lower(?) ORDER BY moved_at, movement_id",
            given,
        )
        of_hash = self._row(
            "SELECT CAST(sum(crypto_amount) AS DECIMAL(38, 18)) AS due FROM ramp_requests"
            " WHERE lower(blockchain_transaction_hash) = lower(?) AND crypto_currency = ?",
            given,
            request["crypto_currency"],
        )
        covering = self._row(
            "SELECT file_name FROM wallet_evidence WHERE kind = 'export' AND vanished_at IS NULL"
            " AND lower(address) = lower(?) AND chain = ? AND asset = ? AND covers_from <= ?"
            " AND covers_to >= ? ORDER BY valid_from DESC, evidence_id LIMIT 1",
            *(request[name] for name in DELIVERY),
        )
        yield from on_chain(
            request,
            rows,
            of_hash["due"] if of_hash else None,
            covering["file_name"] if covering else None,
        )

    def _hash_problem(self, request_id: str) -> Iterator[Hop]:
        problems = self._rows(
            "SELECT DISTINCT state, other FROM hash_problems WHERE request_id = ?"
            " ORDER BY state, other",
            request_id,
        )
        for row in problems:
            other = f" (see {row['other']})" if row["other"] else ""
            yield Hop(
                place="Blockchain",
                state="contradicted",
                says=f"{row['state'].lower()}{other}",
                told=False,
            )

    def _delivered(self, request: Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
        event = last_event(events, "COMPLETED")
        coins = words(request["crypto_amount"], request["crypto_currency"])
        if event is None and request["status"] != "SUCCEEDED":
            received = last_event(events, "PAYMENT_RECEIVED")
            if received is not None and request["is_open"]:
                yield Hop(
                    place="Wallet",
                    state="missing",
                    says=f"{coins} not delivered; the service says {request['status']}",
                    since=self._day(received["created_at"]),
                )
            return
        given = request["blockchain_transaction_hash"]
        proof = f"hash {given}" if given else "it gives no hash"
        yield Hop(
            place="Wallet",
            state="seen" if given else "as recorded",
            says=f"service says delivered ({proof})",
            at=(event or request)["created_at"],
            amount=request["crypto_amount"],
            currency=request["crypto_currency"],
            evidence=f"{id_of(event) if event else 'status SUCCEEDED'}; to"
            f" {request['company_wallet_address'] or 'a wallet not stated'}; company wallets show"
            " no balance",
        )
        yield from self._on_chain(request)
        yield from self._hash_problem(request["id"])

    def _step_of(self, request_id: str) -> str:
        """The next step that the month's differences and the funding state have for a request."""
        question = self._question
        today = Today(question.today, question.month.last, question.zone, question.rules)
        steps = {
            name: self._rows(f'SELECT * FROM "{name}" WHERE request_id = ?', request_id)  # noqa: S608 - names of ours
            for name in TELLERS
        }
        found = difference_rows(steps, (), (), today)
        if found:
            return f"{found[0].state}: {found[0].next_step}"
        waiting = self._rows("SELECT * FROM funding WHERE request_id = ?", request_id)
        rows = funding_rows(waiting, question.rules, question.today, self._marks)
        return f"{rows[0].state}: {rows[0].next_step}" if rows else ""

    # a bank line

    def _line(self, entry_id: str) -> dict[str, Any]:
        line = self._row("SELECT * FROM every_line WHERE entry_id = ?", entry_id)
        if line is None:
            return self._unbooked(entry_id)
        if line["kind"] in {"on_ramp", "off_ramp"} and line["outcome"] in {"matched", "returned"}:
            return self._request(line["expectation_id"])
        hops = [self._bank_line(line), reference(line)]
        step = LINE_STEPS.get(line["outcome"], "")
        account = self._virtual_account(line)
        if account is not None:
            hops += self._collection(line, account)
        elif line["outcome"] in {"suggested", "unreferenced", "conflict", "duplicate"}:
            hops += self._candidates(line)
        ends = self._row("SELECT end_to_end_id FROM bank_lines WHERE entry_id = ?", entry_id) or {
            "end_to_end_id": None
        }
        amount = words(line["amount"], line["currency"])
        way = "credit" if line["direction"] == "CRDT" else "debit"
        return {
            "title": f"{way} of {amount} on {line['booking_date']:%-d %b %Y}",
            "hops": tuple(hops),
            "next_step": "" if line["line_class"] else step,
            "names": (
                ("Amount", amount),
                ("Booked on", f"{line['booking_date']}"),
                ("Account", line["account"] or ""),
                ("Counterparty", line["counterparty_name"] or ""),
                ("Counterparty account", line["counterparty_account"] or ""),
                ("End-to-end id", ends["end_to_end_id"] or ""),
                ("Text", line["remittance"] or ""),
                ("Reference", line["reference"] or ""),
            ),
        }

    def _unbooked(self, entry_id: str) -> dict[str, Any]:
        """A line that the bank has not booked, or has replaced."""
        line = self._row("SELECT * FROM bank_lines WHERE entry_id = ?", entry_id)
        assert line is not None  # it was just found
        amount = words(line["amount"], line["currency"])
        hop = Hop(
            place="Bank line",
            state="not provable",
            says=f"{amount}, {line['entry_status']}: pending at bank",
            on=line["booking_date"],
            evidence=place_of(line),
        )
        return {
            "title": f"{amount} pending at bank",
            "hops": (hop,),
            "next_step": "Wait for the booked statement",
            "names": (("Amount", amount),),
        }

    def _bank_line(self, line: Row) -> Hop:
        way = "credit from" if line["direction"] == "CRDT" else "debit to"
        state: HopState = "seen" if line["line_class"] else LINE_STATES[line["outcome"]]
        went_back = line["outcome"] in {"returned", "duplicate"}
        said = f"; {line['reason']}" if went_back else ""
        return Hop(
            place="Bank line",
            state=state if went_back else "seen",
            says=f"{words(line['amount'], line['currency'])}, {way}"
            f" {line['counterparty_name'] or 'no name'}{said}",
            on=line["booking_date"],
            amount=line["amount"],
            currency=line["currency"],
            evidence=place_of(line),
        )

    def _virtual_account(self, line: Row) -> dict[str, Any] | None:
        """The virtual account that a line is matched to, or else whose IBAN it reached."""
        return self._row(
            "SELECT v.*, a.name AS account_name FROM virtual_bank_accounts AS v"
            " LEFT JOIN accounts AS a ON a.id = v.account_id"
            " WHERE v.id = ? OR upper(replace(v.iban, ' ', '')) = ? ORDER BY v.id = ? DESC LIMIT 1",
            account := (line["expectation_id"] or "").partition("/")[0],
            line["account"],
            account,
        )

    def _collection(self, line: Row, account: Row) -> Iterator[Hop]:
        """From a virtual account to the wallet behind it."""
        yield Hop(
            place="Virtual account",
            state="seen",
            says=f"{account['name'] or account['id']}, {account['iban'] or 'no IBAN'},"
            f" code {account['reference_code']}, {account['status']}",
            evidence=f"virtual bank account {account['id']}",
        )
        proofs = [
            row
            for row in conversions_of(self._connection, self._question)
            if row.account_id == account["account_id"]
            and line["entry_id"] in (*row.entry_ids, *row.edge_ids)
        ]
        asset = account["target_cryptocurrency"]
        if not proofs:
            yield Hop(
                place="Conversion",
                state="not provable",
                says=f"no balance proves that it became {asset}; no endpoint lists conversions",
                since=line["booking_date"],
            )
        for proof in proofs:
            yield conversion(proof, line, self._day(proof.due) if proof.due else None)
        seen = self._row(
            "SELECT max(b.observed_at) AS observed_at, w.address, w.chain FROM wallets AS w"
            " LEFT JOIN wallet_balances AS b ON b.wallet_id = w.id AND b.asset = ?"
            " WHERE w.account_id = ? GROUP BY w.address, w.chain ORDER BY w.address LIMIT 1",
            asset,
            account["account_id"],
        )
        if seen is None or seen["observed_at"] is None:
            yield Hop(
                place="Wallet", state="not provable", says=f"no balance of {asset} was observed"
            )
            return
        total = self._row(
            "SELECT CAST(sum(total) AS DECIMAL(38, 18)) AS total FROM wallet_balances"
            " WHERE account_id = ? AND asset = ? AND observed_at = ?",
            account["account_id"],
            asset,
            seen["observed_at"],
        )
        assert total is not None
        yield Hop(
            place="Wallet",
            state="seen",
            says=f"{account['account_name'] or account['account_id']} held"
            f" {words(total['total'], asset)} at the last look",
            at=seen["observed_at"],
            evidence=f"wallet {seen['address']} on {seen['chain']}",
        )

    def _candidates(self, line: Row) -> Iterator[Hop]:
        rows = self._rows(
            "SELECT c.reason, e.code, e.kind, c.score FROM candidates AS c"
            " JOIN expectations AS e ON e.expectation_id = c.expectation_id"
            " WHERE c.entry_id = ? ORDER BY c.rank",
            line["entry_id"],
        )
        for row in rows:
            yield Hop(
                place="Candidate",
                state="needs decision",
                says=f"{row['code'] or row['kind']}: {row['reason']} ({row['score']:.2f})",
                told=False,
            )

    # a transfer

    def _transfer(self, transfer_id: str) -> dict[str, Any]:
        row = self._row(
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
        done = row["status"] == "COMPLETED"
        failed = row["status"] == "FAILED"
        why = f": {row['failure_reason'] or row['failure_code'] or 'no reason given'}"
        hops.append(
            Hop(
                place="Service",
                state="seen" if done else "ended" if failed else "missing",
                says=f"{row['status']}{why if failed else ''}",
                at=row["updated_at"] if done or failed else None,
                since=None if done or failed else self._day(began),
                evidence=f"hash {row['transaction_hash']}" if row["transaction_hash"] else "",
            )
        )
        if done:
            hops += self._arrival(row)
        return {
            "title": f"{row['kind'].replace('_', ' ')} transfer of {amount}, {row['status']}",
            "hops": tuple(hops),
            "next_step": "" if done else "Ask the provider" if not failed else "",
            "names": (
                ("Transfer", transfer_id),
                ("Amount", amount),
                ("Transaction hash", row["transaction_hash"] or ""),
                ("Our reference", row["merchant_reference"] or ""),
            ),
        }

    def _arrival(self, row: Row) -> Iterator[Hop]:
        if row["receiver"] is not None:
            gap = self._row(
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

    def _day(self, moment: datetime) -> date:
        return moment.astimezone(self._question.zone).date()
