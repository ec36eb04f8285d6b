"""One payment from end to end: each hop with its evidence, or with its first missing day.

A hop is a step of the payment's path, such as a debit or a delivery. A trace starts from a
reference, an account, an amount, a hash or an id. It uses stored records only, and marks each hop
for which no evidence is possible.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Final, Literal
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.core.money import format_amount
from treasury.core.tables.column_types import AMOUNT, DATE, INSTANT, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import html_grid
from treasury.core.text import clean, safe_html
from treasury.core.wording import instant_words

HopState = Literal[
    "seen", "as recorded", "missing", "not provable", "undecided", "conflict", "ended"
]


class Hop(msgspec.Struct, frozen=True):
    """A step of a payment, with its time (`at`), bank date (`on`) or first missing day (`since`).

    `evidence` names our own files, positions and ids. `is_for_provider` is true if the message to
    the provider may contain the hop.
    """

    place: str
    state: HopState
    says: str
    at: datetime | None = None
    on: date | None = None
    amount: Decimal | None = None
    currency: str | None = None
    since: date | None = None
    evidence: str = ""
    is_for_provider: bool = True


HOPS: Final = grouped_schema(
    (TEXT, "place", "state", "says"),
    (INSTANT, "at"),
    (DATE, "on"),
    (AMOUNT, "amount"),
    (TEXT, "currency"),
    (DATE, "since"),
    (TEXT, "evidence"),
)


class Trace(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The trace of one payment, or the `choices` if several payments have the given name.

    `hops` are in the order of the payment's path, and `next_step` is what to do now.
    `provider_text()` is a message for the provider with references, amounts, dates and hashes, and
    without our own files.
    """

    asked: str
    title: str
    hops: tuple[Hop, ...]
    choices: Table
    next_step: str
    names: tuple[tuple[str, str], ...]
    """The names by which the provider knows the payment: label and value."""
    company: str
    known_at: datetime
    zone: ZoneInfo
    is_sent: bool = True
    """Whether a record proves that our money or coins have left for the provider."""
    sql: str = ""
    """The SQL of all records that can be traced."""

    @property
    def gaps(self) -> tuple[Hop, ...]:
        """The hops with evidence that is missing, undecided, contradictory or cannot exist."""
        return tuple(hop for hop in self.hops if hop.state in GAPS)

    def sheets(self) -> Mapping[str, Table]:
        """Return the hops by sheet name, or the choices if there is no single payment."""
        if not self.hops:
            return {"Choices": self.choices}
        rows = [{name: getattr(hop, name) for name in HOPS.names} for hop in self.hops]
        return {"Hops": Table(pa.Table.from_pylist(rows, schema=HOPS), zone=self.zone)}

    def provider_text(self) -> str:
        """Return a message to the provider without our own files; empty if there are choices.

        It asks for money only if a record proves that we have sent it.
        """
        if not self.hops:
            return ""
        known_at = clock_words(self.known_at, self.zone)
        lines = [
            f"Subject: {clean(self.title)}",
            "",
            f"{clean(self.company)} asks about this payment.",
            "",
        ]
        lines += [f"{label}: {clean(value)}" for label, value in self.names if value]
        lines += ["", f"What we see, known at {known_at}:"]
        lines += [
            f"- {self._provider_line(hop)}"
            for hop in self.hops
            if hop.is_for_provider and (hop.state not in GAPS or self._is_recorded(hop))
        ]
        missing = [f"- {self._provider_line(hop)}" for hop in self.gaps if hop.is_for_provider]
        if not self.is_sent:
            lines += ["", "Our records prove no payment from us to you, so nothing is missing."]
            lines += ["Please confirm that this agrees with your records."]
        elif missing:
            lines += ["", "What is missing or contradictory:", *missing]
            lines += ["", "Please tell us where the money is, and when the rest will follow."]
        else:
            lines += ["", "Please confirm that this agrees with your records."]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        lines = [clean(self.title)]
        for hop in self.hops:
            when = self._when(hop)
            head = f"  {hop.state.upper():<14} {hop.place:<16} {when:<22}"
            lines.append(f"{head} {clean(hop.says)}".rstrip())
            if hop.evidence:
                lines.append(f"{'':<57}{clean(hop.evidence)}")
        for row in self.choices.arrow.to_pylist():
            amount = ""
            if row["amount"] is not None:
                amount = format_amount(row["amount"], row["currency"] or "?")
            lines.append(f"  {row['happened_on']}  {amount:>24}  {clean(row['says'])}")
            lines.append(f"  {'':<12}treasury trace {clean(row['id'])}")
        if self.next_step:
            lines.append(f"  NEXT           {clean(self.next_step)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        if not self.hops:
            return f"<Trace of {clean(self.asked)}: {len(self.choices)} to choose from>"
        proved = len(self.hops) - len(self.gaps)
        return f"<Trace {clean(self.title)}: {proved} of {len(self.hops)} hops seen>"

    def _repr_html_(self) -> str:
        if not self.hops:
            return f"<p>{safe_html(self.title)}</p>{self.choices._repr_html_()}"
        rows = (
            (hop.state, hop.place, self._when(hop), hop.says, hop.evidence) for hop in self.hops
        )
        head = ("", "Where", "When", "What", "Evidence")
        step = f"<p><b>Next:</b> {safe_html(self.next_step)}</p>" if self.next_step else ""
        return html_grid(rows, head, self.title, has_row_heads=True) + step

    def _is_recorded(self, hop: Hop) -> bool:
        """Return whether an unsent payment's hop is a record, such as a debit that came back."""
        return not self.is_sent and (hop.on is not None or hop.at is not None)

    def _when(self, hop: Hop) -> str:
        if hop.at is not None:
            return clock_words(hop.at, self.zone)
        if hop.on is not None:
            return f"{hop.on:%-d %b %Y}"
        return f"since {hop.since:%-d %b %Y}" if hop.since is not None else ""

    def _provider_line(self, hop: Hop) -> str:
        when = self._when(hop)
        return clean(f"{when}: {hop.says}" if when else hop.says)


GAPS: Final = ("missing", "not provable", "undecided", "conflict")


def clock_words(moment: datetime, zone: ZoneInfo) -> str:
    """Return a time such as `29 Oct 2026 09:20 CET`, in `zone`."""
    return instant_words(moment.astimezone(zone))
