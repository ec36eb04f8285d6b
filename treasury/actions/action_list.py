"""Actions as a list that reads as one: a line each where it is printed, a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable

from treasury.actions.action_states import Action
from treasury.text import clean, safe_html

__all__ = ["ActionList"]

_COLUMNS = ("Action", "State", "What it does", "Proposed by", "Agreed")


class ActionList(tuple[Action, ...]):
    """Actions, oldest first; a tuple in everything but how it is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self:
            return "no action"
        return "\n".join(f"{action.id}  {action.state}  {clean(action.text)}" for action in self)

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no action</p>"
        rows = (
            (
                action.id,
                action.state,
                action.text,
                action.proposed_by.name,
                ", ".join(action.people),
            )
            for action in self
        )
        lines = [_cells("th", _COLUMNS), *(_cells("td", row) for row in rows)]
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table class='tex2jax_ignore'>{body}</table>"


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag} style='text-align:left'>{safe_html(text)}</{tag}>" for text in texts)
