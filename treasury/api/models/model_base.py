"""The base class of all records of both services.

A model accepts the records of every documented generation. Only identifying fields are mandatory.
A status may have any text. An amount is an exact Decimal, from a number or a string. A time without
a zone is UTC. Unknown fields are not lost, because each `codec.Record` keeps the bytes received.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, ClassVar, Final, get_args

import msgspec

from treasury.core.errors import InputError
from treasury.core.money import PRECISION, SCALE, parse_amount

LONGEST_ID: Final = 255
"""Maximum number of characters in an id: a UUID has 36, a transaction hash 66."""

Id = Annotated[str, msgspec.Meta(max_length=LONGEST_ID)]
"""An id; it becomes part of URLs, keys and journal entries, so its length is limited."""

Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
"""An integer of 64 bits, the size that the lake stores."""


class Model(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A record of a service.

    The constructor converts instants to UTC, and refuses amounts that the lake cannot store.
    """

    UNSTORED: ClassVar[frozenset[str]] = frozenset()
    """Fields whose numbers may have any size, because no table stores them."""

    def __post_init__(self) -> None:
        for name in _checked(type(self)):
            value = getattr(self, name)
            if isinstance(value, datetime) and value.tzinfo is not UTC:
                has_zone = value.tzinfo is not None
                instant = value.astimezone(UTC) if has_zone else value.replace(tzinfo=UTC)
                msgspec.structs.force_setattr(self, name, instant)
            elif isinstance(value, Decimal):
                exponent = value.as_tuple().exponent
                is_short = isinstance(exponent, int) and exponent >= -SCALE
                if is_short and value.adjusted() < PRECISION - SCALE:
                    # An amount like this always fits, so the slower check is skipped.
                    continue
                try:
                    parse_amount(value, name=name)
                # msgspec adds the position in the record to a ValueError.
                except InputError as error:
                    raise ValueError(error.what) from None


@cache
def _checked(model: type[Model]) -> tuple[str, ...]:
    """Return a type's fields that may hold an instant or an amount."""
    kinds = {datetime, Decimal}
    fields = msgspec.structs.fields(model)
    names = (field.name for field in fields if kinds & {field.type, *get_args(field.type)})
    return tuple(name for name in names if name not in model.UNSTORED)
