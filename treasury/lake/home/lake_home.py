"""A desk's access to the home of its lake: the desk's current head, its staged commit, and pushes.

A push uploads the new files and then creates the next head, so that the other desks can pull the
commit. An interrupted push leaves files that no head names; a cleanup of the home removes them.
"""

from __future__ import annotations

import getpass
import hashlib
import socket
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol, TypeVar

import msgspec

from treasury.core import errors
from treasury.core.errors import StorageError
from treasury.core.files.regular_files import regular_bytes
from treasury.lake.commits import LastCommit
from treasury.lake.home import heads
from treasury.lake.home.heads import HomeHead
from treasury.lake.home.object_place import ObjectPlace
from treasury.lake.store import disk, storage_form
from treasury.lake.store.file_digests import digest_of
from treasury.lake.store.sealed import read_sealed, seal, unseal, write_sealed


class HeadSignatures(Protocol):
    """The protocol for signing heads and checking their signatures.

    Signatures are needed because people outside the team may be able to write to the home. The lake
    reads neither the policy nor keys: a workspace passes an object that uses the policy's public
    keys and the key of this desk's user.
    """

    def sign(self, digest: str) -> tuple[str, str]:
        """Return this desk's public key and its signature of a digest; both empty without a key.

        Raise StorageError if heads must be signed and this desk cannot sign.
        """

    def problem(self, key: str, signature: str, digest: str) -> str:
        """Return why a signature is not accepted; empty if it is accepted or none is required."""


class NoSignatures:
    """Signatures for a home that does not require them."""

    def sign(self, _digest: str) -> tuple[str, str]:
        """Return no signature."""
        return "", ""

    def problem(self, _key: str, _signature: str, _digest: str) -> str:
        """Return no problem: any head is accepted."""
        return ""


def signed_head(head: HomeHead, signatures: HeadSignatures) -> HomeHead:
    """Return the head (a shared commit's description) with this desk's signature."""
    key, signature = signatures.sign(_digest(head))
    return msgspec.structs.replace(head, public_key=key, signature=signature)


def head_problem(head: HomeHead, signatures: HeadSignatures) -> str:
    """Return why a head is not accepted; empty if it is."""
    return signatures.problem(head.public_key, head.signature, _digest(head))


def require_signed(head: HomeHead, address: str, signatures: HeadSignatures) -> None:
    """Raise StorageError for a head that the policy does not accept."""
    problem = head_problem(head, signatures)
    if problem:
        raise StorageError(
            f"head {head.number} in the lake's home {address}, in the name of {head.by},"
            f" {problem}; it was not used",
            do="ask who wrote it; if one of your desks did before heads were signed, run "
            "`treasury lake push` there",
        )


def _digest(head: HomeHead) -> str:
    """Return the SHA-256 of a head without its public key and signature."""
    unsigned = msgspec.structs.replace(head, public_key="", signature="")
    return hashlib.sha256(msgspec.json.encode(unsigned, order="sorted")).hexdigest()


AT_ONCE: Final = 8
"""Number of objects read or written in parallel."""
_NOTE: Final = "home.json"
STAGED: Final = "staged.json"
DESKS: Final = "desks/"
PROBES: Final = "probes/"
SKEW: Final = timedelta(minutes=15)
"""Maximum difference between a desk's clock and the home's; S3 itself refuses larger ones."""
WHOLE: Final = 16 << 20
"""Maximum size of files that are read into memory for an upload."""

T = TypeVar("T")
R = TypeVar("R")


class LakeHome:
    """The home at `address` of the lake in `folder`.

    `environment` is the environment that the records come from, such as production; `settings` are
    the initial settings of a new desk; `signatures` signs and checks heads; `clock` is the
    machine's clock. Raise SettingsError if the address is invalid, or if the home is inside the
    lake's folder or contains it.
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
                    f"the lake's home {self.place.address} must neither contain the lake {folder}"
                    " nor be inside it",
                    do="give the home a folder of its own",
                )
        self._clock = clock
        self.environment = environment
        self._settings = settings
        self._signatures = NoSignatures() if signatures is None else signatures
        self._desk = uuid.uuid4().hex

    @property
    def by(self) -> str:
        """The person and the machine, as shown to colleagues."""
        try:
            return f"{getpass.getuser()} on {socket.gethostname()}"
        except (OSError, KeyError):
            return socket.gethostname()

    # State of the desk

    def note(self) -> heads.HomeNote:
        """Return this desk's state; an empty state if it never pulled or pushed."""
        note = self._read(_NOTE, heads.HomeNote)
        return heads.HomeNote(desk=self._desk) if note is None else note

    def staged(self) -> heads.StagedCommit | None:
        """Return the staged commit (one that no head names yet), or None."""
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
                f"{path} cannot be read ({error})",
                do="remove it and run `treasury lake pull`: the home has the same data",
            ) from error

    def write_note(self, note: heads.HomeNote) -> None:
        """Store this desk's state."""
        with disk.writing(self.folder / _NOTE):
            write_sealed(self.folder / _NOTE, note)

    def stage(self, staged: heads.StagedCommit) -> None:
        """Store the staged commit, replacing an earlier one."""
        with disk.writing(self.folder / STAGED):
            write_sealed(self.folder / STAGED, staged)

    def unstage(self) -> None:
        """Remove the staged commit, because a head names it or the commit was undone."""
        path = self.folder / STAGED
        if path.exists():
            with disk.writing(path):
                path.unlink()

    # State of the home

    def numbers_after(self, note: heads.HomeNote) -> list[int]:
        """Return the numbers of the heads after the desk's own, without gaps, oldest first.

        Raise StorageError if the home lacks this desk's head, or HomeUnreachable if the home is
        then an empty folder, because its share may not be mounted.
        """
        numbers = [*heads.listed_heads(self.place, max(note.number, 1))]
        if note.number and not numbers:
            if self.place.folder is not None and not self.place.listed(heads.HEADS):
                raise errors.HomeUnreachable(
                    f"the lake's home {self.place.address} is empty",
                    do="mount the share, or restore the home from a copy",
                )
            raise errors.StorageError(
                f"the lake's home {self.place.address} lacks head {note.number}, the current"
                " head of this desk: it is another home, or an old copy",
                do="correct [lake] home, or restore the home",
            )
        return numbers[1:] if note.number else numbers

    def newest(self, note: heads.HomeNote) -> tuple[heads.HomeHead, str] | None:
        """Return the newest head and its SHA-256; None if this desk already has it.

        Raise SettingsError if the newest head belongs to another environment. Raise StorageError if
        it does not follow this desk's head, has a later format, is not signed as the policy
        requires, or belongs to another lake.
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
            # Only the newest head's signature is checked, because through the hash chain it covers
            # all earlier heads.
            if note.number and head.parent != parent:
                raise errors.StorageError(
                    f"head {head.number} in the lake's home {self.place.address} does not follow"
                    f" head {head.number - 1}: a desk pushed to an old copy of the home",
                    do="clone the lake into a new folder, and add this desk's own data there",
                )
            parent = sha256
        head, sha256 = later[-1]
        if head.environment != self.environment:
            raise errors.SettingsError(
                f"the lake's home {self.place.address} holds the records of {head.environment}, but"
                f" treasury.toml names {self.environment}",
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
                f"head {head.number} in the lake's home {self.place.address} belongs to another"
                " lake",
                do="correct [lake] home, or restore the home",
            )
        return head, sha256

    def _require_own_head(self, note: heads.HomeNote) -> None:
        """Raise StorageError if the home lacks this desk's head, or has another in its place."""
        if not note.number:
            return
        try:
            _, sha256 = heads.read_head(self.place, note.number)
        except FileNotFoundError:
            # This raises the error for a missing head.
            self.numbers_after(note)
            sha256 = ""
        if sha256 != note.sha256:
            raise errors.StorageError(
                f"head {note.number} in the lake's home {self.place.address} is not the one that"
                " this desk has: it is another lake's home, or an old copy that a desk pushed to",
                do="correct [lake] home, or clone the lake into a new folder, and add this"
                " desk's own data there",
            )

    def accepted_head(self, number: int) -> heads.HomeHead:
        """Read a head; raise StorageError if its signature is not accepted."""
        head, _ = heads.read_head(self.place, number)
        require_signed(head, self.place.address, self._signatures)
        return head

    def is_accepted(self, note: heads.HomeNote) -> bool:
        """Return True if the policy accepts the signature of this desk's head."""
        head, _ = heads.read_head(self.place, note.number)
        return not head_problem(head, self._signatures)

    def has_taken(self, staged: heads.StagedCommit) -> bool:
        """Return True if the head after a staged commit's base was made from this commit."""
        try:
            head, _ = heads.read_head(self.place, staged.base + 1)
        except FileNotFoundError:
            return False
        return head.token == staged.token

    def desks(self) -> list[heads.WriterNote]:
        """Return the desks (copies of the lake) that write to the home, most recent first."""
        notes = [
            unseal(self.place.read(entry.name), heads.WriterNote)
            for entry in self.place.listed(DESKS)
        ]
        return sorted(notes, key=lambda note: note.at, reverse=True)

    # Pushing

    def require_writable(self, note: heads.HomeNote) -> None:
        """Register this desk as a writer; raise HomeReadOnly (with the writers) if not allowed.

        Raise StorageError if heads must be signed and this desk cannot sign; if the home lacks this
        desk's head; if the home lets an existing object be created again, because one desk could
        then overwrite another's commit; or if this machine's clock differs too much from the
        home's, because commits would have wrong timestamps.
        """
        # If this desk cannot sign, this raises StorageError before any work is done.
        self._signatures.sign("")
        if note.number:
            # This refuses to write into the folder of an unmounted share.
            self.numbers_after(note)
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
                    f" home {self.place.address}: its commits would have wrong timestamps",
                    do="set the clock that is wrong, then run this again",
                )
            if not note.is_probed:
                name = f"{PROBES}{uuid.uuid4().hex}"
                created = [self.place.create(name, content) for content in (b"first", b"second")]
                self.place.remove([name])
                if created != [True, False]:
                    raise errors.StorageError(
                        f"the lake's home {self.place.address} lets an object be created twice:"
                        " one desk could overwrite another's commit",
                        do="use storage that supports If-None-Match (S3, MinIO, Azure, Google), or"
                        " a folder",
                    )
        except errors.HomeReadOnly as error:
            writers = ", ".join(dict.fromkeys(desk.by for desk in self.desks())) or "no desk yet"
            raise errors.HomeReadOnly(
                error.what, do=f"ask one of its writers to do it: {writers}; reading still works"
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
        """Upload files that the home lacks and create the next head; return the desk's new state.

        Raise CommitOvertaken if another desk created the head of this number first. Raise
        StorageError if the home's previous head differs from this desk's.
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
            # If the answer to a create was lost, its retry is refused too. The token shows whether
            # the existing head is this desk's own.
            head, _ = heads.read_head(self.place, head.number)
            if head.token != token:
                raise errors.CommitOvertaken(
                    f"{head.sentence} reached the lake's home first",
                    do="run `treasury lake pull`, then this again",
                )
            content = seal(head)
        number, sha256 = head.number, heads.print_of(content).sha256
        return msgspec.structs.replace(
            note, lake=head.lake, number=number, sha256=sha256, files=dict(files), is_probed=True
        )

    def put(self, path: str, stored: heads.StoredPrint) -> None:
        """Upload a file after checking its hash; raise WorkspaceDamaged if it was altered."""
        local = heads.local_place(self.folder, path)
        content: bytes | Path
        with disk.reading(local):
            if stored.size <= WHOLE:
                content = regular_bytes(local)
                is_whole = heads.print_of(content) == stored
            else:
                content, is_whole = local, digest_of(local) == stored.sha256
        if not is_whole:
            raise errors.WorkspaceDamaged(
                f"{local} was changed after it was written", do=disk.REPAIR
            )
        self.place.write(heads.object_of(path, stored), content)

    def each(
        self, ask: Callable[[T], R], subjects: Iterable[T], *, at_once: int = AT_ONCE
    ) -> list[R]:
        """Call `ask` for each subject in parallel; raise the first error once no call runs."""
        with ThreadPoolExecutor(at_once, "home") as pool:
            return list(pool.map(ask, subjects))
