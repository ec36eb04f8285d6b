"""Two ways to use a panel in the browser: with the mouse only, and with the keyboard only."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import FileChooser, Locator, expect

_FARTHEST = 400
"""The most Tabs from one element to another in a panel."""
_IS_FOCUSED = "one => one === document.activeElement"
_IS_INSIDE = "one => one.contains(document.activeElement)"


class Mouse:
    """A person who clicks, and types only into fields."""

    def enter(self, panel: Locator) -> None:
        """Go to the panel."""
        panel.scroll_into_view_if_needed()

    def activate(self, panel: Locator, one: Locator) -> None:
        """Press a button, or tick a box."""
        del panel
        one.click()

    def type_into(self, panel: Locator, field: Locator, text: str) -> None:
        """Type into an empty field."""
        del panel
        field.click()
        field.press_sequentially(text)

    def select(self, panel: Locator, field: Locator, value: str) -> None:
        """Choose an option; the list that opens is drawn by the browser, not by the page."""
        del panel
        field.select_option(value)

    def press(self, panel: Locator, name: str) -> None:
        """Press the button with this label; dots or a number may follow."""
        one = panel.get_by_role("button", name=re.compile(rf"^{name}(…| \d+)?$")).first
        expect(one).to_have_attribute("aria-disabled", "false")
        self.activate(panel, one)

    def upload(self, panel: Locator, name: str, path: Path) -> None:
        """Press a button that takes a file, and choose the file."""
        with panel.page.expect_file_chooser() as chosen:
            self.press(panel, name)
        chooser: FileChooser = chosen.value
        chooser.set_files(path)


class Keyboard(Mouse):
    """A person who only presses keys; focus must never leave the panel while it works."""

    def enter(self, panel: Locator) -> None:
        """Reach the panel by Tab from where the notebook is."""
        for _ in range(_FARTHEST):
            if panel.evaluate(_IS_INSIDE):
                return
            panel.page.keyboard.press("Tab")
        raise AssertionError("the panel was not reached by Tab")

    def reach(self, panel: Locator, one: Locator) -> None:
        """Press Tab, or Shift and Tab, until the element has the focus."""
        expect(one).to_be_visible()
        assert panel.evaluate(_IS_INSIDE), "the focus left the panel"
        follows = "(one) => !!(document.activeElement.compareDocumentPosition(one) & 4)"
        key = "Tab" if one.evaluate(follows) else "Shift+Tab"
        for _ in range(_FARTHEST):
            if one.evaluate(_IS_FOCUSED):
                return
            panel.page.keyboard.press(key)
        raise AssertionError(f"not reached by Tab: {one}")

    def activate(self, panel: Locator, one: Locator) -> None:
        """Press Space on a box, Enter on a button."""
        self.reach(panel, one)
        is_box = one.evaluate("one => one.type === 'checkbox'")
        panel.page.keyboard.press("Space" if is_box else "Enter")

    def type_into(self, panel: Locator, field: Locator, text: str) -> None:
        """Type into an empty field."""
        self.reach(panel, field)
        panel.page.keyboard.type(text)

    def select(self, panel: Locator, field: Locator, value: str) -> None:
        """Choose an option with the arrow keys."""
        self.reach(panel, field)
        for _ in range(_FARTHEST):
            if field.input_value() == value:
                return
            panel.page.keyboard.press("ArrowDown")
        raise AssertionError(f"not reached by the arrow keys: {value}")


def says(panel: Locator, text: str) -> None:
    """Wait for the result of the last press."""
    expect(panel.locator(".tp-status, [role=alert]").first).to_contain_text(re.compile(text))
