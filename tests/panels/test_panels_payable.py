"""Deposit details next to requests: only for payable ones, compared with those paid last."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from treasury.cli import treasury
from treasury.extract import TABLES
from treasury.matching.engine.memo import Memo
from treasury.matching.engine.pipeline import needed
from treasury.month import reconciliation as monthly
from treasury.month.funding import FUNDING
from treasury.panels.frames.query_pages import ArrowTables
from treasury.panels.payable_requests import DETAILS, payable_table
from treasury.workspace import Workspace

OURS = {"deposit_beneficiary": "Ramp Operator BV", "deposit_iban": "LT353250012345678901"}
RAMP = next(table for table in TABLES if table.name == "ramp_requests")


def request(name: str, status: str = "AWAITING_FUNDS", **more: Any) -> dict[str, Any]:
    """Return an on-ramp request with our deposit details, with changes."""
    return {
        "id": name,
        "status": status,
        "payment_reference": f"PAY-{name}",
        "ramp_type": "ON_RAMP",
        "fiat_currency": "EUR",
        "crypto_currency": "USDC",
        "created_at": datetime(2026, 10, 1, tzinfo=UTC),
        "version": 1,
        **OURS,
        **more,
    }


def told(
    now: list[dict[str, Any]], before: list[dict[str, Any]] | None = None, **states: str
) -> dict[str, dict[str, Any]]:
    held = ArrowTables(
        ramp_requests=pa.Table.from_pylist(now, schema=RAMP.schema),
        ramp_requests_history=pa.Table.from_pylist(before or [], schema=RAMP.history_schema),
    )
    waiting = [
        {
            "request": one["id"],
            "state": states.get(one["id"], "PAY"),
            "marked": one.get("marked", ""),
            "currency": "EUR",
        }
        for one in now
        if one["status"] == "AWAITING_FUNDS"
    ]
    table = payable_table(pa.Table.from_pylist(waiting, schema=FUNDING), held)
    assert table["number"].to_pylist() == list(range(len(waiting)))
    assert table["request"].to_pylist() == [one["request"] for one in waiting]
    return {row["request"]: row for row in table.to_pylist()}


def test_only_payable_requests_have_deposit_details() -> None:
    found = told(
        [request("a"), request("b"), request("c", vanished_at=datetime(2026, 11, 1, tzinfo=UTC))],
        b="CHECK BANK",
    )
    assert found["a"]["payable"]
    assert found["a"]["deposit_iban"] == OURS["deposit_iban"]
    for name in ("b", "c"):
        assert not found[name]["payable"]
        assert found[name]["deposit_iban"] is None
        assert found[name]["deposit_beneficiary"] is None
    assert found["b"]["asset"] == "USDC"


def test_each_request_shows_the_differences_from_the_last_paid_details() -> None:
    found = told(
        [
            request("paid", "SUCCEEDED"),
            request("same"),
            request("blanks", deposit_iban="LT35 3250 0123 4567 8901"),
            request("one", deposit_iban="LT990000000000000000"),
            request("two", deposit_iban="LT990000000000000000"),
            request("pounds", fiat_currency="GBP"),
        ]
    )
    change = "IBAN was LT353250012345678901, is LT990000000000000000, since PAY-paid was paid"
    assert {name: row["differs"] for name, row in found.items()} == {
        "same": "",
        "blanks": "",
        "one": change,
        "two": change,
        "pounds": "",
    }
    assert {name for name, row in found.items() if row["first_time"]} == {"pounds"}


SEEN = {
    "valid_from": datetime(2026, 10, 2, tzinfo=UTC),
    "valid_to": datetime(2026, 10, 3, tzinfo=UTC),
}


def otherwise(name: str) -> object:
    kind = RAMP.schema.field(name).type
    return {pa.bool_(): False, pa.int64(): 7}.get(kind, "X")


def test_every_deposit_detail_is_compared() -> None:
    """A thief could change a detail that is not compared."""
    columns = {name for name in RAMP.schema.names if name.startswith("deposit_")}
    ids = {"deposit_bank_account_id", "deposit_wallet_id"}
    assert set(DETAILS) == columns - ids


@pytest.mark.acceptance
@pytest.mark.parametrize("column", [name for name in DETAILS if "is_active" not in name])
def test_a_change_of_any_detail_is_reported(column: str) -> None:
    found = told([request("moved") | {column: otherwise(column)}], [request("moved") | SEEN])
    shown = "X" if otherwise(column) == "X" else {False: "no", 7: "7"}[otherwise(column)]
    assert f"{DETAILS[column]} was" in found["moved"]["differs"]
    assert f"is {shown}, since" in found["moved"]["differs"]


@pytest.mark.parametrize("column", ["deposit_is_active", "deposit_wallet_is_active"])
def test_inactive_details_are_not_shown(column: str) -> None:
    found = told([request("a") | {column: False}, request("b") | {column: True}])
    assert not found["a"]["payable"]
    assert found["a"]["deposit_iban"] is None
    assert found["b"]["payable"]


@pytest.mark.acceptance
def test_details_that_changed_meanwhile_come_first_and_hostile_text_is_literal() -> None:
    evil = "Ramp\u202eOperator"
    found = told(
        [request("paid", "PROCESSING"), request("moved", deposit_beneficiary=evil, version=2)],
        [
            request("moved")
            | {"valid_from": datetime(2026, 10, 2, tzinfo=UTC), "valid_to": datetime.now(UTC)}
        ],
    )
    assert found["moved"]["differs"] == (
        "beneficiary was Ramp Operator BV, is Ramp⟨U+202E⟩Operator,"
        " since we first saw it and PAY-paid was paid"
    )


@pytest.mark.acceptance
def test_requests_awaiting_funds_are_computed_from_their_own_inputs_only(
    month_end: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = needed(monthly.STEPS, "funding")
    assert len(steps) < len(monthly.STEPS)
    assert steps[-1].name == "funding"
    found = month_end.awaiting_funds().arrow
    assert found.num_rows > 0
    monkeypatch.setattr(monthly, "needed", lambda every, *_: every)
    monkeypatch.setattr(monthly, "_FUNDS", Memo())
    assert month_end.awaiting_funds().arrow.equals(found)


@pytest.mark.acceptance
def test_a_changed_account_is_shown_in_lists_as_in_the_panel(
    month_end: Workspace, tmp_path: Path
) -> None:
    folder = shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(folder)
    before = desk.awaiting_funds().arrow.to_pylist()
    assert {row["differs"] for row in before} == {""}
    due = next(row for row in before if row["state"] == "PAY" and row["currency"] == "EUR")
    query = "SELECT * FROM ramp_requests WHERE id = $id"
    (stored,) = desk.snapshot().sql(query, {"id": due["request"]}).to_pylist()
    iban, other = stored["deposit_iban"], "LT990000000000000000"
    changed = {name: stored[name] for name in RAMP.row_schema.names}
    changed |= {"deposit_iban": other, "raw": stored["raw"].replace(iban, other)}
    with desk.lake.writer("sync", desk.settings.now()) as writer:
        assert writer.upsert(RAMP, pa.Table.from_pylist([changed], schema=RAMP.row_schema)).changed
    (row,) = [row for row in Workspace(folder).awaiting_funds().arrow.to_pylist() if row["differs"]]
    assert row["request"] == due["request"]
    assert f"IBAN was {iban}, is {other}, since " in row["differs"]
    shown = CliRunner().invoke(treasury, ["-w", str(folder), "awaiting-funds"])
    lines = " ".join(shown.output.split())
    assert f"CHANGED {due['reference']}: IBAN was {iban}, is {other}, since " in lines
    assert f"Do not pay: the account was {iban} before, is {other}" in lines
    panel = Workspace(folder).panels.funding(size=50)
    assert "IBAN was" in "".join(line.text for line in panel.frame().banners[0].lines)
