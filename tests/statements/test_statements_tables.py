"""The readers' rows have the declared columns, and Arrow gets exact values."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treasury.core.tables.column_types import AMOUNT, BOOL, DATE, INSTANT, INTEGER, TEXT, TEXTS
from treasury.statements import STATEMENT_ENTRIES, STATEMENTS
from treasury.statements.arrow_columns import column
from treasury.statements.entry_rows import EntryRow, StatementRow


def test_the_rows_have_the_declared_columns() -> None:
    for table, row in ((STATEMENTS, StatementRow), (STATEMENT_ENTRIES, EntryRow)):
        assert sorted(row.__struct_fields__) == sorted(table.row_schema.names)


VALUES = {
    TEXT: st.text(st.characters(codec="utf-8")),
    TEXTS: st.lists(st.text(st.characters(codec="utf-8")), max_size=3),
    AMOUNT: st.integers(-(10**38) + 1, 10**38 - 1).map(
        lambda units: Decimal((int(units < 0), tuple(map(int, str(abs(units)))), -18))
    ),
    BOOL: st.booleans(),
    INTEGER: st.integers(-(2**63), 2**63 - 1),
    DATE: st.dates(),
    INSTANT: st.datetimes(timezones=st.just(UTC)),
}


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
def test_a_column_equals_the_one_pyarrow_builds(kind: pa.DataType, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind], max_size=20))
    if kind is TEXTS:
        values = [value or [] for value in values]
    made = column(tuple(values), kind)
    made.validate(full=True)
    assert made.equals(pa.array(values, kind))


@pytest.mark.acceptance
def test_columns_contain_the_values_of_the_rows() -> None:
    assert column((date(2026, 10, 31), None), DATE).to_pylist() == [date(2026, 10, 31), None]
    moment = datetime(2026, 11, 2, 8, tzinfo=UTC)
    assert column((moment,), INSTANT).to_pylist() == [moment]
