"""Decision commands: lines, sheets, remarks, rules, periods, comparisons."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pyarrow as pa
import pyarrow.compute as pc

from treasury.cli.command_view import (
    Command,
    CommandView,
    month_argument,
    pass_view,
    print_options,
    view_options,
)
from treasury.cli.layout import echo_folded
from treasury.cli.output import dry_run_option, say_verdict
from treasury.core.text import clean
from treasury.core.wording import group_words
from treasury.month.decisions.verdicts import typed_expectations

if TYPE_CHECKING:
    from treasury.journal.decision_history import Decision
    from treasury.month.items import Effects, SheetPlan
    from treasury.workspace import Workspace

_seq_option = click.option(
    "--seq",
    type=int,
    metavar="N",
    help="Undo only the decision with this journal number, as shown by `list`.",
)
_reason_option = click.option("--reason", required=True, help="Reason; it is journaled.")


def reasoned_options(function: Command) -> Command:
    """Add `--reason` and `--dry-run` to a command that decides, and pass it a `CommandView`."""
    return _reason_option(dry_run_option(pass_view(function)))


def deciding_options(function: Command) -> Command:
    """Add `--dry-run` and an optional `--reason` to a command; pass it a `CommandView`."""
    option = click.option("--reason", default="", help="Reason; it is journaled.")
    return option(dry_run_option(pass_view(function)))


def _say_decided(verdict: str, *decisions: Decision, dry_run: bool) -> None:
    """Print the decisions; for a line of a closed month, also the month in which it is posted."""
    for decision in decisions:
        say_verdict(decision.entry_id, verdict, dry_run=dry_run)
    for decision in decisions:
        if decision.closed_month:
            echo_folded(
                f"  {decision.closed_month} is closed and stays closed: the decision posts in"
                f" {decision.posts_to}"
            )


# Commands for verdicts on bank lines.


@click.group()
def match() -> None:
    """Decide which expectation a bank line belongs to: accept, reject, ignore, assign, undo.

    Name a line by its id or the id's first characters, a request or virtual account by its
    reference or id; `treasury match open` shows both.
    """


@match.command("open")
@click.option("--assigned-to", metavar="NAME", help="Show only lines assigned to this person.")
@view_options
def match_open(view: CommandView, assigned_to: str | None) -> None:
    """List the lines that need a person's decision, oldest first."""
    table = view.workspace.matches.open().arrow
    if assigned_to:
        is_assigned = [name == assigned_to for name in table["assigned_to"].to_pylist()]
        table = table.filter(pa.array(is_assigned, pa.bool_()))
    if view.is_table:
        from treasury.report import reason_words

        reasons = [reason_words(reason or "") for reason in table["reason"].to_pylist()]
        at = table.column_names.index("reason")
        table = table.set_column(at, "reason", pa.array(reasons, pa.string()))
        table = with_short_ids(table)
    view.rows(table, layout="open_lines", title="Bank lines to decide")
    if not view.is_table:
        return
    groups = view.workspace.matches.look()[0].matches.groups()
    first = {min(group): len(group) for group in groups.values()}
    for row in table.filter(pc.is_in(table["entry_id"], pa.array(first, pa.string()))).to_pylist():
        size = first[row["entry_id"]]
        accepting = f"treasury match group {row['line']}"
        echo_folded(f"{group_words(size)}; --dry-run shows what accepting all does: {accepting}")


def with_short_ids(table: pa.Table) -> pa.Table:
    """Add the column `line`: the ids' beginnings, as long as needed to differ in this table."""
    ids = table["entry_id"].to_pylist()
    length = 8
    while len({name[:length] for name in ids}) < len(set(ids)):
        length += 1
    return table.append_column("line", pa.array([name[:length] for name in ids], pa.string()))


@match.command("list")
@click.option("--moved", is_flag=True, help="Show only decisions whose facts have changed since.")
@view_options
def match_list(view: CommandView, moved: bool) -> None:
    """List the decisions in force, and the facts of each that have changed since."""
    table = view.workspace.matches.list().arrow
    if moved:
        table = table.filter(pa.array(map(bool, table["moved"].to_pylist()), pa.bool_()))
    if view.is_table:
        table = with_short_ids(table)
    view.rows(table, layout="decided_lines", title="Decisions in force")


@match.command("accept")
@click.argument("line")
@click.argument("expectations", nargs=-1, required=True)
@deciding_options
def match_accept(
    view: CommandView, line: str, expectations: tuple[str, ...], reason: str, dry_run: bool
) -> None:
    """Accept that LINE belongs to one or several EXPECTATIONS.

    A line for several virtual accounts is split: CODE=AMOUNT for each, adding up to its amount.
    """
    typed = typed_expectations(expectations)
    accept = partial(view.workspace.matches.accept, line, typed, reason=reason)
    _require_agreed_lines(view.workspace, accept(dry_run=True), dry_run=dry_run)
    _say_decided("accepted", accept(dry_run=dry_run), dry_run=dry_run)


@match.command("group")
@click.argument("line")
@deciding_options
def match_group(view: CommandView, line: str, reason: str, dry_run: bool) -> None:
    """Accept the whole group of equal payments that LINE is in.

    A group has as many payments as requests, which all fit each other equally. Each payment is
    accepted for the request assigned to it by date.
    """
    from treasury.panels.steps.verdict_steps import sentence

    matches = view.workspace.matches
    planned = matches.accept_group(line, reason=reason, dry_run=True)
    echo_folded(f"{group_words(len(planned))}:")
    for decision in planned:
        echo_folded(f"  {sentence(decision)}")
    _require_agreed_lines(view.workspace, *planned, dry_run=dry_run, ask=True)
    if not dry_run:
        # This accepts only the pairs that were shown, even if the group has one more line by now.
        shown = [(decision.entry_id, decision.expectations) for decision in planned]
        planned = matches.accept_many(shown, reason=reason)
    _say_decided("accepted", *planned, dry_run=dry_run)


@match.command("file")
@click.argument("line")
@click.argument("file")
@deciding_options
def match_file(view: CommandView, line: str, file: str, reason: str, dry_run: bool) -> None:
    """Accept LINE as the debit of the whole payment FILE, for all orders not rejected."""
    accept = partial(view.workspace.matches.accept_file, line, file, reason=reason)
    _require_agreed_lines(view.workspace, accept(dry_run=True), dry_run=dry_run)
    decision = accept(dry_run=dry_run)
    requests = f"{len(decision.expectations)} requests of {clean(file)}"
    _say_decided(f"accepted for {requests}", decision, dry_run=dry_run)


def _require_agreed_lines(
    desk: Workspace, *planned: Decision, dry_run: bool, ask: bool = False
) -> None:
    """Print the warnings about planned decisions on lines, and their effects on other items."""
    against = [objection for decision in planned for objection in decision.despite]
    for objection in against:
        echo_folded(f"although {clean(objection)}")
    effects = desk.decision_effects(*planned)
    _require_agreed(effects, "also changes", dry_run=dry_run, ask=ask or bool(against))


def _require_agreed(
    effects: Effects, title: str = "changes", *, dry_run: bool, ask: bool = False
) -> None:
    """Print the effects on other items; on a terminal, ask whether to continue."""
    if effects.unknown:
        echo_folded(f"other effects are unknown: {clean(effects.unknown)}")
    if not ask and not len(effects):
        return
    if len(effects):
        echo_folded(f"{title}, in the open items of {effects.month}:")
    for effect in effects:
        echo_folded(f"  {clean(str(effect))}")
    if not dry_run and sys.stdin.isatty():
        click.confirm("Write the decision", abort=True)


@match.command("reject")
@click.argument("line")
@click.argument("expectation")
@deciding_options
def match_reject(
    view: CommandView, line: str, expectation: str, reason: str, dry_run: bool
) -> None:
    """Reject that LINE belongs to EXPECTATION."""
    reject = partial(view.workspace.matches.reject, line, expectation, reason=reason)
    _require_agreed_lines(view.workspace, reject(dry_run=True), dry_run=dry_run)
    _say_decided("rejected", reject(dry_run=dry_run), dry_run=dry_run)


@match.command("ignore")
@click.argument("lines", nargs=-1, required=True)
@reasoned_options
def match_ignore(view: CommandView, lines: tuple[str, ...], reason: str, dry_run: bool) -> None:
    """Ignore LINES that belong to no expectation, with a reason."""
    ignore = partial(view.workspace.matches.ignore, *lines, reason=reason)
    _require_agreed_lines(view.workspace, *ignore(dry_run=True), dry_run=dry_run)
    _say_decided("ignored", *ignore(dry_run=dry_run), dry_run=dry_run)


@match.command("assign")
@click.argument("line")
@click.argument("name")
@deciding_options
def match_assign(view: CommandView, line: str, name: str, reason: str, dry_run: bool) -> None:
    """Assign LINE to the colleague NAME; it stays open."""
    decision = view.workspace.matches.assign(line, name, reason=reason, dry_run=dry_run)
    say_verdict(decision.entry_id, f"assigned to {decision.to}", dry_run=dry_run)


@match.command("undo")
@click.argument("line")
@click.argument("expectation", required=False)
@_seq_option
@deciding_options
def match_undo(
    view: CommandView,
    line: str,
    expectation: str | None,
    *,
    seq: int | None,
    reason: str,
    dry_run: bool,
) -> None:
    """Undo the last decision on LINE, or on LINE and EXPECTATION; the one before applies again."""
    undo = partial(view.workspace.matches.undo, line, expectation, reason=reason)
    planned = undo(seq=seq, dry_run=True)
    _require_agreed_lines(view.workspace, planned, dry_run=dry_run)
    _say_decided("undone", undo(seq=planned.undoes, dry_run=dry_run), dry_run=dry_run)


# The command that reads a decision sheet.


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@dry_run_option
@print_options
def decide(view: CommandView, file: Path, dry_run: bool) -> None:
    """Take the decisions from a sheet that `treasury exceptions --sheet` wrote.

    First shows the effect of each row, in items and in currency, and the refused rows with their
    reasons. Then journals the other rows, all or none. Exits with 1 if a row is refused.
    """
    from treasury.close.result_words import count

    desk = view.workspace
    plan = desk.decide(file, dry_run=True)
    if view.is_table:
        _print_plan(view, plan)
    if plan.planned and not dry_run:
        if view.is_table and sys.stdin.isatty():
            who = clean(desk.journal.who().name)
            click.confirm(f"Write {count(len(plan.planned), 'decision')} as {who}", abort=True)
        plan = desk.decide(file, agreed=plan)
    if not view.is_table:
        view.rows(plan.arrow)
    else:
        decisions = count(len(plan.planned), "decision")
        if plan.is_journaled:
            echo_folded(f"in the journal: {decisions}")
        else:
            echo_folded(f"would be journaled: {decisions} (not written)")
    if plan.refused:
        raise SystemExit(1)


def _print_plan(view: CommandView, plan: SheetPlan) -> None:
    """Print the effect of each row, the totals, and the effects on other items."""
    view.rows(plan.arrow, layout="sheet_rows", title="Each row")
    view.rows(plan.totals.arrow, title=f"Effects of {plan.file} on {plan.month}")
    if plan.effects is None:
        return
    if plan.effects.unknown:
        echo_folded(f"other effects are unknown: {clean(plan.effects.unknown)}")
    for effect in plan.effects:
        echo_folded(clean(f"also changes: {effect}"))


# Commands for remarks on ramp requests.


@click.group()
def request() -> None:
    """Remark on a ramp request, by its reference or id; a remark proves nothing."""


_REMARKS = (
    (
        "mark-sent",
        "marked_sent",
        "marked sent",
        "Mark the payment of NAME as sent, before a statement shows it.",
    ),
    (
        "will-not-fund",
        "will_not_fund",
        "will not be funded",
        "Mark NAME as a request that will not be funded; it stays open at the service.",
    ),
    (
        "not-uploaded",
        "not_uploaded",
        "not uploaded",
        "Mark the payment file with NAME, made by a colleague, as not uploaded; NAME is due again.",
    ),
)
"""Each remark: its command, the method of `t.funding`, the words for its result, and the help text.
"""


def _remark(command: str, verb: str, verdict: str, help_text: str) -> None:
    @request.command(command, help=help_text)
    @click.argument("name")
    @reasoned_options
    def remark(view: CommandView, name: str, reason: str, dry_run: bool) -> None:
        make = partial(getattr(view.workspace.funding, verb), name, reason)
        effects = view.workspace.remark_effects(make(dry_run=True))
        _require_agreed(effects, dry_run=dry_run)
        say_verdict(make(dry_run=dry_run).name, verdict, dry_run=dry_run)


for remark in _REMARKS:
    _remark(*remark)


@request.command("void-file")
@click.argument("file")
@reasoned_options
def void_file(view: CommandView, file: str, reason: str, dry_run: bool) -> None:
    """Withdraw the payment FILE of a colleague, so that its payments are due again."""
    desk = view.workspace
    requests = desk.funding.void_file(file, reason, dry_run=True)
    if not dry_run:
        requests = desk.funding.void_file(file, reason)
    would = "would be " if dry_run else ""
    echo_folded(f"{clean(file)}: {would}withdrawn, {len(requests)} requests are due again")


@request.command("answers")
@click.argument("files", nargs=-1, type=click.Path())
@view_options
def bank_answers(view: CommandView, files: tuple[str, ...]) -> None:
    """Show the banks' answers to payment files made here, by file, batch and payment.

    Reads the reports in FILES (pain.002) without storing them; without FILES, those stored by
    `treasury statements add`. Exits 1 if a report is not fully read.
    """
    from treasury.statements import read_statements

    reading = read_statements(files) if files else None
    answers = view.workspace.funding.answers(reading.statuses.arrow if reading else None)
    view.rows(answers.arrow, layout="bank_answers", title="Banks' answers")
    if reading is None:
        return
    view.notes(reading.problems)
    if len(reading.entries):
        click.echo("FILES contain statements: `treasury statements read` shows them", err=True)
    if reading.lost_count or not reading.files:
        view.context.exit(1)


@request.command("accept-payee")
@click.argument("name")
@reasoned_options
def accept_payee(view: CommandView, name: str, reason: str, dry_run: bool) -> None:
    """Accept the bank's name for the payee of NAME; the maker of the payment file may not.

    The acceptance is valid until the IBAN or one of the two names changes.
    """
    from treasury.month.decisions.remarks import LIABILITY

    desk = view.workspace
    accept = partial(desk.funding.accept_payee, name, reason)
    payee = accept(dry_run=True)
    echo_folded(f"ordered:  {clean(payee.name)}, {clean(payee.iban)}")
    echo_folded(f"the bank: {clean(payee.known_as) or 'a similar name, which it does not give'}")
    echo_folded(LIABILITY)
    if not dry_run:
        if sys.stdin.isatty():
            click.confirm("Accept the name", abort=True)
        accept(agreed=payee)
    say_verdict(name, "the payee's name is accepted", dry_run=dry_run)


@request.command("undo")
@click.argument("name")
@_seq_option
@deciding_options
def request_undo(view: CommandView, name: str, seq: int | None, reason: str, dry_run: bool) -> None:
    """Undo the last remark on NAME."""
    desk = view.workspace
    undo = partial(desk.funding.undo, name, reason)
    planned = undo(seq=seq, dry_run=True)
    _require_agreed(desk.remark_effects(planned), dry_run=dry_run)
    remark = undo(seq=planned.undoes, dry_run=dry_run)
    say_verdict(remark.name, "undone", dry_run=dry_run)


@request.command("list")
@view_options
def request_list(view: CommandView) -> None:
    """List the remarks in force, and the payment files and hashes entered here."""
    remarks = view.workspace.funding.list().arrow
    view.rows(remarks, layout="remarks", title="Remarks")


# Commands for the rules.


@click.group()
def rules() -> None:
    """Change the rules of matching and ageing, after seeing the effects."""


@rules.command("preview")
@click.argument("file", type=click.Path(dir_okay=False))
@print_options
def rules_preview(view: CommandView, file: str) -> None:
    """Show the effect of the rules in FILE on all stored data, in currency; save nothing."""
    effect = view.workspace.rules.preview(file)
    if not view.is_table:
        view.rows(effect.lines.arrow)
        return
    view.rows(effect.totals.arrow, title="Lines that would move")
    view.rows(effect.lines.arrow, layout="moved_lines", title="Each line")
    view.rows(
        effect.requests.arrow, layout="requests_due", title="Requests with a different due date"
    )
    if len(effect.closed):
        echo_folded(f"{len(effect.closed)} lines of closed months stay as they were closed")
    for words in effect.removed:
        echo_folded(clean(words))


@rules.command("save")
@click.argument("file", type=click.Path(dir_okay=False))
@_reason_option
@pass_view
def rules_save(view: CommandView, file: str, reason: str) -> None:
    """Put the rules in FILE in force; content and effect are journaled."""
    effect = view.workspace.rules.save(file, reason)
    view.rows(effect.totals.arrow, title="Lines that moved")
    echo_folded(f"rules {effect.rules.hash[:12]} are in force")


@rules.command("history")
@print_options
def rules_history(view: CommandView) -> None:
    """List every saved version of the rules."""
    changing = view.workspace.rules
    view.rows(changing.history().arrow, title="Rules")
    if view.is_table and not changing.is_journaled():
        echo_folded("rules.toml was changed by hand since: save it to journal it")


# Commands for closed months.


@click.group()
def periods() -> None:
    """List, verify and reopen closed months; `treasury close` closes one."""


@periods.command("reopen")
@click.argument("month")
@_reason_option
@pass_view
def periods_reopen(view: CommandView, month: str, reason: str) -> None:
    """Reopen MONTH, which must be the last closed month."""
    period = view.workspace.periods.reopen(month, reason)
    echo_folded(f"{period.month} is open again")


@periods.command("list")
@view_options
def periods_list(view: CommandView) -> None:
    """List every close, and what waits for a signature."""
    view.rows(view.workspace.periods.list().arrow, title="Periods")


@periods.command("roll-forward")
@month_argument
@click.option("--per-request", is_flag=True, help="Show one row per request instead of totals.")
@view_options
def periods_roll_forward(view: CommandView, month: str | None, per_request: bool) -> None:
    """Show a month's open items from opening to closing."""
    workspace = view.workspace
    period = workspace.month(month)
    roll_forward = workspace.periods.roll_forward(period)
    table = roll_forward.items if per_request else roll_forward.totals
    view.rows(table.arrow, title=f"Open items of {period}")


@periods.command("late")
@view_options
def periods_late(view: CommandView) -> None:
    """List facts about closed months that became known only after the close."""
    view.rows(view.workspace.periods.late().arrow, title="Late items")


@periods.command("controls")
@month_argument
@click.option("--counts", is_flag=True, help="Show one row per kind of act instead of each act.")
@view_options
def periods_controls(view: CommandView, month: str | None, counts: bool) -> None:
    """Show who prepared, accepted and signed a month, and how each person was identified."""
    period = view.workspace.month(month)
    controls = view.workspace.periods.controls(period)
    table = controls.counts if counts else controls.acts
    view.rows(table.arrow, title=f"Controls of {period}")


@periods.command("month-on-month")
@month_argument
@view_options
def periods_month_on_month(view: CommandView, month: str | None) -> None:
    """Show each account's figures next to those of earlier closed months."""
    period = view.workspace.month(month)
    changes = view.workspace.periods.month_on_month(period).changes
    view.rows(changes.arrow, title=f"{period} compared with earlier months")


@periods.command("verify")
@click.argument("month")
@print_options
def periods_verify(view: CommandView, month: str) -> None:
    """Verify a closed MONTH against the facts that its close journaled and stored."""
    verified = view.workspace.periods.verify(month)
    if view.is_table:
        echo_folded(str(verified))
    else:
        view.rows(verified.facts())


# The command that compares two answers.


@click.command()
@month_argument
@click.option(
    "--as-of",
    "instants",
    multiple=True,
    required=True,
    metavar="INSTANT",
    help="As known at this instant; give it twice, or once to compare with now.",
)
@print_options
def compare(view: CommandView, month: str | None, instants: tuple[str, ...]) -> None:
    """Show what moved between two answers for a month, and why."""
    if len(instants) > 2:
        raise click.UsageError("--as-of is given more than twice")
    workspace = view.workspace
    ends = [workspace.at(instant) for instant in instants] + [workspace] * (len(instants) == 1)
    first, last = (end.reconcile(month) for end in ends)
    comparison = workspace.compare(first, last)
    if view.is_table:
        echo_folded(comparison.title)
        view.rows(comparison.totals.arrow, title="Lines that moved")
    view.rows(comparison.arrow, layout="moved_lines", title="Each line")
