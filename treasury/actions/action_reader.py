"""The reading of actions, and the state that all operations on them share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import get_args

from treasury.actions.action_context import Context, Present
from treasury.actions.action_history import ActionBook
from treasury.actions.action_list import ActionList
from treasury.actions.action_states import Action, State
from treasury.actions.execution.outcomes import OutcomeRecorder
from treasury.actions.execution.recovery import ActionRecovery
from treasury.actions.execution.sending import Sender
from treasury.actions.kinds.all_kinds import kind_of
from treasury.actions.policies.policy import Policy, load_policy
from treasury.api import Client
from treasury.core.errors import InputError
from treasury.core.machine.boot_clock import BootTime, boot_time
from treasury.core.nearest_names import Facade
from treasury.core.settings import Settings
from treasury.core.text import clean, is_it, one_of
from treasury.journal import Actor, Journal
from treasury.lake import Snapshot


class ActionReader(Facade):
    """The actions of one workspace, to be read; `Actions` has all operations."""

    def __init__(
        self,
        journal: Journal,
        connect: Callable[[str], Client],
        settings: Settings,
        now: Callable[[], datetime],
        *,
        folder: Path | None = None,
        snapshot: Callable[[], Snapshot] | None = None,
        wall: Callable[[], datetime] | None = None,
        boot: Callable[[], BootTime] = boot_time,
        who: Callable[[], Actor] | None = None,
    ) -> None:
        self._journal = journal
        self._context = Context(
            book=ActionBook(journal),
            connect=connect,
            settings=settings,
            load_policy=lambda: load_policy(folder) if folder is not None else Policy(),
            snapshot=snapshot,
            now=now,
            wall=wall or journal.wall_clock,
            boot=boot,
            who=Present(who or journal.who),
            journal_folder=journal.folder,
        )
        self._book = self._context.book
        outcomes = OutcomeRecorder(self._context)
        self._sender = Sender(self._context, outcomes)
        self._recovery = ActionRecovery(self._context, outcomes)

    @property
    def policy(self) -> Policy:
        """The policy, read from its file now; raise SettingsError naming an invalid key."""
        return self._context.load_policy()

    def list(self, *, state: State | None = None, kind: str | None = None) -> ActionList:
        """Return the actions, oldest first.

        Parameters
        ----------
        state, kind
            Return only actions in this state (`proposed`, `ready`, …) or of this kind
            (`crypto_transfer.create`, …).

        Returns
        -------
        ActionList
            The actions; the list prints one per line.

        Raises
        ------
        InputError
            The state or kind is unknown.

        Examples
        --------
        >>> t.actions.list(state="ready")
        """
        if state is not None and state not in get_args(State):
            raise InputError(
                f"{clean(state)[:60]!r} is not a state of an action{is_it(state, get_args(State))}",
                do=one_of(state, get_args(State), "give"),
            )
        kind_name = None if kind is None else kind_of(kind).name
        self._book.refresh()
        return ActionList(
            action
            for action in self._book.all()
            if state in {None, action.state} and kind_name in {None, action.kind}
        )

    def get(self, action_id: str) -> Action:
        """Return an action in its current state.

        Parameters
        ----------
        action_id
            The id of the action, such as `A-1`.

        Returns
        -------
        Action
            The action.

        Raises
        ------
        InputError
            No action has this id.

        Examples
        --------
        >>> t.actions.get("A-1").state
        """
        self._book.refresh()
        return self._book.get(action_id)

    def unsettled(self) -> tuple[Action, ...]:
        """Return the actions that were sent and have an unknown outcome.

        Returns
        -------
        tuple of Action
            The actions; settle them with `recover` or `settle`.

        Examples
        --------
        >>> t.actions.unsettled()
        """
        return tuple(self._recovery.unsettled())

    def settling_until(self, action_id: str) -> datetime:
        """Return the time from which an action of unknown outcome can be settled.

        Parameters
        ----------
        action_id
            The id of the action.

        Returns
        -------
        datetime
            The time in UTC, by the wall clock of the machine, or of the PostgreSQL server if the
            journal is there.

        Raises
        ------
        InputError
            No action has this id.

        Examples
        --------
        >>> t.actions.settling_until("A-3")
        """
        return self._recovery.settling_until(self.get(action_id))

    def wall(self) -> datetime:
        """Return the time by the clock that limits sending.

        Returns
        -------
        datetime
            The time in UTC.

        Examples
        --------
        >>> t.actions.wall()
        """
        return self._context.wall()
