"""Changes to the rules: their effect on all stored records can be previewed before a save.

The file `rules.toml` contains the rules in force. The journal contains every saved version with its
effect, so that an answer for an earlier time uses the rules in force then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import InputError, StorageError
from treasury.core.files import durable
from treasury.core.files.regular_files import read_regular
from treasury.core.nearest_names import Facade
from treasury.core.tables.column_texts import value_text
from treasury.core.tables.column_types import INSTANT, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.core.text import clean, safe_html
from treasury.journal import Actor, Draft, Journal
from treasury.journal.decision_log import Decided, decide, read_decided, require_present
from treasury.journal.period_history import RULES_SAVED, closed_periods, rules_in_force
from treasury.lake import Snapshot
from treasury.matching.rules import Rules, check_rules, load_rules, met_by_none
from treasury.month.decisions.comparison import moves_between, totals_of
from treasury.month.decisions.file_debits import decisions_in_force
from treasury.month.question import Question
from treasury.month.reconciliation import Basis, awaiting_funds, step_sql
from treasury.month.standing_knowledge import run_knowledge

_WAITS: Final = ("state", "due", "overdue", "silent")


class Preview(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The effect of new rules on the stored records.

    `lines` are the bank lines of open months with a different outcome, as in `comparison.MOVES`;
    `totals` their sums, as in `comparison.TOTALS`. `requests` are waiting requests with a different
    state, due date or delay. `closed` are lines of closed months that the new rules would match
    differently; they keep the rules of their close.
    """

    printed: ClassVar[Sequence[str]] = ("totals",)

    rules: Rules
    before: Rules
    lines: Table
    totals: Table
    requests: Table
    closed: Table

    def sheets(self) -> Mapping[str, Table]:
        """Return the lines that would move, their sums, requests, and lines of closed months."""
        return {
            "Lines": self.lines,
            "Totals": self.totals,
            "Requests": self.requests,
            "Closed months": self.closed,
        }

    @property
    def removed(self) -> list[str]:
        """A sentence for each list of texts or numbers from which the change removes entries."""
        rules = msgspec.structs.asdict(self.rules)
        return [
            f"{name} no longer has {', '.join(map(str, removed))}"
            for name, entries in msgspec.structs.asdict(self.before).items()
            if isinstance(entries, tuple) and all(isinstance(entry, int | str) for entry in entries)
            if (removed := [entry for entry in entries if entry not in rules[name]])
        ]

    @property
    def sql(self) -> str:
        """The SQL that computes the outcomes; it reads the rules from a table."""
        return step_sql("outcomes")

    def __repr__(self) -> str:
        return (
            f"<Preview of rules {self.rules.hash[:12]}: {len(self.lines)} lines and"
            f" {len(self.requests)} requests would move>"
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<p>{safe_html(words)}</p>" for words in (repr(self)[1:-1], *self.removed))
        tables = (table for table in (self.totals, self.lines, self.requests) if len(table))
        return head + "".join(table._repr_html_() for table in tables)


class Changing(Facade):
    """The rules of a workspace, as `t.rules`: read them, preview new ones, and put them in force.

    >>> t.rules.preview("new_rules.toml").totals
    """

    def __init__(
        self,
        path: Path,
        journal: Journal,
        snapshot: Callable[[], Snapshot],
        question: Callable[[Rules], Question],
        *,
        until: datetime | None = None,
        zone: ZoneInfo | None = None,
    ) -> None:
        self._zone = zone
        self._path = path
        self._journal = journal
        self._snapshot = snapshot
        self._question = question
        self._until = until

    def current(self) -> Rules:
        """Return the rules in `rules.toml`, or the default rules if there is no file.

        >>> t.rules.current()
        """
        return load_rules(self._path) if os.path.lexists(self._path) else Rules()

    def is_journaled(self) -> bool:
        """Return whether `rules.toml` is as last saved, or no rules were ever saved.

        >>> t.rules.is_journaled()
        """
        in_force = rules_in_force(read_decided(self._journal, until=self._until).entries)
        return in_force is None or in_force.hash == self.current().hash

    def history(self) -> Table:
        """Return a row per saved version of the rules: when, by whom, why, how many lines moved.

        >>> t.rules.history()
        """
        rows = [
            {
                "saved_at": entry.at,
                "saved_by": entry.actor.name,
                "reason": entry.body.get("reason"),
                "rules_hash": entry.subject,
                "lines": entry.body["effect"]["lines"],
            }
            for entry in self._journal.entries(RULES_SAVED)
        ]
        return Table(pa.Table.from_pylist(rows, schema=_HISTORY), zone=self._zone)

    def preview(self, new: Rules | str | Path) -> Preview:
        """Return the changes that new rules would make to the stored records; no file is written.

        Parameters
        ----------
        new
            The rules, or the path of a TOML file.

        Returns
        -------
        Preview
            Lines and requests that would change; amounts are in the currency of each row.

        Raises
        ------
        SettingsError
            If a key of the file is wrong; the message names it.

        Examples
        --------
        >>> t.rules.preview("new_rules.toml").totals
        """
        return self._preview(read_rules(new), read_decided(self._journal, until=self._until))

    def save(
        self,
        new: Rules | str | Path,
        reason: str,
        *,
        actor: Actor | None = None,
    ) -> Preview:
        """Put new rules in force, and journal their content and effect.

        The journal is written before the file: if the run is interrupted in between, save the same
        rules again.

        Parameters
        ----------
        new
            The rules, or the path of a TOML file.
        reason
            Why they change.
        actor
            The deciding person; default: the person at the login.

        Returns
        -------
        Preview
            The changes, as in `preview`.

        Raises
        ------
        InputError
            If the reason is missing, or if a class can never apply.
        SettingsError
            If a key of the file is wrong.
        StorageError
            If `rules.toml` cannot be written.

        Examples
        --------
        >>> t.rules.save("new_rules.toml", "the bank changed its transaction codes")
        """
        if not reason.strip():
            raise InputError("a change to the rules needs a reason", do="give the reason")
        require_present(self._until)
        rules = read_rules(new)
        # Rules given as an object are written without defaults; a person's file is kept as it is.
        if isinstance(new, Rules):
            content, usual = msgspec.to_builtins(new), msgspec.to_builtins(Rules())
            own = {n: _without_nulls(value) for n, value in content.items() if value != usual[n]}
            text = msgspec.toml.encode(own).decode()
        else:
            text = read_regular(Path(new))
        for name in met_by_none(rules):
            raise InputError(
                f"the class {clean(name)[:60]!r} depends on text that payers write, and no "
                "line matches it",
                do="give its bank_transaction_code or counterparty_account too",
            )
        who = actor or self._journal.who()

        def build(decided: Decided) -> tuple[list[Draft], Preview]:
            preview = self._preview(rules, decided)
            in_force = rules_in_force(decided.entries)
            if in_force is not None and in_force.hash == rules.hash:
                return [], preview
            return [Draft(RULES_SAVED, rules.hash, _body(preview, reason.strip()), who)], preview

        _, preview = decide(self._journal, build)
        try:
            durable.write_whole(self._path, text.encode())
        except OSError as error:
            raise StorageError(
                f"{self._path} cannot be written: {error.strerror or error}; the journal has the"
                " rules",
                do="make the folder writable, then save the same rules again",
            ) from error
        return preview

    def _preview(self, rules: Rules, decided: Decided) -> Preview:
        before = self.current()
        snapshot = self._snapshot()
        verdicts = decisions_in_force(snapshot, decided.entries)
        old, new = (Basis(snapshot, self._question(basis), verdicts) for basis in (before, rules))
        moves = moves_between(run_knowledge(old), run_knowledge(new), "rule")
        closed = closed_periods(decided.entries)
        locked = pa.array(
            [f"{day:%Y-%m}" in closed for day in moves["booking_date"].to_pylist()], pa.bool_()
        )
        lines = moves.filter(pc.invert(locked))
        waiting, would_wait = (
            awaiting_funds(basis.snapshot, basis.question, verdicts) for basis in (old, new)
        )
        was = {row["request"]: row for row in waiting.to_pylist()}
        is_moved = [
            any(row[name] != was[row["request"]][name] for name in _WAITS)
            for row in would_wait.to_pylist()
        ]
        return Preview(
            rules=rules,
            before=before,
            lines=lines,
            totals=totals_of(lines),
            requests=would_wait.filter(pa.array(is_moved, pa.bool_())),
            closed=moves.filter(locked),
        )


_HISTORY: Final = grouped_schema(
    (INSTANT, "saved_at"),
    (TEXT, "saved_by", "reason", "rules_hash"),
    (INTEGER, "lines"),
)


def read_rules(source: Rules | str | Path) -> Rules:
    """Return rules given as an object, or read from a TOML file."""
    return check_rules(source) if isinstance(source, Rules) else load_rules(Path(source))


def _without_nulls(value: Any) -> Any:
    """Remove nulls, which TOML does not have."""
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list | tuple) else value


def _body(preview: Preview, reason: str) -> dict[str, Any]:
    effect = [
        {name: value_text(v) if isinstance(v, Decimal) else v for name, v in row.items()}
        for row in preview.totals.arrow.to_pylist()
    ]
    return {
        "content": msgspec.to_builtins(preview.rules),
        "before": msgspec.to_builtins(preview.before),
        "before_hash": preview.before.hash,
        "reason": reason,
        "effect": {
            "lines": len(preview.lines),
            "requests": len(preview.requests),
            "totals": effect,
        },
    }
