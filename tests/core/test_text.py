"""Text from outside is shown literally everywhere."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treasury.core.text import clean, safe_html, visible

HOSTILE = "<img src=x onerror=alert(1)> $5 and $6 \"quoted\" 'single' &amp;"


@given(st.text())
def test_no_text_contains_terminal_control_characters(text: str) -> None:
    assert all(char.isprintable() or char.isspace() for char in visible(text))
    assert not any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in visible(text))
    assert len(clean(text).splitlines()) <= 1


def test_escapes_and_direction_marks_become_visible() -> None:
    assert clean("a\x1b[2Jb") == "a␛[2Jb"
    assert clean("pay \u202e100\u202c") == "pay ⟨U+202E⟩100⟨U+202C⟩"
    assert clean("two\nlines\tand\x00nul") == "two lines and␀nul"
    assert clean(None) == ""


@given(st.text())
def test_no_text_becomes_markup_or_mathematics(text: str) -> None:
    assert not set(safe_html(text + HOSTILE)) & set("<>\"'$")
