"""`treasury practice` ends what it started, and shows the bank's and colleagues' messages."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner
from practised_month import practised

from treasury.cli import treasury
from treasury.cli.commands.practice import prepare
from treasury.cli.practised_payments import begin_payments
from treasury.core.errors import InputError
from treasury.journal import Actor
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance


def test_ending_practice_ends_the_command_run_with_it(tmp_path: Path) -> None:
    started = tmp_path / "pid"
    beside = (
        f"import os, time; open({str(started)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    command = [
        sys.executable, "-m", "treasury.cli", "-w", str(tmp_path / "desk"), "practice", "--",
        sys.executable, "-c", beside,
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as practice:
        for _ in range(1_200):
            if started.is_file() and started.read_text():
                break
            assert practice.poll() is None, practice.communicate()
            time.sleep(0.1)
        child = int(started.read_text())
        practice.send_signal(signal.SIGTERM)
        assert practice.wait(60) == 128 + signal.SIGTERM
    for _ in range(100):
        if not Path(f"/proc/{child}").exists():
            return
        time.sleep(0.1)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("the command was left behind")


def test_the_limits_of_the_sandbox_are_set_on_the_command_line() -> None:
    command = [
        sys.executable, "-m", "treasury.cli", "sandbox", "--port", "0", "--rate-limit", "2/3600",
        "--ramp-bounds", "100,1000",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        url = served.stdout.readline().split()[1].removesuffix("/finance/v1")
        limits = httpx.get(f"{url}/sandbox/limits").json()["result"]
        served.send_signal(signal.SIGINT)
        served.communicate(timeout=30)
    assert limits == {
        "rateLimit": {"calls": 2, "seconds": 3600.0},
        "rampBounds": {"least": 100, "most": 1000},
    }


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--rate-limit", "0/60"),
        ("--rate-limit", "many"),
        ("--ramp-bounds", "2,1"),
        ("--ramp-bounds", "NaN,1"),
        ("--ramp-bounds", "100"),
    ],
)
def test_an_invalid_limit_is_refused(option: str, value: str) -> None:
    done = CliRunner().invoke(treasury, ["sandbox", option, value])
    assert isinstance(done.exception, InputError)


def test_practice_without_a_writable_home_names_the_setting_to_change(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "treasury.cli", "-w", str(tmp_path / "desk"), "practice", "--", "true"
    ]  # fmt: skip
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("XDG", "TREASURY"))}
    done = subprocess.run(
        command, env=variables | {"HOME": "/proc"}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("treasury: /proc/.local/state/treasury/")
    assert "set TREASURY_STATE to a folder of your own" in line


@pytest.fixture(scope="module")
def practice_month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    with practised(tmp_path_factory.mktemp("month") / "desk") as workspace:
        yield workspace


def test_of_ten_payments_the_bank_rejects_one_renames_one_and_ignores_one(
    practice_month: Workspace,
) -> None:
    items = practice_month.open_items("2026-10").arrow.to_pylist()
    filed = [row for row in items if row["state"] in {"IN FILE", "WITH THE BANK", "REJECTED"}]
    assert Counter(row["kind"] for row in filed) == {
        "with_bank": 7, "in_file": 1, "payee_in_doubt": 1, "rejected": 1,
    }  # fmt: skip
    shown = {row["kind"]: row for row in filed}
    assert "knows the payee as Ramp Operator BV Holding" in shown["payee_in_doubt"]["next_step"]
    assert shown["rejected"]["amount"] == Decimal(7000)
    assert shown["rejected"]["turn"] == "us"
    assert shown["rejected"]["remark"] == (
        "ines, 2 Nov: the bank says the account is closed; asked the provider, ticket 77"
        " · jonas to ines, 2 Nov: they confirm the account: ask the bank, then make a new file"
    )
    assert {row["turn"] for row in filed if row["kind"] in {"with_bank", "in_file"}} == {"bank"}
    practice_month.journal.verify()


def test_the_panels_the_screen_and_the_report_show_the_banks_responses(
    practice_month: Workspace,
) -> None:
    funding = practice_month.panels.funding().rows.arrow.to_pylist()
    states = Counter(row["state"] for row in funding)
    assert (states["WITH THE BANK"], states["IN FILE"], states["REJECTED"]) == (8, 1, 1)
    waiting = practice_month.awaiting_funds().arrow.to_pylist()
    (rejected,) = (row for row in waiting if row["state"] == "REJECTED")
    assert "AC04 account closed" in str(rejected)
    panel = practice_month.panels.close("2026-10", size=100)
    assert any("jonas to ines, 2 Nov" in str(row) for row in panel.frame().table.rows)  # type: ignore[union-attr]
    screen = practice_month.status()
    kinds = Counter(item.kind for row in ("fix", "bank") for item in screen.listed(row))
    assert (kinds["with_bank"], kinds["in_file"], kinds["rejected"]) == (7, 1, 1)
    page = Path(practice_month.close("2026-10").report).read_text("utf-8")
    for words in ("WITH THE BANK", "REJECTED", "Ramp Operator BV Holding", "jonas to ines, 2 Nov"):
        assert words in page


def test_practising_twice_pays_and_reports_nothing_twice(tmp_path: Path) -> None:
    with practised(tmp_path / "desk") as workspace:
        entries = workspace.journal.entries()
        items = {item.item_id for item in workspace.open_items("2026-10").items}
    with practised(tmp_path / "desk") as workspace:
        assert workspace.journal.entries() == entries
        assert {item.item_id for item in workspace.open_items("2026-10").items} == items


def test_a_workspace_with_earlier_decisions_is_left_unchanged(
    month_end: Workspace, tmp_path: Path
) -> None:
    company = Sandbox()
    (tmp_path / "treasury.toml").write_text((month_end.folder / "treasury.toml").read_text())
    journal = Workspace(tmp_path).journal
    journal.append("match.ignore", "line", {"reason": "ours"}, actor=Actor("ines", "environment"))
    assert begin_payments(tmp_path, company) == ()


def test_a_workspace_of_another_scenario_is_refused_and_left_unchanged(tmp_path: Path) -> None:
    company = Sandbox(7)
    with company.serve() as served:
        prepare(tmp_path / "desk", company, served)
        prepare(tmp_path / "desk", company, served)
    settings = (tmp_path / "desk" / "treasury.toml").read_text("utf-8")
    other = Sandbox(7, scenario="spread")
    with (
        other.serve() as served,
        pytest.raises(InputError, match="another practice company, --scenario full --seed 7") as no,
    ):
        prepare(tmp_path / "desk", other, served)
    assert "another folder with --workspace for --scenario spread --seed 7" in str(no.value.do)
    assert (tmp_path / "desk" / "treasury.toml").read_text("utf-8") == settings
    assert not (tmp_path / "desk" / "rates").exists()


def test_the_first_screen_of_the_demo_shows_the_banks_responses(tmp_path: Path) -> None:
    done = CliRunner().invoke(treasury, ["-w", str(tmp_path / "desk"), "demo"])
    assert done.exit_code == 0, done.output
    assert "Fix a payment that went wrong" in done.output
    assert "provider 10 · bank 8 · colleague" in done.output
