"""The verbs by which people decide: `t.matches`, `t.funding`, `t.rules`, `t.items`, `t.periods`."""

from __future__ import annotations

from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from treasury.core.calendar import Month
from treasury.workspace.stores import WorkspaceStores

if TYPE_CHECKING:
    from treasury.close.valuation.coins.agreed_measurement import Measurement
    from treasury.close.valuation.exposure.exposure_limits import ExposureLimits
    from treasury.journal.decision_history import Decision, Remark
    from treasury.journal.decision_log import Decided
    from treasury.month.decisions.comparison import Comparison
    from treasury.month.decisions.remarks import Marking
    from treasury.month.decisions.rule_changes import Changing
    from treasury.month.decisions.verdicts import Deciding
    from treasury.month.items import Carrying, DecisionSheets, Effects, Limits, OpenItems, SheetPlan
    from treasury.month.reconciliation import Reconciliation
    from treasury.statements import Withdrawal
    from treasury.workspace.month_periods import Periods


class WorkspaceDecisions(WorkspaceStores):
    """The workspace as people decide in it."""

    def open_items(self, month: str | Month | None = None) -> OpenItems:
        """Everything that is not settled in a month, each thing once; of a closed one as it was."""
        return self.periods.month(month).items

    @cached_property
    def matches(self) -> Deciding:
        """Verdicts on bank lines: `accept`, `reject`, `ignore`, `assign`, `undo`, `list`."""
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
        """Remarks on ramp requests: `marked_sent`, `will_not_fund`, `accept_payee`, `undo`."""
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
        """The rules of matching and ageing: `current`, `preview`, `save`, `history`."""
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
        """Open items past a close: `carry` proposes, `accept` agrees, `withdraw`, `list`."""
        from treasury.month.items import Carrying

        return Carrying(
            self.journal,
            self.periods.items_on,
            lambda: self.policy,
            lambda: self.today,
            until=self.as_of,
            zone=self.settings.zone,
        )

    def exceptions_sheet(
        self, path: str | Path, items: OpenItems | str | Month | None = None
    ) -> Path:
        """Write open items as an Excel workbook in which people decide; `decide` takes it back.

        `items` are those of a month or some of them, as `t.open_items(…).select(…)` gives them;
        without, those of the last month that has ended. Raises ActionRefused for a closed month,
        InputError where the file is there already, StorageError where it cannot be written.
        """
        from treasury.month.items import OpenItems

        chosen = items if isinstance(items, OpenItems) else self.open_items(items)
        self._sheets().write(Path(path), chosen)
        return Path(path)

    def decide(
        self,
        sheet: str | Path | bytes,
        *,
        name: str = "",
        agreed: SheetPlan | None = None,
        dry_run: bool = False,
    ) -> SheetPlan:
        """Take the decisions of a sheet that `exceptions_sheet` wrote: all that it can, or none.

        With `dry_run` it says what each row would do and writes nothing; given as `agreed`, exactly
        that is journaled, or ActionRefused where any of it has moved. Rows that are refused are
        left out, each with its reason. `sheet` may be the file's bytes, called `name`. Raises
        InputError for a file that is no decision sheet.
        """
        source = sheet if isinstance(sheet, bytes) else Path(sheet)
        return self._sheets().decide(source, name=name, agreed=agreed, dry_run=dry_run)

    def decision_effects(self, *planned: Decision) -> Effects:
        """What decisions planned with `dry_run=True` would change beside their own lines."""
        from treasury.workspace.foreseen_effects import effects_of_decisions

        return effects_of_decisions(self, planned)

    def remark_effects(self, planned: Remark) -> Effects:
        """What a remark planned with `dry_run=True` would change in the open items."""
        from treasury.workspace.foreseen_effects import effects_of_remark

        return effects_of_remark(self, planned)

    def rests_on(self, withdrawal: Withdrawal) -> tuple[str, ...]:
        """What rests on a statement whose withdrawal was planned with `dry_run=True`, in words."""
        from treasury.workspace.foreseen_effects import rests_on

        return rests_on(self, self.matches, withdrawal)

    @cached_property
    def limits(self) -> Limits:
        """Amounts below which an open item does not block: `propose`, `accept`, `list`."""
        from treasury.month.items import Limits

        return Limits(self.journal, lambda: self.policy, until=self.as_of, zone=self.settings.zone)

    @cached_property
    def measurement(self) -> Measurement:
        """How coins are measured, by two people: `propose`, `accept`, `list`, `openings`."""
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
        """How much may stand with the provider, by two people: `propose`, `accept`, `list`."""
        from treasury.close.valuation.exposure.exposure_limits import ExposureLimits

        return ExposureLimits(
            self.journal, lambda: self.policy, until=self.as_of, zone=self.settings.zone
        )

    @cached_property
    def periods(self) -> Periods:
        """Months: `prepare`, `sign`, `withdraw`, `reopen`, `list`, `verify`, `late`, and more."""
        from treasury.workspace.month_periods import Periods

        return Periods(self)

    def compare(self, a: Reconciliation, b: Reconciliation) -> Comparison:
        """What moved from one answer for a month to another, and why; totals by currency."""
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
