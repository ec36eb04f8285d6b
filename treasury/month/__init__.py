"""A month from the stored records: bank lines, expectations, open items and people's decisions."""

from treasury.month.question import Question
from treasury.month.reconciliation import Reconciliation, awaiting_funds, reconcile_month

__all__ = ["Question", "Reconciliation", "awaiting_funds", "reconcile_month"]
