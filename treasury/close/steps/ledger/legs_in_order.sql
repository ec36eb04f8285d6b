-- The legs of the entries in the order of the export, one row each. Not stored.
SELECT turn, role, account AS of, currency, amount FROM placed_legs ORDER BY turn, part, place
