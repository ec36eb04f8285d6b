"""CSV for people: no text becomes a formula, in any spreadsheet locale."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from csv_hostile import SEPARATORS, SIGNS, hostile_texts
from hypothesis import given, settings
from hypothesis import strategies as st

import treasury
from treasury.core.tables.csv_output import csv_text, write_csv_table

STARTS = re.compile(r"""(?:^|[,;\t\r\n|])[\s"]*([=+\-@＝＋－＠])""")

pieces = st.sampled_from([*SIGNS, *SEPARATORS, " ", '"', "'", "\u00a0", "1+1", "a", "\u202e"])
texts = st.one_of(st.text(), st.lists(pieces, max_size=12).map("".join))


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


@settings(deadline=None)
@given(texts)
def test_no_text_can_begin_a_formula_in_any_cell(text: str) -> None:
    written = csv_text(["text"], [[text]])
    assert written.count("\n") == 2
    [[_], [cell]] = cells(written)
    assert not STARTS.search(cell)
    folded = unicodedata.normalize("NFKC", cell.lstrip(" \"'"))[:1]
    assert folded not in set("=+-@") or cell.lstrip(' "').startswith("'")


@pytest.mark.parametrize("text", hostile_texts())
def test_a_formula_behind_any_separator_gets_an_apostrophe_before_its_sign(text: str) -> None:
    [[cell]] = cells(csv_text([text], []))
    assert not STARTS.search(cell)
    assert "1+1" in cell
    if not re.search(r"[\t\r\n]", text):
        assert re.search(f"'[{re.escape(''.join(SIGNS))}]1", cell)


@settings(deadline=None)
@given(st.lists(st.tuples(st.none() | texts, st.none() | st.integers(-5, 5)), max_size=20))
def test_a_table_is_written_like_its_rows(rows: list[tuple[str | None, int | None]]) -> None:
    words, numbers = ([row[at] for row in rows] for at in (0, 1))
    columns = {
        "text": pa.array(words, pa.string()),
        "number": pa.array(numbers, pa.int64()),
        "amount": pa.array(numbers, pa.decimal128(38, 18)),
        "day": pa.array(
            [None if n is None else date(2026, 1, 6 + n) for n in numbers], pa.date32()
        ),
        "several": pa.array([[word or "", "x"] for word in words], pa.list_(pa.string())),
        "is": pa.array([None if n is None else n > 1 for n in numbers], pa.bool_()),
    }
    table = pa.table(columns)
    written = io.StringIO()
    write_csv_table(written, table)
    assert written.getvalue() == csv_text(columns, zip(*table.to_pydict().values(), strict=True))


def test_amounts_counts_and_days_are_written_unchanged() -> None:
    row = [Decimal("-0.100000000000000000"), -3, date(2026, 10, 31), None, -2.5, True]
    assert csv_text("abcdef", [row]).splitlines()[1] == '"-0.10","-3","2026-10-31","","-2.5","True"'


def test_a_cell_is_one_line_with_hidden_characters_escaped() -> None:
    [[cell]] = cells(csv_text(["a\r\nb\rc\td\x1b[2J\u202ee\x9b"], []))
    assert cell == "a b c d␛[2J⟨U+202E⟩e⟨U+009B⟩"


def test_column_names_and_list_items_are_texts_too() -> None:
    assert cells(csv_text(["=a"], [[["-1", "=2"]]])) == [["'=a"], ["'-1 | '=2"]]


def test_every_csv_for_people_is_written_by_the_one_writer() -> None:
    package = Path(treasury.__file__).parent
    writers = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(
            r"csv\.(?:writer|DictWriter)|(?<!>>> r\.lines)\.to_csv\(|write_csv\(.*pa\.",
            path.read_text("utf-8"),
        )
    ]
    # The sandbox writes statements as a bank does.
    assert [path for path in writers if not path.startswith("sandbox/")] == [
        "core/tables/csv_output.py"
    ]
