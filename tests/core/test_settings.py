"""`treasury.toml`: valid and invalid content, and the places of secrets."""

from __future__ import annotations

import io
import os
import pickle
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from pprint import pformat
from traceback import TracebackException
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.pretty import Pretty

from treasury.actions import load_policy
from treasury.core.errors import InputError, JournalError, SettingsError
from treasury.core.settings import (
    CompanySettings,
    Credential,
    JournalPlace,
    LakePlace,
    Secret,
    Service,
    Services,
    Settings,
    SparkEngine,
    is_loopback,
    is_pinned,
    load_settings,
    pin_environment,
)
from treasury.core.settings.notice_terms import MailServer, NoticeTerms, Webhook
from treasury.journal import Journal
from treasury.matching.rules import load_rules

GOOD = """\
[workspace]
company = "Harbour Lane Trading NV"
environment = "staging"

[services]
token_url = "https://login.example.test/token"
finance.base_url = "https://finance.example.test/v1"
ramp.base_url = "http://127.0.0.1:8000/v1"

[credentials.maker]
client_id = "maker"
client_secret = "env:CANARY_SECRET"

[[accounts]]
account = "NL05TEST0417164300"
source = "own_bank"
"""
CANARY = "s3cr3t-canary"


def written(folder: Path, text: str) -> Path:
    (folder / "treasury.toml").write_text(text, "utf-8")
    return folder


def test_settings_are_read_with_their_defaults(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path, GOOD))
    assert settings.zone.key == "Europe/Brussels"
    assert settings.accounts[0].currency == "EUR"
    assert settings.now().tzinfo is not None


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ('environment = "staging"', 'environment = "stage"', "environment"),
        ("https://finance", "http://finance", "not https"),
        ('source = "own_bank"', 'source = "bank"', "source"),
        ("company =", "compny =", "compny"),
        ('environment = "staging"', "now = 2026-11-02T08:00:00Z\nenvironment = 'staging'", "clock"),
        ('environment = "staging"', 'time_zone = "Europe/Bruges"', "time zone"),
        ("[services]", "[services", "treasury.toml"),
    ],
)
def test_a_wrong_key_is_named_with_its_file(
    tmp_path: Path, before: str, after: str, word: str
) -> None:
    with pytest.raises(SettingsError, match=word) as error:
        load_settings(written(tmp_path, GOOD.replace(before, after)))
    assert "treasury.toml" in str(error.value)


def test_a_folder_without_settings_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="treasury demo"):
        load_settings(tmp_path)


def test_a_secret_comes_from_the_configured_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_SECRET", CANARY)
    path = tmp_path / "secret"
    path.write_text(CANARY + "\n")
    for place in ("env:CANARY_SECRET", f"file:{path}"):
        assert Credential("maker", place).secret().reveal() == CANARY


def test_a_secret_comes_from_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {("treasury", "maker"): CANARY}
    keyring = SimpleNamespace(get_password=lambda *place: entries.get(place))
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    assert Credential("maker", "keyring:treasury/maker").secret().reveal() == CANARY
    with pytest.raises(SettingsError, match="no entry treasury/checker"):
        Credential("checker", "keyring:treasury/checker").secret()


@pytest.mark.parametrize("place", ["env:NOT_SET", "file:/nowhere/at/all", "plain-text", "vault:x"])
def test_a_missing_secret_is_an_error_that_shows_none(place: str) -> None:
    with pytest.raises(SettingsError, match="no secret for maker") as error:
        Credential("maker", place).secret()
    assert "plain-text" not in str(error.value)


def test_a_secret_is_never_displayed() -> None:
    secret = Secret(CANARY)
    assert CANARY not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_loopback_means_this_machine_only() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.3.2.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("10.0.0.1", "localhost.example.test", "", "0.0.0.0")))


SANDBOX = GOOD.replace("https://", "http://127.0.0.1:8000/").replace("staging", "sandbox")
PRODUCTION = GOOD.replace("http://127.0.0.1:8000", "https://ramp.example.test").replace(
    '"staging"', '"production"'
)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (GOOD.replace("staging", "sandbox"), "cannot be sandbox"),
        (PRODUCTION.replace("https://finance.example.test", "http://127.0.0.1"), "be production"),
        (GOOD.replace("[services]", '[services]\nenvironment = "production"'), "for production"),
        (GOOD + '[credentials.x]\nclient_id="x"\nclient_secret="env:X"\n'
         'environment = "production"', r"credentials\.x\] is for production"),
        (GOOD.replace("[services]", "[services]\nallow_writes = true"), "below .workspace"),
    ],
)  # fmt: skip
def test_environments_are_not_mixed(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(SettingsError, match=word):
        load_settings(written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "may"),
    [
        (SANDBOX, True),
        (GOOD, True),
        (PRODUCTION, False),
        (PRODUCTION.replace("company =", "allow_writes = true\ncompany ="), True),
    ],
)
def test_only_production_needs_permission_to_write(tmp_path: Path, text: str, may: bool) -> None:
    services = load_settings(written(tmp_path, text)).services
    assert services is not None
    assert services.may_write is may


def test_a_workspace_is_filled_from_one_environment(tmp_path: Path) -> None:
    staging = load_settings(written(tmp_path, GOOD))
    for _ in range(2):
        pin_environment(tmp_path, staging)
    production = load_settings(written(tmp_path, PRODUCTION))
    with pytest.raises(SettingsError, match=r"holds the records of staging at finance\.example"):
        pin_environment(tmp_path, production)


def test_an_empty_environment_marker_matches_no_environment(tmp_path: Path) -> None:
    staging = load_settings(written(tmp_path, GOOD))
    (tmp_path / "environment").write_text("")
    with pytest.raises(SettingsError, match="is empty, so the source of the records"):
        pin_environment(tmp_path, staging)
    (tmp_path / "environment").unlink()
    pin_environment(tmp_path, staging)
    assert [path.name for path in tmp_path.glob("*environment*")] == ["environment"]


@pytest.mark.parametrize(
    ("before", "after", "key", "do"),
    [
        ('"https://login.example.test/token"', '"https://…/oauth/token"', "services.token_url",
         "write the address for requesting tokens"),
        ('"http://127.0.0.1:8000/v1"', '"https://…/v1"', "services.ramp.base_url",
         "write the ramp service's address"),
        ('"maker"', '"…"', "credentials.maker.client_id", "write the client id"),
        ('"NL05TEST0417164300"', '"…"', r"accounts\[1\].account", "write the IBAN"),
        ('"Harbour Lane Trading NV"', '"…"', "workspace.company", "write it"),
    ],
)  # fmt: skip
def test_the_placeholder_of_the_template_is_refused_everywhere(
    tmp_path: Path, before: str, after: str, key: str, do: str
) -> None:
    text = GOOD.replace(before, after, 1)
    with pytest.raises(SettingsError, match=rf"{key} is still the template's … - {do}"):
        load_settings(written(tmp_path, text))


def test_a_company_may_have_three_dots_in_its_name(tmp_path: Path) -> None:
    text = GOOD.replace("Harbour Lane Trading NV", "And so on… NV")
    assert load_settings(written(tmp_path, text)).workspace.company == "And so on… NV"


@pytest.mark.parametrize(
    ("block", "why"),
    [
        ('account = "NL05 TEST 0417 1643 00"\nsource = "own_bank"', "is declared twice in EUR"),
        ('account = "NL05TEST0417164300"\nsource = "provider_report"\ncurrency = "USD"',
         "has two sources"),
        ('account = "BE1"\nsource = "own_bank"\ncurrency = "euro"', "which is not a currency"),
        ('account = "BE1"\nsource = "own_bank"\nopened = 2026-10-02\nclosed = 2026-10-01',
         "before it opened on 2026-10-02"),
        ('account = "BE1"\nsource = "own_bank"\nstatement_days = []', "has no statement_days"),
        ('account = "BE1"\nsource = "own_bank"\nstatement_days = ["friday"]', "Invalid enum value"),
    ],
)  # fmt: skip
def test_an_impossible_account_is_refused(tmp_path: Path, block: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why):
        load_settings(written(tmp_path, f"{GOOD}\n[[accounts]]\n{block}\n"))


def test_a_sandbox_may_change_its_port(tmp_path: Path) -> None:
    pin_environment(tmp_path, load_settings(written(tmp_path, SANDBOX)))
    pin_environment(tmp_path, load_settings(written(tmp_path, SANDBOX.replace("8000", "8001"))))


def test_a_secret_may_be_in_the_keyring() -> None:
    import keyring
    from keyring.backend import KeyringBackend

    class Memory(KeyringBackend):
        priority = 1  # type: ignore[assignment]  # the backend's own class property

        def get_password(self, service: str, username: str) -> str | None:
            return CANARY if (service, username) == ("treasury", "maker") else None

        def set_password(self, service: str, username: str, password: str) -> None:
            raise AssertionError("nothing is written to the keyring")

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        assert Credential("maker", "keyring:treasury/maker").secret().reveal() == CANARY
        with pytest.raises(SettingsError, match="the keyring has no entry treasury/other"):
            Credential("maker", "keyring:treasury/other").secret()
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize("gone", ["not installed", "no backend", "locked"])
def test_a_missing_keyring_names_the_next_step(gone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backends.fail import Keyring as NoBackend
    from keyring.errors import KeyringLocked

    class Locked(NoBackend):
        def get_password(self, service: str, username: str) -> str | None:
            raise KeyringLocked

    before = keyring.get_keyring()
    keyring.set_keyring(Locked() if gone == "locked" else NoBackend())
    if gone == "not installed":
        monkeypatch.setitem(sys.modules, "keyring", None)
    try:
        with pytest.raises(SettingsError, match="no secret for maker: ") as error:
            Credential("maker", "keyring:treasury/maker").secret()
    finally:
        keyring.set_keyring(before)
    words = {
        "not installed": r"pip install treasury-toolkit\[keyring\]",
        "no backend": "this machine has no keyring",
        "locked": r"does not answer \(KeyringLocked\)",
    }
    assert re.search(words[gone], str(error.value))


ADDRESSES = (
    f"postgresql://ann:{CANARY}@db.example.test/journal",
    f"postgresql+psycopg://ann:{CANARY}/x@db.example.test/journal",
    f"postgresql://:{CANARY}@[::1]/journal",
    f"postgresql://ann:{CANARY}[@db.example.test/journal",
    f"postgresql://db.example.test/journal?user=ann&password={CANARY}",
    f"postgresql://db.example.test/journal?PASSWORD={CANARY}",
    f"postgresql://db.example.test/journal?p%61ssword={CANARY}",
    f"postgresql://db.example.test/journal?sslmode=require;sslpassword={CANARY}",
    f"postgresql://db.example.test/journal?oauth_client_secret={CANARY}",
    f"postgresql:///journal?scram_client_key={CANARY}",
)


@pytest.mark.parametrize("url", ADDRESSES)
def test_a_password_in_the_journals_address_is_refused_and_shown_nowhere(
    tmp_path: Path, url: str
) -> None:
    folder = written(tmp_path, GOOD + f'[journal]\nurl = "{url}"\n')
    with pytest.raises(SettingsError, match=r"journal\.url holds a password") as error:
        load_settings(folder)
    assert CANARY not in "".join(shown_with_variables(error.value))


@pytest.mark.parametrize("mistake", ["other = 1", 'url = "x" x', "[[journal]]"])
def test_no_other_settings_error_shows_the_password(tmp_path: Path, mistake: str) -> None:
    text = f'{GOOD}[journal]\npassword = "{CANARY}"\nurl = "postgresql://h/j"\n{mistake}\n'
    with pytest.raises(SettingsError) as error:
        load_settings(written(tmp_path, text))
    assert CANARY not in "".join(shown_with_variables(error.value))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann@db.example.test:5432/journal",
        "postgresql://db.example.test/journal?passfile=/home/ann/.pgpass&sslkey=/home/ann/key",
        "sqlite:////srv/journal.db",
    ],
)
def test_an_address_without_a_password_is_accepted(tmp_path: Path, url: str) -> None:
    place = load_settings(written(tmp_path, GOOD + f'[journal]\nurl = "{url}"\n')).journal
    assert place is not None
    assert place.url == url


def test_a_refused_database_password_is_in_no_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("JOURNAL_PASSWORD", CANARY)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"postgresql+psycopg://ann@127.0.0.1:{nobody.getsockname()[1]}/journal"
        place = JournalPlace(url=url, password="env:JOURNAL_PASSWORD")
        with pytest.raises(JournalError) as error:
            Journal(place.url, password=place.secret()).entries()
    assert CANARY not in "".join(shown_with_variables(error.value))


def shown_with_variables(error: BaseException) -> Iterator[str]:
    """Yield the texts of an error and its causes, and the local variables outside this file."""
    part: TracebackException | None = TracebackException.from_exception(error, capture_locals=True)
    while part is not None:
        yield str(part)
        yield from (str(frame.locals) for frame in part.stack if frame.filename != __file__)
        part = part.__cause__ or (None if part.__suppress_context__ else part.__context__)


@pytest.mark.parametrize("key", ["token_url", "finance.base_url", "ramp.base_url"])
def test_an_address_of_a_service_holds_no_password(tmp_path: Path, key: str) -> None:
    lines = [
        f'{key} = "https://ann:{CANARY}@bank.example.test/v1"' if line.startswith(key) else line
        for line in GOOD.splitlines()
    ]
    with pytest.raises(SettingsError, match=rf"services\.{key} holds a password") as error:
        load_settings(written(tmp_path, "\n".join(lines)))
    assert CANARY not in str(error.value)


@pytest.mark.parametrize("name", ["treasury.toml", "environment", "policy.toml", "rules.toml"])
@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder", "not UTF-8"])
def test_a_settings_path_that_is_not_a_regular_file_is_an_error(
    tmp_path: Path, name: str, kind: str
) -> None:
    settings = load_settings(written(tmp_path, GOOD))
    path = tmp_path / name
    path.unlink(missing_ok=True)
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    elif kind == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"caf\xe9 = 1")
    readers: dict[str, Callable[[], object]] = {
        "treasury.toml": lambda: load_settings(tmp_path),
        "environment": lambda: is_pinned(tmp_path, settings),
        "policy.toml": lambda: load_policy(tmp_path),
        "rules.toml": lambda: load_rules(path),
    }
    with pytest.raises(SettingsError, match=rf"{name}.* {kind}") as caught:
        readers[name]()
    assert caught.value.do


@pytest.mark.parametrize("deep", [f"a = {'[' * 5000}{']' * 5000}", f"[a{'.a' * 5000}]"])
def test_deeply_nested_settings_are_an_error_of_the_file(tmp_path: Path, deep: str) -> None:
    with pytest.raises(SettingsError, match=r"treasury\.toml: it is nested too deeply"):
        load_settings(written(tmp_path, f"{deep}\n"))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[workspace]\ncompany = 'H'\nnow = 9999-12-31T23:59:59-23:59", "between 1970 and 2199"),
        ("[workspace]\ncompany = 'H'\nnow = 0001-01-01T00:00:00+23:59", "between 1970 and 2199"),
        (f"[workspace]\ncompany = 'H'\nshared = {'9' * 5000}", "a number in it is too large"),
        (f"[workspace]\ncompany = 'H'\n{'x' * 500_000} = 1", "a key in it is too long"),
        (f"a{'.a' * 100_000} = 1", "nested too deeply"),
        (f"a = [{'1,' * 5_000_000}]", "longer than 2 MB"),
    ],
    ids=["latest", "earliest", "digits", "key", "parts of a key", "length"],
)  # fmt: skip
def test_oversized_values_are_refused_quickly_in_one_short_line(
    tmp_path: Path, text: str, why: str
) -> None:
    (tmp_path / "treasury.toml").write_text(text)
    with pytest.raises(SettingsError, match=why) as error:
        load_settings(tmp_path)
    assert len(str(error.value)) < 1000


def test_a_workspace_whose_path_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    (folder / "treasury.toml").write_text(GOOD)
    with pytest.raises(InputError, match="is not UTF-8"):
        load_settings(folder)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"https://login.example.test/token"', f'"https:/ann:{CANARY}@login.example.test/token"'),
        ('"https://login.example.test/token"', f'"ann:{CANARY}@login.example.test"'),
        ('"https://login.example.test/token"', f'"https://{CANARY}@login.example.test/token"'),
        ('"https://login.example.test/token"', f'"https://[{CANARY}"'),
        ('"https://login.example.test/token"', f'"https://login.example.test:{CANARY}/token"'),
        ('"https://login.example.test/token"', f'"{CANARY}"'),
        ('"env:CANARY_SECRET"', f'"{CANARY}"'),
        ('"env:CANARY_SECRET"', f'"env: {CANARY}"'),
        ("[[accounts]]", f'[journal]\nurl = "postgresql:/ann:{CANARY}@h/j"\n[[accounts]]'),
        ("[[accounts]]", f'[journal]\nurl = "ann:{CANARY}@h/j"\n[[accounts]]'),
        ("[[accounts]]", f'[journal]\npassword = "{CANARY}"\n[[accounts]]'),
        ("[[accounts]]", f'[engine]\naddress = "spark {CANARY}"\n[[accounts]]'),
        ("[[accounts]]", f'[engine]\naddress = "local"\ntoken = "{CANARY}"\n[[accounts]]'),
        ("[[accounts]]", f'[notices.webhooks.x]\nurl = "{CANARY}"\n[[accounts]]'),
        ("[[accounts]]", f'[notices.webhooks.x]\nurl = "http://h/{CANARY}"\n[[accounts]]'),
        ("[[accounts]]", f'[notices.webhooks.x]\nurl = ["{CANARY}"]\n[[accounts]]'),
        ("[[accounts]]", f'[notices.webhooks.x]\nurl = "env:X"\ntoken = "{CANARY}"\n[[accounts]]'),
    ],
)
def test_a_secret_typed_by_mistake_is_refused_and_shown_nowhere(
    tmp_path: Path, before: str, after: str
) -> None:
    assert before in GOOD
    with pytest.raises(SettingsError, match=r"treasury\.toml") as error:
        load_settings(written(tmp_path, GOOD.replace(before, after, 1)))
    assert CANARY not in "".join(shown_with_variables(error.value))


def test_constructed_settings_show_none_of_their_values() -> None:
    wrong = f"https:/ann:{CANARY}@h"
    settings = Settings(
        workspace=CompanySettings(company="Harbour"),
        services=Services(token_url=wrong, finance=Service(wrong), ramp=Service(wrong)),
        credentials={"maker": Credential("maker", CANARY)},
        journal=JournalPlace(url=wrong, password=CANARY),
        engine=SparkEngine(address=wrong, token=CANARY),
        lake=LakePlace(home=wrong),
        notices=NoticeTerms(
            smtp=MailServer(host=wrong, sender="t@h.test", password=CANARY),
            webhooks={"desk": Webhook(url=Secret(wrong), token=CANARY)},
        ),
    )
    parts = [settings, *(getattr(settings, name) for name in settings.__struct_fields__)]
    parts += [settings.credentials["maker"], settings.services and settings.services.finance]
    assert settings.notices is not None
    parts += [settings.notices.smtp, settings.notices.webhooks["desk"]]
    console = Console(file=io.StringIO(), width=200)
    for part in parts:
        console.print(part, Pretty(part, expand_all=True))
        shown = f"{part} {part!r} {[part]} {pformat(part)} {console.file.getvalue()}"  # type: ignore[attr-defined]
        assert CANARY not in shown


@pytest.mark.parametrize(
    "url",
    [
        "https://x.webhook.example.test/webhookb2/a1@b2/IncomingWebhook/c3",
        "https://hooks.example.test/T0/B0/x",
        "http://127.0.0.1:8000/hook",
        "keyring:treasury/webhook",
    ],
)
def test_a_webhook_address_is_treated_as_a_secret(tmp_path: Path, url: str) -> None:
    text = f'{GOOD}[notices.webhooks.x]\nurl = "{url}"\n'
    notices = load_settings(written(tmp_path, text)).notices
    assert notices is not None
    assert notices.webhooks["x"].url.reveal() == url
