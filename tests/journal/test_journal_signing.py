"""Signatures prove the author of an entry, even if the whole chain was rebuilt."""

from __future__ import annotations

import base64
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import keyring
import keyring.backend
import keyring.errors
import pytest
import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from treasury.actions.action_history import ActionBook
from treasury.core.errors import ActionRefused, InputError, JournalError, SettingsError
from treasury.journal import Actor, Draft, Head, Journal, SignatureRules, Signing, signing
from treasury.journal.chain import FIRST, entry_hash, signed_hash
from treasury.journal.journal_schema import entries
from treasury.journal.signing import SigningKey, load_key, make_key, public_key

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
INES, JONAS = Actor("ines", "hub", "verified"), Actor("jonas", "hub", "verified")
Desk = Callable[..., Journal]


@pytest.fixture
def desk(url: str, tmp_path: Path) -> Iterator[Desk]:
    """Yield a function that opens the journal with a person's key and with signature rules."""
    opened: list[Journal] = []

    def of(person: str | None, rules: SignatureRules | None = None) -> Journal:
        place = None if person is None else place_of(tmp_path, person)
        signing = Signing(place, lambda: rules or SignatureRules())
        opened.append(Journal(url, now=lambda: NOON, signing=signing))
        return opened[-1]

    yield of
    for one in opened:
        one.close()


def place_of(tmp_path: Path, person: str) -> str:
    return f"file:{tmp_path / 'keys' / person}"


def keys_of(tmp_path: Path, *people: str) -> dict[str, tuple[str, ...]]:
    return {one: (make_key(place_of(tmp_path, one)).public,) for one in people}


def states(journal: Journal, rules: SignatureRules) -> list[str]:
    return [str(one) for one in journal.signatures(rules).values()]


def rewrite(url: str, change: Callable[[dict[str, Any]], object], key: SigningKey | None) -> None:
    """Change every entry and rebuild the chain, as anyone with write access to the database can."""
    engine = sa.create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        rows = [
            dict(row)
            for row in connection.execute(sa.select(entries).order_by(entries.c.seq)).mappings()
        ]
        if url.startswith("sqlite"):
            for name in ("entries_no_update", "entries_no_delete", "entries_in_order"):
                connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}")
        else:
            connection.exec_driver_sql("ALTER TABLE entries DISABLE TRIGGER ALL")
        connection.execute(sa.delete(entries))
        connection.execute(sa.insert(entries), chained(rows, change, key))


def chained(
    rows: Sequence[dict[str, Any]],
    change: Callable[[dict[str, Any]], object],
    key: SigningKey | None,
) -> list[dict[str, Any]]:
    """Return the rows with `change` applied and a new hash chain, signed if a key is given."""
    before = FIRST
    for row in rows:
        change(row)
        row["prev_hash"] = before
        if key is not None:
            row["public_key"] = key.public
            row["signature"] = key.sign(signed_hash(row))
        row["hash"] = before = entry_hash(**{n: row[n] for n in row if n != "hash"})
    return list(rows)


@pytest.mark.first_case
def test_an_entry_is_signed_by_its_persons_key_or_marked_unsigned(
    desk: Desk, tmp_path: Path
) -> None:
    rules = SignatureRules(keys=keys_of(tmp_path, "ines", "jonas"))
    signed = desk("ines").append("x", "1", {"amount": 1}, actor=INES)
    desk("jonas").append("x", "2", {}, actor=JONAS)
    desk(None).append("x", "3", {}, actor=INES)
    desk("ines").append("x", "4", {}, actor=JONAS)
    journal = desk(None)
    assert states(journal, rules) == [
        "valid, by ines",
        "valid, by jonas",
        "unsigned",
        "another's key, by ines",
    ]
    assert states(journal, SignatureRules())[0] == f"unknown key, by {signed.public_key}"
    assert journal.verify().seq == 4
    assert journal.entries()[0] == signed


@pytest.mark.first_case
def test_a_rebuilt_chain_is_complete_but_its_signatures_are_invalid(
    desk: Desk, url: str, tmp_path: Path
) -> None:
    rules = SignatureRules(keys=keys_of(tmp_path, "ines"), required=True)
    for number in range(3):
        desk("ines").append("x", str(number), {"n": number}, actor=INES)

    def change(row: dict[str, Any]) -> None:
        row["subject"] = f"other {row['seq']}"

    rewrite(url, change, None)
    journal = desk(None)
    # The chain alone does not show the change.
    assert journal.verify().seq == 3
    assert states(journal, rules) == ["wrong, by ines"] * 3
    with pytest.raises(JournalError, match=r"entry 1 by ines is not signed .*: wrong, by ines"):
        desk("ines", rules).verify()
    stranger = make_key(place_of(tmp_path, "stranger"))
    rewrite(url, change, stranger)
    assert {one.state for one in journal.signatures(rules).values()} == {"unknown key"}
    with pytest.raises(JournalError, match="entry 1 by ines is not signed"):
        desk("ines", rules).verify()


@pytest.mark.parametrize("column", ["assurance", "public_key", "signature"])
def test_identity_level_and_signature_cannot_be_changed_undetected(
    tmp_path: Path, column: str
) -> None:
    journal = Journal(
        tmp_path, signing=Signing(f"file:{tmp_path / 'key'}", SignatureRules), now=lambda: NOON
    )
    make_key(f"file:{tmp_path / 'key'}")
    journal.append("x", "y", {}, actor=INES)
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as shell, shell:
        shell.execute("DROP TRIGGER entries_no_update")
        shell.execute(f"UPDATE entries SET {column} = NULL")
    with pytest.raises(JournalError, match="entry 1 was changed"):
        journal.verify()


@pytest.mark.first_case
def test_an_unsigned_decision_is_refused_if_signatures_are_required(
    desk: Desk, tmp_path: Path
) -> None:
    keys = keys_of(tmp_path, "ines", "jonas")
    rules = SignatureRules(keys={"ines": keys["ines"]}, required=True)
    with pytest.raises(ActionRefused, match="cannot sign: there is no signing key here"):
        desk(None, rules).append("x", "y", {}, actor=INES)
    with pytest.raises(ActionRefused, match="cannot sign: the policy does not have the key"):
        desk("jonas", rules).append("x", "y", {}, actor=JONAS)
    with pytest.raises(ActionRefused, match="the key here is that of ines"):
        desk("ines", rules).append("x", "y", {}, actor=JONAS)
    assert desk("ines", rules).append("x", "y", {}, actor=INES).seq == 1
    # An event is journaled even without a key.
    noted = desk(None, rules).extend([Draft("action.done", "A-1", {}, INES)], happened=True)
    assert noted is not None
    assert noted[0].signature is None


@pytest.mark.first_case
def test_an_inserted_unsigned_approval_stops_every_decision(desk: Desk, tmp_path: Path) -> None:
    rules = SignatureRules(keys=keys_of(tmp_path, "ines", "jonas"), required=True, after=1)
    desk(None).append("x", "before signatures", {}, actor=INES)
    desk("ines", rules).append("action.proposed", "A-1", {}, actor=INES)
    # The chain stays valid with this entry.
    desk(None).append("action.approved", "A-1", {}, actor=JONAS)
    journal = desk("ines", rules)
    added, wrong = journal.follow(journal.head())
    assert (added, wrong) == ([], None)
    _, wrong = journal.follow(Head(0, FIRST))
    assert wrong is not None
    assert "entry 3 by jonas is not signed as the policy requires: unsigned" in wrong.what
    with pytest.raises(JournalError, match="entry 3 by jonas"):
        journal.verify()
    assert desk(None).verify().seq == 3


def test_a_temporarily_unreadable_policy_does_not_lose_a_recorded_outcome(
    tmp_path: Path,
) -> None:
    readable = [SignatureRules(), None]

    def load() -> SignatureRules:
        rules = readable.pop(0) if len(readable) > 1 else readable[0]
        if rules is None:
            raise SettingsError("policy.toml does not read")
        return rules

    journal = Journal(tmp_path, signing=Signing(None, load))
    journal.append("x", "y", {}, actor=INES)
    book = ActionBook(journal)
    book.refresh()
    book.note([Draft("action.done", "A-1", {}, INES)])
    assert [entry.kind for entry in journal.entries()] == ["x", "action.done"]
    with pytest.raises(SettingsError, match="does not read"):
        Journal(tmp_path, signing=Signing(None, load)).append("x", "y", {}, actor=INES)


@pytest.mark.first_case
def test_an_unsigned_record_stops_the_next_decision(desk: Desk, tmp_path: Path) -> None:
    rules = SignatureRules(keys=keys_of(tmp_path, "ines", "jonas"), required=True)
    journal = desk("ines", rules)
    journal.append("action.sending", "A-1", {}, actor=INES)
    [noted] = journal.note([Draft("action.done", "A-1", {}, INES)])
    assert noted.signature is not None
    assert journal.append("x", "y", {}, actor=INES).seq == 3
    [unsigned] = journal.note([Draft("action.done", "A-2", {}, JONAS)])
    assert (unsigned.seq, unsigned.public_key, unsigned.signature) == (4, None, None)
    for one in (journal, desk("ines", rules)):
        with pytest.raises(JournalError, match=r"entry 4 by jonas is not signed .*: unsigned"):
            one.append("x", "z", {}, actor=INES)
    assert journal.note([Draft("action.done", "A-3", {}, INES)])[0].seq == 5


@pytest.mark.first_case
@pytest.mark.parametrize("thorough", [False, True])
def test_stricter_rules_apply_to_entries_verified_before(
    url: str, tmp_path: Path, *, thorough: bool
) -> None:
    place, keys = place_of(tmp_path, "ines"), keys_of(tmp_path, "ines")
    rules = [SignatureRules(keys=keys)]
    journal = Journal(url, now=lambda: NOON, signing=Signing(place, lambda: rules[-1]))
    journal.append("x", "1", {}, actor=JONAS)
    decision = [Draft("x", "2", {}, INES)]
    assert journal.decide(lambda _: decision, thorough=thorough)[0].seq == 2
    rules.append(SignatureRules(keys=keys, required=True))
    with pytest.raises(JournalError, match=r"entry 1 by jonas is not signed .*: another's key"):
        journal.decide(lambda _: decision, thorough=thorough)
    rules.append(SignatureRules(keys=keys, required=True, after=1))
    assert journal.decide(lambda _: decision, thorough=thorough)[0].seq == 3
    journal.close()


def test_an_unreadable_key_does_not_lose_a_recorded_outcome(tmp_path: Path) -> None:
    place = place_of(tmp_path, "ines")
    make_key(place)
    (tmp_path / "keys" / "ines").chmod(0o640)
    journal = Journal(tmp_path / "desk", signing=Signing(place))
    with pytest.raises(SettingsError, match="can be read by others"):
        journal.append("x", "y", {}, actor=INES)
    assert journal.note([Draft("action.done", "A-1", {}, INES)])[0].signature is None
    (tmp_path / "keys" / "ines").chmod(0o600)
    assert journal.append("x", "y", {}, actor=INES).signature is not None


def test_a_key_is_created_once_and_readable_by_its_person_only(tmp_path: Path) -> None:
    place = f"file:{tmp_path / 'deep' / 'signing.key'}"
    made = make_key(place)
    path = tmp_path / "deep" / "signing.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o077 == 0
    loaded = load_key(place)
    assert loaded is not None
    assert loaded.public == made.public == public_key(f" {made.public}\n")
    assert path.read_text().split(":")[1].strip() not in repr(loaded) + made.public
    with pytest.raises(InputError, match="already has a key"):
        make_key(place)
    path.chmod(0o640)
    with pytest.raises(SettingsError, match="can be read by others"):
        load_key(place)
    path.chmod(0o600)
    path.write_text("not a key")
    with pytest.raises(SettingsError, match="is not a valid key"):
        load_key(place)
    os.remove(path)
    assert load_key(place) is None
    os.mkfifo(path, 0o600)
    with pytest.raises(SettingsError, match="is not a file"):
        load_key(place)


class Kept(keyring.backend.KeyringBackend):
    """A keyring in this process's memory."""

    priority = 1.0  # type: ignore[assignment]

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


class Locked(Kept):
    """A locked keyring."""

    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.KeyringLocked(f"{service} of {username} is locked")


def test_a_locked_keyring_is_not_mistaken_for_one_without_a_key() -> None:
    before, ring = keyring.get_keyring(), Locked()
    keyring.set_keyring(ring)
    try:
        for ask in (load_key, make_key):
            with pytest.raises(SettingsError, match=r"does not answer \(KeyringLocked\)"):
                ask("keyring:treasury/ines")
        assert ring.kept == {}
    finally:
        keyring.set_keyring(before)


class Broken(Kept):
    """A keyring that fails with an exception that is not one of `keyring`."""

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError(f"no bus for {service}: {password}")


def test_a_keyring_without_a_backend_or_with_a_broken_one_takes_no_key() -> None:
    before = keyring.get_keyring()
    try:
        keyring.set_keyring(Broken())
        with pytest.raises(SettingsError, match=r"does not accept the key: RuntimeError") as caught:
            make_key("keyring:treasury/ines")
        assert "ed25519" not in str(caught.value)
        keyring.set_keyring(keyring.backends.fail.Keyring())
        for ask in (load_key, make_key):
            with pytest.raises(SettingsError, match="this machine has no keyring"):
                ask("keyring:treasury/ines")
    finally:
        keyring.set_keyring(before)


def test_a_key_may_be_in_the_keyring() -> None:
    before, ring = keyring.get_keyring(), Kept()
    keyring.set_keyring(ring)
    try:
        assert load_key("keyring:treasury/ines") is None
        made = make_key("keyring:treasury/ines")
        assert list(ring.kept) == [("treasury", "ines")]
        loaded = load_key("keyring:treasury/ines")
        assert loaded is not None
        assert loaded.public == made.public
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize(
    "text", ["", "ed25519:", "ed25519:AAAA", "rsa:AAAA", "ed25519:é", "x" * 99]
)
def test_an_invalid_public_key_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not a public key"):
        public_key(text)


@pytest.mark.parametrize("sign", [0, 1 << 255], ids=["even", "odd"])
@pytest.mark.parametrize("beyond", [0, 1], ids=["canonical", "not canonical"])
def test_a_public_key_with_which_anybody_could_sign_is_refused(sign: int, beyond: int) -> None:
    prime = 2**255 - 19
    order_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
    for y in (0, 1, prime - 1, order_8, prime - order_8):
        number = y + beyond * prime
        if number >= 1 << 255:
            continue
        raw = (number | sign).to_bytes(32, "little")
        with pytest.raises(InputError, match="anybody could sign"):
            public_key("ed25519:" + base64.b64encode(raw).decode())


def test_a_signature_under_a_key_of_small_order_is_invalid() -> None:
    # The neutral element as key and as R, with S = 0, is a valid signature of every content.
    neutral = (1).to_bytes(32, "little")
    signature, key = (base64.b64encode(raw).decode() for raw in (neutral + bytes(32), neutral))
    assert signing.is_signature(signature, "any digest", f"ed25519:{key}") is False
