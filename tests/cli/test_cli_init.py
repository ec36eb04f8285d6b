"""`treasury init`: its prompts and tests, and no half-written file is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from terminals import on_terminal

from treasury import Workspace
from treasury.cli import treasury
from treasury.core.errors import (
    BadCredentials,
    InputError,
    SettingsError,
    StatementError,
    TreasuryError,
)
from treasury.core.settings import load_settings
from treasury.sandbox import Sandbox, Served

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
CAMT = next(SAMPLE.glob("*.xml"))
CSV = """\
Datum;Omschrijving;Bedrag;Saldo
01-10-2026;Invoice 1;"1.234,56";"1.234,56"
02-10-2026;Charge;-12,00;"1.222,56"
"""


@pytest.fixture
def served(company: Sandbox) -> Iterator[Served]:
    with company.serve() as serving:
        yield serving


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Write the maker's secret to a file; return its place as the settings name it."""
    path = tmp_path / "maker.secret"
    path.write_text("sandbox-maker-secret\n", "utf-8")
    return f"file:{path}"


def init(folder: Path, *given: str, answers: str | None = None) -> Result:
    arguments = ["-w", str(folder), "init", *given, "--ask" if answers else "--no-ask"]
    return CliRunner().invoke(treasury, arguments, input=answers, catch_exceptions=False)


def addresses(served: Served) -> tuple[str, ...]:
    return (
        "--environment", "sandbox", "--token-url", served.token_url,
        "--finance-url", served.finance_url, "--ramp-url", served.ramp_url,
    )  # fmt: skip


@pytest.mark.acceptance
def test_omitted_answers_are_left_out_of_settings_that_load(tmp_path: Path) -> None:
    assert init(tmp_path, "--company", 'A "quoted" \\ name').exit_code == 0
    settings = load_settings(tmp_path)
    assert settings.workspace.company == 'A "quoted" \\ name'
    assert (settings.services, settings.credentials, settings.accounts) == (None, {}, ())


@pytest.mark.parametrize("char", [*"[]%?*", "\\"])
def test_a_folder_whose_path_is_a_glob_pattern_is_refused(tmp_path: Path, char: str) -> None:
    folder = tmp_path / f"desk {char}41 b"
    with pytest.raises(InputError, match="a lake's path cannot contain") as refused:
        init(folder, "--company", "Odd")
    assert repr(char) in refused.value.what
    assert "choose a folder" in refused.value.do
    assert not folder.exists()
    folder.mkdir()
    with pytest.raises(InputError, match="a lake's path cannot contain"):
        Workspace(folder)


@pytest.mark.acceptance
def test_init_by_options_tries_each_connection(tmp_path: Path, served: Served, place: str) -> None:
    given = ("--credential", "maker", "harbour-maker", place, "--bank-file", str(CAMT))
    done = init(tmp_path / "desk", "--company", "Harbour", *addresses(served), *given)
    assert done.exit_code == 0, done.output
    assert "maker: the secret was found, and both services answer" in done.stdout
    settings = load_settings(tmp_path / "desk")
    assert settings.services is not None
    assert settings.services.token_url == served.token_url
    assert settings.credential("maker").client_id == "harbour-maker"
    (account,) = settings.accounts
    assert (account.currency, account.source) == ("EUR", "own_bank")
    assert f"{account.account} EUR: " in done.stdout
    assert "movements, proved: opening EUR" in done.stdout
    assert done.stdout.endswith("next: run `treasury sync`\n")


@pytest.mark.parametrize("wrong", ["secret", "no place", "address", "environment", "file", "csv"])
def test_a_failing_step_writes_nothing(
    tmp_path: Path, served: Served, place: str, wrong: str
) -> None:
    desk, secret = tmp_path / "desk", tmp_path / "other.secret"
    secret.write_text("guessed", "utf-8")
    unknown = tmp_path / "unknown.csv"
    unknown.write_text(CSV, "utf-8")
    at = addresses(served)
    credential = ("--credential", "maker", "harbour-maker")
    cases: dict[str, tuple[type[TreasuryError], tuple[str, ...]]] = {
        "secret": (BadCredentials, (*at, *credential, f"file:{secret}")),
        "no place": (SettingsError, (*at, *credential, "env:NOBODY_SET_IT")),
        "address": (InputError, (*at[:-2], *credential, place)),
        "environment": (SettingsError, (*at[2:], "--environment", "production")),
        "file": (StatementError, ("--bank-file", str(tmp_path / "missing.xml"))),
        "csv": (StatementError, ("--bank-file", str(unknown))),
    }
    error, given = cases[wrong]
    with pytest.raises(error):
        init(desk, "--company", "Harbour", *given)
    assert not desk.exists()


def test_init_asks_on_a_terminal_and_repeats_a_question_after_a_wrong_answer(
    tmp_path: Path, served: Served, place: str
) -> None:
    right = (served.token_url, served.finance_url, served.ramp_url)
    answers = [
        "Harbour Lane", "y",
        "sandbox", "ftp://nowhere",
        "sandbox", *right, "harbour-maker", "env:NOBODY_SET_IT", "",
        "sandbox", *right, "harbour-maker", place, "",
        str(tmp_path / "missing.xml"), "own_bank",
        str(CAMT), "own_bank", "",
    ]  # fmt: skip
    done = init(tmp_path / "desk", answers="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.output
    assert "ftp://nowhere is not https" in done.stderr
    assert "environment variable NOBODY_SET_IT is not set" in done.stderr
    assert "missing.xml" in done.stderr
    settings = load_settings(tmp_path / "desk")
    assert settings.workspace.company == "Harbour Lane"
    assert list(settings.credentials) == ["maker"]
    assert len(settings.accounts) == 1


@pytest.mark.acceptance
def test_a_company_that_presses_return_has_no_services_and_is_asked_for_its_environment(
    tmp_path: Path,
) -> None:
    done = init(tmp_path / "desk", answers="Harbour Lane\n\nproduction\n\n")
    assert done.exit_code == 0, done.output
    assert "Do you use the payment services? [y/N]" in done.stdout
    settings = load_settings(tmp_path / "desk")
    assert settings.services is None
    assert settings.workspace.environment == "production"


@pytest.mark.acceptance
def test_an_environment_that_was_not_chosen_is_printed(tmp_path: Path) -> None:
    done = init(tmp_path / "one", "--company", "Harbour")
    assert "environment: staging; --environment chooses another" in done.stdout
    done = init(tmp_path / "two", "--company", "Harbour", "--environment", "production")
    assert "environment:" not in done.stdout


@pytest.mark.acceptance
def test_init_assumes_that_the_payment_services_are_not_used(tmp_path: Path) -> None:
    done = init(tmp_path / "desk", answers=f"Harbour Lane\n\n\n{CAMT}\nown_bank\n\n")
    assert done.exit_code == 0, done.output
    assert "Do you use the payment services? [y/N]" in done.output
    assert load_settings(tmp_path / "desk").services is None
    assert len(Workspace(tmp_path / "desk").statements.list()) == 1
    assert "the first month is " in done.output


def test_an_aborted_init_leaves_no_file(tmp_path: Path) -> None:
    done = init(tmp_path / "desk", answers="Harbour Lane\ny\nsandbox\n")
    assert done.exit_code == 1
    assert not (tmp_path / "desk").exists()


def test_a_csv_is_declared_with_the_given_account_and_currency(tmp_path: Path) -> None:
    path = tmp_path / "bank.csv"
    path.write_text(CSV, "utf-8")
    given = ("--account", "BE71096123456769", "--currency", "EUR", "--bank-file", str(path))
    assert init(tmp_path / "desk", "--company", "Harbour", *given).exit_code == 0
    (account,) = load_settings(tmp_path / "desk").accounts
    assert (account.account, account.currency) == ("BE71096123456769", "EUR")


@pytest.mark.acceptance
def test_a_file_without_balances_is_declared_without_days(tmp_path: Path) -> None:
    path = tmp_path / "bank.csv"
    path.write_text(
        "Datum;Omschrijving;Bedrag\n01-10-2026;Invoice 1;12,50\n02-10-2026;Charge;-2,50\n", "utf-8"
    )
    given = ("--account", "BE71096123456769", "--currency", "EUR", "--bank-file", str(path))
    done = init(tmp_path / "desk", "--company", "Harbour", *given)
    assert "BE71096123456769 EUR: no balances, 2 movements" in done.stdout


@pytest.mark.acceptance
def test_bank_files_alone_are_read_proved_and_exported_and_the_status_names_the_missing_rest(
    tmp_path: Path,
) -> None:
    desk = tmp_path / "desk"
    done = init(desk, "--company", "Harbour", "--bank-file", str(CAMT))
    assert "the bank files are stored; the first month is " in done.stdout
    assert "STATEMENTS   1 of 1 proved" in done.stdout
    run = CliRunner()

    def ask(*arguments: str) -> Result:
        return run.invoke(treasury, ["-w", str(desk), *arguments], catch_exceptions=False)

    stored = Workspace(desk).statements.list().arrow.to_pylist()
    month = f"{stored[0]['closing_date']:%Y-%m}"
    lines = ask("reconcile", "--month", month, "--format", "csv")
    assert lines.exit_code == 0
    assert len(lines.stdout.splitlines()) == 1 + stored[0]["entry_count"]
    status = ask("status", "--month", month)
    assert "STATEMENTS   1 of 1 proved" in status.stdout
    assert "\nFEES         not used here" in status.stdout
    exported = ask("export", "--month", month, "--out", str(tmp_path / "books"))
    assert exported.exit_code == 0
    assert (tmp_path / "books" / "journal.csv").is_file()


@pytest.mark.acceptance
def test_hostile_answers_on_a_terminal_are_rejected_and_write_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    answers = (
        "\u202eevil\x1b[31m\nHarbour\ny\nst\u0430ging\nstaging\nhttp://evil.example.test/t\n\x04"
    )
    code, shown = on_terminal(folder, "init", answers=answers)
    assert code == 1
    assert "treasury: '\\u202eevil\\x1b[31m' is not a company's name" in shown
    assert "is not one of 'sandbox', 'staging', 'production'" in shown
    assert "treasury: http://evil.example.test is not https" in shown
    assert "treasury: stopped" in shown
    assert "Traceback" not in shown
    assert not folder.exists()
