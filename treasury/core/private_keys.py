"""Detects private keys in texts, in the formats of common tools.

A key is recognised by the header or the field names around it, or by its DER structure after
decoding. A key without any of these, such as 32 bare bytes, looks like any other secret.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

_FRAMES: Final = re.compile(
    # PEM and OpenSSH, PGP, SSH2; WireGuard; PuTTY; age; minisign and signify; XML; JWK; treasury.
    r"(?i:BEGIN [A-Z0-9 ]*PRIVATE KEY|DEK-Info:|PrivateKey *=|PuTTY-User-Key-File"
    r"|AGE-SECRET-KEY|^untrusted comment:|<RSAKeyValue|[\"']kty[\"'] *:|ed25519-private:)"
    r"|[\"']d[\"']\s*:\s*[\"'][A-Za-z0-9_+/-]{20}"
    # Extended private keys of wallets (BIP 32).
    r"|\b[tuvxyz]prv[1-9A-HJ-NP-Za-km-z]{100}"
    # `openssh-key-v1` in base64 and in hexadecimal digits.
    r"|b3BlbnNzaC1rZXktdjE|(?i:6f70656e7373682d6b65792d7631)"
)
_BREAKS: Final = re.compile(r"\\[rn]|\\x|[\s:,\\]")
"""Separators between the digits of one key, such as line breaks in JSON or the colons of OpenSSL.
"""
_HEXADECIMAL_SIGN: Final = re.compile(r"\b0x")
"""Prefix of each byte in byte lists; base64 may contain the same characters as digits."""
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{40,}")
_HEXADECIMAL: Final = re.compile(r"[0-9A-Fa-f]{60,}")
_DER_IN_BASE64: Final = re.compile("M[A-I]")
_DER_IN_HEXADECIMAL: Final = re.compile("30[0-8]", re.IGNORECASE)
_SHORTEST: Final = 30
"""Minimum size of a DER key in bytes; keys on the smallest curve in use are larger."""
_NESTED: Final = 2
"""Number of nested encodings to decode; a PEM file is often stored in base64."""
_URL_SAFE: Final = str.maketrans("-_", "+/")
_SEQUENCE, _INTEGER, _OCTETS, _IDENTIFIER = 0x30, 0x02, 0x04, 0x06
_LAST_VERSION: Final = 3
"""Versions are 0 to 3: PKCS#8 and PKCS#1 use 0 or 1, an elliptic curve's key 1, PKCS#12 3."""


def holds_private_key(text: str, depth: int = _NESTED) -> bool:
    """Return True if a text has a private key, encrypted or not.

    The key may be inside up to `depth` nested encodings.
    """
    packed = _BREAKS.sub("", text)
    if _FRAMES.search(text.replace("\\", "")) or _FRAMES.search(packed):
        return True
    unsigned = _BREAKS.sub("", _HEXADECIMAL_SIGN.sub("", text))
    for run in (run for form in {packed, unsigned} for run in _BASE64.finditer(form)):
        digits = run[0].translate(_URL_SAFE)
        decoded = [_from_base64(digits[at.start() :]) for at in _DER_IN_BASE64.finditer(digits)]
        # .NET writes a hyphen between bytes.
        for hexadecimal in _HEXADECIMAL.finditer(digits.replace("+", "")):
            for at in _DER_IN_HEXADECIMAL.finditer(hexadecimal[0]):
                rest = hexadecimal[0][at.start() :]
                decoded.append(binascii.unhexlify(rest[: len(rest) & ~1]))
        if any(map(_is_private_key, decoded)):
            return True
        if depth and (inner := _inner_text(digits)) and holds_private_key(inner, depth - 1):
            return True
    return False


def _from_base64(digits: str) -> bytes:
    """Decode base64, ignoring final digits that do not make a whole byte."""
    if len(digits) % 4 == 1:
        digits = digits[:-1]
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def _inner_text(digits: str) -> str:
    """Return the text encoded in base64 or hexadecimal digits; empty if there is none."""
    for decode in (_from_base64, binascii.unhexlify):
        try:
            text = decode(digits).decode()
        except ValueError:
            continue
        if text.replace("\n", "").replace("\r", "").isprintable():
            return text
    return ""


def _is_private_key(der: bytes) -> bool:
    """Return True if DER data begins with a private key, plain or encrypted.

    A plain key is a sequence that begins with a version. An encrypted key is a sequence of an
    algorithm and octets. Certificates, public keys and signatures have other structures.
    """
    outer = _element(der, 0)
    if outer is None or outer[0] != _SEQUENCE or outer[2] < _SHORTEST:
        return False
    first = _element(der, outer[1])
    if first is None:
        return False
    tag, begin, end = first
    if tag == _INTEGER:
        return end - begin == 1 and der[begin] <= _LAST_VERSION
    second = _element(der, end)
    is_algorithm = tag == _SEQUENCE and der[begin : begin + 1] == bytes([_IDENTIFIER])
    return is_algorithm and second is not None and second[0] == _OCTETS


def _element(der: bytes, at: int) -> tuple[int, int, int] | None:
    """Return the tag, start and end of the DER element at a position; None if it is incomplete."""
    if len(der) < at + 2:
        return None
    tag, length, begin = der[at], der[at + 1], at + 2
    if length > 0x80:
        size = length - 0x80
        length = int.from_bytes(der[begin : begin + size])
        begin += size
    end = begin + length
    return (tag, begin, end) if end <= len(der) else None
