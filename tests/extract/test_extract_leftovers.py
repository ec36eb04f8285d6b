"""Files left by killed syncs are removed by the next sync."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from killed_sync import counted
from practice import client_for, lake_in
from thorough import examples

from treasury.extract import sync
from treasury.lake.store.leases import READERS
from treasury.sandbox import Sandbox, Served

pytestmark = pytest.mark.acceptance

STEPS = Path(__file__).with_name("killed_sync.py")
KILLS = examples(3, 10)


def files_of(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


@pytest.mark.thorough
def test_killed_syncs_leave_at_most_one_folder(own: tuple[Sandbox, Served], tmp_path: Path) -> None:
    """A reader and a pinned commit keep their files meanwhile."""
    sandbox, served = own
    with client_for(tmp_path, sandbox, served) as client:
        lake = lake_in(tmp_path)
        sync(client, lake, sandbox.now)
        lake.pin("looked at", sandbox.now)
        reader = lake.snapshot()
        balances = reader.table("wallet_balances")
        accounts = reader.table("accounts").num_rows
        sync(client, lake_in(tmp_path), sandbox.now)
        settled = files_of(tmp_path)
        with counted() as count:
            sync(client, lake_in(tmp_path), sandbox.now)
        one_more = files_of(tmp_path) - settled
        # A sync that dies in the first half of its write points never commits.
        chance = Random(1)
        points = [str(chance.randrange(count[0] // 2)) for _ in range(KILLS)]
        arguments = [served.base_url, str(tmp_path), sandbox.now.isoformat(), "there", *points]
        most = files_of(tmp_path)
        done = subprocess.run(
            [sys.executable, str(STEPS), *arguments], check=True, capture_output=True, text=True
        )
        ends = done.stdout.split()
        assert ends == ["-9"] * KILLS
        assert lake.commits().num_rows == 3
        assert files_of(tmp_path) <= most + 2 * one_more + 10
        sync(client, lake_in(tmp_path), sandbox.now)
        assert files_of(tmp_path) <= most + 2 * one_more
        assert len(list((lake.folder / READERS).iterdir())) == 1
    assert all(Path(file).is_file() for table in lake.catalogue for file in reader.files(table))
    assert reader.table("wallet_balances") == balances
    assert lake.snapshot(commit=1).table("accounts").num_rows == accounts
