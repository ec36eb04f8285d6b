"""A month that version 0.1.0 closed reads the same, verifies, and the next one is closed on it."""

from __future__ import annotations

import shutil
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from earlier_models import other_models
from signed import close_month

from treasury.cli import treasury
from treasury.close.checklist import checklist
from treasury.errors import JournalError, WorkspaceDamaged
from treasury.lake.home.heads import CLOSES
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace

pytestmark = pytest.mark.usefixtures("secrets")
JOURNALED = "closed by an earlier version of the models; verified by what it journaled"
"""Version 0.1.0 called what the provider blocks cancelled in its roll-forward."""


@pytest.fixture(scope="module")
def opened(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace in its present form; to be read or copied."""
    folder = tmp_path_factory.mktemp("opened") / "desk"
    shutil.copytree(unpacked, folder)
    Workspace(folder).lake.migrate()
    return folder


@pytest.fixture(scope="module")
def november(opened: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with November closed by this version; to be read or copied."""
    folder = Path(shutil.copytree(opened, tmp_path_factory.mktemp("november") / "desk"))
    close_month(Workspace(folder), "2026-11")
    return folder


def run(folder: Path, *arguments: str) -> str:
    done = CliRunner().invoke(treasury, ["-w", str(folder), *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def journaled(desk: Workspace, month: str) -> list[dict[str, Any]]:
    return desk.periods.closing(desk.periods.get(month)).to_pylist()


def closings(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Decimal]:
    return {(row["kind"], row["currency"]): row["closing"] for row in rows if row["closing"]}


def openings(rows: list[dict[str, Any]]) -> dict[tuple[str, str], Decimal]:
    return {(row["kind"], row["currency"]): row["opening"] for row in rows if row["opening"]}


def test_the_closed_month_reads_as_it_did(opened: Path) -> None:
    desk = Workspace(opened)
    assert "closed by anna, reviewed by bert, 2 Nov 09:00 CET" in run(
        opened, "status", "--month", "2026-10"
    )
    tables = opened / "close" / "2026-10" / "tables"
    month = desk.periods.month("2026-10")
    assert month.stored_by.startswith(JOURNALED)
    for name in ("lines", "fee_requests", "in_transit", "statements"):
        before = pq.read_table(tables / f"{name}.parquet")
        now = getattr(month.r, name).select(before.column_names)
        if name == "lines":  # equal lines of equal requests are offered as a group since then
            decided = pc.not_equal(before["outcome"], "suggested")
            before, now = before.filter(decided), now.filter(decided)
        assert now.equals(before), name
    # The words of a problem name its time zone since then.
    balances = pq.read_table(tables / "balances.parquet").drop_columns(["problem"])
    assert month.balances.select(balances.column_names).equals(balances)
    assert month.rolled.roll_forward.to_pylist() == journaled(desk, "2026-10")


def test_it_verifies_and_so_does_its_pack(opened: Path) -> None:
    told = " ".join(run(opened, "periods", "verify", "2026-10").split())
    assert told.startswith(f"2026-10: {JOURNALED}")
    assert "its roll-forward" in told
    assert verify_pack(opened / "close" / "2026-10").holds


def test_the_doctor_has_no_step_but_those_of_a_moved_workspace(opened: Path) -> None:
    folder = opened
    subprocess.run(["chmod", "-R", "go=", str(folder)], check=True)
    todo = {f.topic for f in Workspace(folder).doctor().findings if f.state != "ok"}
    # One of its classes goes by what payers write, which no line meets any more.
    assert todo == {"treasury.duckdb", "wallets", "rules"}
    run(folder, "doctor", "--repair")
    todo = {f.topic for f in Workspace(folder).doctor().findings if f.state != "ok"}
    assert todo == {"wallets", "rules"}


def test_november_opens_with_what_october_stored_and_closes(november: Path) -> None:
    desk = Workspace(november)
    rows = journaled(desk, "2026-11")
    assert openings(rows) == closings(journaled(desk, "2026-10"))
    assert run(november, "periods", "verify", "2026-11") == (
        "2026-11 comes out as it was closed: 3 lines\n"
    )
    close = desk.periods.get("2026-11").close
    assert close.models
    assert {"lines", "balances", "positions", "shares"} <= {one.name for one in close.answers}
    assert {path.name for path in (november / CLOSES / close.name).iterdir()} == {
        f"{one.name}.parquet" for one in close.answers
    }


def test_other_models_verify_what_october_journaled_and_open_november_with_it(
    opened: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_models(monkeypatch)
    desk = Workspace(opened)
    told = run(opened, "periods", "verify", "2026-10")
    assert "closed by an earlier version of the models; verified by what it journaled" in told
    month = desk.periods.month("2026-10")
    assert month.rolled.roll_forward.to_pylist() == journaled(desk, "2026-10")
    assert "closed by an earlier version of the models" in str(checklist(month))
    rolled = desk.periods.roll_forward("2026-11")
    assert openings(rolled.totals.to_pylist()) == closings(journaled(desk, "2026-10"))
    apart = [one for one in rolled.items.to_pylist() if one["code"] == "close of 2026-10"]
    assert apart
    for one in apart:
        assert one["opening"] == -one["adjusted"] != 0
        assert one["closing"] == 0


def test_other_models_give_a_month_as_its_close_stored_it(
    november: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Workspace(november).periods.month("2026-11")
    other_models(monkeypatch)
    desk = Workspace(november)
    told = run(november, "periods", "verify", "2026-11")
    assert "closed by an earlier version of the models; verified by what it stored" in told
    month = desk.periods.month("2026-11")
    for name in ("lines", "earlier_lines", "in_transit", "fee_totals"):
        assert getattr(month.r, name).equals(getattr(before.r, name)), name
    assert month.balances.equals(before.balances)
    assert month.rolled.items.equals(before.rolled.items)
    assert "verified by what it stored" in str(checklist(month))
    rolled = desk.periods.roll_forward("2026-12")
    assert openings(rolled.totals.to_pylist()) == closings(journaled(desk, "2026-11"))
    assert not [one for one in rolled.items.to_pylist() if one["code"].startswith("close of")]


def test_the_same_models_that_answer_otherwise_are_an_error(
    november: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_models(monkeypatch, version="")
    with pytest.raises(JournalError, match="2026-11 does not come out again"):
        Workspace(november).periods.verify("2026-11")


def test_a_stored_answer_that_was_changed_is_named(november: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(november, tmp_path / "desk"))
    name = Workspace(folder).periods.get("2026-11").close.name
    path = folder / CLOSES / name / "balances.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(WorkspaceDamaged, match=r"balances\.parquet, which the close of 2026-11"):
        Workspace(folder).periods.verify("2026-11")
    (found,) = (f for f in Workspace(folder).doctor().findings if f.topic == "closed months")
    assert (found.state, str(path) in found.what) == ("damaged", True)
