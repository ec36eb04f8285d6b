"""Benchmark of cash application: customers' credits matched to consecutively numbered invoices.

    python -m benchmarks.cash_application [SEED ...]

Each seed gives a thousand lines from eighty customers. A line names one or several invoices: in
full, with leading zeros added or dropped, after a label, or next to an invoice that it does not
pay. A few lines name no invoice. The amount may be short by the charges of the transfer, or be half
of the invoice. The correct answer for a line is the set of its invoices. `SHAPES` has the shares of
these lines; no rule was tuned to single lines.

Prints for each seed: automatic matches, wrong ones among them, precision, the share of lines
matched to all their invoices (recall), and how often the first candidate is one of the invoices or
the match is correct.
"""

from __future__ import annotations

import sys
from datetime import date, timedelta
from decimal import Decimal
from random import Random
from typing import Final

import msgspec

from benchmarks.hostile_sets import lines_table, requests_table
from treasury import match_references

SEEDS: Final = (401, 402, 403)
LINES: Final = 1_000
CUSTOMERS: Final = 80
INVOICES: Final = 2_400
SHAPES: Final = {
    "whole": 26,
    "zeros dropped": 14,
    "zeros added": 4,
    "label apart": 6,
    "several": 12,
    "several, zeros dropped": 6,
    "noise beside it": 10,
    "charges taken off": 8,
    "sum less charges": 6,
    "part payment": 4,
    "nothing named": 4,
}
"""Number of lines, out of 100, for each way to write a reference."""
_CHARGES: Final = (Decimal("5.00"), Decimal("15.00"), Decimal("25.00"))


class Paid(msgspec.Struct, frozen=True):
    """A line's text and amount, and the numbers of the invoices that it pays."""

    text: str
    amount: Decimal
    invoices: tuple[int, ...]


class Score(msgspec.Struct, frozen=True):
    """The results of one seed."""

    matched: int
    wrong: int
    first: int
    lines: int

    @property
    def row(self) -> str:
        """Return the results as a row of the table."""
        right = self.matched - self.wrong
        precision = right / self.matched if self.matched else 1.0
        return (
            f"{self.matched:>8,} {self.wrong:>6,} {precision:>10.3f} {right / self.lines:>7.3f}"
            f" {self.first / self.lines:>12.3f}"
        )


def code_of(number: int) -> str:
    """Return an invoice's number as the records write it."""
    return f"INV-{number:05d}"


def written(random: Random, shape: str, own: list[int], amounts: dict[int, Decimal]) -> Paid:
    """Return one line of a customer who owes the invoices `own`."""
    count = random.choice((2, 2, 3)) if shape.startswith(("several", "sum")) else 1
    paid = tuple(own[:count])
    total = sum((amounts[number] for number in paid), Decimal(0))
    code = code_of(paid[0])
    noise = random.choice(("Less credit", "Partial payment -"))
    text = {
        "whole": f"{code} thank you",
        "zeros dropped": f"Payment INV-{paid[0]}",
        "zeros added": f"INV-{paid[0]:07d} settled",
        "label apart": f"Inv #{paid[0]}",
        "several": " ".join(map(code_of, paid)),
        "sum less charges": " ".join(map(code_of, paid)),
        "several, zeros dropped": ", ".join(f"INV-{number}" for number in paid),
        "noise beside it": f"{code} {noise} {code_of(own[-1])}",
        "nothing named": "as agreed by telephone",
    }.get(shape, code)
    if shape in {"charges taken off", "sum less charges"}:
        total -= random.choice(_CHARGES)
    elif shape == "part payment":
        total = (total / 2).quantize(Decimal("0.01"))
    return Paid(text, total, paid)


def draw(seed: int) -> tuple[list[Paid], dict[int, Decimal], list[int]]:
    """Return the lines of a seed, the amounts of the invoices, and the customer of each line."""
    random = Random(seed)
    amounts = {
        number: Decimal(random.randrange(5_000, 900_000)).scaleb(-2)
        for number in range(1, INVOICES + 1)
    }
    numbers = list(amounts)
    random.shuffle(numbers)
    shapes = random.choices(list(SHAPES), list(SHAPES.values()), k=LINES)
    lines, customers, place = [], [], 0
    for shape in shapes:
        if place + 4 > len(numbers):
            place = 0
        own = numbers[place : place + 4]
        paid = written(random, shape, own, amounts)
        place += len(paid.invoices)
        lines.append(paid)
        customers.append(random.randrange(CUSTOMERS))
    return lines, amounts, customers


def score(seed: int) -> Score:
    """Match the lines of one seed, and count the correct results."""
    lines, amounts, customers = draw(seed)
    names: list[object] = [f"Customer {customer:02d} Trading" for customer in customers]
    days: list[object] = [date(2026, 10, 1) + timedelta(days=n % 31) for n in range(LINES)]
    matches = match_references(
        lines_table(
            [line.text for line in lines], [line.amount for line in lines],
            counterparty_name=names, booking_date=days,
            counterparty_account=[f"LT{customer:018d}" for customer in customers],
        ),
        requests_table([code_of(number) for number in amounts], [*amounts.values()]),
    )  # fmt: skip
    # The expectation of invoice N is "r" and N - 1, as `requests_table` numbers its rows.
    truth = {f"e{n}": {f"r{i - 1}" for i in line.invoices} for n, line in enumerate(lines)}
    shares: dict[str, set[str]] = {}
    for row in matches.allocations.arrow.to_pylist():
        shares.setdefault(row["entry_id"], set()).add(row["expectation_id"])
    matched = [r["entry_id"] for r in matches.lines.arrow.to_pylist() if r["outcome"] == "matched"]
    wrong = sum(shares.get(entry, set()) != truth[entry] for entry in matched)
    first = {
        row["entry_id"]: row["expectation_id"]
        for row in matches.candidates.arrow.to_pylist()
        if row["rank"] == 1
    }
    right_first = sum(
        first.get(entry) in invoices or shares.get(entry) == invoices
        for entry, invoices in truth.items()
    )
    return Score(len(matched), wrong, right_first, LINES)


def main(seeds: tuple[int, ...]) -> None:
    """Print a row for each seed."""
    print("of 100 lines:", ", ".join(f"{share} {shape}" for shape, share in SHAPES.items()))
    print(f"{'seed':>6} {'matched':>8} {'wrong':>6} {'precision':>10} {'recall':>7} {'first':>12}")
    for seed in seeds:
        print(f"{seed:>6} {score(seed).row}")


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SEEDS)
