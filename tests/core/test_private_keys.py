"""A private key is recognised in every encoding; an ordinary secret is not mistaken for one."""

from __future__ import annotations

import base64
import json
import random
import string
import subprocess
import uuid
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x448, x25519
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat, pkcs12

from treasury.core.files.secret_places import Secret
from treasury.core.private_keys import holds_private_key

PLAIN: Final = serialization.NoEncryption()
ENCRYPTED: Final = serialization.BestAvailableEncryption(b"password")


@cache
def _rsa() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


KEYS: Final[dict[str, Callable[[], Any]]] = {
    "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "P-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "secp256k1": lambda: ec.generate_private_key(ec.SECP256K1()),
    "brainpool": lambda: ec.generate_private_key(ec.BrainpoolP384R1()),
    "X25519": x25519.X25519PrivateKey.generate,
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
    "X448": x448.X448PrivateKey.generate,
    "Ed448": ed448.Ed448PrivateKey.generate,
    "RSA": _rsa,
    "DSA": lambda: dsa.generate_private_key(1024),
}
ENCODINGS: Final[dict[str, Callable[[bytes], str]]] = {
    "base64": lambda der: base64.b64encode(der).decode(),
    "base64 without padding": lambda der: base64.b64encode(der).decode().rstrip("="),
    "base64url": lambda der: base64.urlsafe_b64encode(der).decode(),
    "base64 in lines of JSON": lambda der: json.dumps({"key": base64.encodebytes(der).decode()}),
    "base64 behind a name": lambda der: f"signing_key-{base64.urlsafe_b64encode(der).decode()}",
    "base64 twice": lambda der: base64.b64encode(base64.b64encode(der)).decode(),
    "hexadecimal": lambda der: der.hex(),
    "hexadecimal in capitals": lambda der: f"0x{der.hex().upper()}",
    "hexadecimal with colons": lambda der: der.hex(":"),
    "hexadecimal with hyphens": lambda der: der.hex("-").upper(),
    "hexadecimal of C": lambda der: "".join(f"\\x{byte:02x}" for byte in der),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_without_a_frame_is_recognised_in_each_encoding(kind: str) -> None:
    private = KEYS[kind]()
    forms = [private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, how)
             for how in (PLAIN, ENCRYPTED)]  # fmt: skip
    if kind in {"P-256", "P-384", "P-521", "secp256k1", "brainpool", "RSA", "DSA"}:
        forms.append(private.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, PLAIN))
    for der in forms:
        for encoding, encode in ENCODINGS.items():
            assert holds_private_key(encode(der)), encoding


@pytest.mark.parametrize("sign", ["+0x", "/0x"])
def test_a_key_whose_base64_looks_like_hexadecimal_digits_is_recognised(sign: str) -> None:
    # Nine bytes come first, so the chosen base64 text appears unchanged in that of the key.
    octets = b"\0\0" + base64.b64decode(f"A{sign}" * 16)
    der = bytes([0x30, 5 + len(octets), 2, 1, 0, 4, len(octets)]) + octets
    text = base64.b64encode(der).decode()
    assert sign in text
    assert holds_private_key(text)


@pytest.mark.parametrize(
    "how",
    [serialization.BestAvailableEncryption(b"x"), PLAIN],
    ids=["encrypted", "plain"],
)
def test_a_key_in_a_container_is_recognised(how: serialization.KeySerializationEncryption) -> None:
    der = pkcs12.serialize_key_and_certificates(b"ours", _rsa(), None, None, how)
    assert holds_private_key(base64.b64encode(der).decode())


@pytest.mark.parametrize("kind", [PrivateFormat.OpenSSH, PrivateFormat.PKCS8])
def test_a_pem_file_in_base64_is_recognised(kind: PrivateFormat) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, kind, PLAIN)
    once = base64.b64encode(pem)
    for text in (once, once.rstrip(b"="), base64.b64encode(once), pem.hex().encode()):
        assert holds_private_key(text.decode())


def test_a_key_that_openssl_made_and_encrypted_is_recognised() -> None:
    made = subprocess.run(
        ["openssl", "ecparam", "-name", "secp256k1", "-genkey", "-noout", "-outform", "DER"],
        check=True, capture_output=True,
    )  # fmt: skip
    packed = subprocess.run(
        ["openssl", "pkcs8", "-topk8", "-inform", "DER", "-outform", "DER", "-passout", "pass:x"],
        check=True, capture_output=True, input=made.stdout,
    )  # fmt: skip
    for der in (made.stdout, packed.stdout):
        assert holds_private_key(base64.b64encode(der).decode())


@pytest.mark.parametrize(
    "text",
    [
        '{"crv":"P-256","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}',
        "{'d': 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI'}",
        '"{\\"kty\\": \\"OKP\\", \\"d\\": \\"jpsQnnGQmL-YBIff\\"}"',
        base64.urlsafe_b64encode(
            b'{"crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}'
        ).decode(),
        f"xprv9s21ZrQH143K3{'QTDL4LXw2F7HEK3w' * 6}",
    ],
)
def test_a_key_by_the_names_of_its_fields_is_recognised(text: str) -> None:
    assert holds_private_key(text)
    assert Secret(text).flaw


def test_no_ordinary_secret_is_taken_for_a_key() -> None:
    drawn = random.Random(44)
    letters = string.ascii_letters + string.digits
    for _ in range(1000):
        raw = drawn.randbytes(drawn.randint(32, 64))
        signature = base64.urlsafe_b64encode(raw).decode()
        body = base64.urlsafe_b64encode(json.dumps({"sub": "maker", "d": 1}).encode()).decode()
        for secret in (
            base64.b64encode(raw).decode(),
            signature,
            raw.hex(),
            drawn.randbytes(32).hex(),
            str(uuid.UUID(bytes=raw[:16], version=4)),
            "".join(drawn.choices(letters, k=40)),
            f"M{''.join(drawn.choices('ABCDEFGHI', k=60))}",
            f"sk_live_{signature}",
            f"eyJhbGciOiJIUzI1NiJ9.{body}.{signature}",
        ):
            assert not holds_private_key(secret), secret


def test_public_material_is_not_mistaken_for_a_private_key() -> None:
    for make in KEYS.values():
        public = make().public_key()
        der = public.public_bytes(Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        assert not holds_private_key(base64.b64encode(der).decode())
    assert not holds_private_key("AAAAC3NzaC1lZDI1NTE5AAAAIJd1nyK9eYYRSr4Hf0nT0YmX0c8Ww3sQ6cXl")
    signature = KEYS["P-256"]().sign(b"x", ec.ECDSA(hashes.SHA256()))
    assert not holds_private_key(base64.b64encode(signature).decode())
