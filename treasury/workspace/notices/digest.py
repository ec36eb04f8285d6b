"""A digest: the message about new open items for one person or webhook, as text and as JSON.

It lists the items and who acts next. It contains no links or account numbers, so that the message
alone is not enough for a decision, and amounts only if the settings allow them. Names from outside
are masked and on one line.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from treasury.core.money import format_amount
from treasury.core.text import clean
from treasury.core.wording import shown_code
from treasury.month.items import TURNS
from treasury.workspace.notices.due_items import DueItem

_MOST_LINES: Final = 200
"""Maximum number of items listed in a message; the others are only counted."""
_OURS: Final = {"us": "Yours", "colleague": "A colleague's", "provider": "The provider's"}


class Digest(msgspec.Struct, frozen=True, kw_only=True):
    """The message about new items for one person or webhook.

    `waiting` holds the ids of the actions that wait for this person's approval. Amounts are shown
    only with `with_amounts`. `key` identifies the notice in all workspaces that share the journal.
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
        """The items by who acts next, beginning with the items that wait for this person."""
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
        """The subject line: the number of new items in each group."""
        counts = ", ".join(f"{len(items)} {title.lower()}" for title, items in self.sections)
        place = "" if self.environment == "production" else f" ({self.environment})"
        return clean(f"Treasury{place}: {len(self.items)} new, {counts}")

    @property
    def text(self) -> str:
        """The text of a mail."""
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
        lines += ["See them with: treasury exceptions", f"Notice {self.notice_id}"]
        return "\n".join(lines) + "\n"

    def _line(self, item: DueItem) -> str:
        age = f", {item.age} {item.clock}" if item.age else ""
        return f"{item.label}: {clean(item.name)}{age}{self._amount(item)}"

    def _amount(self, item: DueItem) -> str:
        if not self.with_amounts or item.amount is None:
            return ""
        return f", {format_amount(item.amount, item.currency)}"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON body for a webhook; `text` is for chats, and amounts are strings."""
        return {
            "notice": self.notice_id,
            "company": clean(self.company),
            "environment": self.environment,
            "at": self.at.isoformat(),
            "text": f"{self.subject}\n{self.text}",
            "count": len(self.items),
            "items": [
                {
                    "kind": shown_code("kind", item.kind),
                    "label": item.label,
                    "name": clean(item.name),
                    "turn": item.turn,
                    "state": shown_code("state", item.state),
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
