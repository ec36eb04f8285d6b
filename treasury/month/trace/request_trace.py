"""The trace of a ramp request: created, approved, paid, received, exchanged, delivered or paid out.

Only the service records the exchange of fiat and coins. A request that ended before the exchange
has no such hop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any, Final

import msgspec

from treasury.core.money import total
from treasury.month.differences import TELLERS, Today, difference_rows
from treasury.month.funding import ACCOUNT_CHANGED, FundingRow, funding_rows, mark_words
from treasury.month.funding_words import CHANGED_ACCOUNTS, checked_account
from treasury.month.states import waiting_on
from treasury.month.trace.hops import (
    bank_line,
    event_hop,
    exchange,
    id_of,
    last_event,
    paid_out,
    reference,
    who,
    words,
)
from treasury.month.trace.payment_trace import Hop, HopState
from treasury.month.trace.trace_records import Records, Row, TraceParts, sql_of

_DELIVERY: Final = (
    "company_wallet_address", "company_wallet_chain", "crypto_currency", "approved_at",
    "completed_at",
)  # fmt: skip
"""The columns of a delivery: where, which coins, and when."""
_SENT: Final = waiting_on("service's") | {
    "SENT WRONG", "HASH USED TWICE", "PAID BEFORE APPROVAL",
}  # fmt: skip
"""The funding states in which a record proves that we have paid."""
_FUNDED: Final = ("PROCESSING", "BLOCKED", "SUCCEEDED")
"""The service's statuses after it has received the money or coins."""
_ENDED: Final = {
    "CANCELLED": "cancelled",
    "REJECTED": "rejected",
    "ADMIN_REJECTED": "denied by the provider",
    "FAILED": "failed at the service",
}


class RequestHops(Records):
    """Finds the hops of one ramp request."""

    def read(self, request_id: str) -> TraceParts:
        """Return title, hops, next step and names of a request."""
        request = self.row("SELECT * FROM ramp_requests WHERE id = ?", request_id)
        # The caller has found the request, so the row exists.
        assert request is not None
        on_ramp = request["ramp_type"] == "ON_RAMP"
        events = self.rows(
            "SELECT * FROM ramp_request_events WHERE ramp_request_id = ? ORDER BY created_at, id",
            request_id,
        )
        hops = [*self._beginning(request, events)]
        hops += self._done_by_us(request)
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
        waiting = self.rows("SELECT * FROM funding WHERE request_id = ?", request_id)
        terms = self.question.rules, self.question.today
        funding = next(iter(funding_rows(waiting, *terms, self.remarks)), None)
        if funding is not None:
            paid = {row["id"]: row["paid_account"] for row in self.rows(CHANGED_ACCOUNTS)}
            state, step = checked_account(msgspec.structs.asdict(funding), paid)
            funding = msgspec.structs.replace(funding, state=state, next_step=step)
        return TraceParts(
            title=f"{name}, {way} of {words(gross, currency)}, {request['status']}",
            hops=tuple(hops),
            next_step=self._step_of(request_id, funding),
            is_sent=_is_sent(request, funding, hops),
            names=(
                ("Payment reference", request["payment_reference"] or ""),
                ("Ramp request", request_id),
                ("Amount", words(gross, currency)),
                ("Transaction hash", request["blockchain_transaction_hash"] or ""),
            ),
        )

    def _beginning(self, request: Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
        created = last_event(events, "CREATED")
        says = f"requested by {request['created_by'] or 'an unknown user'}"
        evidence = f"ramp request {request['id']}, version {request['version']}"
        yield Hop("Request", "seen", says, at=(created or request)["created_at"], evidence=evidence)
        changed = last_event(events, "AMOUNT_CHANGED")
        if changed is not None:
            yield event_hop("Request", f"amount changed by {who(changed)}", changed)
        for kind, ended_words in _ENDED.items():
            ended = last_event(events, kind)
            if ended is not None:
                yield event_hop("Request", f"{ended_words}, by {who(ended)}", ended, "ended")
        approved = last_event(events, "APPROVED")
        if approved is not None:
            yield event_hop("Approval", f"approved by {who(approved)}", approved)
        elif request["status"] == "AWAITING_APPROVAL":
            says = "not approved yet; nothing may be paid"
            yield Hop("Approval", "missing", says, since=self.day(request["created_at"]))

    def _done_by_us(self, request: Row) -> Iterator[Hop]:
        """Yield hops of our remarks, files and hashes, which the provider does not see."""
        remark = self.remarks.get(request["id"])
        if remark is None:
            return
        if remark["file"] is not None:
            says = f"left in {remark['file']} by {remark['filed_by']}"
            yield _own_hop("Payment file", says, remark["filed_at"])
        if remark["hash_state"] is not None and not request["blockchain_transaction_hash"]:
            says = f"its hash was given by {remark['hash_by']}, and is not yet at the service"
            yield _own_hop("Transaction", says, remark["hash_at"])
        if remark["mark"] is not None:
            says = mark_words(remark["mark"], remark["marked_by"], remark["reason"])
            yield _own_hop("Remark", says, remark["marked_at"])

    def _bank_of(self, request: Row) -> Iterator[Hop]:
        """Yield hops of a request's bank lines, or one hop with the reach of the statements."""
        lines = self.rows(sql_of("lines_of_request"), request["id"], request["id"])
        for line in lines:
            yield bank_line(line)
            yield reference(line)
        on_ramp = request["ramp_type"] == "ON_RAMP"
        begun = request["approved_at"] if on_ramp else request["completed_at"]
        if any(line["outcome"] == "matched" for line in lines) or begun is None:
            return
        fiat, since = request["fiat_currency"], self.day(begun)
        if on_ramp:
            movement, amount = "debit", request["fiat_amount"]
            covered = self.row("SELECT * FROM evidence_spans WHERE currency = ?", fiat)
        else:
            movement, amount = "credit", request["fiat_net_amount"]
            account = (request["company_bank_account_iban"] or "").replace(" ", "").upper()
            query = "SELECT * FROM covered WHERE account = ? AND currency = ?"
            covered = self.row(query, account, fiat)
        reaches: date | None = covered["covered_to"] if covered else None
        reach = (
            f"the statements reach to {reaches:%-d %b %Y}" if reaches else "no statement shows it"
        )
        says = f"no {movement} of {words(amount, fiat)} is matched; {reach}"
        state: HopState = "missing" if reaches and reaches >= since else "not provable"
        yield Hop("Bank line", state, says, amount=amount, currency=fiat, since=since)

    def _received(self, request: Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
        event = last_event(events, "PAYMENT_RECEIVED")
        if event is not None:
            on_ramp = request["ramp_type"] == "ON_RAMP"
            unit = request["fiat_currency"] if on_ramp else request["crypto_currency"]
            received = request["amount_received"]
            says = f"the service received {words(received, unit) if received else 'it'}"
            yield event_hop("Service", says, event)
        elif request["is_open"] and request["approved_at"] is not None:
            sent = self.row("SELECT * FROM request_lines WHERE request_id = ?", request["id"])
            hash_event = last_event(events, "TX_HASH_ADDED")
            since = self.day((hash_event or {"created_at": request["approved_at"]})["created_at"])
            says = f"the service reports {request['status']} and has not confirmed the receipt"
            yield Hop("Service", "missing", says, since=(sent and sent["received_on"]) or since)

    def _sent_crypto(self, request: Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
        hash_ = request["blockchain_transaction_hash"]
        event = last_event(events, "TX_HASH_ADDED")
        if hash_:
            says = f"we gave the hash {hash_} on {request['crypto_chain'] or 'an unknown chain'}"
            at, evidence = (event or request)["created_at"], id_of(event)
            yield Hop("Blockchain", "seen", says, at=at, evidence=evidence, **_coins(request))
            yield from self._on_chain(request)
            rows = self.rows(
                "SELECT * FROM transfers WHERE lower(transaction_hash) = lower(?) ORDER BY id",
                hash_,
            )
            for row in rows:
                says = f"{words(row['amount'], row['asset'])} from our account, {row['status']}"
                at = row["updated_at"] or row["created_at"] or row["first_seen_at"]
                yield Hop("Transfer", "seen", says, at=at, evidence=f"transfer {row['id']}")
            yield from self._hash_problem(request["id"])
        elif request["approved_at"] is not None:
            says = "no transaction hash was given for the coins"
            yield Hop("Blockchain", "missing", says, since=self.day(request["approved_at"]))

    def _on_chain(self, request: Row) -> Iterator[Hop]:
        """Yield hops for a request's coins: seen in an export of a company wallet, or missing."""
        hash_, coin = request["blockchain_transaction_hash"], request["crypto_currency"]
        rows = self.rows(sql_of("hash_movements"), hash_)
        of_hash = self.row(sql_of("hash_due"), hash_, coin)
        covering = self.row(sql_of("covering_export"), *(request[name] for name in _DELIVERY))
        due = of_hash["due"] if of_hash else None
        asset = coin or "?"
        to = request["company_wallet_address"] if request["ramp_type"] == "ON_RAMP" else None
        arrived = total(
            row["amount"]
            for row in rows
            if row["asset"] == asset and (to is None or row["to_address"].lower() == to.lower())
        )
        for row in rows:
            state: HopState = "seen"
            amount, unit = row["amount"], row["asset"]
            moved = f"{words(amount, unit)} from {row['from_address']} to {row['to_address']}"
            says = f"the chain shows {moved}"
            if arrived != due:
                state = "conflict"
                says += f"; {words(due, asset)} is recorded for this hash"
            at, evidence = row["moved_at"], f"explorer export {row['file_name']}"
            yield Hop("Wallet", state, says, at=at, amount=amount, currency=unit, evidence=evidence)
        if covering and to is not None and not rows:
            says = (
                f"the chain does not show {words(request['crypto_amount'], asset)} arriving at {to}"
            )
            since = request["completed_at"].date()
            evidence = f"explorer export {covering['file_name']}"
            yield Hop("Wallet", "missing", says, since=since, evidence=evidence)

    def _hash_problem(self, request_id: str) -> Iterator[Hop]:
        for row in self.rows(sql_of("problems_of_hash"), request_id):
            other_item = f" (see {row['other']})" if row["other"] else ""
            says = f"{row['state'].lower()}{other_item}"
            yield Hop("Blockchain", "conflict", says, is_for_provider=False)

    def _delivered(self, request: Row, events: list[dict[str, Any]]) -> Iterator[Hop]:
        event = last_event(events, "COMPLETED")
        coins = words(request["crypto_amount"], request["crypto_currency"])
        if event is None and request["status"] != "SUCCEEDED":
            received = last_event(events, "PAYMENT_RECEIVED")
            if received is not None and request["is_open"]:
                says = f"{coins} not delivered; the service reports {request['status']}"
                yield Hop("Wallet", "missing", says, since=self.day(received["created_at"]))
            return
        hash_ = request["blockchain_transaction_hash"]
        proof = f"hash {hash_}" if hash_ else "it gives no hash"
        state: HopState = "seen" if hash_ else "as recorded"
        says, at = f"service reports delivery ({proof})", (event or request)["created_at"]
        evidence = (
            f"{id_of(event) or 'status SUCCEEDED'}; to"
            f" {request['company_wallet_address'] or 'a wallet not stated'}; the service"
            " shows no balances of company wallets"
        )
        yield Hop("Wallet", state, says, at=at, evidence=evidence, **_coins(request))
        yield from self._on_chain(request)
        yield from self._hash_problem(request["id"])

    def _step_of(self, request_id: str, funding: FundingRow | None) -> str:
        """Return the next step of a request, from the month's differences or its funding state."""
        if funding is not None and funding.state == ACCOUNT_CHANGED:
            return _state_and_step(funding.state, funding.next_step)
        question = self.question
        today = Today(question.today, question.month.last, question.zone, question.rules)
        steps = {
            name: self.rows(f'SELECT * FROM "{name}" WHERE request_id = ?', request_id)  # noqa: S608 - names of ours
            for name in TELLERS
        }
        differences = difference_rows(steps, (), (), today)
        if differences:
            return _state_and_step(differences[0].state, differences[0].next_step)
        return "" if funding is None else _state_and_step(funding.state, funding.next_step)


def _is_sent(request: Row, funding: FundingRow | None, hops: Sequence[Hop]) -> bool:
    """Return whether a record proves that our money or coins for a request have left.

    While the request waits for its funds, its funding state shows it. Otherwise the request's
    status or an event of the service shows it, or else a bank line or the transaction hash.
    """
    if funding is not None:
        return funding.state in _SENT
    place = "Bank line" if request["ramp_type"] == "ON_RAMP" else "Blockchain"
    return request["status"] in _FUNDED or any(
        hop.place in {"Service", place} and hop.state in {"seen", "conflict"} for hop in hops
    )


def _coins(request: Row) -> dict[str, Any]:
    return {"amount": request["crypto_amount"], "currency": request["crypto_currency"]}


def _state_and_step(state: str, step: str) -> str:
    """Return a state with its next step, without repeating the state."""
    return step if step.startswith(state) else f"{state}: {step}"


def _own_hop(place: str, says: str, at: datetime) -> Hop:
    """Return a hop that only our journal has; the provider does not see it."""
    return Hop(place, "as recorded", says, at=at, evidence="journal", is_for_provider=False)
