"""An instant payment of Saturday, 31 October, belongs to October even if booked on Monday."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from case_desk import camt, desk, entry

from treasury.workspace import Workspace

FAMILY = "<Fmly><Cd>RRCT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly>"
INSTANT = f"<BkTxCd><Domn><Cd>PMNT</Cd>{FAMILY}</Domn></BkTxCd>"
NOVEMBER = ("2026-11-01", "2026-11-30")


def booked(folder: Path, *, value: str, day: str, code: str = INSTANT) -> Workspace:
    """Return a desk on 3 December with a credit of EUR 70 that November's statement books."""
    workspace = desk(folder / "desk")
    settings = workspace.folder / "treasury.toml"
    text = settings.read_text("utf-8")
    settings.write_text(text.replace("2026-11-02T08", "2026-12-03T08"), "utf-8")
    line = entry("70.00", text="Invoice 8", day=day)
    line = line.replace(f"<ValDt><Dt>{day}</Dt></ValDt>", f"<ValDt><Dt>{value}</Dt></ValDt>{code}")
    files = [
        camt(folder, entry("7.00"), closing="107.00"),
        camt(folder, line, opening="107.00", closing="177.00", days=NOVEMBER, name="november.xml"),
    ]
    workspace = Workspace(workspace.folder)
    report = workspace.statements.add(files)
    assert report.not_proved == ()
    return workspace


@pytest.mark.acceptance
def test_an_instant_payment_at_month_end_is_a_cut_off_difference_of_its_month(
    tmp_path: Path,
) -> None:
    workspace = booked(tmp_path, value="2026-10-31", day="2026-11-02")
    (item,) = workspace.open_items("2026-10").select(kind="bank_cutoff")
    assert (item.amount, item.direction, item.state) == (Decimal(70), "in", "BOOKED LATER")
    assert item.next_step == "Nothing; the bank booked it on 2 Nov"
    (row,) = workspace.reconcile("2026-10").statements.arrow.to_pylist()
    assert row["complete"]
    assert row["closing_balance"] == Decimal(107)
    assert not workspace.open_items("2026-11").select(kind="bank_cutoff")


@pytest.mark.first_case
@pytest.mark.parametrize(
    ("value", "day", "code"),
    [
        ("2026-11-02", "2026-11-02", INSTANT),
        ("2026-10-30", "2026-11-03", INSTANT),
        ("2026-10-31", "2026-11-02", ""),
    ],
)
def test_a_payment_of_the_next_month_or_another_rail_is_not_a_cut_off_difference(
    tmp_path: Path, value: str, day: str, code: str
) -> None:
    workspace = booked(tmp_path, value=value, day=day, code=code)
    assert not workspace.open_items("2026-10").select(kind="bank_cutoff")
