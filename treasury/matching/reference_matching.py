"""The matching function: it takes bank lines and expectations, and returns one outcome per line.

The steps are SQL over lines, expectations, decisions and the tables of the rules, and use no clock,
no workspace and no network. A step becomes a temporary table, or a view if storing its rows costs
more than reading them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.errors import TableError
from treasury.core.tables import duckdb_engine
from treasury.core.tables.column_types import AMOUNT, BOOL, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import grouped_schema, table_of
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import html_grid
from treasury.matching import letter_forms
from treasury.matching.engine import pipeline
from treasury.matching.engine.memo import Memo, fingerprint
from treasury.matching.engine.pipeline import Step, compose, needed
from treasury.matching.input_tables import DECISIONS, EXPECTATIONS, LINES, read_table
from treasury.matching.ranked_facts import fact_tables
from treasury.matching.rules import Count, Rules, Size, check_rules
from treasury.matching.settled_tables import NOTHING_SETTLED
from treasury.matching.tiers import tier_table

if TYPE_CHECKING:
    from treasury.matching.input_tables import TableLike


OUTCOMES = (
    "ignored", "returned", "duplicate", "conflict", "matched", "suggested", "unreferenced",
)  # fmt: skip

PACKAGE = "treasury.matching"
RESULTS: Final = {
    "outcomes": "entry_id",
    "expectation_states": "expectation_id",
    "allocations": "entry_id, expectation_id",
    "candidates": "entry_id, rank, tier, expectation_id",
}
"""The steps that give the result tables, each with the columns that sort its rows."""
STEPS = pipeline.in_order(pipeline.steps_of(PACKAGE), ("outcomes", "candidates", *RESULTS))
"""The longest results are read first, while few other results are in memory."""

_LABEL: Final = grouped_schema((TEXT, "label"), (BOOL, "is_weak"))
_NEIGHBOUR: Final = grouped_schema((TEXT, "word"), (BOOL, "is_other"))
_CUT_LENGTH: Final = grouped_schema((pa.int32(), "length"), (TEXT, "field"), (BOOL, "is_most"))


class Matches(Tables, msgspec.Struct, frozen=True, eq=False):
    """The outcome of every line and the state of every expectation, as tables sorted by id.

    `lines`: entry_id, the line's own booking_date, direction, amount and currency, then outcome,
    expectation_id, reason, tier, matched_amount, runner_up_id, margin, line_class; amounts are in
    the line's currency. `expectations`: expectation_id, state, received,
    remaining, last_entry_id. `allocations`: entry_id, expectation_id, amount. `candidates`:
    entry_id, expectation_id, tier, score, reason, rank, lost, group_id. `sql` is the composed query
    that computes the outcomes, `rules_hash` the hash of the applied rules.
    """

    lines: Table
    expectations: Table
    allocations: Table
    candidates: Table
    sql: str
    rules_hash: str

    def sheets(self) -> Mapping[str, Table]:
        """Return the four tables by sheet name, for a workbook.

        Returns
        -------
        dict[str, Table]
            The tables `lines`, `expectations`, `allocations` and `candidates`, under `Lines`,
            `Expectations`, `Allocations` and `Candidates`.
        """
        return {
            "Lines": self.lines,
            "Expectations": self.expectations,
            "Allocations": self.allocations,
            "Candidates": self.candidates,
        }

    @property
    def nbytes(self) -> int:
        """The size of its tables in bytes."""
        return sum(table.arrow.nbytes for table in self.sheets().values())

    def groups(self) -> dict[str, dict[str, str]]:
        """Return the groups of equal payments, by line.

        Returns
        -------
        dict[str, dict[str, str]]
            For the `entry_id` of each line in a group, all lines of its group by `entry_id`, with
            the `expectation_id` assigned to each. Lines without a group have no entry.
        """
        candidates = self.candidates.arrow
        rows = candidates.filter(pc.is_valid(candidates["group_id"]))
        by_id: dict[str, dict[str, str]] = {}
        for row in rows.select(["group_id", "entry_id", "expectation_id"]).to_pylist():
            by_id.setdefault(row["group_id"], {})[row["entry_id"]] = row["expectation_id"]
        return {line: group for group in by_id.values() for line in group}

    def counts(self) -> dict[str, int]:
        """Return the number of lines with each outcome, including outcomes without lines."""
        counts = dict.fromkeys(OUTCOMES, 0)
        for row in pc.value_counts(self.lines.arrow["outcome"]).to_pylist():
            counts[row["values"]] = row["counts"]
        return counts

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts().items() if count)
        return f"<Matches of {len(self.lines)} lines: {counts or 'none'}>"

    def _repr_html_(self) -> str:
        caption = f"{len(self.lines)} bank lines, rules {self.rules_hash[:12]}"
        return html_grid(self.counts().items(), (), caption, to_right=[1], has_row_heads=True)


FEW = 20_000
"""Number of lines and expectations below which one thread is as fast as several."""
_NEXT_TO_NOTHING: Final = 1_000
"""Number of lines and expectations below which opening a database costs more than matching."""
_KEPT: Final = 4
"""Maximum number of cached databases, one for each set of rules."""


def match_references(
    lines: TableLike,
    expectations: TableLike,
    *,
    decisions: TableLike | None = None,
    rules: Rules | None = None,
) -> Matches:
    """Match bank lines to expectations by reference; matches without proof are only suggested.

    The order of the rows does not change the result. `treasury.matching.spark.match_references`
    runs the same steps on a Spark cluster.

    Parameters
    ----------
    lines
        The bank lines, one row each, with amounts above 0 in `currency`. Each table is pandas,
        Arrow, a DuckDB relation or the path of a Parquet file. Required are `entry_id`, `account`,
        `amount`, `currency`, `direction` (CRDT for incoming money, DBIT for outgoing),
        `booking_date`, and at least one column with references:

        - `remittance`: the text for the payee, or a list of texts
        - `end_to_end_id`: the reference of the payer's payment order
        - `creditor_reference`: the structured reference, for example RF18539007547034

        Optional are:

        - `counterparty_name`, `counterparty_account`: the other party; without them no payer is
          recognised
        - `entry_status`: BOOK, or PDNG for a line that is not booked yet; default: BOOK
        - `is_reversal`: whether the line cancels an earlier one; default: False
        - `return_reason`: the reason code of a returned payment, for example AC04
        - `original_reference`: the reference of the payment that is returned
        - `is_twin`: whether another line is equal in all columns, so that a person decides
        - `line_class`: bank_charge, own_transfer, other_business or conversion_sweep, for a line
          that pays no expectation
        - `proof`: whether the balances of its statement add up: holds, fails or none; fails
          means that no line is matched automatically
        - `charges`: the charges that the bank deducted from the amount
    expectations
        The expected payments, one row each, with amounts in `currency`. Required are
        `expectation_id`, `kind` (your own word, such as invoice), `code` (the reference), `amount`,
        `currency` and `direction`. A missing amount means that any amount is expected. Optional
        are:

        - `account`: the own account on which the payment is expected
        - `counterparty_name`, `counterparty_account`: the expected payer or payee
        - `owner`: the customer, for payers who pay for several expectations of one customer
        - `opened_at`, `closed_at`: the instants since and until which the payment is expected
        - `status`: the status in your system; some, listed in `rules`, contradict a payment
    decisions
        People's verdicts on lines, one row each, with `entry_id` and `verdict` (accept, reject,
        ignore or file); default: none. `expectation_id` is required except to ignore, `reason` to
        ignore. `share` is optional: the part of the amount that belongs to the expectation.
    rules
        The settings of matching; default: `Rules()`.

    Returns
    -------
    Matches
        The outcome of every line and the state of every expectation.

    Raises
    ------
    TableError
        If a column is missing or has the wrong type, an `entry_id` or `expectation_id` is repeated,
        an amount is not positive, or decisions contradict each other.
    SettingsError
        If the rules are not valid.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from datetime import date
    >>> from decimal import Decimal
    >>> amount = pa.array([Decimal("9126.40")])
    >>> line = {"entry_id": ["a"], "account": ["BE68539007547034"], "currency": ["EUR"]}
    >>> line |= {"direction": ["CRDT"], "booking_date": [date(2026, 10, 6)], "amount": amount}
    >>> request = {"expectation_id": ["r1"], "kind": ["on_ramp"], "code": ["PAY-2026-004417"]}
    >>> request |= {"currency": ["EUR"], "direction": ["CRDT"], "amount": amount}
    >>> match_references(
    ...     pa.table(line | {"remittance": ["invoice PAY-2026-004417"]}), pa.table(request)
    ... )
    <Matches of 1 lines: 1 matched>
    """
    require_tables(lines, expectations)
    rules = Rules() if rules is None else check_rules(rules)
    tables = {
        "lines": _filled(_unique(read_table(lines, LINES, name="lines"), "entry_id", "lines")),
        "expectations": _unique(
            read_table(expectations, EXPECTATIONS, name="expectations"),
            "expectation_id",
            "expectations",
        ),
        "decisions": read_decisions(decisions),
    }
    _require_positive(tables["lines"], "entry_id", "lines", SIGN)
    _require_positive(tables["expectations"], "expectation_id", "expectations", STANDING)
    _require_addable(tables["lines"]["amount"], tables["expectations"]["amount"])
    own_rows = tables["lines"].select(["entry_id", *_OF_LINE])
    inputs = fingerprint(*tables.values())
    key = None if inputs is None else (inputs, rules.hash, STEPS)
    matches = _MATCHES.of(key, lambda: _match(tables, rules))
    return msgspec.structs.replace(matches, lines=_with_own_columns(matches.lines.arrow, own_rows))


_OF_LINE: Final = ("booking_date", "direction", "amount", "currency")
"""The columns of a line that are shown with its outcome."""
_KEYS: Final = (
    "entry_id", "booking_date", "direction", "amount", "signed_amount", "currency", "outcome",
    "expectation_id", "reason",
)  # fmt: skip


def _with_own_columns(outcomes: pa.Table, own_rows: pa.Table) -> Table:
    """Return the outcomes as a table that also shows the columns of the given lines.

    The columns are joined when they are first read, because many callers read outcomes only.
    """

    def own_columns() -> dict[str, pa.ChunkedArray]:
        places = pc.index_in(outcomes["entry_id"], own_rows["entry_id"].combine_chunks())
        rows = own_rows.take(places.combine_chunks())
        return {name: rows[name] for name in _OF_LINE}

    return Table(outcomes, title="Lines", keys=_KEYS, beside=own_columns)


def require_tables(lines: object, expectations: object) -> None:
    """Raise TableError if a table is None."""
    if lines is None or expectations is None:
        table = "lines" if lines is None else "expectations"
        raise TableError(f"{table}: no table is given", do="pass a table; it may have no rows")


_MATCHES: Final[Memo[Matches]] = Memo()


def _match(tables: dict[str, pa.Table], rules: Rules) -> Matches:
    """Match checked tables; `tables` is emptied as soon as the connection has the rows."""
    count = tables["lines"].num_rows + tables["expectations"].num_rows
    few, gives_back = count < FEW, count >= _NEXT_TO_NOTHING
    standing = _standing_tables(rules)
    rowless = {name for name, table in (tables | standing).items() if not table.num_rows}
    if gives_back:
        database = _database(rules, one_thread=few)
    else:
        database = _kept_database(os.getpid(), rules).cursor()
    with database as connection:
        connection.register("expectations", tables.pop("expectations"))
        pipeline.load(connection, tables)
        loaded = tuple(tables)
        # From here on only the connection has the rows, so that a million lines are not in memory
        # twice.
        tables.clear()
        # DuckDB plans a view each time it is read, so for few rows storing every step is faster.
        steps = pipeline.stored(STEPS) if few else STEPS
        results = pipeline.read_in_turn(
            connection,
            steps,
            RESULTS,
            loaded=loaded,
            in_place=("expectations",),
            rowless=rowless,
            gives_back=gives_back,
        )
    return read_matches(results.__getitem__, steps, rules)


@lru_cache(maxsize=_KEPT)
def _standing_tables(rules: Rules) -> dict[str, pa.Table]:
    """Return the tables that no caller passes: the rules, and empty tables of settled records."""
    return {**NOTHING_SETTLED, **rule_tables(rules)}


def _database(rules: Rules, *, one_thread: bool) -> duckdb.DuckDBPyConnection:
    """Open a database in memory, with the rule tables."""
    connection = duckdb_engine.connect(one_thread=one_thread)
    connection.execute("SET preserve_insertion_order = false")
    # Expectations are read in place, and an Arrow scan cannot apply every filter of a join.
    connection.execute("SET disabled_optimizers = 'join_filter_pushdown'")
    pipeline.load(connection, _standing_tables(rules), kind="")
    return connection


@lru_cache(maxsize=_KEPT)
def _kept_database(
    process: int,  # noqa: ARG001 - one database per process
    rules: Rules,
) -> duckdb.DuckDBPyConnection:
    """Return the cached database that small inputs with these rules share.

    Each run has its own connection. Its tables are temporary, so no other run sees them.
    """
    return _database(rules, one_thread=True)


def read_decisions(decisions: TableLike | None) -> pa.Table:
    """Read and check people's decisions.

    A line is either ignored by one decision, with a reason, or accepted at most once for each
    expectation. An expectation that was rejected for the line cannot be accepted too. Raise
    TableError otherwise.
    """
    table = read_table(decisions, DECISIONS, name="decisions")
    is_ignored = pc.equal(table["verdict"], "ignore")
    _require_said(table.filter(pc.invert(is_ignored)), "expectation_id")
    _require_said(table.filter(is_ignored), "reason")
    settling = table.filter(pc.not_equal(table["verdict"], "reject"))
    ignored = pc.is_in(settling["entry_id"], table.filter(is_ignored)["entry_id"].combine_chunks())
    _unique(settling.filter(ignored), "entry_id", "decisions", "keep the valid verdict")
    # One verdict per pair: no second accept, and no accept together with a reject.
    rejected = table.filter(pc.equal(table["verdict"], "reject"))
    pair = ["entry_id", "expectation_id"]
    stated_pairs = pa.concat_tables(
        [settling.filter(pc.invert(ignored)).select(pair), rejected.group_by(pair).aggregate([])]
    )
    pairs = pc.binary_join_element_wise(*stated_pairs.columns, " for ")
    _unique(pa.table({"pair": pairs}), "pair", "decisions", "keep the valid verdict")
    return table


def _require_said(decisions: pa.Table, column: str) -> None:
    silent = decisions.filter(pc.is_null(decisions[column]))
    if silent.num_rows:
        row = silent.slice(0, 1).to_pylist()[0]
        raise TableError(
            f"decisions: {row['verdict']} of {row['entry_id']!r:.80} has no {column}",
            do=f"add the {column}, or drop the decision",
        )


def read_matches(rows: Callable[[str], pa.Table], steps: tuple[Step, ...], rules: Rules) -> Matches:
    """Return the result of a run; `rows` returns the sorted rows of a step by name."""
    lines, expectations, allocations, candidates = map(rows, RESULTS)
    sql = compose(needed(steps, "outcomes"), "outcomes")
    return Matches(lines, expectations, allocations, candidates, sql, rules.hash)


def rule_tables(rules: Rules) -> dict[str, pa.Table]:
    """Return the rules as the tables that the steps read."""
    row = {name: pa.array([getattr(rules, name)], pa.int32()) for name in _NUMBERS}
    row["over_tolerance"] = pa.array([rules.over_tolerance], AMOUNT)
    written, stands_for = zip(*rules.look_alikes, strict=True) if rules.look_alikes else ((), ())
    return {
        "rules": pa.table(row),
        "tiers": tier_table(),
        "contradicting_statuses": _texts(status=rules.contradicting_codes),
        "placeholders": _texts(
            placeholder=["".join(filter(str.isalnum, text)).upper() for text in rules.placeholders]
        ),
        "structured_kinds": _texts(kind=rules.structured),
        "look_alikes": _texts(written=written, meant=stands_for),
        "latin_shapes": _texts(
            foreign_letters=(letter_forms.FOREIGN,), latin=(letter_forms.SHAPES,)
        ),
        "letter_shapes": _texts(
            letter=tuple(letter_forms.FOREIGN), latin=tuple(letter_forms.SHAPES)
        ),
        "letter_forms": _texts(written=(letter_forms.WRITTEN,), meant=(letter_forms.MEANT,)),
        # A weak label may announce the number of another party.
        "labels": table_of([(label, label in rules.weak_labels) for label in rules.labels], _LABEL),
        "label_neighbours": table_of(
            [
                *((word, False) for word in rules.label_openers),
                *((word, True) for word in rules.other_numbers),
            ],
            _NEIGHBOUR,
        ),
        "legal_forms": _texts(form=rules.legal_forms),
        "usual_charges": pa.table({"charge": pa.array(rules.usual_charges, AMOUNT)}),
        "cut_lengths": _cut_lengths(rules),
        **fact_tables(rules),
    }


_NUMBERS = tuple(
    field.name for field in msgspec.structs.fields(Rules) if field.type in {Count, Size}
)


def _cut_lengths(rules: Rules) -> pa.Table:
    """Return the lengths at which banks cut off a text: exact lengths, and minimum lengths."""
    rows = [
        *((length, None, False) for length in rules.cut_lengths),
        (rules.remittance_limit, "remittance", True),
        (rules.reference_limit, "end_to_end_id", True),
        (rules.reference_limit, "creditor_reference", True),
    ]
    return table_of(rows, _CUT_LENGTH)


def _texts(**columns: Sequence[str]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})


def _filled(lines: pa.Table) -> pa.Table:
    """Set a missing reversal flag to false."""
    index = lines.schema.get_field_index("is_reversal")
    reversals = pc.fill_null(lines["is_reversal"], fill_value=False)
    return lines.set_column(index, "is_reversal", reversals)


UNIQUE = "give each row a unique id"


def _unique(table: pa.Table, key: str, table_name: str, do: str = UNIQUE) -> pa.Table:
    keys = table[key]
    if len(keys) >= FEW:
        # If there are as many distinct hashes as keys, no key is repeated. For many keys this is
        # faster than comparing them.
        with duckdb_engine.connect() as connection:
            connection.register("keys", pa.table({"key": keys}))
            hashes = connection.execute("SELECT count(DISTINCT hash(key)) FROM keys").fetchone()
        if hashes == (len(keys),):
            return table
    if len(keys.unique()) == len(keys):
        return table
    counts = pc.value_counts(keys)
    repeated = counts.filter(pc.greater(counts.field("counts"), 1))
    raise TableError(
        f"{table_name}: {key} {repeated[0]['values'].as_py()!r:.80} occurs more than once", do=do
    )


SIGN = "give the amount without a sign, and CRDT or DBIT in `direction`"
STANDING = "give the expected amount, or none if any amount is expected"


def _require_positive(table: pa.Table, key: str, table_name: str, do: str) -> None:
    wrong = table.filter(pc.less_equal(table["amount"], pa.scalar(0, table["amount"].type)))
    if wrong.num_rows:
        raise TableError(
            f"{table_name}: the amount of {wrong[key][0].as_py()!r:.80} is not positive", do=do
        )


def _require_addable(*amounts: pa.ChunkedArray) -> None:
    """Refuse totals that DECIMAL(38,18) cannot hold, so that no partial sum can overflow."""
    most = sum(len(each) * (pc.max(each).as_py() or 0) for each in amounts)
    if most < 10**20:
        return
    total = sum(pc.sum(each.cast(pa.decimal256(76, 18))).as_py() or 0 for each in amounts)
    if total >= 10**20:
        raise TableError(
            f"lines and expectations: all amounts together are {total:.2E}, more than can be added",
            do="correct the wrong amount, or match the lines in parts",
        )
