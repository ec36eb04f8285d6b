"""Storage for the lake's home: named objects on S3, Azure, Google Cloud or in a shared folder.

Only this module calls `obstore`. Its errors get our own messages, because a storage service's text
may contain an address with a token.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from treasury.core.errors import HomeReadOnly, HomeUnreachable, SettingsError, StorageError
from treasury.core.files import durable
from treasury.core.files.regular_files import open_regular
from treasury.core.files.state_folder import user_path
from treasury.core.machine.loading import Later

if TYPE_CHECKING:
    import obstore
    import obstore.exceptions
    import obstore.store
    from obstore.store import ObjectStore
    from typing_extensions import Buffer
else:
    # Imported on first use, because a lake that is not shared does not need it.
    obstore = Later("obstore")

_SCHEMES: Final = ("s3", "az", "gs", "file")
_ADDRESSES: Final = (
    "write s3://bucket/folder, az://container/folder, gs://bucket/folder or a folder"
)
_PLAIN_HTTP: Final = {
    "s3": "AWS_ALLOW_HTTP", "az": "AZURE_ALLOW_HTTP", "gs": "GOOGLE_ALLOW_HTTP",
}  # fmt: skip
"""Variables that allow plain http, for an emulator or a trusted network."""
_CHUNK: Final = 8 << 20
"""Minimum size in bytes of the parts in which an object is streamed."""

_PART: Final = 1 << 20
"""Number of bytes read from a file at a time, so few that hashing finds them in the processor's
cache."""

_CREDENTIALS: Final = (
    "set the credential in the environment, as for this cloud's other tools (docs/lake.md)"
)
_NO_PLACE: Final = "NoSuchBucket|ContainerNotFound|UnableToCanonicalize"
_UNREACHABLE: Final = (
    (
        (
            "ExpiredToken|TokenRefreshRequired|RequestExpired|TOKEN_EXPIRED|AADSTS7000222"
            "|[Tt]oken.{0,16}expired|not valid in the specified time frame"
        ),
        "refuses the credential: it has expired",
        "sign in again, then run this again",
    ),
    (
        r"169\.254\.169\.254|169\.254\.170\.2|metadata\.google|MissingAccount",
        "was not contacted: the environment has no credential for it",
        _CREDENTIALS,
    ),
    (
        "Invalid Access Key|MissingSecretAccessKey|MissingAccessKeyId|(?:Open|Decode)Credentials",
        "was not contacted: the credential in the environment is incomplete or unreadable",
        _CREDENTIALS,
    ),
    (
        "RequestTimeTooSkewed|[Dd]ate header",
        "refuses this machine's requests: its clock is wrong",
        "set the clock, then run this again",
    ),
    (_NO_PLACE, "is not there", "correct [lake] home, or create it"),
    (
        "^401 |InvalidAccessKeyId|SignatureDoesNotMatch|AuthenticationFailed|InvalidToken",
        "refuses the credential: it is unknown there",
        _CREDENTIALS,
    ),
)
"""Patterns of a service's error that mean that the home cannot be used, each with our message and
the next step.
"""
_DENIED: Final = (
    "^403 |AccessDenied|AuthorizationPermissionMismatch|Permission denied"
    r"|Read-only file system|os error 30\b"
)
_FULL: Final = r"No space left|quota exceeded|os error (?:28|122)\b"
_STATUS: Final = r"status code: (\d{3})"


class ListedObject(msgspec.Struct, frozen=True):
    """An object in a listing; `modified` is the time by the storage's clock."""

    name: str
    size: int
    modified: datetime


def check_address(address: str) -> str:
    """Normalise a home's address; raise SettingsError if it is invalid or contains a secret."""
    try:
        parts = urlsplit(address)
    except ValueError:
        raise SettingsError(
            "the address of the lake's home cannot be parsed", do=_ADDRESSES
        ) from None
    if "://" in address and ("@" in parts.netloc or parts.query or parts.fragment):
        raise SettingsError(
            "the address of the lake's home holds a credential or a parameter",
            do=f"write the place alone, for example s3://bucket/treasury; {_CREDENTIALS}",
        )
    if "://" not in address:
        folder = user_path(address)
        if not address.strip() or not folder.is_absolute():
            raise SettingsError(
                f"{address!r} cannot be a home for a lake",
                do="write a folder with its full path, or s3://bucket/folder, az://, gs://",
            )
        return str(folder)
    if parts.scheme not in _SCHEMES or not (parts.netloc or parts.path.strip("/")):
        raise SettingsError(f"{parts.scheme}:// cannot be a home for a lake", do=_ADDRESSES)
    if parts.scheme == "file":
        return unquote(parts.path)
    return address.rstrip("/")


class ObjectPlace:
    """Named objects below one address; a name is an ASCII path with slashes.

    The methods raise HomeUnreachable if the storage does not answer or refuses the credential,
    HomeReadOnly if it may only be read, and StorageError if it is full.
    """

    def __init__(self, address: str) -> None:
        self.address = check_address(address)
        self.folder = None if "://" in self.address else Path(self.address)
        """The home's folder; None for an object store."""

    def make(self) -> None:
        """Create the home's folder if its parent exists; do nothing for an object store."""
        if self.folder is not None and self.folder.parent.is_dir():
            with reaching(self.address, writes=True):
                self.folder.mkdir(exist_ok=True)

    def read(self, name: str) -> bytes:
        """Return an object's bytes; raise FileNotFoundError if it does not exist."""
        with reaching(self.address):
            if self.folder is not None:
                # The library would block on a pipe. For a missing file, its own error is needed
                # below, because that distinguishes a missing object from a missing home.
                with suppress(FileNotFoundError), open_regular(self.folder / name):
                    pass
            return bytes(obstore.get(self._store, name).bytes())

    def chunks(self, name: str) -> Iterator[Buffer]:
        """Yield a large object's bytes in parts; raise FileNotFoundError if it does not exist.

        The buffer is reused, so a part must be processed before the next one is requested.
        """
        with reaching(self.address):
            # obstore reads files in parts of 8 KiB only.
            if self.folder is not None:
                part = memoryview(bytearray(_PART))
                with open_regular(self.folder / name) as file:
                    while length := file.readinto(part):
                        yield part[:length]
            else:
                yield from obstore.get(self._store, name).stream(min_chunk_size=_CHUNK)

    def write(self, name: str, content: bytes | Path) -> None:
        """Write an object, replacing any existing one."""
        with reaching(self.address, writes=True):
            obstore.put(self._store, name, content, mode="overwrite")
            self._share(name)

    def settle(self, names: Iterable[str]) -> None:
        """Flush written objects to disk, if the home is a folder."""
        if self.folder is not None:
            with reaching(self.address, writes=True):
                durable.sync_files(map(self.folder.joinpath, names), self.folder)

    def create(self, name: str, content: bytes) -> bool:
        """Create an object; return False and leave it unchanged if it already exists."""
        with reaching(self.address, writes=True):
            try:
                obstore.put(self._store, name, content, mode="create")
            except obstore.exceptions.AlreadyExistsError:
                return False
            self._share(name)
        self.settle([name])
        return True

    def listed(self, prefix: str, after: str = "") -> list[ListedObject]:
        """Return the objects with this prefix whose names sort after `after`, sorted by name."""
        with reaching(self.address):
            batches = obstore.list(self._store, prefix, offset=after or None, chunk_size=1000)
            rows = [
                ListedObject(entry["path"], entry["size"], entry["last_modified"])
                for batch in batches
                for entry in batch
            ]
        return sorted(rows, key=lambda row: row.name)

    def modified(self, name: str) -> datetime:
        """Return the time at which an object was written, by the storage's clock."""
        with reaching(self.address):
            return obstore.head(self._store, name)["last_modified"]

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects; missing ones are ignored."""
        to_delete = list(names)
        with reaching(self.address, writes=True):
            for name in to_delete:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, name)

    def remove_leftovers(self, oldest: float) -> list[int]:
        """Remove leftovers of writes that were interrupted before `oldest`; return their sizes."""
        sizes = []
        for path in () if self.folder is None else self.folder.rglob("*#*"):
            if path.is_file() and path.name.rpartition("#")[2].isdecimal():
                status = path.stat()
                if status.st_mtime < oldest:
                    with reaching(self.address, writes=True):
                        path.unlink()
                    sizes.append(status.st_size)
        return sizes

    @property
    def _store(self) -> ObjectStore:
        if self.folder is not None and not self.folder.is_dir():
            raise HomeUnreachable(
                f"the lake's home {self.address} is not there",
                do="mount the share, or correct [lake] home",
            )
        return self._opened

    @cached_property
    def _opened(self) -> ObjectStore:
        if self.folder is not None:
            return obstore.store.LocalStore(self.folder)
        # Explicit client options override the environment's setting for plain http.
        variable = _PLAIN_HTTP[urlsplit(self.address).scheme]
        is_plain = os.environ.get(variable, "").casefold() in {"true", "1", "yes"}
        options: dict[str, Any] = {
            "client_options": {"connect_timeout": "5s", "timeout": "120s", "allow_http": is_plain},
            "retry_config": {"max_retries": 4, "retry_timeout": timedelta(seconds=20)},
        }
        with reaching(self.address):
            return obstore.store.from_url(self.address, **options)

    def _share(self, name: str) -> None:
        """Give a file in a shared folder the permissions of the folder."""
        if self.folder is not None:
            mode = self.folder.stat().st_mode
            path = self.folder / name
            path.chmod(mode & 0o666)
            for folder in path.parents:
                if self.folder in folder.parents and (folder.stat().st_mode ^ mode) & 0o777:
                    folder.chmod(mode & 0o7777)


@contextmanager
def reaching(address: str, *, writes: bool = False) -> Iterator[None]:
    """Convert the storage library's errors in this block into a one-line StorageError.

    FileNotFoundError for a missing object is not converted.
    """
    try:
        yield
    except FileNotFoundError as error:
        if re.search(_NO_PLACE, str(error)):
            raise _error(address, str(error), writes=writes) from None
        raise
    except (obstore.exceptions.BaseError, OSError) as error:
        # The service's text may contain a token, so the original error is not chained as the cause.
        raise _error(address, f"{type(error).__name__} {error}", writes=writes) from None


def _error(address: str, answer: str, *, writes: bool) -> StorageError:
    """Convert a storage error into a message of our own."""
    home = f"the lake's home {address}"
    status = re.search(_STATUS, answer)
    number = status[1] if status else ""
    answer = f"{number} {answer}"
    for pattern, problem, remedy in _UNREACHABLE:
        if re.search(pattern, answer):
            return HomeUnreachable(f"{home} {problem}", do=remedy)
    if "builder error" in answer and os.environ.get("AWS_ENDPOINT_URL", "")[:5] == "http:":
        return HomeUnreachable(
            f"{home} was not contacted: its address AWS_ENDPOINT_URL is plain http",
            do="write https, or set AWS_ALLOW_HTTP=true on a trusted network",
        )
    if re.search(_FULL, answer):
        return StorageError(f"{home} is full", do="free space there, then run this again")
    if re.search(_DENIED, answer):
        if writes:
            return HomeReadOnly(f"{home} can be read with your credential but not written")
        return HomeUnreachable(
            f"{home} cannot be read with your credential", do="get the right to read it"
        )
    said = f"answers with {number}" if number else "does not answer"
    return HomeUnreachable(f"{home} {said}", do="check the network, then run this again")
