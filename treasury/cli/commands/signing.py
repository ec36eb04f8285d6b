"""The commands that prove a journal to whoever does not trust its database: heads, signatures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pyarrow as pa

from treasury.cli.commands.desk import folder_of, workspace_of
from treasury.cli.output import print_options, print_rows
from treasury.errors import InputError
from treasury.ground.regular_files import read_regular
from treasury.text import clean

if TYPE_CHECKING:
    from treasury.journal import SignatureRules

__all__ = ["head", "key", "verify"]

_MOST_FALSE = 20
_FALSE = frozenset({"wrong", "another's key"})


@click.command()
@print_options
def head(context: click.Context, form: str) -> None:
    """Print the journal's end, NUMBER:HASH, and its time: to print, to mail, to keep elsewhere."""
    from treasury.journal.kept_heads import head_line

    last = workspace_of(context).journal.last()
    if last is None:
        raise InputError("the journal is empty", do="come back once something was decided")
    if form == "table":
        click.echo(head_line(last))
    else:
        _print_facts(form, number=last.seq, hash=last.hash, at=last.at)


@click.command()
@click.option(
    "--head", "ends", multiple=True, metavar="NUMBER:HASH", help="An end that was noted elsewhere."
)
@click.option(
    "--heads",
    "files",
    multiple=True,
    type=click.Path(exists=True),
    help="A file of such ends, or the folder that each close publishes them in.",
)
@click.option(
    "--keys",
    type=click.Path(exists=True, dir_okay=False),
    help="A policy of your own whose [keys] and signed hold, instead of the workspace's.",
)
@print_options
def verify(
    context: click.Context, ends: Sequence[str], files: Sequence[str], keys: str | None, form: str
) -> None:
    """Hold every entry against the chain, its signature, and ends that were noted elsewhere.

    Says which one was changed, removed or moved, which noted end is the first that is not held, and
    who signed. Exits 1 where a signature is false.
    """
    from treasury.journal.chain import read_head
    from treasury.journal.kept_heads import read_heads

    journal = workspace_of(context).journal
    rules = journal.signing.rules() if keys is None else _rules_in(Path(keys))
    published = (noted for file in files for noted in read_heads(Path(file)))
    heads = [*map(read_head, ends), *published]
    end = journal.verify(*heads, rules=rules)
    signatures = journal.signatures(rules)
    if form != "table":
        states = [signature.state for signature in signatures.values()]
        false = sum(state in _FALSE for state in states)
        _print_facts(
            form, entries=end.seq, end=str(end), noted_ends=len(heads),
            signed=end.seq - states.count("unsigned") - false, false=false,
        )  # fmt: skip
        raise SystemExit(int(false > 0))
    click.echo(f"{end.seq} entries, none changed; the end is {end}")
    if heads:
        click.echo(f"It holds each of the {len(heads)} ends that were noted elsewhere.")
    if rules.keys or any(signature.state != "unsigned" for signature in signatures.values()):
        counts = Counter(map(str, signatures.values()))
        for state, number in sorted(counts.items()):
            click.echo(f"{number} {'entry' if number == 1 else 'entries'} {clean(state)}")
    wrong = [number for number, signature in signatures.items() if signature.state in _FALSE]
    for number in wrong[:_MOST_FALSE]:
        click.echo(f"entry {number}: {clean(str(signatures[number]))}")
    if len(wrong) > _MOST_FALSE:
        click.echo(f"and {len(wrong) - _MOST_FALSE} more")
    if wrong:
        raise SystemExit(1)


def _print_facts(form: str, **facts: Any) -> None:
    """Print one row for a program."""
    print_rows(pa.Table.from_pylist([facts]), form)


def _rules_in(path: Path) -> SignatureRules:
    from treasury.actions.authority.policy import parse_policy

    try:
        text = read_regular(path)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"{path} cannot be read: {why}", do="name a policy") from None
    return parse_policy(text, path).signatures


@click.group()
def key() -> None:
    """The key that a person signs their entries with."""


@key.command()
@click.option(
    "--place",
    metavar="PLACE",
    help="file:PATH or keyring:SERVICE/USER; where journal.key says if not given.",
)
@click.pass_context
def make(context: click.Context, place: str | None) -> None:
    """Make your signing key, once; prints the public half, to be enrolled."""
    from treasury.journal.signing import make_key

    where = place or _place(context)
    new_key = make_key(where)
    click.echo(new_key.public)
    click.echo(
        f"It is kept at {where}. Keep a copy where nobody else reads it, and have a colleague run"
        " `treasury journal key enrol NAME KEY`.",
        err=True,
    )


@key.command()
@click.pass_context
def show(context: click.Context) -> None:
    """Show your public key, and whose it is by the policy."""
    from treasury.journal.signing import load_key

    place = _place(context)
    own_key = load_key(place)
    if own_key is None:
        raise InputError(
            f"there is no signing key at {place}", do="run `treasury journal key make`"
        )
    public = own_key.public
    owner = workspace_of(context).journal.signing.rules().owner(public)
    click.echo(public)
    click.echo(f"enrolled as {clean(owner)}" if owner else "not enrolled in policy.toml", err=True)


@key.command("list")
@print_options
def list_keys(context: click.Context, form: str) -> None:
    """List whose public keys the policy knows."""
    people = workspace_of(context).journal.signing.rules().keys
    rows = [{"name": name, "key": public} for name, keys in people.items() for public in keys]
    schema = pa.schema([("name", pa.string()), ("key", pa.string())])
    print_rows(pa.Table.from_pylist(rows, schema=schema), form, title="Keys", empty="none enrolled")


@key.command()
@click.argument("name")
@click.argument("public")
@click.pass_context
def enrol(context: click.Context, name: str, public: str) -> None:
    """Write a colleague's PUBLIC key into policy.toml under the NAME that their entries carry.

    Have them read it to you: whoever can put another key there can sign as them.
    """
    from treasury.actions.authority.enrolment import enrol_key

    enrol_key(folder_of(context), name, public)
    click.echo(f"enrolled the key of {clean(name)}")


def _place(context: click.Context) -> str:
    from treasury.settings import JournalPlace

    return (workspace_of(context).settings.journal or JournalPlace()).key
