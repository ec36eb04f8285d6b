"""Transaction lists of block explorers: native coin, gas once per transaction, invalid files."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gas_samples import (
    ETHEREUM,
    NOW,
    OTHER,
    OWN,
    PLAIN,
    POLYGON,
    SECOND,
    Chain,
    list_text,
    listed,
)

from treasury.core.errors import InputError
from treasury.statements.explorer.wallet_place import WalletPlace


@pytest.fixture
def chain(tmp_path: Path) -> Chain:
    return Chain(tmp_path)


def test_a_transaction_list_gives_incoming_and_outgoing_movements_and_the_gas_paid(
    chain: Chain,
) -> None:
    came = listed(hash="0x02", **{"from": OTHER, "to": OWN, "came": "1.25", "went": "0"})
    added = chain.add(list_text(listed(fee="0.00210000"), came))
    assert str(added).endswith("2 movements new, gas of 1 transactions")
    moved = {
        (row["from_address"], row["amount"], row["asset"]) for row in chain.rows("wallet_movements")
    }
    assert moved == {(OWN, Decimal("0.5"), "ETH"), (OTHER, Decimal("1.25"), "ETH")}
    # The sender pays the gas of an incoming transaction.
    (gas,) = chain.rows("wallet_gas")
    assert (gas["amount"], gas["published"], gas["coin"]) == (
        Decimal("0.0021"),
        "0.00210000",
        "ETH",
    )
    assert (gas["transaction_hash"], gas["payer_address"], gas["failed"]) == ("0x01", OWN, False)
    assert gas["paid_at"].isoformat() == "2026-10-05T09:31:11+00:00"
    (evidence,) = chain.rows("wallet_evidence")
    assert (evidence["asset"], evidence["shows_gas"]) == ("ETH", True)


@pytest.mark.acceptance
@pytest.mark.parametrize("coin", ["POL", "MATIC"])
def test_a_polygon_list_is_in_pol_under_its_old_and_new_name(tmp_path: Path, coin: str) -> None:
    chain = Chain(tmp_path, POLYGON)
    chain.add(list_text(listed(fee="0.0123456789"), coin=coin, hash_head="Txhash"))
    (gas,) = chain.rows("wallet_gas")
    assert (gas["coin"], gas["amount"]) == ("POL", Decimal("0.0123456789"))
    assert [row["asset"] for row in chain.rows("wallet_movements")] == ["POL"]


def test_a_failed_transaction_pays_gas_and_moves_nothing(chain: Chain) -> None:
    chain.add(
        list_text(
            listed(status="Error(0)", error="Reverted"),
            listed(hash="0x02", error="out of gas"),
            listed(hash="0x03", status="success", went="0"),
        )
    )
    assert chain.rows("wallet_movements") == []
    failed = {row["transaction_hash"]: row["failed"] for row in chain.rows("wallet_gas")}
    assert failed == {"0x01": True, "0x02": True, "0x03": False}


@pytest.mark.acceptance
def test_a_self_transfer_and_a_contract_creation_are_read(chain: Chain) -> None:
    chain.add(
        list_text(
            listed(to=OWN.lower(), came="0.5"),
            listed(hash="0x02", to="", contract=OTHER, went="0"),
        )
    )
    (row,) = chain.rows("wallet_movements")
    assert (row["from_address"], row["to_address"]) == (OWN, OWN.lower())
    assert len(chain.rows("wallet_gas")) == 2


@pytest.mark.acceptance
def test_coins_sent_by_a_contract_need_no_fee(chain: Chain) -> None:
    inner = listed(**{"from": OTHER, "to": OWN, "came": "0.2", "went": "0", "fee": ""})
    chain.add(list_text(listed(went="0"), inner))
    assert [row["amount"] for row in chain.rows("wallet_movements")] == [Decimal("0.2")]
    assert len(chain.rows("wallet_gas")) == 1


@pytest.mark.acceptance
def test_overlapping_lists_add_no_duplicates(chain: Chain) -> None:
    both = (listed(), listed(hash="0x02"))
    chain.add(list_text(*both))
    later = chain.add(list_text(*both, listed(hash="0x03", went="0")), "later.csv")
    assert (len(later.movements), len(later.gas)) == (0, 1)
    again = chain.add(list_text(*both, listed(hash="0x03", went="0")), "later.csv")
    assert "known before" in str(again)
    assert len(chain.rows("wallet_gas")) == 3
    assert len(chain.rows("wallet_movements")) == 2


def plain(*lines: str, head: str = PLAIN + ",gas,gas_coin") -> str:
    return "\n".join((head, *lines, ""))


@pytest.mark.acceptance
def test_gas_in_a_token_export_and_a_transaction_list_is_counted_once(chain: Chain) -> None:
    token = f"0X01,2026-10-05T09:31:11Z,{OWN},{OTHER},USDC,100,0.002100,ETH"
    second = f"0X01,2026-10-05T09:31:11Z,{OWN},{SECOND},USDC,25,0.0021,"
    chain.add(plain(token, second), "tokens.csv")
    assert len(chain.rows("wallet_gas")) == 1
    added = chain.add(list_text(listed(went="0")))
    assert len(added.gas) == 0
    assert len(chain.rows("wallet_gas")) == 1
    assert {row["asset"] for row in chain.rows("wallet_movements")} == {"USDC"}


@pytest.mark.acceptance
def test_a_plain_export_shows_gas_if_every_outgoing_transaction_has_it(tmp_path: Path) -> None:
    first = f"0x01,2026-10-05T09:31:11Z,{OWN},{OTHER},ETH,0.5,0.0021,ETH"
    for number, (gas, shows) in enumerate((("0.001", True), ("", False))):
        chain = Chain(tmp_path / str(number))
        second = f"0x02,2026-10-06T09:00Z,{OWN},{OTHER},ETH,0.5,{gas},"
        came = f"0x03,2026-10-07T09:00Z,{OTHER},{OWN},ETH,0.5,,"
        chain.add(plain(first, second, came), "plain.csv")
        assert [row["shows_gas"] for row in chain.rows("wallet_evidence")] == [shows]


def test_lists_that_disagree_about_a_fee_are_refused_by_file_and_line(chain: Chain) -> None:
    chain.add(list_text(listed()))
    other = list_text(listed(hash="0x00", went="0"), listed(fee="0.0022"))
    with pytest.raises(InputError, match=r"other.csv, line 3: gas of 0x01 is 0.0022 ETH .* 0.0021"):
        chain.add(other, "other.csv")
    assert [row["amount"] for row in chain.rows("wallet_gas")] == [Decimal("0.0021")]
    chain.add(other, "other.csv", replace=True)
    paid = {row["transaction_hash"]: row["amount"] for row in chain.rows("wallet_gas")}
    assert paid == {"0x00": Decimal("0.0021"), "0x01": Decimal("0.0022")}
    (before,) = chain.lake.snapshot().sql("SELECT amount FROM wallet_gas_history").to_pylist()
    assert before["amount"] == Decimal("0.0021")


def test_a_failed_transaction_that_moved_coins_is_refused_in_either_order(
    tmp_path: Path,
) -> None:
    token = plain(f"0x01,2026-10-05T09:31:11Z,{OWN},{OTHER},USDC,100", head=PLAIN)
    failed = list_text(listed(status="Error(0)"))
    chain = Chain(tmp_path / "first")
    chain.add(token, "tokens.csv")
    words = "list.csv, line 2: 0x01 failed, and tokens.csv has USDC 100.000000 moved by it"
    with pytest.raises(InputError, match=words):
        chain.add(failed)
    assert chain.rows("wallet_gas") == []
    other = Chain(tmp_path / "second")
    other.add(failed)
    with pytest.raises(InputError, match=r"line 2: 0x01 moved coins, but failed in list.csv"):
        other.add(token, "tokens.csv")
    assert other.rows("wallet_movements") == []


def test_a_list_without_the_gas_of_an_earlier_one_is_refused_unless_it_replaces_it(
    chain: Chain,
) -> None:
    chain.add(list_text(listed(went="0"), listed(hash="0x02", went="0")))
    fewer = list_text(listed(went="0"))
    with pytest.raises(InputError, match=r"lacks the gas of 0x02, 0.0021 ETH, which list.csv has"):
        chain.add(fewer, "fewer.csv")
    chain.add(fewer, "fewer.csv", replace=True)
    assert [row["transaction_hash"] for row in chain.rows("wallet_gas")] == ["0x01"]


def test_gas_missing_from_the_complete_list_of_its_days_is_refused(chain: Chain) -> None:
    chain.add(list_text(listed()))
    token = f"0x09,2026-10-06T09:00Z,{OWN},{OTHER},USDC,100,0.001,ETH"
    with pytest.raises(InputError, match=r"tokens.csv, line 2: gas of 0x09, which list.csv lacks"):
        chain.add(plain(token), "tokens.csv")


@pytest.mark.acceptance
def test_a_transfer_between_own_wallets_in_both_exports_is_one_movement(
    chain: Chain,
) -> None:
    second = WalletPlace("ETHEREUM", SECOND)
    chain.add(list_text(listed(to=SECOND)), "first.csv")
    came = listed(to=SECOND, came="0.5", went="0")
    added = chain.add(list_text(came), "second.csv", place=second)
    assert (len(added.movements), len(added.gas)) == (0, 0)
    assert len(chain.rows("wallet_movements")) == len(chain.rows("wallet_gas")) == 1
    assert chain.add(list_text(came), "again.csv", place=second).movements.arrow.num_rows == 0
    with pytest.raises(InputError, match=r"dearer.csv, line 2: gas of 0x01 is 0.0022 ETH, and"):
        chain.add(list_text(came | {"fee": "0.0022"}), "dearer.csv", place=second)
    chain.add(list_text(came | {"fee": "0.0022"}), "dearer.csv", place=second, replace=True)
    (gas,) = chain.rows("wallet_gas")
    assert (gas["amount"], gas["payer_address"]) == (Decimal("0.0022"), OWN)


LONG = "9" * 25
WRONG: tuple[tuple[dict[str, str], str], ...] = (
    ({"fee": "-0.1"}, "line 2, fee: -0.1 is negative"),
    ({"fee": "cheap"}, "line 2, fee: 'cheap' is not a number"),
    ({"fee": "NaN"}, "line 2, fee: 'NaN' is not a number"),
    ({"fee": "0,0021"}, "line 2, fee: '0,0021' is not a number"),
    ({"fee": "0.0000000000000000001"}, "line 2, fee: .* more than 20 digits"),
    ({"fee": LONG}, "line 2, fee: .* more than 20 digits"),
    ({"fee": ""}, "line 2: the wallet sent it, and its fee is empty"),
    ({"fee": "=HYPERLINK(0)"}, "line 2, fee: '=HYPERLINK.0.' is not a number"),
    ({"went": "-1"}, r"line 2, value_out\(eth\): -1 is negative"),
    ({"came": "0.5"}, "line 2: 0.5 in and 0.5 out contradict from and to"),
    ({"to": ""}, "line 2: to is empty"),
    ({"from": OTHER}, "line 2: 0 in and 0.5 out contradict from and to"),
    ({"from": OTHER, "went": "0"}, "line 2: neither from nor to"),
    ({"from": ""}, "line 2: from is empty"),
    ({"hash": ""}, "line 2: transaction hash is empty"),
    ({"status": "perhaps"}, "line 2, status: 'perhaps' means neither"),
    ({"status": "success", "error": "Reverted"}, "line 2: the status is success"),
    ({"time": "2026-08-01 10:00:00"}, "line 2: 2026-08-01 10:00 UTC is outside"),
)


@pytest.mark.first_case
@pytest.mark.parametrize(("changed", "words"), WRONG)
def test_an_invalid_line_is_named_and_nothing_is_stored(
    chain: Chain, changed: dict[str, str], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        chain.add(list_text(listed(**changed), listed(hash="0x02")))
    for table in ("wallet_evidence", "wallet_movements", "wallet_gas"):
        assert chain.rows(table) == []


def test_an_unknown_coin_or_one_of_another_chain_is_refused(chain: Chain) -> None:
    with pytest.raises(InputError, match="line 1: gas in 'DOGE', but ETHEREUM charges it in ETH"):
        chain.add(list_text(listed(), coin="DOGE"))
    with pytest.raises(InputError, match="line 1: gas in 'ETH', but POLYGON charges it in POL"):
        chain.add(list_text(listed()), place=POLYGON)
    with pytest.raises(InputError, match="line 1: the coin of gas fees on SUI is not known"):
        chain.add(list_text(listed()), place=WalletPlace("SUI", OWN))
    token = f"0x01,2026-10-05T09:31:11Z,{OWN},{OTHER},USDC,100,0.0021,DOGE"
    with pytest.raises(InputError, match="line 2: gas in 'DOGE'"):
        chain.add(plain(token), "tokens.csv")
    with pytest.raises(InputError, match="shows ETH alone, not USDC"):
        chain.add(list_text(listed()), assets=["USDC"])
    assert chain.rows("wallet_gas") == []


def test_contradictory_or_repeated_lines_of_a_transaction_are_refused(chain: Chain) -> None:
    head = "line 3: 0x01 paid 0.0022 for gas, and 0.0021 on line 2"
    with pytest.raises(InputError, match=head):
        chain.add(list_text(listed(went="0"), listed(went="0", fee="0.0022")))
    with pytest.raises(InputError, match="line 3: repeats line 2"):
        chain.add(list_text(listed(), listed()))


def test_a_timestamp_that_is_not_a_number_of_seconds_is_refused(chain: Chain) -> None:
    text = list_text(listed())
    seconds = text.splitlines()[1].split(",")[2]
    for strange in ('"soon"', '"٣"', '"17909316001790931600"'):
        with pytest.raises(InputError, match=r"line 2, unixtimestamp: .* is not a number"):
            chain.add(text.replace(seconds, strange))


def parquet(folder: Path, columns: dict[str, Any]) -> Path:
    path = folder / "list.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def columns_of(fee: pa.Array) -> dict[str, Any]:
    """Return the columns of a transaction list with one row and this fee."""
    return {
        "Txhash": ["0x01"],
        "DateTime (UTC)": pa.array([NOW.replace(month=10, day=5)], pa.timestamp("us", "UTC")),
        "From": [OWN],
        "To": [OTHER],
        "Value_OUT(ETH)": pa.array([Decimal("0.5")], pa.decimal128(38, 18)),
        "TxnFee(ETH)": fee,
    }


def test_parquet_is_read_exactly_and_a_float_is_refused(chain: Chain, tmp_path: Path) -> None:
    from treasury.statements.store.wallet_evidence import add_export

    exact = pa.array([Decimal("0.002100000000000001")], pa.decimal128(38, 18))
    add_export(chain.lake, parquet(tmp_path, columns_of(exact)), ETHEREUM, NOW, by="anna")
    (gas,) = chain.rows("wallet_gas")
    assert (str(gas["amount"]), gas["published"]) == (
        "0.002100000000000001",
        "0.002100000000000001",
    )
    floating = parquet(tmp_path, columns_of(pa.array([0.0021])))
    with pytest.raises(InputError, match=r"list.parquet, row 1: TxnFee\(ETH\) is a float"):
        add_export(chain.lake, floating, ETHEREUM, NOW, by="anna")
    wrong = parquet(tmp_path, columns_of(pa.array(["-1"])))
    with pytest.raises(InputError, match=r"list.parquet, row 1, fee: -1 is negative"):
        add_export(chain.lake, wrong, ETHEREUM, NOW, by="anna")
    bare = columns_of(exact) | {
        "DateTime (UTC)": pa.array([NOW.replace(tzinfo=None)], pa.timestamp("us"))
    }
    with pytest.raises(InputError, match="is a timestamp without its zone"):
        add_export(chain.lake, parquet(tmp_path, bare), ETHEREUM, NOW, by="anna")
    assert len(chain.rows("wallet_gas")) == 1
