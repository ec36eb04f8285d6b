"""Files beside a package's modules: declarations, templates, and SQL steps that stand alone."""

from __future__ import annotations

import csv
import tomllib
from functools import cache
from importlib import resources
from typing import Any


def package_text(package: str, name: str) -> str:
    """The text of a package's file; `name` may begin with a folder of it."""
    return resources.files(package).joinpath(name).read_text("utf-8")


def package_toml(package: str, name: str) -> dict[str, Any]:
    """What a package's TOML file says."""
    return tomllib.loads(package_text(package, name))


@cache
def package_rows(package: str, name: str) -> tuple[dict[str, str], ...]:
    """The rows of a package's CSV file by its columns; a line that begins with `#` is a remark."""
    lines = package_text(package, name).splitlines()
    return tuple(csv.DictReader(line for line in lines if not line.startswith("#")))


def step_sql(package: str, name: str) -> str:
    """The query in the file `<name>.sql` of a package, run with its parameters."""
    return package_text(package, f"{name}.sql")
