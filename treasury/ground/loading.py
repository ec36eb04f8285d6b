"""The names that a package gives, each loaded from its module when somebody first asks for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["given_names"]


def given_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A `__getattr__` for the package: `modules` says in which module each name is.

    A name that is also that of a module of the package cannot be given so: the module comes first.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        loaded = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, loaded)
        return loaded

    return find
