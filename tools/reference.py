"""Write the generated pages of docs/: `--check` only says whether they are up to date.

cli.md is the commands' own help, tables.md the declarations of the tables, open-items.md the kinds
of open items. services.md is written by hand down to SERVICES_MARK; below it are the client's
operations and fields, and the values that the sandbox publishes. Of matching.md only the table of
tiers is written.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_args

import click
import msgspec

from treasury.api.models import finance_models, ramp_models
from treasury.api.models.model_base import Model
from treasury.cli import treasury
from treasury.core.files.package_files import package_rows
from treasury.matching.tiers import TIERS
from treasury.month.items import KINDS, TURNS
from treasury.sandbox.serve.published.openapi_fields import FIELDS
from treasury.workspace.upkeep import dictionary

DOCS = Path(__file__).resolve().parents[1] / "docs"
HEAD = """\
# Command line

Made from the commands' own help by `make docs`. Every command that prints rows takes
`--format table|json|csv|parquet`: amounts keep every digit in each of them. Control characters in
a text are shown (`␛`) and in JSON escaped. A long table is printed as plain lines, one too wide as
a block of lines for each row; no row is left out. A failure is one line on standard error that says
what to do next; the exit code is 2 for input or settings, 3 for storage, 4 for an action refused
and 5 for a service.
"""


def pages(command: click.Command, context: click.Context) -> Iterator[str]:
    """The help of a command and of those below it."""
    name = context.command_path
    yield f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from pages(found, click.Context(found, info_name=child, parent=context))


def reference() -> str:
    """The whole page."""
    width = {"terminal_width": 90, "max_content_width": 90}
    context = click.Context(
        treasury, info_name="treasury", **{**treasury.context_settings, **width}
    )
    return "\n".join((HEAD, *pages(treasury, context)))


ITEMS_HEAD = """\
# Open items

One list holds everything that is not settled in a month, each thing once: bank lines that nobody
has explained, requests, transfers, conversions, balances and statements that are not proved,
actions and decisions. The first screen, the checklist of a close, its report, its workbook and
its notebook, and the exceptions panel show rows of this list and count rows of it.

```console
$ treasury exceptions --month 2026-10                 # also --turn us, --kind overdue, --blocking
$ treasury exceptions --month 2026-10 --format json   # every column
```

```python
items = t.open_items("2026-10")  # .groups, .turns, .blocking, .select(kind="overdue"), .table, .df
```

- **Open in a month** means begun by its end and not settled: what stays open is in the list of
  every month after it. `month` is the one in which it began, `since` the day, `age` the days
  since on the clock of its rail. An action of unknown outcome is in every list, for it may be
  about any month.
- **`item_id`** names the thing and stays the same across syncs and imports.
- **Money is counted once.** A request whose money may be a line that needs a decision names that
  line in `counted_in`, and the line counts it; a line counts no more requests than its amount
  pays.
- **A line of more than was expected** is matched, and its rest stays open (*more than was
  expected*) until it comes back or the line is divided; of a wire of ours it counts with the
  request while that is open.
- **`blocks`**: *never acceptable* holds up the close whatever anybody says, *until accepted*
  holds it up until two people agree to carry that item, *never* is listed and carried. What two
  people agreed to lapses when the amount or the state moves, when the day passes by which it
  should clear, or after two closes.
- **Carrying an item** takes two people: `treasury items carry ITEM --owner NAME --by DATE --reason
  WHY` (`t.items.carry`) proposes it, `treasury items accept ITEM` (`t.items.accept`) agrees as
  somebody else; `treasury items list` says what holds, waits or has lapsed. Under a policy of one
  person it is marked as signed alone.
- **Materiality**: `policy.toml` may name, per currency, an amount up to which an item is listed and
  does not block, and one for all of them together. Two people put the limits in force
  (`treasury items limits`). Statements, payments made twice and unknown outcomes block at any
  amount.
- **Nothing is said to be open only where everything was asked.** Where the services were never
  read, no statement is stored, or the instant is before the first sync, the answer is *not
  known*, with the step.

A request that left in a payment file is IN FILE: it has no Copy and leaves in no second file,
until its debit is in a statement or somebody says `treasury request not-uploaded NAME --reason …`
(`t.funding.not_uploaded`). Where the statements reach past the day on which it should have been
debited, the item says so.

A request whose transaction hash was given here is HASH PROPOSED until the service's record has it:
the coins are sent, and what is left is to have the hash approved and carried out.

## Remarks

`treasury items remark ITEM TEXT` (`t.items.remark`, *Remark* and *Answer* in the exceptions
panel) says something of an open item, by name, and `--answers N` answers what a colleague said.
The last three stand beside the item in every list, panel, sheet and report, `treasury items
remarks` lists all. A remark proves nothing and changes no state; a field that is not known here
is settled by whoever says what it is.

## Deciding in a sheet

`treasury exceptions --sheet FILE` (`t.exceptions_sheet`, *Download sheet* in the exceptions
panel) writes what is open as a workbook that explains itself: a row for each item with its facts
and candidates, a list to choose from, a reason, who proposes it. `treasury decide FILE`
(`t.decide`, *Decide from a sheet…*) says first, in items and in currency, what each row would do,
and which are refused and why: facts that moved since, which includes what was said of the item, a
choice that is not offered, no reason, a person who may not. Then all that was shown is journaled,
or nothing; a second time changes nothing. The author is who applies it, with "proposed by"
beside. [With your bank and your colleagues](colleagues.md) goes through it.

## Kinds

By whose move it is, in the order of the first screen; the name is what `--kind` takes.
"""


def items_page() -> str:
    """The page about open items, with the table of their kinds."""
    rows = [
        f"| {TURNS[turn]} | {kind.label} | `{kind.name}` | {kind.blocks} | {kind.next_step} |"
        for turn in TURNS
        for kind in KINDS.values()
        if kind.turn == turn
    ]
    head = "| whose | kind | name | blocks | next step |\n|---|---|---|---|---|"
    return "\n".join((ITEMS_HEAD, head, *rows, ""))


SERVICES_MARK: Final = "<!-- Generated from here on by `make docs`. -->\n"
OPERATIONS_HEAD = """
## Operations

*Authority*: what deployed services are documented to require. A 403 names it; nothing is decided by
it. *Identified by*: values that the answer shares with its request; an answer with another value
belongs to another request. Where the two have different names, the answer's is on the left, and
`{…}` is an id of the path. *Refusals*: the statuses with which the service itself may refuse a
write. *404*: what it can mean beyond a missing record of the path.
"""
ABSENCES: Final = {
    "dropped": "later generations lack the operation",
    "optional": "some services lack the operation",
    "named": "a record that the body names is missing",
}
FIELDS_HEAD = """
## Fields

Every field that the client reads; a field that it does not know is kept in `raw`. A field without a
type is text, an identifier or JSON. [Tables](tables.md) explains the columns made from them.
"""
VALUES_HEAD = """
## Known values

The values that the practice services use: those of the specifications, and those that deployed
services are documented to send. Any other value is kept, and an unknown status counts as not final.
Records are named as in the sandbox's OpenAPI documents; without one, the field has these values in
every record.
"""
FIELD_TYPES: Final = {Decimal: "decimal", datetime: "time", int: "number", bool: "boolean"}


def services_page() -> str:
    """Return the page about the services: the part written by hand, then the generated one."""
    written, mark, _ = (DOCS / "services.md").read_text("utf-8").partition(SERVICES_MARK)
    if not mark:
        raise ValueError(f"docs/services.md has no line {SERVICES_MARK.strip()}")
    return "\n".join(
        (
            written + mark + OPERATIONS_HEAD,
            *_operations(),
            FIELDS_HEAD,
            *_records("Finance service", finance_models),
            *_records("Ramp service", ramp_models),
            VALUES_HEAD,
            *_known_values(),
            "",
        )
    )


def _operations() -> Iterator[str]:
    """The operations of each service, in the order of their declarations."""
    rows = package_rows("treasury.api", "operations.csv")
    for title, service in (("Finance service", "finance"), ("Ramp service", "ramp")):
        yield f"### {title}: operations\n"
        yield "| operation | authority | identified by | refusals | 404 |\n|---|---|---|---|---|"
        for row in rows:
            operation = row["operation"]
            if row["service"] == service:
                identity = ", ".join(map(_shared_value, row["identity"].split()))
                absence = "; ".join(ABSENCES[word] for word in row["absence"].split())
                cells = (row["authority"], identity, row["refuses"], absence)
                yield f"| `{operation}` | {' | '.join(cells)} |"
        yield ""


def _shared_value(entry: str) -> str:
    """An entry of the column `identity`, shorter where both sides have one name."""
    shown, _, sent = entry.partition("=")
    text = shown if sent in (shown, f"{{{shown}}}") else entry
    return f"`{text}`".replace("|", "\\|")


def _records(title: str, module: ModuleType) -> Iterator[str]:
    """The records of a service, each with its fields."""
    yield f"### {title}: fields\n\n| record | fields |\n|---|---|"
    for name in module.__all__:
        record = getattr(module, name)
        if issubclass(record, Model):
            fields = map(_field, msgspec.structs.fields(record))
            yield f"| {name} | {', '.join(fields)} |"
    yield ""


def _field(field: msgspec.structs.FieldInfo) -> str:
    kinds = dict.fromkeys(_kinds(field.type))
    return f"`{field.encode_name}`" + (f" ({' or '.join(kinds)})" if kinds else "")


def _kinds(annotation: Any) -> Iterator[str]:
    """The types in an annotation that the page shows: text and identifiers are left out."""
    if annotation in FIELD_TYPES:
        yield FIELD_TYPES[annotation]
    elif isinstance(annotation, type) and issubclass(annotation, Model):
        is_private = annotation.__name__.startswith("_")
        yield "object" if is_private else annotation.__name__
    for part in get_args(annotation):
        yield from _kinds(part)


def _known_values() -> Iterator[str]:
    """The known values of each field; records that share them are in one row."""
    records: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for place, values in FIELDS.enums.items():
        record, _, field = place.rpartition(".")
        records.setdefault((field, tuple(values)), []).append(record)
    yield "| field | record | values |\n|---|---|---|"
    for (field, values), names in records.items():
        shown = ", ".join(f"`{value}`" for value in values)
        yield f"| `{field}` | {', '.join(names)} | {shown} |"


TIERS_HEAD = "| tier | reading | what it proves |\n|---|---|---|\n"


def matching_page() -> str:
    """Return the page about matching as it is, with the tiers as they are declared."""
    before, after = (DOCS / "matching.md").read_text("utf-8").split(TIERS_HEAD)
    rest = after.partition("\n\n")[2]
    rows = "".join(f"| {tier.rank} | {tier.words} | {tier.proves} |\n" for tier in TIERS)
    return f"{before}{TIERS_HEAD}{rows}\n{rest}"


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": reference,
    "tables.md": dictionary.page,
    "open-items.md": items_page,
    "services.md": services_page,
    "matching.md": matching_page,
}


def main() -> int:
    """Write the pages, or compare them."""
    old = 0
    for name, make in PAGES.items():
        path = DOCS / name
        if "--check" not in sys.argv:
            path.write_text(make(), "utf-8")
        elif not path.exists() or path.read_text("utf-8") != make():
            print(f"docs/{name} is not what the code says: run `make docs`", file=sys.stderr)  # noqa: T201
            old = 1
    return old


if __name__ == "__main__":
    sys.exit(main())
