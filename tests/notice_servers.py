"""A mail server and an HTTP endpoint on loopback that store what they receive."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from treasury.core.settings import CompanySettings, Secret, Settings
from treasury.core.settings.notice_terms import MailServer, NoticedPerson, NoticeTerms, Webhook
from treasury.journal import Journal
from treasury.workspace.notices import DueItem, NoticeSender

MONDAY = datetime(2026, 11, 2, 8, tzinfo=UTC)


class Mailbox:
    """The messages that a mail server accepted, with their receivers; `answer` is its reply."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.receivers: list[str] = []
        self.answer = "250 taken"
        self.port = 0

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.answer.startswith("250"):
            assert isinstance(envelope.original_content, bytes)
            self.messages.append(envelope.original_content)
            self.receivers += envelope.rcpt_tos
        return self.answer


class _AnyPort(Controller):
    """A mail server on a port chosen by the system."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def mail_server(**options: Any) -> Iterator[Mailbox]:
    """Run a mail server on loopback, and yield what it receives."""
    mailbox = Mailbox()
    controller = _AnyPort(mailbox, hostname="127.0.0.1", port=0, **options)
    controller.start()
    mailbox.port = controller.port
    try:
        yield mailbox
    finally:
        controller.stop(no_assert=True)


class Endpoint(ThreadingHTTPServer):
    """An HTTP server that stores the posts to a webhook, and answers with `status`."""

    daemon_threads = True

    def __init__(self) -> None:
        self.posts: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.status = 200
        self.is_cut_off = False
        self.while_taking: Callable[[], None] = lambda: None
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        self.server.headers.append(dict(self.headers))
        if self.server.status < 300 or self.server.status >= 500:
            self.server.posts.append(json.loads(body))
        self.server.while_taking()
        if self.server.is_cut_off:
            self.close_connection = True
            return
        self.send_response(self.server.status)
        if 300 <= self.server.status < 400:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Run the HTTP server of a webhook on loopback."""
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def due(number: int, **changed: Any) -> DueItem:
    """Return an overdue item, with a name and mark made from a number."""
    shown: dict[str, Any] = {
        "mark": f"{number:032x}",
        "kind": "overdue",
        "turn": "us",
        "state": "PAY",
        "name": f"PAY-2026-{number:06}",
        "since": MONDAY.date(),
        "age": 2,
        "clock": "TARGET days",
    }
    return DueItem(**shown | changed)


def settings(
    *, mail: int | None = None, url: str | None = None, person: str = "ines", **terms: Any
) -> Settings:
    """Return settings with a mail server on a port, a webhook's address, or both."""
    smtp = None
    if mail is not None:
        smtp = MailServer(
            host="127.0.0.1", port=mail, security="none", sender="treasury@harbour.test"
        )
    named: dict[str, Any] = {
        "smtp": smtp,
        "people": {} if mail is None else {person: NoticedPerson(email=f"{person}@harbour.test")},
        "webhooks": {} if url is None else {"desk": Webhook(url=Secret(url))},
    }
    company = CompanySettings(company="Harbour Lane Trading NV", now=MONDAY)
    return Settings(workspace=company, notices=NoticeTerms(**named | terms))


def desk(
    journal: Journal,
    of: Settings,
    items: Callable[[], list[DueItem]],
    waiting: Callable[[str], frozenset[str]] = lambda _: frozenset(),
) -> NoticeSender:
    """Return a sender of notices about these items."""
    return NoticeSender(journal, of, items, waiting)
