"""Modules that are loaded when somebody first asks for something of theirs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


class Later:
    """A module that is imported when a name of it is first asked for."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


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
