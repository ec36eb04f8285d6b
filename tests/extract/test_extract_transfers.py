"""Where the reading of a list of transfers ends, and how amounts of transfers are stored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from treasury.api.models import Transfer
from treasury.extract.finance_tables import TRANSFERS, kind_of
from treasury.extract.record_rows import rows
from treasury.extract.transfer_lists import ReceivedTransfer, StoredTransfers, TransferListing

NOON = datetime(2026, 10, 1, 12, tzinfo=UTC)


def transfer(number: int, status: str = "COMPLETED", *, timed: bool = True) -> Transfer:
    created = NOON + timedelta(hours=number) if timed else None
    return Transfer(id=f"t{number}", status=status, created_at=created)


def held(settled: list[int], still_open: list[int] = ()) -> StoredTransfers:
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("kind", pa.string()),
            ("is_open", pa.bool_()),
            ("first_seen_at", pa.timestamp("us", tz="UTC")),
            ("sender_account_id", pa.string()),
            ("receiver_account_id", pa.string()),
            ("created_at", pa.timestamp("us", tz="UTC")),
        ]
    )
    rows = [(n, False) for n in settled] + [(n, True) for n in still_open]
    return StoredTransfers(
        pa.Table.from_pylist(
            [
                {"id": f"t{n}", "kind": "crypto", "is_open": is_open, "first_seen_at": NOON}
                for n, is_open in rows
            ],
            schema,
        )
    )


def walked(
    known: StoredTransfers,
    *pages: list[Transfer],
    must: set[str] = frozenset(),
    since: datetime | None = None,
) -> list[str]:
    """Return the ids of the pages that are read until the list may end."""
    walk = TransferListing(iter(()), set(must))
    met = []
    for page in pages:
        known.look_up([item.id for item in page])
        met += [item.id for item in page]
        if walk.may_end(page, known, since):
            break
    return met


def test_walk_stops_at_the_first_page_that_is_all_settled() -> None:
    pages = [transfer(6), transfer(5)], [transfer(4), transfer(3)], [transfer(2)]
    assert walked(held([4, 3, 2]), *pages) == ["t6", "t5", "t4", "t3"]


def test_first_walk_takes_everything() -> None:
    pages = [transfer(2), transfer(1)], [transfer(0)]
    assert walked(held([]), *pages) == ["t2", "t1", "t0"]


def test_a_page_with_an_open_transfer_does_not_end_the_walk() -> None:
    pages = [transfer(6), transfer(5, "PENDING")], [transfer(4)], [transfer(3)]
    assert walked(held([6, 4, 3], [5]), *pages) == ["t6", "t5", "t4"]


def test_a_settled_transfer_that_moved_on_does_not_end_the_walk() -> None:
    pages = [transfer(6, "REVERSED"), transfer(5)], [transfer(4)]
    assert walked(held([6, 5, 4]), *pages) == ["t6", "t5", "t4"]


def test_a_walk_continues_to_the_open_transfer() -> None:
    pages = [transfer(6)], [transfer(5)], [transfer(4)], [transfer(3)]
    assert walked(held([6, 5, 3], [4]), *pages, must={"t4"}) == ["t6", "t5", "t4", "t3"]


def test_a_walk_continues_to_the_requested_day() -> None:
    pages = [transfer(6)], [transfer(5)], [transfer(4)], [transfer(3)]
    since = NOON + timedelta(hours=5)
    assert walked(held([6, 5, 4, 3]), *pages, since=since) == ["t6", "t5", "t4"]


def test_list_in_another_order_is_walked_to_its_end() -> None:
    pages = [transfer(1), transfer(2)], [transfer(3), transfer(4)]
    assert walked(held([1, 2]), *pages) == ["t1", "t2", "t3", "t4"]


def test_list_without_times_is_walked_to_its_end() -> None:
    pages = [transfer(2, timed=False)], [transfer(1, timed=False)]
    assert walked(held([2]), *pages) == ["t2", "t1"]


def test_page_of_records_that_came_before_does_not_end_the_walk() -> None:
    assert walked(held([2]), [transfer(3)], [], [transfer(2)]) == ["t3", "t2"]


@pytest.mark.parametrize(
    ("record", "kind", "amounts"),
    [
        ({"asset": "USDC", "amount": "5"}, "crypto", ("5", None)),
        (
            {"asset": "EURC", "amount": 5, "fiatOrigin": {"currency": "EUR", "amount": 4.99}},
            "fiat",
            ("5", "4.99"),
        ),
        ({"currency": "EUR", "amount": 7}, "fiat", (None, "7")),
        ({"cryptocurrency": "USDC", "amount": "6"}, "crypto", ("6", None)),
    ],
)
def test_amounts_are_stored_next_to_their_currency(
    record: dict, kind: str, amounts: tuple[str | None, str | None]
) -> None:
    import msgspec

    value = msgspec.convert({"id": "t", **record}, Transfer, strict=False)
    assert kind_of(value) == kind
    found = ReceivedTransfer(value=value, raw=b"{}", kind=kind, first_seen_at=NOON)
    (row,) = rows(TRANSFERS, [found]).to_pylist()
    stated = tuple(
        None if row[name] is None else f"{row[name].normalize():f}"
        for name in ("amount", "fiat_amount")
    )
    assert stated == amounts
    assert (row["amount"] is None) == (row["asset"] is None)
    assert (row["fiat_amount"] is None) == (row["fiat_currency"] is None)
    assert row["is_open"]
