"""The distribution is called treasury-toolkit; the doctor reports another project's `treasury`."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

import treasury
from treasury.close.evidence import DISTRIBUTION, code_of
from treasury.workspace import Workspace

SETTINGS = '[workspace]\ncompany = "Harbour"\n'


def finding(folder: Path) -> list[str]:
    (folder / "treasury.toml").write_text(SETTINGS, "utf-8")
    findings = Workspace(folder).doctor().findings
    return [one.do for one in findings if one.topic == "installation"]


def another_project(folder: Path) -> None:
    about = folder / "treasury-1.6.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: treasury\nVersion: 1.6\n")


def test_the_doctor_reports_a_foreign_package_with_the_same_import_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, site = tmp_path / "desk", tmp_path / "site"
    desk.mkdir()
    site.mkdir()
    assert finding(desk) == []
    another_project(site)
    monkeypatch.syspath_prepend(str(site))
    (step,) = finding(desk)
    assert step.startswith("run `pip uninstall treasury`")


def test_a_pack_seals_this_projects_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    another_project(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    code_of.cache_clear()
    assert code_of().version == metadata.version(DISTRIBUTION) == treasury.__version__
