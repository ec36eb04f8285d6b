"""Random content in every format: a file is read or refused, and no other error is raised."""

import gzip
import io
import random
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from camt_samples import OURS, detail, document, entry, statement
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treasury.core.errors import StatementError
from treasury.statements import read_statements
from treasury.statements.bank_file import open_file
from treasury.statements.csv.csv_file import CsvFile

CAMT = document(statement(entry("1.00", "CRDT", detail("hello")), closing="101.00")).encode()
MT = (
    f":20:X\r\n:25:{OURS}\r\n:28C:1/1\r\n:60F:C261001EUR1,00\r\n:61:261015C1,00NTRFA//B\r\n"
    ":86:166?00X?20EREF+E?21SVWZ+Text?32Name\r\n:62F:C261031EUR2,00\r\n-\r\n"
).encode()
CSV = (
    b"Rekeningnummer;Afschriftnummer;Munt;Datum;Omschrijving;Valuta;Bedrag;Saldo\n"
    b"BE68;10;EUR;16/10/2026;A;16/10/2026;-1.234,50;8.765,50\n"
    b'BE68;10;EUR;15/10/2026;"B\nb";15/10/2026;5.000,00;10.000,00\n'
)
PIECES = (
    b";", b",", b'"', b"\n", b"\r", b"\0", b"-", b"=", b"9" * 50, b"1.234", b"1,2,3", b"\xff\xfe",
    b"31/02/2026", b"\xc3", b"EUR", b"Total", b"", b"\xef\xbb\xbf", b":61:", b"<Ntry>", b'"' * 3,
    b"0001-01-01", b"99999999", b"e9", b"\t", b"|", b"()", b"\xe2\x88\x92",
)  # fmt: skip


def mutated(content: bytes, seed: int, cuts: int) -> bytes:
    chance = random.Random(seed)
    for _ in range(cuts):
        start = chance.randrange(len(content) + 1)
        length = chance.choice((0, 1, 4, 30))
        content = content[:start] + chance.choice(PIECES) + content[start + length :]
    return content


@pytest.mark.acceptance
@given(st.sampled_from([CAMT, MT, CSV]), st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=300)
def test_mutated_files_of_any_format_are_read_or_refused(
    content: bytes, seed: int, cuts: int
) -> None:
    with suppress(StatementError):
        file = open_file(io.BytesIO(mutated(content, seed, cuts)), "fuzz")
        for batch in file.batches():
            assert None not in batch["entry_id"].to_pylist()


CELLS = st.sampled_from(
    ["", "1,00", "1.234", "1.234,50", "-5", "x", "16/10/2026", "2026-10-16", "31.02.2026", "EUR",
     "Total", '="5"', "(3)", "٣", "16-Oct-26", "a\nb", '"', "C", "D", "−1", "9" * 60]
)  # fmt: skip


@pytest.mark.acceptance
@given(st.lists(st.lists(CELLS, max_size=9), max_size=12), st.sampled_from(";,\t|"))
@settings(max_examples=300)
def test_tables_of_random_cells_are_read_or_refused(rows: list[list[str]], delimiter: str) -> None:
    header = ["Datum", "Valuta", "Omschrijving", "Bedrag", "Debet", "Credit", "Saldo", "Munt"]
    text = "\n".join(delimiter.join(row) for row in [header, *rows])
    with suppress(StatementError):
        file = CsvFile(io.BytesIO(text.encode()), "fuzz.csv")
        count = sum(batch.num_rows for batch in file.batches())
        assert count == sum(one.entry_count for one in file.statements) <= len(text)


def zipped() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", CAMT)
        archive.writestr("in/b.sta", MT)
        archive.writestr("c.csv.gz", gzip.compress(CSV))
    return made.getvalue()


@pytest.mark.acceptance
@given(st.sampled_from([zipped(), gzip.compress(MT)]), st.integers(0, 2**32), st.integers(0, 4))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_mutated_archives_are_read_or_refused(
    tmp_path: Path, content: bytes, seed: int, cuts: int
) -> None:
    path = tmp_path / "fuzz.zip"
    path.write_bytes(mutated(content, seed, cuts))
    with suppress(StatementError):
        read_statements([path], workers=1)


def test_an_endless_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_bytes(CSV + b"x" * (3 << 20))
    with pytest.raises(StatementError, match=r"long\.csv"):
        read_statements([path])
    path.write_bytes(CSV + b'"' + b"x\n" * (1 << 20))
    with pytest.raises(StatementError, match="not a CSV file"):
        read_statements([path])
