"""A stored month: what the bank shows, what was expected, what is open, what people decided."""

from treasury.month.question import Question
from treasury.month.reconciliation import Reconciliation, awaiting_funds, reconcile_month

__all__ = ["Question", "Reconciliation", "awaiting_funds", "reconcile_month"]
