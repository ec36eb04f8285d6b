"""Actions of the platform and the banks on the ramp side, and later automatic steps."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from treasury.core.errors import InputError
from treasury.sandbox import Sandbox
from treasury.sandbox.state.shapes import RampRequest, decode
from treasury.sandbox.story.cast import USERS
from treasury.sandbox.story.lines import Line


def requests_of(sandbox: Sandbox, **where: str) -> list[RampRequest]:
    columns = {column: [value] for column, value in where.items()}
    ids = (decode(text, dict)["id"] for text in page(sandbox, columns))
    return [of(sandbox, its_id) for its_id in ids]


def page(sandbox: Sandbox, where: dict[str, list[str]]) -> list[str]:
    return sandbox._world.store.page("ramp_request", where).items


def of(sandbox: Sandbox, its_id: str) -> RampRequest:
    """Return a stored ramp request."""
    text = sandbox._world.store.detail("ramp_request", its_id)
    assert text is not None
    return decode(text, RampRequest)


@pytest.fixture
def awaiting(own_sandbox: Sandbox) -> RampRequest:
    return requests_of(own_sandbox, status="AWAITING_FUNDS", type="ON_RAMP")[0]


@pytest.fixture
def coins_awaited(own_sandbox: Sandbox) -> RampRequest:
    return requests_of(own_sandbox, status="AWAITING_FUNDS", type="OFF_RAMP")[0]


def kinds(request: RampRequest) -> list[str]:
    return [event.event_type for event in request.events]


# A payment run


def test_a_payment_run_gives_requests_of_the_last_target_day_that_await_their_wires(
    own_sandbox: Sandbox,
) -> None:
    made = own_sandbox.ramp.payment_run()
    assert [of(own_sandbox, request.id) for request in made] == made
    assert [request.fiat_amount for request in made] == [2_500 + 500 * n for n in range(10)]
    assert {request.status for request in made} == {"AWAITING_FUNDS"}
    assert {request.created_at[:10] for request in made} == {"2026-10-30"}
    assert len({request.payment_reference for request in made}) == 10
    assert kinds(made[0]) == ["CREATED", "APPROVED", "STATUS_CHANGED"]
    assert Sandbox().ramp.payment_run() == made
    with pytest.raises(InputError, match="1 to 100 requests"):
        own_sandbox.ramp.payment_run(0)


# Incoming money


def test_a_wire_is_booked_today_received_tomorrow_and_delivered_within_hours(
    own_sandbox: Sandbox, awaiting: RampRequest
) -> None:
    line = own_sandbox.ramp.fund(awaiting.id)
    assert (line.booked, line.direction) == (date(2026, 11, 2), "DBIT")
    assert line.amount == awaiting.fiat_amount
    assert line.text.remittance == (awaiting.payment_reference,)
    assert line in own_sandbox._world.bank.lines
    own_sandbox.clock.set(datetime(2026, 11, 3, 9, 29, tzinfo=UTC))
    assert of(own_sandbox, awaiting.id).status == "AWAITING_FUNDS"
    own_sandbox.clock.advance(minutes=2)
    seen = of(own_sandbox, awaiting.id)
    assert (seen.status, seen.payment_received) == ("PROCESSING", True)
    assert seen.amount_received == awaiting.fiat_amount
    own_sandbox.clock.advance(hours=2)
    done = of(own_sandbox, awaiting.id)
    assert done.status == "SUCCEEDED"
    assert done.blockchain_transaction_hash
    assert kinds(done)[-2:] == ["PAYMENT_RECEIVED", "COMPLETED"]
    assert done.events[-2].created_at == "2026-11-03T09:30:01Z"


def test_an_instant_wire_is_received_on_the_same_day(
    own_sandbox: Sandbox, awaiting: RampRequest
) -> None:
    assert own_sandbox.ramp.fund(awaiting.id, instant=True).bank_code == "PMNT/IRCT/ESCT"
    own_sandbox.clock.advance(hours=6)
    assert of(own_sandbox, awaiting.id).status == "SUCCEEDED"


@pytest.mark.parametrize(
    ("less", "text", "status"),
    [
        ("0", None, "SUCCEEDED"),
        ("0.01", None, "SUCCEEDED"),
        ("-50", None, "SUCCEEDED"),
        ("12", None, "AWAITING_FUNDS"),
        ("0", "", "AWAITING_FUNDS"),
        ("0", "Invoice 12", "AWAITING_FUNDS"),
        ("0", "ref {spaced} thanks", "SUCCEEDED"),
    ],
)
def test_a_wire_is_assigned_only_by_its_reference_and_in_full(
    own_sandbox: Sandbox, awaiting: RampRequest, less: str, text: str | None, status: str
) -> None:
    if text is not None:
        text = text.format(spaced=awaiting.payment_reference.lower().replace("-", " "))
    own_sandbox.ramp.fund(awaiting.id, awaiting.fiat_amount - Decimal(less), text)
    own_sandbox.clock.advance(days=3)
    assert of(own_sandbox, awaiting.id).status == status


def test_a_wire_sent_at_the_weekend_is_booked_on_monday(
    own_sandbox: Sandbox, awaiting: RampRequest
) -> None:
    own_sandbox.clock.set(datetime(2026, 11, 7, 12, 0, tzinfo=UTC))
    assert own_sandbox.ramp.fund(awaiting.id).booked == date(2026, 11, 9)


def test_a_wire_for_a_denied_request_changes_nothing(
    own_sandbox: Sandbox, awaiting: RampRequest
) -> None:
    own_sandbox.ramp.fund(awaiting.id)
    own_sandbox.ramp.deny(awaiting.id)
    own_sandbox.clock.advance(days=3)
    assert of(own_sandbox, awaiting.id).status == "DENIED"


def test_a_wire_is_returned_as_sent_and_refunded_as_an_ordinary_credit(
    own_sandbox: Sandbox, awaiting: RampRequest
) -> None:
    undecided = requests_of(own_sandbox, status="AWAITING_APPROVAL", type="ON_RAMP")[0]
    with pytest.raises(InputError, match="no wire was sent"):
        own_sandbox.ramp.return_wire(undecided.id)
    sent = own_sandbox.ramp.fund(awaiting.id)
    back = own_sandbox.ramp.return_wire(awaiting.id, "AC01")
    assert (back.direction, back.return_reason, back.amount) == ("CRDT", "AC01", sent.amount)
    assert back.text == sent.text
    assert back.servicer_reference != sent.servicer_reference
    refund = own_sandbox.ramp.refund(awaiting.id, Decimal("10.50"), "as agreed")
    assert (refund.direction, refund.return_reason, refund.amount) == ("CRDT", "", Decimal("10.50"))


# Outgoing money


def test_received_coins_are_paid_out_and_booked_on_the_next_target_day(
    own_sandbox: Sandbox, coins_awaited: RampRequest
) -> None:
    request = own_sandbox.ramp.receive(coins_awaited.id)
    assert (request.status, request.amount_received) == ("PROCESSING", coins_awaited.crypto_amount)
    before = own_sandbox._world.bank.lines
    own_sandbox.clock.advance(days=1, hours=4)
    assert of(own_sandbox, request.id).status == "SUCCEEDED"
    (line,) = own_sandbox._world.bank.lines[len(before) :]
    assert (line.account, line.direction, line.booked) == (
        "NL05TEST0417164300", "CRDT", date(2026, 11, 3),
    )  # fmt: skip
    assert line.amount == coins_awaited.fiat_net_amount
    assert line.text.remittance == (coins_awaited.payment_reference,)


# Decisions of the platform


LIVE = ("AWAITING_APPROVAL", "AWAITING_FUNDS", "PROCESSING")


@pytest.mark.parametrize("status", LIVE)
@pytest.mark.parametrize(
    ("verb", "after", "event"),
    [("deny", "DENIED", "ADMIN_REJECTED"), ("block", "BLOCKED", "STATUS_CHANGED")],
)
def test_an_open_request_can_be_denied_or_blocked_at_any_time(
    own_sandbox: Sandbox, status: str, verb: str, after: str, event: str
) -> None:
    request = requests_of(own_sandbox, status=status)[0]
    moved = getattr(own_sandbox.ramp, verb)(request.id)
    assert (moved.status, moved.version) == (after, request.version + 1)
    assert kinds(moved)[-1] == event
    assert of(own_sandbox, request.id) == moved


@pytest.mark.parametrize("status", LIVE)
def test_a_released_request_continues_from_its_previous_status(
    own_sandbox: Sandbox, status: str
) -> None:
    request = requests_of(own_sandbox, status=status)[0]
    own_sandbox.ramp.block(request.id)
    assert own_sandbox.ramp.release(request.id).status == status
    own_sandbox.clock.advance(days=3)
    final = of(own_sandbox, request.id).status
    assert final == ("SUCCEEDED" if status == "PROCESSING" else status)


@pytest.mark.parametrize("status", ["AWAITING_FUNDS", "PROCESSING"])
def test_a_failed_request_stays_failed(own_sandbox: Sandbox, status: str) -> None:
    request = requests_of(own_sandbox, status=status)[0]
    failed = own_sandbox.ramp.fail(request.id)
    assert (failed.status, kinds(failed)[-1]) == ("FAILED", "FAILED")
    own_sandbox.clock.advance(days=9)
    assert of(own_sandbox, request.id) == failed


@pytest.mark.parametrize("verb", ["receive", "complete", "fail", "deny", "block", "release"])
def test_an_impossible_driver_call_is_reported_and_changes_nothing(
    own_sandbox: Sandbox, verb: str
) -> None:
    settled = requests_of(own_sandbox, status="SUCCEEDED")[0]
    before = own_sandbox.now
    with pytest.raises(InputError, match=f"{settled.payment_reference} is SUCCEEDED"):
        getattr(own_sandbox.ramp, verb)(settled.id)
    assert of(own_sandbox, settled.id) == settled
    assert own_sandbox.now == before
    with pytest.raises(InputError, match="no ramp request nobody"):
        getattr(own_sandbox.ramp, verb)("nobody")


def test_an_off_ramp_cannot_be_funded_by_wire(
    own_sandbox: Sandbox, coins_awaited: RampRequest, awaiting: RampRequest
) -> None:
    with pytest.raises(InputError, match="is OFF_RAMP"):
        own_sandbox.ramp.fund(coins_awaited.id)
    for amount in ("0", "-1", "1.001", "NaN", "1e30"):
        with pytest.raises(InputError, match="not an amount in EUR"):
            own_sandbox.ramp.fund(awaiting.id, Decimal(amount))


# Reviews


def test_a_bank_account_is_reviewed_by_the_next_target_day_unless_decided_before(
    own_sandbox: Sandbox, callers: dict[str, Any], sepa: dict[str, str]
) -> None:
    checker = callers["checker"]
    answers = [checker.ramp_write("POST", "/company-bank-accounts", sepa) for _ in range(2)]
    first, second = (answer.json()["result"]["id"] for answer in answers)

    def status(its_id: str) -> str:
        found = checker.ramp(f"/company-bank-accounts/{its_id}").json()["result"]
        assert ("verifiedAt" in found) is (found["verificationStatus"] == "VERIFIED")
        return str(found["verificationStatus"])

    assert status(first) == "PENDING"
    own_sandbox.ramp.verify_bank_account(second, "DENIED")
    own_sandbox.clock.advance(days=1, hours=2)
    assert (status(first), status(second)) == ("VERIFIED", "DENIED")


@pytest.fixture
def sepa() -> dict[str, str]:
    return {
        "name": "n", "bankName": "b", "companyName": "c", "bankCountry": "NL",
        "beneficiaryAddressLine1": "a", "beneficiaryCity": "c", "beneficiaryPostalCode": "p",
        "beneficiaryCountry": "BE", "supportedRampType": "OFF_RAMP", "bankAccountType": "EUR_SEPA",
        "iban": "NL05TEST0417164300", "bic": "TESTNL2A",
    }  # fmt: skip


# The clock


def test_the_clock_runs_events_in_order_and_never_goes_back(
    own_sandbox: Sandbox, awaiting: RampRequest
) -> None:
    own_sandbox.ramp.fund(awaiting.id)
    assert own_sandbox.clock.advance(days=2) == 2
    assert own_sandbox.clock.now == own_sandbox.now
    assert own_sandbox.clock.today == date(2026, 11, 4)
    with pytest.raises(InputError, match="clock is at"):
        own_sandbox.clock.advance(timedelta(seconds=-1))
    with pytest.raises(InputError, match="no time zone"):
        own_sandbox.clock.set(datetime(2027, 1, 1))  # noqa: DTZ001 - this is refused
    assert own_sandbox.clock.advance(days=365) == 0


def test_tokens_do_not_expire_by_the_clock_of_the_company(
    own_sandbox: Sandbox, callers: dict[str, Any]
) -> None:
    own_sandbox.clock.advance(days=40)
    assert callers["maker"].ramp("/fees").status_code == 200


def test_two_sandboxes_with_the_same_calls_give_the_same_result() -> None:
    def story() -> list[Line]:
        sandbox = Sandbox(7)
        for request in requests_of(sandbox, status="AWAITING_FUNDS", type="ON_RAMP"):
            sandbox.ramp.fund(request.id)
        sandbox.clock.advance(days=5)
        told = [of(sandbox, request.id) for request in requests_of(sandbox)]
        return [*sandbox._world.bank.lines, *told]

    assert story() == story()


# The banks


@pytest.mark.parametrize("instant", [True, False])
def test_a_wire_of_a_customer_is_in_the_providers_report_and_in_the_wallet(
    own_sandbox: Sandbox, instant: bool
) -> None:
    virtual = own_sandbox._world.cast.virtual_accounts[0]
    own_sandbox.banks.sepa_credit(
        iban=virtual.iban, amount=Decimal("1234.56"), text=virtual.reference_code, instant=instant
    )
    line = own_sandbox._world.bank.lines[-1]
    assert (line.own_iban, line.amount, line.unbroken) == (virtual.iban, Decimal("1234.56"), True)
    assert line.account == own_sandbox._world.cast.master_iban
    own_sandbox.clock.advance(days=2)
    arrival = own_sandbox.finance.all_arrivals()[-1]
    assert (arrival.euros, arrival.status) == (Decimal("1234.56"), "CREDITED")


def test_a_wire_to_an_unknown_account_adds_no_line(own_sandbox: Sandbox) -> None:
    before = len(own_sandbox._world.bank.lines)
    with pytest.raises(InputError, match="NL00"):
        own_sandbox.banks.sepa_credit(iban="NL00", amount=Decimal(1), text="")
    with pytest.raises(InputError, match="has no statements"):
        own_sandbox.banks.bank_line(account="x", amount=Decimal(1), direction="CRDT", name="n")
    assert len(own_sandbox._world.bank.lines) == before


def test_an_arbitrary_line_can_be_booked_on_an_account_with_statements(
    own_sandbox: Sandbox,
) -> None:
    line = own_sandbox.banks.bank_line(
        account="NL05TEST0417164300", amount=Decimal("99.95"), direction="DBIT",
        name="Kade Vastgoed NV", iban="BE68539007547034", text="Rent November",
    )  # fmt: skip
    assert own_sandbox._world.bank.lines[-1] == line
    assert line.truth()["line_class"] == "other_business"


def test_a_line_can_be_booked_on_a_past_target_day(own_sandbox: Sandbox) -> None:
    def book(day: date) -> Line:
        return own_sandbox.banks.bank_line(
            account="NL05TEST0417164300", amount=Decimal("99.95"), direction="CRDT",
            name="Kade Vastgoed NV", text="Rent", booked=day,
        )  # fmt: skip

    def is_stated() -> bool:
        files = own_sandbox.bank_files(date(2026, 10, 23), date(2026, 10, 23))
        return any(b">99.95<" in content for _, content in files)

    assert not is_stated()
    line = book(date(2026, 10, 23))
    assert line.booked == date(2026, 10, 23)
    assert is_stated()
    for day in (date(2026, 10, 24), date(2026, 11, 3), date(2026, 4, 30)):
        with pytest.raises(InputError, match="the bank books nothing on"):
            book(day)


def test_the_truth_includes_new_lines(own_sandbox: Sandbox, awaiting: RampRequest) -> None:
    count = len(own_sandbox.truth())
    own_sandbox.ramp.fund(awaiting.id)
    assert len(own_sandbox.truth()) == count + 1
    assert own_sandbox.truth()[-1]["expectation"]["id"] == awaiting.id


# The provider's deposit details


def test_changed_deposit_details_apply_to_waiting_and_later_approved_requests(
    own_sandbox: Sandbox, awaiting: RampRequest
) -> None:
    before = awaiting.deposit_bank_account
    assert before is not None
    changed = own_sandbox.ramp.change_deposit()
    assert {request.status for request in changed} == {"AWAITING_FUNDS"}
    (now,) = {request.deposit_bank_account for request in changed}
    assert now is not None
    assert now.iban != before.iban
    assert (now.beneficiary, now.version) == (before.beneficiary, before.version + 1)
    assert of(own_sandbox, awaiting.id).deposit_bank_account == now
    waiting = requests_of(own_sandbox, status="AWAITING_APPROVAL", type="ON_RAMP")[0]
    life = own_sandbox._world.life
    approved = life.approve(waiting, USERS["checker"], own_sandbox.now)
    assert approved.deposit_bank_account == now


def test_the_deposit_details_of_a_single_request_can_change(
    own_sandbox: Sandbox, awaiting: RampRequest, coins_awaited: RampRequest
) -> None:
    (changed,) = own_sandbox.ramp.change_deposit(awaiting.id, iban="BE19539708204912")
    assert changed.deposit_bank_account is not None
    assert changed.deposit_bank_account.iban == "BE19539708204912"
    others = requests_of(own_sandbox, status="AWAITING_FUNDS", type="ON_RAMP")
    assert sum(one.deposit_bank_account == changed.deposit_bank_account for one in others) == 1
    (coins,) = own_sandbox.ramp.change_deposit(coins_awaited.id)
    assert coins.deposit_wallet is not None
    assert coins_awaited.deposit_wallet is not None
    assert coins.deposit_wallet.address != coins_awaited.deposit_wallet.address


def test_invalid_deposit_details_are_refused(own_sandbox: Sandbox, awaiting: RampRequest) -> None:
    with pytest.raises(InputError, match="not an IBAN"):
        own_sandbox.ramp.change_deposit(iban="BE00539708204912")
    with pytest.raises(InputError, match="there is no ramp request"):
        own_sandbox.ramp.change_deposit("other")
    done = requests_of(own_sandbox, status="SUCCEEDED")[0]
    with pytest.raises(InputError, match="is SUCCEEDED"):
        own_sandbox.ramp.change_deposit(done.id)
    assert of(own_sandbox, awaiting.id) == awaiting


def test_changed_deposit_details_survive_a_restart(tmp_path: Path) -> None:
    first = Sandbox(7, state=tmp_path)
    changed = first.ramp.change_deposit()[0]
    first.close()
    again = Sandbox(7, state=tmp_path)
    assert again._world.life.deposit_bank == changed.deposit_bank_account
    again.close()
