"""Reader of MT940 and MT942, statement by statement.

A statement may span several messages, its pages: each page after the first opens with the interim
balance (60M) with which the previous page ends (62M). MT942 has no balances and is never proved.
Its movements are pending until a statement has them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

import msgspec
import pyarrow as pa

from treasury.core.errors import InputError
from treasury.core.identifiers import is_iban
from treasury.statements.balance_proof import StatementBalance
from treasury.statements.byte_stream import ByteSource
from treasury.statements.entry_rows import BATCH, column_batch
from treasury.statements.field_values import account_number, count_in, own_account, reference
from treasury.statements.mt.mt_details import Columns
from treasury.statements.mt.mt_rows import movement_columns
from treasury.statements.mt.mt_tags import END, ENVELOPE, MtField, MtFields, MtMovements
from treasury.statements.mt.mt_values import balance_of, with_currency
from treasury.statements.statement_draft import BankFile, StatementDraft, StatementHead

_BALANCES: Final = {
    "60F": "OPBD", "60M": "ITBD", "62F": "CLBD", "62M": "ITBD", "64": "CLAV", "65": "FWAV",
}  # fmt: skip
_MOST_HEAD: Final = 1 << 18


class _Block(msgspec.Struct):
    """A message being read, with its fields other than movements."""

    line: int
    tags: dict[str, str] = {}
    texts: list[str] = []
    size: int = 0
    balances: list[StatementBalance] = []
    bic: str | None = None
    is_interim_report: bool = False
    draft: StatementDraft | None = None
    ended_by: str = ""
    closing: StatementBalance | None = None


class MtFile(BankFile):
    """One MT940 or MT942 file being read; `accounts` are the declared ones."""

    format = "MT940"

    def __init__(self, source: ByteSource, file_name: str, accounts: Collection[str] = ()) -> None:
        super().__init__(source, file_name)
        self._accounts = accounts
        self._columns: list[Columns] = []
        self._held = 0
        self._block: _Block | None = None
        self._page: _Block | None = None
        self._envelope: dict[str, str] = {}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of `statement_entries` in batches, in the file's order."""
        fields = MtFields(self._source, self.file_name)
        for field in fields:
            if isinstance(field, MtMovements):
                block = self._block or self._begin(field.lines[0])
                if block.draft is None and self._page is not None:
                    self._finish_page()
                columns = movement_columns(self._draft(block), field)
                if columns:
                    self._columns.append(columns)
                    self._held += len(columns["amount"])
            else:
                self._take(field)
            if self._held >= BATCH:
                yield self._batch()
        self._close()
        self._finish_page()
        if self._held:
            yield self._batch()
        self.end()
        if self.statements:
            self.format = self.statements[0].format
        text = fields.text
        if text.odd_lines:
            self.note(f"{text.odd_lines} lines are not UTF-8; read as {text.encoding.title()}")

    def _batch(self) -> pa.RecordBatch:
        columns, self._columns, self._held = self._columns, [], 0
        return column_batch(columns)

    def _take(self, field: MtField) -> None:
        if field.tag == END:
            self._close()
            return
        if field.tag == ENVELOPE:
            for matched in filter(None, (_FROM_US.search(field.text), _TO_US.search(field.text))):
                self._envelope["bic"] = matched[1][:8] + matched[1][9:12].replace("XXX", "")
            if kind := _TYPE.search(field.text):
                self._envelope["type"] = kind[1]
            return
        tag = _TAG_VARIANTS.get(field.tag, field.tag)
        if tag in {"940", "942"}:
            self._close()
            self._envelope["type"] = tag
            return
        block = self._block
        if block is None or tag == "20" or (tag in _ONCE and (tag in block.tags or block.ended_by)):
            self._close()
            block = self._begin(field.line)
        block.tags[tag] = field.text
        block.size += len(field.text)
        if block.size <= _MOST_HEAD:
            block.texts.append(f":{field.tag}:{field.text}")
        if tag in _INTERIM:
            block.is_interim_report = True
        code = _BALANCES.get(tag[:2] if tag.startswith("65") else tag)
        if code is not None:
            self._take_balance(block, tag, code, field)

    def _begin(self, line: int) -> _Block:
        self._block = _Block(
            line,
            bic=self._envelope.get("bic"),
            is_interim_report=self._envelope.get("type") == "942",
        )
        return self._block

    def _take_balance(self, block: _Block, tag: str, code: str, field: MtField) -> None:
        currency = block.balances[0].currency if block.balances else None
        try:
            balance, is_guessed = balance_of(field.text, code, currency)
        except InputError as error:
            problem = f"balance not read: {error.what}"
            self._draft(block).problem(f":{tag}:", problem, field.line)
            return
        if is_guessed:
            problem = f"the balance has no currency; {currency} as above"
            self._draft(block).problem(f":{tag}:", problem)
        if tag == "60M" and self._goes_on(block, balance):
            return
        block.balances.append(balance)
        if tag in {"62F", "62M"}:
            block.ended_by, block.closing = tag, balance
        if block.draft is not None:
            block.draft.balances.append(balance)

    def _goes_on(self, block: _Block, opening: StatementBalance) -> bool:
        """If this message is the next page of the one before, append it and return true."""
        page = self._page
        if page is None or page.closing is None:
            return False
        is_same_account = page.tags.get("25") == block.tags.get("25")
        before, after = _number(page), _number(block)
        follows = before[0] == after[0] and after[1] == before[1] + 1
        if not (is_same_account and follows and page.closing.amount == opening.amount):
            return False
        page.texts += block.texts
        page.tags["28"] = block.tags.get("28", "")
        page.ended_by, page.closing = "", None
        self._block, self._page = page, None
        return True

    def _draft(self, block: _Block) -> StatementDraft:
        if block.draft is None:
            block.draft = StatementDraft(_head(block, self.file_name, self._accounts), self._ids)
        return block.draft

    def _close(self) -> None:
        """End the message; its statement stays open if it ends with an interim balance."""
        block, self._block = self._block, None
        if block is None:
            return
        self._finish_page()
        if block.ended_by == "62M":
            self._page = block
        else:
            self._finish_block(block)

    def _finish_page(self) -> None:
        page, self._page = self._page, None
        if page is not None:
            self._finish_block(page)

    def _finish_block(self, block: _Block) -> None:
        if not (block.draft or block.balances or "25" in block.tags):
            # A file may be cut off at the beginning of a message.
            return
        draft = self._draft(block)
        # Some interim reports state the bank's own sums.
        for tag, direction in (("90C", "CRDT"), ("90D", "DBIT")):
            matched = _COUNTED.match(block.tags.get(tag, ""))
            if matched is None:
                continue
            stated, _ = with_currency(matched[3])
            read = draft.pending[direction]
            if stated is not None and stated != read:
                draft.note(f":{tag}:", f"the bank states {stated:f}, the movements are {read:f}")
        self.complete(draft.finish("\n".join(block.texts)), draft)


_ONCE: Final = frozenset({"25", "28", "60F", "60M"})
_TAG_VARIANTS: Final = {"25P": "25", "28C": "28"}
_INTERIM: Final = frozenset({"34F", "13", "13C", "13D", "90C", "90D"})
_FROM_US: Final = re.compile(r"\{1:F\d\d([A-Z0-9]{8,12})")
_TO_US: Final = re.compile(r"\{2:O94\d\d{10}([A-Z0-9]{8,12})")
_TYPE: Final = re.compile(r"\{2:[IO](94[02])")


def _head(block: _Block, file_name: str, accounts: Collection[str]) -> StatementHead:
    tags = block.tags
    number, page = _number(block)
    floor = tags.get("34F", "").strip()[:3]
    currency = floor if floor.isalpha() else None
    if block.balances:
        currency = block.balances[0].currency
    account = own_account(_account(tags.get("25", "").partition("\n")[0], currency), accounts)
    is_report = block.is_interim_report and not {"60F", "60M"} & tags.keys()
    text = tags.get("NS", "")
    return StatementHead(
        file_name=file_name,
        format="MT942" if is_report else "MT940",
        place=f"line {block.line}",
        message_id=reference(tags.get("20", "").strip()) or None,
        bank_statement_id=tags.get("28", "").strip() or None,
        sequence_number=number or None,
        account=account or None,
        account_name=next(
            (line[2:].strip() for line in text.split("\n") if line[:2] == "22"), None
        ),
        servicer_bic=block.bic,
        currency=currency,
        balances=tuple(block.balances),
        told_apart_by=("MT942" if is_report else "MT940", tags.get("13D"), page),
    )


def _account(text: str, currency: str | None) -> str:
    """Return the IBAN in a text with a BIC or currency, else the account without its currency."""
    account = account_number(text)
    for part in account.split("/"):
        for number in (part, part.removesuffix(currency or "")):
            if is_iban(number):
                return number
    bare = account.removesuffix(currency or "")
    return bare if bare[-1:].isdigit() or (len(account) > 18 and account[:2].isalpha()) else account


def _number(block: _Block) -> tuple[int, int]:
    """Return the statement number and the page number; 0 if they are missing."""
    number, _, page = block.tags.get("28", "").strip().partition("/")
    return count_in(number) or 0, count_in(page) or 0


_COUNTED: Final = re.compile(r"\s*(\d{1,5})\s*([A-Z]{3})\s*([0-9.,]+)", re.ASCII)
