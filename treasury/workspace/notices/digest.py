"""A digest: what is new for one channel, as the text of a mail and as plain JSON.

It says what waits and for whom, and nothing in it decides anything: no link, no account number, no
amount unless the settings allow it. Names from outside stand on one line each and are masked.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from treasury.core.money import format_amount
from treasury.core.text import clean
from treasury.month.items import TURNS
from treasury.workspace.notices.due_items import DueItem

_MOST_LINES: Final = 200
"""Items that a message lists; of more it says how many they are."""
_OURS: Final = {"us": "Yours", "colleague": "A colleague's", "provider": "The provider's"}


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """What is new on the list, for one channel.

    `waiting` are the actions that wait for this very person's approval; the items of both do not
    overlap. Amounts are shown where `with_amounts` says so. `key` is the notice's
    own among all desks.
    """

    notice_id: str
    key: str
    company: str
    environment: str
    at: datetime
    items: tuple[DueItem, ...]
    waiting: frozenset[str] = frozenset()
    with_amounts: bool = False

    @property
    def sections(self) -> Iterator[tuple[str, list[DueItem]]]:
        """The items by whose move it is, what waits for this person first."""
        personal = [item for item in self.items if item.action_id in self.waiting]
        others = [item for item in self.items if item.action_id not in self.waiting]
        if personal:
            yield "Waits for you", personal
        for turn, word in TURNS.items():
            members = [item for item in others if item.turn == turn]
            if members:
                yield _OURS.get(turn, word.capitalize()), members

    @property
    def subject(self) -> str:
        """One line: how many are new, and whose they are."""
        counts = ", ".join(f"{len(items)} {title.lower()}" for title, items in self.sections)
        place = "" if self.environment == "production" else f" ({self.environment})"
        return clean(f"Treasury{place}: {len(self.items)} new, {counts}")

    @property
    def text(self) -> str:
        """The lines of a mail."""
        lines = [f"{clean(self.company)}: new since the last notice", ""]
        room = _MOST_LINES
        for title, items in self.sections:
            lines.append(title.upper())
            for item in items[:room]:
                lines.append(f"  {self._line(item)}")
                lines.append(f"    {item.next_step}")
            room = max(0, room - len(items))
            lines.append("")
        hidden = len(self.items) - _MOST_LINES
        if hidden > 0:
            lines += [f"and {hidden:,} more", ""]
        lines += ["Look at them at the desk: treasury exceptions", f"Notice {self.notice_id}"]
        return "\n".join(lines) + "\n"

    def _line(self, item: DueItem) -> str:
        age = f", {item.age} {item.clock}" if item.age else ""
        return f"{item.label}: {clean(item.name)}{age}{self._amount(item)}"

    def _amount(self, item: DueItem) -> str:
        if not self.with_amounts or item.amount is None:
            return ""
        return f", {format_amount(item.amount, item.currency)}"

    def to_json(self) -> dict[str, Any]:
        """The message of a webhook; `text` is what a chat shows of it, amounts are texts."""
        return {
            "notice": self.notice_id,
            "company": clean(self.company),
            "environment": self.environment,
            "at": self.at.isoformat(),
            "text": f"{self.subject}\n{self.text}",
            "count": len(self.items),
            "items": [
                {
                    "kind": item.kind,
                    "label": item.label,
                    "name": clean(item.name),
                    "turn": item.turn,
                    "state": item.state,
                    "since": None if item.since is None else item.since.isoformat(),
                    "age": item.age,
                    "clock": item.clock,
                    "next_step": item.next_step,
                }
                | (
                    {"amount": str(item.amount), "currency": item.currency}
                    if self.with_amounts and item.amount is not None
                    else {}
                )
                for item in self.items[:_MOST_LINES]
            ],
        }
