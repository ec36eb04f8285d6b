"""Endless files are refused after a few megabytes; long texts and archives take bounded time."""

import gzip
import io
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest
from camt_samples import OURS, balance, detail, document, entry, statement, write

from treasury.core.errors import StatementError
from treasury.statements import file_sources, read_file, read_statements, statement_draft
from treasury.statements.bank_file import open_file

pytestmark = pytest.mark.timeout(60)
"""Each test ends in a few seconds; superlinear work on its input would take much longer."""

BEFORE, _ = document(statement(entry("1.00", "CRDT", detail("hello")))).split("hello")
MT = f":20:X\r\n:25:{OURS}\r\n:28C:1/1\r\n:60F:C261001EUR1,00\r\n"
MOVED = f"{MT}:61:261015C1,00NTRF//B\r\n"
CSV = "Rekeningnummer;Afschriftnummer;Munt;Datum;Omschrijving;Valuta;Bedrag;Saldo\n"
MOST = 16 << 20


class Endless:
    """An endless stream that starts like a bank file; `given` counts the bytes read."""

    def __init__(self, before: str, again: str) -> None:
        self._ahead = before.encode()
        self._again = again.encode() * (1 + (1 << 16) // len(again))
        self.given = 0

    def read(self, size: int, /) -> bytes:
        assert self.given <= MOST, "it is still being read"
        while len(self._ahead) < size:
            self._ahead += self._again
        found, self._ahead = self._ahead[:size], self._ahead[size:]
        self.given += size
        return found


ENDLESS = {
    "text": (BEFORE, "x"),
    "nested elements": ("<Document>", "<a>"),
    "elements of one text": (BEFORE, "</Ustrd><Ustrd>"),
    "a tag's name": (f"{BEFORE}<", "x"),
    "attributes": (BEFORE.removesuffix(">"), " a='x'"),
    "a comment": (f"{BEFORE}<!--", "x"),
    "CDATA": (f"{BEFORE}<![CDATA[", "x"),
    "an instruction": (f"{BEFORE}<?x ", "x"),
    "a comment before all else": ("<!--", "x"),
    "balances": (BEFORE.partition("<Ntry>")[0], balance("OPBD", "1.00")),
    "statements": (BEFORE.partition("<Stmt>")[0], "<Stmt/>"),
    "MT940, a text": (f"{MOVED}:86:", "xxxxxxxxx\r\n"),
    "MT940, a line": (f"{MOVED}:86:", "x"),
    "MT940, an empty field": (f"{MT}:86:", "\r\n"),
}


@pytest.mark.first_case
@pytest.mark.parametrize(("before", "again"), ENDLESS.values(), ids=ENDLESS)
def test_an_endless_file_is_refused_quickly(before: str, again: str) -> None:
    source = Endless(before, again)
    with pytest.raises(StatementError, match=r"^endless") as caught:
        for _ in open_file(source, "endless").batches():
            pass
    assert caught.value.do


@pytest.mark.parametrize(
    "text",
    [
        document(*[statement()] * 4),
        "".join(f"{MT}:62F:C261031EUR1,00\r\n-\r\n".replace("1/1", f"{n}/1") for n in range(4)),
    ],
    ids=["camt.053", "MT940"],
)
def test_too_many_statements_in_one_file_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = write(tmp_path, text)
    assert read_file(path).statements.num_rows == 4
    monkeypatch.setattr(statement_draft, "_MOST_STATEMENTS", 3)
    with pytest.raises(StatementError, match="more than 3 statements in one file"):
        read_file(path)


@pytest.mark.first_case
@pytest.mark.parametrize("again", ["x", "<a>", "\n", ";"])
def test_an_archive_with_an_endless_file_is_refused(tmp_path: Path, again: str) -> None:
    """The compressed member expands to 64 MiB, and sixteen copies to one gigabyte."""
    member = gzip.compress(again.encode() * (64 << 20), 1)
    path = write(tmp_path, gzip.compress(BEFORE.encode()) + member * 16, "bomb.gz")
    with pytest.raises(StatementError, match=r"^bomb"):
        read_statements([path])


MANY: Final = 60_000
MT_HEAD: Final = ":20:A\n:25:BE68539007547034\n:28C:1/1\n:60F:C261001EUR1,\n:61:261002C1,NMSC\n"
WITHIN: Final = {
    "an amount in CSV": "Datum;Text;Betrag\n"
    + "01.10.2026;a;1,00\n" * 3
    + f"01.10.2026;a;1{' ' * MANY}x\n",
    "a balance": f":20:A\n:25:BE68539007547034\n:60F:C261001EUR1{' ' * MANY}x\n:62F:C261002EUR1,\n",
    "a balance before its amount": f":20:A\n:25:BE68539007547034\n:60F:C261001{' ' * MANY}x\n",
    "field 86": f"{MT_HEAD}:86:{' ' * MANY}x\n",
    "field 86 of one bank": MT_HEAD + f":86:NAAM: x{'IBAN: NL91ABNA0417 ' * 3000}\n" * 20,
    "the beginning": f"{chr(10) * MANY}x",
}
READ: Final = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from treasury.core.errors import StatementError
from treasury.statements import read_file
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        read_file(path)
    except StatementError:
        pass
"""


@pytest.mark.acceptance
def test_no_text_takes_quadratic_time(tmp_path: Path) -> None:
    """Each text once took 8 to 90 seconds of CPU time; together they may take 20."""
    for number, text in enumerate(WITHIN.values()):
        write(tmp_path, text, f"{number}.txt")
    done = subprocess.run([sys.executable, "-c", READ, str(tmp_path)], check=False)
    assert done.returncode == 0


@pytest.mark.first_case
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_a_zip_member_with_a_compression_method_that_cannot_be_bounded_is_refused(
    tmp_path: Path, method: int, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.xml", bytes(20 << 20))
    assert path.stat().st_size < 10_000
    name = request.node.callspec.id
    with pytest.raises(StatementError, match=rf"^bomb\.zip/a\.xml: packed with {name}"):
        read_statements([path])
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as outer:
        outer.write(path, "bomb.zip")
    with pytest.raises(StatementError, match=rf"packed with {name}"):
        read_statements([tmp_path / "outer.zip"])


@pytest.mark.acceptance
@pytest.mark.parametrize("part", ["<!---->", "<?a b?>", "<![CDATA[ ]]>"])
def test_a_million_comments_take_linear_time(tmp_path: Path, part: str) -> None:
    text = document(statement(entry("1.00"), closing="101.00"))
    many = part * ((3 << 20) // len(part))
    assert read_file(write(tmp_path, text.replace("</Stmt>", f"{many}</Stmt>"))).entries.num_rows


def test_long_namespaces_that_each_entry_would_repeat_are_refused(tmp_path: Path) -> None:
    text = document(statement(entry("1.00"), closing="101.00"))
    declared = "".join(f' xmlns:a{number}="{"y" * 1000}"' for number in range(16))
    with pytest.raises(StatementError, match="namespaces are longer"):
        read_file(write(tmp_path, text.replace(" xmlns=", f"{declared} xmlns=", 1)))


@pytest.mark.parametrize("holder", ["Ntry", "X"])
def test_a_long_namespace_used_by_many_attributes_is_refused(tmp_path: Path, holder: str) -> None:
    long = f'<{holder} xmlns:a="{"u" * 500_000}">' + '<b a:c=""/>' * 3000 + f"</{holder}>"
    text = document(statement(entry("1.00"), closing="101.00")).replace("</Stmt>", f"{long}</Stmt>")
    with pytest.raises(StatementError, match="namespaces are longer"):
        read_file(write(tmp_path, text))


def test_an_invalid_tag_does_not_start_another_document(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="invalid token"):
        read_file(write(tmp_path, BEFORE + "<" * 200_000))


@pytest.mark.parametrize(
    "before", ["", "x" * 3_900_000], ids=["at the beginning", "after much text"]
)
def test_a_file_of_many_tiny_documents_is_refused_quickly(tmp_path: Path, before: str) -> None:
    text = f"<Document><BkToCstmrStmt><Stmt><x>{before}</x></Stmt></BkToCstmrStmt></Document>"
    many = text + "<BkToCstmrStmt/>" * 1_000_000
    with pytest.raises(StatementError, match="more than 10000 documents in one file"):
        read_file(write(tmp_path, many))


@pytest.mark.first_case
@pytest.mark.parametrize("declared", ["", "<?xml version='1.0' encoding='UTF-8'?>\n"])
def test_a_second_document_may_start_at_any_offset_of_a_read_chunk(
    tmp_path: Path, declared: str
) -> None:
    texts = [document(statement(entry(f"{amount}.00"), closing=f"10{amount}.00", name=f"S{amount}"))
             for amount in (1, 2)]  # fmt: skip
    first, second = (declared + text[text.index("<Document") :] for text in texts)
    for mark in ("", "\ufeff", "\n\ufeff\n"):
        ahead = len(first.encode()) + len(mark.encode())
        for before in range(-3, len(mark.encode()) + len(declared) + 3):
            blanks = " " * ((1 << 16) - ahead + before)
            path = write(tmp_path, first.replace("</Stmt>", f"{blanks}</Stmt>") + mark + second)
            assert read_file(path).entries.num_rows == 2, (mark, before)


@pytest.mark.parametrize("end", ["\ufeff", "\ufeff<?xml version='1.0'"])
def test_a_file_cut_off_at_the_start_of_another_document_is_refused(
    tmp_path: Path, end: str
) -> None:
    text = document(statement(entry("1.00"), closing="101.00"))
    with pytest.raises(StatementError, match="not well-formed"):
        read_file(write(tmp_path, text + end))


def test_an_archive_with_too_many_members_is_refused_before_all_are_listed(tmp_path: Path) -> None:
    member = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, *[0] * 7, 1, *[0] * 6) + b"a"
    listed = member * 600_000
    local = b"PK\3\4" + bytes(26)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, len(listed), len(local), 0)
    path = tmp_path / "many.zip.gz"
    path.write_bytes(gzip.compress(local + listed + end))
    assert path.stat().st_size < 100_000
    with pytest.raises(StatementError, match="it lists too many files"):
        read_statements([path])


def _nested(tmp_path: Path, archives: int) -> Path:
    """Write an archive of archives, each with one statement file of half a megabyte."""
    text = document(statement(entry("1.00"), closing="101.00"))
    path = tmp_path / "outer.zip"
    with zipfile.ZipFile(path, "w") as outer:
        for number in range(archives):
            inner = io.BytesIO()
            with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as packed:
                packed.writestr("a.xml", f"{text}{' ' * (512 << 10)}<!-- {number} -->")
            outer.writestr(f"{number}.zip", inner.getvalue())
    return path


def test_one_size_limit_applies_to_a_file_and_its_nested_archives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sources, "_MOST_BYTES", 2 << 20)
    assert len(read_statements([_nested(tmp_path, 3)]).files) == 3
    with pytest.raises(StatementError, match=r"^outer\.zip: more than"):
        read_statements([_nested(tmp_path, 5)])
    # The limit applies to each given file separately.
    for number in range(3):
        _nested(tmp_path, 3).rename(tmp_path / f"{number}.zip")
    assert len(read_statements([tmp_path]).files) == 9


def test_one_file_count_limit_applies_to_nested_archives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_sources, "_MOST_MEMBERS", 6)
    assert len(read_statements([_nested(tmp_path, 3)]).files) == 3
    with pytest.raises(StatementError, match=r"^outer\.zip: more than .* or 6 files"):
        read_statements([_nested(tmp_path, 4)])


def test_overlapping_members_of_an_archive_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "overlap.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", document(statement(entry("1.00"), closing="101.00")) * 100)
        archive.filelist *= 50
    with pytest.raises(StatementError, match="its files overlap"):
        read_statements([path])
