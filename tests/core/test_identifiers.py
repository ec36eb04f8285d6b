"""Bank identifiers: valid and invalid forms."""

from __future__ import annotations

import pytest

from treasury.core.identifiers import is_bic, is_iban


@pytest.mark.parametrize("text", ["BE68539007547034", "be68 5390 0754 7034", "NL05TEST0417164300"])
def test_an_iban_with_valid_check_digits_is_accepted(text: str) -> None:
    assert is_iban(text)


@pytest.mark.parametrize(
    "text",
    [
        "BE68539007547035", "BE6853900754", "", "6853900754703412", "é",
        "BE0853900754703",  # This has 15 characters, but Belgium has 16.
        "ZZ89370400440532013000",  # ZZ is not a country.
    ],
)  # fmt: skip
def test_an_invalid_iban_is_refused(text: str) -> None:
    assert not is_iban(text)


def test_a_bic_has_8_or_11_characters() -> None:
    assert is_bic("TESTBEBB")
    assert is_bic("TESTBEBBXXX")
    assert not any(map(is_bic, ("TESTBEB", "TESTBEBBXX", "testbebb", "TEST12BB")))
