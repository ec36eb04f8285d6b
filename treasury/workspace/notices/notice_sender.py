"""Sends each new item to each channel once, even from several workspaces or after a crash.

A channel is a person or a webhook. An item counts as sent to a channel if a `notice.sending` entry
in the journal names it. This entry is written before the message is sent, and only if no other
notice was journaled since the journal was read, so two workspaces never send the same item. The
outcome is another entry. A notice that may have arrived is never resent automatically: it is an
open item until a person settles it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal

import msgspec
import pyarrow as pa

from treasury.core.calendar import is_target_day
from treasury.core.errors import ActionRefused, InputError, NoticeError, TreasuryError
from treasury.core.machine.processes import is_running
from treasury.core.nearest_names import Facade
from treasury.core.settings import Settings
from treasury.core.settings.notice_terms import NoticeTerms, parse_hours
from treasury.core.tables.schemas import grouped_schema
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Actor, Draft, Head, Journal
from treasury.journal.notice_history import DOUBTFUL, NOTICE, Notice, notices_of, told_marks
from treasury.workspace.notices.digest import Digest
from treasury.workspace.notices.due_items import DueItem
from treasury.workspace.notices.mail_channel import opened_mail
from treasury.workspace.notices.webhook_channel import opened_webhook

_SENDING: Final = f"{NOTICE}sending"
_GIVEN_UP: Final = timedelta(minutes=10)
"""Age after which a notice in state `sending` is treated as abandoned."""
_APPROVAL: Final = "approval_waits"

_Opened = AbstractContextManager[Callable[[Digest], None]]


class Channel(msgspec.Struct, frozen=True):
    """A receiver of notices: its name, its key in the settings, the person, and its opener."""

    name: str
    key: str
    person: str | None
    opened: Callable[[], _Opened]

    def concerns(self, item: DueItem, waiting: frozenset[str]) -> bool:
        """Return whether to send an item here; `waiting` are the person's pending approvals.

        An action that waits for approval is sent only to the people who may approve it. An item
        about a notice that may not have arrived is not sent to the same channel, because it could
        create another such item.
        """
        if item.channel:
            return item.channel != self.name
        if item.kind == _APPROVAL and self.person is not None:
            return item.action_id in waiting
        return True


class NoticeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of sending: items by channel, failures, and the end of a current pause."""

    sent: Mapping[str, int] = {}
    failures: tuple[TreasuryError, ...] = ()
    quiet_until: datetime | None = None
    planned: bool = False

    def __str__(self) -> str:
        if self.quiet_until is not None:
            return f"quiet until {self.quiet_until:%-d %b %H:%M}: nothing was sent"
        verb = "would be sent" if self.planned else "sent"
        lines = [f"{name}: {count:,} {verb}" for name, count in self.sent.items()]
        lines += [str(error) for error in self.failures]
        return "\n".join(lines) or "no new items"


class NoticeSender(Facade):
    """The notices of a workspace: `send`, `list` and `settle`.

    `due` returns the open items on which somebody can act now. `waiting_for` returns the ids of the
    actions that wait for a person's approval. `require_confirmed` takes a channel's key and raises
    SettingsError if the channel's address is not confirmed. `until` is set for a read-only view:
    its instant.
    """

    def __init__(
        self,
        journal: Journal,
        settings: Settings,
        due: Callable[[], Sequence[DueItem]],
        waiting_for: Callable[[str], frozenset[str]],
        *,
        require_confirmed: Callable[[str], None] = lambda _: None,
        until: datetime | None = None,
    ) -> None:
        self._journal = journal
        self._settings = settings
        self._due = due
        self._waiting_for = waiting_for
        self._require_confirmed = require_confirmed
        self._until = until

    def send(self, *, dry_run: bool = False) -> NoticeReport:
        """Send new items to each person and webhook in the settings.

        Parameters
        ----------
        dry_run
            True to only return the numbers of items, without sending or journaling.

        Returns
        -------
        NoticeReport
            The number of items by channel, and the failures; one failure does not stop the others.

        Raises
        ------
        InputError
            If the settings name neither a person nor a webhook.

        Examples
        --------
        >>> t.notices.send(dry_run=True)
        """
        terms = self._settings.notices or NoticeTerms()
        channels = channels_of(terms)
        if not channels:
            raise InputError(
                "no receiver of notices is configured",
                do="add [notices.people.NAME] or [notices.webhooks.NAME] to treasury.toml",
            )
        if not dry_run:
            self._give_up()
        until = quiet_until(self._settings.now().astimezone(self._settings.zone), terms)
        if until is not None and not dry_run:
            return NoticeReport(quiet_until=until)
        lost = {notice.channel for notice in self._notices().values() if notice.state == "unknown"}
        due = [
            item
            for item in self._due()
            if item.turn in terms.turns and (not item.channel or item.channel in lost)
        ]
        sent: dict[str, int] = {}
        failures: list[TreasuryError] = []
        for channel in channels:
            try:
                count = self._tell(channel, due, terms, dry_run=dry_run)
            except TreasuryError as error:
                failures.append(error)
            else:
                if count:
                    sent[channel.name] = count
        return NoticeReport(sent=sent, failures=tuple(failures), planned=dry_run)

    def _tell(
        self, channel: Channel, due: Sequence[DueItem], terms: NoticeTerms, *, dry_run: bool
    ) -> int:
        """Send one channel its new items; return their number."""
        waiting = frozenset[str]()
        if channel.person is not None:
            waiting = self._waiting_for(channel.person)
        own = [item for item in due if channel.concerns(item, waiting)]
        new = self._new(own, channel)
        if dry_run or not new:
            return len(new)
        who, process = self._journal.who(), {"host": socket.gethostname(), "pid": os.getpid()}
        self._require_confirmed(channel.key)
        with channel.opened() as post:

            def build(_: Head) -> list[Draft]:
                new[:] = self._new(own, channel)
                if not new:
                    return []
                body = {"channel": channel.name, "marks": [item.mark for item in new], **process}
                return [Draft(_SENDING, f"N-{len(self._notices()) + 1}", body, who)]

            added = self._journal.decide(build, rests_on=(NOTICE,))
            # Another workspace has journaled these items first.
            if not added:
                return 0
            digest = Digest(
                notice_id=added[0].subject,
                key=f"{added[0].subject}-{added[0].hash[:16]}",
                company=self._settings.workspace.company,
                environment=self._settings.workspace.environment,
                at=self._settings.now(),
                items=tuple(new),
                waiting=waiting,
                with_amounts=terms.with_amounts,
            )
            self._post(digest, post, who)
        return len(new)

    def _post(self, digest: Digest, post: Callable[[Digest], None], who: Actor) -> None:
        """Send a notice whose sending is journaled, and journal the outcome."""
        try:
            post(digest)
        except NoticeError as error:
            word = "unknown" if error.may_have_arrived else "refused"
            self._journal.note(
                [Draft(f"{NOTICE}{word}", digest.notice_id, {"why": error.what}, who)]
            )
            raise
        except BaseException as error:
            why = f"sending it was interrupted: {type(error).__name__}"
            self._journal.note([Draft(f"{NOTICE}unknown", digest.notice_id, {"why": why}, who)])
            raise
        self._journal.note([Draft(f"{NOTICE}sent", digest.notice_id, {}, who)])

    def _new(self, items: Sequence[DueItem], channel: Channel) -> list[DueItem]:
        told = told_marks(self._notices().values(), channel.name)
        return [item for item in items if item.mark not in told]

    def _notices(self) -> Mapping[str, Notice]:
        until = self._until
        entries = self._journal.entries(NOTICE)
        return notices_of(entry for entry in entries if until is None or entry.at <= until)

    def _give_up(self) -> None:
        """Journal an unknown outcome for notices whose sender has ended or takes too long."""
        who = self._journal.who()
        body = {"why": "its sender ended before the outcome was known"}

        def build(_: Head) -> list[Draft]:
            return [
                Draft(f"{NOTICE}unknown", notice.id, body, who)
                for notice in self._notices().values()
                if notice.state == "sending" and not self._is_leaving(notice)
            ]

        if any(notice.state == "sending" for notice in self._notices().values()):
            self._journal.decide(build, rests_on=(NOTICE,))

    def _is_leaving(self, notice: Notice) -> bool:
        """Return whether a notice's sending process may still be running."""
        if notice.host == socket.gethostname() and not is_running(notice.pid):
            return False
        return abs(self._settings.now() - notice.at) <= _GIVEN_UP

    def settle(
        self,
        name: str,
        state: Literal["arrived", "lost"],
        reason: str,
        *,
        actor: Actor | None = None,
    ) -> Notice:
        """Record whether a notice with an unknown outcome arrived; if not, its items are resent.

        Parameters
        ----------
        name
            The notice's id, as in `list`.
        state
            Whether it arrived: `arrived` or `lost`.
        reason
            The source of the information, which is journaled.
        actor
            The person; default: the one at the login.

        Returns
        -------
        Notice
            The settled notice.

        Raises
        ------
        InputError
            If there is no such notice, or no reason is given.
        ActionRefused
            If the outcome is already known, or the notice is being sent.

        Examples
        --------
        >>> t.notices.settle("N-12", "lost", "ines has no such mail")
        """
        if self._until is not None:
            raise InputError("an earlier view is read-only", do="use the workspace itself")
        if not reason.strip():
            raise InputError("a reason is required to settle a notice", do="give the reason")
        who = actor or self._journal.who()

        def build(_: Head) -> list[Draft]:
            notice = self._notices().get(name)
            if notice is None:
                raise InputError(
                    f"{clean(name)[:40]!r} is not a notice",
                    do="run `treasury notices list` to see them",
                )
            if notice.state not in DOUBTFUL:
                raise ActionRefused(
                    f"{notice.id} is {notice.state}: there is nothing to settle",
                    do="run `treasury notices list` to see which may not have arrived",
                )
            if notice.state == "sending" and self._is_leaving(notice):
                raise ActionRefused(
                    f"{notice.id} is being sent: its outcome is not known yet",
                    do="look again in a few minutes",
                )
            body = {"state": state, "why": reason.strip()}
            return [Draft(f"{NOTICE}settled", notice.id, body, who)]

        self._journal.decide(build, rests_on=(NOTICE,))
        return self._notices()[name]

    def list(self) -> Table:
        """List all notices, latest first.

        Returns
        -------
        Table
            One row per notice: receiver, state, number of items, sender and time.

        Examples
        --------
        >>> t.notices.list()
        """
        rows = [
            {
                "notice": notice.id,
                "channel": notice.channel,
                "state": notice.state,
                "items": len(notice.marks),
                "sent_by": notice.by,
                "sent_at": notice.at,
                "why": notice.why,
            }
            for notice in reversed(list(self._notices().values()))
        ]
        return Table(pa.Table.from_pylist(rows, schema=_NOTICES), zone=self._settings.zone)


_NOTICES: Final = grouped_schema(
    (pa.string(), "notice", "channel", "state"),
    (pa.int64(), "items"),
    (pa.string(), "sent_by"),
    (pa.timestamp("us", tz="UTC"), "sent_at"),
    (pa.string(), "why"),
)


def channels_of(terms: NoticeTerms) -> list[Channel]:
    """Return the people and webhooks in the settings, in order."""
    people = [
        Channel(f"mail {name}", "notices.smtp.", name, partial(opened_mail, terms.smtp, person))
        for name, person in terms.people.items()
        if terms.smtp is not None
    ]
    return people + [
        Channel(
            f"webhook {name}",
            f"notices.webhooks.{name}.",
            None,
            partial(opened_webhook, name, webhook),
        )
        for name, webhook in terms.webhooks.items()
    ]


_MINUTE: Final = timedelta(minutes=1)
_LONGEST: Final = timedelta(days=14)


def quiet_until(local: datetime, terms: NoticeTerms) -> datetime | None:
    """Return the end of the current pause; None if sending is allowed at `local`.

    `local` is in the reporting time zone. If the settings never allow sending, the result is two
    weeks after `local`.
    """
    moment = local
    while is_quiet(moment, terms) and moment - local < _LONGEST:
        moment = moment.replace(second=0, microsecond=0) + _MINUTE
    return None if moment == local else moment


def is_quiet(local: datetime, terms: NoticeTerms) -> bool:
    """Return whether sending is paused at a time in the reporting time zone."""
    if terms.target_days_only and not is_target_day(local.date()):
        return True
    hours = None if terms.quiet_hours is None else parse_hours(terms.quiet_hours)
    if hours is None:
        return False
    first, last = hours
    now = local.time()
    return first <= now < last if first <= last else now >= first or now < last
