"""The pages and docstrings about matching show the function's current output."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest
from doc_examples import ROOT, as_run

from treasury.matching import reference_matching, rules
from treasury.matching.tiers import TIERS


@pytest.mark.acceptance
def test_every_example_prints_the_output_on_the_page() -> None:
    page = (ROOT / "docs" / "reconciliation.md").read_text("utf-8")
    assert page.count("```python") > 10
    assert as_run(page) == page


def test_the_matching_page_lists_every_tier_and_its_proof() -> None:
    page = (ROOT / "docs" / "matching.md").read_text("utf-8")
    rows = [f"| {tier.rank} | {tier.words} | {tier.proves} |" for tier in TIERS]
    assert "\n".join(rows) in page
    assert [tier.rank for tier in TIERS] == sorted(tier.rank for tier in TIERS)


def test_the_matching_page_lists_the_default_cut_lengths() -> None:
    page = (ROOT / "docs" / "matching.md").read_text("utf-8")
    assert f"\ncut_lengths = {list(rules.Rules().cut_lengths)}\n" in page


@pytest.mark.parametrize("module", [reference_matching, rules])
def test_the_examples_in_docstrings_run(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted
    assert not results.failed
