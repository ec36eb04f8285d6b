"""Measure the code of the package: `python tools/shape.py [FOLDER]` prints a figure per line.

`tests/core/test_shape.py` compares the figures with the agreed limits.
"""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

PACKAGE: Final = Path(__file__).resolve().parents[1] / "treasury"
VAGUE: Final = frozenset((
    "asked", "became", "become", "been", "being", "came", "done", "found", "given", "gone",
    "held", "it", "its", "kept", "known", "left", "likely", "lives", "look", "looks", "made",
    "mark", "marks", "meant", "met", "mine", "named", "noted", "one", "ones", "other", "ours",
    "rest", "said", "same", "seen", "shown", "taken", "the", "them", "theirs", "there", "thing",
    "things", "those", "told", "wanted", "what", "which", "whose", "worded",
))  # fmt: skip
"""Words too vague to be a name on their own."""
_WORDS: Final = re.compile(r"_+|(?<=[a-z])(?=[A-Z])")
_PRIVATE: Final = re.compile(r"\b_\w+\b")


class Function(NamedTuple):
    """A function or method: its name, and its number of lines."""

    name: str
    lines: int


class Shape(NamedTuple):
    """Counts over the Python files of a package."""

    lines: dict[Path, int]
    functions: list[Function]
    bindings: Counter[str]
    """The number of bindings of each name: functions, classes, parameters, variables, fields."""
    classes: dict[str, list[Path]]
    """Map from a public class name to its files, without the sandbox."""
    private_uses: Counter[str]
    queries: list[Path]
    """The SQL files."""

    @property
    def vague_share(self) -> float:
        """Return the percentage of bindings whose name is a single vague word."""
        vague = sum(count for name, count in self.bindings.items() if is_vague(name))
        return 100 * vague / self.bindings.total()

    @property
    def used_once(self) -> list[str]:
        """Return the private functions with a single use, except hooks such as `_repr_html_`."""
        names = [f.name for f in self.functions]
        private = [n for n in names if n.startswith("_") and not n.endswith("_")]
        return [name for name in private if self.private_uses[name] <= 2]

    @property
    def used_once_share(self) -> float:
        """Return the percentage of functions that are private and used once."""
        return 100 * len(self.used_once) / len(self.functions)

    @property
    def repeated_classes(self) -> list[str]:
        """Return public class names that occur in more than one file."""
        return sorted(name for name, files in self.classes.items() if len(files) > 1)

    @property
    def folders(self) -> Counter[Path]:
        """Return the number of modules in each folder."""
        return Counter(path.parent for path in self.lines if path.name != "__init__.py")

    @property
    def query_folders(self) -> Counter[Path]:
        """Return the number of SQL files in each folder."""
        return Counter(path.parent for path in self.queries)


def is_vague(name: str) -> bool:
    """Return whether a name is a single vague word."""
    words = [word for word in _WORDS.split(name.strip("_")) if word]
    return len(words) == 1 and words[0].lower() in VAGUE


def measure(package: Path = PACKAGE) -> Shape:
    """Return the counts over all Python files of the package."""
    queries = sorted(package.rglob("*.sql"))
    shape = Shape({}, [], Counter(), defaultdict(list), Counter(), queries)
    for path in sorted(package.rglob("*.py")):
        text = path.read_text("utf-8")
        shape.lines[path] = text.count("\n")
        shape.private_uses.update(_PRIVATE.findall(text))
        nodes = [*ast.walk(ast.parse(text))]
        shape.bindings.update(name for node in nodes for name in _bound(node))
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                shape.functions.append(
                    Function(node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
                )
            elif isinstance(node, ast.ClassDef) and _is_public(node, path):
                shape.classes[node.name].append(path)
    return shape


def _is_public(node: ast.ClassDef, path: Path) -> bool:
    return not node.name.startswith("_") and "sandbox" not in path.parts


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
        given = (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs)
        yield from (argument.arg for argument in given if argument.arg not in {"self", "cls"})
    elif isinstance(node, ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id


def report(shape: Shape) -> Iterator[str]:
    """Yield the figures, one per line."""
    lines = sorted(shape.lines.values())
    length = sorted(function.lines for function in shape.functions)
    yield f"lines {sum(lines):,} in {len(lines)} files, median {statistics.median(lines):g}"
    yield f"functions {len(length):,}, median {statistics.median(length):g} lines"
    yield f"vague names {shape.vague_share:.1f} % of {shape.bindings.total():,} bindings"
    yield f"private and used once {shape.used_once_share:.1f} % of functions"
    folder, modules = shape.folders.most_common(1)[0]
    yield f"fullest folder {folder.name} with {modules} modules"
    yield f"public class names that repeat: {', '.join(shape.repeated_classes) or 'none'}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report(measure(*map(Path, sys.argv[1:]))))
