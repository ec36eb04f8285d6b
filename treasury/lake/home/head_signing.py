"""Signatures of a home's heads, because not every writer of the home is one of the team's desks.

The lake knows neither the policy nor any keys. A workspace passes its own `HeadSignatures`, based
on the policy's public keys and the key of the person at the desk.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import msgspec

from treasury.core.errors import StorageError
from treasury.lake.home.heads import HomeHead


class HeadSignatures(Protocol):
    """How a desk signs heads and checks signatures."""

    def sign(self, digest: str) -> tuple[str, str]:
        """Return the public key and the signature of a digest; empty texts without a key.

        Raise StorageError if heads must be signed and this desk cannot.
        """

    def problem(self, key: str, signature: str, digest: str) -> str:
        """Explain why a signature is not accepted; empty if it is, or if none is required."""


class NoSignatures:
    """A home without signed heads."""

    def sign(self, _digest: str) -> tuple[str, str]:
        """Return no signature."""
        return "", ""

    def problem(self, _key: str, _signature: str, _digest: str) -> str:
        """Return no problem: any head is accepted."""
        return ""


def signed_head(head: HomeHead, signatures: HeadSignatures) -> HomeHead:
    """Return the head with the signature of this desk."""
    key, signature = signatures.sign(_digest(head))
    return msgspec.structs.replace(head, public_key=key, signature=signature)


def head_problem(head: HomeHead, signatures: HeadSignatures) -> str:
    """Explain why a head is not accepted; empty if it is."""
    return signatures.problem(head.public_key, head.signature, _digest(head))


def require_signed(head: HomeHead, address: str, signatures: HeadSignatures) -> None:
    """Raise StorageError for a head that the policy does not accept."""
    problem = head_problem(head, signatures)
    if problem:
        raise StorageError(
            f"head {head.number} in the lake's home {address}, in the name of {head.by},"
            f" {problem}; it was not used",
            do="ask who wrote it; if a desk of yours did before heads were signed, run"
            " `treasury lake push` there",
        )


def _digest(head: HomeHead) -> str:
    """Return the SHA-256 of a head's content, including its position in the series."""
    unsigned = msgspec.structs.replace(head, public_key="", signature="")
    return hashlib.sha256(msgspec.json.encode(unsigned, order="sorted")).hexdigest()
