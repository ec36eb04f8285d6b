"""The tree of all errors that treasury raises; each states the problem and the next step.

    TreasuryError
     ├─ InputError                 an argument, a file or a setting cannot be used
     │   ├─ SettingsError          treasury.toml, an environment variable, a credential
     │   ├─ StatementError         a bank file, or one record in it
     │   ├─ TableError             a table passed to a function: missing column, wrong type
     │   ├─ QueryError             SQL that the lake cannot run
     │   └─ UnknownName            an attribute that an object does not have
     ├─ StorageError               the workspace on disk
     │   ├─ WorkspaceLocked        another process is writing
     │   ├─ NothingStored          there is no committed data yet
     │   ├─ WorkspaceDamaged       a stored file is missing or cannot be read
     │   ├─ HomeUnreachable        the shared lake does not answer, or refuses the credential
     │   ├─ HomeReadOnly           the shared lake may be read but not written
     │   └─ CommitOvertaken        another process or workspace committed first
     ├─ JournalError               people's decisions cannot be read or written
     ├─ ActionRefused              an action that may not, or need not, be executed
     ├─ NoticeError                a mail server or webhook did not accept a notice
     └─ ServiceError               a payment service, or the connection to it
         ├─ ServiceUnreachable     no connection, or no answer in time
         ├─ BadCredentials         the token address refused the credential
         ├─ Unauthorized           401, for a read even after renewing the token
         ├─ Forbidden              403
         ├─ NotFound               404 for one record
         ├─ NotOffered             404 or 405 on a route this generation of the service lacks
         ├─ InvalidRequest         400, 415, 422: the service does not accept what was sent
         ├─ NotReady               a required record is not verified or not active
         ├─ InsufficientFunds      402, 422
         ├─ VersionConflict        409: the record changed since it was read
         ├─ KeySpent               the idempotency key was used before
         ├─ RateLimited            429, after the retries
         ├─ ServiceFault           5xx, after the retries
         ├─ UnexpectedResponse     a body that does not match the specification
         └─ OutcomeUnknown         a write that may or may not have taken effect

The text of an error is safe to show: it never has a secret or a token, and control characters in
text from outside are made visible.
"""

from __future__ import annotations

import traceback
import typing

from treasury.core.text import visible


class TreasuryError(Exception):
    """An error: `what` is the problem and `do` the next step; the text of the error has both."""

    exit_code: typing.ClassVar[int] = 1
    _is_rendered = False

    def __init__(self, problem: str, *, do: str | None = None) -> None:
        super().__init__(problem)
        self.what = problem
        self.do = do

    def _render_traceback_(self) -> list[str]:
        """Return one line for IPython; the second call, by `%tb`, returns the traceback."""
        if self._is_rendered:
            return self.full_traceback().splitlines()
        self._is_rendered = True
        return [f"{type(self).__name__}: {' '.join(str(self).split())}"]

    def full_traceback(self) -> str:
        """Return the traceback with the error's cause, which Python omits after `from None`."""
        self.__suppress_context__ = False
        return "".join(traceback.format_exception(self))

    def __str__(self) -> str:
        text = self.what if self.do is None else f"{self.what} - {self.do}"
        return "\n".join(map(visible, text.split("\n")))


class InputError(TreasuryError):
    """An argument, a file or a setting cannot be used."""

    exit_code = 2


class SettingsError(InputError):
    """treasury.toml, an environment variable or a credential is missing or wrong."""


class StatementError(InputError):
    """A bank file, or one record in it, cannot be read; no part of the file was stored."""


class TableError(InputError):
    """A table passed to a function lacks a column or has a column of the wrong type."""


class QueryError(InputError):
    """A query is not valid SQL, or not allowed, or the lake cannot run it."""


class UnknownName(InputError, AttributeError):
    """An object does not have an attribute of this name."""


class StorageError(TreasuryError):
    """The workspace on disk cannot be read or written."""

    exit_code = 3


class WorkspaceLocked(StorageError):
    """Another process is writing to the workspace."""


class NothingStored(StorageError):
    """No sync or statement has stored the required data yet."""


class WorkspaceDamaged(StorageError):
    """A stored file is missing or cannot be read."""


class HomeUnreachable(StorageError):
    """The shared folder or bucket of the lake does not answer, or refuses the credential.

    The workspace keeps working with its own copy.
    """


class HomeReadOnly(StorageError):
    """The shared folder or bucket of the lake may be read but not written."""


class CommitOvertaken(StorageError):
    """Another process or workspace committed first; no committed data is lost."""


class JournalError(TreasuryError):
    """The journal of people's decisions cannot be read or written."""

    exit_code = 3


class ActionRefused(TreasuryError):
    """The action may not, or need not, be executed; nothing was sent."""

    exit_code = 4


class NoticeError(TreasuryError):
    """A notice was not accepted; `may_have_arrived` is True if it may have been delivered."""

    exit_code = 5

    def __init__(
        self, problem: str, *, do: str | None = None, may_have_arrived: bool = False
    ) -> None:
        super().__init__(problem, do=do)
        self.may_have_arrived = may_have_arrived


class ServiceError(TreasuryError):
    """A payment service answered with an error, or could not be reached.

    `operation` is the method and route ("POST /ramp-requests/{id}/approve"), `ids` the values in
    the route, `status` the HTTP status, `code` the service's own code (upper case, underscores),
    `trace` its trace id and `key` the idempotency key that was sent; each is empty or None if
    unknown. `may_have_executed` is True if a write may have taken effect.
    """

    exit_code = 5

    def __init__(
        self,
        problem: str,
        *,
        do: str | None = None,
        operation: str | None = None,
        status: int | None = None,
        code: str | None = None,
        trace: str | None = None,
        ids: tuple[str, ...] = (),
        key: str | None = None,
        may_have_executed: bool = False,
    ) -> None:
        super().__init__(problem, do=do)
        self.operation = operation
        self.status = status
        self.code = code
        self.trace = trace
        self.ids = ids
        self.key = key
        self.may_have_executed = may_have_executed


class ServiceUnreachable(ServiceError):
    """No connection to the service, or no answer in time."""


class BadCredentials(ServiceError):
    """The token address refused the client id or secret."""


class Unauthorized(ServiceError):
    """401: the token is missing, expired or refused."""


class Forbidden(ServiceError):
    """403: the credential's role does not allow the operation."""


class NotFound(ServiceError):
    """404: the service does not know the record."""


class NotOffered(ServiceError):
    """404 or 405 on a route that this generation of the service does not have.

    `by_service` is True if the answer has the service's own error shape. Otherwise it may come from
    a proxy or a wrong address, and says nothing about the service.
    """

    by_service = False


class InvalidRequest(ServiceError):
    """400, 415 or 422: the service does not accept what was sent; nothing was executed."""


class NotReady(ServiceError):
    """A party, account, wallet or bank account is not verified or not active."""


class InsufficientFunds(ServiceError):
    """The balance is too low for the amount."""


class VersionConflict(ServiceError):
    """409: the record changed since it was read."""


class KeySpent(ServiceError):
    """The idempotency key was used before, with this or another body."""


class RateLimited(ServiceError):
    """429, even after the pauses that the service requested."""


class ServiceFault(ServiceError):
    """5xx, even after all safe retries."""


class UnexpectedResponse(ServiceError):
    """A response that does not match the specification."""


class OutcomeUnknown(ServiceError):
    """A write may or may not have taken effect; `look_up` is the advice on how to check."""

    def __init__(self, problem: str, *, look_up: str, **details: typing.Any) -> None:
        super().__init__(problem, do=look_up, may_have_executed=True, **details)
        self.look_up = look_up
