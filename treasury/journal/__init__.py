"""The journal: what people decided, append-only and hash-chained, in a relational database."""

from treasury.journal.actor import Actor, current_actor
from treasury.journal.chain import Entry, Head
from treasury.journal.decisions import decisions
from treasury.journal.end import ADOPTED
from treasury.journal.signing import SignatureRules, Signing
from treasury.journal.store import Draft, Journal

__all__ = [
    "ADOPTED",
    "Actor",
    "Draft",
    "Entry",
    "Head",
    "Journal",
    "SignatureRules",
    "Signing",
    "current_actor",
    "decisions",
]
