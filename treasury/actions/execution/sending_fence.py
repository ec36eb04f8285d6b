"""The fence: a check that runs immediately before bytes of an action are sent.

The entry that starts sending has a term. During the term, only the sender acts on the action. Once
the term, the transport's deadline and the allowed clock skew have passed, anyone may settle the
action. A sender that was suspended, or whose machine slept, may resume too late. So the fence
refuses to send if the term has passed, or if the journal has a later entry about the action.
"""

from __future__ import annotations

from treasury.actions.action_context import Context
from treasury.actions.action_states import Action
from treasury.core.errors import ActionRefused, JournalError
from treasury.journal import Head


class SendingFence:
    """The fence of one attempt to send an action, for all its requests."""

    def __init__(self, context: Context, action: Action) -> None:
        self._context = context
        self._action = action
        self._has_left = False
        self.left_late = False
        """Whether bytes were sent after the term, because the process was suspended before
        sending."""

    def before_bytes(self, has_begun: bool) -> None:
        """Raise ActionRefused or JournalError if the bytes may not be sent.

        Others may act only after the term. So one read of the journal, before the first byte of a
        request, is enough; later bytes are only checked against the clocks.
        """
        try:
            if not has_begun:
                self._require_newest()
            # The clocks are checked last, because reading the journal may take long.
            passed = self._passed_by()
        except JournalError as error:
            raise JournalError(
                f"{self._action.id}: {error.what}, so it is unknown whether it may still be"
                f" sent; {self._consequence}",
                do="make the journal readable, then run `treasury actions recover`",
            ) from error
        if passed:
            term = self._action.departure.term_seconds
            raise ActionRefused(
                f"{self._action.id}: its sending term of {term} s has passed by {passed};"
                f" {self._consequence}",
                do="look at its current state, then decide again",
            )
        self._has_left = True

    def after_bytes(self) -> None:
        """Record whether the term passed while bytes were being sent."""
        try:
            self.left_late = self.left_late or bool(self._passed_by())
        # The clock of the journal's server cannot be read, so the bytes may be late.
        except JournalError:
            self.left_late = True

    def _passed_by(self) -> str:
        return self._action.departure.passed_by(self._context.wall(), self._context.boot())

    @property
    def _consequence(self) -> str:
        return "it was not sent again" if self._has_left else "nothing was sent"

    def _require_newest(self) -> None:
        """Raise ActionRefused if the journal has an entry about the action after this attempt's."""
        sending = self._action.departure
        if self._context.book.newest_about(self._action.id) != Head(sending.seq, sending.hash):
            raise ActionRefused(
                f"{self._action.id}: the journal has a later entry about it; {self._consequence}",
                do="look at its current state, then decide again",
            )
