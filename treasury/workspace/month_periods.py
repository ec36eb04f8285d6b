"""`t.periods`: prepare, sign, withdraw, reopen and show the closes of months.

A closed month is recomputed from the data that its close pinned; an open month is computed from the
current data.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from treasury.close.period_pins import (
    basis_on,
    examine,
    reopen_period,
)
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError
from treasury.core.files.state_folder import user_path
from treasury.core.nearest_names import Facade
from treasury.journal import Actor
from treasury.journal.decision_log import Decided, require_present
from treasury.journal.kept_heads import publish_head
from treasury.journal.period_history import (
    Period,
    Preparation,
    closed_periods,
    preparations,
)
from treasury.month.items import OpenItems
from treasury.month.reconciliation import Basis
from treasury.workspace.stores import WorkspaceStores, month_of

if TYPE_CHECKING:
    from treasury.close.closing import Closing
    from treasury.close.ledger.provided_ledger import LedgerFile
    from treasury.close.review.controls import Controls
    from treasury.close.review.month_on_month import MonthOnMonth
    from treasury.close.sign_off import PreparedMonth
    from treasury.close.signing.step_sentences import CloseStep


class MonthSteps(Facade):
    """The closes of a workspace's months: prepare, sign, reopen, show."""

    def __init__(self, workspace: WorkspaceStores) -> None:
        self._workspace = workspace

    def prepare(
        self,
        month: str | Month,
        *,
        ledger: Path | None = None,
        books: Path | None = None,
        actor: Actor | None = None,
        agreed: str | None = None,
    ) -> Closing:
        """Prepare the close of a month that has ended, for a second person to sign.

        The preparation pins the lake's commit, the journal's end and the hash of the list of open
        items.

        Parameters
        ----------
        month
            The month.
        ledger
            A CSV file of ledger balances, which is compared, kept in the workspace's folder
            `ledger`, and journaled; default: the month's last one.
        books
            A CSV file of the ledger's postings on bank accounts: date, account, amount or debit and
            credit, currency, text, document. Kept in the folder `books`; otherwise like `ledger`.
        actor
            The person; default: the one at the login.
        agreed
            The sentence that the person confirmed, from `foresee`.

        Returns
        -------
        Closing
            The prepared month, with balances and values in their currency.

        Raises
        ------
        ActionRefused
            If an item blocks the close and is not proposed to be carried, if the month cannot be
            prepared now, or if the sentence to journal is not `agreed`.
        TreasuryError
            If the open items do not roll forward.

        Examples
        --------
        >>> t.periods.prepare("2026-10", ledger=Path("ledger.csv"))
        """
        prepared = self.prepare_or_show(
            month, ledger=ledger, books=books, actor=actor, agreed=agreed, show=False
        )
        if prepared.refusal is not None:
            raise prepared.refusal
        return prepared.closing

    def prepare_or_show(
        self,
        month: str | Month,
        *,
        ledger: Path | None = None,
        books: Path | None = None,
        actor: Actor | None = None,
        agreed: str | None = None,
        show: bool = True,
    ) -> PreparedMonth:
        """Prepare a month, or return it with the refusal.

        With `show`, a month is also returned if the journal does not verify.
        """
        from treasury.close.cash.own_flows import kept_flows
        from treasury.close.ledger.provided_ledger import keep_ledger
        from treasury.close.sign_off import prepare_month

        t = self._workspace
        require_present(t.as_of)
        month = month_of(month)
        is_prepared = str(month) in preparations(t.decided().entries)
        is_given = ledger is not None or books is not None
        ledger_file = self._ledger(month, ledger, books) if is_given or not is_prepared else None
        prepared = prepare_month(
            t.journal,
            t.lake,
            t.question(month),
            actor=actor or t.journal.who(),
            policy=t.policy,
            now=t.now(),
            ledger=ledger_file,
            flows=kept_flows(t.folder, t.settings.accounts),
            agreed=agreed,
            show=show,
        )
        if is_given and ledger_file is not None:
            keep_ledger(ledger_file, t.folder, month)
        return prepared

    def keep_ledger(
        self, month: str | Month, *, ledger: Path | None = None, books: Path | None = None
    ) -> None:
        """Keep the ledger's files for a month, in place of earlier ones; nothing is journaled.

        All lists of the month's open items then include the comparison.

        Parameters
        ----------
        month
            The month.
        ledger
            A CSV file of ledger balances.
        books
            A CSV file of the ledger's postings on bank accounts.

        Raises
        ------
        ActionRefused
            If the month is prepared or closed, with the ledger that it had then.
        InputError
            If no file is given, or a line of a file cannot be read.

        Examples
        --------
        >>> t.periods.keep_ledger("2026-10", books=Path("books.csv"))
        """
        from treasury.close.ledger.provided_ledger import keep_ledger, read_ledger

        t = self._workspace
        require_present(t.as_of)
        month = month_of(month)
        if ledger is None and books is None:
            raise InputError("no file of the ledger is given", do="give ledger= or books=")
        entries = t.decided().entries
        for state, months in (
            ("closed", closed_periods(entries)),
            ("prepared", preparations(entries)),
        ):
            if str(month) in months:
                undo = "reopen it" if state == "closed" else "withdraw the preparation"
                raise ActionRefused(
                    f"{month} is {state}, with the ledger that it had then", do=f"{undo} first"
                )
        keep_ledger(read_ledger(ledger, t.folder, books=books), t.folder, month)

    def sign(
        self,
        month: str | Month,
        *,
        actor: Actor | None = None,
        pack: str = "",
        agreed: str | None = None,
        agreed_to: int | None = None,
    ) -> Closing:
        """Sign a colleague's preparation and lock the month.

        If the settings name a place for it, the journal's head (the last entry's number and hash)
        is published too. If one person prepares and signs, as the policy may allow, the close
        states that it was not reviewed.

        Parameters
        ----------
        month
            The month.
        actor
            The person; default: the one at the login.
        pack
            The seal of the pack that the person reviewed, which is journaled.
        agreed
            The sentence that the person confirmed, from `foresee`.
        agreed_to
            The last journal entry with an agreement that this pack contains.

        Returns
        -------
        Closing
            The closed month.

        Raises
        ------
        ActionRefused
            If the same person prepared the month, unless the policy allows this, if no valid
            preparation awaits a signature, if the person's name is only claimed in production, or
            if the month is no longer what the person reviewed.
        StorageError
            If the head cannot be published. The month is closed nevertheless.

        Examples
        --------
        >>> t.periods.sign("2026-10")
        """
        from treasury.close.closing import closed_month
        from treasury.close.sign_off import sign_month

        t = self._workspace
        require_present(t.as_of)
        t.lake.require_writable()
        period, closing = sign_month(
            t.journal,
            t.lake,
            month_of(month),
            actor=actor or t.journal.who(),
            policy=t.policy,
            pack=pack,
            agreed=agreed,
            agreed_to=agreed_to,
        )
        t.lake.offer(f"the close of {period.month}")
        journal_terms = t.settings.journal
        heads = None if journal_terms is None else journal_terms.publish_head
        if heads is not None:
            last = t.journal.last()
            assert last is not None  # This is the close's entry, or a later one.
            publish_head(t.folder / user_path(heads), last, f"close of {period.month}")
        return closed_month(t.journal, t.lake, period) if closing is None else closing

    def withdraw(
        self,
        month: str | Month,
        reason: str,
        *,
        actor: Actor | None = None,
        agreed: str | None = None,
    ) -> Preparation:
        """Withdraw a preparation, so that the month can be prepared again.

        Parameters
        ----------
        month
            The month.
        reason
            The reason, which is journaled.
        actor
            The person; default: the one at the login.
        agreed
            The sentence that the person confirmed, from `foresee`.

        Returns
        -------
        Preparation
            The withdrawn preparation.

        Raises
        ------
        InputError
            If the reason is empty.
        ActionRefused
            If no preparation of the month awaits a signature.

        Examples
        --------
        >>> t.periods.withdraw("2026-10", "a statement was missing")
        """
        from treasury.close.sign_off import withdraw_preparation

        t = self._workspace
        require_present(t.as_of)
        who = actor or t.journal.who()
        t.policy.check_identity(who)
        return withdraw_preparation(
            t.journal, month_of(month), reason, actor=who, policy=t.policy, agreed=agreed
        )

    def month(
        self,
        month: str | Month | None = None,
        *,
        ledger: Path | None = None,
        books: Path | None = None,
    ) -> Closing:
        """Return a month's balances, verdict and roll-forward: as closed, or as known now.

        Parameters
        ----------
        month
            The month; default: the last one that ended.
        ledger
            A CSV file of ledger balances to compare; only for an open month. Default: the last one
            that was given for the month.
        books
            A CSV file of the ledger's postings on bank accounts, to reconcile with the bank lines;
            `closing.books` is the result. Otherwise like `ledger`.

        Returns
        -------
        Closing
            The month; amounts in their currency.

        Raises
        ------
        InputError
            If a ledger or books are given for a closed month, which has the ledger of its close.
        NothingStored
            If nothing is stored about the month.

        Examples
        --------
        >>> t.periods.month("2026-10", books=Path("books.csv")).books
        """
        return self.closing_on(month, self._workspace.decided(), ledger=ledger, books=books)

    def items_on(
        self,
        month: str | Month | None,
        decided: Decided,
        ledger: Path | None = None,
        books: Path | None = None,
    ) -> OpenItems:
        """Return a month's open items under these decisions, or as the month was prepared."""
        from treasury.close.sign_off import prepared_month

        t = self._workspace
        month = t.month(month)
        preparation = preparations(decided.entries).get(str(month))
        if preparation is None:
            return self.closing_on(month, decided, ledger=ledger, books=books).items
        return prepared_month(t.journal, t.lake, preparation, decided.entries).items

    def accounts_on(self, month: Month, decided: Decided) -> set[tuple[str, str]]:
        """Return the number and name of each account with a balance in a month."""
        balances = self.closing_on(month, decided).balances.arrow
        return set(zip(balances["of"].to_pylist(), balances["name"].to_pylist(), strict=True))

    def closing_on(
        self,
        month: str | Month | None,
        decided: Decided,
        *,
        ledger: Path | None = None,
        books: Path | None = None,
    ) -> Closing:
        """Return a month's balances, verdict and roll-forward under the given decisions.

        Raise the errors of `month`.
        """
        from treasury.close.cash.own_flows import kept_flows
        from treasury.close.closing import closed_month, closing_from
        from treasury.close.ledger.provided_ledger import journaled_ledger

        t = self._workspace
        month = t.month(month)
        period = closed_periods(decided.entries).get(str(month))
        is_given = ledger is not None or books is not None
        if period is not None and is_given:
            raise InputError(
                f"{period.month} is closed, with the ledger given at its close",
                do="leave the ledger out, or reopen the month",
            )
        if period is not None:
            return closed_month(t.journal, t.lake, period)
        preparation = preparations(decided.entries).get(str(month))
        if preparation is not None and not is_given:
            ledger_file = journaled_ledger(decided.entries, preparation.close, preparation.entry)
        else:
            ledger_file = self._ledger(month, ledger, books)
        return closing_from(
            t.journal,
            t.lake,
            examine(t.journal, t.lake, self._basis(month, decided), decided),
            t.settings.zone,
            policy=t.policy,
            flows=partial(kept_flows, t.folder, t.settings.accounts) if t.as_of is None else None,
            ledger=ledger_file,
            preparation=preparation,
        )

    def _ledger(self, month: Month, path: Path | None, books: Path | None) -> LedgerFile | None:
        """Return the given ledger and books, or else the month's kept ones.

        A view of an earlier instant has no kept files.
        """
        from treasury.close.ledger.provided_ledger import kept_ledger, read_ledger

        t = self._workspace
        if t.as_of is None:
            return kept_ledger(t.folder, month, path=path, books=books)
        return read_ledger(path, t.folder, books=books) if path or books else None

    def reopen(
        self,
        month: str | Month,
        reason: str,
        *,
        actor: Actor | None = None,
        agreed: str | None = None,
    ) -> Period:
        """Reopen the last closed month.

        Parameters
        ----------
        month
            The month.
        reason
            The reason, which is journaled.
        actor
            The person; default: the one at the login.
        agreed
            The sentence that the person confirmed, from `foresee`.

        Returns
        -------
        Period
            The reopened close.

        Raises
        ------
        InputError
            If the reason is empty.
        ActionRefused
            If the month is not the last closed one.

        Examples
        --------
        >>> t.periods.reopen("2026-10", "the bank corrected its statement")
        """
        t = self._workspace
        require_present(t.as_of)
        who = actor or t.journal.who()
        return reopen_period(
            t.journal, month_of(month), reason, actor=who, policy=t.policy, agreed=agreed
        )

    def at_close(self, month: str | Month | None = None) -> Closing:
        """Return a month as its close has it: as closed, as prepared, or else as known now.

        Parameters
        ----------
        month
            The month; default: the last one that ended.

        Returns
        -------
        Closing
            The month. A prepared month contains the agreements to carry items made since.

        Raises
        ------
        NothingStored
            If nothing is stored about the month.

        Examples
        --------
        >>> t.periods.at_close("2026-10").items
        """
        from treasury.close.sign_off import prepared_month

        t, decided = self._workspace, self._workspace.decided()
        month = t.month(month)
        preparation = preparations(decided.entries).get(str(month))
        if preparation is None:
            return self.closing_on(month, decided)
        return prepared_month(t.journal, t.lake, preparation, decided.entries)

    def foresee(
        self,
        step: str,
        closing: Closing,
        *,
        reason: str = "",
        pack: str = "",
        actor: Actor | None = None,
    ) -> CloseStep:
        """Return a step of a month's close: the sentence that it would journal, and any refusal.

        Parameters
        ----------
        step
            `prepare`, `sign`, `withdraw` or `reopen`.
        closing
            The month, from `at_close`.
        reason
            The reason for `withdraw` and `reopen`.
        pack
            The seal of the pack that the person reviewed, for `sign`.
        actor
            The person; default: the one at the login.

        Returns
        -------
        CloseStep
            The step. Nothing is written.

        Raises
        ------
        InputError
            If there is no such step.

        Examples
        --------
        >>> t.periods.foresee("prepare", t.periods.at_close("2026-10")).sentence
        """
        from treasury.close.sign_off import foresee_step

        t = self._workspace
        step_now = foresee_step(
            step,
            closing,
            t.question(closing.r.month),
            t.decided().entries,
            policy=t.policy,
            actor=actor or t.journal.who(),
            reason=reason,
            pack=pack,
        )
        try:
            require_present(t.as_of)
        except InputError as refusal:
            return msgspec.structs.replace(step_now, refusal=refusal)
        return step_now

    def controls(self, month: str | Month | None = None) -> Controls:
        """Return who prepared, accepted and signed a month, and each act that needs a look.

        A month has the acts journaled after the signature of the month closed before it. A closed
        month ends with its own signature, an open one with the last act.

        Parameters
        ----------
        month
            The month; default: the last one that ended.

        Returns
        -------
        Controls
            `acts` has one row per act, with the person, how the person was identified, and whether
            it was made alone, in bulk or against a contradiction. `counts` has their numbers.

        Raises
        ------
        NothingStored
            If nothing is stored about the month.

        Examples
        --------
        >>> t.periods.controls("2026-10").acts.where(alone=True)
        """
        return self.month(month).controls

    def month_on_month(self, month: str | Month | None = None) -> MonthOnMonth:
        """Return each account's figures next to those of earlier closed months.

        Charges and gas are compared with the mean of up to three months, other figures with the
        last month. Only closed months directly before this one are compared.

        Parameters
        ----------
        month
            The month; default: the last one that ended.

        Returns
        -------
        MonthOnMonth
            `changes` has one row per figure, in its `currency`. Its `finding` is `missing` if the
            change is beyond the threshold of `policy.toml` and no person explained it.

        Raises
        ------
        NothingStored
            If nothing is stored about the month.

        Examples
        --------
        >>> t.periods.month_on_month("2026-10").changes.where(finding="missing")
        """
        return self.month(month).month_on_month

    def _basis(self, month: str | Month, decided: Decided | None = None) -> Basis:
        t = self._workspace
        return basis_on(t.snapshot(), t.question(month), decided or t.decided())
