"""What one unit of a currency or coin cost on a day, from what was published and what is assumed.

A rate is a fraction: a cross by way of the euro, or of a coin's assumption, is exact, and whoever
shows an amount rounds it once. A day on which nothing is published (weekends, TARGET holidays) has
the rate of the last day before it that was due one, and says so; any other day without a rate has
none. The company's own rates come first, then the ECB's, then, for a pair that no file of the ECB
has, the history that a package brings along. An own rate with an instant is that of the hour after
it; beyond that it answers only for what nothing else has, and never for what was before it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from operator import itemgetter
from typing import Any, Final

import msgspec

from treasury.core.calendar import is_target_day
from treasury.core.money import CURRENCIES, EXPONENTS, exponent, rounded
from treasury.core.text import clean
from treasury.lake import Snapshot
from treasury.rates.brought_history import BroughtHistory, brought_history
from treasury.rates.rate_table import BANK, OWN, REFERENCE_RATES

_INSTANT_REACH: Final = timedelta(hours=1)
"""A rate with an instant is that of a moment up to so much later."""
_EURO: Final = "EUR"
_DOLLAR: Final = "USD"
_COINS: Final = tuple(code for code in EXPONENTS if code not in CURRENCIES)
"""Coins in an order, so that of two that have no currency each counts in the other one way only."""

_STORED: Final = f"""\
SELECT publisher, day, observed_at, base, quote, rate, source FROM {REFERENCE_RATES.name}
WHERE vanished_at IS NULL AND (base = $code OR quote = $code)"""  # noqa: S608 - declared names


class _Rate(msgspec.Struct, frozen=True):
    rate: Fraction
    day: date | None = None
    """None where nothing published is in it."""
    at: datetime | None = None
    source: str = ""
    assumption: str = ""
    publishers: tuple[str, ...] = ()
    via: tuple[str, ...] = ()


class _Leg(_Rate, frozen=True):
    """A published or assumed rate on the way from one currency to another."""

    def rate_of(self, base: str, quote: str, day: date) -> ReferenceRate:
        """The rate of a pair, as an answer to the question of a day."""
        parts = {**msgspec.structs.asdict(self), "day": self.day or day}
        return ReferenceRate(base=base, quote=quote, asked=day, **parts)

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
            tuple(dict.fromkeys((*self.publishers, *other.publishers))),
            tuple(dict.fromkeys((*self.via, *other.via))),
        )

    def by_way_of(self, bridge: str, onward: _Leg) -> _Leg:
        """Both, one after the other, with the currency or coin between them by name."""
        whole = self.then(onward)
        if bridge == _EURO or not self.source:
            return whole
        return msgspec.structs.replace(whole, via=tuple(dict.fromkeys((bridge, *whole.via))))


class ReferenceRate(_Rate, frozen=True, kw_only=True):
    """What one `base` cost in `quote`: the exact fraction, and what it rests on.

    `asked` is the day of the question, `day` the one that the rate was published for: the earliest,
    where several make it up. `at` is the instant of the rate, where every published part of it has
    one that was near enough to the instant of the question. `source` is empty where nothing
    published is in it, `assumption` where nothing is assumed. `publishers` has who published its
    parts, `via` what it was crossed by besides the euro.
    """

    base: str
    quote: str
    asked: date
    day: date

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
        """`ECB, 2026-10-30; 1 USDC = 1 USD`: what it rests on, in words.

        A way that was published says so: `own.csv · ECB, 2026-10-30, by way of GBP`.
        """
        way = f", by way of {' and '.join(self.via)}" if self.via else ""
        published = f"{clean(self.source)}, {self.at or self.day}{way}" if self.source else ""
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


class RateSources:
    """The sources of the rates that were taken, each to its last day, and what was assumed."""

    def __init__(self) -> None:
        self._last_days: dict[str, date] = {}
        self._assumptions: set[str] = set()

    def add(self, rate: ReferenceRate) -> None:
        """Note that a rate was taken."""
        if rate.source:
            last = self._last_days.get(rate.source, rate.day)
            self._last_days[rate.source] = max(last, rate.day)
        if rate.assumption:
            self._assumptions.add(rate.assumption)

    def words(self) -> tuple[str, ...]:
        """`ECB, to 2026-10-30`, for each source; then `assumed: 1 USDC = 1 USD`."""
        sources = [f"{source}, to {day}" for source, day in sorted(self._last_days.items())]
        return (*sources, *(f"assumed: {assumed}" for assumed in sorted(self._assumptions)))


class _Asked(msgspec.Struct, frozen=True):
    """The day of a question, and its instant if it has one.

    `is_last_resort` where nothing is known of it: then an instant that is out of reach may answer.
    """

    day: date
    at: datetime | None
    is_last_resort: bool = False


class _PairRates(msgspec.Struct, frozen=True):
    """The stored rates of one pair, all the same way round."""

    daily: dict[tuple[str, date], _Leg]
    """By publisher and day."""
    instants: list[tuple[datetime, date, _Leg]]
    """The company's with an instant, its day besides, in order."""
    publishers: set[str]

    def last_instant(self, asked: _Asked) -> tuple[datetime, date, _Leg] | None:
        """The company's last rate up to the instant of a question, or to the end of its day."""
        if asked.at is None:
            place = bisect_right(self.instants, asked.day, key=itemgetter(1))
        else:
            place = bisect_right(self.instants, asked.at, key=itemgetter(0))
        return self.instants[place - 1] if place else None


class ReferenceRates(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The reference rates of a question: `rate`, `value`, `absence`. Made once for each question.

    `at_par` has the coins that count as a currency, by an assumption of the rules. `stored` gives
    the stored rates that a code is in, `brought` the history for pairs that no file of the ECB has.
    """

    at_par: Mapping[str, str]
    stored: Callable[[str], Iterable[Mapping[str, Any]]]
    brought: Callable[[], BroughtHistory | None] = brought_history
    _pairs: dict[str, dict[tuple[str, str], _PairRates]] = msgspec.field(default_factory=dict)
    _turned: dict[tuple[str, str], _PairRates] = msgspec.field(default_factory=dict)
    _nearer: dict[str, list[str]] = msgspec.field(default_factory=dict)
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
            questions = (_Asked(day, at), _Asked(day, at, is_last_resort=True))
            leg = next(
                filter(None, (self._answer(base, quote, asked) for asked in questions)), None
            )
            self._rates[key] = None if leg is None else leg.rate_of(base, quote, day)
        return self._rates[key]

    def value(
        self, amount: Decimal, currency: str, day: date, in_: str = _EURO,
        at: datetime | None = None,
    ) -> ReferenceValue | None:  # fmt: skip
        """What an amount was worth on a day, or near an instant; None where no rate is known."""
        rate = self.rate(currency, in_, day, at)
        if rate is None:
            return None
        return ReferenceValue(exact=Fraction(amount) * rate.rate, currency=in_, rate=rate)

    def has_instants(self, currency: str) -> bool:
        """Whether rates with an instant were given on the way from a currency to the euro."""
        if currency == _EURO:  # whose pairs are all that the ECB publishes: they are not read
            return False
        bridges = self._bridges(currency)
        if any(self._pair(currency, code).instants for code in bridges):
            return True
        onward = {*bridges, self.at_par.get(currency, _EURO)} - {_EURO}
        return any(map(self.has_instants, onward))

    def absence(self, currency: str, day: date, at: datetime | None = None) -> str:
        """Why an amount in a currency has no value in euros on a day, in words."""
        brought = self.brought()
        pairs = self._stored_pairs(currency).values()
        if not (pairs or currency in self.at_par or (brought and currency in brought.columns)):
            return f"not provable: no file has {currency}, and nothing is assumed of it"
        moments = [moment for pair in pairs for moment, of, _ in pair.instants if of == day]
        why = ""
        if at is not None and moments and min(moments) > at:
            why = f": the company's begins at {min(moments):%H:%MZ}"
        elif currency in self.at_par and self._is_in_a_file(currency):
            why = ": a file has it, so that nothing is assumed of it"
        return f"no reference rate of {currency} for {day}{why}"

    def _answer(self, base: str, quote: str, asked: _Asked) -> _Leg | None:
        """The pair as it is published, or from one to the other by way of the euro."""
        published = self._published(base, quote, asked)
        if published is not None:
            return published
        from_base, from_quote = (self._in_euro(code, asked) for code in (base, quote))
        if from_base is None or from_quote is None:
            return None
        return from_base.then(from_quote.inverse())

    def _in_euro(self, code: str, asked: _Asked) -> _Leg | None:
        """What one unit cost in euros: as published, by way of another, or by an assumption."""
        if code == _EURO:
            return _Leg(Fraction(1))
        bridges = self._bridges(code)
        for bridge in bridges:
            leg = self._published(code, bridge, asked)
            onward = None if leg is None else self._in_euro(bridge, asked)
            if leg is not None and onward is not None:
                return leg.by_way_of(bridge, onward)
        unit = self.at_par.get(code)
        if unit is None or self._is_in_a_file(code):
            return None
        onward = self._in_euro(unit, asked)
        at_par = _Leg(Fraction(1), assumption=f"1 {code} = 1 {unit}")
        return None if onward is None else at_par.then(onward)

    def _is_in_a_file(self, code: str) -> bool:
        """Whether a file says what a coin is worth, so that nothing is assumed of it besides."""
        return any(self._pair(code, bridge).publishers for bridge in self._bridges(code))

    def _bridges(self, code: str) -> list[str]:
        """What a currency or coin may be quoted in, in the order in which it is looked for.

        Each is nearer to the euro, so that no way leads back: of the two in a rate, the coin counts
        in the currency, and the coin without a currency in the one that has one.
        """
        if code not in self._nearer:
            others = {other for pair in self._stored_pairs(code) for other in pair}
            own, every = self._distance(code), sorted(others | {_EURO, _DOLLAR}, key=self._distance)
            self._nearer[code] = [other for other in every if self._distance(other) < own]
        return self._nearer[code]

    def _distance(self, code: str) -> tuple[int, int, str]:
        """How far a currency or coin is from the euro: what is nearer prices what is farther."""
        if code in {_EURO, _DOLLAR}:
            return (_EURO, _DOLLAR).index(code), 0, ""
        if code in CURRENCIES:
            return 2, 0, code
        unit = self.at_par.get(code)
        kind = 5 if unit is None else 3 if unit == _EURO else 4
        return kind, _COINS.index(code) if code in _COINS else len(_COINS), code

    def _published(self, base: str, quote: str, asked: _Asked) -> _Leg | None:
        """A published rate of the pair, the way it is quoted or the other; crosses apart."""
        if base == quote:
            return _Leg(Fraction(1))
        pair, days = self._pair(base, quote), [asked.day]
        # No rate is due on days on which TARGET is closed: the last one before counts too.
        while not is_target_day(days[-1]):
            days.append(days[-1] - timedelta(days=1))
        last = pair.last_instant(asked)
        if last is not None and asked.at is not None and asked.at - last[0] <= _INSTANT_REACH:
            return last[2]
        for key in ((publisher, due) for due in days for publisher in (OWN, BANK)):
            if key in pair.daily:
                return pair.daily[key]
        if BANK not in pair.publishers and (leg := self._brought(base, quote, days)) is not None:
            return leg
        if asked.is_last_resort and last is not None and last[1] in days:
            return msgspec.structs.replace(last[2], at=None)
        return None

    def _brought(self, base: str, quote: str, days: Iterable[date]) -> _Leg | None:
        """The rate of the history that a package brings along: of the euro, or of its inverse."""
        brought = self.brought() if _EURO in (base, quote) else None
        if brought is None:
            return None
        for due in days:
            rate = brought.rate(quote if base == _EURO else base, due)
            if rate is not None:
                leg = _Leg(Fraction(rate), due, None, brought.source, publishers=(BANK,))
                return leg if base == _EURO else leg.inverse()
        return None

    def _pair(self, base: str, quote: str) -> _PairRates:
        """The stored rates of a pair, those that are quoted the other way round turned."""
        if (base, quote) not in self._turned:
            pairs = self._stored_pairs(quote if base == _EURO else base)
            whole = _PairRates({}, [], set())
            for key, turn in (((quote, base), _Leg.inverse), ((base, quote), lambda leg: leg)):
                if key in pairs:
                    own = pairs[key]
                    whole.daily.update({dated: turn(leg) for dated, leg in own.daily.items()})
                    whole.instants.extend((at, day, turn(leg)) for at, day, leg in own.instants)
                    whole.publishers.update(own.publishers)
            whole.instants.sort(key=itemgetter(0))
            self._turned[base, quote] = whole
        return self._turned[base, quote]

    def _stored_pairs(self, code: str) -> dict[tuple[str, str], _PairRates]:
        """The stored rates of every pair that a code is in, read when they are first asked for."""
        if code not in self._pairs:
            pairs: dict[tuple[str, str], _PairRates] = {}
            for row in self.stored(code):
                publisher, day, at = row["publisher"], row["day"], row["observed_at"]
                pair = pairs.setdefault((row["base"], row["quote"]), _PairRates({}, [], set()))
                leg = _Leg(Fraction(row["rate"]), day, at, row["source"], publishers=(publisher,))
                pair.publishers.add(publisher)
                if at is None:
                    pair.daily[publisher, day] = leg
                else:
                    pair.instants.append((at, day, leg))
            self._pairs[code] = pairs
        return self._pairs[code]
