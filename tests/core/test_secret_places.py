"""A secret's place yields one line of text, never a private key or several credentials."""

from __future__ import annotations

import os
import subprocess
import traceback
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from treasury.core.errors import SettingsError
from treasury.core.files.secret_places import Secret, call_unseen, find_secret, is_place, secret_at

CANARY = "canary-7c41e0"


def _pem(kind: serialization.PrivateFormat) -> bytes:
    private = ed25519.Ed25519PrivateKey.generate()
    encryption = serialization.NoEncryption()
    return private.private_bytes(serialization.Encoding.PEM, kind, encryption)


KEYS = {
    "pkcs8": _pem(serialization.PrivateFormat.PKCS8),
    "openssh": _pem(serialization.PrivateFormat.OpenSSH),
    "openssh without its frame": b"".join(
        _pem(serialization.PrivateFormat.OpenSSH).splitlines()[1:-1]
    ),
    "after a line of text": b"maker\n" + _pem(serialization.PrivateFormat.PKCS8),
    "pem in one line": _pem(serialization.PrivateFormat.PKCS8).replace(b"\n", b" "),
    "pem in json": b'"' + _pem(serialization.PrivateFormat.PKCS8).replace(b"\n", b"\\n") + b'"',
    "ssh2": b"---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nAAAA\n",
    "pgp": b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nAAAA\n",
    "putty": b"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n",
    "age": b"AGE-SECRET-KEY-1QQQQQQQQQQQQ",
    "wireguard": b"[Interface]\nPrivateKey = AAAA\n",
    "minisign": b"untrusted comment: minisign encrypted secret key\nRWRT\n",
    "jwk": b'{"kty": "OKP", "d": "AAAA"}',
    "xml": b"<RSAKeyValue><D>AAAA</D></RSAKeyValue>",
    "our own signing key": b"ed25519-private:AAAA",
}  # fmt: skip


@pytest.mark.parametrize("kind", KEYS)
def test_a_file_with_a_private_key_is_refused_and_not_shown(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "key"
    path.write_bytes(KEYS[kind])
    path.chmod(0o600)
    with pytest.raises(SettingsError, match="holds a private key, which is never sent") as error:
        secret_at(f"file:{path}", "maker", "client_secret")
    shown = traceback.TracebackException.from_exception(error.value, capture_locals=True)
    longest = max(KEYS[kind].decode().split(), key=len)
    assert longest not in "".join(shown.format())


def test_a_private_key_that_a_tool_made_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "id"
    made = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(path)], check=False
    )
    if made.returncode != 0:
        pytest.fail("ssh-keygen does not run")
    with pytest.raises(SettingsError, match="holds a private key"):
        secret_at(f"file:{path}", "maker", "client_secret")


@pytest.mark.parametrize(
    "content",
    [
        b"[default]\naws_access_key_id = AKIA\naws_secret_access_key = canary\n",
        b"machine bank.example.test login ines password canary\nmachine b\n",
        b"canary\0binary",
        b"canary" * 4000,
        b"\x30\x82canary\xff",
    ],
)
def test_a_file_that_is_not_one_line_of_text_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "credentials"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"one line of text|is not text") as error:
        secret_at(f"file:{path}", "maker", "client_secret")
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("place", ["pipe", "folder", "device"])
def test_a_secret_place_that_is_not_a_regular_file_is_refused_at_once(
    tmp_path: Path, place: str
) -> None:
    path = tmp_path / place
    if place == "pipe":
        os.mkfifo(path)
    elif place == "folder":
        path.mkdir()
    else:
        path = Path("/dev/zero")
    with pytest.raises(SettingsError, match="not a file"):
        secret_at(f"file:{path}", "maker", "client_secret")


def test_a_private_key_in_a_variable_is_refused_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREASURY_SECRET", KEYS["openssh"].decode())
    with pytest.raises(SettingsError, match="holds a private key"):
        secret_at("env:TREASURY_SECRET", "maker", "client_secret")


def test_a_one_line_secret_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text(f"{CANARY} with blanks and my private key\n")
    secret, _ = find_secret(f"file:{path}", "client_secret")
    assert secret is not None
    assert secret.reveal() == f"{CANARY} with blanks and my private key"


@pytest.mark.parametrize("typed", [CANARY, f"env:{CANARY}!", "env:", f"vault:{CANARY}", "file:"])
def test_a_secret_in_place_of_its_reference_is_refused(typed: str) -> None:
    assert not is_place(typed)


def test_a_secret_typed_after_env_is_not_shown() -> None:
    with pytest.raises(SettingsError, match="environment variable that client_secret names") as e:
        secret_at("env:hunter2", "maker", "client_secret")
    assert "hunter2" not in str(e.value)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_error_is_raised_without_the_local_variables_of_its_callees(
    kind: type[BaseException],
) -> None:
    secret = Secret(CANARY)

    def inner() -> None:
        revealed = secret.reveal()
        try:
            raise OSError(revealed)
        except OSError as error:
            raise kind("it failed") from error

    with pytest.raises(kind, match="it failed") as error:
        call_unseen(inner)
    shown = traceback.TracebackException.from_exception(error.value, capture_locals=True)
    assert CANARY not in "".join(shown.format())
    assert error.value.__context__ is None
