"""What a repair could not find again comes back with a full sync."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from filled import fill

from treasury.cli.practice import prepare
from treasury.extract import Scope, sync
from treasury.sandbox import Sandbox
from treasury.workspace import Workspace


def test_a_full_sync_brings_back_what_a_repair_could_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    company = Sandbox(7)
    first = fill(tmp_path / "first", company)
    shutil.copytree(first.folder, tmp_path / "desk")
    query = "SELECT id, content_hash FROM ramp_requests ORDER BY id"
    before = first.sql(query).to_pylist()
    broken = Workspace(tmp_path / "desk")
    for file in broken.snapshot().stored()["ramp_requests"].files:
        if not file.is_open:
            Path(file.path).unlink()
    told = Workspace(broken.folder).doctor(repair=True)
    assert any(f.do == "run `treasury sync --full`" for f in told.findings)
    desk = Workspace(broken.folder)
    assert len(desk.table("ramp_requests")) < len(before)
    with company.serve() as served:
        for name, (_, secret) in company.credentials.items():
            monkeypatch.setenv(f"TREASURY_{name.upper()}_SECRET", secret)
        again = prepare(desk.folder, company, served)
        commit = again.lake.last_commit()
        assert commit is not None
        assert commit.refetch == ("ramp_requests",)
        sync(again.client("maker"), again.lake, again.now(), scope=Scope(full=True))
        again.close_clients()
    assert Workspace(desk.folder).sql(query).to_pylist() == before
    last = again.lake.last_commit()
    assert last is not None
    assert last.refetch == ()
