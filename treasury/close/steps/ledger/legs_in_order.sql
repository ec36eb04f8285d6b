-- One row per leg (posting) of a journal entry, in the order of the export.
SELECT turn, role, account AS of, currency, amount FROM placed_legs ORDER BY turn, part, place
