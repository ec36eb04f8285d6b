"""Mail: sends one message to one person, through the configured server over verified TLS.

Everything without effect happens before the sending is journaled: connecting, checking the
certificate, logging in, and asking whether the server accepts mail for this person. After the
journal entry, only the message is sent. The server accepts it, refuses it, or the outcome is
unknown.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.policy import SMTP
from typing import Final

from treasury.core.errors import NoticeError
from treasury.core.files.secret_places import Secret, call_unseen, secret_at
from treasury.core.settings.notice_terms import MailServer, NoticedPerson
from treasury.workspace.notices.digest import Digest

SECONDS: Final = 60.0
"""Time limit for the whole exchange with the server."""


@contextmanager
def opened_mail(
    server: MailServer, person: NoticedPerson, seconds: float = SECONDS
) -> Iterator[Callable[[Digest], None]]:
    """Yield a function that mails a digest; raise NoticeError if the server is unusable.

    The yielded function raises NoticeError, which states whether the message may have arrived.
    """
    password = None
    if server.password is not None:
        password = secret_at(server.password, "the mail server", "password")
    client: list[smtplib.SMTP] = []

    def hang_up() -> None:
        """Close the connection after the time limit, so that the waiting call fails."""
        sock = client[0].sock if client else None
        if sock is not None:
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    late = threading.Timer(seconds, hang_up)
    late.daemon = True
    late.start()
    try:
        try:
            _connect(server, person, password, client)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise NoticeError(
                f"the mail server {server.host} cannot be used: {_reason(error)}",
                do="check [notices.smtp]; nothing was sent, and the next try sends it",
            ) from None
        yield lambda digest: _send(client[0], server, person, digest)
    finally:
        late.cancel()
        if client:
            with suppress(smtplib.SMTPException, OSError):
                client[0].quit()
            client[0].close()


def _connect(
    server: MailServer, person: NoticedPerson, password: Secret | None, client: list[smtplib.SMTP]
) -> None:
    """Connect, start TLS, log in, and send the sender's and receiver's addresses."""
    ours = server.sender.rpartition("@")[2]
    trust = ssl.create_default_context()
    if server.security == "tls":
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(local_hostname=ours, timeout=SECONDS, context=trust)
    else:
        smtp = smtplib.SMTP(local_hostname=ours, timeout=SECONDS)
    smtp._host = server.host  # type: ignore[attr-defined]  # noqa: SLF001 - whose certificate it is
    client.append(smtp)
    smtp.connect(server.host, server.usual_port)
    if server.security == "starttls":
        smtp.starttls(context=trust)
    smtp.ehlo_or_helo_if_needed()
    if server.user is not None and password is not None:
        user, secret = server.user, password
        call_unseen(lambda: smtp.login(user, secret.reveal()))
    for code, answer in (smtp.mail(server.sender), smtp.rcpt(person.email)):
        if code not in {250, 251}:
            raise smtplib.SMTPResponseException(code, answer)


def _send(client: smtplib.SMTP, server: MailServer, person: NoticedPerson, digest: Digest) -> None:
    try:
        code, _ = client.data(_message(server, person, digest).as_bytes(policy=SMTP))
    except smtplib.SMTPDataError as error:
        code = error.smtp_code
    except (smtplib.SMTPException, OSError) as error:
        raise NoticeError(
            f"the mail server {server.host} did not confirm the message: {_reason(error)}",
            do="find out from the person whether it arrived, then run `treasury notices settle`",
            may_have_arrived=True,
        ) from None
    if code != 250:
        raise NoticeError(
            f"the mail server {server.host} refused the message: {code}",
            do="contact its operator; the next try sends it",
        )


def _message(server: MailServer, person: NoticedPerson, digest: Digest) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"] = server.sender
    message["To"] = person.email
    message["Subject"] = digest.subject
    message["Date"] = digest.at
    message["Message-ID"] = f"<{digest.key}@{server.sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(digest.text)
    return message


def _reason(error: Exception) -> str:
    """Return the reason without the server's text, which may contain the login."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{type(error).__name__} {error.smtp_code}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate: {error.verify_message}"
    return type(error).__name__
