"""Open items about the evidence: statements, balances, the ledger, services, the journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from treasury.core.calendar import Month
from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.money import format_amount
from treasury.core.text import clean
from treasury.extract.completeness import named_nowhere, reference_gaps
from treasury.month.funding import short_account
from treasury.month.items.item_facts import Facts, make_item, money_of, table_rows
from treasury.month.items.item_kinds import KINDS
from treasury.month.items.open_item import OpenItem
from treasury.month.reconciliation import Reconciliation
from treasury.month.states import states_of

OUT_OF_SCOPE: Final = "out of scope: "
"""The beginning of the finding on an account that two people took out of the comparison."""
_ALONE: Final = "in the ledger alone"
_AGREEMENTS: Final = ("agrees", "outstanding items explain it")
"""The findings on an account of the ledger that need no action."""
NOT_PROVABLE: Final = "NOT PROVABLE"


def journal_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item if the journal does not verify."""
    if facts.journal_problem:
        yield make_item(
            facts,
            "journal_broken",
            "source:journal",
            name="Journal",
            state="NOT PROVED",
            since=None,
            next_step=facts.journal_problem,
        )


def statement_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per account without complete statements, or one if no account is declared."""
    rows = facts.r.statements.arrow.to_pylist()
    if not rows:
        yield make_item(
            facts, "no_account", "source:accounts", name="Accounts", state="MISSING", since=None
        )
    for row in rows:
        if not row["complete"]:
            account = plain_account(row["account"])
            state = "NOT PROVED" if row["problem"] else "MISSING"
            yield make_item(
                facts,
                "statement_missing",
                f"statement:{account}/{row['currency']}/{facts.month}",
                name=f"{clean(row['name'])} {short_account(row['account'])}".strip(),
                state=NOT_PROVABLE if row.get("not_provable") else state,
                since=row.get("missing_from") or facts.month.first,
                next_step=_statement_step(row, facts.month),
                evidence_to=row["covered_to"],
            )


def _statement_step(row: Mapping[str, Any], month: Month) -> str:
    """Return the next step that completes an account's statements."""
    if row.get("not_provable"):
        return (
            f"{clean(row['problem'])}: its lines are matched but prove no balance; confirm the "
            f"balance before and after them: treasury statements confirm {row['account']} --date "
            f"{month.previous.last} --balance … --source …, then the same for {month.last}"
        )
    if row["problem"]:
        statement = (row.get("problem_statement") or "ID")[:8]
        return (
            f"{clean(row['problem'])}: get the file again from the bank, then `treasury "
            "statements add FILE`; or withdraw it with `treasury statements withdraw "
            f"{statement} --reason …`"
        )
    if row["covered_to"] is None:
        return "Add its statements, or confirm its balance if the bank issues none"
    if row["covered_from"] > max(row.get("missing_from") or month.first, month.first):
        return f"Add the statement before {row['covered_from']:%-d %b}"
    return f"Add the statement after {row['covered_to']:%-d %b}"


def source_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item if the services were not read after the month's end, or not recently."""
    at, read_on = facts.synced_at, facts.day(facts.synced_at)
    if facts.r.basis is None or not facts.are_services_used:
        return
    if at is None or at < facts.end:
        kind, since = "not_synced", read_on
    elif facts.is_stale:
        kind, since = "stale", facts.month.last
    else:
        return
    step = KINDS[kind].next_step
    if not facts.r.basis.question.uses_services:
        step = "They were read before: put [services] back into treasury.toml, then sync"
    yield make_item(
        facts,
        kind,
        "source:services",
        name="Services",
        state="MISSING" if at is None else "STALE",
        since=since,
        next_step=step,
        evidence_to=read_on,
    )


_BALANCES: Final = states_of("balance")
_LIMITS: Final = states_of("limit")
"""The states of a limit that is exceeded or cannot be proved."""


def balance_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per unproved balance; accounts that lack statements have an item already."""
    for row in facts.balances.to_pylist():
        if row["proved"] or (row["kind"] == "bank" and not row["blocks"]):
            continue
        kind = _BALANCES[row["kind"]].kind
        if row["kind"] == "company" and row["blocks"]:
            kind = "balance_not_proved"
        yield make_item(
            facts,
            kind,
            f"balance:{row['of']}/{row['currency']}/{facts.month}",
            name=f"{clean(row['name']) or short_account(row['of'])}, {row['currency']}",
            state="NOT PROVED",
            since=facts.month.last,
            amount=row["unexplained"] or row["in_doubt"],
            currency=row["currency"],
            next_step=f"{clean(row['problem'])}: {row['next_step']}",
        )


def virtual_account_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per virtual account with credits that cannot be proved."""
    for row in unprovable_accounts(facts.r):
        yield make_item(
            facts,
            "credits_not_provable",
            f"virtual_account:{row['virtual_bank_account_id']}/{facts.month}",
            name=f"{clean(row['name'])} {short_account(row['iban'])}".strip(),
            state="NOT PROVABLE",
            since=facts.month.last,
            currency=row["currency"] or "",
        )


def unprovable_accounts(r: Reconciliation) -> list[dict[str, Any]]:
    """Return the virtual accounts with credits that no provider report proves."""
    rows = r.virtual_accounts.arrow.to_pylist()
    return [row for row in rows if row["proof"].startswith(NOT_PROVABLE)]


def ledger_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per account whose balance in the ledger's files differs from ours.

    An account whose postings were reconciled has one item, with the amount that outstanding items
    do not explain.
    """
    reconciled = [row for row in table_rows(facts.books) if row["postings"] is not None]
    accounts = {(row["account"], row["currency"]) for row in reconciled}
    for row in table_rows(facts.ledger):
        if row["line"] is not None and (row["account"], row["currency"]) not in accounts:
            sides = (row["difference"], row["expected"], row["ledger"])
            yield from _ledger_item(facts, row, sides, KINDS["ledger_difference"].command)
    for row in reconciled:
        sides = (row["unexplained"], row["books"], row["expected"])
        yield from _ledger_item(facts, row, sides, f"treasury books {facts.month}")


def _ledger_item(
    facts: Facts, row: Mapping[str, Any], sides: Iterable[Decimal | None], command: str
) -> Iterator[OpenItem]:
    """Yield the item of an account, unless it agrees or is out of scope.

    Its amount is the first of `sides` that is known. An account that only the ledger has is named
    by its whole number, as `accounts.toml` needs it.
    """
    if row["finding"] in _AGREEMENTS or row["finding"].startswith(OUT_OF_SCOPE):
        return
    account = short_account(row["account"])
    do = "correct the ledger, or explain the difference"
    if row["finding"].startswith(_ALONE):
        account = clean(row["account"])
        do = "if it is one of yours, map it in accounts.toml; or correct the ledger"
    yield make_item(
        facts,
        "ledger_difference",
        f"ledger:{plain_account(row['account'])}/{row['currency']}/{facts.month}",
        name=f"{clean(row['name']) or account}, {row['currency']}",
        state="DIFFERS",
        since=facts.month.last,
        amount=next((side for side in sides if side is not None), None),
        currency=row["currency"] or "",
        next_step=f"{clean(row['finding'])}: {do}",
        command=command,
    )


def coin_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per measured coin if its opening, movements and closing do not add up."""
    for row in table_rows(facts.coins):
        if row["problem"]:
            pool = f" in {short_account(row['pool'])}" if row["pool"] else ""
            yield make_item(
                facts,
                "coins_untied",
                f"balance:coins/{row['coin']}/{row['pool']}/{facts.month}",
                name=f"{clean(row['coin'])}{pool}, {clean(row['name'])}",
                state="NOT PROVED",
                since=facts.month.last,
                next_step=f"{clean(row['problem'])}: {row['next_step']}",
            )


def exposure_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per limit on money with the provider that is exceeded or cannot be proved.

    The item has no amount, because the money is counted in other items.
    """
    for row in table_rows(facts.exposure):
        if row["standing"] not in _LIMITS:
            continue
        kind, state = _LIMITS[row["standing"]].kind, _LIMITS[row["standing"]].screen
        # The amount is part of the state, so that an acceptance lapses when it changes.
        if row["above_limit"] is not None:
            state = f"{state} BY {format_amount(row['above_limit'], row['currency'])}"
        stands, limit = (format_amount(row[of], row["currency"]) for of in ("amount", "limit"))
        words = KINDS[kind].next_step
        are = "row is" if row["not_provable"] == 1 else "rows are"
        doubt = f"{row['not_provable']:,} {are} in no sum: {words}"
        yield make_item(
            facts,
            kind,
            f"exposure:{row['scope']}/{facts.month}",
            name=f"{stands} with the provider, {row['scope']}; limit {limit}",
            state=state,
            since=min(facts.month.last, facts.today),
            currency=row["currency"],
            next_step=words if row["standing"] == "above" else doubt,
        )


_UNLISTED: Final = step_sql("treasury.month.items.steps", "unlisted_records")
_FINDINGS: Final = step_sql("treasury.month.items.steps", "standing_findings")
_FOUND: Final = states_of("finding")


def unseen_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per sync finding, record that is only named, and gap in the references.

    A sync finding is, for example, an unknown field. A record is only named if another record
    refers to it and no list contains it.
    """
    if facts.r.basis is None:
        return
    snapshot = facts.r.basis.snapshot
    for row in snapshot.select(_FINDINGS).to_pylist():
        state = _FOUND[row["kind"]]
        name = f"{row['table_name']} {clean(row['subject'])}".strip()
        others: dict[str, Any] = {}
        if row["kind"] == "count":
            name = f"{name}: {row['listed']:,} counted, {row['held']:,} held"
        elif row["kind"] == "refused":
            others = {
                "next_step": f"{clean(row['why'])}: read it with a credential that may read it"
            }
        yield _source_item(
            facts, state.kind, row["finding_id"], row, name=name, state=state.screen, **others
        )
    for row in named_nowhere(snapshot):
        place, record = row["missing_from"], clean(row["id"])
        name = f"{place} {record}, named by {row['named_by']}"
        yield _source_item(facts, "named_nowhere", f"{place}/{row['id']}", row, name=name)
    for row in reference_gaps(snapshot):
        span = row["first"] if row["missing"] == 1 else f"{row['first']} to {row['last']}"
        place = f"references/{row['first']}"
        yield _source_item(facts, "reference_gap", place, row, name=clean(span))


def _source_item(
    facts: Facts,
    kind: str,
    place: str,
    row: Mapping[str, Any],
    state: str = "NOT LISTED",
    **others: Any,
) -> OpenItem:
    """Return the item for a finding; it began on the day on which the finding was stored."""
    since = facts.day(row["since"])
    return make_item(facts, kind, f"source:{place}", state=state, since=since, **others)


def unlisted_items(facts: Facts) -> Iterator[OpenItem]:
    """Yield an item per request or transfer, of the month or before, that is no longer listed.

    The service may have settled, moved or lost such a record. It must not be paid until the
    provider has explained it, so the item replaces any other item about the record.
    """
    for row in facts.select(_UNLISTED, {"end": facts.end}):
        lacked_on = facts.day(row["vanished_at"])
        # The query returns only records that are no longer listed, so the day is set.
        assert lacked_on is not None
        yield make_item(
            facts,
            "vanished",
            f"{row['subject']}:{row['id']}",
            name=clean(row["name"]),
            state="NOT LISTED",
            since=min(lacked_on, facts.month.last),
            **money_of(row),
            direction=row["direction"],
            next_step=f"{clean(row['status'])} when it was last listed: ask the provider "
            "what became of it; do not pay it",
            request_id=row["id"] if row["subject"] == "request" else None,
            transfer_id=row["id"] if row["subject"] == "transfer" else None,
        )
