"""A journal in PostgreSQL: the server is verified, and no password is sent in clear text."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from traceback import TracebackException

import pytest
import sqlalchemy as sa
from certificates import Authority
from remote_database import DATABASE_HOST, DATABASE_PASSWORD

from benchmarks.postgres_server import Server
from treasury.core.errors import JournalError
from treasury.core.settings import Secret
from treasury.journal import Actor, Journal

_SSL, _GSS = 80877103, 80877104


class ClearTextServer:
    """A server that speaks enough of PostgreSQL's protocol to ask for a clear-text password."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self.asked = 0
        self.received = b""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                self._ask(connection)

    def _ask(self, connection: socket.socket) -> None:
        while True:
            head = connection.recv(8)
            if len(head) < 8:
                return
            length, code = struct.unpack("!II", head)
            if code in {_SSL, _GSS}:
                connection.sendall(b"N")
                continue
            connection.recv(length - 8)
            break
        self.asked += 1
        connection.sendall(b"R" + struct.pack("!II", 8, 3))
        self.received += connection.recv(1000)


@pytest.fixture
def clear_text() -> Iterator[ClearTextServer]:
    server = ClearTextServer()
    yield server
    server.stop()


def used(url: str) -> list[str]:
    """Write an entry to the journal at an address, and read it."""
    journal = Journal(url, password=Secret(DATABASE_PASSWORD))
    try:
        journal.append("x", "y", {}, actor=Actor("anna", "hub"))
        return [entry.subject for entry in journal.entries()]
    finally:
        journal.close()


def refusal(url: str) -> str:
    """Return the error for a refused address; its traceback must not show the password."""
    with pytest.raises(JournalError) as caught:
        used(url)
    shown = TracebackException.from_exception(caught.value, capture_locals=True)
    assert DATABASE_PASSWORD not in "".join(shown.format())
    return str(caught.value)


@pytest.mark.parametrize("more", ["", "&sslmode=disable", "&require_auth=!md5,!password"])
def test_a_password_requested_in_clear_text_is_not_sent(
    clear_text: ClearTextServer, more: str
) -> None:
    url = f"postgresql+psycopg://anna@127.0.0.1:{clear_text.port}/journal?connect_timeout=5{more}"
    assert "cannot be used" in refusal(url)
    assert clear_text.asked
    assert DATABASE_PASSWORD.encode() not in clear_text.received


@pytest.mark.parametrize("ways", ["password", "scram-sha-256,password", "!md5"])
def test_an_address_that_allows_a_clear_text_password_is_refused(
    clear_text: ClearTextServer, ways: str
) -> None:
    url = f"postgresql+psycopg://anna@127.0.0.1:{clear_text.port}/journal?require_auth={ways}"
    assert "a password in the clear (require_auth)" in refusal(url)
    assert not clear_text.asked


def test_the_environment_cannot_allow_a_clear_text_password(
    clear_text: ClearTextServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGREQUIREAUTH", "password")
    monkeypatch.setenv("PGSSLMODE", "disable")
    refusal(f"postgresql+psycopg://anna@127.0.0.1:{clear_text.port}/journal")
    refusal(f"postgresql+psycopg://anna@{DATABASE_HOST}:{clear_text.port}/j?hostaddr=127.0.0.1")
    assert DATABASE_PASSWORD.encode() not in clear_text.received


@pytest.mark.parametrize(
    "place",
    [
        "@db.example.test:{port}/journal?hostaddr=127.0.0.1",
        "@/journal?host=db.example.test&hostaddr=127.0.0.1&port={port}",
        "@/journal?host=127.0.0.1:{port},db.example.test:{port}",
        "@127.0.0.1:{port}/journal?host=db.example.test&hostaddr=127.0.0.1",
    ],
)
def test_a_remote_server_without_tls_gets_no_data(clear_text: ClearTextServer, place: str) -> None:
    url = f"postgresql+psycopg://anna{place.format(port=clear_text.port)}"
    refusal(url + "&connect_timeout=5")
    # The server does not even receive the names of the user and the database.
    assert not clear_text.asked


@pytest.mark.parametrize("mode", ["disable", "prefer", "require", "verify-ca"])
def test_a_remote_address_with_weaker_tls_is_refused(
    clear_text: ClearTextServer, mode: str
) -> None:
    url = (
        f"postgresql+psycopg://anna@{DATABASE_HOST}:{clear_text.port}/journal"
        f"?hostaddr=127.0.0.1&sslmode={mode}"
    )
    said = refusal(url)
    assert f"sslmode={mode}, but {DATABASE_HOST} is not this machine" in said
    assert "sslrootcert=FILE" in said


@pytest.mark.parametrize(
    "driver", ["mysql+pymysql", "postgresql+psycopg2", "postgresql+pg8000", "oracle"]
)
def test_an_unknown_kind_of_database_is_refused(driver: str) -> None:
    with pytest.raises(JournalError, match=r"a shared journal needs PostgreSQL|cannot be used"):
        Journal(f"{driver}://anna@127.0.0.1:9/journal", password=Secret(DATABASE_PASSWORD))


def by_tls(server: Server, host: str, root: Path | None) -> str:
    database = sa.make_url(server.new_url()).database
    trusted = "" if root is None else f"&sslrootcert={root}"
    address = f"{host}:{server.port}/{database}?hostaddr=127.0.0.1"
    return f"postgresql+psycopg://remote@{address}{trusted}"


@pytest.mark.acceptance
def test_a_server_with_a_verified_certificate_gets_the_password(
    postgresql: Server, authority: Authority, tmp_path: Path
) -> None:
    root = tmp_path / "root.crt"
    root.write_bytes(authority.certificate)
    assert used(by_tls(postgresql, DATABASE_HOST, root)) == ["y"]


@pytest.mark.acceptance
def test_a_server_with_an_unverified_certificate_gets_no_data(
    postgresql: Server, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    root, other = tmp_path / "root.crt", tmp_path / "other.crt"
    root.write_bytes(authority.certificate)
    other.write_bytes(Authority("Somebody else").certificate)
    assert "root certificate file" in refusal(by_tls(postgresql, DATABASE_HOST, None))
    assert "certificate verify failed" in refusal(by_tls(postgresql, DATABASE_HOST, other))
    assert "does not match host name" in refusal(by_tls(postgresql, "dc.example.test", root))
