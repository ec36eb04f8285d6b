"""The verbs for bank files: read, check, profile, and the coverage of each account."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from treasury import Workspace
from treasury.cli import treasury
from treasury.core.errors import InputError

SAMPLE = Path(__file__).resolve().parents[2] / "data" / "sample"
CAMT = next(SAMPLE.glob("*.xml"))
CSV = """Datum;Omschrijving;Bedrag;Saldo
01-10-2026;Invoice 1;"1.234,56";"1.234,56"
02-10-2026;Charge;-12,00;"1.222,56"
"""


def run(*arguments: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(treasury, arguments, input=given, catch_exceptions=False)


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_read_prints_every_entry_and_stores_nothing(tmp_path: Path, form: str) -> None:
    done = run("-w", str(tmp_path), "statements", "read", str(CAMT), "--format", form)
    assert done.exit_code == 0
    if form == "json":
        rows = json.loads(done.stdout)
        assert len(rows) == 15
        assert all(isinstance(row["amount"], str) for row in rows)
    assert not (tmp_path / "lake").exists()


def test_read_takes_standard_input(tmp_path: Path) -> None:
    arguments = ("-w", str(tmp_path), "statements", "read", "-", "--format", "json")
    done = run(*arguments, given=CAMT.read_bytes())
    assert len(json.loads(done.stdout)) == 15


def test_check_exits_1_if_any_proof_fails(tmp_path: Path) -> None:
    assert run("-w", str(tmp_path), "statements", "check", str(CAMT)).exit_code == 0
    wrong = tmp_path / "wrong.xml"
    text = CAMT.read_text("utf-8")
    at = text.rindex("<Ntry>")
    wrong.write_text(text[:at] + text[text.index("</Ntry>", at) + len("</Ntry>") :], "utf-8")
    done = run("-w", str(tmp_path), "statements", "check", str(wrong))
    assert done.exit_code == 1
    assert "wrong.xml" in done.stdout.replace("\n", "")


@pytest.mark.parametrize("content", [CAMT.read_bytes()[:-20], b"not a statement", b""])
def test_check_exits_1_and_gives_the_reason_if_a_file_is_refused(
    tmp_path: Path, content: bytes
) -> None:
    refused = tmp_path / "refused.xml"
    refused.write_bytes(content)
    arguments = ("check", str(refused), str(CAMT), "--format", "json")
    done = run("-w", str(tmp_path), "statements", *arguments)
    assert done.exit_code == 1
    assert [(row["file_name"], row["proved"]) for row in json.loads(done.stdout)] == [
        (CAMT.name, True)
    ]
    assert done.stderr.startswith("treasury: refused.xml: ")
    assert " - " in done.stderr


def test_check_continues_after_a_refused_file_and_names_each(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (inbox / "good.xml").write_bytes(CAMT.read_bytes())
    (inbox / "cut.xml").write_bytes(CAMT.read_bytes()[:-20])
    with zipfile.ZipFile(inbox / "some.zip", "w") as archive:
        archive.writestr("inside.xml", CAMT.read_bytes()[:-9])
        archive.writestr("photo.jpg", b"not a statement")
    (inbox / "torn.zip").write_bytes((inbox / "some.zip").read_bytes()[:-30])
    files = (str(tmp_path / "missing.xml"), str(inbox), str(tmp_path / "*.sta"), str(CAMT))
    done = run("-w", str(tmp_path), "statements", "check", *files, "--format", "json")
    assert done.exit_code == 1
    assert [row["file_name"] for row in json.loads(done.stdout)] == ["good.xml", CAMT.name]
    said = [line for line in done.stderr.splitlines() if line.startswith("treasury: ")]
    named = ("missing.xml", "cut.xml", "some.zip/inside.xml", "torn.zip", "*.sta")
    assert [name for name, line in zip(named, said, strict=True) if name not in line] == []
    assert "some.zip/photo.jpg: left out" in done.stderr


def test_read_exits_1_if_an_archive_contains_no_statement(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("blank.txt", b"")
    done = run("-w", str(tmp_path), "statements", "read", str(tmp_path / "some.zip"))
    assert done.exit_code == 1
    assert "some.zip/blank.txt: left out: an empty file" in done.stderr


def test_profile_proposes_a_csv_profile_and_previews_its_rows(
    tmp_path: Path,
) -> None:
    path = tmp_path / "unknown.csv"
    path.write_text(CSV, "utf-8")
    done = run("-w", str(tmp_path), "statements", "profile", str(path))
    assert done.exit_code == 0
    assert "1,234.56" in done.stdout or "1234.56" in done.stdout
    assert "Bedrag" in done.stdout


THOUSANDS = """Buchungstag;Name;Verwendungszweck;Betrag;Saldo
05.10.2026;A;Miete;-3.000;7.000
06.10.2026;B;Lohn;2.000;9.000
"""


@pytest.mark.parametrize("options", [(), ("--save",), ("--yes",), ("--save", "--yes")])
def test_profile_asks_about_missing_facts_and_stores_nothing_before_the_answer(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    path = tmp_path / "bank.csv"
    path.write_text(THOUSANDS, "utf-8")
    done = run("-w", str(tmp_path), "statements", "profile", str(path), *options)
    assert done.exit_code == 1
    assert "decimal: thousands or decimals" in done.stdout
    assert "answer it with --answer decimal=ANSWER" in done.stdout
    assert ("nothing is saved" in done.stderr) == bool(options)
    assert not (tmp_path / "profiles").exists()


@pytest.mark.parametrize("option", ["--save", "--yes"])
def test_profile_stores_the_answers_and_read_uses_them(tmp_path: Path, option: str) -> None:
    path = tmp_path / "bank.csv"
    path.write_text(THOUSANDS, "utf-8")
    arguments = ("-w", str(tmp_path), "statements")
    done = run(*arguments, "profile", str(path), "--answer", "decimal=,", option)
    assert done.exit_code == 0
    assert 'decimal = ","' in (tmp_path / "profiles" / "bank.toml").read_text("utf-8")
    listed = run(*arguments, "read", str(path), "--format", "json")
    assert [row["amount"] for row in json.loads(listed.stdout)] == ["3000.00", "2000.00"]


def test_profile_asks_one_question_at_a_time_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "card.csv"
    path.write_text(
        "Datum;Text;Karte;Betrag\n05.10.2026;a;1;3.000\n06.10.2026;b;1;2.000\n", "utf-8"
    )
    monkeypatch.setattr("treasury.cli.commands.files.statements._is_terminal", lambda: True)
    arguments = ("-w", str(tmp_path), "statements", "profile", str(path), "--save")
    done = run(*arguments, given=b"1\n2\n")
    assert done.exit_code == 0
    kept = (tmp_path / "profiles" / "card.toml").read_text("utf-8")
    assert 'decimal = ","' in kept
    assert 'positive = "out"' in kept


def test_check_exits_1_if_a_file_waits_for_an_answer(tmp_path: Path) -> None:
    path = tmp_path / "bank.csv"
    path.write_text(THOUSANDS, "utf-8")
    done = run("-w", str(tmp_path), "statements", "check", str(CAMT), str(path))
    assert done.exit_code == 1
    assert "thousands or decimals" in done.stderr


def test_profile_lists_omitted_columns(tmp_path: Path) -> None:
    path = tmp_path / "bank.csv"
    path.write_text("Datum;Text;Betrag;Filiale\n05.10.2026;a;-1,50;Nord\n", "utf-8")
    done = run("-w", str(tmp_path), "statements", "profile", str(path))
    assert done.exit_code == 0
    assert "# not used: Filiale (Nord)" in done.stdout


def test_profile_refuses_an_unknown_answer(tmp_path: Path) -> None:
    path = tmp_path / "bank.csv"
    path.write_text(THOUSANDS, "utf-8")
    with pytest.raises(InputError, match="'decimal' is not an answer"):
        run("-w", str(tmp_path), "statements", "profile", str(path), "--answer", "decimal")


def test_coverage_shows_the_last_covered_day_of_each_account(month_end: Workspace) -> None:
    folder = str(month_end.folder)
    done = run("-w", folder, "statements", "list", "--coverage", "--format", "json")
    rows = {row["account"]: row for row in json.loads(done.stdout)}
    assert set(rows) == {account.account for account in month_end.settings.accounts}
    assert {row["covered_to"] for row in rows.values()} == {"2026-10-31"}
