"""The cover of the close: who prepared and reviewed, and what is verified or only claimed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import openpyxl
import pyarrow as pa
import pytest
from report_samples import ZONE, line, reconciliation

from treasury.close.balances import BALANCES
from treasury.close.close_words import evidence_words, names_words, sign_offs
from treasury.close.closing import Closing, Rolled, closing_of
from treasury.close.review.controls import CONTROLS
from treasury.close.wallet_balances import SERVICE_SAYS
from treasury.core.tables.table import Table
from treasury.core.tables.workbook import COVER
from treasury.journal import Head
from treasury.journal.period_history import Close, Period
from treasury.report.excel import workbook_beside
from treasury.report.report_page import render_html

AT = datetime(2026, 11, 2, 8, tzinfo=UTC)


def act(entry: int, kind: str, who: str, identified: str) -> dict[str, object]:
    shown = {"kind": kind, "who": who, "identified": identified, "subject": "2026-10", "at": AT}
    return shown | {"alone": False, "in_bulk": "", "override": "", "entry": entry, "act": kind}


def balance(proved_by: str, *, proved: bool) -> dict[str, object]:
    names = {"kind": "company", "of": "0x1", "name": "wallet", "currency": "USDC"}
    return names | {"proved": proved, "blocks": False, "proved_by": proved_by, "problem": ""}


@pytest.fixture(scope="module")
def signed() -> Closing:
    """Return a month that anna, a claimed name, prepared and bert, a verified one, signed."""
    acts = [
        act(4, "prepared", "anna", "claimed"),
        act(5, "carry_accepted", "bert", "verified: hub"),
        act(6, "signed", "bert", "verified: hub"),
    ]
    close = Close(
        month="2026-10", reason=None, prepared_by="anna", reviewed_by="bert", commit=1, known_at=AT,
        as_of=AT, head=Head(3, ""), rules_hash="", rules={}, desk={}, roll_forward=[],
        items_hash="", open_items=[], outcomes_hash="", preparation=Head(4, ""), prepared_at=AT,
    )  # fmt: skip
    period = Period(month="2026-10", close=close, closed_at=AT, entry=Head(6, ""))
    rolled = Rolled(acts=lambda: pa.Table.from_pylist(acts, CONTROLS))
    closing = closing_of(reconciliation(lines=[line()]), ZONE, rolled, period=period)
    rows = [
        balance("stated balances", proved=True),
        balance(SERVICE_SAYS, proved=False),
        balance("nothing yet", proved=False),
    ]
    balances = Table(pa.Table.from_pylist(rows, schema=BALANCES))
    return msgspec.structs.replace(closing, balances=balances)


def test_each_signature_says_how_its_person_was_identified(signed: Closing) -> None:
    prepared, reviewed = sign_offs(signed)
    assert (prepared.role, prepared.name, prepared.identified) == ("Prepared by", "anna", "claimed")
    assert (reviewed.name, reviewed.identified) == ("bert", "verified: hub")
    unsigned = closing_of(reconciliation(lines=[line()]), ZONE)
    assert [(sign.name, sign.identified) for sign in sign_offs(unsigned)] == [
        ("not signed", "")
    ] * 2


def test_the_cover_counts_what_is_verified_and_what_is_only_claimed(signed: Closing) -> None:
    assert names_words(signed) == "2 acts by verified names, 1 by names only claimed"
    assert evidence_words(signed) == (
        "1 of 3 balances verified, 1 only claimed by the service, 1 not proved"
    )


def test_page_and_workbook_have_the_same_cover(signed: Closing, tmp_path: Path) -> None:
    page = render_html(signed, {})
    path = tmp_path / "close.xlsx"
    with workbook_beside(signed, path):
        pass
    cover = openpyxl.load_workbook(path, read_only=True)[COVER]
    facts = {row[0]: row[1] for row in cover.iter_rows(values_only=True, max_col=2) if row[0]}
    assert facts["Prepared by"] == "anna, 2 Nov 09:00 CET, claimed"
    assert facts["Reviewed by"] == "bert, 2 Nov 09:00 CET, verified: hub"
    head, _, _ = page.partition('<ul class="tally"')
    assert '<span class="under">claimed</span>' in head
    for words in (facts["Evidence"], facts["Names"], "verified: hub"):
        assert words in head
