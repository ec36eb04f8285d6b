"""The commands `sync` and `watch`: their options, and watching in a shell."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from treasury import Workspace
from treasury.cli import treasury
from treasury.cli.commands.practice import prepare
from treasury.sandbox import Sandbox


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--since", "yesterday"), "'yesterday' is not a day: write it as 2026-10-31"),
        (("--details", "-1"), "is not in the range"),
    ],
)
def test_an_invalid_option_is_refused(
    month_end: Workspace, option: tuple[str, str], said: str
) -> None:
    command = ["--workspace", str(month_end.folder), "sync", *option]
    done = CliRunner().invoke(treasury, command)
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize("span", ["often", "0s"])
def test_an_invalid_time_span_is_refused(month_end: Workspace, span: str) -> None:
    command = ["--workspace", str(month_end.folder), "watch", "--every", span]
    done = CliRunner().invoke(treasury, command)
    assert done.exit_code == 2
    assert "is not a length of time like 30s, 5m or 2h" in done.output


def test_progress_bars_are_drawn_only_in_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.cli.progress import TerminalProgress

    def sync() -> str:
        with TerminalProgress() as progress:
            progress.start("ramp_requests", 2)
            progress.advance("ramp_requests")
            progress.advance("ramp_requests")
            progress.finish("ramp_requests")
        told = capsys.readouterr()
        # The bars go to standard error only.
        assert told.out == ""
        return told.err

    assert sync() == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "ramp_requests" in sync()


def test_bars_have_no_colour_if_the_user_wants_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.cli.progress import TerminalProgress

    def colours() -> set[str]:
        with TerminalProgress() as progress:
            progress.start("ramp_requests", 2)
            progress.advance("ramp_requests", 2)
        return set(re.findall(r"\x1b\[[0-9;]*[34][0-9](?:;[0-9;]*)?m", capsys.readouterr().err))

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colours()


@pytest.mark.acceptance
def test_verbose_logs_each_request_without_its_values(tmp_path: Path) -> None:
    company = Sandbox(7)
    with company.serve() as served, pytest.MonkeyPatch.context() as patch:
        for name in company.credentials:
            patch.setenv(f"TREASURY_{name.upper()}_SECRET", "")
        workspace = prepare(tmp_path, company, served)
        command = ["--workspace", str(workspace.folder)]
        loud = CliRunner().invoke(treasury, [*command, "--verbose", "sync"], catch_exceptions=False)
        quiet = CliRunner().invoke(treasury, [*command, "sync"], catch_exceptions=False)
    assert "GET /ramp-requests: 200" in loud.stderr
    logged = [line for line in loud.stderr.splitlines() if "transport:" in line]
    route = re.compile(
        r"[0-9:]{8} treasury\.api\.exchange\.transport: [A-Z]+ [a-zA-Z{}/_-]+: [0-9]{3}"
    )
    assert [line for line in logged if not route.fullmatch(line)] == []
    assert not any(secret in loud.stderr for _, secret in company.credentials.values())
    assert "transport:" not in quiet.stderr


def status(workspace: Workspace) -> str:
    command = ["--workspace", str(workspace.folder), "status"]
    return CliRunner().invoke(treasury, command, catch_exceptions=False).stdout


@pytest.mark.acceptance
def test_status_shows_the_watch_and_the_result_of_the_last_sync(month_end: Workspace) -> None:
    state = {
        "doing": "watching",
        "since": "2026-11-02T07:00:00Z",
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "parts": [
            {
                "name": "sync",
                "every_seconds": 300,
                "next_at": "2026-11-02T08:05:00Z",
                "succeeded_at": "2026-11-02T08:00:00Z",
                "brought": "19 tables: 3 new, 1 changed, 0 vanished",
            }
        ],
    }
    path = month_end.folder / "watch.json"
    path.write_text(json.dumps(state))
    try:
        told = status(month_end).splitlines()[-1]
    finally:
        path.unlink()
    assert told.startswith("SYNC ")
    assert "watching every 5 min" in told
    assert "SYNC " not in status(month_end)


@pytest.mark.acceptance
def test_watching_continues_through_an_outage_until_stopped(tmp_path: Path) -> None:
    from treasury.cli.commands.practice import prepare
    from treasury.sandbox import Sandbox
    from treasury.workspace.upkeep.watch import read_state

    company = Sandbox(7)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREASURY_MAKER_SECRET", "")
        with company.serve() as served:
            workspace = prepare(tmp_path, company, served)
            command = [sys.executable, "-m", "treasury.cli", "-w", str(tmp_path), "watch"]
            watcher = subprocess.Popen([*command, "--every", "1s"], stderr=subprocess.PIPE)
            until = time.monotonic() + 120
            while workspace.lake.commits().num_rows < 2 and time.monotonic() < until:
                os.sched_yield()
        # The services have stopped, but the watch still runs.
        while time.monotonic() < until:
            state = read_state(tmp_path)
            if state is not None and state.parts[0].failures:
                break
            os.sched_yield()
        watcher.send_signal(signal.SIGINT)
        watcher.communicate(timeout=60)
    state = read_state(tmp_path)
    assert workspace.lake.commits().num_rows >= 2
    assert state is not None
    assert (state.doing, state.parts[0].failures > 0) == ("stopped", True)
    assert watcher.returncode == 0
