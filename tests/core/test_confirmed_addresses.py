"""Secrets are only sent to confirmed addresses; confirming a change needs a person and a reason."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from treasury.core.errors import SettingsError, StorageError
from treasury.core.files.state_folder import STATE_VARIABLE
from treasury.core.settings import Settings, load_settings, pin_environment
from treasury.core.settings.confirmed_addresses import (
    AddressDifference,
    confirm,
    confirm_first_use,
    confirmed_values,
    differences,
    require_confirmed,
)
from treasury.core.settings.secret_routes import HUB_API, HUB_ROUTE, ROUTES, secret_settings

DESK = """
[workspace]
company = "Harbour Lane Trading NV"
environment = "staging"
[services]
token_url = "https://login.example.test/token"
finance.base_url = "https://finance.example.test/v1"
ramp.base_url = "https://ramp.example.test/v1"
[credentials.maker]
client_id = "maker"
client_secret = "env:TREASURY_MAKER"
[journal]
url = "postgresql+psycopg://treasury@db.example.test/journal"
password = "env:TREASURY_JOURNAL"
[engine]
address = "sc://spark.example.test:15002"
token = "env:TREASURY_SPARK"
[notices.smtp]
host = "mail.example.test"
port = 587
sender = "treasury@example.test"
user = "treasury"
password = "env:TREASURY_SMTP"
[notices.webhooks.desk]
url = "https://hooks.example.test/T0/B0/canary-path"
token = "env:TREASURY_HOOK"
"""
CHANGES = {
    "services.token_url": ("https://login.example", "https://evil.example"),
    "services.finance.base_url": ("finance.example.test/v1", "finance.example.test:444/v1"),
    "services.ramp.base_url": ("https://ramp.example", "https://r\u0430mp.example"),
    "credentials.maker.client_secret": ("env:TREASURY_MAKER", "env:TREASURY_HOOK"),
    "journal.url": ("db.example.test/", "db.evil.test/"),
    "journal.password": ("env:TREASURY_JOURNAL", "env:TREASURY_MAKER"),
    "engine.address": ("sc://spark", "sc://evil"),
    "engine.token": ("env:TREASURY_SPARK", "env:TREASURY_MAKER"),
    "notices.smtp.host": ("mail.example", "evil.example"),
    "notices.smtp.port": ("587", "2525"),
    "notices.smtp.password": ("env:TREASURY_SMTP", "env:TREASURY_MAKER"),
    "notices.webhooks.desk.url": ("B0/canary-path", "B0/other-path"),
    "notices.webhooks.desk.token": ("env:TREASURY_HOOK", "env:TREASURY_MAKER"),
}


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "state"))
    monkeypatch.delenv(HUB_API, raising=False)


def settings_of(folder: Path, text: str = DESK) -> Settings:
    folder.mkdir(exist_ok=True)
    (folder / "treasury.toml").write_text(text, "utf-8")
    return load_settings(folder)


def confirmed_desk(folder: Path, text: str = DESK) -> Path:
    settings = settings_of(folder, text)
    confirm(folder, settings, secret_settings(settings), "the first time")
    return folder


def keys(folder: Path, settings: Settings) -> set[str]:
    return {difference.setting.key for difference in differences(folder, settings)}


def test_every_declared_address_and_place_can_change_and_is_covered_here() -> None:
    declared = [route.address for route in ROUTES]
    declared += [place for route in ROUTES for place in route.places]
    named = [key.replace("maker", "*").replace("desk", "*") for key in CHANGES]
    assert sorted(declared) == sorted(named)


@pytest.mark.parametrize("key", CHANGES)
def test_a_changed_setting_is_refused_in_a_script_by_its_old_and_new_value(
    tmp_path: Path, key: str
) -> None:
    folder = confirmed_desk(tmp_path / "desk")
    before, after = CHANGES[key]
    settings = settings_of(folder, DESK.replace(before, after, 1))
    assert keys(folder, settings) == {key}
    require_confirmed(folder, settings, "nothing.of.it")
    with pytest.raises(SettingsError, match="nothing was sent") as error:
        require_confirmed(folder, settings, key.partition(".")[0])
    said = str(error.value)
    assert f"{key} is " in said
    assert ", and you confirmed " in said
    assert "treasury addresses confirm" in said
    assert "canary-path" not in said
    assert said.isascii()  # A look-alike letter is not displayed as a Latin one.


def test_a_person_who_confirms_with_a_reason_is_asked_once(tmp_path: Path) -> None:
    folder = confirmed_desk(tmp_path / "desk")
    settings = settings_of(folder, DESK.replace("login.example", "sso.example"))
    asked: list[str] = []

    def ask(shown: Sequence[AddressDifference]) -> str:
        asked.extend(map(str, shown))
        return "the provider moved"

    for _ in range(2):
        require_confirmed(folder, settings, "services", ask=ask)
    (shown,) = asked
    assert shown == (
        "services.token_url is https://sso.example.test/token, and you confirmed"
        " https://login.example.test/token"
    )
    assert confirmed_values(folder)["services.token_url"].reason == "the provider moved"
    require_confirmed(folder, settings, "services")


def test_a_refused_confirmation_sends_nothing(tmp_path: Path) -> None:
    folder = confirmed_desk(tmp_path / "desk")
    settings = settings_of(folder, DESK.replace("login.example", "evil.example"))
    with pytest.raises(SettingsError, match="nothing was sent"):
        require_confirmed(folder, settings, "services", ask=lambda _: None)
    assert keys(folder, settings) == {"services.token_url"}


def test_a_workspace_of_an_earlier_version_is_confirmed_once(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    settings = settings_of(folder)
    pin_environment(folder, settings)  # This is how earlier versions left the workspace.
    with pytest.raises(SettingsError, match="run `treasury addresses confirm` on a terminal"):
        require_confirmed(folder, settings, "services")
    confirm_first_use(folder, settings)
    assert confirmed_values(folder) == {}
    require_confirmed(folder, settings, "services", ask=lambda _: "as before")
    require_confirmed(folder, settings, "services", "journal", "notices", "engine")


def test_a_new_workspace_is_trusted_at_its_first_use_only(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    short = DESK.partition("[engine]")[0]
    settings = settings_of(folder, short)
    require_confirmed(folder, settings, "services")
    confirm_first_use(folder, settings)
    pin_environment(folder, settings)
    require_confirmed(folder, settings, "services", "journal")
    with pytest.raises(SettingsError, match=r"notices\.webhooks\.desk\.url .* not confirmed"):
        require_confirmed(folder, settings_of(folder), "notices.webhooks.desk.")


def test_the_first_use_on_a_terminal_is_confirmed_too(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    settings = settings_of(folder)
    asked: list[str] = []

    def ask(shown: Sequence[AddressDifference]) -> str:
        asked.extend(difference.setting.key for difference in shown)
        return "mine"

    require_confirmed(folder, settings, "services", ask=ask)
    assert set(asked) == set(CHANGES)


@pytest.mark.parametrize("environment", ["staging", "sandbox"])
@pytest.mark.parametrize(
    ("place", "doubt"),
    [
        ("env:AWS_SECRET_ACCESS_KEY", "its name does not begin with TREASURY_"),
        ("file:{}/open", "other users can read the file"),
    ],
)
def test_an_unusual_place_is_confirmed_by_name_even_at_first_use(
    tmp_path: Path, place: str, doubt: str, environment: str
) -> None:
    (tmp_path / "open").write_text("secret")
    (tmp_path / "open").chmod(0o444)
    place = place.format(tmp_path)
    text = DESK.replace("env:TREASURY_HOOK", place)
    if environment == "sandbox":
        text = text.replace('"staging"', '"sandbox"')
        for host in ("login", "finance", "ramp"):
            text = text.replace(f"https://{host}.example.test", "http://127.0.0.1:8000")
    folder = tmp_path / "desk"
    settings = settings_of(folder, text)
    with pytest.raises(SettingsError) as error:
        require_confirmed(folder, settings, "notices")
    assert f"notices.webhooks.desk.token is {place} ({doubt})" in str(error.value)
    require_confirmed(folder, settings, "services")
    confirm_first_use(folder, settings)
    assert keys(folder, settings) == {"notices.webhooks.desk.token"}
    named = [s for s in secret_settings(settings) if s.value == place]
    confirm(folder, settings, named, "the container mounts it so")
    require_confirmed(folder, settings, "notices")


def test_a_file_that_became_readable_by_others_is_confirmed_again(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0o600)
    text = DESK.replace("env:TREASURY_MAKER", f"file:{secret}")
    folder = confirmed_desk(tmp_path / "desk", text)
    settings = settings_of(folder, text)
    assert keys(folder, settings) == set()
    secret.chmod(0o644)
    assert keys(folder, settings) == {"credentials.maker.client_secret"}


def test_a_link_created_by_another_user_is_confirmed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").write_text("x")
    (tmp_path / "mine").chmod(0o600)
    (tmp_path / "shared").symlink_to(tmp_path)
    text = DESK.replace("env:TREASURY_MAKER", f"file:{tmp_path}/shared/mine")
    folder = confirmed_desk(tmp_path / "desk", text)
    settings = settings_of(folder, text)
    assert keys(folder, settings) == set()
    if os.getuid() == 0:
        os.lchown(tmp_path / "shared", 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    (difference,) = differences(folder, settings)
    assert "(another user made a link on its path)" in str(difference)


def test_the_page_about_setup_lists_the_declared_addresses() -> None:
    page = (Path(__file__).parents[2] / "docs" / "setup.md").read_text("utf-8")
    for route in (*ROUTES, HUB_ROUTE):
        places = ", ".join(f"`{place}`" for place in route.places)
        row = f"| `{route.address}` | {route.sends} | {places} |".replace("|  |", "| |")
        assert row in page


def test_the_hubs_address_is_confirmed_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HUB_API, "https://hub.example.test/hub/api")
    folder = confirmed_desk(tmp_path / "desk")
    settings = settings_of(folder)
    require_confirmed(folder, settings, HUB_ROUTE.address)
    monkeypatch.setenv(HUB_API, "https://evil.example.test/hub/api")
    with pytest.raises(SettingsError, match="JUPYTERHUB_API_URL is https://evil"):
        require_confirmed(folder, settings, HUB_ROUTE.address)


def test_a_sandbox_may_change_its_port_only_as_a_whole(tmp_path: Path) -> None:
    text = DESK.partition("[journal]")[0].replace('"staging"', '"sandbox"')
    for host in ("login", "finance", "ramp"):
        text = text.replace(f"https://{host}.example.test", "http://127.0.0.1:8000")
    folder = tmp_path / "desk"
    confirm_first_use(folder, settings_of(folder, text))
    assert keys(folder, settings_of(folder, text.replace("8000", "8001"))) == set()
    moved = text.replace("8000/token", "8001/token")
    assert keys(folder, settings_of(folder, moved)) == {"services.token_url"}
    other = text.replace("env:TREASURY_MAKER", "env:TREASURY_OTHER")
    assert keys(folder, settings_of(folder, other)) == {"credentials.maker.client_secret"}


def test_a_workspace_of_another_environment_is_not_trusted_as_a_sandbox(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    pin_environment(folder, settings_of(folder))  # A colleague filled the workspace from staging.
    text = DESK.replace('"staging"', '"sandbox"')
    for host in ("login", "finance", "ramp"):
        text = text.replace(f"https://{host}.example.test", "http://127.0.0.1:8000")
    settings = settings_of(folder, text)
    confirm_first_use(folder, settings)
    assert keys(folder, settings) == set(CHANGES)


def test_another_user_confirms_for_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = confirmed_desk(tmp_path / "desk")
    settings = settings_of(folder)
    pin_environment(folder, settings)
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path / "colleague"))
    assert keys(folder, settings) == set(CHANGES)


def test_a_secret_address_is_stored_as_a_fingerprint(tmp_path: Path) -> None:
    folder = confirmed_desk(tmp_path / "desk")
    (kept,) = (tmp_path / "state" / "addresses").iterdir()
    assert "canary-path" not in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0 or kept.parent.stat().st_mode & 0o077 == 0
    value = confirmed_values(folder)["notices.webhooks.desk.url"].value
    assert value.startswith("https://hooks.example.test/… (fingerprint ")


def test_an_unreadable_or_unwritable_record_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = confirmed_desk(tmp_path / "desk")
    (kept,) = (tmp_path / "state" / "addresses").iterdir()
    kept.write_text('{"workspace": ')
    settings = settings_of(folder)
    with pytest.raises(SettingsError, match="is not a readable list of confirmed addresses"):
        require_confirmed(folder, settings, "services")
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv(STATE_VARIABLE, str(blocked / "state"))
    with pytest.raises(StorageError, match=f"set {STATE_VARIABLE} to a folder"):
        confirm_first_use(folder, settings)


@pytest.mark.parametrize("environment", ["staging", "sandbox"])
@pytest.mark.parametrize("changed", ["folder", "settings", "owner"])
def test_a_new_workspace_writable_by_others_is_not_trusted_at_first_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, environment: str
) -> None:
    text = DESK
    if environment == "sandbox":
        text = text.replace('"staging"', '"sandbox"')
        for host in ("login", "finance", "ramp"):
            text = text.replace(f"https://{host}.example.test", "http://127.0.0.1:8000")
    folder = tmp_path / "desk"
    settings = settings_of(folder, text)
    assert keys(folder, settings) == set()
    if changed == "folder":
        folder.chmod(0o777)
    elif changed == "settings":
        (folder / "treasury.toml").chmod(0o666)
    elif os.getuid() == 0:
        os.chown(folder, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert keys(folder, settings) == set(CHANGES)
    confirm_first_use(folder, settings)
    with pytest.raises(SettingsError, match="which you have not confirmed"):
        require_confirmed(folder, settings, "services")


def test_a_replaced_workspace_folder_gets_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = confirmed_desk(tmp_path / "desk")
    settings = settings_of(folder)
    other = tmp_path / "other"
    changed = settings_of(other, DESK.replace("login.example", "evil.example"))
    if os.getuid() == 0:
        os.chown(other, 12345, 12345)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
    folder.rename(tmp_path / "moved")
    folder.symlink_to(other)
    require_confirmed(tmp_path / "moved", settings, "nothing")
    with pytest.raises(SettingsError, match=r"token_url is https://evil\.example"):
        require_confirmed(folder, changed, "services")


def test_a_group_of_a_shared_workspace_counts_as_other_users(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    settings = settings_of(folder)
    folder.chmod(0o770)
    assert keys(folder, settings) == set()  # This is the user's own group.
    if os.getuid() == 0:
        os.chown(folder, 0, 12345)
        folder.chmod(0o770)
        assert keys(folder, settings) == set(CHANGES)
