"""The bank statements of a workspace: `t.statements` adds, withdraws and lists them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from treasury.core.calendar import parse_day
from treasury.core.errors import InputError
from treasury.core.identifiers import plain_account
from treasury.core.money import typed_amount
from treasury.core.nearest_names import Facade
from treasury.core.settings import FILE_NAME, BankAccount
from treasury.core.text import clean

if TYPE_CHECKING:
    from treasury.core.settings import Settings
    from treasury.core.tables.table import Table
    from treasury.journal import Actor, Journal
    from treasury.lake import Lake, Snapshot
    from treasury.statements import AddReport, Problem, Withdrawal

WITHDRAWN: Final = "statement.withdrawn"
"""The kind of journal entry that withdraws a statement."""

_LISTED: Final = """\
SELECT account, currency, opening_date, closing_date, opening_balance, closing_balance, entry_count,
    proved, proof, file_name, statement_id
FROM statements WHERE vanished_at IS NULL ORDER BY account, closing_date, statement_id"""

_CONFIRMED: Final = """\
SELECT * EXCLUDE (raw) FROM balance_confirmations WHERE vanished_at IS NULL
ORDER BY account, currency, balance_date"""
_LINES: Final = "SELECT entry_id FROM statement_entries WHERE statement_id = $statement"
_COMPANY_IBANS: Final = "SELECT iban FROM company_bank_accounts WHERE iban IS NOT NULL"


class Statements(Facade, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The bank statements of a workspace: `add`, `withdraw`, `confirm`, `list`, `coverage`.

    `until` is set for a read-only view of the workspace: the view's instant.
    """

    lake: Lake
    journal: Journal
    snapshot: Callable[[], Snapshot]
    settings: Settings
    until: datetime | None

    def add(
        self, *files: str | Path | Iterable[str | Path], account: str | None = None
    ) -> AddReport:
        """Read bank files, prove each statement and store new ones, in one commit.

        Parameters
        ----------
        files
            Paths, or iterables of paths. A file that is already stored is skipped.
        account
            The IBAN or number of the account, for files that do not name one (CSV).

        Returns
        -------
        AddReport
            The statements with their proofs, and problems.

        Raises
        ------
        StatementError
            If a file cannot be read. The error names the file, and nothing is stored.

        Examples
        --------
        >>> t.statements.add("bank/october.xml")
        """
        from treasury.statements import add_statements
        from treasury.statements.file_sources import STDIN, KeptInput

        self._require_now("add statements")
        paths = [
            Path(path)
            for entry in files
            for path in ([entry] if isinstance(entry, str | Path) else entry)
        ]

        def work() -> AddReport:
            return add_statements(
                self.lake,
                paths,
                self.settings.now(),
                declared={block.account: block.source for block in self.settings.accounts},
                currencies=self.settings.currencies,
                account=account,
                kept_input=kept_input,
            )

        names = (STDIN if str(path) == STDIN else str(path.absolute()) for path in paths)
        sentence = f"treasury statements add {' '.join(map(shlex.quote, names))}"
        with KeptInput() as kept_input:
            report = self.lake.again(work, sentence)
        problems = (*report.problems, *self._back(report), *self._strange_answers(report))
        return msgspec.structs.replace(report, problems=problems)

    def _strange_answers(self, report: AddReport) -> Iterable[Problem]:
        """Yield a note for each bank answer about a payment file from outside this workspace."""
        from treasury.journal.decision_history import FILE_MADE
        from treasury.statements import Problem
        from treasury.statements.pain.order_answers import folded_id

        if not report.answered:
            return
        made = {
            folded_id(entry.body.get("message_id")) for entry in self.journal.entries(FILE_MADE)
        } - {""}
        for name, message, batches in report.answered:
            if made.isdisjoint(folded_id(named) for named in (message, *batches)):
                yield Problem(name, "", f"answers to payment file {message}, not made here")

    def _back(self, report: AddReport) -> Iterable[Problem]:
        """Yield a note for each added statement that had been withdrawn: by whom, and why."""
        from treasury.journal.decision_history import MATCH, standing
        from treasury.statements import Problem

        withdrawn = {entry.subject: entry for entry in self.journal.entries(WITHDRAWN)}
        for added in report.statements:
            before = withdrawn.get(added.statement_id)
            if before is not None and added.state == "new":
                day = before.at.astimezone(self.settings.zone).date()
                reason = before.body["reason"]
                sentence = f"withdrawn on {day} by {before.actor.name} ({reason}); it counts again"
                lines = self.snapshot().sql(_LINES, {"statement": added.statement_id})
                decisions = standing(self.journal.entries(MATCH))
                decided = {decision.entry_id for decision in decisions}.intersection(
                    lines["entry_id"].to_pylist()
                )
                if decided:
                    sentence += f", and so do the decisions on {len(decided):,} of its lines"
                yield Problem(added.file_name, "", sentence)

    def withdraw(
        self, name: str, *, reason: str, actor: Actor | None = None, dry_run: bool = False
    ) -> Withdrawal:
        """Withdraw a stored statement; its lines are ignored from now on.

        Parameters
        ----------
        name
            The statement's id, the beginning of the id, or the file's name.
        reason
            The reason, which is journaled with the person.
        dry_run
            Return the withdrawal, without writing to the journal.

        Returns
        -------
        Withdrawal
            The statement and its lines. Closed months continue to include them.

        Raises
        ------
        InputError
            If not exactly one statement has that name, or the reason is missing.

        Examples
        --------
        >>> t.statements.withdraw("october.xml", reason="file of another company")
        """
        from treasury.statements import find_statement, planned_withdrawal, withdraw_statement

        self._require_now("withdraw a statement")
        if not reason.strip():
            raise InputError("a withdrawal needs a reason", do="give it with reason, or --reason")
        statement = find_statement(self.snapshot(), name)
        if dry_run:
            return planned_withdrawal(self.snapshot(), statement)
        body = {**msgspec.to_builtins(statement), "reason": reason.strip()}
        who = actor or self.journal.who()
        self.lake.require_writable()
        self.journal.append(WITHDRAWN, statement.statement_id, body, actor=who)
        return self.lake.again(
            lambda: withdraw_statement(
                self.lake, statement, self.settings.now(), self.settings.currencies
            ),
            f"treasury statements withdraw {statement.statement_id}"
            f" --reason {shlex.quote(reason.strip())}",
        )

    def confirm(
        self,
        account: str,
        balance: str | Decimal,
        day: str | date,
        *,
        source: str,
        currency: str | None = None,
        actor: Actor | None = None,
    ) -> Table:
        """Confirm an account's balance at the end of a day, if there is no bank statement.

        Parameters
        ----------
        account
            A declared account.
        balance
            The balance, in the account's currency.
        day
            The day at whose end the account had this balance. A second balance for the same day
            replaces the first, which stays in the history.
        source
            Where the balance was read; stored with the person's name.
        currency
            Required for an account in several currencies.

        Returns
        -------
        Table
            The stored row.

        Raises
        ------
        InputError
            If the account is not declared, the day is in the future, or the source is missing.

        Examples
        --------
        >>> t.statements.confirm("BE68539007547034", "1.50", "2026-10-31", source="the bank's site")
        """
        from treasury.core.tables.table import Table
        from treasury.statements import confirm_balance

        self._require_now("confirm a balance")
        declared = self._declared(account, currency)
        now = self.settings.now()
        today = now.astimezone(self.settings.zone).date()
        on = day if isinstance(day, date) else parse_day(day, today)
        if on > today:
            raise InputError(f"{on} has not ended", do="give a day that has ended")
        if not source.strip():
            raise InputError(
                "a confirmed balance needs a source", do="give the place where it was read"
            )
        stated = self.lake.again(
            lambda: confirm_balance(
                self.lake,
                now,
                account=declared.account,
                currency=declared.currency,
                balance=typed_amount(balance, name="balance"),
                day=on,
                source=source.strip(),
                by=(actor or self.journal.who()).name,
            ),
            f"treasury statements confirm {declared.account} --balance {balance} --date {on}"
            " --source …",
        )
        return Table(
            stated.drop_columns(["raw"]), _CONFIRMED, self.settings.zone, fiat=("balance",)
        )

    def _declared(self, account: str, currency: str | None) -> BankAccount:
        """Return the settings of a declared account in one currency."""
        number = plain_account(account)
        blocks = [
            block for block in self.settings.accounts if plain_account(block.account) == number
        ]
        chosen = [block for block in blocks if currency in {None, block.currency}]
        if len(chosen) == 1:
            return chosen[0]
        if len(blocks) > 1:
            codes = ", ".join(block.currency for block in blocks)
            raise InputError(
                f"account {clean(account)} is declared in {codes}", do="give one as its currency"
            )
        problem = f"account {clean(account)} is not declared"
        if blocks:
            problem = (
                f"account {clean(account)} is declared in {blocks[0].currency}, not {currency}"
            )
        raise InputError(problem, do=f"add it to [[accounts]] in {FILE_NAME}")

    def coverage(self) -> Table:
        """Return, for each known account, the period that proved statements cover without a gap.

        Returns
        -------
        Table
            One row per account and currency: the covered days, gaps, the last balance in the
            account's currency, and problems.

        Examples
        --------
        >>> t.statements.coverage()
        """
        from treasury.core.tables.table import Table
        from treasury.statements import stored_coverage

        snapshot = self.snapshot()
        ibans = snapshot.sql(_COMPANY_IBANS)["iban"].to_pylist()
        today = (self.until or self.settings.now()).astimezone(self.settings.zone).date()
        coverage = stored_coverage(snapshot, self.settings.accounts, undeclared=ibans, today=today)
        return Table(coverage, _LISTED, self.settings.zone, fiat=("balance",))

    def list(self) -> Table:
        """List the stored statements that were not withdrawn.

        Returns
        -------
        Table
            One row per statement: account, dates, balances in its currency, proof and id.

        Examples
        --------
        >>> t.statements.list()
        """
        from treasury.core.tables.table import Table

        balances = ("opening_balance", "closing_balance")
        return Table(self.snapshot().sql(_LISTED), _LISTED, self.settings.zone, fiat=balances)

    def _require_now(self, verb: str) -> None:
        if self.until is not None:
            raise InputError(
                f"this is the workspace as known at {self.until}, which cannot {verb}",
                do="use the workspace itself",
            )
