"""A client's calls to the finance service: every operation and every field of its bodies."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from published_stranger import OWN_WALLET, Scene

ADDRESS = {
    "addressLine1": "Kade 14", "addressLine2": "Unit 3", "city": "Ghent",
    "state": "East Flanders", "postalCode": "9000", "country": "BE",
}  # fmt: skip
CARD = {"type": "paymentology", "referenceId": "card-9"}


def drive_parties(scene: Scene) -> None:
    person = {
        "partyType": "INDIVIDUAL", "externalId": "p-1", "firstName": "Noor", "lastName": "Aerts",
        "address": ADDRESS,
    }  # fmt: skip
    made = scene.maker("POST /parties", body=person)
    assert {name: made[name] for name in person} == person
    assert (made["status"], made["kycStatus"]) == ("ACTIVE", "VERIFICATION_PENDING")
    firm = {
        "partyType": "ORGANISATION", "externalId": "p-2", "name": "Pier BV",
        "vatNumber": "BE0123456749", "address": {"country": "BE"},
    }  # fmt: skip
    company = scene.maker("POST /parties", body=firm)
    assert {name: company[name] for name in firm} == firm
    assert company["kybStatus"] == "PENDING"
    change = {
        "version": made["version"], "firstName": "Nora", "lastName": "Peeters",
        "address": {"city": "Bruges"},
    }  # fmt: skip
    changed = scene.maker("PATCH /parties/{partyId}", made["id"], body=change)
    assert (changed["firstName"], changed["lastName"]) == ("Nora", "Peeters")
    assert changed["version"] == made["version"] + 1
    change = {"version": company["version"], "name": "Pier NV", "vatNumber": "BE0999999922"}
    assert scene.maker("PATCH /parties/{partyId}", company["id"], body=change)["name"] == "Pier NV"
    stale = scene.refused("PATCH /parties/{partyId}", company["id"], body=change)
    assert stale == (409, "concurrent-modification")
    read = scene.maker("GET /parties/{partyId}", made["id"])
    assert read == changed
    assert scene.maker("GET /parties/{partyId}", company["id"])["vatNumber"] == "BE0999999922"
    listed = scene.maker(
        "GET /parties", partyType="INDIVIDUAL", status="ACTIVE", externalId="p-1",
        sortOn="createdAt", sortOrder="DESC", page=1, size=5,
    )  # fmt: skip
    assert [one["id"] for one in listed] == [made["id"]]
    names = [one["id"] for one in scene.maker("GET /parties", sortOrder="DESC", page=1, size=2)]
    assert names == [company["id"], made["id"]]
    scene.maker("DELETE /parties/{partyId}", made["id"])
    assert scene.refused("GET /parties/{partyId}", made["id"]) == (404, "NOT_FOUND")


def drive_accounts(scene: Scene) -> str:
    """Open accounts for new parties; return the id of a verified account that holds USDC."""
    inline = {
        "externalId": "a-1", "name": "Till", "chain": "AVALANCHE",
        "party": {
            "partyType": "ORGANISATION", "name": "Quay BV", "externalId": "p-3",
            "vatNumber": "BE0123456749", "address": ADDRESS,
        },
    }  # fmt: skip
    made = scene.maker("POST /accounts", body=inline)
    assert (made["externalId"], made["name"], made["status"]) == ("a-1", "Till", "ACTIVE")
    (role,) = scene.maker("GET /accounts/{accountId}/party-roles", made["id"])
    assert role["roleType"] == "ACCOUNT_HOLDER"
    assert scene.maker("GET /parties/{partyId}", role["partyId"])["externalId"] == "p-3"
    (wallet,) = scene.maker("GET /accounts/{accountId}/wallets", made["id"], page=1, size=10)
    assert (wallet["chain"], wallet["type"]) == ("AVALANCHE", "VENLY_MANAGED")
    own = {
        "externalId": "a-2", "name": "Own", "chain": "POLYGON", "partyId": role["partyId"],
        "address": OWN_WALLET, "cardProviderReference": CARD,
    }  # fmt: skip
    other = scene.maker("POST /accounts", body=own)
    (wallet,) = scene.maker("GET /accounts/{accountId}/wallets", other["id"])
    shown = wallet["type"], wallet["address"], wallet["chain"]
    assert shown == ("SELF_CUSTODY", OWN_WALLET, "POLYGON")
    third = scene.maker("POST /parties", body={
        "partyType": "INDIVIDUAL", "firstName": "Ana", "lastName": "Sousa",
    })  # fmt: skip
    body = {"partyId": third["id"], "roleType": "ACCOUNT_HOLDER"}
    role = scene.maker("POST /accounts/{accountId}/party-roles", other["id"], body=body)
    assert (role["partyId"], role["status"]) == (third["id"], "ACTIVE")
    roles = scene.maker("GET /accounts/{accountId}/party-roles", other["id"])
    assert third["id"] in {one["partyId"] for one in roles}
    scene.maker("DELETE /accounts/{accountId}/party-roles/{partyId}", other["id"], third["id"])
    roles = scene.maker("GET /accounts/{accountId}/party-roles", other["id"])
    assert third["id"] not in {one["partyId"] for one in roles}
    found = scene.maker(
        "GET /accounts", externalId="a-2", status="ACTIVE", sortOn="createdAt", sortOrder="ASC",
        page=1, size=50,
    )  # fmt: skip
    assert found == [scene.maker("GET /accounts/{accountId}", other["id"])]
    for account in scene.maker("GET /accounts"):
        wallets = scene.maker("GET /accounts/{accountId}/wallets", account["id"])
        if (
            account["kycStatus"] == "VERIFIED"
            and wallets
            and "USDC" in {one["asset"] for one in wallets[0]["balances"]}
        ):
            rich: str = account["id"]
            return rich
    raise AssertionError


def drive_pay_ins(scene: Scene, account: str) -> None:
    path = "/accounts/{accountId}/virtual-bank-accounts"
    body = {
        "name": "Shop", "inCurrency": "EUR", "targetCryptocurrency": "EURC",
        "idempotencyKey": scene.stranger.key(),
    }  # fmt: skip
    made = scene.maker(f"POST {path}", account, body=body)
    shown = made["name"], made["currency"], made["targetCryptocurrency"], made["accountId"]
    assert shown == ("Shop", "EUR", "EURC", account)
    assert scene.maker(f"POST {path}", account, body=body) == made
    assert scene.refused(f"POST {path}", account, body=body | {"name": "Else"})[0] == 409
    assert scene.maker(f"GET {path}/{{virtualBankAccountId}}", account, made["id"]) == made
    listed = scene.maker(
        f"GET {path}", account, sortOn="createdAt", sortOrder="DESC", page=1, size=1
    )
    assert listed == [made]
    session = {
        "inAmount": "12.50", "inCurrency": "EUR", "outCryptocurrency": "USDC",
        "callbackUrl": "https://shop.example.test/paid",
        "successRedirectUrl": "https://shop.example.test/thanks",
        "failureRedirectUrl": "https://shop.example.test/again", "externalRef": "order-7",
        "idempotencyKey": scene.stranger.key(), "metadata": {"order": {"lines": [1, 2]}},
    }  # fmt: skip
    path = "POST /accounts/{accountId}/fiat-to-crypto/payment-sessions"
    made = scene.maker(path, account, body=session)
    kept = "inCurrency", "outCryptocurrency", "externalRef", "idempotencyKey"
    assert {name: made[name] for name in kept} == {name: session[name] for name in kept}
    assert made["metadata"]["order"] == {"lines": [1, 2]}
    assert (made["inAmount"], made["accountId"], made["status"]) == (
        Decimal("12.5"), account, "CREATED",
    )  # fmt: skip
    assert scene.maker(path, account, body=session) == made
    lacking = {name: value for name, value in session.items() if name != "callbackUrl"}
    lacking["idempotencyKey"] = scene.stranger.key()
    assert scene.refused(path, account, body=lacking)[0] == 400


def drive_transfers(scene: Scene, account: str) -> None:
    other = next(one for one in scene.maker("GET /accounts") if one["id"] != account
                 and one["kycStatus"] == "VERIFIED" and one["status"] == "ACTIVE")  # fmt: skip
    told = {"description": "Run 19", "merchantReference": "run-19"}
    by_id = {"receiverAccountId": other["id"], **told}
    by_name = {"receiverExternalId": other["externalId"], **told}
    made = []
    for receiver in (by_id, by_name):
        body = {
            **receiver, "currency": "EUR", "amount": 10.25,
            "idempotencyKey": scene.stranger.key(),
        }  # fmt: skip
        fiat = scene.maker("POST /accounts/{senderAccountId}/transfers/fiat", account, body=body)
        assert fiat["fiatOrigin"]["currency"] == "EUR"
        assert fiat["fiatOrigin"]["amount"] == Decimal("10.25")
        body = {
            **receiver, "chain": "BASE", "asset": "USDC", "amount": 3.5,
            "idempotencyKey": scene.stranger.key(),
        }  # fmt: skip
        crypto = scene.maker(
            "POST /accounts/{senderAccountId}/transfers/crypto", account, body=body
        )
        assert (crypto["asset"], crypto["amount"], crypto["chain"]) == (
            "USDC", Decimal("3.5"), "BASE",
        )  # fmt: skip
        for one in (fiat, crypto):
            assert (one["senderAccountId"], one["receiverAccountId"]) == (account, other["id"])
            assert (one["description"], one["merchantReference"]) == ("Run 19", "run-19")
        made += [fiat, crypto]
    # A fiat transfer is completed on the next day on which the payment rail settles.
    scene.wait(60 * 24 * 2)
    path = "GET /accounts/{accountId}/transfers/{transferId}"
    for one in made:
        for side in (account, other["id"]):
            assert scene.maker(path, side, one["id"])["status"] == "COMPLETED"
    sent = scene.maker(
        "GET /accounts/{accountId}/transfers", account, accountRole="SENDER", status="COMPLETED",
        sortOn="createdAt", sortOrder="DESC", page=1, size=4,
    )  # fmt: skip
    assert [one["id"] for one in sent] == [one["id"] for one in reversed(made)]
    much = {
        **by_id, "chain": "BASE", "asset": "USDC", "amount": 9_000_000,
        "idempotencyKey": scene.stranger.key(),
    }  # fmt: skip
    refusal = scene.refused("POST /accounts/{senderAccountId}/transfers/crypto", account, body=much)
    assert refusal == (422, "insufficient-funds")
    failed = [
        one
        for each in scene.maker("GET /accounts")
        for one in scene.maker("GET /accounts/{accountId}/transfers", each["id"], status="FAILED")
    ]
    assert failed
    assert all(one["errorMessage"] for one in failed)


def drive_payments(scene: Scene, account: str) -> None:
    key = scene.stranger.key
    card = {"type": "paymentology", "referenceId": account}

    def ask(external: str, amount: float = 100) -> dict[str, Any]:
        return {
            "amount": amount, "currency": "USD", "externalId": external, "description": "Card",
            "idempotencyKey": key(),
        }  # fmt: skip

    def by_card(external: str) -> dict[str, Any]:
        body = {"cardProviderReference": card, "paymentRequest": ask(external)}
        made = scene.maker("POST /payment-requests", body=body)
        assert made["amount"] == {"fiat": 100, "crypto": "100.000000"}
        assert (made["accountId"], made["status"]) == (account, "RESERVED")
        return made

    def again(payment: str, amount: float = 1) -> tuple[int, str]:
        """Try to settle a request: only the refusal shows that it has ended."""
        body = {"amount": amount, "currency": "USD", "idempotencyKey": key()}
        path = "POST /payment-requests/{paymentRequestId}/settlements"
        return scene.refused(path, payment, body=body)

    def available() -> Decimal:
        (wallet,) = scene.maker("GET /accounts/{accountId}/wallets", account)
        (coins,) = (one for one in wallet["balances"] if one["asset"] == "USDC")
        return Decimal(coins["amount"]["available"])

    before = available()
    first = scene.maker("POST /accounts/{accountId}/payment-requests", account, body=ask("c-1"))
    assert (first["externalId"], first["description"]) == ("c-1", "Card")
    assert available() == before - 100
    change = {"amount": 130, "currency": "USD", "idempotencyKey": key()}
    changed = scene.maker("PATCH /payment-requests/{paymentRequestId}", first["id"], body=change)
    assert (changed["amount"]["fiat"], changed["originalAmount"]["fiat"]) == (130, 100)
    assert available() == before - 130
    settle = {"amount": 120, "currency": "USD", "idempotencyKey": key()}
    path = "POST /payment-requests/{paymentRequestId}/settlements"
    going = scene.maker(path, first["id"], body=settle)
    assert (going["status"], going["settlementAmount"]["fiat"]) == ("SETTLING", 120)
    scene.wait()
    assert available() == before - 120
    ended = scene.maker(path, first["id"], body=settle)
    assert ended["id"] == first["id"]
    assert again(first["id"])[0] == 400
    second = by_card("c-2")
    reason = {
        "reason": "CUSTOMER_CANCELLATION", "description": "Returned", "idempotencyKey": key(),
    }  # fmt: skip
    path = "POST /payment-requests/{paymentRequestId}/reversal"
    going = scene.maker(path, second["id"], body=reason)
    assert (going["status"], going["reversalReason"]) == ("REVERSING", "CUSTOMER_CANCELLATION")
    assert going["reversalDescription"] == "Returned"
    scene.wait()
    assert available() == before - 120
    for external, operation, body in (
        ("c-3", "POST /payment-requests/settlements", {"amount": 150, "currency": "USD"}),
        ("c-4", "POST /payment-requests/reversals", {"reason": "OTHER", "description": "Void"}),
    ):
        made = by_card(external)
        named = {"cardProviderReference": card, "externalId": external}
        whole = body | {"paymentRequestReference": named, "idempotencyKey": key()}
        assert scene.maker(operation, body=whole)["id"] == made["id"]
        scene.wait()
        assert again(made["id"])[0] == 400
    assert available() == before - 220


def drive_permits(scene: Scene, account: str) -> None:
    (wallet,) = scene.maker("GET /accounts/{accountId}/wallets", account)
    at = account, wallet["id"]
    path = "/accounts/{accountId}/wallets/{walletId}"
    permits = scene.maker(f"GET {path}/permits", *at)
    permit = next(one for one in permits if one["asset"] == "EURC")
    assert permit["status"] == "PENDING"
    types = permit["typedData"]["types"]
    assert [one["name"] for one in types["Permit"]] == list(permit["typedData"]["message"])
    body = {
        "supportedAssetId": permit["supportedAssetId"],
        "signature": {"v": "28", "r": "0x" + "1f" * 32, "s": "0x" + "2e" * 32},
    }  # fmt: skip
    made = scene.maker(f"POST {path}/permits", *at, body=body)
    assert (made["asset"], made["status"], made["skipped"]) == ("EURC", "SUBMITTED", False)
    scene.wait()
    permits = scene.maker(f"GET {path}/permits", *at)
    assert next(one for one in permits if one["asset"] == "EURC")["status"] == "CONFIRMED"
    (allowance,) = scene.maker(f"GET {path}/allowances", *at, asset="EURC")
    assert int(allowance["allowance"]) == 2**256 - 1
    assert allowance["asset"]["contractAddress"] == permit["contractAddress"]
    others = scene.maker(f"GET {path}/allowances", *at)
    assert {one["allowance"] for one in others if one["asset"]["name"] != "EURC"} == {"0"}


def drive_finance(scene: Scene) -> None:
    """Call every operation of the finance service, and make some calls that it must refuse."""
    drive_parties(scene)
    rich = drive_accounts(scene)
    drive_pay_ins(scene, rich)
    drive_transfers(scene, rich)
    drive_payments(scene, rich)
    drive_permits(scene, rich)
