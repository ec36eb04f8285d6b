"""Fixtures for the tests of closing a month."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from decide_desk import copy_of, october

from treasury.workspace import Workspace


@pytest.fixture
def desk(month_end: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(month_end, tmp_path / "desk")


@pytest.fixture(scope="module")
def lines(month_end: Workspace) -> list[dict[str, Any]]:
    return october(month_end)
