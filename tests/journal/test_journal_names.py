"""Look-alike names count as one person, and a permission needs the exact name."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treasury.journal.person_names import same_name, same_person


@pytest.mark.parametrize(
    "other",
    [
        "Paul.Olson1",
        " paul.olson1 ",
        "ｐａｕｌ.ｏｌｓｏｎ１",
        "p\u0430ul.olson1",  # Cyrillic а
        "paul.\u03bflson1",  # Greek ο
        "\u0420aul.olson1",  # Cyrillic capital Р
        "paul.0lson1",
        "pau1.olson1",
        "pauI.Olson1",
        "paul.olsonl",
        "pa\u200bul.olson1",
        "paul\u2060.olson1\ufe0f",
        "paul.ols\u00adon1",
        "\u202epaul.olson1",
        "paul.ol\u034fson1",
        "ⓟaul.olson1",
        "paul .olson1",
        "paul\u200a.olson1",
        "paul\u2800.olson1",  # the blank of Braille
        "paul.olson1\u2065",  # reserved for invisible characters
        "paul.olson1\U000e0002",
        "paul.olson1\ufff0",
        "paul\U0001d159.olson1",
        "paul\ua4f8olson1",  # a full stop of Lisu
        "paul\u2024olson1",
    ],
)
def test_a_look_alike_name_is_the_same_person(other: str) -> None:
    assert same_person("paul.olson1", other)
    assert same_person(other, "paul.olson1")


@pytest.mark.parametrize(
    "other", ["\u202eseni", "\u202esenI\u202c", "i\u2067sen\u2069", "in\u202ese", "\u200fseni"]
)
def test_a_name_with_reversed_direction_is_the_same_person(
    other: str,
) -> None:
    assert same_person("ines", other)
    assert same_person(other, "Ines")
    assert not same_person("ines", other.replace("n", "m"))
    assert not same_person("ines", "seni")


def test_punctuation_that_joins_names_has_look_alikes_too() -> None:
    assert same_person("jean-luc", "jean\u2010luc")
    assert same_person("jean-luc", "jean\u2013luc")
    assert same_person("o'neil", "o\u2019neil")
    assert not same_person("jean-luc", "jean.luc")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ines", "inès"),
        ("karl", "kari"),
        ("jonas", "jones"),
        ("anna", "ana"),
        ("иван", "игорь"),
        ("νίκος", "νίκη"),
        ("ines b", "ines c"),
    ],
)
def test_colleagues_with_other_names_are_two_people(one: str, other: str) -> None:
    assert not same_person(one, other)


def test_a_permission_applies_to_the_exact_name() -> None:
    assert same_name("Ines", " ｉｎｅｓ ")
    assert not same_name("ines", "in\u0435s")
    assert not same_name("paul", "pau1")
    assert not same_name("ines", "in\u200bes")


@settings(deadline=None)
@given(st.text(min_size=1, max_size=12))
def test_a_name_in_any_case_is_the_same_person(name: str) -> None:
    assert same_person(name, name)
    assert same_person(name, f" {name.casefold()} ")
