"""Recompute the answer of a pack from its own inputs, and compare it with the pack."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from treasury.close.cash.own_flows import OWN_FLOWS, OwnFlow, flows_of
from treasury.close.closing import Closing, Rolled, closing_of
from treasury.close.evidence import Evidence, code_of, encode, table_marks
from treasury.close.late_items import LATE_ITEMS
from treasury.close.ledger.ledger_scope import SCOPE
from treasury.close.ledger.provided_ledger import BooksFile, LedgerFile
from treasury.close.period_pins import outcomes_hash, reconcile
from treasury.close.pinned_inputs import DECIDED, MARKED, read_decided_tables, stored_snapshot
from treasury.close.result_words import count
from treasury.close.review.controls import CONTROLS
from treasury.close.review.month_on_month import CHANGE_THRESHOLDS, FIGURES
from treasury.close.roll_forward import ADDS, ITEMS, ROLL_FORWARD, RollForward, month_end
from treasury.close.valuation.coins.agreed_measurement import COIN_OPENINGS, MEASURED
from treasury.close.valuation.coins.coin_accounts import COIN_LOTS, CoinHistory
from treasury.close.valuation.coins.coin_events import COIN_EVENTS
from treasury.close.valuation.exposure.exposure_limits import EXPOSURE_LIMITS
from treasury.core.calendar import Month
from treasury.core.decoding import convert
from treasury.core.money import total
from treasury.core.text import clean
from treasury.matching.rules import Rules
from treasury.month.decisions.corrections import CORRECTIONS
from treasury.month.decisions.standing_verdicts import STANDING
from treasury.month.items import (
    ACCEPTANCES,
    ACTIONS,
    ATTACHMENTS,
    ITEM_OWNERS,
    ITEM_REMARKS,
    LIMITS,
    pack_name,
    read_acceptances,
)
from treasury.month.question import Question
from treasury.month.reconciliation import Basis
from treasury.month.standing_knowledge import run_knowledge
from treasury.report.excel import LATER
from treasury.report.pack.other_models import (
    close_in,
    has_other_models,
    proved_by_seal,
    unlike_journaled,
    version_needed,
)
from treasury.report.pack.pack_contents import (
    ATTACHED,
    BOOKS,
    EVIDENCE,
    LEDGER,
    LEDGER_ACCOUNTS,
    file_hashes,
    is_apart,
    write_files,
)
from treasury.report.pack.sealed_pack import Finding, Recomputed, read_sealed

ZERO: Final = Decimal(0)
_MOST_NAMED: Final = 5


def compare_with_inputs(folder: Path) -> Recomputed:
    """Recompute a pack from its own inputs in this process, unless its files were changed."""
    evidence, findings = read_sealed(folder)
    if findings:
        return Recomputed(tuple(findings))
    attached = _noted(folder / "tables" / "item_attachments.parquet", ATTACHMENTS)
    if findings := [*wrong_attachments(evidence, attached)]:
        return Recomputed(tuple(findings))
    absent = absent_attachments(evidence, attached)
    notes = (f"{count(len(absent), 'attached file')} not in the pack: removed, or left out",)
    again = _compare_other_models if has_other_models(evidence.code) else _compare_again
    result = again(folder, evidence)
    return msgspec.structs.replace(result, notes=result.notes + notes[: len(absent)])


def wrong_attachments(evidence: Evidence, attached: pa.Table) -> Iterator[Finding]:
    """Yield the files in the pack's folder of attachments that are not the attached ones."""
    hashes = {pack_name(row): row["sha256"] for row in attached.to_pylist()}
    for name in sorted({*evidence.files, *evidence.apart}):
        if name.startswith(ATTACHED) and evidence.files.get(name) != hashes.get(name, ""):
            yield Finding(name, "is not the attached file: its hash differs")


def absent_attachments(evidence: Evidence, attached: pa.Table) -> dict[str, str]:
    """Return the hashes of attached files that the pack should contain and does not, by name."""
    return {
        pack_name(row): row["sha256"]
        for row in attached.to_pylist()
        if row["state"] != "removed" and pack_name(row) not in evidence.files
    }


def _compare_other_models(folder: Path, evidence: Evidence) -> Recomputed:
    """Compare the figures if the current models reproduce them, else only the journaled hashes."""
    close = close_in(evidence)
    try:
        findings = [*_unlike_evidence(evidence, folder), *unlike_journaled(folder, evidence)]
    except (OSError, LookupError, pa.ArrowException) as error:
        findings = [Finding("tables", f"cannot be read: {clean(error):.200}")]
    if findings:
        return Recomputed(tuple(findings), is_complete=False)
    try:
        again = _compare_again(folder, evidence)
    except Exception as error:  # noqa: BLE001 - the tables of other models may lack anything
        apart = [type(error).__name__]
    else:
        if not again.findings:
            return again
        apart = [finding.what for finding in again.findings][:_MOST_NAMED]
    notes = (version_needed(evidence.code, tuple(dict.fromkeys(apart))), proved_by_seal(close))
    return Recomputed((), notes, is_complete=False)


def _compare_again(folder: Path, evidence: Evidence) -> Recomputed:
    """Recompute a pack from its own inputs with the current models, and compare."""
    notes: list[str] = []
    # Values from other months cannot be recomputed, so they are taken from the pack.
    inputs, tables = folder / "inputs", folder / "tables"
    stored = stored_snapshot(inputs, evidence.lake)
    decided = read_decided_tables(inputs)
    basis = Basis(stored, question_of(evidence), decided[DECIDED], decided[MARKED])
    opened = (
        _table(tables / "roll_forward.parquet", ROLL_FORWARD),
        _table(tables / "requests_rolled_forward.parquet", ITEMS),
    )
    rolled = Rolled(
        opened=lambda: opened,
        late=_table(tables / "late_items.parquet", LATE_ITEMS),
        corrections=_table(tables / "corrections.parquet", CORRECTIONS),
        moved=_table(tables / "moved_decisions.parquet", STANDING),
        actions=_table(tables / "open_actions.parquet", ACTIONS),
        accepted=read_acceptances(_table(tables / "accepted_items.parquet", ACCEPTANCES)),
        limits=_table(tables / "materiality.parquet", LIMITS),
        remarks=_table(tables / "item_remarks.parquet", ITEM_REMARKS),
        acts=lambda: _noted(tables / "controls.parquet", CONTROLS),
        before=lambda: _noted(tables / "months_before.parquet", FIGURES),
        thresholds=lambda: _noted(tables / "change_thresholds.parquet", CHANGE_THRESHOLDS),
        owners=_noted(tables / "item_owners.parquet", ITEM_OWNERS),
        attachments=_noted(tables / "item_attachments.parquet", ATTACHMENTS),
        coins=CoinHistory(
            measured=_table(tables / "coins_measured.parquet", MEASURED),
            openings=_table(tables / "coin_openings.parquet", COIN_OPENINGS),
            lots=_table(tables / "coin_lots_before.parquet", COIN_LOTS),
            events=_table(tables / "coin_events_before.parquet", COIN_EVENTS),
        ),
        own_flows=lambda: own_flows_in(folder),
        scope=_noted(tables / "ledger_scope.parquet", SCOPE),
        exposure_limits=_table(tables / "exposure_limits.parquet", EXPOSURE_LIMITS),
        agreed_to=evidence.agreed_to,
        decisions=evidence.decisions,
        head=evidence.journal,
        journal_problem=evidence.journal_problem,
    )
    closing = closing_of(
        reconcile(basis),
        ZoneInfo(evidence.time_zone),
        rolled,
        period=evidence.period,
        preparation=evidence.preparation or None,
        ledger=_ledger(folder, evidence),
    )
    findings = [*_unlike_evidence(evidence, folder), *compare_again(evidence, closing, notes)]
    return Recomputed(tuple(findings), tuple(notes), closing.sql)


def with_thresholds(folder: Path, closing: Closing) -> Closing:
    """Return an open month with its pack's thresholds and own flows.

    Only a prepared month journals these.
    """
    if closing.period is not None or closing.preparation is not None:
        return closing
    path = folder / "tables" / "change_thresholds.parquet"
    rolled = msgspec.structs.replace(
        closing.rolled,
        thresholds=lambda: _noted(path, CHANGE_THRESHOLDS),
        own_flows=lambda: own_flows_in(folder),
    )
    return msgspec.structs.replace(closing, rolled=rolled)


def own_flows_in(folder: Path) -> list[OwnFlow]:
    """Return the company's own flows in a pack."""
    return flows_of(_noted(folder / "tables" / "own_flows.parquet", OWN_FLOWS))


def _noted(path: Path, schema: pa.Schema) -> pa.Table:
    """Return a table, or an empty one if the pack has none, like packs of earlier versions."""
    return _table(path, schema) if path.is_file() else schema.empty_table()


def _table(path: Path, schema: pa.Schema) -> pa.Table:
    return pq.read_table(path).cast(schema)


def question_of(evidence: Evidence) -> Question:
    """Return the question that the evidence describes."""
    return Question(
        month=Month.parse(evidence.month),
        as_of=evidence.as_of,
        company=evidence.company,
        environment=evidence.environment,
        zone=ZoneInfo(evidence.time_zone),
        accounts=evidence.accounts,
        rules=convert(evidence.rules, Rules),
        uses_services=evidence.uses_services,
    )


def _ledger(folder: Path, evidence: Evidence) -> LedgerFile | None:
    names = evidence.ledger
    if names is None:
        return None

    def text_of(name: str) -> str:
        file = folder / name
        return file.read_bytes().decode("utf-8") if file.is_file() else ""

    books = None
    if "books_sha256" in names:
        books = BooksFile(
            file_name=names["books_file_name"],
            content=text_of(BOOKS),
            sha256=names["books_sha256"],
        )
    return LedgerFile(
        file_name=names["file_name"],
        content=text_of(LEDGER),
        sha256=names["sha256"],
        mapping=text_of(LEDGER_ACCOUNTS),
        books=books,
    )


def compare_again(evidence: Evidence, closing: Closing, notes: list[str]) -> list[Finding]:
    """Return what is not reproduced: files, tables and fields of the evidence.

    For a pack made by other code, only tables are compared.
    """
    same_code = evidence.code == code_of()
    if not same_code:
        notes.append(
            f"made by version {clean(evidence.code.version)} with other code or libraries:"
            " tables were compared, the bytes of files were not"
        )
    with tempfile.TemporaryDirectory(prefix="treasury-") as name:
        remade = Path(name)
        again = write_files(closing, remade)
        hashes = {
            name_in_pack: digest
            for name_in_pack, digest in file_hashes(remade).items()
            if not is_apart(name_in_pack)
        }
    own_files = {
        name_in_pack: digest
        for name_in_pack, digest in evidence.files.items()
        if not name_in_pack.startswith(ATTACHED)
    }
    computed, sealed = (
        {table.name: table for table in answer if table.rows is not None}
        for answer in (again.answer, evidence.answer)
    )
    if not same_code:
        # Versions before these tables existed made packs without them.
        computed = {name: computed[name] for name in computed.keys() - (LATER - sealed.keys())}
    apart = [f"table {name}" for name in _differing(sealed, computed)]
    if same_code:
        apart += _differing(own_files, hashes)
    findings = [Finding(name, "is not reproduced from its inputs") for name in apart]
    if same_code:
        facts = (msgspec.json.decode(encode(version)) for version in (evidence, again))
        findings += [
            Finding(EVIDENCE, f"{field.replace('_', ' ')} differs from its basis")
            for field in _differing(*facts)
            if field not in {"files", "apart", "seal", "answer"}
        ]
    return [*_carried(closing), *findings]


def _unlike_evidence(evidence: Evidence, folder: Path) -> Iterator[Finding]:
    """Yield tables that differ from the evidence, for packs made by other code.

    The code that a pack names proves nothing, because anyone can seal a pack again.
    """
    if evidence.code == code_of():
        return
    marks = {mark.name: mark for mark in evidence.answer if mark.rows is not None}
    for path in sorted((folder / "tables").glob("*.parquet")):
        (mark,) = table_marks({path.stem: pq.read_table(path)})
        if mark != marks.get(path.stem):
            name = path.relative_to(folder).as_posix()
            yield Finding(name, "differs from the table hash in the evidence")


def _differing(sealed: Mapping[str, Any], computed: Mapping[str, Any]) -> list[str]:
    names = sorted({*sealed, *computed})
    return [name for name in names if sealed.get(name) != computed.get(name)]


def _carried(closing: Closing) -> Iterator[Finding]:
    """Check amounts from other months: they must tie, and end with this month's totals."""
    r, rolled = closing.r, closing.rolled
    assert r.basis is not None
    totals = {
        (row["kind"], row["currency"]): row["closing"]
        for row in rolled.roll_forward.arrow.to_pylist()
    }
    ends = month_end(run_knowledge(r.basis), r.month).totals()
    for key in sorted({*totals, *ends}):
        if totals.get(key, ZERO) != ends.get(key, ZERO):
            yield Finding("table roll_forward", f"{key[0]} in {key[1]} does not close as matched")
    if not ties(rolled.roll_forward.arrow, rolled.items.arrow):
        yield Finding("table roll_forward", "does not tie")
    if closing.period is None:
        return
    close = closing.period.close
    if RollForward(r.month, rolled.roll_forward, rolled.items).items_hash != close.items_hash:
        yield Finding("table requests_rolled_forward", "differs from what the close journaled")
    if outcomes_hash(r.lines.arrow) != close.outcomes_hash:
        yield Finding("table lines", "differs from what the close journaled")


def ties(totals: pa.Table, items: pa.Table) -> bool:
    """Return whether every row adds up to zero, and the requests to their totals."""
    sums: dict[tuple[str, str, str], list[Decimal]] = {}
    for row in items.to_pylist():
        for name in ADDS:
            sums.setdefault((row["kind"], row["currency"], name), []).append(row[name])
    rows = [*totals.to_pylist(), *items.to_pylist()]
    if any(
        total(row[name] if add else row[name].copy_negate() for name, add in ADDS.items())
        for row in rows
    ):
        return False
    return all(
        row[name] == total(sums.get((row["kind"], row["currency"], name), ()))
        for row in totals.to_pylist()
        for name in ADDS
    )
