"""Converts columns to texts with every digit of an amount, and hashes rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from decimal import Decimal
from typing import Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.money import plain_digits
from treasury.core.text import clean

_BATCH: Final = 10_000
"""Number of rows that are encoded and hashed at once."""
_PLAIN: Final = "^[!-~·]+( [!-~·]+)*$"
"""Pattern of a clean text: visible characters, with single spaces between words."""


def column_texts(column: pa.ChunkedArray) -> list[str]:
    """Return each value of a column as text, like `value_text`."""
    if pa.types.is_string(column.type):
        texts = column
    elif pa.types.is_decimal(column.type):
        texts = amount_texts(column)
    else:
        return [value_text(value) for value in column.to_pylist()]
    shown_texts: list[str] = pc.fill_null(texts, "").to_pylist()
    return shown_texts


def rows_hash(table: pa.Table) -> str:
    """Return the SHA-256 of a table's rows as one JSON list, each value as its `value_text`."""
    digest = hashlib.sha256(b"[")
    for start in range(0, table.num_rows, _BATCH):
        columns = map(column_texts, table.slice(start, _BATCH).columns)
        rows = msgspec.json.encode(list(zip(*columns, strict=True)))
        digest.update(b"," * bool(start) + rows[1:-1])
    digest.update(b"]")
    return digest.hexdigest()


def amount_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return `value_text` of each decimal of a column; null stays null."""
    plain = plain_amounts(column)
    if column.type.scale <= 0:
        return plain
    point = pc.find_substring(plain, ".")
    has_one_decimal = pc.equal(pc.subtract(pc.binary_length(plain), point), 2)
    lacking = pc.if_else(pc.less(point, 0), ".00", pc.if_else(has_one_decimal, "0", ""))
    return pc.binary_join_element_wise(plain, lacking, "")


def wide(amounts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Cast amounts to a type in which their sum cannot overflow."""
    return amounts.cast(pa.decimal256(76, amounts.type.scale))


def distinct_rows(table: pa.Table, names: Sequence[str]) -> tuple[pa.Table, pa.Array]:
    """Return the distinct rows of these columns, and the index of each row among them.

    The table of distinct rows has the columns `names` and `count`.
    """
    numbered = table.select(names).append_column("row", pa.array(range(table.num_rows), pa.int64()))
    wanted = [("row", "count"), ("row", "list")]
    groups = numbered.group_by(names, use_threads=False).aggregate(wanted).combine_chunks()
    rows = groups["row_list"].combine_chunks()
    places = pc.list_parent_indices(rows).take(pc.sort_indices(rows.flatten()))
    return groups.select([*names, "row_count"]).rename_columns([*names, "count"]), places


def clean_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Clean each text of a column, like `text.clean`; clean texts are not copied."""
    texts = column.combine_chunks()
    is_other = pc.fill_null(pc.invert(pc.match_substring_regex(texts, _PLAIN)), False)
    cleaned = pa.array(map(clean, texts.filter(is_other).to_pylist()), pa.string())
    return pa.chunked_array([pc.replace_with_mask(texts, is_other, cleaned)])


def plain_amounts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return each decimal of a column as text, like `money.plain_digits`."""
    texts = column.cast(pa.string()).combine_chunks()
    if column.type.scale > 0:
        texts = pc.ascii_rtrim(pc.ascii_rtrim(texts, "0"), ".")
    # Arrow writes zero at a high scale as 0E-18. Very small numbers are handled below.
    texts = pc.if_else(pc.starts_with(texts, "0E"), "0", texts)
    if b"E" in in_one(pc.fill_null(texts, "")):
        is_scientific = pc.fill_null(pc.match_substring(texts, "E"), False)
        values = column.filter(is_scientific).to_pylist()
        texts = pc.replace_with_mask(
            texts, is_scientific, pa.array(map(plain_digits, values), pa.string())
        )
    return pa.chunked_array([texts])


def in_one(texts: pa.Array, between: str = "") -> bytes:
    """Join texts without nulls, as UTF-8 bytes."""
    whole = pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts)
    joined: bytes = pc.binary_join(whole, between)[0].as_buffer().to_pybytes()
    return joined


def value_text(value: object) -> str:
    """Format a value as text; a decimal has every digit, and two decimals or more after a point."""
    if value is None:
        return ""
    if isinstance(value, Decimal):
        plain = f"{value:f}"
        whole, _, fraction = plain.partition(".")
        fraction = fraction.rstrip("0")
        return f"{whole}.{fraction.ljust(2, '0')}" if fraction or "." in plain else whole
    if isinstance(value, list):
        return " | ".join(value_text(item) for item in value)
    return str(value)
