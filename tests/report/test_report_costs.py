"""Conversion costs of exchanges made by hand: exact values, separate counts, and their display."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import HOSTILE, fee, reconciliation

from treasury.close.fees.conversion_costs import (
    CONVERSION_COSTS,
    IN_THE_RATE,
    RECORDED,
    REQUEST,
    TO_ASSUMED_RATE,
    TO_OWN_RATE,
    TO_REFERENCE,
    TO_SEVERAL,
    VIRTUAL_ACCOUNT,
    ConversionCosts,
    account_conversions,
    conversion_costs,
)
from treasury.core.money import rounded
from treasury.month.conversion import CONVERSIONS
from treasury.rates import ReferenceRates
from treasury.report import fees_of
from treasury.report.fee_section import conversion_costs_section
from treasury.report.figures import conversion_costs as drawn_costs
from treasury.report.figures import conversion_costs_words
from treasury.report.grids import Section

DAY = date(2026, 10, 13)
AT = datetime(2026, 10, 13, 2, 0, tzinfo=UTC)


def rates(
    *stored: tuple[str, str, str],
    at: datetime | None = None,
    publisher: str = "company",
    at_par: Mapping[str, str] | None = None,
) -> ReferenceRates:
    """Return reference rates for one day; each of `stored` is a base, a quote and a rate."""
    rows = [
        {
            "publisher": publisher,
            "day": DAY,
            "observed_at": at,
            "base": base,
            "quote": quote,
            "rate": Decimal(rate),
            "source": "own.csv",
        }
        for base, quote, rate in stored
    ]

    def of_code(code: str) -> Iterable[Mapping[str, Any]]:
        return [row for row in rows if code in (row["base"], row["quote"])]

    return ReferenceRates(at_par=at_par or {}, stored=of_code, brought=lambda: None)


def exchange(**changed: Any) -> dict[str, Any]:
    """Return an exchange of EUR 1,000.00 gross, EUR 8.00 fee, USDC 1,100.000000."""
    fields: dict[str, Any] = {
        "source": REQUEST,
        "source_id": "r1",
        "reference": "PAY-1",
        "month": "2026-10",
        "day": DAY,
        "at": AT,
        "is_on_ramp": True,
        "fiat": Decimal("1000.00"),
        "fiat_currency": "EUR",
        "fee": Decimal("8.00"),
        "crypto": Decimal("1100.000000"),
        "crypto_currency": "USDC",
        "problem": "",
    }
    return fields | changed


def recorded(*exchanges: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(exchanges), schema=RECORDED)


def costs(*exchanges: dict[str, Any], at: datetime | None = None) -> ConversionCosts:
    return conversion_costs(recorded(*exchanges), rates(("USDC", "EUR", "0.9"), at=at))


def test_an_on_ramp_costs_its_fee_and_the_loss_in_its_rate() -> None:
    (row,) = costs(exchange()).each.arrow.to_pylist()
    values = [row[name] for name in ("given_value", "received_value", "cost", "stated_fee")]
    assert values == [Decimal(1000), Decimal(990), Decimal(10), Decimal(8)]
    assert row["reference_difference"] == 2
    assert row["cost_bp"] == Decimal("100.00")
    # The converted amount is 992.
    assert row["reference_difference_bp"] == Decimal("20.16")
    assert (row["given_currency"], row["received_currency"]) == ("EUR", "USDC")


def test_an_off_ramp_gives_coins_and_receives_the_net() -> None:
    (row,) = costs(exchange(is_on_ramp=False, fiat=Decimal(975))).each.arrow.to_pylist()
    assert row["pair"] == "USDC → EUR"
    assert (row["given_value"], row["received_value"]) == (990, 975)
    assert (row["cost"], row["stated_fee"], row["reference_difference"]) == (15, 8, 7)
    assert row["reference_difference_bp"] == Decimal("70.71")  # of 990


def test_more_received_than_given_is_a_negative_cost() -> None:
    (row,) = costs(exchange(crypto=Decimal(1200))).each.arrow.to_pylist()
    assert (row["cost"], row["reference_difference"]) == (-80, -88)


def test_a_fee_in_another_currency_is_valued_too() -> None:
    dollars = rates(("USD", "EUR", "0.9"), ("USDC", "EUR", "0.9"))
    (row,) = conversion_costs(
        recorded(exchange(fiat_currency="USD")), dollars
    ).each.arrow.to_pylist()
    assert (row["given_value"], row["stated_fee"]) == (900, Decimal("7.20"))
    assert row["value_currency"] == "EUR"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"fee": None}, "not provable: no fee amount is recorded"),
        ({"fee": None, "crypto": None}, "not provable: no fee and no crypto amount is recorded"),
        ({"crypto_currency": "ETH"}, "not provable: no file has ETH, and no parity is assumed"),
        ({"day": date(2026, 10, 14)}, "no reference rate of USDC for 2026-10-14"),
        ({"problem": "not proved"}, "not proved"),
        ({"day": None}, "not provable: its day is not known"),
        ({"crypto": Decimal("1e19")}, None),
        ({"crypto": Decimal("9e19")}, "not provable: its amounts are beyond what any table holds"),
    ],
)
def test_a_conversion_without_a_rate_is_counted_separately(
    changed: dict[str, Any], words: str | None
) -> None:
    told = costs(exchange(), exchange(source_id="r2", **changed))
    (_, row) = told.each.arrow.to_pylist()
    assert row["not_valued"] == (words or "")
    if words is None:
        return
    assert row["cost"] is row["reference_difference"] is row["reference_difference_bp"] is None
    assert told.not_valued == sum(told.by_pair.arrow["not_valued"].to_pylist()) == 1
    assert (told.sums[0].conversions, told.sums[0].cost) == (1, 10)
    assert told.without_value.arrow["not_valued"].to_pylist() == [words]
    assert "1 conversion without a value, not included" in told.title


def test_a_pair_without_any_rate_has_a_row_and_no_sum() -> None:
    told = costs(exchange(crypto_currency="ETH"))
    (row,) = told.by_pair.arrow.to_pylist()
    assert (row["conversions"], row["not_valued"], row["cost"]) == (0, 1, None)
    assert told.sums == ()
    assert told.title == "1 conversion without a value, not included"


def test_only_a_reference_rate_near_the_instant_shows_a_margin_in_the_rate() -> None:
    near, far = AT.replace(hour=1, minute=30), AT.replace(hour=0)
    for at, expected in ((near, IN_THE_RATE), (far, TO_OWN_RATE), (None, TO_OWN_RATE)):
        (row,) = costs(exchange(), at=at).each.arrow.to_pylist()
        assert row["difference_is"] == expected
    (row,) = costs(exchange(at=None), at=near).each.arrow.to_pylist()
    assert row["difference_is"] == TO_OWN_RATE


def test_a_later_rate_values_nothing_before_it_and_this_is_reported() -> None:
    (row,) = costs(exchange(), at=AT.replace(hour=3)).each.arrow.to_pylist()
    assert row["cost"] is None
    assert row["not_valued"] == (
        "no reference rate of USDC for 2026-10-13: the company's first rate is at 03:00Z"
    )


def test_a_difference_is_named_by_who_published_the_rates() -> None:
    dollars = {"USDC": "USD", "EURC": "EUR"}
    bank = rates(("EUR", "USD", "1.1"), publisher="ECB", at_par=dollars)
    own = rates(("EUR", "USD", "1.1"), at_par=dollars)
    for known, coin, expected in (
        (bank, "USDC", TO_REFERENCE),
        (own, "USDC", TO_OWN_RATE),
        (bank, "EURC", TO_ASSUMED_RATE),
    ):
        told = conversion_costs(recorded(exchange(crypto_currency=coin)), known)
        assert told.each.arrow["difference_is"].to_pylist() == [expected]
        assert told.by_pair.arrow["difference_is"].to_pylist() == [expected]
        assert expected in told.title
        assert conversion_costs_section(told).grids[0].foot[0][0].note == expected


def test_a_sum_of_several_kinds_of_difference_has_a_neutral_name() -> None:
    bank = rates(
        ("EUR", "USD", "1.1"), publisher="ECB", at_par={"USDC": "USD", "EURC": "EUR"}
    )  # fmt: skip
    both = recorded(exchange(), exchange(source_id="r2", crypto_currency="EURC"))
    told = conversion_costs(both, bank)
    (whole,) = told.sums
    assert (whole.conversions, whole.difference_is) == (2, TO_SEVERAL)
    assert "ECB" not in told.title


def test_both_kinds_of_difference_are_separate_and_count_missing_values_once() -> None:
    told = costs(
        exchange(), exchange(source_id="r2", at=None), exchange(source_id="r3", fee=None),
        at=AT,
    )  # fmt: skip
    rows = told.by_pair.arrow.to_pylist()
    assert [(row["difference_is"], row["conversions"]) for row in rows] == [
        (TO_OWN_RATE, 1),
        (IN_THE_RATE, 1),
    ]
    assert sum(row["not_valued"] for row in rows) == 1
    assert {sums.difference_is for sums in told.sums} == {IN_THE_RATE, TO_OWN_RATE}


cents = st.integers(1, 10**9).map(lambda number: Decimal(number).scaleb(-2))
coins = st.integers(1, 10**13).map(lambda number: Decimal(number).scaleb(-6))


@pytest.mark.acceptance
@given(st.lists(st.tuples(cents, cents, coins, st.booleans()), min_size=1, max_size=8))
def test_sums_are_exact_and_rounded_once(
    drawn: list[tuple[Decimal, Decimal, Decimal, bool]],
) -> None:
    exchanges = [
        exchange(source_id=str(at), fiat=fiat, fee=charged, crypto=crypto, is_on_ramp=on_ramp)
        for at, (fiat, charged, crypto, on_ramp) in enumerate(drawn)
    ]
    per_coin = 1 / Fraction("1.1172")
    told = conversion_costs(recorded(*exchanges), rates(("EUR", "USDC", "1.1172")))
    exact = Fraction(0)
    for fiat, charged, crypto, on_ramp in drawn:
        value = Fraction(crypto) * per_coin
        cost = Fraction(fiat) - value if on_ramp else value - Fraction(fiat)
        exact += cost - Fraction(charged)
    shown = Fraction(told.sums[0].reference_difference)
    assert abs(shown - exact) <= Fraction(1, 200)
    assert sum(told.by_pair.arrow["conversions"].to_pylist()) == len(drawn)


anything = st.none() | st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-(10**22), 10**22)
sizes = (anything | st.sampled_from([0, 5 * 10**15, -5 * 10**15])).map(
    lambda units: None if units is None else Decimal(f"{units}E-18")
)
grounds = st.tuples(
    st.sampled_from(["EUR", "USD", "?"]), st.sampled_from(["USDC", "EURC", "ETH"]),
    st.sampled_from([None, DAY, date(2026, 10, 14)]), st.sampled_from([None, AT]), st.booleans(),
)  # fmt: skip


@pytest.mark.acceptance
@given(st.lists(st.tuples(sizes, sizes, sizes, grounds), max_size=12), st.sampled_from([None, AT]))
def test_many_conversions_together_are_valued_like_each_one_alone(
    drawn: list[tuple[Any, ...]], at: datetime | None
) -> None:
    known = rates(("EUR", "USDC", "1.1172"), ("USD", "EUR", "0.5"), ("EURC", "EUR", "1"), at=at)
    per_unit = {
        "EUR": Fraction(1), "EURC": Fraction(1), "USD": Fraction(1, 2),
        "USDC": 1 / Fraction("1.1172"),
    }  # fmt: skip
    exchanges = [
        exchange(
            source_id=str(number), fiat=fiat, fee=charged, crypto=crypto, fiat_currency=currency,
            crypto_currency=coin, day=day, at=moment, is_on_ramp=on_ramp,
        )
        for number, (fiat, charged, crypto, (currency, coin, day, moment, on_ramp))
        in enumerate(drawn)
    ]  # fmt: skip
    told = conversion_costs(recorded(*exchanges), known)
    alone = [conversion_costs(recorded(one), known).each for one in exchanges]
    assert told.each.arrow.to_pylist() == [
        row for table in alone for row in table.arrow.to_pylist()
    ]
    for one, row in zip(exchanges, told.each.arrow.to_pylist(), strict=True):
        if row["not_valued"]:
            assert row["cost"] is None
            continue
        fiat, charged = (
            Fraction(one[name]) * per_unit[one["fiat_currency"]] for name in ("fiat", "fee")
        )
        value = Fraction(one["crypto"]) * per_unit[one["crypto_currency"]]
        cost = fiat - value if one["is_on_ramp"] else value - fiat
        assert (row["cost"], row["stated_fee"]) == (rounded(cost, 2), rounded(charged, 2))
        assert row["reference_difference"] == rounded(cost - charged, 2)


def converted(**changed: Any) -> dict[str, Any]:
    """Return a credit of EUR 990.00 converted to USDC 1,096.150000 between two balances."""
    return {
        **dict.fromkeys(CONVERSIONS.names),
        "state": "proved",
        "account_id": "a1",
        "account": "Treasury reserve",
        "asset": "USDC",
        "currency": "EUR",
        "opened_at": datetime(2026, 10, 13, 6, tzinfo=UTC),
        "closed_at": datetime(2026, 10, 13, 18, tzinfo=UTC),
        "converted": Decimal("1096.15"),
        "credits": 1,
        "edge_credits": 0,
        "fiat": Decimal("990.00"),
        "reason": "",
        "next_step": "",
        **changed,
    }


def account_costs(**changed: Any) -> list[dict[str, Any]]:
    r = reconciliation()
    table = pa.Table.from_pylist([converted(**changed)], schema=CONVERSIONS)
    exchanges = account_conversions(type(r)(**{**fields_of(r), "conversions": table}))
    return conversion_costs(exchanges, rates(("USDC", "EUR", "0.9"))).each.arrow.to_pylist()


def fields_of(r: Any) -> dict[str, Any]:
    return {name: getattr(r, name) for name in r.__struct_fields__}


def test_a_proved_conversion_of_a_virtual_account_has_a_cost_without_a_fee() -> None:
    (row,) = account_costs()
    assert (row["source"], row["reference"]) == (VIRTUAL_ACCOUNT, "Treasury reserve")
    assert (row["given_value"], row["received_value"]) == (990, Decimal("986.54"))  # 986.535
    assert row["stated_fee"] == 0
    assert row["reference_difference"] == Decimal("3.47")  # 3.465
    assert row["reference_difference_bp"] == Decimal("35.00")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"state": "not_provable", "reason": "a gap"}, "a gap"),
        ({"edge_credits": 1, "reason": "1 credit may be in it"}, "its cost is not proved"),
        ({"closed_at": datetime(2026, 11, 2, tzinfo=UTC)}, "around the month's end"),
        ({"opened_at": datetime(2026, 10, 5, tzinfo=UTC)}, "its day is not known within 7 days"),
        ({"opened_at": None}, "its day is not known within 7 days"),
    ],
)
def test_unproved_credits_of_a_virtual_account_are_counted_separately(
    changed: dict[str, Any], words: str
) -> None:
    (row,) = account_costs(**changed)
    assert words in row["not_valued"]
    assert row["cost"] is None


def test_a_conversion_of_another_month_is_left_out() -> None:
    before = datetime(2026, 9, 20, tzinfo=UTC)
    assert account_costs(opened_at=before, closed_at=datetime(2026, 9, 21, tzinfo=UTC)) == []
    assert account_costs(converted=Decimal(0)) == []


def test_an_unknown_direction_is_not_valued() -> None:
    (row,) = fees_of(reconciliation(fee_requests=[fee(ramp_type="SWAP")])).rows
    assert row["not_valued"] == "unknown direction"


def section(*exchanges: dict[str, Any]) -> Section:
    return conversion_costs_section(costs(*exchanges))


def test_the_section_shows_pairs_sums_and_missing_values() -> None:
    told = section(exchange(), exchange(source_id="r2", fee=None, reference=HOSTILE))
    pairs, without = told.grids
    assert [cell.text for cell in pairs.rows[0]][:3] == ["EUR → USDC", "2026-10", "1"]
    assert "20.16" in [cell.text for cell in pairs.rows[0]]
    assert [cell.text for cell in pairs.foot[0]][-1] == "EUR 10.00"
    assert pairs.foot[0][0].note == TO_OWN_RATE
    assert len(without.rows) == 1
    assert any("own.csv, to 2026-10-13" in note for note in told.notes)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"crypto_currency": "ETH"}, "no reference rate"),
        ({"day": date(2026, 10, 14)}, "no reference rate"),
        ({"fee": None}, "without a value"),
    ],
)
def test_a_pair_without_a_value_shows_a_missing_rate_and_no_amount(
    changed: dict[str, Any], words: str
) -> None:
    (row,) = section(exchange(**changed)).grids[0].rows
    texts = [cell.text for cell in row]
    assert texts.count(words) == 4
    assert "amount not recorded" not in texts


def test_a_month_without_a_conversion_says_so() -> None:
    assert section().lead == "No conversion in the month."
    assert (
        "never read"
        in conversion_costs_section(costs(), unread="not known: the services were never read").lead
    )
    assert costs().each.arrow.schema == CONVERSION_COSTS
    assert costs().title == "no conversion"


def test_the_figure_is_described_and_labelled() -> None:
    table = costs(exchange(), exchange(source_id="r2", month="2026-09")).by_pair
    words = conversion_costs_words(table)
    assert "EUR → USDC, 2026-10 20.16 basis points, between 20.16 and 20.16" in words
    (axes,) = drawn_costs(table).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        "EUR → USDC, 2026-09",
        "EUR → USDC, 2026-10",
    ]
    nothing = costs(exchange(fee=None)).by_pair
    assert conversion_costs_words(nothing) == "No conversion has a value."
    assert drawn_costs(nothing).axes
