"""When notices may be sent: outside quiet hours and, if so set, only on TARGET days."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from treasury.core.calendar import is_target_day
from treasury.core.settings.notice_terms import NoticeTerms, parse_hours

_MINUTE: Final = timedelta(minutes=1)
_LONGEST: Final = timedelta(days=14)


def quiet_until(local: datetime, terms: NoticeTerms) -> datetime | None:
    """Return the end of the current pause; None if sending is allowed at `local`.

    `local` is in the reporting time zone. If the settings never allow sending, the result is two
    weeks after `local`.
    """
    moment = local
    while is_quiet(moment, terms) and moment - local < _LONGEST:
        moment = moment.replace(second=0, microsecond=0) + _MINUTE
    return None if moment == local else moment


def is_quiet(local: datetime, terms: NoticeTerms) -> bool:
    """Return whether sending is paused at a time in the reporting time zone."""
    if terms.target_days_only and not is_target_day(local.date()):
        return True
    hours = None if terms.quiet_hours is None else parse_hours(terms.quiet_hours)
    if hours is None:
        return False
    first, last = hours
    now = local.time()
    return first <= now < last if first <= last else now >= first or now < last
