"""A struct with Arrow tables, shown with their numbers of rows: Arrow prints text as it came."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from treasury.core.text import visible


class CountedTables:
    """A base of structs that hold Arrow tables. Their `repr` shows no text of a record."""

    __slots__ = ()
    __struct_fields__: tuple[str, ...]

    def __repr__(self) -> str:
        shown = (f"{name}={_shown(getattr(self, name))}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({', '.join(shown)})"


def _shown(value: object) -> str:
    if isinstance(value, pa.Table):
        return f"<{value.num_rows} rows>"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_shown(part)}' for key, part in value.items())}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_shown, value))})"
    return visible(repr(value))
