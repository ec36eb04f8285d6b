"""Tables in a terminal of any width: amounts, dates, references whole; omissions are named."""

from __future__ import annotations

import io
import json
import os
import re
from contextlib import redirect_stdout
from datetime import UTC, date, datetime
from unittest.mock import patch
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.cli import treasury
from treasury.cli.layout import print_table
from treasury.core.calendar import day_words
from treasury.core.money import format_amount
from treasury.core.tables.schemas import units_of
from treasury.core.tables.shown_values import in_zone
from treasury.core.tables.table import Table
from treasury.core.tables.table_view import cell_text
from treasury.core.text import screen_code
from treasury.core.wording import OUTCOME_MEANINGS, OUTCOMES, STORED_WORDS, in_words
from treasury.month.items.item_kinds import KIND_WORDS
from treasury.workspace import Workspace
from treasury.workspace.upkeep.dictionary import codes

WIDTHS = (60, 80, 100, 120, 240)
COMMANDS = (
    ("match", "open"),
    ("awaiting-funds",),
    ("reconcile", "2026-10", "--open"),
    ("fees", "2026-10", "--per-request"),
    ("exceptions", "2026-10"),
    ("statements", "list"),
    ("status", "2026-10"),
    ("reconcile", "2026-10"),
    ("fees", "2026-07..2026-10", "--trend"),
    ("match", "list"),
    ("coins", "show", "2026-10"),
    ("exposure-limits",),
    ("periods", "late"),
    ("request", "list"),
    ("addresses", "list"),
    ("rules", "history"),
    ("notices", "list"),
    ("durations",),
    ("wallets", "list"),
    ("rates", "list"),
    ("actions", "list"),
    ("periods", "list"),
    ("items", "list"),
    ("journal", "list"),
    ("tables",),
    ("fees", "2026-10", "--gas"),
    ("journal", "verify"),
)
SENTENCES = (
    ("match", "open"),
    ("trace", "PAY-2026-005175"),
    ("fees", "2026-10", "--gas"),
    ("exposure", "2026-10"),
    ("lake", "status"),
    ("doctor",),
)
"""Commands that print sentences or indented records below a table."""
BROKEN = re.compile(
    r"[A-Z]{3,4} [0-9,]+,$|[A-Z]{3,4} [0-9,]+\.$|^\s*[,.][0-9]|[0-9]{4}-$|PAY-[0-9]*-?$",
    re.MULTILINE,
)
"""Beginnings and ends of lines in which an amount, a date or a reference was broken."""


def run(folder: object, *arguments: str, width: int) -> Result:
    env = {"COLUMNS": str(width)}
    done = CliRunner().invoke(treasury, ["--workspace", str(folder), *arguments], env=env)
    assert done.exit_code == 0, done.output
    return done


@pytest.mark.parametrize("command", SENTENCES, ids=" ".join)
def test_no_line_is_wider_than_80_columns_and_no_value_is_broken(
    month_end: Workspace, command: tuple[str, ...]
) -> None:
    out = run(month_end.folder, *command, width=80).output
    assert [line for line in out.splitlines() if len(line) > 80] == []
    assert [line for line in out.splitlines() if BROKEN.search(line)] == []
    unfolded = run(month_end.folder, *command, width=1_000).output
    values = re.compile(
        r"[A-Z]{3,4} [0-9,.]+[0-9]|PAY-[0-9-]+|[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+"
    )
    assert set(values.findall(unfolded)) <= set(values.findall(out))


@pytest.mark.acceptance
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_amount_date_or_reference_is_broken_in_80_and_120_columns(
    month_end: Workspace, command: tuple[str, ...]
) -> None:
    for width in (80, 120):
        out = run(month_end.folder, *command, width=width).output
        lines = out.splitlines()
        assert max(map(len, lines)) <= max(width, len("-- row 100 of 100")), lines
        assert [line for line in lines if BROKEN.search(line)] == []
        others = [line for line in lines if not line.startswith("name ")]
        units = [line for line in others if re.search(r"[^ ,] (EUR|USDC|EURC|USDT)$", line)]
        assert units == []
        for word in ("CRDT", "DBIT", "proved_as_group", "off_ramp", "needs_decision"):
            assert word not in out


@pytest.mark.parametrize("width", [80, 100])
def test_an_open_item_takes_at_most_two_lines(month_end: Workspace, width: int) -> None:
    out = run(month_end.folder, "exceptions", "2026-10", width=width).output
    items = month_end.open_items("2026-10")
    title, _, *lines = out.splitlines()
    assert title == "Open items of October 2026"
    assert max(map(len, lines)) <= width
    # Two more lines name the columns that are not shown.
    assert len(lines) <= 2 * len(items) + 2
    for item in items:
        reference = item.name.partition(", ")[0]
        assert any(line.startswith(reference) for line in lines)
        if item.amount is not None:
            amount = format_amount(item.amount, item.currency)
            assert any(line.endswith(f"  {amount}") for line in lines)
    assert "UNREFERENCED, " in out


def test_columns_omitted_on_a_narrow_terminal_are_named(month_end: Workspace) -> None:
    out = run(month_end.folder, "awaiting-funds", width=80).output
    said = " ".join(out.split())
    assert re.search(r"not shown in 80 columns: .*request.*; --format csv or json has them", said)
    assert "PAY-2026-005358" in out
    assert "EUR 15,000.00" in out


def test_a_line_is_shown_with_the_id_prefix_that_the_commands_accept(month_end: Workspace) -> None:
    out = run(month_end.folder, "match", "open", width=240).output
    (first, *_) = month_end.matches.open().arrow.to_pylist()
    name = first["entry_id"][:8]
    assert f"{name}  " in out
    assert first["entry_id"] not in out
    known, _ = month_end.matches.look()
    assert known.find_line(name) == first["entry_id"]


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "amount": st.decimals(-(10**9), 10**9, places=2),
            "day": st.dates(date(2020, 1, 1), date(2030, 1, 1)),
            "text": st.text("abc EUR1.", max_size=80),
            "more": st.text("xyz ", max_size=60),
        }
    ),
    min_size=1,
    max_size=6,
)


@pytest.mark.acceptance
@given(rows=ROWS, width=st.integers(10, 140), spare=st.sampled_from([(), ("more",), ("text",)]))
@settings(max_examples=150)
def test_every_value_is_shown_unbroken_in_any_width(
    rows: list[dict[str, object]], width: int, spare: tuple[str, ...]
) -> None:
    schema = pa.schema(
        [("amount", pa.decimal128(38, 18)), ("currency", pa.string()), ("day", pa.date32()),
         ("text", pa.string()), ("more", pa.string())]
    )  # fmt: skip
    table = pa.Table.from_pylist([{**row, "currency": "EUR"} for row in rows], schema=schema)
    columns = ["amount", "day", "text", "more"]
    with patch.dict(os.environ, {"COLUMNS": str(width)}), redirect_stdout(io.StringIO()) as out:
        print_table(table, columns, "", "none", spare)
    text = out.getvalue()
    for row in table.to_pylist():
        assert cell_text(row, "amount", units_of(table.schema)) in text
        assert day_words(row["day"]) in text
    if "not shown" not in text:
        words = re.sub(r"\s+", "", text)
        assert all(word in words for row in rows for word in str(row["more"]).split())


def test_values_are_readable_for_people_and_unchanged_in_data() -> None:
    assert in_words("outcome", "suggested") == "Suggested"
    assert in_words("state", "NO REFERENCE") == "UNREFERENCED"
    assert in_words("kind", "no_reference") == "unreferenced"
    assert in_words("direction", "CRDT") == "in"
    assert in_words("kind", "off_ramp") == "off-ramp"
    assert in_words("state", "proved_as_group") == "proved as group"
    assert in_words("reference", "suggested") == "suggested"
    assert cell_text({"proved": True}, "proved", {}) == "yes"
    assert cell_text({"due": date(2026, 10, 3)}, "due", {}) == "3 Oct 2026"
    assert cell_text({"due": date(2026, 10, 3)}, "due", {}, as_stored=True) == "2026-10-03"
    assert cell_text({"outcome": "suggested"}, "outcome", {}, as_stored=True) == "suggested"


def test_an_instant_names_the_time_zone_of_the_desk() -> None:
    at = datetime(2026, 7, 1, 8, tzinfo=UTC)
    table = pa.table({"at": pa.array([at], pa.timestamp("us", tz="UTC"))})
    local = in_zone(table, ZoneInfo("Europe/Brussels"))
    assert local["at"][0].as_py() == at
    assert cell_text(local.to_pylist()[0], "at", {}) == "1 Jul 2026 10:00 CEST"
    assert cell_text(table.to_pylist()[0], "at", {}) == "1 Jul 2026 08:00 UTC"
    assert "1 Jul 2026 10:00 CEST" in Table(table, zone=ZoneInfo("Europe/Brussels"))._repr_html_()


@pytest.mark.acceptance
def test_every_view_of_one_result_uses_the_desks_clock(month_end: Workspace) -> None:
    synced = "09:00 CET"
    assert synced in run(month_end.folder, "status", "2026-10", width=240).output
    assert synced in run(month_end.folder, "doctor", width=240).output
    trace = run(month_end.folder, "trace", "PAY-2026-005175", width=240).output
    assert "CEST" in trace
    assert "UTC" not in trace
    shown = month_end.sql("SELECT created_at FROM ramp_requests LIMIT 1")._repr_html_()
    assert "CES" in shown or "CET" in shown
    assert "UTC" not in shown


def test_the_word_of_an_outcome_is_its_code() -> None:
    assert {code: word.lower().replace(" ", "_") for code, word in OUTCOMES.items()} == {
        code: code for code in OUTCOMES
    }
    assert OUTCOMES.keys() == OUTCOME_MEANINGS.keys()
    legend = codes()["outcome"]
    assert legend["conflict"].startswith("Conflict: the line has a reference, but ")
    assert all(legend[code].startswith(f"{word}: ") for code, word in OUTCOMES.items())


def test_each_code_is_its_word_in_snake_case() -> None:
    for column, words in codes().items():
        # A turn is shown as a possessive, and `entry_status` has the bank's own codes.
        if column in ("turn", "entry_status"):
            continue
        for code, words_of_code in words.items():
            word = words_of_code.partition(":")[0]
            if code not in KIND_WORDS or code in STORED_WORDS.values():
                assert code in (word, screen_code(word)), (column, code)


def test_a_program_gets_the_codes_of_tables(month_end: Workspace) -> None:
    command = ("exceptions", "2026-10", "--kind", "needs_decision", "--format", "json")
    out = run(month_end.folder, *command, width=80)
    assert {(row["kind"], row["state"]) for row in json.loads(out.stdout)} == {
        ("suggested", "SUGGESTED")
    }
    out = run(month_end.folder, "reconcile", "2026-10", "--format", "json", width=80)
    lines = json.loads(out.stdout)
    assert {row["direction"] for row in lines} == {"in", "out"}
    assert all((row["outcome"] == "other_business") == bool(row["line_class"]) for row in lines)
