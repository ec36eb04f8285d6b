"""`treasury addresses`, and verbs that send secrets: on a terminal and in a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from notice_servers import due
from terminals import on_terminal

from treasury.cli import treasury
from treasury.core.errors import TreasuryError
from treasury.core.files.state_folder import STATE_VARIABLE
from treasury.core.settings import load_settings
from treasury.core.settings.confirmed_addresses import confirm
from treasury.core.settings.secret_routes import secret_settings
from treasury.workspace import Workspace
from treasury.workspace.notices.notice_sender import NoticeSender

CANARY = "canary-secret-4e77"


class Listener(ThreadingHTTPServer):
    """A server that stores every request and refuses it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received = ""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Listener

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.server.received += f"{self.path} {self.headers} {body}\n"
        self.send_response(401)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def good() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.stop()


@pytest.fixture
def evil() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.stop()


@pytest.fixture
def folder(tmp_path: Path, good: Listener, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a desk of a staging environment that has already used its services."""
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setenv("TREASURY_MAKER", CANARY)
    monkeypatch.setenv("TREASURY_USER", "ines")
    (tmp_path / "treasury.toml").write_text(
        f"""
        [workspace]
        company = "Harbour"
        environment = "staging"
        [services]
        token_url = "{good.url}/token"
        finance.base_url = "{good.url}/finance/v1"
        ramp.base_url = "{good.url}/ramp/v1"
        [credentials.maker]
        client_id = "maker"
        client_secret = "env:TREASURY_MAKER"
        """
    )
    (tmp_path / "environment").write_text("staging at 127.0.0.1, 127.0.0.1\n")
    return tmp_path


def change(folder: Path, before: str, after: str) -> None:
    text = (folder / "treasury.toml").read_text()
    assert before in text
    (folder / "treasury.toml").write_text(text.replace(before, after))


def script(folder: Path, *arguments: str) -> str:
    """Run a verb without a terminal; return its output, or the text of its error."""
    done: Result = CliRunner().invoke(treasury, ["--workspace", str(folder), *arguments])
    if isinstance(done.exception, TreasuryError):
        return str(done.exception)
    return done.output


def test_a_secret_is_sent_only_to_an_address_that_a_person_confirmed(
    folder: Path, good: Listener, evil: Listener
) -> None:
    # An earlier version of the program used this workspace, so no address is confirmed.
    said = script(folder, "sync")
    assert "services.token_url is" in said
    assert "run `treasury addresses confirm` on a terminal" in said
    assert good.received == ""
    assert "only a person can confirm this" in script(folder, "addresses", "confirm")
    settings = load_settings(folder)
    confirm(folder, settings, secret_settings(settings), "the first time")
    script(folder, "sync")
    assert CANARY in good.received

    change(folder, f"{good.url}/token", f"{evil.url}/token")
    said = script(folder, "sync")
    assert f"services.token_url is {evil.url}/token, and you confirmed {good.url}/token" in said
    doctor = script(folder, "doctor")
    assert f"missing  addresses: services.token_url is {evil.url}/token, and you" in doctor
    assert "to confirm" in script(folder, "addresses", "list")
    code, shown = on_terminal(folder, "sync", answers="n\n")
    assert code != 0
    assert f"{evil.url}/token" in shown
    assert evil.received == ""
    on_terminal(folder, "sync", answers="y\nthe provider moved\n")
    assert CANARY in evil.received


def test_a_foreign_variable_is_confirmed_by_name_and_a_key_never(
    folder: Path, good: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without this file the workspace is new, and trusted except for unusual places.
    (folder / "environment").unlink()
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    change(folder, "env:TREASURY_MAKER", "env:AWS_SECRET_ACCESS_KEY")
    assert "(its name does not begin with TREASURY_)" in script(folder, "sync")
    assert good.received == ""
    named = ("addresses", "confirm", "--place", "env:AWS_SECRET_ACCESS_KEY")
    assert "--place requires --reason" in script(folder, *named)
    assert "not waiting for confirmation: env:PATH" in script(
        folder, "addresses", "confirm", "--place", "env:PATH", "--reason", "x"
    )
    assert script(folder, *named, "--reason", "our cloud's").startswith("confirmed")
    script(folder, "sync")
    assert CANARY in good.received

    good.received = ""
    key = folder / "id_ed25519"
    key.write_text(f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n-----END\n")
    key.chmod(0o600)
    change(folder, "env:AWS_SECRET_ACCESS_KEY", f"file:{key}")
    place = f"file:{key}"
    assert "you confirmed env:AWS_SECRET_ACCESS_KEY" in script(folder, "sync")
    script(folder, "addresses", "confirm", "--place", place, "--reason", "x")
    assert "holds a private key, which is never sent" in script(folder, "sync")
    assert good.received == ""


def test_a_file_readable_by_everybody_in_the_container_is_confirmed_by_name(
    folder: Path, good: Listener
) -> None:
    (folder / "environment").unlink()
    secret = folder / "mounted"
    secret.write_text(CANARY)
    secret.chmod(0o444)
    change(folder, "env:TREASURY_MAKER", f"file:{secret}")
    assert "(other users can read the file)" in script(folder, "sync")
    assert good.received == ""
    script(folder, "addresses", "confirm", "--place", f"file:{secret}", "--reason", "a container")
    script(folder, "sync")
    assert CANARY in good.received


def test_an_added_webhook_gets_no_secret(folder: Path, good: Listener, evil: Listener) -> None:
    code, shown = on_terminal(folder, "addresses", "confirm", answers="y\nmine\n")
    assert code == 0, shown
    assert f"services.token_url is {good.url}/token, which you have not confirmed" in shown
    assert "credentials.maker.client_secret is env:TREASURY_MAKER" in shown
    with (folder / "treasury.toml").open("a") as file:
        file.write(f"""
        [notices]
        target_days_only = false
        [notices.webhooks.desk]
        url = "{evil.url}/hook"
        token = "env:TREASURY_MAKER"
        """)
    doctor = script(folder, "doctor")
    assert "notices.webhooks.desk.url" in doctor
    # The path of a webhook's address may be a secret.
    assert "/hook" not in doctor
    rows = json.loads(script(folder, "addresses", "list", "--format", "json"))
    states = {row["setting"]: row["state"] for row in rows}
    assert states["services.token_url"] == "confirmed"
    assert states["notices.webhooks.desk.token"] == "to confirm"
    assert evil.received == ""


def test_a_webhook_with_a_changed_address_gets_no_secret(
    folder: Path, good: Listener, evil: Listener
) -> None:
    with (folder / "treasury.toml").open("a") as file:
        file.write(f"""
        [notices]
        target_days_only = false
        [notices.webhooks.desk]
        url = "{good.url}/hook"
        token = "env:TREASURY_MAKER"
        """)
    settings = load_settings(folder)
    confirm(folder, settings, secret_settings(settings), "the first time")
    for listener in (good, evil):
        change(folder, f"{good.url}/hook", f"{listener.url}/hook")
        t = Workspace(folder)
        notices = NoticeSender(
            t.journal,
            t.settings,
            lambda: [due(1)],
            lambda _: frozenset(),
            require_confirmed=t.require_confirmed,
        )
        [failure] = notices.send().failures
        assert "\n" not in str(failure)
    assert CANARY in good.received
    assert "notices.webhooks.desk.url is " in str(failure)
    assert "nothing was sent" in str(failure)
    # The path of a webhook's address may be a secret.
    assert "/hook" not in str(failure)
    assert evil.received == ""


def test_a_hub_renamed_in_environment_and_policy_gets_no_token(
    folder: Path, good: Listener, evil: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", CANARY)
    monkeypatch.setenv("JUPYTERHUB_API_URL", f"{good.url}/hub/api")
    settings = load_settings(folder)
    confirm(folder, settings, secret_settings(settings), "the first time")
    for policy, environment in ((evil, good), (good, evil), (evil, evil)):
        (folder / "policy.toml").write_text(f'[hub]\napi = "{policy.url}/hub/api"\n')
        monkeypatch.setenv("JUPYTERHUB_API_URL", f"{environment.url}/hub/api")
        with pytest.raises(TreasuryError) as raised:
            Workspace(folder).journal.who()
        assert "\n" not in str(raised.value)
    assert "and you confirmed" in str(raised.value)
    assert (good.received, evil.received) == ("", "")


def test_an_open_workspace_ignores_later_changes_of_addresses(
    folder: Path, good: Listener, evil: Listener
) -> None:
    settings = load_settings(folder)
    confirm(folder, settings, secret_settings(settings), "the first time")
    opened = Workspace(folder)
    change(folder, f"{good.url}/token", f"{evil.url}/token")
    with pytest.raises(TreasuryError):
        opened.sync()
    assert CANARY in good.received
    assert evil.received == ""
    with pytest.raises(TreasuryError, match=r"services\.token_url is"):
        Workspace(folder).sync()
    assert evil.received == ""


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_a_look_alike_letter_is_visible_in_the_list(folder: Path, form: str) -> None:
    name = "cr\u0435dentials \u202egnp.txt"
    (folder / name).write_text(CANARY)
    change(folder, "env:TREASURY_MAKER", f"file:{folder}/{name}")
    shown = script(folder, "addresses", "list", "--format", form)
    assert "cr\\u0435dentials \\u202egnp.txt" in shown.replace("\\\\", "\\")
    assert "\u0435" not in shown
    place = f"file:{folder}/{name}"
    assert script(folder, "addresses", "confirm", "--place", place, "--reason", "x").startswith(
        "confirmed"
    )


def test_a_shared_journal_on_another_server_is_not_contacted_and_the_doctor_reports_it(
    folder: Path, evil: Listener
) -> None:
    with (folder / "treasury.toml").open("a") as file:
        file.write(f"""
        [journal]
        url = "postgresql+psycopg://ines@127.0.0.1:{evil.server_port}/journal"
        password = "env:TREASURY_MAKER"
        """)
    for verb in (("journal", "list"), ("status",)):
        assert "journal.url is postgresql+psycopg://" in script(folder, *verb)
    doctor = script(folder, "doctor")
    assert "missing  addresses: journal.url is postgresql+psycopg://" in doctor
    assert "missing  journal: " in doctor


@pytest.mark.acceptance
def test_init_confirms_the_typed_and_tried_addresses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treasury.sandbox import Sandbox

    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    company = Sandbox(7)
    client, secret = company.credentials["maker"]
    monkeypatch.setenv("MAKER", secret)
    with company.serve() as served:
        said = script(
            tmp_path / "desk", "init", "--no-ask", "--company", "Harbour",
            "--environment", "staging", "--token-url", served.token_url,
            "--finance-url", served.finance_url, "--ramp-url", served.ramp_url,
            "--credential", "maker", client, "env:MAKER",
        )  # fmt: skip
        assert "wrote" in said, said
        rows = json.loads(script(tmp_path / "desk", "addresses", "list", "--format", "json"))
        assert {row["state"] for row in rows} == {"confirmed"}
        assert {row["reason"] for row in rows} == {"treasury init"}
