"""Signatures of a shared lake's heads (its commit descriptions), with keys listed in the policy."""

from __future__ import annotations

from treasury.core.errors import StorageError, TreasuryError
from treasury.journal.signing import Signing, SigningKey, is_signature

_CONTEXT = b"treasury lake head 1\n"
"""Prefix of signed digests, so that a journal entry's signature is not valid for a head.
"""


class HomeSignatures:
    """Signatures of heads under a workspace's policy; with `signed = true` they are required."""

    def __init__(self, signing: Signing) -> None:
        self._signing = signing

    def sign(self, digest: str) -> tuple[str, str]:
        """Return this workspace's public key and its signature of a digest; empty without a key.

        Raise StorageError if the policy requires a signature by an enrolled key, and there is none.
        """
        try:
            key = self._signing.key()
            problem = "there is no signing key here" if key is None else self._unknown(key)
            required = self._signing.rules().required
        except TreasuryError as error:
            raise StorageError(f"the head cannot be signed: {error.what}", do=error.do) from error
        if problem and required:
            raise StorageError(
                f"the policy requires signed heads in the lake's home, and {problem}; nothing"
                " was pushed",
                do="run `treasury journal key make`, and have the key enrolled",
            )
        return ("", "") if key is None else (key.public, key.sign(digest, _CONTEXT))

    def problem(self, key: str, signature: str, digest: str) -> str:
        """Return why a signature is not accepted; empty if it is accepted or none is required."""
        rules = self._signing.rules()
        if not rules.required:
            return ""
        if not signature:
            return "is not signed"
        if not is_signature(signature, digest, key, _CONTEXT):
            return "has a wrong signature"
        return "" if rules.owner(key) is not None else f"is signed with the unknown key {key}"

    def _unknown(self, key: SigningKey) -> str:
        is_enrolled = self._signing.rules().owner(key.public) is not None
        return "" if is_enrolled else f"the key {key.public} is in no policy"
