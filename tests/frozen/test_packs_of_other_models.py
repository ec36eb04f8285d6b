"""Packs made by other models: an honest one verifies, a forged one is never called reproduced."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from other_models import other_models

from treasury.close.evidence import Evidence, code_of, encode, table_marks
from treasury.close.period_pins import outcomes_hash
from treasury.report.pack import other_models as pack_models
from treasury.report.pack import pack_recomputation, pack_verification
from treasury.report.pack.pack_contents import EVIDENCE
from treasury.report.pack.pack_verification import verify_pack
from treasury.workspace import Workspace

SEAL = "only its own seal proves its files"


@pytest.fixture
def desk(unpacked: Path) -> Workspace:
    return Workspace(unpacked / "desk")


@pytest.fixture
def pack(desk: Workspace) -> Path:
    """Return the folder of October's pack, which a test reads or copies."""
    return desk.folder / "close" / "2026-10"


@pytest.fixture
def answering_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn this process into another version of the models, which gives other results."""
    other_models(monkeypatch)
    here = msgspec.structs.replace(code_of(), source="f" * 64)
    for module in (pack_models, pack_recomputation):
        monkeypatch.setattr(module, "code_of", lambda: here)
    monkeypatch.setattr(pack_verification, "recompute", pack_recomputation.compare_with_inputs)


def evidence_in(pack: Path) -> Evidence:
    return msgspec.json.decode((pack / EVIDENCE).read_bytes(), type=Evidence)


def sealed_again(pack: Path, **changed: object) -> None:
    """Seal a forged pack with `changed` evidence, so that all hashes of files and tables fit."""
    evidence = evidence_in(pack)
    files = {
        name: hashlib.sha256((pack / name).read_bytes()).hexdigest() for name in evidence.files
    }
    marks = {mark.name: mark for mark in evidence.answer}
    for path in (pack / "tables").glob("*.parquet"):
        if path.stem in marks:
            (marks[path.stem],) = table_marks({path.stem: pq.read_table(path)})
    fields = {"files": files, "answer": tuple(marks.values()), **changed}
    forged = msgspec.structs.replace(evidence, **fields).sealed()
    (pack / EVIDENCE).write_bytes(encode(forged))


def forge(pack: Path, name: str) -> pa.Table:
    """Replace the first outcome or problem in a table of the pack, and return the table."""
    path = pack / "tables" / f"{name}.parquet"
    table = pq.read_table(path)
    column = "outcome" if name == "lines" else "problem"
    values = ["forged", *table[column].to_pylist()[1:]]
    at = table.schema.get_field_index(column)
    table = table.set_column(at, column, pa.array(values, pa.string()))
    pq.write_table(table, path)
    return table


def with_journaled_outcomes(pack: Path, lines: pa.Table) -> None:
    """Put the hash of forged lines into the evidence's copy of the close, and seal the pack."""
    period = evidence_in(pack).period
    assert period is not None
    close = msgspec.structs.replace(period.close, outcomes_hash=outcomes_hash(lines))
    sealed_again(pack, period=msgspec.structs.replace(period, close=close))


@pytest.mark.acceptance
@pytest.mark.usefixtures("answering_otherwise")
def test_an_honest_pack_verifies_although_the_models_differ(desk: Workspace, pack: Path) -> None:
    alone, held = verify_pack(pack), desk.verify_pack(pack)
    assert (alone.findings, held.findings) == ((), ())
    assert not alone.is_recomputed
    assert "is reproduced" not in f"{alone} {held}"
    # The other models compute another roll-forward.
    assert "table roll_forward" in alone.notes[0]
    assert SEAL in alone.notes[1]
    assert "balances" in held.notes[1]
    assert "only the pack's own seal proves its other files" in held.notes[1]


@pytest.mark.first_case
@pytest.mark.usefixtures("answering_otherwise")
@pytest.mark.parametrize("name", ["lines", "balances"])
def test_forged_figures_differ_from_those_of_the_journal(
    desk: Workspace, pack: Path, tmp_path: Path, name: str
) -> None:
    pack = Path(shutil.copytree(pack, tmp_path / "pack"))
    forge(pack, name)
    sealed_again(pack)
    alone, held = verify_pack(pack), desk.verify_pack(pack)
    assert "is reproduced" not in f"{alone} {held}"
    assert [finding.what for finding in held.findings] == [f"table {name}"]
    # The evidence includes the journal's hash of the lines, but none of the balances.
    if name == "lines":
        assert not alone.holds
    else:
        assert SEAL in alone.notes[1]


@pytest.mark.acceptance
@pytest.mark.usefixtures("answering_otherwise")
def test_a_table_missing_from_a_sealed_pack_is_reported(
    desk: Workspace, pack: Path, tmp_path: Path
) -> None:
    pack = Path(shutil.copytree(pack, tmp_path / "pack"))
    (pack / "tables" / "balances.parquet").unlink()
    evidence = evidence_in(pack)
    files = {name: one for name, one in evidence.files.items() if name != "tables/balances.parquet"}
    answer = tuple(mark for mark in evidence.answer if mark.name != "balances")
    (pack / EVIDENCE).write_bytes(
        encode(msgspec.structs.replace(evidence, files=files, answer=answer).sealed())
    )
    assert [one.what for one in desk.verify_pack(pack).findings] == ["table balances"]


@pytest.mark.acceptance
@pytest.mark.usefixtures("answering_otherwise")
def test_a_forged_journal_hash_is_found_by_comparing_with_the_journal(
    desk: Workspace, pack: Path, tmp_path: Path
) -> None:
    pack = Path(shutil.copytree(pack, tmp_path / "pack"))
    with_journaled_outcomes(pack, forge(pack, "lines"))
    alone = verify_pack(pack)
    assert not alone.is_recomputed
    assert SEAL in alone.notes[1]
    assert [one.what for one in desk.verify_pack(pack).findings] == ["journal"]


@pytest.mark.acceptance
def test_a_forged_pack_that_names_the_current_version_cannot_be_recomputed(
    pack: Path, tmp_path: Path
) -> None:
    pack = Path(shutil.copytree(pack, tmp_path / "pack"))
    with_journaled_outcomes(pack, forge(pack, "lines"))
    sealed_again(pack, code=code_of())
    assert not verify_pack(pack).holds
