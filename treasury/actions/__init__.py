"""Actions: writes to a payment service that a person has approved, journaled before they leave."""

from treasury.actions.executor import Actions, Confirmation, Outcome
from treasury.actions.kinds import KINDS, Kind, kind_of
from treasury.actions.seen import Moved, RampSeen, moved

__all__ = [
    "KINDS",
    "Actions",
    "Confirmation",
    "Kind",
    "Moved",
    "Outcome",
    "RampSeen",
    "kind_of",
    "moved",
]
