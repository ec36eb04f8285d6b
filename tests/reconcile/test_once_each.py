"""What is made of an object that never changes is made once, and goes when the object goes."""

from __future__ import annotations

import gc
from weakref import ref

from treasury.reconcile.engine.memo import once_each


class Answer:
    """Something that other things are made of."""


def test_what_is_made_of_an_object_is_made_once_for_each_way_it_is_asked() -> None:
    asked: list[tuple[Answer, str]] = []

    @once_each
    def words(of: Answer, zone: str) -> list[str]:
        asked.append((of, zone))
        return [zone]

    first, second = Answer(), Answer()
    assert words(first, "UTC") is words(first, "UTC")
    assert words(first, "Europe/Paris") == ["Europe/Paris"]
    assert words(second, "UTC") is not words(first, "UTC")
    assert asked == [(first, "UTC"), (first, "Europe/Paris"), (second, "UTC")]


def test_what_was_made_goes_with_its_object() -> None:
    @once_each
    def part(_of: Answer) -> Answer:
        return Answer()

    answer = Answer()
    made = ref(part(answer))
    assert made() is not None
    del answer
    gc.collect()
    assert made() is None
