"""The finance service's operations, as a table."""

from __future__ import annotations

from typing import Any, Final

from treasury.sandbox.finance.finance_accounts import (
    add_role,
    change_account,
    create_account,
    create_virtual_account,
    create_wallet,
    delete_account,
    reactivate_account,
)
from treasury.sandbox.finance.finance_parties import change_party, create_party, delete_party
from treasury.sandbox.finance.finance_records import accounts_of
from treasury.sandbox.finance.finance_transfers import (
    create_any,
    create_crypto,
    create_fiat,
    create_internal,
)
from treasury.sandbox.finance.payments import PaymentRequest, create_payment
from treasury.sandbox.finance.profile_b import routes_b
from treasury.sandbox.finance.sessions import Session, create_session
from treasury.sandbox.http.body_fields import (
    AccountChanges,
    AnyCryptoBody,
    AnyFiatBody,
    CryptoBody,
    FiatBody,
    InternalBody,
    NewAccount,
    NewRole,
    NewSession,
    NewVirtualAccount,
    NewWallet,
    PartyBody,
    PartyChanges,
    PaymentRequestBody,
)
from treasury.sandbox.http.exchange import (
    MANAGERS,
    Call,
    Handler,
    Reply,
    Route,
    invalid,
    missing,
    result,
    stored,
)
from treasury.sandbox.http.idempotency import once
from treasury.sandbox.http.lists import Listing, all_of, detail_of, list_route, read_route
from treasury.sandbox.state.shapes import (
    Account,
    AccountTransfer,
    Party,
    PartyRole,
    Transfer,
    VirtualBankAccount,
    Wallet,
    encode,
)
from treasury.sandbox.story.world import World

__all__ = ["routes"]

_SIDES: Final = {"SENDER": ("owner",), "RECEIVER": ("peer",), None: ("owner", "peer")}


def _seen_from(call: Call) -> dict[str, str]:
    """An account's transfers: those it sent and those it received, unless it asks for one side."""
    role = call.query_value("accountRole")
    if role not in _SIDES:
        raise invalid("accountRole must be SENDER or RECEIVER.")
    return dict.fromkeys(_SIDES[role], call.path["accountId"])


def _transfer(world: World, call: Call) -> Reply:
    transfer = stored(world, "transfer", call.path["transferId"], Transfer)
    if call.path["accountId"] not in {transfer.sender_account_id, transfer.receiver_account_id}:
        raise missing("transfer")
    return result(encode(transfer))


def _held_by(world: World, call: Call) -> dict[str, list[str]]:
    """The accounts of a party, where the caller asks for them."""
    parties = call.query.get("partyId", [])
    return {"id": [a for party in parties for a in accounts_of(world, party)]} if parties else {}


_PARTIES: Final = Listing(
    kind="party",
    filters={"partyType": "type", "status": "status", "externalId": "reference"},
    values={
        "partyType": ("INDIVIDUAL", "ORGANISATION"),
        "status": ("ACTIVE", "SUSPENDED", "BLOCKED"),
    },
)
_ACCOUNTS: Final = Listing(
    kind="account",
    filters={"status": "status", "externalId": "reference"},
    values={"status": ("ACTIVE", "SUSPENDED", "BLOCKED", "CLOSED")},
    narrow=_held_by,
    also={"partyId": {"type": "string"}},
)
_WALLETS: Final = Listing(
    kind="wallet",
    owner="accountId",
    filters={"chain": "chain", "status": "status"},
    values={"chain": ("BASE", "AVALANCHE"), "status": ("ACTIVE", "SUSPENDED")},
    sort="",
)
_VIRTUAL_ACCOUNTS: Final = Listing(
    kind="virtual_account",
    owner="accountId",
    filters={"bankAccountType": "type", "status": "status"},
    values={"bankAccountType": ("EUR_SEPA",), "status": ("ACTIVE", "CLOSED", "PENDING")},
)
_TRANSFERS: Final = Listing(
    kind="transfer",
    members=_seen_from,
    filters={"status": "status"},
    values={"status": ("PENDING", "PROCESSING", "COMPLETED", "FAILED")},
    also={"accountRole": {"type": "string", "enum": ["SENDER", "RECEIVER"]}},
)
_INTERNAL: Final = Listing(
    kind="account_transfer",
    filters={"sourceAccountId": "owner", "destinationAccountId": "peer"},
)


def _write(method: str, path: str, handler: Handler, says: str, **published: Any) -> Route:
    """A write: for those who may create, and once for a key."""
    return Route(method, path, once(handler), MANAGERS, says=says, **published)


def _create(path: str, handler: Handler, takes: Any, gives: Any, says: str, *refuses: int) -> Route:
    return _write(
        "POST", path, handler, says, takes=takes, gives=gives, status=201, refuses=refuses
    )


_VIRTUAL: Final = "/accounts/{accountId}/virtual-bank-accounts"
_SESSIONS: Final = "/accounts/{accountId}/fiat-to-crypto/payment-sessions"
_BETWEEN: Final = "/account-to-account-transfers"
_ROUTES: Final = (
    _create("/parties", create_party, PartyBody, Party, "Create a party; its check starts."),
    list_route("/parties", _PARTIES, Party, "List the parties."),
    read_route("/parties/{id}", detail_of("party", "party"), Party, "Get a party."),
    _write(
        "PATCH", "/parties/{id}", change_party, "Change fields of a party.",
        takes=PartyChanges, gives=Party, refuses=(409,),
    ),
    _write(
        "DELETE", "/parties/{id}", delete_party,
        "Delete a party that has no account and is not blocked.", status=204, refuses=(409,),
    ),
    _create(
        "/accounts", create_account, NewAccount, Account,
        "Create an account for a known party or for one that comes with it.", 404, 409,
    ),
    list_route("/accounts", _ACCOUNTS, Account, "List the accounts."),
    read_route("/accounts/{id}", detail_of("account", "account"), Account, "Get an account."),
    _write(
        "PATCH", "/accounts/{id}", change_account, "Change an account's externalId or name.",
        takes=AccountChanges, gives=Account, refuses=(409,),
    ),
    _write(
        "DELETE", "/accounts/{id}", delete_account,
        "Delete an account that holds nothing and has nothing under way.",
        status=204, refuses=(409,),
    ),
    _write(
        "POST", "/accounts/{accountId}/reactivate", reactivate_account,
        "Reactivate a suspended account.", gives=Account, refuses=(409,),
    ),
    _create(
        "/accounts/{accountId}/party-roles", add_role, NewRole, PartyRole,
        "Give a party a part in an account.", 409,
    ),
    read_route(
        "/accounts/{accountId}/party-roles", all_of("party_role", "accountId"), list[PartyRole],
        "List the parties' parts in an account.",
    ),
    _create(
        "/accounts/{accountId}/wallets", create_wallet, NewWallet, Wallet,
        "Create a wallet on the account's chain.",
    ),
    list_route("/accounts/{accountId}/wallets", _WALLETS, Wallet, "List an account's wallets."),
    _create(
        _VIRTUAL, create_virtual_account, NewVirtualAccount, VirtualBankAccount,
        "Create a virtual bank account.",
    ),
    list_route(
        _VIRTUAL, _VIRTUAL_ACCOUNTS, VirtualBankAccount, "List an account's virtual bank accounts."
    ),
    read_route(
        _VIRTUAL + "/{virtualBankAccountId}",
        detail_of("virtual_account", "virtual bank account", "virtualBankAccountId", "accountId"),
        VirtualBankAccount, "Get a virtual bank account.",
    ),
    _create(_SESSIONS, create_session, NewSession, Session, "Open a hosted payment."),
    _create(
        _BETWEEN, create_internal, InternalBody, AccountTransfer,
        "Transfer between two accounts inside the service.", 404,
    ),
    list_route(_BETWEEN, _INTERNAL, AccountTransfer, "List the transfers between accounts."),
    _create(
        "/accounts/{senderAccountId}/transfers/crypto", create_crypto, CryptoBody, Transfer,
        "Transfer an asset on the chain.",
    ),
    _create(
        "/accounts/{senderAccountId}/transfers/fiat", create_fiat, FiatBody, Transfer,
        "Transfer an amount asked for in euros.",
    ),
    _create(
        "/transfers", create_any, (AnyCryptoBody, AnyFiatBody), Transfer,
        "Create a transfer of either kind; a currency makes it a fiat one.", 404,
    ),
    list_route(
        "/accounts/{accountId}/transfers", _TRANSFERS, Transfer,
        "List the crypto and fiat transfers that an account sent or received.",
    ),
    read_route(
        "/accounts/{accountId}/transfers/{transferId}", _transfer, Transfer, "Get a transfer."
    ),
    _create(
        "/payment-requests", create_payment, PaymentRequestBody, PaymentRequest,
        "Reserve an amount for a card.", 402, 404,
    ),
)  # fmt: skip


def routes(profile: str) -> tuple[Route, ...]:
    """The operations that a profile serves."""
    return routes_b(_ROUTES) if profile == "b" else _ROUTES
