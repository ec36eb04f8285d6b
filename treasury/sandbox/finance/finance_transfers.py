"""The four ways to create a transfer, and what has to hold before one is accepted.

The sender is active, verified, and holds the asset on that chain; there is exactly one receiver.
What is to be sent is set aside at once; `transfer_life` says what becomes of it.
"""

from __future__ import annotations

from decimal import Decimal

import msgspec

from treasury.money import quantize
from treasury.sandbox.finance.finance_records import (
    account_named,
    account_of,
    is_verified,
    move,
    spendable,
    wallets_of,
)
from treasury.sandbox.finance.transfer_life import plan
from treasury.sandbox.http.body_fields import (
    AnyCryptoBody,
    AnyFiatBody,
    BankBlock,
    CryptoBody,
    FiatBody,
    FiatFields,
    InternalBody,
    amount_of_number,
    amount_of_text,
    exactly_one,
)
from treasury.sandbox.http.exchange import Call, Refusal, Reply, invalid, missing, result
from treasury.sandbox.state.ids import is_iban
from treasury.sandbox.state.ledger import WORLD, Posting, available, reserved
from treasury.sandbox.state.shapes import (
    Account,
    AccountTransfer,
    FiatOrigin,
    Transfer,
    Wallet,
    encode,
    number,
    zulu,
)
from treasury.sandbox.story.rates import NETWORK_FEES, payout_rate
from treasury.sandbox.story.world import World

__all__ = [
    "create_any", "create_crypto", "create_fiat", "create_internal", "make_crypto", "make_fiat",
    "sender_of",
]  # fmt: skip


def create_crypto(world: World, call: Call) -> Reply:
    """POST /accounts/{senderAccountId}/transfers/crypto."""
    return _created(make_crypto(world, call.path["senderAccountId"], call.read(CryptoBody)))


def create_fiat(world: World, call: Call) -> Reply:
    """POST /accounts/{senderAccountId}/transfers/fiat."""
    return _created(make_fiat(world, call.path["senderAccountId"], call.read(FiatBody)))


def create_any(world: World, call: Call) -> Reply:
    """POST /transfers: the sender and either typed body; a currency makes it a fiat one."""
    if "currency" in call.body:
        fiat = call.read(AnyFiatBody)
        return _created(make_fiat(world, fiat.sender_account_id, fiat))
    crypto = call.read(AnyCryptoBody)
    return _created(make_crypto(world, crypto.sender_account_id, crypto))


def create_internal(world: World, call: Call) -> Reply:
    """POST /account-to-account-transfers: no chain is touched, so the chains may differ."""
    body = call.read(InternalBody)
    amount = amount_of_text(body.amount, body.cryptocurrency)
    sender = sender_of(world, body.source_account_id)
    receiver = _receiver(world, sender, body.destination_account_id, None)
    wallet = _wallet_with(world, sender, body.cryptocurrency)
    now = zulu(world.clock.tick())
    transfer = AccountTransfer(
        id=world.ids.uuid(), source_account_id=sender.id, destination_account_id=receiver.id,
        amount=f"{amount:.6f}", cryptocurrency=body.cryptocurrency, status="PENDING",
        created_at=now, updated_at=now,
    )  # fmt: skip
    world.keep(transfer)
    _set_aside(world, transfer.id, wallet, body.cryptocurrency, amount)
    plan(world, transfer.id, "internal")
    return _created(transfer)


def make_crypto(
    world: World, sender_id: str, body: CryptoBody, merchant_reference: str | None = None
) -> Transfer:
    """A new crypto transfer, its amount set aside."""
    exactly_one(
        receiverAccountId=body.receiver_account_id,
        receiverExternalId=body.receiver_external_id,
        destinationAddress=body.destination_address,
    )
    amount = amount_of_number(body.amount, body.asset)
    sender = sender_of(world, sender_id)
    if body.chain != sender.chain:
        raise _not_held(body.asset, body.chain)
    receiver = None
    if body.destination_address is None:
        receiver = _receiver(world, sender, body.receiver_account_id, body.receiver_external_id)
        _same_chain(sender, receiver)
    transfer = _transfer(world, (sender, receiver), body.asset, amount, body.idempotency_key)
    fee = NETWORK_FEES[sender.chain] if world.charges_network_fees else None
    transfer = msgspec.structs.replace(
        transfer, description=body.description, merchant_reference=merchant_reference,
        destination_address=body.destination_address, network_fee=fee,
    )  # fmt: skip
    return _accepted(world, sender, transfer, "crypto")


def make_fiat(
    world: World, sender_id: str, body: FiatFields, merchant_reference: str | None = None
) -> Transfer:
    """A new transfer asked for in euros, its amount in coins set aside."""
    exactly_one(
        receiverAccountId=body.receiver_account_id,
        receiverExternalId=body.receiver_external_id,
        bankAccount=body.bank_account,
    )
    euros = amount_of_number(body.amount, body.currency)
    sender, receiver = sender_of(world, sender_id), None
    if body.bank_account is not None:
        if not is_iban(body.bank_account.iban):
            raise invalid("bankAccount.iban does not have valid check digits.")
    else:
        receiver = _receiver(world, sender, body.receiver_account_id, body.receiver_external_id)
        _same_chain(sender, receiver)
    # What a fiat transfer is paid with: the asset that the sender has most of in euros.
    euros_by_asset = {
        asset: holding[1] * payout_rate(asset)
        for asset in world.cast.contracts
        if (holding := spendable(world, sender.id, asset))
    }
    if not euros_by_asset:
        raise Refusal(422, "ASSET_NOT_HELD", "The sender holds nothing to pay with.")
    asset = max(sorted(euros_by_asset), key=lambda asset: euros_by_asset[asset])
    rate = payout_rate(asset, body.currency)
    amount = quantize(euros / rate, "EUR")
    transfer = _transfer(world, (sender, receiver), asset, amount, body.idempotency_key)
    transfer = msgspec.structs.replace(
        transfer, description=body.description, merchant_reference=merchant_reference,
        fiat_origin=FiatOrigin(currency=body.currency, amount=number(euros), exchange_rate=rate),
        bank_account=_block(body.bank_account),
    )  # fmt: skip
    return _accepted(world, sender, transfer, "fiat")


def sender_of(world: World, account_id: str) -> Account:
    """The account that is to send: active, its holders active and verified."""
    account = account_of(world, account_id)
    _require_active(account)
    for role in account.party_roles:
        if role.party.status != "ACTIVE":
            raise Refusal(422, "PARTY_NOT_ACTIVE", f"The sender's party is {role.party.status}.")
    if not is_verified(account):
        raise Refusal(422, "KYC_NOT_VERIFIED", "The sender's party is not verified.")
    return account


def _require_active(account: Account) -> None:
    if account.status != "ACTIVE":
        raise Refusal(422, "ACCOUNT_NOT_ACTIVE", f"The account is {account.status}.")


def _receiver(
    world: World, sender: Account, account_id: str | None, external_id: str | None
) -> Account:
    """The account that is to receive: another one, active, with a wallet."""
    named_account = account_named(world, external_id) if external_id is not None else None
    if external_id is not None and named_account is None:
        raise missing("account")
    receiver = named_account or account_of(world, account_id or "")
    if receiver.id == sender.id:
        raise invalid("The receiver is the sender.")
    _require_active(receiver)
    if not wallets_of(world, receiver.id):
        raise Refusal(422, "ACCOUNT_WALLET_MISSING", "The receiver has no wallet.")
    return receiver


def _same_chain(sender: Account, receiver: Account) -> None:
    if receiver.chain != sender.chain:
        message = f"The receiver is on {receiver.chain}, the sender on {sender.chain}."
        raise Refusal(422, "CHAIN_MISMATCH", message)


def _not_held(asset: str, chain: str) -> Refusal:
    return Refusal(422, "ASSET_NOT_HELD", f"The sender holds no {asset} on {chain}.")


def _wallet_with(world: World, sender: Account, asset: str) -> Wallet:
    holding = spendable(world, sender.id, asset)
    if holding is None:
        raise _not_held(asset, sender.chain)
    wallet, _ = holding
    if wallet.status != "ACTIVE":
        raise Refusal(400, "ACCOUNT_WALLET_NOT_ACTIVE", f"The wallet is {wallet.status}.")
    return wallet


def _block(bank: BankBlock | None) -> dict[str, str] | None:
    if bank is None:
        return None
    block = {"iban": bank.iban, "beneficiaryName": bank.beneficiary_name}
    return block | {"bic": bank.bic} if bank.bic else block


def _transfer(
    world: World,
    sides: tuple[Account, Account | None],
    asset: str,
    amount: Decimal,
    key: str,
) -> Transfer:
    sender, receiver = sides
    now = zulu(world.clock.tick())
    return Transfer(
        id=world.ids.uuid(), sender_account_id=sender.id,
        receiver_account_id=receiver.id if receiver else None, chain=sender.chain, asset=asset,
        amount=number(amount), idempotency_key=key, status="PENDING", created_at=now,
        updated_at=now,
    )  # fmt: skip


def _accepted(world: World, sender: Account, transfer: Transfer, kind: str) -> Transfer:
    wallet = _wallet_with(world, sender, transfer.asset)
    _set_aside(world, transfer.id, wallet, transfer.asset, transfer.amount)
    if transfer.network_fee is not None:
        fee = Posting(available(wallet.id), WORLD, transfer.asset, transfer.network_fee)
        move(world, "network_fee", transfer.id, fee)
    world.keep(transfer)
    plan(world, transfer.id, kind)
    return transfer


def _set_aside(world: World, reference: str, wallet: Wallet, asset: str, amount: Decimal) -> None:
    move(
        world, "reserve", reference,
        Posting(available(wallet.id), reserved(wallet.id), asset, amount),
    )  # fmt: skip


def _created(transfer: Transfer | AccountTransfer) -> Reply:
    return result(encode(transfer), 201)
