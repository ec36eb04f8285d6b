"""The operations on actions: propose, approve, reject, withdraw, execute, recover, list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from treasury.actions.action_decisions import ActionDecisions
from treasury.actions.action_states import OPEN, Action
from treasury.actions.drafting import Confirmation, lapse_draft
from treasury.actions.execution.recovery import EarlyRecovery
from treasury.actions.execution.sending import live_services
from treasury.actions.seen_request import RampSeen
from treasury.core import errors
from treasury.core.errors import ActionRefused, InputError, JournalError, TreasuryError
from treasury.journal import ADOPTED, Draft
from treasury.journal.workspace_copies import adopt_copy, original_of

_Batched = list["Ran"]
_STOPS: Final = (errors.ServiceUnreachable, errors.OutcomeUnknown)
_UNREAD: Final = (
    "this is a copy that was adopted, and it may have been carried out elsewhere or since: look at"
    " the service before it is proposed again"
)


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """One result of `execute_all`: the action in its new state, and its error, if any."""

    action: Action
    error: TreasuryError | None = None


class Actions(ActionDecisions):
    """The actions of one workspace, available as `t.actions`.

    `list` shows who proposed and who approved each action, and `get("A-1").approvals` has each
    approval with its time and reason.

    Parameters
    ----------
    journal, settings, folder
        The journal, the settings and the folder of the workspace.
    connect
        A function that returns the client for a credential's name.
    now, wall, boot
        The workspace's clock; the clock that limits sending (default: the journal's); and a clock
        that also runs while the machine sleeps.
    snapshot
        A function that returns the last sync, against which proposals are checked. Without it,
        proposals are checked against the services.
    who
        A function that returns the current person (default: the journal's).
    """

    _offers = (
        "list", "get", "unsettled", "policy", "draft", "propose", "propose_drafts", "again",
        "batch", "approve", "reject", "withdraw", "execute", "execute_all", "carry_out", "recover",
        "settle", "adopt_journal",
    )  # fmt: skip
    _hint = "list() shows who proposed and approved each action, get(ID) its facts and outcome"

    def adopt_journal(self, reason: str) -> tuple[Action, ...]:
        """Continue with an older copy of the journal, or with a copied workspace.

        The copy does not know which actions were carried out elsewhere or after it was made. So all
        open actions lapse and are not sent. Check each one at the service before proposing it
        again.

        Parameters
        ----------
        reason
            The reason for using the copy; it is journaled.

        Returns
        -------
        tuple of Action
            The lapsed actions.

        Raises
        ------
        InputError
            The reason is missing.
        ActionRefused
            Neither the journal nor the workspace is a copy, or the policy does not trust how the
            person is identified.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.adopt_journal("disk failed; the copy of 1 December is the newest")
        """
        if not reason.strip():
            raise InputError("reason: is missing", do="give the reason to continue with this copy")
        lost, actor = self._journal.lost(), self._context.who()
        folder = self._journal.folder
        original = None if folder is None else original_of(folder)
        if lost is None and original is None:
            raise ActionRefused(
                "the journal did not go back, and this workspace is not a copy: there is nothing "
                "to adopt",
                do="run `treasury journal verify`",
            )
        self._context.load_policy().check_identity(actor)

        def entries() -> list[Draft]:
            body = {
                "reason": reason.strip(),
                "lost_end": None if lost is None else f"{lost.seq}:{lost.hash}",
                "copy_of": None if original is None else str(original),
            }
            open_ones = [action for action in self._book.all() if action.state in OPEN]
            return [
                Draft(ADOPTED, "journal", body, actor),
                *(lapse_draft(action, actor, _UNREAD) for action in open_ones),
            ]

        self._book.refresh()
        added = self._book.decide(entries)
        if folder is not None and original is not None:
            adopt_copy(folder)
        return tuple(
            self._book.get(entry.subject) for entry in added if entry.kind == "action.lapsed"
        )

    # Executing

    def execute(self, action_id: str) -> Action:
        """Carry out a ready action, at most once. The outcome is journaled.

        Parameters
        ----------
        action_id
            The id of the action.

        Returns
        -------
        Action
            The action, in the state `done`.

        Raises
        ------
        InputError
            No action has this id.
        ActionRefused
            The action is not ready, or an approved fact has changed; nothing was carried out.
        OutcomeUnknown
            The service may have carried it out; `recover` settles it.
        ServiceError
            The service refused the call or could not be reached; nothing was carried out.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.execute("A-1")
        """
        self._book.refresh()
        return self._sender.execute(action_id, live_services(self._context.connect))

    def execute_all(
        self, action_ids: Iterable[str], *, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Ran, ...]:
        """Execute several ready actions, each like `execute`.

        An error of one action does not stop the others, unless the service cannot be reached or an
        outcome is unknown. The remaining actions then stay ready.

        Parameters
        ----------
        action_ids
            The ids of the actions, in the order of execution.
        progress
            Called before each action with the number of finished actions and the number of all; an
            exception that it raises stops the run.

        Returns
        -------
        tuple of Ran
            Each action that was tried, and its error, if any.

        Raises
        ------
        InputError
            No id was passed, or an id is unknown; nothing was sent.
        JournalError
            The journal cannot be written, or was altered; the remaining actions stay ready.

        Examples
        --------
        >>> t.actions.execute_all(["A-1", "A-2"])
        """
        ids, services, ran = (
            self._each(action_ids),
            live_services(self._context.connect),
            _Batched(),
        )
        self._book.refresh()
        # An unknown id is refused before anything is sent.
        for action_id in ids:
            self._book.get(action_id)
        for action_id in ids:
            if progress is not None:
                progress(len(ran), len(ids))
            error: TreasuryError | None = None
            try:
                self._sender.execute(action_id, services)
            except JournalError:
                raise
            except TreasuryError as problem:
                error = problem
            ran.append(Ran(action=self._book.get(action_id), error=error))
            if isinstance(error, _STOPS):
                break
        return tuple(ran)

    def carry_out(
        self,
        confirmed: Confirmation,
        *,
        nonce: str | None = None,
        compare: Callable[[RampSeen | None], None] | None = None,
    ) -> Action:
        """Propose and execute an action that one person may decide.

        Also raises the errors of `propose` and `execute`.

        Parameters
        ----------
        confirmed
            The result of `draft`, as the person confirmed it.
        nonce
            A text that makes a repeated proposal fail, such as the id of a form.
        compare
            Called with the ramp request as read now, before anything is journaled or sent. An
            exception that it raises stops the action.

        Returns
        -------
        Action
            The action, in the state `done`.

        Raises
        ------
        ActionRefused
            The action needs a second person, or `execute` refuses it; nothing was carried out.

        Examples
        --------
        >>> confirmed = t.actions.draft("ramp_request.approve", request_id="PAY-1042", live=True)
        >>> t.actions.carry_out(confirmed)
        """
        services = live_services(self._context.connect)
        return self._sender.carry_out(confirmed, services, nonce, compare)

    def recover(self, *action_ids: str) -> tuple[Action, ...]:
        """Settle the actions of unknown outcome, as far as that is possible now.

        The effect of each action is looked up at the service. A call is repeated only if it cannot
        take effect twice. A named action that was refused becomes done if the service has a record
        with its key. An action whose outcome stays unknown states the reason in `why`.

        Parameters
        ----------
        *action_ids
            The ids of the actions; by default all of unknown outcome.

        Returns
        -------
        tuple of Action
            The actions afterwards.

        Raises
        ------
        InputError
            No action has this id.
        ActionRefused
            It is too early to settle a named action; the message states the time. The other
            actions were looked at.
        ServiceError
            The service refused the call or could not be reached.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.recover()
        """
        early: EarlyRecovery | None = None
        ids, looked_at = action_ids or tuple(a.id for a in self.unsettled()), list[Action]()
        for action_id in ids:
            try:
                looked_at.append(self._recovery.recover(action_id))
            except EarlyRecovery as refusal:
                early = early or refusal
                looked_at.append(self._book.get(action_id))
        if early is not None and action_ids:
            raise early
        return tuple(looked_at)

    def settle(
        self, action_id: str, *, carried_out: bool, reason: str, record: str | None = None
    ) -> Action:
        """Settle an action of unknown outcome by a person's decision.

        An action that may have been carried out twice is settled in the same way, after the second
        effect was undone.

        Parameters
        ----------
        action_id
            The id of the action.
        carried_out
            Whether the service carried it out.
        reason
            The source of this information; it is journaled.
        record
            The id of the record that the action created, if known.

        Returns
        -------
        Action
            The action: `done` if it was carried out, else `refused`. An action that may have been
            carried out twice keeps its state if it is settled as not carried out.

        Raises
        ------
        InputError
            No action has this id, or the reason or a needed record is missing.
        ActionRefused
            The action is settled already, this person made it, the policy does not allow the
            decision, or it is too early; the message then states the time.
        JournalError
            The journal cannot be written, or was altered.

        Examples
        --------
        >>> t.actions.settle("A-3", carried_out=False, reason="provider's mail of 2 December")
        """
        self._book.refresh()
        return self._recovery.settle(
            action_id, carried_out=carried_out, reason=reason, record=record
        )
