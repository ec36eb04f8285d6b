"""Reads camt.052, .053 and .054 of any version, entry by entry, in memory that does not grow.

Each row's `raw` is its entry as XML with only that row's detail in it. An entry is serialised once,
its values are picked by the shape of its tags (`shape`), and the rules of `entries` make rows of
them. The element is then dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from typing import Final

import msgspec
import pyarrow as pa

from treasury.errors import InputError, StatementError
from treasury.statements import camt_paths
from treasury.statements.camt_statement import CamtStatement
from treasury.statements.identity import Ordinals
from treasury.statements.rows import EntryRow, Problem, StatementRow, entry_batch
from treasury.statements.shape import Reader
from treasury.statements.xml import Element, Pull, Source, local_name, serialise

__all__ = ["CamtFile"]

_FORMATS: Final = {"Stmt": "camt.053", "Rpt": "camt.052", "Ntfctn": "camt.054"}
_MESSAGES: Final = {
    "BkToCstmrStmt": "camt.053",
    "BkToCstmrAcctRpt": "camt.052",
    "BkToCstmrDbtCdtNtfctn": "camt.054",
}
_MESSAGE: Final = "BkToCstmr"

_BATCH: Final = 1024
_KEPT_DETAILS: Final = 256
_MOST_DETAILS: Final = 100_000
_MOST_STATEMENTS: Final = 50_000
_MOST_PROBLEMS: Final = 1000


class CamtFile:
    """One file being read: exhaust `batches()`, then `statements`, `problems`, `format` hold.

    The same bytes give the same rows. StatementError where the file is refused as a whole; an entry
    that cannot be read is a problem and keeps its statement from being proved.
    """

    def __init__(self, source: Source, file_name: str) -> None:
        self.file_name = file_name
        self.format = ""
        self.statements: tuple[StatementRow, ...] = ()
        self.problems: list[Problem] = []
        self._source = _Hashing(source)
        self._reader = Reader(camt_paths.ENTRY)
        self._message_id: str | None = None
        self._ids = Ordinals()
        self._places: Counter[str] = Counter()
        self._container: Element | None = None
        self._statement: CamtStatement | None = None
        self._entries = 0
        self._details = _Details(file_name)
        self._done: list[StatementRow] = []
        self._used: Element | None = None

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, once they are all read."""
        return self._source.digest.hexdigest()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows of `statement_entries`, some thousands at a time, in the file's order."""
        rows: list[EntryRow] = []
        pull = Pull(self._source, self.file_name, ("GrpHdr", "Ntry", "TxDtls", *_FORMATS))
        for element in pull:
            if self._take(element, rows):
                pull.used()
            if len(rows) >= _BATCH:
                yield entry_batch(rows)
                rows = []
        self._finish(pull.root)
        if rows:
            yield entry_batch(rows)

    def _take(self, element: Element, rows: list[EntryRow]) -> bool:
        """Use a finished element; False where it stands in a place without a meaning."""
        name = local_name(element)
        if name == "TxDtls":
            return self._details.count(element)
        if name == "Ntry":
            return self._take_entry(element, rows)
        if name == "GrpHdr":
            self._message_id = element.findtext("{*}MsgId") or None
            return False
        return self._take_statement(element, name)

    def _take_entry(self, element: Element, rows: list[EntryRow]) -> bool:
        container = element.getparent()
        if container is None or not (container is self._container or _is_statement(container)):
            return False
        statement = self._statement_of(container)
        self._entries += 1
        position = f"Ntry[{self._entries}]"
        raws = self._details.split(element)
        try:
            rows.extend(statement.entry_rows(self._reader, raws, position))
        except InputError as error:
            statement.lost(position, error.what, element.sourceline)
        self._drop(element)
        return True

    def _take_statement(self, element: Element, name: str) -> bool:
        if not _is_statement(element):
            return False
        statement = self._statement_of(element)
        self._done.append(statement.finish(element))
        self.problems += statement.problems[: _MOST_PROBLEMS - len(self.problems)]
        if len(self._done) > _MOST_STATEMENTS:
            raise StatementError(
                f"{self.file_name}: more than {_MOST_STATEMENTS} statements in one file",
                do="ask the bank for smaller files; nothing of it was stored",
            )
        self.format = self.format or _FORMATS[name]
        self._container = self._statement = None
        self._drop(element)
        return True

    def _statement_of(self, container: Element) -> CamtStatement:
        if self._statement is None or container is not self._container:
            name = local_name(container)
            self._places[name] += 1
            self._container = container
            self._entries = 0
            self._statement = CamtStatement(
                container,
                f"{name}[{self._places[name]}]",
                self.file_name,
                self._message_id,
                self._ids,
            )
        return self._statement

    def _drop(self, element: Element) -> None:
        """Free the element used before; the parser may still be at the end of this one."""
        used = self._used
        parent = used.getparent() if used is not None else None
        if used is not None and parent is not None:
            parent.remove(used)
        self._used = element

    def _finish(self, root: Element) -> None:
        found = {self.format, *(_format_of(e) for e in (root, *root))} - {""}
        if not found:
            raise StatementError(
                f"{self.file_name}: XML, but not a bank statement (camt.052, .053 or .054)",
                do="give a statement as the bank sends it",
            )
        self.format = self.format or found.pop()
        self.statements = tuple(
            msgspec.structs.replace(row, file_sha256=self.sha256) for row in self._done
        )
        if not self._done:
            self.problems.append(Problem(self.file_name, "", "there is no statement in the file"))


class _Details:
    """The transaction details of the entry being read.

    Almost every entry has one, and its XML is that of the entry. A batch has many: they are taken
    out of the tree as they come, and each is put back alone into the entry's text at the end.
    """

    def __init__(self, file_name: str) -> None:
        self._file_name = file_name
        self._count = 0
        self._taken: list[str] = []

    def count(self, detail: Element) -> bool:
        """Note a finished detail; True where that freed memory."""
        self._count += 1
        if self._count % _KEPT_DETAILS:
            return False
        entry = next(detail.iterancestors("{*}Ntry"), None)
        if entry is None or not _is_statement(entry.getparent()):
            return False
        self._take(entry, up_to=detail)
        if len(self._taken) > _MOST_DETAILS:
            raise StatementError(
                f"{self._file_name}: more than {_MOST_DETAILS} details in one entry",
                do="ask the bank to split the batch; nothing of it was stored",
            )
        return True

    def split(self, entry: Element) -> list[str]:
        """The entry's XML once for each of its details, with only that one in it."""
        count, self._count = self._count, 0
        if count <= 1:
            return [serialise(entry)]
        mark = self._take(entry, up_to=None)
        taken, self._taken = self._taken, []
        if mark is None:
            return [serialise(entry)]
        before, _, after = serialise(entry).partition(_mark_text(mark))
        return [f"{before}{detail}{after}" for detail in taken]

    def _take(self, entry: Element, up_to: Element | None) -> Element | None:
        """Take the details before `up_to` out; the first stays, empty, to mark the place."""
        found = [*entry.iterfind("{*}NtryDtls/{*}TxDtls"), *entry.iterfind("{*}TxDtls")]
        mark = found[0] if found else None
        fresh = found[1:] if self._taken else found
        for detail in fresh:
            if detail is up_to:
                break  # what follows may not have been read to its end
            self._taken.append(serialise(detail))
            parent = detail.getparent()
            if detail is mark or parent is None:
                detail.clear()
            else:
                parent.remove(detail)
        return mark


class _Hashing:
    """A file that hashes what is read of it."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.digest = sha256()

    def read(self, size: int, /) -> bytes:
        chunk = self._source.read(size)
        self.digest.update(chunk)
        return chunk


def _mark_text(mark: Element) -> str:
    return f"<{mark.prefix}:TxDtls/>" if mark.prefix else "<TxDtls/>"


def _is_statement(element: Element | None) -> bool:
    if element is None or local_name(element) not in _FORMATS:
        return False
    parent = element.getparent()
    return parent is not None and local_name(parent).startswith(_MESSAGE)


def _format_of(element: Element) -> str:
    """The format that a message element, or the namespace of the document, says it is."""
    by_name = next((f for m, f in _MESSAGES.items() if local_name(element).startswith(m)), "")
    space = str(element.tag).partition("}")[0]
    return by_name or next((f for f in _FORMATS.values() if f in space), "")
