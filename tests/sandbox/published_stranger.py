"""The operations of the published contract, and a client that uses none of our code."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any, NamedTuple

import httpx

from treasury.sandbox import Sandbox


class Operation(NamedTuple):
    """An operation's status, and the contract's names of its output and input; `[…]` is a list."""

    status: int
    gives: str = ""
    takes: str = ""


_BANK = "CompanyBankAccountDto"
FINANCE = {
    "GET /parties": Operation(200, "[PartyListItem]"),
    "POST /parties": Operation(201, "Party", "CreatePartyRequest"),
    "GET /parties/{partyId}": Operation(200, "Party"),
    "PATCH /parties/{partyId}": Operation(200, "Party", "UpdatePartyRequest"),
    "DELETE /parties/{partyId}": Operation(204),
    "GET /accounts": Operation(200, "[Account]"),
    "POST /accounts": Operation(201, "Account", "CreateAccountRequest"),
    "GET /accounts/{accountId}": Operation(200, "Account"),
    "GET /accounts/{accountId}/party-roles": Operation(200, "[PartyRole]"),
    "POST /accounts/{accountId}/party-roles": Operation(201, "PartyRole", "AddPartyRoleRequest"),
    "DELETE /accounts/{accountId}/party-roles/{partyId}": Operation(204),
    "GET /accounts/{accountId}/wallets": Operation(200, "[Wallet]"),
    "GET /accounts/{accountId}/virtual-bank-accounts": Operation(200, "[VirtualBankAccount]"),
    "POST /accounts/{accountId}/virtual-bank-accounts": Operation(
        201, "VirtualBankAccount", "CreateVirtualBankAccountRequest"
    ),
    "GET /accounts/{accountId}/virtual-bank-accounts/{virtualBankAccountId}": Operation(
        200, "VirtualBankAccount"
    ),
    "POST /accounts/{accountId}/fiat-to-crypto/payment-sessions": Operation(
        201, "PaymentSession", "CreatePayInSessionRequest"
    ),
    "POST /payment-requests": Operation(201, "PaymentRequest", "CardProviderPaymentRequestInput"),
    "POST /accounts/{accountId}/payment-requests": Operation(
        201, "PaymentRequest", "CreatePaymentRequestInput"
    ),
    "POST /payment-requests/{paymentRequestId}/settlements": Operation(
        202, "PaymentRequest", "SettlePaymentRequestInput"
    ),
    "POST /payment-requests/settlements": Operation(
        202, "PaymentRequest", "SettlePaymentRequestByReferenceInput"
    ),
    "POST /payment-requests/{paymentRequestId}/reversal": Operation(
        202, "PaymentRequest", "ReversePaymentRequestInput"
    ),
    "POST /payment-requests/reversals": Operation(
        202, "PaymentRequest", "ReversePaymentRequestByReferenceInput"
    ),
    "PATCH /payment-requests/{paymentRequestId}": Operation(
        200, "PaymentRequest", "UpdatePaymentRequestInput"
    ),
    "POST /accounts/{senderAccountId}/transfers/fiat": Operation(
        201, "Transfer", "CreateFiatTransferInput"
    ),
    "POST /accounts/{senderAccountId}/transfers/crypto": Operation(
        201, "Transfer", "CreateCryptoTransferInput"
    ),
    "GET /accounts/{accountId}/transfers": Operation(200, "[Transfer]"),
    "GET /accounts/{accountId}/transfers/{transferId}": Operation(200, "Transfer"),
    "GET /accounts/{accountId}/wallets/{walletId}/permits": Operation(200, "[PermitMessage]"),
    "POST /accounts/{accountId}/wallets/{walletId}/permits": Operation(
        200, "PermitResult", "SubmitPermitRequest"
    ),
    "GET /accounts/{accountId}/wallets/{walletId}/allowances": Operation(200, "[Allowance]"),
}
_DECIDED = Operation(200, "RampRequestDto", "UpdateWithOptimisticLockingRequest")
_HASHED = Operation(200, "RampRequestDto", "UpdateRampRequestTransactionHashRequest")
RAMP = {
    "PUT /ramp-requests/{id}/amount": Operation(200, "RampRequestDto", "EditRampAmountRequest"),
    "PUT /company/users/{userId}/role": Operation(200, "UserDto", "UpdateUserRequest"),
    "GET /ramp-requests": Operation(200, "[RampRequestListItem]"),
    "POST /ramp-requests": Operation(201, "RampRequestDto", "CreateRampRequestRequest"),
    "POST /ramp-requests/{id}/reject": _DECIDED,
    "POST /ramp-requests/{id}/cancel": _DECIDED,
    "POST /ramp-requests/{id}/approve": _DECIDED,
    "POST /fees/calculate": Operation(200, "CalculatedFeeDto", "CalculateFeeRequest"),
    "POST /company/users/invite": Operation(200, "UserDto", "AddUserToCompanyRequest"),
    "GET /company-wallets": Operation(200, "[CompanyWalletListItem]"),
    "POST /company-wallets": Operation(201, "CompanyWalletDto", "CreateCompanyWalletRequest"),
    "GET /company-bank-accounts": Operation(200, "[CompanyBankAccountListItem]"),
    "POST /company-bank-accounts": Operation(201, _BANK, "CreateCompanyBankAccountRequest"),
    "PATCH /ramp-requests/{id}/initiate": _HASHED,
    "PATCH /ramp-requests/{id}/tx-hash": _HASHED,
    "PATCH /company/users/{userId}/status": Operation(200, "UserDto", "UpdateUserStatusRequest"),
    "GET /company-wallets/{id}": Operation(200, "CompanyWalletDto"),
    "PATCH /company-wallets/{id}": Operation(200, "CompanyWalletDto", "UpdateCompanyWalletRequest"),
    "GET /company-bank-accounts/{id}": Operation(200, _BANK),
    "PATCH /company-bank-accounts/{id}": Operation(200, _BANK, "UpdateCompanyBankAccountRequest"),
    "GET /ramp-requests/{id}": Operation(200, "RampRequestDto"),
    "GET /ramp-requests/on-ramp/pairs": Operation(200, "[OnRampPair]"),
    "GET /ramp-requests/off-ramp/pairs": Operation(200, "[OffRampPair]"),
    "GET /ramp-requests/export": Operation(200),
    "GET /fiat-currencies": Operation(200, "[FiatCurrencyDto]"),
    "GET /fiat-currencies/{id}": Operation(200, "FiatCurrencyDto"),
    "GET /fees": Operation(200, "[FeeDto]"),
    "GET /deposit-wallets": Operation(200, "[DepositWalletDto]"),
    "GET /crypto-currencies": Operation(200, "[CryptoCurrencyDto]"),
    "GET /crypto-currencies/{id}": Operation(200, "CryptoCurrencyDto"),
    "GET /company": Operation(200, "UserCompany"),
    "GET /company/users": Operation(200, "[UserDto]"),
    "GET /chains": Operation(200, "SupportedChainsDto"),
    "GET /bank-accounts/config": Operation(200, "BankAccountConfigDto"),
    "GET /auth/user": Operation(200, "AuthenticatedUserPrincipal"),
    "DELETE /company/users/{userId}": Operation(200),
}
SERVICES = {"Finance": FINANCE, "Ramp": RAMP}
KINDS = {
    # The contract has a separate body and record for each `bankAccountType`.
    "EUR_SEPA": "EurSepa",
    "GBP_FPS": "GbpFps",
    "GBP_CHAPS": "GbpChaps",
    "USD_ACH": "UsAch",
    "USD_WIRE": "UsWire",
    "USD_SWIFT": "UsSwift",
    "OTHER_SWIFT": "OtherCurrencySwift",
}
OF_ONE_KIND = {
    "CreateCompanyBankAccountRequest": "Create{}CompanyBankAccountRequest",
    "CompanyBankAccountDto": "{}CompanyBankAccountDto",
    "DepositBankAccountDto": "{}DepositBankAccountDto",
}
OWN_WALLET = "0x" + "Ab" * 20


class Sent(NamedTuple):
    """A call as it was sent and answered."""

    operation: str
    query: dict[str, Any]
    body: dict[str, Any] | None
    answer: httpx.Response


class Stranger:
    """A client that calls operations by name and keeps its successful calls."""

    def __init__(self, http: httpx.Client, token_url: str, bases: dict[str, str]) -> None:
        self._http, self._token_url, self._bases = http, token_url, bases
        self._tokens: dict[str, str] = {}
        self.calls: list[Sent] = []
        self._keys = 0

    def sign_in(self, name: str, client_id: str, secret: str) -> None:
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        answer = self._http.post(self._token_url, data=form)
        self._tokens[name] = answer.json()["access_token"]

    def key(self) -> str:
        """Return a new idempotency key that is not a UUID."""
        self._keys += 1
        return f"stranger/{self._keys}"

    def call(
        self, who: str, operation: str, *ids: str, body: dict[str, Any] | None = None, **query: Any
    ) -> Any:
        """Call an operation that must succeed; return its result, or None if it has no body."""
        answer = self.ask(who, operation, *ids, body=body, **query)
        expected = (FINANCE.get(operation) or RAMP[operation]).status
        assert answer.status_code == expected, (operation, body, answer.text)
        self.calls.append(Sent(operation, query, body, answer))
        if expected == 204:
            assert answer.content == b""
            return None
        if operation == "GET /ramp-requests/export":
            return answer.text
        told = json.loads(answer.text, parse_float=Decimal)
        assert told["success"] is True
        return told["result"]

    def ask(
        self, who: str, operation: str, *ids: str, body: dict[str, Any] | None = None, **query: Any
    ) -> httpx.Response:
        """Return the answer to an operation, successful or not."""
        method, path = operation.split()
        for given in ids:
            path = re.sub(r"{\w+}", given, path, count=1)
        assert "{" not in path
        base = self._bases["Finance" if operation in FINANCE else "Ramp"]
        headers = {"Authorization": f"Bearer {self._tokens[who]}"}
        return self._http.request(method, base + path, json=body, params=query, headers=headers)


class Scene(NamedTuple):
    """The calling client, and the platform's own actions, which no operation offers."""

    stranger: Stranger
    sandbox: Sandbox

    def maker(self, operation: str, *ids: str, **given: Any) -> Any:
        return self.stranger.call("maker", operation, *ids, **given)

    def admin(self, operation: str, *ids: str, **given: Any) -> Any:
        return self.stranger.call("checker", operation, *ids, **given)

    def refused(self, operation: str, *ids: str, **given: Any) -> tuple[int, str]:
        answer = self.stranger.ask("maker", operation, *ids, **given)
        told = answer.json()
        assert told["success"] is False
        assert set(told["errors"][0]) == {"code", "message"}
        return answer.status_code, told["errors"][0]["code"]

    def wait(self, minutes: int = 1) -> None:
        self.sandbox.clock.advance(minutes=minutes)
