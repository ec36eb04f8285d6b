"""The command that exports a month to the books."""

from __future__ import annotations

import csv
import tomllib
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest
from beancount import loader
from click.testing import CliRunner, Result

from treasury.cli import treasury
from treasury.close.ledger.accounting import ROLES
from treasury.core.errors import InputError, StorageError
from treasury.workspace import Workspace


def run(desk: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(
        treasury,
        ["--workspace", str(desk.folder), "export", "--month", "2026-10", *arguments],
        catch_exceptions=False,
    )


def test_a_month_is_written_as_journal_and_beancount(month_end: Workspace, tmp_path: Path) -> None:
    out = tmp_path / "books"
    done = run(month_end, "--out", str(out))
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "Accounting of October 2026: 951 postings of 443 entries",
        str(out / "journal.csv"),
        str(out / "month.beancount"),
    ]
    assert sorted(path.name for path in out.iterdir()) == ["journal.csv", "month.beancount"]
    sums: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    with (out / "journal.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            side = Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
            sums[row["entry"], row["currency"]] += side
    assert len({entry for entry, _ in sums}) == 443
    assert not any(sums.values())
    _, errors, _ = loader.load_file(str(out / "month.beancount"))
    assert errors == []


@pytest.mark.acceptance
def test_the_mapping_names_the_companys_own_accounts(month_end: Workspace, tmp_path: Path) -> None:
    template = run(month_end, "--mapping-template").stdout
    keys = tomllib.loads(template)["accounts"]
    assert {key.removesuffix(" BE45539951876689") for key in keys} & ROLES.keys()
    mapping = tmp_path / "accounts.toml"
    mapping.write_text(template.replace('= ""', '= "550000"'), "utf-8")
    run(month_end, "--out", str(tmp_path), "--mapping", str(mapping))
    with (tmp_path / "journal.csv").open(encoding="utf-8") as file:
        assert {row["account"] for row in csv.DictReader(file)} == {"550000"}


def test_an_incomplete_mapping_is_refused_and_nothing_is_written(
    month_end: Workspace, tmp_path: Path
) -> None:
    mapping = tmp_path / "accounts.toml"
    mapping.write_text(run(month_end, "--mapping-template").stdout, "utf-8")
    with pytest.raises(InputError, match=r"accounts\.toml: .* names no account"):
        run(month_end, "--out", str(tmp_path / "books"), "--mapping", str(mapping))
    assert list((tmp_path / "books").iterdir()) == []


@pytest.mark.parametrize("options", [(), ("--out", "books", "--mapping-template")])
def test_exactly_one_of_two_options_is_required(
    month_end: Workspace, options: tuple[str, ...]
) -> None:
    with pytest.raises(InputError, match="either --out FOLDER or --mapping-template"):
        run(month_end, *options)


def test_a_folder_that_cannot_be_created_is_reported(month_end: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", "utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        run(month_end, "--out", str(tmp_path / "file" / "books"))


@pytest.mark.acceptance
def test_the_method_returns_the_content_that_the_command_writes(
    month_end: Workspace, tmp_path: Path
) -> None:
    books = month_end.accounting("2026-10")
    run(month_end, "--out", str(tmp_path))
    own = books.write_csv(tmp_path / "own.csv")
    assert own.read_bytes() == (tmp_path / "journal.csv").read_bytes()
    own = books.write_beancount(tmp_path / "own.beancount")
    assert own.read_bytes() == (tmp_path / "month.beancount").read_bytes()
