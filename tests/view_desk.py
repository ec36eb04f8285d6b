"""A practice workspace that is synced and read again while the company's clock advances."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from treasury.cli.commands.practice import prepare
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

FIRST = date(2026, 11, 1)
"""The day after the last monthly statement."""


@contextmanager
def environment() -> Iterator[None]:
    """Restore the environment afterwards, because a practice workspace puts secrets into it."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def observe(
    folder: Path, company: Sandbox, *, since: date = FIRST, last: date | None = None
) -> Workspace:
    """Sync at the company's current time, and add the bank files; return the workspace.

    With `last`, files of single days from `since` to `last` are added too.
    """
    with environment(), company.serve() as served:
        workspace = prepare(folder, company, served)
        workspace.sync()
        workspace.close_clients()
        files = sorted((folder / "bank").glob("*.xml"))
        if last is not None:
            files += company.write_bank_files(folder / "days", since, last)
        workspace.statements.add(files)
    return workspace


def rows(table: Any, **wanted: Any) -> list[dict[str, Any]]:
    """Return the rows of an Arrow table that have these values."""
    all_rows: list[dict[str, Any]] = table.to_pylist()
    return [row for row in all_rows if all(row[name] == value for name, value in wanted.items())]


def virtual(workspace: Workspace, asset: str = "USDC") -> dict[str, Any]:
    """Return the first virtual account that converts into an asset."""
    accounts = workspace.sql(
        "SELECT * FROM virtual_bank_accounts WHERE target_cryptocurrency = ? ORDER BY iban", [asset]
    )
    return accounts.arrow.to_pylist()[0]


def pay_in(company: Sandbox, account: dict[str, Any], amount: str, **more: Any) -> None:
    """Make an instant SEPA credit to a virtual account, by default with the account's code."""
    fields: dict[str, Any] = {"text": f"Invoice 12 {account['reference_code']}", "instant": True}
    company.banks.sepa_credit(iban=account["iban"], amount=Decimal(amount), **(fields | more))
