"""The commands about stored data, and the same methods of the workspace."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import click
import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner, Result
from signed import close_month

from treasury import Workspace
from treasury.cli import treasury
from treasury.core.errors import ActionRefused, InputError
from treasury.core.tables.column_types import AMOUNT
from treasury.workspace.upkeep.dictionary import answer_columns


def run(workspace: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(
        treasury, ["--workspace", str(workspace.folder), *arguments], catch_exceptions=False
    )


def rows(workspace: Workspace, *arguments: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        run(workspace, *arguments, "--format", "json").stdout
    )
    return found


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    """Return a copy of the workspace at month end, to be changed."""
    shutil.copytree(month_end.folder, tmp_path / "desk")
    return Workspace(tmp_path / "desk")


@pytest.mark.acceptance
def test_a_table_is_exported_completely_and_exactly_to_arrow_pandas_and_others(
    month_end: Workspace,
) -> None:
    requests = month_end.table("ramp_requests")
    assert requests.arrow.schema.field("fiat_amount").type == AMOUNT
    assert all(isinstance(x, Decimal) for x in requests.to_pandas()["fiat_amount"].dropna())
    # Polars reads a table through the same interface.
    assert pa.table(requests).equals(requests.to_arrow())
    count = duckdb.sql("SELECT count(*) FROM requests").fetchall()
    assert count == [(len(requests),)]
    assert month_end.table("ramp_requests_history").arrow.column_names[-1] == "valid_to"
    assert len(month_end.at("2020-01-01T00:00Z").table("ramp_requests")) == 0
    with pytest.raises(InputError, match="is it ramp_requests"):
        month_end.table("ramp_request")


def test_the_tables_and_their_columns_are_listed(month_end: Workspace) -> None:
    listed = {row["table"] for row in rows(month_end, "tables")}
    assert {"ramp_requests", "wallet_balances", "statement_entries"} <= listed
    stored = set(month_end.sql("SHOW TABLES").arrow["name"].to_pylist())
    answers = {row["table"] for row in answer_columns()}
    assert listed - answers <= stored
    assert {"bank_lines", "open_items"} <= listed & answers
    columns = [row["column"] for row in rows(month_end, "tables", "fees")]
    assert columns[:2] == ["id", "company_id"]
    assert month_end.tables("fees").arrow["column"].to_pylist() == columns


@pytest.mark.acceptance
def test_changes_since_the_first_sync_are_listed(month_end: Workspace) -> None:
    told = rows(month_end, "changes", "transfers", "--since", "2020-01-01")
    assert {row["change"] for row in told} == {"new"}
    assert len(told) == len(month_end.table("transfers"))
    assert rows(month_end, "changes", "transfers", "--since", "2030-01-01") == []
    until = month_end.changes("transfers", since="2020-01-01", until="2020-02-01")
    assert len(until) == 0


def test_changes_are_listed_as_known_at_an_instant(month_end: Workspace) -> None:
    first, *_ = month_end.sql('SELECT "at" FROM commits ORDER BY number').arrow.to_pylist()
    since = ("changes", "transfers", "--since", "2020-01-01", "--as-of")
    known = rows(month_end, *since, first["at"].isoformat())
    assert len(known) == len(month_end.table("transfers"))
    assert rows(month_end, *since, "2026-11-01T00:00Z") == []


def reading(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command that prints rows, with its name."""
    if isinstance(command, click.Group):
        for child, one in command.commands.items():
            yield from reading(one, f"{name} {child}".strip())
    elif any(parameter.name == "form" for parameter in command.params):
        yield name, command


NO_INSTANT = re.compile(
    "tables|doctor|lake status|addresses list"  # declarations, or the current disk
    "|statements (read|check)"  # files
    "|sync|statements add|decide|close|verify|periods verify"  # their own results
    "|actions .*|journal .*|rules .*"  # decisions: each row has its own time
)


def test_every_verb_that_reads_the_lake_reads_it_as_of_an_instant() -> None:
    known = dict(reading(treasury))
    without = {
        n for n, c in known.items() if not {"as_of", "instants"} & {p.name for p in c.params}
    }
    assert {name for name in without if not NO_INSTANT.fullmatch(name)} == set()
    assert {"sql", "changes", "durations", "reconcile", "trace", "fees"} <= set(known) - without


def test_durations_are_printed_in_hours_and_exported_in_seconds(
    month_end: Workspace,
) -> None:
    (longest, *_) = sorted(
        rows(month_end, "durations", "--status", "AWAITING_FUNDS"),
        key=lambda row: -int(str(row["seconds"])),
    )
    days, rest = divmod(int(str(longest["seconds"])) // 60, 24 * 60)
    told = run(month_end, "durations", "--status", "AWAITING_FUNDS").stdout
    (line,) = [line for line in told.splitlines() if str(longest["id"]) in line]
    assert days
    assert f" {days} d {rest // 60:02}:{rest % 60:02} " in line


def test_durations_come_from_events_and_end_with_the_current_status(month_end: Workspace) -> None:
    found = month_end.status_durations().arrow
    assert set(found["known_from"].to_pylist()) == {"events"}
    present = {r["id"]: r["status"] for r in found.to_pylist() if r["left_at"] is None}
    stored = month_end.sql("SELECT id, status FROM ramp_requests").arrow.to_pylist()
    assert present == {row["id"]: row["status"] for row in stored}
    waits = rows(month_end, "durations", "--status", "AWAITING_FUNDS")
    assert waits
    assert {row["status"] for row in waits} == {"AWAITING_FUNDS"}
    observed = month_end.status_durations("transfers").arrow
    assert set(observed["known_from"].to_pylist()) == {"observation"}


@pytest.mark.acceptance
def test_status_names_the_stored_data(month_end: Workspace) -> None:
    told = run(month_end, "lake", "status").stdout
    assert "commits  " in told
    assert "statements at " in told
    stored = {row["table"]: row["rows"] for row in rows(month_end, "lake", "status")}
    assert stored["ramp_requests"] == len(month_end.table("ramp_requests"))


def test_a_commit_can_be_pinned_and_unpinned(desk: Workspace) -> None:
    assert "is kept: October closed" in run(desk, "lake", "pin", "--why", "October closed").stdout
    number = desk.lake.pins()[0].commit.number
    assert f"pinned {number};" in run(desk, "lake", "status").stdout
    assert run(desk, "lake", "sweep").stdout.startswith("removed ")
    assert "no longer kept" in run(desk, "lake", "unpin", str(number)).stdout
    with pytest.raises(InputError, match=f"commit {number} is not pinned"):
        run(desk, "lake", "unpin", str(number))


@pytest.mark.acceptance
def test_commits_of_a_closed_month_are_kept_and_a_lost_pin_is_restored(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "anna")
    close_month(desk, "2026-10")
    (closed,) = desk.lake.pins()
    number = closed.commit.number
    with pytest.raises(ActionRefused, match=f"commit {number} is needed: the close of 2026-10"):
        run(desk, "lake", "unpin", str(number))
    (desk.lake.folder / "pins" / f"{number}.json").unlink()
    lost = f"commit {number}, the basis of the close of 2026-10, is not kept"
    assert {"topic": "closed months", "state": "missing", "what": lost}.items() <= next(
        row for row in rows(desk, "doctor") if row["topic"] == "closed months"
    ).items()
    assert "the basis of the close of 2026-10, is kept" in run(desk, "doctor", "--repair").stdout
    assert "closed months" not in run(desk, "doctor").stdout
    assert run(desk, "periods", "verify", "2026-10").exit_code == 0
    run(desk, "periods", "reopen", "2026-10", "--reason", "a late invoice")
    assert "no longer kept" in run(desk, "lake", "unpin", str(number)).stdout


@pytest.mark.acceptance
def test_the_doctor_names_present_and_missing_parts(
    desk: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "canary-5f0c"
    monkeypatch.setenv("TREASURY_MAKER_SECRET", secret)
    result = run(desk, "doctor")
    assert result.exit_code == 0
    assert secret not in result.output
    told = {(row["topic"], row["state"]) for row in rows(desk, "doctor")}
    assert {
        ("environment", "ok"),
        ("credentials", "ok"),  # the maker's
        ("credentials", "optional"),  # the checker's, of a practice company
        ("stored files", "ok"),
        ("sync", "ok"),
        ("statements", "ok"),
        ("wallets", "optional"),
        ("calendars", "ok"),
        ("rules", "ok"),
    } <= told
    for finding in desk.doctor().findings:
        assert finding.do or finding.state == "ok", finding


def test_the_doctor_reports_an_account_without_statements_and_missing_rules(
    desk: Workspace,
) -> None:
    (desk.folder / "rules.toml").unlink()
    path = desk.folder / "treasury.toml"
    text = path.read_text()
    path.write_text(text.partition("[[accounts]]")[0])
    told = [f.what for f in Workspace(desk.folder).doctor().findings if f.state != "ok"]
    assert any("no rules.toml" in what for what in told)
    assert any("no account is declared" in what for what in told)
    assert any("is ours, but no statements are declared" in what for what in told)
    assert any("not provable without a provider report" in what for what in told)


def test_the_doctor_reports_a_company_name_that_no_payment_file_can_carry(desk: Workspace) -> None:
    path = desk.folder / "treasury.toml"
    text = re.sub(r"(?m)^company = .*$", 'company = "株式会社"', path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    found = [f for f in Workspace(desk.folder).doctor().findings if f.topic == "payment files"]
    assert found
    assert all("cannot pay by file" in f.what and "holder =" in f.do for f in found)
    named = re.sub(r'(?m)^source = "own_bank"$', 'source = "own_bank"\nholder = "Kaisha"', text)
    path.write_text(named, "utf-8")
    assert "payment files" not in {f.topic for f in Workspace(desk.folder).doctor().findings}


@pytest.mark.acceptance
def test_the_doctor_of_an_empty_workspace_names_the_first_step(tmp_path: Path) -> None:
    given = ["-w", str(tmp_path), "init", "--company", "A", "--offline"]
    for name in ("token", "finance", "ramp"):
        given += [f"--{name}-url", f"https://service.example.test/{name}"]
    secret = tmp_path / "secret"
    secret.write_text("of the maker")
    secret.chmod(0o600)
    given += ["--credential", "maker", "the-maker", f"file:{secret}"]
    result = CliRunner().invoke(treasury, given, catch_exceptions=False)
    assert result.exit_code == 0
    told = str(Workspace(tmp_path).doctor())
    assert "only one credential" in told
    assert "missing  sync: never\n         -> run `treasury sync`" in told
    assert told.endswith("\nnext     run `treasury sync`")
    assert result.stdout.endswith("next: run `treasury sync`\n")


@pytest.mark.acceptance
def test_damage_is_named_and_repaired_and_losses_are_marked(desk: Workspace) -> None:
    entries = [f for f in desk.snapshot().files("statement_entries") if "_history" not in f]
    before = desk.table("statement_entries").arrow.num_rows
    for file in entries:
        Path(file).unlink()
    broken = run(desk, "doctor")
    assert broken.exit_code == 3
    assert entries[0] in broken.output
    assert "treasury doctor --repair" in broken.output
    mended = run(desk, "doctor", "--repair")
    assert mended.exit_code == 0
    assert f"{before:,} could not be restored" in mended.output
    assert "treasury statements add" in mended.output
    desk = Workspace(desk.folder)
    desk.statements.add(sorted((desk.folder / "bank").glob("*.xml")))
    assert desk.table("statement_entries").arrow.num_rows == before
    assert desk.lake.commits()["kind"].to_pylist()[-2:] == ["repair", "statements"]
