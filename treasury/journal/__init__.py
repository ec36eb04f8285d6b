"""The journal: people's decisions, appended to a database and linked by hashes."""

from treasury.journal.actor import Actor, current_actor
from treasury.journal.chain import Entry, Head
from treasury.journal.decision_history import decisions
from treasury.journal.journal_end import ADOPTED
from treasury.journal.journal_store import Draft, Journal
from treasury.journal.signing import SignatureRules, Signing

__all__ = [
    "ADOPTED", "Actor", "Draft", "Entry", "Head", "Journal", "SignatureRules", "Signing",
    "current_actor", "decisions",
]  # fmt: skip
