"""Modules that are imported on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


class Later:
    """A module that is imported when one of its names is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)


def given_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for the package; `modules` maps each name to its module.

    A name must differ from the package's modules, because Python would find the module instead.
    """

    def find(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        loaded = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, loaded)
        return loaded

    return find
