"""What is said before a decision, and how a request that moved is told from one that did not."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from treasury.actions import KINDS, RampSeen, kind_of, moved
from treasury.actions.kinds import sentence
from treasury.api.models import RampEvent, RampRequest
from treasury.errors import InputError

NOON = datetime(2026, 11, 2, 12, 30, 5, tzinfo=UTC)
ON_RAMP = RampSeen(
    id="eeefe351",
    status="AWAITING_APPROVAL",
    ramp_type="ON_RAMP",
    version=1,
    payment_reference="PAY-2026-004417",
    fiat_amount=Decimal(25000),
    fiat_fee_amount=Decimal(200),
    fiat_net_amount=Decimal(24800),
    fiat_currency="EUR",
    crypto_amount=Decimal("26865.995017"),
    crypto_currency="USDC",
    payee_account="0xb7f0d5703ffb52c69a537fd5b51f6b6a34818f75",
    payee_chain="BASE",
    created_by="maker@harbourlane.test",
)
OFF_RAMP = msgspec.structs.replace(
    ON_RAMP, ramp_type="OFF_RAMP", payee_account="NL05TEST0417164300", payee_chain=None
)


def said(request: RampSeen, **options: Any) -> str:
    kind = options.pop("kind", "ramp_request.approve")
    return sentence(kind_of(kind), request, actor="anna", client_id="hl", at=NOON, **options)


def test_an_on_ramp_is_said_in_full() -> None:
    assert said(ON_RAMP) == (
        "Approve on-ramp PAY-2026-004417: EUR 25,000.00 gross (fee EUR 200.00, net EUR 24,800.00)"
        " for USDC 26,865.995017, delivered to wallet 0xb7f0d5703ffb52c69a537fd5b51f6b6a34818f75"
        " on BASE. It then awaits its funds. Created by maker@harbourlane.test, version 1."
        " Decided by anna at 2026-11-02 12:30:05 UTC, sent as hl."
    )


def test_an_off_ramp_says_the_account_that_is_paid_and_can_mask_it() -> None:
    full = said(OFF_RAMP, kind="ramp_request.reject", reason="not ours")
    assert full.startswith("Reject off-ramp PAY-2026-004417: USDC 26,865.995017 for EUR 25,000.00")
    assert "paid to account NL05TEST0417164300." in full
    assert "closed for good" in full
    assert full.endswith("Reason: not ours")
    masked = said(OFF_RAMP, masked=True)
    assert "paid to account …4300." in masked
    assert "NL05" not in masked


def test_what_is_not_shown_is_said_to_be_missing() -> None:
    bare = RampSeen(id="x", status="AWAITING_APPROVAL", ramp_type="NEW_KIND", version=4)
    assert said(bare).startswith("Approve NEW_KIND x: ? for an amount not shown, to a payee that")
    assert "Created by unknown, version 4" in said(bare)


def test_every_material_fact_that_moves_is_named_with_both_values() -> None:
    changes: dict[str, Any] = {
        "status": "BLOCKED",
        "fiat_amount": Decimal("25000.01"),
        "payee_account": "NL69TEST0417164301",
        "crypto_chain": "POLYGON",
    }
    fresh = msgspec.structs.replace(ON_RAMP, **changes)
    assert [str(change) for change in moved(ON_RAMP, fresh)] == [
        "status was AWAITING_APPROVAL, is BLOCKED",
        "fiat amount was EUR 25,000.00, is EUR 25,000.01",
        "crypto chain was not shown, is POLYGON",
        "payee account was 0xb7f0d5703ffb52c69a537fd5b51f6b6a34818f75, is NL69TEST0417164301",
    ]


def test_equal_amounts_written_differently_and_a_version_have_not_moved() -> None:
    fresh = msgspec.structs.replace(ON_RAMP, fiat_amount=Decimal("25000.00"), version=9)
    assert moved(ON_RAMP, fresh) == ()


def test_a_row_of_the_lake_gives_the_same_facts_as_the_service() -> None:
    row = {
        **{name: getattr(OFF_RAMP, name) for name in OFF_RAMP.__struct_fields__},
        "company_bank_account_iban": "NL05TEST0417164300",
        "company_wallet_address": "0x0",
        "fiat_amount": Decimal("25000.000000000000000000"),
        "something_else": 1,
    }
    assert moved(RampSeen.from_row(row), OFF_RAMP) == ()
    with pytest.raises(InputError, match="eeefe351"):
        RampSeen.from_row({**row, "version": "one"})


@pytest.mark.parametrize(
    ("kind", "status", "events", "shows"),
    [
        ("ramp_request.approve", "AWAITING_APPROVAL", ["CREATED", "APPROVED"], False),
        ("ramp_request.approve", "AWAITING_FUNDS", ["CREATED", "APPROVED"], True),
        ("ramp_request.approve", "AWAITING_FUNDS", [], True),
        ("ramp_request.approve", "SUCCEEDED", [], True),
        ("ramp_request.approve", "REJECTED", ["CREATED", "REJECTED"], False),
        ("ramp_request.approve", "BLOCKED", [], False),
        ("ramp_request.reject", "REJECTED", ["CREATED", "REJECTED"], True),
        ("ramp_request.reject", "CANCELLED", ["CREATED", "CANCELLED"], False),
        ("ramp_request.reject", "SOMETHING_NEW", [], False),
    ],
)
def test_an_effect_is_recognised_by_its_event_or_else_its_status(
    kind: str, status: str, events: list[str], shows: bool
) -> None:
    history = tuple(RampEvent(event_type=event) for event in events)
    assert KINDS[kind].shows(RampRequest(id="x", status=status, events=history)) is shows
