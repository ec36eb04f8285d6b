-- Lines whose whole references cannot settle them: two different codes that do not add up, or nothing but
-- contradicted ones. Codes are told as the services write them.
SELECT
    n.entry_id,
    n.tier,
    CASE WHEN n.code = n.other_code THEN n.any_id END AS expectation_id,
    CASE
        WHEN n.code = n.other_code THEN n.contradiction
        ELSE 'different codes in one text: ' || w.code || ', ' || w.other_code || coalesce('; ' || s.nearest, '')
    END || CASE WHEN l.is_reversal OR l.return_reason IS NOT NULL THEN '; marked as a return' ELSE '' END AS reason
FROM named_lines AS n
JOIN lines AS l ON l.entry_id = n.entry_id
LEFT JOIN (
    SELECT
        p.entry_id,
        min(CASE WHEN p.code = c.code THEN e.code END) AS code,
        min(CASE WHEN p.code = c.other_code THEN e.code END) AS other_code
    FROM (
        SELECT *
        FROM reference_pairs AS p
        SEMI JOIN (SELECT entry_id FROM several_reference_lines WHERE code <> other_code) AS m ON m.entry_id = p.entry_id
        WHERE is_whole
    ) AS p
    JOIN several_reference_lines AS c ON c.entry_id = p.entry_id
    JOIN expectations AS e ON e.expectation_id = p.expectation_id
    GROUP BY p.entry_id
) AS w ON w.entry_id = n.entry_id
LEFT JOIN nearest_sums AS s ON s.entry_id = n.entry_id
LEFT JOIN (SELECT DISTINCT entry_id FROM joint_shares) AS j ON j.entry_id = n.entry_id
WHERE j.entry_id IS NULL AND (n.code <> n.other_code OR n.viable = 0)
