from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from report_samples import (
    ZONE,
    account,
    fee,
    line,
    reconciliation,
    transit,
    virtual,
    waiting,
)

from treasury.close.closing import closing_of
from treasury.report import (
    funding_totals,
    funding_view,
    month_screen,
    reconciliation_summary,
)
from treasury.workspace import Workspace

DESK = """\
October 2026 · Harbour Lane Trading NV · SANDBOX, no real money · known at 2 Nov 09:00 CET
CLOSE        not ready to close: 5 of 6 open items block it
SIGNED       not prepared: treasury close 2026-10
STATEMENTS   1 of 1 proved, to 31 Oct
BANK LINES   3 = 1 matched + 2 suggested
FEES         EUR 200.00 on 1 completed request
IN TRANSIT   at 31 Oct: EUR 25,000.00 · USDC 10,000.000000
BLOCKS                 items                        amount  treasury status 2026-10 …
  Overdue, not paid        2                 EUR 30,000.00  overdue
  Suggested                2  EUR 18,000.10 in, 204.00 out  suggested
  Sent, service silent     1                 EUR 25,000.00  silent
REPORT       close/report.html
NEXT         treasury exceptions 2026-10 --blocking"""


def screen(report: Path | None = None, **tables: Any) -> str:
    return month_screen(closing_of(reconciliation(**tables), ZONE), report=report)


def kinds(**tables: Any) -> list[str]:
    return [item.kind for item in closing_of(reconciliation(**tables), ZONE).items]


def test_the_months_screen_has_the_layout_of_the_desk() -> None:
    shown = screen(
        Path("close/report.html"),
        lines=[
            line("a"),
            line("b", outcome="suggested", amount=Decimal("18000.10")),
            line("c", outcome="suggested", amount=Decimal(204), direction="DBIT"),
        ],
        awaiting_funds=[
            waiting(),
            waiting(),
            waiting("SENT", send=Decimal(25000), overdue=0, silent=True),
            waiting("PAY", overdue=0),
        ],
        in_transit=[
            transit(),
            transit(currency="USDC", amount=Decimal(10000)),
        ],
        virtual_accounts=[virtual()],
        fee_requests=[fee()],
    )
    assert shown == DESK


def test_a_month_with_nothing_left_to_do_is_ready() -> None:
    shown = screen(lines=[line()])
    assert "BLOCKS" not in shown
    assert "CLOSE        ready to close\n" in shown
    assert "IN TRANSIT   at 31 Oct: nothing" in shown
    assert "FEES         no request completed" in shown
    assert "NEXT         treasury close 2026-10" in shown


def test_credits_without_a_report_are_not_provable_and_block_the_close() -> None:
    proof = "NOT PROVABLE: no provider report"
    shown = screen(lines=[line()], virtual_accounts=[virtual(proof) for _ in range(4)])
    assert re.search(r"^  Credits not provable +4 ", shown, re.MULTILINE)
    assert "4 of 4 open items block it; reconciled except credits not provable" in shown


def test_reconciled_is_not_shown_while_anything_else_blocks() -> None:
    proof = "NOT PROVABLE: no provider report"
    shown = screen(lines=[line(outcome="suggested")], virtual_accounts=[virtual(proof)])
    assert "2 of 2 open items block it\n" in shown


def test_an_overdue_request_is_not_called_unpaid_while_the_bank_must_be_checked() -> None:
    shown = screen(awaiting_funds=[waiting("CHECK BANK")])
    assert re.search(r"Check the bank +1 +EUR 15,000.00 +check_bank$", shown, re.MULTILINE)
    assert "not paid" not in shown


def test_each_request_counts_once_even_when_it_is_overdue_and_returned() -> None:
    assert kinds(awaiting_funds=[waiting("RETURNED", overdue=4)]) == ["returned"]


def test_exceptions_of_every_kind_need_a_person() -> None:
    outcomes = ["suggested", "conflict", "duplicate", "unreferenced"]
    assert kinds(
        lines=[line(outcome, outcome=outcome) for outcome in outcomes],
        awaiting_funds=[waiting("PAID BEFORE APPROVAL", overdue=0, approved=None)],
    ) == ["needs_decision", "contradicted", "paid_twice", "no_reference", "paid_early"]


def test_currencies_are_never_added_up() -> None:
    shown = screen(
        awaiting_funds=[
            waiting(),
            waiting("SEND CRYPTO", currency="USDC", send=Decimal(4800)),
        ]
    )
    assert re.search(r"^  Overdue, not paid +1 +EUR 15,000\.00 +overdue$", shown, re.MULTILINE)
    assert re.search(r"^  Overdue, coins not sent +1 +USDC 4,800\.000000 ", shown, re.MULTILINE)


def test_an_amount_that_is_not_recorded_is_not_shown_as_zero() -> None:
    shown = screen(awaiting_funds=[waiting(send=None), waiting()])
    assert "2  EUR 15,000.00 · 1 not recorded" in shown


def test_an_account_whose_statements_end_early_blocks_the_close() -> None:
    short = account(covered_to=date(2026, 10, 15), complete=False)
    shown = screen(statements=[account(), short])
    assert "STATEMENTS   1 of 2 proved, to 15 Oct" in shown
    assert "1 of 1 open item blocks it\n" in shown


@pytest.mark.parametrize(
    ("changed", "step"),
    [
        (
            {"covered_from": None, "covered_to": None},
            "Add its statements, or confirm its balance if the bank issues none",
        ),
        ({"covered_to": date(2026, 10, 28)}, "Add the statement after 28 Oct"),
        ({"covered_from": date(2026, 10, 9)}, "Add the statement before 9 Oct"),
        (
            {"problem": "its entries do not add up", "problem_statement": "0f1e2d3c4b5a"},
            (
                "its entries do not add up: get the file again from the bank, then `treasury"
                " statements add FILE`; or withdraw it with `treasury statements withdraw 0f1e2d3c"
                " --reason …`"
            ),
        ),
    ],
)
def test_an_incomplete_account_shows_the_step_to_complete_it(
    changed: dict[str, Any], step: str
) -> None:
    r = reconciliation(statements=[account(complete=False, **changed)])
    (item,) = closing_of(r, ZONE).items
    assert (item.kind, item.name) == ("statement_missing", "EUR operating account …6689")
    assert item.next_step == step
    assert item.blocks == "never acceptable"


def test_a_month_without_any_declared_account_is_never_ready() -> None:
    shown = screen(statements=[])
    assert "no account is declared" in shown
    assert "1 of 1 open item blocks it" in shown


def test_statements_that_reach_into_the_next_month_prove_this_one_to_its_end() -> None:
    shown = screen(statements=[account(covered_to=date(2026, 11, 30))])
    assert "1 of 1 proved, to 31 Oct" in shown


def test_requests_of_a_later_month_are_not_items_of_this_one() -> None:
    november = waiting(approved=datetime(2026, 11, 3, 8, 0, tzinfo=UTC))
    assert "CLOSE        ready to close" in screen(awaiting_funds=[november])


def test_a_blocking_item_counts_only_the_amount_and_age_of_its_month() -> None:
    november = waiting(
        approved=datetime(2026, 11, 3, 8, 0, tzinfo=UTC), send=Decimal(7), due=date(2026, 10, 5)
    )
    closing = closing_of(reconciliation(awaiting_funds=[waiting(), november]), ZONE)
    (one,) = closing.items.blocking.groups
    assert (one.items, one.amount, one.since) == (1, Decimal("15000.00"), date(2026, 10, 28))


def test_coins_that_are_overdue_are_sent_with_a_hash_and_not_paid_with_a_reference() -> None:
    coins = [waiting("SEND CRYPTO", currency="USDC", send=Decimal(4800)) for _ in range(2)]
    (one,) = closing_of(reconciliation(awaiting_funds=coins), ZONE).items.blocking.groups
    assert one.next_step == "Send each, then submit its transaction hash"


def test_a_single_item_shows_its_own_next_step() -> None:
    coins = waiting("SEND CRYPTO", currency="USDC", next_step="Send it on BASE")
    (one,) = closing_of(reconciliation(awaiting_funds=[coins]), ZONE).items.blocking.groups
    assert one.next_step == "Send it on BASE"


def test_lines_that_earlier_months_left_open_are_carried_and_block() -> None:
    r = reconciliation(
        lines=[line()],
        earlier_lines=[line("old", outcome="unreferenced", booking_date=date(2026, 9, 2))],
    )
    closing = closing_of(r, ZONE)
    (item,) = closing.items
    assert (item.kind, item.month, item.age) == ("no_reference", "2026-09", 43)
    assert "1 of 1 open item blocks it" in month_screen(closing)


def test_a_possible_arrival_is_not_counted_as_in_transit() -> None:
    shown = screen(
        in_transit=[
            transit(),
            transit(may_have_arrived_on=date(2026, 10, 30)),
            transit(may_have_arrived_on=date(2026, 11, 2)),
        ]
    )
    assert "at 31 Oct: EUR 50,000.00; 1 more may have arrived: decide them" in shown


def test_unrecorded_fees_are_reported_missing() -> None:
    shown = screen(fee_requests=[fee(), fee(fee=None)])
    assert "EUR 200.00 on 2 completed requests, 1 without a recorded fee" in shown


def test_hostile_text_cannot_leave_its_place_on_the_screen() -> None:
    shown = screen(Path("a\x1bb"), company="Evil\x1b]0;title\x07\r\nCLOSE ready")
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert len(shown.splitlines()) == len(screen().splitlines())


def test_the_summary_ties_items_and_sums_in_each_currency() -> None:
    r = reconciliation(
        lines=[
            line("a", amount=Decimal("10.10")),
            line("b", outcome="unreferenced", direction="DBIT", amount=Decimal("5.05")),
            line("c", outcome="ignored", line_class="bank_charge", amount=Decimal(1)),
            line("d", currency="USD", amount=Decimal(7)),
        ]
    )
    assert reconciliation_summary(r, zone=ZONE).splitlines()[1:] == [
        "EUR                items      in    out",
        "  Matched              1   10.10   0.00",
        "  Unreferenced         1    0.00   5.05",
        "  Other business       1    1.00   0.00",
        "  All lines            3   11.10   5.05",
        "USD           items     in    out",
        "  Matched         1   7.00   0.00",
        "  All lines       1   7.00   0.00",
    ]


def test_requests_are_shown_in_the_desks_columns() -> None:
    shown = funding_view(reconciliation(awaiting_funds=[waiting()]).awaiting_funds.arrow, zone=ZONE)
    assert shown.to_pylist() == [
        {
            "state": "PAY",
            "due": "30 Oct",
            "overdue": "1 TARGET day",
            "ramp_type": "on-ramp",
            "reference": "PAY-2026-005358",
            "amount": "EUR 15,000.00",
            "to": "Ramp Operator BV …8901",
            "approved": "28 Oct 09:56 CET",
            "seen": "no debit",
            "evidence_to": "31 Oct",
            "next_step": "Pay today with this reference",
            "request_id": "91ab…",
        }
    ]


def test_funding_totals_are_separate_by_state_and_currency() -> None:
    rows = [
        waiting(),
        waiting(send=Decimal(1)),
        waiting("SENT"),
        waiting("SEND CRYPTO", currency="USDC", send=Decimal(2)),
    ]
    shown = funding_totals(reconciliation(awaiting_funds=rows).awaiting_funds.arrow)
    assert shown == (
        "PAY: 2, EUR 15,001.00 · SENT: 1, EUR 15,000.00 · SEND CRYPTO: 1, USDC 2.000000"
    )


def test_the_first_screen_does_not_roll_open_items_forward(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The roll-forward runs matching twice, so it is computed only when it is shown."""

    def never(*_: object) -> None:
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr("treasury.close.period_pins.month_end", never)
        assert str(month_end.status("2026-10")).startswith("October 2026")
    closing = month_end.periods.month("2026-10")
    assert len(closing.rolled.roll_forward) > 0
    assert closing.rolled.items.arrow is closing.rolled.items.arrow
