-- This step is a view: its rows are not stored.
-- One row per expectation that received money, with the total from all its lines and the day and id of the last
-- line. Of a line that pays several expectations, only this expectation's share is added.
SELECT
    coalesce(t.expectation_id, f.expectation_id) AS expectation_id,
    CAST(coalesce(t.received, 0) + coalesce(f.received, 0) AS DECIMAL(38, 18)) AS received,
    coalesce(greatest(t.last_date, f.last_date), t.last_date, f.last_date) AS last_date,
    CASE
        WHEN f.last_date IS NULL OR t.last_date > f.last_date THEN t.last_entry_id
        WHEN t.last_date = f.last_date THEN greatest(t.last_entry_id, f.last_entry_id)
        ELSE f.last_entry_id
    END AS last_entry_id
FROM received_totals AS t
FULL JOIN (
    SELECT
        expectation_id,
        sum(abs(amount)) AS received,
        max(booking_date) AS last_date,
        substr(max(CAST(booking_date AS VARCHAR) || entry_id), 11) AS last_entry_id
    FROM further_shares
    GROUP BY expectation_id
) AS f ON f.expectation_id = t.expectation_id
