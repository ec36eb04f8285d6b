"""File methods of the workspace: bank statements, wallet evidence, reference rates."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from treasury.workspace.decision_verbs import WorkspaceDecisions

if TYPE_CHECKING:
    from treasury.journal import Actor
    from treasury.workspace.files.bank_statements import Statements
    from treasury.workspace.files.company_wallets import WalletProofs
    from treasury.workspace.files.stored_rates import StoredRates


class WorkspaceFiles(WorkspaceDecisions):
    """The methods of `Workspace` for bank files, wallet evidence and rate files."""

    @cached_property
    def statements(self) -> Statements:
        """Bank statements: `add`, `withdraw`, `confirm`, `list`, `coverage`.

        >>> t.statements.add("bank/october.xml")
        """
        from treasury.workspace.files.bank_statements import Statements

        return Statements(
            lake=self.lake,
            journal=self.journal,
            snapshot=self.snapshot,
            settings=self.settings,
            until=self.as_of,
        )

    @cached_property
    def wallets(self) -> WalletProofs:
        """Evidence of company wallets: `add_evidence`, `add_balance`, `list`.

        >>> where = {"chain": "BASE", "address": "0x…", "source": "block explorer"}
        >>> t.wallets.add_balance("12.5", "USDC", at="2026-10-31", **where)
        """
        from treasury.workspace.files.company_wallets import WalletProofs

        return WalletProofs(
            lake=self.lake,
            snapshot=self.snapshot,
            zone=self.settings.zone,
            now=self.now,
            who=self._who,
            until=self.as_of,
        )

    @cached_property
    def rates(self) -> StoredRates:
        """Reference rates: `add` the ECB's file or your own, `list`, `reference`.

        >>> t.rates.reference().value(Decimal("100"), "USDC", date(2026, 10, 30))
        """
        from treasury.workspace.files.stored_rates import StoredRates

        return StoredRates(
            lake=self.lake,
            snapshot=self.snapshot,
            rules=self.rules.current,
            zone=self.settings.zone,
            now=self.settings.now,
            until=self.as_of,
        )

    def _who(self) -> Actor:
        return self.journal.who()
