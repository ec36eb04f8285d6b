"""Files beside a package's modules: declarations, templates, and SQL steps that stand alone."""

from __future__ import annotations

from importlib import resources


def package_text(package: str, name: str) -> str:
    """The text of a package's file; `name` may begin with a folder of it."""
    return resources.files(package).joinpath(name).read_text("utf-8")


def step_sql(package: str, name: str) -> str:
    """The query in the file `<name>.sql` of a package, run with its parameters."""
    return package_text(package, f"{name}.sql")
