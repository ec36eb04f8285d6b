"""Limits on money with the provider: read exactly, and put in force by two people."""

from __future__ import annotations

import shutil
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner
from exposure_samples import ZONE

from treasury.actions.policies.policy import load_policy, parse_policy
from treasury.cli import treasury
from treasury.close.valuation.exposure.exposure_limits import ExposureLimits
from treasury.core.errors import ActionRefused, InputError, SettingsError
from treasury.journal import Actor, Journal
from treasury.workspace import Workspace

ANNA, BERT = Actor("anna", "environment"), Actor("bert", "environment")
POLICY = '[exposure]\ntotal = "400000.00"\n\n[exposure.currencies]\nEUR = 250000\nUSDC = "0.5"\n'


@pytest.fixture
def limits(tmp_path: Path) -> ExposureLimits:
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    return ExposureLimits(Journal(tmp_path), lambda: load_policy(tmp_path), zone=ZONE)


def in_force(folder: Path) -> dict[str, Decimal]:
    rows = ExposureLimits.in_force(Journal(folder).entries()).to_pylist()
    return {row["scope"]: row["limit"] for row in rows}


# The policy file


def test_limits_are_read_exactly() -> None:
    limits = parse_policy(POLICY, Path("policy.toml")).exposure
    assert limits is not None
    assert limits.total == Decimal("400000.00")
    assert limits.currencies == {"EUR": Decimal(250000), "USDC": Decimal("0.5")}
    assert parse_policy("", Path("policy.toml")).exposure is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("total = 1.5", "line 2: exposure.total: 1.5 is a float in TOML - write it in quotes"),
        ("total = 1e3", "line 2: exposure.total: 1E.3 is a float in TOML"),
        ("total = inf", "line 2: exposure.total: Infinity is not a limit - delete the line"),
        ("total = nan", "line 2: exposure.total: NaN is not a limit"),
        ("total = true", "line 2: exposure.total: bool is not an exact amount"),
        ('total = "lots"', "line 2: exposure.total: 'lots' is not a number"),
        ('total = "1e9"', "line 2: exposure.total: '1e9' is not an amount - write it as 1234.56"),
        ("total = -1", "line 2: exposure.total: a limit of -1 is below zero"),
        ('total = "100000000000000000000000"', "exposure.total: .* has more than 20 digits"),
        ("\n# all\nmost = 3", "unknown field `most`"),
        ("currencies = 4", "Expected `object`, got `int` - at `\\$.exposure.currencies`"),
        ("[exposure.currencies]\nXYZ = 4", "currencies.XYZ: 'XYZ' is not a currency"),
        ("[exposure.currencies]\neur = 4", "'eur' is not a currency or coin - write EUR"),
        ("[exposure.currencies]\nall = 4", "'all' is not a currency"),
        ('[ exposure . currencies ]\n"EUR" = 0.5', "line 3: .*currencies.EUR: 0.5 is a float"),
        ("currencies.EUR = 2.5", "exposure.currencies.EUR: 2.5 is a float"),
    ],
)  # fmt: skip
def test_an_invalid_limit_is_refused_by_its_line(text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as refused:
        parse_policy(f"[exposure]\n{text}\n", Path("policy.toml"))
    assert str(refused.value).startswith("policy.toml: ")


def test_a_hostile_currency_is_escaped_and_shortened() -> None:
    text = f'[exposure.currencies]\n"{"x" * 500}\\u202e" = 4\n'
    with pytest.raises(SettingsError) as refused:
        parse_policy(text, Path("policy.toml"))
    assert len(str(refused.value)) < 400
    assert "\u202e" not in str(refused.value)


# Proposing and accepting limits


def test_a_limit_applies_once_a_second_person_accepts_it(
    limits: ExposureLimits, tmp_path: Path
) -> None:
    assert in_force(tmp_path) == {}, "the file alone has no effect"
    waiting = limits.propose("the board said so", actor=ANNA).arrow.to_pylist()
    assert [(row["standing"], row["scope"], row["proposed_by"]) for row in waiting] == [
        ("waits for a second person", "all", "anna"),
        ("waits for a second person", "EUR", "anna"),
        ("waits for a second person", "USDC", "anna"),
    ]
    assert in_force(tmp_path) == {}
    with pytest.raises(ActionRefused, match="anna proposed these limits and cannot accept them"):
        limits.accept(actor=ANNA)
    accepted = limits.accept(actor=BERT).arrow.to_pylist()
    assert {(row["standing"], row["accepted_by"], row["alone"]) for row in accepted} == {
        ("in force", "bert", False)
    }
    assert in_force(tmp_path) == {"all": 400000, "EUR": 250000, "USDC": Decimal("0.5")}


def test_a_changed_limits_file_waits_and_must_match_the_proposal(
    limits: ExposureLimits, tmp_path: Path
) -> None:
    limits.propose("first", actor=ANNA)
    (tmp_path / "policy.toml").write_text(POLICY.replace("250000", "999999"), "utf-8")
    with pytest.raises(ActionRefused, match="differs from what anna proposed"):
        limits.accept(actor=BERT)
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    limits.accept(actor=BERT)
    (tmp_path / "policy.toml").write_text("", "utf-8")
    assert in_force(tmp_path)["EUR"] == 250000, "removing a line from the file lifts no limit"
    rows = limits.propose("no limits any more", actor=BERT).arrow.to_pylist()
    assert rows[-1]["standing"] == "waits for a second person: no limit"
    limits.accept(actor=ANNA)
    assert in_force(tmp_path) == {}
    assert limits.list().arrow.to_pylist() == []


def test_a_reason_is_required_and_only_a_proposal_can_be_accepted(
    limits: ExposureLimits, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="needs a reason"):
        limits.propose(" ", actor=ANNA)
    with pytest.raises(ActionRefused, match="no limits are proposed"):
        limits.accept(actor=BERT)
    assert list(Journal(tmp_path).entries()) == []


def test_a_one_person_desk_accepts_its_own_limits_and_is_marked(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(f"one_person = true\n{POLICY}", "utf-8")
    limits = ExposureLimits(Journal(tmp_path), lambda: load_policy(tmp_path), zone=ZONE)
    limits.propose("alone", actor=ANNA)
    assert {row["alone"] for row in limits.accept(actor=ANNA).arrow.to_pylist()} == {True}


def test_an_earlier_instant_has_its_own_limits(limits: ExposureLimits, tmp_path: Path) -> None:
    limits.propose("first", actor=ANNA)
    before = datetime(2020, 1, 1, tzinfo=ZONE)
    then = ExposureLimits(Journal(tmp_path), lambda: load_policy(tmp_path), until=before, zone=ZONE)
    assert then.list().arrow.to_pylist() == []
    with pytest.raises(InputError, match="no decisions can be made"):
        then.accept(actor=BERT)


@pytest.mark.acceptance
def test_the_doctor_names_limits_that_are_not_in_force(
    month_end: Workspace, tmp_path: Path
) -> None:
    shutil.copytree(month_end.folder, tmp_path / "desk", ignore=shutil.ignore_patterns("bank"))
    with (tmp_path / "desk" / "policy.toml").open("a", encoding="utf-8") as policy:
        policy.write(f"\n{POLICY}")
    desk = Workspace(tmp_path / "desk")

    def findings() -> list[str]:
        return [one.do for one in desk.doctor().findings if one.topic == "policy"]

    (step,) = findings()
    assert step.startswith("run `treasury exposure-limits --propose --reason")
    desk.exposure_limits.propose("board", actor=ANNA)
    assert findings() == [step]
    (waiting,) = desk.open_items("2026-10", kind="decision_waits")
    assert waiting.command == "treasury exposure-limits --accept"
    desk.exposure_limits.accept(actor=BERT)
    assert not desk.open_items("2026-10", kind="decision_waits").items
    assert findings() == []
    assert not ExposureLimits.differ(desk.journal.entries(), load_policy(desk.folder))


def test_the_command_shows_proposes_and_refuses(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "desk"
    shutil.copytree(month_end.folder, folder, ignore=shutil.ignore_patterns("bank"))
    with (folder / "policy.toml").open("a", encoding="utf-8") as policy:
        policy.write(f"\n{POLICY}")

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(
            treasury, ["--workspace", str(folder), "exposure-limits", *arguments]
        )
        return done.exit_code, done.output or str(done.exception)

    assert "no limit" in run()[1]
    assert run("--propose", "--accept")[0] == 2
    assert "--reason requires --propose" in run("--reason", "x")[1]
    monkeypatch.setenv("TREASURY_USER", "anna")
    assert "waits for a second person" in run("--propose", "--reason", "the board said so")[1]
    code, words = run("--accept")
    assert code == 1
    assert "anna proposed these limits and cannot accept them" in words
    monkeypatch.setenv("TREASURY_USER", "bert")
    assert "EUR 250,000.00" in run("--accept")[1]
    listed = run("--format", "csv")[1].splitlines()
    assert listed[1] == '"in force","all","400000.00","anna","bert","False","EUR"'
    assert listed[3] == '"in force","USDC","0.50","anna","bert","False","USDC"'
