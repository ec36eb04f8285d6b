"""The page about matching shows what the function answers."""

from doc_examples import ROOT, as_run


def test_every_example_prints_what_the_page_shows() -> None:
    page = (ROOT / "docs" / "reconciliation.md").read_text("utf-8")
    assert page.count("```python") > 10
    assert as_run(page) == page
