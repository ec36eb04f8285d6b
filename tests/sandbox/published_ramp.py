"""A client's calls to the ramp service: every operation and every field of its bodies."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from published_stranger import KINDS, OWN_WALLET, Scene

BENEFICIARY = {
    "name": "Account", "bankName": "Test Bank", "companyName": "Harbour Lane Trading NV",
    "bankCountry": "BE", "beneficiaryAddressLine1": "Kade 1", "beneficiaryAddressLine2": "Unit 3",
    "beneficiaryCity": "Ghent", "beneficiaryPostalCode": "9000", "beneficiaryCountry": "BE",
    "beneficiaryState": "East Flanders", "email": "cash@harbourlane.test",
    "phoneNumber": "+32 9 000 00 00",
}  # fmt: skip
US = {"accountNumber": "4417009283", "routingNumber": "021000021"}
UK = {"accountNumber": "70872490", "sortCode": "404784"}
CORRESPONDENT = {
    "intermediaryBankName": "Correspondent Bank", "intermediaryBic": "TESTUS33",
    "intermediaryAccountNumber": "8800123",
}  # fmt: skip
NUMBERS = {
    "EUR_SEPA": {
        "iban": "BE68539007547034", "bic": "TESTBEBB", "intermediaryBic": "TESTDEFF",
    },
    "GBP_FPS": UK, "GBP_CHAPS": UK, "USD_ACH": US, "USD_WIRE": US,
    "USD_SWIFT": {
        "bic": "TESTUS33", "accountNumber": "77001", "iban": "BE68539007547034",
        "bankStreetAddress": "1 Test St", "bankCity": "New York", "bankPostalCode": "10001",
        **CORRESPONDENT,
    },
    "OTHER_SWIFT": {
        "currency": "NOK", "bic": "TESTNOKK", "accountNumber": "77001",
        "iban": "NO9386011117947", **CORRESPONDENT,
    },
}  # fmt: skip
REQUIRED = {
    # The fields that the contract requires in addition to those of all types.
    "EUR_SEPA": ("iban",), "GBP_FPS": ("accountNumber", "sortCode"),
    "GBP_CHAPS": ("accountNumber", "sortCode"),
    "USD_ACH": ("accountNumber", "routingNumber", "email", "beneficiaryState"),
    "USD_WIRE": ("accountNumber", "routingNumber", "email", "beneficiaryState"),
    "USD_SWIFT": (
        "bic", "accountNumber", "bankStreetAddress", "bankCity", "bankPostalCode",
        "beneficiaryState",
    ),
    "OTHER_SWIFT": ("currency", "bic", "iban"),
}  # fmt: skip
OPTIONAL = ("beneficiaryAddressLine2", "beneficiaryState", "email", "phoneNumber")


def drive_bank_accounts(scene: Scene) -> dict[str, str]:
    """Create each kind of account with all fields and with the required ones only.

    Return the ids of the accounts with all fields, by kind.
    """
    ids = {}
    path = "/company-bank-accounts"
    for kind, numbers in NUMBERS.items():
        body = {
            **BENEFICIARY, **numbers, "bankAccountType": kind, "name": kind,
            "supportedRampType": "ON_AND_OFF_RAMP",
        }  # fmt: skip
        made = scene.admin(f"POST {path}", body=body)
        assert {name: made[name] for name in body} == body
        assert made["verificationStatus"] == "PENDING"
        assert scene.admin(f"GET {path}/{{id}}", made["id"]) == made
        ids[kind] = made["id"]
        least = {
            name: value for name, value in body.items()
            if name in REQUIRED[kind] or (name not in numbers and name not in OPTIONAL)
        }  # fmt: skip
        assert set(scene.admin(f"POST {path}", body=least)) < set(made)
    change = {"version": 0, "name": "Payouts"}
    changed = scene.admin(f"PATCH {path}/{{id}}", ids["GBP_FPS"], body=change)
    assert (changed["name"], changed["version"]) == ("Payouts", 1)
    scene.wait(60 * 24 * 4)
    for one in ids.values():
        checked = scene.admin(f"GET {path}/{{id}}", one)
        assert (checked["verificationStatus"], "verifiedAt" in checked) == ("VERIFIED", True)
    found = scene.admin(
        f"GET {path}", verificationStatus="VERIFIED", supportedRampTypes="ON_AND_OFF_RAMP",
        sortOn="createdAt", sortOrder="DESC", page=1, size=100,
    )  # fmt: skip
    assert set(ids.values()) <= {one["id"] for one in found}
    assert {one["supportedRampType"] for one in found} == {"ON_AND_OFF_RAMP"}
    return ids


def drive_wallets(scene: Scene) -> None:
    path = "/company-wallets"
    body = {"description": "Float", "address": OWN_WALLET, "chain": "ARBITRUM"}
    made = scene.admin(f"POST {path}", body=body)
    assert {name: made[name] for name in body} == body
    change = {"version": made["version"], "description": "Day float"}
    changed = scene.admin(f"PATCH {path}/{{id}}", made["id"], body=change)
    assert changed["description"] == "Day float"
    assert scene.admin(f"GET {path}/{{id}}", made["id"]) == changed
    (found,) = scene.admin(
        f"GET {path}", verificationStatus="PENDING", chain="ARBITRUM", address=OWN_WALLET,
        sortOn="createdAt", sortOrder="ASC", page=1, size=10,
    )  # fmt: skip
    assert (found["id"], found["description"]) == (made["id"], "Day float")
    scene.sandbox.ramp.verify_wallet(made["id"])
    assert scene.admin(f"GET {path}/{{id}}", made["id"])["verifiedAt"]
    chains = {one["chain"] for one in scene.maker("GET /deposit-wallets")}
    (one,) = scene.maker("GET /deposit-wallets", chain="BASE")
    assert {one["chain"]} < chains


def drive_ramp_requests(scene: Scene, banks: dict[str, str]) -> None:
    fiat = {one["currency"]: one["id"] for one in scene.maker("GET /fiat-currencies")}
    coins = {one["currency"]: one for one in scene.maker("GET /crypto-currencies")}
    wallets = scene.maker("GET /company-wallets", verificationStatus="VERIFIED", size=100)
    base = next(one["id"] for one in wallets if one["chain"] == "BASE")
    usdc = coins["USDC"]["id"]

    def on_ramp(currency: str, amount: float = 500) -> Any:
        body = {
            "rampType": "ON_RAMP", "amount": amount, "companyWalletId": base,
            "fiatCurrencyId": fiat[currency], "cryptoCurrencyId": usdc,
        }  # fmt: skip
        made = scene.maker("POST /ramp-requests", body=body)
        assert (made["rampType"], made["amount"], made["fiatAmount"]) == (
            "ON_RAMP", amount, amount,
        )  # fmt: skip
        assert made["fiatCurrency"]["currency"] == currency
        assert made["depositBankAccount"]["fiatCurrency"]["currency"] == currency
        return made

    def off_ramp(currency: str, kind: str) -> Any:
        body = {
            "rampType": "OFF_RAMP", "amount": 250, "companyBankAccountId": banks[kind],
            "fiatCurrencyId": fiat[currency], "cryptoCurrencyId": usdc,
        }  # fmt: skip
        made = scene.maker("POST /ramp-requests", body=body)
        assert made["companyBankAccount"]["bankAccountType"] == kind
        assert made["depositWallet"]["chain"] == "BASE"
        return made

    def decided(word: str, request: Any, who: Callable[..., Any]) -> Any:
        path = f"POST /ramp-requests/{{id}}/{word}"
        return who(path, request["id"], body={"version": request["version"]})

    for currency in ("EUR", "GBP", "USD"):
        made = on_ramp(currency)
        assert scene.maker("GET /ramp-requests/{id}", made["id"]) == made
        change = {"version": made["version"], "amount": 625.5}
        path = "PUT /ramp-requests/{id}/amount"
        changed = scene.maker(path, made["id"], body=change)
        assert (changed["fiatAmount"], changed["version"]) == (Decimal("625.5"), 2)
        assert decided("approve", changed, scene.admin)["status"] == "AWAITING_FUNDS"
        if currency == "EUR":
            scene.sandbox.ramp.change_deposit(made["id"], intermediary_bic="TESTDEFF")
            told = scene.maker("GET /ramp-requests/{id}", made["id"])["depositBankAccount"]
            assert told["intermediaryBic"] == "TESTDEFF"
    rejected = decided("reject", on_ramp("EUR"), scene.admin)
    cancelled = decided("cancel", on_ramp("EUR"), scene.maker)
    assert (rejected["status"], cancelled["status"]) == ("REJECTED", "CANCELLED")
    given = {"blockchainTransactionHash": "0x" + "5c" * 32}
    kinds = {"EUR": ("EUR_SEPA",), "GBP": ("GBP_FPS", "GBP_CHAPS"),
             "USD": ("USD_ACH", "USD_WIRE", "USD_SWIFT")}  # fmt: skip
    for currency, several in kinds.items():
        for kind in several:
            approved = decided("approve", off_ramp(currency, kind), scene.admin)
            body = given | {"version": approved["version"]}
            told = scene.maker("PATCH /ramp-requests/{id}/tx-hash", approved["id"], body=body)
            assert told["blockchainTransactionHash"] == given["blockchainTransactionHash"]
    approved = decided("approve", off_ramp("EUR", "EUR_SEPA"), scene.admin)
    body = given | {"version": approved["version"]}
    started = scene.maker("PATCH /ramp-requests/{id}/initiate", approved["id"], body=body)
    assert started["status"] == "PROCESSING"
    day = made["createdAt"][:10]
    (found,) = scene.maker(
        "GET /ramp-requests", rampType="ON_RAMP", status="AWAITING_FUNDS", fromDate=day,
        toDate=day, paymentReference=made["paymentReference"], sortOn="createdAt",
        sortOrder="DESC", page=1, size=10,
    )  # fmt: skip
    assert (found["id"], found["fiatCurrency"], found["cryptoCurrency"]) == (
        made["id"], "USD", "USDC",
    )  # fmt: skip
    whole = scene.maker("GET /ramp-requests/export")
    assert all(request["id"] in whole for request in (made, rejected, cancelled, started))
    for item in scene.maker("GET /ramp-requests", size=1000):
        scene.maker("GET /ramp-requests/{id}", item["id"])


def drive_company(scene: Scene) -> None:
    company = scene.maker("GET /company")
    me = scene.maker("GET /auth/user")
    assert me["company"] == {"id": company["id"], "name": company["name"]}
    body = {
        "email": "new@harbourlane.test", "role": "COMPANY_VIEWER", "firstName": "New",
        "lastName": "Comer",
    }  # fmt: skip
    user = scene.admin("POST /company/users/invite", body=body)
    assert {name: user[name] for name in body} == body
    assert user["invitationStatus"] == "PENDING"
    role = {"role": "COMPANY_MANAGER"}
    assert scene.admin("PUT /company/users/{userId}/role", user["id"], body=role)["role"] == (
        "COMPANY_MANAGER"
    )
    path = "PATCH /company/users/{userId}/status"
    assert scene.admin(path, user["id"], body={"enabled": False})["enabled"] is False
    listed = next(u for u in scene.admin("GET /company/users") if u["id"] == user["id"])
    assert (listed["role"], listed["enabled"]) == ("COMPANY_MANAGER", False)
    scene.admin("DELETE /company/users/{userId}", user["id"])
    assert user["id"] not in {one["id"] for one in scene.admin("GET /company/users")}


def drive_reference(scene: Scene) -> None:
    body = {"amount": 10_000, "type": "ON_RAMP"}
    fee = scene.maker("POST /fees/calculate", body=body)
    assert fee["amount"] == Decimal(10_000) * Decimal(str(fee["percentage"])) / 100
    assert {one["type"] for one in scene.maker("GET /fees")} == {"ON_RAMP", "OFF_RAMP"}
    currencies = {}
    for kind in ("fiat", "crypto"):
        listed = scene.maker(f"GET /{kind}-currencies")
        read = [scene.maker(f"GET /{kind}-currencies/{{id}}", one["id"]) for one in listed]
        assert read == listed
        currencies[kind] = {one["id"] for one in listed}
    for one in scene.maker("GET /ramp-requests/on-ramp/pairs"):
        assert one["from"]["id"] in currencies["fiat"]
        assert one["to"]["id"] in currencies["crypto"]
    for one in scene.maker("GET /ramp-requests/off-ramp/pairs"):
        assert one["from"]["id"] in currencies["crypto"]
        assert one["to"]["id"] in currencies["fiat"]
    assert "BASE" in scene.maker("GET /chains")["supportedChains"]
    offered = scene.maker("GET /bank-accounts/config")["enabledAccountTypes"]
    assert {one["type"] for one in offered} == set(KINDS)


def drive_ramp(scene: Scene) -> None:
    """Call every operation of the ramp service."""
    banks = drive_bank_accounts(scene)
    drive_wallets(scene)
    drive_ramp_requests(scene, banks)
    drive_company(scene)
    drive_reference(scene)
