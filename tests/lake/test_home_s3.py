"""A home on an S3 server in a separate process: credentials, refusals and failures."""

from __future__ import annotations

import json
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4
from xml.etree import ElementTree as ET

import pytest
from careless_s3 import careless
from click.testing import CliRunner
from home_samples import add, shared_lake, sharing_of
from lake_samples import content, day
from s3_server import BUCKET, SECRET, environment, free_port, s3_server
from shared_desks import run

from treasury.cli import treasury
from treasury.core.errors import (
    CommitOvertaken,
    HomeReadOnly,
    HomeUnreachable,
    StorageError,
    WorkspaceDamaged,
)
from treasury.core.settings import FILE_NAME
from treasury.workspace import Workspace

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with s3_server() as url:
        yield url


def signed_in(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    """Set the environment variables of an S3 credential, and remove all others."""
    for name in (
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_ENDPOINT_URL",
        "AWS_REGION",
        "AWS_ALLOW_HTTP",
    ):
        monkeypatch.delenv(name, raising=False)
    for name, text in variables.items():
        monkeypatch.setenv(name, text)


@pytest.fixture
def home(server: str, monkeypatch: pytest.MonkeyPatch) -> str:
    signed_in(monkeypatch, environment(server))
    return f"s3://{BUCKET}/{uuid4().hex}/lake"


def test_two_desks_share_a_lake_through_s3(tmp_path: Path, home: str) -> None:
    said: list[str] = []
    anna = shared_lake(tmp_path / "anna", home, tell=said.append)
    ben = shared_lake(tmp_path / "ben", home)
    for number in range(8):
        add(anna, number, a="HELD" if number % 2 else "OPEN", b="DONE")
    anna.pin("the close", day(9))
    pulled = sharing_of(ben).pull()
    assert (pulled.heads, pulled.number) == (9, 9)
    assert content(ben) == content(anna)
    assert [pin.commit.number for pin in ben.pins()] == [8]
    turns = iter([lambda: add(ben, 20, c="OPEN"), lambda: None])

    def work() -> None:
        next(turns)()
        with anna.writer("sync", day(21)):
            pass

    anna.again(work, "sync")
    assert any("commit 9 (sync) by" in text for text in said)
    sharing_of(ben).pull()
    assert content(ben) == content(anna)
    assert sharing_of(anna).sweep().objects == 0


def test_a_wrong_object_is_found_by_its_hash(tmp_path: Path, home: str) -> None:
    import obstore
    from obstore.store import from_url

    anna, ben = shared_lake(tmp_path / "anna", home), shared_lake(tmp_path / "ben", home)
    add(anna, 0, a="OPEN")
    store = from_url(home)
    name = next(
        entry["path"]
        for batch in obstore.list(store, "lake/requests/is_open=true")
        for entry in batch
    )
    whole = bytes(obstore.get(store, name).bytes())
    for wrong, words in (
        (whole[:-20], "bytes, not the"),
        (whole[::-1], "was changed after it was written"),
    ):
        obstore.put(store, name, wrong)
        with pytest.raises(WorkspaceDamaged, match=words):
            sharing_of(ben).pull()
    obstore.put(store, name, whole)
    sharing_of(ben).pull()
    assert content(ben) == content(anna)


def test_a_home_where_a_second_create_succeeds_is_refused_at_the_first_push(
    tmp_path: Path, home: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = shared_lake(tmp_path / "anna", home)
    with careless(server) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        for verb in (lambda: add(anna, 0, a="OPEN"), sharing_of(anna).push):
            with pytest.raises(StorageError, match="lets an object be created twice"):
                verb()
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    assert not shared_lake(tmp_path / "ben", home).sharing.pull().heads  # type: ignore[union-attr]


def test_a_create_with_a_lost_response_counts_by_its_effect(
    tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that retries after a lost answer learns that its own object already exists."""
    from treasury.lake.home.object_place import ObjectPlace

    create = ObjectPlace.create

    def asked_twice(place: ObjectPlace, name: str, content: bytes) -> bool:
        first = create(place, name, content)
        return create(place, name, content) if name.startswith("heads/") else first

    monkeypatch.setattr(ObjectPlace, "create", asked_twice)
    anna = shared_lake(tmp_path / "anna", home)
    add(anna, 0, a="OPEN")
    assert sharing_of(anna).home.note().number == 1


def test_a_desk_continues_without_a_network(
    tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch, server: str
) -> None:
    said: list[str] = []
    anna = shared_lake(tmp_path / "anna", home, tell=said.append)
    add(anna, 0, a="OPEN")
    before = content(anna)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    away = shared_lake(tmp_path / "anna", home, tell=said.append)
    with pytest.raises(HomeUnreachable, match="does not answer - check the network"):
        sharing_of(away).pull()
    assert content(away) == before
    add(away, 1, b="OPEN")
    assert content(away) == before
    assert "staged" in said[-1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", server)
    back = shared_lake(tmp_path / "anna", home)
    sharing_of(back).push()
    assert content(back) != before


@pytest.fixture(scope="module")
def guarded() -> Iterator[tuple[str, dict[str, dict[str, str]]]]:
    """Run a server that checks credentials; yield its address, and variables for two users."""
    with s3_server({"INITIAL_NO_AUTH_ACTION_COUNT": "7"}) as url:
        users = {}
        rights = {"writer": ["s3:*"], "reader": ["s3:GetObject", "s3:ListBucket"]}
        for name, actions in rights.items():
            asked(url, Action="CreateUser", UserName=name)
            statement = {"Effect": "Allow", "Action": actions, "Resource": "*"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
            asked(url, Action="PutUserPolicy", UserName=name, PolicyName="p", PolicyDocument=policy)
            answer = asked(url, Action="CreateAccessKey", UserName=name)
            key, secret = (
                next(e.text for e in answer.iter() if e.tag.endswith(tag)) or ""
                for tag in ("}AccessKeyId", "}SecretAccessKey")
            )
            users[name] = environment(url, key, secret)
        yield url, users


def asked(url: str, **fields: str) -> Any:
    body = urllib.parse.urlencode({**fields, "Version": "2010-05-08"}).encode()
    scope = "x/20260101/us-east-1/iam/aws4_request"
    header = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=h, Signature=s"
    request = urllib.request.Request(url, body, {"Authorization": header})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return ET.fromstring(answer.read())


def test_a_reader_pulls_and_learns_who_may_write(
    tmp_path: Path, guarded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, users = guarded
    home = f"s3://{BUCKET}/{uuid4().hex}"
    signed_in(monkeypatch, users["writer"])
    anna = shared_lake(tmp_path / "anna", home)
    add(anna, 0, a="OPEN")
    writer = sharing_of(anna).home.by
    signed_in(monkeypatch, users["reader"])
    ben = shared_lake(tmp_path / "ben", home)
    sharing_of(ben).pull()
    before = content(ben)
    assert before == content(anna)
    for verb in (
        lambda: add(ben, 1, b="OPEN"),
        lambda: ben.pin("mine", day(2)),
        sharing_of(ben).push,
        ben.require_writable,
    ):
        with pytest.raises(HomeReadOnly, match="may be read with your credential") as refused:
            verb()
        assert writer in str(refused.value)
    assert content(ben) == before
    assert not ben.pins()
    assert not (ben.folder / "staged.json").exists()


def test_a_reader_clones_reconciles_and_reports(
    month_end: Workspace, tmp_path: Path, guarded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that would write change nothing and refer to the permitted writers."""
    _, users = guarded
    home = f"s3://{BUCKET}/{uuid4().hex}"
    signed_in(monkeypatch, users["writer"])
    anna, ben = shutil.copytree(month_end.folder, tmp_path / "anna"), tmp_path / "ben"
    with (anna / FILE_NAME).open("a") as settings:
        settings.write(f'\n[lake]\nhome = "{home}"\n')
    run(anna, "lake", "push")
    name = str(Workspace(anna).statements.list().arrow.to_pylist()[0]["statement_id"])
    signed_in(monkeypatch, users["reader"])
    cloned = CliRunner().invoke(treasury, ["lake", "clone", home, str(ben)])
    assert "pulled " in cloned.output, cloned.output
    shutil.copy(anna / "rules.toml", ben)
    for verb in (["reconcile", "2026-10"], ["exceptions"], ["fees", "2026-10"], ["status"]):
        printed = [run(desk, *verb, "--format", "csv").stdout_bytes for desk in (anna, ben)]
        assert printed[0] == printed[1], verb
    assert run(ben, "close", "2026-10", "--out", str(tmp_path / "draft")).exit_code == 0
    assert (tmp_path / "draft" / "report.html").stat().st_size > 10_000
    before, journal = Workspace(ben).lake.last_commit(), Workspace(ben).journal.entries()
    bank_file = str(next((anna / "bank").glob("*.xml")))
    for verb in (
        ["statements", "add", bank_file],
        ["statements", "withdraw", name, "--reason", "not ours"],
        ["lake", "pin", "--why", "mine"],
        ["lake", "push"],
    ):
        refused = CliRunner().invoke(treasury, ["-w", str(ben), *verb], input="y\n")
        assert isinstance(refused.exception, HomeReadOnly), (verb, refused.output)
        assert "ask one of its writers to do it: " in str(refused.exception)
    with pytest.raises(HomeReadOnly, match="ask one of its writers"):
        Workspace(ben).lake.sharing.sweep()  # type: ignore[union-attr]
    assert Workspace(ben).lake.last_commit() == before
    assert Workspace(ben).journal.entries() == journal
    assert Workspace(ben).lake.pins() == []
    assert "ok" in run(ben, "doctor").output


def test_a_refused_missing_or_expired_credential_is_one_line(
    tmp_path: Path, guarded: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, users = guarded
    home = f"s3://{BUCKET}/{uuid4().hex}"
    signed_in(monkeypatch, users["writer"])
    anna = shared_lake(tmp_path / "anna", home)
    add(anna, 0, a="OPEN")
    before = content(anna)
    missing = {"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true"}
    wrong_secret = {**users["writer"], "AWS_SECRET_ACCESS_KEY": SECRET}
    no_bucket = users["writer"]
    for variables, place, words in (
        (environment(url, "AKIANOBODYNOBODYNOBO"), home, "refuses the credential"),
        (wrong_secret, home, "refuses the credential"),
        (missing, home, "no credential"),
        (no_bucket, "s3://no-such-bucket/x", "is not there"),
    ):
        signed_in(monkeypatch, variables)
        desk = shared_lake(tmp_path / "anna", place)
        with pytest.raises(HomeUnreachable, match=words) as refused:
            sharing_of(desk).home.place.read("heads/000000000001")
        text = str(refused.value)
        assert SECRET not in text
        assert users["writer"]["AWS_SECRET_ACCESS_KEY"] not in text
        assert refused.value.__cause__ is None
        assert "\n" not in text
        assert content(desk) == before


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("status code: 400 <Code>ExpiredToken</Code> the token AQoDYXdz", "it has expired"),
        ("status code: 401 Unauthorized sig=abc", "it is unknown there"),
        ("status code: 403 <Code>RequestExpired</Code>", "it has expired"),
        ("status code: 503 Slow down sig=abc", "answers with 503"),
    ],
)
def test_no_error_repeats_the_services_text(answer: str, words: str) -> None:
    from obstore.exceptions import GenericError

    from treasury.lake.home.object_place import reaching

    with pytest.raises(HomeUnreachable, match=words) as refused, reaching("s3://b/x"):
        raise GenericError(answer)
    assert "AQoD" not in str(refused.value)
    assert "sig=" not in str(refused.value)


def test_the_second_writer_is_refused_on_s3(tmp_path: Path, home: str) -> None:
    anna, ben = shared_lake(tmp_path / "anna", home), shared_lake(tmp_path / "ben", home)
    add(anna, 0, a="OPEN")
    sharing_of(ben).pull()
    add(anna, 1, b="OPEN")
    with pytest.raises(CommitOvertaken), ben.writer("sync", day(1)):
        pass
