"""The tiers of evidence, which `tiers.csv` declares.

Only `tiers.csv` names tiers. The SQL steps read it as the table `tiers`. Each row of evidence names
the step that gave it (`given_by`); this step determines the tier, and the tier's `needs` decides
whether the line is matched without a person.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec
import pyarrow as pa

from treasury.core.decoding import convert
from treasury.core.files.package_files import package_rows
from treasury.core.tables.column_types import TEXT
from treasury.core.tables.schemas import grouped_schema, table_of

Needs: TypeAlias = Literal["nothing", "amount", "amount_or_payer", "exact_sum", "person"]
"""The requirement of a tier, in addition to the text, for a match without a person:

- `nothing`: the text is enough unless a question raises a doubt.
- `amount`: exactly the amount that the expectation still expects.
- `amount_or_payer`: that amount or, if no amount is expected, a known payer.
- `exact_sum`: several references, with expectations that add up to the line.
- `person`: a person always decides.
"""


class Tier(msgspec.Struct, frozen=True):
    """A kind of evidence, with its rank (1 is the strongest)."""

    name: str
    rank: int
    words: str
    proves: str
    """What evidence of this tier proves, in words."""
    needs: Needs
    given_by: str
    """The SQL step that gives evidence of this tier."""


TIERS: Final = tuple(
    convert(row | {"rank": int(row["rank"])}, Tier)
    for row in package_rows("treasury.matching", "tiers.csv")
)
_TIER: Final = grouped_schema(
    (TEXT, "name"), (pa.int32(), "rank"), (TEXT, "words", "proves", "needs", "given_by")
)


def tier_table() -> pa.Table:
    """Return the tiers as the table that the SQL steps read."""
    return table_of([msgspec.structs.astuple(tier) for tier in TIERS], _TIER)
