"""Write the generated pages of docs/, or with `--check` only compare them.

cli.md has the help of the commands, tables.md the declared tables, open-items.md the kinds of open
items. services.md is written by hand up to SERVICES_MARK; below it are the client's operations and
fields, and the values that the sandbox publishes. In matching.md only the table of tiers is
generated, and in statement-rules.md only the list of banks. tests/lake/columns.txt has the columns
of all versions, for the test that none is removed.
"""

from __future__ import annotations

import sys
import textwrap
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
from treasury.core.tables.column_types import TYPE_WORDS
from treasury.matching.tiers import TIERS
from treasury.month.items import KINDS, TURNS
from treasury.month.items.item_kinds import KIND_WORDS
from treasury.sandbox.serve.published.openapi import FIELDS
from treasury.statements.csv.profiles import built_in_profiles
from treasury.workspace.upkeep import dictionary

DOCS = Path(__file__).resolve().parents[1] / "docs"
COLUMNS = DOCS.parent / "tests/lake/columns.txt"
HEAD = """\
# Command line

`make docs` writes this page from the commands' own help. Every command that prints rows takes
`--format table|json|csv|parquet`; amounts keep every digit in each format. Control characters in a
text are made visible (`␛`), and escaped in JSON. A long table is printed as plain lines, a wide one
as a block of lines for each row; all rows are printed. A failure is one line on standard error with
the next step. The exit code is 2 for input or settings, 3 for storage, 4 for a refused action and 5
for a service.
"""


def pages(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the help of a command and of its subcommands."""
    name = context.command_path
    yield f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from pages(found, click.Context(found, info_name=child, parent=context))


def reference() -> str:
    """Return the page about the command line."""
    width = {"terminal_width": 90, "max_content_width": 90}
    context = click.Context(
        treasury, info_name="treasury", **{**treasury.context_settings, **width}
    )
    commands = (f"[{name}](#treasury-{name})" for name in treasury.list_commands(context))
    return "\n".join((HEAD, f"Commands: {', '.join(commands)}.\n", *pages(treasury, context)))


ITEMS_HEAD = """\
# Open items

```console
$ treasury exceptions --month 2026-10                 # also --turn us, --kind overdue, --blocking
$ treasury exceptions --owner Bank --currency EUR --min-amount 10000
$ treasury exceptions --month 2026-10 --format json   # every column
```

```python
items = t.open_items("2026-10")  # .groups, .turns, .blocking, .select(kind="overdue"), .table, .df
t.status().lists["pay"]          # what is open now, by row of the morning's screen
```

This list contains everything that is not settled in a month: unexplained bank lines, unfinished
requests and transfers, statements and balances without proof, and pending actions and decisions.
Each item appears once. `treasury status`, the close panel, and the checklist, report, workbook
and notebook of a close all show and count rows of this list.

`treasury status` without a month shows what is open now: the current month's list, and the evidence
of the last month until that month is closed. Evidence of the current month is an item once its day
has ended. `treasury status pay` lists the items of a row.

- [The list](#the-list)
- [Payment files and hashes](#payment-files-and-hashes)
- [Owners, remarks and files](#owners-remarks-and-files)
- [Deciding in a sheet](#deciding-in-a-sheet)
- [Kinds](#kinds)

## The list

- **Open in a month** means that the item began before the end of the month and is not settled. It
  appears in every month from then on, until it is settled. `month` is the month in which it began,
  `since` the day, and `age` the number of days since then (TARGET days for euros). An action of
  unknown outcome appears in every month, because it may concern any month.
- **`item_id`** identifies the item and stays the same across syncs and imports.
- **Money is counted once.** A request may have been paid by a bank line that still needs a
  decision. The column `counted_in` of the request then names the line, and only the line counts. A
  line counts for as many requests as its amount can pay.
- **Overpayments.** A bank line above the expected amount is matched. The excess stays open (*more
  than was expected*) until it is returned or the line is divided. If you overpaid a request
  yourself, the excess counts with the request for as long as the request is open.
- **`blocks`** states whether the item blocks the close. *never acceptable*: it blocks until it is
  settled. *until accepted*: it blocks until it is settled, or until two people agree to carry it.
  *never*: it does not block, but is listed and carried. An agreement lapses when the amount or the
  state of the item changes, when the agreed day has passed, or after two closes.
- **Carrying an item** to the next month takes two people. One proposes it with `treasury items
  carry ITEM --owner NAME --by DATE --reason WHY` (`t.items.carry`). Another runs `treasury items
  accept ITEM` (`t.items.accept`). `treasury items list` shows accepted, waiting and lapsed
  proposals. In a one-person company the agreement is marked as signed alone.
- **Materiality.** For each currency, `policy.toml` may set an amount up to which an item is listed
  but does not block, and a limit for the sum of such items. The limits take effect once two people
  agree (`treasury items limits`). Statements, payments made twice and unknown outcomes block at any
  amount.
- **Not known.** If the services were never read, if no statement is stored, or if the requested
  time is before the first sync, the result is *not known*, with the next step. In that case an
  empty list does not mean that everything is settled.

## Payment files and hashes

A request is IN FILE if a downloaded payment file contains its payment. Its Copy button is hidden,
and it cannot be added to another file. This ends when a statement shows the debit, when the bank
finally rejects the payment, or when a person other than the author of the file runs `treasury
request not-uploaded NAME --reason …` (`t.funding.not_uploaded`). The item is marked if the
statements already cover the expected day of the debit.

A request is HASH PROPOSED from the time when somebody proposes a transaction hash in this
workspace, until the service's record has the hash. The coins were sent, but the hash still has to
be approved and submitted.

## Owners, remarks and files

```console
$ treasury items assign PAY-2026-005001 step:statements --owner ines
$ treasury items remark PAY-2026-005001 "asked the provider, ticket 77"
$ treasury items attach PAY-2026-005001 answer.pdf
$ treasury items files                                # numbers, sizes, hashes
$ treasury items save 57 copy.pdf
```

The practice company has no owner of an item and no proposed action yet. Two lines of Python add
them:

```python
t.items.assign("PAY-2026-005358", "PAY-2026-005340", owner="ines")
t.actions.propose("ramp_request.approve", request_id="PAY-2026-005416")
```

Then `t.open_items().select(owner="ines")` lists two items, and `t.actions.list()` one action.

Owners, remarks and files belong to an open item of any kind, to an account (`account:` and its
number or name), or
to a step of a month's checklist (`step:` and its title). In Python they are `t.items.assign`,
`remark`, `attach`, `files` and `file_content`. None of them is evidence or changes an item, with
one exception: a remark that explains an unknown field settles that item.

- **Owner.** The owner appears in every list and report, and `--owner` (`select(owner="ines")`)
  filters by it. The items about an account's statements, balance and ledger have the account's
  owner, unless they have their own. The owner of a step stays for later months. In a proposal to
  carry an item, the owner is part of what two people agree on; to change it, propose it again.
- **Remarks.** *Remark* and *Answer* in the close panel do the same. `--answers N` answers a
  colleague's remark. The last three appear with the item; `treasury items remarks` lists all.
- **Files** are pdf, png, jpg, eml, msg, txt, csv or xlsx, with at most 10 MB. The content must
  fit the ending of the name. The bytes are stored in the journal's database and given back as
  they came; they are never opened or rendered. So every desk with the journal has them, and a copy
  of `journal.sqlite`, or a dump of the PostgreSQL database, is their backup.
- **In the pack.** The pack of the month's close has the bytes in `attachments/`, and lists each
  file with its hash. A file attached after the close is *late*: the closed month stays as it is,
  and the pack of the next close contains the file.
- **Removal.** For a wrong file or a person's right to erasure, one person runs `treasury items
  remove-file N --reason WHY` and another `treasury items accept-removal N` (`propose_removal`,
  `accept_removal`). Until then it is an open item. The bytes are deleted wherever they are
  attached, and overwritten in `journal.sqlite`. The hash, the reason and both names stay. Packs and
  copies made before still contain the bytes; in PostgreSQL, run `VACUUM`, and consider the
  server's archive.

## Deciding in a sheet

`treasury exceptions --sheet FILE` (`t.exceptions_sheet`, *Download sheet* in the close panel)
writes the open items as a workbook with instructions. Each item is a row with its facts, its
candidates, a list of choices, and cells for the reason and the person who proposes the choice.
`treasury decide FILE` (`t.decide`, *Decide from a sheet…*) reads the completed sheet. It first
shows the effect of each row, in items and in amounts. It also shows refused rows with the reason:
facts or remarks have changed in the meantime, the choice is not offered, the reason is missing, or
the person lacks the permission. After you confirm, the journal records either all shown decisions
or none. Applying a sheet a second time has no effect. The author of the decisions is the person who
applies the sheet; the name under "proposed by" is stored as well. [With your bank and your
colleagues](colleagues.md) shows an example.

## Kinds

The kinds are grouped by the party that has to act, in the order of the list. `--kind`
accepts the name.
"""


def items_page() -> str:
    """Return the page about open items, with the table of their kinds."""
    rows = [
        f"| {TURNS[turn]} | {kind.label} | `{code}` | {kind.blocks} | {kind.next_step} |"
        for turn in TURNS
        for code, kind in zip(KIND_WORDS, KINDS.values(), strict=True)
        if kind.turn == turn
    ]
    head = "| turn | kind | name | blocks | next step |\n|---|---|---|---|---|"
    return "\n".join((ITEMS_HEAD, head, *rows, ""))


SERVICES_MARK: Final = "<!-- Generated from here on by `make docs`. -->\n"
OPERATIONS_HEAD = """
## Operations

- *Authority*: the documented requirement of deployed services. A 403 message names this
  authority; the toolkit does not decide anything by it.
- *Identified by*: values that the answer shares with its request; an answer with another value
  belongs to another request. If the two names differ, the answer's is on the left, and `{…}` is an
  id of the path.
- *Refusals*: the statuses with which the service itself may refuse a write.
- *404*: meanings other than that a record named in the path is missing.
"""
ABSENCES: Final = {
    "dropped": "later generations lack the operation",
    "optional": "some services lack the operation",
    "named": "a record that the body names is missing",
}
FIELDS_HEAD = """
## Fields

Every field that the client reads; an unknown field is kept in `raw`. A field without a type is
text, an identifier or JSON. [Tables](tables.md) explains the columns made from them.
"""
VALUES_HEAD = """
## Known values

The values of the practice services: from the specifications, and from the documentation of deployed
services. Any other value is kept, and an unknown status counts as not final.
The column *record* has the names from the sandbox's OpenAPI documents. If it is empty, the field
has these values in every record.
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
    """Yield the operations of each service, in the order of their declarations."""
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
    """Return an entry of the column `identity`, shortened if both sides have the same name."""
    shown, _, sent = entry.partition("=")
    text = shown if sent in (shown, f"{{{shown}}}") else entry
    return f"`{text}`".replace("|", "\\|")


def _records(title: str, module: ModuleType) -> Iterator[str]:
    """Yield the records of a service, each with its fields."""
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
    """Yield the types in an annotation except text and identifiers."""
    if annotation in FIELD_TYPES:
        yield FIELD_TYPES[annotation]
    elif isinstance(annotation, type) and issubclass(annotation, Model):
        is_private = annotation.__name__.startswith("_")
        yield "object" if is_private else annotation.__name__
    for part in get_args(annotation):
        yield from _kinds(part)


def _known_values() -> Iterator[str]:
    """Yield the known values of each field, with the records that share them in one row."""
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
    """Return the page about matching with the declared tiers."""
    before, after = (DOCS / "matching.md").read_text("utf-8").split(TIERS_HEAD)
    rest = after.partition("\n\n")[2]
    rows = "".join(f"| {tier.rank} | {tier.words} | {tier.proves} |\n" for tier in TIERS)
    return f"{before}{TIERS_HEAD}{rows}\n{rest}"


def known_columns() -> str:
    """Return `table.column type` for all columns, also of earlier versions, one a line."""
    declared = {
        f"{table.name}.{column.name} {TYPE_WORDS[column.type]}"
        for group in dictionary.GROUPS
        for table in group.tables
        for column in table.columns
    }
    return "\n".join(sorted({*COLUMNS.read_text("utf-8").splitlines(), *declared})) + "\n"


BANKS_HEAD = "\n## CSV\n\n"


def statement_rules_page() -> str:
    """Return the page about statements with the list of banks whose exports are recognised."""
    before, after = (DOCS / "statement-rules.md").read_text("utf-8").split(BANKS_HEAD)
    rest = after.partition("\n\n")[2]
    profiles = sorted(built_in_profiles(), key=lambda profile: profile.title.casefold())
    titles = dict.fromkeys(profile.title for profile in profiles if not profile.shape)
    bare = dict.fromkeys(profile.title for profile in profiles if profile.shape)
    text = (
        f"These exports are recognised without a profile of your own: {', '.join(titles)} and,"
        f" without a header row, {', '.join(bare)}."
    )
    return f"{before}{BANKS_HEAD}{textwrap.fill(text, 118)}\n\n{rest}"


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": reference,
    "tables.md": dictionary.page,
    "open-items.md": items_page,
    "services.md": services_page,
    "matching.md": matching_page,
    "statement-rules.md": statement_rules_page,
    "../tests/lake/columns.txt": known_columns,
}


def main() -> int:
    """Write the pages, or compare them with `--check`."""
    old = 0
    for name, make in PAGES.items():
        path = DOCS / name
        if "--check" not in sys.argv:
            path.write_text(make(), "utf-8")
        elif not path.exists() or path.read_text("utf-8") != make():
            page = path.resolve().relative_to(DOCS.parent)
            print(f"{page} is out of date: run `make docs`", file=sys.stderr)  # noqa: T201
            old = 1
    return old


if __name__ == "__main__":
    sys.exit(main())
