"""Owners and remarks: the decisions of `t.items` that change no state.

An owner or a remark belongs to an open item, an account, or a step of a month's checklist.
Each is journaled with its author. None of them proves a payment or lets a month be closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

from treasury.actions.policies.policy import Policy
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError
from treasury.core.nearest_names import Facade
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Actor, Draft, Journal
from treasury.journal.decision_log import Decided, decide, read_decided, require_present
from treasury.journal.period_history import closed_periods
from treasury.month.items.notes.item_owners import ASSIGNED, owner_table, owners_of
from treasury.month.items.notes.item_remarks import REMARKED, item_remarks
from treasury.month.items.notes.note_subjects import (
    ACCOUNT,
    STEP,
    NoteSubject,
    explanation,
    named_account,
    named_step,
)
from treasury.month.items.open_items import OpenItems

_LONGEST_REMARK: Final = 500
_LONGEST_OWNER: Final = 80

ListItems = Callable[[str | Month | None, Decided, Path | None, Path | None], OpenItems]
ListAccounts = Callable[[Month, Decided], Iterable[tuple[str, str]]]
Body = dict[str, Any] | None
"""The content of a journal entry about a subject, or None if the journal has the same already."""
Wording = Callable[[Decided], Callable[[NoteSubject], Body]]
"""Returns, from all decisions, the function that gives this content for a subject."""


class Noting(Facade):
    """Owners and remarks of open items, accounts and checklist steps.

    A name is an item's id, its beginning or a reference in its name; `account:` and an account's
    number or name; or `step:` and the title of a step of the checklist. `list_items` returns the
    open items of a month that result from a set of decisions, `list_accounts` the number and name
    of each account.
    """

    def __init__(
        self,
        journal: Journal,
        list_items: ListItems,
        list_accounts: ListAccounts,
        policy: Callable[[], Policy],
        today: Callable[[], date],
        *,
        until: datetime | None = None,
        zone: ZoneInfo | None = None,
    ) -> None:
        self._zone = zone
        self._journal = journal
        self._list_items = list_items
        self._list_accounts = list_accounts
        self._policy = policy
        self._today = today
        self._until = until

    def assign(
        self,
        *names: str,
        owner: str,
        month: str | Month | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> OpenItems:
        """Name the person who follows up items, accounts or checklist steps.

        The owner of a step applies to later months too, until another one is named.

        Parameters
        ----------
        names
            The items, by id, start of an id, or reference; `account:` and an account; `step:` and
            a step of the checklist.
        owner
            The person or team.
        month
            The month; default: the last one that ended.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        OpenItems
            The named items with their owner; no items for accounts and steps.

        Raises
        ------
        InputError
            If a name matches nothing or several things, or the owner is missing or too long.
        ActionRefused
            If a person proposed to carry the item with another owner, or the month is closed.

        Examples
        --------
        >>> t.items.assign("PAY-1042", "step:statements", owner="ines")
        """
        if not owner.strip() or not owner.isprintable() or len(owner) > _LONGEST_OWNER:
            raise InputError(
                f"an owner is a name of at most {_LONGEST_OWNER} characters, on one line",
                do="give the owner",
            )

        def assigned(decided: Decided) -> Callable[[NoteSubject], Body]:
            named = owners_of(owner_table(decided.entries))

            def body(subject: NoteSubject) -> Body:
                item = subject.item
                if item is not None and item.proposed_by and item.owner != owner.strip():
                    raise ActionRefused(
                        f"{item.proposed_by} proposed to carry {subject.id} with the owner"
                        f" {clean(item.owner)}",
                        do=f"propose it with the new owner: treasury items carry {subject.id}"
                        " --owner … --by … --reason …",
                    )
                return None if named.get(subject.id) == owner.strip() else {"owner": owner.strip()}

            return body

        who = actor or self._journal.who()
        return self._decide(ASSIGNED, names, assigned, who, month, dry_run=dry_run)

    def owners(self) -> Table:
        """Return the items, accounts and steps with an assigned owner; columns as in ITEM_OWNERS.

        >>> t.items.owners()
        """
        decided = read_decided(self._journal, until=self._until)
        return Table(owner_table(decided.entries), zone=self._zone)

    def remark(
        self,
        name: str,
        text: str,
        *,
        answers: int | None = None,
        month: str | Month | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> OpenItems:
        """Add a remark to an open item, an account or a checklist step; its state stays the same.

        `name` is as in `assign`, `text` is one line. `answers` is the journal place of the remark
        that this one answers, as in `remarks`. Raise InputError if the name matches nothing or the
        text is empty, too long or not one line, and ActionRefused if there is no remark at
        `answers`.

        >>> t.items.remark("PAY-1042", "called the bank, answer expected on Monday")
        """
        if not text.strip() or not text.isprintable() or len(text) > _LONGEST_REMARK:
            raise InputError(
                f"a remark is one line of at most {_LONGEST_REMARK} characters", do="shorten it"
            )

        def remarked(decided: Decided) -> Callable[[NoteSubject], Body]:
            remarks = item_remarks(decided.entries).to_pylist()

            def body(subject: NoteSubject) -> Body:
                places = [row["seq"] for row in remarks if row["item_id"] == subject.id]
                if answers is not None and answers not in places:
                    raise ActionRefused(
                        f"{subject.id} has no remark {answers}",
                        do="`treasury items remarks` lists them with their places",
                    )
                return {"remark": text.strip(), "answers": answers}

            return body

        who = actor or self._journal.who()
        return self._decide(REMARKED, (name,), remarked, who, month, dry_run=dry_run)

    def explain(
        self,
        account: str,
        text: str,
        *,
        month: str | Month,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> None:
        """Explain the changes of an account's figures in a month, compared with the months before.

        The explanation is a remark on the account; the report of the month shows it beside the
        changes, and the last one counts.

        Parameters
        ----------
        account
            `account:` and the account's number or name; the prefix may be omitted.
        text
            The explanation, on one line.
        month
            The month, which is not closed.
        actor
            The person; default: the one at the login.
        dry_run
            Check the explanation and write nothing.

        Raises
        ------
        InputError
            If no account or several match, or the text is empty, too long or not one line.
        ActionRefused
            If the month is closed.

        Examples
        --------
        >>> t.items.explain("account:…7034", "salaries were paid earlier", month="2026-10")
        """
        of = month if isinstance(month, Month) else Month.parse(month)
        decided = read_decided(self._journal, until=self._until)
        if str(of) in closed_periods(decided.entries):
            raise ActionRefused(
                f"{of} is closed, with the explanations given before",
                do="explain the change in the remarks of the next month",
            )
        require_line(text, "an explanation", "explanation")
        name = account if _is_account(account) else f"{ACCOUNT}{account.strip()}"
        self.remark(name, explanation(text, of), month=of, actor=actor, dry_run=dry_run)

    def remarks(self) -> Table:
        """Return the remarks on all items, the latest first; columns as in ITEM_REMARKS.

        >>> t.items.remarks()
        """
        decided = read_decided(self._journal, until=self._until)
        table = item_remarks(decided.entries).sort_by([("seq", "descending")])
        return Table(table, zone=self._zone)

    def _decide(
        self,
        kind: str,
        names: Sequence[str],
        wording: Wording,
        who: Actor,
        month: str | Month | None,
        *,
        files: tuple[Path | None, Path | None] = (None, None),
        dry_run: bool,
    ) -> OpenItems:
        """Journal a decision about the named subjects; return the items as they are afterwards."""
        _, items, ids = self._journaled(
            kind, names, wording, who, month, files=files, dry_run=dry_run
        )
        return items.where(lambda item: item.item_id in ids)

    def _journaled(
        self,
        kind: str,
        names: Sequence[str],
        wording: Wording,
        who: Actor,
        month: str | Month | None,
        *,
        files: tuple[Path | None, Path | None] = (None, None),
        after_close: bool = False,
        content: bytes | None = None,
        dry_run: bool,
    ) -> tuple[Decided, OpenItems, tuple[str, ...]]:
        """Journal a decision; return the decisions and items afterwards, and the subjects' ids.

        With `after_close` the month may be closed. `content` is the file that is attached.
        """
        self._policy().check_identity(who)
        require_present(self._until)

        def build(decided: Decided) -> tuple[list[Draft], tuple[OpenItems, Decided, set[str]]]:
            items = self._list_items(month, decided, *files)
            is_closed = str(items.month) in closed_periods(decided.entries)
            if is_closed and not after_close and not all(map(_is_account, names)):
                raise ActionRefused(
                    f"{items.month} is closed, with the items that were carried then",
                    do="carry the items that are still open in the next month: --month "
                    f"{items.month.next}",
                )
            if not names:
                raise InputError(
                    "no item is named",
                    do=f"`treasury exceptions --month {items.month} --blocking` lists them",
                )
            subjects = (self._subject(name, items, decided) for name in names)
            chosen = {subject.id: subject for subject in subjects}
            body_of = wording(decided)
            bodies = {of: body_of(subject) for of, subject in chosen.items()}
            if content is not None:
                bodies = {
                    of: None if body is None else body | {"month": str(items.month)}
                    for of, body in bodies.items()
                }
            drafts = [
                Draft(kind, of, body, who, content=content)
                for of, body in bodies.items()
                if body is not None
            ]
            return drafts, (items, decided, set(bodies))

        if dry_run:
            _, (items, decided, ids) = build(read_decided(self._journal))
        else:
            added, (items, decided, ids) = decide(self._journal, build)
            if added:
                decided = decided.after(added)
                if content is None:
                    items = self._list_items(items.month, decided, *files)
        return decided, items, tuple(ids)

    def _subject(self, name: str, items: OpenItems, decided: Decided) -> NoteSubject:
        searched = name.strip()
        if _is_account(searched):
            return NoteSubject(named_account(searched, self._list_accounts(items.month, decided)))
        if searched.startswith(STEP):
            return NoteSubject(named_step(searched, items.month))
        item = items.find(name)
        return NoteSubject(item.item_id, item)


def require_line(text: str, wording: str, name: str) -> None:
    """Raise InputError if a text is empty or not on one line."""
    if not text.strip() or not text.isprintable():
        raise InputError(f"this decision needs {wording}, on one line", do=f"give the {name}")


def _is_account(name: str) -> bool:
    return name.strip().startswith(ACCOUNT)
