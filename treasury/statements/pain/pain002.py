"""Reader of payment status reports, the answers of banks to payment files: pain.002, any version.

A report names the payment file, and states a status of the whole file, of batches, or of payments.
Each stated status becomes a row; no row moves money.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from treasury.core.errors import InputError, StatementError
from treasury.statements.arrow_columns import column
from treasury.statements.byte_stream import ByteSource
from treasury.statements.camt.bank_xml import Cut, Piece
from treasury.statements.camt.element_shapes import ElementValues, Reader
from treasury.statements.entry_identity import Ordinals, content_id
from treasury.statements.entry_rows import Problem
from treasury.statements.field_values import (
    account_number,
    amount_in_xml,
    day,
    instant,
    reference,
)
from treasury.statements.pain.status_codes import STATUSES
from treasury.statements.pain.status_tables import PAYMENT_STATUSES
from treasury.statements.statement_draft import MOST_PROBLEMS, BankFile

FORMAT: Final = "pain.002"
_REPORT: Final = "CstmrPmtStsRpt"
_BATCH: Final = "OrgnlPmtInfAndSts"
_ORIGINAL: Final = "OrgnlGrpInfAndSts"
_MOST_STATUSES: Final = 1_000_000
_COLUMNS: Final = PAYMENT_STATUSES.row_schema.names
_IDENTITY: Final = (
    "message_id", "created_at", "level", "original_message_id", "original_batch_id",
    "original_end_to_end_id", "original_instruction_id", "status",
)  # fmt: skip
"""Columns that identify a status, besides its reasons."""
_REASONS: Final = {
    "StsRsnInf/Rsn/Cd": "reasons*",
    "StsRsnInf/Rsn/Prtry": "reasons*",
    "StsRsnInf/AddtlInf": "details*",
}
_HEAD: Final = Reader({"MsgId": ".message_id", "CreDtTm": ".created_at"})
_FILE: Final = Reader({"OrgnlMsgId": ".original_message_id", "GrpSts": ".status", **_REASONS})
_BATCH_PART: Final = Reader(
    {"": ".text", **{path.removeprefix("StsRsnInf/"): name for path, name in _REASONS.items()}}
)
_TRANSACTION: Final = "OrgnlTxRef"
_PAYMENT: Final = Reader(
    {
        "OrgnlEndToEndId": ".original_end_to_end_id",
        "OrgnlInstrId": ".original_instruction_id",
        "TxSts": ".status",
        "AcctSvcrRef": ".account_servicer_reference",
        **_REASONS,
        f"{_TRANSACTION}/Amt/InstdAmt": ".amount",
        f"{_TRANSACTION}/ReqdExctnDt": ".execution_date",
        f"{_TRANSACTION}/ReqdExctnDt/Dt": ".execution_date",
        f"{_TRANSACTION}/ReqdExctnDt/DtTm": ".execution_date",
        f"{_TRANSACTION}/Cdtr/Nm": ".creditor_name",
        f"{_TRANSACTION}/Cdtr/Pty/Nm": ".creditor_name",
        f"{_TRANSACTION}/CdtrAcct/Id/IBAN": ".creditor_account",
        f"{_TRANSACTION}/CdtrAcct/Id/Othr/Id": ".creditor_account",
    }
)


def looks_like_status_report(head: bytes) -> bool:
    """Return whether an XML file begins like a payment status report, in any encoding."""
    return _REPORT.encode() in head.replace(b"\0", b"").partition(b"GrpHdr")[0]


class StatusReportFile(BankFile):
    """One report being read, with a `status_table` in place of statements and entries."""

    format = FORMAT

    def __init__(self, source: ByteSource, file_name: str) -> None:
        super().__init__(source, file_name)
        self._statuses: list[tuple[Any, ...]] = []
        self._ordinals = Ordinals()
        self._head: dict[str, str] = {}
        self._original: dict[str, str] = {}
        self._batch: dict[str, Any] = {}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read all statuses; yield no rows, because a report has no entries."""
        cut = Cut(
            self._source,
            self.file_name,
            lambda name, parent: name == _BATCH and parent == _REPORT,
            entry="TxInfAndSts",
            detail="StsRsnInf",
            outside=("GrpHdr", _ORIGINAL),
        )
        for piece in cut:
            if piece.kind == "document":
                self._end_document(cut)
            elif piece.kind == "outside":
                self._outside(piece, cut.line)
            else:
                self._inside(piece, cut.line)
        self._end_document(cut)
        if not self._statuses:
            self.note("there is no status in the report")
        yield from ()

    def _end_document(self, cut: Cut) -> None:
        """Refuse a document that is not a report or names no payment file."""
        if not cut.roots:
            # No document was read before this one.
            return
        if self._original.get("original_message_id"):
            self._head, self._original, self._batch = {}, {}, {}
            return
        if _REPORT in cut.roots:
            problem = "a payment status report that names no payment file"
            step = "fetch the file from the bank again; the file was not stored"
        else:
            problem = "a document in it is not a payment status report"
            step = "cut the file where that document begins, and add both parts; nothing was stored"
        raise StatementError(f"{self.file_name}: {problem}", do=step)

    def status_table(self) -> pa.Table:
        """Return the statuses with the columns of `payment_statuses` and `raw`."""
        schema, rows = PAYMENT_STATUSES.row_schema, self._statuses
        columns = [column([row[at] for row in rows], field.type) for at, field in enumerate(schema)]
        table = pa.table(columns, schema=schema)
        place = schema.get_field_index("file_sha256")
        return table.set_column(place, "file_sha256", pa.repeat(self.sha256, len(rows)))

    def _outside(self, piece: Piece, line: int) -> None:
        if piece.name == "GrpHdr":
            self._head = _HEAD.read(piece.text).working
            return
        values = _FILE.read(piece.text)
        self._original = values.working
        self._state("file", values, piece.text, line)

    def _inside(self, piece: Piece, line: int) -> None:
        """Read a piece of a batch; the batch's status is complete after its last piece."""
        batch = self._batch
        match piece.kind, piece.name:
            case "begin", _:
                self._batch = {"payments": 0, "reasons": [], "details": []}
            case "part", "OrgnlPmtInfId" | "PmtInfSts":
                batch[piece.name] = _BATCH_PART.read(piece.text).working.get("text")
            case "part", "StsRsnInf":
                for name, texts in _BATCH_PART.read(piece.text).lists.items():
                    batch[name] += texts
            case "entry", _:
                batch["payments"] += 1
                self._payment(piece.text, f"{_BATCH}/TxInfAndSts[{batch['payments']}]", line)
            case "end", _:
                lists = {name: batch[name] for name in ("reasons", "details")}
                status = self._status_above() if batch["reasons"] else batch.get("PmtInfSts") or ""
                self._state("batch", ElementValues({}, {"status": status}, lists), "", line)

    def _payment(self, text: str, position: str, line: int) -> None:
        values = _PAYMENT.read(text)
        try:
            if not values.working.get("status"):
                if not values.lists.get("reasons") or not self._status_above():
                    raise InputError("a payment without a status")
                values.working["status"] = self._status_above()
            self._state("payment", values, text, line)
        except InputError as error:
            self.lost_count += 1
            self._problem(position, f"status not read: {error.what}", line)

    def _status_above(self) -> str:
        """Return the status of the batch, or else of the file, for reasons without a status."""
        return self._batch.get("PmtInfSts") or self._original.get("status") or ""

    def _problem(self, position: str, what: str, line: int) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(self.file_name, position, what, line))

    def _state(self, level: str, values: ElementValues, raw: str, line: int) -> None:
        stated = values.working
        code = stated.get("status", "").upper()
        if not code:
            return
        if code not in STATUSES:
            self._problem(level, f"status {code[:20]} is not known, and decides nothing", line)
        row: dict[str, Any] = {
            "message_id": self._head.get("message_id"),
            "created_at": instant(self._head.get("created_at")),
            "level": level,
            "original_message_id": self._original.get("original_message_id"),
            "original_batch_id": self._batch.get("OrgnlPmtInfId"),
            "original_end_to_end_id": reference(stated.get("original_end_to_end_id")),
            "original_instruction_id": stated.get("original_instruction_id"),
            "status": code,
            "reasons": tuple(text.upper() for text in values.lists.get("reasons", ())),
            "details": tuple(values.lists.get("details", ())),
            "amount": amount_in_xml(stated["amount"]) if "amount" in stated else None,
            "currency": stated.get("amount_currency"),
            "execution_date": day(stated["execution_date"]) if "execution_date" in stated else None,
            "creditor_name": stated.get("creditor_name"),
            "creditor_account": account_number(stated.get("creditor_account", "")) or None,
            "account_servicer_reference": stated.get("account_servicer_reference"),
            "file_name": self.file_name,
            "raw": raw,
        }
        key = content_id((*map(row.get, _IDENTITY), *row["reasons"]))
        ordinal = self._ordinals.next(int(key[:16], 16))
        row["status_id"] = content_id((key, ordinal)) if ordinal else key
        self._statuses.append(tuple(map(row.get, _COLUMNS)))
        if len(self._statuses) > _MOST_STATUSES:
            raise StatementError(
                f"{self.file_name}: more than {_MOST_STATUSES:,} statuses in one file",
                do="ask the bank for smaller reports; the file was not stored",
            )
