"""The one object that an analyst holds: a folder with its settings, its lake and its journal.

`t = treasury.open()` and every verb hangs on `t`. Each base class holds the verbs of one subject.
Libraries are imported by the verb that needs them, so that opening costs nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from treasury.core.errors import NoticeError, SettingsError
from treasury.core.settings import FILE_NAME
from treasury.workspace.month_verbs import WorkspaceMonths

if TYPE_CHECKING:
    from treasury.extract import Progress
    from treasury.panels import Panels
    from treasury.workspace.notices import NoticeSender
    from treasury.workspace.upkeep.doctor import Examination
    from treasury.workspace.upkeep.inbox import Inbox
    from treasury.workspace.upkeep.watch import PartState, WatchedPart

_DEFAULT = Path("data") / "workspace"


def find_workspace(start: Path | None = None) -> Path:
    """The workspace's folder: $TREASURY_WORKSPACE, else the nearest one here or further up.

    A folder is a workspace when it holds `treasury.toml`; `data/workspace` is looked into on the
    way. Where there is none, it is `data/workspace` of the project that `start` is in, else below
    `start`.
    """
    variable = os.environ.get("TREASURY_WORKSPACE")
    if variable:
        return Path(variable)
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        for candidate in (folder, folder / _DEFAULT):
            if (candidate / FILE_NAME).is_file():
                return candidate
    project = (
        folder for folder in (start, *start.parents) if (folder / "pyproject.toml").is_file()
    )
    return next(project, start) / _DEFAULT


def open_workspace(folder: str | Path | None = None) -> Workspace:
    """Open a workspace; SettingsError says what to do where there is none."""
    return Workspace(Path(folder) if folder is not None else find_workspace())


class Workspace(WorkspaceMonths):
    """A treasury desk on disk.

    Verbs: `sync`, `statements.add`, `reconcile`, `awaiting_funds`, `trace`, `fees`, `accounting`,
    `coins`, `exposure`, `confirmation_letter`, `close`, `sql`, `status`, `at`, `compare`,
    `matches`, `funding`, `rules`, `items`, `limits`, `measurement`, `exposure_limits`,
    `exceptions_sheet`, `decide`, `periods`, `panels`.
    Months are written "2026-10", instants "2026-11-01T09:00Z". Without a month a verb is about the
    last one that has ended; NothingStored where nothing of it is known.
    """

    @cached_property
    def panels(self) -> Panels:
        """Panels for a notebook."""
        from treasury.panels import Panels

        return Panels(self)

    def watch(
        self,
        *,
        every: timedelta,
        wait: Callable[[float], bool],
        tell: Callable[[PartState], None],
        credential: str | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Sync every so often, read the inbox and send notices, until `wait` says to stop.

        `wait` is given seconds and says whether to end, `tell` hears how each part went. Raises
        SettingsError where there is nothing to watch, else what ended the last part that was left.
        """
        from treasury.workspace.upkeep.watch import watch

        self._require_now("watch")
        watch(
            self._watched(every, credential, progress),
            self.folder,
            now=self.settings.now,
            seconds=time.monotonic,
            wait=wait,
            tell=tell,
        )

    def _watched(
        self, every: timedelta, credential: str | None, progress: Progress | None
    ) -> list[WatchedPart]:
        """The parts of a watch, by what the settings name: sync, inbox, notices."""
        from treasury.workspace.upkeep.watch import SYNC, WatchedPart

        def sync(meanwhile: Callable[[], None]) -> str:
            report = self.sync(credential=credential, progress=progress, meanwhile=meanwhile)
            return str(report).partition("\n")[0]

        def basis() -> tuple[object, ...]:
            now = self.now()  # a silence begins, and a day ends, without any record
            quarter = now.replace(minute=now.minute // 15 * 15, second=0, microsecond=0)
            return self.snapshot().commit, self.journal.head(), quarter

        before: list[tuple[object, ...]] = []

        def notify(_: Callable[[], None]) -> str:
            current = basis()
            if before == [current]:  # nothing can be new
                return "nothing is new"
            report = self.notices.send()
            if report.failures:
                problems = "; ".join(map(str, report.failures))
                raise NoticeError(problems)
            before[:] = [] if report.quiet_until else [current]
            return str(report).replace("\n", ", ")

        parts = []
        if self.settings.services is not None:
            parts.append(WatchedPart(name=SYNC, work=sync, every=every, patience=every))
        if self.settings.inbox is not None:
            short = min(every, timedelta(seconds=10))
            look = lambda _: str(self.inbox.look())  # noqa: E731 - beside its part
            parts.append(WatchedPart(name="inbox", work=look, every=short, patience=short))
        terms = self.settings.notices
        if terms is not None and (terms.people or terms.webhooks):
            often = min(every, timedelta(minutes=1))
            patience = timedelta(hours=1)
            parts.append(WatchedPart(name="notices", work=notify, every=often, patience=patience))
        if not parts:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names nothing to watch",
                do="add [services], [inbox] or [notices]",
            )
        return parts

    def watching(self) -> str | None:
        """What `treasury watch` is doing here, in a line; None where nobody watches."""
        from treasury.workspace.upkeep.watch import read_state

        state = read_state(self.folder)
        return None if state is None else state.sentence(self.now())

    @cached_property
    def inbox(self) -> Inbox:
        """The folder in which files come by themselves: `look`; SettingsError where none is set."""
        from treasury.workspace.upkeep.inbox import Inbox, inbox_folder

        self._require_now("read its inbox")
        terms = self.settings.inbox
        if terms is None:
            raise SettingsError(
                f"{self.folder / FILE_NAME} names no inbox", do='add [inbox] folder = "…"'
            )
        folder = inbox_folder(self.folder, terms)
        return Inbox(folder, self.statements.add, time.monotonic)

    @cached_property
    def notices(self) -> NoticeSender:
        """What is new, told by mail and webhook: `send`, `list`, `settle`."""
        from treasury.workspace.notices.due_notices import notice_desk

        return notice_desk(self)

    def doctor(self, *, repair: bool = False, accept_loss: Iterable[str] = ()) -> Examination:
        """What is there, what is missing or damaged, and the next step of each.

        With `repair` damaged tables are put together from what is left, the services are asked for
        what is not, and it says what was lost. `accept_loss` names tables whose lost rows are no
        longer asked for.
        """
        from treasury.workspace.upkeep.doctor import examine, examine_settings

        given_up = tuple(accept_loss)
        if repair or given_up:
            self._require_now("repair")
        if given_up:
            self.lake.accept_loss(given_up, self.settings.now())
        try:
            journal = self.journal
        except SettingsError as error:  # the rest needs the journal
            return examine_settings(self.folder, self.settings, error)
        return examine(
            self.folder,
            self.settings,
            self.lake,
            journal,
            self.settings.now(),
            mend=repair,
            ask_again=lambda tables: self.sync(tables=tables, full=True),
        )
