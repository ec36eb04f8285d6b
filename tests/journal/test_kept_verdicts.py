"""Verdicts that are kept at an entry of the journal: with what came after they are all verdicts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from treasury.decisions import kept_verdicts
from treasury.decisions.kept_verdicts import verdicts_at
from treasury.journal import Actor, Journal, decisions

ANNA = Actor("anna", "environment")
VERBS = ("accept", "accept", "reject", "ignore", "assign", "undo")


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep from the third decision on."""
    monkeypatch.setattr(kept_verdicts, "_LATER", 3)


def decide(journal: Journal, random: Random, taken: list[int]) -> None:
    """Decide something about one of a few lines, or take something back, named or not."""
    verb, line = random.choice(VERBS), f"line-{random.randrange(6)}"
    expectations = [f"pay-{n}" for n in range(3) if random.random() < 0.5]
    body: dict[str, object] = {"entry_id": line, "reason": "drawn", "expectation_ids": expectations}
    if verb == "accept" and expectations:
        body["shares"] = dict.fromkeys(expectations, f"{random.randrange(1, 900)}.05")
    if verb == "ignore":
        body["expectation_ids"] = []
    if verb == "undo" and taken and random.random() < 0.7:
        body["undoes"] = random.choice(taken)
    taken.append(journal.append(f"match.{verb}", line, body, actor=ANNA).seq)


@pytest.mark.first_case
@pytest.mark.parametrize("seed", range(12))
def test_what_is_kept_and_what_came_after_are_all_verdicts(tmp_path: Path, seed: int) -> None:
    journal, random, taken = Journal(tmp_path), Random(seed), list[int]()
    file, kept = tmp_path / "settled" / "verdicts.arrow", set[bytes]()
    for _ in range(40):
        decide(journal, random, taken)
        if random.random() < 0.4:
            now = verdicts_at(journal, journal.head(), tmp_path)
            assert now.equals(decisions(journal))
            kept |= {file.read_bytes()} if file.exists() else set()
    assert len(kept) > 1, "they were kept, and kept anew"


def test_what_is_kept_at_a_later_end_is_not_what_was_known(tmp_path: Path) -> None:
    journal, random = Journal(tmp_path), Random(1)
    for _ in range(5):
        decide(journal, random, [])
    before, known = journal.head(), decisions(journal)
    for _ in range(5):
        decide(journal, random, [])
    assert verdicts_at(journal, journal.head(), tmp_path).equals(decisions(journal))
    assert verdicts_at(journal, before, tmp_path).equals(known)


def test_what_another_journal_decided_is_not_read(tmp_path: Path) -> None:
    ours, theirs = Journal(tmp_path / "ours"), Journal(tmp_path / "theirs")
    for seed, journal in enumerate((ours, theirs)):
        random = Random(seed)
        for _ in range(9):
            decide(journal, random, [])
        verdicts_at(journal, journal.head(), tmp_path / f"desk-{seed}")
    other = tmp_path / "desk-1"
    assert (other / "settled" / "verdicts.arrow").exists()
    assert verdicts_at(ours, ours.head(), other).equals(decisions(ours))


def test_a_file_that_is_not_as_it_was_written_counts_as_none(tmp_path: Path) -> None:
    journal, random = Journal(tmp_path), Random(5)
    for _ in range(9):
        decide(journal, random, [])
    known = verdicts_at(journal, journal.head(), tmp_path)
    file = tmp_path / "settled" / "verdicts.arrow"
    content = file.read_bytes()
    for place in Random(2).sample(range(len(content)), 30):
        file.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        assert verdicts_at(journal, journal.head(), tmp_path).equals(known)
    for length in (0, 31, 32, len(content) - 1):
        file.write_bytes(content[:length])
        assert verdicts_at(journal, journal.head(), tmp_path).equals(known)


def test_whoever_may_not_write_is_answered_all_the_same(tmp_path: Path) -> None:
    journal, random = Journal(tmp_path / "journal"), Random(5)
    for _ in range(9):
        decide(journal, random, [])
    (tmp_path / "settled").write_text("in the way", "utf-8")
    assert verdicts_at(journal, journal.head(), tmp_path).equals(decisions(journal))
