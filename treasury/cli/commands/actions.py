"""The commands about actions: decisions of people, and their execution.

A command that moves money first shows the full text and the totals by currency, then asks for
confirmation; a script confirms by `--yes`. The decision is journaled in the name of the person at
this shell; no option sets a different name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import click
import pyarrow as pa

from treasury.cli.command_view import CommandView, pass_view, print_options
from treasury.cli.layout import echo_folded
from treasury.cli.output import Choice, format_option, print_rows
from treasury.core.errors import InputError
from treasury.core.text import clean
from treasury.core.wording import instant_words

if TYPE_CHECKING:
    from treasury.actions import Action, Actions, Batch

_ID = "action_ids"
_OUTCOMES = ("carried-out", "not-carried-out")
_STATES = (
    "proposed", "ready", "sending", "done", "refused", "unknown", "lapsed", "rejected",
    "withdrawn",
)  # fmt: skip

_approver = attrgetter("actor.name")
_TEXT, _INSTANT = pa.string(), pa.timestamp("us", tz="UTC")
_COLUMNS: Final[dict[str, tuple[pa.DataType, Callable[[Action], Any]]]] = {
    "id": (_TEXT, lambda action: action.id),
    "state": (_TEXT, lambda action: action.state),
    "kind": (_TEXT, lambda action: action.kind),
    "amount": (pa.decimal128(38, 18), lambda action: action.money and action.money.amount),
    "currency": (_TEXT, lambda action: action.money and action.money.currency),
    "text": (_TEXT, lambda action: action.text),
    "proposed_by": (_TEXT, lambda action: action.proposed_by.name),
    "proposed_at": (_INSTANT, lambda action: action.proposed_at),
    "approved_by": (_TEXT, lambda action: ", ".join(map(_approver, action.approvals)) or None),
    "needed": (pa.int64(), lambda action: action.needed),
    "target": (_TEXT, lambda action: action.target or None),
    "record": (_TEXT, lambda action: action.outcome and action.outcome.record),
    "status": (_TEXT, lambda action: action.outcome and action.outcome.status),
    "why": (_TEXT, lambda action: _why(action) or None),
}


@click.group()
def actions() -> None:
    """Propose, approve and execute changes at the services."""


def desk_of(view: CommandView) -> Actions:
    """Return the actions of a workspace, whose connections are closed when the command ends."""
    view.context.call_on_close(view.workspace.close_clients)
    return view.workspace.actions


_ids = click.argument(_ID, nargs=-1, required=True, metavar="ID...")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
_without_key = click.option(
    "--without-key",
    is_flag=True,
    help="Omit the idempotency key (sent only as evidence) if the service refuses it.",
)


@actions.command()
@click.argument("kind", required=False)
@format_option
def kinds(kind: str | None, form: str) -> None:
    """List the kinds of action, or the fields of KIND."""
    from treasury.actions import KINDS, field_names, kind_of

    if kind is not None:
        fields = field_names(kind_of(kind).fields)
        rows = [{"field": name, "needed": needed} for name, needed in fields.items()]
    else:
        rows = [
            {"kind": each.name, "operation": each.operation, "credential": each.credential}
            for each in KINDS.values()
        ]
    print_rows(pa.Table.from_pylist(rows), form, title=kind or "Kinds of action")


@actions.command()
@click.argument("kind")
@click.argument("fields", nargs=-1, metavar="FIELD=VALUE...")
@click.option("--reason", help="Reason; kept in the journal.")
@click.option("--live", is_flag=True, help="Check against the services instead of the last sync.")
@_without_key
@pass_view
def propose(view: CommandView, /, kind: str, fields: Sequence[str], **how: Any) -> None:
    """Propose an action of KIND; sends nothing."""
    contents: dict[str, Any] = {}
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals or name in {*contents, *how}:
            raise InputError(f"{clean(field)} is not FIELD=VALUE", do="write amount=100.00")
        contents[name] = value
    action = desk_of(view).propose(kind, **how, **contents)
    _print_actions([action])


@actions.command("list")
@click.option("--state", type=Choice(_STATES), help="Show only actions in this state.")
@click.option("--kind", help="Show only actions of this kind.")
@print_options
def list_actions(view: CommandView, state: Any, kind: str | None) -> None:
    """List actions, oldest first."""
    view.rows(_table(desk_of(view).list(state=state, kind=kind)), layout="actions", title="Actions")


@actions.command()
@click.argument("action_id", metavar="ID")
@print_options
def show(view: CommandView, action_id: str) -> None:
    """Show an action: its effect, approvals, facts and state."""
    action = desk_of(view).get(action_id)
    if not view.is_table:
        view.rows(_table([action]))
        return
    echo_folded(f"{action.id}  {action.state}  {action.kind}\n{clean(action.text)}")
    echo_folded(f"agreed: {', '.join(map(clean, action.people))}; needed: {action.needed}")
    for fact in action.facts:
        echo_folded(f"  {fact.name}: {clean(fact.value)}")
    if action.outcome is not None:
        outcome = action.outcome
        at = instant_words(outcome.at.astimezone(view.zone))
        echo_folded(f"done at {at} ({outcome.how}): {clean(outcome.status)}")
        echo_folded(f"record {clean(outcome.record)}; service user {clean(outcome.service_user)}")
    if _why(action):
        echo_folded(clean(_why(action)))
    click.echo(f"content {action.content_hash}")


@actions.command()
@_ids
@click.option("--reason", help="Reason; kept in the journal.")
@yes_option
@pass_view
def approve(view: CommandView, action_ids: Sequence[str], reason: str | None, yes: bool) -> None:
    """Approve actions that a colleague proposed, all or none."""
    desk = desk_of(view)
    batch = desk.batch(*action_ids)
    _confirm("Approve", batch, yes=yes)
    _print_actions(desk.approve(*batch.ids, shown=batch, reason=reason))


@actions.command()
@click.argument("action_id", metavar="ID")
@click.option("--reason", required=True, help="Reason; kept in the journal.")
@pass_view
def reject(view: CommandView, action_id: str, reason: str) -> None:
    """Reject an action."""
    _print_actions([desk_of(view).reject(action_id, reason)])


@actions.command()
@click.argument("action_id", metavar="ID")
@click.option("--reason", default="", help="Reason; kept in the journal.")
@pass_view
def withdraw(view: CommandView, action_id: str, reason: str) -> None:
    """Withdraw an action that you proposed."""
    _print_actions([desk_of(view).withdraw(action_id, reason)])


@actions.command()
@click.argument("action_id", metavar="ID")
@click.option("--reason", help="Reason; default: the earlier one.")
@_without_key
@pass_view
def again(view: CommandView, action_id: str, **how: Any) -> None:
    """Propose an action again, on the current facts."""
    _print_actions([desk_of(view).again(action_id, **how)])


@actions.command()
@_ids
@yes_option
@pass_view
def execute(view: CommandView, action_ids: Sequence[str], yes: bool) -> None:
    """Carry out ready actions, each once."""
    desk = desk_of(view)
    batch = desk.batch(*action_ids)
    _confirm("Execute", batch, yes=yes)
    ran = desk.execute_all(batch.ids)
    for attempt in ran:
        _print_actions([attempt.action])
        if attempt.error is not None:
            click.echo(f"  {clean(attempt.error)}", err=True)
    for action_id in batch.ids[len(ran) :]:
        click.echo(f"{action_id}  not tried", err=True)
    failed = [attempt.error for attempt in ran if attempt.error is not None]
    if failed:
        sys.exit(failed[0].exit_code)


@actions.command()
@click.argument(_ID, nargs=-1, metavar="[ID...]")
@pass_view
def recover(view: CommandView, action_ids: Sequence[str]) -> None:
    """Find out the outcome of actions after a crash or lost answer; no effect is repeated."""
    from treasury.actions import UNSETTLED

    desk = desk_of(view)
    looked_at = desk.recover(*action_ids)
    if not looked_at:
        echo_folded("no action is open")
    for action in looked_at:
        _print_actions([action])
        if action.state in UNSETTLED and desk.wall() < desk.settling_until(action.id):
            until = desk.settling_until(action.id).astimezone(view.zone)
            echo_folded(f"  can be recovered from {instant_words(until, '%-d %b %Y %H:%M:%S')} on")


@actions.command()
@click.argument("action_id", metavar="ID")
@click.option("--outcome", required=True, type=Choice(_OUTCOMES), help="The outcome of the action.")
@click.option("--reason", required=True, help="Source of your information; kept in the journal.")
@click.option("--record", help="The id of the record that the action created, if known.")
@pass_view
def settle(view: CommandView, action_id: str, outcome: str, **known: Any) -> None:
    """State the outcome of an action if it is unknown, or if it may have happened twice."""
    carried_out = outcome == _OUTCOMES[0]
    _print_actions([desk_of(view).settle(action_id, carried_out=carried_out, **known)])


@actions.command()
@print_options
def policy(view: CommandView) -> None:
    """Show how many people must approve each kind of action, and who may."""
    from treasury.actions import KINDS

    rules = desk_of(view).policy
    rows = [
        {
            "kind": kind.name,
            "people": rules.people(kind, None),
            "propose": ", ".join(rules.rule(kind).propose),
            "approve": ", ".join(rules.rule(kind).approve),
            "two_people_from": _limits(rules.rule(kind).two_people_from),
            "at_most": _limits(rules.rule(kind).at_most),
            "per_day": _limits(rules.rule(kind).per_day),
        }
        for kind in KINDS.values()
    ]
    view.rows(pa.Table.from_pylist(rows), title=f"Policy {rules.hash[:12]}")
    if view.is_table and rules.one_person:
        echo_folded("This workspace has one person: no second person approves anything.")


def _limits(limits: dict[str, Any] | None) -> str:
    return ", ".join(f"{currency} {amount}" for currency, amount in (limits or {}).items())


def _table(several: Iterable[Action]) -> pa.Table:
    schema = pa.schema([(name, kind) for name, (kind, _) in _COLUMNS.items()])
    rows = [{name: read(action) for name, (_, read) in _COLUMNS.items()} for action in several]
    return pa.Table.from_pylist(rows, schema=schema)


def _why(action: Action) -> str:
    """Return why an action is in its state, or that it may have been carried out twice."""
    return f"may have been done twice: {action.doubled}" if action.doubled else action.why


def _print_actions(several: Iterable[Action]) -> None:
    for action in several:
        waits = f", waits for {action.waits_for} to approve" if action.waits_for else ""
        outcome = "" if action.outcome is None else f" ({clean(action.outcome.status)})"
        why = f": {clean(_why(action))}" if _why(action) else ""
        echo_folded(f"{action.id}  {action.state}{outcome}{waits}{why}  {clean(action.text)}")


def _confirm(verb: str, batch: Batch, *, yes: bool) -> None:
    """Show the full text of a decision, and ask for confirmation."""
    for action_id, line in zip(batch.ids, batch.lines, strict=True):
        echo_folded(f"{action_id}  {clean(line)}")
    ask(f"{verb} {batch.text}", yes=yes)


def ask(question: str, *, yes: bool) -> None:
    """Show a decision and ask for confirmation; without a terminal require `--yes`."""
    click.echo(question)
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("there is no terminal to confirm on; nothing was decided", do="add --yes")
    click.confirm("Go on?", abort=True)
