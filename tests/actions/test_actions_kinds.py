"""Every kind is carried out as its sentence describes, and a refusal states the reason."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from action_practice import (
    MORNING,
    OPERATIONS,
    PAYOUT,
    TREASURY,
    Practice,
    bank_fields,
    refused,
    request_fields,
    transfer_fields,
)

from treasury.actions import KINDS, AssetAmount, Fact, RampSeen, changed, field_names, moved
from treasury.actions.kinds.kind import Sent
from treasury.api.models import RampEvent, RampRequest
from treasury.api.operations import SCOPES
from treasury.core.errors import InputError

ADDRESS = "0x" + "ab" * 20
CREATES: dict[str, dict[str, Any]] = {
    "ramp_request.create": request_fields(),
    "crypto_transfer.create": transfer_fields(),
    "fiat_transfer.create": {
        "sender_account_id": TREASURY, "receiver_external_id": "ops-usd", "currency": "EUR",
        "amount": "9.20",
    },
    "account_transfer.create": {
        "source_account_id": TREASURY, "destination_account_id": OPERATIONS,
        "cryptocurrency": "USDC", "amount": "3.141592",
    },
    "payment_session.create": {
        "account_id": TREASURY, "in_amount": "50.00", "in_currency": "EUR",
        "out_cryptocurrency": "USDC", "callback_url": "https://callback.test/paid",
    },
    "payment_request.create": {
        "type": "paymentology", "reference_id": "ops-usd", "amount": "12.50", "currency": "EUR",
    },
    "virtual_account.create": {
        "account_id": TREASURY, "name": "Pay-in 2", "in_currency": "EUR",
        "target_cryptocurrency": "USDC",
    },
    "wallet.create": {"account_id": TREASURY, "chain": "BASE"},
    "company_bank_account.create": bank_fields(),
    "company_wallet.create": {"address": ADDRESS, "chain": "BASE", "description": "cold"},
}  # fmt: skip


@pytest.mark.parametrize("kind", CREATES)
def test_a_create_is_sent_once_and_its_response_is_stored(practice: Practice, kind: str) -> None:
    ready = practice.approved(kind, **CREATES[kind])
    assert practice.posts() == []
    done = practice.ines.execute(ready.id)
    assert (done.state, len(practice.posts()), len(practice.effects())) == ("done", 1, 1)
    assert done.outcome is not None
    [entry] = practice.journal.entries("action.done")
    assert entry.body["operation"] == KINDS[kind].operation
    assert json.loads(entry.body["response"])["id"] == done.outcome.record
    [sending] = practice.journal.entries("action.sending")
    assert bool(sending.body["key"]) is KINDS[kind].takes_key
    assert sending.body["key"] in sending.body["body"]
    practice.journal.verify()


def test_a_request_passes_through_five_action_kinds_by_two_people(practice: Practice) -> None:
    made = practice.ines.execute(
        practice.ines.propose(
            "ramp_request.create",
            **request_fields(
                ramp_type="OFF_RAMP", amount="250", company_wallet_id=None,
                company_bank_account_id=PAYOUT,
            ),
        ).id
    )  # fmt: skip
    assert made.outcome is not None
    request = made.outcome.record
    change = practice.ines.propose("ramp_request.change_amount", request_id=request, amount="200.5")
    assert "from USDC 250.000000 to USDC 200.500000" in change.text
    practice.ines.execute(change.id)
    assert "maker is never the checker" in refused(
        lambda: practice.ines.propose("ramp_request.approve", request_id=request)
    )
    practice.jonas.execute(practice.jonas.propose("ramp_request.approve", request_id=request).id)
    hashed = practice.ines.propose(
        "ramp_request.submit_hash", request_id=request, transaction_hash="0x" + "1f" * 32
    )
    assert practice.ines.execute(hashed.id).state == "done"
    detail = practice.client("viewer").ramp.requests.get(request).value
    assert (detail.status, detail.version) == ("AWAITING_FUNDS", 4)
    assert detail.blockchain_transaction_hash == "0x" + "1f" * 32


def test_a_created_request_can_be_cancelled_and_rejected_before_approval(
    practice: Practice,
) -> None:
    statuses = []
    for verb in ("cancel", "reject"):
        made = practice.ines.execute(
            practice.ines.propose("ramp_request.create", **request_fields()).id
        )
        assert made.outcome is not None
        ended = practice.ines.propose(f"ramp_request.{verb}", request_id=made.outcome.record)
        done = practice.ines.execute(ended.id)
        assert done.outcome is not None
        statuses.append(done.outcome.status)
    assert statuses == ["CANCELLED", "REJECTED"]


def test_reactivating_a_suspended_account_needs_two_people(practice: Practice) -> None:
    practice.sandbox.finance.suspend_account(OPERATIONS)
    ready = practice.approved("account.reactivate", account_id=OPERATIONS)
    assert ready.people == ("ines", "jonas")
    assert practice.ines.execute(ready.id).state == "done"
    assert practice.client("viewer").finance.accounts.get(OPERATIONS).value.status == "ACTIVE"


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("crypto_transfer.create", {"amount": "10.1234567"}, "amount: .*more decimals than USDC"),
        ("crypto_transfer.create", {"amount": "999999999"}, "amount: .*over the balance, USDC"),
        ("crypto_transfer.create", {"asset": "EURC"}, "asset: the sender holds no EURC on BASE"),
        ("crypto_transfer.create", {"chain": "AVALANCHE"}, "chain: .* is on BASE, not on AVALA"),
        ("crypto_transfer.create", {"receiver_account_id": TREASURY}, "it is the sender"),
        ("account_transfer.create", {"amount": "99999999"}, "amount: .*over the balance"),
        ("wallet.create", {"chain": "AVALANCHE"}, "chain: .*is on BASE"),
        ("account.reactivate", {"account_id": TREASURY}, "is ACTIVE, not SUSPENDED"),
        ("company_bank_account.create", {"iban": "NL05TEST0417164300"}, "iban: it is already reg"),
        ("company_wallet.create", {"address": "0xB7F0D5703FFB52C69A537FD5B51F6B6A34818F75"},
         "address: it is already registered"),
        ("payment_request.create", {"amount": "1.0001"}, "amount: .*more decimals than EUR"),
        ("company_wallet.create", {"address": "0xabc"}, "address: an address on BASE is 0x and 40"),
        ("crypto_transfer.create", {"receiver_account_id": None, "external_address": "0xabc",
         "external_field": "destinationAddress"}, "external_address: an address on BASE is 0x"),
    ],
)  # fmt: skip
def test_an_action_that_the_records_do_not_allow_is_refused_by_field(
    practice: Practice, kind: str, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(Exception, match=said) as caught:
        practice.ines.propose(kind, **({**CREATES.get(kind, {}), **change}))
    assert "nothing was sent" in str(caught.value)
    assert practice.posts() == practice.kinds() == []


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("crypto_transfer.create", {"amount": 10.5}, "float is not an exact amount"),
        ("crypto_transfer.create", {"amount": "-1"}, "amount: -1 is not positive"),
        ("crypto_transfer.create", {"amount": None}, "amount: is missing"),
        ("crypto_transfer.create", {"amount": "1,000.000.0"}, "amount: .* is not an amount"),
        ("crypto_transfer.create", {"colour": "red"}, "colour: is not a field of this action"),
        ("crypto_transfer.create", {"description": "x\n2"}, "description: holds a line break"),
        ("crypto_transfer.create", {"description": "pay \u202eLRU"}, r"⟨U\+202E⟩LRU"),
        ("crypto_transfer.create", {"receiver_account_id": "none-such"}, "no account has the id"),
        ("crypto_transfer.create", {"receiver_account_id": None}, "one receiver is needed"),
        ("crypto_transfer.create", {"receiver_external_id": "ops-usd"}, "not both"),
        ("crypto_transfer.create", {"receiver_account_id": None, "external_address": ADDRESS},
         "external_field: is missing, and the service's field"),
        ("company_bank_account.create", {"iban": "BE68539007547035"}, "^iban: the check digits"),
        ("company_bank_account.create", {"iban": None}, "^iban: is missing; nothing was sent"),
        ("company_bank_account.create", {"bic": "XX"}, "^bic: is not a BIC; nothing was sent"),
        ("company_bank_account.create", {"bank_account_type": "MARS"}, "^bank_account_type: 'MAR"),
        ("virtual_account.create", {"in_currency": "USD"}, "^in_currency: 'USD' is not offered"),
        ("virtual_account.create", {"target_cryptocurrency": "DOGE"}, "^target_cryptocurrency: "),
        ("payment_session.create", {"out_cryptocurrency": "DOGE"}, "^out_cryptocurrency: 'DOGE'"),
        ("company_bank_account.create", {"name": "Bank\r\nEvil"}, "name: holds a line break"),
        ("ramp_request.create", {"crypto_currency": "DOGE"}, "crypto_currency: DOGE on BASE is n"),
        ("ramp_request.create", {"ramp_type": "SIDE_RAMP"}, "ramp_type: 'SIDE_RAMP' is not a ramp"),
        ("ramp_request.create", {"company_wallet_id": "no-such"}, "company_wallet_id: no comp"),
        ("payment_session.create", {"callback_url": "http://evil.test/x"}, "^callback_url: is"),
    ],
)  # fmt: skip
def test_an_invalid_field_is_an_input_error_that_names_it(
    practice: Practice, kind: str, change: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        practice.ines.propose(kind, **({**CREATES[kind], **change}))
    assert practice.posts() == practice.kinds() == []


def test_an_unverified_target_and_an_unverified_sender_are_refused(practice: Practice) -> None:
    wallets = practice.client("viewer").ramp.wallets.iterate()
    pending = next(w.value for w in wallets if w.value.verification_status == "PENDING")
    assert "company_wallet_id: the wallet is PENDING, not VERIFIED" in refused(
        lambda: practice.ines.propose(
            "ramp_request.create",
            **request_fields(
                company_wallet_id=pending.id, crypto_currency="EURC", chain="ETHEREUM"
            ),
        )
    )
    accounts = practice.client("viewer").finance.accounts.iterate(external_id="cust-0417")
    mira = next(accounts).value.id
    assert "sender_account_id: the holder of cust-0417" in refused(
        lambda: practice.ines.propose(
            "crypto_transfer.create", **(transfer_fields() | {"sender_account_id": mira})
        )
    )
    assert practice.posts() == []


def test_an_external_address_goes_into_the_named_field(
    practice: Practice,
) -> None:
    outside = {
        "receiver_account_id": None, "external_address": ADDRESS,
        "external_field": "destinationAddress",
    }  # fmt: skip
    ready = practice.approved("crypto_transfer.create", **(transfer_fields() | outside))
    assert f"to wallet {ADDRESS} outside the service" in ready.text
    assert ADDRESS not in ready.masked
    practice.ines.execute(ready.id)
    [sending] = practice.journal.entries("action.sending")
    assert json.loads(sending.body["body"])["destinationAddress"] == ADDRESS


def test_an_unknown_kind_is_refused_with_the_nearest_one_or_the_list_of_kinds(
    practice: Practice,
) -> None:
    with pytest.raises(InputError, match=r"is it ramp_request\.approve\?"):
        practice.ines.propose("ramp_request.aprove", request_id="x")
    with pytest.raises(InputError) as refused:
        practice.ines.propose("pay", request_id="x")
    assert "ramp_request.approve, " in str(refused.value.do)


def test_every_kind_declares_the_facts_for_approval_and_recovery() -> None:
    for kind in KINDS.values():
        assert kind.operation in SCOPES, kind.name
        assert kind.credential in {"maker", "checker"}, kind.name
        assert kind.consequence.endswith("."), kind.name
        assert bool(kind.shows and kind.event) is (kind.safety == "versioned"), kind.name
        assert kind.shows or kind.look_up, f"{kind.name}: nothing shows its effect"
        if kind.safety == "neither":
            assert kind.look_up, f"{kind.name}: a refusal of it cannot be looked into"
    unlisted = {k.name for k in KINDS.values() if k.safety != "versioned" and not k.look_up}
    assert unlisted == {"payment_session.create", "payment_request.create"}
    # After a lost answer, only a key makes it safe to repeat the call.
    assert {KINDS[name].safety for name in unlisted} == {"keyed"}


def test_every_kind_declares_its_fields() -> None:
    for kind in KINDS.values():
        fields = field_names(kind.fields)
        assert any(fields.values()), kind.name
    assert list(field_names(KINDS["ramp_request.approve"].fields)) == ["request_id"]


def test_amounts_are_sent_digit_for_digit(practice: Practice) -> None:
    ready = practice.transfer("12345.678901")
    assert practice.ines.execute(ready.id).state == "done"
    [sending] = practice.journal.entries("action.sending")
    assert '"amount":12345.678901' in sending.body["body"]
    assert ready.money == AssetAmount("USDC", Decimal("12345.678901"))


def test_the_summary_names_actor_target_and_amount_and_masks_private_data(
    practice: Practice,
) -> None:
    action = practice.ines.propose("company_bank_account.create", reason="new bank",
                                   **bank_fields(name='=HYPERLINK("x")'))  # fmt: skip
    assert action.text == (
        'Register bank account "=HYPERLINK("x")" at Test Bank in BE, held by Harbour Lane Trading'
        " NV, number BE68539007547034. Once the provider has reviewed it, off-ramp money can be"
        " paid to it. Proposed by ines at 2026-11-02 09:00:00 CET, sent as harbour-checker."
        " Reason: new bank"
    )
    assert "…7034" in action.masked
    assert "BE68" not in action.masked


def test_text_from_a_service_is_one_visible_line_in_summary_and_facts(
    practice: Practice, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = practice.client("viewer").finance.accounts.get(OPERATIONS).value
    evil = msgspec.structs.replace(account, external_id="ops\n\u202eDNES \x1b[2J<script>")
    accounts = type(practice.client("maker").finance.accounts)
    real = accounts.get

    def get(resource: Any, number: str) -> Any:
        record = real(resource, number)
        return msgspec.structs.replace(record, value=evil) if number == OPERATIONS else record

    monkeypatch.setattr(accounts, "get", get)
    action = practice.ines.propose("crypto_transfer.create", **transfer_fields())
    shown = [action.text, *(one.value for one in action.facts)]
    assert all(text.isprintable() for text in shown)
    assert "ops ⟨U+202E⟩DNES ␛[2J<script>" in action.text


# Facts of a ramp request

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


def test_every_changed_material_fact_is_named_with_both_values() -> None:
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


def test_equal_amounts_in_another_spelling_and_a_version_are_not_changes() -> None:
    fresh = msgspec.structs.replace(ON_RAMP, fiat_amount=Decimal("25000.00"), version=9)
    assert moved(ON_RAMP, fresh) == ()


def test_an_added_or_removed_material_fact_is_a_change_and_an_immaterial_one_is_not() -> None:
    one = Fact(name="payee", value="a")
    balance = Fact(name="available", value="1", material=False)
    assert [str(m) for m in changed((one, balance), ())] == ["payee was a, is not shown"]
    assert [str(m) for m in changed((), (one,))] == ["payee was not shown, is a"]


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
    request = RampRequest(id="x", status=status, events=history)
    sent = Sent(fields=None, ids=("x",), body=None, key="", version=1, at=MORNING)
    declared = KINDS[kind].shows
    assert declared is not None
    assert declared(request, sent) is shows
