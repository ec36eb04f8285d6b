"""The commands about actions and the journal: what people decide, and what then happens once.

Whatever moves something asks first and names it in full, with the totals by currency; `--yes`
answers for a script. Who decides is the person at this shell; nobody can be named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from treasury.cli.commands.desk import workspace_of
from treasury.cli.output import desk_zone, format_option, print_options, print_rows
from treasury.errors import InputError
from treasury.ground.wording import instant_words
from treasury.text import clean

if TYPE_CHECKING:
    from treasury.actions import Action, Actions, Batch

__all__ = ["actions", "journal"]

ID = "action_ids"
OUTCOMES = ("carried-out", "not-carried-out")
STATES = (
    "proposed", "ready", "sending", "done", "refused", "unknown", "lapsed", "rejected",
    "withdrawn",
)  # fmt: skip

_COLUMNS = pa.schema(
    [
        ("id", pa.string()),
        ("state", pa.string()),
        ("kind", pa.string()),
        ("amount", pa.decimal128(38, 18)),
        ("currency", pa.string()),
        ("text", pa.string()),
        ("proposed_by", pa.string()),
        ("proposed_at", pa.timestamp("us", tz="UTC")),
        ("approved_by", pa.string()),
        ("needed", pa.int64()),
        ("target", pa.string()),
        ("record", pa.string()),
        ("status", pa.string()),
        ("why", pa.string()),
    ]
)
_SPARE = ("why", "kind", "approved_by", "proposed_by")
_TABLE_COLUMNS = ("id", "state", "kind", "amount", "proposed_by", "approved_by", "text", "why")


@click.group()
def actions() -> None:
    """Propose, approve and execute what changes something at the services."""


def _desk(context: click.Context) -> Actions:
    workspace = workspace_of(context)
    context.call_on_close(workspace.close_clients)
    return workspace.actions


_ids = click.argument(ID, nargs=-1, required=True, metavar="ID...")
_yes = click.option("--yes", is_flag=True, help="Do not ask.")
_without_key = click.option(
    "--without-key",
    is_flag=True,
    help="Leave out a key that is evidence only, where the service refuses it.",
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
@click.option("--reason", help="Why; kept in the journal.")
@click.option("--live", is_flag=True, help="Check against the services, not the last sync.")
@_without_key
@click.pass_context
def propose(context: click.Context, /, kind: str, fields: Sequence[str], **how: Any) -> None:
    """Propose an action of KIND; sends nothing."""
    contents: dict[str, Any] = {}
    for field in fields:
        name, equals, value = field.partition("=")
        if not equals or name in {*contents, *how}:
            raise InputError(f"{clean(field)} is not FIELD=VALUE", do="write amount=100.00")
        contents[name] = value
    action = _desk(context).propose(kind, **how, **contents)
    _print_actions([action])


@actions.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--kind", help="Only those of this kind.")
@print_options
def list_actions(context: click.Context, state: Any, kind: str | None, form: str) -> None:
    """List actions, oldest first."""
    rows = [_row(action) for action in _desk(context).list(state=state, kind=kind)]
    table = pa.Table.from_pylist(rows, schema=_COLUMNS)
    print_rows(table, form, columns=_TABLE_COLUMNS, spare=_SPARE, title="Actions")


@actions.command()
@click.argument("action_id", metavar="ID")
@print_options
def show(context: click.Context, action_id: str, form: str) -> None:
    """Show an action: what it does, who agreed, what was seen, where it stands."""
    action = _desk(context).get(action_id)
    if form != "table":
        print_rows(pa.Table.from_pylist([_row(action)], schema=_COLUMNS), form)
        return
    click.echo(f"{action.id}  {action.state}  {action.kind}\n{clean(action.text)}")
    click.echo(f"agreed: {', '.join(map(clean, action.people))}; needed: {action.needed}")
    for fact in action.facts:
        click.echo(f"  {fact.name}: {clean(fact.value)}")
    if action.outcome is not None:
        outcome = action.outcome
        at = instant_words(outcome.at.astimezone(desk_zone()), "%Y-%m-%d %H:%M")
        click.echo(f"done at {at} ({outcome.how}): {clean(outcome.status)}")
        click.echo(f"record {clean(outcome.record)}; service user {clean(outcome.service_user)}")
    if action.why:
        click.echo(clean(action.why))
    click.echo(f"content {action.content_hash}")


@actions.command()
@_ids
@click.option("--reason", help="Why; kept in the journal.")
@_yes
@click.pass_context
def approve(
    context: click.Context, action_ids: Sequence[str], reason: str | None, yes: bool
) -> None:
    """Approve actions that somebody else proposed, all of them or none."""
    desk = _desk(context)
    batch = desk.batch(*action_ids)
    _confirm("Approve", batch, yes=yes)
    _print_actions(desk.approve(*batch.ids, shown=batch, reason=reason))


@actions.command()
@click.argument("action_id", metavar="ID")
@click.option("--reason", required=True, help="Why; kept in the journal.")
@click.pass_context
def reject(context: click.Context, action_id: str, reason: str) -> None:
    """Turn an action down."""
    _print_actions([_desk(context).reject(action_id, reason)])


@actions.command()
@click.argument("action_id", metavar="ID")
@click.option("--reason", default="", help="Why; kept in the journal.")
@click.pass_context
def withdraw(context: click.Context, action_id: str, reason: str) -> None:
    """Take back an action that you proposed."""
    _print_actions([_desk(context).withdraw(action_id, reason)])


@actions.command()
@click.argument("action_id", metavar="ID")
@click.option("--reason", help="Why; as before if not given.")
@_without_key
@click.pass_context
def again(context: click.Context, action_id: str, reason: str | None, without_key: bool) -> None:
    """Propose the same once more, on what is so now."""
    _print_actions([_desk(context).again(action_id, reason=reason, without_key=without_key)])


@actions.command()
@_ids
@_yes
@click.pass_context
def execute(context: click.Context, action_ids: Sequence[str], yes: bool) -> None:
    """Carry out actions that are ready, each once."""
    desk = _desk(context)
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
@click.argument(ID, nargs=-1, metavar="[ID...]")
@click.pass_context
def recover(context: click.Context, action_ids: Sequence[str]) -> None:
    """Settle what a crash or a lost answer left open; sends nothing that could act twice."""
    settled = _desk(context).recover(*action_ids)
    if not settled:
        click.echo("nothing is open")
    _print_actions(settled)


@actions.command()
@click.argument("action_id", metavar="ID")
@click.option("--outcome", required=True, type=click.Choice(OUTCOMES), help="What became of it.")
@click.option("--reason", required=True, help="How you know; kept in the journal.")
@click.option("--record", help="The id of the record that it made, where you know it.")
@click.pass_context
def settle(
    context: click.Context, action_id: str, outcome: str, reason: str, record: str | None
) -> None:
    """Say what became of an action whose outcome is unknown."""
    carried_out = outcome == OUTCOMES[0]
    desk = _desk(context)
    _print_actions([desk.settle(action_id, carried_out=carried_out, reason=reason, record=record)])


@actions.command()
@print_options
def policy(context: click.Context, form: str) -> None:
    """Show how many people each kind of action needs, and who they may be."""
    from treasury.actions import KINDS

    rules = _desk(context).policy
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
    print_rows(pa.Table.from_pylist(rows), form, title=f"Policy {rules.hash[:12]}")
    if form == "table" and rules.one_person:
        click.echo("This workspace has one person: nobody else approves anything.")


def _limits(limits: dict[str, Any] | None) -> str:
    return ", ".join(f"{currency} {amount}" for currency, amount in (limits or {}).items())


def _row(action: Action) -> dict[str, Any]:
    money, outcome = action.money, action.outcome
    return {
        "id": action.id,
        "state": action.state,
        "kind": action.kind,
        "amount": None if money is None else money.amount,
        "currency": None if money is None else money.currency,
        "text": action.text,
        "proposed_by": action.proposed_by.name,
        "proposed_at": action.proposed_at,
        "approved_by": ", ".join(approval.actor.name for approval in action.approvals) or None,
        "needed": action.needed,
        "target": action.target or None,
        "record": None if outcome is None else outcome.record,
        "status": None if outcome is None else outcome.status,
        "why": action.why or None,
    }


def _print_actions(several: Iterable[Action]) -> None:
    for action in several:
        waits = f", waits for {action.waits_for} to approve" if action.waits_for else ""
        outcome = "" if action.outcome is None else f" ({clean(action.outcome.status)})"
        why = f": {clean(action.why)}" if action.why else ""
        click.echo(f"{action.id}  {action.state}{outcome}{waits}{why}  {clean(action.text)}")


def _confirm(verb: str, batch: Batch, *, yes: bool) -> None:
    """Say in full what is about to be decided, and ask."""
    for action_id, line in zip(batch.ids, batch.lines, strict=True):
        click.echo(f"{action_id}  {clean(line)}")
    _ask(f"{verb} {batch.text}", yes=yes)


def _ask(question: str, *, yes: bool) -> None:
    """Say what is about to be decided, and ask; without a terminal only `--yes` goes on."""
    click.echo(question)
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError("nobody is there to confirm; nothing was decided", do="add --yes")
    click.confirm("Go on?", abort=True)


@click.group()
def journal() -> None:
    """Look at what people decided."""


@journal.command()
@click.option("--reason", required=True, help="Why this copy is the one to go on with.")
@_yes
@click.pass_context
def adopt(context: click.Context, reason: str, yes: bool) -> None:
    """Go on with an older copy of a journal, or a copy of a workspace; what was open lapses."""
    _ask("Go on with this copy: what was decided after it, or elsewhere, is not in it.", yes=yes)
    lapsed = _desk(context).adopt_journal(reason)
    for action in lapsed:
        click.echo(f"{action.id}  lapsed: {clean(action.text)}")
    click.echo(f"The journal is adopted; {len(lapsed)} open actions lapsed.")


@journal.command("list")
@click.option("--kind", help="Only entries of this kind; `match.` for all that begin so.")
@click.option("--subject", help="Only entries about this action, line or request.")
@print_options
def list_entries(context: click.Context, kind: str | None, subject: str | None, form: str) -> None:
    """List entries: who decided what, when, how that person was known, and who signed."""
    import msgspec

    decided = workspace_of(context).journal
    entries, signatures = decided.entries(kind, subject), decided.signatures()
    rows = [
        {
            "number": entry.seq,
            "at": entry.at,
            "kind": entry.kind,
            "subject": entry.subject,
            "by": entry.actor.name,
            "known_from": entry.actor.source,
            "assurance": entry.actor.assurance,
            "signature": str(signatures[entry.seq]),
            "body": msgspec.json.encode(entry.body).decode(),
        }
        for entry in entries
    ]
    texts = ("kind", "subject", "by", "known_from", "assurance", "signature", "body")
    instant = pa.timestamp("us", tz="UTC")
    schema = pa.schema(
        [("number", pa.int64()), ("at", instant), *((name, pa.string()) for name in texts)]
    )
    table = pa.Table.from_pylist(rows, schema=schema)
    spare = ("signature", "assurance", "known_from", "subject")
    print_rows(table, form, columns=schema.names[:-1], spare=spare, title="Journal")
