"""A missing home folder raises an error with a remedy."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from treasury.core.errors import SettingsError
from treasury.core.files.secret_places import find_secret
from treasury.core.files.state_folder import STATE_VARIABLE, state_folder, user_path


def test_a_missing_home_is_an_error_that_names_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(SettingsError, match="no home folder for ~"):
        find_secret("file:~no-such-user/secret", "client_secret")

    def unknown(_: int) -> None:  # A container may run under a user id that has no name.
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_STATE_HOME", STATE_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SettingsError, match=f"set HOME or {STATE_VARIABLE}"):
        state_folder()
    assert user_path("/a/b") == Path("/a/b")
    monkeypatch.setenv(STATE_VARIABLE, os.fspath(Path("/state")))
    assert state_folder() == Path("/state")
