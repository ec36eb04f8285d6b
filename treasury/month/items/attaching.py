"""Files that people attach to open items, accounts and checklist steps.

A file is journaled with its author and hash. Two people can remove its bytes; its entries stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc

from treasury.core.calendar import Month
from treasury.core.errors import ActionRefused, InputError, JournalError
from treasury.core.tables.table import Table
from treasury.core.text import clean
from treasury.journal import Actor, Draft
from treasury.journal.decision_log import Decided, decide, read_decided, require_present
from treasury.journal.journal_schema import ATTACHED, ERASED
from treasury.journal.person_names import same_person
from treasury.month.items.notes.attachments import REMOVAL, attachment_table
from treasury.month.items.notes.file_kinds import kind_of, read_file
from treasury.month.items.notes.note_subjects import NoteSubject
from treasury.month.items.noting import Body, Noting, require_line

_SHORTEST_HASH: Final = 8
"""Minimum number of characters to identify a file by its hash."""
_LISTED: Final = "`treasury items files` lists them with their numbers"


class Attaching(Noting):
    """Attached files of open items, accounts and checklist steps, also after the close."""

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
