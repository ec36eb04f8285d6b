"""Signatures of heads, because people outside the team may be able to write to the home.

A head describes a shared commit (see `heads`). The lake itself reads neither the policy nor keys: a
workspace passes an object with the methods of `HeadSignatures`, which uses the policy's public keys
and the key of this desk's user.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

import msgspec

from treasury.core.errors import StorageError
from treasury.lake.home.heads import HomeHead


class HeadSignatures(Protocol):
    """The protocol for signing heads and checking their signatures."""

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
