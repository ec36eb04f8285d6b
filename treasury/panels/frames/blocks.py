"""The building blocks of every panel: a frame says what is on screen, the browser draws it.

A frame is plain data made anew for each change; the page compares it with what it shows and changes
only what differs, so focus and a half-typed word survive. Blocks stand in one order, and what
confirms is always below what proposed: Confirm never appears where Approve was.
"""

from __future__ import annotations

from typing import Literal

import msgspec

LineStyle = Literal["plain", "strong", "quiet", "code", "good", "warn"]
_Tone = Literal["go", "stop"]


class Text(msgspec.Struct, frozen=True):
    """One line of text; `copy` names what a Copy button beside it copies: this text, all of it."""

    text: str
    look: LineStyle = "plain"
    copy: str = ""


def cell(*lines: Text | None) -> tuple[Text, ...]:
    """The lines of a cell that there are."""
    return tuple(line for line in lines if line)


class Heading(msgspec.Struct, frozen=True):
    """A column's heading; amounts are aligned at the end, a wide one gets a line on a phone."""

    label: str
    end: bool = False
    wide: bool = False


class ListRow(msgspec.Struct, frozen=True):
    """A row: `label` is what a screen reader says of it, `key` comes back when it is chosen.

    The key is the list's to give. One that is settled has a tick in the place of its choice.
    """

    label: str
    cells: tuple[tuple[Text, ...], ...]
    key: str = ""
    may_choose: bool = True
    settled: bool = False


class TableBlock(msgspec.Struct, frozen=True):
    """One page of rows, of which one can be chosen, or several; `chosen` are their keys."""

    caption: str
    columns: tuple[Heading, ...]
    rows: tuple[ListRow, ...]
    chosen: tuple[str, ...] = ()
    several: bool = False


class Button(msgspec.Struct, frozen=True):
    """`name` comes back when it is pressed; `pressed` is the view that is shown, of several.

    One that `takes` files, named by their ending, has the person choose one, which comes with the
    press: `typed` has its name as `file` and its bytes, in base64, as `content`; of one that is too
    large it has the name alone.
    """

    name: str
    label: str
    look: Literal["plain", "primary", "danger"] = "plain"
    enabled: bool = True
    pressed: bool | None = None
    takes: str = ""


def confirm_buttons(
    label: str, style: Literal["primary", "danger"] = "primary"
) -> tuple[Button, ...]:
    """The buttons of a step: the way back, and the one that confirms."""
    return (Button("back", "Go back"), Button("confirm", label, style))


class InputField(msgspec.Struct, frozen=True):
    """A line to type in; its content comes with the next press. `error` stands beside it."""

    name: str
    label: str
    hint: str = ""
    error: str = ""


class Pager(msgspec.Struct, frozen=True):
    """Which rows of how many are shown, and whether there are more on either side."""

    text: str
    back: bool = False
    on: bool = False


class Detail(msgspec.Struct, frozen=True):
    """A name and what it stands for."""

    name: str
    lines: tuple[Text, ...]


def detail(name: str, *lines: Text) -> Detail:
    """A detail of these lines."""
    return Detail(name, lines)


class Letter(msgspec.Struct, frozen=True):
    """A text to send to somebody; its Copy button, which `copy` names, copies all its lines."""

    copy: str
    lines: tuple[str, ...]


class StepBlock(msgspec.Struct, frozen=True):
    """A step to confirm: `key` names this one asking, `text` is what is agreed to and journaled.

    `items` are the sentences of several that are confirmed together, each journaled as it stands.
    """

    key: str
    title: str
    text: str
    facts: tuple[Detail, ...]
    buttons: tuple[Button, ...]
    notes: tuple[Text, ...] = ()
    tone: _Tone = "go"
    items: tuple[str, ...] = ()
    letter: Letter | None = None


class ProgressBlock(msgspec.Struct, frozen=True):
    """Work under way; `total` is None where nobody knows how much there is."""

    label: str
    done: int = 0
    total: int | None = None
    may_cancel: bool = True


class Message(msgspec.Struct, frozen=True):
    """What came of the last press. An alert interrupts a screen reader, a status waits."""

    title: str
    lines: tuple[Text, ...] = ()
    role: Literal["status", "alert"] = "status"


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a panel shows. `focus` names what takes the focus if the panel has it.

    `banners` are what must be seen before anything is done, above the list and as long as they are
    so. `views` are lists that the panel has, of which one is shown. Where `form` is another number
    than before, the fields are made anew: what was typed was for something else.
    """

    title: str
    notes: tuple[Text, ...] = ()
    tools: tuple[Button, ...] = ()
    views: tuple[Button, ...] = ()
    banners: tuple[Message, ...] = ()
    search: InputField | None = None
    table: TableBlock | None = None
    empty: str = ""
    bar: tuple[Button, ...] = ()
    fields: tuple[InputField, ...] = ()
    form: int = 0
    pager: Pager | None = None
    step: StepBlock | None = None
    progress: ProgressBlock | None = None
    message: Message | None = None
    focus: str = ""
