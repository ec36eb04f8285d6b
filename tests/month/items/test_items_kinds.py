"""The table of kinds of items, and for each kind the rows that create an item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, get_args
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pytest
from click.testing import CliRunner
from items_october import (
    UNSEEN,
    action,
    balance,
    conversion,
    difference,
    facts_of,
    items_of,
    late,
    line,
    moved,
    own_transfer,
    waiting,
)

from treasury.cli import treasury
from treasury.close.closing import Closing
from treasury.core.calendar import Month
from treasury.core.errors import InputError
from treasury.lake import Snapshot
from treasury.month.items import KINDS, OPEN_ITEMS, TURNS, OpenItem, open_items
from treasury.month.items.item_kinds import OWNERS, Blocks, CheckStep, Turn, kind_named
from treasury.month.items.open_item import items_table
from treasury.month.reconciliation import requests_at_cut_off
from treasury.workspace import Workspace


@pytest.fixture(scope="module")
def october(month_end: Workspace) -> Closing:
    return month_end.periods.month("2026-10")


def cutoff(**changed: Any) -> dict[str, Any]:
    """Return an instant credit of Saturday, 31 October that the bank booked on Monday."""
    booked = {"value_date": date(2026, 10, 31), "booking_date": date(2026, 11, 2)}
    return {"entry_id": "e9", "direction": "CRDT", "amount": Decimal(70), "currency": "EUR",
            "counterparty_name": "Noordzee Vis BV", **booked, **changed}  # fmt: skip


def excess(**changed: Any) -> dict[str, Any]:
    """Return a wire of ours that was EUR 50 above its request."""
    return {"entry_id": "e8", "booking_date": date(2026, 10, 6), "direction": "DBIT",
            "amount": Decimal(50), "currency": "EUR", "expectation_id": "r1",
            "reference": "PAY-2026-005184", **changed}  # fmt: skip


LEDGER = {
    "account": "BE45539951876689",
    "name": "Operating",
    "currency": "EUR",
    "difference": Decimal(1),
    "line": 2,
    "finding": "differs",
}


def exposed(standing: str, **changed: Any) -> dict[str, Any]:
    """Return the money with the provider, EUR 10.00, and its limit of EUR 9.00."""
    return {
        "scope": "EUR", "currency": "EUR", "amount": Decimal(10), "limit": Decimal(9),
        "not_provable": 0, "standing": standing, **changed,
    }  # fmt: skip


BY_KIND: Mapping[str, Mapping[str, Any]] = {
    "needs_decision": {"lines": [line()]},
    "contradicted": {"lines": [line(outcome="conflict")]},
    "paid_twice": {"lines": [line(outcome="duplicate")]},
    "no_reference": {"earlier_lines": [line(outcome="unreferenced")]},
    "not_reconciled": {
        "lines": [line(outcome="unreferenced")], "others": {"are_services_used": False},
    },
    "overdue": {"awaiting_funds": [waiting(overdue=2)]},
    "to_pay": {"awaiting_funds": [waiting()]},
    "coins_overdue": {"awaiting_funds": [waiting("SEND CRYPTO", overdue=1)]},
    "coins_to_send": {"awaiting_funds": [waiting("SEND CRYPTO")]},
    "check_bank": {"awaiting_funds": [waiting("CHECK BANK")]},
    "pending_at_bank": {"awaiting_funds": [waiting("CHECK BANK", seen="pending at bank")]},
    "in_file": {"awaiting_funds": [waiting("IN FILE")]},
    "with_bank": {"awaiting_funds": [waiting("WITH THE BANK", at_bank="accepted")]},
    "bank_signature": {"awaiting_funds": [waiting("WITH THE BANK", at_bank="signature")]},
    "payee_in_doubt": {"awaiting_funds": [waiting("WITH THE BANK", at_bank="payee")]},
    "rejected": {"awaiting_funds": [waiting("REJECTED")]},
    "rejected_unproved": {"awaiting_funds": [waiting("REJECTED, NOT PROVED")]},
    "file_not_debited": {"awaiting_funds": [waiting("IN FILE", overdue=1)]},
    "sent": {"awaiting_funds": [waiting("SENT")]},
    "silent": {"awaiting_funds": [waiting("SENT", silent=True)]},
    "sent_wrong": {"awaiting_funds": [waiting("SENT WRONG")]},
    "account_changed": {"awaiting_funds": [waiting("ACCOUNT CHANGED")]},
    "deposit_inactive": {"awaiting_funds": [waiting("DETAILS INACTIVE")]},
    "returned": {"awaiting_funds": [waiting("RETURNED")]},
    "paid_early": {"awaiting_funds": [waiting("PAID BEFORE APPROVAL", approved=None)]},
    "hash_given": {"awaiting_funds": [waiting("HASH GIVEN")]},
    "hash_proposed": {"awaiting_funds": [waiting("HASH PROPOSED")]},
    "will_not_fund": {"awaiting_funds": [waiting("WILL NOT FUND")]},
    "blocked": {"differences": [difference("BLOCKED")]},
    "stuck": {"differences": [difference("STUCK IN PROCESSING")]},
    "processing": {"differences": [difference("IN PROCESSING")]},
    "paid_not_completed": {"differences": [difference("PAID, NOT COMPLETED")]},
    "unknown_status": {"differences": [difference("UNKNOWN STATUS")]},
    "awaits_line": {"differences": [difference("NEEDS DECISION")]},
    "payout_not_provable": {"differences": [difference("NOT PROVABLE")]},
    "payout_due": {"differences": [difference("PAYOUT DUE")]},
    "payout_missing": {"differences": [difference("NOT AT BANK")]},
    "amount_changed": {"differences": [difference("AMOUNT CHANGED AFTER PAYMENT")]},
    "hash_in_doubt": {"awaiting_funds": [waiting("HASH USED TWICE")]},
    "converting": {
        "conversions": [
            conversion("not_yet_credited", due=datetime(2026, 11, 20, tzinfo=UTC)),
        ]
    },
    "not_converted": {"conversions": [conversion("not_yet_credited")]},
    "rate_outside_band": {"conversions": [conversion("rate_outside_band")]},
    "credit_not_shown": {"conversions": [conversion("not_shown", opened_at=None)]},
    "held_kyc": {"conversions": [conversion("held_kyc")]},
    "transfer_late": {"internal_transfers": [own_transfer("leg_in_missing")]},
    "under_way": {"internal_transfers": [own_transfer("under_way", stage="expected")]},
    "leg_not_shown": {"internal_transfers": [own_transfer("check_bank")]},
    "bank_cutoff": {"bank_cutoffs": [cutoff()]},
    "more_than_expected": {"excess_lines": [excess()]},
    "balance_unexplained": {"balances": [balance("bank")]},
    "balance_not_proved": {"balances": [balance("custodial")]},
    "wallet_not_proved": {"balances": [balance("company", blocks=False)]},
    "coins_untied": {
        "coins": [
            {"coin": "USDC", "pool": "0xA1", "name": "Operations", "problem": "1 USDC too many",
             "next_step": "add the export"},
        ]
    },
    "exposure_above_limit": {"exposure": [exposed("above", above_limit=Decimal(1))]},
    "exposure_not_provable": {"exposure": [exposed("not provable", not_provable=3)]},
    "no_account": {"statements": []},
    "statement_missing": {
        "statements": [
            {"account": "BE1", "name": "Operating", "currency": "EUR", "complete": False},
        ]
    },
    "credits_not_provable": {
        "virtual_accounts": [
            {"virtual_bank_account_id": "v", "name": "EUR collections", "iban": "BE1",
             "currency": "EUR", "proof": "NOT PROVABLE: no provider report"}
        ]
    },
    "ledger_difference": {"ledger": [LEDGER]},
    "unknown_outcome": {"actions": [action("unknown")]},
    "done_twice": {"actions": [action("doubled")]},
    "approval_waits": {"actions": [action("proposed")]},
    "decision_waits": {"actions": [action("removal_proposed", amount=None, currency=None)]},
    "ready": {"actions": [action("ready")]},
    "notice_unknown": {"actions": [action("doubtful", amount=None, currency=None)]},
    "decision_moved": {"moved": [moved()]},
    "late_item": {"late": [late()]},
    "journal_broken": {"others": {"journal_problem": "entry 3 was changed"}},
    "not_synced": {"basis": True, "others": {"synced_at": None}},
    "stale": {},
    "awaiting_approval": {},
    "payment_late": {},
    "settled_since": {},
    "vanished": {"awaiting_funds": [waiting("NOT LISTED")]},
}  # fmt: skip
"""The rows that make an item of each kind; `made` makes the items of kinds without rows."""


def ended_since(snapshot: Snapshot, month: Month, zone: ZoneInfo) -> pa.Table:
    """Return the requests at October's end, each ended by a denial on 2 November."""
    then = requests_at_cut_off(snapshot, month, zone)
    rows = [
        row | {"has_ended": True, "status_now": "DENIED", "changed_on": date(2026, 11, 2)}
        for row in then.to_pylist()
    ]
    return pa.Table.from_pylist(rows, schema=then.schema)


def made(october: Closing, kind: str) -> Iterator[OpenItem]:
    """Yield the items of a kind from the rows in `BY_KIND`, or from October itself."""
    if kind == "stale":
        r = msgspec.structs.replace(october.r, as_of=datetime(2026, 11, 20, tzinfo=UTC))
        facts = facts_of(msgspec.structs.replace(october, r=r), basis=True)
        yield from open_items(facts).select(kind=kind)
    elif kind == "settled_since":
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("treasury.month.items.request_items.requests_at_cut_off", ended_since)
            yield from open_items(facts_of(october, basis=True)).select(kind=kind)
    elif kind in ("awaiting_approval", "payment_late"):
        yield from october.items.select(kind=kind)
    else:
        yield from items_of(october, **BY_KIND[kind]).select(kind=kind)


def test_a_kind_is_chosen_by_its_word_on_screen_as_by_its_name(month_end: Workspace) -> None:
    items = month_end.open_items("2026-10")
    for word, name in {"suggested": "needs_decision", "Conflict": "contradicted"}.items():
        assert [item.item_id for item in items.select(kind=word)]
        assert items.select(kind=word).items == items.select(kind=name).items
        command = ["--workspace", str(month_end.folder), "exceptions", "2026-10", "--kind"]
        by_word, by_name = (
            CliRunner().invoke(treasury, [*command, kind], catch_exceptions=False).stdout
            for kind in (word, name)
        )
        assert by_word == by_name
        assert len(by_word.splitlines()) > 2
    for name, kind in KINDS.items():
        assert kind_named(kind.label) == kind_named(name) == name
    with pytest.raises(InputError, match="is it overdue"):
        items.select(kind="overdu")


def test_each_kind_has_one_name_a_turn_and_a_blocking_flag() -> None:
    assert all(name == kind.name for name, kind in KINDS.items())
    assert len({kind.label for kind in KINDS.values()}) == len(KINDS)
    assert {kind.turn for kind in KINDS.values()} == set(TURNS) == set(get_args(Turn))
    assert set(OWNERS) == set(TURNS)
    assert {kind.blocks for kind in KINDS.values()} == set(get_args(Blocks))
    assert {kind.step for kind in KINDS.values()} == set(get_args(CheckStep))
    for kind in KINDS.values():
        assert kind.next_step
        assert kind.command.startswith("treasury ")


def test_items_of_others_can_be_accepted_and_items_that_wait_for_time_never_block() -> None:
    for kind in KINDS.values():
        if kind.turn != "us":
            assert kind.blocks != "never acceptable", kind.name
        if kind.turn == "time":
            assert kind.blocks == "never", kind.name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in UNSEEN])
def test_rows_of_each_kind_make_items_of_that_kind(october: Closing, kind: str) -> None:
    items = list(made(october, kind))
    assert items
    for item in items:
        assert item.words is KINDS[kind]
        assert item.item_id == f"{item.subject}:{item.subject_id}"
        assert item.state
        assert item.next_step
    table = items_table(items)
    assert table.schema == OPEN_ITEMS
    table.validate(full=True)


@pytest.mark.parametrize(
    ("direction", "step"),
    [
        ("CRDT", "Return it, or ask the payer what it is for"),
        ("DBIT", "Ask for the second payment back"),
    ],
)
def test_a_duplicate_is_returned_or_asked_back_by_its_direction(
    october: Closing, direction: str, step: str
) -> None:
    (item,) = items_of(october, lines=[line(outcome="duplicate", direction=direction)])
    assert item.next_step == step


def test_every_kind_of_item_is_in_the_table_of_kinds() -> None:
    assert set(BY_KIND) | set(UNSEEN) == set(KINDS)


def test_an_item_that_began_after_the_month_is_not_listed(october: Closing) -> None:
    november = datetime(2026, 11, 2, 8, tzinfo=UTC)
    assert not len(items_of(october, actions=[action("proposed", proposed_at=november)]))
    assert not len(items_of(october, awaiting_funds=[waiting(approved=november)]))
    assert not len(items_of(october, conversions=[conversion("held_kyc", opened_at=november)]))
    sent = own_transfer("leg_in_missing", out_on=date(2026, 11, 1))
    assert not len(items_of(october, internal_transfers=[sent]))


@pytest.mark.parametrize("state", ["unknown", "sending", "doubled"])
def test_an_action_with_an_unknown_outcome_blocks_whenever_it_was_tried(
    october: Closing, state: str
) -> None:
    tried = action(state, proposed_at=datetime(2026, 11, 2, 8, tzinfo=UTC))
    (item,) = items_of(october, actions=[tried])
    assert (item.month, item.blocks) == ("2026-11", "never acceptable")
    assert item.is_blocking


def test_late_knowledge_about_a_closed_month_is_an_item_however_late(october: Closing) -> None:
    (item,) = items_of(october, late=[late(known_from=datetime(2026, 11, 2, 8, tzinfo=UTC))])
    assert item.kind == "late_item"
    assert not items_of(october, late=[late(posts_to="2026-11")]).items


def test_a_line_booked_late_is_counted_with_the_request_it_settles(
    october: Closing,
) -> None:
    (alone,) = items_of(october, bank_cutoffs=[cutoff(expectation_id="r1")])
    assert (alone.turn, alone.month, alone.is_blocking) == ("bank", "2026-10", False)
    assert (alone.since, alone.due) == (date(2026, 10, 31), date(2026, 11, 2))
    assert (alone.counted_in, alone.counted_amount) == (None, Decimal(70))
    both = items_of(
        october,
        bank_cutoffs=[cutoff(expectation_id="r1")],
        differences=[difference("PAYOUT DUE", request_id="r1")],
    )
    line, request = both.by_id["line:e9/2026-10"], both.by_id["request:r1"]
    assert (line.counted_in, line.counted_amount) == ("request:r1", None)
    assert request.counted_in is None


def test_the_excess_of_a_wire_is_counted_with_its_request_while_that_is_open(
    october: Closing,
) -> None:
    (alone,) = items_of(october, excess_lines=[excess()])
    assert (alone.state, alone.counted_amount) == ("PAID TOO MUCH", Decimal(50))
    waits = difference("AMOUNT CHANGED AFTER PAYMENT", request_id="r1")
    both = items_of(october, excess_lines=[excess()], differences=[waits])
    assert both.by_id["line:e8/rest"].counted_in == "request:r1"
    received = excess(direction="CRDT")
    both = items_of(october, excess_lines=[received], differences=[waits])
    rest = both.by_id["line:e8/rest"]
    assert (rest.state, rest.counted_in) == ("RECEIVED TOO MUCH", None)


def test_a_statement_is_missing_from_the_first_uncovered_day(october: Closing) -> None:
    def since(**covered: Any) -> date | None:
        row = {"account": "BE1", "name": "One", "currency": "EUR", "complete": False, **covered}
        (item,) = items_of(october, statements=[row])
        return item.since

    assert since() == date(2026, 10, 1)
    assert since(missing_from=date(2026, 10, 16)) == date(2026, 10, 16)
