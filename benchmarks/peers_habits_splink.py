"""Splink's part of `peers_habits`, run in Splink's own environment.

    python peers_habits_splink.py FOLDER

FOLDER has a pair of files to train on, `trained_lines.parquet` and `trained_references.parquet`,
and a pair to predict, `asked_lines.parquet` and `asked_references.parquet`. The label of a line is
its `expectation`. Two models are trained, one by expectation maximisation and one by the labels.
FOLDER/splink.json then has, for each model and line, the expectation with the highest weight, its
probability and whether another has the same weight. It also has the seconds of each model.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import splink.comparison_level_library as levels
import splink.comparison_library as comparisons
from splink import Linker, SettingsCreator, block_on
from splink.internals.duckdb.database_api import DuckDBAPI

logging.disable(logging.WARNING)

NAME = comparisons.CustomComparison(
    output_column_name="name",
    comparison_levels=[
        levels.NullLevel("name"),
        levels.ExactMatchLevel("name", term_frequency_adjustments=True),
        levels.CustomLevel(
            "list_sort(string_split(name_l, ' ')) = list_sort(string_split(name_r, ' '))",
            "the same words",
        ),
        levels.JaroWinklerLevel("name", 0.95),
        levels.JaroWinklerLevel("name", 0.88),
        levels.ElseLevel(),
    ],
)
AMOUNT = comparisons.CustomComparison(
    output_column_name="cents",
    comparison_levels=[
        levels.NullLevel("cents"),
        levels.ExactMatchLevel("cents", term_frequency_adjustments=True),
        levels.CustomLevel("abs(cents_l - cents_r) * 100 <= cents_r * 2", "within two per cent"),
        levels.CustomLevel("abs(cents_l - cents_r) * 100 <= cents_r * 15", "within 15 per cent"),
        levels.ElseLevel(),
    ],
)
APART = "least(abs(day_l - day_r), 31 - abs(day_l - day_r))"
DAY = comparisons.CustomComparison(
    output_column_name="day",
    comparison_levels=[
        levels.NullLevel("day"),
        levels.CustomLevel(f"{APART} <= 1", "a day apart"),
        levels.CustomLevel(f"{APART} <= 3", "three days apart"),
        levels.CustomLevel(f"{APART} <= 7", "a week apart"),
        levels.ElseLevel(),
    ],
)
WORDS = comparisons.ArrayIntersectAtSizes("words", [3, 2, 1])
ACCOUNT = comparisons.ExactMatch("payer").configure(term_frequency_adjustments=True)
POSSIBLE = (
    "l.reached = r.reached"
    ' AND (r.opened IS NULL OR (l."on" >= r.opened AND l."on" - r.opened <= 30))'
)
"""Compare only payments to the same account and requests open within the allowed days."""


def settings() -> SettingsCreator:
    return SettingsCreator(
        link_type="link_only",
        comparisons=[ACCOUNT, NAME, AMOUNT, DAY, WORDS],
        blocking_rules_to_generate_predictions=[POSSIBLE],
        additional_columns_to_retain=["expectation"],
    )


def linker_of(folder: Path, which: str, given: Any) -> Linker:
    """Return a linker over a pair of tables; labels of the lines to predict are not read."""
    connection = duckdb.connect()
    api = DuckDBAPI(connection=connection)
    tables = []
    # Splink puts the table whose name sorts first on the left of each pair.
    for side, name in (("a", "lines"), ("b", "references")):
        path = str(folder / f"{which}_{name}.parquet")
        unknown = which == "asked" and name == "lines"
        label = "CAST(NULL AS VARCHAR)" if unknown else "expectation"
        rows = connection.read_parquet(path).select(
            f"* EXCLUDE (expectation), {label} AS expectation"
        )
        tables.append(api.register(rows.to_arrow_table(), dataset_display_name=f"{side}_{name}"))
    return Linker(tables, given, log_level=None)


def trained(folder: Path, model: str) -> dict[str, Any]:
    """Return the model, trained on the month before."""
    linker = linker_of(folder, "trained", settings())
    linker.training.estimate_probability_two_random_records_match(
        [block_on("payer", "cents"), block_on("name", "cents")], recall=0.7
    )
    linker.training.estimate_u_using_random_sampling(max_pairs=2_000_000, seed=1)
    if model == "labels":
        linker.training.estimate_m_from_label_column("expectation")
    else:
        for rule in (block_on("payer"), block_on("cents"), block_on("name")):
            linker.training.estimate_parameters_using_expectation_maximisation(rule)
    return linker.misc.save_model_to_json()


def best(folder: Path, given: dict[str, Any]) -> dict[str, list[object]]:
    """Return for each line to predict: its best expectation, the probability, and if it is tied."""
    linker = linker_of(folder, "asked", given)
    found = linker.inference.predict(threshold_match_probability=0).as_duckdbpyrelation()
    rows = found.select("unique_id_l, expectation_r, match_weight, match_probability").fetchall()
    by_line: dict[str, dict[str, tuple[float, float]]] = {}
    for line, expectation, weight, probability in rows:
        known = by_line.setdefault(line, {})
        known[expectation] = max(
            known.get(expectation, (weight, probability)), (weight, probability)
        )
    chosen = {}
    for line, several in by_line.items():
        order = sorted(several.items(), key=lambda one: (-one[1][0], one[0]))
        is_tied = len(order) > 1 and order[1][1][0] == order[0][1][0]
        chosen[line] = [order[0][0], order[0][1][1], is_tied]
    return chosen


def main(folder: Path) -> None:
    told: dict[str, dict[str, Any]] = {"best": {}, "seconds": {}}
    for model in ("em", "labels"):
        start = time.monotonic()
        told["best"][model] = best(folder, trained(folder, model))
        told["seconds"][model] = time.monotonic() - start
    (folder / "splink.json").write_text(json.dumps(told), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
