"""The base class of panels: a widget whose content is never stored in the notebook.

A saved notebook stores the state of its widgets. So a panel's state is only its JavaScript and CSS:
no amount, account number or text of a service is stored with the notebook. The content is sent to
the page as messages, and presses come back the same way. A new view sends `hello` and gets the
current frame, so the page can be reloaded and the panel can be shown twice.

Pages without a kernel and terminals show a note instead: the title, the number of rows, and how to
use the panel.

Presses may arrive on any thread at any time, so there is one lock, and one slow task at a time.
"""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, tzinfo
from importlib.resources import files
from typing import Any, ClassVar, Final

import anywidget
import msgspec

from treasury.core.decoding import convert
from treasury.core.errors import ActionRefused, InputError, TreasuryError
from treasury.core.text import safe_html
from treasury.panels.frames.background_work import Cancelled, Work
from treasury.panels.frames.blocks import Button, Frame, Message, Text
from treasury.panels.frames.panel_text import desk_clock, literal

_log = logging.getLogger(__name__)
_PAGE: Final = files("treasury.panels") / "page"
_SEE_LIVE: Final = "To use this panel, run its cell in a notebook that runs widgets."
_PART: Final = 200_000
"""Number of characters of a file per message: a notebook server blocks faster transfers."""


class Press(msgspec.Struct, frozen=True, kw_only=True):
    """A press: the button's name, the chosen rows of the page, the step, and the typed text.

    `name` is "hello" when a view of the panel appears; `view` identifies the view.
    """

    name: str
    chosen: tuple[str, ...] | None = None
    step: str | None = None
    typed: dict[str, str] = {}
    view: str = ""

    def text(self, field: str) -> str:
        """Return a field's text without surrounding blanks; empty if it is missing."""
        return self.typed.get(field, "").strip()


Presses = dict[str, Callable[[Press], None]]
"""The handlers of presses, by name."""


class Panel(anywidget.AnyWidget):
    """A frame on screen, and a handler for each press; `handlers` returns them by name."""

    _esm: ClassVar[Any] = (_PAGE / "panel.js").read_text("utf-8")
    _css: ClassVar[Any] = (_PAGE / "panel.css").read_text("utf-8")
    title: ClassVar[str] = "Panel"
    _zone: tzinfo = UTC

    def __init__(self) -> None:
        super().__init__()
        self.turn = threading.RLock()
        """The lock that has to be held to change the screen."""
        self._work: Work | None = None
        self._thread: threading.Thread | None = None
        self._number = 0
        self._message: Message | None = None
        self._focus = ""
        self._error: tuple[str, str] | None = None
        self._file = ("", "", "", False)
        self._form_number = 0
        self._is_broken = False
        self.on_msg(self._receive)

    # Methods that subclasses define.

    def frame(self) -> Frame:
        """Return the current frame."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the content in a few words without amounts, like `8 requests`."""
        raise NotImplementedError

    def handlers(self) -> Presses:
        """Return the handlers by press. They run under the lock, so slow work must use `start`."""
        raise NotImplementedError

    # Methods for users of a panel.

    def __repr__(self) -> str:
        return f"<{self.title.lower()} panel: {self.summary()}>"

    def _ipython_display_(self) -> None:
        """Display the note, then the panel; `panel.css` hides the note of a live panel.

        The note is a separate output: nbconvert shows only the widget of an output that has one,
        and a widget is blank without a kernel.
        """
        from IPython.display import display

        note = f"{self.title}: {self.summary()}. {_SEE_LIVE}"
        html = f'<div class="treasury-note">{safe_html(note)}</div>'
        display({"text/plain": note, "text/html": html}, raw=True)  # type: ignore[no-untyped-call]
        data, metadata = self._repr_mimebundle_() or ({}, {})
        # A terminal would print the widget's plain text below the note, and nbconvert warns of an
        # output without any text.
        data.pop("text/plain", None)
        data["text/html"] = ""
        display(data, metadata=metadata, raw=True)  # type: ignore[no-untyped-call]

    def press(
        self,
        name: str,
        *,
        chosen: str | Iterable[str] | None = None,
        step: str | None = None,
        **typed: str,
    ) -> Frame:
        """Do the same as pressing the button `name` on the page; return the frame afterwards.

        `chosen` are the rows chosen on the shown page; None leaves the selection unchanged.
        """
        keys = (chosen,) if isinstance(chosen, str) else chosen
        rows = None if keys is None else tuple(keys)
        return self._pressed(Press(name=name, chosen=rows, step=step, typed=typed))

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the current work has ended, at most `seconds`; return whether it has."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    # Internal methods.

    def _receive(self, _: object, content: object, __: object) -> None:
        """Handle a message from the page."""
        self._pressed(convert(content, Press))

    def _pressed(self, press: Press) -> Frame:
        with self.turn, desk_clock(self._zone):
            try:
                self._handle(press)
            except TreasuryError as error:
                self.fail("That did not work", error)
            except Exception as error:
                self._break(error)
                self._show()
                raise
            return self._show()

    def _handle(self, press: Press) -> None:
        if press.name == "cancel":
            if self._work is not None:
                self._work.cancel()
        elif press.name == "part":
            self._send_part(press)
        elif press.name == "retry":
            # While work is in progress, Retry has no effect.
            if self._work is None:
                self._message, self._is_broken = None, False
                self.recover()
        elif press.name == "hello" or self._work is None:
            self._error = None
            if press.name == "confirm":
                self.clear_fields()
            self.before(press)
            self.handlers()[press.name](press)

    def before(self, press: Press) -> None:
        """Prepare for a press; the default does nothing."""

    def recover(self) -> None:
        """Refresh everything after a failure; subclasses define how."""

    def _break(self, error: Exception) -> None:
        """Note an internal error, so that it is shown and Retry is offered."""
        self._message, self._is_broken = _unforeseen(error), True

    def clear_fields(self) -> None:
        """Empty the fields in the next frame: their text was for one decision."""
        self._form_number += 1

    def tell(self, message: Message | None) -> None:
        """Show a message from the next frame on; None removes the message."""
        self._message = message

    def point_to(self, name: str) -> None:
        """Move the focus to the element of this name, with the next frame."""
        self._focus = name

    @property
    def is_idle(self) -> bool:
        """Whether no work is in progress."""
        return self._work is None

    # Errors, downloads and background work.

    def fail(self, title: str, error: TreasuryError, *before: Text) -> Message:
        """Show an error in the panel, and at the field that its text begins with."""
        field, colon, problem = error.what.partition(": ")
        if isinstance(error, InputError | ActionRefused) and colon and field.isidentifier():
            self._error = (field, problem if error.do is None else f"{problem}; {error.do}")
        self._message = alert(title, error, *before)
        return self._message

    def error_of(self, field: str) -> str:
        """Return the error of a field's text; empty without one."""
        return self._error[1] if self._error is not None and self._error[0] == field else ""

    def hand_over(self, press: Press, name: str, kind: str, content: str | bytes) -> None:
        """Send a file to save to the view that pressed; `kind` is its media type."""
        text = content if isinstance(content, str) else base64.b64encode(content).decode()
        self._file = (name, kind, text, isinstance(content, bytes))
        self._send_part(msgspec.structs.replace(press, typed={"part": "0"}))

    def _send_part(self, press: Press) -> None:
        name, kind, text, is_coded = self._file
        part = int(press.typed["part"])
        piece = text[part * _PART : (part + 1) * _PART]
        is_last = (part + 1) * _PART >= len(text)
        content = {"name": name, "type": kind, "part": part, "last": is_last, "text": piece}
        content["base64"] = is_coded
        self.send({"view": press.view, "file": content})

    def start(
        self,
        label: str,
        task: Callable[[Work], Message | None],
        failed: str | Callable[[TreasuryError], Message],
        cancelled: str,
    ) -> None:
        """Run `task` in its own thread, then show its result or its failure.

        If `failed` is a text, it is the error's title, above the text `cancelled`.
        """
        self._message = None
        work = self._work = Work(label, self._show)

        def explain(error: TreasuryError) -> Message:
            if isinstance(failed, str):
                return self.fail(failed, error, Text(cancelled))
            return failed(error)

        def carry_out() -> None:
            with desk_clock(self._zone):
                try:
                    self._ended(task(work))
                except Cancelled:
                    self._ended(status("Cancelled", Text(cancelled)))
                except TreasuryError as error:
                    try:
                        message = explain(error)
                    except TreasuryError as again:
                        # Refreshing the list after the failure has failed too.
                        message = self._message or alert("That did not work", error)
                        stays = Text(f"The list is not refreshed: {again.what}", "warn")
                        message = msgspec.structs.replace(message, lines=(*message.lines, stays))
                    self._ended(message)
                except Exception as error:
                    self._break(error)
                    self._ended(self._message)
                    raise

        # The thread is not a daemon, so a stopping kernel waits for the answer to a sent call.
        self._thread = threading.Thread(target=carry_out, name="treasury-panel")
        self._thread.start()

    def _ended(self, message: Message | None) -> None:
        with self.turn:
            self._work = None
            self._message = message
            self._focus = self._focus or ("message" if message is not None else "")
            self._show()

    def _show(self) -> Frame:
        """Send the current frame to every view."""
        with self.turn, desk_clock(self._zone):
            self._number += 1
            frame = self._drawn()
            self._focus = ""
            self.send({"number": self._number, "frame": literal(frame)})
            return frame

    def _drawn(self) -> Frame:
        """Return the current frame, or a frame with an error and Retry if it cannot be built."""
        try:
            return self.frame()
        except Exception as error:  # noqa: BLE001 - whatever it is, the page must not wait for ever
            message = _unforeseen(error)
        return Frame(
            title=self.title,
            tools=(Button("retry", "Retry", "primary", enabled=self._work is None),),
            progress=None if self._work is None else self._work.progress,
            message=message,
            focus="message",
        )


def status(title: str, *lines: Text) -> Message:
    """Build a message with information."""
    return Message(title, lines)


def alert(title: str, error: TreasuryError, *before: Text) -> Message:
    """Build a message about an error, with the next step."""
    lines = [*before, Text(error.what)]
    if error.do is not None:
        lines.append(Text(f"Next: {error.do}", "strong"))
    return Message(title, tuple(lines), "alert")


def _unforeseen(error: Exception) -> Message:
    """Build a message about an internal error, whose text is written only to the log."""
    _log.error("a panel failed", exc_info=error)
    return Message(
        "This panel failed",
        (
            Text(f"{type(error).__name__}; the log has the details."),
            Text("The journal shows whether anything was sent."),
            Text("Next: sync and look at the request before deciding again", "strong"),
        ),
        "alert",
    )
