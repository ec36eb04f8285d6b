"""The verbs of the command line: where each is and what it says of itself in one line.

A verb is loaded when it is run or asked about, with what only it needs; listing them loads none.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, MutableMapping
from typing import Final

import click
import msgspec

from treasury.errors import InputError

__all__ = ["ARROW_ALONE", "EXTRAS", "VERBS", "VerbEntry", "Verbs"]


class VerbEntry(msgspec.Struct, frozen=True):
    """The module of a verb, and its line in the list of verbs."""

    module: str
    about: str


VERBS: Final = {
    "init": VerbEntry(
        "init",
        "Begin a workspace: say whose it is, what it is connected to, which accounts it has.",
    ),
    "demo": VerbEntry(
        "practice", "Run the whole job on the practice company and show the first screen."
    ),
    "practice": VerbEntry(
        "practice",
        "Run COMMAND beside a running sandbox, in a synced practice workspace.",
    ),
    "notebook": VerbEntry(
        "notebook",
        "Open the notebook NAME in JupyterLab: operations, monthly_reconciliation and others.",
    ),
    "sandbox": VerbEntry(
        "practice", "Serve both services for practice on loopback, until interrupted."
    ),
    "sync": VerbEntry("sync", "Pull what both services know into the lake."),
    "watch": VerbEntry(
        "sync", "Sync, read the inbox and send notices, again and again until stopped."
    ),
    "notify": VerbEntry("sync", "Tell the people and webhooks of the settings what is new, once."),
    "notices": VerbEntry(
        "sync",
        "Look at the notices that were sent, and settle those that may not have arrived.",
    ),
    "statements": VerbEntry("files.statements", "Read bank statements and say what they prove."),
    "wallets": VerbEntry(
        "files.wallets",
        "Prove company wallets, which no service shows, by explorer exports and stated balances.",
    ),
    "rates": VerbEntry(
        "files.rates",
        "Add reference rates, and list what is there: the ECB's, and the company's own.",
    ),
    "reconcile": VerbEntry(
        "desk",
        "Reconcile a month: every bank line with its one outcome and the reason.",
    ),
    "exceptions": VerbEntry(
        "desk",
        "List everything that is open in a month: each item once, whose move it is, what to do.",
    ),
    "decide": VerbEntry(
        "decide",
        "Take the decisions of a sheet that `treasury exceptions --sheet` wrote.",
    ),
    "awaiting-funds": VerbEntry(
        "desk",
        "List requests that wait for their funds, and what to do about each.",
    ),
    "trace": VerbEntry(
        "desk",
        "Follow one payment from end to end: each hop with its evidence, or what is missing.",
    ),
    "fees": VerbEntry("desk", "Report the fees of the requests completed in a month or several."),
    "coins": VerbEntry(
        "coins",
        "Coins at month end: what they are carried at or worth, and how they are measured.",
    ),
    "exposure": VerbEntry(
        "exposure",
        "Show all our money that stands with the provider, at a month's end or now.",
    ),
    "exposure-limits": VerbEntry(
        "exposure", "Show how much may stand with the provider; two people change it."
    ),
    "export": VerbEntry(
        "export", "Write a month as double entry: journal.csv and month.beancount."
    ),
    "match": VerbEntry(
        "decide",
        "Decide what a bank line belongs to: accept, reject, ignore, assign, undo.",
    ),
    "request": VerbEntry(
        "decide",
        "Remark on a ramp request, by its reference or id; a remark proves nothing.",
    ),
    "rules": VerbEntry(
        "decide", "Change the rules of matching and ageing, after seeing what that moves."
    ),
    "items": VerbEntry(
        "items",
        "Open items: remark on them; carry them past a close: propose, accept, withdraw.",
    ),
    "periods": VerbEntry(
        "decide",
        "Closed months: list, verify, reopen them; `treasury close` closes one.",
    ),
    "compare": VerbEntry("decide", "Show what moved between two answers for a month, and why."),
    "close": VerbEntry(
        "close",
        "Prepare a month to be closed, or sign what a colleague prepared, and write its pack.",
    ),
    "verify": VerbEntry(
        "close",
        "Check every file of PACK and compute it again; exits 1 naming what differs.",
    ),
    "status": VerbEntry("desk", "Show the first screen: what is proved, what is open."),
    "sql": VerbEntry("desk", "Run QUERY, one SELECT, over the tables of the lake."),
    "tables": VerbEntry(
        "lake", "List the tables, or every column of table NAME: meaning, unit, source."
    ),
    "changes": VerbEntry(
        "lake", "List what changed in TABLE, from what to what: a row for each field."
    ),
    "durations": VerbEntry(
        "lake",
        "List how long each record of TABLE was in each status, and how that is known.",
    ),
    "doctor": VerbEntry(
        "lake",
        "Say what is there, what is missing or damaged, and the next step of each.",
    ),
    "lake": VerbEntry("lake", "Look at the stored tables and keep them in shape."),
    "actions": VerbEntry(
        "actions", "Propose, approve and execute what changes something at the services."
    ),
    "journal": VerbEntry("journal", "Look at what people decided."),
}

ARROW_ALONE: Final = frozenset({"awaiting-funds", "exceptions", "fees", "reconcile", "status"})
"""The verbs that only look: they do without numpy, which Arrow loads where it is to be had."""

EXTRAS: Final = {
    "keyring": "keyring",
    "psycopg": "postgresql",
    "lxml": "sandbox",
    "starlette": "sandbox",
    "uvicorn": "sandbox",
    "sqlglot": "spark",
    "jupyterlab": "notebooks",
    "nbclient": "notebooks",
    "papermill": "notebooks",
}
"""The extra of the package that brings what may be missing."""


class Verbs(MutableMapping[str, click.Command]):
    """The commands by name, each loaded when it is asked for."""

    def __init__(self) -> None:
        self._added: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name in self._added:
            return self._added[name]
        verb = VERBS[name]
        try:
            module = importlib.import_module(f"treasury.cli.commands.{verb.module}")
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in EXTRAS:
                raise
            raise InputError(
                f"`treasury {name}` needs {missing}, which is not installed",
                do=f"install it: pip install 'treasury[{EXTRAS[missing]}]'",
            ) from error
        command: click.Command = getattr(module, name.replace("-", "_"))
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._added[name] = command

    def __delitem__(self, name: str) -> None:
        del self._added[name]

    def __iter__(self) -> Iterator[str]:
        yield from VERBS
        yield from self._added

    def __len__(self) -> int:
        return len(VERBS) + len(self._added)
