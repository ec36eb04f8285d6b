"""Gaps in the synced records are open items, each with the party to act; most syncs have none."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from drawn_company import DrawnCompany, drawn_company
from items_october import UNSEEN

from treasury.core.errors import InputError
from treasury.extract.completeness import SyncFinding, write_findings
from treasury.extract.finance_tables import WALLETS
from treasury.extract.ramp_tables import RAMP_REQUESTS
from treasury.month.items import OpenItem
from treasury.workspace import Workspace

FINDINGS = (
    SyncFinding("count", "transfers", "of account a1", 71, 69),
    SyncFinding("field", "company", "moon"),
    SyncFinding("refused", "fees", "", why="the credential may not"),
)


def unseen(desk: Workspace) -> dict[str, OpenItem]:
    return {item.kind: item for item in desk.open_items("2026-11") if item.kind in UNSEEN}


def with_unseen(month_end: Workspace, folder: Path) -> Workspace:
    """Return a copy of the desk whose last sync leads to an item of each kind in `UNSEEN`."""
    shutil.copytree(month_end.folder, folder)
    desk = Workspace(folder)
    snapshot = desk.snapshot()
    wallet = snapshot.sql("SELECT * FROM wallets LIMIT 1").to_pylist()[0]
    request = snapshot.sql("SELECT * FROM ramp_requests LIMIT 1").to_pylist()[0]
    numbers = [number for number in range(1, 61) if number != 30]
    with desk.lake.writer("sync", desk.now()) as writer:
        write_findings(writer, FINDINGS, stand=())
        for table, rows in (
            (WALLETS.table, [wallet | {"id": "w9", "account_id": "a9"}]),
            (
                RAMP_REQUESTS.table,
                [request | {"id": f"x{n}", "payment_reference": f"INV-{n:04}"} for n in numbers],
            ),
        ):
            writer.upsert(table, pa.Table.from_pylist(rows, table.row_schema))
    return desk


def test_each_finding_is_an_item_with_the_party_to_act(
    month_end: Workspace, tmp_path: Path
) -> None:
    desk = with_unseen(month_end, tmp_path / "desk")
    items = unseen(desk)
    assert set(items) == set(UNSEEN)
    for item in items.values():
        assert item.item_id == f"{item.subject}:{item.subject_id}"
        assert item.state
        assert item.next_step
    assert {kind: (item.turn, item.is_blocking) for kind, item in items.items()} == {
        "counts_differ": ("us", True),
        "field_new": ("us", False),
        "list_refused": ("us", False),
        "named_nowhere": ("provider", False),
        "reference_gap": ("provider", False),
    }
    assert items["counts_differ"].name == "transfers of account a1: 71 counted, 69 held"
    assert items["named_nowhere"].name == "accounts a9, named by wallets.account_id"
    assert items["reference_gap"].name == "INV-0030"
    assert "the credential may not" in items["list_refused"].next_step
    assert not unseen(month_end)
    earlier = desk.at("2026-11-02T08:30:00Z")
    assert earlier.open_items("2026-11").items


@pytest.mark.acceptance
def test_an_unknown_field_is_in_the_dictionary_until_a_person_explains_it(
    month_end: Workspace, tmp_path: Path
) -> None:
    desk = with_unseen(month_end, tmp_path / "desk")
    rows = desk.tables("company").arrow.to_pylist()
    assert [row["column"] for row in rows if row["source"] == "moon"] == ["raw"]
    assert "new" in next(row["meaning"] for row in rows if row["source"] == "moon")
    desk.items.remark("source:field/company/moon", "marketing; of no use", month="2026-11")
    assert "field_new" not in unseen(desk)
    assert [row for row in desk.tables("company").arrow.to_pylist() if row["source"] == "moon"]


def ordinary(played: DrawnCompany, syncs: int) -> None:
    """Check that this many syncs of an active company have no finding."""
    desk, drawn = played.desk, Random(syncs)
    desk.sync()
    for number in range(syncs):
        # Some acts are impossible, such as a second denial.
        with suppress(InputError):
            drawn.choice(played._acts())()
        report = desk.sync(full=number % 7 == 6)
        assert (report.notices, report.skipped) == ((), ())
    assert desk.snapshot().sql("SELECT * FROM sync_findings").num_rows == 0


@pytest.mark.acceptance
@pytest.mark.parametrize("seed", [7, 18])
def test_ordinary_syncs_create_no_item(tmp_path: Path, seed: int) -> None:
    with drawn_company(seed, tmp_path / "desk") as played:
        ordinary(played, 6)
        played.desk.statements.add(sorted((played.folder / "bank").glob("*.xml")))
        assert not unseen(played.desk)
