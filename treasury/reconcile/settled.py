"""What is settled of closed months: lines and requests that take part by what was decided.

    settled/settled.json, settled/lines-5f0c….arrow, …

After a question about an open month, what of the closed months needs nobody any more is kept beside
the lake, in families that shares, texts, returns and decisions tie together. The next question
leaves it out (`recall`) and takes up again every family that something unsettled may concern. It is
worked out of the records and can always be made again: where anything of it was changed since,
where the rules are others or a month was reopened, everything is matched.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from treasury import durable
from treasury.calendar import Month
from treasury.lake import AMOUNT, BOOL, DATE, INTEGER, TEXT, disk
from treasury.reconcile.matching import FEW

if TYPE_CHECKING:
    from treasury.journal.periods import Period
    from treasury.lake import Snapshot

__all__ = ["SCHEMAS", "Settled", "Settling", "families_of"]

WORD: Final = pa.dictionary(pa.int32(), TEXT)
"""Text that few rows have to themselves, read as places in a list of them."""
SCHEMAS: Final = {
    "settled_lines": pa.schema(
        [
            ("entry_id", TEXT),
            ("family", INTEGER),
            ("account", WORD),
            ("currency", WORD),
            ("direction", WORD),
            ("amount", AMOUNT),
            ("booking_date", DATE),
            ("counterparty_account", WORD),
            ("party", WORD),
            ("is_account", BOOL),
            ("reference", TEXT),
            ("brings_back", WORD),
            ("is_leg", BOOL),
            ("kind", WORD),
            ("tie", WORD),
            ("payer_since", DATE),
            ("expectation_id", TEXT),
        ]
    ),
    "settled_requests": pa.schema(
        [
            ("expectation_id", TEXT),
            ("family", INTEGER),
            ("code", TEXT),
            ("amount", AMOUNT),
            ("hash_digest", TEXT),
        ]
    ),
    "settled_lessons": pa.schema(
        [
            ("entry_id", TEXT),
            ("family", INTEGER),
            ("expectation_id", TEXT),
            ("booking_date", DATE),
            ("amount", AMOUNT),
            ("account", WORD),
            ("currency", WORD),
            ("direction", WORD),
            ("counterparty_account", WORD),
            ("counterparty_name", WORD),
            ("remittance", TEXT),
            ("owner_account", WORD),
            ("owner_name", WORD),
        ]
    ),
    "settled_accounts": pa.schema([("account", TEXT), ("family", INTEGER)]),
    "settled_sizes": pa.schema([("size", INTEGER), ("family", INTEGER)]),
    "settled_statements": pa.schema([("statement_id", TEXT), ("proof_state", TEXT)]),
    "settled_standing": pa.schema([("expectation_id", TEXT), ("terms", TEXT)]),
    "settled_verdicts": pa.schema([("entry_id", TEXT), ("terms", TEXT)]),
    "unsettled_lines": pa.schema([("id", TEXT)]),
    "unsettled_requests": pa.schema([("id", TEXT)]),
}
"""What is kept, amounts in the line's or the request's currency. A line: what may concern it, and
from `kind` on what it taught; a request: its code as texts are compared with it. One family of each
account and of each length of codes; then what all of it rests on, and what else was stored."""

_FOLDER: Final = "settled"
_CONTENTS: Final = "settled.json"


class _Kept(msgspec.Struct, frozen=True):
    """The contents of the folder: what it was settled by, what was known, and the files' digests.

    `terms` stands for the rules, the settings and the steps; `closes` are the entries of the closes
    in the journal, the earliest first.
    """

    terms: str
    closes: tuple[str, ...]
    commit: int
    known_at: datetime
    files: dict[str, str]


class Settled(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What was settled after some closes, as known at an instant."""

    closes: tuple[str, ...]
    known_at: datetime
    tables: Mapping[str, pa.Table]


class Settling(msgspec.Struct, frozen=True, kw_only=True):
    """The closed months before a question, and the workspace where what is settled is kept.

    Of fewer stored lines and requests than `least` nothing is settled: a run over so few is kept.
    """

    workspace: Path
    month: Month
    """The last closed month."""
    closes: tuple[str, ...]
    """The hashes of the closes' entries in the journal, the earliest month first."""
    least: int = FEW

    @classmethod
    def before(
        cls, month: Month, closed: Iterable[Period], workspace: Path, *, least: int = FEW
    ) -> Settling | None:
        """What the closes of earlier months settle, of `closed` in their order; None of none."""
        earlier = [one for one in closed if one.month < str(month)]
        if not earlier:
            return None
        return cls(
            workspace=workspace,
            month=Month.parse(earlier[-1].month),
            closes=tuple(one.entry.hash for one in earlier),
            least=least,
        )

    def read(self, snapshot: Snapshot, terms: str) -> Settled | None:
        """What is kept and was settled on these terms; None where everything is to be matched.

        A file that is not as it was written is none that is kept.
        """
        kept = self._kept()
        if (
            kept is None
            or kept.terms != terms
            or kept.closes != self.closes[: len(kept.closes)]
            or snapshot.at is not None
            or snapshot.commit is None
            or snapshot.commit.number < kept.commit
        ):
            return None
        tables = {}
        for name, digest in kept.files.items():
            content = self._content(_file_name(name, digest))
            if content is None or _digest(content) != digest:
                return None
            tables[name] = pa.ipc.open_file(pa.BufferReader(content)).read_all()
        return Settled(closes=kept.closes, known_at=kept.known_at, tables=tables)

    def write(self, snapshot: Snapshot, terms: str, tables: Mapping[str, pa.Table]) -> None:
        """Keep what is settled, in the place of what was kept before."""
        if snapshot.at is not None or snapshot.commit is None:
            return
        folder = self.workspace / _FOLDER
        # Whoever may not write here, or writes beside another, is answered all the same.
        with suppress(OSError):
            durable.make_folder(folder)
            files = {}
            for name, table in tables.items():
                sink = pa.BufferOutputStream()
                options = pa.ipc.IpcWriteOptions(compression="lz4", unify_dictionaries=True)
                with pa.ipc.new_file(sink, table.schema, options=options) as file:
                    file.write_table(table.combine_chunks())
                content = sink.getvalue().to_pybytes()
                files[name] = _digest(content)
                durable.write_whole(folder / _file_name(name, files[name]), content)
            kept = _Kept(
                terms=terms,
                closes=self.closes,
                commit=snapshot.commit.number,
                known_at=snapshot.commit.at,
                files=files,
            )
            durable.write_whole(folder / _CONTENTS, msgspec.json.encode(kept))
            named = {_file_name(name, digest) for name, digest in files.items()}
            for path in folder.glob("*.arrow"):
                if path.name not in named:
                    path.unlink(missing_ok=True)

    def _kept(self) -> _Kept | None:
        content = self._content(_CONTENTS)
        try:
            return None if content is None else msgspec.json.decode(content, type=_Kept)
        except msgspec.DecodeError:
            return None  # another version wrote it, or it was cut off: it is made again

    def _content(self, name: str) -> bytes | None:
        """A file's bytes; None where it is not there, as after another process wrote others."""
        path = self.workspace / _FOLDER / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise disk.denied(path) from error


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _file_name(name: str, digest: str) -> str:
    return f"{name.removeprefix('settled_')}-{digest[:16]}.arrow"


Member = tuple[str, str]


def families_of(lines: Iterable[str], requests: Iterable[str], ties: pa.Table) -> dict[Member, int]:
    """The number of each settled member's family: `("line", id)` and `("request", id)`.

    A family with a member that is neither of the lines nor of the requests is left out whole.
    """
    may = {("line", name) for name in lines} | {("request", name) for name in requests}
    above: dict[Member, Member] = {}

    def top(one: Member) -> Member:
        path = []
        while (over := above.get(one, one)) != one:
            path.append(one)
            one = over
        for below in path:
            above[below] = one
        return one

    columns = (ties[name].to_pylist() for name in ("entry_id", "expectation_id", "other_id"))
    for entry, expectation, other in zip(*columns, strict=True):
        line = ("line", entry)
        above.setdefault(line, line)
        for member in (expectation and ("request", expectation), other and ("line", other)):
            if member:
                above.setdefault(member, member)
                above[top(member)] = top(line)
    unsettled = {top(one) for one in above if one not in may}
    numbers: dict[Member, int] = {}
    found: dict[Member, int] = {}
    for one in sorted(may):
        head = top(one)
        if head not in unsettled:
            found[one] = numbers.setdefault(head, len(numbers))
    return found
