"""Data that a repair could not restore is fetched from the services, at once or by a sync."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from filled import fill

from treasury.cli.commands.practice import prepare
from treasury.extract import Scope, sync
from treasury.sandbox import Sandbox, Served
from treasury.workspace import Workspace
from treasury.workspace.upkeep.doctor import Examination

pytestmark = pytest.mark.acceptance

TABLES = ("ramp_requests", "ramp_request_events", "transfers", "fees")


class Desk:
    """A workspace, the content of its tables before any damage, and its services."""

    def __init__(self, folder: Path, company: Sandbox, served: Served) -> None:
        self.folder = folder
        self._served = company, served
        self.before = self.content()

    def content(self) -> dict[str, list[dict[str, object]]]:
        opened = Workspace(self.folder)
        query = "SELECT id, raw FROM {} ORDER BY id"
        return {name: opened.sql(query.format(name)).arrow.to_pylist() for name in TABLES}

    def lose(self, *tables: str) -> None:
        """Remove the stored files of settled records, or all files if nothing settles."""
        stored = Workspace(self.folder).snapshot().stored()
        for name in tables:
            for file in stored[name].files:
                if not file.is_open:
                    Path(file.path).unlink()

    def repair(self) -> Examination:
        return Workspace(self.folder).doctor(repair=True)

    def reachable(self) -> Workspace:
        return prepare(self.folder, *self._served)

    def marks(self) -> tuple[str, ...]:
        last = Workspace(self.folder).lake.last_commit()
        assert last is not None
        return last.refetch


@pytest.fixture(scope="module")
def company() -> Iterator[tuple[Sandbox, Served]]:
    company = Sandbox(7)
    with company.serve() as served:
        yield company, served


@pytest.fixture(scope="module")
def first(company: tuple[Sandbox, Served], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("first"), company[0]).folder


@pytest.fixture
def desk(
    first: Path,
    company: tuple[Sandbox, Served],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Desk:
    shutil.copytree(first, tmp_path / "desk")
    # Other tests may have left secrets that `prepare` sets.
    for name in company[0].credentials:
        monkeypatch.delenv(f"TREASURY_{name.upper()}_SECRET", raising=False)
    return Desk(tmp_path / "desk", *company)


@pytest.mark.parametrize("tables", [("ramp_requests",), ("ramp_request_events",), TABLES])
def test_the_next_sync_restores_rows_that_a_repair_could_not(
    desk: Desk, tables: tuple[str, ...]
) -> None:
    desk.lose(*tables)
    told = desk.repair()
    assert any(f.do == "run `treasury sync`: it downloads all rows again" for f in told.findings)
    assert any("the services could not be queried" in f.what for f in told.findings)
    assert desk.content() != desk.before
    assert set(desk.marks()) == set(tables)
    opened = desk.reachable()
    report = sync(opened.client("maker"), opened.lake, opened.now())
    opened.close_clients()
    assert any("read in full, because a repair lost some of its rows" in n for n in report.notices)
    assert desk.content() == desk.before
    assert desk.marks() == ()


def test_a_repair_queries_the_services_and_reports_the_restored_rows(desk: Desk) -> None:
    desk.lose(*TABLES)
    opened = desk.reachable()
    told = [f.what for f in opened.doctor(repair=True).findings if f.state == "repaired"]
    opened.close_clients()
    assert any("downloaded again from the services; " in what for what in told)
    assert desk.content() == desk.before
    assert desk.marks() == ()
    assert not Workspace(desk.folder).doctor().damaged


def test_a_partial_sync_keeps_the_marks(desk: Desk) -> None:
    desk.lose("ramp_requests", "fees")
    desk.repair()
    opened = desk.reachable()
    lake, client = opened.lake, opened.client("maker")
    day = opened.now().date()
    sync(client, lake, opened.now(), scope=Scope(since=day, full=True))
    assert set(desk.marks()) == {"ramp_requests", "fees"}
    sync(client, lake, opened.now(), scope=Scope(tables=frozenset({"fees"})))
    assert desk.marks() == ("ramp_requests",)
    opened.close_clients()
    assert desk.content()["fees"] == desk.before["fees"]
