"""docs/architecture.md agrees with the code and its import contracts."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
LAYERS = next(
    contract["layers"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    if contract["name"] == "A room imports only from floors below it"
)
STEP = re.compile(r"^\d+\. `(treasury[\w.]*)`", re.MULTILINE)


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def file_of(module: str) -> Path:
    path = ROOT / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imports(module: str) -> set[str]:
    """Return the modules of the package that a module imports, with their parent packages."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(file_of(module).read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and "treasury" in node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return imported | {name.rpartition(".")[0] for name in imported}


def flows() -> list[list[str]]:
    """Return the modules in each numbered list of the page, in order."""
    lists: list[list[str]] = []
    for line in section("Flows").splitlines():
        if step := STEP.match(line):
            if line.startswith("1. "):
                lists.append([])
            lists[-1].append(step[1])
    return lists


def test_the_declared_layers_are_those_of_import_linter() -> None:
    drawn = re.findall(r"^(\w+) {1,}\S", section("Floors").split("```")[1], re.MULTILINE)
    held = [room.removeprefix("treasury.") for layer in LAYERS for room in layer.split(" | ")]
    assert drawn == held


def test_every_room_of_the_package_has_a_layer() -> None:
    rooms = {path.stem for path in (ROOT / "treasury").iterdir() if path.suffix == ".py"}
    rooms |= {path.parent.name for path in (ROOT / "treasury").glob("*/__init__.py")}
    floors = {room.removeprefix("treasury.") for layer in LAYERS for room in layer.split(" | ")}
    assert rooms - floors == {"__init__", "__main__", "sandbox"}


@pytest.mark.parametrize("flow", flows(), ids=lambda flow: flow[0])
def test_each_module_of_a_flow_is_imported_by_one_above_it(flow: list[str]) -> None:
    assert len(flow) > 4
    for number, module in enumerate(flow[1:], 1):
        assert file_of(module).is_file()
        assert any(module in imports(above) for above in flow[:number]), module


def test_the_glossary_has_one_sentence_per_term_in_order() -> None:
    terms = re.findall(r"^- \*\*(.+?)\*\*: (.+?)$", section("Glossary"), re.MULTILINE)
    names = [name for name, _ in terms]
    assert 40 <= len(names) == len(set(names))
    assert names == sorted(names)
    assert all(sentence.endswith(".") for _, sentence in terms)
