"""What every request body has in common: it is checked when it is made, and then never changes.

A body is a frozen struct. Making one checks what can be checked before anything is sent and fixes
its idempotency key, so a body that is sent again, now or after a crash, is the same bytes again.
A missing value, a wrong one and a contradiction are an InputError.
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
"""An exact amount; a float is refused."""
Repeats = Literal["keyed", "versioned", "write"]
"""What a body says of sending it twice; the kinds of `transport.Call` that write."""
_WIDE = Context(prec=80)


def new_key() -> str:
    """A fresh idempotency key."""
    return str(uuid4())


class Body(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A request body; what is None is not sent."""

    REPEATS: ClassVar[Repeats] = "write"
    """What makes sending it twice safe at every generation of the service, if anything does."""
    NEEDED: ClassVar[tuple[str, ...]] = ()
    """Fields that may be neither missing nor blank."""
    LONGEST: ClassVar[dict[str, int]] = {}
    """The most characters of a field."""

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
        """The idempotency key that it carries, if any."""
        return getattr(self, "idempotency_key", None)

    def wire(self) -> dict[str, Any]:
        """The fields as the service names them, in their order, without those that are None."""
        return {
            field.encode_name: value.wire() if isinstance(value, Body) else value
            for field in msgspec.structs.fields(self)
            if (value := getattr(self, field.name)) is not None
        }

    def is_like(self, record: Any) -> bool:
        """Whether a listed record may be what this body created; for looking an effect up."""
        raise NotImplementedError(type(self).__name__)

    # What `__post_init__` of the bodies is made of

    def wrong(self, problem: str, do: str) -> InputError:
        """The error that it cannot be sent as it is."""
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
                f"one of {', '.join(names)} is needed, {listed} given", "give just one"
            )

    def _amount(self, name: str, currency: str | None, *, places: int | None = None) -> Decimal:
        """A positive amount with no more decimals than its currency, where that is known."""
        amount = parse_amount(getattr(self, name), name=f"{type(self).__name__}.{name}")
        if amount <= 0:
            raise self.wrong(f"{name} {amount} is not positive", "give a positive amount")
        if currency in EXPONENTS and not is_exact_in(amount, currency):
            raise self.wrong(f"{name} {amount} has more decimals than {currency}", "round it")
        unit = Decimal(1).scaleb(-places) if places is not None else None
        if unit is not None and amount.quantize(unit, context=_WIDE) != amount:
            raise self.wrong(f"{name} {amount} has more than {places} decimals", "round it")
        return amount

    def _as_number(self, name: str, currency: str | None) -> None:
        """Send the amount as a JSON number, in plain digits."""
        amount = self._amount(name, currency)
        msgspec.structs.force_setattr(self, name, Decimal(f"{amount:f}"))

    def _as_text(self, name: str, currency: str | None, *, places: int) -> None:
        """Send the amount as a decimal string."""
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
    """A body with an idempotency key: made with it, or given one that a journal pinned."""

    REPEATS: ClassVar[Repeats] = "keyed"

    idempotency_key: str = msgspec.field(default_factory=new_key)

    def __post_init__(self) -> None:
        self._check_key()  # it has one, also where somebody gives None
        super().__post_init__()
