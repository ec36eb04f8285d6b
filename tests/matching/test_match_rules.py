"""Rules are validated data with a hash; matches show counts and exact amounts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from match_tables import arrow, expectation, line, match

from treasury import match_references
from treasury.core.errors import SettingsError
from treasury.matching.rules import ClassRule, Rules, load_rules


def test_the_hash_follows_the_content() -> None:
    assert Rules().hash == Rules().hash
    assert Rules(window_days=31).hash != Rules().hash
    assert match([line("a", "1", "x")], [expectation("r", "PAY-1", "1")]).rules_hash == Rules().hash


@pytest.mark.parametrize("source", [{"window_days": 10}, {}, "rules.toml", 5])
def test_invalid_rules_are_refused_by_name(source: Any) -> None:
    with pytest.raises(
        SettingsError, match=f"a {type(source).__name__} is not a Rules object - give Rules"
    ):
        match_references(
            arrow([line("a", "1", "x")]), arrow([expectation("r", "PAY-1", "1")]), rules=source
        )


def test_rules_are_read_from_toml(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        'window_days = 10\n[[classes]]\nname = "rent"\n'
        'line_class = "other_business"\nremittance = "^Rent"\n'
    )
    rules = load_rules(path)
    assert rules.window_days == 10
    assert rules.classes == (
        ClassRule(name="rent", line_class="other_business", remittance="^Rent"),
    )


def test_a_rule_inside_a_class_is_refused_with_its_right_place(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    rent = '[[classes]]\nname = "rent"\nline_class = "other_business"\nremittance = "^Rent"\n'
    path.write_text(f"{rent}cut_lengths = [35, 140]\n")
    with pytest.raises(SettingsError) as refused:
        load_rules(path)
    assert refused.value.do == "move cut_lengths above the first [[...]] table of the file"
    path.write_text(f"cut_lengths = [35, 140]\n{rent}")
    assert load_rules(path).cut_lengths == (35, 140)
    path.write_text(f"{rent}cut_length = [35, 140]\n")
    with pytest.raises(SettingsError, match=r"unknown field `cut_length`.* - correct that key"):
        load_rules(path)


def test_structured_references_placeholders_and_look_alikes_are_read_from_toml(
    tmp_path: Path,
) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(
        'structured = ["RF", "QRR"]\nplaceholders = ["KEINE"]\nlook_alikes = [["5", "S"]]\n'
    )
    rules = load_rules(path)
    assert rules.structured == ("RF", "QRR")
    assert (rules.placeholders, rules.look_alikes) == (("KEINE",), (("5", "S"),))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("window_day = 3", "window_day"),
        ("window_days = 'x'", "window_days"),
        ("[", "end of document"),
        ('structured = ["RFX"]', "structured"),
        ("min_segment = 0", "min_segment"),
        ("window_days = -1", "window_days"),
        ("max_words = 99999999999", "max_words"),
        ('look_alikes = [["", ""]]', "look_alikes"),
        ("conversion_band = -1", "conversion_band"),
        ("conversion_band = nan", "conversion_band"),
        ('one_to_one = ["EUR"]', "one_to_one"),
        ('[[classes]]\nname = "all"\nline_class = "bank_charge"', "'all' has no condition"),
        (
            '[[classes]]\nname = "rent"\nline_class = "bank_charge"\nremittance = "("',
            "'rent' has the remittance pattern",
        ),
    ],
)
def test_a_wrong_rule_is_named_with_its_file_and_key(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=rf"rules\.toml.*{key}"):
        load_rules(path)


def test_rules_made_in_python_are_refused_like_those_of_a_file() -> None:
    lines, expectations = arrow([line("a", "1", "x")]), arrow([expectation("r", "PAY-1", "1")])
    with pytest.raises(SettingsError, match=r"rules: .*max_candidates"):
        match_references(lines, expectations, rules=Rules(max_candidates=0))


@pytest.mark.acceptance
def test_words_of_the_rules_are_recognised_in_any_spelling() -> None:
    stopped = [expectation("r", "PAY-2026-1", "1", status="ON_HOLD")]
    rows = arrow([line("a", "1", "PAY-2026-1")])
    rules = Rules(contradicting_statuses=("on-hold",))
    matches = match_references(rows, arrow(stopped), rules=rules)
    assert matches.lines.arrow["outcome"].to_pylist() == ["conflict"]
    none = [expectation("r", "KEINE-ANGABE", "1")]
    rows = arrow([line("a", "1", None, end_to_end_id="KEINE ANGABE KEINE-ANGABE")])
    silent = match_references(rows, arrow(none), rules=Rules(placeholders=("Keine Angabe",)))
    assert silent.lines.arrow["outcome"].to_pylist() == ["unreferenced"]


@pytest.mark.acceptance
def test_a_structured_reference_is_searched_up_to_the_text_length_of_the_rules() -> None:
    """Without this limit, searching a text of 250,000 characters took a minute."""
    long = "RF é " * 50_000
    lines = [line("a", "1", f"RF18 5390 0754 7034 {long}"), line("b", "1", f"{long} RF18 5390")]
    expectations = [expectation("r", "RF18539007547034", "1")]
    a, b = match(lines, expectations).lines.arrow.to_pylist()
    assert a["outcome"] == "suggested"
    assert "its text is longer than the 2000 characters that are searched" in a["reason"]
    assert b["outcome"] == "unreferenced"


@pytest.mark.acceptance
def test_a_rule_limits_the_number_of_candidates() -> None:
    lines = arrow([line("a", "9", "PAY-2026-00441")])
    expectations = arrow([expectation(f"r{n}", f"PAY-2026-00441{n}", "1") for n in range(9)])
    for most in (2, 5):
        rules = Rules(max_candidates=most)
        assert match_references(lines, expectations, rules=rules).candidates.arrow.num_rows == most


def test_matches_show_their_counts_and_keep_amounts_exact_in_pandas() -> None:
    from decimal import Decimal

    matches = match([line("a", "0.1", "PAY-1")], [expectation("r", "PAY-1", "0.1")])
    assert repr(matches) == "<Matches of 1 lines: 1 matched>"
    assert "1 bank lines" in matches._repr_html_()
    assert matches.to_pandas()["matched_amount"][0] == Decimal("0.1")
