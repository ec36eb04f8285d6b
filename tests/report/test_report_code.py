"""A pack's hash of the code covers all packages that compute an answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import treasury
from treasury.close.evidence import _ROOMS, _SOURCES, code_of

NOT_OF_AN_ANSWER = {"actions", "api", "workspace"}
"""Packages that are loaded too, but do not compute the content of a pack."""


@pytest.mark.acceptance
def test_every_package_that_makes_a_pack_is_part_of_the_code_hash() -> None:
    code = (
        "import sys, treasury.report.pack.pack_contents;"
        "print(*{m.split('.')[1] for m in sys.modules if m.startswith('treasury.')})"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert set(loaded.stdout.split()) - NOT_OF_AN_ANSWER == set(_ROOMS)


def test_files_read_from_the_package_are_part_of_the_code_hash() -> None:
    package = Path(treasury.__file__).parent
    data = {path.suffix for room in _ROOMS for path in (package / room).rglob("*.toml")}
    assert data
    assert data <= set(_SOURCES)


def test_the_code_hash_covers_existing_files() -> None:
    assert len(code_of().source) == 64
