"""Reader of camt.052, .053 and .054 of any version, one entry at a time in bounded memory.

`raw` of each row is the XML of its entry with only that row's details. An entry is extracted once,
`element_shapes` locates its values by the sequence of its tags, and `camt_entries` converts them to
rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Final

import pyarrow as pa

from treasury.core.errors import InputError, StatementError
from treasury.statements.byte_stream import ByteSource, UnknownFormat
from treasury.statements.camt import camt_paths
from treasury.statements.camt.bank_xml import Cut
from treasury.statements.camt.camt_statement import CamtStatement, EntryXml
from treasury.statements.camt.element_shapes import Reader
from treasury.statements.entry_rows import EntryRow, entry_batches
from treasury.statements.field_values import instant
from treasury.statements.statement_draft import BankFile

_FORMATS: Final = {"Stmt": "camt.053", "Rpt": "camt.052", "Ntfctn": "camt.054"}
_MESSAGES: Final = {
    "BkToCstmrStmt": "camt.053",
    "BkToCstmrAcctRpt": "camt.052",
    "BkToCstmrDbtCdtNtfctn": "camt.054",
}
_MESSAGE: Final = "BkToCstmr"

_MOST_DETAILS: Final = 100_000


class CamtFile(BankFile):
    """One camt file being read; `accounts` are the company's declared accounts."""

    def __init__(self, source: ByteSource, file_name: str, accounts: Collection[str] = ()) -> None:
        super().__init__(source, file_name)
        self._reader = Reader(camt_paths.ENTRY)
        self._group = Reader(camt_paths.GROUP)
        self._message: dict[str, str] = {}
        self._documents = 0
        self._has_statement = False
        self._places: Counter[str] = Counter()
        self._accounts = accounts

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `statement_entries` in batches, in the file's order."""
        return entry_batches(self._rows())

    def _rows(self) -> Iterator[EntryRow]:
        cut = Cut(
            self._source,
            self.file_name,
            lambda name, parent: name in _FORMATS and parent.startswith(_MESSAGE),
            entry="Ntry",
            detail="TxDtls",
            outside=("GrpHdr",),
        )
        statement: CamtStatement | None = None
        entries = 0
        for piece in cut:
            if piece.kind == "entry" and statement is not None:
                entries += 1
                position = f"Ntry[{entries}]"
                try:
                    yield from statement.entry_rows(self._reader, self._split(piece.text), position)
                except StatementError:
                    raise
                except InputError as error:
                    statement.draft.lost(position, error.what, cut.line)
            elif piece.kind == "part" and statement is not None:
                statement.parts.append((piece.name, piece.text))
            elif piece.kind == "begin":
                statement, entries = self._begin(piece.name), 0
                self._has_statement = True
            elif piece.kind == "end" and statement is not None:
                self.complete(statement.finish(), statement.draft)
                self.format = self.format or _FORMATS[piece.name]
            elif piece.kind == "outside":
                self._message = self._group.read(piece.text).working
            elif piece.kind == "document":
                self._end_document(cut)
        self._end_document(cut, is_last=True)
        self.end()

    def _begin(self, name: str) -> CamtStatement:
        self._places[name] += 1
        place = f"{name}[{self._places[name]}]"
        return CamtStatement(
            name,
            place,
            _FORMATS[name],
            self.file_name,
            self._message.get("message_id"),
            instant(self._message.get("created_at")),
            self._accounts,
            self._ids,
        )

    def _end_document(self, cut: Cut, *, is_last: bool = False) -> None:
        """Record the format of the first document; refuse a document that is not a statement."""
        self._message = {}
        if not cut.roots:
            # No document was read before this one.
            return
        self._documents += 1
        formats = {
            form
            for message, form in _MESSAGES.items()
            if any(name.startswith(message) for name in cut.roots)
        }
        formats |= {f for f in _FORMATS.values() if any(f in space for space in cut.spaces)}
        self.format = self.format or min(formats, default="")
        if formats or self._has_statement:
            self._has_statement = False
            return
        if is_last and self._documents == 1:
            raise UnknownFormat(
                f"{self.file_name}: XML, but not a bank statement (camt.052, .053 or .054)",
                do="give a statement as the bank sends it",
            )
        raise StatementError(
            f"{self.file_name}: document {self._documents} in it is not a bank statement (camt.052,"
            " .053 or .054)",
            do="cut the file where that document begins, and add both parts; nothing was stored",
        )

    def _split(self, entry: str) -> EntryXml:
        """Return the entry's XML, and for each detail the same XML without the other details."""
        if entry.count("TxDtls>") <= 2:
            return EntryXml(entry, [entry])
        around, groups = _cut_out(entry, _GROUP) if entry.count("NtryDtls>") > 2 else ([], [])
        if len(groups) <= 1:
            return EntryXml(entry, self._details(entry))
        # An entry may have several groups of details, each a batch with its own ids.
        after = "".join(around[1:])
        details = [part for group in groups for part in self._details(f"{around[0]}{group}{after}")]
        return EntryXml(entry, details)

    def _details(self, entry: str) -> list[str]:
        around, details = _cut_out(entry, _DETAIL)
        if len(details) > _MOST_DETAILS:
            raise StatementError(
                f"{self.file_name}: more than {_MOST_DETAILS} details in one entry",
                do="ask the bank to split the batch; the file was not stored",
            )
        if len(details) <= 1:
            return [entry]
        between = (text for text in around[1:-1] if text.strip())
        after = "".join((*between, around[-1]))
        return [f"{around[0]}{detail}{after}" for detail in details]


def _tags(name: str) -> re.Pattern[str]:
    return re.compile(rf"""<(/?)(?:[^\s/>"'=<:]+:)?{name}(?:\s(?:[^>"']|"[^"]*"|'[^']*')*|/)?>""")


_DETAIL: Final = _tags("TxDtls")
_GROUP: Final = _tags("NtryDtls")


def _cut_out(text: str, tags: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Return the elements with these tags, and the texts before, between and after them."""
    elements: list[str] = []
    around: list[str] = []
    depth = behind = begin = 0
    for tag in tags.finditer(text):
        if not tag[1] and depth == 0:
            begin = tag.start()
            around.append(text[behind:begin])
        alone = tag[0].endswith("/>")
        depth += 0 if alone else -1 if tag[1] else 1
        if depth <= 0:
            depth, behind = 0, tag.end()
            elements.append(text[begin:behind])
    return [*around, text[behind:]], elements
