"""A digest has the open items that are due, by name and without account numbers or amounts."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from notice_servers import Endpoint, Mailbox

from treasury.core.calendar import Month
from treasury.core.settings import FILE_NAME
from treasury.month.items import OpenItem, OpenItems
from treasury.workspace import Workspace
from treasury.workspace.notices import due_items
from treasury.workspace.notices.due_items import masked

NOW = datetime(2026, 11, 12, 9, tzinfo=UTC)
NOVEMBER, OCTOBER = Month(2026, 11), Month(2026, 10)


def item(**changed: object) -> OpenItem:
    """Return an overdue request as an open item, with changes."""
    shown: dict[str, object] = {
        "item_id": "request:r1",
        "kind": "overdue",
        "subject": "request",
        "subject_id": "r1",
        "name": "PAY-2026-005358",
        "month": "2026-10",
        "state": "PAY",
        "since": date(2026, 10, 28),
        "turn": "us",
        "blocks": "until accepted",
        "next_step": "Pay EUR 12,000.00 today",
        "command": "treasury awaiting-funds",
    }
    return OpenItem(**shown | changed)  # type: ignore[arg-type]


def due_of(
    *running: OpenItem, ended: tuple[OpenItem, ...] | None = None, synced_at: datetime | None = NOW
) -> list[str]:
    """Return the kinds of the items that are due at `NOW`."""
    due = due_items(
        OpenItems(NOVEMBER, running),
        None if ended is None else OpenItems(OCTOBER, ended),
        now=NOW,
        today=NOW.date(),
        synced_at=synced_at,
        silent_after=timedelta(hours=24),
    )
    return [one.kind for one in due]


def statement(missing_from: date) -> OpenItem:
    return item(item_id="statement:x", subject="statement", kind="statement_missing",
                since=missing_from)  # fmt: skip


def test_a_missing_statement_is_due_after_its_day() -> None:
    assert due_of(statement(date(2026, 11, 12))) == []
    assert due_of(statement(date(2026, 11, 11))) == ["statement_missing"]


def test_month_end_items_are_due_after_the_month_end() -> None:
    at_end = item(subject="balance", kind="balance_not_proved", since=date(2026, 11, 30))
    assert due_of(at_end) == []
    assert due_of(ended=(at_end,)) == ["balance_not_proved"]


def test_a_missing_sync_is_due_after_the_configured_hours() -> None:
    unread = item(subject="source", kind="not_synced", item_id="source:services")
    assert due_of(unread) == []
    assert due_of(unread, synced_at=NOW - timedelta(hours=25)) == ["not_synced"]
    assert due_of(unread, synced_at=None) == ["not_synced"]


def test_an_item_in_two_months_is_sent_once_and_again_in_another_state() -> None:
    assert due_of(item(), ended=(item(),)) == ["overdue"]
    marks = set()
    for changed in ({}, {"state": "RETURNED"}, {"turn": "provider"}, {"since": date(2026, 11, 2)}):
        (due,) = due_items(
            OpenItems(NOVEMBER, (item(**changed),)),
            None,
            now=NOW,
            today=NOW.date(),
            synced_at=NOW,
            silent_after=timedelta(1),
        )
        marks.add(due.mark)
    assert len(marks) == 4


def test_each_gap_between_syncs_is_a_fact_even_twice_a_day() -> None:
    silent = item(kind="not_synced", item_id="source:services", subject="source")
    marks = set()
    for hours in (9, 6, 6):
        (due,) = due_items(
            OpenItems(NOVEMBER, (silent,)),
            None,
            now=NOW,
            today=NOW.date(),
            synced_at=NOW - timedelta(hours=hours),
            silent_after=timedelta(hours=5),
        )
        marks.add(due.mark)
    assert len(marks) == 2


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("PAY-2026-005358", "PAY-2026-005358"),
        ("PAY-2026-004556, Ramp Operator BV", "PAY-2026-004556 Ramp Operator BV"),
        ("VFY-QDP7-604, O'Brien & Sons Ltd", "VFY-QDP7-604 O'Brien & Sons Ltd"),
        ("VFY-8M3T-407; PAY-2026-004417", "VFY-8M3T-407 PAY-2026-004417"),
        ("AC-31926819", "AC-…"),
        ("AC-31926819 at HSBC", "AC-… at HSBC"),
        ("ACC-3192-6819", "…"),
        ("GB-20-00-00-31926819", "GB-…"),
        ("UK-319268-19", "UK-…"),
        ("KT-2026-31926819", "KT-…"),
        ("run-15", "run-15"),
        ("EUR operating account …6689", "EUR operating account …"),
        ("2026-10: EUR 7,829.08 of it", "…: …of it"),
        ("pay BE19 5397 0820 4912, now", "pay …, now"),
        ("company wallet 0x58922a632e18f8c514b37e32549c3cd45ae1d2b6", "company wallet …"),
        ("see https://evil.test/approve?id=1", "see https evil·test/approve?id=1"),
        ("see www。evil．test", "see www·evil·test"),
        ("BE68–5390–0754–7034", "…"),
        ("BE68_5390_0754_7034 5390|0754|7034", "…"),
        ("BE68 5390\u200b0754\u200b7034", "…"),
        ("4500 eur, or Euro 4.500", "…, or …"),
        ("mail ceo@bank.example", "mail ceo at bank·example"),
        ("pay\r\nnow\u202e", "pay now⟨U+202E⟩"),
    ],
)
def test_a_name_shows_only_words_and_references(name: str, shown: str) -> None:
    assert masked(name) == shown


@given(
    st.sampled_from(["BE", "NL", "DE", "FR"]),
    st.integers(10**13, 10**16 - 1),
    st.sampled_from(["", " ", "-", "."]),
    st.text("abcXYZ ,", max_size=12),
)
def test_account_numbers_are_hidden_in_any_grouping(
    country: str, number: int, separator: str, words: str
) -> None:
    whole = f"{country}{number}"
    grouped = separator.join(whole[at : at + 4] for at in range(0, len(whole), 4))
    shown = masked(f"{words} {grouped} {words}")
    assert re.search(r"\d{4}", shown) is None


@given(st.decimals(1, 10**9, places=2), st.sampled_from(["EUR {}", "{} USDC", "€ {}", "{}"]))
def test_amounts_are_hidden(amount: Decimal, form: str) -> None:
    shown = masked(f"short by {form.format(f'{amount:,}')} it is")
    assert re.search(r"\d", shown) is None


# The complete digest of the practice company


def desk(month_end: Workspace, folder: Path, mailbox: Mailbox, hook: Endpoint) -> Workspace:
    """Return a copy of the month's workspace that sends mail and posts."""
    shutil.copytree(month_end.folder, folder)
    settings = folder / FILE_NAME
    settings.write_text(
        f"""{settings.read_text()}
[notices]
with_amounts = false

[notices.smtp]
host = "127.0.0.1"
port = {mailbox.port}
security = "none"
sender = "treasury@harbour.test"

[notices.people.ines]
email = "ines@harbour.test"

[notices.webhooks.desk]
url = "{hook.url}"
"""
    )
    return Workspace(folder)


@pytest.mark.acceptance
def test_the_practice_companys_digest_has_rows_of_the_open_items(
    month_end: Workspace, tmp_path: Path, mailbox: Mailbox, hook: Endpoint
) -> None:
    workspace = desk(month_end, tmp_path / "desk", mailbox, hook)
    report = workspace.notices.send()
    items = {
        name: [item for item in workspace.open_items(name) if item.turn != "time"]
        for name in ("2026-10", "2026-11")
    }
    told = hook.posts[0]["items"]
    assert report.sent == {"mail ines": len(told), "webhook desk": len(told)}
    kinds = {item["kind"] for item in told}
    assert {"overdue", "awaiting_approval", "silent", "blocked", "balance_not_proved"} <= kinds
    assert not {"not_synced", "statement_missing"} & kinds
    october = {item.item_id for item in items["2026-10"]}
    since = [item for item in items["2026-11"] if item.since and item.since < date(2026, 11, 30)]
    since = [item for item in since if item.kind not in {"not_synced", "statement_missing"}]
    assert len(told) == len(october | {item.item_id for item in since})
    assert str(Workspace(workspace.folder).notices.send()) == "no new items"
    workspace.journal.verify()


@pytest.mark.acceptance
def test_no_account_number_or_amount_is_sent(
    month_end: Workspace, tmp_path: Path, mailbox: Mailbox, hook: Endpoint
) -> None:
    workspace = desk(month_end, tmp_path / "desk", mailbox, hook)
    workspace.notices.send()
    sent = str(hook.posts) + mailbox.messages[0].decode()
    for account in workspace.settings.accounts:
        assert account.account not in sent
        assert account.account[-4:] not in sent
    for each in workspace.open_items("2026-10"):
        if each.amount is not None:
            assert f"{each.amount:,.2f}" not in sent
    assert "http" not in sent.replace(hook.url, "")
    with_amounts = msgspec.structs.replace(workspace.settings.notices, with_amounts=True)
    workspace.settings = msgspec.structs.replace(workspace.settings, notices=with_amounts)
    shutil.rmtree(tmp_path / "other", ignore_errors=True)
    shutil.copytree(month_end.folder, tmp_path / "other")
    other = Workspace(tmp_path / "other")
    other.settings = workspace.settings
    other.notices.send()
    assert "EUR 12,000.00" in hook.posts[1]["text"]


@pytest.mark.acceptance
def test_an_overdue_statement_and_a_missing_sync_are_in_the_digest(
    month_end: Workspace, tmp_path: Path, mailbox: Mailbox, hook: Endpoint
) -> None:
    workspace = desk(month_end, tmp_path / "desk", mailbox, hook)
    workspace.notices.send()
    company = msgspec.structs.replace(
        workspace.settings.workspace, now=datetime(2026, 11, 5, 9, tzinfo=UTC)
    )
    later = Workspace(workspace.folder)
    later.settings = msgspec.structs.replace(workspace.settings, workspace=company)
    later.notices.send()
    told = hook.posts[1]["items"]
    assert [item["kind"] for item in told if item["kind"] == "not_synced"] == ["not_synced"]
    assert sum(item["kind"] == "statement_missing" for item in told) == 3


@pytest.mark.acceptance
def test_a_notice_in_doubt_is_an_open_item_until_it_is_settled(
    month_end: Workspace, tmp_path: Path, mailbox: Mailbox, hook: Endpoint
) -> None:
    workspace, hook.status = desk(month_end, tmp_path / "desk", mailbox, hook), 500
    workspace.notices.send()
    (doubt,) = workspace.open_items("2026-11").select(kind="notice_unknown")
    assert (doubt.item_id, doubt.turn, doubt.blocks) == ("notice:webhook desk", "us", "never")
    assert doubt.name == "webhook desk N-2"
    assert workspace.notices.send().sent == {"mail ines": 1}
    assert str(workspace.notices.send()) == "no new items"
    workspace.notices.settle("N-2", "arrived", "seen in the channel")
    assert not len(workspace.open_items("2026-11").select(kind="notice_unknown"))
