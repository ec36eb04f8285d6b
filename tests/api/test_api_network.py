"""Deadlines, certificates and fences of exchanges through TLS and the environment's proxy."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hostile_service as ways
import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from fake_service import services_at
from hostile_service import Hostile, Way

from treasury.api import CallLimits, Client, Clock
from treasury.api.bodies import NewRampRequest
from treasury.api.exchange.network import Network
from treasury.core.errors import (
    ActionRefused,
    OutcomeUnknown,
    ServiceUnreachable,
    SettingsError,
    TreasuryError,
)
from treasury.core.settings import Credential

HOST = "pay.example.test"
HURRIED = CallLimits(deadline=3, attempts=1)
QUICK = Clock(sleep=lambda _seconds: None)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a key and a certificate for the service's name and localhost, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(HOST), x509.DNSName("localhost")]), False
        )
        .sign(key, hashes.SHA256())
    )
    place = tmp_path_factory.mktemp("tls") / "identity.pem"
    place.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return place


@pytest.fixture
def tls(identity: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    monkeypatch.setenv("SSL_CERT_FILE", str(identity))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity)
    return context


def pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            target.sendall(part)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def relay_to(port: int) -> Way:
    """Return the handler of a proxy that answers CONNECT with a connection to `port`."""

    def relay(connection: socket.socket, head: str) -> None:
        assert head.startswith(f"CONNECT {HOST}:443 ")
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with socket.create_connection(("127.0.0.1", port)) as onward:
            back = threading.Thread(target=pump, args=(onward, connection), daemon=True)
            back.start()
            pump(connection, onward)
            back.join()

    return relay


@contextlib.contextmanager
def behind_proxy(
    service: Way,
    tls: ssl.SSLContext,
    credential: Credential,
    monkeypatch: pytest.MonkeyPatch,
    *,
    encrypted: bool,
) -> Iterator[tuple[Client, Hostile, Hostile]]:
    """Yield a client, its service, and the proxy in front of it, which may use TLS."""
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    with (
        Hostile(service, tls=tls) as served,
        Hostile(relay_to(served.port), tls=tls if encrypted else None) as proxy,
    ):
        scheme = "https" if encrypted else "http"
        monkeypatch.setenv("HTTPS_PROXY", f"{scheme}://localhost:{proxy.port}")
        services = services_at(f"https://{HOST}")
        with Client(services, credential, limits=HURRIED, clock=QUICK) as client:
            yield client, served, proxy


@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
def test_a_service_is_reached_through_the_proxy(
    tls: ssl.SSLContext, credential: Credential, monkeypatch, encrypted: bool
) -> None:
    with behind_proxy(ways.good, tls, credential, monkeypatch, encrypted=encrypted) as (
        client,
        served,
        proxy,
    ):
        assert client.ramp.company.get().value.id == "r1"
    assert len(served.heads) == 2
    assert all(head.startswith("CONNECT") for head in proxy.heads)


@pytest.mark.acceptance
@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("way", [ways.slow_headers, ways.slow_continues, ways.slow_body])
def test_a_slow_response_through_the_proxy_ends_at_the_deadline(
    tls: ssl.SSLContext, credential: Credential, monkeypatch, way: Way, encrypted: bool
) -> None:
    with behind_proxy(way, tls, credential, monkeypatch, encrypted=encrypted) as (client, *_):
        with pytest.raises(ServiceUnreachable, match="not complete in time"):
            client.ramp.company.get()
        with pytest.raises(OutcomeUnknown):
            client.ramp.requests.approve("r1", version=1)


@pytest.mark.acceptance
def test_a_slow_inner_record_through_an_encrypted_proxy_ends_at_the_deadline(
    tls: ssl.SSLContext, credential: Credential, monkeypatch
) -> None:
    def stutter(connection: socket.socket, _head: str) -> None:
        """Send the header of a TLS record, then bytes one by one; no record is ever complete."""
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        ways.drip(connection, b"\x16\x03\x03\x40\x00", *[b"\x02"] * ways.DRIPS)

    with behind_proxy(ways.good, tls, credential, monkeypatch, encrypted=True) as (
        client,
        _,
        proxy,
    ):
        proxy._service = proxy._token = stutter
        with pytest.raises(TreasuryError, match="no answer"):
            client.ramp.company.get()
        assert len(proxy.heads) == 1


@pytest.mark.acceptance
def test_a_proxy_that_never_opens_the_tunnel_ends_at_the_deadline(
    tls: ssl.SSLContext, credential: Credential, monkeypatch
) -> None:
    with behind_proxy(ways.good, tls, credential, monkeypatch, encrypted=False) as (
        client,
        served,
        proxy,
    ):
        proxy._service = ways.slow_continues
        with pytest.raises(ServiceUnreachable):
            client.ramp.company.get()
    assert served.heads == []


def test_a_proxy_of_another_kind_is_a_settings_error(credential: Credential, monkeypatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "socks4://127.0.0.1:1080")
    with pytest.raises(SettingsError, match="proxy of the kind socks4"):
        Client(services_at(f"https://{HOST}"), credential)


def test_no_certificate_is_read_or_trusted_if_no_address_is_encrypted(
    credential: Credential, monkeypatch
) -> None:
    def no_certificates(**_: object) -> None:
        raise AssertionError("certificates were read")

    monkeypatch.setattr(httpx, "create_ssl_context", no_certificates)
    with Client(services_at("http://127.0.0.1:9"), credential):
        network = Network(connections=1, trust_env=False, is_encrypted=False)
    assert network._tls.verify_mode is ssl.CERT_REQUIRED
    assert network._tls.check_hostname
    assert network._tls.get_ca_certs() == []
    with pytest.raises(AssertionError, match="certificates"):
        Client(services_at(f"https://{HOST}"), credential)


class Recording:
    """A fence that records, at each check, the requests that the service has received by then."""

    def __init__(self, served: Hostile, refuses_at: int = 0) -> None:
        self._served, self._refuses_at = served, refuses_at
        self.asked: list[tuple[bool, list[str]]] = []
        self.left = 0

    def before_bytes(self, has_begun: bool) -> None:
        heads = [head.split(" HTTP")[0] for head in self._served.heads]
        self.asked.append((has_begun, heads))
        if len(self.asked) == self._refuses_at:
            raise ActionRefused("its term has passed")

    def after_bytes(self) -> None:
        self.left += 1


def create(client: Client, fence: Recording) -> None:
    body = NewRampRequest(
        ramp_type="OFF_RAMP", amount="1", company_bank_account_id="b", fiat_currency_id="f",
        crypto_currency_id="c",
    )  # fmt: skip
    client.request("POST", "/ramp-requests", service="ramp", body=body, fence=fence)


@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
def test_the_fence_is_checked_last_after_token_tunnel_and_encryption(
    tls: ssl.SSLContext, credential: Credential, monkeypatch, encrypted: bool
) -> None:
    with behind_proxy(ways.good, tls, credential, monkeypatch, encrypted=encrypted) as (
        client,
        served,
        proxy,
    ):
        fence = Recording(served)
        create(client, fence)
        # The headers and the content of the one write; the token has been fetched by then.
        assert [has_begun for has_begun, _ in fence.asked] == [False, True]
        assert fence.asked[0][1] == ["POST /oauth/token"]
        assert fence.left == 2
        assert len(served.heads) == 2
        assert all(head.startswith("CONNECT") for head in proxy.heads)


@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
def test_a_request_refused_by_the_fence_is_not_sent(
    tls: ssl.SSLContext, credential: Credential, monkeypatch, encrypted: bool
) -> None:
    with behind_proxy(ways.good, tls, credential, monkeypatch, encrypted=encrypted) as (
        client,
        served,
        _,
    ):
        with pytest.raises(ActionRefused, match="its term has passed"):
            create(client, Recording(served, refuses_at=1))
        assert [head.split(" HTTP")[0] for head in served.heads] == ["POST /oauth/token"]


def test_a_write_stopped_by_the_fence_after_its_headers_is_unknown(
    tls: ssl.SSLContext, credential: Credential, monkeypatch
) -> None:
    with (
        behind_proxy(ways.good, tls, credential, monkeypatch, encrypted=False) as (
            client,
            served,
            _,
        ),
        pytest.raises(OutcomeUnknown),
    ):
        create(client, Recording(served, refuses_at=2))
