"""Whole files: hostile, damaged and real ones; only statement errors are raised."""

import io
import random
import zipfile
from collections import Counter
from copy import deepcopy
from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import detail, document, entry, read, statement, write
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from treasury.core.errors import StatementError
from treasury.statements import read_file, read_statements
from treasury.statements.camt.camt_file import CamtFile

SHARED = Path(__file__).parents[3] / "shared" / "statements"
GOOD = document(statement(entry("1.00", "CRDT", detail("hello")), closing="101.00"))

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
LAUGHS = (
    HEAD
    + "<!DOCTYPE lolz [<!ENTITY lol 'lol'>"
    + "".join(
        f"<!ENTITY lol{n} '{f'&lol{n - 1 if n > 1 else str()};' * 10}'>" for n in range(1, 10)
    )
    + "]>"
    + GOOD.removeprefix(HEAD).replace("hello", "&lol9;")
)
HOSTILE = {
    "empty": b"",
    "binary": bytes(range(256)) * 10,
    "text": b"Date;Amount\n2026-10-01;1,00\n",
    "truncated": GOOD.encode()[:-20],
    "two roots": GOOD.encode() + b"<a/>",
    "other xml": b"<html><body/></html>",
    "pain": document(statement(), namespace="pain.001", message="CstmrCdtTrfInitn").encode(),
    "doctype": GOOD.replace("?>", '?><!DOCTYPE Document SYSTEM "file:///etc/passwd">').encode(),
    "doctype in UTF-16": GOOD.replace("?>", "?><!DOCTYPE Document>")
    .replace("UTF-8", "UTF-16")
    .encode("utf-16"),
    "billion laughs": LAUGHS.encode(),
    "undefined entity": GOOD.replace("hello", "&nothing;").encode(),
    "lying encoding": GOOD.replace("hello", "Züri").encode("latin-1"),
    "odd encoding": GOOD.replace("UTF-8", "UTF-7").encode(),
    "unknown encoding": GOOD.replace("UTF-8", "x-mystery").encode(),
    "deep": (HEAD + "<Document>" + "<a>" * 100_000).encode(),
    "enormous text": GOOD.replace("hello", "x" * 12_000_000).encode(),
    "enormous element": GOOD.replace("hello", "</Ustrd><Ustrd>" * 400_000).encode(),
    "zero byte": GOOD.replace("hello", "a\0b").encode(),
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_or_malformed_file_is_refused_as_a_whole(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(StatementError) as caught:
        read_file(write(tmp_path, content, "bad.xml"))
    assert caught.value.what.startswith("bad.xml: ")
    assert caught.value.do


def test_a_refusal_names_the_line(tmp_path: Path) -> None:
    broken = GOOD.replace("<Stmt>", "\n\n<Stmt>").replace("</CdtDbtInd>", "</Wrong>", 1)
    with pytest.raises(StatementError, match="line 4"):
        read_file(write(tmp_path, broken))


def test_a_missing_file_is_a_statement_error(tmp_path: Path) -> None:
    with pytest.raises(StatementError, match="No such file"):
        read_file(tmp_path / "nowhere.xml")
    with pytest.raises(StatementError, match="directory"):
        read_file(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_plain_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    text = GOOD.replace("UTF-8", encoding.upper()).replace("hello", "Züri")
    file = read_file(write(tmp_path, text.encode(encoding)))
    assert file.entries["remittance"].to_pylist() == [["Züri"]]


def test_a_message_without_statements_is_read_and_reported(tmp_path: Path) -> None:
    file = read_file(write(tmp_path, document()))
    assert (file.statements.num_rows, file.entries.num_rows) == (0, 0)
    assert "no statement in the file" in str(file.problems[0])


def test_comments_cdata_and_processing_instructions_are_handled(tmp_path: Path) -> None:
    text = GOOD.replace("hello", "<!-- x --><![CDATA[<a> & ]]>b<?pi y?>")
    assert read_file(write(tmp_path, text)).entries["remittance"].to_pylist() == [["<a> & b"]]


def test_files_read_together_keep_their_order(tmp_path: Path) -> None:
    first = write(tmp_path, GOOD, "a.xml")
    second = write(tmp_path, GOOD.replace("hello", "there"), "b.xml")
    reading = read_statements([second, first])
    assert reading.entries.arrow["file_name"].to_pylist() == ["b.xml", "a.xml"]
    assert reading.statements.arrow["file_name"].to_pylist() == ["b.xml", "a.xml"]


@pytest.mark.acceptance
def test_a_large_file_is_read_in_batches_without_keeping_the_tree(tmp_path: Path) -> None:
    many = [entry("1.00", "CRDT", detail(f"nr {n}")) for n in range(5000)]
    path = write(tmp_path, document(statement(*many, closing="5100.00")))
    with path.open("rb") as source:
        camt = CamtFile(source, "x")
        sizes = [batch.num_rows for batch in camt.batches()]
    assert sum(sizes) == 5000
    assert max(sizes) < 2000
    assert camt.statements[0].proved


def shared_files() -> list[Path]:
    return sorted(SHARED.glob("*/camt/*.xml"))


def lines_of(entry: etree._Element) -> int:
    """Count one row per detail with an amount in the entry's currency, and one for the rest.

    An entry with at most one detail is one row.
    """
    details = entry.xpath(".//*[local-name()='TxDtls']")
    currency = entry.xpath("string(*[local-name()='Amt']/@Ccy)")
    amount = (
        "boolean(*[local-name()='Amt'][@Ccy=$currency]"
        " | *[local-name()='AmtDtls']/*/*[local-name()='Amt'][@Ccy=$currency])"
    )
    with_amount = sum(bool(detail.xpath(amount, currency=currency)) for detail in details)
    return with_amount + (with_amount < len(details)) if len(details) > 1 else 1


@pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"no folder {SHARED}: camt is not tested on real files of banks"
)
def test_every_real_file_agrees_with_an_independent_count() -> None:
    assert len(shared_files()) > 40
    for path in shared_files():
        file = read_file(path)
        tree = etree.parse(path)
        entries = tree.xpath("//*[local-name()='Ntry']")
        assert file.entries.num_rows == sum(map(lines_of, entries)), path.name
        booked, read = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
        for one in entries:
            amount = one.find("{*}Amt")
            booked[amount.get("Ccy"), one.findtext("{*}CdtDbtInd")] += Decimal(amount.text)
        names = ("amount", "currency", "direction")
        table = file.entries.select(names).to_pylist()
        for row in table:
            read[row["currency"], row["direction"]] += row["amount"] or Decimal(0)
        if None in [row["amount"] for row in table]:
            assert any("state no amount" in str(p) for p in file.problems), path.name
        else:
            assert read == booked, path.name


def only_our_errors(content: bytes) -> None:
    try:
        camt = CamtFile(io.BytesIO(content), "fuzz.xml")
        for _ in camt.batches():
            pass
    except StatementError:
        return


@given(st.binary(max_size=2000))
@settings(max_examples=150)
def test_arbitrary_bytes_raise_only_statement_errors(content: bytes) -> None:
    only_our_errors(content)
    only_our_errors(b"<Document>" + content)


PIECES = (
    b"<", b">", b"</", b"/>", b"&", b"&amp;", b"&gt;", b"&#0;", b"&#x110000;", b"<![CDATA[", b"]]>",
    b"<Ntry>", b"</Ntry>", b"<TxDtls>", b"</TxDtls>", b"<Stmt>", b"</Stmt>", b"<Amt>", b"\xff",
    b"<!--", b"\0", b"<!DOCTYPE a>", b"9" * 50, b"-1", b"1e999", b"NaN", b"2026-99-99", b"CRDT",
    b"", b" xmlns:a='x>y' ",
)  # fmt: skip


@given(st.integers(0, 2**32), st.integers(1, 6))
@settings(max_examples=300)
def test_mutated_files_raise_only_statement_errors(seed: int, cuts: int) -> None:
    chance = random.Random(seed)
    batch = entry("3.00", "CRDT", detail("a", amount="1.00"), detail("b", amount="2.00"))
    content = document(statement(entry("1.00"), batch), statement(batch)).encode()
    for _ in range(cuts):
        start = chance.randrange(len(content))
        length = chance.choice((0, 1, 4, 30))
        content = content[:start] + chance.choice(PIECES) + content[start + length :]
    only_our_errors(content)


TEXTS = (
    "", "x", "-1", "1e400", "NaN", "9" * 60, "٣", "1_000", "2026-02-30",
    "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "CRDT",
    "true", "BOOK", "\u2028", "\U0001f600", "a<b>&c",
)  # fmt: skip


@pytest.mark.acceptance
@given(st.integers(0, 2**32), st.integers(1, 5))
@settings(max_examples=300)
def test_well_formed_nonsense_raises_only_statement_errors(seed: int, changes: int) -> None:
    chance = random.Random(seed)
    batch = entry("3.00", "CRDT", detail("a", amount="1.00"), detail("b", amount="2.00"))
    root = etree.fromstring(document(statement(entry("1.00"), batch), statement(batch)).encode())
    for _ in range(changes):
        element, other = (chance.choice(list(root.iter("*"))) for _ in range(2))
        match chance.randrange(4):
            case 0:
                element.text = chance.choice(TEXTS)
            case 1 if element.getparent() is not None:
                element.getparent().remove(element)
            case 2:
                other.append(deepcopy(element))
            case _:
                element.attrib.clear()
    only_our_errors(etree.tostring(root))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "an empty file"),
        (b"\xef\xbb\xbf", "the file is blank"),
        (b" \r\n\t\n", "the file is blank"),
        (b"\xff\xfe\n\0 \0", "the file is blank"),
        (b"OFXHEADER:100\nDATA:OFXSGML\n", "OFX, which is not read"),
        (b'<?xml version="1.0"?>\n<?OFX OFXHEADER="200"?><OFX/>', "OFX, which is not read"),
        (b"01,122099999,123456789,260621,0200,1,80,10,2/\n", "BAI2, which is not read"),
        (
            b"11201001000200012345261001261031200000000100000978" + b"3NAME".ljust(30),
            "AEB43 (Norma 43), which is not read",
        ),
        (b'{"account": {}, "transactions": {"booked": []}}', "PSD2 JSON, which is not read"),
        (b'[{"id": 1}]', "JSON, which is not read"),
        (b"!Type:Bank\nD1/2/26\n", "QIF, which is not read"),
        (b"%PDF-1.7\n", "PDF, which is not read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook, which is not read"),
    ],
)
def test_a_file_that_is_not_a_statement_is_identified(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = write(tmp_path, content, "file.dat")
    with pytest.raises(StatementError) as caught:
        read_file(path)
    assert caught.value.what == f"file.dat: {said}"
    assert caught.value.do
    good = write(tmp_path, GOOD, "good.xml")
    reading = read_statements([tmp_path])
    assert [file.name for file in reading.files] == [good.name]
    assert [str(problem) for problem in reading.skipped] == [f"file.dat: left out: {said}"]


def test_a_folder_or_archive_without_files_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    (folder / "deeper").mkdir(parents=True)
    archive = tmp_path / "empty.zip"
    zipfile.ZipFile(archive, "w").close()
    for path, said in (
        (folder, "the folder contains no file"),
        (archive, "the archive contains no"),
    ):
        with pytest.raises(StatementError, match=said):
            read_statements([path])


def test_a_file_without_a_name_in_an_archive_is_read(tmp_path: Path) -> None:
    path = tmp_path / "nameless.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo(""), b"?")
        archive.writestr("good.xml", GOOD)
    reading = read_statements([path])
    assert [file.name for file in reading.files] == ["nameless.zip/good.xml"]


def test_an_excel_workbook_is_refused_as_such(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "book.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(StatementError, match=r"book\.xlsx: an Excel workbook, which is not read"):
        read_statements([tmp_path / "book.xlsx"])


@pytest.mark.parametrize("amount", ["1e3", "1E3", "1.0e2"])
def test_an_amount_with_an_exponent_is_refused(tmp_path: Path, amount: str) -> None:
    file = read(tmp_path, entry(amount))
    assert file.entries.num_rows == 0
    assert f"amount: {amount!r} is not a number" in file.problems[0].what
