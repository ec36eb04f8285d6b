"""A label like *invoice* proves the only number after it, but not a number of another party."""

from __future__ import annotations

import pytest
from attacked_lines import Row, request
from match_tables import line, match

CODE = "20004040"
UNPROVEN = (
    "client no / invoice no: 20004040 - 14645927",
    "client no / invoice no: 14645927 - 20004040",
    "client no, invoice no: 20004040, 14645927",
    "invoice no/order no 20004040/14645927",
    "customer and invoice 20004040",
    "invoice 20004040 14645927",
    "invoice 20004040 / 14645",
    "your inv 107971 our invoice 20004040",
    "our ref. 20004040",
    "my invoice: 20004040",
    "unsere Rechnung 20004040",
    "notre facture 20004040",
    "onze factuur 20004040",
    "client ref 20004040",
    "auth code 20004040",
    "AUTHORISATION CODE: 20004040",
    "SEPA REFERENCE 20004040",
    "transaction ref no 20004040",
    "terminal reference 20004040",
    "sort code 20004040",
    "mandate ref 20004040",
    "postal code 20004040",
    "PO order 20004040",
    "auth-code 20004040",
)
PROVEN = (
    "invoice 20004040",
    "Invoice No.: 20004040",
    "rent October\nref 20004040",
    "thanks, ref: 20004040",
    "your ref 20004040",
    "payment ref 20004040",
    "partial payment invoice 20004040 thanks",
    "Zahlung Ihre Rechnung Nr. 20004040",
    "invoice 20004040 10/2026",
    "invoice 20004040, rent 2026",
    "inv#20004040",
)


def paid(texts: tuple[str, ...], amount: str, **more: str) -> list[Row]:
    """Return the outcomes of one line per text, each from another payer."""
    rows = [
        line(f"a{n:02}", amount, text, 5, counterparty_account=f"DE{n:02}", counterparty_name=None)
        for n, text in enumerate(texts)
    ]
    return match([row | more for row in rows], [request("s", CODE, "500")]).lines.arrow.to_pylist()


@pytest.mark.acceptance
def test_a_number_that_a_label_does_not_prove_is_not_matched() -> None:
    for row, text in zip(paid(UNPROVEN, "5"), UNPROVEN, strict=True):
        assert row["outcome"] in {"suggested", "unreferenced"}, (text, row)


@pytest.mark.acceptance
def test_a_number_that_is_the_only_one_after_a_label_matches() -> None:
    for row, text in zip(paid(PROVEN, "5"), PROVEN, strict=True):
        assert row["outcome"] == "matched", (text, row)


@pytest.mark.acceptance
def test_the_exact_amount_proves_a_number_after_any_label() -> None:
    for text in UNPROVEN[-8:-2]:
        assert [row["outcome"] for row in paid((text,), "500")] == ["matched"], text


def test_a_label_in_a_reference_field_is_read_like_one_in_a_text() -> None:
    fields = (CODE, "RENT 20004040", "AUTH CODE 20004040", "our ref 20004040")
    rows = [
        line(f"a{n}", "5", None, 5, counterparty_account=f"DE{n:02}", end_to_end_id=field)
        for n, field in enumerate(fields)
    ]
    outcomes = match(rows, [request("s", CODE, "500")]).lines.arrow["outcome"].to_pylist()
    assert outcomes == ["matched", "matched", "suggested", "suggested"]
