"""The choice of the engine for a month: an argument, an option, `[engine]`, and refusals."""

from __future__ import annotations

import builtins
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from treasury import Workspace
from treasury.cli import treasury
from treasury.core.errors import InputError, SettingsError
from treasury.core.settings import Secret, load_settings
from treasury.matching.spark.spark_run import session_of

CANARY = "s3cr3t-canary"
DESK = '[workspace]\ncompany = "A"\nenvironment = "sandbox"\n'


def written(folder: Path, engine: str) -> Path:
    (folder / "treasury.toml").write_text(f"{DESK}\n[engine]\n{engine}\n", "utf-8")
    return folder


def reconcile(folder: Path, *arguments: str) -> Result:
    line = ["--workspace", str(folder), "reconcile", "--month", "2026-10", *arguments]
    return CliRunner().invoke(treasury, line)


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a missing Spark extra."""
    found = builtins.__import__

    def look(
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002 - as Python names it
        locals: Mapping[str, object] | None = None,  # noqa: A002 - as Python names it
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if name.partition(".")[0] == "pyspark":
            raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")
        return found(name, globals, locals, fromlist or (), level)

    monkeypatch.setattr(builtins, "__import__", look)


@pytest.mark.parametrize(
    "address",
    ["sc://host:15002", "sc://host:443/;use_ssl=true", "spark://host:7077", "yarn", "local",
     "local[2]", "local[*]", "k8s://https://host:6443"],
)  # fmt: skip
def test_the_settings_name_a_spark_address(tmp_path: Path, address: str) -> None:
    engine = load_settings(written(tmp_path, f'address = "{address}"')).engine
    assert engine is not None
    assert engine.address == address
    assert engine.secret() is None


@pytest.mark.parametrize(
    "address", ["", "duck", "host:15002", "http://host:15002", "local[", "sc://"]
)
def test_an_invalid_address_is_refused(tmp_path: Path, address: str) -> None:
    folder = written(tmp_path, f'address = "{address}"')
    with pytest.raises(SettingsError, match=r"engine\.address is not an address") as caught:
        load_settings(folder)
    assert "local[2]" in str(caught.value.do)
    with pytest.raises(InputError, match="is not a Spark address"):
        session_of(address)


def test_an_unknown_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="engine"):
        load_settings(written(tmp_path, 'address = "yarn"\nmaster = "x"'))


def test_a_token_in_the_address_is_refused_and_never_shown(tmp_path: Path) -> None:
    folder = written(tmp_path, f'address = "sc://host:443/;token={CANARY}"')
    with pytest.raises(SettingsError, match=r"engine\.address holds a password") as caught:
        load_settings(folder)
    assert CANARY not in f"{caught.value}{caught.value.do}"
    with pytest.raises(InputError) as refused:
        session_of(f"nowhere://host/;token={CANARY}")
    assert CANARY not in f"{refused.value}{refused.value.do}"


def test_a_token_is_read_from_the_place_that_the_settings_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path, 'address = "sc://host:443"\ntoken = "env:SPARK_TOKEN"')
    engine = load_settings(folder).engine
    assert engine is not None
    with pytest.raises(
        SettingsError, match=r"no secret for sc://host:443: .*SPARK_TOKEN is not set"
    ):
        engine.secret()
    monkeypatch.setenv("SPARK_TOKEN", CANARY)
    assert isinstance(found := engine.secret(), Secret)
    assert found.reveal() == CANARY


@pytest.mark.usefixtures("without_spark")
def test_a_missing_extra_is_a_one_line_error_with_the_install_command(month_end: Workspace) -> None:
    for address in ("local[2]", "sc://127.0.0.1:15002"):
        with pytest.raises(InputError, match="Spark is not installed") as caught:
            month_end.reconcile("2026-10", engine=address)
        assert caught.value.do == "install it: pip install 'treasury-toolkit[spark]'"
    said = reconcile(month_end.folder, "--engine", "local[2]")
    assert str(said.exception) == str(caught.value)


@pytest.mark.acceptance
@pytest.mark.usefixtures("without_spark")
def test_the_engine_of_the_settings_is_used_unless_another_is_named(
    month_end: Workspace, tmp_path: Path
) -> None:
    folder = shutil.copytree(month_end.folder, tmp_path / "desk")
    with (folder / "treasury.toml").open("a", encoding="utf-8") as file:
        file.write('\n[engine]\naddress = "local[2]"\n')
    desk = Workspace(folder)
    with pytest.raises(InputError, match="Spark is not installed"):
        desk.reconcile("2026-10")
    answer = desk.reconcile("2026-10", engine="duckdb")
    assert answer.lines.arrow.equals(month_end.reconcile("2026-10").lines.arrow)
    assert reconcile(folder, "--engine", "duckdb").exit_code == 0
    assert not (folder / "spark").exists()


def test_a_folder_for_tables_is_refused_without_spark(month_end: Workspace, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="into: only Spark writes tables"):
        month_end.reconcile("2026-10", into=tmp_path)
    said = reconcile(month_end.folder, "--into", str(tmp_path))
    assert isinstance(said.exception, InputError)


def test_an_object_that_is_not_a_session_is_refused(month_end: Workspace) -> None:
    with pytest.raises(InputError, match="engine: int is not a Spark session"):
        month_end.reconcile("2026-10", engine=3)
