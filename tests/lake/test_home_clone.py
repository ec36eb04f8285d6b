"""Service addresses from a home are shown, and used only if a person or a script confirms them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from shared_desks import shared_home
from terminals import on_terminal

from treasury.cli import treasury
from treasury.core.errors import InputError
from treasury.core.files.state_folder import STATE_VARIABLE
from treasury.core.settings.confirmed_addresses import confirmed_values
from treasury.lake.home.lake_home import LakeHome

__all__ = ["shared_home"]

HEAD = {
    "workspace": {"company": "Harbour", "environment": "staging"},
    "services": {
        "token_url": "https://login.evil.test/token",
        "finance": {"base_url": "https://finance.example.test/v1"},
        "ramp": {"base_url": "https://ramp.example.test/v1"},
    },
}
ADDRESSES = (
    "https://login.evil.test/token",
    "https://finance.example.test/v1",
    "https://ramp.example.test/v1",
)


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the settings that clones read from the home; a writer of the home could set them."""
    settings: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(HEAD))
    read = LakeHome.accepted_head

    def accepted_head(home: LakeHome, number: int) -> Any:
        text = msgspec.json.encode(settings).decode()
        return msgspec.structs.replace(read(home, number), settings=text)

    monkeypatch.setattr(LakeHome, "accepted_head", accepted_head)
    return settings


def cloned(home: Path, folder: Path, *known: str) -> Any:
    named = [part for address in known for part in ("--address", address)]
    return CliRunner().invoke(treasury, ["lake", "clone", str(home), str(folder), *named])


def test_a_script_uses_no_address_that_it_did_not_name(
    shared_home: Path, tmp_path: Path, brought: dict[str, Any]
) -> None:
    for known in ((), ADDRESSES[1:]):
        done = cloned(shared_home / "home", tmp_path / "desk", *known)
        assert isinstance(done.exception, InputError)
        assert "the lake's settings have addresses that you have not confirmed" in str(
            done.exception
        )
        for address in ADDRESSES:
            assert f"is {address}, which you have not confirmed\n" in done.output
        assert not (tmp_path / "desk").exists()
    cloned(shared_home / "home", tmp_path / "desk", *ADDRESSES)
    values = confirmed_values(tmp_path / "desk")
    assert {known.value for known in values.values()} == set(ADDRESSES)


def test_impossible_addresses_are_refused_without_a_question(
    shared_home: Path, tmp_path: Path, brought: dict[str, Any]
) -> None:
    brought["services"]["token_url"] = "http://login.evil.test/token"
    done = cloned(shared_home / "home", tmp_path / "desk", *ADDRESSES)
    assert "is not https" in str(done.exception)
    brought["services"]["token_url"] = "https://login.evil.test/token"
    # A script accepts a sandbox without confirming its addresses.
    brought["workspace"]["environment"] = "sandbox"
    done = cloned(shared_home / "home", tmp_path / "desk")
    assert "cannot be sandbox" in str(done.exception)
    assert not (tmp_path / "desk").exists()


def test_an_interrupted_clone_is_confirmed_again(
    shared_home: Path, tmp_path: Path, brought: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    cloned(shared_home / "home", tmp_path / "desk", *ADDRESSES)
    text = (tmp_path / "desk" / "treasury.toml").read_text()
    changed = text.replace("login.evil.test", "login.worse.test")
    (tmp_path / "desk" / "treasury.toml").write_text(changed)
    done = cloned(shared_home / "home", tmp_path / "desk", *ADDRESSES)
    assert "addresses that you have not confirmed" in str(done.exception)
    assert "services.token_url is https://login.worse.test/token" in done.output
    # This address was confirmed before.
    assert "services.ramp" not in done.output


@pytest.mark.acceptance
@pytest.mark.parametrize("answer", ["n", "y"])
def test_each_address_is_shown_and_confirmed_on_a_terminal(
    shared_home: Path, tmp_path: Path, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    desk = tmp_path / "desk"
    arguments = ("lake", "clone", str(shared_home / "home"), str(desk))
    code, shown = on_terminal(tmp_path, *arguments, answers=f"{answer}\n")
    assert "services.token_url is /oauth/token" in shown
    assert "Are these the right addresses for secrets?" in shown
    assert (desk / "treasury.toml").exists() == (answer == "y")
    assert ("pulled " in shown) == (answer == "y") == (code == 0)
    assert bool(confirmed_values(desk)) == (answer == "y")
    assert os.environ[STATE_VARIABLE] == str(tmp_path / "state")
