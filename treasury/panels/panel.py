"""A panel: a widget whose content never becomes widget state.

What a panel shows travels to the page as messages, and presses travel back the same way. A notebook
that is saved keeps the state of its widgets, so a panel's state is its program and its style alone:
no amount, no account number and nothing a service wrote is stored with the notebook. A view that
appears says hello and is sent the present frame, so reloading the page or showing the panel twice
needs nothing else.

Presses may come on any thread and at any time: one lock, one piece of work at a time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from importlib.resources import files
from typing import Any, ClassVar, Final

import anywidget
import msgspec

from treasury.errors import TreasuryError
from treasury.panels.blocks import Frame, Line, Message, Press
from treasury.panels.text import literal
from treasury.panels.work import Cancelled, Work

__all__ = ["Panel", "alert", "status"]

_log = logging.getLogger(__name__)
_PAGE: Final = files("treasury.panels") / "page"


class Panel(anywidget.AnyWidget):
    """A frame on screen and what its presses do; `handlers` names them."""

    _esm: ClassVar[Any] = (_PAGE / "panel.js").read_text("utf-8")
    _css: ClassVar[Any] = (_PAGE / "panel.css").read_text("utf-8")

    def __init__(self) -> None:
        super().__init__()
        self._turn = threading.RLock()
        self._work: Work | None = None
        self._thread: threading.Thread | None = None
        self._number = 0
        self._message: Message | None = None
        self._focus = ""
        self.on_msg(self._receive)

    # What a panel is

    def frame(self) -> Frame:
        """What is on screen now."""
        raise NotImplementedError

    def handlers(self) -> dict[str, Callable[[Press], None]]:
        """What each press does; it runs under the lock, so what takes long is `_start`ed."""
        raise NotImplementedError

    # What a person does with it

    def press(
        self,
        name: str,
        *,
        chosen: str | None = None,
        step: str | None = None,
        **typed: str,
    ) -> Frame:
        """Do what the page does when a person presses `name`; what is on screen then."""
        return self._pressed(Press(name=name, chosen=chosen, step=step, typed=typed))

    def wait(self, seconds: float = 60.0) -> bool:
        """Wait until the work that is under way has ended; whether it has."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    # How it works

    def _receive(self, _: object, content: object, __: object) -> None:
        """A message from the page."""
        self._pressed(msgspec.convert(content, Press))

    def _pressed(self, press: Press) -> Frame:
        with self._turn:
            try:
                self._handle(press)
            except TreasuryError as error:
                self._message = alert("That did not work", error)
            except Exception as error:
                self._message = _unforeseen(error)
                self._show()
                raise
            return self._show()

    def _handle(self, press: Press) -> None:
        if press.name == "cancel":
            if self._work is not None:
                self._work.cancel()
        elif press.name == "hello" or self._work is None:
            self.handlers()[press.name](press)

    def _start(
        self,
        label: str,
        task: Callable[[Work], Message | None],
        failed: Callable[[TreasuryError], Message],
        cancelled: str,
    ) -> None:
        """Do `task` in a thread of its own; what it returns, or how it failed, is then shown."""
        self._message = None
        work = self._work = Work(label, self._show)
        thread = threading.Thread(
            target=self._carry_out, args=(work, task, failed, cancelled), name="treasury-panel"
        )
        # Not a daemon: a kernel that is told to stop waits for the answer to what was sent.
        self._thread = thread
        thread.start()

    def _carry_out(
        self,
        work: Work,
        task: Callable[[Work], Message | None],
        failed: Callable[[TreasuryError], Message],
        cancelled: str,
    ) -> None:
        try:
            self._ended(task(work))
        except Cancelled:
            self._ended(status("Cancelled", Line(cancelled)))
        except TreasuryError as error:
            self._ended(failed(error))
        except Exception as error:
            self._ended(_unforeseen(error))
            raise

    def _ended(self, message: Message | None) -> None:
        with self._turn:
            self._work = None
            self._message = message
            self._focus = self._focus or ("message" if message is not None else "")
            self._show()

    def _show(self) -> Frame:
        """Send the present frame to every view."""
        with self._turn:
            self._number += 1
            frame = self.frame()
            self._focus = ""
            self.send({"number": self._number, "frame": literal(frame)})
            return frame


def status(title: str, *lines: Line) -> Message:
    """Something to know."""
    return Message(title, lines)


def alert(title: str, error: TreasuryError, *before: Line) -> Message:
    """Something that went wrong, and what to do next."""
    lines = [*before, Line(error.what)]
    if error.do is not None:
        lines.append(Line(f"Next: {error.do}", "strong"))
    return Message(title, tuple(lines), "alert")


def _unforeseen(error: Exception) -> Message:
    """A fault of ours. Its own text may hold anything, so it goes to the log and not on screen."""
    _log.error("a panel failed", exc_info=error)
    return Message(
        "This panel failed",
        (
            Line(f"{type(error).__name__}; the log has the details."),
            Line("Whether anything was sent is in the journal."),
            Line("Next: sync and look at the request before deciding again", "strong"),
        ),
        "alert",
    )
