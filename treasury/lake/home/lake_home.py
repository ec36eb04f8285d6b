"""A desk's side of its lake's home: where it stands, what it has staged, and pushing that.

A push puts the new files, then creates the next head, which makes them a commit for everybody.
Whatever ends it before leaves files that no head names; a sweep of the home removes them.
"""

from __future__ import annotations

import getpass
import socket
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from treasury.core import errors
from treasury.core.files.regular_files import regular_bytes
from treasury.lake.commits import LastCommit
from treasury.lake.home import heads
from treasury.lake.home.head_signing import (
    HeadSignatures,
    NoSignatures,
    head_problem,
    require_signed,
    signed_head,
)
from treasury.lake.home.object_place import ObjectPlace
from treasury.lake.store import disk, storage_form
from treasury.lake.store.file_digests import digest_of
from treasury.lake.store.sealed import read_sealed, seal, unseal, write_sealed

AT_ONCE: Final = 8
"""Objects that are read or written side by side."""
_NOTE: Final = "home.json"
STAGED: Final = "staged.json"
DESKS: Final = "desks/"
PROBES: Final = "probes/"
SKEW: Final = timedelta(minutes=15)
"""So far may a desk's clock be from the home's; S3 refuses by itself what is further."""
WHOLE: Final = 16 << 20
"""Files of up to so many bytes are in memory as they are put."""

T = TypeVar("T")
R = TypeVar("R")


class LakeHome:
    """The home at `address` of the lake in `folder`.

    `environment` is whose records they are, `settings` what a new desk begins with, `signatures`
    those that heads need, `clock` the machine's. SettingsError where the home and the desk's own
    folder lie in each other.
    """

    def __init__(
        self,
        address: str,
        folder: Path,
        *,
        environment: str = "",
        settings: str = "",
        signatures: HeadSignatures | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.place = ObjectPlace(address)
        self.folder = folder
        if self.place.folder is not None:
            home, lake = self.place.folder.resolve(), folder.resolve()
            if lake.is_relative_to(home) or home.is_relative_to(lake):
                raise errors.SettingsError(
                    f"the lake's home {self.place.address} and the lake {folder} are one in the"
                    " other",
                    do="give the home a folder of its own",
                )
        self._clock = clock
        self.environment = environment
        self._settings = settings
        self._signatures = NoSignatures() if signatures is None else signatures
        self._desk = uuid.uuid4().hex

    @property
    def by(self) -> str:
        """The person and the machine, as a colleague would know them."""
        try:
            return f"{getpass.getuser()} on {socket.gethostname()}"
        except (OSError, KeyError):
            return socket.gethostname()

    # What the desk knows

    def note(self) -> heads.HomeNote:
        """Where this desk stands; a new one where it has never met the home."""
        note = self._read(_NOTE, heads.HomeNote)
        return heads.HomeNote(desk=self._desk) if note is None else note

    def staged(self) -> heads.StagedCommit | None:
        """The commit that is written here and that no head names yet."""
        return self._read(STAGED, heads.StagedCommit)

    def _read(self, name: str, kind: type[T]) -> T | None:
        path = self.folder / name
        try:
            return read_sealed(path, kind)
        except FileNotFoundError:
            return None
        except PermissionError as error:
            raise disk.denied(path) from error
        except (OSError, ValueError) as error:
            raise errors.WorkspaceDamaged(
                f"{path} does not read ({error})",
                do="remove it and run `treasury lake pull`: what it says is known from the home",
            ) from error

    def write_note(self, note: heads.HomeNote) -> None:
        """Note where this desk stands."""
        with disk.writing(self.folder / _NOTE):
            write_sealed(self.folder / _NOTE, note)

    def stage(self, staged: heads.StagedCommit) -> None:
        """Keep a commit that is on the disk until a head names it, or another takes its place."""
        with disk.writing(self.folder / STAGED):
            write_sealed(self.folder / STAGED, staged)

    def unstage(self) -> None:
        """Let go of what is staged: a head names it, or it is to be undone."""
        path = self.folder / STAGED
        if path.exists():
            with disk.writing(path):
                path.unlink()

    # What the home has

    def numbers_after(self, note: heads.HomeNote) -> list[int]:
        """The numbers of the heads after the desk's own, unbroken, oldest first.

        StorageError where the home lacks the head that this desk stands on, HomeUnreachable where
        it is an empty folder, as that of a share that is not mounted.
        """
        numbers = [*heads.listed_heads(self.place, max(note.number, 1))]
        if note.number and not numbers:
            if self.place.folder is not None and not self.place.listed(heads.HEADS):
                raise errors.HomeUnreachable(
                    f"the lake's home {self.place.address} is empty",
                    do="mount the share, or restore the home from a copy",
                )
            raise errors.StorageError(
                f"the lake's home {self.place.address} lacks head {note.number}, which this desk"
                " stands on: it is another home, or an old copy",
                do="correct [lake] home, or restore the home",
            )
        return numbers[1:] if note.number else numbers

    def newest(self, note: heads.HomeNote) -> tuple[heads.HomeHead, str] | None:
        """The newest head and its SHA-256; None where this desk stands on it already.

        StorageError where it is not of the lake, the environment or the form of this desk.
        """
        numbers = self.numbers_after(note)
        if not numbers:
            self._require_own_head(note)
            return None
        later = self.each(
            lambda number: heads.read_head(self.place, number),
            numbers if note.number else numbers[-1:],
        )
        parent = note.sha256
        for head, sha256 in later:
            # The signature of the newest head covers those before it by this chain alone.
            if note.number and head.parent != parent:
                raise errors.StorageError(
                    f"head {head.number} in the lake's home {self.place.address} does not follow"
                    f" head {head.number - 1}: the home is an old copy, gone on with",
                    do="clone the lake into a new folder, and add there what only this desk has",
                )
            parent = sha256
        head, sha256 = later[-1]
        if head.environment != self.environment:
            raise errors.SettingsError(
                f"the lake's home {self.place.address} holds the records of {head.environment}, and"
                f" treasury.toml says {self.environment}",
                do="give each environment a home of its own",
            )
        if head.form > storage_form.FORM:
            raise errors.StorageError(
                f"the lake's home {self.place.address} was written by a later version of treasury"
                f" (form {head.form}, not {storage_form.FORM})",
                do="update treasury",
            )
        require_signed(head, self.place.address, self._signatures)
        if note.lake and head.lake != note.lake:
            raise errors.StorageError(
                f"head {head.number} in the lake's home {self.place.address} is of another lake",
                do="correct [lake] home, or restore the home",
            )
        return head, sha256

    def _require_own_head(self, note: heads.HomeNote) -> None:
        """StorageError where the home has another head in the place of the desk's own, or none."""
        if not note.number:
            return
        try:
            _, sha256 = heads.read_head(self.place, note.number)
        except FileNotFoundError:
            self.numbers_after(note)  # says what that means
            sha256 = ""
        if sha256 != note.sha256:
            raise errors.StorageError(
                f"head {note.number} in the lake's home {self.place.address} is not the one that"
                " this desk stands on: it is another lake's home, or an old copy, gone on with",
                do="correct [lake] home, or clone the lake into a new folder, and add there what"
                " only this desk has",
            )

    def accepted_head(self, number: int) -> heads.HomeHead:
        """Read a head; StorageError if its signature is not accepted."""
        head, _ = heads.read_head(self.place, number)
        require_signed(head, self.place.address, self._signatures)
        return head

    def is_accepted(self, note: heads.HomeNote) -> bool:
        """Whether other desks accept the newest head of this desk."""
        head, _ = heads.read_head(self.place, note.number)
        return not head_problem(head, self._signatures)

    def has_taken(self, staged: heads.StagedCommit) -> bool:
        """Whether the head after the one that a staged commit was made on is that commit."""
        try:
            head, _ = heads.read_head(self.place, staged.base + 1)
        except FileNotFoundError:
            return False
        return head.token == staged.token

    def desks(self) -> list[heads.WriterNote]:
        """Who writes here, the last first."""
        notes = [
            unseal(self.place.read(entry.name), heads.WriterNote)
            for entry in self.place.listed(DESKS)
        ]
        return sorted(notes, key=lambda note: note.at, reverse=True)

    # Pushing

    def require_writable(self, note: heads.HomeNote) -> None:
        """Say that this desk writes here; HomeReadOnly says who may, where it may not.

        StorageError where the home lets a head be created twice, as then nothing guards a commit,
        and where this machine's clock is far from the home's: its commits would be dated wrong.
        """
        self._signatures.sign("")  # StorageError before any work is done in vain
        if note.number:
            self.numbers_after(note)  # nothing is put where a share should be mounted
        else:
            self.place.make()
        try:
            now = self._clock()
            self.place.write(f"{DESKS}{note.desk}", seal(heads.WriterNote(self.by, now)))
            ahead = now - self.place.modified(f"{DESKS}{note.desk}")
            if abs(ahead) > SKEW:
                minutes = round(abs(ahead) / timedelta(minutes=1))
                raise errors.StorageError(
                    f"the clock of this machine is {minutes:,} minutes"
                    f" {'ahead of' if ahead > timedelta() else 'behind'} the clock of the lake's"
                    f" home {self.place.address}: what it stores would be dated wrong",
                    do="set the one that is wrong, then run this again",
                )
            if not note.is_probed:
                name = f"{PROBES}{uuid.uuid4().hex}"
                created = [self.place.create(name, content) for content in (b"first", b"second")]
                self.place.remove([name])
                if created != [True, False]:
                    raise errors.StorageError(
                        f"the lake's home {self.place.address} lets an object be created twice:"
                        " one desk could overwrite another's commit",
                        do="use storage that keeps If-None-Match (S3, MinIO, Azure, Google), or a"
                        " folder",
                    )
        except errors.HomeReadOnly as error:
            writers = ", ".join(dict.fromkeys(desk.by for desk in self.desks())) or "nobody yet"
            raise errors.HomeReadOnly(
                error.what, do=f"ask who may write to do it: {writers}; reading goes on as it is"
            ) from None

    def push(
        self,
        note: heads.HomeNote,
        last: LastCommit,
        files: Mapping[str, heads.StoredPrint],
        *,
        token: str,
        kind: str,
    ) -> heads.HomeNote:
        """Put what the home lacks of these files and create the next head; where the desk then is.

        CommitOvertaken where another desk's head has that number; StorageError where the head
        before it is not the desk's own.
        """
        self._require_own_head(note)
        added = {path: stored for path, stored in files.items() if note.files.get(path) != stored}
        manifest = msgspec.json.encode(files, order="sorted")
        stored_manifest = heads.print_of(manifest)
        manifest_name = f"{heads.MANIFESTS}{stored_manifest.sha256}"
        self.each(lambda named: self.put(*named), added.items())
        self.place.write(manifest_name, manifest)
        self.place.settle([manifest_name, *(heads.object_of(*named) for named in added.items())])
        head = heads.HomeHead(
            number=note.number + 1,
            parent=note.sha256,
            lake=note.lake or uuid.uuid4().hex,
            token=token,
            desk=note.desk,
            by=self.by,
            at=self._clock(),
            kind=kind,
            environment=self.environment,
            form=storage_form.FORM,
            last=last,
            manifest=stored_manifest,
            added=len(added),
            settings=self._settings,
        )
        head = signed_head(head, self._signatures)
        content = seal(head)
        if not self.place.create(heads.head_name(head.number), content):
            # A create whose answer was lost is asked for again, and is then refused as well.
            head, _ = heads.read_head(self.place, head.number)
            if head.token != token:
                raise errors.CommitOvertaken(
                    f"{head.sentence} came to the lake's home first",
                    do="run `treasury lake pull`, then this again",
                )
            content = seal(head)
        number, sha256 = head.number, heads.print_of(content).sha256
        return msgspec.structs.replace(
            note, lake=head.lake, number=number, sha256=sha256, files=dict(files), is_probed=True
        )

    def put(self, path: str, stored: heads.StoredPrint) -> None:
        """Put a file as its hash says; WorkspaceDamaged where it is not as it was written."""
        local = heads.local_place(self.folder, path)
        content: bytes | Path
        with disk.reading(local):
            if stored.size <= WHOLE:
                content = regular_bytes(local)
                is_whole = heads.print_of(content) == stored
            else:
                content, is_whole = local, digest_of(local) == stored.sha256
        if not is_whole:
            raise errors.WorkspaceDamaged(f"{local} is not as it was written", do=disk.REPAIR)
        self.place.write(heads.object_of(path, stored), content)

    def each(
        self, ask: Callable[[T], R], subjects: Iterable[T], *, at_once: int = AT_ONCE
    ) -> list[R]:
        """Ask for several objects side by side; the first error is raised once all have ended."""
        with ThreadPoolExecutor(at_once, "home") as pool:
            return list(pool.map(ask, subjects))
