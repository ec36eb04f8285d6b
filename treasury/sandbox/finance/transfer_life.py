"""The life of an accepted transfer: PENDING, PROCESSING, then COMPLETED or FAILED.

The clock runs each step when it is due, or a driver runs it earlier. A step that no longer applies
has no effect. The reserved amount is delivered or released only once, because a step moves only
what the ledger still shows as reserved.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from treasury.core.calendar import next_target_day
from treasury.sandbox.finance.finance_records import move, wallets_of
from treasury.sandbox.http.exchange import missing
from treasury.sandbox.state.clock import at
from treasury.sandbox.state.ledger import CONVERSION, WORLD, Posting, available
from treasury.sandbox.state.shapes import AccountTransfer, Transfer, decode, zulu
from treasury.sandbox.story.world import World

AnyTransfer: TypeAlias = Transfer | AccountTransfer

PROCESSES: Final = "finance.transfer.processes"
COMPLETES: Final = "finance.transfer.completes"
_WAIT: Final = {
    # Seconds until a transfer is submitted, and until it is final.
    "internal": (1, 4),
    "crypto": (2, 12),
    # A fiat transfer is final on the next TARGET day.
    "fiat": (60, None),
}


def plan(world: World, transfer_id: str, kind: str) -> None:
    """Schedule the automatic steps of a new transfer."""
    now, (submitted, final) = world.clock.now, _WAIT[kind]
    end = at(next_target_day(world.clock.today), "10:00")
    if final is not None:
        end = now + timedelta(seconds=final)
    world.agenda.add(now + timedelta(seconds=submitted), PROCESSES, transfer_id)
    world.agenda.add(end, COMPLETES, transfer_id)


def find(world: World, transfer_id: str) -> AnyTransfer:
    """Return a transfer of any kind. Raises a 404 if it does not exist."""
    if (text := world.store.detail("transfer", transfer_id)) is not None:
        return decode(text, Transfer)
    if (text := world.store.detail("account_transfer", transfer_id)) is not None:
        return decode(text, AccountTransfer)
    raise missing("transfer")


def process(world: World, transfer_id: str) -> AnyTransfer:
    """Submit a transfer to the chain or the payment system."""
    transfer = find(world, transfer_id)
    return _set_status(world, transfer, "PROCESSING") if transfer.status == "PENDING" else transfer


def complete(world: World, transfer_id: str) -> AnyTransfer:
    """Deliver the amount to the receiver's wallet or out of the service."""
    transfer = find(world, transfer_id)
    if not _is_open(transfer):
        return transfer
    for place, asset, amount in world.ledger.under_way(transfer.id):
        move(world, "deliver", transfer.id, *_delivery(world, transfer, place, asset, amount))
    return _set_status(world, transfer, "COMPLETED")


def fail(world: World, transfer_id: str, code: str, reason: str) -> AnyTransfer:
    """Fail a transfer: return its reserved amount to the sender.

    The network fee is returned too, unless the transfer was submitted to the chain.
    """
    transfer = find(world, transfer_id)
    if not _is_open(transfer):
        return transfer
    for place, asset, amount in world.ledger.under_way(transfer.id):
        back = available(place.split("/")[1])
        postings = [Posting(place, back, asset, amount)]
        fee = transfer.network_fee if isinstance(transfer, Transfer) else None
        if fee is not None and transfer.status == "PENDING":
            postings.append(Posting(WORLD, back, asset, fee))
        move(world, "give_back", transfer.id, *postings)
    failure: dict[str, Any] = {"failure_code": code, "failure_reason": reason}
    if isinstance(transfer, Transfer):
        failure |= {"error_message": reason, "transaction_hash": None}
    return _set_status(world, transfer, "FAILED", **failure)


def _is_open(transfer: AnyTransfer) -> bool:
    return transfer.status in {"PENDING", "PROCESSING"}


def _delivery(
    world: World, transfer: AnyTransfer, place: str, asset: str, amount: Decimal
) -> list[Posting]:
    if isinstance(transfer, AccountTransfer):
        receiver: str | None = transfer.destination_account_id
    else:
        receiver = transfer.receiver_account_id
    if receiver is not None:
        wallet = wallets_of(world, receiver)[0]
        return [Posting(place, available(wallet.id), asset, amount)]
    if isinstance(transfer, Transfer) and transfer.fiat_origin is not None:
        paid = Posting(CONVERSION, WORLD, "EUR", transfer.fiat_origin.amount)
        return [Posting(place, CONVERSION, asset, amount), paid]
    return [Posting(place, WORLD, asset, amount)]


def _set_status(world: World, transfer: AnyTransfer, status: str, **changes: Any) -> AnyTransfer:
    if isinstance(transfer, Transfer) and status != "FAILED" and transfer.transaction_hash is None:
        changes["transaction_hash"] = world.ids.hash()
    now = zulu(world.clock.now)
    return world.keep(replace(transfer, status=status, updated_at=now, **changes))
