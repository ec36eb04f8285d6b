"""Measure a matcher on a world with known right answers: false matches and found matches.

`falls` describes each false match in a sentence; `figures` counts the results by kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import msgspec
from mangled_texts import Ceiling
from mangled_world import Truth, World

from treasury import match_references
from treasury.matching.reference_matching import Matches

__all__ = ["Figure", "Totals", "falls", "figures", "misnamed", "run", "totals"]


class Figure(msgspec.Struct, frozen=True):
    """Numbers of lines of one kind and ceiling: all, matched, and right expectation first."""

    kind: str
    ceiling: Ceiling
    lines: int
    matched: int
    first: int


class Totals(msgspec.Struct, frozen=True):
    """Counts for the contract's guarantees: false matches, matches, right expectation first."""

    lines: int
    false_matches: int
    auto: int
    auto_matched: int
    findable: int
    """Lines with the ceiling `auto` or `suggest`."""
    first: int
    """Findable lines with the right expectation first."""


def run(world: World) -> Matches:
    """Match a world under the default rules."""
    return match_references(*world.tables())


def falls(world: World, matches: Matches) -> Iterator[str]:
    """Yield a description of each match above its ceiling, or with a wrong allocation."""
    shares = _shares(matches)
    for row in matches.lines.arrow.to_pylist():
        truth = world.truths[row["entry_id"]]
        if row["outcome"] == "matched" and not _is_right(truth, row, shares[row["entry_id"]]):
            yield scene_words(world, row)


def misnamed(world: World, matches: Matches) -> Iterator[str]:
    """Yield a description of each line with an outcome that its truth does not allow."""
    shares = _shares(matches)
    for row in matches.lines.arrow.to_pylist():
        truth = world.truths[row["entry_id"]]
        is_split = truth.shares and _is_right(truth, row, shares[row["entry_id"]])
        if truth.outcomes and row["outcome"] not in truth.outcomes and not is_split:
            yield scene_words(world, row)


def scene_words(world: World, row: dict[str, Any]) -> str:
    """Describe a line, its right answer and its outcome, to explain a failure."""
    line = next(line for line in world.lines if line["entry_id"] == row["entry_id"])
    truth = world.truths[row["entry_id"]]
    texts = [line[name] for name in ("remittance", "end_to_end_id", "creditor_reference")]
    codes = {
        expectation["expectation_id"]: expectation["code"] for expectation in world.expectations
    }
    return (
        f"{truth.kind} ({truth.ceiling}, {codes.get(truth.expectation_id or '')}): {texts}"
        f" -> {row['outcome']} {codes.get(row['expectation_id'])}: {row['reason']}"
    )


def figures(world: World, matches: Matches) -> list[Figure]:
    """Return the counts of a world, one row per kind and ceiling."""
    rows: dict[tuple[str, Ceiling], list[tuple[bool, bool]]] = defaultdict(list)
    for row in matches.lines.arrow.to_pylist():
        truth = world.truths[row["entry_id"]]
        is_first = row["expectation_id"] == truth.expectation_id is not None
        rows[truth.kind, truth.ceiling].append((row["outcome"] == "matched", is_first))
    return [
        Figure(
            kind,
            ceiling,
            len(rows_of_kind),
            sum(m for m, _ in rows_of_kind),
            sum(f for _, f in rows_of_kind),
        )
        for (kind, ceiling), rows_of_kind in sorted(rows.items())
    ]


def totals(figures_of_world: Iterable[Figure], false_matches: int) -> Totals:
    """Return the totals of all kinds."""
    rows = list(figures_of_world)
    auto = [row for row in rows if row.ceiling == "auto"]
    findable = [row for row in rows if row.ceiling != "never"]
    return Totals(
        lines=sum(row.lines for row in rows),
        false_matches=false_matches,
        auto=sum(row.lines for row in auto),
        auto_matched=sum(row.matched for row in auto),
        findable=sum(row.lines for row in findable),
        first=sum(row.first for row in findable),
    )


def _shares(matches: Matches) -> dict[str, dict[str, Decimal]]:
    shares: dict[str, dict[str, Decimal]] = defaultdict(dict)
    for row in matches.allocations.arrow.to_pylist():
        shares[row["entry_id"]][row["expectation_id"]] = row["amount"]
    return shares


def _is_right(truth: Truth, row: dict[str, Any], shares: dict[str, Decimal]) -> bool:
    if truth.shares:
        return row["expectation_id"] is None and shares == dict(truth.shares)
    is_alone = set(shares) <= {truth.expectation_id}
    return truth.ceiling == "auto" and row["expectation_id"] == truth.expectation_id and is_alone
