"""Desks that share a journal, in SQLite or PostgreSQL, send each notice only once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from notice_servers import desk, due, endpoint, settings

from treasury.journal import Journal


@pytest.mark.first_case
def test_only_one_of_several_desks_sends_a_notice(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "ines")
    with endpoint() as hook:
        of = settings(url=hook.url)
        for number in range(1, 6):
            items = [due(each) for each in range(1, number + 1)]
            desks = [desk(Journal(url), of, lambda items=items: items) for _ in range(3)]  # type: ignore[misc]
            with ThreadPoolExecutor(3) as pool:
                list(pool.map(lambda each: each.send(), desks))
        names = [item["name"] for post in hook.posts for item in post["items"]]
    assert sorted(names) == [f"PAY-2026-{number:06}" for number in range(1, 6)]
    Journal(url).verify()
