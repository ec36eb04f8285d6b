"""The examples of the stage contracts: a small month with lines for every stage of matching."""

from __future__ import annotations

import duckdb
from match_tables import arrow, expectation, line

from treasury.core.tables import duckdb_engine
from treasury.matching.engine.pipeline import load, run
from treasury.matching.input_tables import EXPECTATIONS, LINES, read_table
from treasury.matching.reference_matching import STEPS, read_decisions, rule_tables
from treasury.matching.rules import Rules
from treasury.matching.settled_tables import NOTHING_SETTLED

_KNOWN = {"counterparty_account": "DE11", "counterparty_name": "Acme GmbH"}
EXPECTED = [
    expectation("r1", "PAY-2026-004417", "100"),
    expectation("r2", "PAY-2026-005528", "250"),
    expectation("r3", "PAY-2026-006639", "40"),
    expectation("r4", "PAY-2026-007741", "60"),
    expectation("r5", "PAY-2026-008852", "30"),
    expectation("r6", "PAY-2026-009963", "50"),
    expectation("r7", "PAY-2026-009964", "77"),
    expectation("r8", "PAY-2026-001174", "70"),
    expectation("r9", "PAY-2026-002285", "20"),
    expectation("ra", "PAY-2026-003396", "10"),
    expectation("v1", "VAACME77", None),
]
PAID = [
    line("a", "100", "PAY-2026-004417", 2),
    line("b", "250", "invoice PAY-2026 005528", 3),
    line("c", "40", "PAY-2026-00663", 4),
    line("d", "100", "PAY-2026-007741 PAY-2026-008852 PAY-2026-003396", 5),
    line("e", "77", "PAY-2026-009963", 6),
    line("f", "15", "VAACME77", 7, **_KNOWN, end_to_end_id="ACME-1"),
    line("g", "15", "returned", 8, **_KNOWN, direction="DBIT", end_to_end_id="ACME-1",
         return_reason="AC04"),
    line("h", "5", "VAACME77", 9, **_KNOWN),
    line("i", "45", "thank you", 10, **_KNOWN),
    line("j", "25", "thank you", 11, **_KNOWN),
    line("k", "20", "thanks", 12),
    line("l", "8", "bank fee", 13),
    line("m", "19", "short by charges", 14),
    line("n", "6", "for Acme", 14),
    line("o", "7", "for Acme", 14),
    line("p", "11", "VAACME77", 14, counterparty_account="DE12", end_to_end_id="ACME-2"),
    line("q", "11", "returned", 15, counterparty_account="DE12", direction="DBIT",
         end_to_end_id="ACME-2", return_reason="AC04"),
    line("r", "12", "VAACME77", 14, counterparty_account="DE13", end_to_end_id="ACME-3"),
    line("s", "12", "returned", 16, counterparty_account="DE13", direction="DBIT",
         end_to_end_id="ACME-3", return_reason="AM04"),
]  # fmt: skip
DECIDED = [
    {"entry_id": "l", "expectation_id": None, "verdict": "ignore", "reason": "a charge"},
    {"entry_id": "m", "expectation_id": "r9", "verdict": "accept", "reason": "the payer wrote"},
    {"entry_id": "n", "expectation_id": "v1", "verdict": "accept", "reason": "the payer wrote"},
    {"entry_id": "o", "expectation_id": "v1", "verdict": "accept", "reason": None},
    {"entry_id": "k", "expectation_id": "r1", "verdict": "reject", "reason": "another payer"},
]


def run_example() -> duckdb.DuckDBPyConnection:
    """Run every step on the small month and return the connection with the results."""
    connection = duckdb_engine.connect(one_thread=True)
    tables = {
        "lines": read_table(arrow(PAID), LINES, name="lines"),
        "expectations": read_table(arrow(EXPECTED), EXPECTATIONS, name="expectations"),
        "decisions": read_decisions(arrow(DECIDED)),
    }
    load(connection, {**tables, **NOTHING_SETTLED, **rule_tables(Rules())})
    run(connection, STEPS)
    return connection
