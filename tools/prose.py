"""Check the project's English: `python tools/prose.py [FOLDER…]`.

Reads docstrings, comments and sentences in strings of Python, comments of SQL, Markdown, notebooks,
and sentences in CSV, TOML and HTML. Counts phrases that are correct but hard to read. Fails if a
folder has more than 2 per 1,000 words, and prints their places; with FOLDER, prints all places in
the folder. Words in quotes or backticks are exempt, and so is the contract's term *standing
expectation*. In tests only docstrings and comments count: their strings quote messages of the
package, which are counted there.
"""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDERS: Final = ("treasury", "tests", "tools", "benchmarks", "docs", "notebooks")
MOST: Final = 2.0
"""Maximum number of phrases per 1,000 words of a folder."""
LEAST_WORDS: Final = 200
"""A folder with fewer words counts with its parent, because one phrase would exceed the limit."""
AROUND: Final = 50
"""Number of characters printed on either side of a phrase."""

_AFTER_WHAT: Final = (
    "a|an|the|is|are|was|were|has|have|had|came|comes|people|any|no|can|may|they|it|one"
)
TURNS: Final = (
    r"\bbesides?\b",
    r"\b(?:what|who|which|where)ever\b",
    r"\bwhose\b(?! (?:turn|move))",
    r"\b(?:none|all|each|any|what|much|more|nothing|most) of (?:it|them|those|that)\b",
    r"\bof (?:it|its own|theirs)\b",
    r"\b(?:stand|stands|stood)\b(?! for)|\bstanding\b(?! (?:expectation|order|code))",
    r"\b(?:told|tells|tell|said|says|say|asked|asks)\b",
    r"\b(?:nobody|nothing that|none that|no one)\b",
    # A clause is used as a noun, at the beginning of a sentence or after a comma.
    rf"(?:^|(?<=[.:;,] ))[Ww]hat (?:{_AFTER_WHAT})\b",
    r"\b(?:those (?:that|who|which)|such (?:that|a|an)|that which)\b",
    r"\b(?:is|are|was|were) (?:not )?to be\b|\bis to\b",
    r"\bby (?:itself|themselves)\b",
    r"\b(?:anew|let go|go on|goes on|gone on|went on|is there|are there that)\b",
)
_TURN: Final = re.compile("|".join(TURNS))
_EXEMPT: Final = re.compile(r'`[^`]*`|"[^"]*"|“[^”]*”|\{[^}]*\}|\(https?:[^)]*\)')
_MARKUP: Final = re.compile(r"\b(?:SELECT|FROM|WHERE|JOIN)\b|[<>{}]{2}|^\s*<|\n {4}")
_DIRECTIVE: Final = ("#!", "# noqa", "# type", "# fmt")

Lines: TypeAlias = Iterator[tuple[int, str]]


class Place(NamedTuple):
    """A hard phrase in a file: its line, its words, and the text around them."""

    path: Path
    line: int
    words: str
    text: str

    def __str__(self) -> str:
        """Return path and line in the form that editors open, with the phrase and its text."""
        return f"{self.path}:{self.line}: [{self.words}] {self.text}"


class Prose(NamedTuple):
    """The prose of a file or folder: the number of words, and the places of hard phrases."""

    words: int
    places: tuple[Place, ...]

    @property
    def rate(self) -> float:
        """Return the number of hard phrases per 1,000 words."""
        return 1000 * len(self.places) / self.words if self.words else 0.0


def is_sentence(text: str) -> bool:
    """Return whether a string is prose: five words or more, mostly letters, no SQL or markup."""
    words = text.split()
    letters = sum(word.isalpha() for word in words)
    return len(words) >= 5 and letters > 0.6 * len(words) and not _MARKUP.search(text)


def _python(source: str, *, quotes: bool = False) -> Lines:
    """Yield docstrings and comments, and sentences in other strings unless `quotes` is true."""
    tree = ast.parse(source)
    nodes = [*ast.walk(tree)]
    # A string used as a statement is a docstring of a module, class, function or attribute.
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings:
                yield from enumerate(map(str.strip, node.value.splitlines()), node.lineno)
            elif not quotes and is_sentence(node.value):
                yield from enumerate(node.value.splitlines(), node.lineno)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not token.string.startswith(_DIRECTIVE):
            yield token.start[0], token.string.lstrip("# ")


def _sql(source: str) -> Lines:
    for number, line in enumerate(source.splitlines(), 1):
        if line.strip().startswith("--"):
            yield number, line.strip().lstrip("- ")


def _markdown(source: str) -> Lines:
    is_code = False
    for number, line in enumerate(source.splitlines(), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def _notebook(source: str) -> Lines:
    """Yield the Markdown cells, with the number of the cell as line."""
    for number, cell in enumerate(json.loads(source)["cells"]):
        if cell["cell_type"] == "markdown":
            yield from ((number, text) for _, text in _markdown("".join(cell["source"])))


def _cells(source: str) -> Lines:
    """Yield the sentences in a line, split at commas, quotes and brackets."""
    for number, line in enumerate(source.splitlines(), 1):
        yield from ((number, text) for text in re.split(r'[,"<>|]', line) if is_sentence(text))


def _test(source: str) -> Lines:
    return _python(source, quotes=True)


READERS: Final[dict[str, Callable[[str], Lines]]] = {
    ".csv": _cells,
    ".html": _cells,
    ".ipynb": _notebook,
    ".md": _markdown,
    ".py": _python,
    ".sql": _sql,
    ".toml": _cells,
}


def prose_of(path: Path) -> Prose:
    """Read the prose of one file."""
    words = 0
    places: list[Place] = []
    is_test = path.suffix == ".py" and path.is_relative_to(ROOT / "tests")
    read = _test if is_test else READERS[path.suffix]
    for line, text in read(path.read_text("utf-8", errors="replace")):
        plain = _EXEMPT.sub("", text)
        words += len(plain.split())
        for turn in _TURN.finditer(plain):
            around = plain[max(0, turn.start() - AROUND) : turn.end() + AROUND]
            places.append(Place(path, line, turn[0], around.strip()))
    return Prose(words, tuple(places))


def files_of(folder: Path) -> Iterator[Path]:
    """Yield a file, or the files with prose in a folder, without third-party code."""
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
        if path.suffix in READERS and "_vendor" not in path.parts and path.is_file():
            yield path


def project_files(root: Path) -> Iterator[Path]:
    """Yield the project's files: its folders, and the files of the root and of `data`."""
    for folder in (root, root / "data"):
        yield from (path for path in sorted(folder.glob("*")) if path.suffix in READERS)
    for name in FOLDERS:
        yield from files_of(root / name)


def by_folder(root: Path) -> dict[Path, Prose]:
    """Return the prose of each folder; a folder with few words is part of its parent."""
    folders: dict[Path, Prose] = {root: Prose(0, ())}
    for path in project_files(root):
        _add(folders, path.parent, prose_of(path))
    for depth in range(max(len(folder.parts) for folder in folders), len(root.parts), -1):
        for folder in [folder for folder in folders if len(folder.parts) == depth]:
            if folders[folder].words < LEAST_WORDS:
                _add(folders, folder.parent, folders.pop(folder))
    return folders


def _add(folders: dict[Path, Prose], folder: Path, prose: Prose) -> None:
    known = folders.get(folder, Prose(0, ()))
    folders[folder] = Prose(known.words + prose.words, known.places + prose.places)


def report(root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each folder above the limit, followed by the places in it."""
    for folder, prose in sorted(by_folder(root).items()):
        if prose.rate > MOST:
            yield f"{folder}: {prose.rate:.1f} hard phrases per 1,000 of {prose.words:,} words"
            yield from (f"  {place}" for place in prose.places)


def main(arguments: list[str]) -> int:
    """Print the places in the folders given, or check the project: 1 if a folder fails."""
    if arguments:
        files = (path for name in arguments for path in files_of(Path(name)))
        sys.stdout.writelines(f"{place}\n" for path in files for place in prose_of(path).places)
        return 0
    lines = [*report()]
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
