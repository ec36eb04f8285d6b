"""Quiet hours across midnight and on days when the clocks change."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from treasury.core.settings.notice_terms import NoticeTerms
from treasury.workspace.notices.notice_sender import quiet_until

BRUSSELS = ZoneInfo("Europe/Brussels")


@pytest.mark.parametrize(
    ("hours", "at", "until"),
    [
        ("20:00-07:00", "2026-11-02T18:59:59Z", None),
        ("20:00-07:00", "2026-11-02T19:00:00Z", "3 Nov 07:00"),
        ("20:00-07:00", "2026-11-02T23:30:00Z", "3 Nov 07:00"),
        ("20:00-07:00", "2026-11-03T05:59:59Z", "3 Nov 07:00"),
        ("20:00-07:00", "2026-11-03T06:00:00Z", None),
        # In spring the hour from 2 to 3 is missing, so 7 o'clock comes an hour sooner.
        ("20:00-07:00", "2026-03-29T04:59:59Z", "29 Mar 07:00"),
        ("20:00-07:00", "2026-03-29T05:00:00Z", None),
        ("01:30-03:30", "2026-03-29T00:29:00Z", None),
        ("01:30-03:30", "2026-03-29T00:30:00Z", "29 Mar 03:30"),
        ("01:30-03:30", "2026-03-29T01:29:00Z", "29 Mar 03:30"),
        ("01:30-03:30", "2026-03-29T01:30:00Z", None),
        # In autumn the hour from 2 to 3 comes twice, and both are quiet.
        ("22:00-02:30", "2026-10-25T00:29:00Z", "25 Oct 02:30"),
        ("22:00-02:30", "2026-10-25T00:30:00Z", None),
        ("22:00-02:30", "2026-10-25T01:29:00Z", "25 Oct 02:30"),
        ("22:00-02:30", "2026-10-25T01:30:00Z", None),
        ("20:00-07:00", "2026-10-25T05:59:00Z", "25 Oct 07:00"),
        ("20:00-07:00", "2026-10-25T06:00:00Z", None),
    ],
)
def test_quiet_hours_follow_local_time(hours: str, at: str, until: str | None) -> None:
    terms = NoticeTerms(quiet_hours=hours, target_days_only=False)
    local = datetime.fromisoformat(at).astimezone(BRUSSELS)
    ends = quiet_until(local, terms)
    assert (None if ends is None else f"{ends:%-d %b %H:%M}") == until


@pytest.mark.parametrize("day", [28, 29])
def test_a_weekend_is_quiet_until_the_next_target_days_first_hour(day: int) -> None:
    terms = NoticeTerms(quiet_hours="20:00-07:00")
    local = datetime(2026, 3, day, 12, tzinfo=UTC).astimezone(BRUSSELS)
    ends = quiet_until(local, terms)
    assert ends is not None
    assert f"{ends:%-d %b %H:%M %z}" == "30 Mar 07:00 +0200"
