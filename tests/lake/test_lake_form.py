"""A lake with a later format version is refused, and a lost format version is written again."""

from __future__ import annotations

from pathlib import Path

import pytest
from lake_samples import day, put, requests, small_lake, statuses

from treasury.core.errors import StorageError
from treasury.lake.store.sealed import read_sealed, write_sealed
from treasury.lake.store.storage_form import FILE_NAME, FORM


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with small_lake(tmp_path).writer("sync", day(0)) as writer:
        writer.upsert(small_lake(tmp_path).catalogue["requests"], requests(a="OPEN"))
    return tmp_path


def test_a_lake_stored_by_a_later_version_is_refused_and_unchanged(folder: Path) -> None:
    form = folder / "lake" / FILE_NAME
    write_sealed(form, {"form": FORM + 1})
    for use in (lambda lake: lake.last(), lambda lake: put(lake, 1, requests(a="DONE"))):
        with pytest.raises(StorageError, match="stored by a later version"):
            use(small_lake(folder))
    assert read_sealed(form, dict)["form"] == FORM + 1


@pytest.mark.acceptance
@pytest.mark.parametrize("content", [None, b"gone"])
def test_a_lost_format_marker_is_rewritten_by_the_next_commit(
    folder: Path, content: bytes | None
) -> None:
    form = folder / "lake" / FILE_NAME
    form.unlink() if content is None else form.write_bytes(content)
    assert statuses(small_lake(folder).snapshot()) == {"a": "OPEN"}
    put(small_lake(folder), 1, requests(a="DONE"))
    assert read_sealed(form, dict)["form"] == FORM
