"""Expectations that may still receive money."""

from __future__ import annotations

import duckdb

from treasury.matching.engine.pipeline import steps_of
from treasury.matching.reference_matching import PACKAGE

GIVEN = """
CREATE TABLE expectations AS
SELECT id AS expectation_id, 'request' AS kind, NULL::VARCHAR AS account, 'EUR' AS currency,
    'CRDT' AS direction, amount::DECIMAL(38, 18) AS amount, NULL::VARCHAR AS counterparty_account,
    NULL::VARCHAR AS counterparty_name, NULL::TIMESTAMPTZ AS opened_at,
    NULL::TIMESTAMPTZ AS closed_at, status
FROM (VALUES ('unpaid', 5, 'OPEN'), ('nothing', 0, 'OPEN'), ('standing', NULL, 'OPEN'),
    ('part', 5, 'OPEN'), ('full', 5, 'OPEN'), ('over', 5, 'OPEN'), ('ended', 5, 'CANCELLED'))
    AS t (id, amount, status);
CREATE TABLE received_totals AS
SELECT id AS expectation_id, expected::DECIMAL(38, 18) AS expected,
    received::DECIMAL(38, 18) AS received
FROM (VALUES ('part', 5, 2), ('full', 5, 5), ('over', 5, 6), ('standing', NULL, 9))
    AS t (id, expected, received);
CREATE TABLE closed_statuses AS SELECT 'CANCELLED' AS status;
"""


def test_expectations_without_an_amount_or_not_fully_received_are_open() -> None:
    with duckdb.connect() as connection:
        connection.execute(GIVEN)
        step = connection.sql(steps_of(PACKAGE)["open_expectations"].sql)
        rows = step.project("expectation_id, remaining").order("expectation_id").fetchall()
    assert [(name, None if rest is None else int(rest)) for name, rest in rows] == [
        ("part", 3), ("standing", None), ("unpaid", 5),
    ]  # fmt: skip
