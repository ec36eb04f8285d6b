"""The measurement of coins: no default, proposed from a file, accepted by a second person."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pytest
from click.testing import CliRunner
from coin_desk import ANNA, BERT, copied

from treasury.actions.policies.policy import Policy, load_policy
from treasury.cli import treasury
from treasury.close.valuation.coins.agreed_measurement import Measurement, coin_openings
from treasury.core.errors import ActionRefused, InputError, SettingsError
from treasury.journal import Journal
from treasury.workspace import Workspace

COIN = """\
[coins.measured.USDC]
measurement = "cost"
cost_formula = "fifo"
reversal = "none"
"""
POOL = '[coins]\npool = "entity"\n'
OPENING = """\
[[coins.openings]]
coin = "USDC"
day = 2026-09-30
quantity = "100.000001"
carrying_amount = "90.01"
"""
NOW = datetime(2026, 11, 2, 8, tzinfo=UTC)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


@pytest.fixture
def terms(tmp_path: Path, journal: Journal) -> Measurement:
    write(tmp_path, POOL + COIN + OPENING)
    return Measurement(
        journal, lambda: load_policy(tmp_path), lambda: NOW, zone=ZoneInfo("Europe/Brussels")
    )


def write(folder: Path, text: str) -> None:
    (folder / "policy.toml").write_text(text, "utf-8")


def test_terms_apply_once_a_second_person_accepts_them(
    terms: Measurement, journal: Journal
) -> None:
    assert terms.list().arrow.to_pylist() == [], "the file alone has no effect"
    (waiting,) = terms.propose("as agreed with the auditor", actor=ANNA).arrow.to_pylist()
    assert (waiting["standing"], waiting["coin"]) == ("waits for a second person", "USDC")
    assert Measurement.in_force(journal.entries()).num_rows == 0
    with pytest.raises(ActionRefused, match="anna proposed these terms of measurement"):
        terms.accept(actor=ANNA)
    (row,) = terms.accept(actor=BERT).arrow.to_pylist()
    assert (row["standing"], row["proposed_by"], row["accepted_by"], row["alone"]) == (
        "in force", "anna", "bert", False,
    )  # fmt: skip
    (measured,) = Measurement.in_force(journal.entries()).to_pylist()
    chosen = [measured[name] for name in ("measurement", "cost_formula", "reversal", "pool")]
    assert chosen == ["cost", "fifo", "none", "entity"]
    (opened,) = coin_openings(journal.entries()).to_pylist()
    assert opened == {
        "coin": "USDC",
        "pool": "",
        "day": date(2026, 9, 30),
        "quantity": Decimal("100.000001"),
        "carrying_amount": Decimal("90.01"),
    }
    assert terms.openings().arrow.to_pylist()[0]["standing"] == "in force"


def test_editing_the_file_changes_nothing_until_it_is_proposed_again(
    terms: Measurement, journal: Journal, tmp_path: Path
) -> None:
    terms.propose("as agreed", actor=ANNA)
    write(tmp_path, POOL + COIN.replace('"cost"', '"reserves"'))
    with pytest.raises(ActionRefused, match="differs from what anna proposed"):
        terms.accept(actor=BERT)
    write(tmp_path, POOL + COIN + OPENING)
    terms.accept(actor=BERT)
    write(tmp_path, "")
    assert Measurement.in_force(journal.entries()).num_rows == 1
    (_, waiting) = terms.propose("no longer", actor=BERT).arrow.to_pylist()
    assert waiting["standing"] == "waits for a second person: no coin is measured"
    terms.accept(actor=ANNA)
    assert Measurement.in_force(journal.entries()).num_rows == 0


def test_an_acceptance_by_the_proposer_is_void(terms: Measurement, journal: Journal) -> None:
    """Alter the entries, as if somebody had written the journal by hand."""
    terms.propose("as agreed", actor=ANNA)
    terms.accept(actor=BERT)
    entries = journal.entries()
    alone = [
        entries[0],
        msgspec.structs.replace(entries[1], actor=ANNA),
    ]
    assert Measurement.in_force(alone).num_rows == 0
    assert Measurement.in_force(entries).num_rows == 1


def test_a_one_person_policy_puts_terms_in_force_alone_and_marks_it(
    terms: Measurement, tmp_path: Path
) -> None:
    write(tmp_path, f"one_person = true\n{POOL}{COIN}")
    terms.propose("as agreed", actor=ANNA)
    (row,) = terms.accept(actor=ANNA).arrow.to_pylist()
    assert (row["accepted_by"], row["alone"]) == ("anna", True)
    assert Policy().coins is None, "nothing is measured by default"


def test_a_reason_and_a_month_that_has_ended_are_required(
    terms: Measurement, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="needs a reason"):
        terms.propose(" ", actor=ANNA)
    with pytest.raises(ActionRefused, match="no terms of measurement are proposed"):
        terms.accept(actor=BERT)
    write(tmp_path, POOL + COIN + OPENING.replace("2026-09-30", "2026-11-30"))
    with pytest.raises(InputError, match="is for 2026-11-30, which has not ended"):
        terms.propose("as agreed", actor=ANNA)


def test_an_amount_without_quotes_is_exact(
    terms: Measurement, journal: Journal, tmp_path: Path
) -> None:
    write(tmp_path, POOL + COIN + OPENING.replace('"100.000001"', "100.100000000000000001"))
    terms.propose("as agreed", actor=ANNA)
    terms.accept(actor=BERT)
    (opened,) = coin_openings(journal.entries()).to_pylist()
    assert opened["quantity"] == Decimal("100.100000000000000001")


WRONG = {
    "no measurement": (POOL + COIN.replace('measurement = "cost"\n', ""), "not set measurement"),
    "no formula": (POOL + COIN.replace('cost_formula = "fifo"\n', ""), "does not set cost_formula"),
    "no reversal": (POOL + COIN.replace('reversal = "none"\n', ""), "does not set reversal"),
    "no pool": (COIN, "coins does not set pool, which has no default"),
    "another measurement": (POOL + COIN.replace('"cost"', '"lifo"'), "lifo"),
    "another formula": (POOL + COIN.replace('"fifo"', '"lifo"'), "lifo"),
    "another key": (POOL + COIN + 'more = "x"\n', "more"),
    "no coin": (POOL + COIN.replace("USDC", '"us dc"'), "'us dc' is not a coin"),
    "an opening of a coin that is not measured": (
        POOL + COIN + OPENING.replace("USDC", "ETH"), "'ETH', which .* does not name",
    ),
    "an opening within a month": (
        POOL + COIN + OPENING.replace("09-30", "09-29"), "not the last day of a month",
    ),
    "an opening of nothing": (
        POOL + COIN + OPENING.replace("100.000001", "0"), "the quantity 0, which is not above 0",
    ),
    "an opening in parts of a cent": (
        POOL + COIN + OPENING.replace("90.01", "90.0010"), "not 0 or more whole cents",
    ),
    "an opening below zero": (
        POOL + COIN + OPENING.replace("90.01", "-90.01"), "not 0 or more whole cents",
    ),
    "not a number": (POOL + COIN + OPENING.replace("100.000001", "NaN"), "quantity"),
    "two openings": (POOL + COIN + OPENING + OPENING, "line 12: .* opens USDC a second time"),
    "a wallet of the one pool": (
        POOL + COIN + OPENING + 'wallet = "0xaa"\n', "names a wallet, but the pool is the entity",
    ),
    "no wallet of several": (
        POOL.replace("entity", "wallet") + COIN + OPENING, "names no wallet, but pools are wallets",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "problem"), WRONG.values(), ids=WRONG)
def test_invalid_terms_are_refused(
    terms: Measurement, journal: Journal, tmp_path: Path, text: str, problem: str
) -> None:
    write(tmp_path, text)
    with pytest.raises((SettingsError, InputError), match=rf"policy\.toml.*{problem}"):
        terms.propose("as agreed", actor=ANNA)
    assert journal.entries() == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("UDSC", "UDSC is not a known coin"),
        ("EUR", "EUR is a currency"),
        ("GBP", "GBP is a"),
    ],
)
def test_an_unknown_coin_is_refused_when_proposed_and_the_known_ones_are_named(
    terms: Measurement, journal: Journal, tmp_path: Path, name: str, problem: str
) -> None:
    write(tmp_path, POOL + COIN.replace("USDC", name))
    with pytest.raises(InputError, match=rf"coins\.measured\.{problem}") as refused:
        terms.propose("as agreed", actor=ANNA)
    assert "ETH, EURC, POL, USDC, USDS, USDT" in str(refused.value.do)
    assert journal.entries() == []


@pytest.mark.acceptance
def test_a_coin_named_by_rules_or_records_is_known(month_end: Workspace, tmp_path: Path) -> None:
    desk = copied(month_end, tmp_path / "desk")
    rules = desk.folder / "rules.toml"
    text = rules.read_text("utf-8") if rules.exists() else ""
    rules.write_text('coins_at_par = ["USDC/USD", "EURQ/EUR"]\n' + text, "utf-8")
    write(desk.folder, POOL + COIN.replace("USDC", "EURQ"))
    (waiting,) = (
        Workspace(desk.folder).measurement.propose("as agreed", actor=ANNA).arrow.to_pylist()
    )
    assert waiting["coin"] == "EURQ"


@pytest.mark.acceptance
def test_the_command_shows_and_changes_terms_and_the_doctor_reports_pending_ones(
    month_end: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = copied(month_end, tmp_path / "desk")
    write(desk.folder, POOL + COIN + OPENING)

    def run(*words: str) -> str:
        words = ("-w", str(desk.folder), "coins", *words)
        return CliRunner().invoke(treasury, words, catch_exceptions=False).output

    def found() -> list[str]:
        findings = Workspace(desk.folder).doctor().findings
        return [one.do for one in findings if one.topic == "policy"]

    (do,) = found()
    assert do.startswith("run `treasury coins measurement --propose --reason")
    assert "no coin is measured: disclosure only" in run("measurement")
    monkeypatch.setenv("TREASURY_USER", "anna")
    assert "waits for a second person" in run("measurement", "--propose", "--reason", "agreed")
    with pytest.raises(ActionRefused, match="cannot accept them"):
        run("measurement", "--accept")
    monkeypatch.setenv("TREASURY_USER", "bert")
    assert "in force" in run("measurement", "--accept")
    assert '"USDC","","2026-09-30","100.000001","90.01"' in run("openings", "--format", "csv")
    assert "are for two different people" in run("measurement", "--accept", "--propose")
    assert "requires --propose" in run("measurement", "--reason", "x")
    assert found() == []
