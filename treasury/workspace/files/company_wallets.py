"""Evidence of the company's own wallets, which no service shows.

`t.wallets.add_evidence` adds a block explorer's export; `t.wallets.add_balance` adds a balance that
a person read. Both store who added the evidence, when, and its source.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.calendar import parse_day, parse_instant
from treasury.core.errors import InputError
from treasury.core.money import typed_amount
from treasury.core.nearest_names import Facade

if TYPE_CHECKING:
    from treasury.core.tables.table import Table
    from treasury.journal import Actor
    from treasury.lake import Lake, Snapshot
    from treasury.statements.store.wallet_evidence import WalletEvidence


class WalletProofs(Facade, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Evidence of company wallets: `add_evidence`, `add_balance`, `list`.

    `until` is set for a read-only view of the workspace: the view's instant.
    """

    lake: Lake
    snapshot: Callable[[], Snapshot]
    zone: ZoneInfo
    now: Callable[[], datetime]
    who: Callable[[], Actor]
    until: datetime | None

    def add_evidence(
        self,
        file: str | Path,
        *,
        chain: str,
        address: str,
        first: str | None = None,
        last: str | None = None,
        assets: Sequence[str] = (),
        source: str = "",
        names: Mapping[str, str] | None = None,
        replace: bool = False,
        actor: Actor | None = None,
    ) -> WalletEvidence:
        """Add a block explorer's export of a wallet: its transactions, or its token movements.

        A list of transactions (CSV or Parquet, with a column TxnFee(ETH) or TxnFee(POL)) shows
        movements of the native coin and the gas that the wallet paid. Any other file has the
        columns hash, time, from, to, asset, amount, and optionally gas.

        Parameters
        ----------
        file
            The export. A file that is already stored has no effect.
        chain, address
            The wallet's chain, as the service names it, and its address.
        first, last
            The first and last day that the export covers; default: the days of its first and last
            line.
        assets
            Assets that the export covers without containing a movement of them.
        source
            The source of the file, if it is not an explorer.
        names
            The file's heading of each column, like {"hash": "Txhash"}.
        replace
            Overwrite conflicting rows of earlier exports.

        Returns
        -------
        WalletEvidence
            The stored evidence.

        Raises
        ------
        InputError
            If a line is invalid, gas differs from an earlier export, or a line of an earlier export
            is missing. The error names the line, and nothing is stored.

        Examples
        --------
        >>> t.wallets.add_evidence("usdc.csv", chain="BASE", address="0x…", first="2026-10-01")
        """
        from treasury.statements.store.wallet_evidence import add_export, require_company_wallet

        now = self._present()
        until = None if last is None else _instant(last, self.zone, end=True)
        today = now.astimezone(self.zone).date()
        if until is not None and until == _instant(today.isoformat(), self.zone, end=True):
            # The current day is covered only until now.
            until = now
        covered_assets = tuple(assets)
        return self.lake.again(
            lambda: add_export(
                self.lake,
                Path(file),
                require_company_wallet(self.lake, chain, address),
                now,
                by=(actor or self.who()).name,
                source=source,
                first=None if first is None else _instant(first, self.zone),
                last=until,
                assets=covered_assets,
                names=names,
                replace=replace,
            ),
            f"treasury wallets add {shlex.quote(str(Path(file).absolute()))} …",
        )

    def add_balance(
        self,
        balance: str | Decimal,
        asset: str,
        *,
        chain: str,
        address: str,
        at: str | datetime,
        source: str,
        actor: Actor | None = None,
    ) -> WalletEvidence:
        """Add a wallet's balance that a person read.

        Parameters
        ----------
        balance
            The balance, in units of `asset`.
        at
            An instant, or a day, meaning its end. A second balance for the same instant replaces
            the first, which stays in the history.
        source
            Where the balance was read.

        Returns
        -------
        WalletEvidence
            The stored evidence.

        Examples
        --------
        >>> where = {"chain": "BASE", "address": "0x…", "source": "block explorer"}
        >>> t.wallets.add_balance("12.5", "USDC", at="2026-10-31", **where)
        """
        from treasury.statements.store.wallet_evidence import add_balance, require_company_wallet

        now = self._present()
        return self.lake.again(
            lambda: add_balance(
                self.lake,
                require_company_wallet(self.lake, chain, address),
                now,
                asset=asset,
                balance=typed_amount(balance, name="balance"),
                at=at if isinstance(at, datetime) else _instant(at, self.zone, end=True),
                by=(actor or self.who()).name,
                source=source,
            ),
            f"treasury wallets balance {balance} {asset} …",
        )

    def list(self) -> Table:
        """List all evidence of company wallets.

        Returns
        -------
        Table
            One row per piece of evidence: chain, address, asset, covered period or balance, source,
            and who added it.

        Examples
        --------
        >>> t.wallets.list()
        """
        from treasury.core.tables.table import Table

        query = (
            "SELECT kind, chain, address, asset, covers_from, covers_to, shows_gas, observed_at,"
            " balance, source, stated_by, valid_from AS added_at, file_name FROM wallet_evidence"
            " ORDER BY chain, address, asset, coalesce(observed_at, covers_from), evidence_id"
        )
        return Table(self.snapshot().sql(query), query, self.zone)

    def _present(self) -> datetime:
        if self.until is not None:
            raise InputError(
                f"this is the workspace as known at {self.until}, which cannot add evidence",
                do="use the workspace itself",
            )
        return self.now()


def _instant(text: str, zone: ZoneInfo, *, end: bool = False) -> datetime:
    """Parse an instant, or a day like 2026-10-31 or 31/10/2026 as its start or end."""
    try:
        day = parse_day(text)
    except InputError:
        return parse_instant(text)
    return datetime.combine(day + timedelta(days=end), time(), zone)
