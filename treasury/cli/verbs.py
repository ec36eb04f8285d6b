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

__all__ = ["ARROW_ALONE", "EXTRAS", "VERBS", "Verb", "Verbs"]


class Verb(msgspec.Struct, frozen=True):
    """The module of a verb, its name there, and its line in the list of verbs."""

    module: str
    attribute: str
    about: str


VERBS: Final = {
    "init": Verb(
        "init",
        "init",
        "Begin a workspace: say whose it is, what it is connected to, which accounts it has.",
    ),
    "demo": Verb(
        "practice", "demo", "Run the whole job on the practice company and show the first screen."
    ),
    "practice": Verb(
        "practice",
        "practice",
        "Run COMMAND beside a running sandbox, in a synced practice workspace.",
    ),
    "notebook": Verb(
        "notebook",
        "notebook",
        "Open the notebook NAME in JupyterLab: operations, monthly_reconciliation and others.",
    ),
    "sandbox": Verb(
        "practice", "sandbox", "Serve both services for practice on loopback, until interrupted."
    ),
    "sync": Verb("sync", "sync", "Pull what both services know into the lake."),
    "statements": Verb("statements", "statements", "Read bank statements and say what they prove."),
    "wallets": Verb(
        "wallets",
        "wallets",
        "Prove company wallets, which no service shows, by explorer exports and stated balances.",
    ),
    "reconcile": Verb(
        "desk",
        "reconcile",
        "Reconcile a month: every bank line with its one outcome and the reason.",
    ),
    "exceptions": Verb(
        "desk",
        "exceptions",
        "List everything that is open in a month: each item once, whose move it is, what to do.",
    ),
    "awaiting-funds": Verb(
        "desk",
        "awaiting_funds",
        "List requests that wait for their funds, and what to do about each.",
    ),
    "trace": Verb(
        "desk",
        "trace",
        "Follow one payment from end to end: each hop with its evidence, or what is missing.",
    ),
    "fees": Verb(
        "desk", "fees", "Report the fees of the requests completed in a month or several."
    ),
    "export": Verb(
        "export", "export", "Write a month as double entry: journal.csv and month.beancount."
    ),
    "match": Verb(
        "decide",
        "match",
        "Decide what a bank line belongs to: accept, reject, ignore, assign, undo.",
    ),
    "request": Verb(
        "decide",
        "request",
        "Remark on a ramp request, by its reference or id; a remark proves nothing.",
    ),
    "rules": Verb(
        "decide", "rules", "Change the rules of matching and ageing, after seeing what that moves."
    ),
    "items": Verb("items", "items", "Carry open items past a close: propose, accept, withdraw."),
    "periods": Verb(
        "decide",
        "periods",
        "Closed months: list, verify, reopen them; `treasury close` closes one.",
    ),
    "compare": Verb(
        "decide", "compare", "Show what moved between two answers for a month, and why."
    ),
    "close": Verb(
        "close",
        "close",
        "Prepare a month to be closed, or sign what a colleague prepared, and write its pack.",
    ),
    "verify": Verb(
        "close",
        "verify",
        "Check every file of PACK and compute it again; exits 1 naming what differs.",
    ),
    "status": Verb("desk", "status", "Show the first screen: what is proved, what is open."),
    "sql": Verb("desk", "sql", "Run QUERY, one SELECT, over the tables of the lake."),
    "tables": Verb(
        "lake", "tables", "List the tables, or every column of table NAME: meaning, unit, source."
    ),
    "changes": Verb(
        "lake", "changes", "List what changed in TABLE, from what to what: a row for each field."
    ),
    "durations": Verb(
        "lake",
        "durations",
        "List how long each record of TABLE was in each status, and how that is known.",
    ),
    "doctor": Verb(
        "lake",
        "doctor",
        "Say what is there, what is missing or damaged, and the next step of each.",
    ),
    "lake": Verb("lake", "lake", "Look at the stored tables and keep them in shape."),
    "actions": Verb(
        "actions", "actions", "Propose, approve and execute what changes something at the services."
    ),
    "journal": Verb("journal", "journal", "Look at what people decided."),
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
            module = importlib.import_module(f"treasury.cli.{verb.module}")
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing not in EXTRAS:
                raise
            raise InputError(
                f"`treasury {name}` needs {missing}, which is not installed",
                do=f"install it: pip install 'treasury[{EXTRAS[missing]}]'",
            ) from error
        command: click.Command = getattr(module, verb.attribute)
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
