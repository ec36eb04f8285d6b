"""A company's bank lines whose truth is known, drawn from a seed: the proof of the matching.

Every line carries its kind, how far a matcher may go at most (`auto`, `suggest` or `never`) and
where it belongs. The kinds are the ways of writing a code and the scenes of a company's month.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mangled_near
import mangled_scenes
from mangled_texts import TEXTS, Way
from mangled_world import SCENES, Builder, Kind, World

__all__ = ["KINDS", "draw"]

ENTERED = (mangled_near, mangled_scenes)
"""The modules whose scenes take part."""


def draw(seed: int, each: int = 9, kinds: Sequence[Kind] | None = None) -> World:
    """A world in which every kind occurs `each` times, in any order."""
    builder = Builder(seed)
    turns = [kind for kind in (KINDS if kinds is None else kinds) for _ in range(each)]
    builder.random.shuffle(turns)
    for kind in turns:
        builder.kind = kind.name
        kind.play(builder)
    return World(builder.lines, builder.expectations, builder.truths)


def _written(way: Way) -> Callable[[Builder], None]:
    def play(builder: Builder) -> None:
        while True:
            make, ceiling = builder.random.choice(
                [(builder.any_request, way.known), (builder.standing, way.standing)]
            )
            request = make()
            written = builder.written(way, request["code"])
            if written is not None:
                builder.line(ceiling, request, written)
                return

    return play


KINDS: tuple[Kind, ...] = (
    *(Kind(way.name, _written(way)) for way in TEXTS),
    *SCENES,
)
