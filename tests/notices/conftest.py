"""Fixtures of the tests of notices: a journal, a mail server and the endpoint of a webhook."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from notice_servers import MONDAY, Endpoint, Mailbox, endpoint, mail_server

from treasury.journal import Journal


@pytest.fixture(autouse=True)
def _ines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `ines` the current user, without a proxy."""
    monkeypatch.setenv("TREASURY_USER", "ines")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path, now=lambda: MONDAY)


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as taken:
        yield taken


@pytest.fixture
def hook() -> Iterator[Endpoint]:
    with endpoint() as server:
        yield server
