"""A month as its close shows it: the answer with all inputs of the checklist and the report.

An open month is computed from the current records. A closed month is computed from the records at
the commit that its close names. If a different version of the models closed it, and this version
gives a different result, the stored answers are read instead. In all cases the result is a
`Closing`, so checklist, page, workbook and evidence pack need no distinction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from typing import ClassVar, Final
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from treasury.actions.action_states import actions_of
from treasury.actions.policies.policy import Policy
from treasury.close import period_pins
from treasury.close.balances import month_balances
from treasury.close.cash.cash_answer import Cash, month_cash
from treasury.close.cash.own_flows import OwnFlow, journaled_flows
from treasury.close.evidence import TABLES, Fingerprint, code_of, fingerprints
from treasury.close.fees.fee_table import Fees, fees_of
from treasury.close.late_items import LATE_ITEMS, late_items
from treasury.close.ledger.bank_reconciliation import BankReconciliation
from treasury.close.ledger.coin_entries import CoinBooks, coin_books
from treasury.close.ledger.ledger_comparison import LedgerComparison
from treasury.close.ledger.ledger_scope import SCOPE, LedgerScope
from treasury.close.ledger.provided_ledger import (
    ComparedLedger,
    LedgerFile,
    compare_with,
    journaled_ledger,
)
from treasury.close.ledger.transit_bridge import TransitBridge, transit_bridge
from treasury.close.request_waits import funding_waits
from treasury.close.result_words import count, title_words
from treasury.close.review.controls import CONTROLS, Controls, controls_of, journaled_acts
from treasury.close.review.month_on_month import (
    CHANGE_THRESHOLDS,
    FIGURES,
    MonthOnMonth,
    journaled_thresholds,
    month_figures,
    month_on_month,
    months_before,
    thresholds_of,
)
from treasury.close.roll_forward import ITEMS, ROLL_FORWARD
from treasury.close.stored_answers import Answers, read_answers
from treasury.close.valuation.coins.agreed_measurement import Measurement
from treasury.close.valuation.coins.coin_accounts import CoinAccounts, CoinHistory, coin_accounts
from treasury.close.valuation.exposure.exposure_limits import EXPOSURE_LIMITS, ExposureLimits
from treasury.close.valuation.exposure.provider_exposure import ProviderExposure, provider_exposure
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Entry, Journal
from treasury.journal.chain import Head
from treasury.journal.decision_log import read_decided
from treasury.journal.notice_history import notices_of
from treasury.journal.period_history import Period, Preparation, closed_periods
from treasury.lake import Lake
from treasury.lake.upkeep.file_check import shaped
from treasury.month.decisions.agreed_terms import waiting_terms
from treasury.month.decisions.corrections import CORRECTIONS
from treasury.month.decisions.standing_verdicts import STANDING
from treasury.month.items import (
    ACTIONS,
    ATTACHMENTS,
    ITEM_OWNERS,
    ITEM_REMARKS,
    LIMITS,
    Acceptance,
    Facts,
    Limits,
    OpenItems,
    acceptances,
    attached_in,
    attachment_table,
    item_remarks,
    open_actions,
    open_items,
    owner_table,
    read_items,
)
from treasury.month.items.notes.attachments import waiting_removals
from treasury.month.items.notes.item_owners import owners_of
from treasury.month.items.notes.item_remarks import remark_words
from treasury.month.reconciliation import Reconciliation, synced_at


class Rolled(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """The inputs of a close from earlier months, from the journal and from later changes.

    `opened` returns the open items from one month's end to the next, as the tables `roll_forward`
    and `items`; it is called on demand. `late` is as in LATE_ITEMS, `corrections` as in
    CORRECTIONS. `moved` are decisions with changed facts, as in STANDING; `actions` are the
    unfinished actions at the service, as in ACTIONS. `accepted` are the agreements to carry, by
    item; `limits` the amounts below which an item does not block, as in LIMITS; `remarks` as in
    ITEM_REMARKS, and `owners` as in ITEM_OWNERS. `attachments` are the files that the month's pack
    carries, as in ATTACHMENTS. All of `accepted` to `attachments` are read from the journal's
    entries up to `agreed_to`. `coins` are the opening coins, and `exposure_limits` the limits on
    money with the provider, as in EXPOSURE_LIMITS. `scope` has the accounts that are not compared
    with the books, as in SCOPE. `decisions` counts the journal's decisions up to `head`.
    `journal_problem` is why the journal does not verify, or empty.

    Four functions are called on demand. `acts` returns the acts behind the close, as in CONTROLS;
    `before` the figures of earlier closed months, as in FIGURES; `thresholds` the changes that need
    an explanation, as in CHANGE_THRESHOLDS; and `own_flows` the company's own expected flows.
    """

    printed: ClassVar[Sequence[str]] = ("roll_forward",)

    fiat_columns: ClassVar[Mapping[str, Sequence[str]]] = {
        "late": ("amount",),
        "corrections": ("amount", "matched_amount"),
    }

    opened: Callable[[], tuple[pa.Table, pa.Table]] = lambda: (
        ROLL_FORWARD.empty_table(),
        ITEMS.empty_table(),
    )
    late: Table = msgspec.field(default_factory=LATE_ITEMS.empty_table)
    corrections: Table = msgspec.field(default_factory=CORRECTIONS.empty_table)
    moved: Table = msgspec.field(default_factory=STANDING.empty_table)
    actions: Table = msgspec.field(default_factory=ACTIONS.empty_table)
    accepted: Mapping[str, Acceptance] = msgspec.field(default_factory=dict)
    limits: Table = msgspec.field(default_factory=LIMITS.empty_table)
    remarks: Table = msgspec.field(default_factory=ITEM_REMARKS.empty_table)
    owners: Table = msgspec.field(default_factory=ITEM_OWNERS.empty_table)
    attachments: Table = msgspec.field(default_factory=ATTACHMENTS.empty_table)
    coins: CoinHistory = CoinHistory()
    exposure_limits: Table = msgspec.field(default_factory=EXPOSURE_LIMITS.empty_table)
    scope: Table = msgspec.field(default_factory=SCOPE.empty_table)
    agreed_to: int = 0
    decisions: int = 0
    head: Head | None = None
    journal_problem: str = ""
    acts: Callable[[], pa.Table] = CONTROLS.empty_table
    before: Callable[[], pa.Table] = FIGURES.empty_table
    thresholds: Callable[[], pa.Table] = CHANGE_THRESHOLDS.empty_table
    own_flows: Callable[[], Sequence[OwnFlow]] = tuple

    @property
    def roll_forward(self) -> Table:
        """The opening, movements and closing by kind and currency; columns as in ROLL_FORWARD."""
        return Table(self.opened()[0])

    @property
    def items(self) -> Table:
        """The request behind each amount of the roll-forward; columns as in ITEMS."""
        return Table(self.opened()[1])


class Closing(Tables, msgspec.Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """A month's answer with its balances, its open items and its roll-forward.

    `balances` as in BALANCES, `waits` as in FUNDING_TIMES, `sql` is the SQL that computes the
    outcomes. `stored_waits` are the waits that a close stored; for other months they are computed
    on demand. The coins are computed on demand too, unless one is measured: `measured_coins` then
    exist from the start. The same applies to `limited_exposure` if money with the provider has a
    limit. `period` is the close that locked the month, None while it is open; `preparation` waits
    for a second person's signature. `stored_by` is set if a different version of the models closed
    the month and this version gives a different result. The stored answers are then used, and
    `stored_by` names the first table or input that differs.
    """

    r: Reconciliation
    zone: ZoneInfo
    balances: Table
    items: OpenItems
    synced_at: datetime | None
    rolled: Rolled
    period: Period | None = None
    preparation: Preparation | None = None
    ledger: LedgerComparison | None = None
    books: BankReconciliation | None = None
    ledger_file: LedgerFile | None = None
    stored_by: str = ""
    stored_waits: Table | None = None
    measured_coins: CoinAccounts | None = None
    limited_exposure: ProviderExposure | None = None

    def time_zone(self) -> ZoneInfo:
        """Return the reporting time zone."""
        return self.zone

    @property
    def sql(self) -> str:
        """The SQL that computes the outcomes; `r.sql(STEP)` returns the SQL of a step."""
        return self.r.matches.sql

    def sheets(self) -> Mapping[str, Table]:
        """Return open items, balances, roll-forward and late items by sheet name."""
        return {
            "Open items": self.items.table,
            "Balances": self.balances,
            "Roll-forward": self.rolled.roll_forward,
            "Requests rolled forward": self.rolled.items,
            "Late items": self.rolled.late,
        }

    def __repr__(self) -> str:
        return f"<Close of {title_words(self.r, self.zone)}>"

    @property
    def is_unread(self) -> bool:
        """Whether the services were never read, so that there are no records of them."""
        return self.r.basis is not None and self.synced_at is None

    @property
    def are_services_used(self) -> bool:
        """Whether the company uses the services: they are in its settings, or were ever read."""
        return are_services_used(self.r, self.synced_at)

    @cached_property
    def waits(self) -> Table:
        """The requests funded in the month, with the time from approval to receipt."""
        stored = self.stored_waits
        return Table(funding_waits(self.r, self.zone)) if stored is None else stored

    @cached_property
    def fees(self) -> Fees:
        """The month's fees."""
        return fees_of(self.r)

    @cached_property
    def coins(self) -> CoinAccounts:
        """The month's coins: their carrying amounts, or their value for disclosure."""
        if self.measured_coins is not None:
            return self.measured_coins
        return coin_accounts(self.r, self.zone, self.balances.arrow, self.rolled.coins)

    @property
    def coin_books(self) -> CoinBooks:
        """The entries of the measured coins; empty without any."""
        return coin_books(self.measured_coins)

    @cached_property
    def exposure(self) -> ProviderExposure:
        """The money with the provider at the month's end, by day, and compared with its limits."""
        if self.limited_exposure is not None:
            return self.limited_exposure
        return provider_exposure(self.r, self.zone, self.rolled.exposure_limits.arrow)

    @cached_property
    def cash(self) -> Cash:
        """The funds at the month's end, and the flows known at the time of the answer."""
        return month_cash(self.r, self.balances.arrow, self.zone, self.rolled.own_flows())

    @cached_property
    def bridge(self) -> TransitBridge:
        """Money in transit as the report, the book entries and the roll-forward each compute it."""
        return transit_bridge(self.r, self.rolled.items.arrow, self.zone)

    def notes_on(self, subject: str, owner: str = "") -> str:
        """Return the owner, remarks and number of files of an account or step; empty if none.

        `owner`, if given, is used instead of the owner assigned to this id.
        """
        owner = owner or owners_of(self.rolled.owners.arrow).get(subject, "")
        words = [f"owner {clean(owner)}"] if owner else []
        words += filter(None, [self._remarks.get(subject, "")])
        files = self.rolled.attachments.arrow
        number = pc.sum(pc.equal(files["item_id"], subject)).as_py() or 0
        return " · ".join([*words, *([count(number, "file")] if number else [])])

    @cached_property
    def _remarks(self) -> Mapping[str, str]:
        return remark_words(self.rolled.remarks.arrow, self.zone)

    @cached_property
    def controls(self) -> Controls:
        """Who prepared, accepted and signed the month, and how each person was identified."""
        return controls_of(self.rolled.acts(), self.zone, len(self.rolled.late))

    @cached_property
    def month_on_month(self) -> MonthOnMonth:
        """The month's figures, compared with those of the closed months before."""
        now = month_figures(
            str(self.r.month), self.balances.arrow, self.r.fee_totals.arrow, self.items.arrow
        )
        rolled = self.rolled
        return month_on_month(
            self.r.month, now, rolled.before(), rolled.thresholds(), rolled.remarks.arrow
        )

    @cached_property
    def fingerprints(self) -> tuple[Fingerprint, ...]:
        """The hashes of the answer's tables, its SQL and its rules."""
        return fingerprints(self.r)


def are_services_used(r: Reconciliation, synced: datetime | None) -> bool:
    """Return whether the company uses the services.

    Services that were removed from the settings count as used if they were ever read, because their
    records may still be open.
    """
    return r.basis is None or r.basis.question.uses_services or synced is not None


def closing_of(
    r: Reconciliation,
    zone: ZoneInfo,
    rolled: Rolled | None = None,
    *,
    period: Period | None = None,
    preparation: Preparation | None = None,
    ledger: LedgerFile | None = None,
) -> Closing:
    """Compute the closing of a reconciled month, with its balances and open items."""
    rolled = rolled or Rolled()
    balances = month_balances(r, zone)
    coins = None
    if rolled.coins.measured.num_rows:
        coins = coin_accounts(r, zone, balances, rolled.coins)
    exposure = None
    if len(rolled.exposure_limits):
        exposure = provider_exposure(r, zone, rolled.exposure_limits.arrow)
    compared = ComparedLedger()
    if ledger is not None:
        compared = compare_with(r, ledger, balances, coin_books(coins), rolled.scope.arrow)
    synced = None if r.basis is None else synced_at(r.basis.snapshot)
    facts = Facts(
        r=r,
        zone=zone,
        balances=balances,
        synced_at=synced,
        are_services_used=are_services_used(r, synced),
        ledger=None if compared.balances is None else compared.balances.lines.arrow,
        books=None if compared.books is None else compared.books.accounts.arrow,
        coins=None if coins is None else coins.measured.arrow,
        exposure=None if exposure is None else exposure.totals.arrow,
        late=rolled.late.arrow,
        corrections=rolled.corrections.arrow,
        moved=rolled.moved.arrow,
        actions=rolled.actions.arrow,
        journal_problem=rolled.journal_problem,
    )
    return Closing(
        r=r,
        zone=zone,
        balances=balances,
        items=open_items(
            facts,
            rolled.accepted,
            rolled.limits.arrow,
            rolled.remarks.arrow,
            rolled.owners.arrow,
        ),
        synced_at=synced,
        rolled=rolled,
        period=period,
        preparation=preparation,
        ledger=compared.balances,
        books=compared.books,
        ledger_file=ledger,
        measured_coins=coins,
        limited_exposure=exposure,
    )


def closing_from(
    journal: Journal,
    lake: Lake,
    examined: period_pins.Examined,
    zone: ZoneInfo,
    *,
    period: Period | None = None,
    preparation: Preparation | None = None,
    ledger: LedgerFile | None = None,
    agreed: Sequence[Entry] | None = None,
    policy: Policy | None = None,
    flows: Callable[[], Sequence[OwnFlow]] | None = None,
) -> Closing:
    """Return the closing of an examined month.

    The thresholds for changes are those of `policy`, and the company's own flows are `flows`; by
    default, and for a prepared or closed month, the last journaled ones are used.

    `agreed` are the journal entries from which limits, owners, remarks, attached files and
    agreements to carry items are read; default: those that the month was examined with.
    """
    agreed = examined.decided.entries if agreed is None else agreed
    rolled = Rolled(
        opened=lambda: (
            examined.roll_forward.totals.arrow,
            examined.roll_forward.items.arrow,
        ),
        late=late_items(
            examined.knowledge, closed_periods(examined.decided.entries), examined.decided.entries
        ),
        corrections=examined.corrections,
        moved=examined.moved,
        actions=open_actions(
            actions_of(examined.acted),
            notices_of(examined.acted).values(),
            waiting_removals(examined.decided.entries),
            waiting_terms(examined.decided.entries, _TERMS),
        ),
        accepted=acceptances(agreed),
        limits=Limits.in_force(agreed),
        remarks=item_remarks(agreed),
        owners=owner_table(agreed),
        coins=examined.coins,
        exposure_limits=ExposureLimits.in_force(examined.decided.entries),
        scope=LedgerScope.in_force(examined.decided.entries),
        agreed_to=max((entry.seq for entry in agreed), default=0),
        decisions=len(examined.decided.entries),
        head=examined.decided.head,
        journal_problem=examined.journal_problem,
        before=partial(
            months_before,
            lake.workspace,
            examined.answer.month,
            closed_periods(examined.decided.entries),
        ),
    )
    closing = closing_of(
        examined.answer, zone, rolled, period=period, preparation=preparation, ledger=ledger
    )
    rolled = msgspec.structs.replace(rolled, attachments=_attached(closing, agreed))
    closing = msgspec.structs.replace(closing, rolled=rolled)
    return with_acts(closing, journal, until=examined.decided.until, policy=policy, flows=flows)


def _attached(closing: Closing, agreed: Sequence[Entry]) -> pa.Table:
    """Return the files that the month's pack carries; columns as in ATTACHMENTS."""
    month = closing.r.month
    before = (
        period.entry.seq for name, period in closed_periods(agreed).items() if name < str(month)
    )
    since = max(before, default=0)
    return attached_in(attachment_table(agreed), month, closing.items.by_id, since)


def with_acts(
    closing: Closing,
    journal: Journal,
    *,
    until: datetime | None = None,
    policy: Policy | None = None,
    flows: Callable[[], Sequence[OwnFlow]] | None = None,
) -> Closing:
    """Return a closing with the acts of people up to its signature, or up to its last input.

    Acts after `until` are left out. The thresholds are those of `policy` for an open month, else
    those of the policy that was journaled last when the month was prepared. The same applies to
    the company's own `flows`.
    """
    rolled = closing.rolled
    last = prepared = 0 if rolled.head is None else rolled.head.seq
    if closing.period is not None:
        last = closing.period.entry.seq
        prepared = (closing.period.close.preparation or closing.period.entry).seq
    elif closing.preparation is not None:
        prepared = closing.preparation.entry.seq
        last = max(rolled.agreed_to, prepared)
    acts = partial(journaled_acts, journal, closing.r.month, seq=last, until=until)
    thresholds = partial(journaled_thresholds, journal, prepared)
    own_flows: Callable[[], Sequence[OwnFlow]] = partial(journaled_flows, journal, prepared)
    if closing.period is None and closing.preparation is None:
        thresholds = thresholds if policy is None else partial(thresholds_of, policy)
        own_flows = flows or own_flows
    rolled = msgspec.structs.replace(rolled, acts=acts, thresholds=thresholds, own_flows=own_flows)
    return msgspec.structs.replace(closing, rolled=rolled)


def stored_answers(closing: Closing) -> Answers:
    """Return the tables that a close stores, and the version of the models that gave them."""
    tables = {name: getattr(closing.r, name).arrow for name in TABLES} | {
        "balances": closing.balances.arrow,
        "open_items": closing.items.arrow,
        "funding_times": closing.waits.arrow,
        "roll_forward": closing.rolled.roll_forward.arrow,
        "rolled_items": closing.rolled.items.arrow,
        "late_items": closing.rolled.late.arrow,
        "corrections": closing.rolled.corrections.arrow,
    }
    for part, (prefix, names) in _STORED_PARTS.items():
        answer = getattr(closing, part)
        if answer is not None:
            tables |= {f"{prefix}_{name}": getattr(answer, name).arrow for name in names}
    return Answers(_models(), tables)


_TERMS: Final = (Limits.kind, Measurement.kind, ExposureLimits.kind, LedgerScope.kind)
"""The terms of the policy that two people put in force."""
_STORED_PARTS: Final = {
    "measured_coins": ("coin", ("coins", "movements", "unproved", "lots", "events")),
    "limited_exposure": ("exposure", ("positions", "totals", "days", "ages")),
}
"""The optional parts of a closing that are stored: prefix and names of their tables."""


def closed_month(journal: Journal, lake: Lake, period: Period) -> Closing:
    """Return a closed month as it was closed.

    It is recomputed from its pinned commit and the journal up to its close. If a different version
    of the models closed it and the result differs, the stored answers of that version are returned,
    and `stored_by` explains it. Raise JournalError if it differs with the same models, and
    WorkspaceDamaged if the stored answers were changed.
    """
    close = period.close
    stored = read_answers(lake.workspace, close)
    examined = period_pins.examine_again(journal, lake, close)
    agreed = [entry for entry in read_decided(journal).entries if entry.seq < period.entry.seq]
    ledger = journaled_ledger(agreed, close, close.preparation or period.entry)
    zone = examined.knowledge.question.zone
    closing = closing_from(
        journal, lake, examined, zone, period=period, ledger=ledger, agreed=agreed
    )
    apart = period_pins.difference_from_close(close, examined)
    if not apart:
        now = stored_answers(closing).tables
        other = (name for name in now if name not in stored or not now[name].equals(stored[name]))
        apart = next((f"table {name}" for name in other), "")
    if not apart:
        return closing
    if close.models == _models():
        raise period_pins.not_as_closed(period, apart)
    return _as_stored(closing, stored, apart)


class VerifiedMonth(msgspec.Struct, frozen=True, eq=False):
    """A closed month that was verified: recomputed with the same result, or read as stored."""

    closing: Closing

    @property
    def answer(self) -> Reconciliation:
        """The month's answer."""
        return self.closing.r

    def facts(self) -> pa.Table:
        """Return one row: the month, its number of lines, and `stored_by`."""
        month, lines = str(self.answer.month), len(self.answer.lines)
        row = {"month": month, "lines": lines, "stored_by": self.closing.stored_by}
        return pa.Table.from_pylist([row])

    def __str__(self) -> str:
        if self.closing.stored_by:
            return f"{self.answer.month}: {self.closing.stored_by}"
        lines = count(len(self.answer.lines), "line")
        return f"{self.answer.month} gives the same result as at its close: {lines}"


def verify_period(journal: Journal, lake: Lake, period: Period) -> VerifiedMonth:
    """Verify the journal entry of a close, then return the month as `closed_month` does.

    Raise JournalError if the entry is not valid or the same models give another result, and
    WorkspaceDamaged if the stored answers were changed.
    """
    journal.verify(period.entry)
    return VerifiedMonth(closed_month(journal, lake, period))


def _as_stored(closing: Closing, stored: Mapping[str, pa.Table], apart: str) -> Closing:
    """Return the month with its close's stored answers instead of the computed ones."""
    # Only closed months have stored answers, so the period is set.
    assert closing.period is not None

    def as_stored(name: str, present: pa.Table) -> pa.Table:
        """Return the stored table with today's columns; columns that it lacks are null."""
        return shaped(stored[name], present.schema)

    rolled = closing.rolled
    opened = (
        as_stored("roll_forward", rolled.roll_forward.arrow),
        as_stored("rolled_items", rolled.items.arrow),
    )
    answers = {name: as_stored(name, getattr(closing.r, name).arrow) for name in TABLES}
    parts = {}
    for part, (prefix, names) in _STORED_PARTS.items():
        answer = getattr(closing, part)
        if answer is not None and f"{prefix}_{names[0]}" in stored:
            tables = {
                name: as_stored(f"{prefix}_{name}", getattr(answer, name).arrow) for name in names
            }
            parts[part] = msgspec.structs.replace(answer, **tables)
    return msgspec.structs.replace(
        closing,
        r=msgspec.structs.replace(closing.r, **answers),
        balances=as_stored("balances", closing.balances.arrow),
        stored_waits=as_stored("funding_times", closing.waits.arrow),
        **parts,
        items=read_items(
            closing.r.month, as_stored("open_items", closing.items.arrow), closing.items.today
        ),
        rolled=msgspec.structs.replace(
            rolled,
            opened=lambda: opened,
            late=as_stored("late_items", rolled.late.arrow),
            corrections=as_stored("corrections", rolled.corrections.arrow),
        ),
        stored_by="closed by an earlier version of the models; verified by what it stored"
        f" ({apart}: this version gives a different result)",
    )


def _models() -> str:
    """Return the version of the models in use."""
    return code_of().models
