"""The doctor: finds missing or damaged parts of a workspace, and names the next steps.

Each finding is a fact about the workspace, and may have a next step. The doctor calls the services
only to download rows that a repair could not recover.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec
import pyarrow as pa

from treasury.actions.payment_orders import HOLDER_STEP, payer_problem, payers_of
from treasury.close.stored_answers import altered_answers
from treasury.core.calendar import target_holidays
from treasury.core.errors import JournalError, SettingsError, TreasuryError
from treasury.core.files.access import excess_access
from treasury.core.files.package_files import step_sql
from treasury.core.identifiers import plain_account
from treasury.core.settings import FILE_NAME, Settings, is_loopback
from treasury.core.settings.confirmed_addresses import COMMAND, differences
from treasury.core.tables.result_tables import Tables
from treasury.core.tables.table import Table
from treasury.core.text import ascii_escaped, clean
from treasury.core.wording import instant_words
from treasury.journal import Journal
from treasury.journal.period_history import closed_periods
from treasury.journal.signing import require_key
from treasury.journal.workspace_copies import original_of
from treasury.lake import Lake, damages, repair, tables_of
from treasury.rates.rate_table import TABLES as RATE_TABLES
from treasury.statements import TABLES as STATEMENT_TABLES
from treasury.statements import stored_coverage
from treasury.workspace.upkeep.health_finding import HealthFinding, State
from treasury.workspace.upkeep.home_health import (
    brought_from_home,
    home_findings,
    unpulled_decisions,
)
from treasury.workspace.upkeep.repair_losses import (
    missing_statements,
    narrow_marks,
    observation_gaps,
)
from treasury.workspace.upkeep.watch_health import watch_findings

RATES: Final = frozenset(table.name for table in RATE_TABLES)
BANKS: Final = RATES.union(table.name for table in STATEMENT_TABLES)
"""Tables that people fill from files, so that no service can restore them."""

LISTED: Final = 10
"""Maximum number of files listed by name; the others are only counted."""

_REPAIR: Final = "run `treasury doctor --repair`"

OLD: Final = timedelta(days=1)
"""Age of the last sync at which the doctor advises a new one."""

_SYNCED: Final = "SELECT count(*) > 0 AS synced FROM commits WHERE kind LIKE 'sync%'"
_NEEDED: Final = ("damaged", "missing")
_FIRST: Final = (*_NEEDED, "optional")
"""The states that have a next step, the most urgent first."""


FINDINGS: Final = pa.schema([(name, pa.string()) for name in ("topic", "state", "what", "do")])


class Examination(Tables, msgspec.Struct, frozen=True):
    """The doctor's findings, in the order in which a workspace is set up."""

    findings: tuple[HealthFinding, ...]

    @property
    def damaged(self) -> bool:
        """Whether stored data differs from the data that was written."""
        return any(finding.state == "damaged" for finding in self.findings)

    @property
    def table(self) -> Table:
        """One row per finding."""
        rows = list(map(msgspec.structs.asdict, self.findings))
        return Table(pa.Table.from_pylist(rows, FINDINGS))

    def sheets(self) -> Mapping[str, Table]:
        """Return the findings as a table, by sheet name."""
        return {"Findings": self.table}

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    @property
    def sql(self) -> str:
        """A query that lists all commits, on which the findings about stored data are based."""
        return 'SELECT * FROM commits ORDER BY "at"'

    @property
    def next_step(self) -> str:
        """The most urgent step: repair comes first, then the order of setting up."""
        steps = {finding.state: finding.do for finding in reversed(self.findings) if finding.do}
        return next((steps[state] for state in _FIRST if state in steps), "")

    def __str__(self) -> str:
        """Return a line per finding with its step, and last the most urgent step, if any."""
        lines = []
        for finding in self.findings:
            lines.append(f"{finding.state:<8} {finding.topic}: {finding.what}")
            if finding.do:
                lines.append(f"{'':<8} -> {finding.do}")
        if any(finding.do and finding.state in _NEEDED for finding in self.findings):
            lines.append(f"next     {self.next_step}")
        else:
            lines.append("everything required is in order")
        return "\n".join(lines)


def examine(
    folder: Path,
    settings: Settings,
    lake: Lake,
    journal: Journal,
    now: datetime,
    *,
    mend: bool = False,
    ask_again: Callable[[Sequence[str]], object] | None = None,
) -> Examination:
    """Examine settings, journal and stored data; with `mend`, repair damage first.

    `ask_again` downloads service tables that a repair could not recover, and returns a report.
    """
    has_services = settings.services is not None
    findings = [*_installation(), *_settings_findings(folder, settings)]
    if os.access(folder, os.W_OK):
        findings.append(HealthFinding("workspace", "ok", str(folder)))
    else:
        problem = f"{folder} is not writable"
        findings.append(HealthFinding("workspace", "missing", problem, "get write permission"))
    shared = settings.workspace.shared
    # Check whether more people may read the workspace than its settings allow.
    if count := sum(1 for _ in excess_access(folder, shared)):
        others = f"people other than {'the group' if shared else 'you'} may read"
        do = f"run `chmod -R {'o=' if shared else 'go='} {shlex.quote(str(folder))}`"
        problem = f"{others} {count:,} files and folders"
        findings.append(HealthFinding("access", "missing", problem, do))
    findings += [*_journal(journal), *_copied(journal)]
    mended, whole = _stored(lake, now, mend, ask_again)
    findings += mended
    if lake.sharing is not None:
        findings += home_findings(lake.sharing, mend=mend)
        if unpulled := unpulled_decisions(lake, journal):
            findings.append(
                HealthFinding("journal", "missing", unpulled, "run `treasury lake pull`")
            )
    findings += _answers(lake, journal)
    if whole:
        if has_services:
            findings += _sync(lake, settings, now)
        elif lake.snapshot().sql(_SYNCED)["synced"][0].as_py():
            findings.append(
                HealthFinding(
                    "environment",
                    "missing",
                    "the services were read before, and are not in the settings now",
                    f"put [services] back into {FILE_NAME}, then run `treasury sync`",
                )
            )
        findings += [*_accounts(lake, settings), *_wallets(lake)]
    findings += [
        HealthFinding(
            "payment files", "missing", f"{payer.iban} cannot pay by file: {obstacle}", HOLDER_STEP
        )
        for payer in payers_of(settings)
        if (obstacle := payer_problem(payer))
    ]
    findings += watch_findings(folder, settings)
    year = now.astimezone(settings.zone).year
    sentence = (
        f"days and months in {settings.workspace.time_zone}; TARGET with"
        f" {len(target_holidays(year))} holidays in {year}; other payment networks count calendar"
        " days"
    )
    findings.append(HealthFinding("calendars", "ok", sentence))
    findings += [*_rules(folder), *_limits(folder, journal)]
    return Examination(tuple(findings))


def examine_settings(folder: Path, settings: Settings, error: SettingsError) -> Examination:
    """Examine only the settings, for use if an error prevents opening the journal."""
    findings = [*_installation(), *_settings_findings(folder, settings)]
    findings.append(HealthFinding("journal", "missing", error.what, error.do or ""))
    return Examination(tuple(findings))


def _installation() -> Iterator[HealthFinding]:
    """Yield a finding if another project's package with the same import name is installed."""
    with suppress(metadata.PackageNotFoundError):
        other = metadata.version("treasury")
        yield HealthFinding(
            "installation",
            "missing",
            f"the package `treasury` {other} of another project is installed too and has the"
            " same import name",
            "run `pip uninstall treasury`, then `pip install --force-reinstall treasury-toolkit`",
        )


def _settings_findings(folder: Path, settings: Settings) -> Iterator[HealthFinding]:
    """Check the environment, the credentials, and the confirmed addresses for secrets."""
    desk, services = settings.workspace, settings.services
    if services is None:
        sentence = f"{desk.environment}; the payment services are not used here"
        yield HealthFinding("environment", "ok", f"{sentence}: bank files alone")
    else:
        writes = "may be written to" if services.may_write else "is only read"
        hosts = ascii_escaped(", ".join(sorted(set(services.hosts))))
        yield HealthFinding("environment", "ok", f"{desk.environment} at {hosts}; it {writes}")
    do = f"if that is right, run `{COMMAND}` in a terminal; until then, nothing is sent to it"
    try:
        differing = differences(folder, settings)
    except SettingsError as error:
        yield HealthFinding("addresses", "missing", error.what, error.do or "")
    else:
        for difference in differing:
            yield HealthFinding("addresses", "missing", str(difference), do)
    if services is not None or settings.credentials:
        yield from _credentials(settings)


def _credentials(settings: Settings) -> Iterator[HealthFinding]:
    if not settings.credentials:
        do = f"add [credentials.maker] with client_id and client_secret to {FILE_NAME}"
        yield HealthFinding("credentials", "missing", "none", do)
    services = settings.services
    # The practice company's services are a sandbox on this machine and need not be reachable.
    is_practice = (
        services is not None
        and settings.workspace.environment == "sandbox"
        and all(map(is_loopback, services.hosts))
    )
    for name, credential in settings.credentials.items():
        who = f"{name} is {credential.client_id}"
        try:
            credential.secret()
        except SettingsError as error:
            if is_practice:
                practice = (
                    f"{who}, of the practice company: its secret is available while it is served"
                )
                step = "run commands that need its services with `treasury practice COMMAND…`"
                yield HealthFinding("credentials", "optional", practice, step)
                continue
            yield HealthFinding("credentials", "missing", f"{who}; {error.what}", error.do or "")
        else:
            role = "its role becomes known on first use"
            yield HealthFinding("credentials", "ok", f"{who}; its secret is found; {role}")
    if len(settings.credentials) == 1:
        sentence = "only one credential: it may not approve what it creates"
        do = "add a credential of a user who may approve, or approve in the provider's portal"
        yield HealthFinding("credentials", "optional", sentence, do)


def _journal(journal: Journal) -> Iterator[HealthFinding]:
    """Check that journal entries are unchanged and signed, and that no last entry is missing."""
    try:
        journal.head()
        rules = journal.signing.rules()
    except TreasuryError as error:
        yield HealthFinding("journal", "missing", error.what, error.do or "")
        return
    try:
        count = journal.verify(rules=rules).seq
    except JournalError as error:
        yield HealthFinding("journal", "damaged", error.what, error.do or "")
    else:
        signed = " and signed as the policy requires" if rules.required else ""
        sentence = f"{count:,} entries, each unchanged{signed}"
        yield HealthFinding("journal", "ok", sentence if count else "no decisions yet")
    if not rules.required:
        return
    try:
        require_key(journal.signing.key(), rules, [journal.who()])
    except TreasuryError as error:
        yield HealthFinding("journal", "missing", error.what, error.do or "")


def _copied(journal: Journal) -> Iterator[HealthFinding]:
    """Check whether this workspace is a copy of another one, which must not send actions."""
    if journal.folder is None:
        return
    try:
        original = original_of(journal.folder)
    except JournalError as error:
        yield HealthFinding("workspace", "missing", error.what, error.do or "")
        return
    if original is not None:
        sentence = f"it is a copy of {original}: nothing is sent from here"
        do = f"continue in {original}, or run `treasury journal adopt --reason …` here"
        yield HealthFinding("workspace", "missing", sentence, do)


def _stored(
    lake: Lake, now: datetime, mend: bool, ask_again: Callable[[Sequence[str]], object] | None
) -> tuple[list[HealthFinding], bool]:
    """Return the findings about stored data, and whether the data is readable."""
    findings: list[HealthFinding] = []
    if mend:
        if lake.sharing is not None:
            findings += brought_from_home(lake.sharing)
        repairs = lake.again(lambda: repair(lake, now), "treasury doctor --repair")
        findings += [
            HealthFinding("stored files", "repaired", sentence)
            for sentence in (*map(str, repairs.tables), *repairs.sentences)
        ]
        lost = {table.table: table.lost for table in repairs.tables}
        lake.again(lambda: narrow_marks(lake, now, lost), "treasury doctor --repair")
    damaged = damages(lake)
    for damage in damaged:
        do = "restore it from a copy" if damage.pinned is not None else _REPAIR
        findings.append(HealthFinding("stored files", "damaged", str(damage), do))
    whole = all(damage.pinned is not None for damage in damaged)
    if not damaged:
        findings.append(HealthFinding("stored files", "ok", "every file is unchanged"))
    if whole and mend and ask_again is not None:
        findings += _fetch_again(lake, ask_again)
    if whole:
        findings += _to_fetch(lake)
        if problem := lake.unpublished():
            if mend:
                lake.publish()
            state: State = "repaired" if mend else "missing"
            do = "" if mend else f"{_REPAIR}, or sync"
            sentence = f"it {problem}{'; it was written again' if mend else ''}"
            findings.append(HealthFinding("treasury.duckdb", state, sentence, do))
        findings += _closes(lake, now, mend)
    return findings, whole


def _fetch_again(
    lake: Lake, ask_again: Callable[[Sequence[str]], object]
) -> Iterator[HealthFinding]:
    """Download tables that a repair could not recover, if the services are available."""
    last = lake.last_commit()
    tables = [name for name in tables_of(last.refetch if last else ()) if name not in BANKS]
    if not tables:
        return
    names = ", ".join(tables)
    try:
        answer = str(ask_again(tables)).partition("\n")[0]
    except TreasuryError as error:
        sentence = f"{names}: the services could not be queried ({error.what})"
        yield HealthFinding("stored files", "missing", sentence, error.do or "")
    else:
        sentence = f"{names}: downloaded again from the services; {answer}"
        yield HealthFinding("stored files", "repaired", sentence)


def _closes(lake: Lake, now: datetime, mend: bool) -> Iterator[HealthFinding]:
    """Check that the commits of closed months are pinned and all their files exist."""
    try:
        unkept = lake.unkept()
    # A journal error is reported by a separate finding.
    except JournalError:
        return
    for number, purpose in sorted(unkept.items()):
        sentence = f"commit {number}, the basis of {purpose}, is not kept"
        do = f"restore lake/pins/{number}.json from a copy"
        try:
            lake.snapshot(commit=number)
        except TreasuryError as error:
            yield HealthFinding("closed months", "missing", f"{sentence} ({error.what})", do)
            continue
        if mend:
            lake.pin(purpose, now, commit=number)
            sentence = f"{sentence.removesuffix(' is not kept')} is kept"
            yield HealthFinding("closed months", "repaired", sentence)
        else:
            yield HealthFinding("closed months", "missing", sentence, _REPAIR)


def _answers(lake: Lake, journal: Journal) -> Iterator[HealthFinding]:
    """Check that the stored results of closed months are unchanged."""
    try:
        closed = closed_periods(journal.entries("period.")).values()
    # A journal error is reported by a separate finding.
    except JournalError:
        return
    for period in closed:
        for path in altered_answers(lake.workspace, period.close):
            sentence = f"{path} differs from the file that the close of {period.month} stored"
            yield HealthFinding("closed months", "damaged", sentence, "restore it from a copy")


def _to_fetch(lake: Lake) -> Iterator[HealthFinding]:
    """Yield findings about rows that a repair could not recover, and how to restore them."""
    snapshot = lake.snapshot()
    statements, files = missing_statements(snapshot)
    if statements:
        names, more = ", ".join(map(clean, files[:LISTED])), len(files) - LISTED
        names = f"{names} and {more:,} more" if more > 0 else names or "files of unknown name"
        sentence = f"rows of {statements:,} bank statements, read from {names}"
        do = "add these files again: `treasury statements add FILE…`"
        yield HealthFinding("stored files", "missing", sentence, do)
    refetch = () if snapshot.commit is None else snapshot.commit.refetch
    whole = tables_of(entry for entry in refetch if "/" not in entry)
    lost = "rows that a repair could not recover"
    services = [name for name in whole if name not in BANKS]
    if services:
        do = "run `treasury sync`: it downloads all rows again"
        yield HealthFinding("stored files", "missing", f"{', '.join(services)}: {lost}", do)
    for name in sorted(BANKS & set(whole)):
        kind = "files of rates" if name in RATES else "bank files"
        do = f"add the {kind} again; when that is done, `treasury doctor --accept-loss {name}`"
        yield HealthFinding("stored files", "missing", f"{name}: {lost}", do)
    observations = [table.name for table in lake.catalogue.values() if not table.records]
    for gap in (gap for name in observations for gap in observation_gaps(snapshot, name)):
        after = "the beginning" if gap.after is None else f"{gap.after:%F %T}Z"
        before = "now" if gap.before is None else f"{gap.before:%F %T}Z"
        lost = (
            "the observations of one sync"
            if gap.syncs == 1
            else f"the observations of {gap.syncs:,} syncs"
        )
        # Past observations cannot be repeated.
        sentence = (
            f"{gap.table}: {lost} between {after} and {before} are permanently lost; the next"
            " stored observation is used"
        )
        yield HealthFinding("stored files", "missing", sentence)


def _sync(lake: Lake, settings: Settings, now: datetime) -> Iterator[HealthFinding]:
    query = "SELECT max(\"at\") AS last FROM commits WHERE kind = 'sync'"
    last = lake.snapshot().sql(query)["last"][0].as_py()
    if last is None:
        yield HealthFinding("sync", "missing", "never", "run `treasury sync`")
        return
    local = last.astimezone(settings.zone)
    hours = max(0, int((now - last.astimezone(UTC)).total_seconds() // 3600))
    sentence = f"last at {instant_words(local)}, {hours:,} hours ago"
    if now - last > OLD:
        yield HealthFinding("sync", "missing", sentence, "run `treasury sync`")
    else:
        yield HealthFinding("sync", "ok", sentence)


def _accounts(lake: Lake, settings: Settings) -> Iterator[HealthFinding]:
    """Yield findings about the coverage of declared accounts, and about undeclared accounts."""
    snapshot = lake.snapshot()
    declared = {plain_account(account.account): account.source for account in settings.accounts}
    if not declared:
        yield HealthFinding(
            "statements", "missing", "no account is declared", f"add [[accounts]] to {FILE_NAME}"
        )
    for row in stored_coverage(snapshot, settings.accounts).to_pylist():
        yield _covered(row["account"], row["source"], row["covered_to"], row["statements"])
    query = (
        "SELECT iban, name FROM company_bank_accounts"
        " WHERE iban IS NOT NULL AND vanished_at IS NULL ORDER BY iban"
    )
    for row in snapshot.sql(query).to_pylist():
        if plain_account(row["iban"]) not in declared:
            sentence = f"{row['iban']} ({row['name']}) is ours, but no statements are declared"
            do = f"add it to [[accounts]] in {FILE_NAME} with source own_bank"
            yield HealthFinding("statements", "missing", sentence, do)
    virtual = snapshot.sql("SELECT count(*) AS n FROM virtual_bank_accounts")["n"][0].as_py()
    if virtual and "provider_report" not in declared.values():
        sentence = f"credits to {virtual:,} virtual accounts are not provable"
        do = f"add the provider's account to [[accounts]] in {FILE_NAME}, source provider_report"
        yield HealthFinding("statements", "missing", f"{sentence} without a provider report", do)


def _covered(account: str, source: str | None, to: date | None, statements: int) -> HealthFinding:
    if source is None:
        sentence, do = (
            "has statements but is not declared",
            f"add it to [[accounts]] in {FILE_NAME}",
        )
        return HealthFinding("statements", "missing", f"{account} {sentence}", do)
    if to is None:
        do = "run `treasury statements add FILE…`"
        if statements:
            do = (
                f"run `treasury statements confirm {account} --date … --balance … --source …` for"
                " the day before its lines and for their last day, if its files have no balances"
            )
        return HealthFinding(
            "statements", "missing", f"{account} ({source}) has no proved statement", do
        )
    return HealthFinding("statements", "ok", f"{account} ({source}) is covered to {to}")


def _wallets(lake: Lake) -> Iterator[HealthFinding]:
    reaches = step_sql("treasury.workspace.steps", "wallet_reach")
    for row in lake.snapshot().sql(reaches).to_pylist():
        wallet = f"{row['chain']} {row['address']}"
        if row["reaches"] is not None:
            yield HealthFinding("wallets", "ok", f"{wallet}: evidence to {row['reaches']:%Y-%m-%d}")
            continue
        sentence = f"{wallet}: no service shows its balance, and no evidence was added"
        do = (
            "run `treasury wallets add FILE`; until then deliveries show only as stated by"
            " the service"
        )
        yield HealthFinding("wallets", "optional", sentence, do)


def _limits(folder: Path, journal: Journal) -> Iterator[HealthFinding]:
    """Check that the terms in the policy equal the terms on which two people last agreed."""
    from treasury.actions.policies.policy import load_policy
    from treasury.close.ledger.ledger_scope import LedgerScope
    from treasury.close.valuation.coins.agreed_measurement import Measurement
    from treasury.close.valuation.exposure.exposure_limits import ExposureLimits
    from treasury.journal.decision_log import read_decided
    from treasury.month.items.materiality import Limits

    try:
        entries, policy = read_decided(journal).entries, load_policy(folder)
        terms = (
            (Limits.differ(entries, policy), "limits of [materiality]", "items limits", " them"),
            (Measurement.differ(entries, policy), "terms of [coins]", "coins measurement", " it"),
            (ExposureLimits.differ(entries, policy), "limits of [exposure]", "exposure-limits", ""),
            (LedgerScope.differ(entries, policy), "accounts of [out_of_scope]", "items scope", ""),
        )
    except SettingsError as error:
        yield HealthFinding("policy", "missing", error.what, error.do or "")
        return
    except TreasuryError:
        # A journal error is reported by a separate finding.
        return
    for differ, name, verb, it in terms:
        if differ:
            sentence = f"the {name} differ from those in force: two people must put them in force"
            do = f"run `treasury {verb} --propose --reason …`, and have a colleague accept{it}"
            yield HealthFinding("policy", "missing", sentence, do)


def _rules(folder: Path) -> Iterator[HealthFinding]:
    from treasury.matching.rules import load_rules, met_by_none

    path = folder / "rules.toml"
    if not path.is_file():
        sentence = "no rules.toml: your own other business, such as rent, stays unexplained"
        yield HealthFinding("rules", "optional", sentence, f"write {path} with [[classes]]")
        return
    try:
        rules = load_rules(path)
    except TreasuryError as error:
        yield HealthFinding("rules", "missing", error.what, error.do or "")
        return
    yield HealthFinding("rules", "ok", str(path))
    for name in met_by_none(rules):
        class_name = repr(clean(name)[:60])
        sentence = f"the class {class_name} matches payers' text, and no line matches it"
        do = "give its bank_transaction_code or counterparty_account too"
        yield HealthFinding("rules", "optional", sentence, do)
