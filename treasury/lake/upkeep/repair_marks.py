"""Marks on a commit: what a repair could not find again and a source may still have.

A mark is the name of a table, all of whose records are to be asked for again, or of one part of it
(`statement_entries/4f1c…`), where it is known what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["mark_of", "split_mark", "tables_of"]


def mark_of(table: str, part: str) -> str:
    """The mark for one part of a table."""
    return f"{table}/{part}"


def split_mark(table_part: str) -> tuple[str, str]:
    """The table of a mark and its part; no part where it is the whole table."""
    table, _, part = table_part.partition("/")
    return table, part


def tables_of(refetch: Iterable[str]) -> list[str]:
    """The tables that marks are about, each once."""
    return sorted({split_mark(part)[0] for part in refetch})
