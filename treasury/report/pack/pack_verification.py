"""Verify a pack: every byte against its evidence, and every figure by recomputation.

With only the folder, the reconciliation is recomputed from the pack's own inputs and every file is
made again. This runs in a process with limits, because the folder may come from anyone. With a
workspace, the reconciliation is also recomputed from the pinned commit and the journal, so that a
change of both inputs and evidence is detected. If a different version of the models made the pack
and the results differ now, it is compared with the journal's hashes instead (`other_models`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from treasury.close.closing import Closing, closed_month, closing_from
from treasury.close.evidence import Evidence
from treasury.close.period_pins import basis_on, examine
from treasury.close.result_words import count
from treasury.close.sign_off import prepared_month
from treasury.core.errors import InputError, TreasuryError
from treasury.core.tables.column_types import TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.text import clean, utf8_text
from treasury.journal import Journal
from treasury.journal.chain import Head
from treasury.journal.decision_log import read_decided
from treasury.journal.period_history import closed_periods
from treasury.lake import Lake
from treasury.report.pack.other_models import (
    compare_with_journal,
)
from treasury.report.pack.pack_recomputation import (
    absent_attachments,
    compare_again,
    question_of,
    with_thresholds,
)
from treasury.report.pack.sealed_pack import Finding, Recomputed, read_sealed
from treasury.report.pack.verification_process import recompute

FINDINGS: Final = pa.schema([("what", TEXT), ("problem", TEXT)])


class Verified(Tables, msgspec.Struct, frozen=True, kw_only=True):
    """The result of verifying a pack; `notes` explain what was not checked, and why.

    `sql` is the query that was run again; empty if changed files were found before.
    """

    folder: Path
    month: str
    against: str
    files: int
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    sql: str = ""
    is_recomputed: bool = True
    """True if the figures were recomputed; those of other models may not be reproducible."""

    def sheets(self) -> Mapping[str, Table]:
        """Return the differences; no rows if the pack is valid."""
        rows = [{"what": finding.what, "problem": finding.problem} for finding in self.findings]
        return {"Findings": Table(pa.Table.from_pylist(rows, schema=FINDINGS))}

    @property
    def holds(self) -> bool:
        """True if there is no difference."""
        return not self.findings

    def __str__(self) -> str:
        if self.holds:
            sealed = f"{clean(self.month)}: {count(self.files, 'file')} as sealed"
            again = f"is reproduced {self.against}"
            head = f"{sealed}; {again if self.is_recomputed else 'not computed again'}"
        else:
            head = f"{clean(self.month)}: {count(len(self.findings), 'difference')} {self.against}"
        return "\n".join((head, *(f"  {clean(finding)}" for finding in self.findings), *self.notes))


def verify_pack(folder: Path) -> Verified:
    """Verify a pack alone; raise InputError if its path or its evidence is not valid."""
    path = str(folder.absolute())
    if utf8_text(path) != path:
        raise InputError(
            f"{clean(folder)} has a byte in its path that is not UTF-8",
            do="copy the pack to a folder with a UTF-8 path, and verify it there",
        )
    evidence, findings = read_sealed(folder)
    recomputed = Recomputed(tuple(findings)) if findings else recompute(folder)
    return Verified(
        folder=folder,
        month=evidence.month,
        against="from its own inputs",
        files=len(evidence.files) + len(evidence.apart),
        findings=recomputed.findings,
        notes=recomputed.notes,
        sql=recomputed.sql,
        is_recomputed=recomputed.is_complete,
    )


def verify_with(folder: Path, journal: Journal, lake: Lake) -> Verified:
    """Verify a pack alone, then against its commit and journal."""
    alone = verify_pack(folder)
    if not alone.holds:
        return alone
    evidence, findings = read_sealed(folder)
    notes = list(alone.notes)
    findings += _journaled(evidence, journal)
    if not findings and not alone.is_recomputed:
        findings, notes = compare_with_journal(folder, evidence, lake)
    elif not findings:
        try:
            closing = with_thresholds(folder, _from_workspace(evidence, journal, lake))
        except TreasuryError as error:
            findings = [Finding("workspace", error.what)]
        else:
            findings = [
                # Attached files that the pack lacks, although nobody removed their bytes.
                *(
                    Finding(name, "is missing from the pack, and was not removed")
                    for name, sha256 in absent_attachments(
                        evidence, closing.rolled.attachments.arrow
                    ).items()
                    if journal.file_content(sha256) is not None
                ),
                *compare_again(evidence, closing, notes),
            ]
    return msgspec.structs.replace(
        alone,
        against="from its own inputs, from the pinned commit and the journal"
        if alone.is_recomputed
        else "from the journal's hashes",
        findings=tuple(findings),
        notes=tuple(dict.fromkeys(notes)),
    )


def _from_workspace(evidence: Evidence, journal: Journal, lake: Lake) -> Closing:
    """Recompute the month from the commit and journal that the evidence names."""
    entries = read_decided(journal).entries
    if evidence.period is not None:
        return closed_month(journal, lake, closed_periods(entries)[evidence.month])
    if evidence.preparation:
        agreed = [entry for entry in entries if entry.seq <= evidence.agreed_to]
        return prepared_month(journal, lake, evidence.preparation, agreed)
    head = evidence.journal or Head(0, "")
    then = read_decided(journal, head=head)
    snapshot = lake.snapshot(commit=evidence.lake.commit)
    basis = basis_on(snapshot, question_of(evidence), then)
    examined = examine(journal, lake, basis, then).require_tied()
    return closing_from(journal, lake, examined, ZoneInfo(evidence.time_zone))


def _journaled(evidence: Evidence, journal: Journal) -> Iterator[Finding]:
    """Yield a finding if the journal contradicts the evidence, or if its chain is broken."""
    period = evidence.period
    signed = period or evidence.preparation or None
    head = evidence.journal if signed is None else signed.entry
    if head is not None and head.seq:
        try:
            journal.verify(head)
        except TreasuryError as error:
            yield Finding("journal", error.what)
            return
    if period is None:
        return
    journaled = closed_periods(read_decided(journal).entries).get(period.month)
    if journaled is None:
        yield Finding("journal", f"{period.month} is not closed: it was reopened, or never closed")
    elif journaled != period:
        yield Finding(
            "journal", f"{period.month} was closed by another entry, {journaled.entry.seq}"
        )
