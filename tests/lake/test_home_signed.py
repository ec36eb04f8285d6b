"""Signed heads: write access to the home is not enough to add a commit that the team accepts."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from home_samples import add, sharing_of
from lake_samples import CATALOGUE, content
from shared_desks import anna, ben, run, shared_home

from treasury.core.errors import StorageError
from treasury.journal import SignatureRules, Signing
from treasury.journal.signing import make_key
from treasury.lake import Lake
from treasury.lake.home.heads import HomeHead, head_name
from treasury.lake.home.lake_home import LakeHome
from treasury.lake.store.sealed import seal, unseal
from treasury.workspace.upkeep.home_signatures import HomeSignatures

__all__ = ["anna", "ben", "shared_home"]


class Team:
    """Desks on one home, all with the signature rules `rules`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.rules = SignatureRules()

    def enrol(self, *names: str) -> None:
        keys = {name: (make_key(f"file:{self.folder}/{name}.key").public,) for name in names}
        self.rules = SignatureRules(keys={**self.rules.keys, **keys}, required=True)

    def desk(self, name: str, key: str | None = None) -> Lake:
        signing = Signing(f"file:{self.folder}/{key or name}.key", lambda: self.rules)
        home = LakeHome(
            str(self.home), self.folder / name / "lake", environment="sandbox",
            signatures=HomeSignatures(signing),
        )  # fmt: skip
        return Lake(self.folder / name, CATALOGUE, home=home)

    def change(self, number: int, change: Callable[[HomeHead], HomeHead]) -> None:
        """Change a head in the home, as anyone with write access can."""
        path = self.home / head_name(number)
        path.write_bytes(seal(change(unseal(path.read_bytes(), HomeHead))))


@pytest.fixture
def team(tmp_path: Path) -> Team:
    return Team(tmp_path)


@pytest.mark.acceptance
def test_a_head_signed_by_an_enrolled_key_is_pulled(team: Team) -> None:
    team.enrol("anna", "ben")
    anna, ben = team.desk("anna"), team.desk("ben")
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    add(ben, 1, b="OPEN")
    sharing_of(anna).pull()
    assert content(anna) == content(ben)
    head = unseal((team.home / head_name(2)).read_bytes(), HomeHead)
    assert head.public_key in team.rules.keys["ben"]


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda head: msgspec.structs.replace(head, signature="", public_key=""), "is not signed"),
        (lambda head: msgspec.structs.replace(head, by="the boss"), "has a wrong signature"),
        (lambda head: msgspec.structs.replace(head, settings="{}"), "has a wrong signature"),
        (lambda head: msgspec.structs.replace(head, token="0"), "has a wrong signature"),
        (lambda head: msgspec.structs.replace(head, signature="AA=="), "has a wrong signature"),
    ],
    ids=["unsigned", "by", "settings", "token", "signature"],
)
def test_an_unsigned_or_changed_head_is_refused_and_unused(
    team: Team, change: Callable[[HomeHead], HomeHead], why: str
) -> None:
    team.enrol("anna", "ben")
    anna, ben = team.desk("anna"), team.desk("ben")
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    before = content(ben)
    add(anna, 1, a="DONE")
    team.change(2, change)
    with pytest.raises(StorageError, match=f"head 2 .* {why}; it was not used"):
        sharing_of(ben).pull()
    with pytest.raises(StorageError, match=why):
        add(ben, 2, c="OPEN")
    assert content(ben) == before


@pytest.mark.acceptance
def test_a_signed_head_of_another_series_is_refused_behind_an_unsigned_one(team: Team) -> None:
    team.enrol("anna", "ben")
    anna, ben = team.desk("anna"), team.desk("ben")
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    older, other = team.folder / "older", team.folder / "other"
    shutil.copytree(team.home, older)
    for day in (1, 2, 3):
        add(anna, day, **{f"a{day}": "OPEN"})
    team.home.rename(other)
    # The home is restored from a copy, so ben's commit gets a number that anna's commit had.
    older.rename(team.home)
    add(ben, 1, b="OPEN")
    before = content(ben)
    for name in (head_name(3), head_name(4), "manifests", "entries", "lake"):
        if (other / name).is_dir():
            shutil.copytree(other / name, team.home / name, dirs_exist_ok=True)
        else:
            shutil.copy(other / name, team.home / name)
    parent = hashlib.sha256((team.home / head_name(2)).read_bytes()).hexdigest()
    team.change(3, lambda head: msgspec.structs.replace(head, parent=parent, signature=""))
    with pytest.raises(StorageError, match=r"head 4 .* does not follow head 3"):
        sharing_of(ben).pull()
    assert content(ben) == before


def test_a_head_of_a_stranger_or_a_former_colleague_is_refused(team: Team) -> None:
    team.enrol("anna", "ben")
    anna, ben = team.desk("anna"), team.desk("ben")
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    add(anna, 1, a="DONE")
    team.rules = SignatureRules(keys={"ben": team.rules.keys["ben"]}, required=True)
    with pytest.raises(StorageError, match=r"head 2 .* is signed with the unknown key ed25519:"):
        sharing_of(ben).pull()
    with pytest.raises(StorageError, match=r"the policy requires signed heads .* is in no policy"):
        add(anna, 2, b="OPEN")
    with pytest.raises(StorageError, match="there is no signing key here; nothing was pushed"):
        add(team.desk("carl"), 2, b="OPEN")
    assert not (team.home / head_name(3)).exists()


def test_a_team_that_starts_signing_pushes_once_from_the_newest_desk(
    team: Team,
) -> None:
    anna, ben = team.desk("anna"), team.desk("ben")
    add(anna, 0, a="OPEN")
    team.enrol("anna", "ben")
    with pytest.raises(StorageError, match=r"is not signed; .* run `treasury lake push` there"):
        sharing_of(ben).pull()
    assert sharing_of(anna).push().is_new
    assert not sharing_of(anna).push().is_new
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


def test_the_signature_of_a_journal_entry_is_invalid_for_a_head(team: Team) -> None:
    team.enrol("anna")
    signatures = HomeSignatures(Signing(f"file:{team.folder}/anna.key", lambda: team.rules))
    key = Signing(f"file:{team.folder}/anna.key").key()
    assert key is not None
    assert signatures.problem(key.public, key.sign("digest"), "digest") == "has a wrong signature"
    assert signatures.problem(*signatures.sign("digest"), "digest") == ""


@pytest.mark.acceptance
def test_the_policy_of_a_desk_decides_and_the_doctor_reports_refused_heads(
    anna: Path, ben: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    key = make_key("file:~/.config/treasury/signing.key").public
    policy = f'signed = true\n[keys]\nines = "{key}"\n'
    (ben / "policy.toml").write_text(policy)
    printed = run(anna, "sql", "SELECT statement_id FROM statements LIMIT 1", "--format", "csv")
    statement = printed.output.split()[-1].strip('"')
    (tmp_path / ".config" / "treasury" / "signing.key").rename(tmp_path / "away.key")
    done = run(anna, "statements", "withdraw", statement, "--reason", "not ours")
    assert done.exit_code == 0, done.output
    with pytest.raises(StorageError, match="is not signed; it was not used"):
        run(ben, "lake", "pull")
    assert "is not signed; it was not used" in run(ben, "doctor").output
    (tmp_path / "away.key").rename(tmp_path / ".config" / "treasury" / "signing.key")
    (anna / "policy.toml").write_text(policy)
    stands_on = "has no signature that the policy accepts"
    assert stands_on in " ".join(run(anna, "doctor").output.split())
    assert run(anna, "lake", "push").output.startswith("pushed ")
    assert stands_on not in " ".join(run(anna, "doctor").output.split())
    assert run(ben, "lake", "pull").output.startswith("pulled ")


@pytest.mark.acceptance
def test_a_clone_into_a_folder_with_a_policy_accepts_only_signed_heads(
    anna: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    key = make_key("file:~/.config/treasury/signing.key").public
    new = tmp_path / "new"
    new.mkdir()
    for desk in (anna, new):
        (desk / "policy.toml").write_text(f'signed = true\n[keys]\nines = "{key}"\n')
    clone = ["lake", "clone", str(tmp_path / "home"), str(new)]
    with pytest.raises(StorageError, match="is not signed; it was not used"):
        run(anna, *clone)
    assert {path.name for path in new.iterdir()} == {"policy.toml"}
    assert run(anna, "lake", "push").output.startswith("pushed ")
    assert "\npulled " in run(anna, *clone).output
