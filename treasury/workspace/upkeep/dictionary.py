"""The data dictionary: what each table and answer (a computed table) and each column means.

Stored tables are described by their declarations, answers by `answers.csv` and
`answer_columns.csv`. `treasury tables`, `t.tables()` and `docs/tables.md` show the dictionary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.files.package_files import package_rows, package_text
from treasury.core.tables.column_types import INSTANT, INTEGER, TEXT, TEXTS, TYPE_WORDS, Column
from treasury.core.text import clean, is_it
from treasury.core.wording import column_codes
from treasury.extract.completeness import SYNC_FINDINGS, SyncFinding, stored_findings
from treasury.extract.finance_tables import FINANCE
from treasury.extract.ramp_tables import RAMP
from treasury.lake import LAKE_COLUMNS, Snapshot, Table
from treasury.lake.table_declaration import HISTORY
from treasury.month.items.item_kinds import KIND_WORDS, TURNS
from treasury.rates.rate_table import TABLES as RATE_TABLES
from treasury.statements.explorer.wallet_tables import WALLET_TABLES
from treasury.statements.pain.status_tables import STATUS_TABLES
from treasury.statements.statement_tables import TABLES as STATEMENTS
from treasury.workspace.responses import RESPONSES

"""A unit that is the name of one column."""
OWN: Final = "ours"
"""Source and section for columns that treasury itself fills."""


class Group(msgspec.Struct, frozen=True):
    """The tables of one origin, and the document that defines their fields."""

    name: str
    document: str
    tables: tuple[Table, ...]
    about: str = ""
    """A note about all tables."""
    added: frozenset[str] | None = None
    """Additional columns; default: the columns that the lake adds."""

    def section(self, column: Column) -> str:
        """Return the section of the document that specifies the column."""
        if not column.source:
            return OWN
        heading, dot, _ = column.source.partition(".")
        return f"{self.document}, {heading}" if dot else self.document

    def has_sections(self, table: Table) -> bool:
        """Return whether the document has a section for a column of the table."""
        return any("." in column.source for column in table.columns)

    def field(self, column: Column) -> str:
        """Return the name of the column's field in the source."""
        _, dot, field = column.source.partition(".")
        return field if dot else column.source or OWN


GROUPS: Final = (
    Group(
        "Finance service", "Finance Service Specification", tuple(form.table for form in FINANCE)
    ),
    Group("Ramp service", "Ramp Service Specification", tuple(form.table for form in RAMP)),
    Group("Bank statements", "ISO 20022 camt.052/.053/.054", tuple(STATEMENTS)),
    Group("Payment files", "ISO 20022 pain.002", STATUS_TABLES),
    Group(
        "Company wallets",
        "explorer exports",
        WALLET_TABLES,
        about="Evidence that people add about wallets that no service shows: `treasury wallets`.",
    ),
    Group(
        "Reference rates",
        "the ECB's file, or a company's own",
        RATE_TABLES,
        about="Rates that people add from files: `treasury rates`.",
    ),
    Group(
        "Answers in the journal",
        "Finance Service Specification",
        tuple(response.form.table for response in RESPONSES.values()),
        about=(
            "Answers to create calls, for records that no endpoint reads or lists: one row per"
            " record, from its last answer. They are read from the journal, not from a commit of"
            " the lake, so they have no history; `t.at` reads the answers journaled by then."
            " `treasury.duckdb` contains the lake only: people's decisions stay in the journal."
            " `treasury sql … --format parquet` exports the answers."
        ),
        added=frozenset({"raw"}),
    ),
    Group(
        "Syncs",
        "findings of a sync",
        (SYNC_FINDINGS,),
        about="Gaps that a sync found; each is an open item.",
    ),
    Group(
        "The lake itself",
        "",
        (
            Table(
                "commits",
                (
                    Column("number", INTEGER, "number of the commit, from 1"),
                    Column("at", INSTANT, "the commit's instant, shared by all its rows"),
                    Column("kind", TEXT, "the writer, such as sync, statements or repair"),
                    Column("versions", TEXT, "the version of each stored table, as JSON"),
                    Column("note", TEXT, "the writer's note"),
                    Column("refetch", TEXTS, "tables and rows that a repair could not recover"),
                ),
                kind="observations",
                title="All commits, oldest first",
            ),
        ),
        added=frozenset(),
    ),
)

ANSWER: Final = "Answers"
"""The origin shown for tables that treasury computes for queries and the notebook."""
COLUMNS: Final = pa.schema(
    [(name, TEXT) for name in ("table", "column", "type", "unit", "meaning", "source", "section")]
)
_TABLES: Final = pa.schema(
    [(name, TEXT) for name in ("table", "title", "origin", "key", "history")]
    + [("columns", INTEGER)]
)
COLUMN_KEYS: Final = ("column", "type", "unit", "meaning")
TABLE_KEYS: Final = ("table", "title", "origin", "columns")
"""The columns that `t.tables` shows first."""


def codes() -> dict[str, dict[str, str]]:
    """Return the codes of each column with their words, and the meaning of each outcome.

    Returns
    -------
    dict
        For each column name, a dictionary from code to word. For the outcomes of bank lines, the
        meaning follows the word. `kind` has the kinds of open items too.

    Examples
    --------
    >>> treasury.codes()["outcome"]["unreferenced"]
    'Unreferenced: the line has no reference and no candidate'
    >>> treasury.codes()["kind"]["overdue"]
    'Overdue, not paid'
    """
    legends = column_codes()
    legends["kind"] |= KIND_WORDS
    return {**legends, "turn": {str(turn): word for turn, word in TURNS.items()}}


def table_rows() -> pa.Table:
    """Return one row per table or answer: its title, origin, key and the name of its history."""
    rows = [
        {
            "table": table.name,
            "title": table.title,
            "origin": group.name,
            "key": ", ".join(table.key) if table.records else "",
            "history": table.history if table.records else "",
            "columns": len(table.columns),
        }
        for group in GROUPS
        for table in group.tables
    ]
    columns = Counter(row["table"] for row in answer_columns())
    for table in _answer_rows("answers.csv"):
        count = columns[table["table"]]
        rows.append({**table, "origin": ANSWER, "key": "", "history": "", "columns": count})
    return pa.Table.from_pylist(rows, _TABLES)


def answer_columns() -> tuple[dict[str, str], ...]:
    """Return one row per column of an answer: its table, name, type, unit and meaning."""
    return _answer_rows("answer_columns.csv")


def amount_units(tables: Collection[str]) -> dict[str, str]:
    """Return the unit of each amount column: the name of the column with its currency.

    If several of the tables have the amount's column or its currency's, the column is left out,
    because a query may take the two from different tables.
    """
    names = {table.removesuffix(HISTORY) for table in tables}
    units: dict[str, list[str]] = {}
    for row in column_rows().select(["table", "column", "unit"]).to_pylist():
        if row["table"] in names:
            units.setdefault(row["column"], []).append((row["unit"] or "").strip("`"))
    single = {name: unit for name, (unit, *others) in units.items() if not others}
    return {name: unit for name, unit in single.items() if unit in single}


def _answer_rows(file: str) -> tuple[dict[str, str], ...]:
    return package_rows("treasury.workspace.upkeep", file)


def new_fields(snapshot: Snapshot) -> tuple[SyncFinding, ...]:
    """Return the fields that syncs found in records but that have no column."""
    return tuple(finding for finding in stored_findings(snapshot) if finding.kind == "field")


def column_rows(name: str | None = None, found: Iterable[SyncFinding] = ()) -> pa.Table:
    """Return one row per column, of one table or answer or of all of them.

    Additional rows show fields without a column that a sync `found` in the table's records.
    Raise InputError for an unknown table.
    """
    tables = [(group, table) for group in GROUPS for table in group.tables]
    chosen = [(g, t) for g, t in tables if name is None or name in (t.name, t.history)]
    answers = [row for row in answer_columns() if name is None or row["table"] == name]
    if not chosen and not answers:
        choices = [table.name for _, table in tables] + [row["table"] for row in answer_columns()]
        raise InputError(
            f"{name!r} is not a table{is_it(name, choices)}",
            do="run `treasury tables` to see them all",
        )
    rows = []
    for group, table in chosen:
        stored = table.history_schema if table.records else table.schema
        names = set(stored.names) if group.added is None else group.added
        added = (column for column in LAKE_COLUMNS if column.name in names)
        rows += [
            {
                "table": table.name,
                "column": column.name,
                "type": TYPE_WORDS[column.type],
                "unit": column.unit,
                "meaning": column.meaning,
                "source": group.field(column),
                "section": group.section(column),
            }
            for column in (*table.columns, *added)
        ]
        rows += [
            {
                "table": table.name,
                "column": "raw",
                "type": TYPE_WORDS[TEXT],
                "meaning": "a new field without a column",
                "source": clean(finding.subject),
                "section": OWN,
            }
            for finding in found
            if finding.table_name == table.name
        ]
    rows += [{**row, "source": OWN, "section": OWN} for row in answers]
    return pa.Table.from_pylist(rows, COLUMNS)


def page() -> str:
    """Return the whole dictionary as Markdown."""
    added = "".join(
        f"| `{c.name}` | {TYPE_WORDS[c.type]} | {_text(c.meaning)} | {c.source or OWN} |\n"
        for c in LAKE_COLUMNS
    )
    groups = "\n".join([*map(_group, GROUPS), _answers()])
    template = package_text("treasury.workspace.upkeep", "tables_page.md")
    return template.removesuffix("\n").format(groups=groups, added=added)


def _answers() -> str:
    """Describe the answers in Markdown; their columns have no source field."""
    text = f"## {ANSWER}\n\nWhat treasury computes. `t.sql` reads these tables for a month.\n"
    for table in _answer_rows("answers.csv"):
        text += (
            f"\n### {table['table']}\n\n{table['title']}.\n\n"
            "| column | type | unit | meaning |\n|---|---|---|---|\n"
        )
        for row in answer_columns():
            if row["table"] == table["table"]:
                cells = (row["type"], row["unit"], row["meaning"])
                text += f"| `{row['column']}` | {' | '.join(map(_text, cells))} |\n"
    return text


def _group(group: Group) -> str:
    tables = "\n".join(_table(group, table) for table in group.tables)
    about = f"{group.about}\n\n" if group.about else ""
    if any(map(group.has_sections, group.tables)):
        about += f"Sections are those of the {group.document}.\n\n"
    return f"## {group.name}\n\n{about}{tables}"


def _table(group: Group, table: Table) -> str:
    kind = f"key: {', '.join(table.key)}" if table.records else "observations"
    if group.added is not None:
        kind = "answers" if group.added else "one row each"
    rows = ""
    for column in table.columns:
        section = group.section(column).removeprefix(group.document).removeprefix(", ") or "all"
        cells = (column.unit, column.meaning, group.field(column), section)
        escaped = " | ".join(map(_text, cells))
        rows += f"| `{column.name}` | {TYPE_WORDS[column.type]} | {escaped} |\n"
    return (
        f"### {table.name}\n\n{table.title} ({kind}).\n\n"
        f"| column | type | unit | meaning | source field | section |\n|---|---|---|---|---|---|\n"
        f"{rows}"
    )


def _text(text: str) -> str:
    return text.replace("|", "\\|")
