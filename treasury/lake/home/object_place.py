"""The place of a home: objects by name on S3, Azure, Google or in a folder on a share.

The only module that calls `obstore`. Whatever goes wrong becomes one sentence of our own: what a
storage service answers may repeat an address with a token in it, so none of its text is shown.
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
    obstore = Later("obstore")  # a desk without a home does without

_SCHEMES: Final = ("s3", "az", "gs", "file")
_ADDRESSES: Final = (
    "write s3://bucket/folder, az://container/folder, gs://bucket/folder or a folder"
)
_PLAIN_HTTP: Final = {
    "s3": "AWS_ALLOW_HTTP", "az": "AZURE_ALLOW_HTTP", "gs": "GOOGLE_ALLOW_HTTP",
}  # fmt: skip
"""The variable that allows plain http, for an emulator or where nobody can listen."""
_CHUNK: Final = 8 << 20
"""Bytes of an object that are in memory at a time."""

_PART: Final = 1 << 20
"""Bytes of a file that are: so many stay in the processor's cache while they are hashed."""

_CREDENTIALS: Final = (
    "set the credential in the environment as every tool of this cloud takes it (docs/lake.md)"
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
        "was not asked: the environment has no credential for it",
        _CREDENTIALS,
    ),
    (
        "Invalid Access Key|MissingSecretAccessKey|MissingAccessKeyId|(?:Open|Decode)Credentials",
        "was not asked: the credential in the environment is not whole or does not read",
        _CREDENTIALS,
    ),
    (
        "RequestTimeTooSkewed|[Dd]ate header",
        "refuses what this machine asks: its clock is wrong",
        "set the clock, then run this again",
    ),
    (_NO_PLACE, "is not there", "correct [lake] home, or make it"),
    (
        "^401 |InvalidAccessKeyId|SignatureDoesNotMatch|AuthenticationFailed|InvalidToken",
        "refuses the credential: it is not one that it knows",
        _CREDENTIALS,
    ),
)
"""What the text of an answer, after its status, says of a place that cannot be asked."""
_DENIED: Final = (
    "^403 |AccessDenied|AuthorizationPermissionMismatch|Permission denied"
    r"|Read-only file system|os error 30\b"
)
_FULL: Final = r"No space left|quota exceeded|os error (?:28|122)\b"
_STATUS: Final = r"status code: (\d{3})"


class ListedObject(msgspec.Struct, frozen=True):
    """An object as a listing has it; `modified` is by the clock of the place."""

    name: str
    size: int
    modified: datetime


def check_address(address: str) -> str:
    """The address of a home, as it is opened; SettingsError where it is none or holds a secret."""
    try:
        parts = urlsplit(address)
    except ValueError:
        raise SettingsError("the address of the lake's home does not read", do=_ADDRESSES) from None
    if "://" in address and ("@" in parts.netloc or parts.query or parts.fragment):
        raise SettingsError(
            "the address of the lake's home holds a credential or a parameter",
            do=f"write the place alone, like s3://bucket/treasury; {_CREDENTIALS}",
        )
    if "://" not in address:
        folder = user_path(address)
        if not address.strip() or not folder.is_absolute():
            raise SettingsError(
                f"{address!r} is no home for a lake",
                do="write a folder by its whole path, or s3://bucket/folder, az://, gs://",
            )
        return str(folder)
    if parts.scheme not in _SCHEMES or not (parts.netloc or parts.path.strip("/")):
        raise SettingsError(f"{parts.scheme}:// is no home for a lake", do=_ADDRESSES)
    if parts.scheme == "file":
        return unquote(parts.path)
    return address.rstrip("/")


class ObjectPlace:
    """Objects by name below one address; a name is a path of ASCII with slashes.

    Raises HomeUnreachable where the place does not answer or refuses the credential, and
    HomeReadOnly where it may be read and not written.
    """

    def __init__(self, address: str) -> None:
        self.address = check_address(address)
        self.folder = None if "://" in self.address else Path(self.address)
        """The folder, where the place is one."""

    def make(self) -> None:
        """Make the folder of a place that is one; the one above it has to be there."""
        if self.folder is not None and self.folder.parent.is_dir():
            with reaching(self.address, writes=True):
                self.folder.mkdir(exist_ok=True)

    def read(self, name: str) -> bytes:
        """An object's bytes; FileNotFoundError where there is none by that name."""
        with reaching(self.address):
            if self.folder is not None:
                # The library waits for a pipe; it also says whether the home itself is there.
                with suppress(FileNotFoundError), open_regular(self.folder / name):
                    pass
            return bytes(obstore.get(self._store, name).bytes())

    def chunks(self, name: str) -> Iterator[Buffer]:
        """The bytes of a large object, part by part; FileNotFoundError where there is none.

        A part is to be used before the next one is asked for.
        """
        with reaching(self.address):
            if self.folder is not None:  # a stream of a file comes in parts of 8 KiB
                part = memoryview(bytearray(_PART))
                with open_regular(self.folder / name) as file:
                    while length := file.readinto(part):
                        yield part[:length]
            else:
                yield from obstore.get(self._store, name).stream(min_chunk_size=_CHUNK)

    def write(self, name: str, content: bytes | Path) -> None:
        """Put an object, whatever stood there."""
        with reaching(self.address, writes=True):
            obstore.put(self._store, name, content, mode="overwrite")
            self._share(name)

    def settle(self, names: Iterable[str]) -> None:
        """Bring objects that were written to the disk, where the place is a folder."""
        if self.folder is not None:
            with reaching(self.address, writes=True):
                durable.sync_files(map(self.folder.joinpath, names), self.folder)

    def create(self, name: str, content: bytes) -> bool:
        """Put an object where there is none; False where there is one, which stays as it is."""
        with reaching(self.address, writes=True):
            try:
                obstore.put(self._store, name, content, mode="create")
            except obstore.exceptions.AlreadyExistsError:
                return False
            self._share(name)
        self.settle([name])
        return True

    def listed(self, prefix: str, after: str = "") -> list[ListedObject]:
        """The objects below a prefix whose names come after `after`, by name."""
        with reaching(self.address):
            batches = obstore.list(self._store, prefix, offset=after or None, chunk_size=1000)
            rows = [
                ListedObject(entry["path"], entry["size"], entry["last_modified"])
                for batch in batches
                for entry in batch
            ]
        return sorted(rows, key=lambda row: row.name)

    def modified(self, name: str) -> datetime:
        """When an object was put there, by the clock of the place."""
        with reaching(self.address):
            return obstore.head(self._store, name)["last_modified"]

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects; one that is not there is no error."""
        gone = list(names)
        with reaching(self.address, writes=True):
            for name in gone:
                with suppress(FileNotFoundError):
                    obstore.delete(self._store, name)

    def remove_leftovers(self, oldest: float) -> list[int]:
        """Remove what killed puts left in a folder before `oldest`; the size of each."""
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
        # Options for the way there put aside what the environment says of plain http.
        variable = _PLAIN_HTTP[urlsplit(self.address).scheme]
        is_plain = os.environ.get(variable, "").casefold() in {"true", "1", "yes"}
        options: dict[str, Any] = {
            "client_options": {"connect_timeout": "5s", "timeout": "120s", "allow_http": is_plain},
            "retry_config": {"max_retries": 4, "retry_timeout": timedelta(seconds=20)},
        }
        with reaching(self.address):
            return obstore.store.from_url(self.address, **options)

    def _share(self, name: str) -> None:
        """Let whoever may read the folder of a place read a file in it too."""
        if self.folder is not None:
            mode = self.folder.stat().st_mode
            path = self.folder / name
            path.chmod(mode & 0o666)
            for folder in path.parents:
                if self.folder in folder.parents and (folder.stat().st_mode ^ mode) & 0o777:
                    folder.chmod(mode & 0o7777)


@contextmanager
def reaching(address: str, *, writes: bool = False) -> Iterator[None]:
    """Ask something of the place of a home; a StorageError says in one line why it cannot be had.

    FileNotFoundError of an object that is not there passes.
    """
    try:
        yield
    except FileNotFoundError as error:
        if re.search(_NO_PLACE, str(error)):
            raise _error(address, str(error), writes=writes) from None
        raise
    except (obstore.exceptions.BaseError, OSError) as error:
        # What the service said may repeat a token: it is not kept as the error's cause either.
        raise _error(address, f"{type(error).__name__} {error}", writes=writes) from None


def _error(address: str, answer: str, *, writes: bool) -> StorageError:
    """What a place's answer means, in words of our own."""
    home = f"the lake's home {address}"
    status = re.search(_STATUS, answer)
    number = status[1] if status else ""
    answer = f"{number} {answer}"
    for pattern, problem, remedy in _UNREACHABLE:
        if re.search(pattern, answer):
            return HomeUnreachable(f"{home} {problem}", do=remedy)
    if "builder error" in answer and os.environ.get("AWS_ENDPOINT_URL", "")[:5] == "http:":
        return HomeUnreachable(
            f"{home} was not asked: its address AWS_ENDPOINT_URL is plain http",
            do="write https, or set AWS_ALLOW_HTTP=true where nobody can listen",
        )
    if re.search(_FULL, answer):
        return StorageError(f"{home} is full", do="free space there, then run this again")
    if re.search(_DENIED, answer):
        if writes:
            return HomeReadOnly(f"{home} may be read with your credential and not written")
        return HomeUnreachable(
            f"{home} may not be read with your credential", do="get the right to read it"
        )
    said = f"answers with {number}" if number else "does not answer"
    return HomeUnreachable(f"{home} {said}", do="check the network, then run this again")
