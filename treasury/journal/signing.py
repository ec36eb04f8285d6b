"""Signatures of entries, with one Ed25519 key per person.

The hash chain reveals a changed entry, but anybody who can write to the journal can rebuild the
whole chain. A signature cannot be made without the person's key. The public keys are stored outside
the journal, in the policy or in a file of the verifier, because a forger could replace keys stored
in the journal. A signature covers the entry's position, time, content, author and the previous
hash.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from treasury.core.errors import ActionRefused, InputError, JournalError, SettingsError
from treasury.core.files import durable
from treasury.core.files.state_folder import user_path
from treasury.core.settings import Secret, find_secret
from treasury.journal.actor import Actor
from treasury.journal.chain import signed_hash
from treasury.journal.person_names import same_name

_PUBLIC: Final = "ed25519:"
_PRIVATE: Final = "ed25519-private:"
ENTRY: Final = b"treasury journal entry 1\n"
"""Prefix of every signed text, so that a signature made for another purpose is not valid here.
"""

_PRIME: Final = 2**255 - 19
_SIGN: Final = 1 << 255
_SMALL_ORDER: Final = frozenset({
    0,
    1,
    _PRIME - 1,
    0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
    0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
})  # fmt: skip
"""The y coordinates of the curve's points of order 1, 2, 4 and 8 (two values). With such a point as
public key, one signature can be valid for any content, so these keys are refused.
"""

_State = Literal["valid", "unsigned", "wrong", "unknown key", "another's key"]


class SigningKey:
    """A person's private key for signing; its text is never shown."""

    def __init__(self, private: Secret) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        text = private.reveal()
        try:
            if not text.startswith(_PRIVATE):
                raise ValueError
            raw = base64.b64decode(text.removeprefix(_PRIVATE), validate=True)
            self._key = Ed25519PrivateKey.from_private_bytes(raw)
        except ValueError:
            raise SettingsError(
                "the stored signing key is not a valid key",
                do="restore it from a copy, or make a new one and have it enrolled",
            ) from None
        self.public: Final = _PUBLIC + _text(self._key.public_key().public_bytes_raw())

    def __repr__(self) -> str:
        return f"<SigningKey {self.public}>"

    def sign(self, digest: str, context: bytes = ENTRY) -> str:
        """Return the signature of a digest as text.

        `context` names the purpose of the signature, such as entries.
        """
        return _text(self._key.sign(context + digest.encode()))


def public_key(text: str) -> str:
    """Parse and normalise a public key; raise InputError if it is invalid."""
    try:
        raw = base64.b64decode(text.strip().removeprefix(_PUBLIC), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not text.strip().startswith(_PUBLIC) or len(raw) != 32:
        raise InputError("that is not a public key", do=f"write {_PUBLIC} followed by the key")
    y = int.from_bytes(raw, "little") & ~_SIGN
    if y >= _PRIME or y in _SMALL_ORDER:
        raise InputError(
            "anybody could sign with that public key",
            do="make another with `treasury journal key make`",
        )
    return _PUBLIC + _text(raw)


def load_key(place: str) -> SigningKey | None:
    """Load the key at a place: `file:PATH`, `keyring:SERVICE/USER` or `env:NAME`.

    Return None if there is no key. Raise SettingsError for an invalid or unreadable key, and for a
    key file that others may read.
    """
    kind, _, where = place.partition(":")
    try:
        if kind == "file":
            path = user_path(where)
            if not path.exists():
                return None
            mode = path.stat().st_mode
            if not stat.S_ISREG(mode) or (os.name == "posix" and mode & 0o077):
                raise SettingsError(
                    f"the signing key {path} can be read by others, or is not a file",
                    do=f"make a new key if others may have it, else run chmod 600 {path}",
                )
        elif kind not in {"env", "keyring"}:
            raise SettingsError(
                f"journal.key does not name a place: {kind}",
                do="write file:PATH, keyring:SERVICE/USER or env:NAME",
            )
        private = find_secret(place, "key", is_sent=False)[0]
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the signing key at {place} cannot be read: {type(error).__name__}",
            do="make it readable for you alone",
        ) from None
    return None if private is None else SigningKey(private)


def make_key(place: str) -> SigningKey:
    """Create a key and store it at a place; raise InputError if there already is one."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    kind, _, where = place.partition(":")
    if kind not in {"file", "keyring"}:
        raise InputError(
            f"a key cannot be put into {kind or 'nothing'}",
            do="name file:PATH or keyring:SERVICE/USER",
        )
    if load_key(place) is not None:
        raise InputError(
            f"{place} already has a key",
            do="keep it, because only it can prove what it signed; or name another place",
        )
    text = _PRIVATE + _text(Ed25519PrivateKey.generate().private_bytes_raw())
    if kind == "file":
        _write_private(user_path(where), text)
    else:
        _put_into_keyring(where, text)
    return SigningKey(Secret(text))


def _put_into_keyring(where: str, text: str) -> None:
    try:
        import keyring
    except ImportError:
        raise SettingsError(
            "this machine has no keyring",
            do="pip install 'treasury-toolkit[keyring]', or name file:PATH",
        ) from None
    service, _, user = where.partition("/")
    try:
        keyring.set_password(service, user, text)
    except Exception as error:  # noqa: BLE001 - a backend is a plugin, and may raise anything
        raise SettingsError(
            f"the keyring does not accept the key: {type(error).__name__}",
            do="unlock it, or name file:PATH",
        ) from None


def _write_private(path: Path, text: str) -> None:
    try:
        durable.make_folder(path.parent, mode=0o700)
        place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(place, "w", encoding="ascii") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        durable.sync_folder(path.parent)
    except OSError as error:
        raise SettingsError(
            f"the signing key cannot be written to {path}: {error.strerror}",
            do="name another place with --place",
        ) from error


class SignatureRules(msgspec.Struct, frozen=True, kw_only=True):
    """The policy's signature rules: each person's keys, and which entries must be signed."""

    keys: Mapping[str, tuple[str, ...]] = {}
    required: bool = False
    after: int = 0
    """Entries up to this number need no signature, because signatures were not required yet."""

    def owner(self, key: str) -> str | None:
        """Return the owner of a key; None if the policy does not have the key."""
        return next((name for name, listed in self.keys.items() if key in listed), None)


class Signature(msgspec.Struct, frozen=True):
    """The validity of an entry's signature, and the owner of its key, or the key if unknown."""

    state: _State
    by: str = ""

    def __str__(self) -> str:
        return f"{self.state}, by {self.by}" if self.by else self.state


def signature_of(row: Mapping[str, Any], rules: SignatureRules) -> Signature:
    """Check a stored row's signature against the rules' keys."""
    if row["signature"] is None and row["public_key"] is None:
        return Signature("unsigned")
    key = row["public_key"] or ""
    if not is_signature(row["signature"] or "", signed_hash(row), key):
        return Signature("wrong", rules.owner(key) or "")
    owner = rules.owner(key)
    if owner is None:
        return Signature("unknown key", key)
    return Signature("valid" if same_name(owner, row["actor"]) else "another's key", owner)


# Cached, because verifying a signature takes longer than all other checks of an entry.
@lru_cache(maxsize=100_000)
def is_signature(signature: str, digest: str, key: str, context: bytes = ENTRY) -> bool:
    """Return True if this key made the signature, for this digest and context."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        raw = base64.b64decode(public_key(key).removeprefix(_PUBLIC))
        decoded = base64.b64decode(signature, validate=True)
        Ed25519PublicKey.from_public_bytes(raw).verify(decoded, context + digest.encode())
    except (InvalidSignature, InputError, ValueError):
        return False
    return True


def require_signed(row: Mapping[str, Any], rules: SignatureRules) -> None:
    """Raise JournalError if a stored row lacks a valid signature that the policy requires."""
    if not rules.required or row["seq"] <= rules.after:
        return
    signature = signature_of(row, rules)
    if signature.state != "valid":
        raise JournalError(
            f"entry {row['seq']} by {row['actor']} is not signed as the policy requires:"
            f" {signature}",
            do="no more decisions are accepted: find out who wrote it; for entries older than the "
            "signing rule, set signed_after in policy.toml",
        )


class Signing:
    """The signing key of the person who uses this process, and the workspace's signature rules."""

    def __init__(
        self,
        place: str | None = None,
        rules: Callable[[], SignatureRules] = SignatureRules,
    ) -> None:
        self._place = place
        self._load_rules = rules
        self._key: SigningKey | None = None
        self._rules: SignatureRules | None = None

    def key(self) -> SigningKey | None:
        """Return the person's key, which is cached once it exists; None if there is none."""
        if self._key is None and self._place is not None:
            self._key = load_key(self._place)
        return self._key

    def rules(self) -> SignatureRules:
        """Return the policy's rules, or the last valid rules if the policy has become invalid."""
        try:
            self._rules = self._load_rules()
        except SettingsError:
            if self._rules is None:
                raise
        return self._rules


def require_key(key: SigningKey | None, rules: SignatureRules, actors: Iterable[Actor]) -> None:
    """Raise ActionRefused if a person must sign and the signing key is missing or not theirs."""
    if not rules.required:
        return
    owner = None if key is None else rules.owner(key.public)
    for actor in actors:
        if owner is not None and same_name(owner, actor.name):
            continue
        if key is None:
            why, do = "there is no signing key here", "run `treasury journal key make`"
        elif owner is None:
            why = f"the policy does not have the key {key.public}"
            do = f"have it added below [keys] in policy.toml as the key of {actor.name}"
        else:
            why, do = f"the key here is that of {owner}", "decide under your own name"
        raise ActionRefused(
            f"the policy requires signed decisions, but {actor.name} cannot sign: {why}; nothing"
            " was decided",
            do=do,
        )


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
