"""Sandboxes: one shared by all tests that only read, and one per test that changes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from practice import client_for, lake_in

from treasury.api import Client
from treasury.extract import SyncReport, sync
from treasury.lake import Lake
from treasury.sandbox import Sandbox, Served


@pytest.fixture(scope="session")
def calm() -> Iterator[tuple[Sandbox, Served]]:
    sandbox = Sandbox()
    with sandbox.serve() as served:
        yield sandbox, served


@pytest.fixture(scope="session")
def synced(
    calm: tuple[Sandbox, Served], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Lake, SyncReport]:
    """Return a lake after its first sync, for reading only, and the report of the sync."""
    folder = tmp_path_factory.mktemp("synced")
    sandbox, served = calm
    lake = lake_in(folder)
    with client_for(folder, sandbox, served) as client:
        return lake, sync(client, lake, sandbox.now)


@pytest.fixture
def own() -> Iterator[tuple[Sandbox, Served]]:
    sandbox = Sandbox()
    with sandbox.serve() as served:
        yield sandbox, served


@pytest.fixture
def maker(own: tuple[Sandbox, Served], tmp_path: Path) -> Iterator[Client]:
    with client_for(tmp_path, *own) as client:
        yield client


@pytest.fixture
def calm_maker(calm: tuple[Sandbox, Served], tmp_path: Path) -> Iterator[Client]:
    with client_for(tmp_path, *calm) as client:
        yield client


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return lake_in(tmp_path)
