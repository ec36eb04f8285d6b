"""Reads the data files of a package: declarations, templates and SQL queries."""

from __future__ import annotations

import csv
import tomllib
from functools import cache
from importlib import resources
from typing import Any


def package_text(package: str, name: str) -> str:
    """Read the text of a package's file; `name` may include a subfolder."""
    return resources.files(package).joinpath(name).read_text("utf-8")


def package_toml(package: str, name: str) -> dict[str, Any]:
    """Parse a package's TOML file."""
    return tomllib.loads(package_text(package, name))


@cache
def package_rows(package: str, name: str) -> tuple[dict[str, str], ...]:
    """Read the rows of a package's CSV file by column; lines that begin with `#` are comments.

    Raise ValueError for a row with more or fewer cells than the header, such as one with a comma
    outside of quotes.
    """
    lines = package_text(package, name).splitlines()
    header, *rows = csv.reader(line for line in lines if not line.startswith("#"))
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"{package}/{name}: {len(row)} cells instead of {len(header)}: {row}")
    return tuple(dict(zip(header, row, strict=True)) for row in rows)


def step_sql(package: str, name: str) -> str:
    """Read the query in a package's file `<name>.sql`."""
    return package_text(package, f"{name}.sql")
