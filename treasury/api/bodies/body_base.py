"""The base class of all request bodies.

A body is a frozen struct. Its constructor raises InputError for missing, wrong and contradictory
values, so that nothing is sent. It also fixes the idempotency key, if the body has one, so that
every attempt sends the same bytes, even after a crash.
"""

from __future__ import annotations

from collections.abc import Sized
from decimal import Context, Decimal
from typing import Any, ClassVar, Literal
from uuid import UUID, uuid4

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import EXPONENTS, is_exact_in, parse_amount

__all__ = ["Amount", "Body", "Keyed", "Repeats", "new_key"]

Amount = Decimal | int | str
"""Types of an exact amount; a float is refused, because it is not exact."""
Repeats = Literal["keyed", "versioned", "write"]
"""Whether a body may be sent twice: the kinds of `transport.Call` except `read`."""
_WIDE = Context(prec=80)


def new_key() -> str:
    """Return a new random idempotency key."""
    return str(uuid4())


class Body(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A request body; fields that are None are not sent."""

    REPEATS: ClassVar[Repeats] = "write"
    """Whether every generation of the service lets this body be sent twice."""
    NEEDED: ClassVar[tuple[str, ...]] = ()
    """Fields that must not be missing or blank."""
    LONGEST: ClassVar[dict[str, int]] = {}
    """Maximum length of fields."""

    def __post_init__(self) -> None:
        if self.key is not None:
            self._check_key()
        self._require(*self.NEEDED)
        for name, length in self.LONGEST.items():
            value = getattr(self, name)
            if isinstance(value, Sized) and len(value) > length:
                raise self.wrong(f"{name} is longer than {length}", "shorten it")

    @property
    def key(self) -> str | None:
        """The idempotency key of the body, if it has one."""
        return getattr(self, "idempotency_key", None)

    def wire(self) -> dict[str, Any]:
        """Return the JSON object to send: each field that is not None, under the service's name."""
        return {
            field.encode_name: value.wire() if isinstance(value, Body) else value
            for field in msgspec.structs.fields(self)
            if (value := getattr(self, field.name)) is not None
        }

    def is_like(self, record: Any) -> bool:
        """Return True if this body may have created a listed record.

        It serves to find the created record after the answer was lost. Only bodies of records that
        can be listed implement it.
        """
        raise NotImplementedError(type(self).__name__)

    # Helpers for the bodies' `__post_init__`

    def wrong(self, problem: str, do: str) -> InputError:
        """Return the error for a problem that prevents the body from being sent."""
        return InputError(f"{type(self).__name__}: {problem}; nothing was sent", do=do)

    def _require(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if value is None or (isinstance(value, str) and not value.strip()):
                raise self.wrong(f"{name} is missing", f"give {name}")

    def _forbid(self, why: str, *names: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                raise self.wrong(f"{name} is given, {why}", f"leave {name} out")

    def _exactly_one(self, *names: str) -> None:
        present = [name for name in names if getattr(self, name) is not None]
        if len(present) != 1:
            listed = " and ".join(present) or "none"
            raise self.wrong(
                f"one of {', '.join(names)} is needed; given: {listed}", "give exactly one"
            )

    def _amount(self, name: str, currency: str | None, *, places: int | None = None) -> Decimal:
        """Return the amount in a field.

        Refuse an amount that is not positive, or has more decimals than `places` or a known
        currency allows.
        """
        amount = parse_amount(getattr(self, name), name=f"{type(self).__name__}.{name}")
        if amount <= 0:
            raise self.wrong(f"{name} {amount} is not positive", "give a positive amount")
        if currency in EXPONENTS and not is_exact_in(amount, currency):
            raise self.wrong(f"{name} {amount} has more decimals than {currency}", "round it")
        unit = Decimal(1).scaleb(-places) if places is not None else None
        if unit is not None and amount.quantize(unit, context=_WIDE) != amount:
            raise self.wrong(f"{name} {amount} has more than {places} decimals", "round it")
        return amount

    def _as_number(self, currency: str | None) -> None:
        """Check the field `amount` and store it as a Decimal without an exponent."""
        amount = self._amount("amount", currency)
        msgspec.structs.force_setattr(self, "amount", Decimal(f"{amount:f}"))

    def _as_text(self, name: str, currency: str | None, *, places: int) -> None:
        """Check the amount in a field and store it as a decimal string."""
        amount = self._amount(name, currency, places=places)
        msgspec.structs.force_setattr(self, name, f"{amount:f}")

    def _check_key(self) -> None:
        try:
            version = UUID(self.key).version
        except ValueError:
            version = None
        if version != 4:
            raise self.wrong("idempotency_key is not a UUID of version 4", "leave it out")


class Keyed(Body, frozen=True, kw_only=True):
    """A body with an idempotency key, which is new or comes from the journal."""

    REPEATS: ClassVar[Repeats] = "keyed"

    idempotency_key: str = msgspec.field(default_factory=new_key)

    def __post_init__(self) -> None:
        # The base class skips a key that is None, but here the key is required.
        self._check_key()
        super().__post_init__()
