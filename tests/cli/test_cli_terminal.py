"""Outside text never controls a terminal: every command with hostile texts, in every format."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import unicodedata
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from treasury.cli import treasury
from treasury.core.errors import TreasuryError
from treasury.core.tables.column_types import TEXT
from treasury.workspace import Workspace

pytestmark = pytest.mark.long_file

STEER = "\x1b[2J\x1b]0;owned\x07\x9b31m\x9d0;owned\x9c\u202eevil\u2066\u200b\ufeff\x7f\r\b"
IN_XML = "\x9b31m\x9d0;owned\x9c\u202eevil\u2066\u200b\ufeff\x7f"
"""The characters of `STEER` that XML can contain."""
FORMATS = ("table", "json", "csv")


def steering(output: str) -> set[str]:
    """Return the characters of an output that control a terminal or are invisible."""
    hidden = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
    return {char for char in output if char != "\n" and unicodedata.category(char) in hidden}


def run(folder: Path, *arguments: str) -> Result:
    done = CliRunner().invoke(treasury, ["--workspace", str(folder), *arguments])
    assert steering(done.stdout) == set(), arguments
    assert steering(done.stderr) == set(), arguments
    return done


@pytest.fixture(scope="module")
def desk(month_end: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Return a copy of the month's workspace with control characters in columns of outside text."""
    folder = tmp_path_factory.mktemp("terminal") / "desk"
    shutil.copytree(month_end.folder, folder)
    desk = Workspace(folder)
    tables = [table for table in desk.lake.catalogue.values() if table.records]
    with desk.lake.writer("sync", desk.now()) as writer:
        for table in tables:
            rows = steered(desk, table.name, tuple(table.key))
            if rows.num_rows:
                writer.upsert(table, rows.cast(table.row_schema))
    return desk


FREE = re.compile(r"name|description|label|text|remittance|reference|email|username|reason|memo")
"""Columns that people and services fill freely."""


def steered(desk: Workspace, name: str, key: tuple[str, ...]) -> pa.Table:
    """Return rows of a table with control characters added to their free texts."""
    rows = desk.sql(
        f'SELECT * EXCLUDE (vanished_at, content_hash, valid_from) FROM "{name}" LIMIT 40'
    ).arrow
    for field in rows.schema:
        if field.type == TEXT and field.name not in key and FREE.search(field.name):
            at = rows.schema.get_field_index(field.name)
            texts = [None if v is None else f"{v}{STEER}" for v in rows[field.name].to_pylist()]
            rows = rows.set_column(at, field.name, pa.array(texts, TEXT))
    return rows


COMMANDS = (
    ("reconcile", "--month", "2026-10"),
    ("awaiting-funds",),
    ("fees", "--month", "2026-10", "--per-request"),
    ("statements", "list"),
    ("match", "list"),
    ("tables",),
    ("changes", "ramp_requests", "--since", "2026-01-01T00:00Z"),
    ("durations", "ramp_requests"),
    ("sql", "SELECT * FROM statement_entries"),
    ("sql", "SELECT * FROM ramp_requests LIMIT 3"),
    ("sql", 'SELECT 1 AS "\x1b[2J\u202e"'),
    ("actions", "list"),
    ("actions", "kinds"),
    ("periods",),
)
PLAIN = (
    ("status",),
    ("doctor",),
    ("lake", "status"),
    ("trace", "PAY-2026-004417"),
    ("trace", STEER),
    ("sql", f"SELECT '{STEER}' FROM \"{STEER}\""),
    ("statements", "add", f"{STEER}.xml"),
    ("nosuch" + STEER,),
    ("close", "--month", "2026-10"),
    ("export", "--month", "2026-10", "--mapping-template"),
)


@pytest.mark.acceptance
@pytest.mark.parametrize("form", FORMATS)
def test_no_command_prints_terminal_control_characters(desk: Workspace, form: str) -> None:
    texts = 0
    for command in COMMANDS:
        done = run(desk.folder, *command, "--format", form)
        texts += "evil" in done.stdout
    assert texts > 2


@pytest.mark.acceptance
def test_no_plain_output_or_error_contains_control_characters(desk: Workspace) -> None:
    for command in PLAIN:
        run(desk.folder, *command)


@pytest.mark.acceptance
def test_json_and_csv_contain_the_original_text(desk: Workspace) -> None:
    text = "a\x1b\x9b\u202e\U000e0041b"
    query = f"SELECT '{text}' AS t"
    assert json.loads(run(desk.folder, "sql", query, "--format", "json").stdout) == [{"t": text}]
    [row] = csv.DictReader(io.StringIO(run(desk.folder, "sql", query, "--format", "csv").stdout))
    assert row["t"] == "a␛⟨U+009B⟩⟨U+202E⟩⟨U+E0041⟩b"


@pytest.mark.acceptance
def test_control_characters_in_archive_names_and_bank_texts_are_escaped(
    desk: Workspace, tmp_path: Path
) -> None:
    bank = sorted((desk.folder / "bank").glob("*.xml"))
    content = bank[0].read_text("utf-8")
    content = re.sub(r"<(Ustrd|Nm|AddtlNtryInf)>([^<]*)<", rf"<\1>\2{escape(IN_XML)}<", content)
    archive = tmp_path / "a\x1b[2J\u202e.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(f"x{STEER}.xml", content)
        packed.writestr(f"z{STEER}.txt", "no statement")
    for form in FORMATS:
        for verb in ("read", "check"):
            done = run(desk.folder, "statements", verb, str(archive), "--format", form)
            assert done.stderr.count("evil") == 1
    assert "evil" in run(desk.folder, "statements", "add", str(archive)).stdout


@pytest.mark.acceptance
def test_an_error_of_a_command_is_one_escaped_line(tmp_path: Path) -> None:
    archive = tmp_path / "a\x1b[2J\u202e.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(f"y{STEER}.xml", "<Document><BkToCstmrStmt>")
    for arguments in (("statements", "read", str(archive)), ("verify", str(archive)), (STEER,)):
        done = subprocess.run(
            [sys.executable, "-m", "treasury.cli", "-w", str(tmp_path), *arguments],
            capture_output=True,
            check=False,
        )
        assert done.returncode == 2
        told = done.stderr.decode()
        assert len(told.splitlines()) == 1
        assert steering(told + done.stdout.decode()) == set()


def test_warnings_and_tracebacks_of_the_process_are_escaped_too(tmp_path: Path) -> None:
    script = (
        "import sys, warnings, logging; from treasury.core.machine.terminal import guard_output;"
        "guard_output();"
        f"text = {STEER!r}; warnings.warn(text); logging.getLogger('x').error(text);"
        "print(text); sys.stdout.write(text); raise ValueError(text)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    told = (done.stdout + done.stderr).decode()
    assert told.count("evil") >= 5
    assert steering(told) == set()


def test_output_of_a_reading_process_is_escaped(tmp_path: Path) -> None:
    from treasury.core.machine.processes import started

    with started("builtins", "int", STEER, stdout=-1, stderr=-1) as process:
        out, err = process.communicate()
    assert process.returncode != 0
    assert b"invalid literal" in err
    assert steering((out + err).decode()) == set()


@pytest.mark.acceptance
@pytest.mark.parametrize("verb", ["add", "read", "check"])
def test_an_argument_that_is_not_a_regular_file_is_refused_without_waiting(
    desk: Workspace, tmp_path: Path, verb: str
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link.xml"
    link.symlink_to("/dev/zero")
    kinds = {pipe: "a pipe", link: "a device", Path("/dev/zero"): "a device"}
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "s"))
        for path, kind in {**kinds, tmp_path / "s": "a socket"}.items():
            done = run(desk.folder, "statements", verb, str(path))
            assert done.exit_code != 0
            assert f"is {kind}, not a file" in f"{done.output}{done.exception}"
        shutil.copy(min((desk.folder / "bank").glob("*.xml")), tmp_path / "bank.xml")
        done = run(desk.folder, "statements", verb, str(tmp_path))
        assert done.exception is None or isinstance(done.exception, SystemExit)


READ_WHOLE = (
    ("journal", "verify", "--keys"),
    ("journal", "verify", "--heads"),
    ("rules", "preview"),
    ("rules", "save", "--reason", "x"),
    ("export", "--month", "2026-10", "--out", "books", "--mapping"),
    ("close", "2026-10", "--ledger"),
)


@pytest.mark.first_case
@pytest.mark.parametrize("arguments", READ_WHOLE, ids=" ".join)
def test_no_named_file_blocks_or_is_read_endlessly(
    desk: Workspace, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    pipe, link, long = tmp_path / "pipe", tmp_path / "link.toml", tmp_path / "long.toml"
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    with long.open("wb") as file:
        file.truncate(100 << 20)
    for path, said in {pipe: "is a pipe", link: "is a device", long: "r than"}.items():
        done = run(desk.folder, *arguments, str(path))
        assert isinstance(done.exception, TreasuryError)
        assert said in str(done.exception)
        assert str(path) in str(done.exception)


@pytest.mark.acceptance
def test_a_device_as_standard_input_is_not_read() -> None:
    command = [sys.executable, "-m", "treasury.cli", "statements", "read", "-"]
    with Path("/dev/zero").open("rb") as zero:
        done = subprocess.run(command, stdin=zero, capture_output=True, check=False, timeout=60)
    assert done.returncode != 0
    assert b"standard input: is a device, not a file" in done.stdout + done.stderr


def test_more_rows_than_the_table_limit_are_printed_completely(desk: Workspace) -> None:
    columns = "range AS n, repeat('x', 40) AS t, -1.50::DECIMAL(38,18) AS amount"
    query = f"SELECT {columns} FROM range(5000)"
    lines = run(desk.folder, "sql", query).stdout.splitlines()
    assert len(lines) == 5_002
    assert lines[-1].split() == ["4999", "x" * 40, "-1.50"]
    assert len({line.rindex("-1.50") for line in lines[2:]}) == 1


@pytest.mark.acceptance
def test_rows_too_wide_for_a_line_are_printed_as_blocks(desk: Workspace) -> None:
    done = run(desk.folder, "sql", "SELECT * FROM statement_entries ORDER BY entry_id")
    rows = desk.sql("SELECT * FROM statement_entries ORDER BY entry_id").arrow
    assert rows.num_rows > 300
    blocks = done.stdout.split("-- row ")[1:]
    assert len(blocks) == rows.num_rows
    assert all(len(block.splitlines()) == rows.num_columns + 1 for block in blocks)
    assert rows["entry_id"][0].as_py() in blocks[0]
