"""Every exported name of a package can be loaded, including those loaded on first use."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import treasury

PACKAGES = [
    module.name
    for module in pkgutil.walk_packages(treasury.__path__, "treasury.")
    if module.ispkg and not module.name.startswith("treasury.sandbox")
]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_has_every_name_it_exports(name: str) -> None:
    package = importlib.import_module(name)
    for given in getattr(package, "__all__", ()):
        assert getattr(package, given) is not None, given
