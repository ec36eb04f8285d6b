"""The analyst commands, run by a person or a program."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from treasury import Workspace
from treasury.cli import treasury
from treasury.core.settings import FILE_NAME
from treasury.core.text import clean


def run(workspace: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(
        treasury, ["--workspace", str(workspace.folder), *arguments], catch_exceptions=False
    )


def shell(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a separate process, like a shell."""
    return subprocess.run(
        [sys.executable, "-m", "treasury.cli", "--workspace", str(folder), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )


ROWS = (
    ("reconcile", "--month", "2026-10"),
    ("reconcile", "--month", "2026-10", "--open"),
    ("awaiting-funds",),
    ("fees", "--month", "2026-10"),
    ("fees", "--month", "2026-10", "--per-request"),
    ("statements", "list"),
    ("sql", "SELECT id, fiat_amount FROM ramp_requests ORDER BY id"),
)


@pytest.mark.acceptance
@pytest.mark.first_case
@pytest.mark.parametrize("command", ROWS, ids=" ".join)
def test_rows_are_the_same_in_every_format(month_end: Workspace, command: tuple[str, ...]) -> None:
    as_json = json.loads(run(month_end, *command, "--format", "json").stdout)
    as_csv = list(csv.DictReader(io.StringIO(run(month_end, *command, "--format", "csv").stdout)))
    parquet = pq.read_table(
        io.BytesIO(run(month_end, *command, "--format", "parquet").stdout_bytes)
    )
    assert len(as_json) == len(as_csv) == parquet.num_rows > 0
    assert list(as_json[0]) == list(as_csv[0]) == parquet.column_names
    assert run(month_end, *command).exit_code == 0


@pytest.mark.acceptance
def test_amounts_keep_every_digit_in_json_and_csv(month_end: Workspace) -> None:
    query = "SELECT CAST('12345678901234567890.123456789012345678' AS DECIMAL(38,18)) AS amount"
    for form in ("json", "csv"):
        told = run(month_end, "sql", query, "--format", form).stdout
        assert "12345678901234567890.123456789012345678" in told


def test_the_printed_table_agrees_with_the_desk(month_end: Workspace) -> None:
    told = run(month_end, "awaiting-funds").stdout
    for words in ("PAY", "EUR 25,000.00", "Ramp Operator BV", "…8901", "TARGET day", "no debit"):
        assert words in told
    told = run(month_end, "reconcile", "--month", "2026-10", "--open").stdout
    for words in ("Suggested", "Duplicate", "Unreferenced; reached virtual IBAN …"):
        assert words in told


@pytest.mark.acceptance
def test_the_first_screen_is_not_provable_without_a_provider_report(
    month_end: Workspace, month_end_unreported: Workspace
) -> None:
    assert "Credits not provable" in run(month_end_unreported, "status", "2026-10").stdout
    assert "Credits not provable" not in run(month_end, "status", "2026-10").stdout
    assert "NOT PROVABLE" in run(month_end_unreported, "reconcile", "--month", "2026-10").stdout


@pytest.mark.acceptance
def test_the_first_screen_has_the_desks_layout(month_end: Workspace) -> None:
    told = run(month_end, "status", "2026-10").stdout
    title = "October 2026 · Harbour Lane Trading NV · SANDBOX, no real money"
    assert told.splitlines()[0] == f"{title} · known at 2 Nov 09:00 CET"
    for word in ("STATEMENTS   3 of 3 proved, to 31 Oct", "BANK LINES", "SIGNED", "IN TRANSIT",
                 "FEES", "CLOSE        not ready", "BLOCKS", "NEXT"):  # fmt: skip
        assert word in told


def test_outside_text_cannot_move_the_cursor_or_become_a_formula(month_end: Workspace) -> None:
    assert clean("a\x1b[2Jb\u202ec\nd") == "a␛[2Jb⟨U+202E⟩c d"
    query = "SELECT '=HYPERLINK(1)' AS note, CAST('-5' AS DECIMAL(38,18)) AS amount"
    row = next(csv.DictReader(io.StringIO(run(month_end, "sql", query, "--format", "csv").stdout)))
    assert row["note"].startswith("'=")
    assert Decimal(row["amount"]) == Decimal(-5)


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("command", "words", "code"),
    [
        (("reconcile", "--month", "2026-13"), "not a month", 2),
        (("reconcile", "--month", "2019-01"), "nothing is stored for 2019-01", 3),
        (("sql", "SELECT nothing FROM nowhere"), "nowhere", 2),
        (("sql", "DROP TABLE ramp_requests"), "SELECT", 2),
        (("statements", "add", "missing.xml"), "missing.xml", 2),
        (("sync",), "TREASURY_MAKER_SECRET is not set", 2),
        (("watch", "--every", "5x"), "see `treasury watch --help`", 2),
        (("nosuch",), "see `treasury --help`", 2),
    ],
)
def test_bad_input_is_one_line_with_the_next_step(
    month_end: Workspace, command: tuple[str, ...], words: str, code: int
) -> None:
    done = shell(month_end.folder, *command)
    assert done.returncode == code, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert words in done.stderr
    assert " - " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.acceptance
def test_a_malformed_file_is_refused_and_nothing_is_stored(
    month_end: Workspace, tmp_path: Path
) -> None:
    before = month_end.statements.list().arrow
    for name, content in (("cut.xml", "<Document><BkToCstmrStmt>"), ("other.txt", "hello")):
        path = tmp_path / name
        path.write_text(content)
        done = shell(month_end.folder, "statements", "add", str(path))
        assert done.returncode == 2
        assert name in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert month_end.statements.list().arrow.equals(before)


@pytest.mark.acceptance
def test_an_unreachable_service_and_a_wrong_secret_leave_the_lake_unchanged(
    month_end: Workspace,
) -> None:
    before = month_end.lake.commits()
    done = shell(month_end.folder, "sync", TREASURY_MAKER_SECRET="x")
    assert done.returncode == 5
    assert len(done.stderr.splitlines()) == 1
    assert month_end.lake.commits().equals(before)


@pytest.mark.acceptance
def test_a_wrong_secret_is_reported_without_showing_it(tmp_path: Path) -> None:
    from treasury.cli.commands.practice import prepare
    from treasury.sandbox import Sandbox

    company, canary = Sandbox(7), "s3cr3t-canary"
    with company.serve() as served, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_MAKER_SECRET", "")
        prepare(tmp_path, company, served)
        done = shell(tmp_path, "sync", TREASURY_MAKER_SECRET=canary)
    assert done.returncode == 5
    assert len(done.stderr.splitlines()) == 1
    assert canary not in done.stderr + done.stdout
    assert not list(tmp_path.glob("lake/commits/*.parquet"))


@pytest.mark.acceptance
def test_a_second_writer_gets_the_name_of_the_lock_holder(
    month_end: Workspace, tmp_path: Path
) -> None:
    # The writer adds a commit, so the test works on a copy.
    folder = shutil.copytree(month_end.folder, tmp_path / "desk")
    desk = Workspace(folder)
    with desk.lake.writer("sync", desk.now()):
        done = shell(folder, "statements", "add", str(next((folder / "bank").glob("*.xml"))))
    assert done.returncode == 3
    assert str(os.getpid()) in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.acceptance
def test_init_writes_settings_once(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    assert shell(folder, "init", "--company", 'A "quoted" name').returncode == 0
    assert "quoted" in (folder / FILE_NAME).read_text()
    again = shell(folder, "init", "--company", "x")
    assert again.returncode == 2
    assert "exists" in again.stderr


@pytest.mark.acceptance
@pytest.mark.parametrize("name", ["", " ", "two\nlines"])
def test_init_requires_a_printable_company_name(tmp_path: Path, name: str) -> None:
    refused = shell(tmp_path / "desk", "init", "--company", name)
    assert refused.returncode == 2
    assert "not a company's name" in refused.stderr
    assert not (tmp_path / "desk").exists()


@pytest.mark.acceptance
def test_a_desk_without_services_names_the_settings_for_a_sync(tmp_path: Path) -> None:
    shell(tmp_path, "init", "--company", "New")
    done = shell(tmp_path, "sync")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "names no services - add [services] with token_url" in done.stderr


@pytest.mark.acceptance
def test_the_demo_refuses_the_folder_of_a_real_desk(tmp_path: Path) -> None:
    shell(tmp_path, "init", "--company", "Real")
    text = (tmp_path / FILE_NAME).read_text().replace("https://…", "https://example.test")
    (tmp_path / FILE_NAME).write_text(text)
    done = shell(tmp_path, "demo")
    assert done.returncode == 2
    assert "real workspace" in done.stderr
    assert (tmp_path / FILE_NAME).read_text() == text


def shown_in_the_readme() -> dict[str, list[str]]:
    """Return the lines that README.md shows for each command, without the place of the report."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    shown = re.findall(r"<!-- prints: treasury (.*?) -->\n```text\n(.*?)```", readme, re.DOTALL)
    return {
        command: [line for line in text.splitlines() if not line.startswith("REPORT")]
        for command, text in shown
    }


@pytest.mark.acceptance
def test_the_demo_can_run_twice_and_ends_with_the_first_screen(tmp_path: Path) -> None:
    for _ in range(2):
        done = shell(tmp_path, "demo")
        assert done.returncode == 0, done.stderr
        assert "Mon 2 Nov 2026 09:00 CET · Harbour Lane Trading NV · SANDBOX" in done.stdout
        printed = done.stdout.split("\n")
        for command, lines in shown_in_the_readme().items():
            output = printed if command == "status" else shell(tmp_path, *command.split()).stdout
            assert lines
            assert [line for line in lines if line not in output] == []
        assert (tmp_path / "close" / "2026-10" / "report.html").is_file()
        assert (tmp_path / "close" / "2026-10" / "close.xlsx").is_file()
    assert shell(tmp_path, "doctor").stdout.endswith("\neverything required is in order\n")


@pytest.mark.acceptance
def test_practice_runs_a_command_next_to_the_services(tmp_path: Path) -> None:
    code = (
        "import treasury; requests = treasury.open().client('maker').ramp.requests;"
        "print(len(requests.list(status='AWAITING_APPROVAL').items) > 0)"
    )
    done = shell(tmp_path, "practice", "--", sys.executable, "-c", code)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr
    missing = shell(tmp_path, "practice", "--", "no-such-command-here")
    assert missing.returncode == 2
    assert "no-such-command-here cannot be run" in missing.stderr


def test_short_ids_of_open_items_are_unique(month_end: Workspace) -> None:
    told = run(month_end, "exceptions", "2026-10").stdout
    short = re.findall(r"\b(?:line|request|transfer):[0-9a-f]{8,}", told)
    items = month_end.open_items("2026-10")
    assert len(short) > 10
    assert max(map(len, short)) < 40
    assert len({items.find(one).item_id for one in short}) == len(set(short))


@pytest.mark.acceptance
def test_instants_are_shown_in_the_time_zone_of_the_desk(month_end: Workspace) -> None:
    t = month_end
    answers = (
        t.matches.list(), t.matches.open(), t.funding.list(), t.rules.history(), t.items.list(),
        t.limits.list(), t.periods.list(), t.periods.late(), t.statements.list(),
        t.statements.coverage(), t.facts("2026-10"), t.awaiting_funds(), t.table("transfers"),
        t.changes("transfers", since="2020-01-01"), t.status_durations(), t.wallets.list(),
    )  # fmt: skip
    assert {rows.zone for rows in answers} == {t.settings.zone}
