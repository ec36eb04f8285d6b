"""Owners, remarks and attached files: the decisions of `t.items` that change no state.

An owner, a remark or a file belongs to an open item, an account, or a step of a month's checklist.
Each is journaled with its author. None of them proves a payment or lets a month be closed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow.compute as pc

from treasury.actions.policies.policy import Policy
from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError, JournalError
from treasury.core.nearest_names import Facade
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Actor, Draft, Journal
from treasury.journal.decision_log import Decided, decide, read_decided, require_present
from treasury.journal.journal_schema import ATTACHED, ERASED
from treasury.journal.period_history import closed_periods
from treasury.journal.person_names import same_person
from treasury.month.items.notes.attachments import REMOVAL, attachment_table
from treasury.month.items.notes.file_kinds import kind_of, read_file
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
_SHORTEST_HASH: Final = 8
"""Minimum number of characters to identify a file by its hash."""
_LISTED: Final = "`treasury items files` lists them with their numbers"

ListItems = Callable[[str | Month | None, Decided, Path | None, Path | None], OpenItems]
ListAccounts = Callable[[Month, Decided], Iterable[tuple[str, str]]]
Body = dict[str, Any] | None
"""The content of a journal entry about a subject, or None if the journal has the same already."""
Wording = Callable[[Decided], Callable[[NoteSubject], Body]]
"""Returns, from all decisions, the function that gives this content for a subject."""


class Noting(Facade):
    """Owners, remarks and attached files of open items, accounts and checklist steps.

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

    def attach(
        self,
        name: str,
        file: str | Path | bytes,
        *,
        file_name: str = "",
        month: str | Month | None = None,
        actor: Actor | None = None,
        dry_run: bool = False,
    ) -> Table:
        """Attach a file to an open item, an account or a checklist step.

        The bytes are stored in the journal's database, and the pack of the month's close contains
        them. A file attached after the close of its month is marked as late, and is in the pack of
        the next close. The same file may be attached to several items; its bytes are stored once.

        Parameters
        ----------
        name
            The item, by id, start of an id, or reference; `account:` and an account's number or
            name; or `step:` and a step of the checklist, such as `step:statements`.
        file
            The path of a pdf, png, jpg, eml, msg, txt, csv or xlsx file of at most 10 MB, or its
            bytes.
        file_name
            The file's name, for bytes; default: the last part of the path.
        month
            The month; default: the last one that ended.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        Table
            The files of this item, account or step; columns as in ATTACHMENTS.

        Raises
        ------
        InputError
            If the name matches nothing, the file cannot be read, is too large or of another kind,
            or its content does not fit the ending of its name.

        Examples
        --------
        >>> t.items.attach("PAY-1042", "confirmation.pdf")
        >>> t.items.attach("step:statements", letter, file_name="letter.eml", month="2026-10")
        """
        content = file if isinstance(file, bytes) else read_file(Path(file))
        called = file_name or ("" if isinstance(file, bytes) else Path(file).name)
        facts = {
            "file_name": called,
            "kind": kind_of(called, content),
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }

        def attached(decided: Decided) -> Callable[[NoteSubject], Body]:
            known = [
                (row["item_id"], {field: row[field] for field in facts})
                for row in attachment_table(decided.entries).to_pylist()
                if row["state"] != "removed"
            ]
            return lambda subject: None if (subject.id, facts) in known else facts

        who = actor or self._journal.who()
        decided, _, (subject,) = self._journaled(
            ATTACHED, (name,), attached, who, month, after_close=True, content=content,
            dry_run=dry_run,
        )  # fmt: skip
        return self._files(decided, pc.equal(pc.field("item_id"), subject))

    def files(self, name: str = "", month: str | Month | None = None) -> Table:
        """Return the attached files, oldest first; columns as in ATTACHMENTS.

        Parameters
        ----------
        name
            The id of an item, account or step, as in the column `item_id`, or its beginning;
            default: all.
        month
            The month in which the files were attached; default: all.

        Returns
        -------
        Table
            One row per file and subject, with its size in bytes, its SHA-256 and its state.

        Examples
        --------
        >>> t.items.files(month="2026-10").where(state="stored")
        """
        condition = pc.starts_with(pc.field("item_id"), name.strip())
        if month is not None:
            condition &= pc.field("month") == str(month)
        return self._files(read_decided(self._journal, until=self._until), condition)

    def file_content(self, file: int | str) -> bytes:
        """Return the bytes of an attached file, to be saved; never open or render them here.

        Parameters
        ----------
        file
            The number of the attachment (`seq` in `files`), or its SHA-256, or its beginning.

        Returns
        -------
        bytes
            The content as it was attached.

        Raises
        ------
        InputError
            If no file or more than one matches.
        ActionRefused
            If two people removed the bytes.
        JournalError
            If the stored bytes were changed or are missing.

        Examples
        --------
        >>> Path("confirmation.pdf").write_bytes(t.items.file_content(57))
        """
        decided = read_decided(self._journal, until=self._until)
        row = _found(decided, file)
        content = self._journal.file_content(row["sha256"])
        if content is not None and row["state"] != "removed":
            return content
        now = _found(read_decided(self._journal), row["seq"])
        if now["state"] == "removed":
            raise ActionRefused(
                f"the bytes of {clean(row['file_name'])} were removed: proposed by"
                f" {clean(now['removal_proposed_by'])} ({clean(now['removal_reason'])}), accepted"
                f" by {clean(now['removed_by'])}",
                do="ask the sender for the file, if you may still have it",
            )
        raise JournalError(
            f"the file {row['sha256'][:12]} is not in the journal",
            do="run `treasury journal verify`, and restore the journal from a copy",
        )

    def propose_removal(
        self, file: int | str, reason: str, *, actor: Actor | None = None, dry_run: bool = False
    ) -> Table:
        """Propose to remove the bytes of an attached file, wherever they are attached.

        Possible reasons are a wrong file, or a person's right to erasure. A second person has to
        accept the proposal. The entries of the attachment stay, with the hash. Packs, and copies of
        the journal that were made before, still contain the bytes.

        Parameters
        ----------
        file
            The number of the attachment (`seq` in `files`), or its SHA-256, or its beginning.
        reason
            Why the bytes must go; it is journaled.
        actor
            The deciding person; default: the person at the login.
        dry_run
            Check the decision and write nothing.

        Returns
        -------
        Table
            The attachments of these bytes; columns as in ATTACHMENTS.

        Raises
        ------
        InputError
            If no file or more than one matches, or the reason is missing.
        ActionRefused
            If the bytes are removed already.

        Examples
        --------
        >>> t.items.propose_removal(57, "the letter of another customer")
        """
        require_line(reason, "a reason", "reason")

        body = {"reason": reason.strip()}
        return self._remove(REMOVAL, file, lambda _: body, actor, dry_run=dry_run)

    def accept_removal(
        self, file: int | str, *, actor: Actor | None = None, dry_run: bool = False
    ) -> Table:
        """Accept a colleague's proposal, and remove the bytes of an attached file.

        `file` and the result are as in `propose_removal`. Raise ActionRefused if no person proposed
        it, the bytes are removed already, or the proposer may not accept it.

        >>> t.items.accept_removal(57)
        """
        who = actor or self._journal.who()

        def accepted(row: dict[str, Any]) -> Body:
            if row["state"] != "removal_proposed":
                raise ActionRefused(
                    f"no person proposed to remove {clean(row['file_name'])}",
                    do=f"propose it: treasury items remove-file {row['seq']} --reason …",
                )
            alone = same_person(row["removal_proposed_by"], who.name)
            if alone and not self._policy().one_person:
                raise ActionRefused(
                    f"{who.name} proposed to remove {clean(row['file_name'])} and cannot accept it",
                    do="have a colleague accept it",
                )
            return {"alone": alone}

        return self._remove(ERASED, file, accepted, who, dry_run=dry_run)

    def _remove(
        self,
        kind: str,
        file: int | str,
        wording: Callable[[dict[str, Any]], Body],
        actor: Actor | None,
        *,
        dry_run: bool,
    ) -> Table:
        who = actor or self._journal.who()
        self._policy().check_identity(who)
        require_present(self._until)

        def build(decided: Decided) -> tuple[list[Draft], tuple[Decided, str]]:
            row = _found(decided, file)
            if row["state"] == "removed":
                raise ActionRefused(
                    f"the bytes of {clean(row['file_name'])} are removed already", do=_LISTED
                )
            sha256 = row["sha256"]
            erases = sha256 if kind == ERASED else ""
            draft = Draft(kind, sha256, wording(row), who, erases=erases)
            return [draft], (decided, sha256)

        added, (decided, sha256) = decide(self._journal, build, dry_run=dry_run)
        return self._files(decided.after(added), pc.field("sha256") == sha256)

    def _files(self, decided: Decided, condition: pc.Expression) -> Table:
        return Table(attachment_table(decided.entries).filter(condition), zone=self._zone)

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


def _found(decided: Decided, file: int | str) -> dict[str, Any]:
    """Return the attachment with this number, or the latest one with this SHA-256 or its beginning.

    Raise InputError if no file or more than one matches.
    """
    rows = attachment_table(decided.entries).to_pylist()
    name = str(file).strip()
    matches = [row for row in rows if str(row["seq"]) == name] or [
        row for row in rows if len(name) >= _SHORTEST_HASH and row["sha256"].startswith(name)
    ]
    hashes = {row["sha256"] for row in matches}
    if len(hashes) != 1:
        raise InputError(
            f"{len(hashes) or 'no'} attached files match {clean(name)[:80]!r}", do=_LISTED
        )
    return matches[-1]
