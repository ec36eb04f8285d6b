"""Coins from a closed month to the next: the opening, late events, and changed terms."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from coin_desk import OTHER, agreed, copied, holders, policy_text, pool_of
from signed import close_month

from treasury.close.closing import Closing
from treasury.close.valuation.coins.coin_accounts import coin_accounts
from treasury.workspace import Workspace

MEASURED = {"USDC": ("profit_and_loss", "weighted_average", "next_month")}
WHOLE = {("USDC", ""): ("2000000", "1820000.00")}
SPENT = "0xfe,2026-09-20T09:00:00+00:00,{wallet},{other},USDC,400"
LATER = "0xff,2026-09-21T09:00:00+00:00,{wallet},{other},USDC,25"
SUMS = (
    "opening_quantity", "acquired_quantity", "disposed_quantity", "closing_quantity", "opening",
    "reversed", "acquired", "disposed", "remeasured", "closing", "proceeds", "gain", "value",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _anna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")


def terms(desk: Workspace, *, day: str = "2026-08-31", **changed: Any) -> str:
    measured = changed.get("measured", MEASURED)
    return policy_text(desk, measured, "entity", WHOLE).replace("2026-09-30", day)


def show(desk: Workspace, *lines: str, replace: bool = False) -> None:
    """Add an explorer's export of September for the company's wallet on BASE."""
    wallet = holders(desk)["BASE"]
    path = desk.folder / "september.csv"
    rows = [line.format(wallet=wallet, other=OTHER) for line in lines]
    path.write_text("\n".join(["hash,time,from,to,asset,amount", *rows, ""]), "utf-8")
    place = {"chain": "BASE", "address": wallet}
    span = {"first": "2026-09-01", "last": "2026-09-30"}
    desk.wallets.add_evidence(path, **place, **span, assets=["USDC"], replace=replace)


def row_of(desk: Workspace, month: str) -> dict[str, Any]:
    return pool_of(desk.coins(month), "USDC")


@pytest.fixture(scope="module")
def walked(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a desk without closes: coins open on 31 August, and 400 are sent in September."""
    desk = copied(month_end, tmp_path_factory.mktemp("walked") / "desk")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_USER", "anna")
        show(desk, SPENT)
    return agreed(desk, terms(desk))


@pytest.fixture(scope="module")
def closed(walked: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return the same desk with September closed."""
    desk = copied(walked, tmp_path_factory.mktemp("closed") / "desk")
    close_month(desk, "2026-09")
    return desk


@pytest.mark.acceptance
def test_october_opens_with_septembers_closing(walked: Workspace, closed: Workspace) -> None:
    september, october = row_of(closed, "2026-09"), row_of(closed, "2026-10")
    assert october["opening"] == september["closing"] == september["value"]
    assert october["opening_quantity"] == september["closing_quantity"]
    assert october["reversed"] == -september["remeasured"] != 0
    before = row_of(walked, "2026-10")
    assert [october[name] for name in SUMS] == [before[name] for name in SUMS]
    assert september["problem"] == october["problem"] == ""
    assert closed.periods.verify("2026-09").closing.coins.coins.arrow.num_rows


@pytest.mark.acceptance
def test_late_facts_about_a_closed_month_count_on_the_first_of_the_next(
    closed: Workspace, tmp_path: Path
) -> None:
    desk = copied(closed, tmp_path / "desk")
    before = row_of(desk, "2026-10")
    show(desk, SPENT, LATER)
    september, october = row_of(desk, "2026-09"), row_of(desk, "2026-10")
    assert [september[name] for name in SUMS] == [row_of(closed, "2026-09")[name] for name in SUMS]
    assert october["opening_quantity"] == before["opening_quantity"]
    assert october["disposed_quantity"] == before["disposed_quantity"] + 25
    (late,) = [
        row
        for row in desk.coins("2026-10").movements.arrow.to_pylist()
        if row["reference"] == "0xff"
    ]
    assert (str(late["day"]), late["quantity"]) == ("2026-10-01", Decimal(-25))
    assert october["problem"] == ""


@pytest.mark.acceptance
def test_a_removed_event_of_a_closed_month_blocks(closed: Workspace, tmp_path: Path) -> None:
    desk = copied(closed, tmp_path / "desk")
    show(desk, LATER, replace=True)
    problem = row_of(desk, "2026-10")["problem"]
    assert problem.startswith("1 event that a closed month counted is no longer recorded: movement")
    assert row_of(desk, "2026-09")["problem"] == ""
    assert any(item.kind == "coins_untied" for item in desk.open_items("2026-10").blocking)


CHANGES: dict[str, Any] = {
    "quantity": Decimal(401), "kind": "acquired", "consideration": Decimal(1), "currency": "EUR",
}  # fmt: skip
"""Columns of the September event that a test changes, each with its new value."""


@pytest.fixture(scope="module")
def october(closed: Workspace) -> Closing:
    return closed.periods.month("2026-10")


@pytest.mark.acceptance
@pytest.mark.parametrize("column", CHANGES)
def test_an_event_recorded_differently_from_a_closed_month_blocks(
    october: Closing, column: str
) -> None:
    """Compare events, because a corrected fee or a newly known wallet need not move a balance."""
    history = october.rolled.coins
    events = history.events.to_pylist()
    (spent,) = [event for event in events if event["reference"] == "0xfe"]
    spent[column] = CHANGES[column]
    counted = pa.Table.from_pylist(events, schema=history.events.schema)
    other = msgspec.structs.replace(history, events=counted)
    coins = coin_accounts(october.r, october.zone, october.balances.arrow, other)
    row = pool_of(coins, "USDC")
    assert row["problem"] == (
        "1 event that a closed month counted is recorded in another way: " + spent["event_id"]
    )
    assert "reopen" in row["next_step"]


@pytest.mark.acceptance
def test_the_wallet_of_an_event_matters_if_each_wallet_is_a_pool(october: Closing) -> None:
    history = october.rolled.coins
    events = history.events.to_pylist()
    (spent,) = [event for event in events if event["reference"] == "0xfe"]
    spent["from_holder"] = "0xcc"
    counted = pa.Table.from_pylist(events, schema=history.events.schema)
    for pool, is_problem in (("entity", False), ("wallet", True)):
        measured = history.measured.to_pylist()
        terms = pa.Table.from_pylist(
            [row | {"pool": pool} for row in measured], schema=history.measured.schema
        )
        other = msgspec.structs.replace(history, events=counted, measured=terms)
        coins = coin_accounts(october.r, october.zone, october.balances.arrow, other)
        problems = coins.measured.arrow["problem"].to_pylist()
        assert any("in another way" in problem for problem in problems) is is_problem


@pytest.mark.acceptance
def test_changed_terms_apply_from_the_first_open_month(closed: Workspace, tmp_path: Path) -> None:
    desk = copied(closed, tmp_path / "desk")
    before = row_of(desk, "2026-09")
    other = {"USDC": ("cost", "fifo", "none")}
    agreed(desk, terms(desk, measured=other, day="2026-09-30"))
    assert row_of(desk, "2026-09") == before
    october = row_of(desk, "2026-10")
    assert (october["measurement"], october["cost_formula"]) == ("cost", "fifo")
    assert october["opening"] == before["closing"]
    assert october["reversed"] == -before["remeasured"], "the part to be reversed is reversed"
    assert october["remeasured"] == october["value"] - (october["closing"] - october["remeasured"])
    assert october["closing"] == october["value"]
    words = "the opening of USDC at 2026-09-30 is not used, because 2026-09 is closed; that month's"
    assert f"{words} closing is used instead" in desk.coins("2026-10").notes
