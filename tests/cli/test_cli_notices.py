"""The commands `notify` and `notices`: sent once, listed, settled by a person; and the settings."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from notice_servers import Endpoint, endpoint

from treasury.cli import treasury
from treasury.core.errors import SettingsError
from treasury.core.settings import FILE_NAME, Settings, load_settings
from treasury.workspace import Workspace


def do_nothing() -> None:
    """Stand in for other parts of a watch."""


def run(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(treasury, ["-w", str(folder), *words])


def desk(month_end: Workspace, folder: Path, terms: str) -> Path:
    shutil.copytree(month_end.folder, folder)
    settings = folder / FILE_NAME
    settings.write_text(f"{settings.read_text()}\n{terms}")
    return folder


@pytest.mark.acceptance
def test_notices_are_sent_listed_and_settled(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_USER", "ines")
    with endpoint() as hook:
        assert isinstance(hook, Endpoint)
        folder = desk(month_end, tmp_path / "desk", f'[notices.webhooks.desk]\nurl = "{hook.url}"')
        planned = run(folder, "notify", "--dry-run")
        assert re.fullmatch(r"webhook desk: \d+ would be sent\n", planned.stdout)
        hook.status = 500
        failed = run(folder, "notify")
        assert failed.exit_code == 5
        assert "it is unknown" in failed.stdout
        (row,) = json.loads(run(folder, "notices", "list", "--format", "json").stdout)
        assert (row["notice"], row["state"], row["sent_by"]) == ("N-1", "unknown", "ines")
        assert "N-1" in run(folder, "exceptions", "--month", "2026-11").stdout
        unsaid = run(folder, "notices", "settle", "N-1", "--reason", "x")
        assert "give --arrived or --lost" in unsaid.output
        settled = run(folder, "notices", "settle", "N-1", "--lost", "--reason", "not in the chat")
        assert settled.stdout == "N-1: lost\n"
        hook.status = 200
        sent = run(folder, "notify")
        assert (sent.exit_code, sent.stdout) == (0, planned.stdout.replace("would be sent", "sent"))
        assert run(folder, "notify").stdout == "no new items\n"
        assert run(folder, "journal", "verify").exit_code == 0


@pytest.mark.acceptance
def test_a_watch_reports_a_missing_sync_on_the_same_day(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with endpoint() as hook:
        terms = f'[notices]\nsilent_hours = 2\n[notices.webhooks.desk]\nurl = "{hook.url}"'
        workspace = Workspace(desk(month_end, tmp_path / "desk", terms))
        clock = [workspace.now()]
        monkeypatch.setattr(Settings, "now", lambda _: clock[0])
        parts = workspace._watched(timedelta(minutes=5), None, None)
        (notices,) = (part for part in parts if part.name == "notices")
        assert re.fullmatch(r"webhook desk: \d+ sent", notices.work(do_nothing))
        assert [notices.work(do_nothing), notices.work(do_nothing)] == ["no new items"] * 2
        clock[0] += timedelta(hours=2, minutes=15)
        assert notices.work(do_nothing) == "webhook desk: 1 sent"
        assert hook.posts[1]["items"][0]["kind"] == "not_synced"


@pytest.mark.acceptance
def test_a_fact_that_arrives_while_a_notice_is_sent_is_in_the_next_one(
    month_end: Workspace, tmp_path: Path
) -> None:
    with endpoint() as hook:
        terms = f'[notices.webhooks.desk]\nurl = "{hook.url}"'
        workspace = Workspace(desk(month_end, tmp_path / "desk", terms))
        parts = workspace._watched(timedelta(minutes=5), None, None)
        (notices,) = (part for part in parts if part.name == "notices")

        item, *_ = workspace.open_items("2026-10").select(kind="needs_decision")

        def reject() -> None:
            hook.while_taking = lambda: None
            suggested = item.name.partition(",")[0]
            Workspace(workspace.folder).matches.reject(item.entry_id or "", suggested, reason="no")

        hook.while_taking = reject
        assert notices.work(do_nothing) != "no new items"
        assert notices.work(do_nothing).startswith("webhook desk:")
        assert "UNREFERENCED" in {told["state"] for told in hook.posts[1]["items"]}
        assert notices.work(do_nothing) == "no new items"


def test_notices_without_a_receiver_name_the_missing_setting(month_end: Workspace) -> None:
    done = run(month_end.folder, "notify")
    assert "[notices.people.NAME]" in str(done.exception)


def test_watching_without_services_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text('[workspace]\ncompany = "X"\n')
    done = run(tmp_path, "watch")
    assert "names nothing to watch" in str(done.exception)


def test_the_doctor_names_a_missing_inbox_and_missing_secrets(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = '[notices.webhooks.desk]\nurl = "env:TREASURY_HOOK"\ntoken = "env:TREASURY_TOKEN"\n'
    terms = f'[inbox]\nfolder = "in"\n{hook}'
    folder = desk(month_end, tmp_path / "desk", terms)

    def said() -> dict[str, list[str]]:
        findings = Workspace(folder).doctor().findings
        topics = {"inbox", "notices"}
        return {f.what: [f.topic, f.state] for f in findings if f.topic in topics}

    key = "notices.webhooks.desk"
    assert said() == {
        f"{folder / 'in'} is not a folder": ["inbox", "missing"],
        f"{key}.url: environment variable TREASURY_HOOK is not set": ["notices", "missing"],
        f"{key}.token: environment variable TREASURY_TOKEN is not set": ["notices", "missing"],
    }
    (folder / "in").mkdir()
    monkeypatch.setenv("TREASURY_HOOK", "https://hooks.example.test/x")
    monkeypatch.setenv("TREASURY_TOKEN", "t")
    assert [state for _, state in said().values()] == ["ok", "ok"]
    assert "hooks.example.test" not in str(Workspace(folder).doctor())


SMTP = '[notices.smtp]\nhost = "mail.example.test"\nsender = "treasury@example.test"\n'


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ('[notices]\nquiet_hours = "late"', "quiet_hours 'late' is not a time span"),
        ('[notices]\nquiet_hours = "20:00-20:00"', "quiet_hours '20:00-20:00' is not a time span"),
        ("[notices]\nsilent_hours = 0", "silent_hours is less than 1"),
        ('[notices.people.ines]\nemail = "i@x.test"', "people are named, but no mail server"),
        (
            f'{SMTP}[notices.people.ines]\nemail = "i@x.test\\r\\nBcc: y"',
            "people.ines has no address",
        ),
        (f'{SMTP}security = "none"', "is not this machine"),
        (f'{SMTP}user = "t"', "go together"),
        (f'{SMTP}user = "t"\npassword = "hunter2"', "smtp.password is not the place of a secret"),
        ('[notices.webhooks.x]\nurl = "http://hooks.example.test/"', "is not https"),
        ('[notices.webhooks.x]\nurl = "https://u:p@hooks.example.test/"', "url holds a password"),
        (
            '[notices.webhooks.x]\nurl = "env:X"\ntoken = "hunter2"',
            "token is not the place of a secret",
        ),
        ('[notices.webhooks."a b"]\nurl = "env:X"', "is not a plain name"),
        ("[notices]\nturn = []", "turn"),
        ("[inbox]\npath = 'x'", "unknown field `path`"),
    ],
)
def test_invalid_notice_settings_are_refused_by_their_key(
    tmp_path: Path, terms: str, said: str
) -> None:
    (tmp_path / FILE_NAME).write_text(f'[workspace]\ncompany = "X"\n{terms}\n')
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    assert said in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_page_about_watching_shows_valid_settings(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "watching.md").read_text()
    (sample,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert {"inbox", "notices"} == set(tomllib.loads(sample))
    (tmp_path / FILE_NAME).write_text(f'[workspace]\ncompany = "X"\n{sample}')
    settings = load_settings(tmp_path)
    assert settings.notices is not None
    assert set(settings.notices.people) == {"ines", "jonas"}
