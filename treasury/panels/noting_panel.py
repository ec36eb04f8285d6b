"""Owners, remarks and attached files of open items, as the close panel offers them.

None of them changes the state of an item, so each is journaled by one press. A file is stored as
its bytes and given back as a download; the panel never opens or shows it.
"""

from __future__ import annotations

import base64
import binascii
from functools import partial
from typing import Any, Final

from treasury.core.errors import InputError
from treasury.core.text import clean
from treasury.month.items import OpenItems
from treasury.month.items.notes.file_kinds import FILE_KINDS
from treasury.panels.frames.background_work import Work
from treasury.panels.frames.blocks import Button, InputField, Message, Text
from treasury.panels.frames.panel import Press, Presses, status
from treasury.panels.frames.panel_text import instant
from treasury.panels.frames.traced_list import LookingPanel

_NOT_WRITTEN: Final = "Nothing was written."
_ENDINGS: Final = ",".join(f".{kind}" for kind in (*FILE_KINDS, "jpeg"))
_BYTES: Final = "application/octet-stream"


def uploaded(press: Press, *, do: str) -> tuple[str, bytes]:
    """Return the name and the content of the file that was sent with a press.

    Raise InputError if it is empty, incomplete or too large; `do` names another way.
    """
    name, coded = press.typed.get("file", ""), press.typed.get("content", "")
    if not coded:
        raise InputError(f"{clean(name)} is empty, or too large for a panel", do=do)
    try:
        return name, base64.b64decode(coded, validate=True)
    except binascii.Error:
        raise InputError(f"{clean(name)} arrived incomplete", do="choose it again") from None


class NotingPanel(LookingPanel):
    """A list of open items with owners, remarks and files; subclasses define `items`."""

    _choices: tuple[tuple[str, str], ...] = ()
    """The numbers and names of the files that the open form offers."""

    # Methods that subclasses define.

    @property
    def items(self) -> OpenItems | None:
        """The month's open items; None if they are unknown."""
        raise NotImplementedError

    @property
    def is_closed(self) -> bool:
        """Whether the month is closed."""
        raise NotImplementedError

    # Buttons and fields.

    def bar(self) -> tuple[Button, ...]:
        """Return the buttons for notes and the trace, or those of the form of files."""
        if self._form:
            return (Button("save_file", "Save file", "primary"), Button("leave", "Close form"))
        files = (Button("attach", "Attach file…", takes=_ENDINGS), Button("files", "Files…"))
        trace = Button("trace", "Trace")
        if self.items is None or self.is_closed:
            return (*files, trace) if self.items is not None else (trace,)
        return (
            Button("assign", "Assign owner"),
            Button("remark", "Remark"),
            Button("answer", "Answer"),
            *files,
            trace,
        )

    def fields(self) -> tuple[InputField, ...]:
        """Return the fields for an owner and a remark, or the list of files to save."""
        if self._form:
            return (InputField("file_number", "File", "Choose one", choices=self._choices),)
        if self.items is None or self.is_closed:
            return ()
        hint = "Seen by all; proves nothing"
        return (InputField("owner", "Owner", "A colleague"), InputField("remark", "Remark", hint))

    # Handlers of button presses.

    def presses(self) -> Presses:
        """Return the handlers for owners, remarks, files and the trace."""
        return super().presses() | {
            **{name: partial(self._remark, name) for name in ("remark", "answer")},
            "assign": self._assign,
            "attach": self._attach,
            "files": self._list_files,
            "save_file": self._save_file,
            "leave": lambda _: self.leave_form(),
        }

    def leave_form(self) -> None:
        """Close the form, if one is open."""
        if self._form:
            self._form = ""
            self.clear_fields()
            self.tell(None)

    def _one_row(self, verb: str) -> dict[str, Any]:
        (row, *more) = self.chosen_rows()
        if more:
            raise InputError("Several rows are chosen", do=f"{verb} one at a time")
        return row

    def _remark(self, name: str, press: Press) -> None:
        if self.items is None:
            return
        month, text = self.items.month, press.text("remark")
        if not text:
            raise InputError("remark: is missing", do="write one line")
        row = self._one_row("remark on")
        subject, answered = row["item_id"], None
        if name == "answer":
            threads = self._desk.items.remarks().arrow.to_pylist()
            answered = next((said for said in threads if said["item_id"] == subject), None)
            if answered is None:
                raise InputError("There is no remark to answer", do="press Remark")

        def task(work: Work) -> Message:
            work.pass_the_point("Writing the remark to the journal")
            self._desk.items.remark(
                subject, text, answers=answered and answered["seq"], month=month
            )
            to = f"Answered {clean(answered['remarked_by'])}" if answered else "Remarked"
            return self._finish_note(f"{to}, by", f"{clean(row['name'])}: {text}")

        self.start("Checking that it is still open", task, "Not remarked", _NOT_WRITTEN)

    def _assign(self, press: Press) -> None:
        if self.items is None:
            return
        month, owner = self.items.month, press.text("owner")
        if not owner:
            raise InputError("owner: is missing", do="give the name of a colleague or a team")
        rows = self.chosen_rows()

        def task(work: Work) -> Message:
            work.pass_the_point("Writing the owner to the journal")
            self._desk.items.assign(*(row["item_id"] for row in rows), owner=owner, month=month)
            names = ", ".join(clean(row["name"]) for row in rows)
            noun = "1 item" if len(rows) == 1 else f"{len(rows):,} items"
            return self._finish_note(f"{clean(owner)} owns {noun}, assigned by", names)

        self.start("Checking that they are still open", task, "Not assigned", _NOT_WRITTEN)

    def _attach(self, press: Press) -> None:
        if self.items is None:
            return
        month, row = self.items.month, self._one_row("attach a file to")
        do = "attach it in a shell: treasury items attach ITEM FILE"
        name, content = uploaded(press, do=do)

        def task(work: Work) -> Message:
            work.pass_the_point("Writing the file to the journal")
            self._desk.items.attach(row["item_id"], content, file_name=name, month=month)
            return self._finish_note("Attached by", f"{clean(name)} to {clean(row['name'])}")

        self.start("Checking the file", task, "Not attached", _NOT_WRITTEN)

    def _list_files(self, _: Press) -> None:
        row = self._one_row("list the files of")
        files = self._desk.items.files(row["item_id"]).arrow.to_pylist()
        if not files:
            raise InputError(f"{clean(row['name'])} has no attached file", do="attach one")
        self._choices = tuple(
            (
                str(file["seq"]),
                ", ".join(
                    (
                        clean(file["file_name"]),
                        f"by {clean(file['attached_by'])}",
                        instant(file["attached_at"]),
                        *(["late"] if file["late"] else []),
                        *(["bytes removed"] if file["state"] == "removed" else []),
                    )
                ),
            )
            for file in files
        )
        self._form = "files"
        self.clear_fields()
        self.tell(status(f"{len(files)} files of {clean(row['name'])}"))
        self.point_to("save_file")

    def _save_file(self, press: Press) -> None:
        number = press.text("file_number")
        files = self._desk.items.files().arrow.to_pylist()
        file = next((each for each in files if str(each["seq"]) == number), None)
        if file is None:
            raise InputError("file_number: is missing", do="choose a file")
        content = self._desk.items.file_content(file["seq"])
        self.hand_over(press, clean(file["file_name"]), _BYTES, content)
        self.tell(status(f"Saved {clean(file['file_name'])}", Text(file["sha256"], "code")))

    def _finish_note(self, title: str, line: str) -> Message:
        """Refresh the list after a note, and return its message."""
        with self.turn:
            self.clear_fields()
        who = clean(self._desk.journal.who().name)
        return self.finish(status(f"{title} {who}", Text(line)))
