"""Differences between bank and services at the practice company, and after several events."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from filled import fill
from view_desk import observe, rows

from treasury import Workspace
from treasury.month.reconciliation import Reconciliation
from treasury.sandbox import Sandbox

NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)


def states(r: Reconciliation) -> dict[str, str]:
    """Return the state of each ramp request that has a difference, by its reference."""
    return {
        row["item"]: row["state"] for row in r.differences.arrow.to_pylist() if row["request_id"]
    }


def requests(workspace: Workspace, **wanted: Any) -> list[dict[str, Any]]:
    return rows(workspace.table("ramp_requests"), **wanted)


STATES_IN_HAND = {"PROCESSING": "IN PROCESSING", "BLOCKED": "BLOCKED"}


def true_state(request: dict[str, Any], lines: list[dict[str, Any]]) -> str | None:
    """Return a request's expected state: None without a difference, "decide" if a person must."""
    status = request["status"]
    if status in STATES_IN_HAND:
        return STATES_IN_HAND[status]
    if status == "CANCELLED":
        return "PAID TO CLOSED REQUEST" if lines else None
    if status == "AWAITING_FUNDS":
        return "decide" if lines else None
    if status != "SUCCEEDED":
        return None
    if not lines:
        return "NOT AT BANK"
    if any(line["duplicate"] for line in lines):
        return "PAID TWICE"
    if not any(line["unbroken"] for line in lines):
        return "decide"
    is_short = sum(Decimal(line["amount"]) for line in lines) < request["fiat_amount"]
    return "NOT AT BANK" if request["ramp_type"] == "ON_RAMP" and is_short else None


@pytest.mark.acceptance
@pytest.mark.parametrize(
    "seed", [7, *(pytest.param(seed, marks=pytest.mark.acceptance) for seed in (8, 9))]
)
def test_case_23_exactly_the_differences_of_the_month_are_reported(
    seed: int, tmp_path: Path
) -> None:
    company = Sandbox(seed)
    workspace = fill(tmp_path, company)
    states_told = states(workspace.reconcile("2026-10"))
    booked: dict[str, list[dict[str, Any]]] = {}
    for line in company.truth():
        if line["expectation"]:
            booked.setdefault(line["expectation"]["id"], []).append(line)
    for request in requests(workspace):
        expected = true_state(request, booked.get(request["id"], []))
        if expected != "decide":
            assert states_told.get(request["payment_reference"]) == expected, request[
                "payment_reference"
            ]


@pytest.mark.acceptance
def test_late_items_come_first_and_every_item_has_its_age_and_next_step(
    month_end: Workspace,
) -> None:
    differences = month_end.reconcile("2026-10").differences.arrow.to_pylist()
    ranks = [("missing", "late", "open", "expected").index(row["stage"]) for row in differences]
    assert ranks == sorted(ranks)
    assert all(row["next_step"] and row["age_unit"] and row["age"] >= 0 for row in differences)
    assert all(row["since"] <= date(2026, 10, 31) for row in differences)


def test_a_notebook_shows_the_month_and_its_differences_escaped(month_end: Workspace) -> None:
    r = month_end.reconcile("2026-10")
    output = r._repr_html_()
    assert f"{len(r.lines):,} bank lines" in output
    assert "NOT AT BANK" in output
    assert "EUR 7,829.08" in output
    hostile = msgspec.structs.replace(r, company="<b>$1$")._repr_html_()
    assert "&lt;b&gt;&#36;1&#36;" in hostile


@pytest.mark.acceptance
def test_case_37_a_payout_that_never_came_is_due_and_then_asked_for(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = fill(tmp_path, company)
    differences = workspace.reconcile("2026-10").differences
    (missing,) = rows(differences, state="NOT AT BANK", direction="off-ramp")
    assert (missing["since"], missing["due"]) == (date(2026, 10, 27), date(2026, 10, 28))
    assert (missing["age"], missing["age_unit"]) == (4, "TARGET day")
    assert missing["next_step"].startswith("Ask the provider")
    assert "bounced" in missing["next_step"]
    (paid_out,) = requests(workspace, id=missing["request_id"])
    assert missing["amount"] == paid_out["fiat_net_amount"]
    (short,) = rows(differences, state="NOT AT BANK", direction="on-ramp")
    assert (short["item"], short["amount"]) == ("PAY-2026-005175", Decimal("0.01"))
    assert short["next_step"] == "Ask the provider: only EUR 9,999.99 of it was sent"


@pytest.mark.acceptance
def test_a_payout_reads_check_bank_while_no_statement_could_show_it(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = observe(tmp_path, company)
    (under_way,) = requests(workspace, ramp_type="OFF_RAMP", status="PROCESSING")
    name = under_way["payment_reference"]
    company.ramp.complete(under_way["id"])
    r = observe(tmp_path, company).reconcile("2026-11")
    (row,) = rows(r.differences, item=name)
    assert (row["state"], row["stage"]) == ("PAYOUT DUE", "expected")
    assert row["next_step"].startswith("Due by 3 Nov")
    company.clock.advance(days=2)
    r = observe(tmp_path, company).reconcile("2026-11")
    (row,) = rows(r.differences, item=name)
    assert (row["state"], row["stage"]) == ("CHECK BANK", "late")
    assert row["next_step"] == "Add the statement of …4300 after 31 Oct"
    r = observe(tmp_path, company, last=date(2026, 11, 3)).reconcile("2026-11")
    assert not rows(r.differences, item=name)


@pytest.mark.acceptance
def test_a_request_that_stays_in_processing_grows_late_and_then_missing(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = observe(tmp_path, company)
    (stuck,) = requests(workspace, ramp_type="ON_RAMP", status="PROCESSING")
    stages = []
    for day in (2, 3, 5):
        company.clock.set(max(company.now, datetime(2026, 11, day, 8, tzinfo=UTC)))
        r = observe(tmp_path, company).reconcile("2026-10")
        (row,) = rows(r.differences, item=stuck["payment_reference"])
        stages.append((row["state"], row["stage"]))
    assert stages == [
        ("IN PROCESSING", "expected"),
        ("STUCK IN PROCESSING", "late"),
        ("STUCK IN PROCESSING", "missing"),
    ]


def test_case_21_a_wire_to_a_request_that_was_cancelled_is_asked_back(
    month_end: Workspace,
) -> None:
    (row,) = rows(month_end.reconcile("2026-10").differences, state="PAID TO CLOSED REQUEST")
    assert row["amount"] == 9200
    assert "may be the money back; decide it first" in row["next_step"]


@pytest.mark.acceptance
def test_a_wire_before_the_approval_is_reported_and_its_details_stay_hidden(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = observe(tmp_path, company)
    waiting = requests(workspace, ramp_type="ON_RAMP", status="AWAITING_APPROVAL")
    early = next(row for row in waiting if row["fiat_amount"] == 22000)
    company.ramp.fund(early["id"])
    company.clock.advance(days=1)
    workspace = observe(tmp_path, company, last=date(2026, 11, 2))
    (row,) = rows(workspace.reconcile("2026-11").differences, item=early["payment_reference"])
    assert row["state"] == "PAID BEFORE APPROVAL"
    (funding,) = rows(workspace.awaiting_funds(), request=early["id"])
    assert funding["state"] == "PAID BEFORE APPROVAL"
    assert (funding["to"], funding["to_account"]) == ("", "")


def change_amount(company: Sandbox, request_id: str, amount: str) -> None:
    """Let the company change the amount of a request that is not approved yet."""
    world = company._world
    with world.act():
        from treasury.sandbox.ramp.ramp_requests import ramp_request
        from treasury.sandbox.story.cast import USERS

        request = ramp_request(world, request_id)
        world.change(
            world.life.change_amount(request, USERS["maker"], Decimal(amount), world.clock.tick())
        )


@pytest.mark.acceptance
def test_case_22_an_amount_changed_after_the_wire_is_reported(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = observe(tmp_path, company)
    waiting = requests(workspace, ramp_type="ON_RAMP", status="AWAITING_APPROVAL")
    paid = next(row for row in waiting if row["fiat_amount"] == 22000)
    company.ramp.fund(paid["id"])
    company.clock.advance(days=1)
    change_amount(company, paid["id"], "25000")
    company.clock.advance(days=1)
    workspace = observe(tmp_path, company, last=date(2026, 11, 3))
    differences = rows(workspace.reconcile("2026-11").differences, item=paid["payment_reference"])
    (row,) = [row for row in differences if row["state"] == "AMOUNT CHANGED AFTER PAYMENT"]
    assert row["amount"] == 22000
    assert row["next_step"] == (
        "EUR 22,000.00 was sent on 2 Nov; on 3 Nov the request was changed from EUR 22,000.00"
        " to EUR 25,000.00: ask the provider, do not pay twice"
    )


@pytest.mark.acceptance
def test_a_wire_without_its_reference_is_sent_wrong_and_never_paid_again(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = observe(tmp_path, company)
    due = next(
        row
        for row in rows(workspace.awaiting_funds(), state="PAY")
        if row["send"] == Decimal("15000.00")
    )
    company.ramp.fund(due["request"], text="")
    company.clock.advance(days=1)
    workspace = observe(tmp_path, company, last=date(2026, 11, 2))
    (row,) = rows(workspace.awaiting_funds(), request=due["request"])
    assert row["state"] in {"SENT WRONG", "CHECK BANK"}
    assert "decide" in row["next_step"]


# Internal transfers


def test_internal_transfers_show_both_their_legs(month_end: Workspace) -> None:
    r = month_end.reconcile("2026-10")
    (own,) = rows(r.internal_transfers, kind="between own bank accounts")
    assert (own["state"], own["amount"], own["currency"]) == ("both_legs", 55000, "EUR")
    assert own["out_id"] != own["in_id"]
    service = rows(r.internal_transfers, kind="between accounts of the service")
    completed = month_end.sql(
        "SELECT id FROM transfers WHERE kind = 'account_to_account' AND status = 'COMPLETED'"
        " AND created_at >= '2026-09-30 22:00:00Z' AND created_at < '2026-10-31 23:00:00Z'"
    )
    both = {row["transfer_id"] for row in service if row["state"] == "both_legs"}
    assert both == {row["id"] for row in completed.arrow.to_pylist()}
    waiting = [row for row in service if row["state"] == "under_way"]
    assert {row["stage"] for row in waiting} == {"late"}
    assert len(rows(r.differences, direction="internal")) == len(waiting) == 2


@pytest.mark.acceptance
def test_a_transfer_with_a_missing_leg_is_reported(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = observe(tmp_path, company)
    payout, operating = (account.account for account in workspace.settings.accounts[:2])
    company.banks.bank_line(
        account=payout, amount=Decimal(7000), direction="DBIT", name="Own", iban=operating,
        text="Own transfer",
    )  # fmt: skip
    company.clock.advance(days=1)
    r = observe(tmp_path, company, last=date(2026, 11, 2)).reconcile("2026-11")
    (row,) = rows(r.internal_transfers, amount=Decimal(7000))
    assert (row["state"], row["next_step"]) == (
        "check_bank", f"Add the statement of …{operating[-4:]} after 2 Nov",
    )  # fmt: skip
    company.clock.advance(days=2)
    r = observe(tmp_path, company, since=date(2026, 11, 3), last=date(2026, 11, 4)).reconcile(
        "2026-11"
    )
    (row,) = rows(r.internal_transfers, amount=Decimal(7000))
    assert (row["state"], row["stage"]) == ("leg_in_missing", "late")
    (difference,) = rows(r.differences, state="LEG IN MISSING")
    assert difference["next_step"] == "Ask the bank where it is; do not send it again"


# Transaction hashes


def add_hash(company: Sandbox, request_id: str, hash_: str) -> None:
    """Let the company give the hash of the transaction that carries the coins."""
    world = company._world
    with world.act():
        from treasury.sandbox.ramp.ramp_requests import ramp_request
        from treasury.sandbox.story.cast import USERS

        request = ramp_request(world, request_id)
        world.change(world.life.add_hash(request, USERS["maker"], hash_, world.clock.tick()))


@pytest.mark.acceptance
def test_case_20_a_hash_is_not_taken_twice_nor_on_another_chain(tmp_path: Path) -> None:
    company = Sandbox(7)
    workspace = observe(tmp_path, company)
    (waiting,) = rows(workspace.awaiting_funds(), state="SEND CRYPTO")
    used = next(row for row in requests(workspace, ramp_type="OFF_RAMP", status="SUCCEEDED"))
    name = waiting["reference"]
    account = workspace.settings.accounts[0].account
    company.banks.bank_line(account=account, amount=Decimal(1), direction="CRDT", name="Anyone")
    company.clock.advance(days=1)
    add_hash(
        company, waiting["request"], used["blockchain_transaction_hash"].upper().replace("0X", "0x")
    )
    r = observe(tmp_path, company, last=date(2026, 11, 2)).reconcile("2026-11")
    twice = rows(r.differences, state="HASH USED TWICE")
    assert {row["item"] for row in twice} == {name, used["payment_reference"]}
    (funding,) = rows(r.awaiting_funds, reference=name)
    assert (funding["state"], funding["overdue"] > 0) == ("HASH USED TWICE", True)
    reference = used["payment_reference"]
    assert funding["next_step"] == f"The same hash stands for {reference}: find which one it paid"
    elsewhere = workspace.sql(
        "SELECT * FROM transfers WHERE chain = 'AVALANCHE' AND transaction_hash IS NOT NULL"
        " ORDER BY id LIMIT 1"
    ).arrow.to_pylist()[0]
    add_hash(company, waiting["request"], elsewhere["transaction_hash"])
    r = observe(tmp_path, company).reconcile("2026-11")
    (row,) = rows(r.differences, state="HASH ON WRONG CHAIN")
    assert (row["item"], row["transfer_id"]) == (name, elsewhere["id"])
    assert row["next_step"] == "The transfer with this hash is on AVALANCHE, not on BASE"
    add_hash(company, waiting["request"], "9yT3wzVp1kQ2")
    r = observe(tmp_path, company).reconcile("2026-11")
    (row,) = rows(r.differences, state="HASH ON WRONG CHAIN")
    assert "has not the form of a transaction on BASE" in row["next_step"]


def test_the_practice_companys_own_hashes_are_all_right(month_end: Workspace) -> None:
    r = month_end.reconcile("2026-10")
    assert not [row for row in r.differences.arrow.to_pylist() if row["state"].startswith("HASH")]


# Remarks


@pytest.mark.acceptance
def test_a_remark_is_shown_with_the_state_and_is_not_evidence(tmp_path: Path) -> None:
    from treasury.month.reconciliation import awaiting_funds

    workspace = fill(tmp_path, Sandbox(7))
    first, second, *_ = rows(workspace.awaiting_funds(), state="PAY")
    remark_rows = [
        {"request_id": first["request"], "mark": "marked_sent", "reason": "by phone",
         "marked_by": "ines", "marked_at": NOW},
        {"request_id": second["request"], "mark": "will_not_fund", "reason": "rate is gone",
         "marked_by": "ines", "marked_at": NOW},
    ]  # fmt: skip
    import pyarrow as pa

    from treasury.month.decisions.remark_rows import REQUEST_REMARKS

    remarks = pa.Table.from_pylist(remark_rows, schema=REQUEST_REMARKS)
    table = awaiting_funds(workspace.snapshot(), workspace.question("2026-11"), None, remarks)
    (sent,) = rows(table, request=first["request"])
    assert sent["state"] == "PAY"
    assert sent["marked"] == "marked sent by ines, 2 Nov: by phone"
    assert sent["next_step"].startswith("Marked sent by ines: ask before you pay")
    (stopped,) = rows(table, request=second["request"])
    assert (stopped["state"], stopped["overdue"]) == ("WILL NOT FUND", 0)
    assert stopped["marked"] == "will not fund, said by ines, 2 Nov: rate is gone"
