"""The matching function: bank lines and expectations in, one outcome a line out.

The steps are SQL over four tables (lines, expectations, decisions, rules) and know no clock, no
workspace and no network. Steps that later ones share are kept as temporary tables.
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
from treasury.core.tables.schemas import grouped_schema, table_of
from treasury.core.tables.table import Table, Tables
from treasury.core.text import safe_html
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
"""The steps that the result is read from, each with the order of its rows."""
STEPS = pipeline.in_order(pipeline.steps_of(PACKAGE), ("outcomes", "candidates", *RESULTS))
"""The longest results come first: what was read is held beside what is left to read."""

_LABEL: Final = grouped_schema((TEXT, "label"), (BOOL, "is_weak"))
_NEIGHBOUR: Final = grouped_schema((TEXT, "word"), (BOOL, "is_other"))
_CUT_LENGTH: Final = grouped_schema((pa.int32(), "length"), (TEXT, "field"), (BOOL, "is_most"))


class Matches(Tables, msgspec.Struct, frozen=True, eq=False):
    """What became of every line and every expectation, as Arrow tables sorted by id.

    `lines`: entry_id, outcome, expectation_id, tier, reason, matched_amount, runner_up_id, margin,
    line_class; amounts are in the line's currency. `expectations`: expectation_id, state, received,
    remaining, last_entry_id. `allocations`: entry_id, expectation_id, amount. `candidates`:
    entry_id, expectation_id, tier, score, reason, rank, lost, group_id. `sql` is the composed query
    of the outcomes, `rules_hash` the hash of the rules that were used.
    """

    lines: Table
    expectations: Table
    allocations: Table
    candidates: Table
    sql: str
    rules_hash: str

    def sheets(self) -> Mapping[str, Table]:
        """The lines, what they may belong to, and what was allocated to what."""
        return {
            "Lines": self.lines,
            "Expectations": self.expectations,
            "Allocations": self.allocations,
            "Candidates": self.candidates,
        }

    @property
    def nbytes(self) -> int:
        """Bytes that its tables hold."""
        return sum(table.arrow.nbytes for table in self.sheets().values())

    def groups(self) -> dict[str, dict[str, str]]:
        """Return the group of equal payments of each line that is in one.

        A group gives the expectation that is assigned to each of its lines.
        """
        candidates = self.candidates.arrow
        rows = candidates.filter(pc.is_valid(candidates["group_id"]))
        by_id: dict[str, dict[str, str]] = {}
        for row in rows.select(["group_id", "entry_id", "expectation_id"]).to_pylist():
            by_id.setdefault(row["group_id"], {})[row["entry_id"]] = row["expectation_id"]
        return {line: group for group in by_id.values() for line in group}

    def counts(self) -> dict[str, int]:
        """How many lines ended in each outcome, every outcome named."""
        counts = dict.fromkeys(OUTCOMES, 0)
        for row in pc.value_counts(self.lines.arrow["outcome"]).to_pylist():
            counts[row["values"]] = row["counts"]
        return counts

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.counts().items() if count)
        return f"<Matches of {len(self.lines)} lines: {counts or 'none'}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th scope='row'>{safe_html(name)}</th><td>{count}</td></tr>"
            for name, count in self.counts().items()
        )
        caption = f"{len(self.lines)} bank lines, rules {self.rules_hash[:12]}"
        return f"<table><caption>{safe_html(caption)}</caption>{rows}</table>"


FEW = 20_000
"""Lines and expectations that one thread matches as soon as several do."""
_NEXT_TO_NOTHING: Final = 1_000
"""Lines and expectations of which opening a database and dropping tables is much of the work."""
_KEPT: Final = 4
"""Sets of rules whose tables are kept, for the next matching by the same."""


def match_references(
    lines: TableLike,
    expectations: TableLike,
    *,
    decisions: TableLike | None = None,
    rules: Rules | None = None,
) -> Matches:
    """Match bank lines to expectations by reference; what is not proved is suggested only.

    Tables are pandas, Arrow, a DuckDB relation or a Parquet path; their columns are those of
    `treasury.matching.input_tables`. Raises TableError for a missing or mistyped column, a
    repeated `entry_id` or `expectation_id`, an amount that is not positive, or decisions that
    cannot all hold. Rows may come in any order: the result is the same.

    `treasury.matching.spark.match_references` runs the same steps on a Spark cluster.
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
    inputs = fingerprint(*tables.values())
    key = None if inputs is None else (inputs, rules.hash, STEPS)
    return _MATCHES.of(key, lambda: _match(tables, rules))


def require_tables(lines: object, expectations: object) -> None:
    """TableError where a table is None."""
    if lines is None or expectations is None:
        table = "lines" if lines is None else "expectations"
        raise TableError(f"{table}: no table is given", do="give one; it may have no rows")


_MATCHES: Final[Memo[Matches]] = Memo()


def _match(tables: dict[str, pa.Table], rules: Rules) -> Matches:
    """Match tables that were checked; they are let go as soon as the connection has them."""
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
        tables.clear()  # a million lines are held once, by the connection
        # What is read through is planned wherever it is read, which for few rows takes longer.
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
    """What goes in beside lines, expectations and decisions: the rules, and nothing settled."""
    return {**NOTHING_SETTLED, **rule_tables(rules)}


def _database(rules: Rules, *, one_thread: bool) -> duckdb.DuckDBPyConnection:
    """A new database that has the rules."""
    connection = duckdb_engine.connect(one_thread=one_thread)
    connection.execute("SET preserve_insertion_order = false")
    # Expectations are read where they are: a scan of Arrow cannot take every filter of a join.
    connection.execute("SET disabled_optimizers = 'join_filter_pushdown'")
    pipeline.load(connection, _standing_tables(rules), kind="")
    return connection


@lru_cache(maxsize=_KEPT)
def _kept_database(
    process: int,  # noqa: ARG001 - one for each
    rules: Rules,
) -> duckdb.DuckDBPyConnection:
    """The database in which next to nothing is matched by some rules, on a connection each time.

    What is made on a connection is temporary: no other sees it, and it goes with it.
    """
    return _database(rules, one_thread=True)


def read_decisions(decisions: TableLike | None) -> pa.Table:
    """People's decisions, checked: a line is ignored once and alone, or accepted once for each.

    Accepting and rejecting say what for, and ignoring says why.
    """
    table = read_table(decisions, DECISIONS, name="decisions")
    is_ignored = pc.equal(table["verdict"], "ignore")
    _require_said(table.filter(pc.invert(is_ignored)), "expectation_id")
    _require_said(table.filter(is_ignored), "reason")
    settling = table.filter(pc.not_equal(table["verdict"], "reject"))
    ignored = pc.is_in(settling["entry_id"], table.filter(is_ignored)["entry_id"].combine_chunks())
    _unique(settling.filter(ignored), "entry_id", "decisions", "keep the verdict that holds")
    # That a line belongs to an expectation is said once, and not beside that it does not.
    rejected = table.filter(pc.equal(table["verdict"], "reject"))
    pair = ["entry_id", "expectation_id"]
    stated_pairs = pa.concat_tables(
        [settling.filter(pc.invert(ignored)).select(pair), rejected.group_by(pair).aggregate([])]
    )
    pairs = pc.binary_join_element_wise(*stated_pairs.columns, " for ")
    _unique(pa.table({"pair": pairs}), "pair", "decisions", "keep the verdict that holds")
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
    """The result of `steps` that have run; `rows` gives those of one in its order."""
    lines, expectations, allocations, candidates = map(rows, RESULTS)
    sql = compose(needed(steps, "outcomes"), "outcomes")
    return Matches(lines, expectations, allocations, candidates, sql, rules.hash)


def rule_tables(rules: Rules) -> dict[str, pa.Table]:
    """The rules as the tables that the steps read."""
    row = {name: pa.array([getattr(rules, name)], pa.int32()) for name in _NUMBERS}
    row["over_tolerance"] = pa.array([rules.over_tolerance], AMOUNT)
    written, stands_for = zip(*rules.look_alikes, strict=True) if rules.look_alikes else ((), ())
    return {
        "rules": pa.table(row),
        "tiers": tier_table(),
        "contradicting_statuses": _texts(
            status=[text.strip().upper().replace("-", "_") for text in rules.contradicting_statuses]
        ),
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
        # Each label, with whether its number may be another party's.
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
    """Lengths at which a field may end because it was cut: exact ones, and the most it can hold."""
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
    """Marks that a bank leaves out are marks that are not set."""
    index = lines.schema.get_field_index("is_reversal")
    reversals = pc.fill_null(lines["is_reversal"], fill_value=False)
    return lines.set_column(index, "is_reversal", reversals)


UNIQUE = "give each row an id of its own"


def _unique(table: pa.Table, key: str, table_name: str, do: str = UNIQUE) -> pa.Table:
    keys = table[key]
    if len(keys) >= FEW:  # as many hashes as keys: no key is there twice
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
        f"{table_name}: {key} {repeated[0]['values'].as_py()!r:.80} is there more than once", do=do
    )


SIGN = "give the amount without a sign and say CRDT or DBIT in `direction`"
STANDING = "give what is expected, or no amount where any is"


def _require_positive(table: pa.Table, key: str, table_name: str, do: str) -> None:
    wrong = table.filter(pc.less_equal(table["amount"], pa.scalar(0, table["amount"].type)))
    if wrong.num_rows:
        raise TableError(
            f"{table_name}: the amount of {wrong[key][0].as_py()!r:.80} is not positive", do=do
        )


def _require_addable(*amounts: pa.ChunkedArray) -> None:
    """Whatever is added up on the way fits the type of amounts, if all of them together do."""
    most = sum(len(each) * (pc.max(each).as_py() or 0) for each in amounts)
    if most < 10**20:
        return
    total = sum(pc.sum(each.cast(pa.decimal256(76, 18))).as_py() or 0 for each in amounts)
    if total >= 10**20:
        raise TableError(
            f"lines and expectations: all amounts together are {total:.2E}, more than can be added",
            do="correct the amount that cannot be, or match them in parts",
        )
