"""CSV exports with unsigned amounts: balances or an answer give the direction."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from camt_samples import rows, write
from csv_samples import OURS

from treasury.statements import Proposal, load_profiles, propose_profile, read_file, to_toml

HEADER = "Datum;Text;Betrag;Saldo"
OLDEST_FIRST = [
    "01.10.2026;a;10,00;110,00",
    "02.10.2026;b;20,00;90,00",
    "03.10.2026;c;5,00;95,00",
]
ONE_DAY = [row.replace("02.10", "01.10").replace("03.10", "01.10") for row in OLDEST_FIRST]
MOVED = [("CRDT", "a"), ("DBIT", "b"), ("CRDT", "c")]


def propose(folder: Path, *lines: str, **answers: str) -> Proposal:
    path = write(folder, "\n".join((*lines, "")), "export.csv")
    return propose_profile(path, account=OURS, answers=answers)


def directions(proposal: Proposal) -> list[tuple[str, str]]:
    return sorted(
        ((way, texts[0]) for way, texts in rows(proposal.entries, "direction", "remittance")),
        key=lambda row: row[1],
    )


@pytest.mark.parametrize(
    "lines",
    [
        ("Anfangssaldo;100,00", HEADER, *OLDEST_FIRST),
        ("Anfangssaldo;100,00", HEADER, *OLDEST_FIRST[::-1]),
        ("Anfangssaldo;100,00", HEADER, *ONE_DAY),
        (HEADER, "01.10.2026;Anfangssaldo;;100,00", *OLDEST_FIRST),
    ],
)
def test_balances_that_connect_from_a_stated_opening_show_every_direction(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    proposal = propose(tmp_path, *lines)
    assert proposal.questions == ()
    assert proposal.profile.positive == "balance"
    assert directions(proposal) == MOVED
    assert proposal.statements["opening_balance"].to_pylist() == [100]


@pytest.mark.parametrize("lines", [OLDEST_FIRST, OLDEST_FIRST[::-1], ONE_DAY])
@pytest.mark.parametrize(("answer", "way", "opening"), [("in", "CRDT", 100), ("out", "DBIT", 120)])
def test_only_the_direction_of_the_oldest_amount_is_asked_without_an_opening_balance(
    tmp_path: Path, lines: list[str], answer: str, way: str, opening: int
) -> None:
    proposal = propose(tmp_path, HEADER, *lines)
    (question,) = proposal.questions
    assert question.name == "sign"
    assert question.text.endswith(": a 10,00")
    assert "but the oldest" in question.text
    assert proposal.entries.num_rows == 0
    answered = propose(tmp_path, HEADER, *lines, sign=answer)
    assert directions(answered) == [(way, "a"), *MOVED[1:]]
    assert answered.statements["opening_balance"].to_pylist() == [opening]


@pytest.mark.parametrize(
    ("text", "is_exact"),
    [
        ("10,00;110,00 20,00;130,00 5,00;135,00", True),
        ("10,00;110,00 20,00;130,00 5,00;136,00", False),
        ("10,00;110,00 20,00;90,00 5,00;96,00", False),
        ("10,00;500,00 20,00;700,00 5,00;125,00", False),
    ],
)
def test_balances_that_do_not_connect_exactly_decide_nothing(
    tmp_path: Path, text: str, is_exact: bool
) -> None:
    lines = [f"0{at}.10.2026;x;{cells}" for at, cells in enumerate(text.split(), 1)]
    proposal = propose(tmp_path, HEADER, *lines)
    assert [question.name for question in proposal.questions] == ["sign"] * (not is_exact)
    assert proposal.entries.num_rows == 3 * is_exact


def test_a_stated_opening_is_not_overruled_by_the_direction_of_later_rows(tmp_path: Path) -> None:
    proposal = propose(tmp_path, "Anfangssaldo;100,00", HEADER, *OLDEST_FIRST[:2])
    assert proposal.questions == ()
    assert directions(proposal) == MOVED[:2]


def test_a_kept_profile_derives_directions_from_the_balances_of_later_files(
    tmp_path: Path,
) -> None:
    profile = propose(tmp_path, HEADER, *OLDEST_FIRST, sign="in").profile
    write(tmp_path, to_toml(profile), "bank.toml")
    later = (
        "Anfangssaldo;95,00", HEADER,
        "04.11.2026;d;1,00;96,00", "05.11.2026;e;6,00;90,00", "06.11.2026;f;3,00;99,00",
    )  # fmt: skip
    path = write(tmp_path, "\n".join((*later, "")), "later.csv")
    file = read_file(path, profiles=load_profiles(tmp_path), account=OURS)
    assert rows(file.entries, "direction", "amount") == [("CRDT", 1), ("DBIT", 6)]
    assert file.lost_count == 1
    assert file.statements["proved"].to_pylist() == [False]
    (proof,) = file.statements["proof"].to_pylist()
    assert "line 5: entry not read: the balances before and after it do not differ by" in proof
    bare = write(tmp_path, "\n".join((*later[1:4], "")), "bare.csv")
    file = read_file(bare, profiles=load_profiles(tmp_path), account=OURS)
    assert rows(file.entries, "direction", "amount") == [("DBIT", Decimal(6))]
    (proof,) = file.statements["proof"].to_pylist()
    assert "no balance before it shows whether it was received or paid" in proof
