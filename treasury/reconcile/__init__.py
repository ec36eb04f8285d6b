"""Reconciliation: what matches, what does not, and why; SQL models over a snapshot of the lake."""

from treasury.core.tables.row_view import Rows
from treasury.reconcile.matching import Matches, match_references
from treasury.reconcile.monthly import Reconciliation, awaiting_funds, reconcile_month
from treasury.reconcile.question import Question
from treasury.reconcile.rules import ClassRule, Rules, load_rules

__all__ = [
    "ClassRule", "Matches", "Question", "Reconciliation", "Rows", "Rules", "awaiting_funds",
    "load_rules", "match_references", "reconcile_month",
]  # fmt: skip
