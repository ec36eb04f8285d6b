"""Rules are data with a hash, and matches show themselves safely."""

from __future__ import annotations

from pathlib import Path

import pytest
from match_tables import expectation, line, match

from treasury.errors import SettingsError
from treasury.reconcile import ClassRule, Rules, load_rules


def test_the_hash_follows_the_content() -> None:
    assert Rules().hash == Rules().hash
    assert Rules(window_days=31).hash != Rules().hash
    assert match([line("a", "1", "x")], [expectation("r", "PAY-1", "1")]).rules_hash == Rules().hash


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


@pytest.mark.parametrize("text", ["window_day = 3", "window_days = 'x'", "["])
def test_a_wrong_rule_is_named_with_its_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"rules\.toml"):
        load_rules(path)


def test_matches_show_their_counts_and_keep_amounts_exact_in_pandas() -> None:
    from decimal import Decimal

    matches = match([line("a", "0.1", "PAY-1")], [expectation("r", "PAY-1", "0.1")])
    assert repr(matches) == "<Matches of 1 lines: 1 matched>"
    assert "1 bank lines" in matches._repr_html_()
    assert matches.to_pandas()["matched_amount"][0] == Decimal("0.1")
