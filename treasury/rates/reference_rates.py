"""What one unit of a currency or coin cost on a day, from what was published and what is assumed.

A rate is a fraction: a cross by way of the euro, or of a coin's assumption, is exact, and whoever
shows an amount rounds it once. A day on which nothing is published (weekends, TARGET holidays) has
the rate of the last day before it that was due one, and says so; any other day without a rate has
none. The company's own rates come first, then the ECB's, then, for a pair that no file has, the
history that a package brings along.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import msgspec

from treasury.calendar import is_target_day
from treasury.lake import Snapshot
from treasury.money import exponent, rounded
from treasury.rates.brought_history import BroughtHistory, brought_history
from treasury.rates.rate_table import BANK, OWN, REFERENCE_RATES

__all__ = ["ReferenceRate", "ReferenceRates", "ReferenceValue"]

INSTANT_REACH: Final = timedelta(hours=1)
"""A rate with an instant is that of a moment up to so much later."""
EURO: Final = "EUR"
_BRIDGES: Final = (EURO, "USD")
"""What a currency's or coin's own rate may be quoted in, in the order in which it is looked for."""

_STORED: Final = f"""\
SELECT publisher, day, observed_at, base, quote, rate, source FROM {REFERENCE_RATES.name}
WHERE vanished_at IS NULL AND (base = $code OR quote = $code)"""  # noqa: S608 - declared names


class ReferenceRate(msgspec.Struct, frozen=True, kw_only=True):
    """What one `base` cost in `quote`: the exact fraction, and what it rests on.

    `asked` is the day of the question, `day` the one that the rate was published for: the earliest,
    where several make it up. `at` is the instant of the rate, where every published part of it has
    one that was near enough to the instant of the question. `source` is empty where nothing
    published is in it, `assumption` where nothing is assumed.
    """

    base: str
    quote: str
    rate: Fraction
    asked: date
    day: date
    at: datetime | None = None
    source: str = ""
    assumption: str = ""

    @property
    def has_instant(self) -> bool:
        """Whether it is of the instant that was asked about, and not of the day alone."""
        return self.at is not None

    @property
    def is_earlier(self) -> bool:
        """Whether nothing was published that day, as on a weekend, and it is of one before."""
        return self.day < self.asked

    @property
    def basis(self) -> str:
        """`ECB, 2026-10-30; 1 USDC = 1 USD`: what it rests on, in words."""
        published = f"{self.source}, {self.at or self.day}" if self.source else ""
        return "; ".join(filter(None, (published, self.assumption)))


class ReferenceValue(msgspec.Struct, frozen=True, kw_only=True):
    """What an amount was worth: exact, and rounded at the decimals of its currency."""

    exact: Fraction
    currency: str
    rate: ReferenceRate

    @property
    def amount(self) -> Decimal:
        """The value rounded half up, once."""
        return rounded(self.exact, exponent(self.currency))


class _Leg(msgspec.Struct, frozen=True):
    """A published or assumed rate on the way from one currency to another."""

    rate: Fraction
    day: date | None = None
    """None where nothing published is in it."""
    at: datetime | None = None
    source: str = ""
    assumption: str = ""

    def rate_of(self, base: str, quote: str, day: date) -> ReferenceRate:
        """The rate of a pair, as an answer to the question of a day."""
        return ReferenceRate(
            base=base, quote=quote, rate=self.rate, asked=day, day=self.day or day, at=self.at,
            source=self.source, assumption=self.assumption,
        )  # fmt: skip

    def inverse(self) -> _Leg:
        """The rate the other way round."""
        return msgspec.structs.replace(self, rate=1 / self.rate)

    def then(self, other: _Leg) -> _Leg:
        """Both, one after the other; of an instant only where all that is published in it is."""
        published = [leg for leg in (self, other) if leg.source]
        instants = [leg.at for leg in published if leg.at is not None]
        return _Leg(
            self.rate * other.rate,
            min((leg.day for leg in published if leg.day is not None), default=None),
            min(instants) if instants and len(instants) == len(published) else None,
            " · ".join(dict.fromkeys(leg.source for leg in published)),
            " · ".join(filter(None, dict.fromkeys((self.assumption, other.assumption)))),
        )


class _PairRates(msgspec.Struct, frozen=True):
    """The stored rates of one pair, as it is quoted."""

    daily: dict[tuple[str, date], _Leg]
    """By publisher and day; where the company gave instants alone, the day's last."""
    instants: list[tuple[datetime, _Leg]]
    """The company's with an instant, in order."""

    def leg(self, publisher: str, day: date, at: datetime | None) -> _Leg | None:
        """The rate of an instant, if the company has one up to an hour before; else the day's."""
        if at is not None and publisher == OWN:
            last = bisect_right(self.instants, at, key=lambda dated: dated[0]) - 1
            if last >= 0 and at - self.instants[last][0] <= INSTANT_REACH:
                return self.instants[last][1]
        return self.daily.get((publisher, day))


class ReferenceRates(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The reference rates of a question: `rate`, `value`, `absence`. Made once for each question.

    `at_par` has the coins that count as a currency, by an assumption of the rules. `stored` gives
    the stored rates that a code is in, `brought` the history for pairs that no file has.
    """

    at_par: Mapping[str, str]
    stored: Callable[[str], Iterable[Mapping[str, Any]]]
    brought: Callable[[], BroughtHistory | None] = brought_history
    _pairs: dict[str, dict[tuple[str, str], _PairRates]] = msgspec.field(default_factory=dict)
    _rates: dict[tuple[str, str, date, datetime | None], ReferenceRate | None] = msgspec.field(
        default_factory=dict
    )

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        coins_at_par: Iterable[str],
        brought: Callable[[], BroughtHistory | None] = brought_history,
    ) -> ReferenceRates:
        """The rates of a snapshot; `coins_at_par` as in the rules, `USDC/USD`."""

        def stored(code: str) -> list[dict[str, Any]]:
            if not snapshot.declares(REFERENCE_RATES.name):
                return []
            return snapshot.select(_STORED, {"code": code}).to_pylist()

        coins = (pair.partition("/") for pair in coins_at_par)
        return cls(at_par={coin: unit for coin, _, unit in coins}, stored=stored, brought=brought)

    def rate(
        self, base: str, quote: str, day: date, at: datetime | None = None
    ) -> ReferenceRate | None:
        """What one `base` cost in `quote` on a day, or near an instant; None where none is known.

        A rate of an instant is taken where one was given up to an hour before `at`; else the day's.
        """
        key = base, quote, day, at
        if key not in self._rates:
            leg = self._published(base, quote, day, at) or self._crossed(base, quote, day, at)
            self._rates[key] = None if leg is None else leg.rate_of(base, quote, day)
        return self._rates[key]

    def value(
        self, amount: Decimal, currency: str, day: date, in_: str = EURO,
        at: datetime | None = None,
    ) -> ReferenceValue | None:  # fmt: skip
        """What an amount was worth on a day, or near an instant; None where no rate is known."""
        rate = self.rate(currency, in_, day, at)
        if rate is None:
            return None
        return ReferenceValue(exact=Fraction(amount) * rate.rate, currency=in_, rate=rate)

    def has_instants(self, currency: str) -> bool:
        """Whether rates with an instant were given of a currency, or of what it is crossed by."""
        codes = (currency, self.at_par.get(currency, EURO), *_BRIDGES)
        return any(pair.instants for code in codes for pair in self._stored_pairs(code).values())

    def absence(self, currency: str, day: date) -> str:
        """Why an amount in a currency has no value in euros on a day, in words."""
        brought = self.brought()
        if (
            self._stored_pairs(currency)
            or currency in self.at_par
            or (brought is not None and currency in brought.columns)
        ):
            return f"no reference rate of {currency} for {day}"
        return f"not provable: no file has {currency}, and nothing is assumed of it"

    def _crossed(self, base: str, quote: str, day: date, at: datetime | None) -> _Leg | None:
        """From one to the other by way of the euro."""
        from_base, from_quote = (self._in_euro(code, day, at) for code in (base, quote))
        if from_base is None or from_quote is None:
            return None
        return from_base.then(from_quote.inverse())

    def _in_euro(self, code: str, day: date, at: datetime | None) -> _Leg | None:
        """What one unit cost in euros: as published, by way of the dollar, or by an assumption."""
        if code == EURO:
            return _Leg(Fraction(1))
        for bridge in _BRIDGES:
            leg = None if bridge == code else self._published(code, bridge, day, at)
            onward = None if leg is None else self._in_euro(bridge, day, at)
            if leg is not None and onward is not None:
                return leg.then(onward)
        unit = self.at_par.get(code)
        pairs = self._stored_pairs(code)
        is_in_a_file = any((code, b) in pairs or (b, code) in pairs for b in _BRIDGES)
        if unit is None or is_in_a_file:
            return None
        onward = self._in_euro(unit, day, at)
        at_par = _Leg(Fraction(1), assumption=f"1 {code} = 1 {unit}")
        return None if onward is None else at_par.then(onward)

    def _published(self, base: str, quote: str, day: date, at: datetime | None) -> _Leg | None:
        """A published rate of the pair, the way it is quoted or the other; crosses apart."""
        if base == quote:
            return _Leg(Fraction(1))
        pairs = self._stored_pairs(quote if base == EURO else base)
        as_quoted, inverse = pairs.get((base, quote)), pairs.get((quote, base))
        for due in _days_of(day):
            for publisher in (OWN, BANK):
                if as_quoted and (leg := as_quoted.leg(publisher, due, at)):
                    return leg
                if inverse and (leg := inverse.leg(publisher, due, at)):
                    return leg.inverse()
        brought = self.brought() if EURO in (base, quote) else None
        if as_quoted or inverse or brought is None:
            return None
        for due in _days_of(day):
            rate = brought.rate(quote if base == EURO else base, due)
            if rate is not None:
                leg = _Leg(Fraction(rate), due, None, brought.source)
                return leg if base == EURO else leg.inverse()
        return None

    def _stored_pairs(self, code: str) -> dict[tuple[str, str], _PairRates]:
        """The stored rates of every pair that a code is in, read when they are first asked for."""
        if code not in self._pairs:
            pairs: dict[tuple[str, str], _PairRates] = {}
            for row in self.stored(code):
                pair = pairs.setdefault((row["base"], row["quote"]), _PairRates({}, []))
                leg = _Leg(Fraction(row["rate"]), row["day"], row["observed_at"], row["source"])
                if row["observed_at"] is None:
                    pair.daily[row["publisher"], row["day"]] = leg
                else:
                    pair.instants.append((row["observed_at"], leg))
            for pair in pairs.values():  # the latest first, so that it is the one of its day
                pair.instants.sort(key=lambda dated: dated[0], reverse=True)
                for _, leg in pair.instants:
                    if leg.day is not None:
                        day_alone = msgspec.structs.replace(leg, at=None)
                        pair.daily.setdefault((OWN, leg.day), day_alone)
                pair.instants.reverse()
            self._pairs[code] = pairs
        return self._pairs[code]


def _days_of(day: date) -> Iterator[date]:
    """A day, then those before it while nothing is due on them, up to one that a rate is due on."""
    yield day
    while not is_target_day(day):
        day -= timedelta(days=1)
        yield day
