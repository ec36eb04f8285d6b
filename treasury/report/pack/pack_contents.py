"""The content of a close pack: reports, books, and the data to recompute them.

    report.html  close.xlsx          for people
    journal.csv  month.beancount     for the books
    figures/                         as SVG and PNG, with descriptions
    tables/                          every table of the month's results, as Parquet; long ones
                                     as CSV too
    inputs/                          every input of the computation
    attachments/                     the files that people attached, named by their SHA-256
    evidence.json                    the origin of the results, and the hash of every file

Writing the same month again produces the same bytes, except for the PDF and the notebook. On
another machine, PNG files may differ too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from treasury.close.closing import Closing
from treasury.close.evidence import (
    TABLES,
    Evidence,
    Fingerprint,
    LakeState,
    code_of,
    encode,
    table_marks,
)
from treasury.close.ledger.accounting import accounting
from treasury.close.pinned_inputs import write_inputs, write_table
from treasury.core.decoding import decode_json
from treasury.core.errors import InputError
from treasury.core.files.regular_files import open_regular
from treasury.core.tables.csv_output import write_csv_table
from treasury.lake.commits import Commit
from treasury.month.items import pack_name
from treasury.report.accounting_files import write_beancount, write_csv
from treasury.report.drawing import figure_png
from treasury.report.excel import answer_tables, is_long, workbook_beside
from treasury.report.pictures import month_figures
from treasury.report.report_page import render_html

EVIDENCE: Final = "evidence.json"
LEDGER: Final = "inputs/ledger.csv"
BOOKS: Final = "inputs/books.csv"
LEDGER_ACCOUNTS: Final = "inputs/accounts.toml"
ATTACHED: Final = "attachments/"
LARGEST_EVIDENCE: Final = 16 << 20
"""Maximum size of the evidence file in bytes."""
_APART: Final = (".png", ".pdf", ".ipynb")


FileContent = Callable[[str], bytes | None]
"""Returns the bytes of an attached file by its SHA-256, or None if two people removed them."""


def write_files(closing: Closing, folder: Path, content: FileContent = lambda _: None) -> Evidence:
    """Write everything except the evidence into the empty `folder`; return the evidence.

    `content` returns the bytes of attached files. The evidence still lacks the hashes of the files.
    Raises InputError if the answer has no basis.
    """
    basis = closing.r.basis
    if basis is None or basis.snapshot.commit is None:
        raise InputError(
            "this answer does not contain its basis", do="close a month of a workspace"
        )
    (folder / "tables").mkdir()
    _write_attached(closing, folder, content)
    # DuckDB and Arrow work in the background while figures are drawn; the inputs are written first.
    with ThreadPoolExecutor(1) as beside:
        inputs = beside.submit(write_inputs, basis, folder / "inputs")
        booked = beside.submit(_write_books, closing, folder)
        with workbook_beside(closing, folder / "close.xlsx"):
            drawn = month_figures(closing)
            (folder / "report.html").write_text(render_html(closing, drawn), "utf-8", newline="\n")
            figures = folder / "figures"
            figures.mkdir()
            for name, figure in drawn.items():
                (figures / f"{name}.svg").write_bytes(figure.svg)
                (figures / f"{name}.png").write_bytes(figure_png(figure.figure))
            words = {name: figure.words for name, figure in drawn.items()}
            (figures / "words.json").write_bytes(
                msgspec.json.format(msgspec.json.encode(words, order="sorted"), indent=2) + b"\n"
            )
            tables = answer_tables(closing)
            for name, table in tables.items():
                write_table(table, folder / "tables" / f"{name}.parquet")
                if is_long(table):
                    path = folder / "tables" / f"{name}.csv"
                    with path.open("w", encoding="utf-8", newline="") as file:
                        write_csv_table(file, table)
            further = {name: table for name, table in tables.items() if name not in TABLES}
            hashes = (*closing.fingerprints, *table_marks(further), *booked.result())
            return _evidence(closing, folder, basis.snapshot.commit, hashes, inputs.result())


def _write_attached(closing: Closing, folder: Path, content: FileContent) -> None:
    """Write the bytes of the attached files; their names are made of hash and kind alone."""
    for row in closing.rolled.attachments.arrow.to_pylist():
        path = folder / pack_name(row)
        stored = None if row["state"] == "removed" else content(row["sha256"])
        if stored is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(stored)


def _write_books(closing: Closing, folder: Path) -> tuple[Fingerprint, ...]:
    """Write the CSV journal, the Beancount file and the postings; return the postings' hash."""
    books = accounting(
        closing.r, closing.zone, closing.rolled.corrections.arrow, closing.coin_books
    )
    write_csv(books, folder / "journal.csv")
    write_beancount(books, folder / "month.beancount")
    write_table(books.postings.arrow, folder / "tables" / "postings.parquet")
    return table_marks({"postings": books.postings.arrow})


def write_evidence(evidence: Evidence, folder: Path) -> str:
    """Write the evidence with the hashes of all files in `folder`; return its seal."""
    hashes = file_hashes(folder)
    whole = msgspec.structs.replace(
        evidence,
        files={name: digest for name, digest in hashes.items() if not is_apart(name)},
        apart={name: digest for name, digest in hashes.items() if is_apart(name)},
    )
    sealed = whole.sealed()
    (folder / EVIDENCE).write_bytes(encode(sealed))
    return sealed.seal


def named_files(folder: Path) -> set[str]:
    """Return the files named by the evidence in a folder; none if it is missing or invalid."""
    try:
        with open_regular(folder / EVIDENCE, follow=False) as file:
            evidence = decode_json(file.read(LARGEST_EVIDENCE), Evidence)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return set()
    return {*evidence.files, *evidence.apart}


def is_apart(name: str) -> bool:
    """Return True for a file whose bytes may differ when it is made again."""
    return name.endswith(_APART) and not name.startswith(ATTACHED)


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of every file in the folder except the evidence, by relative path."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in paths}
    return {name: _hash(path) for name, path in names.items() if name != EVIDENCE}


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _evidence(
    closing: Closing,
    folder: Path,
    commit: Commit,
    hashes: tuple[Fingerprint, ...],
    inputs: dict[str, int],
) -> Evidence:
    """Return the evidence without file hashes; write a given ledger into `folder`."""
    r = closing.r
    # The evidence needs the commit that the basis names.
    assert r.basis is not None
    question = r.basis.question
    ledger = closing.ledger_file
    ledger_names = None
    if ledger is not None:
        ledger_names = {"file_name": ledger.file_name, "sha256": ledger.sha256}
        if ledger.file_name:
            (folder / LEDGER).write_text(ledger.content, "utf-8", newline="")
        if ledger.books is not None:
            (folder / BOOKS).write_text(ledger.books.content, "utf-8", newline="")
            ledger_names["books_file_name"] = ledger.books.file_name
            ledger_names["books_sha256"] = ledger.books.sha256
        if ledger.mapping:
            (folder / LEDGER_ACCOUNTS).write_text(ledger.mapping, "utf-8", newline="")
    return Evidence(
        month=str(r.month),
        company=r.company,
        environment=r.environment,
        time_zone=closing.zone.key,
        as_of=r.as_of,
        known_at=r.known_at,
        accounts=question.accounts,
        lake=LakeState(commit=commit.number, at=commit.at, versions=commit.versions),
        journal=closing.rolled.head,
        journal_problem=closing.rolled.journal_problem,
        decisions=closing.rolled.decisions,
        rules_hash=question.rules.hash,
        rules=msgspec.to_builtins(question.rules),
        period=closing.period,
        preparation=closing.preparation,
        agreed_to=closing.rolled.agreed_to,
        bank_files=_bank_files(closing),
        ledger=ledger_names,
        answer=hashes,
        inputs=inputs,
        code=code_of(),
        files={},
        uses_services=question.uses_services,
    )


def _bank_files(closing: Closing) -> dict[str, str]:
    """Return the SHA-256 of each bank file behind the month's statements, by its name."""
    assert closing.r.basis is not None
    with closing.r.basis.snapshot.connection() as connection:
        files = connection.execute(
            "SELECT DISTINCT file_name, file_sha256 FROM statements"
            " WHERE vanished_at IS NULL AND file_name IS NOT NULL"
            " AND coalesce(closing_date, to_date) >= $first"
            " AND coalesce(opening_date, from_date) <= $last"
            " ORDER BY file_name, file_sha256",
            {"first": closing.r.month.previous.last, "last": closing.r.month.last},
        ).fetchall()
    return {name: digest or "" for name, digest in files}
