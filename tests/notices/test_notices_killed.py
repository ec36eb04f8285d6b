"""A desk killed at any moment sends nothing twice, and a person sees every doubtful notice."""

from __future__ import annotations

import email
import subprocess
import sys
from collections import Counter
from email.policy import default
from pathlib import Path

import pytest
from notice_servers import MONDAY, desk, due, endpoint, mail_server, settings

from treasury.journal import Journal
from treasury.journal.notice_history import notices_of


def killed(folder: Path, kills: int, seed: int) -> Counter[str]:
    """Check that a desk killed `kills` times sends each fact once; return its notices by state."""
    with mail_server() as mailbox, endpoint() as hook:
        code = Path(__file__).parents[1] / "notice_desks.py"
        words = [folder, mailbox.port, hook.url, kills, kills, seed]
        subprocess.run([sys.executable, str(code), *map(str, words)], check=True)
        journal = Journal(folder, now=lambda: MONDAY)
        journal.verify()
        states = Counter(notice.state for notice in notices_of(journal.entries()).values())
        of = settings(mail=mailbox.port, url=hook.url)
        notices = desk(journal, of, lambda: [due(number) for number in range(1, kills + 1)])
        assert str(notices.send()) == "no new items"

        def read() -> dict[str, list[str]]:
            mails = (email.message_from_bytes(m, policy=default) for m in mailbox.messages)
            texts = [str(mail.get_content()) for mail in mails]
            posts = [str(post["text"]) for post in hook.posts]
            return {"mail ines": texts, "webhook desk": posts}

        names = [f"PAY-2026-{number:06}" for number in range(1, kills + 1)]
        for texts in read().values():
            assert all("".join(texts).count(name) <= 1 for name in names)
        # A person is shown each notice in doubt and settles it; if it was lost, it is sent again.
        for notice in notices_of(journal.entries()).values():
            if notice.state == "unknown":
                arrived = any(f"Notice {notice.id}\n" in text.replace("\r", "")
                              for text in read()[notice.channel])  # fmt: skip
                notices.settle(notice.id, "arrived" if arrived else "lost", "looked for it")
            else:
                assert notice.state == "sent"
        notices.send()
        for texts in read().values():
            assert [name for name in names if "".join(texts).count(name) != 1] == []
    return states


def test_killed_ten_times_each_fact_is_sent_once(tmp_path: Path) -> None:
    assert killed(tmp_path, 10, seed=18)["sent"] > 0


@pytest.mark.acceptance
@pytest.mark.timeout(900)
def test_killed_a_thousand_times_each_fact_is_sent_once(tmp_path: Path) -> None:
    states: Counter[str] = Counter()
    for seed in range(20):
        (tmp_path / str(seed)).mkdir()
        of_draw = killed(tmp_path / str(seed), 50, seed)
        assert of_draw["sent"] > 0
        states += of_draw
    # Some kills came between the journal entries before and after a sending.
    assert states["unknown"] > 0
