"""Finds the matching rules that apply to a month."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from treasury.core.calendar import Month
from treasury.core.decoding import convert
from treasury.journal import Journal
from treasury.journal.period_history import closed_periods, rules_in_force
from treasury.matching.rules import Rules, load_rules


def rules_for(journal: Journal, path: Path, month: Month, until: datetime | None) -> Rules:
    """Return the rules that apply to a month.

    For a closed month, these are the rules of its close. For another month, they come from the file
    or, in a view of an earlier instant, from the journal as of that instant.
    """
    everything = journal.entries(("period.", "rules."))
    before = [entry for entry in everything if until is None or entry.at <= until]
    period = closed_periods(before).get(str(month))
    if period is not None:
        return convert(period.close.rules, Rules)
    rules = None if until is None else rules_in_force(everything, until)
    if rules is not None:
        return convert(rules.content, Rules)
    return load_rules(path) if os.path.lexists(path) else Rules()
