"""What the tests of actions share: one practice company each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from action_practice import Practice, practising


@pytest.fixture
def practice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Practice]:
    secrets: dict[str, str] = {}
    with practising(tmp_path, secrets) as practice:
        for name, value in secrets.items():
            monkeypatch.setitem(os.environ, name, value)
        yield practice
