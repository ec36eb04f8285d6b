"""The commands by which people decide: lines, sheets, remarks, rules, periods, comparisons."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import click
import pyarrow as pa

from treasury.cli.commands.desk import workspace_of
from treasury.cli.months import month_argument
from treasury.cli.output import print_options, print_rows, view_options
from treasury.decisions.verdicts import typed_expectations
from treasury.text import clean

if TYPE_CHECKING:
    from treasury.items import Effects, SheetPlan
    from treasury.journal.decision_history import Decision
    from treasury.workspace import Workspace

__all__ = ["compare", "decide", "match", "periods", "request", "rules"]

P = ParamSpec("P")
R = TypeVar("R")

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Check it and say what would be journaled; write nothing."
)


seq_option = click.option(
    "--seq",
    type=int,
    metavar="N",
    help="Only the one at this place in the journal, as `list` shows.",
)


def reason_option(*, required: bool) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The option `--reason`."""
    if required:
        return click.option("--reason", required=True, help="Why; it is journaled.")
    return click.option("--reason", default="", help="Why; it is journaled.")


def _say(names: Iterable[str], verdict: str, *, dry_run: bool) -> None:
    for name in names:
        click.echo(f"{name}: {verdict}" + (" (not written)" if dry_run else ""))


def _say_late(decisions: Iterable[Decision]) -> None:
    """Where a line's month is closed, say which month the decision posts in."""
    for decision in decisions:
        if decision.closed_month:
            click.echo(
                f"  {decision.closed_month} is closed and stays so: it posts in {decision.posts_to}"
            )


# Verdicts on bank lines


@click.group()
def match() -> None:
    """Decide what a bank line belongs to: accept, reject, ignore, assign, undo.

    A line is named by its id or the first characters of it, a request or virtual account by its
    reference or id; `treasury match open` shows both.
    """


@match.command("open")
@click.option("--assigned-to", metavar="NAME", help="Only what was handed to this person.")
@view_options
def match_open(
    context: click.Context, assigned_to: str | None, as_of: str | None, form: str
) -> None:
    """List the lines that a person has to settle, oldest first."""
    table = workspace_of(context, as_of).matches.open().arrow
    if assigned_to:
        is_assigned = [name == assigned_to for name in table["assigned_to"].to_pylist()]
        table = table.filter(pa.array(is_assigned, pa.bool_()))
    if form == "table":
        from treasury.report import reason_words

        reasons = [reason_words(reason or "") for reason in table["reason"].to_pylist()]
        at = table.column_names.index("reason")
        table = table.set_column(at, "reason", pa.array(reasons, pa.string()))
        table = with_short_ids(table)
    print_rows(table, form, columns=OPEN_COLUMNS, spare=OPEN_SPARE, title="Lines to be settled")


OPEN_COLUMNS = (
    "line", "booking_date", "statement_account", "direction", "amount", "outcome", "suggestion",
    "reason", "counterparty_name", "assigned_to",
)  # fmt: skip
OPEN_SPARE = (
    "assigned_to", "statement_account", "counterparty_name", "outcome", "direction", "reason",
)  # fmt: skip


def with_short_ids(table: pa.Table) -> pa.Table:
    """The lines with `line`: as many characters of their ids as `treasury match` takes for them."""
    ids = table["entry_id"].to_pylist()
    length = 8
    while len({name[:length] for name in ids}) < len(set(ids)):
        length += 1
    return table.append_column("line", pa.array([name[:length] for name in ids], pa.string()))


@match.command("list")
@click.option("--moved", is_flag=True, help="Only those whose facts have changed since.")
@view_options
def match_list(context: click.Context, moved: bool, as_of: str | None, form: str) -> None:
    """List the decisions that stand, and what of their facts has changed since."""
    table = workspace_of(context, as_of).matches.list().arrow
    if moved:
        table = table.filter(pa.array(map(bool, table["moved"].to_pylist()), pa.bool_()))
    if form == "table":
        table = with_short_ids(table)
    print_rows(
        table, form, columns=DECIDED_COLUMNS, spare=DECIDED_SPARE, title="Decisions that stand"
    )


DECIDED_COLUMNS = (
    "seq", "line", "verb", "reference", "booking_date", "direction", "amount", "decided_by",
    "decided_at", "reason", "moved", "to", "proposed_by",
)  # fmt: skip
DECIDED_SPARE = (
    "proposed_by", "to", "decided_at", "direction", "booking_date", "moved", "reason", "seq",
)  # fmt: skip


@match.command("accept")
@click.argument("line")
@click.argument("expectations", nargs=-1, required=True)
@reason_option(required=False)
@dry_run_option
@click.pass_context
def match_accept(
    context: click.Context, line: str, expectations: tuple[str, ...], reason: str, dry_run: bool
) -> None:
    """Say that LINE belongs to EXPECTATIONS, one or several.

    A line for several virtual accounts is divided: CODE=AMOUNT for each, together its amount.
    """
    typed, desk = typed_expectations(expectations), workspace_of(context)
    accept = partial(desk.matches.accept, line, typed, reason=reason)
    _require_agreed_lines(desk, accept(dry_run=True), dry_run=dry_run)
    decision = accept(dry_run=dry_run)
    _say([decision.entry_id], "accepted", dry_run=dry_run)
    _say_late([decision])


@match.command("file")
@click.argument("line")
@click.argument("file")
@reason_option(required=False)
@dry_run_option
@click.pass_context
def match_file(context: click.Context, line: str, file: str, reason: str, dry_run: bool) -> None:
    """Say that LINE is the one debit of the payment FILE: it pays all that was not rejected."""
    desk = workspace_of(context)
    accept = partial(desk.matches.accept_file, line, file, reason=reason)
    _require_agreed_lines(desk, accept(dry_run=True), dry_run=dry_run)
    decision = accept(dry_run=dry_run)
    requests = f"{len(decision.expectations)} requests of {clean(file)}"
    _say([decision.entry_id], f"accepted for {requests}", dry_run=dry_run)
    _say_late([decision])


def _require_agreed_lines(desk: Workspace, *planned: Decision, dry_run: bool) -> None:
    """Name what speaks against decisions on lines, and what changes beside these."""
    against = [objection for decision in planned for objection in decision.despite]
    for objection in against:
        click.echo(f"although {clean(objection)}")
    effects = desk.decision_effects(*planned)
    _require_agreed(effects, "also changes", dry_run=dry_run, ask=bool(against))


def _require_agreed(
    effects: Effects, title: str = "changes", *, dry_run: bool, ask: bool = False
) -> None:
    """Name what changes; at a terminal, go on only when that is confirmed."""
    if effects.unknown:
        click.echo(f"what else changes is not known: {clean(effects.unknown)}")
    if not ask and not len(effects):
        return
    if len(effects):
        click.echo(f"{title}, in the open items of {effects.month}:")
    for effect in effects:
        click.echo(f"  {clean(str(effect))}")
    if not dry_run and sys.stdin.isatty():
        click.confirm("Write the decision", abort=True)


@match.command("reject")
@click.argument("line")
@click.argument("expectation")
@reason_option(required=False)
@dry_run_option
@click.pass_context
def match_reject(
    context: click.Context, line: str, expectation: str, reason: str, dry_run: bool
) -> None:
    """Say that LINE does not belong to EXPECTATION."""
    desk = workspace_of(context)
    reject = partial(desk.matches.reject, line, expectation, reason=reason)
    _require_agreed_lines(desk, reject(dry_run=True), dry_run=dry_run)
    decision = reject(dry_run=dry_run)
    _say([decision.entry_id], "rejected", dry_run=dry_run)
    _say_late([decision])


@match.command("ignore")
@click.argument("lines", nargs=-1, required=True)
@reason_option(required=True)
@dry_run_option
@click.pass_context
def match_ignore(
    context: click.Context, lines: tuple[str, ...], reason: str, dry_run: bool
) -> None:
    """Close LINES with a reason: they belong to nothing that is expected."""
    desk = workspace_of(context)
    ignore = partial(desk.matches.ignore, *lines, reason=reason)
    _require_agreed_lines(desk, *ignore(dry_run=True), dry_run=dry_run)
    decisions = ignore(dry_run=dry_run)
    _say([decision.entry_id for decision in decisions], "closed", dry_run=dry_run)
    _say_late(decisions)


@match.command("assign")
@click.argument("line")
@click.argument("name")
@reason_option(required=False)
@dry_run_option
@click.pass_context
def match_assign(context: click.Context, line: str, name: str, reason: str, dry_run: bool) -> None:
    """Hand LINE to the colleague NAME; it stays open."""
    decision = workspace_of(context).matches.assign(line, name, reason=reason, dry_run=dry_run)
    _say([decision.entry_id], f"assigned to {decision.to}", dry_run=dry_run)


@match.command("undo")
@click.argument("line")
@click.argument("expectation", required=False)
@seq_option
@reason_option(required=False)
@dry_run_option
@click.pass_context
def match_undo(
    context: click.Context,
    *,
    line: str,
    expectation: str | None,
    seq: int | None,
    reason: str,
    dry_run: bool,
) -> None:
    """Take back the last decision on LINE, or on the pair: what stood before stands again."""
    desk = workspace_of(context)
    undo = partial(desk.matches.undo, line, expectation, reason=reason)
    planned = undo(seq=seq, dry_run=True)
    _require_agreed_lines(desk, planned, dry_run=dry_run)
    decision = undo(seq=planned.undoes, dry_run=dry_run)
    _say([decision.entry_id], "undone", dry_run=dry_run)
    _say_late([decision])


# Open items in a sheet


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@dry_run_option
@print_options
def decide(context: click.Context, *, file: Path, dry_run: bool, form: str) -> None:
    """Take the decisions of a sheet that `treasury exceptions --sheet` wrote.

    Says first what each row would do, in items and in currency, and which rows are refused and why.
    Then all that would be journaled is, or nothing. Exits 1 where a row is refused.
    """
    from treasury.close.result_words import count

    desk = workspace_of(context)
    plan = desk.decide(file, dry_run=True)
    if form == "table":
        _print_plan(plan)
    if plan.planned and not dry_run:
        if form == "table" and sys.stdin.isatty():
            who = clean(desk.journal.who().name)
            click.confirm(f"Write {count(len(plan.planned), 'decision')} as {who}", abort=True)
        plan = desk.decide(file, agreed=plan)
    if form != "table":
        print_rows(plan.arrow, form)
    else:
        decisions = count(len(plan.planned), "decision")
        if plan.is_journaled:
            click.echo(f"in the journal: {decisions}")
        else:
            click.echo(f"would be journaled: {decisions} (not written)")
    if plan.refused:
        raise SystemExit(1)


def _print_plan(plan: SheetPlan) -> None:
    """The rows, the sums, and what changes beside them."""
    print_rows(plan.arrow, "table", columns=ROW_COLUMNS, spare=ROW_SPARE, title="Each row")
    print_rows(plan.totals, "table", title=f"What {plan.file} does, of {plan.month}")
    if plan.effects is None:
        return
    if plan.effects.unknown:
        click.echo(f"what else changes is not known: {clean(plan.effects.unknown)}")
    for effect in plan.effects:
        click.echo(clean(f"also changes: {effect}"))


ROW_COLUMNS = (
    "row", "outcome", "decision", "name", "amount", "owner", "expected_by", "reason",
    "proposed_by", "why",
)  # fmt: skip
ROW_SPARE = ("proposed_by", "expected_by", "owner", "reason", "name")


# Remarks on ramp requests


@click.group()
def request() -> None:
    """Remark on a ramp request, by its reference or id; a remark proves nothing."""


REMARKS = (
    (
        "mark-sent",
        "marked_sent",
        "marked sent",
        "Say that the payment of NAME was sent, though no statement shows it yet.",
    ),
    (
        "will-not-fund",
        "will_not_fund",
        "will not be funded",
        "Say that NAME will not be funded; it stays open at the service.",
    ),
    (
        "not-uploaded",
        "not_uploaded",
        "not uploaded",
        "Say that NAME's payment file, made by another, was not uploaded; it is to be paid again.",
    ),
)
"""Each remark: its command, the verb of `t.funding`, what is said of it when done, and its help."""


def _remark(command: str, verb: str, verdict: str, help_text: str) -> None:
    @request.command(command, help=help_text)
    @click.argument("name")
    @reason_option(required=True)
    @dry_run_option
    @click.pass_context
    def remark(context: click.Context, name: str, reason: str, dry_run: bool) -> None:
        desk = workspace_of(context)
        make = partial(getattr(desk.funding, verb), name, reason)
        _require_agreed(desk.remark_effects(make(dry_run=True)), dry_run=dry_run)
        _say([make(dry_run=dry_run).name], verdict, dry_run=dry_run)


for remark in REMARKS:
    _remark(*remark)


@request.command("void-file")
@click.argument("file")
@reason_option(required=True)
@dry_run_option
@click.pass_context
def void_file(context: click.Context, file: str, reason: str, dry_run: bool) -> None:
    """Take the payment FILE back: what is in it is to be paid again. By another than its maker."""
    desk = workspace_of(context)
    requests = desk.funding.void_file(file, reason, dry_run=True)
    if not dry_run:
        requests = desk.funding.void_file(file, reason)
    would = "would be " if dry_run else ""
    click.echo(f"{clean(file)}: {would}taken back, {len(requests)} requests are to be paid again")


@request.command("answers")
@click.argument("files", nargs=-1, type=click.Path())
@view_options
def bank_answers(
    context: click.Context, files: tuple[str, ...], as_of: str | None, form: str
) -> None:
    """Show what banks answered to the payment files made here, by file, batch and payment.

    Of the reports in FILES (pain.002), of which nothing is stored; without FILES of those that
    `treasury statements add` has stored. Exits 1 where a report is not read whole.
    """
    from treasury.statements import read_statements

    reading = read_statements(files) if files else None
    answers = workspace_of(context, as_of).funding.answers(reading.statuses if reading else None)
    print_rows(
        answers.arrow, form, columns=ANSWER_COLUMNS, spare=ANSWER_SPARE, title="Banks' answers"
    )
    if reading is None:
        return
    for problem in reading.problems:
        click.echo(clean(str(problem)), err=True)
    if reading.entries.num_rows:
        click.echo("statements among FILES: `treasury statements read` shows them", err=True)
    if reading.lost_count or not reading.files:
        context.exit(1)


ANSWER_COLUMNS = (
    "file", "level", "reference", "outcome", "status", "reasons", "details", "amount", "said_at",
)  # fmt: skip
ANSWER_SPARE = ("details", "said_at", "amount")


@request.command("accept-payee")
@click.argument("name")
@reason_option(required=True)
@dry_run_option
@click.pass_context
def accept_payee(context: click.Context, name: str, reason: str, dry_run: bool) -> None:
    """Accept the name that the bank knows for the payee of NAME. By another than its file's maker.

    It holds for that IBAN and name until either changes.
    """
    from treasury.decisions.remarks import LIABILITY

    desk = workspace_of(context)
    accept = partial(desk.funding.accept_payee, name, reason)
    payee = accept(dry_run=True)
    click.echo(f"ordered:  {clean(payee.name)}, {clean(payee.iban)}")
    click.echo(f"the bank: {clean(payee.known_as) or 'a similar name, which it does not give'}")
    click.echo(LIABILITY)
    if not dry_run:
        if sys.stdin.isatty():
            click.confirm("Accept the name", abort=True)
        accept(agreed=payee)
    _say([name], "the payee's name is accepted", dry_run=dry_run)


@request.command("undo")
@click.argument("name")
@seq_option
@reason_option(required=False)
@dry_run_option
@click.pass_context
def request_undo(
    context: click.Context, name: str, seq: int | None, reason: str, dry_run: bool
) -> None:
    """Take the last remark on NAME back."""
    desk = workspace_of(context)
    undo = partial(desk.funding.undo, name, reason)
    planned = undo(seq=seq, dry_run=True)
    _require_agreed(desk.remark_effects(planned), dry_run=dry_run)
    remark = undo(seq=planned.undoes, dry_run=dry_run)
    _say([remark.name], "undone", dry_run=dry_run)


@request.command("list")
@view_options
def request_list(context: click.Context, as_of: str | None, form: str) -> None:
    """List the remarks that stand."""
    remarks = workspace_of(context, as_of).funding.list().arrow
    print_rows(remarks, form, columns=REMARK_COLUMNS, spare=REMARK_SPARE, title="Remarks")


REMARK_COLUMNS = (
    "seq", "request_id", "mark", "reason", "marked_by", "marked_at", "proposed_by", "file",
    "filed_by", "filed_at", "hash_state", "hash_by",
)  # fmt: skip
REMARK_SPARE = (
    "proposed_by", "hash_by", "hash_state", "filed_at", "filed_by", "marked_at", "seq",
)  # fmt: skip


# Rules


@click.group()
def rules() -> None:
    """Change the rules of matching and ageing, after seeing what that moves."""


@rules.command("preview")
@click.argument("file", type=click.Path(dir_okay=False))
@print_options
def rules_preview(context: click.Context, file: str, form: str) -> None:
    """Show what the rules in FILE would move in all that is stored, in currency; save nothing."""
    effect = workspace_of(context).rules.preview(file)
    if form != "table":
        print_rows(effect.lines, form)
        return
    print_rows(effect.totals, form, title="Lines that would move")
    print_rows(effect.lines, form, columns=_MOVED, title="Each of them")
    print_rows(effect.requests, form, columns=_WAITING, title="Requests due otherwise")
    if effect.closed.num_rows:
        click.echo(f"{effect.closed.num_rows} lines of closed months stay as they were closed")


@rules.command("save")
@click.argument("file", type=click.Path(dir_okay=False))
@reason_option(required=True)
@click.pass_context
def rules_save(context: click.Context, file: str, reason: str) -> None:
    """Put the rules in FILE in force; content and effect are journaled."""
    effect = workspace_of(context).rules.save(file, reason)
    print_rows(effect.totals, "table", title="Lines that moved")
    click.echo(f"rules {effect.rules.hash[:12]} are in force")


@rules.command("history")
@print_options
def rules_history(context: click.Context, form: str) -> None:
    """List every content of the rules that was saved."""
    changing = workspace_of(context).rules
    print_rows(changing.history().arrow, form, title="Rules")
    if form == "table" and not changing.is_journaled():
        click.echo("rules.toml was changed by hand since: save it to have it journaled")


# Periods


@click.group()
def periods() -> None:
    """Closed months: list, verify, reopen them; `treasury close` closes one."""


@periods.command("reopen")
@click.argument("month")
@reason_option(required=True)
@click.pass_context
def periods_reopen(context: click.Context, month: str, reason: str) -> None:
    """Let the last closed MONTH go."""
    period = workspace_of(context).periods.reopen(month, reason)
    click.echo(f"{period.month} is open again")


@periods.command("list")
@view_options
def periods_list(context: click.Context, as_of: str | None, form: str) -> None:
    """List every close there was, and what waits for a signature."""
    print_rows(workspace_of(context, as_of).periods.list().arrow, form, title="Periods")


@periods.command("roll-forward")
@month_argument
@click.option("--per-request", is_flag=True, help="One row a request instead of totals.")
@view_options
def periods_roll_forward(
    context: click.Context, month: str | None, per_request: bool, as_of: str | None, form: str
) -> None:
    """Show a month's open items from opening to closing."""
    workspace = workspace_of(context, as_of)
    period = workspace.month(month)
    roll_forward = workspace.periods.roll_forward(period)
    table = roll_forward.items if per_request else roll_forward.totals
    print_rows(table, form, title=f"Open items of {period}")


@periods.command("late")
@view_options
def periods_late(context: click.Context, as_of: str | None, form: str) -> None:
    """List what was learnt about closed months after their close."""
    print_rows(workspace_of(context, as_of).periods.late().arrow, form, title="Late items")


@periods.command("verify")
@click.argument("month")
@print_options
def periods_verify(context: click.Context, month: str, form: str) -> None:
    """Hold a closed MONTH against what its close journaled and stored, and say what that was."""
    verified = workspace_of(context).periods.verify(month)
    if form == "table":
        click.echo(str(verified))
    else:
        print_rows(verified.facts(), form)


# Two answers


@click.command()
@month_argument
@click.option(
    "--as-of",
    "instants",
    multiple=True,
    required=True,
    metavar="INSTANT",
    help="As it was known then; give it twice, or once to compare with now.",
)
@print_options
def compare(
    context: click.Context, month: str | None, instants: tuple[str, ...], form: str
) -> None:
    """Show what moved between two answers for a month, and why."""
    if len(instants) > 2:
        raise click.UsageError("--as-of is given more than twice")
    workspace = workspace_of(context)
    ends = [workspace.at(instant) for instant in instants] + [workspace] * (len(instants) == 1)
    first, last = (end.reconcile(month) for end in ends)
    comparison = workspace.compare(first, last)
    if form == "table":
        click.echo(comparison.title)
        print_rows(comparison.totals, form, title="Lines that moved")
    print_rows(comparison.arrow, form, columns=_MOVED, title="Each of them")


_MOVED = (
    "booking_date", "account", "direction", "amount", "from_outcome", "from_reference",
    "to_outcome", "to_reference", "cause", "why",
)  # fmt: skip
_WAITING = ("state", "due", "overdue", "direction", "reference", "send", "next_step")
