"""New items are sent once to each channel, and the outcome is in the journal."""

from __future__ import annotations

import email
import socket
import ssl
import subprocess
import sys
import threading
from email.policy import default
from pathlib import Path

import msgspec
import pytest
from notice_servers import MONDAY, Endpoint, Mailbox, desk, due, mail_server, settings

from treasury.core.errors import ActionRefused, InputError, NoticeError, SettingsError
from treasury.core.files.secret_places import Secret
from treasury.core.settings.notice_terms import MailServer, NoticedPerson, Webhook
from treasury.journal import Journal
from treasury.journal.notice_history import notices_of
from treasury.workspace.notices.digest import Digest
from treasury.workspace.notices.mail_channel import opened_mail
from treasury.workspace.notices.webhook_channel import opened_webhook


def kinds(journal: Journal) -> list[str]:
    return [entry.kind.removeprefix("notice.") for entry in journal.entries("notice.")]


def text_of(message: bytes) -> str:
    read = email.message_from_bytes(message, policy=default)
    return str(read["Subject"]) + "\n" + str(read.get_content())


@pytest.mark.acceptance
def test_each_channel_gets_an_item_once_even_after_a_restart(
    journal: Journal, tmp_path: Path, mailbox: Mailbox, hook: Endpoint
) -> None:
    of, items = settings(mail=mailbox.port, url=hook.url), [due(1), due(2)]
    report = desk(journal, of, lambda: items).send()
    assert (dict(report.sent), report.failures) == ({"mail ines": 2, "webhook desk": 2}, ())
    again = Journal(tmp_path, now=lambda: MONDAY)
    assert str(desk(again, of, lambda: items).send()) == "no new items"
    items.append(due(3))
    assert desk(again, of, lambda: items).send().sent == {"mail ines": 1, "webhook desk": 1}
    assert mailbox.receivers == ["ines@harbour.test"] * 2
    assert [post["count"] for post in hook.posts] == [2, 1]
    assert hook.posts[1]["items"][0]["name"] == "PAY-2026-000003"
    assert "PAY-2026-000003" in text_of(mailbox.messages[1])
    assert "PAY-2026-000001" not in text_of(mailbox.messages[1])
    assert kinds(again) == ["sending", "sent"] * 4
    again.verify()


@pytest.mark.acceptance
def test_an_item_in_another_state_is_sent_again(journal: Journal, hook: Endpoint) -> None:
    of = settings(url=hook.url)
    for mark in (1, 2, 1):
        desk(journal, of, lambda mark=mark: [due(mark)]).send()  # type: ignore[misc]
    assert len(hook.posts) == 2


def test_a_dry_run_counts_the_notices_and_sends_none(
    journal: Journal, mailbox: Mailbox, hook: Endpoint
) -> None:
    of = settings(mail=mailbox.port, url=hook.url)
    report = desk(journal, of, lambda: [due(1)]).send(dry_run=True)
    assert str(report) == "mail ines: 1 would be sent\nwebhook desk: 1 would be sent"
    assert (mailbox.messages, hook.posts, kinds(journal)) == ([], [], [])


def test_a_refusal_by_one_server_does_not_stop_the_others(
    journal: Journal, mailbox: Mailbox, hook: Endpoint
) -> None:
    mailbox.answer = "554 no"
    of = settings(mail=mailbox.port, url=hook.url)
    report = desk(journal, of, lambda: [due(1)]).send()
    assert report.sent == {"webhook desk": 1}
    (failure,) = report.failures
    assert str(failure).startswith("the mail server 127.0.0.1 refused the message: 554")
    mailbox.answer = "250 taken"
    assert desk(journal, of, lambda: [due(1)]).send().sent == {"mail ines": 1}
    assert kinds(journal) == ["sending", "refused", "sending", "sent", "sending", "sent"]


def test_an_unreachable_server_leaves_no_journal_entry(journal: Journal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    report = desk(journal, settings(mail=port), lambda: [due(1)]).send()
    assert "cannot be used: ConnectionRefusedError" in str(report)
    assert kinds(journal) == []


@pytest.mark.acceptance
@pytest.mark.parametrize("status", [301, 307, 400, 404, 410, 429])
def test_a_refused_post_is_sent_by_the_next_run_and_redirects_are_not_followed(
    journal: Journal, hook: Endpoint, status: int
) -> None:
    of, hook.status = settings(url=hook.url), status
    report = desk(journal, of, lambda: [due(1)]).send()
    assert f"answered {status}" in str(report)
    assert hook.paths == ["/hook"]
    hook.status = 204
    assert desk(journal, of, lambda: [due(1)]).send().sent == {"webhook desk": 1}


@pytest.mark.first_case
@pytest.mark.parametrize("way", ["answers 503", "hangs up"])
def test_a_webhook_notice_in_doubt_waits_for_a_person(
    journal: Journal, hook: Endpoint, way: str
) -> None:
    of = settings(url=hook.url)
    hook.status, hook.is_cut_off = (503, False) if way == "answers 503" else (200, True)
    notices = desk(journal, of, lambda: [due(1)])
    assert "it is unknown" in str(notices.send())
    assert str(notices.send()) == "no new items"
    (row,) = notices.list().arrow.to_pylist()
    assert (row["notice"], row["state"], row["items"]) == ("N-1", "unknown", 1)
    hook.status, hook.is_cut_off = 200, False
    settled = notices.settle("N-1", "lost", "nothing in the channel")
    assert (settled.state, settled.why) == ("lost", "nothing in the channel")
    assert notices.send().sent == {"webhook desk": 1}
    with pytest.raises(ActionRefused, match="N-1 is lost"):
        notices.settle("N-1", "arrived", "found it")
    with pytest.raises(InputError, match="'N-9' is not a notice"):
        notices.settle("N-9", "lost", "x")
    with pytest.raises(InputError, match="a reason is required"):
        notices.settle("N-1", "lost", " ")


def test_a_notice_that_is_being_sent_is_not_settled(journal: Journal, hook: Endpoint) -> None:
    notices = desk(journal, settings(url=hook.url), lambda: [due(1)])
    refused: list[ActionRefused] = []

    def settle() -> None:
        with pytest.raises(ActionRefused, match="is being sent") as caught:
            notices.settle("N-1", "lost", "nothing in the channel")
        refused.append(caught.value)

    hook.while_taking = settle
    assert notices.send().sent == {"webhook desk": 1}
    assert len(refused) == 1
    assert kinds(journal) == ["sending", "sent"]


@pytest.mark.acceptance
def test_a_notice_settled_as_arrived_is_not_sent_again(journal: Journal, hook: Endpoint) -> None:
    hook.status = 500
    notices = desk(journal, settings(url=hook.url), lambda: [due(1)])
    notices.send()
    notices.settle("N-1", "arrived", "I see it")
    assert str(notices.send()) == "no new items"


@pytest.mark.acceptance
def test_a_webhook_post_has_its_notice_id_and_token(
    journal: Journal, hook: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "s3cret-token")
    monkeypatch.setenv("HOOK", hook.url)
    terms = {"desk": Webhook(url=Secret("env:HOOK"), token="env:HOOK_TOKEN")}
    of = settings(url=hook.url)
    assert of.notices is not None
    of = msgspec.structs.replace(of, notices=msgspec.structs.replace(of.notices, webhooks=terms))
    desk(journal, of, lambda: [due(1)]).send()
    assert hook.headers[0]["Authorization"] == "Bearer s3cret-token"
    (sending,) = journal.entries("notice.sending")
    assert hook.headers[0]["Idempotency-Key"] == f"N-1-{sending.hash[:16]}"
    assert hook.posts[0]["notice"] == "N-1"
    stored = str([entry.body for entry in journal.entries()])
    assert "s3cret" not in stored
    assert hook.url not in stored


def test_a_webhook_address_must_be_https_in_every_place(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "http://hooks.example.test/T0/secret")
    of = settings(url="env:HOOK")
    report = desk(journal, of, lambda: [due(1)]).send()
    assert "not an https address" in str(report)
    assert "secret" not in str(report)
    assert kinds(journal) == []


def test_notices_use_the_environments_proxy(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as proxy:

        def refuse() -> None:
            connection, _ = proxy.accept()
            with connection:
                asked.append(connection.recv(1000))
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        of = settings(url="https://hooks.example.test/x")
        report = desk(journal, of, lambda: [due(1)]).send()
        thread.join()
    assert asked[0].startswith(b"CONNECT hooks.example.test:443")
    assert "was not reached: ProxyError" in str(report)


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("hours", "at", "until"),
    [
        ("20:00-07:00", "2026-11-02T19:30Z", "3 Nov 07:00"),
        ("08:00-09:30", "2026-11-02T08:10Z", "2 Nov 09:30"),
        (None, "2026-10-31T10:00Z", "2 Nov 00:00"),
        ("20:00-07:00", "2026-12-24T21:00Z", "28 Dec 07:00"),
    ],
)
def test_nothing_is_sent_in_quiet_hours_or_outside_target_days(
    journal: Journal, hook: Endpoint, hours: str | None, at: str, until: str
) -> None:
    from treasury.core.calendar import parse_instant

    of = settings(url=hook.url, quiet_hours=hours)
    company = msgspec.structs.replace(of.workspace, now=parse_instant(at))
    of = msgspec.structs.replace(of, workspace=company)
    assert str(desk(journal, of, lambda: [due(1)]).send()) == (
        f"quiet until {until}: nothing was sent"
    )
    assert hook.posts == []
    company = msgspec.structs.replace(of.workspace, now=MONDAY.replace(day=3, hour=10))
    of = msgspec.structs.replace(of, workspace=company)
    assert desk(journal, of, lambda: [due(1)]).send().sent == {"webhook desk": 1}


def test_only_the_configured_turns_are_sent(journal: Journal, hook: Endpoint) -> None:
    of = settings(url=hook.url)
    items = [due(1, turn="time"), due(2, turn="bank"), due(3, turn="provider")]
    desk(journal, of, lambda: items).send()
    assert [item["turn"] for item in hook.posts[0]["items"]] == ["provider"]


def test_a_waiting_approval_is_sent_to_its_approvers(
    journal: Journal, mailbox: Mailbox, hook: Endpoint
) -> None:
    items = [
        due(
            1,
            kind="approval_waits",
            turn="colleague",
            name=name,
            action_id=name,
            mark=f"{name:>32}",
        )
        for name in ("A-1", "A-2")
    ]
    of = settings(mail=mailbox.port, url=hook.url)
    waiting = {"ines": frozenset({"A-2"})}
    desk(journal, of, lambda: items, lambda name: waiting[name]).send()
    (message,) = mailbox.messages
    assert "1 waits for you" in text_of(message)
    assert "A-2" in text_of(message)
    assert "A-1" not in text_of(message)
    assert [item["name"] for item in hook.posts[0]["items"]] == ["A-1", "A-2"]


def test_a_channel_in_doubt_is_reported_once_by_the_other_channels(
    journal: Journal, mailbox: Mailbox, hook: Endpoint
) -> None:
    of, hook.status = settings(mail=mailbox.port, url=hook.url), 500
    items = [due(1)]
    notices = desk(journal, of, lambda: items)
    notices.send()
    doubt = {"kind": "notice_unknown", "channel": "webhook desk", "name": "webhook desk"}
    items.append(due(2, **doubt))
    assert notices.send().sent == {"mail ines": 1}
    items.append(due(3))
    notices.send()
    assert len(mailbox.messages) == 3
    assert len(hook.posts) == 2
    assert "may not have arrived: webhook desk" in text_of(mailbox.messages[1])


def test_settings_without_a_receiver_are_reported(journal: Journal) -> None:
    with pytest.raises(InputError, match="no receiver of notices is configured"):
        desk(journal, settings(), lambda: [due(1)]).send()


# Mail in particular


def digest(**changed: object) -> Digest:
    return Digest(
        notice_id="N-1",
        key="N-1-0123456789abcdef",
        company="Harbour Lane Trading NV",
        environment="sandbox",
        at=MONDAY,
        items=(due(1),),
        **changed,  # type: ignore[arg-type]
    )


def sent(mailbox: Mailbox, message: Digest, **server: object) -> None:
    terms = {"host": "127.0.0.1", "port": mailbox.port, "security": "none"} | server
    smtp = MailServer(sender="treasury@harbour.test", **terms)  # type: ignore[arg-type]
    with opened_mail(smtp, NoticedPerson(email="ines@harbour.test")) as post:
        post(message)


def test_hostile_text_adds_no_header_and_no_second_message(mailbox: Mailbox) -> None:
    hostile = "x\r\n.\r\nMAIL FROM:<a@b>\r\nBcc: thief@example.test\r\n\r\n.\u202eevil"
    message = digest()
    message = msgspec.structs.replace(
        message, company=f"Harbour{hostile}", items=(due(1, name=hostile),)
    )
    sent(mailbox, message)
    (raw,) = mailbox.messages
    assert mailbox.receivers == ["ines@harbour.test"]
    read = email.message_from_bytes(raw, policy=default)
    assert set(read.keys()) == {
        "From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version",
        "Content-Type", "Content-Transfer-Encoding",
    }  # fmt: skip
    assert "\u202e" not in str(read.get_content())


def test_a_hang_up_after_the_message_leaves_the_notice_in_doubt(journal: Journal) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rwb", buffering=0) as stream:
                stream.write(b"220 here\r\n")
                for answer in (b"250 ok", b"250 ok", b"250 ok", b"354 go"):
                    stream.readline()
                    stream.write(answer + b"\r\n")
                while stream.readline() != b".\r\n":
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        of = settings(mail=server.getsockname()[1])
        report = desk(journal, of, lambda: [due(1)]).send()
        thread.join()
    assert "did not confirm the message" in str(report)
    (notice,) = notices_of(journal.entries()).values()
    assert notice.state == "unknown"


def test_a_trickling_server_meets_the_deadline() -> None:
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while not over.wait(0.05):
                    try:
                        connection.sendall(b"2")
                    except OSError:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        smtp = MailServer(
            host="127.0.0.1", port=server.getsockname()[1], security="none", sender="a@b.test"
        )
        try:
            with (
                pytest.raises(NoticeError, match="cannot be used"),
                opened_mail(smtp, NoticedPerson(email="i@b.test"), seconds=0.4),
            ):
                pass
        finally:
            over.set()
            thread.join()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with a certificate for 127.0.0.1 and its key."""
    from datetime import UTC, datetime, timedelta
    from ipaddress import ip_address

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mail.test")])
    now = datetime.now(UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("certificate") / "mail.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_the_certificate_is_verified_before_anything_is_sent(
    certificate: Path, security: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trust.load_cert_chain(certificate)
    options = {"tls_context": trust, "require_starttls": True}
    with mail_server(**(options if security == "starttls" else {"ssl_context": trust})) as mailbox:
        with pytest.raises(NoticeError, match="its certificate: self"):
            sent(mailbox, digest(), security=security)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        sent(mailbox, digest(), security=security)
    assert len(mailbox.messages) == 1


def test_a_mail_server_without_tls_gets_no_message(mailbox: Mailbox) -> None:
    with pytest.raises(NoticeError, match="cannot be used"):
        sent(mailbox, digest(), security="starttls")
    assert mailbox.messages == []


def test_a_missing_secret_is_reported_without_connecting(mailbox: Mailbox) -> None:
    with pytest.raises(SettingsError, match="no secret for the mail server"):
        sent(mailbox, digest(), user="t", password="env:NOWHERE")


def test_a_webhook_without_an_answer_ends_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        hook = Webhook(url=Secret(f"http://127.0.0.1:{server.getsockname()[1]}/"))
        with (
            pytest.raises(NoticeError, match="it is unknown") as caught,
            opened_webhook("desk", hook, seconds=0.3) as post,
        ):
            post(digest())
    assert caught.value.may_have_arrived


@pytest.mark.acceptance
def test_two_desks_with_one_journal_send_each_item_once(
    tmp_path: Path, mailbox: Mailbox, hook: Endpoint
) -> None:
    code = Path(__file__).parents[1] / "notice_desks.py"
    command = [sys.executable, str(code), str(tmp_path), str(mailbox.port), hook.url, "6"]
    desks = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(120) for process in desks] == [0, 0]
    names = [item["name"] for post in hook.posts for item in post["items"]]
    assert sorted(names) == [f"PAY-2026-{number:06}" for number in range(1, 7)]
    written = "".join(map(text_of, mailbox.messages))
    assert all(written.count(name) == 1 for name in names)
