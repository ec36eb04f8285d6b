"""A desk is a workspace with its people, who propose, approve, execute, recover and repeat actions.

Errors of an execution are returned and not raised, because a run is judged by the company's list of
effects.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import treasury.actions
from benchmarks.torture.company import Company
from treasury.actions import Action, Actions
from treasury.api import Client
from treasury.core.errors import TreasuryError
from treasury.core.machine.boot_clock import BootTime
from treasury.core.settings import FILE_NAME
from treasury.core.settings.confirmed_addresses import confirm
from treasury.core.settings.secret_routes import secret_settings
from treasury.journal import Journal
from treasury.workspace import Workspace

__all__ = ["Desk", "ready_action"]

MAKER: Final = "ines"
CHECKER: Final = "jonas"


class Desk(Workspace):
    """A workspace of the practice company with its people, clients and machine clocks.

    `shared` are additional settings, such as a shared journal and home. `wall` and `boot` replace
    the machine's clocks for this desk only.
    """

    def __init__(
        self,
        folder: Path,
        company: Company,
        base_url: str,
        clients: Mapping[str, Client],
        shared: str = "",
        *,
        wall: Callable[[], datetime] | None = None,
        boot: Callable[[], BootTime] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FILE_NAME).write_text(_settings_text(company, base_url) + shared, "utf-8")
        super().__init__(folder)
        # The variables of the secrets lack the prefix TREASURY_, so a person must confirm them.
        confirm(folder, self.settings, secret_settings(self.settings), "the company's own")
        self._company = company
        self._given = clients
        self._clocks = {
            "wall": wall or company.machine_time,
            "boot": boot or company.machine_boot,
        }

    @cached_property
    def actions(self) -> Actions:
        """The workspace's own actions, with the run's clients and the machine's clocks."""

        def build(journal: Journal, _: object, *rest: Any, **more: Any) -> Actions:
            clocks: Any = self._clocks
            return Actions(journal, lambda name: self._given[name], *rest, **clocks, **more)

        with patch.object(treasury.actions, "Actions", build):
            return super().actions

    def close(self) -> None:
        """Close the journal's file and the clients."""
        self.journal.close()
        self.close_clients()

    def use(self, clients: Mapping[str, Client]) -> None:
        """Use other clients from now on."""
        self._given = clients

    # Steps of people

    def ready(self, kind: str, fields: Mapping[str, Any]) -> Action:
        """Propose an action and, if its kind requires two people, approve it."""
        return self._approved(self.propose(kind, fields))

    def propose(self, kind: str, fields: Mapping[str, Any]) -> Action:
        """Propose an action as one person."""
        _sit_down(MAKER)
        return self.actions.propose(kind, **fields)

    def approve(self, action_id: str) -> Action:
        """Approve an action as another person."""
        _sit_down(CHECKER)
        [action] = self.actions.approve(action_id)
        return action

    def reject(self, action_id: str) -> Action:
        """Reject an action as another person."""
        _sit_down(CHECKER)
        return self.actions.reject(action_id, "not wanted")

    def withdraw(self, action_id: str) -> Action:
        """Withdraw an action as its maker."""
        _sit_down(MAKER)
        return self.actions.withdraw(action_id)

    def _approved(self, action: Action) -> Action:
        return self.approve(action.id) if action.state == "proposed" else action

    def execute(self, action_id: str) -> str:
        """Execute an action; return its state, or the name of the error raised."""
        _sit_down(MAKER)
        try:
            return self.actions.execute(action_id).state
        except Exception as error:  # noqa: BLE001 - the state afterwards is judged
            return type(error).__name__

    def execute_all(self, action_ids: Sequence[str]) -> str:
        """Execute several actions; return how the first one ended."""
        _sit_down(MAKER)
        try:
            first, *_ = self.actions.execute_all(action_ids)
        except Exception as error:  # noqa: BLE001 - as above
            return type(error).__name__
        return first.action.state if first.error is None else type(first.error).__name__

    def recover(self, action_id: str) -> str:
        """Recover an action as far as possible now; return its state."""
        _sit_down(MAKER)
        try:
            self.actions.recover(action_id)
        except Exception as error:  # noqa: BLE001 - as above
            return f"{self.state(action_id)} ({type(error).__name__})"
        return self.state(action_id)

    def state(self, action_id: str) -> str:
        """Return the state of an action in the journal."""
        return self.actions.get(action_id).state

    def adopt(self) -> bool:
        """Adopt the journal of this workspace; return False if this is refused."""
        _sit_down(CHECKER)
        try:
            self.actions.adopt_journal("the newest copy is lost")
        except TreasuryError:
            return False
        return True

    def anew(self, action_id: str) -> Action | None:
        """Settle an action as not carried out, and repeat it; None if this is refused."""
        _sit_down(CHECKER)
        try:
            if self.state(action_id) in {"unknown", "sending"}:
                self.actions.settle(action_id, carried_out=False, reason="the provider was asked")
        except TreasuryError:
            return None
        return self.again(action_id)

    def again(self, action_id: str) -> Action | None:
        """Propose and approve an equal action; None if this is refused."""
        _sit_down(MAKER)
        try:
            return self._approved(self.actions.again(action_id))
        except TreasuryError:
            return None


def ready_action(desk: Desk, company: Company, kind: str) -> Action:
    """Return a new action of a kind that is ready to be executed."""
    return desk.ready(kind, company.fields(kind))


def _sit_down(person: str) -> None:
    os.environ["TREASURY_USER"] = person


def _settings_text(company: Company, base_url: str) -> str:
    credentials = "".join(
        f'\n[credentials.{name}]\nclient_id = "{client_id}"\n'
        f'client_secret = "env:TORTURE_{name.upper()}"\n'
        for name, client_id in company.client_ids.items()
    )
    return (
        f'[workspace]\ncompany = "Torture"\nnow = {company.now:%Y-%m-%dT%H:%M:%SZ}\n'
        f'\n[services]\ntoken_url = "{base_url}/oauth/token"\n'
        f'\n[services.finance]\nbase_url = "{base_url}/finance/v1"\n'
        f'\n[services.ramp]\nbase_url = "{base_url}/ramp/v1"\n{credentials}'
    )
