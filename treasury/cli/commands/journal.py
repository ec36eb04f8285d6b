"""`treasury journal`: people's decisions, their signatures, and completeness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pyarrow as pa

from treasury.cli.command_view import CommandView, pass_view, print_options
from treasury.cli.commands.actions import ask, desk_of, yes_option
from treasury.cli.layout import echo_folded
from treasury.core.errors import InputError
from treasury.core.files.regular_files import read_regular
from treasury.core.text import clean

if TYPE_CHECKING:
    from treasury.journal import SignatureRules

_MOST_FALSE = 20
_FALSE = frozenset({"wrong", "another's key"})


@click.group()
def journal() -> None:
    """Show and verify what people decided."""


@journal.command()
@click.option("--reason", required=True, help="Reason to continue with this copy.")
@yes_option
@pass_view
def adopt(view: CommandView, reason: str, yes: bool) -> None:
    """Adopt an older copy of a journal, or a copied workspace; open actions lapse."""
    ask(
        "Continue with this copy: later decisions, and decisions made elsewhere, are not in it.",
        yes=yes,
    )
    lapsed = desk_of(view).adopt_journal(reason)
    for action in lapsed:
        echo_folded(f"{action.id}  lapsed: {clean(action.text)}")
    echo_folded(f"The journal is adopted; {len(lapsed)} open actions lapsed.")


@journal.command("list")
@click.option("--kind", help="Show entries of this kind; `match.` for all kinds with this prefix.")
@click.option("--subject", help="Show only entries about this action, line or request.")
@print_options
def list_entries(view: CommandView, kind: str | None, subject: str | None) -> None:
    """List entries: who decided what and when, how they were identified, and who signed."""
    import msgspec

    decided = view.workspace.journal
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
    schema = pa.schema(
        [
            ("number", pa.int64()),
            ("at", pa.timestamp("us", tz="UTC")),
            *((name, pa.string()) for name in texts),
        ]
    )
    table = pa.Table.from_pylist(rows, schema=schema)
    view.rows(table, layout="journal", title="Journal")


@journal.command()
@print_options
def head(view: CommandView) -> None:
    """Print the journal's end (NUMBER:HASH) and its time; keep a copy elsewhere."""
    from treasury.journal.kept_heads import head_line

    last = view.workspace.journal.last()
    if last is None:
        raise InputError("the journal is empty", do="run it again after the first decision")
    if view.is_table:
        echo_folded(head_line(last))
    else:
        facts = {"number": last.seq, "hash": last.hash, "at": last.at}
        view.rows(pa.Table.from_pylist([facts]))


@journal.command()
@click.option(
    "--head",
    "ends",
    multiple=True,
    metavar="NUMBER:HASH",
    help="A journal end that was noted elsewhere.",
)
@click.option(
    "--heads",
    "files",
    multiple=True,
    type=click.Path(exists=True),
    help="A file of noted journal ends, or the folder where each close publishes them.",
)
@click.option(
    "--keys",
    type=click.Path(exists=True, dir_okay=False),
    help="A policy file with [keys] and `signed`, used instead of the workspace's.",
)
@print_options
def verify(view: CommandView, ends: Sequence[str], files: Sequence[str], keys: str | None) -> None:
    """Verify every entry against the chain, its signature, and journal ends noted elsewhere.

    Fails with an error if an entry was changed, removed or moved, or if a noted end is missing.
    Shows who signed, and exits with 1 if a signature is invalid.
    """
    from treasury.journal.chain import read_head
    from treasury.journal.kept_heads import read_heads

    journal = view.workspace.journal
    rules = journal.signing.rules() if keys is None else _rules_in(Path(keys))
    published = (each_end for file in files for each_end in read_heads(Path(file)))
    heads = [*map(read_head, ends), *published]
    end = journal.verify(*heads, rules=rules)
    signatures = journal.signatures(rules)
    if not view.is_table:
        states = [signature.state for signature in signatures.values()]
        false = sum(state in _FALSE for state in states)
        signed = end.seq - states.count("unsigned") - false
        facts = {"entries": end.seq, "end": str(end), "noted_ends": len(heads)}
        view.rows(pa.Table.from_pylist([facts | {"signed": signed, "false": false}]))
        raise SystemExit(int(false > 0))
    echo_folded(f"{end.seq} entries, none changed; the end is {end}")
    if heads:
        echo_folded(f"It contains all {len(heads)} ends that were noted elsewhere.")
    if rules.keys or any(signature.state != "unsigned" for signature in signatures.values()):
        counts = Counter(map(str, signatures.values()))
        for state, number in sorted(counts.items()):
            echo_folded(f"{number} {'entry' if number == 1 else 'entries'} {clean(state)}")
    wrong = [number for number, signature in signatures.items() if signature.state in _FALSE]
    for number in wrong[:_MOST_FALSE]:
        echo_folded(f"entry {number}: {clean(str(signatures[number]))}")
    if len(wrong) > _MOST_FALSE:
        echo_folded(f"and {len(wrong) - _MOST_FALSE} more")
    if wrong:
        raise SystemExit(1)


def _rules_in(path: Path) -> SignatureRules:
    from treasury.actions.policies.policy import parse_policy

    try:
        text = read_regular(path)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise InputError(f"{path} cannot be read: {why}", do="name a policy") from None
    return parse_policy(text, path).signatures


@journal.group()
def key() -> None:
    """Manage the key that signs your entries."""


@key.command()
@click.option(
    "--place",
    metavar="PLACE",
    help="file:PATH or keyring:SERVICE/USER; default: the place in journal.key.",
)
@pass_view
def make(view: CommandView, place: str | None) -> None:
    """Make your signing key, once; prints the public key for enrolment."""
    from treasury.journal.signing import make_key

    where = place or _place(view)
    new_key = make_key(where)
    click.echo(new_key.public)
    click.echo(
        f"It is stored at {where}. Keep a copy that only you can read, and have a colleague"
        " run `treasury journal key enrol NAME KEY`.",
        err=True,
    )


@key.command()
@pass_view
def show(view: CommandView) -> None:
    """Show your public key, and its owner according to the policy."""
    from treasury.journal.signing import load_key

    place = _place(view)
    own_key = load_key(place)
    if own_key is None:
        raise InputError(
            f"there is no signing key at {place}", do="run `treasury journal key make`"
        )
    public = own_key.public
    owner = view.workspace.journal.signing.rules().owner(public)
    click.echo(public)
    click.echo(f"enrolled as {clean(owner)}" if owner else "not enrolled in policy.toml", err=True)


@key.command("list")
@print_options
def list_keys(view: CommandView) -> None:
    """List the public keys in the policy, with their owners."""
    people = view.workspace.journal.signing.rules().keys
    rows = [{"name": name, "key": public} for name, keys in people.items() for public in keys]
    schema = pa.schema([("name", pa.string()), ("key", pa.string())])
    view.rows(pa.Table.from_pylist(rows, schema=schema), title="Keys", empty="none enrolled")


@key.command()
@click.argument("name")
@click.argument("public")
@pass_view
def enrol(view: CommandView, name: str, public: str) -> None:
    """Write a colleague's PUBLIC key into policy.toml, under the NAME in their entries.

    Have them read it to you: anyone who can place another key there can sign as them.
    """
    from treasury.actions.authority.enrolment import enrol_key

    enrol_key(view.folder, name, public)
    echo_folded(f"enrolled the key of {clean(name)}")


def _place(view: CommandView) -> str:
    from treasury.core.settings import JournalPlace

    return (view.workspace.settings.journal or JournalPlace()).key
