"""The practice month with measured coins: the results of each pool, and what blocks the close."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from coin_desk import (
    ANNA,
    OPENINGS,
    agreed,
    copied,
    history_of,
    holders,
    policy_text,
    pool_of,
    under,
)

from treasury.close.closing import Closing
from treasury.close.ledger.accounting import accounting
from treasury.close.valuation.coins.coin_accounts import DISCLOSED, CoinHistory, coin_accounts
from treasury.core.errors import ActionRefused
from treasury.workspace import Workspace

AVERAGE = {"USDC": ("cost", "weighted_average", "none")}
FIFO = {"EURC": ("reserves", "fifo", "none")}
SEPTEMBER = date(2026, 9, 30)
AMOUNTS = ("opening", "reversed", "acquired", "transferred", "disposed", "remeasured", "closing")
WHOLE = {("EURC", ""): ("474846.70", "473000.00"), ("USDC", ""): ("2000000", "1800000.00")}
"""The openings if each coin has one pool."""


@pytest.fixture(autouse=True)
def _anna(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")


@pytest.fixture
def where(month_end: Workspace) -> dict[str, str]:
    return holders(month_end)


@pytest.fixture(scope="module")
def without_evidence(month_end: Workspace) -> Closing:
    return month_end.periods.month("2026-10")


def amounts(row: dict[str, Any]) -> list[Decimal]:
    return [row[name] for name in AMOUNTS]


def untied(closing: Closing) -> list[Any]:
    return [item for item in closing.items.blocking if item.kind == "coins_untied"]


@pytest.mark.acceptance
def test_without_terms_each_proved_balance_is_disclosed_at_an_assumed_value(
    october: Closing,
) -> None:
    coins = october.coins
    assert set(coins.coins.arrow["measurement"].to_pylist()) == {DISCLOSED}
    (base,) = [row for row in coins.coins.arrow.to_pylist() if row["coin"] == "USDC"]
    # The proved balance: 500,000 on 30 September, plus what came in October, less what was sent,
    # also for requests that are still open.
    assert base["closing_quantity"] == Decimal("586861.368254")
    assert base["value"] == Decimal("525296.61")
    assert base["valued_by"].endswith("2026-10-30; 1 USDC = 1 USD: an assumption, not a fair value")
    assert base["closing"] is base["gain"] is None
    assert len(coins.movements) == len(coins.lots) == 0
    books = accounting(october.r, october.zone, coins=october.coin_books)
    assert not books.prices
    assert not any(role.startswith("coin") for role in books.postings.arrow["role"].to_pylist())


@pytest.mark.acceptance
def test_fifo_to_reserves_equals_the_manual_calculation(
    october_tied: Closing, where: dict[str, str]
) -> None:
    """50,000 at 0.98, 5,257.60 bought at par, 6,100 sold at par, and the rest valued at 0.9985."""
    row = pool_of(october_tied.coins, "EURC", where["ETHEREUM"])
    sold = 6100 * Decimal("0.98")
    # 49,157.60 at 0.9985, rounded once.
    worth = Decimal("49083.86")
    cost = 49000 + Decimal("5257.60") - sold
    assert amounts(row) == [49000, 0, Decimal("5257.60"), 0, sold, worth - cost, worth]
    assert (row["proceeds"], row["gain"], row["problem"]) == (6100, 6100 - sold, "")


def test_the_average_at_cost_equals_the_manual_calculation(
    tied: Workspace, october_tied: Closing, where: dict[str, str]
) -> None:
    row = pool_of(october_tied.coins, "USDC", where["BASE"])
    assert row["remeasured"] == 0, "worth more than it is carried at"
    assert row["closing"] == row["opening"] + row["acquired"] + row["transferred"] - row["disposed"]
    assert row["transferred_quantity"] == Decimal("71699.67"), (
        "from custody, at the amount carried there"
    )
    quantity, amount, taken = Decimal(500000), Decimal(430000), Decimal(0)
    for moved in october_tied.coins.movements.arrow.to_pylist():
        if (moved["coin"], moved["pool"]) != ("USDC", row["pool"]):
            continue
        if moved["kind"] == "disposed":
            share = amount * -moved["quantity"] / quantity
            assert abs(share + moved["carrying_amount"]) < Decimal("0.01")
            assert moved["gain"] == moved["proceeds"] + moved["carrying_amount"]
            quantity, amount, taken = quantity + moved["quantity"], amount - share, taken + share
        else:
            quantity, amount = quantity + moved["quantity"], amount + moved["carrying_amount"]
    assert abs(taken - row["disposed"]) < Decimal("0.01")
    assert abs(amount - row["closing"]) < Decimal("0.01")
    requests = tied.sql(
        "SELECT ramp_type, sum(fiat_amount) AS gross, sum(fiat_fee_amount) AS fees FROM"
        " ramp_requests WHERE crypto_currency = 'USDC' AND status = 'SUCCEEDED' AND"
        " completed_at >= TIMESTAMPTZ '2026-09-30 22:00:00+00' GROUP BY ramp_type"
    ).arrow.to_pylist()
    gross = {each["ramp_type"]: (each["gross"], each["fees"]) for each in requests}
    assert row["acquired"] == gross["ON_RAMP"][0] - gross["ON_RAMP"][1], (
        "the fee is not part of the cost"
    )
    assert row["proceeds"] == gross["OFF_RAMP"][0], "the fee does not reduce the proceeds"


@pytest.mark.acceptance
def test_own_transfers_are_not_disposals_and_move_the_carrying_amount(
    october: Closing, october_tied: Closing, where: dict[str, str], unmeasured: Workspace,
    tmp_path: Path,
) -> None:  # fmt: skip
    given, taken = (
        pool_of(october_tied.coins, "EURC", where[name]) for name in ("Retail", "Marketplace")
    )
    assert given["transferred"] == -taken["transferred"] == Decimal("-74497.16")
    assert given["transferred_quantity"] == -taken["transferred_quantity"]
    assert given["disposed"] == given["gain"] == taken["disposed"] == 0
    assert taken["closing_quantity"] == Decimal("199343.86"), "as the proved balance has it"
    text = policy_text(unmeasured, FIFO, "entity", WHOLE)
    entity = pool_of(under(october, history_of(text, tmp_path / "terms")).coins, "EURC")
    assert entity["transferred"] == entity["transferred_quantity"] == 0
    assert entity["closing_quantity"] == Decimal("474004.30")


@pytest.mark.acceptance
def test_coins_sent_for_an_open_request_stay_in_the_pool(
    october_tied: Closing, where: dict[str, str]
) -> None:
    coins = october_tied.coins
    row = pool_of(coins, "USDC", where["BASE"])
    assert row["closing_quantity"] == Decimal("586861.368254") + 10000 + 6100
    assert row["problem"] == "", "the balance is lower by exactly the amount in transit"
    for amount, reference in (("6,100", "PAY-2026-005379"), ("10,000", "PAY-2026-005398")):
        words = f"USDC {amount}.000000 moved over the month's end and counts when {reference}"
        assert f"{words} completes" in coins.notes
        assert reference not in coins.movements.arrow["reference"].to_pylist()


@pytest.mark.acceptance
def test_an_on_chain_movement_after_month_end_for_an_earlier_request_is_not_a_difference(
    unmeasured: Workspace, where: dict[str, str], tmp_path: Path
) -> None:
    """The service completed a delivery in October; on chain it is ten minutes into November."""
    desk = copied(unmeasured, tmp_path / "desk")
    path = desk.folder / "USDC.csv"
    lines = path.read_text("utf-8").splitlines()
    place = max(at for at, line in enumerate(lines) if line.split(",")[3] == where["BASE"])
    cells = lines[place].split(",")
    lines[place] = ",".join([cells[0], "2026-10-31T23:10:00+00:00", *cells[2:]])
    path.write_text("\n".join([*lines, ""]), "utf-8")
    at = {"chain": "BASE", "address": where["BASE"]}
    desk.wallets.add_evidence(path, **at, first="2026-09-30", last="2026-11-01", replace=True)
    agreed(desk, policy_text(desk, AVERAGE))
    row = pool_of(desk.coins("2026-10"), "USDC", where["BASE"])
    assert row["closing_quantity"] == Decimal("602961.368254"), "as if it had come in October"
    assert row["problem"] == ""


def test_unproved_coins_have_rows_of_their_own(october_tied: Closing) -> None:
    rows = october_tied.coins.unproved.arrow.to_pylist()
    assert [(row["coin"], row["subject"], row["quantity"]) for row in rows] == [
        ("EURC", "conversion, Retail", Decimal("441186.17")),
        ("USDC", "conversion, Operations", Decimal("334044.0112")),
        ("USDC", "conversion, Treasury reserve", Decimal("941175.379304")),
        ("USDT", "balance, Marketplace", Decimal("329561.785048")),
    ]
    assert all(row["problem"] and row["next_step"] for row in rows)
    assert rows[0]["value"] == Decimal("440524.39")
    acquired = {row["quantity"] for row in october_tied.coins.movements.arrow.to_pylist()}
    assert not acquired & {row["quantity"] for row in rows}


@pytest.mark.acceptance
def test_a_pool_that_differs_from_its_proved_balance_blocks_the_close(
    unmeasured: Workspace, where: dict[str, str], tmp_path: Path
) -> None:
    desk = copied(unmeasured, tmp_path / "desk")
    openings = OPENINGS | {("EURC", "ETHEREUM"): ("50001", "49000.98")}
    agreed(desk, policy_text(desk, FIFO, openings=openings))
    closing = desk.periods.month("2026-10")
    words = "the pool has EURC 49,158.600000, the proved balances EURC 49,157.600000"
    assert pool_of(closing.coins, "EURC", where["ETHEREUM"])["problem"] == words
    (item,) = untied(closing)
    assert words in item.next_step
    with pytest.raises(ActionRefused):
        desk.items.carry(
            item.item_id, owner="carla", by="2026-12-31", reason="later", month="2026-10",
            actor=ANNA,
        )  # fmt: skip
    books = desk.accounting("2026-10")
    assert not [
        role for role in books.postings.arrow["role"].to_pylist() if role.startswith("coin")
    ]
    assert books.notes[0].startswith("EURC is not posted: the pool has EURC 49,158.600000")


@pytest.mark.first_case
@pytest.mark.parametrize("is_first", [True, False])
def test_a_pool_on_two_chains_is_compared_only_if_both_balances_are_proved(
    october_tied: Closing, unmeasured: Workspace, where: dict[str, str], tmp_path: Path,
    *, is_first: bool,
) -> None:  # fmt: skip
    """The same address has a balance on Arbitrum too, which is unproved at first."""
    balances = october_tied.balances.arrow.to_pylist()
    (base,) = [row for row in balances if (row["of"], row["currency"]) == (where["BASE"], "USDC")]
    unknown = base | {
        "name": "company wallet on ARBITRUM", "opening": None, "closing": None, "proved": False,
        "problem": "no evidence of this wallet was added",
    }  # fmt: skip
    history = history_of(policy_text(unmeasured, AVERAGE), tmp_path / "terms")
    place = 0 if is_first else len(balances)

    def held(other: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
        rows = [*balances[:place], other, *balances[place:]]
        table = pa.Table.from_pylist(rows, schema=october_tied.balances.arrow.schema)
        coins = coin_accounts(october_tied.r, october_tied.zone, table, history)
        row = pool_of(coins, "USDC", where["BASE"])
        return row["problem"], row["name"], coins.notes

    problem, name, notes = held(unknown)
    assert problem == ""
    assert "USDC is not compared with balances: 1 wallet not proved" in notes
    chains = ["company wallet on ARBITRUM", "company wallet on BASE"]
    assert name == " and ".join(chains if is_first else chains[::-1])
    proved, _, _ = held(unknown | {"proved": True, "opening": Decimal(7), "closing": Decimal(7)})
    assert proved == "the pool has USDC 586,861.368254, the proved balances USDC 586,868.368254"


def test_coins_that_left_without_having_arrived_block(
    october: Closing, unmeasured: Workspace, where: dict[str, str], tmp_path: Path
) -> None:
    openings = {key: held for key, held in OPENINGS.items() if key[1] != "Retail"}
    text = policy_text(unmeasured, FIFO, openings=openings)
    closing = under(october, history_of(text, tmp_path / "terms"))
    row = pool_of(closing.coins, "EURC", where["Retail"])
    assert row["problem"] == "EURC 74,497.160000 left that no record shows coming"
    assert row["closing_quantity"] == Decimal("-74497.16")
    assert "[[coins.openings]]" in row["next_step"]
    assert len(untied(closing)) == 2, "the pool that got them differs from its balance too"


@pytest.mark.acceptance
def test_a_proved_balance_without_a_pool_blocks(
    october: Closing, unmeasured: Workspace, where: dict[str, str], tmp_path: Path
) -> None:
    text = policy_text(unmeasured, {"USDT": ("cost", "fifo", "none")}, openings={})
    closing = under(october, history_of(text, tmp_path / "terms"))
    row = pool_of(closing.coins, "USDT", where["Retail"])
    assert row["problem"] == "the pool has USDT 0.000000, the proved balances USDT 124,775.240000"
    assert untied(closing)


def test_an_event_with_an_unknown_wallet_blocks_until_it_is_known(
    without_evidence: Closing, october: Closing, unmeasured: Workspace, where: dict[str, str],
    tmp_path: Path,
) -> None:  # fmt: skip
    history = history_of(policy_text(unmeasured, FIFO), tmp_path / "terms")
    before = under(without_evidence, history)
    assert {row["problem"] for row in before.coins.measured.arrow.to_pylist()} == {
        "1 event of EURC in no pool"
    }
    assert len(untied(before)) == 3
    (row,) = [row for row in before.coins.unproved.arrow.to_pylist() if "PAY" in row["subject"]]
    assert (row["subject"], row["quantity"]) == ("disposed, PAY-2026-005308", 6100)
    assert row["problem"] == "which wallet it was is not known"
    after = under(october, history)
    assert pool_of(after.coins, "EURC", where["ETHEREUM"])["disposed_quantity"] == 6100
    assert not untied(after)


@pytest.mark.acceptance
def test_with_one_pool_the_same_event_needs_no_wallet(
    without_evidence: Closing, unmeasured: Workspace, tmp_path: Path
) -> None:
    text = policy_text(unmeasured, FIFO, "entity", WHOLE)
    coins = under(without_evidence, history_of(text, tmp_path / "terms")).coins
    row = pool_of(coins, "EURC")
    assert (row["problem"], row["disposed_quantity"]) == ("", 6100)
    assert "EURC is not compared with balances: 2 wallets not proved" in coins.notes


def test_a_month_closed_as_one_pool_is_not_divided_automatically(
    october: Closing, unmeasured: Workspace, tmp_path: Path
) -> None:
    whole = under(
        october, history_of(policy_text(unmeasured, FIFO, "entity", WHOLE), tmp_path / "entity")
    )
    by_wallet = history_of(policy_text(unmeasured, FIFO, openings={}), tmp_path / "wallet")
    lots = whole.coins.lots
    ended = lots.arrow.set_column(
        lots.arrow.schema.get_field_index("month_end"), "month_end", [[SEPTEMBER] * len(lots)]
    ).cast(lots.arrow.schema)
    history = CoinHistory(measured=by_wallet.measured, lots=ended)
    (row,) = [
        row for row in under(october, history).coins.measured.arrow.to_pylist() if not row["pool"]
    ]
    assert (
        row["problem"] == "the month before was closed with one pool, and now each wallet is a pool"
    )
