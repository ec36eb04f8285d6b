"""The workspace's decision methods: `t.matches`, `t.funding`, `t.rules`, `t.items`, `t.periods`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treasury.core.calendar import Month
from treasury.workspace.stores import WorkspaceStores

if TYPE_CHECKING:
    from treasury.close.ledger.ledger_scope import LedgerScope
    from treasury.close.valuation.coins.agreed_measurement import Measurement
    from treasury.close.valuation.exposure.exposure_limits import ExposureLimits
    from treasury.journal.decision_history import Decision, Remark
    from treasury.journal.decision_log import Decided
    from treasury.month.decisions.comparison import Comparison
    from treasury.month.decisions.remarks import Marking
    from treasury.month.decisions.rule_changes import Changing
    from treasury.month.decisions.verdicts import Deciding
    from treasury.month.items import (
        Carrying,
        DecisionRow,
        DecisionSheets,
        Effects,
        FilledRow,
        Limits,
        OpenItems,
        SheetPlan,
    )
    from treasury.month.reconciliation import Reconciliation
    from treasury.statements import Withdrawal
    from treasury.workspace.stored_periods import Periods


class WorkspaceDecisions(WorkspaceStores):
    """The methods of `Workspace` for people's decisions."""

    def open_items(self, month: str | Month | None = None, **filters: Any) -> OpenItems:
        """Return all unsettled items of a month, each once.

        Parameters
        ----------
        month
            The month; default: the last one that ended. For a closed month, the items are those of
            its close.
        filters
            Conditions on the items, as in `OpenItems.select`: `owner`, `kind`, `currency` and so
            on, except `month`, which is the month above.

        Returns
        -------
        OpenItems
            The items in the order of work, with amounts in their own currency.

        Raises
        ------
        NothingStored
            If nothing is stored about the month.
        InputError
            If a filter or its value is unknown.

        Examples
        --------
        >>> t.open_items("2026-10", owner="ines", currency="EUR", min_amount=10_000)
        """
        items = self.periods.month(month).items
        return items.select(**filters) if filters else items

    @cached_property
    def matches(self) -> Deciding:
        """People's verdicts on bank lines: `accept`, `reject`, `ignore`, `assign`, `undo`, `list`.

        >>> t.matches.accept("4f2a91c0", "PAY-2026-005358", reason="amount and payee agree")
        """
        from treasury.month.decisions.file_debits import decisions_in_force
        from treasury.month.decisions.verdicts import Deciding
        from treasury.month.reconciliation import Basis
        from treasury.month.standing_knowledge import Knowledge, run_knowledge

        def knowledge(decided: Decided) -> Knowledge:
            snapshot = self.snapshot()
            verdicts = decisions_in_force(snapshot, decided.entries)
            return run_knowledge(Basis(snapshot, self.question(self.this_month), verdicts))

        return Deciding(
            self.journal, knowledge, self.now, until=self.as_of, zone=self.settings.zone
        )

    @cached_property
    def funding(self) -> Marking:
        """Remarks on ramp requests: `marked_sent`, `will_not_fund`, `accept_payee`, `undo`.

        >>> t.funding.marked_sent("PAY-2026-005358", "sent at the bank's counter")
        """
        from treasury.month.decisions.remarks import Marking

        return Marking(
            self.journal,
            self.snapshot,
            self.now,
            until=self.as_of,
            zone=self.settings.zone,
            one_person=lambda: self.policy.one_person,
        )

    @cached_property
    def rules(self) -> Changing:
        """The matching and ageing rules: `current`, `preview`, `save`, `history`.

        >>> t.rules.preview("new_rules.toml").totals
        """
        from treasury.month.decisions.rule_changes import Changing

        return Changing(
            self.rules_file,
            self.journal,
            self.snapshot,
            lambda rules: self.question(self.this_month, rules),
            until=self.as_of,
            zone=self.settings.zone,
        )

    @cached_property
    def items(self) -> Carrying:
        """Owners, remarks and files of open items, and items carried past a close by two people.

        `assign`, `remark` and `attach` change no state. One person proposes with `carry`, another
        runs `accept`.

        >>> t.items.carry("PAY-1042", owner="ines", by="2026-11-30", reason="the bank confirmed it")
        """
        from treasury.month.items import Carrying

        return Carrying(
            self.journal,
            self.periods.items_on,
            self.periods.accounts_on,
            lambda: self.policy,
            lambda: self.today,
            until=self.as_of,
            zone=self.settings.zone,
        )

    def exceptions_sheet(
        self, path: str | Path, items: OpenItems | str | Month | None = None
    ) -> Path:
        """Write open items as an Excel workbook for decisions, which `decide` reads.

        Parameters
        ----------
        path
            The new file.
        items
            A month, or items from `t.open_items(…).select(…)`; default: the last month that ended.

        Returns
        -------
        Path
            The written file.

        Raises
        ------
        ActionRefused
            If the month is closed.
        InputError
            If the file already exists.
        StorageError
            If the file cannot be written.

        Examples
        --------
        >>> t.exceptions_sheet("october.xlsx", "2026-10")
        """
        from treasury.month.items import OpenItems

        chosen = items if isinstance(items, OpenItems) else self.open_items(items)
        self._sheets().write(Path(path), chosen)
        return Path(path)

    def decision_choices(self, items: OpenItems) -> Mapping[str, DecisionRow]:
        """Return the possible decisions for open items of one month.

        Parameters
        ----------
        items
            The items, from `t.open_items(…)`.

        Returns
        -------
        Mapping of str to DecisionRow
            For each item, by its id, its choices and the hash of its facts.

        Raises
        ------
        ActionRefused
            If the month is closed.

        Examples
        --------
        >>> t.decision_choices(t.open_items("2026-10"))
        """
        return self._sheets().rows(items)

    def decide(
        self,
        sheet: str | Path | bytes | Sequence[FilledRow],
        *,
        name: str = "",
        agreed: SheetPlan | None = None,
        dry_run: bool = False,
    ) -> SheetPlan:
        """Journal the decisions in a sheet of `exceptions_sheet` in one write; skip refused ones.

        Parameters
        ----------
        sheet
            The path of the file, its bytes, or filled rows from `decision_choices`.
        name
            The file's name, for bytes and rows.
        agreed
            The result of a dry run. Its decisions are journaled, or none if anything has changed.
        dry_run
            Return the effect of each row, without writing to the journal.

        Returns
        -------
        SheetPlan
            Each row with its decision, or the reason why it is refused and left out.

        Raises
        ------
        InputError
            If the file is not a decision sheet, or contains no choice.
        ActionRefused
            If any part of `agreed` has changed, or the month is closed.

        Examples
        --------
        >>> plan = t.decide("october.xlsx", dry_run=True)
        >>> t.decide("october.xlsx", agreed=plan)
        """
        source = Path(sheet) if isinstance(sheet, str) else sheet
        return self._sheets().decide(source, name=name, agreed=agreed, dry_run=dry_run)

    def decision_effects(self, *planned: Decision) -> Effects:
        """Return the effects of planned decisions on open items other than the decided lines.

        Parameters
        ----------
        planned
            Decisions planned with `dry_run=True`.

        Returns
        -------
        Effects
            The open items that would change, in the currency of each.

        Examples
        --------
        >>> planned = t.matches.reject("4f2a91c0", "PAY-1042", reason="other payee", dry_run=True)
        >>> t.decision_effects(planned)
        """
        from treasury.workspace.foreseen_effects import effects_of_decisions

        return effects_of_decisions(self, planned)

    def remark_effects(self, planned: Remark) -> Effects:
        """Return the effects of a planned remark on the open items.

        Parameters
        ----------
        planned
            A remark planned with `dry_run=True`.

        Returns
        -------
        Effects
            The open items that would change, in the currency of each.

        Examples
        --------
        >>> t.remark_effects(t.funding.will_not_fund("PAY-2026-005358", "cancelled", dry_run=True))
        """
        from treasury.workspace.foreseen_effects import effects_of_remark

        return effects_of_remark(self, planned)

    def rests_on(self, withdrawal: Withdrawal) -> tuple[str, ...]:
        """Return sentences about the lines, decisions and months that depend on a statement.

        Parameters
        ----------
        withdrawal
            The statement's withdrawal, planned with `dry_run=True`.

        Returns
        -------
        tuple of str
            A sentence about the bank lines and one about the decisions, if there are any, and one
            per closed month.

        Examples
        --------
        >>> t.rests_on(t.statements.withdraw("october.xml", reason="wrong account", dry_run=True))
        """
        from treasury.workspace.foreseen_effects import rests_on

        return rests_on(self, self.matches, withdrawal)

    @cached_property
    def limits(self) -> Limits:
        """Amounts below which an open item does not block a close: `propose`, `accept`, `list`.

        >>> t.limits.list()
        """
        from treasury.month.items import Limits

        return Limits(self.journal, lambda: self.policy, until=self.as_of, zone=self.settings.zone)

    @cached_property
    def measurement(self) -> Measurement:
        """How coins are measured, set by two people: `propose`, `accept`, `list`, `openings`.

        >>> t.measurement.list()
        """
        from treasury.close.valuation.coins.agreed_measurement import Measurement
        from treasury.workspace.foreseen_effects import known_coins

        return Measurement(
            self.journal,
            lambda: self.policy,
            self.now,
            until=self.as_of,
            zone=self.settings.zone,
            coins=lambda: known_coins(self),
        )

    @cached_property
    def exposure_limits(self) -> ExposureLimits:
        """Limits on balances with the provider, set by two people: `propose`, `accept`, `list`.

        >>> t.exposure_limits.list()
        """
        from treasury.close.valuation.exposure.exposure_limits import ExposureLimits

        return ExposureLimits(
            self.journal, lambda: self.policy, until=self.as_of, zone=self.settings.zone
        )

    @cached_property
    def scope(self) -> LedgerScope:
        """Accounts not compared with the books, set by two people: `propose`, `accept`, `list`.

        >>> t.scope.list()
        """
        from treasury.close.ledger.ledger_scope import LedgerScope

        return LedgerScope(
            self.journal, lambda: self.policy, until=self.as_of, zone=self.settings.zone
        )

    @cached_property
    def periods(self) -> Periods:
        """The closes of months: `prepare`, `sign`, `withdraw`, `reopen`, `list`, `verify`, `late`.

        >>> t.periods.list()
        """
        from treasury.workspace.stored_periods import Periods

        return Periods(self)

    def compare(self, a: Reconciliation, b: Reconciliation) -> Comparison:
        """Compare two reconciliations of a month: the lines that moved, and why.

        Parameters
        ----------
        a, b
            The earlier and the later reconciliation.

        Returns
        -------
        Comparison
            The lines whose outcome or expectation differs, each with the cause, and totals by
            currency.

        Raises
        ------
        InputError
            If either was not made by `t.reconcile`, or the months differ.

        Examples
        --------
        >>> t.compare(t.at("2026-11-02T09:00Z").reconcile("2026-10"), t.reconcile("2026-10"))
        """
        from treasury.workspace.foreseen_effects import compare

        return compare(a, b)

    def _sheets(self) -> DecisionSheets:
        from treasury.month.items import DecisionSheets
        from treasury.workspace.foreseen_effects import effects_of_drafts

        desk = self.settings.workspace
        return DecisionSheets(
            journal=self.journal,
            matches=self.matches,
            funding=self.funding,
            carrying=self.items,
            list_items=self.periods.items_on,
            effects=partial(effects_of_drafts, self),
            now=self.now,
            company=desk.company,
            environment=desk.environment,
            until=self.as_of,
            zone=self.settings.zone,
        )
