-- One row per leg, in the order of the export.
SELECT turn, role, account AS of, currency, amount FROM placed_legs ORDER BY turn, part, place
