-- One row per expectation and amount that pays it exactly, for the amounts in `sent_amounts`.
SELECT DISTINCT t.expectation_id, c.code, t.amount, t.currency, t.direction, t.opened_on, t.closed_on
FROM payable_amounts AS t
SEMI JOIN sent_amounts AS s ON s.amount = t.amount AND s.currency = t.currency AND s.direction = t.direction
JOIN known_codes AS c ON c.expectation_id = t.expectation_id
