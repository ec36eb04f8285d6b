-- One row per line, code that its text is read as, and amount that it may have been sent as: its own, that with the
-- charges which it states, and that with each charge which a rule names.
SELECT entry_id, code, amount, currency, direction, booking_date FROM inexact_readings
UNION
SELECT entry_id, code, CAST(amount + charges AS DECIMAL(38, 18)) AS amount, currency, direction, booking_date
FROM inexact_readings
WHERE charges > 0
UNION
SELECT r.entry_id, r.code, CAST(r.amount + c.charge AS DECIMAL(38, 18)) AS amount, r.currency, r.direction, r.booking_date
FROM inexact_readings AS r
CROSS JOIN usual_charges AS c
