"""Month on month: figures next to those of closed months, thresholds and explanations."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from decide_desk import copy_of
from openpyxl import load_workbook
from signed import ANNA, BERT, carry_all, close_month

from treasury.actions.policies.policy import parse_policy
from treasury.close.balances import BALANCES
from treasury.close.review.month_on_month import (
    FIGURES,
    MonthOnMonth,
    month_figures,
    month_on_month,
    thresholds_of,
)
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError, SettingsError
from treasury.core.tables.column_types import AMOUNT, TEXT
from treasury.month.items import ITEM_REMARKS, OPEN_ITEMS
from treasury.month.items.notes.note_subjects import explanation
from treasury.workspace import Workspace

OCTOBER = Month.parse("2026-10")
IBAN = "BE45539951876689"
FEES = pa.schema({"fiat_currency": TEXT, "fee": AMOUNT})
POLICY = '[month_on_month.EUR]\nclosing = "100.00"\ncharges = "5.00"\n'


def figures(month: str, closing: str | None, charges: str, *, proved: bool = True) -> pa.Table:
    """Return the figures of a month with one bank account, a fee of 7 and an open item of -3."""
    row = {
        "kind": "bank", "of": IBAN, "name": "Operating", "currency": "EUR",
        "closing": None if closing is None else Decimal(closing), "fees": Decimal(charges),
        "undecided": Decimal(0), "undecided_lines": 0, "proved": proved,
    }  # fmt: skip
    item = {"amount": Decimal(-3), "currency": "EUR", "item_id": "a"}
    counted_elsewhere = item | {"item_id": "b", "counted_in": "a"}
    return month_figures(
        month,
        pa.Table.from_pylist([row], schema=BALANCES),
        pa.Table.from_pylist([{"fiat_currency": "EUR", "fee": Decimal(7)}], schema=FEES),
        pa.Table.from_pylist([item, counted_elsewhere], schema=OPEN_ITEMS),
    )


def compared(
    now: pa.Table, *before: pa.Table, policy: str = POLICY, remark: str = ""
) -> MonthOnMonth:
    remarks = [
        {"seq": 1, "item_id": f"account:{IBAN}", "remark": remark, "remarked_by": "anna",
         "remarked_at": datetime(2026, 11, 2, tzinfo=UTC)},
    ]  # fmt: skip
    return month_on_month(
        OCTOBER,
        now,
        pa.concat_tables([FIGURES.empty_table(), *before]),
        thresholds_of(parse_policy(policy, Path("policy.toml"))),
        pa.Table.from_pylist(remarks if remark else [], schema=ITEM_REMARKS),
    )


def by_measure(answer: MonthOnMonth) -> dict[str, dict[str, Any]]:
    return {row["measure"]: row for row in answer.changes.arrow.to_pylist()}


def test_charges_are_compared_with_three_months_and_the_rest_with_the_last() -> None:
    rows = by_measure(
        compared(
            figures("2026-10", "900.00", "20.00"),
            figures("2026-09", "850.00", "10.00"),
            figures("2026-08", "1.00", "10.00"),
            figures("2026-07", "1.00", "11.00"),
        )
    )
    closing, charges = rows["closing"], rows["charges"]
    assert (closing["before"], closing["change"]) == (Decimal(850), Decimal(50))
    assert (closing["compared_with"], closing["finding"]) == ("2026-09", "within")
    assert (charges["before"], charges["change"]) == (Decimal("10.33"), Decimal("9.67"))
    assert (charges["compared_with"], charges["finding"]) == ("mean of 3 months", "missing")
    assert (rows["fees"]["amount"], rows["fees"]["change"]) == (Decimal(7), Decimal(0))
    assert (rows["open_items"]["amount"], rows["open_items"]["number"]) == (Decimal(3), 1)
    assert rows["open_items"]["finding"] == "no_threshold"
    assert "open_lines" not in rows, "an account without open lines has no such row"


@pytest.mark.parametrize(
    ("closing", "remark", "finding"),
    [
        ("950.00", "", "within"),
        ("950.01", "", "missing"),
        ("749.99", "", "missing"),
        ("950.01", "called the bank", "missing"),
        ("950.01", explanation("salaries", Month.parse("2026-09")), "missing"),
        ("950.01", explanation("salaries", OCTOBER), "explained"),
        (None, "", "not_known"),
    ],
)
def test_a_change_beyond_the_threshold_needs_an_explanation_of_its_month(
    closing: str | None, remark: str, finding: str
) -> None:
    answer = compared(
        figures("2026-10", closing, "10.00"), figures("2026-09", "850.00", "10.00"), remark=remark
    )
    assert by_measure(answer)["closing"]["finding"] == finding
    assert len(answer.missing) == (finding == "missing")


def test_a_balance_that_is_not_proved_in_both_months_says_so() -> None:
    september = figures("2026-09", "850.00", "0.00", proved=False)
    answer = by_measure(compared(figures("2026-10", "900.00", "0.00"), september))
    assert answer["closing"]["proved"] is False
    assert set(answer) == {"closing", "fees", "open_items"}, "no charges in both months"
    assert by_measure(compared(september))["closing"]["before"] is None


def test_an_invalid_threshold_names_its_line() -> None:
    with pytest.raises(SettingsError, match="line 2"):
        parse_policy("[month_on_month.EUR]\nclosing = -1\n", Path("policy.toml"))
    with pytest.raises(SettingsError, match="balance"):
        parse_policy('[month_on_month.EUR]\nbalance = "1"\n', Path("policy.toml"))


@pytest.mark.acceptance
def test_a_month_is_prepared_once_its_changes_are_explained_and_the_pack_carries_them(
    month_end: Workspace, tmp_path: Path
) -> None:
    desk = copy_of(month_end, tmp_path / "desk")
    close_month(desk, "2026-09")
    carry_all(desk, "2026-10")
    (desk.folder / "policy.toml").write_text(
        '[month_on_month.EUR]\nclosing = "130000.00"\n', "utf-8"
    )
    foreseen = desk.periods.foresee("prepare", desk.periods.at_close("2026-10"), actor=ANNA)
    assert "which needs an explanation" in str(foreseen.refusal)
    with pytest.raises(ActionRefused, match=r"2026-10 is not prepared: closing of .* changed by"):
        desk.periods.prepare("2026-10", actor=ANNA)
    missing = desk.periods.month_on_month("2026-10").missing
    assert len(missing) == 2
    with pytest.raises(InputError, match="needs an explanation, on one line"):
        desk.items.explain(missing[0]["of"], " ", month="2026-10", actor=ANNA)
    with pytest.raises(ActionRefused, match="2026-09 is closed"):
        desk.items.explain(missing[0]["of"], "late", month="2026-09", actor=ANNA)
    for row in missing:
        desk.items.explain(row["of"], "salaries <b>early</b>", month="2026-10", actor=ANNA)
    desk.periods.prepare("2026-10", actor=ANNA)
    (desk.folder / "policy.toml").unlink()
    desk.periods.sign("2026-10", actor=BERT)
    answer = desk.periods.month_on_month("2026-10").changes
    assert len(answer.where(finding="explained")) == 2, "the journaled policy applies"
    pack = desk.close("2026-10", tmp_path / "pack")
    page = pack.report.read_text("utf-8")
    assert page.count("anna: salaries &lt;b&gt;early&lt;/b&gt;") >= 2
    sheet = load_workbook(pack.workbook)["Month on month"]
    texts = [str(cell.value) for row in sheet.iter_rows() for cell in row]
    assert texts.count("anna: salaries <b>early</b>") == 2
    assert desk.verify_pack(pack.folder).holds
