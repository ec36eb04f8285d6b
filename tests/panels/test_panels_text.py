"""Outside text in a panel is literal, with hidden characters shown."""

from __future__ import annotations

import msgspec
import pytest

from treasury.panels.frames.blocks import Frame, Text
from treasury.panels.frames.panel_text import literal, literal_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("cost $5 and $6", "cost $5 and $6"),
        ("a\nb\tc", "a␊b␉c"),
        ("IBAN \u202e00TSET", "IBAN ⟨U+202E⟩00TSET"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("Café Łódź 東京", "Café Łódź 東京"),
    ],
)
def test_text_is_literal_and_hidden_characters_show(text: str, shown: str) -> None:
    assert literal_text(text) == shown


def test_a_very_long_text_is_cut_and_says_so() -> None:
    shown = literal_text("x" * 2_500)
    assert shown.endswith("… (500 more characters)")


def test_every_text_of_a_frame_is_made_literal() -> None:
    frame = Frame(title="a\x00b", notes=(Text("c\u200fd"),))
    shown = literal(frame)
    assert shown["title"] == "a␀b"
    assert shown["notes"][0]["text"] == "c⟨U+200F⟩d"
    assert msgspec.json.encode(shown).isascii() is False
