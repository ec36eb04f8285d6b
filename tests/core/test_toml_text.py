"""TOML: nesting is limited, and the line of a key is found in all its spellings."""

import tomllib

import pytest

from treasury.core.toml_text import Keys, line_of, parse_toml

pytestmark = pytest.mark.timeout(60)
"""Each test ends in a second or two; superlinear work on its input would take minutes."""

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


def test_the_line_of_a_key_is_found_quickly_in_a_long_file() -> None:
    text = "".join(f"key{number} = [\n{number},\n]\n" for number in range(1500))
    assert line_of(text, ("key1400",)) == 1401 * 3


def test_the_line_after_a_long_value_is_found_quickly() -> None:
    numbers = "1,\n" * 20_000
    text = f'[one]\na = [\n{numbers}]\r\nb = """{numbers}"""\nc = 1 # }}\n[two]\nd = \'[\'\ne = 1'
    lines = [line_of(text, keys) for keys in (("one", "c"), ("two", "e"), ("two", "f"))]
    assert lines == [40_005, 40_008, None]


BOMBS = {
    "parts of a key": ("a" + ".a" * 20_000 + " = 1", "nested too deeply"),
    "parts of a quoted key": ("a" + " . 'a'" * 20_000 + " = 1", "nested too deeply"),
    "keys below a deep table": (
        f"[a{'.a' * 1000}]\n" + "".join(f"k{number} = 1\n" for number in range(50_000)),
        "nested too deeply",
    ),
    "length": ("a = [" + "1," * (1 << 20) + "]", "longer than 2 MB"),
    "digits": (f"a = {'9' * 5000}", "a number in it is too large"),
    "hexadecimal digits": (f"a = [{{b = 0x{'f' * 100_000}}}]", "a number in it is too large"),
    "more than 64 bits": ("a = 9223372036854775808", "a number in it is too large"),
    "a key": (f"{'k' * 1_000_000} = 1", "a key in it is too long"),
    "a quoted key": (f"[[a]]\nb = {{'{'k' * 1_000_000}' = 1}}", "a key in it is too long"),
    "a text without an end": ('a = """' + '\\"""' * 400_000, "Unterminated string"),
    "quotes without an end": ('a = "' + '\\"' * 400_000, "Illegal character|Unterminated|Expected"),
}


@pytest.mark.first_case
@pytest.mark.parametrize(("text", "reason"), BOMBS.values(), ids=BOMBS)
def test_toml_that_takes_long_to_parse_is_refused_quickly(text: str, reason: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match=reason):
        parse_toml(text)


def test_values_of_valid_files_are_still_read() -> None:
    text = f"a = '{'x.' * 50}' # {'y.' * 50}\nb = -9223372036854775808\n{'k' * 300} = true"
    document = parse_toml(text)
    assert document["b"] == -(2**63)
    assert len(document) == 3


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
def test_deeply_nested_toml_is_refused(text: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="nested too deeply"):
        parse_toml(text)
    assert parse_toml("a = [[[{b = [[1]]}]]]") == {"a": [[[{"b": [[1]]}]]]}
