from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from treasury.core.errors import InputError, StorageError
from treasury.core.tables import workbook_process
from treasury.core.tables.workbook import Sheet, SheetColumn, Workbook, write_book
from treasury.core.tables.workbook_process import written_beside

Processes = list[subprocess.Popen[bytes]]

ROW = {
    "day": date(2026, 10, 14),
    "at": datetime(2026, 10, 14, 9, 30, tzinfo=UTC),
    "amount": Decimal("1234567890123456.123456789012345678"),
    "currency": "EUR",
    "text": "=1+1 <r>Zoë</r>\x00",
    "texts": ["a", "b"],
    "unread": "x",
}
BOOK = Workbook(
    properties={"title": "A month"},
    sheets=(
        Sheet(
            "Lines",
            (
                SheetColumn("Day", "day", "date"),
                SheetColumn("At", "at", "instant"),
                SheetColumn("Amount", "amount", "amount"),
                SheetColumn("Text", "text"),
                SheetColumn("Texts", "texts"),
            ),
        ),
        Sheet("None", (SheetColumn("Text", "text"),)),
    ),
    created=datetime(2026, 11, 2, 8, tzinfo=UTC),
    zone="Europe/Brussels",
    head="A month & more",
)


def tables(rows: int = 3) -> dict[str, pa.Table]:
    amount = pa.array([ROW["amount"]] * rows, pa.decimal128(38, 18))
    table = pa.Table.from_pylist([ROW] * rows)
    lines = table.set_column(table.schema.get_field_index("amount"), "amount", amount)
    return {"Lines": lines, "None": lines.slice(0, 0)}


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Processes]:
    """Make every workbook large enough for a process; yield the processes, and check their ends."""
    started: Processes = []

    def start(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        started.append(real(*args, **named))
        return started[-1]

    real: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen
    monkeypatch.setattr(workbook_process, "CELLS", 1)
    monkeypatch.setattr(workbook_process.subprocess, "Popen", start)
    yield started
    assert all(process.returncode is not None for process in started)


@pytest.mark.acceptance
def test_the_process_writes_the_same_bytes_as_this_process(
    processes: Processes, tmp_path: Path
) -> None:
    write_book(BOOK, tables(), tmp_path / "here.xlsx")
    with written_beside(BOOK, tables(), tmp_path / "there.xlsx"):
        assert not (tmp_path / "there.xlsx").exists()
    assert len(processes) == 1
    assert (tmp_path / "there.xlsx").read_bytes() == (tmp_path / "here.xlsx").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.xlsx", "there.xlsx"]


def test_a_small_workbook_needs_no_process(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook_process, "CELLS", 1_000)
    with written_beside(BOOK, tables(), tmp_path / "made.xlsx"):
        assert zipfile.is_zipfile(tmp_path / "made.xlsx")
    assert processes == []


def test_the_process_gets_no_secret_and_a_private_folder(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    start = workbook_process.subprocess.Popen

    def seen(command: list[str], **named: Any) -> subprocess.Popen[bytes]:
        given.update(named, command=command, mode=Path(command[-1]).stat().st_mode & 0o777)
        return start(command, **named)

    monkeypatch.setattr(workbook_process.subprocess, "Popen", seen)
    monkeypatch.setenv("TREASURY_CLIENT_SECRET", "s3cret")
    with written_beside(BOOK, tables(), tmp_path / "made.xlsx"):
        pass
    assert "s3cret" not in str(given)
    assert given["mode"] == 0o700


def test_system_errors_of_the_process_are_raised_here(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workbook_process, "_order", lambda *_: None)
    with (
        pytest.raises(FileNotFoundError, match="No such file"),
        written_beside(BOOK, tables(), tmp_path / "made.xlsx"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_exits_unexpectedly_leaves_no_file(
    processes: Processes, tmp_path: Path
) -> None:
    with (
        pytest.raises(StorageError, match="ended with -9"),
        written_beside(BOOK, tables(), tmp_path / "made.xlsx"),
    ):
        end(processes[0])
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_process_keeps_its_message(processes: Processes, tmp_path: Path) -> None:
    wrong = Workbook(properties={}, sheets=(Sheet("a/b", (SheetColumn("Text", "text"),)),))
    with (
        pytest.raises(StorageError, match="Invalid Excel character"),
        written_beside(wrong, {"a/b": tables()["Lines"]}, tmp_path / "made.xlsx"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_block_that_fails_ends_the_process(processes: Processes, tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="beside"),
        written_beside(BOOK, tables(), tmp_path / "made.xlsx"),
    ):
        raise RuntimeError("beside")
    assert len(processes) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.acceptance
def test_the_process_ends_with_its_parent(processes: Processes, tmp_path: Path) -> None:
    workbook_process._order(BOOK, tables(200_000), tmp_path)
    with workbook_process._process(tmp_path) as process:
        assert process.stdin is not None
        process.stdin.close()  # The operating system does the same when a process ends.
        assert process.wait(timeout=60) == 1
    assert not (tmp_path / "made.xlsx").exists()


def test_a_table_longer_than_a_sheet_starts_no_process(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treasury.core.tables.workbook.ROWS", 2)
    with (
        pytest.raises(InputError, match="3 rows, but a sheet can have 2"),
        written_beside(BOOK, tables(), tmp_path / "made.xlsx"),
    ):
        pass
    assert processes == []
    assert list(tmp_path.iterdir()) == []
