"""Open points of the specifications: a test for each one that concerns the client.

Each has the name of its row in the table of gaps, and a test compares the names. Rows that concern
another package are listed with that package. `docs/assumptions.md` describes them for readers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from fake_service import Connect, HandClock, refusal
from gap_rows import ROWS, read, serving

from treasury.api import Client, bodies
from treasury.api.models import Account, PaymentSession, Transfer
from treasury.core import errors

for service in ("finance", "ramp"):
    import_module(f"gaps_of_{service}")  # the module registers its checks
GAPS = Path(__file__).parents[3] / "shared" / "spec" / "gaps.md"
ELSEWHERE = {
    "referenceCode format (unstated)": "reconcile: references are normalised and matched whole",
    "A2A record (123)": "extract: first_seen_at",
    "Party, KYB, account, wallet, VBA moves (160)": "actions: read again before money moves",
    "callbackUrl call (227)": "extract: balances are read again, callbacks are not taken in",
    "Key retention (246)": "actions: key and body are journaled before sending",
    "paymentReference format (unstated)": "reconcile: as referenceCode",
    "Under- or overpayment (unstated)": "reconcile: SENT WRONG and variance exceptions",
    "To AWAITING_FUNDS (131)": "actions: the creator is refused locally too",
    "Roles by endpoint (196)": "actions and panels: a credential's role is shown",
    "Webhooks (200)": "extract: polling is the truth, nothing is taken in",
    "Ramp list item (114)": "extract: each request is read in detail",
}


@pytest.mark.parametrize("name", ROWS)
def test_gap(connect: Connect, hand_clock: HandClock, name: str) -> None:
    ROWS[name](connect, hand_clock)


@pytest.mark.skipif(
    not GAPS.exists(), reason=f"no file {GAPS}: not tested that each of its rows has a test"
)
def test_every_row_of_the_table_is_tested_here_or_elsewhere() -> None:
    lines = [line for line in GAPS.read_text("utf-8").splitlines() if line.startswith("|")]
    names = {line.split("|")[1].strip() for line in lines} - {"-", "Gap"}
    assert len(names) > 80
    assert set(ROWS) | set(ELSEWHERE) == names
    assert not set(ROWS) & set(ELSEWHERE)


DROPPED: dict[str, Callable[[Client], Any]] = {
    "transfers between accounts": lambda c: c.finance.account_to_account_transfers.list(),
    "creating one": lambda c: c.finance.account_to_account_transfers.create(
        bodies.NewAccountToAccountTransfer(
            source_account_id="a", destination_account_id="b", amount=1, cryptocurrency="USDC"
        )
    ),
    "wallet creation": lambda c: c.finance.wallets.create("a", bodies.NewWallet(chain="BASE")),
    "account change": lambda c: c.finance.accounts.update("a", bodies.AccountChanges(name="n")),
    "account deletion": lambda c: c.finance.accounts.delete("a"),
    "reactivation": lambda c: c.finance.accounts.reactivate("a"),
    "either transfer": lambda c: c.finance.transfers.create(
        "a", bodies.NewFiatTransfer(currency="EUR", amount=1, receiver_account_id="b")
    ),
}


@pytest.mark.parametrize("name", DROPPED)
def test_contradiction_1_operations_dropped_by_later_generations_are_not_offered(
    connect: Connect, name: str
) -> None:
    client, _ = connect(lambda _: refusal(405, "METHOD_NOT_SUPPORTED"))
    with pytest.raises(errors.NotOffered):
        DROPPED[name](client)


def test_contradiction_2_a_fiat_transfer_may_be_stablecoin_between_accounts() -> None:
    origin = {"currency": "EUR", "amount": 500, "exchangeRate": 0.92}
    moved = read(Transfer, id="t", chain="BASE", asset="USDC", amount=543.48, fiatOrigin=origin)
    assert (moved.asset, moved.amount) == ("USDC", Decimal("543.48"))
    assert (moved.fiat_origin.currency, moved.fiat_origin.amount) == ("EUR", Decimal(500))
    assert read(Transfer, id="t", currency="EUR", amount=500).fiat_origin is None


def test_contradiction_4_processing_is_not_final() -> None:
    assert not read(Transfer, id="t", status="PROCESSING").is_final


def test_contradiction_8_a_party_is_not_resent_although_it_carries_a_key(
    connect: Connect,
) -> None:
    body = bodies.NewParty(party_type="ORGANISATION", name="H")
    client, service = connect(lambda _: refusal(503))
    with pytest.raises(errors.OutcomeUnknown):
        client.finance.parties.create(body)
    (sent,) = service.requests
    assert json.loads(sent.content)["idempotencyKey"] == body.idempotency_key


def test_contradiction_9_an_amount_is_sent_as_a_string_and_read_as_a_number() -> None:
    body = bodies.NewPaymentSession(
        in_amount="480.50", in_currency="EUR", out_cryptocurrency="USDC", callback_url="https://c"
    )
    assert body.wire()["inAmount"] == "480.50"
    assert read(PaymentSession, inAmount=480.5).in_amount == Decimal(body.wire()["inAmount"])


@pytest.mark.parametrize(
    "create",
    [
        lambda c: c.finance.parties.create(bodies.NewParty(party_type="ORGANISATION", name="H")),
        lambda c: c.finance.transfers.crypto(
            "a",
            bodies.NewCryptoTransfer(chain="BASE", asset="USDC", amount=1, receiver_account_id="b"),
        ),
    ],
)
def test_contradiction_10_a_created_record_may_be_wrapped(
    connect: Connect, create: Callable[[Client], Any]
) -> None:
    client, _ = serving(connect, {"createdResourceId": "x", "response": {"id": "x"}})
    assert create(client).value.id == "x"


def test_contradiction_12_a_party_is_changed_with_and_without_a_version() -> None:
    assert "version" in bodies.PartyChanges(version=2, name="H").wire()
    assert "version" not in bodies.PartyChanges(name="H").wire()


def test_contradiction_14_roles_and_wallets_of_every_generation(connect: Connect) -> None:
    early = {"partyId": "p", "roleType": "ACCOUNT_HOLDER", "party": {"id": "p", "name": "H"}}
    late = {"partyId": "p", "roleType": "PAYOUT_RECIPIENT", "status": "INACTIVE"}
    client, _ = serving(connect, [early, late])
    roles = [record.value for record in client.finance.party_roles.all("a")]
    assert [(role.role_type, role.party and role.party.name) for role in roles] == [
        ("ACCOUNT_HOLDER", "H"),
        ("PAYOUT_RECIPIENT", None),
    ]
    wallets = [
        {"id": "1", "accountId": "a", "chain": "BASE", "status": "ACTIVE", "balances": []},
        {"id": "2", "chain": "BASE", "type": "CUSTODIAL", "amlStatus": "APPROVED"},
    ]
    client, _ = serving(connect, wallets)
    first, second = (record.value for record in client.finance.wallets.list("a"))
    assert (first.status, second.type, second.aml_status) == ("ACTIVE", "CUSTODIAL", "APPROVED")


def test_contradiction_17_networks_that_no_specification_names(connect: Connect) -> None:
    assert read(Account, id="a", chain="SOLANA").chain == "SOLANA"
    assert bodies.NewWallet(chain="POLYGON").wire() == {"chain": "POLYGON"}
