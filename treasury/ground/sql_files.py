"""SQL steps that stand alone: each a query in a file of its own, run with its parameters."""

from __future__ import annotations

from importlib import resources

__all__ = ["step_sql"]


def step_sql(package: str, name: str) -> str:
    """The query in the file `<name>.sql` of a package."""
    return (resources.files(package) / f"{name}.sql").read_text("utf-8")
