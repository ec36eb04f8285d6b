"""The id of a movement: the same in every reading, and different for twins."""

from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import detail, document, entry, rows, statement, write
from hypothesis import given
from hypothesis import strategies as st

from treasury.statements import read_file
from treasury.statements.entry_identity import Ordinals, entry_id, entry_ids
from treasury.statements.entry_rows import EntryRow

TWIN = entry("10.00", "CRDT", detail("INV 1"))


def ids(folder: Path, *entries: str, **changes: object) -> list[str]:
    file = read_file(write(folder, document(statement(*entries, **changes))))  # type: ignore[arg-type]
    return [str(value) for (value,) in rows(file.entries, "entry_id")]


def test_identical_rows_keep_two_ids_in_every_reading(tmp_path: Path) -> None:
    first = ids(tmp_path, TWIN, TWIN)
    assert len(set(first)) == 2
    assert ids(tmp_path, TWIN, TWIN) == first


def test_the_id_does_not_depend_on_file_statement_or_position(tmp_path: Path) -> None:
    daily = ids(tmp_path, TWIN, TWIN, name="D15", days=("2026-10-15", "2026-10-15"))
    monthly = ids(tmp_path, entry("1.00"), TWIN, entry("2.00"), TWIN, name="M10")
    assert monthly[1::2] == daily


@pytest.mark.acceptance
def test_details_added_later_by_a_bank_are_not_part_of_the_id(tmp_path: Path) -> None:
    intraday = entry("10.00", "CRDT", detail("INV 1"), status="<Sts>PDNG</Sts>", value="")
    spaced = entry("10.00", "CRDT", detail("INV\n 1"), more="<AddtlNtryInf>x</AddtlNtryInf>")
    assert ids(tmp_path, intraday) == ids(tmp_path, TWIN) == ids(tmp_path, spaced)


@pytest.mark.parametrize(
    "other",
    [
        entry("10.01", "CRDT", detail("INV 1")),
        entry("10.00", "DBIT", detail("INV 1")),
        entry("10.00", "CRDT", detail("INV 2")),
        entry("10.00", "CRDT", detail("INV 1"), currency="USD"),
        entry("10.00", "CRDT", detail("INV 1"), booked="<BookgDt><Dt>2026-10-14</Dt></BookgDt>"),
        entry("10.00", "CRDT", detail("INV 1", refs="<EndToEndId>E</EndToEndId>")),
        entry("10.00", "CRDT", detail("INV 1"), status="<Sts>INFO</Sts>"),
    ],
)
def test_different_movements_have_different_ids(tmp_path: Path, other: str) -> None:
    assert ids(tmp_path, other) != ids(tmp_path, TWIN)


def test_an_id_with_the_banks_reference_survives_a_change_of_text(tmp_path: Path) -> None:
    def referenced(text: str) -> str:
        return entry("10.00", "CRDT", detail(text), more="<AcctSvcrRef>R1</AcctSvcrRef>")

    assert ids(tmp_path, referenced("short")) == ids(tmp_path, referenced("the whole text"))


def test_a_repeated_reference_does_not_merge_different_movements(tmp_path: Path) -> None:
    reference = "<AcctSvcrRef>R1</AcctSvcrRef>"
    charge = entry("0.50", "DBIT", more=reference)
    payment = entry("10.00", "DBIT", more=reference)
    next_day = entry(
        "10.00", "DBIT", more=reference, booked="<BookgDt><Dt>2026-10-16</Dt></BookgDt>"
    )
    assert len(set(ids(tmp_path, charge, payment, payment, next_day))) == 4


def test_details_of_a_batch_without_own_references_have_distinct_ids(tmp_path: Path) -> None:
    same = [detail("same", amount="1.00")] * 3
    batch = entry("3.00", "CRDT", *same, more="<AcctSvcrRef>R1</AcctSvcrRef>")
    assert len(set(ids(tmp_path, batch))) == 3


def test_indistinguishable_statements_keep_two_ids(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, document(statement(), statement())))
    assert len(set(file.statements["statement_id"].to_pylist())) == 2


def test_the_id_of_a_statement_does_not_depend_on_its_file_name(tmp_path: Path) -> None:
    text = document(statement(TWIN))
    first = read_file(write(tmp_path, text, "a.xml")).statements
    second = read_file(write(tmp_path, text, "b.xml")).statements
    assert rows(first, "statement_id", "file_sha256") == rows(second, "statement_id", "file_sha256")


@pytest.mark.acceptance
@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=30), st.randoms())
def test_ids_are_unique_and_as_a_set_independent_of_the_order(
    texts: list[str],
    random: st.randoms,  # type: ignore[valid-type]
) -> None:
    def given_ids(order: list[str]) -> list[str]:
        ordinals = Ordinals()
        rows = [EntryRow(direction="CRDT", remittance=(text,)) for text in order]
        return [entry_id(row, None, ordinals) for row in rows]

    shuffled = list(texts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first = given_ids(texts)
    assert len(set(first)) == len(texts)
    assert sorted(first) == sorted(given_ids(shuffled))


@given(st.lists(st.one_of(st.integers(0, 9), st.lists(st.integers(0, 30), max_size=6))))
def test_a_key_is_counted_correctly_beyond_the_cache_size(asked: list[int | list[int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("treasury.statements.entry_identity._MOST_RECENT", 4)
        ordinals, seen = Ordinals(), Counter[int]()
        for one in asked:
            keys = one if isinstance(one, list) else [one]
            given = ordinals.next_all(keys) if isinstance(one, list) else [ordinals.next(one)]
            for key, ordinal in zip(keys, given, strict=False):
                assert ordinal == seen[key]
                seen[key] += 1


TEXT = st.none() | st.sampled_from(["", "x", "NONREF", "Ü"])


@pytest.mark.acceptance
@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT, st.sampled_from(["CRDT", "DBIT"])), min_size=1, max_size=6)
)
def test_rows_and_columns_get_the_same_ids(parts: list[tuple[str, str, str, str]]) -> None:
    day, amount = date(2026, 10, 15), Decimal("1.50")
    several = [
        EntryRow(account="A", currency="EUR", amount=amount, booking_date=day, direction=way,
                 account_servicer_reference=own or None, end_to_end_id=end,
                 remittance=(text,) if text else ())
        for own, end, text, way in parts
    ]  # fmt: skip
    columns = {name: [getattr(row, name) for row in several] for name in EntryRow.__struct_fields__}
    one_by_one = Ordinals()
    assert entry_ids(columns, Ordinals()) == [
        entry_id(row, row.account_servicer_reference, one_by_one) for row in several
    ]
