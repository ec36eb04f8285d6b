"""A notebook run by papermill sends nothing to an unconfirmed address."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from treasury.core.files.state_folder import STATE_VARIABLE

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
CANARY = "canary-secret-71cd"


class Listener(ThreadingHTTPServer):
    """A server that stores the head of every request and refuses it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.received: list[str] = []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Listener

    def do_POST(self) -> None:
        self.server.received.append(f"{self.command} {self.path} {self.headers}")
        self.send_error(401)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def listeners() -> Iterator[tuple[Listener, Listener]]:
    good, evil = Listener(), Listener()
    yield good, evil
    for listener in (good, evil):
        listener.shutdown()
        listener.server_close()


PATHS = {
    "services.token_url": "token",
    "services.finance.base_url": "finance/v1",
    "services.ramp.base_url": "ramp/v1",
}


@pytest.mark.acceptance
@pytest.mark.parametrize("key", PATHS)
def test_a_changed_address_is_a_one_line_error_and_nothing_is_sent(
    tmp_path: Path,
    listeners: tuple[Listener, Listener],
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    import papermill  # the import takes two seconds

    from treasury.core.settings import load_settings
    from treasury.core.settings.confirmed_addresses import confirm
    from treasury.core.settings.secret_routes import secret_settings

    good, evil = listeners
    for name in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    monkeypatch.setenv("TREASURY_MAKER", CANARY)
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.setenv("TREASURY_WORKSPACE", str(folder))
    settings = (
        '[workspace]\ncompany = "Harbour"\nenvironment = "staging"\n'
        '[services]\ntoken_url = "GOOD/token"\nfinance.base_url = "GOOD/finance/v1"\n'
        'ramp.base_url = "GOOD/ramp/v1"\n'
        '[credentials.maker]\nclient_id = "maker"\nclient_secret = "env:TREASURY_MAKER"\n'
    )
    file = folder / "treasury.toml"
    file.write_text(settings.replace("GOOD", good.url))
    loaded = load_settings(folder)
    confirm(folder, loaded, secret_settings(loaded), "the first time")
    old = f"{good.url}/{PATHS[key]}"
    new = f"{evil.url}/{PATHS[key]}"
    file.write_text(settings.replace("GOOD", good.url).replace(old, new))
    done = tmp_path / "done.ipynb"
    with pytest.raises(papermill.PapermillExecutionError) as raised:
        papermill.execute_notebook(
            FOLDER / "operations.ipynb", done, parameters={"write": True}, cwd=folder,
            kernel_name="python3", progress_bar=False, execution_timeout=60,
        )  # fmt: skip
    assert raised.value.ename == "SettingsError"
    assert f"{key} is {new}, and you confirmed {old}" in raised.value.evalue
    assert "nothing was sent - if that is right, run `treasury addresses confirm`" in str(
        raised.value.evalue
    )
    assert "\n" not in raised.value.evalue
    assert (good.received, evil.received) == ([], [])
    assert CANARY not in done.read_text()
