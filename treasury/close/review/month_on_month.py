"""Compares each account's closing, charges and open lines with earlier months.

The earlier months are closed, and their closes stored the figures. Charges and gas are compared
with the mean of up to three months, other figures with the last month. A change beyond a threshold
of `policy.toml` needs an explanation, which is a remark on the account:

    [month_on_month.EUR]
    closing = "100000.00"
    charges = "25.00"
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
import pyarrow as pa

from treasury.actions.policies.policy import Policy, parse_policy
from treasury.close.review.controls import POLICY_SAVED
from treasury.close.stored_answers import read_answers
from treasury.core.calendar import Month
from treasury.core.errors import SettingsError
from treasury.core.money import difference, mean, quantize, total
from treasury.core.tables.column_types import BOOL, INTEGER, TEXT
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.schemas import amount_in, grouped_schema
from treasury.core.tables.table import Table
from treasury.journal import Journal
from treasury.journal.period_history import Period
from treasury.month.items.notes.note_subjects import ACCOUNT, explanation_of

FIGURES: Final = grouped_schema(
    (TEXT, "month", "kind", "of", "name", "currency", "measure"),
    (amount_in("currency"), "amount"),
    (INTEGER, "number"),
    (BOOL, "proved"),
)
"""One row per figure of a month: `measure` is as in MEASURES, `number` counts open lines or items.

`kind` and `of` are as in BALANCES; `all` and empty for the fees and open items of a currency.
`proved` is null for figures other than balances.
"""
MONTH_ON_MONTH: Final = grouped_schema(
    (TEXT, "kind", "of", "name", "currency", "measure"),
    (amount_in("currency"), "amount", "before", "change"),
    (INTEGER, "number", "number_before"),
    (TEXT, "compared_with"),
    (BOOL, "proved"),
    (amount_in("currency"), "threshold"),
    (TEXT, "finding", "explanation"),
)
"""One row per figure, with the earlier figure in `before`; amounts in `currency`.

`proved` is true if the balances of both months are proved. `finding` is as in FINDINGS.
"""
CHANGE_THRESHOLDS: Final = grouped_schema(
    (TEXT, "currency", "measure"), (amount_in("currency"), "amount")
)
"""One row per threshold: a larger change of this measure needs an explanation."""
MEASURES: Final = {
    "closing": "Closing",
    "charges": "Bank charges",
    "gas": "Gas",
    "open_lines": "Open bank lines",
    "fees": "Service fees",
    "open_items": "Open items",
}
"""The words for each measure, in the order of the report."""
FINDINGS: Final = {
    "explained": "explained",
    "missing": "explanation missing",
    "within": "within the threshold",
    "no_threshold": "no threshold",
    "not_known": "not known",
}
_OVER_MONTHS: Final = ("charges", "gas")
"""The measures that are compared with the mean of up to three months."""
_MONTHS: Final = 3
_ALL: Final = "all"
_ZERO: Final = Decimal(0)

_Row = dict[str, Any]


class MonthOnMonth(Tables, msgspec.Struct, frozen=True, eq=False):
    """A month's figures compared with closed months; `changes` as in MONTH_ON_MONTH.

    `months` are the months that were compared, the last one first.
    """

    code_columns: ClassVar[Mapping[str, Mapping[str, Mapping[str, str]]]] = {
        "changes": {"measure": MEASURES, "finding": FINDINGS}
    }

    key_columns: ClassVar[Mapping[str, Sequence[str]]] = {
        "changes": ("name", "measure", "amount", "before", "change", "finding")
    }

    changes: Table
    months: tuple[str, ...] = ()

    @property
    def missing(self) -> list[_Row]:
        """The changes beyond their threshold without an explanation."""
        return [row for row in self.changes.arrow.to_pylist() if row["finding"] == "missing"]


def month_figures(
    month: str, balances: pa.Table, fee_totals: pa.Table, open_items: pa.Table
) -> pa.Table:
    """Return the figures of a month from its tables; columns as in FIGURES."""
    rows = [
        {"month": month, **row}
        for row in (
            *_account_figures(balances.to_pylist()),
            *_sums("fees", ((row["fiat_currency"], row["fee"]) for row in fee_totals.to_pylist())),
            *_sums(
                "open_items",
                (
                    (row["currency"], None if row["amount"] is None else row["amount"].copy_abs())
                    for row in open_items.to_pylist()
                    if row["counted_in"] is None and row["currency"]
                ),
            ),
        )
    ]
    return pa.Table.from_pylist(rows, schema=FIGURES)


def months_before(workspace: Path, month: Month, closed: Mapping[str, Period]) -> pa.Table:
    """Return the figures of up to three closed months directly before this one, as in FIGURES."""
    tables: list[pa.Table] = []
    before = month.previous
    while str(before) in closed and len(tables) < _MONTHS:
        answers = read_answers(workspace, closed[str(before)].close)
        tables.append(
            month_figures(
                str(before), answers["balances"], answers["fee_totals"], answers["open_items"]
            )
        )
        before = before.previous
    return pa.concat_tables(tables) if tables else FIGURES.empty_table()


def thresholds_of(policy: Policy) -> pa.Table:
    """Return the thresholds of a policy; columns as in CHANGE_THRESHOLDS."""
    rows = [
        {"currency": currency, "measure": measure, "amount": amount}
        for currency, limits in sorted(policy.month_on_month.items())
        for measure, amount in msgspec.structs.asdict(limits).items()
        if amount is not None
    ]
    return pa.Table.from_pylist(rows, schema=CHANGE_THRESHOLDS)


def journaled_thresholds(journal: Journal, seq: int) -> pa.Table:
    """Return the thresholds in the last policy that was journaled up to an entry."""
    saved = [entry for entry in journal.entries(POLICY_SAVED) if entry.seq <= seq]
    if not saved:
        return CHANGE_THRESHOLDS.empty_table()
    try:
        return thresholds_of(parse_policy(saved[-1].body["content"], Path("policy.toml")))
    except SettingsError:
        # Another version wrote this policy, and its rules are not known here.
        return CHANGE_THRESHOLDS.empty_table()


def month_on_month(
    month: Month, now: pa.Table, before: pa.Table, thresholds: pa.Table, remarks: pa.Table
) -> MonthOnMonth:
    """Compare a month's figures with those of the months before.

    `now` and `before` are as in FIGURES, and `thresholds` as in CHANGE_THRESHOLDS. The remarks, as
    in ITEM_REMARKS, contain the explanations.
    """
    earlier: dict[tuple[str, ...], dict[str, _Row]] = {}
    months: list[str] = []
    for row in before.to_pylist():
        earlier.setdefault(_key(row), {})[row["month"]] = row
        if row["month"] not in months:
            months.append(row["month"])
    limits = {(row["currency"], row["measure"]): row["amount"] for row in thresholds.to_pylist()}
    explained = _explanations(remarks, month)
    present = {_key(row): row for row in now.to_pylist()}
    rows = []
    # Accounts keep their order, and sums over all accounts are last.
    keys = dict.fromkeys([*present, *earlier])
    accounts = list(dict.fromkeys(key[:3] for key in keys))
    measures = list(MEASURES)
    for key in sorted(
        keys,
        key=lambda key: (key[0] == _ALL, accounts.index(key[:3]), measures.index(key[3])),
    ):
        row = present.get(key)
        compared = _compared(row, earlier.get(key, {}), months)
        figure = row or next(iter(earlier[key].values()))
        names = ("kind", "of", "name", "currency", "measure")
        change = {name: figure[name] for name in names} | compared
        # Other figures than closings are left out if they are zero or unknown on both sides.
        if figure["measure"] != "closing" and not (change["amount"] or change["before"]):
            continue
        change["threshold"] = limits.get((figure["currency"], figure["measure"]))
        change["explanation"] = explained.get(figure["of"], "")
        change["finding"] = _finding(change)
        # One explanation is for the whole account, so it is not repeated for small changes.
        if change["finding"] != "explained" and figure["measure"] != "closing":
            change["explanation"] = ""
        rows.append(change)
    return MonthOnMonth(pa.Table.from_pylist(rows, schema=MONTH_ON_MONTH), tuple(months))


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return row["kind"], row["of"], row["currency"], row["measure"]


def _compared(
    row: _Row | None, earlier: Mapping[str, _Row], months: Sequence[str]
) -> dict[str, Any]:
    """Return a figure, the one to compare it with, and the change."""
    amount = None if row is None else row["amount"]
    last = earlier.get(months[0]) if months else None
    measure = row["measure"] if row is not None else next(iter(earlier.values()))["measure"]
    before = None if last is None else last["amount"]
    against = months[0] if months else ""
    amounts = [each["amount"] for each in earlier.values() if each["amount"] is not None]
    if measure in _OVER_MONTHS and len(amounts) > 1:
        figure = row or next(iter(earlier.values()))
        before = quantize(mean(amounts), figure["currency"])
        against = f"mean of {len(amounts)} months"
    both = None if row is None or last is None else (row["proved"], last["proved"])
    return {
        "amount": amount,
        "before": before,
        "change": None if amount is None or before is None else difference(amount, before),
        "number": None if row is None else row["number"],
        "number_before": None if last is None else last["number"],
        "compared_with": against,
        "proved": None if both is None or None in both else all(both),
    }


def _finding(change: Mapping[str, Any]) -> str:
    if change["threshold"] is None:
        return "no_threshold" if change["change"] is not None else "not_known"
    if change["change"] is None:
        return "not_known"
    if change["change"].copy_abs() <= change["threshold"]:
        return "within"
    return "explained" if change["explanation"] else "missing"


def _account_figures(balances: Iterable[_Row]) -> Iterator[_Row]:
    for row in balances:
        own = {name: row[name] for name in ("kind", "of", "name", "currency")}
        yield own | {"measure": "closing", "amount": row["closing"], "proved": row["proved"]}
        if row["kind"] == "bank":
            yield own | {"measure": "charges", "amount": row["fees"]}
            yield own | {
                "measure": "open_lines",
                "amount": row["undecided"],
                "number": row["undecided_lines"],
            }
        if row.get("gas") is not None:
            yield own | {"measure": "gas", "amount": row["gas"]}


def _sums(measure: str, amounts: Iterable[tuple[str, Decimal | None]]) -> Iterator[_Row]:
    """Yield the sum and the number of the amounts of each currency."""
    groups: dict[str, list[Decimal]] = {}
    for currency, amount in amounts:
        groups.setdefault(currency, []).append(_ZERO if amount is None else amount)
    for currency, group in sorted(groups.items()):
        yield {
            "kind": _ALL, "of": "", "name": "", "currency": currency, "measure": measure,
            "amount": total(group), "number": len(group) if measure == "open_items" else None,
        }  # fmt: skip


def _explanations(remarks: pa.Table, month: Month) -> dict[str, str]:
    """Return the last explanation of a month by account, with its author."""
    explained = {}
    for row in remarks.to_pylist():
        text = explanation_of(row["remark"], month)
        if text and row["item_id"].startswith(ACCOUNT):
            of = row["item_id"].removeprefix(ACCOUNT)
            explained[of] = f"{row['remarked_by']}: {text}"
    return explained
