"""The price of one unit of a currency or coin on a day, from published and assumed rates.

A rate is a fraction, so cross rates through the euro or an assumed parity are exact; the caller
rounds an amount only once. On days without publication (weekends, TARGET holidays) the last
published rate applies, and the result names its day. On any other day without a published rate,
there is no rate.

The company's own rates take precedence, then the ECB's, then the bundled history for pairs that no
added ECB file has. A company rate with an instant applies for one hour from that instant. After
this hour it is only a last resort, and it never applies to an earlier moment.
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
"""How long a rate with an instant applies, from that instant on."""
_EURO: Final = "EUR"
_DOLLAR: Final = "USD"
_COINS: Final = tuple(code for code in EXPONENTS if code not in CURRENCIES)
"""All coins in a fixed order, which decides which coin of a pair is priced."""

_STORED: Final = f"""\
SELECT publisher, day, observed_at, base, quote, rate, source FROM {REFERENCE_RATES.name}
WHERE vanished_at IS NULL AND (base = $code OR quote = $code)"""  # noqa: S608 - declared names


class _Rate(msgspec.Struct, frozen=True):
    rate: Fraction
    day: date | None = None
    """None if it contains no published rate."""
    at: datetime | None = None
    source: str = ""
    assumption: str = ""
    publishers: tuple[str, ...] = ()
    via: tuple[str, ...] = ()


class _Leg(_Rate, frozen=True):
    """One part of a cross rate: a published or assumed rate between two currencies or coins."""

    def rate_of(self, base: str, quote: str, day: date) -> ReferenceRate:
        """Return this rate as the answer for a pair and a day."""
        parts = {**msgspec.structs.asdict(self), "day": self.day or day}
        return ReferenceRate(base=base, quote=quote, asked=day, **parts)

    def inverse(self) -> _Leg:
        """Return the inverse rate, from quote to base."""
        return msgspec.structs.replace(self, rate=1 / self.rate)

    def then(self, other: _Leg) -> _Leg:
        """Multiply both rates; the product has an instant if every published part has one."""
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
        """Multiply both rates, and note the currency or coin between them, except the euro."""
        whole = self.then(onward)
        if bridge == _EURO or not self.source:
            return whole
        return msgspec.structs.replace(whole, via=tuple(dict.fromkeys((bridge, *whole.via))))


class ReferenceRate(_Rate, frozen=True, kw_only=True):
    """The price of one `base` in `quote`: an exact fraction, with its day and sources.

    `asked` is the requested day. `day` is the day of the rate; for a cross rate, the earliest of
    its parts. `at` is the instant of the rate, set only if every published part has an instant near
    enough to the requested one. `source` is empty if no published rate is used, and `assumption` is
    empty if nothing is assumed. `publishers` lists the publishers of its parts; `via` lists the
    currencies and coins crossed, except the euro.
    """

    base: str
    quote: str
    asked: date
    day: date

    @property
    def has_instant(self) -> bool:
        """Whether the rate applies to the requested instant and not only to the day."""
        return self.at is not None

    @property
    def is_earlier(self) -> bool:
        """Whether an earlier day's rate applies, because the day has none, as on a weekend."""
        return self.day < self.asked

    @property
    def basis(self) -> str:
        """The sources and assumptions in words, such as `ECB, 2026-10-30; 1 USDC = 1 USD`.

        A cross rate also names the currencies crossed: `own.csv · ECB, 2026-10-30, by way of GBP`.
        """
        way = f", by way of {' and '.join(self.via)}" if self.via else ""
        published = f"{clean(self.source)}, {self.at or self.day}{way}" if self.source else ""
        return "; ".join(filter(None, (published, self.assumption)))


class ReferenceValue(msgspec.Struct, frozen=True, kw_only=True):
    """The value of an amount: exact, and rounded to its currency's decimals."""

    exact: Fraction
    currency: str
    rate: ReferenceRate

    @property
    def amount(self) -> Decimal:
        """The value, rounded half up once."""
        return rounded(self.exact, exponent(self.currency))


class RateSources:
    """The sources of all rates used, each with its last day, and the assumptions made."""

    def __init__(self) -> None:
        self._last_days: dict[str, date] = {}
        self._assumptions: set[str] = set()

    def add(self, rate: ReferenceRate) -> None:
        """Add the sources of a rate that was used."""
        if rate.source:
            last = self._last_days.get(rate.source, rate.day)
            self._last_days[rate.source] = max(last, rate.day)
        if rate.assumption:
            self._assumptions.add(rate.assumption)

    def words(self) -> tuple[str, ...]:
        """Return `ECB, to 2026-10-30` per source, then `assumed: 1 USDC = 1 USD`."""
        sources = [f"{source}, to {day}" for source, day in sorted(self._last_days.items())]
        return (*sources, *(f"assumed: {assumed}" for assumed in sorted(self._assumptions)))


class _Asked(msgspec.Struct, frozen=True):
    """The requested day, and the instant if there is one.

    With `is_last_resort`, a company rate with an instant applies for longer than an hour.
    """

    day: date
    at: datetime | None
    is_last_resort: bool = False


class _PairRates(msgspec.Struct, frozen=True):
    """The stored rates of one pair, all in the same direction."""

    daily: dict[tuple[str, date], _Leg]
    """Daily rates by publisher and day."""
    instants: list[tuple[datetime, date, _Leg]]
    """The company's rates with an instant, in order, each with its day."""
    publishers: set[str]

    def last_instant(self, asked: _Asked) -> tuple[datetime, date, _Leg] | None:
        """Return the company's last rate up to the requested instant, or to the end of the day."""
        if asked.at is None:
            place = bisect_right(self.instants, asked.day, key=itemgetter(1))
        else:
            place = bisect_right(self.instants, asked.at, key=itemgetter(0))
        return self.instants[place - 1] if place else None


class ReferenceRates(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Reference rates from stored records; create a new object for each computation.

    `at_par` maps a coin to the currency that the rules assume it equals. `stored` returns the
    stored rates of a code; `brought` returns the bundled history, for pairs that no ECB file has.
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
        """Return the rates stored in a snapshot; `coins_at_par` are pairs such as `USDC/USD`."""

        def stored(code: str) -> list[dict[str, Any]]:
            if not snapshot.declares(REFERENCE_RATES.name):
                return []
            return snapshot.select(_STORED, {"code": code}).to_pylist()

        coins = (pair.partition("/") for pair in coins_at_par)
        return cls(at_par={coin: unit for coin, _, unit in coins}, stored=stored, brought=brought)

    def rate(
        self, base: str, quote: str, day: date, at: datetime | None = None
    ) -> ReferenceRate | None:
        """Return the price of one `base` in `quote` on a day or near an instant; None if unknown.

        A rate with an instant applies if it is at most an hour before `at`. Otherwise the day's
        rate applies.
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
        """Return the value of an amount on a day or near an instant; None if no rate is known."""
        rate = self.rate(currency, in_, day, at)
        if rate is None:
            return None
        return ReferenceValue(exact=Fraction(amount) * rate.rate, currency=in_, rate=rate)

    def has_instants(self, currency: str) -> bool:
        """Return whether rates with an instant exist between a currency and the euro."""
        # All pairs of the euro itself would be the ECB's whole history, which has no instants.
        if currency == _EURO:
            return False
        bridges = self._bridges(currency)
        if any(self._pair(currency, code).instants for code in bridges):
            return True
        onward = {*bridges, self.at_par.get(currency, _EURO)} - {_EURO}
        return any(map(self.has_instants, onward))

    def absence(self, currency: str, day: date, at: datetime | None = None) -> str:
        """Explain why an amount in a currency has no value in euros on a day."""
        brought = self.brought()
        pairs = self._stored_pairs(currency).values()
        if not (pairs or currency in self.at_par or (brought and currency in brought.columns)):
            return f"not provable: no file has {currency}, and no parity is assumed"
        moments = [moment for pair in pairs for moment, of, _ in pair.instants if of == day]
        why = ""
        if at is not None and moments and min(moments) > at:
            why = f": the company's first rate is at {min(moments):%H:%MZ}"
        elif currency in self.at_par and self._is_in_a_file(currency):
            why = ": a file has rates of it, so its parity is not assumed"
        return f"no reference rate of {currency} for {day}{why}"

    def _answer(self, base: str, quote: str, asked: _Asked) -> _Leg | None:
        """Return the published rate of a pair, or else the cross rate through the euro."""
        published = self._published(base, quote, asked)
        if published is not None:
            return published
        from_base, from_quote = (self._in_euro(code, asked) for code in (base, quote))
        if from_base is None or from_quote is None:
            return None
        return from_base.then(from_quote.inverse())

    def _in_euro(self, code: str, asked: _Asked) -> _Leg | None:
        """Return the price of one unit in euros: published, crossed, or assumed."""
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
        """Return whether a file has rates of the coin, so that its parity must not be assumed."""
        return any(self._pair(code, bridge).publishers for bridge in self._bridges(code))

    def _bridges(self, code: str) -> list[str]:
        """Return the currencies and coins in which `code` may be priced, in order of preference.

        Each of them is nearer to the euro, so that no chain of rates forms a cycle. A coin may be
        priced in currencies and in coins that are nearer by `_distance`.
        """
        if code not in self._nearer:
            others = {other for pair in self._stored_pairs(code) for other in pair}
            own, every = self._distance(code), sorted(others | {_EURO, _DOLLAR}, key=self._distance)
            self._nearer[code] = [other for other in every if self._distance(other) < own]
        return self._nearer[code]

    def _distance(self, code: str) -> tuple[int, int, str]:
        """Return a sort key, smallest for the euro; a pair's smaller member prices the other."""
        if code in {_EURO, _DOLLAR}:
            return (_EURO, _DOLLAR).index(code), 0, ""
        if code in CURRENCIES:
            return 2, 0, code
        unit = self.at_par.get(code)
        kind = 5 if unit is None else 3 if unit == _EURO else 4
        return kind, _COINS.index(code) if code in _COINS else len(_COINS), code

    def _published(self, base: str, quote: str, asked: _Asked) -> _Leg | None:
        """Return the published rate of a pair in either direction, without crosses."""
        if base == quote:
            return _Leg(Fraction(1))
        pair, days = self._pair(base, quote), [asked.day]
        # When TARGET is closed, no rate is published and the last one applies.
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
        """Return the bundled rate of a euro pair, in either direction."""
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
        """Return the stored rates of a pair, with reversed quotes inverted."""
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
        """Return the stored rates of every pair that includes a code, read on first use."""
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
