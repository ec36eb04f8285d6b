"""A home on Azure and on Google Cloud, as far as the test service implements their APIs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cloud_servers import blob_server, variables_of
from home_samples import add, shared_lake, sharing_of
from lake_samples import content, day
from lake_samples import statuses as statuses_of

from treasury.core.errors import CommitOvertaken, HomeUnreachable
from treasury.lake import damages

CLOUDS = ("AWS_", "AZURE_", "AZURITE_", "GOOGLE_")


@pytest.fixture(params=["az", "gs"])
def home(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Run a blob service, and yield an address in it with the scheme of a cloud."""
    for name in [name for name in os.environ if name.startswith(CLOUDS)]:
        monkeypatch.delenv(name)
    with blob_server() as url:
        for name, text in variables_of(request.param, url, tmp_path).items():
            monkeypatch.setenv(name, text)
        yield f"{request.param}://container/team/lake"


@pytest.mark.first_case
def test_two_desks_share_a_lake_through_a_cloud(tmp_path: Path, home: str) -> None:
    anna, ben = (shared_lake(tmp_path / name, home) for name in ("anna", "ben"))
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    add(ben, 1, b="OPEN")
    with pytest.raises(CommitOvertaken), anna.writer("sync", day(2)):
        pass
    add(anna, 3, a="DONE")
    sharing_of(ben).pull()
    assert statuses_of(ben.snapshot()) == {"a": "DONE", "b": "OPEN"}
    assert content(ben) == content(anna)
    pin = anna.pin("kept", day(4))
    sharing_of(ben).pull()
    assert [kept.commit.number for kept in ben.pins()] == [pin.commit.number]
    assert sharing_of(anna).sweep().objects == 0
    assert damages(anna) == damages(ben) == []


@pytest.mark.acceptance
def test_a_missing_service_is_reported_in_one_line(
    tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = shared_lake(tmp_path / "anna", home)
    add(anna, 0, a="OPEN")
    before = content(anna)
    for name, text in variables_of(home[:2], "http://127.0.0.1:9", tmp_path).items():
        monkeypatch.setenv(name, text)
    away = shared_lake(tmp_path / "anna", home)
    with pytest.raises(HomeUnreachable, match="does not answer - check the network"):
        sharing_of(away).pull()
    assert content(away) == before
