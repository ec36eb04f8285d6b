"""`[notices]` and `[inbox]` of `treasury.toml`: who gets notices and when, and the inbox folder.

These sections also contain only the places of secrets: `env:NAME`, `file:PATH` or
`keyring:SERVICE/USER`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import time
from typing import Final, Literal

import msgspec

from treasury.core.files.secret_places import Secret, Unrendered

_ADDRESS: Final = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,255}", re.ASCII
)
_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,40}", re.ASCII)


class MailServer(Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[notices.smtp]`: the mail server, and the sender of notices.

    The security modes `starttls` and `tls` verify the server's certificate. `none` is allowed for a
    server on this machine only.
    """

    host: str
    sender: str
    port: int | None = None
    security: Literal["starttls", "tls", "none"] = "starttls"
    user: str | None = None
    password: str | None = None

    @property
    def usual_port(self) -> int:
        """The configured port, or the standard port of the security mode."""
        return self.port or {"starttls": 587, "tls": 465, "none": 25}[self.security]

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each problem, beginning with its key, and the remedy."""
        if (self.user is None) != (self.password is None):
            yield "smtp.user and smtp.password go together", "give both, or neither"
        if not _ADDRESS.fullmatch(self.sender):
            yield "smtp.sender is not an address", "write one like treasury@example.test"


class NoticedPerson(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[notices.people.NAME]`: the address of a person, by the person's name in the journal."""

    email: str


class Webhook(Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[notices.webhooks.NAME]`: an address that receives notices as JSON, or the address's place.

    The address may itself be a secret, so it is never shown. `token` is the bearer token's place.
    """

    url: Secret
    token: str | None = None


class NoticeTerms(
    Unrendered, msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """`[notices]`: recipients, times and content of notices.

    Nothing is sent during `quiet_hours`, in the reporting time zone, nor on days other than TARGET
    days unless `target_days_only` is false. Notices include amounts only if `with_amounts` is set.
    `turns` lists the parties (such as us or the provider) whose next steps are reported. After
    `silent_hours` without a sync, a notice is sent.
    """

    quiet_hours: str | None = None
    target_days_only: bool = True
    with_amounts: bool = False
    turns: tuple[Literal["us", "colleague", "provider", "bank", "time"], ...] = (
        "us", "colleague", "provider",
    )  # fmt: skip
    silent_hours: int = 24
    smtp: MailServer | None = None
    people: dict[str, NoticedPerson] = {}
    webhooks: dict[str, Webhook] = {}

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each problem, beginning with its key, and the remedy."""
        if self.quiet_hours is not None and parse_hours(self.quiet_hours) is None:
            yield (
                f"quiet_hours {self.quiet_hours!r:.40} is not a time span",
                "write it as 20:00-07:00",
            )
        if self.silent_hours < 1:
            yield "silent_hours is less than 1", "write how many hours may pass without a sync"
        yield from () if self.smtp is None else self.smtp.problems()
        if self.people and self.smtp is None:
            problem = "people are named, but no mail server"
            yield problem, "add [notices.smtp] with host and sender"
        for name, person in self.people.items():
            if not name.strip() or not name.isprintable():
                yield f"person {name!r:.40} has no name", "name them as the journal does"
            if not _ADDRESS.fullmatch(person.email):
                yield f"people.{name:.40} has no address", "write email as ines@example.test"
        for name in self.webhooks:
            if not _NAME.fullmatch(name):
                yield f"webhook {name!r:.40} is not a plain name", "name it by letters and digits"


class InboxTerms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[inbox]`: the folder in which banking software puts files, relative to the workspace."""

    folder: str


def parse_hours(span: str) -> tuple[time, time] | None:
    """Parse a time span such as `20:00-07:00`; return None for other text or an empty span."""
    read = _HOURS.fullmatch(span.strip())
    if read is None or read.group(1, 2) == read.group(3, 4):
        return None
    return time(int(read[1]), int(read[2])), time(int(read[3]), int(read[4]))
