"""Splink's part of `peers`, run in Splink's own environment.

    python peers_splink.py FOLDER

Reads FOLDER/lines.parquet and FOLDER/expectations.parquet, which `peers` wrote. Writes
FOLDER/splink.json: for each line the expectation with the highest probability, this probability,
and whether another expectation has the same; and the seconds of training and of the whole run. The
model is trained on the tables themselves, as in Splink's own example of matching transactions.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path

import duckdb
import splink.comparison_level_library as levels
import splink.comparison_library as comparisons
from splink import Linker, SettingsCreator, block_on
from splink.internals.duckdb.database_api import DuckDBAPI

logging.disable(logging.WARNING)

AMOUNT = comparisons.CustomComparison(
    output_column_name="cents",
    comparison_levels=[
        levels.NullLevel("cents"),
        levels.ExactMatchLevel("cents"),
        levels.CustomLevel("abs(cents_l - cents_r) * 100 <= cents_r", "within one per cent"),
        levels.ElseLevel(),
    ],
)
DAY = comparisons.CustomComparison(
    output_column_name="day",
    comparison_levels=[
        levels.NullLevel("day"),
        levels.CustomLevel("day_l - day_r BETWEEN 0 AND 3", "within three days"),
        levels.CustomLevel("day_l - day_r BETWEEN 0 AND 10", "within ten days"),
        levels.CustomLevel("day_l >= day_r", "later"),
        levels.ElseLevel(),
    ],
)
TEXT = comparisons.CustomComparison(
    output_column_name="text",
    comparison_levels=[
        levels.NullLevel("text"),
        levels.CustomLevel("contains(text_l, text_r) OR contains(text_r, text_l)", "contained"),
        levels.CustomLevel("list_contains(tokens_l, text_r)", "a token"),
        levels.CustomLevel("jaro_winkler_similarity(token_l, token_r) >= 0.95", "nearly a token"),
        levels.CustomLevel("jaro_winkler_similarity(token_l, token_r) >= 0.88", "like a token"),
        levels.ElseLevel(),
    ],
)
SETTINGS = SettingsCreator(
    link_type="link_only",
    comparisons=[
        AMOUNT, DAY, TEXT, comparisons.ExactMatch("direction"), comparisons.ExactMatch("payer"),
    ],
    blocking_rules_to_generate_predictions=[
        block_on("cents"),
        block_on("tail"),
        "list_contains(l.tokens, r.text)",
    ],
    additional_columns_to_retain=["tokens", "token"],
)  # fmt: skip


def best(folder: Path) -> dict[str, object]:
    """Return each line's best expectation, and the seconds of training and of the whole run."""
    connection = duckdb.connect()
    api = DuckDBAPI(connection=connection)
    tables = []
    # Splink puts the table whose name sorts first on the left of each pair.
    for side, name in (("a", "lines"), ("b", "expectations")):
        rows = connection.read_parquet(str(folder / f"{name}.parquet")).to_arrow_table()
        tables.append(api.register(rows, dataset_display_name=f"{side}_{name}"))
    start = time.monotonic()
    linker = Linker(tables, SETTINGS, log_level=None)
    linker.training.estimate_probability_two_random_records_match(
        [block_on("cents", "direction")], recall=0.7
    )
    linker.training.estimate_u_using_random_sampling(max_pairs=2_000_000, seed=1)
    for rule in (block_on("cents"), block_on("tail")):
        linker.training.estimate_parameters_using_expectation_maximisation(rule)
    trained = time.monotonic()
    found = linker.inference.predict(threshold_match_probability=0.01).as_duckdbpyrelation()
    rows = found.select("unique_id_l, unique_id_r, match_probability").fetchall()
    candidates: dict[str, list[tuple[float, str]]] = {}
    for line, expectation, probability in rows:
        candidates.setdefault(line, []).append((probability, expectation))
    chosen = {}
    for line, several in candidates.items():
        several.sort(key=lambda one: (-one[0], one[1]))
        is_tied = len(several) > 1 and several[1][0] == several[0][0]
        chosen[line] = [several[0][1], several[0][0], is_tied]
    return {"best": chosen, "training": trained - start, "seconds": time.monotonic() - start}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    (place / "splink.json").write_text(json.dumps(best(place)), "utf-8")
