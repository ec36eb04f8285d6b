"""`t.client()` only reads; every write is an action."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path

import pytest

import treasury
from treasury.core.errors import ActionRefused, ServiceError
from treasury.sandbox import Sandbox, Served

SETTINGS = """
[workspace]
company = "Harbour"

[services]
token_url = "http://127.0.0.1:9/token"
finance.base_url = "http://127.0.0.1:9/finance/v1"
ramp.base_url = "http://127.0.0.1:9/ramp/v1"

[credentials.maker]
client_id = "harbour-maker"
client_secret = "env:TREASURY_NO_SECRET"
"""


def at(served: Served, text: str) -> str:
    """Return settings that name a running sandbox's addresses instead of unreachable ones."""
    text = text.replace("http://127.0.0.1:9/token", served.token_url)
    return text.replace("http://127.0.0.1:9", served.base_url)


def test_the_client_of_a_workspace_names_the_action_that_replaces_a_write(tmp_path: Path) -> None:
    (tmp_path / "treasury.toml").write_text(SETTINGS)
    desk = treasury.open(tmp_path)
    client = desk.client("maker")
    assert desk.client("maker") is client
    with pytest.raises(ActionRefused, match=r"t\.actions\.propose\('ramp_request\.approve', …\)"):
        client.ramp.requests.approve("r", version=1)
    with pytest.raises(ActionRefused, match="no action does this"):
        client.request("PATCH", "/ramp-requests/{id}/initiate", "r", service="ramp", body={})
    desk.close_clients()


def test_addresses_that_never_answered_do_not_block_the_right_ones(
    tmp_path: Path, company: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_MAKER_SECRET", "sandbox-maker-secret")
    text = SETTINGS.replace("TREASURY_NO_SECRET", "TREASURY_MAKER_SECRET")
    staging = text.replace('"Harbour"', '"Harbour"\nenvironment = "staging"')
    (tmp_path / "treasury.toml").write_text(staging)
    desk = treasury.open(tmp_path)
    with pytest.raises(ServiceError):
        desk.sync()
    desk.close_clients()
    assert not (tmp_path / "environment").exists()
    with company.serve() as served:
        (tmp_path / "treasury.toml").write_text(at(served, staging))
        desk = treasury.open(tmp_path)
        desk.sync(tables=["fees"])
        desk.close_clients()
    assert (tmp_path / "environment").read_text() == "staging at 127.0.0.1, 127.0.0.1\n"


def test_an_unclosed_workspace_leaves_no_connection_open(
    tmp_path: Path, company: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREASURY_MAKER_SECRET", "sandbox-maker-secret")
    with company.serve() as served:
        text = SETTINGS.replace("TREASURY_NO_SECRET", "TREASURY_MAKER_SECRET")
        (tmp_path / "treasury.toml").write_text(at(served, text))
        gc.collect()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ResourceWarning)
            client = treasury.open(tmp_path).client("maker")
            gc.collect()
            assert client.ramp.requests.list(size=1)  # The client still works.
            del client
            gc.collect()
    assert [str(one.message) for one in told if "unclosed" in str(one.message)] == []
