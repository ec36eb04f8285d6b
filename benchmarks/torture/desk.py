"""A workspace as people use it, with what they do in it: propose, approve, execute, recover, again.

Whatever an execution raises is noted and not passed on: what counts is what the company's ledger
says afterwards.
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
    """A workspace of the practice company, with its clients and the machine's clocks given.

    `shared` are more settings: a journal and a home that it shares with others. `wall` and `boot`
    replace the machine's clocks for this desk only.
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
        # Its secrets are in variables outside TREASURY_, which a person has to confirm.
        confirm(folder, self.settings, secret_settings(self.settings), "the company's own")
        self._company = company
        self._given = clients
        self._clocks = {
            "wall": wall or company.machine_time,
            "boot": boot or company.machine_boot,
        }

    @cached_property
    def actions(self) -> Actions:
        """The workspace's own actions, by the run's clients and its machine's clock."""

        def build(journal: Journal, _: object, *rest: Any, **more: Any) -> Actions:
            clocks: Any = self._clocks
            return Actions(journal, lambda name: self._given[name], *rest, **clocks, **more)

        with patch.object(treasury.actions, "Actions", build):
            return super().actions

    def close(self) -> None:
        """Let go of the journal's file and the services."""
        self.journal.close()
        self.close_clients()

    def use(self, clients: Mapping[str, Client]) -> None:
        """Reach the services with other clients from here on."""
        self._given = clients

    # What people do

    def ready(self, kind: str, fields: Mapping[str, Any]) -> Action:
        """An action that one person proposed and, where that takes two, another approved."""
        return self._approved(self.propose(kind, fields))

    def propose(self, kind: str, fields: Mapping[str, Any]) -> Action:
        """An action that one person proposed."""
        _sit_down(MAKER)
        return self.actions.propose(kind, **fields)

    def approve(self, action_id: str) -> Action:
        """An action that another person approved."""
        _sit_down(CHECKER)
        [action] = self.actions.approve(action_id)
        return action

    def reject(self, action_id: str) -> Action:
        """An action that another person turned down."""
        _sit_down(CHECKER)
        return self.actions.reject(action_id, "not wanted")

    def withdraw(self, action_id: str) -> Action:
        """An action that was taken back by who proposed it."""
        _sit_down(MAKER)
        return self.actions.withdraw(action_id)

    def _approved(self, action: Action) -> Action:
        return self.approve(action.id) if action.state == "proposed" else action

    def execute(self, action_id: str) -> str:
        """How an execution ended: the state that it gives, or the name of what it raised."""
        _sit_down(MAKER)
        try:
            return self.actions.execute(action_id).state
        except Exception as error:  # noqa: BLE001 - the state that it leaves is what is judged
            return type(error).__name__

    def execute_all(self, action_ids: Sequence[str]) -> str:
        """How an execution of several ended: that of the first."""
        _sit_down(MAKER)
        try:
            first, *_ = self.actions.execute_all(action_ids)
        except Exception as error:  # noqa: BLE001 - as above
            return type(error).__name__
        return first.action.state if first.error is None else type(first.error).__name__

    def recover(self, action_id: str) -> str:
        """The state of an action once it is recovered, as far as that is possible now."""
        _sit_down(MAKER)
        try:
            self.actions.recover(action_id)
        except Exception as error:  # noqa: BLE001 - as above
            return f"{self.state(action_id)} ({type(error).__name__})"
        return self.state(action_id)

    def state(self, action_id: str) -> str:
        """Where an action stands by the journal."""
        return self.actions.get(action_id).state

    def adopt(self) -> bool:
        """Take this workspace for the one to go on with; whether there was anything to adopt."""
        _sit_down(CHECKER)
        try:
            self.actions.adopt_journal("the newest copy is not to be had")
        except TreasuryError:
            return False
        return True

    def anew(self, action_id: str) -> Action | None:
        """What a person says was not carried out, once more; None where it cannot be so."""
        _sit_down(CHECKER)
        try:
            if self.state(action_id) in {"unknown", "sending"}:
                self.actions.settle(action_id, carried_out=False, reason="the provider was asked")
        except TreasuryError:
            return None
        return self.again(action_id)

    def again(self, action_id: str) -> Action | None:
        """The same once more, proposed and approved; None where that is refused."""
        _sit_down(MAKER)
        try:
            return self._approved(self.actions.again(action_id))
        except TreasuryError:
            return None


def ready_action(desk: Desk, company: Company, kind: str) -> Action:
    """A new action of a kind that may be executed."""
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
