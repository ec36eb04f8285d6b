"""Benchmark of the share of honest payments that need a decision, by question.

    python -m benchmarks.honest_payments [LINES] [SEEDS]

Honest payers name the right request and pay it in full, in instalments, short by bank charges, or
together with others. Half of the amounts are round, codes are consecutive, and one payer in ten is
a payment institution that pays for several owners. Questions are the numbered reasons why matching
asks a person. The exit code is 1 if question 7 is asked for more than 5 of 1,000 lines, or if a
line is matched to a wrong request.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final

import msgspec
import pyarrow as pa

from treasury.core.tables import duckdb_engine
from treasury.matching.engine import pipeline
from treasury.matching.input_tables import EXPECTATIONS, LINES, read_table
from treasury.matching.reference_matching import STEPS, read_decisions, rule_tables
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED

OWN: Final = "NL05TEST0417164300"
MOST_RIVALS_ASKED: Final = 5
"""Maximum number of lines, out of 1,000, that may be left open by question 7."""
QUESTIONS: Final = {
    1: "the text goes on",
    2: "a second code",
    3: "only a part",
    4: "a slip, or too much",
    5: "another payer",
    6: "no code at all",
    7: "another request's amount, or nothing left",
    None: "none of these",
}
_CENT: Final = Decimal("0.01")
_REQUESTS_OF_AN_OWNER: Final = 5
_STILL_OPEN: Final = 0.25
"""Share of requests not paid yet, and of instalments without the last payment."""


class Honest(msgspec.Struct, frozen=True):
    """Lines and expectations, with the paid requests and the way of paying of each line."""

    lines: list[dict[str, Any]]
    expectations: list[dict[str, Any]]
    pays: dict[str, frozenset[str]]
    ways: dict[str, str]


class Asked(msgspec.Struct, frozen=True):
    """Results for honest lines, and their open questions."""

    lines: int
    matched: int
    wrong: int
    of_question: dict[int | None, int]
    ways: dict[str, tuple[int, int]]
    """For each way of paying, the number of lines, and of lines that need a decision."""


def draw(lines: int, seed: int, *, owners: int | None = None) -> Honest:
    """Draw at least `lines` lines, which pay requests in groups of five with the same owner.

    Each group has its own owner, unless `owners` limits their number.
    """
    random = Random(seed)
    world = Honest([], [], {}, {})
    institution = _account(random)
    number = random.randrange(1_000, 100_000)
    owner = 0
    while len(world.lines) < lines:
        name = f"owner {owner if owners is None else owner % owners}"
        payer = institution if owners is None and random.random() < 0.1 else _payer(name)
        requests = []
        for _ in range(_REQUESTS_OF_AN_OWNER):
            number += random.randrange(1, 4)
            requests.append(_request(f"PAY-2026-{number:06}", name, random))
        world.expectations.extend(requests)
        requests = [row for row in requests if random.random() >= _STILL_OPEN]
        while requests:
            way = random.choices(*zip(*_WAYS.items(), strict=True))[0]
            _pay(world, requests, way, payer, random)
        owner += 1
    return world


_WAYS: Final = {"in full": 45, "instalments": 25, "short by charges": 15, "a bundle": 15}
"""Number of payments, out of 100, for each way of paying."""


def _pay(
    world: Honest, requests: list[dict[str, Any]], way: str, payer: str, random: Random
) -> None:
    """Add the lines of one payment of the next requests."""
    paid = [requests.pop() for _ in range(min(len(requests), 2 if way == "a bundle" else 1))]
    total = sum((row["amount"] for row in paid), Decimal(0))
    more: dict[str, Any] = {}
    amounts = [total]
    if way == "instalments":
        amounts = list(_parts(total, random))
        if random.random() < _STILL_OPEN:
            amounts.pop()
    elif way == "short by charges":
        charges = Decimal(random.choice([500, 850, 1200, 1500, 2500, 3500])).scaleb(-2)
        amounts = [total - charges] if total > charges else [total]
        more = {"charges": charges} if random.random() < 0.5 and total > charges else {}
    text = ", ".join(row["code"] for row in paid)
    day = random.randrange(1, 10)
    for amount in amounts:
        entry_id = f"e{len(world.lines):07}"
        world.lines.append(
            {
                "entry_id": entry_id,
                "account": OWN,
                "amount": amount,
                "currency": "EUR",
                "direction": "CRDT",
                "booking_date": date(2026, 10, min(day, 31)),
                "remittance": f"{text} {random.choice(['', 'thanks', 'invoice', 'rate'])}".strip(),
                "counterparty_account": payer,
            }
            | more
        )
        world.pays[entry_id] = frozenset(row["expectation_id"] for row in paid)
        world.ways[entry_id] = way
        day += random.randrange(5, 10)


def _parts(total: Decimal, random: Random) -> Iterator[Decimal]:
    """Yield two or three instalments, either equal or round ones with a remainder."""
    count = random.choice([2, 3])
    for _ in range(count - 1):
        part = (total / count).quantize(_CENT)
        if random.random() < 0.3 and part > 100:
            part = Decimal(round(part, -2))
        yield part
        total, count = total - part, count - 1
    yield total


def _request(code: str, owner: str, random: Random) -> dict[str, Any]:
    cents = random.randrange(5_000, 2_000_000)
    amount = Decimal(cents).scaleb(-2)
    if random.random() < 0.5:
        amount = Decimal(random.choice([50, 100]) * random.randrange(2, 100))
    return {
        "expectation_id": code,
        "kind": "off_ramp",
        "code": code,
        "account": OWN,
        "amount": amount,
        "currency": "EUR",
        "direction": "CRDT",
        "owner": owner,
        "opened_at": datetime(2026, 9, 20, 9, tzinfo=UTC) + timedelta(days=random.randrange(9)),
        "status": "PROCESSING",
    }


def _payer(owner: str) -> str:
    """Return the account that an owner always pays from."""
    return f"DE{Random(owner).randrange(10**19, 10**20)}"


def _account(random: Random) -> str:
    return f"LT{random.randrange(10**17, 10**18)}"


def measure(world: Honest) -> Asked:
    """Match the lines, and count, for each question, those that it leaves to a person."""
    rules = Rules()
    tables = {
        "lines": read_table(_table(world.lines, LINES), LINES, name="lines"),
        "expectations": read_table(
            _table(world.expectations, EXPECTATIONS), EXPECTATIONS, name="expectations"
        ),
        "decisions": read_decisions(None),
    }
    with duckdb_engine.connect() as connection:
        pipeline.load(connection, {**tables, **NOTHING_SETTLED, **rule_tables(rules)})
        pipeline.run(connection, STEPS)
        asked = connection.execute("SELECT DISTINCT entry_id, question FROM line_doubts").fetchall()
        outcomes = dict(connection.execute("SELECT entry_id, outcome FROM outcomes").fetchall())
        shares = connection.execute("SELECT entry_id, expectation_id FROM allocations").fetchall()
    ways: dict[str, Counter[bool]] = {way: Counter() for way in _WAYS}
    for entry_id, outcome in outcomes.items():
        ways[world.ways[entry_id]][outcome == "matched"] += 1
    return Asked(
        lines=len(outcomes),
        matched=sum(outcome == "matched" for outcome in outcomes.values()),
        wrong=sum(request not in world.pays[entry_id] for entry_id, request in shares),
        of_question=dict(Counter(question for _, question in asked)),
        ways={way: (counts.total(), counts[False]) for way, counts in ways.items()},
    )


def _table(rows: list[dict[str, Any]], fields: Any) -> pa.Table:
    return pa.Table.from_pylist(rows, pa.schema([(field.name, field.type) for field in fields]))


def report(name: str, asked: Asked) -> bool:
    """Print the results; return whether they are within the limits."""
    print(f"{name}: {asked.lines:,} lines, {asked.matched / asked.lines:.2%} matched, "
          f"{asked.wrong} to another request")  # fmt: skip
    for way, (lines, left) in asked.ways.items():
        print(f"  {way:20} {lines:8,} lines {left:6,} need a decision")
    for question, words in QUESTIONS.items():
        count = asked.of_question.get(question, 0)
        share = 1000 * count / asked.lines
        print(f"  question {question or '-'} {words:44} {count:6,} {share:7.2f} of 1,000")
    rivals = asked.of_question.get(7, 0)
    return asked.wrong == 0 and 1000 * rivals <= MOST_RIVALS_ASKED * asked.lines


def main(lines: int = 20_000, seeds: int = 3) -> int:
    """Measure sets with many owners, and a set with a single owner and payer."""
    kept = [report(f"many owners, set {n}", measure(draw(lines, n))) for n in range(1, seeds + 1)]
    kept.append(report("one owner and payer", measure(draw(lines, 1, owners=1))))
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
