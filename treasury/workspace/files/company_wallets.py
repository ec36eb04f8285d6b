"""A company's own wallets: the evidence of what no service shows, added by people and kept.

`t.wallets.add_evidence` takes an explorer's export, `t.wallets.add_balance` a balance that somebody
read off; both say who added them, and when, and where it comes from.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import msgspec

from treasury.core.calendar import parse_instant
from treasury.core.errors import InputError
from treasury.core.money import typed_amount

if TYPE_CHECKING:
    from treasury.core.tables.table import Table
    from treasury.journal import Actor
    from treasury.lake import Lake, Snapshot
    from treasury.statements.store.wallet_evidence import WalletEvidence


class WalletProofs(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Evidence of company wallets: `add_evidence`, `add_balance`, `list`.

    `until` is the instant of a workspace that only reads.
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
        """Add an explorer's export of a wallet: its list of transactions, or of its movements.

        A list of transactions (CSV or Parquet, with a column TxnFee(ETH) or TxnFee(POL)) shows the
        native coin that moved and the gas that the wallet paid. Any other file has hash, time,
        from, to, asset, amount, and where the explorer names it gas; `names` gives its own
        headings, as in {"hash": "Txhash"}. It covers the days `first` to `last`, else from its
        first line to its last; `assets` are those that it shows besides the ones in it. The same
        file again adds nothing. InputError names the line that is wrong, or gas that an earlier
        export tells otherwise, or what that has and this one lacks (`replace` takes this one's
        word); then nothing is stored.
        """
        from treasury.statements.store.wallet_evidence import add_export, require_company_wallet

        now = self._present()
        until = None if last is None else _instant(last, self.zone, end=True)
        if until is not None and last == now.astimezone(self.zone).date().isoformat():
            until = now  # a day that is not over is covered to now
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
        """State what a wallet held, and in `source` where that was read.

        `at` is an instant, or a day at whose end it was so. Another balance of the same instant
        takes the former's place, which stays in the history.
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
        """All evidence of company wallets: what it covers or states, who added it, from where."""
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
    """An instant, or the beginning or the end of a day, 2026-10-31."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return parse_instant(text)
    return datetime.combine(day + timedelta(days=end), time(), zone)
