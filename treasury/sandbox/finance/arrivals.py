"""Incoming euros that are converted to stablecoins: SEPA credits and paid sessions.

An arrival is an incoming payment: it is received, converted at the day's rate and credited to the
account's wallet. If the account is not verified or has no wallet yet, the coins are held and
credited later. No endpoint lists arrivals: clients see the changed balance and, for a session, get
the callback.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from treasury.core.calendar import next_target_day
from treasury.core.money import net_crypto
from treasury.sandbox.finance import sessions
from treasury.sandbox.finance.finance_records import account_of, is_verified, move, wallets_of
from treasury.sandbox.http.exchange import stored
from treasury.sandbox.state.clock import at
from treasury.sandbox.state.ledger import CONVERSION, WORLD, Posting, available, suspense
from treasury.sandbox.state.shapes import Account, VirtualBankAccount, bare, decode
from treasury.sandbox.state.store import make_record
from treasury.sandbox.story.world import World

CONVERTS: Final = "finance.arrival.converts"
"""Name of the scheduled step that converts an arrival."""
_BY_HAND: Final = timedelta(hours=36)
"""Time until a person assigns a wire without a code; the specification states 24 to 48 hours."""


class Arrival(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Euros on their way into a wallet; the status is RECEIVED, HELD or CREDITED."""

    id: str
    account_id: str
    source: str
    """`sepa_credit` or `payment_session`."""
    source_id: str
    euros: Decimal
    asset: str
    status: str
    text: str = ""
    instant: bool = False
    has_code: bool = True
    due: datetime | None = None
    """Time of the automatic conversion; None if only a driver can convert the arrival."""
    rate: Decimal | None = None
    coins: Decimal | None = None
    created_at: str
    updated_at: str


def arrive_by_sepa(
    world: World, virtual: VirtualBankAccount, euros: Decimal, text: str, *, instant: bool
) -> Arrival:
    """Register a wire to a virtual account, and convert it now or schedule its conversion.

    An instant wire is converted now, any other on the next TARGET day. A wire without the account's
    code is converted after 36 hours. A wire to an inactive account waits for the driver
    `place_credit`.
    """
    clock = world.clock
    clock.tick()
    # The code must be a separate word in the payment's text.
    cleaned = "".join(
        letter if letter.isalnum() or letter in "-." else " " for letter in text.upper()
    )
    words = {word.replace("-", "").replace(".", "") for word in cleaned.split()}
    has_code = virtual.reference_code.replace("-", "") in words
    due = clock.now if instant else at(next_target_day(clock.today), "09:00")
    if not has_code:
        due = clock.now + _BY_HAND
    return _arrive(
        world, account_id=virtual.account_id, source="sepa_credit", source_id=virtual.id,
        euros=euros, asset=virtual.target_cryptocurrency, text=text, instant=instant,
        has_code=has_code, due=due if virtual.status == "ACTIVE" else None,
    )  # fmt: skip


def arrive_by_session(world: World, file: sessions.SessionFile) -> Arrival:
    """Convert a payment session's amount at once, after the customer has paid."""
    now, session = world.clock.tick(), file.session
    return _arrive(
        world, account_id=session.account_id, source="payment_session", source_id=session.id,
        euros=session.in_amount, asset=session.out_cryptocurrency, due=now,
    )  # fmt: skip


def _arrive(world: World, *, due: datetime | None, **fields: Any) -> Arrival:
    now = bare(world.clock.now)
    arrival = _put(world, Arrival(
        id=world.ids.uuid(), status="RECEIVED", due=due, created_at=now, updated_at=now, **fields
    ))  # fmt: skip
    if due is not None and due <= world.clock.now:
        return convert(world, arrival.id)
    if due is not None:
        world.agenda.add(due, CONVERTS, arrival.id)
    return arrival


def convert(world: World, arrival_id: str) -> Arrival:
    """Convert an arrival's euros into coins, and credit them if the account may receive them.

    An arrival that was converted before is returned unchanged.
    """
    arrival = stored(world, "arrival", arrival_id, Arrival)
    if arrival.status != "RECEIVED":
        return arrival
    rate = world.quotes.rate(arrival.asset, world.clock.today)
    coins = net_crypto(arrival.euros, Decimal(0), rate, arrival.asset)
    place = suspense(arrival.account_id)
    move(
        world, "conversion", arrival.id, Posting(WORLD, CONVERSION, "EUR", arrival.euros),
        Posting(CONVERSION, place, arrival.asset, coins),
    )  # fmt: skip
    arrival = _put(
        world,
        replace(arrival, status="HELD", rate=rate, coins=coins, updated_at=bare(world.clock.now)),
    )
    account = account_of(world, arrival.account_id)
    return _credit(world, account, arrival) if _may_hold(world, account) else arrival


def release(world: World, account: Account) -> list[Arrival]:
    """Credit the coins held for an account, if it may receive them now; return the arrivals."""
    account = account_of(world, account.id)
    if not _may_hold(world, account):
        return []
    waiting = world.store.page("arrival", {"owner": [account.id], "status": ["HELD"]}).items
    return [_credit(world, account, decode(item, Arrival)) for item in waiting]


def _may_hold(world: World, account: Account) -> bool:
    return is_verified(account) and bool(wallets_of(world, account.id))


def _credit(world: World, account: Account, arrival: Arrival) -> Arrival:
    assert arrival.coins is not None
    wallet = wallets_of(world, account.id)[0]
    move(
        world, "credit", arrival.id,
        Posting(suspense(account.id), available(wallet.id), arrival.asset, arrival.coins),
    )  # fmt: skip
    if arrival.source == "payment_session":
        sessions.finish(world, arrival.source_id)
    now = bare(world.clock.now)
    return _put(world, replace(arrival, status="CREDITED", updated_at=now))


def _put(world: World, arrival: Arrival) -> Arrival:
    world.store.put([make_record("arrival", arrival, owner=arrival.account_id)])
    return arrival
