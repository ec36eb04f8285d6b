"""What is open now in a workspace: the current month, and the last one unless it is closed."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from treasury.core.errors import NothingStored
from treasury.core.settings.notice_terms import NoticeTerms
from treasury.journal.period_history import closed_periods

if TYPE_CHECKING:
    import pyarrow as pa

    from treasury.close.closing import Closing
    from treasury.journal.period_history import Period
    from treasury.month.reconciliation import Reconciliation
    from treasury.report.screens import Morning
    from treasury.workspace.decision_verbs import WorkspaceDecisions


def running_and_ended(t: WorkspaceDecisions) -> tuple[Closing, Closing | None, Period | None]:
    """Return the current month, and the last one: its answer if it is open, its close if not.

    Both are None if nothing is stored about the last month. Raise NothingStored if nothing is
    stored about the current one.
    """
    decided, last = t.decided(), t.this_month.previous
    running = t.periods.closing_on(t.this_month, decided)
    period = closed_periods(decided.entries).get(str(last))
    if period is not None:
        return running, None, period
    try:
        return running, t.periods.closing_on(last, decided), None
    except NothingStored:
        return running, None, None


def silent_after(t: WorkspaceDecisions) -> timedelta:
    """Return the time after which a missing sync is an open item."""
    return timedelta(hours=(t.settings.notices or NoticeTerms()).silent_hours)


def positions_at(t: WorkspaceDecisions, r: Reconciliation | None, now: datetime) -> pa.Table:
    """Return what every account holds at `now`, for the morning's screen and `t.cash()`.

    `r` is as in `position`; so are the columns.
    """
    from treasury.close.cash.position import position

    settings = t.settings
    return position(
        t.snapshot(),
        settings.accounts,
        r,
        now=now,
        zone=settings.zone,
        uses_services=settings.services is not None,
    )


def morning_of(t: WorkspaceDecisions) -> Morning:
    """Return the inputs of the morning's screen."""
    from treasury.close.cash.position import funds
    from treasury.close.close_words import closed_words, signature_words
    from treasury.month.items import open_now
    from treasury.month.reconciliation import synced_at
    from treasury.report.screen import missing_steps
    from treasury.report.screens import Morning
    from treasury.report.screens.month_status import verdict_words

    now, zone, month = t.now(), t.settings.zone, t.this_month.previous
    items = ended = r = period = None
    verdict, why, next_step = "not known: nothing is stored", "", ""
    try:
        running, closing, period = running_and_ended(t)
    except NothingStored as missing:
        why, synced = missing.what, synced_at(t.snapshot())
        next_step = missing_steps(t.snapshot(), uses_services=t.settings.services is not None)
    else:
        r, synced = running.r, running.synced_at
        is_silent = synced is None or now - synced > silent_after(t)
        ended = None if closing is None else closing.items
        items = open_now(running.items, ended, today=t.today, is_silent=is_silent)
        if period is not None:
            verdict = closed_words(period, zone, t.today.year)
        elif closing is not None:
            verdict = verdict_words(closing)
            if closing.preparation is not None:
                verdict = f"{verdict}; {signature_words(closing)}"
    desk, uses_services = t.settings.workspace, t.settings.services is not None
    return Morning(
        company=desk.company,
        environment=desk.environment,
        now=now,
        zone=zone,
        items=items,
        month=month,
        verdict=verdict,
        is_closed=period is not None,
        ended=ended,
        synced_at=synced,
        are_services_used=uses_services or synced is not None,
        funds=funds(positions_at(t, r, now)),
        why=why,
        next_step=next_step,
    )
