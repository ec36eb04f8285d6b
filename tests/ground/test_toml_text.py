"""TOML: nesting is bounded, and the line of a key is found however the key is written."""

import time
import tomllib

import pytest

from treasury.ground.toml_text import Keys, line_of, parse_toml

TEXT = """\
one = 1
[[rules]]
kinds = [
 "a",
 "b",
]
'people' = 2
[[rules]]
limits = {EUR = 5}
more.deep . "key" = \"\"\"
kinds = ["no key"]
\"\"\"
[recovery]
hours = 3 # people = 4
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("one",), 1),
        (("rules", 0), 2),
        (("rules", 0, "kinds"), 6),
        (("rules", 0, "people"), 7),
        (("rules", 1), 8),
        (("rules", 1, "limits", "EUR"), 9),
        (("rules", 1, "more", "deep", "key"), 12),
        (("recovery", "hours"), 14),
        (("recovery", "people"), None),
        (("rules", 2), None),
        (("one", "two"), None),
    ],
)
def test_the_line_of_a_key_is_where_its_value_ends(keys: Keys, line: int | None) -> None:
    assert line_of(TEXT, keys) == line


def test_the_line_of_a_key_is_found_soon_in_a_long_file() -> None:
    text = "".join(f"key{number} = [\n{number},\n]\n" for number in range(1500))
    began = time.process_time()
    assert line_of(text, ("key1400",)) == 1401 * 3
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    "text",
    [
        f"a = {'[' * 5000}{']' * 5000}",
        f"a = {'{b = ' * 5000}1{'}' * 5000}",
        f"a{'.a' * 5000} = 1",
        f"[a{'.a' * 100}]",
        f"a = {'[' * 100_000}",
    ],
)
def test_deep_nesting_is_no_toml_of_ours(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="nested too deeply"):
        parse_toml(text)
    assert parse_toml("a = [[[{b = [[1]]}]]]") == {"a": [[[{"b": [[1]]}]]]}
