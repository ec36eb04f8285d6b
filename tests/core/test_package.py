"""The package as users import it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import treasury
from treasury.core import errors
from treasury.core.files.package_files import package_rows

HEAVY = ("duckdb", "pyarrow", "pandas", "deltalake", "httpx", "sqlalchemy", "matplotlib", "lxml",
         "ipywidgets", "rich", "jinja2", "xlsxwriter")  # fmt: skip


def test_the_exported_names_exist_and_are_sorted() -> None:
    assert treasury.__all__ == sorted(treasury.__all__)
    assert all(getattr(treasury, name) is not None for name in treasury.__all__)
    assert dir(treasury) == treasury.__all__


def test_importing_treasury_loads_no_heavy_library() -> None:
    code = f"import sys, treasury; print([n for n in {HEAVY!r} if n in sys.modules])"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout.strip() == "[]"


def test_the_tree_of_errors_matches_the_drawing_in_its_module() -> None:
    drawn = errors.__doc__ or ""
    classes = [thing for thing in vars(errors).values() if isinstance(thing, type)]
    assert len(classes) > 20
    for cls in classes:
        assert issubclass(cls, errors.TreasuryError)
        assert cls.__name__ in drawn


def test_an_error_gives_the_cause_and_the_next_step() -> None:
    error = errors.InputError("x is wrong", do="write y")
    assert str(error) == "x is wrong - write y"
    assert str(errors.OutcomeUnknown("sent?", look_up="read it")) == "sent? - read it"


def test_a_row_of_a_package_file_with_an_unquoted_comma_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "words_of_test"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "words.csv").write_text('code,meaning\n# a comment\none,"first, of two"\n', "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert package_rows("words_of_test", "words.csv") == (
        {"code": "one", "meaning": "first, of two"},
    )
    (folder / "wrong.csv").write_text("code,meaning\ntwo,second, of two\n", "utf-8")
    with pytest.raises(ValueError, match=r"wrong\.csv: 3 cells instead of 2"):
        package_rows("words_of_test", "wrong.csv")
