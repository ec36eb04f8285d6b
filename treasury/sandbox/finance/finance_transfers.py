"""The four operations that create a transfer, and their conditions.

The sender must be active and verified, and must hold the asset on the chain; there must be exactly
one receiver. The amount is reserved at once; `transfer_life` implements the later steps.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Final, Literal

import msgspec

from treasury.core.money import quantize
from treasury.sandbox.finance import finance_records as records
from treasury.sandbox.finance.transfer_life import plan
from treasury.sandbox.http import body_fields as fields
from treasury.sandbox.http.body_fields import JsonBody, Key, Long
from treasury.sandbox.http.exchange import Call, Refusal, Reply, invalid, missing, result, stored
from treasury.sandbox.http.idempotency import create_route
from treasury.sandbox.http.lists import Listing, list_route, read_route
from treasury.sandbox.state import shapes
from treasury.sandbox.state.ids import is_iban
from treasury.sandbox.state.ledger import WORLD, Posting, available, reserved
from treasury.sandbox.state.shapes import Account, AccountTransfer, Transfer, encode, number, zulu
from treasury.sandbox.story.rates import NETWORK_FEES, payout_rate
from treasury.sandbox.story.world import World


class InternalBody(JsonBody, frozen=True, kw_only=True):
    """A transfer between two accounts inside the service."""

    source_account_id: str
    destination_account_id: str
    amount: fields.DecimalText
    cryptocurrency: Literal["USDC"]
    idempotency_key: Key | None = None


class _Outward(JsonBody, frozen=True, kw_only=True):
    """Fields that crypto and fiat transfers share."""

    amount: fields.Number
    receiver_account_id: str | None = None
    receiver_external_id: str | None = None
    description: fields.Text | None = None
    idempotency_key: Key


class CryptoBody(_Outward, frozen=True, kw_only=True):
    """A transfer of an asset; the name `destinationAddress` (an outside wallet) is invented."""

    chain: Long
    asset: Long
    destination_address: Annotated[str, msgspec.Meta(pattern="^0x[0-9a-fA-F]{40}$")] | None = None


class BankBlock(JsonBody, frozen=True, kw_only=True):
    """An outside bank account; the specification does not define these fields."""

    iban: str
    beneficiary_name: Long
    bic: Long | None = None


class FiatFields(_Outward, frozen=True, kw_only=True):
    """Fields of a transfer ordered in fiat."""

    currency: Literal["EUR", "USD", "GBP"]
    bank_account: BankBlock | None = None


class FiatBody(FiatFields, frozen=True, kw_only=True):
    """A transfer ordered in euros."""

    currency: Literal["EUR"]


class AnyCryptoBody(CryptoBody, frozen=True, kw_only=True):
    """A crypto transfer with its sender in the body."""

    sender_account_id: str


class AnyFiatBody(FiatBody, frozen=True, kw_only=True):
    """A fiat transfer with its sender in the body."""

    sender_account_id: str


def create_crypto(world: World, call: Call) -> Transfer:
    """POST /accounts/{senderAccountId}/transfers/crypto: transfer an asset."""
    return make_crypto(world, call.path["senderAccountId"], call.read(CryptoBody))


def create_fiat(world: World, call: Call) -> Transfer:
    """POST /accounts/{senderAccountId}/transfers/fiat: transfer an amount ordered in euros."""
    return make_fiat(world, call.path["senderAccountId"], call.read(FiatBody))


def create_any(world: World, call: Call) -> Transfer:
    """POST /transfers: either kind of transfer; a currency in the body makes it a fiat transfer."""
    if "currency" in call.body:
        fiat = call.read(AnyFiatBody)
        return make_fiat(world, fiat.sender_account_id, fiat)
    crypto = call.read(AnyCryptoBody)
    return make_crypto(world, crypto.sender_account_id, crypto)


def create_internal(world: World, call: Call) -> AccountTransfer:
    """POST /account-to-account-transfers: transfer between accounts, even on different chains."""
    body = call.read(InternalBody)
    amount = fields.amount_of_text(body.amount, body.cryptocurrency)
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
    _set_aside(world, transfer.id, wallet.id, body.cryptocurrency, amount)
    plan(world, transfer.id, "internal")
    return transfer


def make_crypto(
    world: World, sender_id: str, body: CryptoBody, merchant_reference: str | None = None
) -> Transfer:
    """Create a crypto transfer, reserve its amount, and charge the network fee."""
    fields.exactly_one(
        receiverAccountId=body.receiver_account_id,
        receiverExternalId=body.receiver_external_id,
        destinationAddress=body.destination_address,
    )
    amount = fields.amount_of_number(body.amount, body.asset)
    sender = sender_of(world, sender_id)
    if body.chain != sender.chain:
        raise _not_held(body.asset, body.chain)
    receiver = _receiver_on_chain(world, sender, body, body.destination_address)
    return _accepted(
        world, "crypto", (sender, receiver), amount, body, asset=body.asset,
        merchant_reference=merchant_reference, destination_address=body.destination_address,
        network_fee=NETWORK_FEES[sender.chain],
    )  # fmt: skip


def make_fiat(
    world: World, sender_id: str, body: FiatFields, merchant_reference: str | None = None
) -> Transfer:
    """Create a transfer ordered in fiat, and reserve its amount in coins."""
    fields.exactly_one(
        receiverAccountId=body.receiver_account_id,
        receiverExternalId=body.receiver_external_id,
        bankAccount=body.bank_account,
    )
    euros = fields.amount_of_number(body.amount, body.currency)
    sender = sender_of(world, sender_id)
    if body.bank_account is not None and not is_iban(body.bank_account.iban):
        raise invalid("bankAccount.iban does not have valid check digits.")
    receiver = _receiver_on_chain(world, sender, body, body.bank_account)
    # A fiat transfer is paid with the sender's asset of the highest value in euros.
    euros_by_asset = {
        asset: holding[1] * payout_rate(asset)
        for asset in world.cast.contracts
        if (holding := records.spendable(world, sender.id, asset))
    }
    if not euros_by_asset:
        raise Refusal(422, "ASSET_NOT_HELD", "The sender holds nothing to pay with.")
    asset = max(sorted(euros_by_asset), key=lambda asset: euros_by_asset[asset])
    rate = payout_rate(asset, body.currency)
    amount = quantize(euros / rate, "EUR")
    euros = number(euros)
    origin = shapes.FiatOrigin(currency=body.currency, amount=euros, exchange_rate=rate)
    return _accepted(
        world, "fiat", (sender, receiver), amount, body, asset=asset, fiat_origin=origin,
        merchant_reference=merchant_reference, bank_account=_block(body.bank_account),
    )  # fmt: skip


def sender_of(world: World, account_id: str) -> Account:
    """Return the sending account; it and its holders must be active, and the holders verified."""
    account = records.account_of(world, account_id)
    _require_active(account)
    for role in account.party_roles:
        if role.party.status != "ACTIVE":
            raise Refusal(422, "PARTY_NOT_ACTIVE", f"The sender's party is {role.party.status}.")
    if not records.is_verified(account):
        raise Refusal(422, "KYC_NOT_VERIFIED", "The sender's party is not verified.")
    return account


def _require_active(account: Account) -> None:
    if account.status != "ACTIVE":
        raise Refusal(422, "ACCOUNT_NOT_ACTIVE", f"The account is {account.status}.")


def _receiver(
    world: World, sender: Account, account_id: str | None, external_id: str | None
) -> Account:
    """Return the receiving account, which must be another active account with a wallet."""
    named_account = records.account_named(world, external_id) if external_id is not None else None
    if external_id is not None and named_account is None:
        raise missing("account")
    receiver = named_account or records.account_of(world, account_id or "")
    if receiver.id == sender.id:
        raise invalid("The receiver is the sender.")
    _require_active(receiver)
    if not records.wallets_of(world, receiver.id):
        raise Refusal(422, "ACCOUNT_WALLET_MISSING", "The receiver has no wallet.")
    return receiver


def _receiver_on_chain(
    world: World, sender: Account, body: _Outward, outside: object
) -> Account | None:
    """Return the receiving account, on the sender's chain; None for an outside receiver."""
    if outside is not None:
        return None
    receiver = _receiver(world, sender, body.receiver_account_id, body.receiver_external_id)
    if receiver.chain != sender.chain:
        message = f"The receiver is on {receiver.chain}, the sender on {sender.chain}."
        raise Refusal(422, "CHAIN_MISMATCH", message)
    return receiver


def _not_held(asset: str, chain: str) -> Refusal:
    return Refusal(422, "ASSET_NOT_HELD", f"The sender holds no {asset} on {chain}.")


def _wallet_with(world: World, sender: Account, asset: str) -> shapes.Wallet:
    holding = records.spendable(world, sender.id, asset)
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


def _accepted(
    world: World,
    kind: str,
    sides: tuple[Account, Account | None],
    amount: Decimal,
    body: _Outward,
    **more: Any,
) -> Transfer:
    (sender, receiver), now = sides, zulu(world.clock.tick())
    transfer = Transfer(
        id=world.ids.uuid(), sender_account_id=sender.id,
        receiver_account_id=receiver.id if receiver else None, chain=sender.chain,
        amount=number(amount), description=body.description, status="PENDING", created_at=now,
        idempotency_key=body.idempotency_key, updated_at=now, **more,
    )  # fmt: skip
    wallet = _wallet_with(world, sender, transfer.asset)
    _set_aside(world, transfer.id, wallet.id, transfer.asset, transfer.amount)
    if transfer.network_fee is not None:
        fee = Posting(available(wallet.id), WORLD, transfer.asset, transfer.network_fee)
        records.move(world, "network_fee", transfer.id, fee)
    world.keep(transfer)
    plan(world, transfer.id, kind)
    return transfer


def _set_aside(world: World, transfer: str, wallet: str, asset: str, amount: Decimal) -> None:
    posting = Posting(available(wallet), reserved(wallet), asset, amount)
    records.move(world, "reserve", transfer, posting)


_SIDES: Final = {"SENDER": ("owner",), "RECEIVER": ("peer",), None: ("owner", "peer")}


def _seen_from(call: Call) -> dict[str, str]:
    """Return query columns that select the transfers that an account sent, received, or both."""
    role = call.query_value("accountRole")
    if role not in _SIDES:
        raise invalid("accountRole must be SENDER or RECEIVER.")
    return dict.fromkeys(_SIDES[role], call.path["accountId"])


def read_transfer(world: World, call: Call) -> Reply:
    """Return a transfer if the account sent or received it."""
    transfer = stored(world, "transfer", call.path["transferId"], Transfer)
    if call.path["accountId"] not in {transfer.sender_account_id, transfer.receiver_account_id}:
        raise missing("transfer")
    return result(encode(transfer))


_LIST: Final = Listing(
    kind="transfer",
    members=_seen_from,
    filters={"status": "status"},
    values={"status": ("PENDING", "PROCESSING", "COMPLETED", "FAILED")},
    also={"accountRole": {"type": "string", "enum": ["SENDER", "RECEIVER"]}},
)
_INTERNAL: Final = Listing(
    kind="account_transfer", filters={"sourceAccountId": "owner", "destinationAccountId": "peer"}
)
_BETWEEN: Final = "/account-to-account-transfers"
TRANSFER_ROUTES: Final = (
    create_route(
        _BETWEEN, create_internal, InternalBody, AccountTransfer,
        "Transfer between two accounts inside the service.", 404,
    ),
    list_route(
        _BETWEEN, _INTERNAL, AccountTransfer, "List the transfers between accounts.",
        published=False,
    ),
    create_route(
        "/accounts/{senderAccountId}/transfers/crypto", create_crypto, CryptoBody, Transfer,
        "Transfer an asset on the chain.",
    ),
    create_route(
        "/accounts/{senderAccountId}/transfers/fiat", create_fiat, FiatBody, Transfer,
        "Transfer an amount that is stated in fiat.",
    ),
    create_route(
        "/transfers", create_any, (AnyCryptoBody, AnyFiatBody), Transfer,
        "Create a crypto transfer or, if the body has a currency, a fiat transfer.", 404,
    ),
    list_route(
        "/accounts/{accountId}/transfers", _LIST, Transfer,
        "List the crypto and fiat transfers that an account sent or received.",
    ),
    read_route(
        "/accounts/{accountId}/transfers/{transferId}", read_transfer, Transfer, "Get a transfer."
    ),
)  # fmt: skip
