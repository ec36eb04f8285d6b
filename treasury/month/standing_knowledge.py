"""The matching inputs and results for all stored records, on which decisions are based.

A month's reconciliation shows a part of them. Decisions, comparisons, previews of rules and the
roll-forward of open items need them all, from one run of the same steps.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import InputError
from treasury.core.files.package_files import step_sql
from treasury.core.text import clean
from treasury.matching.rules import Rules
from treasury.month.reconciliation import Basis, Matched, Reconciliation, matched, worked_out

_SHORTEST = 6
"""Minimum number of characters to identify an id, if no other id begins with them."""
_FIRST_SEEN: Final = step_sql("treasury.month.queries", "first_seen")


class Knowledge:
    """The inputs and results of one matching run over all stored records.

    `bank_lines` are the lines with their position in the bank's files. `lines` are the same lines
    as matching reads them, with their class. `expectations` are the requests and virtual accounts
    that the lines may belong to.
    """

    def __init__(
        self,
        basis: Basis,
        matched: Matched,
    ) -> None:
        tables = matched.tables
        self.basis = basis
        self.snapshot = basis.snapshot
        self.question = basis.question
        self.bank_lines = tables["bank_lines"]
        self.lines = tables["lines"]
        self.expectations = tables["expectations"]
        self.returns = tables["linked_returns"]
        self.matches = matched.matches

    @property
    def rules(self) -> Rules:
        """The rules of the run."""
        return self.question.rules

    @cached_property
    def outcomes(self) -> Mapping[str, dict[str, Any]]:
        """The outcome of each line, by its id."""
        return _ById(self.matches.lines.arrow, "entry_id")

    @cached_property
    def expectation_rows(self) -> Mapping[str, dict[str, Any]]:
        """Each expectation with its state, by its id."""
        rows, states = self.expectations, self.matches.expectations.arrow
        # Both tables are sorted by id.
        assert rows["expectation_id"].equals(states["expectation_id"])
        for name in states.column_names[1:]:
            rows = rows.append_column(name, states[name])
        return _ById(rows, "expectation_id")

    def line_rows(self, ids: Collection[str]) -> dict[str, dict[str, Any]]:
        """Return these lines with class and position in the bank's file; skip unknown ids."""
        chosen = pc.is_in(self.bank_lines["entry_id"], pa.array(list(ids), pa.string()))
        classes = pc.is_in(self.lines["entry_id"], pa.array(list(ids), pa.string()))
        line_rows = {row["entry_id"]: row for row in self.bank_lines.filter(chosen).to_pylist()}
        for row in self.lines.filter(classes).select(["entry_id", "line_class"]).to_pylist():
            line_rows[row["entry_id"]]["line_class"] = row["line_class"]
        return line_rows

    def known_from(self, ids: Collection[str]) -> dict[str, datetime]:
        """Return the time at which each of these lines was first stored in the lake."""
        rows = self.snapshot.select(_FIRST_SEEN, {"ids": list(ids)}).to_pylist()
        return {row["entry_id"]: row["known_from"] for row in rows}

    def find_line(self, name: str) -> str:
        """Return the id of the line with this id, or with an id that begins with it.

        Raise InputError if there is no such line, or more than one.
        """
        return _find_id(name, self.bank_lines["entry_id"].to_pylist(), "bank line", _LINES)

    def find_expectation(self, name: str) -> str:
        """Return the id of a request or virtual account by its id, reference or start of the id."""
        plain = _plain(name)
        ids, codes = (
            self.expectations[column].to_pylist() for column in ("expectation_id", "code")
        )
        coded = [
            column
            for column, code in zip(ids, codes, strict=True)
            if code and _plain(code) == plain
        ]
        if len(coded) == 1:
            return coded[0]
        return _find_id(name, ids, "request or virtual account", _RECORDS)


class _ById(Mapping[str, dict[str, Any]]):
    """The rows of a table by id; a row becomes a dictionary when it is read."""

    def __init__(self, table: pa.Table, key: str) -> None:
        self._table = table
        self._place = {name: n for n, name in enumerate(table[key].to_pylist())}

    def __getitem__(self, name: str) -> dict[str, Any]:
        row: dict[str, Any] = self._table.slice(self._place[name], 1).to_pylist()[0]
        return row

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)


def run_knowledge(basis: Basis) -> Knowledge:
    """Match all records of the snapshot; the month of the question has no effect."""
    return Knowledge(basis, matched(basis))


def answer_and_knowledge(basis: Basis) -> tuple[Reconciliation, Knowledge]:
    """Return the month's answer, and the inputs and results of its matching."""
    answered = worked_out(basis)
    return answered.answer, Knowledge(basis, answered.matched)


_LINES = "run `treasury match open` to see the lines and their ids"
_RECORDS = "give its reference or its whole id; sync if it is new"


def _find_id(name: str, ids: list[str], kind: str, do: str) -> str:
    if name in ids:
        return name
    begin = [id_ for id_ in ids if id_.startswith(name)] if len(name) >= _SHORTEST else []
    if len(begin) == 1:
        return begin[0]
    if begin:
        raise InputError(
            f"{len(begin)} ids begin with {clean(name)[:60]!r}", do="give more of the id"
        )
    raise InputError(f"there is no {kind} {clean(name)[:60]!r}", do=do)


def _plain(code: str) -> str:
    return "".join(letter for letter in code.upper() if letter.isalnum())
