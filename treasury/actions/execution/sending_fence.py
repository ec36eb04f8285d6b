"""The check directly before bytes of an action leave.

An approval to send has a term. Within it the sender is the only one who acts on the action; after
it, and after the transport's deadline and an allowed skew of the clocks, anybody may settle it. So
a sender that was stopped, or slept with its machine, refuses to send once the term has passed or
the journal has a later entry about the action.
"""

from __future__ import annotations

from treasury.actions.action_context import Context
from treasury.actions.action_states import Action
from treasury.core.errors import ActionRefused, JournalError
from treasury.journal import Head


class SendingFence:
    """The fence of one attempt of an action to be carried out, for all its requests."""

    def __init__(self, context: Context, action: Action) -> None:
        self._context = context
        self._action = action
        self._has_left = False
        self.left_late = False
        """Whether bytes left after the term: the process was stopped in between."""

    def before_bytes(self, has_begun: bool) -> None:
        """Raise ActionRefused or JournalError if nothing may leave any more.

        Others may act only after the term, so the journal is read once, before the first byte of a
        request. Later pieces are checked against the clocks.
        """
        try:
            if not has_begun:
                self._require_newest()
            # The clocks come last: to read the journal may have taken long.
            passed = self._passed_by()
        except JournalError as error:
            raise JournalError(
                f"{self._action.id}: {error.what}, so whether it may still be sent is not known;"
                f" {self._consequence}",
                do="make the journal readable, then run `treasury actions recover`",
            ) from error
        if passed:
            term = self._action.departure.term_seconds
            raise ActionRefused(
                f"{self._action.id}: its term of {term} s to be sent has passed by {passed};"
                f" {self._consequence}",
                do="look at it as it is now, then decide again",
            )
        self._has_left = True

    def after_bytes(self) -> None:
        """Take note whether the term passed while bytes were leaving."""
        try:
            self.left_late = self.left_late or bool(self._passed_by())
        except JournalError:  # its server's clock cannot be read, so it may be late
            self.left_late = True

    def _passed_by(self) -> str:
        return self._action.departure.passed_by(self._context.wall(), self._context.boot())

    @property
    def _consequence(self) -> str:
        return "it was not sent again" if self._has_left else "nothing was sent"

    def _require_newest(self) -> None:
        """Raise if the entry of this sending is not the last one about the action."""
        sending = self._action.departure
        if self._context.book.newest_about(self._action.id) != Head(sending.seq, sending.hash):
            raise ActionRefused(
                f"{self._action.id}: the journal has a later entry about it; {self._consequence}",
                do="look at it as it is now, then decide again",
            )
