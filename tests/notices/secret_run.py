"""Notices that fail in every way, with every log on; run by the canary test in a new process.

Arguments: a folder, the address of an endpoint that fails by its path, and a mail server's
port. The variables TREASURY_URL and TREASURY_TOKEN hold the secrets, TREASURY_PASSWORD the mail
server's password.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from pathlib import Path

import httpcore
import msgspec
from interrupts import interrupted
from notice_servers import MONDAY, due, settings

from treasury.core.errors import TreasuryError
from treasury.core.settings import Secret, Settings
from treasury.core.settings.notice_terms import MailServer, NoticedPerson, NoticeTerms, Webhook
from treasury.journal import Journal
from treasury.workspace.notices import NoticeSender
from treasury.workspace.notices.digest import Digest
from treasury.workspace.notices.notice_sender import channels_of

WAYS = ("200", "204", "301", "400", "401", "404", "429", "500", "503", "drop", "malformed", "slow")


def show(*things: object) -> None:
    sys.stdout.write(" ".join(map(str, things)) + "\n")


def tell(error: BaseException) -> None:
    """Print everything about an error that a person, a log or a debugger could see."""
    part: BaseException | None = error
    while part is not None:
        shown = traceback.TracebackException.from_exception(part, capture_locals=True)
        show("".join(shown.format()), repr(part), vars(part))
        part = part.__cause__ or part.__context__


def of_webhook(url: str) -> Settings:
    """Return settings with a webhook at `url` plus the secret, or at the address in a variable."""
    address = Secret(url if url.startswith("env:") else f"{url}/{os.environ['TREASURY_URL']}")
    webhook = Webhook(url=address, token="env:TREASURY_TOKEN")
    terms = NoticeTerms(webhooks={"desk": webhook}, target_days_only=False)
    return msgspec.structs.replace(settings(), notices=terms)


def of_mail(port: int) -> Settings:
    """Return settings with a mail server that needs a password."""
    server = MailServer(
        host="127.0.0.1", port=port, security="none", sender="t@harbour.test",
        user="treasury", password="env:TREASURY_PASSWORD",
    )  # fmt: skip
    terms = NoticeTerms(
        smtp=server, people={"ines": NoticedPerson(email="i@harbour.test")}, target_days_only=False
    )
    return msgspec.structs.replace(settings(), notices=terms)


def main(folder: str, endpoint: str, mail: str) -> None:
    logging.basicConfig(level=logging.DEBUG, stream=sys.stdout)
    assert httpcore.__version__
    journal, failed = Journal(Path(folder), now=lambda: MONDAY), 0
    digest = Digest(
        notice_id="N-1", key="key", company="Harbour", environment="sandbox", at=MONDAY, items=()
    )
    asked = [of_webhook(f"{endpoint}/{way}") for way in WAYS]
    asked += [of_webhook("http://127.0.0.1:1"), of_webhook("http://hooks.example.test")]
    asked += [of_webhook("env:TREASURY_WHOLE_URL"), of_mail(int(mail)), of_mail(1)]
    for number, of in enumerate(asked, 1):
        show(repr(of), of, [of], repr(of.notices), vars(type(of)).keys())
        report = NoticeSender(journal, of, lambda n=number: [due(n)], lambda _: frozenset()).send()
        show(report, repr(report), report.failures)
        for error in report.failures:
            failed += 1
            tell(error)
        for channel in channels_of(of.notices or NoticeTerms()):
            show(repr(channel), channel.opened)
            try:
                with channel.opened() as post:
                    show(repr(post))
                    if interrupt := interrupted(lambda p=post: p(digest)):  # type: ignore[misc]
                        tell(interrupt)
            except TreasuryError as error:
                tell(error)
    show([entry.body for entry in journal.entries()])
    show(f"FAILED {failed}")


if __name__ == "__main__":
    main(*sys.argv[1:])
