"""The elements of a panel: a frame describes the whole screen, and the browser draws it.

A frame is plain data and is rebuilt for each change. The page updates only the elements that
differ, so the focus and half-typed text stay. The order of the blocks is fixed. A step to confirm
is always below the buttons that propose an action, so Confirm never appears in the place of
Approve.
"""

from __future__ import annotations

from typing import Literal

import msgspec

LineStyle = Literal["plain", "strong", "quiet", "code", "good", "warn"]
_Tone = Literal["go", "stop"]


class Text(msgspec.Struct, frozen=True):
    """One line of text; `copy` is the name of its Copy button, which copies the whole text."""

    text: str
    look: LineStyle = "plain"
    copy: str = ""


def cell(*lines: Text | None) -> tuple[Text, ...]:
    """Return the lines of a cell, without those that are None."""
    return tuple(line for line in lines if line)


class Heading(msgspec.Struct, frozen=True):
    """A column's heading. Amounts are aligned right; on a phone a wide column has its own line."""

    label: str
    end: bool = False
    wide: bool = False


class ListRow(msgspec.Struct, frozen=True):
    """A row: `label` is its text for screen readers, `key` is sent back when it is chosen.

    `ListPanel` sets the key. A settled row has a tick instead of a checkbox.
    """

    label: str
    cells: tuple[tuple[Text, ...], ...]
    key: str = ""
    may_choose: bool = True
    settled: bool = False


class TableBlock(msgspec.Struct, frozen=True):
    """One page of rows to choose one or several from; `chosen` holds their keys."""

    caption: str
    columns: tuple[Heading, ...]
    rows: tuple[ListRow, ...]
    chosen: tuple[str, ...] = ()
    several: bool = False


class Button(msgspec.Struct, frozen=True):
    """A button: `name` is sent when it is pressed; `pressed` marks the view that is shown.

    With `takes`, file name endings, the person chooses a file that is sent with the press: `typed`
    has its name as `file` and its bytes, in base64, as `content`. A file that is too large has only
    its name.
    """

    name: str
    label: str
    look: Literal["plain", "primary", "danger", "link"] = "plain"
    enabled: bool = True
    pressed: bool | None = None
    takes: str = ""


def confirm_buttons(
    label: str, style: Literal["primary", "danger"] = "primary"
) -> tuple[Button, ...]:
    """Return the buttons of a step: Go back, and the button that confirms."""
    return (Button("back", "Go back"), Button("confirm", label, style))


class InputField(msgspec.Struct, frozen=True):
    """A field for text or a choice; its content is sent with the next press.

    `choices` are pairs of a value and its words; a field without choices takes text. `error` is
    shown next to the field. `value` is its content when it is first drawn.
    """

    name: str
    label: str
    hint: str = ""
    error: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    value: str = ""


class Pager(msgspec.Struct, frozen=True):
    """The shown range of rows, and whether there are pages before and after.

    `all` is the label of the button that chooses every row of the range's list, empty without one.
    """

    text: str
    back: bool = False
    on: bool = False
    all: str = ""


class Detail(msgspec.Struct, frozen=True):
    """A name and its values."""

    name: str
    lines: tuple[Text, ...]


def detail(name: str, *lines: Text) -> Detail:
    """Build a detail from these lines."""
    return Detail(name, lines)


class Letter(msgspec.Struct, frozen=True):
    """A text to send to someone; its Copy button, named by `copy`, copies all its lines."""

    copy: str
    lines: tuple[str, ...]


class CheckLine(msgspec.Struct, frozen=True):
    """A condition of a checklist: its title, its state, a sentence, and buttons to what is open."""

    title: str
    state: Literal["done", "open", "carried", "not asked"]
    found: str
    open: tuple[Button, ...] = ()


class ChecklistBlock(msgspec.Struct, frozen=True):
    """A checklist above the list, with the buttons that its state permits.

    `notes` are the lines below the buttons: the entry that each would write, or why it is disabled.
    """

    caption: str
    lines: tuple[CheckLine, ...]
    buttons: tuple[Button, ...] = ()
    notes: tuple[Text, ...] = ()
    fields: tuple[InputField, ...] = ()


class StepBlock(msgspec.Struct, frozen=True):
    """A step to confirm. `key` identifies it, and `text` is the sentence that is journaled.

    `items` are the sentences of several decisions confirmed together, each journaled as shown.
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
    """Work in progress; `total` is None if its size is unknown."""

    label: str
    done: int = 0
    total: int | None = None
    may_cancel: bool = True


class Message(msgspec.Struct, frozen=True):
    """The result of the last press. Screen readers are interrupted by an alert, not by a status."""

    title: str
    lines: tuple[Text, ...] = ()
    role: Literal["status", "alert"] = "status"


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """All elements of a panel; `focus` names the element that gets the focus if the panel has it.

    `banners` are warnings above the list that stay as long as they apply. `views` are the panel's
    lists, one of which is shown. If `form` changes, the fields are emptied, because their text was
    for another decision; if `filtering` changes, the search and the filters are replaced.
    `narrowed` is true if the list is searched or filtered.
    """

    title: str
    notes: tuple[Text, ...] = ()
    tools: tuple[Button, ...] = ()
    views: tuple[Button, ...] = ()
    banners: tuple[Message, ...] = ()
    checklist: ChecklistBlock | None = None
    search: InputField | None = None
    filters: tuple[InputField, ...] = ()
    filtering: int = 0
    narrowed: bool = False
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
