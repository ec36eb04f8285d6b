from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from report_samples import PROVIDER, VIRTUAL, ZONE, line, reconciliation

from treasury.close import result_words
from treasury.close.result_words import outcome_word, reason_words


@pytest.mark.parametrize(
    ("row", "shown"),
    [
        (line(), "Matched"),
        (line(reason="accepted: telephone"), "Matched, accepted: telephone"),
        (line(outcome="suggested"), "Suggested"),
        (line(outcome="duplicate"), "Duplicate"),
        (line(outcome="unreferenced"), "Unreferenced"),
        (
            line(outcome="unreferenced", statement_account=PROVIDER, account=VIRTUAL),
            "Unreferenced; reached virtual IBAN …7034",
        ),
        (
            line(
                outcome="conflict",
                reason=f"account: reached {VIRTUAL}, the code belongs to {PROVIDER}",
            ),
            "Conflict, wrong account: reached …7034, the code belongs to …4912",
        ),
        (
            line(outcome="conflict", reason="status: CANCELLED"),
            "Conflict, the request is CANCELLED",
        ),
        (
            line(outcome="conflict", reason="direction: CRDT, expected DBIT"),
            "Conflict, wrong direction: money in, expected money out",
        ),
        (
            line(outcome="conflict", reason="2 different codes in one text"),
            "Conflict, 2 different codes in one text",
        ),
        (line(outcome="ignored", reason="refunded in cash"), "Ignored: refunded in cash"),
        (line(outcome="ignored", line_class="bank_charge"), "Bank charge"),
        (line(outcome="strange"), "strange"),
    ],
)
def test_an_outcome_is_shown_in_the_words_of_the_desk(row: dict, shown: str) -> None:
    assert outcome_word(row) == shown


def test_a_return_names_the_day_of_the_other_line_and_never_its_id() -> None:
    back = "brings back a part of the payment of"
    row = line(outcome="returned", reason=f"returned AC04: {back} 2026-10-26")
    assert outcome_word(row) == f"Returned AC04: {back} 26 Oct"
    other = line(outcome="returned", reason="returned: came back on 2026-11-02")
    assert outcome_word(other) == "Returned: came back on 2 Nov"


def test_a_suggestion_names_the_day_of_another_line_as_the_desk_does() -> None:
    reason = "no reference; as much moved the other way on 2026-10-08: it may have come back"
    assert reason_words(reason) == reason.replace("2026-10-08", "8 Oct")
    assert reason_words("came back on 2026-13-40") == "came back on 2026-13-40"
    assert reason_words("amount agrees") == "amount agrees"


def test_dates_are_short_and_show_the_year_only_if_it_differs() -> None:
    assert result_words.day(date(2026, 10, 30)) == "30 Oct"
    assert result_words.day(date(2025, 12, 1), 2026) == "1 Dec 2025"
    assert result_words.day(None) == ""


def test_an_instant_is_shown_in_the_reporting_time_zone() -> None:
    winter = datetime(2026, 11, 2, 8, 0, tzinfo=UTC)
    assert result_words.moment(winter, ZONE) == "2 Nov 09:00 CET"
    assert (
        result_words.moment(datetime(2026, 10, 31, 23, 30, tzinfo=UTC), ZONE) == "1 Nov 00:30 CET"
    )


def test_amounts_of_two_currencies_are_never_summed() -> None:
    amounts = [(Decimal(1), "USDC"), (Decimal("2.50"), "EUR"), (Decimal(3), "EUR"), (None, "EUR")]
    assert result_words.amounts_words(amounts) == (
        "EUR 5.50 · USDC 1.000000 · 1 without a recorded amount"
    )


def test_a_sum_keeps_every_digit_beyond_the_interpreters_precision() -> None:
    large, small = Decimal(12345678901234567890), Decimal("0.000000000000000001")
    assert result_words.amounts_words([(large, "ETH"), (small, "ETH")]) == (
        "ETH 12,345,678,901,234,567,890.000000000000000001"
    )


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        ("sandbox", " · SANDBOX, no real money · "),
        ("staging", " · STAGING, no real money · "),
        ("production", "NV · known"),
    ],
)
def test_the_title_says_whether_the_money_is_real(environment: str, shown: str) -> None:
    title = result_words.title_words(reconciliation(environment=environment), ZONE)
    assert title.startswith("October 2026 · Harbour Lane Trading NV · ")
    assert title.endswith("known at 2 Nov 09:00 CET")
    assert shown in title


def test_the_parts_of_the_bank_lines_add_up() -> None:
    r = reconciliation(
        lines=[
            line("a"),
            line("b", outcome="suggested"),
            line("c", outcome="ignored", line_class="bank_charge"),
        ]
    )
    assert result_words.bank_lines_words(r) == "3 = 1 matched + 1 suggested + 1 other business"


@pytest.mark.parametrize(
    ("complete", "said"),
    [
        ((), result_words.LINES_NOT_KNOWN),
        ((False,), result_words.LINES_NOT_KNOWN),
        ((True, False), result_words.LINES_NOT_KNOWN),
        ((True, True), "0"),
    ],
)
def test_no_bank_line_is_shown_only_if_every_statement_is_complete(
    complete: tuple[bool, ...], said: str
) -> None:
    statements = [{"account": str(n), "complete": one} for n, one in enumerate(complete)]
    assert result_words.bank_lines_words(reconciliation(statements=statements)) == said
