"""Where each small table comes from: declarations that the sync reads.

These tables are asked for whole at every sync, so that a record which is listed no more can be
marked. Transfers and ramp requests, which grow without end, have their own modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from treasury.api import Client, Record
from treasury.extract import finance, ramp
from treasury.extract.ramp import FoundPair
from treasury.extract.rows import Form, Found

__all__ = ["PER_ACCOUNT", "WHOLE", "PerAccount", "Whole"]


class Whole(msgspec.Struct, frozen=True):
    """A table that one list fills; `detail` where `lacks` says that a list item is not enough."""

    form: Form
    ask: Callable[[Client], Iterable[Found]]
    detail: Callable[[Client, str], Record[Any]] | None = None
    lacks: Callable[[Any], bool] = lambda _value: True


class PerAccount(msgspec.Struct, frozen=True):
    """A table that has a list for each account."""

    form: Form
    ask: Callable[[Client, str], Iterable[Record[Any]]]


def _plain(records: Iterable[Record[Any]]) -> Iterator[Found]:
    return (Found(value=record.value, raw=record.raw) for record in records)


def _pairs(client: Client) -> Iterator[Found]:
    listed = {"ON_RAMP": client.ramp.on_ramp_pairs, "OFF_RAMP": client.ramp.off_ramp_pairs}
    for ramp_type, pairs in listed.items():
        for record in pairs.all():
            yield FoundPair(value=record.value, raw=record.raw, ramp_type=ramp_type)


WHOLE: Final = (
    Whole(finance.ACCOUNTS, lambda c: _plain(c.finance.accounts.iterate())),
    Whole(
        finance.PARTIES,
        lambda c: _plain(c.finance.parties.iterate()),
        detail=lambda c, party: c.finance.parties.get(party),
        lacks=lambda party: party.kyc_status is None and party.kyb_status is None,
    ),
    Whole(ramp.COMPANY, lambda c: _plain([c.ramp.company.get()])),
    Whole(ramp.COMPANY_USERS, lambda c: _plain(c.ramp.users.all())),
    Whole(
        ramp.COMPANY_BANK_ACCOUNTS,
        lambda c: _plain(c.ramp.bank_accounts.iterate()),
        detail=lambda c, account: c.ramp.bank_accounts.get(account),
    ),
    Whole(
        ramp.COMPANY_WALLETS,
        lambda c: _plain(c.ramp.wallets.iterate()),
        detail=lambda c, wallet: c.ramp.wallets.get(wallet),
    ),
    Whole(ramp.FEES, lambda c: _plain(c.ramp.fees.all())),
    Whole(ramp.CURRENCY_PAIRS, _pairs),
    Whole(ramp.FIAT_CURRENCIES, lambda c: _plain(c.ramp.fiat_currencies.all())),
    Whole(ramp.CRYPTO_CURRENCIES, lambda c: _plain(c.ramp.crypto_currencies.all())),
    Whole(ramp.CHAINS, lambda c: _plain(c.ramp.chains.all())),
    Whole(ramp.BANK_ACCOUNT_CONFIG, lambda c: _plain(c.ramp.bank_config.all())),
)
"""The accounts come first: other lists are asked for by account."""

PER_ACCOUNT: Final = (
    PerAccount(finance.WALLETS, lambda c, account: c.finance.wallets.iterate(account)),
    PerAccount(finance.PARTY_ROLES, lambda c, account: c.finance.party_roles.all(account)),
    PerAccount(
        finance.VIRTUAL_BANK_ACCOUNTS,
        lambda c, account: c.finance.virtual_bank_accounts.iterate(account),
    ),
)
