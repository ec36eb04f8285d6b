"""The class `Workspace`: a folder with settings, lake and journal, with all operations as methods.

`t = treasury.open()` returns a workspace. Each base class has the methods for one subject.
Libraries are imported by the methods that need them, so that opening is fast.
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
from treasury.core.nearest_names import NearestNames
from treasury.core.settings import FILE_NAME
from treasury.workspace.cash_verbs import WorkspaceCash

if TYPE_CHECKING:
    from treasury.extract import Progress
    from treasury.panels import Panels
    from treasury.workspace.notices import NoticeSender
    from treasury.workspace.upkeep.doctor import Examination
    from treasury.workspace.upkeep.inbox import Inbox
    from treasury.workspace.upkeep.watch import PartState, WatchedPart

_DEFAULT = Path("data") / "workspace"


def find_workspace(start: Path | None = None) -> Path:
    """Return the workspace's folder: $TREASURY_WORKSPACE, or the nearest in or above `start`.

    A folder is a workspace if it contains `treasury.toml`. Each folder and its subfolder
    `data/workspace` are tried. If none is a workspace, the result is `data/workspace` in the
    project that contains `start`, or else in `start`.
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
    """Open a workspace.

    Parameters
    ----------
    folder
        The workspace's folder; default: the nearest one.

    Returns
    -------
    Workspace
        The workspace.

    Raises
    ------
    SettingsError
        If there is no workspace. The error names the next step.

    Examples
    --------
    >>> t = treasury.open("data/workspace")
    """
    return Workspace(Path(folder) if folder is not None else find_workspace())


class Workspace(NearestNames, WorkspaceCash):
    """A treasury workspace: a folder with settings, stored data and the journal of decisions.

    Methods: `sync`, `statements.add`, `reconcile`, `awaiting_funds`, `trace`, `fees`, `accounting`,
    `coins`, `exposure`, `cash`, `confirmation_letter`, `close`, `sql`, `status`, `at`, `compare`,
    `matches`, `funding`, `rules`, `items`, `limits`, `measurement`, `exposure_limits`, `scope`,
    `exceptions_sheet`, `decide`, `periods`, `panels`.

    Months are written "2026-10", instants "2026-11-01T09:00Z". The default month is the last one
    that ended; NothingStored is raised if nothing is stored about it.

    >>> t = treasury.open()
    >>> t.status()
    """

    @cached_property
    def panels(self) -> Panels:
        """The interactive panels for a notebook, such as `matches`, `approvals` and `funding`.

        >>> t.panels.matches()
        """
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
        """Sync, read the inbox and send notices repeatedly, until `wait` returns True.

        Parameters
        ----------
        every
            The time between two syncs.
        wait
            A function that waits for the given seconds and returns True to stop.
        tell
            A function that gets the result of each part.
        credential
            The credential to sync with; default: the first one.
        progress
            An object that shows the progress of syncs.

        Raises
        ------
        SettingsError
            If there is nothing to watch.
        TreasuryError
            The error that ended the last running part.

        Examples
        --------
        >>> t.watch(every=timedelta(minutes=5), wait=stop.wait, tell=print)
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
        """Return the configured parts of a watch: sync, inbox, notices."""
        from treasury.workspace.upkeep.watch import SYNC, WatchedPart

        def sync(meanwhile: Callable[[], None]) -> str:
            report = self.sync(credential=credential, progress=progress, meanwhile=meanwhile)
            return str(report).partition("\n")[0]

        def basis() -> tuple[object, ...]:
            # Open items can change without a new record, if a sync is overdue or a day has ended.
            now = self.now()
            quarter = now.replace(minute=now.minute // 15 * 15, second=0, microsecond=0)
            return self.snapshot().commit, self.journal.head(), quarter

        before: list[tuple[object, ...]] = []

        def notify(_: Callable[[], None]) -> str:
            current = basis()
            # Nothing has changed since the last run, so there are no new items.
            if before == [current]:
                return "no new items"
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
        """Return the state of `treasury watch` in this workspace in one line; None without a watch.

        Returns
        -------
        str or None
            The line.

        Examples
        --------
        >>> t.watching()
        """
        from treasury.workspace.upkeep.watch import read_state

        state = read_state(self.folder)
        return None if state is None else state.sentence(self.now())

    @cached_property
    def inbox(self) -> Inbox:
        """The inbox folder, which `look` scans. Raises SettingsError if none is configured.

        >>> t.inbox.look()
        """
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
        """Notices by mail and webhook: `send`, `list`, `settle`.

        >>> t.notices.send(dry_run=True)
        """
        from treasury.workspace.notices.due_notices import notice_desk

        return notice_desk(self)

    def doctor(self, *, repair: bool = False, accept_loss: Iterable[str] = ()) -> Examination:
        """Check the workspace for missing or damaged parts, and show the next steps.

        Parameters
        ----------
        repair
            Rebuild damaged tables from the readable files, download missing rows from the services,
            and report losses.
        accept_loss
            Tables whose lost rows are accepted as lost; the doctor stops reporting them.

        Returns
        -------
        Examination
            One row per finding.

        Raises
        ------
        StorageError
            If the workspace cannot be read or written.

        Examples
        --------
        >>> t.doctor().next_step
        """
        from treasury.workspace.upkeep.doctor import examine, examine_settings

        given_up = tuple(accept_loss)
        if repair or given_up:
            self._require_now("repair")
        if given_up:
            self.lake.accept_loss(given_up, self.settings.now())
        try:
            journal = self.journal
        # Without the journal, only the settings can be checked.
        except SettingsError as error:
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
