"""A notebook hub is queried for the owner of a token, over a real socket."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from traceback import TracebackException

import pytest

from treasury.api import hub
from treasury.api.hub import hub_user
from treasury.core.errors import JournalError, SettingsError
from treasury.core.settings import Secret

TOKEN = Secret("the-servers-own-token")
Serve = Callable[[Callable[[BaseHTTPRequestHandler], None]], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Yield a function that starts a hub with given answers and returns the address of its API."""
    servers: list[ThreadingHTTPServer] = []

    def answering(answer: Callable[[BaseHTTPRequestHandler], None]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}/hub/api"

    yield answering
    for server in servers:
        server.shutdown()
        server.server_close()


def saying(body: bytes, status: int = 200, **headers: str) -> Callable[..., None]:
    """Return a function that answers a request with this body."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.mark.acceptance
def test_the_hub_names_the_owner_of_the_token(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str | None]] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append((handler.path, handler.headers["Authorization"]))
        saying(b'{"kind": "user", "name": "ines", "admin": false, "groups": []}')(handler)

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # proxies are ignored
    api = serve(answer)
    assert hub_user(api, TOKEN) == "ines"
    assert hub_user(f"{api}/", TOKEN) == "ines"
    assert asked == [("/hub/api/user", "token the-servers-own-token")] * 2


@pytest.mark.acceptance
def test_the_hub_can_be_asked_within_a_running_event_loop(serve: Serve) -> None:
    api = serve(saying(b'{"kind": "user", "name": "ines"}'))

    async def in_a_notebook() -> str:
        return hub_user(api, TOKEN)

    assert asyncio.run(in_a_notebook()) == "ines"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (saying(b"{}", 403), "it answers 403"),
        (saying(b"", 302, Location="http://127.0.0.1:9/"), "it answers 302"),
        (saying(b"<html>"), "does not describe a user"),
        (saying(b'{"name": 7}'), "does not describe a user"),
        (saying(b'{"kind": "user", "name": " "}'), "does not belong to a person"),
        (saying(b'{"kind": "service", "name": "ines"}'), "does not belong to a person"),
        (saying(b'{"kind": "user", "name": "in\\u001bes"}'), "does not belong to a person"),
        (saying(b'{"kind": "user", "name": "\xff"}'), "does not describe a user"),
        (saying(b'{"name": "by the-servers-own-token"}'), "the token instead of a name"),
        (saying(b'{"x": ' + b"[" * 200_000), "does not describe a user"),
        (saying(b" " * 300_000 + b'{"name": "ines"}'), "is too long"),
    ],
)
def test_any_other_response_is_an_error_that_hides_the_token(
    serve: Serve, answer: Callable[..., None], said: str
) -> None:
    with pytest.raises(JournalError, match=said) as caught:
        hub_user(serve(answer), TOKEN)
    shown = TracebackException.from_exception(caught.value, capture_locals=True)
    assert TOKEN.reveal() not in "".join(shown.format())


def test_a_token_that_the_hub_repeats_in_a_header_is_not_logged(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    def echo(handler: BaseHTTPRequestHandler) -> None:
        said = {"X-Token": handler.headers["Authorization"]}
        saying(b'{"kind": "user", "name": "ines"}', **said)(handler)

    with caplog.at_level("DEBUG"):
        assert hub_user(serve(echo), TOKEN) == "ines"
    assert "X-Token" in caplog.text
    assert TOKEN.reveal() not in caplog.text


def test_the_token_is_not_sent_unencrypted_to_another_machine() -> None:
    with pytest.raises(SettingsError, match="is not https"):
        hub_user("http://hub.example.test/hub/api", TOKEN)


def test_an_unreachable_or_slow_hub_ends_in_an_error(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        JournalError, match="does not name the person who is deciding: ConnectError"
    ):
        hub_user("http://127.0.0.1:9/hub/api", TOKEN)
    monkeypatch.setattr(hub, "SECONDS", 1)
    ended = threading.Event()

    def dribble(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not ended.is_set():
            try:
                handler.wfile.write(b"X-More: 1\r\n")
                handler.wfile.flush()
            except OSError:
                break
            time.sleep(0.05)

    with pytest.raises(JournalError, match="no answer within 1 s"):
        hub_user(serve(dribble), TOKEN)
    ended.set()
