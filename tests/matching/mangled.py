"""Bank lines with known right answers, drawn from a seed, to measure matching.

Every line has a kind, a ceiling for matchers (`auto`, `suggest` or `never`), and, if it belongs to
an expectation, that expectation. A kind is a way of writing a code, or a scene from a company's
month.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import mangled_near
import mangled_rivals
import mangled_scenes
import mangled_serials
import pyarrow as pa
import pyarrow.compute as pc
from mangled_texts import TEXTS, Way
from mangled_world import SCENES, Builder, Kind, World

__all__ = ["KINDS", "draw", "drawn"]

ENTERED = (mangled_near, mangled_rivals, mangled_scenes, mangled_serials)
"""The modules with the scenes; importing them registers the scenes."""
MOST_OF_A_KIND = 200
"""Maximum number of times a kind occurs in a world; for more there are not enough codes."""


def draw(seed: int, each: int = 9, kinds: Sequence[Kind] | None = None) -> World:
    """Draw a world in which every kind occurs `each` times, in random order."""
    builder = Builder(seed)
    turns = [kind for kind in (KINDS if kinds is None else kinds) for _ in range(each)]
    builder.random.shuffle(turns)
    for kind in turns:
        builder.kind = kind.name
        kind.play(builder)
    return World(builder.lines, builder.expectations, builder.truths)


def drawn(rows: int) -> tuple[pa.Table, pa.Table]:
    """Draw at least this many lines, with their expectations, from few large worlds.

    All worlds have the same accounts and similar codes, so in many small worlds very many
    expectations would have the same code.
    """
    of_a_kind = max(1, min(MOST_OF_A_KIND, rows // MOST_OF_A_KIND))
    parts: list[tuple[pa.Table, pa.Table]] = []
    count = 0
    while count < rows:
        seed = len(parts) + 1
        both = draw(seed, of_a_kind).tables()
        parts.append(tuple(_of_world(table, seed) for table in both))  # type: ignore[arg-type]
        count += both[0].num_rows
    lines, expectations = zip(*parts, strict=True)
    return tuple(  # type: ignore[return-value]
        pa.concat_tables(each, promote_options="permissive") for each in (lines, expectations)
    )


def _of_world(table: pa.Table, seed: int) -> pa.Table:
    """Return a world's table with ids that are unique among worlds; codes may recur."""
    name = "entry_id" if "entry_id" in table.column_names else "expectation_id"
    ids = pc.binary_join_element_wise(f"w{seed}", table[name].cast(pa.string()), "-")
    return table.set_column(table.schema.get_field_index(name), name, ids)


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
